/* SPDX-License-Identifier: MIT
 * Numbers the keys of rows in the order of their first appearance. A key becomes two words and a
 * length:
 *
 *   numbers                  the value (-0 is 0), 0, 0
 *   text of at most 16 bytes its bytes, then zeros; its length
 *   longer text              two hashes, LONG; then the bytes are compared, too
 *
 * Integers whose range is small index a table by their word. Others go to a hash table (open
 * addressing, at most half full), which begins with a secret: an attacker cannot choose keys that
 * collide. Rows are taken in blocks, so that the memory of their slots arrives before it is used.
 * Python objects that are no str go to a dict. */
#define _GNU_SOURCE
#include "encode.h"
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { AHEAD = 16, MOST_GROUPS = INT32_MAX - 1 };

typedef struct {
    const pt_source *from;
    int32_t *codes; /* the results: -1 for missing keys that are not kept */
    int64_t row, count;
    int64_t *first; /* the row of each group's first key */
    int64_t first_capacity;
    int missing, failed; /* failed: out of memory, or too many groups */
    int no_text;         /* the list has other objects */
    int32_t missing_code;

    pt_key *slots;
    uint64_t mask;
    /* of each group, in the memory of the input; only those that are LONG. NULL: there is none */
    pt_text *texts;
    int32_t *direct; /* by word - low */
} encoder;

/* ---- groups ---- */

/* Moves `had` bytes to a block of `bytes`. */
static void *moved(void *old, size_t had, size_t bytes)
{
    void *const now = pt_block_take(bytes);
    if (now && old) memcpy(now, old, had);
    pt_block_give(old, had);
    return now;
}

/* Makes place for more groups. */
static void grow(encoder *e)
{
    const size_t had = (size_t)e->first_capacity, wanted = had ? 2 * had : 1024;
    const int has_texts = e->texts != NULL;
    e->first = moved(e->first, had * sizeof *e->first, wanted * sizeof *e->first);
    if (has_texts) e->texts = moved(e->texts, had * sizeof *e->texts, wanted * sizeof *e->texts);
    e->first_capacity = (int64_t)wanted;
    e->failed = !e->first || (has_texts && !e->texts) || e->count >= MOST_GROUPS;
}

static int32_t new_group(encoder *e, int64_t row)
{
    if (e->count == e->first_capacity) grow(e);
    if (e->failed) return -1;
    e->first[e->count] = row;
    return (int32_t)e->count++;
}

static int32_t missing_key(encoder *e, int64_t row)
{
    e->missing = 1;
    if (e->from->keep && e->missing_code < 0) e->missing_code = new_group(e, row);
    return e->missing_code;
}

/* ---- the hash table ---- */

static uint64_t place_of(const encoder *e, const pt_key *k)
{
    return pt_mix(k->word[0] ^ e->from->secret[0], k->word[1] ^ e->from->secret[1]) & e->mask;
}

static void prefetch(const encoder *e, const pt_key *k)
{
    const pt_key *const s = &e->slots[place_of(e, k)];
    __builtin_prefetch(s);
    __builtin_prefetch(&s->code);
}

