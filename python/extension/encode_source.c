/* SPDX-License-Identifier: MIT
 * Reads the keys of rows: numbers, rows of bytes, text of Arrow, lists of str. */
#include "encode.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

static const uint64_t SIGN = (uint64_t)1 << 63;

/* Loads the words of m elements from `first` on. The words of integers have their order. */
static void load_words(const pt_operand *a, const int64_t *missing, int64_t first, int64_t m,
                       uint64_t *word, uint8_t *absent)
{
    const int64_t step = a->size > 1 ? a->strides[0] : 0;
    const char *at = a->data + first * step;
#define EACH(d, type, expression) \
    case d: \
        for (int64_t j = 0; j < m; j++, at += step) { \
            type v; \
            memcpy(&v, at, sizeof v); \
            word[j] = (expression); \
        } \
        break;
    switch (a->dtype) {
        EACH(TALLY_I8, int8_t, (uint64_t)(int64_t)v ^ SIGN)
        EACH(TALLY_U8, uint8_t, v)
        EACH(TALLY_I16, int16_t, (uint64_t)(int64_t)v ^ SIGN)
        EACH(TALLY_U16, uint16_t, v)
        EACH(TALLY_I32, int32_t, (uint64_t)(int64_t)v ^ SIGN)
        EACH(TALLY_U32, uint32_t, v)
        EACH(TALLY_I64, int64_t, (uint64_t)v ^ SIGN)
        EACH(TALLY_F16, uint16_t, v << 1 & 0xffff ? v : 0)
        EACH(TALLY_BF16, uint16_t, v << 1 & 0xffff ? v : 0)
        EACH(TALLY_F32, uint32_t, v << 1 ? v : 0)
        EACH(TALLY_F64, uint64_t, v << 1 ? v : 0)
    default: /* u64 */
        for (int64_t j = 0; j < m; j++, at += step) memcpy(&word[j], at, 8);
    }
#undef EACH
    at = a->data + first * step;
    memset(absent, 0, (size_t)m);
    if (a->dtype >= TALLY_F16)
        for (int64_t j = 0; j < m; j++) absent[j] = (uint8_t)pt_is_nan(a->dtype, at + j * step);
    if (missing)
        for (int64_t j = 0; j < m; j++) absent[j] = word[j] == ((uint64_t)*missing ^ SIGN);
    if (a->valid)
        for (int64_t j = 0; j < m; j++)
            absent[j] |= !pt_is_valid(a, (first + j) * (step / pt_bytes(a)));
}

void pt_find_range(pt_source *s)
{
    uint64_t word[BLOCK], low = UINT64_MAX, high = 0;
    uint8_t absent[BLOCK];
    const pt_operand *const a = s->a;
    for (int64_t m, i = 0; i < a->size; i += m) {
        m = a->size - i < BLOCK ? a->size - i : BLOCK;
        load_words(a, s->missing, i, m, word, absent);
        for (int64_t j = 0; j < m; j++) {
            const uint64_t w = word[j];
            low = absent[j] || w > low ? low : w;
            high = absent[j] || w < high ? high : w;
        }
        if (low <= high && high - low > (uint64_t)a->size + 65536) return;
    }
    s->low = low <= high ? low : 0; /* 0: all are missing */
    s->range = low <= high ? high - low + 1 : 1;
}

/* ---- text ---- */

/* The bytes of a row of an array of two axes, without the zeros at their end. */
static pt_text row_text(const pt_operand *a, int64_t row)
{
    const char *const at = a->data + row * a->strides[0];
    int64_t length = a->shape[1];
    while (length > 0 && !at[length - 1]) length--;
    return (pt_text){at, length};
}

