/* SPDX-License-Identifier: MIT
 * Texts in CUDA C++ and OpenCL C as texts of the dialect (foreign_text); and what the files of the
 * translation work on: the pieces of a text (words, numbers, signs, lines with #, and the space
 * between them), what is written, what is refused.
 *
 *   foreign.c           expressions and statements      foreign_kernel.c   kernels, templates
 *   foreign_declare.c   types, constants, variables   foreign_text.c     the whole text
 *   foreign_helper.c    functions that kernels call     foreign_pieces.c   pieces, output */
#ifndef LADDER_FOREIGN_H
#define LADDER_FOREIGN_H
#include "rung.h"
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS_MOST = 16 };
/* How the host launches the kernels, as far as it is known. 0 or NULL: it is not. */
typedef struct foreign_setup {
    int block[3]; /* threads of a group in x, y and z; a dim3 of the text may give it */
    /* of a matrix: columns and rows that a group takes, in a grid of two dimensions. 0 in the end
       where the text has one dimension */
    int tile[2];
    int matrix;             /* may the host launch such a grid? */
    const char *shared;     /* elements of extern __shared__ arrays, as a constant expression */
    const char *parameters; /* the rung's names of the kernel's parameters: "out, in, n" */
    const char *rung;       /* the text of the rung, whose kernels' parameters the host gives */
} foreign_setup;

/* *out: the text in the dialect, line for line (caller frees), or NULL where `text` is in the
 * dialect already. Returns 0, or error->code with a sentence that names file and line. */
int foreign_text(const char *file, const char *text, foreign_setup *setup, char **out,
                 ladder_error *error);

/* ---- inside the translation ---- */

enum { KEPT_MOST = 64, WORD_MOST = 64, TEXT_MOST = 200, HELPERS_MOST = 24, BLOCKS_MOST = 100 };
typedef enum {
    PIECE_SPACE,
    PIECE_LINE,
    PIECE_WORD,
    PIECE_NUMBER,
    PIECE_STRING,
    PIECE_SIGN
} piece_class;
typedef struct piece {
    piece_class class;
    const char *at;
    int length, line;
} piece;
typedef struct named { /* a name and what stands for it */
    char name[WORD_MOST], is[TEXT_MOST];
} named;

/* The numbers of the pieces of a function. */
typedef struct helper {
    int start, name, open, end, body, last; /* parameters: open .. end; body: { to } */
    int template_at;                        /* the word template, or -1 */
    int active;                             /* it is being translated */
} helper;
/* A translated helper: of these template arguments and memories of its pointers. */
typedef struct instance {
    int helper, number;
    char arguments[TEXT_MOST];
} instance;

typedef struct output {
    char *text;
    size_t used, capacity;
} output;

typedef struct translation {
    const char *file;
    piece *pieces;
    int count, depth, opencl, shuffles, failed;
    int64_t visits; /* of pieces: few for each, unless brackets do not match */
    foreign_setup *setup;
    output out, helpers_out; /* of the kernels; of the functions, which come first */
    helper helpers[HELPERS_MOST];
    int helper_count;
    instance instances[HELPERS_MOST];
    int instance_count, in_helper;
    char hoisted[1000],
        hoisted_types[1000]; /* shared arrays of functions: declarations; parameters */
    char hoisted_names[500];
    int own_names; /* do the kernels have the rung's names? */
    struct {
        int names, shared, thread_arrays;
    } blocks[BLOCKS_MOST]; /* what was known at each { */
    int block_count;
    named names[KEPT_MOST]; /* template parameters and constants of the file */
    int name_count;
    char shared[KEPT_MOST][WORD_MOST]; /* arrays of the kernel in shared memory */
    int shared_count;
    char thread_arrays[KEPT_MOST][WORD_MOST]; /* arrays of one thread */
    int thread_array_count;
    char locals[512];        /* declarations of OpenCL's __local parameters */
    char columns[WORD_MOST]; /* the kernel's parameter with the columns of a matrix */
    ladder_error *error;
} translation;

/* foreign_pieces.c. A piece is named by its number. */
/* Ends the translation with a sentence about piece `at`. */
void refuse(translation *w, int at, const char *format, ...) __attribute__((format(printf, 3, 4)));
void say(translation *w, const char *text);
void copy(translation *w, const piece *p);
void say_line_ends(translation *w, int from,
                   int to); /* of the pieces from .. to - 1, and nothing else */
int is(const translation *w, int i, const char *text);
void spell(const translation *w, int i, char *word); /* copies piece i: at most WORD_MOST bytes */
int after(const translation *w, int i);              /* the next piece that is no space */
int closing(const translation *w,
            int open); /* the sign that ends what begins there, or the text's end */
int cut(translation *w, const char *text); /* cuts the text into pieces; -1: out of memory */
static inline int word_at(const translation *w, int i)
{
    return i >= 0 && i < w->count && w->pieces[i].class == PIECE_WORD;
}

/* foreign.c */
void write_pieces(translation *w, int from, int to); /* the pieces from .. to - 1, in the dialect */
/* Sets text to what write_pieces would write, on one line. Returns 0 if it does not fit. */
int pieces_text(translation *w, int from, int to, char *text, size_t capacity);
int operands(const translation *w, int open, int *first, int most);

/* foreign_declare.c. Each ..._at translates what begins at piece i. It returns the piece after it,
 * or 0 if something else begins there. */
int shared_at(translation *w, int i, int dynamic); /* __shared__ or __local, up to the ';' */
int declaration_at(translation *w, int i);         /* of variables, or of a pointer to an array */
int pointer_cast_at(const translation *w, int i); /* (T *), reinterpret_cast<T *>: it is left out */
/* Reads a type of several words, with const and volatile around it. Returns the piece after it, or
 * i. *type: in the dialect, or NULL. */
int type_at(const translation *w, int i, const char **type, int *constant, int *by_hand);
int is_dropped(const translation *w, int i);
int is_local(const translation *w, int i);
int is_global(const translation *w, int i);
/* From now on `what` is written for the word `name`. */
void replace_name(translation *w, const char *name, const char *what);
int constant_at(translation *w, int i); /* const int NAME = constant; */
int is_shared(const translation *w, int i);
int is_own(const translation *w, int i);
/* Appends word i to w->shared or w->thread_arrays. */
void add_word(char list[KEPT_MOST][WORD_MOST], int *count, const translation *w, int i);

/* foreign_kernel.c: the word __global__ or __kernel is at i. Returns the piece after the kernel. */
int kernel_at(translation *w, int i, int template_at, int which);
int has_rungs_names(const translation *w); /* is a kernel of the rung's named in the text? */

/* foreign_helper.c */
void find_helpers(translation *w);
int helper_call(translation *w, int i); /* returns the piece after the call, or 0 */
/* the names of template parameters stand for values: `given`, those of a call at '<', or -1 */
int template_names(translation *w, int at, int given);
int kernel_template(translation *w, int at, int name); /* the host's launch may give the values */
#endif