static int resize(encoder *e, uint64_t size)
{
    pt_key *const old = e->slots, *const slots = pt_block_take(size * sizeof *slots);
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

static int is_same(const encoder *e, const pt_key *a, const pt_key *b, const pt_text *t)
{
    if (a->word[0] != b->word[0] || a->word[1] != b->word[1] || a->length != b->length) return 0;
    const pt_text *const u = a->length == LONG ? &e->texts[a->code] : t;
    return u == t || (u->length == t->length && !memcmp(u->at, t->at, (size_t)t->length));
}

static int keep_text(encoder *e, int32_t code, const pt_text *t)
{
    if (!e->texts) e->texts = pt_block_take((size_t)e->first_capacity * sizeof *e->texts);
    if (!e->texts) return e->failed = 1;
    e->texts[code] = *t;
    return 0;
}

/* The code of a key; t: its text, if it is LONG. */
static int32_t find(encoder *e, const pt_key *k, const pt_text *t, int64_t row)
{
    for (uint64_t at = place_of(e, k);; at = (at + 1) & e->mask) {
        pt_key *const s = &e->slots[at];
        if (s->code < 0) {
            const int32_t code = new_group(e, row);
            if (code < 0) return -1;
            *s = *k;
            s->code = code;
            if (k->length == LONG && keep_text(e, code, t)) return -1;
            if ((uint64_t)e->count * 2 > e->mask) resize(e, 2 * (e->mask + 1));
            return code;
        }
        if (is_same(e, s, k, t)) return s->code;
    }
}

/* Finds the codes of the keys of m rows from e->row on. texts: NULL for numbers. */
static void find_block(encoder *e, const pt_key *keys, const uint8_t *absent, const pt_text *texts,
                       int64_t m)
{
    int32_t *const codes = e->codes + e->row;
    for (int64_t j = 0; e->slots && j < m && j < AHEAD; j++) prefetch(e, &keys[j]);
    for (int64_t j = 0; j < m && !e->failed; j++) {
        const int64_t at = e->row + j;
        if (e->slots && j + AHEAD < m) prefetch(e, &keys[j + AHEAD]);
        if (absent[j]) {
            codes[j] = missing_key(e, at);
        } else if (e->direct) {
            int32_t *const code = &e->direct[keys[j].word[0] - e->from->low];
            if (*code < 0) *code = new_group(e, at);
            codes[j] = *code;
        } else {
            codes[j] = find(e, &keys[j], texts ? &texts[j] : NULL, at);
        }
    }
}

/* ---- Python objects ---- */

/* Says so instead of the exception there is if a key has no hash. */
static void refuse_unhashed(PyObject *item)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (PyObject_Hash(item) != -1) {
        PyErr_Restore(type, value, trace);
        return;
    }
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "by has a key %R of type %S: must be one that can be hashed",
                 item, Py_TYPE(item));
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
}

static int encode_objects(encoder *e, PyObject *list, int64_t n)
{
    PyObject *const numbers = PyDict_New();
    int failed = !numbers;
    for (int64_t i = 0; i < n && !failed; i++) {
        PyObject *const item = PyList_GetItem(list, i);
        const int missing = item ? pt_is_missing(item) : -1;
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
        if (failed && item && PyErr_Occurred()) refuse_unhashed(item);
    }
    Py_XDECREF(numbers);
    return failed ? -1 : 0;
}

/* ---- parts ---- */

/* n: the number of rows. A table that begins large grows less often. */
static int open_table(encoder *e, int64_t n)
{
    enum { LEAST = 1 << 12, MOST = 1 << 18 };
    const pt_source *const s = e->from;
    uint64_t size = LEAST;
    e->missing_code = -1;
    grow(e);
    if (e->failed) return 1;
    while (size < MOST && (int64_t)size < n / 32) size *= 2;
    if (!s->range) return resize(e, size);
    e->direct = pt_block_take(s->range * sizeof *e->direct);
    if (e->direct) memset(e->direct, 0xff, s->range * sizeof *e->direct);
    return !e->direct;
}

static void close_encoder(encoder *e)
{
    const size_t groups = (size_t)e->first_capacity;
    pt_block_give(e->first, groups * sizeof *e->first);
    pt_block_give(e->texts, groups * sizeof *e->texts);
    pt_block_give(e->slots, e->slots ? (e->mask + 1) * sizeof *e->slots : 0);
    pt_block_give(e->direct, e->direct ? e->from->range * sizeof *e->direct : 0);
}

/* Numbers the keys of rows e->row .. end - 1. */
static void number_rows(encoder *e, int64_t end)
{
    pt_key keys[BLOCK];
    pt_text texts[BLOCK];
    uint8_t absent[BLOCK];
    const int has_text = !e->from->a || e->from->a->ndim == 2;
    for (int64_t m; e->row < end && !e->failed; e->row += m) {
        m = end - e->row < BLOCK ? end - e->row : BLOCK;
        e->no_text = pt_load_keys(e->from, e->row, m, keys, absent, texts);
        if (e->no_text) return;
        find_block(e, keys, absent, has_text ? texts : NULL, m);
    }
}

/* ---- encode ---- */

