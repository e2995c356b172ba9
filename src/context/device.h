/* SPDX-License-Identifier: MIT
 * The interface of a device, which runs plans. devices.def lists the kinds of device; each defines
 * one tl_device_calls. The API layer has already checked views and options, so a call fails only if
 * memory, support or the device itself is missing. Every call runs in the law's floating-point
 * environment (law/fp.h). A device sees plans, never the names of operators. */
#ifndef TALLY_DEVICE_H
#define TALLY_DEVICE_H
#include "call.h"
#include "inputs.h"
#include "law/scan.h"
#include "operator/plan.h"

typedef struct tl_device tl_device;
struct tl_slab; /* law/slabs.h */

/* Whether a side of a slice is an end of the whole sequence, where windows may not be full. */
enum { TL_INSIDE = 0, TL_AT_END = 1 };

/* A verb on a view with validity or with a second input. */
typedef struct tl_inputs_call {
    tl_verb verb;
    const tl_form *form;
    /* checked, with offsets on the host, and with their second input. out of a reduction: rows of
     * one result */
    const tally_view *in, *out;
    const tally_scan_options *scan;     /* for TL_SCAN */
    const tally_window_options *window; /* for TL_WINDOW */
    const struct tl_plan *count;        /* sums bytes (1: the element counts) in 64 bits */
} tl_inputs_call;

/* A grid is the state of many sequences that grow together, such as the cells of a field, between
 * pushes. The processors' struct (cpu/grid/grid.h) and a device's struct both begin with
 * tl_grid. */
