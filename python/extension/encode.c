/* SPDX-License-Identifier: MIT
 * Numbers the keys of rows in the order of their first appearance. A key becomes two words and a
 * length:
 *
 *   numbers                  the value (-0 is 0), 0, 0
 *   text of at most 16 bytes its bytes, then zeros; its length
 *   longer text              two hashes, LONG; then the bytes are compared, too
 *
 * Integers whose range is small index a table by their word. Others go to a hash table (open
 * addressing, at most half full), which begins with a secret, so that nobody can choose keys that
 * collide. Rows are taken in blocks, so that the memory of their slots arrives before it is used.
 * Python objects go to a dict. */
#define _GNU_SOURCE
#include "pt.h"
#include "capsules.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { BLOCK = 512, AHEAD = 16, SHORT = 16, LONG = SHORT + 1, MOST_GROUPS = INT32_MAX - 1 };

typedef struct {
    uint64_t word[2];
    int32_t length, code;
} key; /* also a slot of the table; code -1: it is free */

typedef struct {
    const char *at;
    int64_t length;
} text;

typedef struct {
    int32_t *codes; /* the results, of n rows: -1 for missing keys that are not kept */
    int64_t n, row, count;
    int64_t *first; /* the row of each group's first key */
    int64_t first_capacity;
    int keep, missing, failed; /* failed: out of memory, or too many groups */
    int32_t missing_code;

    key *slots;
    uint64_t mask, secret[2];
    text *texts;      /* of each group, in the memory of the input; only those that are LONG */
    int32_t *direct;  /* by word - low */
    uint64_t low;
} encoder;

/* ---- groups ---- */

static int32_t new_group(encoder *e, int64_t row)
{
    if (e->count == e->first_capacity) {
        const int64_t wanted = e->count ? 2 * e->count : 1024;
        int64_t *const first = realloc(e->first, (size_t)wanted * sizeof *first);
        if (first) e->first = first;
        text *const texts = e->texts ? realloc(e->texts, (size_t)wanted * sizeof *texts) : NULL;
        if (texts) memset(texts + e->count, 0, (size_t)(wanted - e->count) * sizeof *texts);
        if (texts) e->texts = texts;
        if (!first || (e->texts && !texts) || e->count >= MOST_GROUPS) {
            e->failed = 1;
            return -1;
        }
        e->first_capacity = wanted;
    }
    e->first[e->count] = row;
    return (int32_t)e->count++;
}

static int32_t missing_key(encoder *e, int64_t row)
{
    e->missing = 1;
    if (e->keep && e->missing_code < 0) e->missing_code = new_group(e, row);
    return e->missing_code;
}

/* ---- the hash table ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    const unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t place_of(const encoder *e, const key *k)
{
    return mix(k->word[0] ^ e->secret[0], k->word[1] ^ e->secret[1]) & e->mask;
}

static void set_text(const encoder *e, const text *t, key *k)
{
    const char *at = t->at;
    int64_t n = t->length;
    *k = (key){.length = n > SHORT ? LONG : (int32_t)n};
    if (n <= SHORT) {
        memcpy(k->word, at, (size_t)n);
        return;
    }
    k->word[0] = e->secret[0] ^ (uint64_t)n;
    k->word[1] = e->secret[1];
    for (uint64_t w[2];; n -= SHORT, at += SHORT) {
        if (n < SHORT) at -= SHORT - n; /* the last bytes; some are read again */
        memcpy(w, at, SHORT);
        k->word[0] = mix(k->word[0] ^ w[0], k->word[1] ^ w[1]);
        k->word[1] = mix(k->word[1] ^ w[0], e->secret[1]) ^ w[1];
        if (n <= SHORT) return;
    }
}

static void prefetch(const encoder *e, const key *k)
{
    const key *const s = &e->slots[place_of(e, k)];
    __builtin_prefetch(s);
    __builtin_prefetch(&s->code);
}

