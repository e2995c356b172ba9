/* SPDX-License-Identifier: MIT
 * The extension `tally._core`. It makes views of tally.h from Python's arrays, and arrays of the
 * input's kind from results.
 *
 *  object --pt_open--> operand --dims--> views --> tally_reduce, _scan, _window
 *                                                            result --pt_give--> object
 *
 *  operand.c    chooses the protocol of an object; from_*.c read the protocols; libraries.c reads
 *               and makes the arrays of PyTorch and CuPy; array.c is the extension's own array
 *  inputs.c     elements that are left out (nulls, masks, where=), and second arrays
 *  views.c      arrays as views, copied if no stride visits their elements; copies arrays on a
 *               device to the host, for work that needs host memory
 *  dims.c       axes, and the fewest strides that visit them; walk.c calls the verbs over them
 *  context.c    contexts, one for each running call, and their streams; errors
 *  memory.c     large blocks for results, which are kept; an allocator that Python gives
 *  progress.c   work between the pieces of a long call: Ctrl-C, a callback
 *
 * Functions that return int return 0, or -1 with a Python exception set. Everything needs the GIL
 * (or an attached thread state) unless it says otherwise. Names that other files use begin with
 * pt_. */
#ifndef TALLY_PYTHON_H
#define TALLY_PYTHON_H
#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>
#include <stdint.h>
#include <tally.h>

enum { PT_DIMS = 64, PT_OP = 96 };
/* A status besides those of the library: a signal's handler raised an exception, which is set. */
#define PT_INTERRUPTED ((tally_status)100)

/* ---- operands ---- */

/* The kind of object that results become: that of the input. */
typedef enum pt_kind {
    PT_OWN,   /* buffers: a tally.Array, or a number if there are no axes */
    PT_NUMPY, /* numpy.ndarray, or a NumPy scalar if there are no axes */
    PT_OTHER, /* what tally._kinds.give makes of a tally.Array */
    PT_TORCH, /* torch.Tensor and */
    PT_CUPY   /* cupy.ndarray, made by their own libraries (libraries.c) */
} pt_kind;

/* Dense elements: one array of an Arrow stream. */
typedef struct pt_chunk {
    const void *data;
    int64_t n;
    const void *valid; /* NULL, or a bit for each element, beginning with the first */
    int64_t valid_offset;
} pt_chunk;

typedef struct pt_operand pt_operand;
typedef struct pt_verb pt_verb;
struct pt_operand {
    char *data; /* the element whose indices are all 0 */
    tally_dtype dtype;
    int is_bool; /* dtype is u8, and Python calls it bool */
    int ndim;
    int64_t shape[PT_DIMS], strides[PT_DIMS]; /* strides in bytes */
    int64_t size;                             /* number of elements */
    int readonly;
    int device; /* -1: host memory; else the number of a CUDA device */
    /* the stream on which the data becomes ready, to which work is issued; NULL: it is ready */
    void *stream;
    PyObject *owner; /* NULL, or the object that must live as long as the stream */
    /* the memory or the stream may be gone after the call, so the call waits for its work */
    int passing;
    pt_kind kind;
    /* borrowed: the given object, or what it was converted to (which `converted` owns) */
    PyObject *object;
    PyObject *converted;
    const char *name; /* for sentences: "x", "out" */
    pt_chunk *chunks; /* NULL, or the `size` elements as this many parts; then data is NULL */
    int64_t chunk_count;
    /* NULL, or a bit for each element, as in tally_view: the element at data + p elements has bit
     * valid_offset + p. Then the strides are multiples of the element size */
    const void *valid;
    int64_t valid_offset;
    void *copy, *bits;             /* NULL, or memory of the operand, for data and valid */
    void (*release)(pt_operand *); /* NULL, or releases `held` */
    void *held;
    Py_buffer buffer; /* used by from_buffer.c */
};

