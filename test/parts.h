/* SPDX-License-Identifier: MIT
 * What the tests of fragments and streams share: contexts of every instruction set with 1, 2,
 * 3 ... threads (whichever makes a result, it has the same bits), and sequences cut into pieces. */
#ifndef TALLY_TEST_PARTS_H
#define TALLY_TEST_PARTS_H
#include "check.h"

enum { CONTEXTS = 64 }; /* check_isa has 8 at most */
static tally *contexts[CONTEXTS];
static int context_count;

static inline tally *any(void) { return contexts[check_below(context_count)]; }

/* threads: 8 at most */
static inline void open_contexts(int threads)
{
    for (int i = 0; check_isa(i); i++)
        for (int t = 1; t <= threads; t++) contexts[context_count++] = check_open(t, check_isa(i));
}

static inline void close_contexts(void)
{
    while (context_count) tally_close(contexts[--context_count]);
}

/* ---- pieces ---- */

/* Cuts 0 .. n into pieces: cut[0] is 0, cut[pieces] is n, and some of the others lie between
   bytes of a bitmap. */
static inline void cut_up(int64_t n, int pieces, int64_t *cut)
{
    cut[0] = 0;
    for (int i = 1; i < pieces; i++) {
        cut[i] = check_below(4) ? check_below(n + 1) : check_below(n + 1) & -(int64_t)8;
        for (int k = i; cut[k - 1] > cut[k]; k--) { /* ends at cut[0] */
            const int64_t t = cut[k];
            cut[k] = cut[k - 1];
            cut[k - 1] = t;
        }
    }
    cut[pieces] = n;
}

/* 0 .. pieces - 1 in a random order. */
static inline void shuffle(int *order, int pieces)
{
    for (int i = 0; i < pieces; i++) {
        const int k = (int)check_below(i + 1);
        if (k < i) order[i] = order[k];
        order[k] = i;
    }
}

/* The same fragment after save and load, perhaps in another context. A byte of it that was
   damaged is refused. */
static inline tally_fragment *round_trip(tally *ctx, tally_fragment *f, const char *what)
{
    size_t bytes = 0, capacity;
    tally_fragment *back = NULL, *none = NULL;
    check(!tally_fragment_save(f, NULL, &bytes) && bytes > 0, "save: length: %s", what);
    char *const buffer = malloc(bytes + 1);
    capacity = bytes - 1;
    check(tally_fragment_save(f, buffer, &capacity) == TALLY_INVALID && capacity == bytes,
          "save into too few bytes");
    capacity = bytes + 1;
    buffer[bytes] = 0x5a;
    check(!tally_fragment_save(f, buffer, &capacity) && capacity == bytes && buffer[bytes] == 0x5a,
          "save: %s", what);
    if (!check_ok(ctx, tally_fragment_load(ctx, buffer, bytes, &back), what)) exit(check_finish());
    const int64_t at = check_below((int64_t)bytes);
    buffer[at] ^= (char)(1 + check_below(255));
    check(tally_fragment_load(ctx, buffer, bytes, &none) == TALLY_BAD_DATA && !none,
          "%s: byte %lld of %zu damaged", what, (long long)at, bytes);
    free(buffer);
    tally_fragment_free(f);
    return back;
}
#endif
