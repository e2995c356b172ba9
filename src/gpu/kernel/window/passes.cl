/* SPDX-License-Identifier: MIT
 * Long windows of their whole length: levels in passes of a high radix, as in FFTs. Nodes are in
 * local memory between two passes, and in registers inside a pass, where a level costs no access to
 * local memory. This file is for states of at most 8 bytes; digits.cl is for larger ones.
 *
 *   up    a thread has a run of neighbouring items and the RADIX - 1 after them:
 *         Y_0 -> Y_a, a = PASS_LOG
 *   rows  w's bits from a on. Item i lies in row i / RADIX, so a node of 2^(a + k) items is
 *         made of 2^k nodes Y_a of a column. A thread has some neighbouring rows of one column.
 *         For each bit, from high to low, it reads the Y_a of the bit's nodes, doubles them k
 *         times and folds them onto its results
 *   low   w's bits below a, in the same way, from neighbouring items
 *
 * For a bit k, each result reads 1 + (2^k - 1) / (rows of a thread) nodes. (whole.cl keeps every
 * level: it needs a store and a load for each level, a load for each bit, and an array for each
 * bit.) Runs have an odd number of items, so that lanes which read a run each have no bank
 * conflicts. */
#if PASS_LOG && PASS_LOG != DIGIT_LOG
typedef state pass_item;
enum {
    RADIX = 1 << PASS_LOG,
    PASS_ROOM = PASS_TILE + RADIX,          /* the last run reads past the end */
    /* PASS_ROWS: rows of a thread; PASS_BAND: rows of a block at a time */
    PASS_ROWS = RADIX / 2,
    PASS_BAND = WINDOW_THREADS / RADIX * PASS_ROWS,
    PASS_LOW = PASS_ROWS + 1,               /* items of a thread in `low` */
    PASS_NODES = PASS_LOW + (1 << PASS_TOP) /* max registers for nodes */
};

/* Doubles `many` nodes s of 2^(level + more) elements. (The levels and bits are constants:
 * compilers did not unroll loops whose end depends on an outer loop, and s was in local memory.) */
fn void pass_double(state *s, const int many, const int level, const int more)
{
    UNROLL for (int j = 0; j < many; j++)
        s[j] = TWIN(s[j], s[j + (1 << level)], (i64)1 << (level + more));
}

/* s = the nodes of 2^k items for `many` neighbouring items, made of those at z, which lie `pitch`
 * apart and have 2^more elements each. */
fn void pass_nodes(state *s, const int many, LOCAL const state *z, const int k, const int pitch,
                   const int more)
{
    const int last = many + (1 << k);
    UNROLL for (int j = 0; j < last - 1; j++) s[j] = z[j * pitch];
    if (k > 0) pass_double(s, last - 2, 0, more);
    if (k > 1) pass_double(s, last - 4, 1, more);
    if (k > 2) pass_double(s, last - 8, 2, more);
    if (k > 3) pass_double(s, last - 16, 3, more);
    if (k > 4) pass_double(s, last - 32, 4, more);
}

/* Folds bit k of `many` neighbouring windows onto their results y, or sets y if have is 0. The
 * bit's nodes begin at z. done: elements of a window before them. */
fn void pass_fold(state *y, int have, const int many, LOCAL const state *z, const int k,
                  const int pitch, i64 done, const int more)
{
    state s[PASS_NODES];
    /* one half after the other, to save registers */
    if (k == PASS_TOP && sizeof(state) > 4) {
        state t[PASS_NODES];
        pass_nodes(s, many, z, k - 1, pitch, more);
        pass_nodes(t, many, z + (pitch << (k - 1)), k - 1, pitch, more);
        UNROLL for (int j = 0; j < many; j++) s[j] = TWIN(s[j], t[j], (i64)1 << (k - 1 + more));
    } else {
        pass_nodes(s, many, z, k, pitch, more);
    }
    if (have) {
        UNROLL for (int j = 0; j < many; j++)
            y[j] = COMBINE(y[j], s[j], done, (i64)1 << (k + more));
    } else {
        UNROLL for (int j = 0; j < many; j++) y[j] = s[j];
    }
}

