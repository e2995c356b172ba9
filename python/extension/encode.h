/* SPDX-License-Identifier: MIT
 * The keys of rows as words and texts (encode_source.c), and their numbers (encode.c). */
#ifndef TALLY_PYTHON_ENCODE_H
#define TALLY_PYTHON_ENCODE_H
#include "capsules.h"
#include "pt.h"

/* Rows are loaded in blocks of BLOCK. A key is two words; texts of at most SHORT bytes are compared
 * by them alone. */
enum { BLOCK = 512, SHORT = 16, LONG = SHORT + 1 };

typedef struct {
    uint64_t word[2];
    int32_t length, code;
} pt_key; /* also a slot of the table; code -1: it is free */

typedef struct {
    const char *at;
    int64_t length;
} pt_text;

typedef struct {
    PyObject *capsule;
    pt_arrow_array *arrays;
    int64_t count, rows;
    int64_t *begin; /* the first row of each array */
    char form;
} pt_column;

/* Where keys come from: an operand, text of Arrow, or a list of str. */
typedef struct {
    const pt_operand *a;
    const pt_column *c;
    PyObject *list;         /* of str and missing keys */
    const int64_t *missing; /* NULL, or the number that stands for a missing key */
    uint64_t secret[2];
    /* integers in a small range: the least word, and the number of words; else 0 */
    uint64_t low, range;
    int keep; /* missing keys are a group */
} pt_source;

static inline uint64_t pt_mix(uint64_t a, uint64_t b)
{
    const unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Opens keys: text of Arrow if kind is 't', else an operand. *n: their number. The caller closes
 * the operand, if s->a is set, and the column. */
int pt_open_source(PyObject *keys, char kind, pt_source *s, pt_operand *a, pt_column *c,
                   int64_t *n);
void pt_close_column(pt_column *c);
/* Sets the range of the words of integers, if it is small enough for a table. */
void pt_find_range(pt_source *s);
/* Whether a Python object is a missing key: None, a NaN, pandas.NA or NaT. -1: an exception. */
int pt_is_missing(PyObject *item);
/* Loads the keys of rows row, row + 1, ... texts is not used for numbers. -1: the list has another
 * object than str and missing keys. */
int pt_load_keys(const pt_source *s, int64_t row, int64_t m, pt_key *keys, uint8_t *absent,
                 pt_text *texts);
#endif
