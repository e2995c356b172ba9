/* SPDX-License-Identifier: MIT
 * The interface of a device, which runs plans. TL_DEVICES lists the kinds of device; each defines
 * one tl_device_calls. The API layer has already checked views and options, so a call fails only if
 * memory, support or the device itself is missing. Every call runs in the law's floating-point
 * environment (law/fp.h). A device sees plans, never the names of operators. */
#pragma once

#include "context.h"
#include "law/counter.h"
#include "operator/kernel.h"

typedef struct tl_device tl_device;
struct tl_slab; /* law/counter.h */

/* ---- forms (inputs.c) ----
 *
 * How an operator runs on elements with a validity bitmap, or with a second input. An element that
 * is left out keeps its place in the tree. Kernels do not read bitmaps. They get prepared elements
 * and an operator (the form) that give the bits of the law:
 *
 *  PLAIN   No element is left out, or elements are prepared already.
 *  BLANK   An element that changes nothing replaces elements that are left out: OP_BLANK (-0.0 for
 *          a sum), or a NaN in a nan form. For an exact sum it is -0, and zeros that are valid
 *          become +0, so that the two can be told apart and counted.
 *  MARK    The operator has a nan form, which then leaves out one marker value only (tl_par.marked)
 *          and combines all other NaNs. Integers are converted to f64 if the operator computes in
 *          f64, or if f64 has all of their values.
 *  STATES  None of these: the states are combined one by one (cpu/inputs/inputs.h).
 *
 * Two inputs of different types are converted to a common type first (doc/inputs.md). */

enum { TL_FORM_PLAIN, TL_FORM_BLANK, TL_FORM_MARK, TL_FORM_STATES };

typedef struct {
    int kind;
    /* the requested operator; the operator that runs on prepared elements */
    const tl_scalar *named, *op;
    tl_par par;
    uint64_t fill; /* the value that replaces an element that is left out */
    int absent;    /* elements may be left out */
    int late;      /* BLANK: elements are replaced after they were widened (tl_form_late) */
} tl_form;

/* For MARK, on processors that read elements in place: *late is a BLANK of the requested operator,
 * whose blank is known for widened elements only. 0: there is none. */
int tl_form_late(const tl_form *form, tl_form *late);

/* The dtype of the elements that the operator gets: for two inputs the common type, if both
 * dtypes are valid. */
tally_dtype tl_inputs_dtype(const tally_view *in);

/* Finds the operator's instance for `in`, and its form. Refuses a second input that is missing, not
 * allowed, or of another shape. */
tally_status tl_form_of(tally *ctx, const char *op, const tally_view *in, tl_form *form);

/* The two steps of tl_form_of. tl_form_begin: the form of an instance, for elements that may be
 * left out (absent) or not. tl_form_fits: checks that `in` has the number of inputs that the
 * operator takes, of equal shapes. */
void tl_form_begin(tl_form *form, const tl_scalar *named, tl_par par, int absent);
tally_status tl_form_fits(tally *ctx, const char *op, const tl_scalar *named, const tally_view *in,
                          const char *name);

static inline int tl_has_absent(const tally_view *in)
{
    return in->valid || (in->next && in->next->valid);
}

/* ---- a call of a verb, as the API hands it to a device ---- */

typedef enum {
    TL_REDUCE,
    TL_SCAN,
    TL_WINDOW,

    /* The start-up probe (api/probe.c): S(1) .. S(n) of one dense sequence on the host, n a power
     * of two, computed from the operator's text alone, by kernels without tiles. */
    TL_LAW,
    TL_RUNS, /* runs of equal keys: tally_runs */
    TL_TAKE, /* elements in a given order: tally_take of n > 0 elements */
    TL_VERBS
} tl_verb;

/* The integers of TL_RUNS and TL_TAKE. */
typedef struct {
    int64_t *offsets;     /* TL_RUNS: NULL; or the result, where each run begins, and the end */
    int64_t runs;         /* TL_RUNS: the result, the number of runs */
    const int64_t *order; /* TL_TAKE: positions in `in`, one for each element of `out` */
    /* TL_TAKE: the first place in `order` with a position outside `in`, and that position. Then
     * `out` is not written. bad = out->n: there is no such place. */
    int64_t bad, position;
} tl_positions;

