/* SPDX-License-Identifier: MIT
 * Reads Arrow's C data interface: one array, or a stream of arrays (pyarrow.ChunkedArray,
 * polars.Series), whose elements follow each other. Nulls become validity bits, and booleans, which
 * are packed bits, are copied to bytes. Dictionaries, strings, dates and lists are refused. */
#include "pt.h"
#include "capsules.h"
#include <stdlib.h>
#include <string.h>

static int has(PyObject *object, const char *name)
{
    PyObject *method = pt_attribute((PyObject *)Py_TYPE(object), name);
    PyErr_Clear();
    Py_XDECREF(method);
    return method != NULL;
}

/* the format, and NumPy's letter for its kind */
static tally_dtype dtype_of(const char *format)
{
    static const char letters[] = "cCsSiIlLefg";
    static const tally_dtype dtypes[] = {TALLY_I8,  TALLY_U8,  TALLY_I16, TALLY_U16,
                                         TALLY_I32, TALLY_U32, TALLY_I64, TALLY_U64,
                                         TALLY_F16, TALLY_F32, TALLY_F64};
    const char *at = format && format[0] && !format[1] ? strchr(letters, format[0]) : NULL;
    return at ? dtypes[at - letters] : 0;
}

static int is_text(const char *text, int32_t length, const char *what)
{
    return length == (int32_t)strlen(what) && !memcmp(text, what, (size_t)length);
}

/* Whether an array of int8 is of the extension arrow.bool8: each number but 0 is True. The metadata
 * is the number of pairs, and of each the two texts, with their lengths before them. */
static int is_bool8(const pt_arrow_schema *schema)
{
    const char *at = schema->metadata;
    int32_t pairs, key, value;
    if (!at || !schema->format || strcmp(schema->format, "c")) return 0;
    memcpy(&pairs, at, sizeof pairs);
    for (at += sizeof pairs; pairs > 0; pairs--) {
        memcpy(&key, at, sizeof key);
        const char *const name = at + sizeof key, *const text = name + key + sizeof value;
        memcpy(&value, name + key, sizeof value);
        if (is_text(name, key, "ARROW:extension:name") && is_text(text, value, "arrow.bool8"))
            return 1;
        at = text + value;
    }
    return 0;
}

static int read_schema(const pt_arrow_schema *schema, pt_operand *a)
{
    const char *format = schema->format ? schema->format : "";
    a->is_bool = (!strcmp(format, "b") || is_bool8(schema)) && !schema->dictionary;
    a->dtype = a->is_bool ? TALLY_U8 : schema->dictionary ? 0 : dtype_of(format);
    return a->dtype ? 0 : pt_refuse_arrow(a, format, schema->dictionary != NULL);
}

/* Whether the object is an array whose Arrow form is a table: xarray.DataArray, with its
 * coordinates. */
static int is_table_of(PyObject *object, const pt_arrow_schema *schema)
{
    return schema->format && !strcmp(schema->format, "+s") && has(object, "__array_ufunc__") &&
           has(object, "__array__") && !pt_is_column(object);
}

/* Whether an element is null. A producer may leave the counting to its readers (-1). */
static int has_nulls(const pt_arrow_array *array)
{
    const uint8_t *bits = array->buffers[0];
    if (array->null_count >= 0 || !bits) return array->null_count > 0;
    for (int64_t i = array->offset; i < array->offset + array->length; i++)
        if (!(bits[i / 8] >> (i % 8) & 1)) return 1;
    return 0;
}

/* The booleans of an array as bytes 0 and 1, which the caller frees. bool8: they are bytes there
 * too. */
static void *unpack_bools(const pt_arrow_array *array, int bool8)
{
    const uint8_t *bits = array->buffers[1];
    uint8_t *bytes = malloc((size_t)array->length);
    if (!bytes) PyErr_NoMemory();
    for (int64_t i = 0; bytes && i < array->length; i++) {
        const int64_t bit = array->offset + i;
        bytes[i] = bool8 ? bits[bit] != 0 : bits[bit / 8] >> (bit % 8) & 1;
    }
    return bytes;
}

