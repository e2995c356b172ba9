/* SPDX-License-Identifier: MIT
 * The extension `tally._core`: Python's arrays become views of tally.h, and results become
 * arrays of the input's kind.
 *
 *   object --pt_open--> operand --dims--> views --> tally_reduce, _scan, _window --> result --pt_give--> object
 *
 *   operand.c    which protocol an object speaks; from_*.c read the protocols; array.c is the
 *                array of our own
 *   inputs.c     elements that are left out (nulls, masks, where=), and second arrays
 *   sequence.c   arrays as views, copied where no stride walks them
 *   device.c     arrays on a device, for what runs in host memory alone
 *   dims.c       axes, and the fewest strides that walk them; walk.c calls the verbs over them
 *   context.c    contexts, one for each call under way; errors
 *   progress.c   what happens between the pieces of a long call: Ctrl-C, a callback
 *
 * Functions that return int give 0, or -1 with a Python exception set. Everything here needs the
 * GIL (or an attached thread state) unless it says otherwise. The names of files and functions
 * here begin with pt_. */
#ifndef TALLY_PYTHON_H
#define TALLY_PYTHON_H
#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>
#include <stdint.h>
#include <tally.h>

enum { PT_DIMS = 64, PT_OP = 96 };
/* Beside the library's: a signal's handler raised an exception, which is set. */
#define PT_INTERRUPTED ((tally_status)100)

/* ---- operands ---- */

/* What a result is made into: the input's own kind. */
typedef enum pt_kind {
    PT_OWN,   /* buffers: tally.Array; numbers where there are no axes */
    PT_NUMPY, /* numpy.ndarray; NumPy's scalars where there are no axes */
    PT_OTHER  /* what tally._kinds.give makes of a tally.Array */
} pt_kind;

/* Some dense elements: one of the parts of an Arrow stream. */
typedef struct pt_chunk {
    const void *data;
    int64_t n;
    const void *valid; /* NULL, or a bit for each element, from this one on */
    int64_t valid_offset;
} pt_chunk;

typedef struct pt_operand pt_operand;
struct pt_operand {
    char *data; /* of the element whose indices are all 0 */
    tally_dtype dtype;
    int is_bool; /* dtype is u8, and Python calls it bool */
    int ndim;
    int64_t shape[PT_DIMS], strides[PT_DIMS]; /* strides in bytes */
    int64_t size;                             /* elements */
    int readonly;
    int device;   /* -1: host memory; else the number of a CUDA device */
    void *stream; /* where the data becomes ready: work is issued there; NULL: it is ready */
    pt_kind kind;
    /* borrowed: what was given, or what it was converted to (then `converted` owns it) */
    PyObject *object;
    PyObject *converted;
    const char *name; /* for sentences: "x", "out" */
    pt_chunk *chunks; /* NULL, or `size` elements in this many parts; data is NULL then */
    int64_t chunk_count;
    /* NULL, or a bit for each element by its place, as in tally_view: element p of data has
     * valid_offset + p. Then the strides are multiples of elements */
    const void *valid;
    int64_t valid_offset;
    void *copy, *bits;             /* NULL, or memory of our own that data and valid are in */
    void (*release)(pt_operand *); /* NULL, or gives `held` back */
    void *held;
    Py_buffer buffer; /* of from_buffer.c */
};

/* Opens what `object` holds for reading; `name` is what sentences call it. */
int pt_open(PyObject *object, const char *name, pt_operand *a);
/* The same for writing: read-only memory and what is no array are errors. */
int pt_open_out(PyObject *object, pt_operand *a);
void pt_close(pt_operand *a);
/* The same where nothing may be left out: `what` takes arrays without nulls. */
int pt_open_plain(PyObject *object, const char *name, const char *what, pt_operand *a);
/* And this of dense int64 of one axis. */
int pt_open_places(PyObject *object, const char *name, pt_operand *a);

/* ---- what is left out, and second arrays ---- */

/* An error where a's object and this one have labels (pandas, xarray) that differ: elements are
   paired by place. */
int pt_same_labels(const pt_operand *a, PyObject *object, const char *name);
/* Leaves the elements out for which `where`, which is broadcast to a, is 0 (not 0 if
   `inverted`). None: nothing. */
int pt_leave_out(pt_operand *a, PyObject *where, const char *name, int inverted);
/* Opens a second array, and broadcasts it to a. None: *given is NULL. */
int pt_open_next(PyObject *object, pt_operand *a, pt_operand *next, const pt_operand **given);
void pt_close_next(const pt_operand *given);
/* x without what `where` leaves out, and the second array, all of host memory: `what` takes no
 * other; or of a device's too (NULL). */
