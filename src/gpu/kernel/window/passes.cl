/* SPDX-License-Identifier: MIT
 * Levels in passes of a high radix, as in FFTs, for states of at most 8 bytes. Nodes are in local
 * memory between two passes, and in registers inside a pass, where a level costs no access to local
 * memory.
 *
 *   up    a thread has a run of neighbouring items and the RADIX - 1 after them:
 *         Y_0 -> Y_a, a = PASS_LOG
 *   rows  w's bits from a on. Item i lies in row i / RADIX, so a node of 2^(a + k) items is
 *         made of 2^k nodes Y_a of a column. A thread has some neighbouring rows of one column.
 *         For each bit, from high to low, it reads the Y_a of the bit's nodes, doubles them k
 *         times and folds them onto its results
 *   low   w's bits below a, in the same way, from neighbouring items
 *
 * For a bit k, each result reads 1 + (2^k - 1) / (rows of a thread) nodes. (quads.cl keeps every
 * level: it needs a store and a load for each level, a load for each bit, and an array for each
 * bit.) Runs have an odd number of items, so that lanes which read a run each have no bank
 * conflicts. */
enum {
    RADIX = 1 << PASS_LOG,
    PASS_SPACE = PASS_ITEMS + RADIX, /* states of an array: the last run reads past the items */
    PASS_ROWS = RADIX / 2,           /* of a thread */
    PASS_BAND = WINDOW_THREADS / RADIX * PASS_ROWS, /* rows of a block at a time */
    PASS_LOW = PASS_ROWS + 1,                       /* items of a thread in `low` */
    PASS_NODES = PASS_LOW + (1 << PASS_TOP)         /* max registers for nodes */
};

/* Nodes of 2^more elements at z, `pitch` apart. done: elements of a window before them. */
typedef struct {
    LOCAL const state *z;
    int pitch, more;
    i64 done;
} node_places;

fn node_places places_at(LOCAL const state *z, int pitch, int more, i64 done)
{
    node_places at;
    at.z = z, at.pitch = pitch, at.more = more, at.done = done;
    return at;
}

/* The same places `far` nodes further on. */
fn node_places places_after(node_places at, int far)
{
    return places_at(at.z + far * at.pitch, at.pitch, at.more, at.done + ((i64)far << at.more));
}

/* Doubles `many` nodes s of 2^(level + more) elements. (The levels and bits are constants:
 * compilers did not unroll loops whose end depends on an outer loop, and s was in local memory.) */
fn void double_nodes(state *s, const int many, const int level, const int more)
{
    FOR(j, many) s[j] = TWIN(s[j], s[j + (1 << level)], (i64)1 << (level + more));
}

/* s = the nodes of 2^k items for `many` neighbouring items, made of those at `at`. */
fn void make_nodes(state *s, const int many, node_places at, const int k)
{
    const int last = many + (1 << k);
    FOR(j, last - 1) s[j] = at.z[j * at.pitch];
    if (k > 0) double_nodes(s, last - 2, 0, at.more);
    if (k > 1) double_nodes(s, last - 4, 1, at.more);
    if (k > 2) double_nodes(s, last - 8, 2, at.more);
    if (k > 3) double_nodes(s, last - 16, 3, at.more);
    if (k > 4) double_nodes(s, last - 32, 4, at.more);
}

/* Folds bit k of `many` neighbouring windows onto their results y, or sets y (onto 0). The bit's
 * nodes begin at `at`. */
fn void fold_bit(state *y, int onto, const int many, node_places at, const int k)
{
    state s[PASS_NODES];
    if (k == PASS_TOP && sizeof(state) > 4) { /* one half after the other, to save registers */
        state t[PASS_NODES];
        make_nodes(s, many, at, k - 1);
        make_nodes(t, many, places_after(at, 1 << (k - 1)), k - 1);
        FOR(j, many) s[j] = TWIN(s[j], t[j], (i64)1 << (k - 1 + at.more));
    } else {
        make_nodes(s, many, at, k);
    }

    if (onto) {
        FOR(j, many) y[j] = COMBINE(y[j], s[j], at.done, (i64)1 << (k + at.more));
    } else {
        FOR(j, many) y[j] = s[j];
    }
}

