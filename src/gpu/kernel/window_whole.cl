/* SPDX-License-Identifier: MIT
 * Windows of their whole length w. A thread holds quads of four neighbouring items: Y_1 and Y_2 of a quad need its
 * right neighbour only, and from level 2 on a level is one store and one load of a quad:
 *
 *   Y_0 in local memory -> own quad, next quad -> Y_1, Y_2 in registers
 *   level k >= 2:  store Y_k, barrier, load the quad 2^k items to the right, Y_(k+1) in registers
 *   w's set bits:  Y_k stays in an array of its own (the highest one in registers); the others change between two
 *                  arrays
 *
 * The result at item i is the fold of Y_k[i + higher bits of w], high to low. Tiles begin where results are aligned for
 * quads, so loads are single elements, side by side. */
enum { WHOLE = 1 << WHOLE_LOG, WHOLE_QUADS = WHOLE / QUAD, MINE = WHOLE_QUADS / WINDOW_THREADS };

#define FOUR_LOW_BIT(bytes) ((bytes) & -(bytes))
#define FOUR_ALIGN (FOUR_LOW_BIT(4 * sizeof(state)) > 16 ? 16 : FOUR_LOW_BIT(4 * sizeof(state)))
typedef struct ALIGNED(FOUR_ALIGN) {
    state s[QUAD];
} four;

/* A tile in terms of memory: item 0 and result 0 of it, and how far it may be taken without a look. */
typedef struct {
    GLOBAL const u8 *x;
    GLOBAL u8 *out;
    i64 lo, n;                         /* number of item 0, below 0 at an edge; items of the sequence */
    int results, before, beyond;       /* items from `before` on and below `beyond` are in the sequence */
    int dense_items, dense_results;    /* all WHOLE items are side by side in it; every window is whole, its results
                                          quads */
} stretch;
fn void stretch_of(LOCAL stretch *p, batch b, results out, i64 job, i64 before, i64 after, i64 valid, i64 least,
    i64 tiles, i64 each)
{
    const tile t = tile_of(b, job, before, after, valid, tiles, each);
    const i64 lo = valid ? t.j0 : t.j0 - before, w = before + after + 1, count = t.j1 - t.j0 + w - 1;
    GLOBAL const u8 *x = b.x + (start_of(b, t.s) + lo * b.stride) * TL_SIZE;
    GLOBAL u8 *to = place(out, b, t.s, t.j0);
    const int near = b.stride == 1 && ADDRESS(x) % TL_SIZE == 0;
    p->x = x, p->out = to, p->lo = lo, p->n = t.n, p->results = (int)(t.j1 - t.j0);
    p->before = lo < 0 ? (int)-lo : 0, p->beyond = lo + count > t.n ? (int)(t.n - lo) : (int)count;
    p->dense_items = near && lo >= 0 && lo + WHOLE <= t.n;
    p->dense_results = OP_LANES == 1 && t.inside && out.stride == 1 && w >= least && ADDRESS(to) % QUAD_OUT_ALIGN == 0;
}

/* Y_0. Items outside of the sequence are in no result. Their numbers begin at `shift`. */
fn void load_whole(LOCAL state *z, batch b, stretch p, i64 shift)
{
    const int me = thread_index();
    if (p.dense_items) {
        elem e[WHOLE / WINDOW_THREADS];
        GLOBAL const elem *x = (GLOBAL const elem *)p.x + me;
        UNROLL for (int k = 0; k < WHOLE / WINDOW_THREADS; k++) e[k] = x[k * WINDOW_THREADS];
        UNROLL for (int k = 0; k < WHOLE / WINDOW_THREADS; k++)
            z[k * WINDOW_THREADS + me] = lift(e[k], shift + p.lo + k * WINDOW_THREADS + me, b.p);
    } else {
        for (int i = p.before + me; i < p.beyond; i += WINDOW_THREADS)
            z[i] = lift(load_element(p.x + i * b.stride * TL_SIZE), shift + p.lo + i, b.p);
    }
}

