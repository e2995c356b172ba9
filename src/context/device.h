/* SPDX-License-Identifier: MIT
 * A device: where plans run. devices.def lists them; each fills one tl_device_calls. The API
 * layer has already checked views and options, so a call fails only for want of memory, support
 * or the device itself. Every call is made with the law's floating-point environment on (fp.h).
 * A device never names an operator: it gets plans.
 */
#ifndef TALLY_DEVICE_H
#define TALLY_DEVICE_H
#include "inputs.h"
#include "law/scan.h"
#include "operator/plan.h"

typedef struct tl_device tl_device;
struct tl_slab; /* law/slabs.h */

/* A side of a slice of a sequence: is it the sequence's own end, where windows may not be full? */
enum { TL_INSIDE = 0, TL_AT_END = 1 };

typedef enum tl_verb { TL_REDUCE, TL_SCAN, TL_WINDOW } tl_verb;

/* A verb on a view with validity, or of two inputs. */
typedef struct tl_inputs_call {
    tl_verb verb;
    const tl_form *form;
    /* with its next; checked, with offsets on the host. out of a reduce: rows of one */
    const tally_view *in, *out;
    const tally_scan_options *scan;     /* of TL_SCAN */
    const tally_window_options *window; /* of TL_WINDOW */
    const struct tl_plan *count;        /* adds bytes, 1 for an element that counts, to 64 bits */
} tl_inputs_call;

/* A grid: many sequences that grow together, such as the cells of a field, kept from push to
 * push: as the processors have it (cpu/grid/grid.h), or in the memory of a device, where it
 * begins with these calls too. */
typedef struct tl_grid {
    const struct tl_grid_calls *calls;
} tl_grid;
typedef struct tl_grid_calls {
    /* in: a checked and normal view of the grid's sequences; out: of a scan as many results,
     * which do not overlap in. A failure leaves the grid as it was. */
    tally_status (*push)(tally *, tl_grid *, int threads, const tally_view *in,
                         const tally_view *out);
    /* The reductions of what was pushed: a result for each sequence. */
    tally_status (*result)(tally *, tl_grid *, int threads, void *out);
    /* What it has, as the law's states: the slab [0, steps pushed) of all sequences. And back,
     * into a grid that was pushed nothing: a slab of a multiple of TL_GRID_BLOCK steps; init: of
     * a scan, NULL or the state it starts with. */
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

    /* Describes device number index of this kind; 0 past the end. Static memory. */
    int (*describe)(int index, tally_device_info *info);

    /* Opens device number index of this kind, which describe knows, with `options`: what follows
     * the name and its comma; of two that contradict each other the later one holds. Caller owns
     * *device; on failure it is NULL and ctx->error says why. */
    tally_status (*open)(tally *ctx, int index, const char *options, tl_device **device);
    void (*close)(tl_device *device);

    int (*threads)(const tl_device *device);
    const char *(*isa)(const tl_device *device);

    /* Fills plan for a resolved operator; TALLY_UNSUPPORTED with the reason if this device
       cannot run it. */
    tally_status (*plan)(tl_device *device, tally *ctx, const tl_scalar *op, tl_par par,
                         tl_plan *plan);
    /* The same for slab, scan_push and window_slice. */
    tally_status (*plan_host)(tl_device *device, tally *ctx, const tl_scalar *op, tl_par par,
                              tl_plan *plan);

    tally_status (*reduce)(tl_device *, tally *, const tl_plan *, const tally_view *in, void *out);
    /* Views whose offsets are memory of the device; NULL: this kind has none. reduce_segments,
     * scan_segments and window_segments take those views that they can (*done), of which nothing
     * is checked but in->rows > 0; options are good. offsets: a copy on the host, which the
     * caller frees; NULL if they are host memory. */
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
    /* A verb on an input that has an element, as far as the device has a road and memory for it
     * (*done); else nothing is written, and the processors do it. NULL: they always do. */
    tally_status (*inputs)(tl_device *, tally *, const tl_inputs_call *, int *done);
    /* Exact sums of the sequences of a view, as far as the device has memory for it (*done);
     * else nothing is written, and the processors do it. NULL: they always do. */
    tally_status (*exact)(tl_device *, tally *, const tl_plan *, const tally_view *in, void *out,
                          int *done);
    /* tally_runs, and tally_take of n > 0, of one sequence, where all arrays are memory of the
     * device (*done); else nothing is written. NULL: they never are. Of a number of order that
     * is no place of `in` gather says which it is (*at; out->n: there is none), and the number
     * (*place); then nothing is written either. */
    tally_status (*runs)(tl_device *, tally *, const tally_view *keys, int64_t *offsets,
                         int64_t *runs, int *done);
    tally_status (*gather)(tl_device *, tally *, const tally_view *in, const int64_t *order,
                           const tally_view *out, int64_t *at, int64_t *place, int *done);
    /* A grid of reductions in the device's memory, of several devices (many/) that which `step`
     * is of. It takes steps, and gives results, in host memory or the device's. The device must
     * outlive it. NULL: there are the processors' alone. */
    tally_status (*grid)(tl_device *, tally *, const tl_plan *, int64_t rows, const void *step,
                         tl_grid **grid);
    /* Streams and fragments: n more dense elements, in host memory or the device's (scan_push: x
       and out alike). */
    tally_status (*slab)(tl_device *, tally *, const tl_plan *, const void *x, int64_t n,
                         tl_counter *counter);
    tally_status (*scan_push)(tl_device *, tally *, tl_scan *, const void *x, int64_t n, void *out);
    /* What the processors do on every device (exact sums, keys): refuses p, `name`, if it is
     * memory of the device (the sentence: `what` take host memory), and counts `elements` as
     * theirs. NULL: there is no other memory. */
    tally_status (*on_processors)(tl_device *, tally *, const void *p, const char *name,
                                  const char *what, int64_t elements);
    /* Work goes to the caller's stream (include/tally.h). NULL: this kind of device has none. */
    tally_status (*use_stream)(tl_device *, tally *, void *stream);
    /* An address for a memory object of the API's, and the end of it. NULL: this kind of device
       has no objects. */
    tally_status (*adopt)(tl_device *, tally *, void *object, void **pointer);
    tally_status (*forget)(tl_device *, tally *, void *pointer);
    /* Measuring, from zero (on) or ended; what was measured. NULL: nothing is measured. */
    void (*time)(tl_device *, tally *, int on);
    void (*times)(tl_device *, tally *, tally_times_info *times);
    /* The windows of a slice of a sequence (cpu/window.h). at_start, at_end: TL_AT_END or
       TL_INSIDE. */
    tally_status (*window_slice)(tl_device *, tally *, const tl_plan *, const tl_plan *count,
                                 const tally_window_options *, const void *x, int64_t n,
                                 int at_start, int at_end, void *out, int64_t *produced);
    /* For the start-up probe (../probe.h). NULL: kernels are compiled with the library, and
     * nothing is probed. law: the results of S(1) .. S(n), n a power of two, by the operator's
     * text and no schedule. text: what is compiled for a shape ("scan", "law"); caller frees. */
    tally_status (*law)(tl_device *, tally *, const tl_plan *, const void *x, int64_t n, void *out);
    tally_status (*text)(tl_device *, tally *, const tl_plan *, const char *shape, char **text,
                         size_t *length);
    /* For contexts of several devices (many/). NULL: all memory is the host's, and nothing is to
     * be done. owns: is p memory of the device (*ours)? copy: bytes between host memory and
     * either. share: its threads are one of so many shares from now on. least: bytes of host
     * memory from which on a part is worth the device's while. */
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