typedef struct {
    tl_verb verb;
    /* the device's plan; of a call with a form: the processors'; TL_RUNS, TL_TAKE: NULL */
    const tl_plan *plan;

    /* TL_WINDOW: the plan of operator count, or NULL. With a form: the plan that sums bytes (1: the
     * element counts) in 64 bits. */
    const tl_plan *count;
    const tally_view *in;               /* checked */
    const tally_view *out;              /* checked; of a reduction: rows of one result */
    const tally_scan_options *scan;     /* for TL_SCAN; NULL: the defaults */
    const tally_window_options *window; /* for TL_WINDOW */

    /* NULL, or how the operator runs on views with validity bits or with a second input (in->next).
     * Then `in` has at least one element. */
    const tl_form *form;

    /* 1: only the options are checked, and in->rows > 0. The offsets may be in device memory: a
     * device computes the call if they are, else leaves it to the caller. */
    int unchecked;
    tl_positions *positions; /* for TL_RUNS and TL_TAKE */
} tl_call;

/* True if windows have no negative bound and no step. Only the processors compute the others
 * (cpu/keys/keys.h). */
static inline int tl_window_streams(const tally_window_options *o)
{
    return o->before >= 0 && o->after >= 0 && o->step <= 1;
}

/* True if the call scans from the last element to the first. */
static inline int tl_is_reversed(const tl_call *c)
{
    return c->verb == TL_SCAN && c->scan && c->scan->reverse;
}

/* Only the processors have kernels for scans and windows of exact sums, windows by ranges, reversed
 * scans of segments (each has its own last element). */
static inline int tl_needs_processors(const tl_call *c)
{
    const int each = c->verb == TL_SCAN || c->verb == TL_WINDOW; /* a result for each element */
    return (each && c->plan->exact) || (c->verb == TL_WINDOW && !tl_window_streams(c->window)) ||
           (tl_is_reversed(c) && c->in->offsets);
}

/* ---- parts of sequences ---- */

/* The next n elements of one sequence, dense. x and out are both in host or in device memory. */
typedef struct {
    tl_verb verb;        /* TL_REDUCE or TL_SCAN */
    const tl_plan *plan; /* for the processors (TL_FOR_PROCESSORS) */
    const void *x;       /* n elements */
    int64_t n;
    void *out;           /* TL_SCAN: n results */
    tl_counter *counter; /* TL_REDUCE: gets the nodes of the elements */
    tl_scan *scan;       /* TL_SCAN: the scan that the elements continue; plan is scan->plan */
} tl_push;

/* Which kernels a plan gets: the device's, for `run` and `grid`; or the processors', for `push`. */
typedef enum { TL_FOR_DEVICE, TL_FOR_PROCESSORS } tl_plan_use;

/* What `time` does: stops measuring; starts it from zero; fills *times. */
typedef enum { TL_TIMES_STOP, TL_TIMES_START, TL_TIMES_READ } tl_timing;

/* What `use` sets. */
typedef enum { TL_USE_STREAM, TL_USE_ALLOCATOR } tl_use;

/* A grid is the state of many sequences that grow together, such as the cells of a field. The
 * processors' struct (cpu/grid/grid.h) and a device's begin with it. device: NULL, or the device
 * that has the grid in its memory. */
typedef struct {
    const struct tl_grid_calls *calls;
    tl_device *device;
} tl_grid;

typedef struct tl_grid_calls {
    /* Adds elements. in: a checked and normal view of the grid's sequences. out: for a scan, as
     * many results, which do not overlap in. After a failure the grid is unchanged. */
    tally_status (*push)(tally *, tl_grid *, int threads, const tally_view *in,
                         const tally_view *out);

    /* Writes the reduction of all pushed elements: one result per sequence. */
    tally_status (*result)(tally *, tl_grid *, int threads, void *out);
    /* nodes: exports the grid as states of the law: the slab [0, steps pushed) of all sequences.
     * fill: imports such a slab, whose steps are a multiple of TL_GRID_BLOCK, into an empty grid;
     * init: for a scan, NULL or the state that it starts with. */
    tally_status (*nodes)(tally *, tl_grid *, struct tl_slab *slab);
    tally_status (*fill)(tally *, tl_grid *, const struct tl_slab *slab, const tl_state *init);
    void (*close)(tl_grid *);
} tl_grid_calls;

