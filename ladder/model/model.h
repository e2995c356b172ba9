/* SPDX-License-Identifier: MIT
 * The SIMT model: reads a kernel text in the dialect and runs it as a GPU would, in lock step,
 * counting as it goes.
 *
 *   lex.c       text -> tokens              compile.c      kernels -> code
 *   parse.c     statements -> code          expression.c   expressions -> code
 *   call.c      the dialect's functions     value.c        constants, conversions, operations; arrays,
 *   function.c  functions of the text                      pointers, arrays of one thread
 *   expand.c    macros and #if
 *   launch.c    groups, watched and not     run.c          the warps of a group, masks, barriers
 *   compute.c   one operation on the lanes of a warp
 *   access.c    shared and global accesses: bank conflicts, sectors, races
 *   bulk.c      bulk copies into shared memory, and waits for them
 *   trace.c     one event after another, for the stepper (trace.h)
 *
 * A warp is `warp` lanes with one program counter and a mask. A branch on which the lanes of a
 * warp disagree is executed on both sides, one after the other, and counted as divergent: that
 * is the whole theory. Warps of a group run in turn, each up to its next barrier, in the order
 * of their numbers. Groups run one after the other, or, where a kernel has a GRID_BARRIER, in
 * turn up to the next of these. Everything is deterministic.
 *
 * A warp of 1 lane is a legal machine: then no lanes are in step, and code that relies on it
 * gives a wrong result. */
#ifndef LADDER_MODEL_H
#define LADDER_MODEL_H
#include <stddef.h>
#include <stdint.h>

enum {
    MODEL_WARP_MOST = 64,
    MODEL_BANKS_MOST = 64,
    MODEL_STEPS = 48,  /* barrier intervals kept one by one; later ones are added to the last */
    MODEL_LINES = 256, /* counted one by one; later ones are added to the last */
    MODEL_THREADS_MOST = 1024
};

typedef enum {
    KIND_I8,
    KIND_U8,
    KIND_I16, /* of variables and shared memory; elem is never one of these two */
    KIND_U16,
    KIND_I32,
    KIND_U32,
    KIND_I64,
    KIND_U64,
    KIND_F32,
    KIND_F64,
    KINDS
} kind;

/* What a text is compiled for. */
typedef struct model_setting {
    kind elem;     /* the type behind the word elem */
    int operation; /* combine: 0 sum, 1 min, 2 max */
    int threads;   /* THREADS */
    int warp, banks;
} model_setting;

typedef struct model_program model_program;

/* Caller owns *program. Returns 0, or -1 with a sentence naming the line in error. The text is
   copied. */
int model_compile(const char *text, const char *name, const model_setting *setting,
                  model_program **program, char *error, size_t capacity);
void model_free(model_program *program);

typedef struct model_argument {
    void *data;   /* memory, or NULL */
    size_t bytes; /* of that memory */
    int64_t i64;  /* a whole number */
    double f64;
    /* of each byte the line of the last store that began there; 0: none did. NULL: not wanted */
    uint16_t *writers;
} model_argument;

/* What one barrier interval of a group did. */
typedef struct model_step {
    int threads, warps; /* that touched memory */
    int divergent;      /* warps that ran a branch on which their lanes disagreed */
    int shared_degree;  /* worst bank conflict: 1 none, 32 all lanes in one bank */
    /* shared accesses by warps; passes that bank conflicts added to them */
    int64_t shared, conflicts;
    int64_t requests, sectors; /* global accesses by warps; sectors of 32 bytes that they touched */
    int64_t bytes;             /* that the lanes asked for, of global memory */
    int64_t operations, lanes; /* operations of warps; of their lanes that were active */
    int races;
    int line; /* of the first memory access */
} model_step;

/* The counts of a line of the text. */
typedef struct model_line {
    int64_t runs, lanes, branches, divergent, shared, conflicts, requests, sectors, bytes, races;
    int degree;
} model_line;

enum {
    DEFECT_NONE,
    DEFECT_RACE,
    DEFECT_BOUNDS,
    DEFECT_UNSET,
    DEFECT_BARRIER,
    DEFECT_ENDLESS,
    DEFECT_ALIGN,
    DEFECTS
};

/* The first defect of a kind. */
typedef struct model_finding {
    int line; /* 0: there is none */
    int64_t group;
    char sentence[200];
} model_finding;

/* Counts of the groups that were looked at, weighted to stand for all of them. */
typedef struct model_counts {
    int64_t launches, groups, watched; /* groups run; groups looked at */
    int64_t barriers, branches, divergent, operations, lanes;
    int64_t shared, conflicts, requests, sectors, bytes_read, bytes_written, races;
    int threads, warp, banks, steps;
    model_step step[MODEL_STEPS];              /* of the first group of the first launch */
    model_line line[MODEL_LINES];              /* of all groups looked at */
    int worst_line, worst_degree, worst_lanes; /* the worst bank conflict; the bank of each lane */
    int16_t worst_bank[MODEL_WARP_MOST];
    int uneven; /* the line of a shuffle to which not all warps of a group come; 0: there is none */
    int defect; /* the kind that was found first */
    model_finding found[DEFECTS];
} model_counts;

typedef struct model_start {
    const char *kernel;
    int64_t groups;
    const model_argument *arguments;
    int count; /* of the arguments */
    /* the groups that are not looked at are left out, so that counts of large launches cost little;
     * memory then holds few results */
    int watched_only;
} model_start;
/* Runs a kernel. counts may be NULL (values only, which is much faster); it is added to. Returns 0,
 * or -1 with a sentence in error (no such kernel, an access outside of its memory, a loop without
 * end). */
int model_launch(model_program *program, const model_start *start, model_counts *counts,
                 char *error, size_t capacity);

/* The kernels of a text, in order; NULL past the end. */
const char *model_kernel(const model_program *program, int index);
int model_kernel_threads(const model_program *program, int index);
int64_t model_kernel_shared(const model_program *program, int index); /* bytes of a group */
int model_kernel_parameters(const model_program *program, int index);
enum { NEEDS_GRID = 1, NEEDS_BULK = 2 };
int model_kernel_needs(const model_program *program, int index); /* what not every device has */
/* with combine or NEUTRAL: for sum, min and max */
int model_kernel_combines(const model_program *program, int index);
/* 1: written for one type, *k; 0: for elem */
int model_kernel_kind(const model_program *program, int index, kind *k);
static inline int is_byte(kind k) { return k <= KIND_U8; }
/* computed as i32, and no type of the ladder's arrays but bytes */
static inline int is_small(kind k) { return k <= KIND_U16; }
static inline int is_short(kind k) { return is_small(k) && !is_byte(k); }
/* what atomics count in */
static inline int is_whole_word(kind k) { return k == KIND_I32 || k == KIND_U32; }
static inline size_t kind_bytes(kind k)
{
    return is_byte(k) ? 1 : is_short(k) ? 2 : is_whole_word(k) || k == KIND_F32 ? 4 : 8;
}

/* ---- the preprocessor of kernel texts (expand.c) ---- */
/* The text with its macros put in, line for line (caller frees); NULL and a sentence with the
 * place on failure. foreign: lines with #include are passed over; else they are refused. */
char *model_expand(const char *text, const char *name, int foreign, char *error, size_t capacity);
#endif