int pt_open_inputs(PyObject *x, PyObject *next, PyObject *where, const char *what, pt_operand *a,
                   pt_operand *second, const pt_operand **given);
/* Chunks become one piece of memory. */
int pt_flatten(pt_operand *a);
int pt_has_nulls(const pt_operand *a);
/* The type in which two arrays are calculated (doc/inputs.md). */
tally_dtype pt_common(tally_dtype a, tally_dtype b);
static inline int64_t pt_bytes(const pt_operand *a) { return (int64_t)tally_dtype_size(a->dtype); }
static inline int pt_is_valid(const pt_operand *a, int64_t place)
{
    const int64_t bit = a->valid_offset + place;
    return !a->valid || ((const uint8_t *)a->valid)[bit >> 3] >> (bit & 7) & 1;
}

/* The protocols. 1: read; 0: the object does not speak it; -1: it does, wrongly. */
int pt_from_buffer(PyObject *object, pt_operand *a, int writable);
int pt_from_dlpack(PyObject *object, pt_operand *a);
int pt_from_cuda(PyObject *object, pt_operand *a);
int pt_from_interface(PyObject *object, pt_operand *a);
int pt_from_arrow(PyObject *object, pt_operand *a);

/* Ends what from_*.c began: checks dimensions, fills size; strides_given 0: C order, dense. */
int pt_settle(pt_operand *a, int strides_given);
/* For addresses that an object merely says: an error where they are no memory of this process. */
int pt_believe(const pt_operand *a);
/* An attribute, or NULL without an exception if the object has none; NULL with one if asking
   failed. */
PyObject *pt_attribute(PyObject *object, const char *name);
/* Arguments of array interfaces: a tuple of sizes or byte strides. */
int pt_sizes(PyObject *tuple, const char *what, const pt_operand *a, int64_t *sizes, int *count);
extern PyObject *pt_numpy_empty, *pt_no_index; /* numpy.empty, if NumPy is there; () */
/* tally._kinds: see module.c */
extern PyObject *pt_take_helper, *pt_give_helper, *pt_labels_helper;

/* ---- dtypes ---- */

/* The dtype that an object names ("float32", numpy.float32, float, torch.float32), or -1 with an
   exception. */
int pt_dtype_of(PyObject *object, tally_dtype *dtype, int *is_bool);
/* kind: i u f b or V as in array interfaces. 0 if tally has no such type. */
tally_dtype pt_dtype_find(char kind, int64_t bytes, int *is_bool);
/* NumPy's name, "float32"; a type string, "<f4"; the letter of struct, "f". */
const char *pt_dtype_name(tally_dtype dtype, int is_bool);
const char *pt_dtype_typestr(tally_dtype dtype, int is_bool);
const char *pt_dtype_format(tally_dtype dtype, int is_bool);
/* Sentences about types that tally does not take, by what a protocol calls them; -1 (types.c). */
int pt_refuse_format(const pt_operand *a, const char *format, int64_t bytes);
int pt_refuse_typestr(const pt_operand *a, PyObject *object, const char *typestr);
int pt_refuse_arrow(const pt_operand *a, const char *format, int dictionary);
int pt_refuse_dlpack(const pt_operand *a, int code, int bits, int lanes);
/* DLPack's number of a device. */
int pt_refuse_device(const pt_operand *a, int type);
/* at + bytes, also of the NULL of an array without elements, or of no second array, where pointer
   arithmetic is undefined. */
static inline char *pt_offset(const void *at, int64_t bytes)
{
    return (char *)((uintptr_t)at + (uintptr_t)bytes);
}
/* One value as a Python number. */
PyObject *pt_value(tally_dtype dtype, int is_bool, const void *value);
/* Element number `at` of dense ones (no f16, bf16) as a double; whether the element at this
   address is a NaN. */
double pt_real(tally_dtype dtype, const char *values, int64_t at);
int pt_is_nan(tally_dtype dtype, const char *at);
/* A Python number as one value; the sentence calls it `name`. */
int pt_value_from(PyObject *number, const char *name, tally_dtype dtype, void *value);

/* ---- results ---- */

/* A tuple of integers. */
PyObject *pt_shape(int ndim, const int64_t *shape);
/* A new array of dense elements in C order, of the kind of `like`, opened as *a; *object is a
   new reference. */
int pt_make(const pt_operand *like, tally_dtype dtype, int is_bool, int ndim, const int64_t *shape,
            pt_operand *a, PyObject **object);
/* What the caller gets for `object` (stolen, NULL passes through). */
PyObject *pt_give(const pt_operand *like, PyObject *object, int ndim);