/* The text of element i of an Arrow array. form: 'u' 32-bit offsets, 'U' 64-bit, 'v' views. */
static pt_text arrow_text(const pt_arrow_array *a, char form, int64_t i)
{
    const uint8_t *const bits = a->null_count ? a->buffers[0] : NULL;
    i += a->offset;
    if (bits && !(bits[i >> 3] >> (i & 7) & 1)) return (pt_text){NULL, 0};
    if (form == 'v') {
        const char *const view = (const char *)a->buffers[1] + 16 * i;
        int32_t part[4];
        memcpy(part, view, sizeof part);
        return (pt_text){part[0] <= 12 ? view + 4 : (const char *)a->buffers[2 + part[2]] + part[3],
                         part[0]};
    }
    static const char nothing[1];
    const char *const data = a->buffers[2] ? a->buffers[2] : nothing;
    if (form == 'U') {
        const int64_t *const at = (const int64_t *)a->buffers[1] + i;
        return (pt_text){data + at[0], at[1] - at[0]};
    }
    const int32_t *const at = (const int32_t *)a->buffers[1] + i;
    return (pt_text){data + at[0], at[1] - at[0]};
}

/* The text of a row of a column. */
static pt_text column_text(const pt_column *c, int64_t row)
{
    int64_t low = 0, high = c->count - 1; /* the array of the row is one of low .. high */
    while (low < high) {
        const int64_t middle = (low + high + 1) / 2;
        if (c->begin[middle] <= row)
            low = middle;
        else
            high = middle - 1;
    }
    return arrow_text(&c->arrays[low], c->form, row - c->begin[low]);
}

/* ---- Arrow streams of text ---- */

void pt_close_column(pt_column *c)
{
    for (int64_t i = 0; i < c->count; i++) c->arrays[i].release(&c->arrays[i]);
    free(c->arrays);
    free(c->begin);
    Py_XDECREF(c->capsule);
}

static int bad_stream(void)
{
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "by: its Arrow stream failed");
    return -1;
}

/* Opens an object with __arrow_c_stream__ whose elements are text. */
static int open_column(PyObject *object, pt_column *c)
{
    pt_arrow_schema schema = {0};
    if (!(c->capsule = PyObject_CallMethod(object, "__arrow_c_stream__", NULL))) return -1;
    pt_arrow_stream *const s = PyCapsule_GetPointer(c->capsule, "arrow_array_stream");
    if (!s || !s->release || s->get_schema(s, &schema)) return bad_stream();
    const char *const f = schema.format ? schema.format : "";
    c->form = !strcmp(f, "u") || !strcmp(f, "z")     ? 'u'
              : !strcmp(f, "U") || !strcmp(f, "Z")   ? 'U'
              : !strcmp(f, "vu") || !strcmp(f, "vz") ? 'v'
                                                     : 0;
    if (!c->form)
        PyErr_Format(PyExc_TypeError, "by has elements of Arrow's format '%s': must be text", f);
    if (schema.release) schema.release(&schema);
    while (c->form) {
        pt_arrow_array *const more = realloc(c->arrays, (size_t)(c->count + 1) * sizeof *c->arrays);
        if (!more) return PyErr_NoMemory(), -1;
        c->arrays = more;
        memset(&more[c->count], 0, sizeof *more);
        if (s->get_next(s, &more[c->count])) return bad_stream();
        if (!more[c->count].release) break;
        if (!more[c->count].length) {
            more[c->count].release(&more[c->count]);
            continue;
        }
        c->rows += more[c->count++].length;
    }
    if (!c->form) return -1;
    c->begin = malloc((size_t)(c->count + 1) * sizeof *c->begin);
    if (!c->begin) return PyErr_NoMemory(), -1;
    for (int64_t i = 0, row = 0; i < c->count; row += c->arrays[i++].length) c->begin[i] = row;
    return 0;
}

/* ---- keys ---- */

