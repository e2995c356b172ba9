/* SPDX-License-Identifier: MIT
 *
 * cliffs.h - what the parts of the cliff finder share: a cell, and a place to run it.
 *
 * A cell is one word of each kind: operator, type, shape, view, size, number of threads. A place
 * is a device through the public interface of tally, with memory of its own and the loops that
 * are its ceilings.
 */
#ifndef CLIFFS_H
#define CLIFFS_H

#include "tally.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { CLIFF_WORD = 64, CLIFF_KEY = 512, CLIFF_TEAMS = 8, CLIFF_LOOPS = 96 };

/* More than this of its ceiling: the ceiling is none. The run fails if the cell's bytes came from
   memory. */
#define CLIFF_ABOVE 1.03
enum { CLIFF_CHECKED = 32 << 20 };

typedef enum cliff_verb { CLIFF_REDUCE, CLIFF_SCAN, CLIFF_WINDOW } cliff_verb;
typedef enum cliff_cut {
    CUT_FLAT,
    CUT_ROWS,
    CUT_COLUMNS,
    CUT_SEGMENTS,
    CUT_HEAVY,
    CUT_STRIDED,
    CUT_MISALIGNED
} cliff_cut;

typedef struct cell {
    char op[CLIFF_WORD], shape[CLIFF_WORD], view[CLIFF_WORD], size[CLIFF_WORD];
    tally_dtype dtype;
    int threads;
    cliff_verb verb;
    cliff_cut cut;
    int64_t w, length; /* of the window; the number of the view */
    tally_operator_info info;
} cell;

/* ---- places ---- */

typedef struct place place;
struct place {
    tally *ctx;                             /* the device's */
    char device[32];                        /* as tally_open takes it, */
    char text[320];                         /* and what it is: model and driver */
    int threads;                            /* of the processors; 0 on a GPU */
    size_t fast;                            /* bytes that its cache holds well, of all threads */
    size_t slow;                            /* bytes of an array that comes from memory */
    void *(*alloc)(place *p, size_t bytes); /* NULL: there is no memory */
    void (*free)(place *p, void *memory, size_t bytes);
    int (*put)(place *p, void *to, const void *from, size_t bytes); /* host to place; 0: failed */
    int (*get)(place *p, void *to, const void *from, size_t bytes); /* place to host */
    void (*finish)(place *p);                                       /* waits for what was issued */
    /* The ceiling's loops for these bytes: how many there are and their names. run: issues
       `repeat` runs of one. */
    int (*loops)(place *p, size_t in, size_t out);
    const char *(*name)(place *p, int loop);
    void (*run)(place *p, int loop, void *dst, size_t out, const void *src, size_t in, int repeat);
    void (*close)(place *p);
    void *state;
};

/* Opens `device` with a number of threads (on the processors). 0: there is none; says why. */
int place_open(place *p, const char *device, int threads);
int place_cpu(place *p, const char *device, int threads);
int place_cuda(place *p, int number);
int place_opencl(place *p, int number);
/* place_gpu.c: what both kinds of GPU share. The text of their kernels; loops, by what a launch
   of one needs. */
typedef struct gpu_loop {
    const char *kernel; /* NULL: the driver's own copy */
    char name[40];
    int64_t groups, tile; /* tile: quads (16 bytes) of the input that a group takes at a time */
} gpu_loop;
typedef struct gpu_loops {
    int count;
    gpu_loop loop[CLIFF_LOOPS];
} gpu_loops;
enum { GPU_GROUP = 256, GPU_SLOW = 256 << 20 /* bytes of an array that comes from memory */ };
extern const char gpu_text[];
extern const char *const gpu_kernels[]; /* ended by NULL */
void gpu_list(gpu_loops *list, size_t in, size_t out, int processors);

/* ---- cells ---- */

typedef struct selection {
    /* words separated by spaces or commas; NULL: all */
    const char *ops, *types, *shapes, *views, *sizes;
} selection;

/* Every operator's words, the users' too, whose texts are in `folder` (NULL: none); of ctx. */
int cells_operators(tally *ctx, const char *folder);
/* Defines the users' operators in one more context. */
int cells_define(tally *ctx);
/* From now on the views are rows and columns of nearly every number. */
void cells_sweep(void);
/* Calls `use` with each cell of the sheets of `set` ("quick", "full", or "all": everything that
 * `chosen` names) that `chosen` has, for each of the teams. Ends when use returns 0. Returns 0
 * if a word is none, and says so. */
int cells_each(const place *p, const char *set, const selection *chosen, const int *teams,
               int team_count, int (*use)(const cell *c, void *with), void *with);
void cell_key(const cell *c, const char *device, char *key, size_t capacity);

/* ---- data ---- */

/* Fills whole words of 8 bytes with elements of a type: random bits; floats of either sign from
   0.5 to 2. */
void data_fill(void *to, size_t bytes, tally_dtype dtype);
/* Offsets of segments of about `mean` elements (0: a heavy tail), n elements in all; *count of
 * them and one more. NULL: no memory. The caller frees it. */
int64_t *data_offsets(int64_t n, int64_t mean, int64_t *count);

/* ---- one cell ---- */

typedef struct figures {
    int64_t n, results;
    size_t in_bytes, out_bytes;
    /* medians; spread: the middle half, as a part of the median */
    double seconds, spread, ceiling, ceiling_spread;
    char loop[CLIFF_WORD], law[CLIFF_WORD]; /* the best loop; what was compared */
} figures;
typedef enum outcome { CELL_DONE, CELL_NOTHING, CELL_UNSUPPORTED, CELL_FAILED } outcome;
/* cpu: the context whose results are the truth where the place is no processor. */
outcome cell_measure(place *p, tally *cpu, const cell *c, int rounds, figures *f);
void cell_free(place *p); /* arrays that were kept */

/* law.c: compares results that are in host memory with the law, one by one, in bits. in: the
 * view. Writes "compared/all" to what; 0 and a sentence there if one differs. */
int law_check(tally *ctx, const cell *c, const tally_view *in, const tally_window_options *w,
              const void *out, char *what, size_t capacity);

#endif