/* Reads the dense elements of one array. *copy: NULL, or memory that the caller frees. */
static int read_array(const pt_arrow_array *array, int bool8, pt_operand *a, pt_chunk *chunk,
                      void **copy)
{
    int64_t end, bytes;
    if (array->length < 0 || array->offset < 0 || array->n_buffers != 2 || !array->buffers ||
        array->n_children || __builtin_add_overflow(array->length, array->offset, &end) ||
        __builtin_mul_overflow(end, (int64_t)tally_dtype_size(a->dtype), &bytes) ||
        (array->length && !array->buffers[1])) {
        PyErr_Format(
            PyExc_ValueError,
            "%s: its Arrow array of length %lld, offset %lld and %lld buffers is none of %s",
            a->name, (long long)array->length, (long long)array->offset,
            (long long)array->n_buffers, pt_dtype_name(a->dtype, 0));
        return -1;
    }
    const int nulls = has_nulls(array);
    if (nulls && !array->buffers[0]) {
        PyErr_Format(PyExc_ValueError,
                     "%s: its Arrow array has %lld nulls and no bits that say where", a->name,
                     (long long)array->null_count);
        return -1;
    }
    chunk->valid = nulls ? array->buffers[0] : NULL;
    chunk->valid_offset = nulls ? array->offset : 0;
    chunk->n = array->length;
    chunk->data = array->buffers[1];
    *copy = NULL;
    if (array->length && a->is_bool) {
        chunk->data = *copy = unpack_bools(array, bool8);
        return *copy ? 0 : -1;
    }
    if (array->length)
        chunk->data = pt_offset(chunk->data, array->offset * (int64_t)tally_dtype_size(a->dtype));
    return 0;
}

static int used(const pt_operand *a)
{
    PyErr_Format(PyExc_ValueError, "%s: its Arrow capsule must hold data that nobody has used",
                 a->name);
    return -1;
}

static int one_dense(pt_operand *a, const pt_chunk *chunk)
{
    a->data = (char *)(uintptr_t)chunk->data;
    a->readonly = 1;
    a->ndim = 1;
    a->shape[0] = chunk->n;
    a->valid = chunk->valid;
    a->valid_offset = chunk->valid_offset;
    return pt_settle(a, 0) ? -1 : 1;
}

/* ---- one array ---- */

/* Releases the capsules, which release what they hold. */
static void release_pair(pt_operand *a) { Py_CLEAR(a->held); }

static int from_array(PyObject *object, pt_operand *a)
{
    PyObject *pair = PyObject_CallMethod(object, "__arrow_c_array__", NULL);
    if (!pair) return -1;
    a->held = pair;
    a->release = release_pair;
    if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2) {
        PyErr_Format(PyExc_ValueError, "%s: its __arrow_c_array__ must give two capsules", a->name);
        return -1;
    }
    const pt_arrow_schema *schema = PyCapsule_GetPointer(PyTuple_GetItem(pair, 0), "arrow_schema");
    const pt_arrow_array *array =
        schema ? PyCapsule_GetPointer(PyTuple_GetItem(pair, 1), "arrow_array") : NULL;
    if (!schema || !array) {
        PyErr_Clear();
        return used(a);
    }
    if (!schema->release || !array->release) return used(a);
    if (is_table_of(object, schema)) return 0;
    pt_chunk chunk;
    if (read_schema(schema, a) || read_array(array, is_bool8(schema), a, &chunk, &a->copy))
        return -1;
    return one_dense(a, &chunk);
}

/* ---- a stream ---- */

typedef struct {
    PyObject *capsule;
    pt_arrow_array *arrays;
    pt_chunk *chunks;
    void **copies; /* of booleans, else NULL */
    int64_t count, capacity;
    int bool8;
} parts;