static int resize(encoder *e, uint64_t size)
{
    key *const old = e->slots, *const slots = pt_block_take(size * sizeof *slots);
    const uint64_t count = old ? e->mask + 1 : 0;
    if (!slots) return e->failed = 1;
    for (uint64_t i = 0; i < size; i++) slots[i].code = -1;
    e->slots = slots;
    e->mask = size - 1;
    for (uint64_t i = 0; i < count; i++) {
        if (old[i].code < 0) continue;
        uint64_t at = place_of(e, &old[i]);
        while (slots[at].code >= 0) at = (at + 1) & e->mask;
        slots[at] = old[i];
    }
    pt_block_give(old, count * sizeof *old);
    return 0;
}

static int is_same(const encoder *e, const key *a, const key *b, const text *t)
{
    if (a->word[0] != b->word[0] || a->word[1] != b->word[1] || a->length != b->length) return 0;
    const text *const u = a->length == LONG ? &e->texts[a->code] : t;
    return u == t || (u->length == t->length && !memcmp(u->at, t->at, (size_t)t->length));
}

/* The code of a key; t: its text, if it is LONG. */
static int32_t find(encoder *e, const key *k, const text *t, int64_t row)
{
    for (uint64_t at = place_of(e, k);; at = (at + 1) & e->mask) {
        key *const s = &e->slots[at];
        if (s->code < 0) {
            const int32_t code = new_group(e, row);
            if (code < 0) return -1;
            *s = *k;
            s->code = code;
            if (k->length == LONG) e->texts[code] = *t;
            if ((uint64_t)e->count * 2 > e->mask) resize(e, 2 * (e->mask + 1));
            return code;
        }
        if (is_same(e, s, k, t)) return s->code;
    }
}

static int open_table(encoder *e, int has_text)
{
    if (getrandom(e->secret, sizeof e->secret, GRND_NONBLOCK) != sizeof e->secret)
        e->secret[0] = (uint64_t)(uintptr_t)e, e->secret[1] = (uint64_t)(uintptr_t)&mix << 20;
    e->secret[1] |= 1;
    e->first = malloc(1024 * sizeof *e->first);
    e->texts = has_text ? calloc(1024, sizeof *e->texts) : NULL;
    e->first_capacity = 1024;
    return !e->first || (has_text && !e->texts) || resize(e, 4096);
}

/* The codes of a block of keys. texts: NULL for numbers. */
static void find_block(encoder *e, const key *keys, const uint8_t *absent, const text *texts,
                       int64_t m)
{
    for (int64_t j = 0; j < m && j < AHEAD; j++) prefetch(e, &keys[j]);
    for (int64_t j = 0; j < m && !e->failed; j++) {
        if (j + AHEAD < m) prefetch(e, &keys[j + AHEAD]);
        e->codes[e->row + j] = absent[j]
                                   ? missing_key(e, e->row + j)
                                   : find(e, &keys[j], texts ? &texts[j] : NULL, e->row + j);
    }
    e->row += m;
}

/* ---- numbers ---- */

static const uint64_t SIGN = (uint64_t)1 << 63;

/* Loads the words of m elements from `first` on. Integers get words that are in their order. */
static void load_words(const pt_operand *a, const int64_t *none, int64_t first, int64_t m,
                       uint64_t *word, uint8_t *absent)
{
    const int64_t step = a->size > 1 ? a->strides[0] : 0;
    const char *at = a->data + first * step;
#define EACH(d, type, expression)                                                                  \
    case d:                                                                                        \
        for (int64_t j = 0; j < m; j++, at += step) {                                              \
            type v;                                                                                \
            memcpy(&v, at, sizeof v);                                                              \
            word[j] = (expression);                                                                \
        }                                                                                          \
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
    if (none)
        for (int64_t j = 0; j < m; j++) absent[j] = word[j] == ((uint64_t)*none ^ SIGN);
    if (a->valid)
        for (int64_t j = 0; j < m; j++)
            absent[j] |= !pt_is_valid(a, (first + j) * (step / pt_bytes(a)));
}