/* Makes the key of a text: the text itself if it is short, else a hash. */
static void key_of_text(const pt_source *e, const pt_text *t, pt_key *k)
{
    const char *at = t->at;
    int64_t n = t->length;
    *k = (pt_key){.length = n > SHORT ? LONG : (int32_t)n};
    if (n <= SHORT) {
        memcpy(k->word, at, (size_t)n);
        return;
    }
    k->word[0] = e->secret[0] ^ (uint64_t)n;
    k->word[1] = e->secret[1];
    for (uint64_t w[2];; n -= SHORT, at += SHORT) {
        if (n < SHORT) at -= SHORT - n; /* the last bytes; some are read again */
        memcpy(w, at, SHORT);
        k->word[0] = pt_mix(k->word[0] ^ w[0], k->word[1] ^ w[1]);
        k->word[1] = pt_mix(k->word[1] ^ w[0], e->secret[1]) ^ w[1];
        if (n <= SHORT) return;
    }
}

int pt_is_missing(PyObject *item)
{
    if (item == Py_None) return 1;
    if (PyUnicode_Check(item) || PyLong_Check(item)) return 0;
    if (PyFloat_Check(item)) return isnan(PyFloat_AsDouble(item));
    const int same = PyObject_RichCompareBool(item, item, Py_EQ); /* true of identical objects */
    PyObject *const compared = same < 0 ? NULL : PyObject_RichCompare(item, item, Py_NE);
    if (!compared) {
        PyErr_Clear();
        return 0;
    }
    const int missing = compared == Py_True    ? 1
                        : compared == Py_False ? 0
                                               : PyObject_IsTrue(compared);
    Py_DECREF(compared);
    if (missing >= 0) return missing;
    PyErr_Clear(); /* pandas.NA, which is neither true nor false */
    return 1;
}

/* Gets the texts of m objects of the list, which live as long as the objects. Returns -1 if an
 * object is neither a str nor a missing key, or has no UTF-8. */
static int list_texts(PyObject *list, int64_t row, int64_t m, pt_text *texts)
{
    PyObject *items[BLOCK];
    for (int64_t j = 0; j < m; j++) {
        if (!(items[j] = PyList_GetItem(list, row + j))) return PyErr_Clear(), -1;
        __builtin_prefetch(items[j]);
    }
    for (int64_t j = 0; j < m; j++) {
        Py_ssize_t length = 0;
        texts[j].at = NULL;
        if (PyUnicode_CheckExact(items[j])) {
            texts[j].at = PyUnicode_AsUTF8AndSize(items[j], &length);
            if (!texts[j].at) return PyErr_Clear(), -1;
        } else if (items[j] != Py_None && pt_is_missing(items[j]) != 1) {
            return -1;
        }
        texts[j].length = length;
    }
    return 0;
}

int pt_load_keys(const pt_source *s, int64_t row, int64_t m, pt_key *keys, uint8_t *absent,
                 pt_text *texts)
{
    if (s->a && s->a->ndim == 1) {
        uint64_t word[BLOCK];
        load_words(s->a, s->missing, row, m, word, absent);
        for (int64_t j = 0; j < m; j++) keys[j] = (pt_key){.word = {word[j], 0}};
        return 0;
    }
    if (s->list && list_texts(s->list, row, m, texts)) return -1;
    for (int64_t j = 0; j < m; j++) {
        if (!s->list) texts[j] = s->a ? row_text(s->a, row + j) : column_text(s->c, row + j);
        absent[j] = !texts[j].at;
        if (absent[j])
            keys[j] = (pt_key){.code = 0};
        else
            key_of_text(s, &texts[j], &keys[j]);
    }
    return 0;
}

int pt_open_source(PyObject *keys, char kind, pt_source *s, pt_operand *a, pt_column *c, int64_t *n)
{
    if (kind == 't') {
        s->c = c;
        const int failed = open_column(keys, c);
        *n = c->rows;
        return failed;
    }
    if (pt_open(keys, "by", a)) return -1;
    s->a = a;
    if (pt_flatten(a) || pt_to_host(a)) return -1;
    *n = a->ndim ? a->shape[0] : 0;
    if (a->ndim == 1 || (a->ndim == 2 && a->dtype == TALLY_U8)) return 0;
    PyErr_Format(PyExc_ValueError, "by has %d axes: must have one, a key for each element",
                 a->ndim);
    return -1;
}