static PyObject *finish(encoder *e, PyObject *codes)
{
    PyObject *first = NULL, *result = NULL;
    if (codes) first = pt_array_new(TALLY_I64, 0, 1, &e->count);
    if (first && e->count) memcpy(pt_array_data(first), e->first, (size_t)e->count * 8);
    if (first)
        result = PyTuple_Pack(3, codes, first, e->missing && !e->from->keep ? Py_True : Py_False);
    Py_XDECREF(codes);
    Py_XDECREF(first);
    close_encoder(e);
    return result;
}

static int run(encoder *e, pt_source *s, int64_t n)
{
    if (getrandom(s->secret, sizeof s->secret, GRND_NONBLOCK) != sizeof s->secret)
        s->secret[0] = (uint64_t)(uintptr_t)e, s->secret[1] = (uint64_t)(uintptr_t)&pt_mix << 20;
    s->secret[1] |= 1;
    PyThreadState *const state = s->list ? NULL : PyEval_SaveThread();
    if (s->a && s->a->ndim == 1 && s->a->dtype < TALLY_F16) pt_find_range(s);
    e->failed = open_table(e, n);
    number_rows(e, n);
    if (state) PyEval_RestoreThread(state);
    if (e->no_text) {
        e->count = e->missing = 0;
        e->missing_code = -1;
        return encode_objects(e, s->list, n);
    }
    if (e->failed && e->count >= MOST_GROUPS)
        PyErr_Format(PyExc_ValueError, "by has more than %d different keys", MOST_GROUPS);
    else if (e->failed)
        PyErr_NoMemory();
    return e->failed ? -1 : 0;
}

/* encode(keys, kind, missing number or None, keep) -> (codes, first rows, whether codes has -1)
 * kind: "numbers", of one axis, or bytes of two; "text" of Arrow; "objects", a list */
PyObject *pt_encode(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    pt_operand a;
    pt_column c = {0};
    pt_source s = {0};
    int64_t none = 0, n = 0;
    const char *const kind = count == 4 ? PyUnicode_AsUTF8AndSize(args[1], NULL) : "";
    if (pt_count("encode", count, 4) || !kind) return NULL;
    if (args[2] != Py_None && (none = PyLong_AsLongLong(args[2])) == -1 && PyErr_Occurred())
        return NULL;
    s.missing = args[2] == Py_None ? NULL : &none;
    s.keep = args[3] == Py_True;
    s.list = *kind == 'o' ? args[0] : NULL;
    encoder e = {.from = &s, .missing_code = -1};
    if (s.list) n = PyList_Size(s.list);
    const int failed = s.list ? n < 0 : pt_open_source(args[0], *kind, &s, &a, &c, &n);
    PyObject *codes = failed ? NULL : pt_array_new(TALLY_I32, 0, 1, &n);
    if (codes) {
        e.codes = pt_array_data(codes);
        if (run(&e, &s, n)) Py_CLEAR(codes);
    }
    PyObject *const result = finish(&e, codes);
    if (s.a) pt_close(&a);
    pt_close_column(&c);
    return result;
}

/* ---- codes from codes ---- */

static int open_codes(PyObject *object, pt_operand *a)
{
    if (pt_open(object, "codes", a)) return -1;
    if (a->ndim == 1 && (a->size < 2 || a->strides[0] == pt_bytes(a)) && a->dtype == TALLY_I32)
        return 0;
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

/* renumber(codes, numbers, otherwise) -> numbers[code] for each code, otherwise for -1 */
PyObject *pt_renumber(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    pt_operand a, map;
    PyObject *codes = NULL;
    if (pt_count("renumber", count, 3)) return NULL;
    const long otherwise = PyLong_AsLong(args[2]);
    if ((otherwise == -1 && PyErr_Occurred()) || open_codes(args[0], &a)) return NULL;
    if (!pt_open_places(args[1], "numbers", &map)) {
        if ((codes = pt_array_new(TALLY_I32, 0, 1, &a.size))) {
            int32_t *const to = pt_array_data(codes);
            const int32_t *const x = (const void *)a.data;
            const int64_t *const y = (const void *)map.data;
            for (int64_t i = 0; i < a.size; i++)
                to[i] = (int32_t)(x[i] < 0 || x[i] >= map.size ? otherwise : y[x[i]]);
        }
        pt_close(&map);
    }
    pt_close(&a);
    return codes;
}
