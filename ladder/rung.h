/* SPDX-License-Identifier: MIT
 * What the files of the ladder share: rungs, places, jobs, results. */
#ifndef LADDER_RUNG_H
#define LADDER_RUNG_H
#include "ladder.h"
#include "model/model.h"
#include "model/trace.h"
#include "tally.h"
#include <stdarg.h>

/* ---- rungs ---- */
typedef enum {
    SHAPE_reduce,
    SHAPE_scan,
    SHAPE_window,
    SHAPE_transpose,
    SHAPE_histogram,
    SHAPES
} shape;
typedef enum {
    LOOP,
    OPENMP,
    LIBRARY, /* on the host */
    HALVES,
    EIGHTHS,
    TILES,
    LEVELS,
    STRIDES,
    ATOMIC,
    ONCE,
    COOPERATIVE,
    RECURSE,
    SEGMENTS,
    LOOKBACK,
    POLL,
    WINDOW,
    DIFFERENCE,
    TRANSPOSE,
    HISTOGRAM
} schedule;
typedef enum {
    NONE,
    LEFT,
    ORDER_HALVES,
    ORDER_EIGHTHS,
    NEIGHBOURS,
    DISTANT,
    ORDER_STRIDES,
    WARPS,
    QUADS,
    BLOCKS,
    LAST,
    LAW,
    MODEL
} order;
typedef enum { PLAIN, RACY, INEXACT } note;
typedef struct rung {
    shape shape;
    const char *name;
    schedule schedule;
    int threads, each;
    order order;
    note note;
    const char *after;
    const char *text; /* of a reader's kernel, as it was read; NULL: the embedded one */
    int tile[2];      /* of a reader's transpose: columns and rows of a group; 0: as the rung's */
} rung;
/* Whether the rung runs on the processors, without a kernel of the ladder. */
static inline int is_host(const rung *g) { return g->schedule <= LIBRARY; }
extern const rung ladder_table[]; /* ended by name NULL */
const char *shape_name(shape s);
/* Whether the ceiling of the shape is a read; else it is a copy. */
static inline int reads_only(shape s) { return s == SHAPE_reduce || s == SHAPE_histogram; }
/* Whether the shape has a choice of sum, min and max. */
static inline int has_operation(shape s) { return s == SHAPE_reduce || s == SHAPE_scan; }
static inline int takes_kind(shape s, kind k)
{
    return s == SHAPE_window      ? k >= KIND_F32
           : s == SHAPE_histogram ? is_whole_word(k)
           : is_byte(k)           ? s == SHAPE_scan
           : is_short(k)          ? 0
                                  : 1;
}
const rung *find_rung(const char *shape_or_null, const char *name); /* name may be shape/name */

/* ---- text.c: the embedded files ---- */
/* as "reduce/tiled_1.cl"; NULL: none */
const char *ladder_text(const char *path);
const char *rung_text(const rung *r, char *path, size_t capacity); /* and its path */
/* The head's line that begins with `word:`, without it; "" if there is none. */
void head_line(const char *text, const char *word, char *line, size_t capacity);

const char *host_text(const rung *r); /* host.c: what the host does around its kernel, in words */

/* ---- place.c: where kernels run ---- */
typedef struct place place;
typedef struct memory memory;
typedef struct program program;
typedef enum { PUT_MEMORY, PUT_COUNT } put_kind;
typedef struct argument {
    put_kind kind;
    memory *memory;
    int64_t count;
} argument;
#define MEMORY(m) \
    { \
        PUT_MEMORY, (m), 0 \
    }
#define COUNT(n) \
    { \
        PUT_COUNT, NULL, (n) \
    }
typedef struct kernel_launch {
    const char *kernel;
    int64_t groups;
    int threads; /* of a group */
    const argument *arguments;
    int count; /* of the arguments */
} kernel_launch;