/* Folds all bits of at most `top` (<= PASS_TOP), from high to low. */
fn void pass_bits(state *y, int have, const int many, LOCAL const state *z, int bits, const int top,
                  const int pitch, i64 done, const int more)
{
#define PASS_BIT(k)                                                                                \
    if ((k) <= top && (bits >> (k)&1)) {                                                           \
        const int far = bits >> ((k) + 1) << ((k) + 1);                                            \
        pass_fold(y, have, many, z + far * pitch, k, pitch, done + ((i64)far << more), more);      \
        have = 1;                                                                                  \
    }
    PASS_BIT(5)
    PASS_BIT(4)
    PASS_BIT(3)
    PASS_BIT(2)
    PASS_BIT(1)
    PASS_BIT(0)
#undef PASS_BIT
}

/* Computes Y_a of all items. to: x itself or another array. */
fn void pass_up(LOCAL state *to, LOCAL const state *x)
{
    state s[2 * RADIX];
    const int i = thread_index() * PASS_RUN;
    UNROLL for (int j = 0; j < 2 * RADIX; j++) s[j] = x[i + j];
    enum { LAST = 2 * RADIX + 1 };
    pass_double(s, LAST - 2, 0, 0);
    pass_double(s, LAST - 4, 1, 0);
    pass_double(s, LAST - 8, 2, 0);
    if (PASS_LOG > 3) pass_double(s, LAST - 16, 3, 0);
    if (PASS_LOG > 4) pass_double(s, LAST - 32, 4, 0);
    BARRIER();
    UNROLL for (int j = 0; j < PASS_RUN; j++) to[i + j] = s[j];
    BARRIER();
}

/* Folds the bits from a on, from Y_a in z to results in z. have: onto the fold of the higher bits.
 * A band of rows reads only itself and the rows after it, so it is overwritten before the next band
 * is read. */
fn void pass_rows(LOCAL state *z, LOCAL const stretch *p, int bits, part make, int have, i64 done)
{
    GLOBAL const state *high = (GLOBAL const state *)make.states + (have ? p->done : 0);
    const int column = thread_index() & (RADIX - 1), mine = thread_index() / RADIX * PASS_ROWS;
    for (int first = 0; first * RADIX < p->results; first += PASS_BAND) {
        const int i = (first + mine) * RADIX + column, some = i - column < p->results;
        state y[PASS_ROWS];
        if (have) {
            UNROLL for (int j = 0; j < PASS_ROWS; j++)
                y[j] = high[i + j * RADIX < p->results ? i + j * RADIX : 0];
        }
        if (some) pass_bits(y, have, PASS_ROWS, z + i, bits, PASS_TOP, RADIX, done, PASS_LOG);
        BARRIER();
        if (some) {
            UNROLL for (int j = 0; j < PASS_ROWS; j++) z[i + j * RADIX] = y[j];
        }
    }
    BARRIER();
}

/* Folds the bits below a onto z. x: where their items begin. */
fn void pass_low(LOCAL state *z, LOCAL const state *x, LOCAL const stretch *p, int bits, i64 done)
{
    for (int i = thread_index() * PASS_LOW; i < p->results; i += WINDOW_THREADS * PASS_LOW) {
        state y[PASS_LOW];
        UNROLL for (int j = 0; j < PASS_LOW; j++) y[j] = z[i + j];
        pass_bits(y, 1, PASS_LOW, x + i, bits, PASS_LOG - 1, 1, done, 0);
        UNROLL for (int j = 0; j < PASS_LOW; j++) z[i + j] = y[j];
    }
    BARRIER();
}

/* Local memory: PASS_ROOM states, or twice that if w has bits below a. */
fn LOCAL pass_item *pass_items(LOCAL u8 *room, int w)
{
    return (LOCAL state *)room + (w & (RADIX - 1) ? PASS_ROOM : 0);
}