/* tally.Array */
extern PyTypeObject *pt_array_type;
int pt_array_init(PyObject *module);
PyObject *pt_array_new(tally_dtype dtype, int is_bool, int ndim, const int64_t *shape);
void *pt_array_data(PyObject *array);
typedef struct pt_array {
    PyObject_HEAD char *data;
    PyObject *base; /* NULL: data is our own */
    tally_dtype dtype;
    int is_bool, ndim;
    Py_ssize_t *shape, *strides; /* strides in bytes; one block with shape */
} pt_array;
PyObject *pt_array_dlpack(PyObject *self, PyObject *args, PyObject *names);
PyObject *pt_array_dlpack_device(PyObject *self, PyObject *unused);
PyObject *pt_array_arrow(PyObject *self, PyObject *args, PyObject *names);

/* ---- contexts ---- */

typedef struct pt_slot pt_slot;
struct pt_slot {
    tally *ctx;
    pt_slot *next;
    int place;   /* which device string */
    int defined; /* definitions that it has */
    int is_gpu;
};
int pt_contexts_init(void);
/* A context for this call: the thread's device, or the CUDA device that holds the operands (a,
 * out; either may be NULL). NULL with an exception. */
pt_slot *pt_take(const pt_operand *a, const pt_operand *out);
/* The same for several arrays (NULL: none), of which the first gets the stream that they are
   ready in. */
pt_slot *pt_take_all(pt_operand *const *all, int count, const pt_operand *out);
/* The same for a call that may have a second input. */
pt_slot *pt_take_two(pt_operand *a, const pt_operand *next, const pt_operand *out);
void pt_give_back(pt_slot *slot);
/* Sets the exception of a failed call; ctx NULL: one without a context. Returns -1. */
int pt_raise(const tally *ctx, tally_status status);
/* Whether work on so many bytes is worth letting other threads run. */
int pt_long(const pt_slot *slot, int64_t bytes);

