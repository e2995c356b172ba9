/* SPDX-License-Identifier: MIT
 * Tiles whose items and nodes lie in order in local memory (passes.cl, digits.cl, stream.cl): loads
 * and stores. */

/* What local memory has of an item: digits.cl lifts elements where it folds them. */
#if PASS_LOG == DIGIT_LOG
typedef elem local_item;
fn local_item local_item_of(elem e, i64 item, par p) { return e; }
#else
typedef state local_item;
fn local_item local_item_of(elem e, i64 item, par p) { return lift(e, item, p); }
#endif

/* Blocks of a multiprocessor, which bounds the registers. */
#define PASS_BLOCKS (PASS_LOG == 5 || (PASS_LOG == 4 && !OP_EXACT) ? 3 : 2)

/* Loads the items of a tile. If they are contiguous, it loads as many as local memory has, so that
 * no load is conditional. */
fn void load_in_order(LOCAL local_item *x, LOCAL const tile *p, const launch *l)
{
    const int me = thread_index();
    const i64 item = p->lo;

    if (!p->dense_items) {
        for (int i = p->before + me; i < p->beyond; i += WINDOW_THREADS)
            x[i] = local_item_of(item_of(p, l, i), item + i, l->b.p);
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
            local_item_of(e[j], item + i + j * WINDOW_THREADS, l->b.p);
    }
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

/* The same for larger states: several results of a thread share one address and one 1 / n
 * (over_size). */
fn void store_strided(GLOBAL result *to, LOCAL const node *z, int count, i64 length, i64 first,
                      par p)
{
    enum { MANY = 2 };
    int i = thread_index();
    for (; i + (MANY - 1) * WINDOW_THREADS < count; i += MANY * WINDOW_THREADS) {
        result x[MANY];
        UNROLL for (int j = 0; j < MANY; j++)
        {
            const int at = i + j * WINDOW_THREADS;
            x[j] = lower(z[at].s, (real)length, first + at, p);
        }
        UNROLL for (int j = 0; j < MANY; j++) to[i + j * WINDOW_THREADS] = x[j];
    }
    ROLLED for (; i < count; i += WINDOW_THREADS) to[i] = lower(z[i].s, (real)length, first + i, p);
}
#endif

/* Stores a tile's results. The tile's members are read once, because the compiler must assume that
 * stores change them. */
fn void store_in_order(LOCAL const node *z, LOCAL const tile *p, LOCAL const borders *d,
                       const launch *l)
{
#if SKIPS && OP_LANES == 1
    const int inside = p->inside, count = p->results;
    const i64 lo = p->lo;
    GLOBAL result *const to = (GLOBAL result *)p->out;
    i64 length = length_in(l->of);
    HERE(length); /* otherwise 1 / n would be kept in registers */

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