/* Whether the words of integers are in a range that is worth a table; sets low, and the table. */
static int open_direct(encoder *e, const pt_operand *a, const int64_t *none)
{
    uint64_t word[BLOCK], low = UINT64_MAX, high = 0;
    uint8_t absent[BLOCK];
    if (a->dtype >= TALLY_F16) return 0;
    for (int64_t m, i = 0; i < a->size; i += m) {
        m = a->size - i < BLOCK ? a->size - i : BLOCK;
        load_words(a, none, i, m, word, absent);
        for (int64_t j = 0; j < m; j++) {
            const uint64_t w = word[j];
            low = absent[j] || w > low ? low : w;
            high = absent[j] || w < high ? high : w;
        }
        if (low <= high && high - low > (uint64_t)a->size + 65536) return 0;
    }
    if (low > high) low = high = 0; /* all are missing */
    e->low = low;
    e->direct = malloc((size_t)(high - low + 1) * sizeof *e->direct);
    if (e->direct) memset(e->direct, 0xff, (size_t)(high - low + 1) * sizeof *e->direct);
    return e->direct != NULL;
}

static void encode_numbers(encoder *e, const pt_operand *a, const int64_t *none)
{
    uint64_t word[BLOCK];
    uint8_t absent[BLOCK];
    const int direct = open_direct(e, a, none);
    if (!direct && open_table(e, 0)) e->failed = 1;
    for (int64_t m, i = 0; i < a->size && !e->failed; i += m) {
        m = a->size - i < BLOCK ? a->size - i : BLOCK;
        load_words(a, none, i, m, word, absent);
        if (!direct) {
            key keys[BLOCK];
            for (int64_t j = 0; j < m; j++) keys[j] = (key){.word = {word[j], 0}};
            find_block(e, keys, absent, NULL, m);
            continue;
        }
        for (int64_t j = 0; j < m; j++) {
            int32_t code = absent[j] ? missing_key(e, i + j) : e->direct[word[j] - e->low];
            if (code < 0 && !absent[j])
                code = e->direct[word[j] - e->low] = new_group(e, i + j);
            e->codes[i + j] = code;
        }
    }
}

/* ---- text ---- */

static void encode_texts(encoder *e, const text *texts, int64_t m)
{
    key keys[BLOCK];
    uint8_t absent[BLOCK];
    for (int64_t j = 0; j < m; j++) {
        absent[j] = !texts[j].at;
        if (absent[j])
            keys[j] = (key){.code = 0};
        else
            set_text(e, &texts[j], &keys[j]);
    }
    find_block(e, keys, absent, texts, m);
}

/* The rows of an array of two axes, as bytes without the zeros at their ends. */
static void encode_rows(encoder *e, const pt_operand *a)
{
    text texts[BLOCK];
    for (int64_t m, i = 0; i < a->shape[0] && !e->failed; i += m) {
        m = a->shape[0] - i < BLOCK ? a->shape[0] - i : BLOCK;
        for (int64_t j = 0; j < m; j++) {
            const char *const at = a->data + (i + j) * a->strides[0];
            int64_t length = a->shape[1];
            while (length > 0 && !at[length - 1]) length--;
            texts[j] = (text){at, length};
        }
        encode_texts(e, texts, m);
    }
}

/* The text of element i of an Arrow array. form: 'u' 32-bit offsets, 'U' 64-bit, 'v' views. */
static text arrow_text(const pt_arrow_array *a, char form, int64_t i)
{
    const uint8_t *const bits = a->null_count ? a->buffers[0] : NULL;
    i += a->offset;
    if (bits && !(bits[i >> 3] >> (i & 7) & 1)) return (text){NULL, 0};
    if (form == 'v') {
        const char *const view = (const char *)a->buffers[1] + 16 * i;
        int32_t part[4];
        memcpy(part, view, sizeof part);
        return (text){part[0] <= 12 ? view + 4 : (const char *)a->buffers[2 + part[2]] + part[3],
                      part[0]};
    }
    static const char nothing[1];
    const char *const data = a->buffers[2] ? a->buffers[2] : nothing;
    if (form == 'U') {
        const int64_t *const at = (const int64_t *)a->buffers[1] + i;
        return (text){data + at[0], at[1] - at[0]};
    }
    const int32_t *const at = (const int32_t *)a->buffers[1] + i;
    return (text){data + at[0], at[1] - at[0]};
}

static void encode_arrow(encoder *e, const pt_arrow_array *a, char form)
{
    text texts[BLOCK];
    for (int64_t m, i = 0; i < a->length && !e->failed; i += m) {
        m = a->length - i < BLOCK ? a->length - i : BLOCK;
        for (int64_t j = 0; j < m; j++) texts[j] = arrow_text(a, form, i + j);
        encode_texts(e, texts, m);
    }
}