/* A device that is not the model (place_gpu.c): each call fails as place_... of its name does. */
typedef struct place_device {
    int (*alloc)(place *p, memory *m, ladder_error *error); /* m->bytes; sets address and device */
    void (*free)(place *p, memory *m);
    int (*write)(place *p, memory *m, int64_t at, const void *from, int64_t bytes,
                 ladder_error *error);
    int (*read)(place *p, void *to, memory *m, int64_t bytes, ladder_error *error);
    int (*wait)(place *p, ladder_error *error);
    int (*build)(place *p, const char *text, const char *path, const model_setting *setting,
                 program *x, ladder_error *error);
    void (*unload)(place *p, program *x);
    int (*launch)(place *p, program *x, const kernel_launch *l, ladder_error *error);
} place_device;

/* PLACE_GROUPS_EACH: groups for each processor of a device, where they need not all run at once */
enum { PLACE_GROUPS_EACH = 8, PLACE_ARGUMENTS = 16 };

struct memory {
    char *host;        /* the model's */
    uint16_t *writers; /* the model's: lines of stores, one a byte; NULL: too many */
    int64_t bytes;
    void *address, *device; /* device: what the device knows of it */
};
struct program {
    model_program *model; /* always: the model reads the same text */
    int support;          /* the ladder's own kernels, whose stores have no line to be told */
    void *device;
};
struct place {
    const place_device *device; /* NULL: the model */
    int groups, watched_only;   /* watched_only: the model's */
    int has_warps, shares_memory;
    tally *ctx;
    char name[40], text[200];
};

/* What place_open and place_close do of the library. If open fails, the caller frees p. */
int place_library_open(place *p, const char *device, ladder_error *error);
void place_library_close(place *p);

/* "model" or a device of tally's */
int place_open(place **p, const char *device, ladder_error *error);
void place_close(place *p);
int place_is_model(const place *p);
int place_has_warps(const place *p);     /* whose shuffles are no barriers of the group? */
int place_shares_memory(const place *p); /* with the processors */
const char *place_name(const place *p);
const char *place_text(const place *p); /* one line: what it is */
/* the library on this device; on the processors for the model */
tally *place_context(const place *p);
int place_groups(const place *p); /* groups that it runs at once, about */
/* groups that it runs at once for certain, if it does nothing else */
int place_processors(const place *p);
void place_set_groups(place *p, int groups); /* the model's, to be those of a device */
/* the model's launches leave out groups that are not looked at */
void place_set_watched_only(place *p, int only);
int place_poison(place *p, memory *m, ladder_error *error); /* fills it with POISON */
int place_is_processors(const place *p);                    /* an OpenCL that runs on processors? */
int is_processors(const char *text);                        /* the same of a device's text */
int place_alloc(place *p, int64_t bytes, memory **m, ladder_error *error);
void place_free(place *p, memory *m);
void *memory_address(const memory *m); /* for the library, and on the model */
/* On the model: the line of the last store that began at this byte; 0: none, or not known. */
int memory_writer(const memory *m, int64_t offset);
int place_write(place *p, memory *m, const void *from, int64_t bytes, ladder_error *error);
int place_read(place *p, void *to, memory *m, int64_t bytes, ladder_error *error);
int place_wait(place *p, ladder_error *error);
int place_build(place *p, const char *text, const char *path, const model_setting *setting,
                program **out, ladder_error *error);
void place_unload(place *p, program *x);
/* counts: the model adds to it; NULL: values only. */
int place_launch(place *p, program *x, const kernel_launch *l, model_counts *counts,
                 ladder_error *error);
/* A rung's text as a GPU's compiler gets it, behind the prelude of an API
 * ("gpu/cuda/prelude_cuda.h"). Caller frees; NULL: no memory. */
char *program_text(const model_setting *setting, const char *prelude, const char *text,
                   const char *path, size_t *length);
const char *program_kernel(const program *x, int index); /* NULL past the end */
int program_threads(const program *x, int index);
void program_follow(program *x, model_trace *trace);          /* on the model: model_follow */
int program_parameters(const program *x, const char *kernel); /* 0: no such kernel */