/* Folds all bits of at most `top` (<= PASS_TOP), from high to low. */
fn void fold_each_bit(state *y, int onto, const int many, node_places at, int bits, const int top)
{
#define PASS_BIT(k) \
    if ((k) <= top && (bits >> (k)&1)) { \
        fold_bit(y, onto, many, places_after(at, bits >> ((k) + 1) << ((k) + 1)), k); \
        onto = 1; \
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
    enum { LAST = PASS_RUN + RADIX };
    state s[LAST - 1];
    const int i = thread_index() * PASS_RUN;

    FOR(j, LAST - 1) s[j] = x[i + j];
    double_nodes(s, LAST - 2, 0, 0);
    double_nodes(s, LAST - 4, 1, 0);
    double_nodes(s, LAST - 8, 2, 0);
    double_nodes(s, LAST - 16, 3, 0);
    if (PASS_LOG > 4) double_nodes(s, LAST - 32, 4, 0);
    BARRIER();
    FOR(j, PASS_RUN) to[i + j] = s[j];
    BARRIER();
}

/* Folds the bits from a on, from Y_a in z to results in z. A band reads only itself and the rows
 * after it, so it is overwritten before the next is read. */
fn void pass_rows(LOCAL state *z, LOCAL const tile *p, int bits)
{
    const int column = thread_index() & (RADIX - 1), row = thread_index() / RADIX * PASS_ROWS;

    for (int first = 0; first * RADIX < p->results; first += PASS_BAND) {
        const int i = (first + row) * RADIX + column, active = i - column < p->results;
        state y[PASS_ROWS];
        if (active)
            fold_each_bit(y, 0, PASS_ROWS, places_at(z + i, RADIX, PASS_LOG, 0), bits, PASS_TOP);
        BARRIER();
        if (active) {
            FOR(j, PASS_ROWS) z[i + j * RADIX] = y[j];
        }
    }

    BARRIER();
}

/* Folds the bits below a onto z. x: where their items begin. done: elements of a window before
 * these. */
fn void pass_low(LOCAL state *z, LOCAL const state *x, LOCAL const tile *p, int bits, i64 done)
{
    for (int i = thread_index() * PASS_LOW; i < p->results; i += WINDOW_THREADS * PASS_LOW) {
        state y[PASS_LOW];
        FOR(j, PASS_LOW) y[j] = z[i + j];
        fold_each_bit(y, 1, PASS_LOW, places_at(x + i, 1, 0, done), bits, PASS_LOG - 1);
        FOR(j, PASS_LOW) z[i + j] = y[j];
    }
    BARRIER();
}

/* ---- a tile (tile.cl) ---- */

/* Blocks of a multiprocessor, which bounds the registers. */
#define PASS_BLOCKS (PASS_LOG == 4 && OP_EXACT ? 2 : 3)

typedef struct {
    int none;
} passes_registers;

enum { passes_items = PASS_ITEMS };

fn int passes_prefetches(LOCAL const tile *p, const launch *l) { return 1; }

/* Local memory: results and nodes, PASS_SPACE states; then items, or in the same place if w has no
 * bits below a. */
fn LOCAL state *pass_items(LOCAL u8 *memory, const launch *l)
{
    return (LOCAL state *)memory + (l->of.width & (RADIX - 1) ? PASS_SPACE : 0);
}

/* If the items of a tile are contiguous, it loads as many as local memory has, so that no load is
 * conditional. */
fn void passes_load(LOCAL u8 *memory, LOCAL const tile *p, const launch *l)
{
    LOCAL state *const x = pass_items(memory, l);
    const int me = thread_index();
    const i64 item = p->lo;

    if (!p->dense_items) {
        for (int i = p->before + me; i < p->beyond; i += WINDOW_THREADS)
            x[i] = lift(item_of(p, l, i), item + i, l->b.p);
        return;
    }

    /* contiguous loads; as many as registers allow */
    enum { MANY = PASS_LOG == 5 ? (PASS_RUN + 2) / 3 : PASS_RUN };
    UNROLL for (int k = 0; k < PASS_RUN; k += MANY)
    {
        const int i = me + k * WINDOW_THREADS;
        elem e[MANY];
        UNROLL for (int j = 0; j < MANY && k + j < PASS_RUN; j++) e[j] =
            DENSE_ITEM(p, l, i + j * WINDOW_THREADS);
        UNROLL for (int j = 0; j < MANY && k + j < PASS_RUN; j++) x[i + j * WINDOW_THREADS] =
            lift(e[j], item + i + j * WINDOW_THREADS, l->b.p);
    }
}

fn void passes_fold(LOCAL u8 *memory, passes_registers *r, LOCAL const tile *p,
                    LOCAL const borders *d, const launch *l)
{
    LOCAL state *const z = (LOCAL state *)memory, *const x = pass_items(memory, l);
    const int w = (int)l->of.width, low = w & (RADIX - 1), high = w - low;
    pass_up(z, x);
    pass_rows(z, p, high >> PASS_LOG);
    if (low) pass_low(z, x + high, p, low, high);
}

#if SKIPS && OP_LANES == 1
/* Stores four results at a time. first: index of the first window's element. */
fn void store_four_at_a_time(GLOBAL result *to, LOCAL const node *z, int count, i64 length,
                             i64 first, par p)
{
    LOCAL const four *const v = (LOCAL const four *)z;
    GLOBAL result_quad *const quads = (GLOBAL result_quad *)to;
    const int last = count & -QUAD, i = last + thread_index();

    for (int q = thread_index(); q * QUAD < count - (QUAD - 1); q += WINDOW_THREADS) {
        const four s = v[q];
        const i64 at = first + q * QUAD;
        result_quad r;
        r.x = lower(s.s[0], (real)length, at, p), r.y = lower(s.s[1], (real)length, at + 1, p);
        r.z = lower(s.s[2], (real)length, at + 2, p), r.w = lower(s.s[3], (real)length, at + 3, p);
        quads[q] = r;
    }
    if (i < count) to[i] = lower(z[i].s, (real)length, first + i, p);
}

/* The same for states of 5 to 8 bytes: results of a thread share one address and one 1 / n
 * (over_size). */
fn void store_strided(GLOBAL result *to, LOCAL const node *z, int count, i64 length, i64 first,
                      par p)
{
    enum { MANY = 2 };
    int i = thread_index();
    for (; i + (MANY - 1) * WINDOW_THREADS < count; i += MANY * WINDOW_THREADS) {
        result x[MANY];
        FOR(j, MANY) {
            const int at = i + j * WINDOW_THREADS;
            x[j] = lower(z[at].s, (real)length, first + at, p);
        }
        FOR(j, MANY) to[i + j * WINDOW_THREADS] = x[j];
    }
    ROLLED for (; i < count; i += WINDOW_THREADS) to[i] = lower(z[i].s, (real)length, first + i, p);
}
#endif

/* Stores a tile's results. Its members are read once, because stores might change them. */
fn void passes_store(LOCAL u8 *memory, passes_registers *r, LOCAL const tile *p,
                     LOCAL const borders *d, const launch *l)
{
    LOCAL const node *const z = (LOCAL const node *)memory;
#if SKIPS && OP_LANES == 1
    const int inside = p->inside, count = p->results;
    const i64 lo = p->lo;
    GLOBAL result *const to = (GLOBAL result *)p->out;
    i64 length = length_in(l->of);
    OPAQUE(length); /* otherwise 1 / n would be kept in registers */

    if (p->quads && inside && sizeof(state) <= 4) {
        store_four_at_a_time(to, z, count, length, lo, l->b.p);
        return;
    }

    if (p->quads && inside) {
        store_strided(to, z, count, length, lo, l->b.p);
        return;
    }

    if (p->quads) {
        for (int i = thread_index(); i < count; i += WINDOW_THREADS)
            to[i] = until_border(p, d, l->b, i) < length
                        ? empty(l->b.p)
                        : lower(z[i].s, (real)length, lo + i, l->b.p);
        return;
    }
#endif
    store_items(p, d, l, (LOCAL const state *)z, 0);
}