/* ---- Arrow streams of text ---- */

typedef struct {
    PyObject *capsule;
    pt_arrow_array *arrays;
    int64_t count, rows;
    char form;
} column;

static void close_column(column *c)
{
    for (int64_t i = 0; i < c->count; i++) c->arrays[i].release(&c->arrays[i]);
    free(c->arrays);
    Py_XDECREF(c->capsule);
}

static int bad_stream(void)
{
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "by: its Arrow stream failed");
    return -1;
}

/* Opens an object with __arrow_c_stream__ whose elements are text. */
static int open_column(PyObject *object, column *c)
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
        pt_arrow_array *const more =
            realloc(c->arrays, (size_t)(c->count + 1) * sizeof *c->arrays);
        if (!more) return PyErr_NoMemory(), -1;
        c->arrays = more;
        memset(&more[c->count], 0, sizeof *more);
        if (s->get_next(s, &more[c->count])) return bad_stream();
        if (!more[c->count].release) return 0;
        c->rows += more[c->count++].length;
    }
    return -1;
}

/* ---- Python objects ---- */

/* Whether it stands for no key: None, a NaN, pandas.NA and NaT. -1: an exception. */
static int is_missing(PyObject *item)
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
    const int missing = compared == Py_True ? 1 : compared == Py_False ? 0 : PyObject_IsTrue(compared);
    Py_DECREF(compared);
    if (missing >= 0) return missing;
    PyErr_Clear(); /* pandas.NA, which is neither true nor false */
    return 1;
}

static int encode_objects(encoder *e, PyObject *list)
{
    PyObject *const numbers = PyDict_New();
    int failed = !numbers;
    for (int64_t i = 0; i < e->n && !failed; i++) {
        PyObject *const item = PyList_GetItem(list, i);
        const int missing = item ? is_missing(item) : -1;
        PyObject *const found = missing ? NULL : PyDict_GetItemWithError(numbers, item);
        if (missing < 0 || (!found && PyErr_Occurred())) {
            failed = 1;
        } else if (missing || found) {
            e->codes[i] = missing ? missing_key(e, i) : (int32_t)PyLong_AsLong(found);
        } else {
            e->codes[i] = new_group(e, i);
            PyObject *const number = PyLong_FromLong(e->codes[i]);
            failed = !number || PyDict_SetItem(numbers, item, number);
            Py_XDECREF(number);
        }
        failed = failed || e->failed;
    }
    Py_XDECREF(numbers);
    return failed ? -1 : 0;
}

/* ---- encode ---- */

static int run(encoder *e, const pt_operand *a, const column *c, PyObject *list,
               const int64_t *none)
{
    if (list) return encode_objects(e, list);
    Py_BEGIN_ALLOW_THREADS if (!a || a->ndim == 2)
    {
        e->failed = open_table(e, 1);
        if (a && !e->failed) encode_rows(e, a);
        for (int64_t i = 0; !a && i < c->count && !e->failed; i++)
            encode_arrow(e, &c->arrays[i], c->form);
    }
    else encode_numbers(e, a, none);
    Py_END_ALLOW_THREADS return e->failed ? -1 : 0;
}

static PyObject *finish(encoder *e, PyObject *codes)
{
    PyObject *first = NULL, *result = NULL;
    if (codes) first = pt_array_new(TALLY_I64, 0, 1, &e->count);
    if (first && e->count) memcpy(pt_array_data(first), e->first, (size_t)e->count * 8);
    if (first) result = PyTuple_Pack(3, codes, first, e->missing && !e->keep ? Py_True : Py_False);
    Py_XDECREF(codes);
    Py_XDECREF(first);
    free(e->first);
    pt_block_give(e->slots, e->slots ? (e->mask + 1) * sizeof *e->slots : 0);
    free(e->texts);
    free(e->direct);
    return result;
}

/* encode(keys, kind, missing number or None, keep) -> (codes, first rows, whether codes has -1)
 * kind: "numbers", of one axis, or bytes of two; "text" of Arrow; "objects", a list */