PyObject *pt_use(PyObject *module, PyObject *name);
PyObject *pt_define(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_about(PyObject *module, PyObject *unused);
PyObject *pt_verify(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_operators(PyObject *module, PyObject *unused);
PyObject *pt_operator(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_devices(PyObject *module, PyObject *unused);

/* ---- dimensions ---- */

typedef struct pt_dim {
    /* extent; byte strides in the input, in the results, in the second input */
    int64_t n, in, out, next;
} pt_dim;

/* The axes that `axis` names: a bit each; None is all of them. */
int pt_axes(PyObject *axis, const pt_operand *a, uint64_t *mask);
/* The one axis of a scan or window: None only where there is one dimension. */
int pt_axis(PyObject *axis, const pt_operand *a, int *at);
/* Joins dimensions that one stride walks, and drops those of extent 1. Returns how many are
   left. */
int pt_join(pt_dim *dim, int count);
/* Copies elements first .. first + count - 1, in C order of the dimensions, to dense memory.
   Needs no GIL. */
void pt_pack(char *to, const char *from, const pt_dim *dim, int dims, int64_t first, int64_t count,
             int64_t bytes);
/* The other way: dense elements to places out of `to`, by the strides `out`. */
void pt_unpack(char *to, const char *from, const pt_dim *dim, int dims, int64_t count,
               int64_t bytes);
/* Whether the memory of two operands meets, and whether an operand's elements are all in places
   of their own. */
int pt_meet(const pt_operand *a, const pt_operand *b, int64_t bytes_a, int64_t bytes_b);
int pt_distinct(const pt_operand *a, int64_t bytes);
/* Is every stride a multiple of the element? */
int pt_even(const pt_operand *a, int64_t bytes);

/* ---- views (sequence.c) ---- */

/* Rows of a's elements, from `at` on; strides in bytes. */
tally_view pt_view(const pt_operand *a, const char *at, int64_t rows, int64_t n, int64_t row_stride,
                   int64_t stride);
/* Elements in C order of these axes (NULL: of its own), and their bits, in memory of the
   operand's own. */
tally_status pt_pack_axes(const pt_operand *a, const int *axes, pt_operand *dense);
void pt_unpack_axes(pt_operand *dense);
/* x, and the second array, as one sequence in C order: where they are if one stride walks each,
   else in copies. */
typedef struct pt_sequence {
    tally_view view, second;
    pt_operand copy[2];
    int copies;
} pt_sequence;
tally_status pt_sequence_open(const pt_operand *a, const pt_operand *next, pt_sequence *s);
void pt_sequence_close(pt_sequence *s);

/* ---- devices (device.c) ---- */

/* An array on a device becomes a copy in host memory, which pt_close frees; one in host memory
   stays. */
int pt_to_host(pt_operand *a);
/* The elements of a dense array on a device, from host memory. */
int pt_from_host(const pt_operand *a, const void *from);

/* ---- long calls ---- */

/* A call on so many elements begins; it turns out to have more. Calls do not nest. */
void pt_begin(int64_t elements);
void pt_more(int64_t elements);
/* Without the GIL, between pieces: so many elements more are done. PT_INTERRUPTED if a signal's
 * handler, or the callback, raised an exception. */
tally_status pt_went_on(int64_t elements);
/* It ended. Not 0 if it failed, or the callback does. */
int pt_end(int failed);
/* Elements of a piece: fewer than usual if somebody wants to hear of them. */
int64_t pt_piece(int64_t usual);
PyObject *pt_progress(PyObject *module, PyObject *object);

/* ---- verbs ---- */

/* How a verb runs: op as the library writes it, its facts, and what scan and window add. */
typedef struct pt_verb {
    enum { PT_REDUCE, PT_SCAN, PT_WINDOW, PT_RANGES } what;
    char op[PT_OP];
    tally_operator_info info;
    int out_bool;    /* Python calls the results bool */
    tally_dtype out; /* what Python calls them: info.output, but int64 for sums of bool */
    int64_t in_bytes, out_bytes;
    tally_scan_options scan;
    tally_window_options window;
    int initial; /* scan: one more result before the first, of no elements */
    /* window: results move on by one, the first is empty (after is -1) */
    int64_t shift;
    const pt_operand *next;     /* NULL, or the second input, of the first one's shape */
    const int64_t *start, *end; /* ranges: the elements of each result, and how many it must have */
    pt_operand *bound;          /* the two arrays that start and end are of */
    int64_t least;
} pt_verb;

/* op and the dtype that was asked for (None: any) as the library's string, and its facts for
 * `a`, and for `next`, which may be NULL. */
int pt_verb_of(pt_slot *slot, PyObject *op, PyObject *dtype, const pt_operand *a,
               const pt_operand *next, pt_verb *verb);
/* The same for what comes later: arrays of one type, as many as the operator takes. */
int pt_verb_for(pt_slot *slot, PyObject *op, tally_dtype dtype, int is_bool, pt_verb *verb);
/* Closes an array of results. Of bools every byte becomes 0 or 1: the minimum of no u8 is 255. */
void pt_close_result(const pt_verb *verb, pt_operand *result);
/* Data on a device is not packed: one stride must walk what is folded (mask: the axes), and
 * results (NULL: there are none) must be dense. */
int pt_check_device(const pt_operand *a, uint64_t mask, const pt_operand *out);
/* A second array must be given exactly where the operator takes two. */
int pt_check_inputs(const pt_verb *verb, const pt_operand *next);
/* Checks that an `out` that was given is an array of these results. */
int pt_fits(const pt_operand *out, const pt_verb *verb, int ndim, const int64_t *shape);
/* The place of results of *ndim axes, to which the operator's lanes may add one: `out`, which is
 * open as *result if *opened, or a new array of the kind of `like`. *object is a new reference. */
int pt_open_result(const pt_operand *like, const pt_verb *verb, PyObject *out, int *ndim,
                   int64_t *shape, pt_operand *result, int *opened, PyObject **object);
/* The work: no GIL. out of a reduction is dense. Memory that runs out is TALLY_NO_MEMORY. */
tally_status pt_walk_reduce(tally *ctx, const pt_verb *verb, const pt_operand *a, uint64_t mask,
                            char *out);
tally_status pt_walk_series(tally *ctx, const pt_verb *verb, const pt_operand *a, int axis,
                            const pt_operand *out);
tally_status pt_walk_chunks(tally *ctx, const pt_verb *verb, const pt_operand *a, char *out);
/* Brings the stream of device data to the context, and back. */
tally_status pt_stream_begin(pt_slot *slot, const pt_operand *a, const pt_operand *out);
tally_status pt_stream_end(pt_slot *slot, tally_status status, const pt_operand *a,
                           const pt_operand *out);

PyObject *pt_reduce(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_scan(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_window(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_segments(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_rolling(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_fragment_make(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_fragment_none(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_fragment_rows(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_scan_rows(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_fragment_join(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_fragment_read(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_present(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_bounds(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_ranges(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_runs(PyObject *module, PyObject *keys);
PyObject *pt_groups(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_gather(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_exact_add(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_exact_join(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_exact_value(PyObject *module, PyObject *const *args, Py_ssize_t count);
/* The fragment of its saved form, which the caller frees; NULL with an exception. */
tally_fragment *pt_fragment_load(pt_slot *slot, PyObject *bytes);
int pt_stream_init(PyObject *module);

/* TypeError unless `given` is `expected`. */
int pt_count(const char *function, Py_ssize_t given, Py_ssize_t expected);
#endif