/* `count` results of a quad, one by one, at an edge or not side by side. */
far_fn void store_some(GLOBAL u8 *to, i64 step, int count, four v, i64 start, i64 n, int w, i64 length, i64 least,
    i64 edges, par q)
{
    ROLLED for (int c = 0; c < QUAD && c < count; c++)
    {
        maybe m;
        int whole = start + c >= 0 && start + c + w <= n;
        m.s = choose(c > 1, choose(c > 2, v.s[3], v.s[2]), choose(c, v.s[1], v.s[0]));
        m.have = whole && length >= least;
        if (whole || edges == EDGES_TOO) store_maybe(to + c * step, m, length, start + c, q);
    }
}
fn void store_whole(const stretch *p, batch b, results out, int q, int w, i64 length, i64 least, i64 edges,
    const four *v)
{
    const i64 start = p->lo + q;
#if OP_LANES == 1
    const int row = q - lane_index() * QUAD; /* of the warp's quads */
    if (SKIPS ? p->dense_results && row + LANES * QUAD <= p->results : p->dense_results && q + QUAD <= p->results) {
        result x[QUAD];
        UNROLL for (int c = 0; c < QUAD; c++) x[c] = lower(v->s[c], (real)length, start + c, b.p);
        store_row(p->out + row * (i64)sizeof(result), x);
        return;
    }
#endif
    store_some(p->out + q * out.stride * (i64)(OP_LANES * sizeof(result)),
        out.stride * (i64)(OP_LANES * sizeof(result)),
               p->results - q, *v, start, p->n, w, length, least, edges, b.p);
}

/* Quad q of an array; what lies beyond its end is in no result. m, far: q is less than (m + 1) * 256 + far, far at most
 * that. */
fn four quad_at(LOCAL const four *z, int q, int m, int far)
{
    if ((m + 1) * WINDOW_THREADS + far > WHOLE_QUADS && q >= WHOLE_QUADS) q = WHOLE_QUADS - 1;
    return z[q];
}
enum { FAR_LEVEL = WHOLE_QUADS / 4, FAR_BITS = WHOLE_QUADS / 2 + 1 }; /* of windows of at most WHOLE / 2 */

/* Y_top of the quads whose Y_from is y. The levels of w's set bits stay in the arrays slot, slot + 1, ... Nodes of
 * level k have 2^(k + more) elements: more is 0 but for rows (window_long.cl). */
fn void double_quads(LOCAL four *z, four *y, int from, int top, int w, int kept, int slot, int more)
{
    const int me = thread_index();
    for (int k = from; k < top; k++) {
        LOCAL four *to = z + (w >> k & 1 ? slot++ : kept + !(k & 1)) * WHOLE_QUADS + me;
        UNROLL for (int m = 0; m < MINE; m++) to[m * WINDOW_THREADS] = y[m];
        BARRIER();
        UNROLL for (int m = 0; m < MINE; m++)
        {
            four right = quad_at(to - me, m * WINDOW_THREADS + me + (1 << (k - 2)), m, FAR_LEVEL);
            UNROLL for (int c = 0; c < QUAD; c++) y[m].s[c] = TWIN(y[m].s[c], right.s[c], (i64)1 << (k + more));
        }
    }
}
/* The levels of w's bits below top, in `kept` arrays, folded onto y. Before the items of this launch the window has
 * `done` elements. */
fn void fold_bits(LOCAL const four *z, four *y, int top, int w, int kept, int more, i64 done)
{
    int slot = kept;
    for (int k = top - 1; k >= 0; k--) {
        if ((w >> k & 1) == 0) continue;
        const int far = w >> (k + 1) << (k + 1);
        LOCAL const four *from = z + --slot * WHOLE_QUADS;
        UNROLL for (int m = 0; m < MINE; m++)
        {
            const int q = m * WINDOW_THREADS + thread_index() + far / QUAD;
            four right = quad_at(from, q, m, FAR_BITS);
            if (far & 2) { /* level 0: half a quad further */
                four next = quad_at(from, q + 1, m, FAR_BITS);
                right.s[0] = right.s[2], right.s[1] = right.s[3], right.s[2] = next.s[0], right.s[3] = next.s[1];
            }
            UNROLL for (int c = 0; c < QUAD; c++) y[m].s[c] = COMBINE(y[m].s[c], right.s[c],
                done + ((i64)far << more), (i64)1 << (k + more));
        }
    }
}