PyObject *pt_encode(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    encoder e = {.missing_code = -1};
    pt_operand a;
    column c = {0};
    int64_t none = 0;
    int opened = 0, failed = 0;
    const char *const kind = count == 4 ? PyUnicode_AsUTF8AndSize(args[1], NULL) : "";
    if (pt_count("encode", count, 4) || !kind) return NULL;
    if (args[2] != Py_None && (none = PyLong_AsLongLong(args[2])) == -1 && PyErr_Occurred())
        return NULL;
    e.keep = args[3] == Py_True;
    PyObject *const list = *kind == 'o' ? args[0] : NULL;
    if (*kind == 'n') {
        if (pt_open(args[0], "by", &a)) return NULL;
        opened = 1;
        failed = pt_flatten(&a) || pt_to_host(&a);
        e.n = a.ndim ? a.shape[0] : 0;
        if (!failed && (a.ndim < 1 || a.ndim > 2 || (a.ndim == 2 && a.dtype != TALLY_U8))) {
            PyErr_Format(PyExc_ValueError, "by has %d axes: must have one, a key for each element",
                         a.ndim);
            failed = -1;
        }
    } else if (*kind == 't') {
        failed = open_column(args[0], &c);
        e.n = c.rows;
    } else {
        e.n = PyList_Size(list);
        failed = e.n < 0;
    }
    PyObject *codes = failed ? NULL : pt_array_new(TALLY_I32, 0, 1, &e.n);
    if (codes) {
        e.codes = pt_array_data(codes);
        if (run(&e, opened ? &a : NULL, &c, list, args[2] == Py_None ? NULL : &none)) {
            if (!PyErr_Occurred() && e.count >= MOST_GROUPS)
                PyErr_Format(PyExc_ValueError, "by has more than %d different keys", MOST_GROUPS);
            else if (!PyErr_Occurred())
                PyErr_NoMemory();
            Py_CLEAR(codes);
        }
    }
    PyObject *const result = finish(&e, codes);
    if (opened) pt_close(&a);
    close_column(&c);
    return result;
}

/* ---- codes from codes ---- */

static int open_codes(PyObject *object, pt_operand *a)
{
    if (pt_open(object, "codes", a)) return -1;
    if (a->ndim == 1 && (a->size < 2 || a->strides[0] == pt_bytes(a)) && a->dtype == TALLY_I32) return 0;
    PyErr_SetString(PyExc_ValueError, "codes must be those of encode");
    pt_close(a);
    return -1;
}

/* pair(codes, others, count of the others) -> an int64 for each pair, -1 if one is -1 */
PyObject *pt_pair(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    pt_operand a, b;
    PyObject *pairs = NULL;
    if (pt_count("pair", count, 3)) return NULL;
    const int64_t others = PyLong_AsLongLong(args[2]);
    if ((others == -1 && PyErr_Occurred()) || open_codes(args[0], &a)) return NULL;
    if (!open_codes(args[1], &b)) {
        if (a.size != b.size)
            PyErr_Format(PyExc_ValueError, "by: keys have %lld and %lld elements: must be as many",
                         (long long)a.size, (long long)b.size);
        else if ((pairs = pt_array_new(TALLY_I64, 0, 1, &a.size))) {
            int64_t *const to = pt_array_data(pairs);
            const int32_t *const x = (const void *)a.data, *const y = (const void *)b.data;
            for (int64_t i = 0; i < a.size; i++)
                to[i] = x[i] < 0 || y[i] < 0 ? -1 : x[i] * others + y[i];
        }
        pt_close(&b);
    }
    pt_close(&a);
    return pairs;
}

/* renumber(codes, numbers) -> numbers[code] for each code, -1 for -1 */
PyObject *pt_renumber(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    pt_operand a, map;
    PyObject *made = NULL;
    if (pt_count("renumber", count, 2) || open_codes(args[0], &a)) return NULL;
    if (!pt_open_places(args[1], "numbers", &map)) {
        if ((made = pt_array_new(TALLY_I32, 0, 1, &a.size))) {
            int32_t *const to = pt_array_data(made);
            const int32_t *const x = (const void *)a.data;
            const int64_t *const y = (const void *)map.data;
            for (int64_t i = 0; i < a.size; i++)
                to[i] = x[i] < 0 || x[i] >= map.size ? -1 : (int32_t)y[x[i]];
        }
        pt_close(&map);
    }
    pt_close(&a);
    return made;
}