fn void pass_tile(LOCAL u8 *room, LOCAL const stretch *p, batch b, windows of, part make)
{
    LOCAL state *z = (LOCAL state *)room;
    const int w = (int)of.width, low = w & (RADIX - 1), high = w - low;
    const int have = make.what == PART_LAST_BITS || make.what == PART_RESULTS_ALONE;
    const int some = make.what != PART_RESULTS_ALONE; /* true: elements are needed */
    LOCAL state *x = pass_items(room, w);
    if (some && high) pass_up(z, x);
    pass_rows(z, p, some ? high >> PASS_LOG : 0, make, have, of.shift);
    if (some && low) pass_low(z, x + high, p, low, of.shift + high);
}
#endif

/* ---- states of any size ---- */

/* Blocks of a multiprocessor, which bounds the registers. */
#define PASS_BLOCKS                                                                                \
    (!PASS_LOG ? WHOLE_BLOCKS : PASS_LOG == 5 || (PASS_LOG == 4 && !OP_EXACT) ? 3 : 2)
#if PASS_LOG
#if PASS_LOG == DIGIT_LOG
#define PASS_ITEM(e, item, p) (e)
#else
#define PASS_ITEM(e, item, p) lift(e, item, p)
#endif
/* Loads the items of a tile. If they are contiguous, it loads as many as local memory has, so that
 * no load is conditional. */
fn void pass_load(LOCAL pass_item *x, LOCAL const stretch *p, batch b, windows w)
{
    const int me = thread_index();
    const i64 item = p->lo + w.shift;
    if (!p->dense_items) {
        for (int i = p->before + me; i < p->beyond; i += WINDOW_THREADS)
            x[i] = PASS_ITEM(item_of(p, b, w, i), item + i, b.p);
        return;
    }
    /* contiguous loads; as many as registers allow */
    enum { MANY = PASS_LOG == 5 ? PASS_RUN / 3 : PASS_RUN };
    for (int k = 0; k < PASS_RUN; k += MANY) {
        const int i = me + k * WINDOW_THREADS;
        elem e[MANY];
        UNROLL for (int j = 0; j < MANY; j++) e[j] = DENSE_ITEM(p, b, w, i + j * WINDOW_THREADS);
        UNROLL for (int j = 0; j < MANY; j++)
            x[i + j * WINDOW_THREADS] = PASS_ITEM(e[j], item + i + j * WINDOW_THREADS, b.p);
    }
}

/* Stores a tile's results, or (PART_LEVEL) its nodes. The tile's members are read once, because the
 * compiler must assume that stores change them. */