/* What a launch makes of its tiles. */
typedef struct {
    int what;            /* PART_RESULTS; of a longer window (window_long.cl) PART_LEVEL, PART_LAST_BITS */
    GLOBAL four *states; /* PART_LEVEL: Y_top, to be stored; PART_LAST_BITS: what the higher bits gave, to be folded
                            onto */
    i64 shift, length;   /* number of item 0 in the window's sequence; elements of the window */
} part;

/* each: a multiple of 4. EDGES_APART: `window` has the windows that are not whole, else they get the empty value. Room:
 * an array of WHOLE states for each level that is kept, and up to two. */
#define LEVELS_PARAMETERS PARAMETERS_OF(LEVELS)
fn void whole_windows(LOCAL four *z, LOCAL stretch *tile_at, batch b, results out, WINDOW_PARAMETERS,
    TILES_PARAMETERS, LEVELS_PARAMETERS, part of)
{
    const int w = (int)(before + after + 1), top = (int)top_level, kept = (int)kept_levels, me = thread_index();
    int turn = 0;
    if (me == 0 && group_index() < jobs) stretch_of(&tile_at[0], b, out, group_index(), before, after, valid, least,
        tiles, each);
    BARRIER();
    for (i64 job = group_index(); job < jobs; job += group_count(), turn ^= 1) {
        const stretch p = tile_at[turn];
        LOCAL four *y0 = z + (w & 1 && top ? 0 : kept) * WHOLE_QUADS;
        four y[MINE];
        load_whole((LOCAL state *)y0, b, p, of.shift);
        if (me == 0 && job + group_count() < jobs)
            stretch_of(&tile_at[turn ^ 1], b, out, job + group_count(), before, after, valid, least, tiles, each);
        BARRIER();
        UNROLL for (int m = 0; m < MINE; m++)
        {
            const int q = m * WINDOW_THREADS + me;
            y[m] = y0[q];
            if (top) {
                four right = quad_at(y0, q + 1, m, 1);
                state one = TWIN(right.s[0], right.s[1], 1), two = TWIN(right.s[1], right.s[2], 1);
                UNROLL for (int c = 0; c < 3; c++) y[m].s[c] = TWIN(y[m].s[c], y[m].s[c + 1], 1);
                y[m].s[3] = TWIN(y[m].s[3], right.s[0], 1);
                if (top > 1) {
                    if (w & 2) z[(w & 1) * WHOLE_QUADS + q] = y[m];
                    y[m].s[0] = TWIN(y[m].s[0], y[m].s[2], 2), y[m].s[1] = TWIN(y[m].s[1], y[m].s[3], 2);
                    y[m].s[2] = TWIN(y[m].s[2], one, 2), y[m].s[3] = TWIN(y[m].s[3], two, 2);
                }
            }
        }
        double_quads(z, y, 2, top, w, kept, (w & 1) + (w >> 1 & 1), 0);
        BARRIER();
        if (of.what == PART_LAST_BITS) {
            UNROLL for (int m = 0; m < MINE; m++)
            {
                const int q = m * WINDOW_THREADS + me;
                if (q * QUAD < p.results) y[m] = of.states[p.lo / QUAD + q];
            }
        }
        fold_bits(z, y, top, w, kept, 0, of.shift);
        UNROLL for (int m = 0; m < MINE; m++)
        {
            const int q = m * WINDOW_THREADS + me;
            if (of.what != PART_LEVEL)
                store_whole(&p, b, out, q * QUAD, w, of.length, least, edges, &y[m]);
            else if (q * QUAD < p.results)
                of.states[p.lo / QUAD + q] = y[m];
        }
        BARRIER();
    }
}

#ifndef TL_LONG
KERNEL_OF(window_whole)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    SHARED stretch tile_at[2]; /* this one and the next, which the first thread prepares meanwhile */
    part all;
    all.what = PART_RESULTS, all.states = 0, all.shift = 0, all.length = before + after + 1;
    whole_windows((LOCAL four *)ROOM_OF_PARAMETER, tile_at, b, out, before, after, valid, least, tiles, jobs, each,
        edges, top_level, kept_levels, all);
}
#endif