typedef struct tl_grid {
    const struct tl_grid_calls *calls;
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

typedef struct tl_device_calls {
    const char *name;

    /* Describes device number `index` of this kind, in static memory; returns 0 past the end. */
    int (*describe)(int index, tally_device_info *info);

    /* Opens device number `index`, which describe knows. options: the text after the device's
     * name and comma; of two contradicting options the later one holds. The caller owns *device.
     * On failure *device is NULL and ctx->error gives the reason. */
    tally_status (*open)(tally *ctx, int index, const char *options, tl_device **device);
    void (*close)(tl_device *device);

    int (*threads)(const tl_device *device);
    const char *(*isa)(const tl_device *device);

    /* Fills plan for a resolved operator. TALLY_UNSUPPORTED, with the reason, if this device
     * cannot run it. */
    tally_status (*plan)(tl_device *device, tally *ctx, const tl_scalar *op, tl_par par,
                         tl_plan *plan);
    /* The same for the calls slab, scan_push and window_slice. */
    tally_status (*plan_host)(tl_device *device, tally *ctx, const tl_scalar *op, tl_par par,
                              tl_plan *plan);

    tally_status (*reduce)(tl_device *, tally *, const tl_plan *, const tally_view *in, void *out);
    /* Views whose offsets are in device memory. NULL: this kind of device has no such memory.
     * reduce_segments, scan_segments and window_segments set *done if they computed the view. The
     * caller has checked only the options, and that in->rows > 0. `offsets` sets *copy to a host
     * copy, which the caller frees, or to NULL if the offsets are in host memory. */
    tally_status (*reduce_segments)(tl_device *, tally *, const tl_plan *, const tally_view *in,
                                    void *out, int *done);
    tally_status (*scan_segments)(tl_device *, tally *, const tl_plan *, const tally_view *in,
                                  const tally_view *out, const tally_scan_options *, int *done);
    tally_status (*window_segments)(tl_device *, tally *, const tl_plan *, const tl_plan *count,
                                    const tally_view *in, const tally_view *out,
                                    const tally_window_options *, int *done);
    tally_status (*offsets)(tl_device *, tally *, const tally_view *v, int64_t **copy);
    tally_status (*scan)(tl_device *, tally *, const tl_plan *, const tally_view *in,
                         const tally_view *out, const tally_scan_options *);
    tally_status (*window)(tl_device *, tally *, const tl_plan *, const tl_plan *count,
                           const tally_view *in, const tally_view *out,
                           const tally_window_options *);
    /* A verb on an input with at least one element. Sets *done if the device has kernels and
     * memory for it; else nothing is written, and the processors do it. NULL: the processors
     * always do it. */
    tally_status (*inputs)(tl_device *, tally *, const tl_inputs_call *, int *done);
    /* Exact sums of the sequences of a view. Sets *done if the device has memory for it; else
     * nothing is written, and the processors do it. NULL: the processors always do it. */
    tally_status (*exact)(tl_device *, tally *, const tl_plan *, const tally_view *in, void *out,
                          int *done);
    /* tally_runs and tally_take (n > 0) of one sequence, if all arrays are in device memory: sets
     * *done; else nothing is written. NULL: no memory is device memory. If gather finds a
     * position outside `in`, it sets *at to its index in order (else to out->n) and *place to the
     * position, and writes nothing. */
    tally_status (*runs)(tl_device *, tally *, const tally_view *keys, int64_t *offsets,
                         int64_t *runs, int *done);
    tally_status (*gather)(tl_device *, tally *, const tally_view *in, const int64_t *order,
                           const tally_view *out, int64_t *at, int64_t *place, int *done);
    /* Makes a grid of reductions in the memory of the device (of several devices: of the one that
     * holds `step`). It takes steps and gives results in host or device memory. The device must
     * outlive it. NULL: only the processors have grids. */
    tally_status (*grid)(tl_device *, tally *, const tl_plan *, int64_t rows, const void *step,
                         tl_grid **grid);
    /* For streams and fragments: adds n dense elements to a counter or a scan. x is in host or
     * device memory (scan_push: x and out in the same kind). */
    tally_status (*slab)(tl_device *, tally *, const tl_plan *, const void *x, int64_t n,
                         tl_counter *counter);
    tally_status (*scan_push)(tl_device *, tally *, tl_scan *, const void *x, int64_t n, void *out);
    /* Refuses p, named `name`, if it is device memory, with the sentence that `what` take host
     * memory; else counts `elements` as elements of the processors. NULL: all memory is host
     * memory. */
    tally_status (*on_processors)(tl_device *, tally *, const void *p, const char *name,
                                  const char *what, int64_t elements);
    /* Issues work to the caller's stream (tally_use_stream). NULL: this kind of device has no
     * streams. */
    tally_status (*use_stream)(tl_device *, tally *, void *stream);
    /* adopt gives a memory object of the API an address, forget ends that. NULL: this kind of
     * device has no memory objects. */
    tally_status (*adopt)(tl_device *, tally *, void *object, void **pointer);
    tally_status (*forget)(tl_device *, tally *, void *pointer);
    /* time starts measuring from zero (on) or stops it; times returns the measurements. NULL:
     * nothing is measured. */
    void (*time)(tl_device *, tally *, int on);
    void (*times)(tl_device *, tally *, tally_times_info *times);
    /* The windows of a slice of a sequence (cpu/window.h). at_start, at_end: TL_AT_END or
     * TL_INSIDE. */
    tally_status (*window_slice)(tl_device *, tally *, const tl_plan *, const tl_plan *count,
                                 const tally_window_options *, const void *x, int64_t n,
                                 int at_start, int at_end, void *out, int64_t *produced);
    /* For the start-up probe (api/probe.h). NULL: the kernels are compiled with the library and
     * are not probed. law: computes S(1) .. S(n), n a power of two, from the operator's text
     * alone, in a kernel without tiles. text: the text of the program for a shape ("scan",
     * "law"); the caller frees it. */
    tally_status (*law)(tl_device *, tally *, const tl_plan *, const void *x, int64_t n, void *out);
    tally_status (*text)(tl_device *, tally *, const tl_plan *, const char *shape, char **text,
                         size_t *length);
    /* For contexts of several devices (many/). NULL: all memory is host memory, and there is
     * nothing to do. owns: sets *ours to whether p is memory of the device. copy: copies bytes
     * between host memory and device memory, in either direction. share: divides the processors'
     * threads by `parts` from now on. least: the fewest bytes of host memory that are worth a
     * part of their own. */
    tally_status (*owns)(tl_device *, tally *, const void *p, int *ours);
    tally_status (*copy)(tl_device *, tally *, void *to, const void *from, size_t bytes);
    void (*share)(tl_device *, int parts);
    int64_t (*least)(const tl_device *);
} tl_device_calls;

struct tl_device {
    const tl_device_calls *calls;
};

#define DEVICE(name) extern const tl_device_calls tl_device_##name;
#include "devices.def"
#undef DEVICE
#endif
