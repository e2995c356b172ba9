/* SPDX-License-Identifier: MIT
 * An instance of an operator with all that its text promises (doc/dialect.md), for
 * test/test_promises.c: the scalar row, and what the row does not say. text.h makes one behind
 * each text, rows.c lists them. */
#ifndef TALLY_TEST_PROMISE_H
#define TALLY_TEST_PROMISE_H
#include "operator/kernel.h"

typedef struct promise {
    const tl_scalar *op;
    int commutes, extreme, adds, picks, moments;
    /* bit for bit, but a NaN of the type `real` is any other */
    int (*same)(const tl_state *a, const tl_state *b);
    /* twin, uncombine, neutral (the dialect's words are macros where these are set); NULL where
       there is none */
    /* n: the elements of each, with OP_SIZES */
    void (*halves)(tl_state *a, const tl_state *b, int64_t n);
    void (*without)(tl_state *a, const tl_state *b);
    void (*nothing)(tl_state *s, tl_par p);
} promise;
#endif