/* Sets what every operand begins with. */
void pt_open_begin(PyObject *object, const char *name, pt_operand *a);
/* Opens an object for reading; `name` is its name in sentences. */
int pt_open(PyObject *object, const char *name, pt_operand *a);
/* Opens an object for writing. Read-only memory, and objects that are not arrays, are errors. */
int pt_open_out(PyObject *object, pt_operand *a);
void pt_close(pt_operand *a);
/* Opens an array without nulls for reading. `what`, in the sentence, takes no nulls. */
int pt_open_plain(PyObject *object, const char *name, const char *what, pt_operand *a);
/* Opens an array of integers, of one axis and without nulls, as dense int64. */
int pt_open_places(PyObject *object, const char *name, pt_operand *a);

/* ---- elements that are left out, and second arrays ---- */

/* Raises an exception if a's object and this one have labels (pandas, xarray) that differ,
 * because elements are paired by position. */
int pt_same_labels(const pt_operand *a, PyObject *object, const char *name);
/* Whether the object is of pandas, Polars, pyarrow or xarray; whether it is of Polars or pyarrow.
 */
int pt_is_labelled(PyObject *object);
int pt_is_column(PyObject *object);
/* Leaves out the elements for which `where`, broadcast to a, is 0 (or not 0 if `inverted`). None
 * leaves out nothing. */
int pt_leave_out(pt_operand *a, PyObject *where, const char *name, int inverted);
/* Opens a second array and broadcasts it to a. None: *given becomes NULL. */
int pt_open_next(PyObject *object, pt_operand *a, pt_operand *next, const pt_operand **given);
void pt_close_next(const pt_operand *given);
typedef struct pt_inputs {
    pt_operand a, b;
    const pt_operand *next; /* NULL, or &b */
} pt_inputs;
/* Opens x, without the elements that `where` leaves out, and the second array. what: the name of
 * a call that needs host memory, or NULL if device memory is allowed. */
int pt_open_inputs(PyObject *x, PyObject *next, PyObject *where, const char *what, pt_inputs *in);
void pt_close_inputs(pt_inputs *in);
/* Copies chunks to one piece of memory. */
int pt_flatten(pt_operand *a);
/* Copies elements of host memory whose strides are no multiples of their size, such as a field of
 * packed records. */
int pt_make_even(pt_operand *a);
int pt_has_nulls(const pt_operand *a);
/* The common type of two arrays (doc/inputs.md). */
tally_dtype pt_common(tally_dtype a, tally_dtype b);
/* Whether the results of an array stay on the array's device. */
static inline int pt_stays(const pt_operand *a) { return a->device >= 0 && a->kind >= PT_OTHER; }
static inline int64_t pt_bytes(const pt_operand *a) { return (int64_t)tally_dtype_size(a->dtype); }
static inline int pt_is_valid(const pt_operand *a, int64_t place)
{
    const int64_t bit = a->valid_offset + place;
    return !a->valid || ((const uint8_t *)a->valid)[bit >> 3] >> (bit & 7) & 1;
}

/* Read an object by one protocol. 1: done; 0: the object does not have the protocol; -1: it has,
 * but wrongly. */
int pt_from_library(PyObject *object, pt_operand *a);
int pt_from_buffer(PyObject *object, pt_operand *a, int writable);
int pt_from_dlpack(PyObject *object, pt_operand *a);
/* Opens a new array, dense in C order, whose type and shape *a has: no format is asked for. */
int pt_from_new(PyObject *object, pt_operand *a);
struct pt_dl_tensor;
int pt_read_tensor(const struct pt_dl_tensor *t, pt_operand *a);
int pt_from_cuda(PyObject *object, pt_operand *a);
int pt_from_interface(PyObject *object, pt_operand *a);
int pt_from_arrow(PyObject *object, pt_operand *a);

/* Completes what from_*.c filled in: checks dimensions and sets size. strides_given 0: C order,
 * dense. */
