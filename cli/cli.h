/* SPDX-License-Identifier: MIT
 * cli.h - the common part of the verbs. */
#ifndef CLI_H
#define CLI_H

#include "groups.h"
#include "input.h"
#include "output.h"
#include "session.h"

/* ---- state.c: fragments of exact sums, which are states ---- */
/* Is the fragment of this input a state: of sum:exact or mean:exact of one sequence? */
int state_fits(const options *o, const input *in);
/* whether the bytes are a state, and not a fragment */
int state_is(const void *data, int64_t bytes);
int state_load(const char *path, const void *data, int64_t bytes, tally_exact *sum);
int state_make(tally *ctx, input *in, const second *beside, tally_exact *sum);
int state_result(tally *ctx, const options *o, const tally_exact *sum);
int state_show(const options *o, const tally_exact *sum);

/* ---- help.c ---- */

/* Prints text and a line end; on a terminal in lines that fit it, the later ones indented. */
void put_wrapped(FILE *f, const char *text, int indent);

/* ---- doctor.c ---- */

/* What a kind of device needs, which may have no device here; NULL: there is no such kind. */
const char *device_needs(const char *name, size_t length);

/* ---- bench.c ---- */
typedef struct bench_figure {
    int64_t bytes;  /* that one call reads and writes */
    double seconds; /* of a call: the median of the runs */
    double ceiling; /* of the memory's best loop for so many bytes: the median of the same runs */
} bench_figure;
/* Measures a problem, as in sum:f32:reduce:2^24, `runs` times (1 to 1001). */
int bench_speed(tally *ctx, const char *word, int64_t runs, bench_figure *figure);

/* ---- series.c: the common part of scan and window ---- */
typedef struct series {
    const tally_scan_options *scan; /* scan or window is set, the other is NULL */
    const tally_window_options *window;
    const span *span; /* NULL, or with window: windows by times, which replace it */
} series;
int series_run(const options *o, const series *call);
int series_begin(const options *o); /* checks the operands */

/* ---- explain.c ---- */
typedef struct explanation {
    const char *verb, *op;
    const tally_operator_info *info;
    int64_t bytes;
    double start;
    where_ran ran;
} explanation;
void explain(const options *o, tally *ctx, const input *in, const explanation *e);

typedef struct progress {
    double start, shown;
    int on, drawn;
    const char *name;
} progress;
void progress_begin(progress *p, const options *o, const char *name);
void progress_show(progress *p, input *in, int64_t done); /* elements of the input */
void progress_end(progress *p);

int terminal_columns(int fd); /* of the terminal; else those of COLUMNS, or 80 */
int terminal_draws(int fd);   /* whether it is a terminal that obeys escape sequences */

/* ---- digest.c ---- */
typedef struct sha256 {
    uint32_t h[8];
    uint64_t bytes;
    unsigned char block[64];
} sha256;
void sha256_begin(sha256 *s);
void sha256_add(sha256 *s, const void *data, size_t bytes);
/* Adds the values as little-endian bytes. */
void sha256_values(sha256 *s, const void *values, size_t size, int64_t count);
void sha256_end(sha256 *s, char hex[65]);

/* ---- help.c, complete.c ---- */
void help_all(FILE *f);
void help_verb(FILE *f, enum verb verb);
void help_completion(FILE *f, const char *shell);

#define VERB(id, ...) int run_##id(const options *o);
#include "options.def"
#undef VERB
#endif