fn void pass_store(LOCAL const node *z, LOCAL const stretch *p, LOCAL const borders *d, batch b,
                   results out, windows w, part make)
{
#if SKIPS
    const int count = p->results, inside = p->inside;
    const i64 lo = p->lo;
    i64 length = length_in(w);
    HERE(length); /* otherwise 1 / n would be kept in registers */
    if (make.what == PART_LEVEL) {
        GLOBAL node *to = (GLOBAL node *)make.states + p->done;
        const int quads = (count + QUAD - 1) & -QUAD; /* window_rows reads the last quad whole */
        for (int i = thread_index(); i < quads; i += WINDOW_THREADS) to[i] = z[i];
        return;
    }
#if OP_LANES == 1
    GLOBAL result *to = (GLOBAL result *)p->out;
    if (p->quads && inside && sizeof(state) <= 4) {
        LOCAL const four *const v = (LOCAL const four *)z;
        GLOBAL result_quad *const quads = (GLOBAL result_quad *)to;
        const int last = count & -QUAD, i = last + thread_index();
        for (int q = thread_index(); q * QUAD < count - (QUAD - 1); q += WINDOW_THREADS) {
            const four s = v[q];
            const i64 first = lo + q * QUAD;
            result_quad r;
            r.x = lower(s.s[0], (real)length, first, b.p),
            r.y = lower(s.s[1], (real)length, first + 1, b.p);
            r.z = lower(s.s[2], (real)length, first + 2, b.p),
            r.w = lower(s.s[3], (real)length, first + 3, b.p);
            quads[q] = r;
        }
        if (i < count) to[i] = lower(z[i].s, (real)length, lo + i, b.p);
        return;
    }
    if (p->quads && inside) { /* several at a time: one address, one 1 / n (over_size) */
        enum { MANY = 2 };
        int i = thread_index();
        for (; i + (MANY - 1) * WINDOW_THREADS < count; i += MANY * WINDOW_THREADS) {
            result x[MANY];
            UNROLL for (int j = 0; j < MANY; j++)
                x[j] = lower(z[i + j * WINDOW_THREADS].s, (real)length, lo + i + j * WINDOW_THREADS,
                             b.p);
            UNROLL for (int j = 0; j < MANY; j++) to[i + j * WINDOW_THREADS] = x[j];
        }
        ROLLED for (; i < count; i += WINDOW_THREADS)
            to[i] = lower(z[i].s, (real)length, lo + i, b.p);
        return;
    }
    if (p->quads) {
        for (int i = thread_index(); i < count; i += WINDOW_THREADS)
            to[i] =
                ahead(p, d, b, i) < length ? empty(b.p) : lower(z[i].s, (real)length, lo + i, b.p);
        return;
    }
#endif
    store_items(p, d, b, out, w, (LOCAL const state *)z, 0);
#else /* two loops one after the other: PoCL 5.0 aborts over if and else, here before a barrier */
    const int level = make.what == PART_LEVEL, nodes = level ? (p->results + QUAD - 1) & -QUAD : 0;
    GLOBAL node *to = (GLOBAL node *)make.states + p->done;
    for (int i = thread_index(); i < nodes; i += WINDOW_THREADS) to[i] = z[i];
    if (!level) store_items(p, d, b, out, w, (LOCAL const state *)z, 0);
#endif
}

/* The same as whole_windows (whole.cl). */
fn void pass_windows(LOCAL u8 *room, LOCAL stretch *tiles, LOCAL borders *cuts, batch b,
                     results out, windows of, i64 jobs, i64 each, part make)
{
    const int some = make.what != PART_RESULTS_ALONE; /* true: elements are needed */
    LOCAL pass_item *x = pass_items(room, (int)of.width);
    int turn = 0;
    if (thread_index() == 0 && group_index() < jobs)
        stretch_of(&tiles[0], b, out, of, group_index(), mark_of(b, group_index()), each,
                   PASS_TILE);
    clear_borders(&cuts[0], b);
    BARRIER();
    if (group_index() < jobs) set_borders(&cuts[0], &tiles[0], b);
    for (i64 job = group_index(); job < jobs; job += group_count(), turn ^= 1) {
        LOCAL const stretch *p = &tiles[turn];
        const i64 next = job + group_count();
        mark at = mark_of(b, next < jobs ? next : job);
        if (some) pass_load(x, p, b, of);
        clear_borders(&cuts[turn ^ 1], b);
        if (thread_index() == 0 && next < jobs) {
            /* loaded again instead of kept, to save registers */
            if (PASS_LOG == DIGIT_LOG) at = mark_of(b, next);
            stretch_of(&tiles[turn ^ 1], b, out, of, next, at, each, PASS_TILE);
        }
        BARRIER();
        if (next < jobs) set_borders(&cuts[turn ^ 1], &tiles[turn ^ 1], b);
        if (next < jobs && some) ask_for(&tiles[turn ^ 1], PASS_TILE);
        pass_tile(room, p, b, of, make);
        pass_store((LOCAL const node *)room, p, &cuts[turn], b, out, of, make);
        BARRIER();
    }
}
#endif

/* ---- launches for a part of the levels ---- */

#define PART_PARAMETERS PARAMETERS_OF(PART)
#define PART_OF_PARAMETERS                                                                         \
    BATCH_OF_PARAMETERS;                                                                           \
    RESULTS_OF_PARAMETERS;                                                                         \
    windows of;                                                                                    \
    part make;                                                                                     \
    of.at = at, of.count = count, of.before = before, of.after = after, of.valid = valid;          \
    of.least = least, of.edges = edges, of.shift = shift, of.width = width;                        \
    make.what = (int)what, make.states = states