int pt_settle(pt_operand *a, int strides_given);
/* For addresses that an object only claims: an error if they are not memory of this process. */
int pt_believe(const pt_operand *a);
/* An attribute; NULL without an exception if the object does not have it, NULL with an exception
 * if getting it failed. */
PyObject *pt_attribute(PyObject *object, const char *name);
/* Reads a tuple of sizes or byte strides from an array interface. */
int pt_sizes(PyObject *tuple, const char *what, const pt_operand *a, int64_t *sizes, int *count);
extern PyObject *pt_numpy_empty, *pt_no_index; /* numpy.empty, or NULL without NumPy; () */
/* functions of tally._kinds (module.c) */
extern PyObject *pt_take_helper, *pt_give_helper, *pt_labels_helper, *pt_rearrange_helper,
    *pt_bits_helper, *pt_fill_helper, *pt_finish_helper;

/* ---- dtypes ---- */

/* The dtype that an object names ("float32", numpy.float32, float, torch.float32); -1 with an
 * exception. */
int pt_dtype_of(PyObject *object, tally_dtype *dtype, int *is_bool);
/* kind: i u f b or V as in array interfaces. Returns 0 if tally has no such type. */
tally_dtype pt_dtype_find(char kind, int64_t bytes, int *is_bool);
/* The name in NumPy, "float32"; the type string, "<f4"; the letter of struct, "f". */
const char *pt_dtype_name(tally_dtype dtype, int is_bool);
const char *pt_dtype_typestr(tally_dtype dtype, int is_bool);
const char *pt_dtype_format(tally_dtype dtype, int is_bool);
/* Raise exceptions for types that tally does not take, named in the words of a protocol; return
 * -1 (types.c). */
int pt_refuse_format(const pt_operand *a, const char *format, int64_t bytes);
int pt_refuse_typestr(const pt_operand *a, PyObject *object, const char *typestr);
int pt_refuse_arrow(const pt_operand *a, const char *format, int dictionary);
int pt_refuse_dlpack(const pt_operand *a, int code, int bits, int lanes);
/* type: DLPack's number of a device. */
int pt_refuse_device(const pt_operand *a, int type);
/* at + bytes, also if at is NULL (an array without elements, no second array), for which pointer
 * arithmetic is undefined. */
static inline char *pt_offset(const void *at, int64_t bytes)
{
    return (char *)((uintptr_t)at + (uintptr_t)bytes);
}
/* One value as a Python number. */
PyObject *pt_value(tally_dtype dtype, int is_bool, const void *value);
/* pt_real: element number `at` of dense elements as a double. pt_is_nan: whether
 * the element at this address is a NaN. */
double pt_real(tally_dtype dtype, const char *values, int64_t at);
int pt_is_nan(tally_dtype dtype, const char *at);
/* Reads a Python number as one value; `name` is its name in sentences. */
int pt_value_from(PyObject *number, const char *name, tally_dtype dtype, void *value);

/* ---- results ---- */

/* A tuple of integers. */
PyObject *pt_shape(int ndim, const int64_t *shape);
/* The type and the shape of a new array. */
typedef struct pt_form {
    tally_dtype dtype;
    int is_bool, ndim;
    const int64_t *shape;
} pt_form;
/* Makes an array of dense elements in C order, of the kind of `like`, and opens it as *a. *object:
 * a new reference. */
int pt_make(const pt_operand *like, pt_form form, pt_operand *a, PyObject **object);
/* A new array without values of PyTorch or CuPy, with the type and shape of *a, which it opens; on
 * the device of `like`. NULL without an exception: tally._kinds.give makes it. */
PyObject *pt_library_empty(const pt_operand *like, pt_operand *a);
/* Whether the current stream of the array's library is captured into a graph, where no context can
 * be opened: then an exception is set. */
int pt_is_captured(const pt_operand *a);
int pt_libraries_init(void);
/* Whether results of arrays on a device are wanted on the host (tally.config). */
int pt_wants_host(void);
/* Converts `object` to what the caller of the Python function gets. Steals the reference; NULL is
 * returned as NULL. */