enum { TL_GRID_BLOCK = 8 };

static inline void tl_grid_close(tl_grid *g)
{
    if (g) g->calls->close(g);
}

/* ---- the functions of a kind of device ---- */

typedef struct {
    const char *name;

    /* Describes device number `index` of this kind, in static memory; returns 0 past the end. */
    int (*describe)(int index, tally_device_info *info);

    /* Opens device number `index`, which describe knows. options: the text after the device's
     * name and comma; of two contradicting options the later one holds. The caller owns *device.
     * On failure *device is NULL and ctx->error gives the reason. */
    tally_status (*open)(tally *ctx, int index, const char *options, tl_device **device);
    void (*close)(tl_device *device);

    /* Fills plan for a resolved operator. TALLY_UNSUPPORTED, with the reason, if it cannot run. */
    tally_status (*plan)(tl_device *, tally *, const tl_scalar *op, tl_par par, tl_plan_use use,
                         tl_plan *plan);

    /* If the device has no kernels or no memory for a call, *done is 0, nothing is written, and the
     * caller uses the processors. */
    tally_status (*run)(tl_device *, tally *, const tl_call *, int *done);

    /* Continues a stream or a fragment. After a failure its counter and its scan are unchanged. */
    tally_status (*push)(tl_device *, tally *, const tl_push *);

    /* A grid of reductions in the memory of the device (of several: of the one that holds `step`).
     * Steps and results lie in the memory of the host or of that device, which must outlive it.
     * NULL: only the processors have grids. */
    tally_status (*grid)(tl_device *, tally *, const tl_plan *, int64_t rows, const void *step,
                         tl_grid **grid);

    /* owner: sets *owner to the device that has the memory p; NULL: host memory. copy: copies bytes
     * between host memory and device memory, in either direction, and waits. NULL: all memory is
     * host memory. */
    tally_status (*owner)(tl_device *, tally *, const void *p, tl_device **owner);
    tally_status (*copy)(tl_device *, tally *, void *to, const void *from, size_t bytes);

    /* Gives a memory object of the API an address; with object NULL, ends that of *pointer. NULL:
     * this kind of device has no memory objects. */
    tally_status (*adopt)(tl_device *, tally *, void *object, void **pointer);

    /* Uses the caller's stream (tally_use_stream) or allocator (tally_use_allocator). NULL: this
     * kind of device has neither. */
    tally_status (*use)(tl_device *, tally *, tl_use what, const void *object);

    /* Measures times (tally_time, tally_times). NULL: nothing is measured. */
    void (*time)(tl_device *, tally *, tl_timing, tally_times_info *times);

    /* Gives the text of the program for a shape ("scan", "law"), which the caller frees. NULL: the
     * kernels are compiled with the library, and the start-up probe skips the device. */
    tally_status (*text)(tl_device *, tally *, const tl_plan *, const char *shape, char **text,
                         size_t *length);
} tl_device_calls;

struct tl_device {
    const tl_device_calls *calls;
    const char *name; /* as in "cuda:0"; of processors: their instruction set */
    int threads;      /* threads of the processors that work for this device */
    /* the fewest bytes of host memory that are worth a device's part of a call (many/) */
    int64_t least_bytes;
    int64_t on_processors; /* elements that processors computed for a device since tally_time */
};

/* The kinds of device, in the order in which `auto` prefers them for host data. The processors come
 * first, because reading memory is faster than copying it over the bus. */
#define TL_DEVICES(DEVICE) \
    DEVICE(cpu) \
    DEVICE(cuda) \
    DEVICE(opencl)

#define DEVICE(name) extern const tl_device_calls tl_device_##name;
TL_DEVICES(DEVICE)
#undef DEVICE