/* place_build's error code where a kernel needs what the device does not have: the rung is left out
   there. */
enum { LACKS = 5 };
static inline int fail_with(ladder_error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static inline int fail_with(ladder_error *error, int code, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(error->sentence, sizeof error->sentence, format, list);
    va_end(list);
    error->code = code;
    return code;
}

/* ---- data.c: a repeating pattern, whose results are known ---- */
typedef union element {
    int64_t i; /* whole numbers, as 64 bits */
    double f;
    char bytes[8];
} element; /* first bytes as in memory */
#define KIND_CHOICES "i8, u8, i32, u32, i64, u64, f32, f64"
const char *kind_name(kind k);
/* a sentence: which types s takes */
int refused_kind(shape s, const char *dtype, ladder_error *error);
int has_sign(kind k);
int kind_parse(const char *name, kind *k);
tally_dtype kind_dtype(kind k);
/* n elements: 1, 2, ..., 127, 1, ... (tenths, where tenths is not 0 and k is a float; data.c has
 * the whole story); for min and max the last one is beyond the others. */
void data_fill(void *x, kind k, int64_t n, int operation, int tenths);
element data_get(const void *x, kind k, int64_t i);
void data_put(void *x, kind k, int64_t i, element e);
enum { BINS = 128 }; /* of histograms */
/* 0, 1, 2, ... for transposes; elements of 1 .. 127 for histograms: in half of the data neighbours are equal. */
int64_t histogram_count(int64_t n, int64_t v); /* how often v is among the first n of these */
void data_fill_shape(void *x, shape s, kind k, int64_t n, int operation);
void matrix_of(int64_t n, int64_t *rows, int64_t *cols); /* about square, of at most n elements */
int same_bits(kind k, element a, element b);
void element_text(kind k, element e, char *text, size_t capacity);
enum { DATA_PERIOD = 127, POISON = 0xA5 }; /* the bytes of memory that were never written */
/* The result of folding what data_fill made: exact; then rounded once. *bound: what any order
 * can be away from it at most (Higham 2002, 4.2), in ulp. ulp_error: how far got is away from
 * the exact value. */
element known_result(kind k, int64_t n, int operation, int tenths, double *bound);
double ulp_error(kind k, int64_t n, int operation, int tenths, element got);
double ulp_of(kind k, double x); /* the distance of neighbours at x */

/* ---- order.c: documented orders, in plain loops ---- */
typedef struct order_setting {
    order order;
    schedule schedule;
    int threads, each, warp, operation;
    int64_t groups; /* of STRIDES and ONCE */
} order_setting;
element order_reduce(kind k, const order_setting *s, const void *x, int64_t n);

int segment_starts(int64_t i); /* of segmented scans: does one begin at element i? */

/* ---- jobs: a rung on a place with data ---- */
enum { WORK_MOST = 12, HEADS = 1 }; /* HEADS: of segments, an input in work */
typedef struct job {
    const rung *rung;
    place *place;
    program *program, *support;
    model_setting setting;
    int64_t n, width;
    int copies;  /* of the input, used in turn so that caches are cold */
    void **host; /* the same on the host; host[0] always, the others for host rungs */
    memory **input;
    memory *work[WORK_MOST]; /* what the schedule needs (job_needs) */
    int where;               /* the work memory with the partial results; -1: the input */
    /* where job_complete folds a reduction to; the memory whose first element is the result */
    memory *cell, *result;
    void *output; /* host: scans and windows; partials of reductions */
    int64_t output_bytes;
    model_counts *counts;
    int64_t partials;         /* of the last job_finish */
    int64_t launches, clears; /* all of them; those that set memory to 0 or to NEUTRAL */
    double copying;           /* seconds of job_finish that brought results to the host */
    int threads;              /* of the host */
} job;
enum { SUPPORT_THREADS = 256 }; /* of support.cl's kernels */
/* One run on input number `at`, launches only (host rungs: all of it); partials: how many
   results are left to fold. */
int job_launch(job *j, int at, int64_t *partials, ladder_error *error);
/* What job_launch leaves of a reduction, to one element in j->cell on the device: what every
   rung is timed to. */
int job_complete(job *j, int64_t partials, ladder_error *error);
/* Brings the result to the host: reductions: *result; scans and windows: j->output. */
int job_finish(job *j, int64_t partials, element *result, ladder_error *error);
int job_open(job *j, ladder_error *error); /* program and memory; the input is there already */
void job_close(job *j);
/* STRIDES and its kin: groups launched. The same for n elements: */
int64_t job_groups(const job *j);
int64_t rung_groups(const rung *g, int64_t n, const place *p);
/* Is one more launch needed to fold `partials` results to one? */
int needs_fold(const job *j, int64_t partials);
int launch_kernel(job *j, const char *kernel, int64_t groups, const argument *arguments, int count,
                  ladder_error *error);
int launch_support(job *j, const char *kernel, int64_t groups, const argument *arguments, int count,
                   ladder_error *error); /* counted as a launch, and no more */

int reduce_launch(job *j, int at, int64_t *partials, ladder_error *error);
int reduce_finish(job *j, int64_t partials, element *result, ladder_error *error);
int series_launch(job *j, int at, ladder_error *error);
int series_finish(job *j, ladder_error *error);
int host_launch(job *j, int at, ladder_error *error);
void job_needs(const job *j, int64_t bytes[WORK_MOST]);

/* ---- measure.c ---- */
typedef struct timing {
    int runs;
    /* seconds until the result is on the device (or of the host's loop) */
    double median, low, high;
    /* seconds: the input to the device; partials or results back; their fold there */
    double copy_in, copy_out, fold;
    int64_t bytes;    /* the least that any algorithm moves */
    int64_t launches; /* of one run that was timed */
} timing;
/* Are its runs so far apart that nothing is to be built on it? */
static inline int uncertain(const timing *t) { return t->high - t->low > 0.2 * t->median; }
int measure(job *j, int runs, timing *t, ladder_error *error);
typedef struct ceilings {
    double read, copy; /* bytes per second */
} ceilings;
/* Copies of an input that is timed: used in turn, so that it comes from memory. */
int input_copies(int64_t bytes);

/* ---- results ---- */
typedef enum { RIGHT, WRONG, EXPECTED, SKIPPED } verdict;
typedef struct row {
    const rung *rung;
    const char *text; /* a reader's or a damaged kernel; NULL: the rung's own */
    verdict verdict;
    char reason[900]; /* of what is not RIGHT: values, then what the model found */
    char got[40], want[40];
    int failed;               /* reason is why a launch ended: "FILE:LINE: ..." */
    int values_end;           /* of reason: what the values said */
    int values_line;          /* of the store that wrote the wrong value; 0: not known */
    int64_t checked, off;     /* results: all of them are */
    int trials, trials_wrong; /* of try: the runs before this one */
    double error_ulp;         /* -1: exact kinds */
    int bits;                 /* 1: compared by bits */
    int timed, on_host;
    timing timing;
    int modelled;
    model_counts counts;
    int64_t counted_n; /* elements that the counts are of */
    /* that the result needs, with the fold of the last results; and those that clear memory */
    int64_t launches, clears;
    char sentence[300];
} row;

enum { RESULTS_MOST = 40, SWEEP_POINTS = 8 };
typedef struct sweep_row {
    int64_t n;
    double rate[RESULTS_MOST]; /* bytes per second; 0: none */
} sweep_row;
typedef struct shape_report {
    shape shape;
    kind kind;
    int64_t n, width;
    int count, processors; /* processors: the device runs on them */
    ceilings device, host;
    row *rows; /* RESULTS_MOST */
    sweep_row sweep[SWEEP_POINTS];
    int sweep_count;
} shape_report;
/* Measures s->device and s->host. Leaves 0 where the input is too small to come from memory: no
 * ceiling is known there. */
int measure_ceilings(place *p, shape_report *s, int runs, ladder_error *error);
typedef struct report {
    ladder_options options;
    char device[40], device_text[200], machine[200], host_text[120];
    int timed_on_model;    /* the model is the device: host rungs only have times */
    int processors;        /* the device is an OpenCL that runs on them */
    char device_note[200]; /* why the model, in a sentence */
    int operation, warp, banks, threads;
    shape_report shapes[SHAPES];
    char dtype[8]; /* of a list in the options, the one that is run now */
    int shape_count, wrong;
} report;

/* ---- verify.c: is it right? fills verdict, reason, got, want, error_ulp, bits ---- */
/* cause.c: behind the reason of a reader's kernel, what a wrong value looks like; first: its place.
   On the model out->values_line too. */
void likely_cause(const job *j, element got, element want, int64_t first, row *out);
void verify_reduce(const job *j, element got, row *out);
void verify_scan(const job *j, row *out);
void verify_transpose(const job *j, row *out);
void verify_histogram(const job *j, row *out);
/* hostile: the series holds 1e16 and an inf (hostile_series) */
void verify_window(const job *j, int hostile, row *out);
void hostile_series(void *x, kind k, int64_t n);

void report_free(report *r);
void sentences(shape_report *s);
double past_milliseconds(const rung *r); /* the table of 2010, for 16 million ints; 0: not in it */
/* sum, min, max, mean, transpose, histogram */
const char *task_name(const report *r, const shape_report *s);
double least_bytes(const rung *r, kind k, int64_t n);
/* the rung that it improves on, if it was run; or NULL */
const row *rung_before(const shape_report *s, int index);
const char *verdict_word(const row *r);
/* "1", or "1 + 2" where two more launches clear memory */
const char *launches_text(const row *x, char *text, size_t capacity);
#define LAUNCHES_TEXT \
    "Launches: those that the result needs, with the fold of the last results; + those that set " \
    "memory to zero first."
/* a text in lines, behind `indent` columns */
void wrapped(FILE *out, const char *text, int indent, int width);
void report_table(const report *r, FILE *out);
void json_text(FILE *f, const char *name, const char *value, const char *end);
void report_json(const report *r, FILE *out);
void report_html(const report *r, FILE *out);
int run_report(const ladder_options *o, report *r, ladder_error *error);
/* place_close, report_free */
int start_report(const ladder_options *o, report *r, place **p, ladder_error *error);
int start_shape(report *r, shape which, shape_report **s, ladder_error *error);
/* One rung alone on the model. usual_n: where the options do not say. end_alone, also after a
   failure. */
typedef struct alone {
    const rung *rung;
    const char *text;
    char path[80];
    report report;
    place *place;
    shape_report *shape;
} alone;
int start_alone(alone *a, const ladder_options *o, const char *name, int64_t usual_n,
                ladder_error *error);
void end_alone(alone *a);
void finish_shape(shape_report *s); /* all rungs are there: ceilings, sentences */
/* Writes to s.f between the two: to the file of that name, or to `out` if it is NULL or "-".
 * save_end with a code other than 0 leaves the file as it was. */
typedef struct saving {
    FILE *f;
    const char *path;
    char *text;
    size_t length;
} saving;
int save_begin(saving *s, const char *path, FILE *out, ladder_error *error);
int save_end(saving *s, int code, FILE *out, ladder_error *error);
int write_reports(const ladder_options *o, const report *r, FILE *out,
                  ladder_error *error); /* --json, --html, or the table */
/* Runs, checks, counts and (timed) times x->rung with x->text, and fills the rest of the row. */
int run_rung(const report *r, shape_report *s, place *p, int timed, row *x, ladder_error *error);
/* Its time alone, at s->n. */
int time_rung(const report *r, shape_report *s, const rung *g, place *p, row *out,
              ladder_error *error);
#endif