PyObject *pt_give(const pt_operand *like, PyObject *object, int ndim);

/* The type tally.Array. */
extern PyTypeObject *pt_array_type;
int pt_array_init(PyObject *module);
PyObject *pt_array_new(tally_dtype dtype, int is_bool, int ndim, const int64_t *shape);
void *pt_array_data(PyObject *array);
typedef struct pt_array {
    PyObject_HEAD char *data;
    PyObject *base; /* NULL: the array owns data */
    tally_dtype dtype;
    int is_bool, ndim;
    Py_ssize_t *shape, *strides; /* strides in bytes; allocated together with shape */
    size_t block;                /* 0, or the bytes of its block (pt_block_take) */
} pt_array;
PyObject *pt_array_dlpack(PyObject *self, PyObject *args, PyObject *names);
PyObject *pt_array_dlpack_device(PyObject *self, PyObject *unused);
PyObject *pt_array_arrow(PyObject *self, PyObject *args, PyObject *names);

/* ---- memory ---- */

/* pt_block_take: memory of this many bytes, perhaps a block that an earlier result had, if they
 * are at least PT_LARGE; NULL: out of memory. pt_block_give ends its use; at may be NULL. */
enum { PT_LARGE = 1 << 22 };
void *pt_block_take(size_t bytes);
void pt_block_give(void *at, size_t bytes);

/* ---- contexts ---- */

typedef struct pt_slot pt_slot;
struct pt_slot {
    tally *ctx;
    pt_slot *next;
    int place;   /* the number of its device string */
    int defined; /* number of definitions that it has */
    int is_gpu;
    /* the stream of its work, and the object that must live as long; NULL: its own stream, on
     * which every call waits */
    void *stream;
    PyObject *owner;
    /* of the running call: the stream that it needs, its object (borrowed), and whether it waits */
    void *wanted;
    PyObject *wanted_owner;
    int waits, changed;
    const void *memory;                   /* an element on the device; NULL: there is none */
    const struct pt_allocator *allocator; /* where its memory comes from; NULL: its own */
    char op[PT_OP];                       /* its operator, "" if it has none */
    char last[PT_OP]; /* the operator of the last call that did not wait, "" if there is none */
};
int pt_contexts_init(void);
/* Takes a context for this call: of the thread's device, or of the CUDA device that holds the
 * operands (either may be NULL). NULL with an exception. */
pt_slot *pt_take(const pt_operand *a, const pt_operand *out);
/* pt_take for several arrays (NULL: none), which must be on one device and in one stream. */
pt_slot *pt_take_all(const pt_operand *const *all, int count);
void pt_give_back(pt_slot *slot);
/* Sets the exception of a failed call and returns -1. ctx NULL: a call without a context. */
int pt_raise(const tally *ctx, tally_status status);
/* Whether work on this many bytes is long enough to release the GIL. */
int pt_long(const pt_slot *slot, int64_t bytes);

/* Gives the context the allocator that was set last (memory.c). */
typedef struct pt_allocator pt_allocator;
int pt_catch_up_allocator(pt_slot *slot);
PyObject *pt_use_allocator(PyObject *module, PyObject *const *args, Py_ssize_t count);

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

/* Sets a bit of *mask for each axis that `axis` names; None names all. */
int pt_axes(PyObject *axis, const pt_operand *a, uint64_t *mask);
/* Reads the one axis of a scan or window. None is allowed only if there is one dimension. */
int pt_axis(PyObject *axis, const pt_operand *a, int *at);
/* Joins dimensions that one stride visits, and drops those of extent 1. Returns the number of the
 * others. */
int pt_join(pt_dim *dim, int count);
/* Elements of `bytes` bytes, by the strides `in` of the dimensions. */
typedef struct pt_elements {
    const char *data;
    const pt_dim *dim;
    int dims;
    int64_t bytes;
} pt_elements;
/* Copies elements first .. first + count - 1, in C order of the dimensions, to dense memory.
 * Needs no GIL. */