static void release_parts(pt_operand *a)
{
    parts *p = a->held;
    for (int64_t i = 0; i < p->count; i++) {
        if (p->arrays[i].release) p->arrays[i].release(&p->arrays[i]);
        free(p->copies[i]);
    }
    free(p->arrays);
    free(p->chunks);
    free(p->copies);
    Py_XDECREF(p->capsule);
    free(p);
    a->held = NULL;
}

static int failed(const pt_operand *a, pt_arrow_stream *stream)
{
    const char *why = stream->get_last_error ? stream->get_last_error(stream) : NULL;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "%s: its Arrow stream failed: %.200s", a->name,
                     why ? why : "it does not say why");
    return -1;
}

static int more(parts *p)
{
    if (p->count < p->capacity) return 0;
    int64_t capacity = p->capacity ? 2 * p->capacity : 8;
    pt_arrow_array *arrays = realloc(p->arrays, (size_t)capacity * sizeof *arrays);
    if (arrays) p->arrays = arrays;
    pt_chunk *chunks = realloc(p->chunks, (size_t)capacity * sizeof *chunks);
    if (chunks) p->chunks = chunks;
    void **copies = realloc(p->copies, (size_t)capacity * sizeof *copies);
    if (copies) p->copies = copies;
    if (arrays && chunks && copies) p->capacity = capacity;
    if (!arrays || !chunks || !copies) PyErr_NoMemory();
    return arrays && chunks && copies ? 0 : -1;
}

static int read_parts(pt_operand *a, parts *p, pt_arrow_stream *stream)
{
    for (;;) {
        if (more(p)) return -1;
        pt_arrow_array *array = &p->arrays[p->count];
        memset(array, 0, sizeof *array);
        if (stream->get_next(stream, array)) return failed(a, stream);
        if (!array->release) return 0; /* the end of the stream */
        p->copies[p->count++] = NULL;
        if (read_array(array, p->bool8, a, &p->chunks[p->count - 1], &p->copies[p->count - 1]))
            return -1;
    }
}

static int from_stream(PyObject *object, pt_operand *a)
{
    PyObject *capsule = PyObject_CallMethod(object, "__arrow_c_stream__", NULL);
    if (!capsule) return -1;
    pt_arrow_stream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    parts *p = calloc(1, sizeof *p);
    if (!p || !stream || !stream->release || !stream->get_schema || !stream->get_next) {
        PyErr_Clear();
        if (!p) PyErr_NoMemory();
        Py_DECREF(capsule);
        free(p);
        return p ? used(a) : -1;
    }
    p->capsule = capsule;
    a->held = p;
    a->release = release_parts;
    pt_arrow_schema schema;
    memset(&schema, 0, sizeof schema);
    if (stream->get_schema(stream, &schema)) return failed(a, stream);
    const int other = is_table_of(object, &schema), bad = other || read_schema(&schema, a);
    p->bool8 = is_bool8(&schema);
    if (schema.release) schema.release(&schema);
    if (other) return 0;
    if (bad || read_parts(a, p, stream)) return -1;

    int64_t total = 0, kept = 0;
    for (int64_t i = 0; i < p->count; i++) {
        if (__builtin_add_overflow(total, p->chunks[i].n, &total)) return used(a);
        if (p->chunks[i].n) p->chunks[kept++] = p->chunks[i];
    }
    if (kept <= 1) return one_dense(a, kept ? &p->chunks[0] : &(pt_chunk){.n = 0});
    a->chunks = p->chunks;
    a->chunk_count = kept;
    return one_dense(a, &(pt_chunk){.n = total});
}

int pt_from_arrow(PyObject *object, pt_operand *a)
{
    const int read = has(object, "__arrow_c_array__")    ? from_array(object, a)
                     : has(object, "__arrow_c_stream__") ? from_stream(object, a)
                                                         : 0;
    if (!read && a->release) { /* another protocol will read the object */
        a->release(a);
        a->release = NULL;
    }
    return read;
}
