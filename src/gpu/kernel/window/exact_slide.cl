/* SPDX-License-Identifier: MIT
 * Windows of class X whose operator has an inverse, longer than a tile (CUDA). A window is the
 * previous one plus the item at its end, minus the item before its begin, which is still in the
 * cache. A block computes a part of the results. In a step each thread has SLIDE_ROWS items; their
 * differences are scanned: in the warps, across the warps, and from step to step. Before the first
 * result of a part, the items of its window are added. */
#if OP_EXACT && OP_INVERSE
enum {
    SLIDE_ROWS = 4,
    SLIDE_WARPS = WINDOW_THREADS / LANES, /* SLIDE_ROWS * SLIDE_WARPS is LANES */
    SLIDE_STEP = SLIDE_ROWS * WINDOW_THREADS
};

/* The items of a step: those that are added, and those that are taken away. */
typedef struct {
    elem plus[SLIDE_ROWS], minus[SLIDE_ROWS];
} slide_items;

/* Items from <= i < end are added, and taken away `width` items later. */
typedef struct {
    i64 from, end;
} slide_part;

fn int slide_adds(slide_part s, i64 i) { return i >= s.from && i < s.end; }

fn void slide_load(slide_items *e, const exact_launch *l, slide_part s, i64 item)
{
    GLOBAL const elem *const x = (GLOBAL const elem *)l->b.x;
    UNROLL for (int u = 0; u < SLIDE_ROWS; u++)
    {
        const i64 i = item + u * WINDOW_THREADS;
        if (slide_adds(s, i)) e->plus[u] = x[i];
        if (!slide_adds(s, i - l->width)) continue;
        /* it may leave the cache first; of small items, other warps need the same line */
        e->minus[u] = TL_SIZE < 8 ? x[i - l->width] : LOAD_LAST(x + (i - l->width));
    }
}

/* Computes results j0 to j1 - 1. totals: of each row of a warp, in even and in odd steps. */
fn void slide_along(const exact_launch *l, LOCAL state *totals, i64 j0, i64 j1)
{
    const int t = thread_index(), warp = t / LANES, lane = lane_index();
    const i64 first = l->first + j0, after = l->first + j1 + l->d;
    const slide_part s = {first > 0 ? first : 0, after < l->b.n ? after : l->b.n};
    /* none: an element taken away from itself */
    const state x0 = lift(NO_ELEMENT, 0, l->b.p), none = uncombine(x0, x0);
    state before = none;
    slide_items e, next;
    /* a step begins with the last item of result j0 */
    i64 item = first + l->d - (l->d + SLIDE_STEP - 1) / SLIDE_STEP * SLIDE_STEP + t;

    UNROLL for (int u = 0; u < SLIDE_ROWS; u++) next.plus[u] = next.minus[u] = NO_ELEMENT;
    slide_load(&next, l, s, item);
    for (int step = 0; item - t < after; item += SLIDE_STEP, step ^= 1) {
        LOCAL state *const sums = totals + step * LANES;
        state v[SLIDE_ROWS];
        e = next;
        slide_load(&next, l, s, item + SLIDE_STEP);
        UNROLL for (int u = 0; u < SLIDE_ROWS; u++)
        {
            const i64 i = item + u * WINDOW_THREADS, old = i - l->width;
            v[u] = choose(slide_adds(s, i), lift(e.plus[u], i, l->b.p), none);
            v[u] = uncombine(v[u], choose(slide_adds(s, old), lift(e.minus[u], old, l->b.p), none));
            v[u] = fold_to_lane(v[u], 0);
            if (lane == LANES - 1) sums[u * SLIDE_WARPS + warp] = v[u];
        }
        BARRIER();

        const state all = JOIN(before, fold_to_lane(sums[lane], 0));
        UNROLL for (int u = 0; u < SLIDE_ROWS; u++)
        {
            const int k = u * SLIDE_WARPS + warp;
            const i64 start = item + u * WINDOW_THREADS - l->d, j = start - l->first;
            const state left = choose(k > 0, from_lane(all, k - 1, 0), before);
            if (j < j0 || j >= j1) continue;
            STORE_LAST((GLOBAL result *)l->out + j,
                       start >= 0 && start + l->d < l->b.n
                           ? lower(JOIN(left, v[u]), (real)l->width, start, l->b.p)
                           : empty(l->b.p));
        }
        before = from_lane(all, LANES - 1, 0);
    }
}

KERNEL_OF(window_exact)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    SHARED state totals[2 * LANES];
    exact_launch l;
    l.b = b, l.out = out.x, l.first = first_item, l.width = width, l.d = width - 1, l.count = count;
    for (i64 job = group_index(); job < jobs; job += group_count()) {
        const i64 j0 = job * each;
        slide_along(&l, totals, j0, j0 + each < count ? j0 + each : count);
        BARRIER();
    }
}
#endif