void pt_pack(char *to, const pt_elements *from, int64_t first, int64_t count);
/* The reverse: copies dense elements to places in `to`, by the strides `out`. */
void pt_unpack(char *to, const char *from, const pt_dim *dim, int dims, int64_t count,
               int64_t bytes);
/* pt_overlap: whether the memory of two operands overlaps. pt_distinct: whether all elements of an
 * operand have different places. */
int pt_overlap(const pt_operand *a, const pt_operand *b, int64_t bytes_a, int64_t bytes_b);
int pt_distinct(const pt_operand *a, int64_t bytes);
/* Whether every stride is a multiple of the element size. */
int pt_even(const pt_operand *a, int64_t bytes);

/* ---- views (views.c) ---- */

/* A view of rows of a's elements, from `at` on; strides in bytes. */
tally_view pt_view(const pt_operand *a, const char *at, int64_t rows, int64_t n, int64_t row_stride,
                   int64_t stride);
/* Copies elements in C order of these axes (NULL: of all), and their bits, to memory of the
 * operand *dense. */
tally_status pt_pack_axes(const pt_operand *a, const int *axes, pt_operand *dense);
void pt_unpack_axes(pt_operand *dense);
/* x, and the second array, as one sequence in C order: in place if one stride visits each, else
 * in copies. */
typedef struct pt_sequence {
    tally_view view, second;
    pt_operand copy[2];
    int copies;
} pt_sequence;
tally_status pt_sequence_open(const pt_operand *a, const pt_operand *next, pt_sequence *s);
void pt_sequence_close(pt_sequence *s);

/* ---- devices (views.c) ---- */

/* Replaces an array on a device by a copy in host memory, which pt_close frees. Does nothing for
 * host memory. */
int pt_to_host(pt_operand *a);
/* Writes the elements of a dense array on a device, from host memory. */
int pt_from_host(const pt_operand *a, const void *from);
/* The rest is done by the array's own library on its device, if that is PyTorch or CuPy. */
/* Joins the axes of *mask, of a, to one: the last. The objects *next and *where, borrowed, become
 * such, which a owns. Does nothing if a has such axes, or if it must be refused. */
int pt_rearrange(pt_operand *a, uint64_t *mask, PyObject **next, PyObject **where);
/* Leaves out the elements for which `where` is 0. 0: done; 1: by no library. */
int pt_leave_out_there(pt_operand *a, PyObject *where, const char *name);
/* Sets the first and last results along an axis to a value; NULL: an exception is set. */
int pt_fill_ends(PyObject *out, int axis, int64_t first, int64_t last, PyObject *value);
/* Sets the first result along an axis to the result of no elements. */
int pt_fill_first(const pt_verb *verb, const pt_operand *a, PyObject *out, int axis);

/* ---- long calls ---- */

/* pt_begin: begins a call on this many elements. pt_more: adds elements. Calls do not nest. */
void pt_begin(int64_t elements);
void pt_more(int64_t elements);
/* Called without the GIL, between pieces: this many more elements are done. PT_INTERRUPTED if a
 * signal's handler or the callback raised an exception. */
tally_status pt_advance(int64_t elements);
/* Ends the call. Returns not 0 if it failed, or if the callback fails. */
int pt_end(int failed);
/* The number of elements per piece: fewer than usual if there is a callback. */
int64_t pt_piece(int64_t usual);
PyObject *pt_progress(PyObject *module, PyObject *object);

/* ---- verbs ---- */

/* A verb: the operator's string for the library, its facts, and the options of scan and window. */
struct pt_verb {
    enum { PT_REDUCE, PT_SCAN, PT_WINDOW, PT_RANGES } what;
    char op[PT_OP];
    tally_operator_info info;
    int out_bool;    /* the results are called bool in Python */
    tally_dtype out; /* the results' type in Python: info.output, but int64 for sums of bool */
    int64_t in_bytes, out_bytes;
    tally_scan_options scan;
    tally_window_options window;
    int initial; /* scan: one more result before the first, of no elements */
    /* window: 1 if results are shifted by one and the first is empty (after is -1) */
    int64_t shift;
    const pt_operand *next; /* NULL, or the second input, with the shape of the first */
    /* ranges: the elements of each result, and the fewest that it needs */
    const int64_t *start, *end;
    pt_operand *bound; /* the operands of start and end */
    int64_t least;
};

/* Makes the library's string from op and the requested dtype (None: any), and gets its facts for
 * `a`, and for `next`, which may be NULL. */
int pt_verb_of(pt_slot *slot, PyObject *op, PyObject *dtype, const pt_operand *a,
               const pt_operand *next, pt_verb *verb);
/* Like pt_verb_of for arrays that come later: of one type, and as many as the operator takes. */
int pt_verb_of_type(pt_slot *slot, PyObject *op, tally_dtype dtype, int is_bool, pt_verb *verb);
/* Closes an array of results. For bool, sets every byte to 0 or 1: the minimum of no u8 is 255. */
void pt_close_result(const pt_verb *verb, pt_operand *result);
/* Checks data on a device, which is not copied: one stride must visit what is reduced (mask: the
 * axes), and results (NULL: none) must be dense. */
int pt_check_device(const pt_operand *a, uint64_t mask, const pt_operand *out);
/* Checks that a second array is given if and only if the operator takes two. */
int pt_check_inputs(const pt_verb *verb, const pt_operand *next);
/* Checks that a given `out` is an array for these results. */
int pt_fits(const pt_operand *out, const pt_verb *verb, int ndim, const int64_t *shape);
/* The array for results. */
typedef struct pt_result {
    pt_operand a;
    int opened;       /* is a open? */
    PyObject *object; /* a new reference, or NULL */
    int ndim;
    int64_t shape[PT_DIMS + 1];
} pt_result;
/* Opens the array for results of r->ndim axes, to which the lanes of the operator may add one. It
 * is `out` if that is open already, or a new array of the kind of `like`. */
int pt_open_result(const pt_operand *like, const pt_verb *verb, PyObject *out, pt_result *r);
/* Compute the results. No GIL. out of a reduction is dense. If memory runs out, the status is
 * TALLY_NO_MEMORY. */
tally_status pt_walk_reduce(tally *ctx, const pt_verb *verb, const pt_operand *a, uint64_t mask,
                            char *out);
tally_status pt_walk_series(tally *ctx, const pt_verb *verb, const pt_operand *a, int axis,
                            const pt_operand *out);
tally_status pt_walk_chunks(tally *ctx, const pt_verb *verb, const pt_operand *a, char *out);
/* Before and after the calls of the library. begin gives the context the stream of the arrays; end
 * waits if it must. Without the GIL or with it. */
tally_status pt_stream_begin(pt_slot *slot);
tally_status pt_stream_end(pt_slot *slot, tally_status status);

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
PyObject *pt_by(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_group_bounds(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_encode(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_pair(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_renumber(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_exact_add(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_exact_join(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pt_exact_value(PyObject *module, PyObject *const *args, Py_ssize_t count);
/* Loads a fragment from its bytes; the caller frees it. NULL with an exception. */
tally_fragment *pt_fragment_load(pt_slot *slot, PyObject *bytes);
int pt_stream_init(PyObject *module);

/* Raises TypeError unless `given` is `expected`. */
int pt_count(const char *function, Py_ssize_t given, Py_ssize_t expected);
/* *value: the integer that `object` is. TypeError and ValueError name it. */
int pt_integer(PyObject *object, const char *name, int64_t *value);
/* The text of a string without zero bytes; NULL with an exception that names it. */
const char *pt_string(PyObject *object, const char *name);
#endif
