/* SPDX-License-Identifier: MIT
 * Windows of class X that are longer than a tile (CUDA), in two programs: far tiles and sliding.
 *
 * Far tiles (exact.cl has the picture): the nodes between the two ends of a window come from the
 * tiles that other blocks have published (state.cl). */
#if TL_FAR == 1
enum { FAR_TILE = WINDOW_THREADS * RUN, FAR_WARPS = WINDOW_THREADS / LANES };

/* Nodes of the warps: of the runs of `left` from this one on, and up to this one; of those of
 * `right` up to this one; of the tiles between. taken: a ring of the block's tickets. epoch: the
 * launch's. */
enum { FAR_TAKEN = 4 };
typedef struct {
    state after[FAR_WARPS], before[FAR_WARPS], right[FAR_WARPS], middle[FAR_WARPS];
    i64 taken[FAR_TAKEN];
    u64 epoch;
} far_nodes;

/* The fold of the nodes of all threads before this one, or (after) after it. lanes: the result of
 * fold_to_lane; warps: those of the warps' last, or first, lanes. */
fn maybe fold_others(state lanes, LOCAL const state *warps, const int after, par p)
{
    const int lane = lane_index(), warp = thread_index() / LANES;
    const int some = after ? lane < LANES - 1 : lane > 0;
    const state near_ = from_lane(lanes, after ? lane + 1 : lane - 1, 0);
    maybe v = nothing(p);
    if (after && some) v.s = near_, v.exists = 1;
    for (int k = after ? warp + 1 : 0; k < (after ? FAR_WARPS : warp); k++)
        v = then(v, warps[k], 1, 1);
    return !after && some ? then(v, near_, 1, 1) : v;
}

/* The tiles between `left` and `right`: whole ones, and the first items of the next one. */
fn i64 tiles_between(const exact_launch *l) { return l->d / FAR_TILE - 1; }
fn int items_between(const exact_launch *l) { return (int)(l->d % FAR_TILE); }

/* Polls for the nodes of the tiles between. Sets to[w] for the warps that have some, and returns
 * how many have. Tiles that do not exist are in no whole window. */
fn int poll_between(const exact_launch *l, i64 job, LOCAL state *to)
{
    const i64 whole = tiles_between(l), wanted = whole + (items_between(l) > 0),
              tiles = l->jobs - 1 - job, nodes = wanted < tiles ? wanted : tiles,
              each = (nodes + WINDOW_THREADS - 1) / WINDOW_THREADS;
    const int threads = each ? (int)((nodes + each - 1) / each) : 0;
    const int lane = lane_index(), warp = thread_index() / LANES, lanes = threads - warp * LANES;
    maybe v = nothing(l->b.p);

    for (i64 k = thread_index() * each; k < nodes && k < (thread_index() + 1) * each; k++) {
        state s;
        while (state_missing(l->table + STATUS_HEADER / 8, 2 * (job + 1 + k) + (k == whole), &s,
                             l->epoch))
            continue;
        v = then(v, s, 1, 1);
    }
    if (lanes > 0) {
        UNROLL for (int m = 1; m < LANES; m <<= 1)
        {
            const state other = from_lane(v.s, lane + m, 0);
            v.s = choose(lane + m < lanes, JOIN(v.s, other), v.s);
        }
        if (lane == 0) to[warp] = v.s;
    }
    return (threads + LANES - 1) / LANES;
}

/* Publishes the nodes of a tile and of its first items. all: the tile's, in thread 0; before: of
 * the runs before this one; first: of the first items of the run that items_between cuts. */
fn void publish_tile(const exact_launch *l, i64 job, state all, maybe before, state first)
{
    GLOBAL u64 *const words = l->table + STATUS_HEADER / 8;
    const int me = thread_index(), part = items_between(l);
    if (me == 0) publish_state(words, 2 * job, all, l->epoch);
    if (me == part / RUN && part) {
        if (part % RUN) before = then(before, first, 1, 1);
        publish_state(words, 2 * job + 1, before.s, l->epoch);
    }
}

fn void load_far(const exact_tile *t, const exact_launch *l)
{
    const i64 lo = t->lo, n = l->b.n;
    load_items_exact(t, l->b,
                     lo >= 0          ? 0
                     : -lo < FAR_TILE ? (int)-lo
                                      : FAR_TILE,
                     lo >= n             ? 0
                     : n - lo < FAR_TILE ? (int)(n - lo)
                                         : FAR_TILE);
}

/* Prefetches the items of a tile if it has all. */
fn void prefetch_far(exact_tile t, const exact_launch *l)
{
    enum { ITEMS = 128 / TL_SIZE }; /* of a cache line */
    for (int i = thread_index() * ITEMS; i < FAR_TILE && t.lo >= 0 && t.lo + FAR_TILE <= l->b.n;
         i += WINDOW_THREADS * ITEMS)
        PREFETCH(l->b.x + (t.lo + i) * TL_SIZE);
}

/* The tile that the block takes in a turn; negative: none. The last tile is taken first. */
fn i64 far_job(const exact_launch *l, LOCAL const far_nodes *s, int turn)
{
    return l->jobs - 1 - s->taken[turn & (FAR_TAKEN - 1)];
}

fn exact_tile left_tile(const exact_launch *l, LOCAL u8 *memory, i64 job, int turn)
{
    return exact_tile_at(memory + (turn & 1 ? 2 : 0) * EXACT_FAR_AT(TL_SIZE, STATE_BYTES), l->b,
                         l->first + job * FAR_TILE);
}

/* A turn: publishes the nodes of the next tile, and computes this one, whose nodes between were
 * published a turn ago. after: the fold of the runs of `left` after this thread's. Returns the next
 * tile's. Local memory: `left` of even turns, `right`, `left` of odd turns. */
fn maybe exact_turn(const exact_launch *l, LOCAL u8 *memory, LOCAL far_nodes *s, int turn,
                    maybe after)
{
    const int me = thread_index(), lane = lane_index(), warp = me / LANES;
    const i64 job = far_job(l, s, turn), soon = far_job(l, s, turn + 1), j0 = job * FAR_TILE,
              results_ = job < 0 ? 0 : l->count - j0;
    const exact_tile left = left_tile(l, memory, job, turn),
                     next = left_tile(l, memory, soon, turn + 1),
                     right = exact_tile_at(memory + EXACT_FAR_AT(TL_SIZE, STATE_BYTES), l->b,
                                           left.lo + l->d);
    i64 ticket = 0; /* used after the loads, because the atomic takes a while */
    if (me == 0) ticket = (i64)atomicAdd(l->table, (u64)1);
    if (me == 0 && ticket == l->last) end_epoch(l->table, l->epoch);
    if (soon >= 0) load_far(&next, l);
    if (results_ > 0) load_far(&right, l);
    if (me == 0) s->taken[(turn + 2) & (FAR_TAKEN - 1)] = ticket;
    BARRIER();
    prefetch_far(left_tile(l, memory, far_job(l, s, turn + 2), turn), l);

    state first, none;
    const state node = fold_run(&next, me, items_between(l) - me * RUN, &first),
                end = fold_run(&right, me, 0, &none);
    const state from_here = fold_to_lane(node, 1), to_here = fold_to_lane(node, 0),
                ends = fold_to_lane(end, 0);
    if (lane == 0) s->after[warp] = from_here;
    if (lane == LANES - 1) s->before[warp] = to_here, s->right[warp] = ends;
    BARRIER();

    const maybe before = fold_others(ends, s->right, 0, l->b.p),
                next_after = fold_others(from_here, s->after, 1, l->b.p);
    if (soon >= 0)
        publish_tile(l, soon, JOIN(node, next_after.s), fold_others(to_here, s->before, 0, l->b.p),
                     first);
    if (results_ <= 0) return next_after;

    exact_round r;
    const int warps = poll_between(l, job, s->middle);
    BARRIER();
    r.middle = after;
    for (int k = 0; k < warps; k++) r.middle = then(r.middle, s->middle[k], 1, 1);
    if (before.exists) r.middle = then(r.middle, before.s, 1, 1);
    r.run = me, r.ends = right.z + me * RUN, r.first = j0;
    r.to = memory + (OUT_BYTES > (int)sizeof(kept) ? 3
                     : turn & 1                    ? 2
                                                   : 0) *
                        EXACT_FAR_AT(TL_SIZE, STATE_BYTES);
    r.count = results_ < FAR_TILE ? (int)results_ : FAR_TILE;
    r.inside = left.lo >= 0 && right.lo + r.count <= l->b.n;
    finish_round(l, &left, &r);
    return next_after;
}

/* A far tile needs the nodes of the tiles after it, so the last is taken first, by tickets: a block
 * waits only for blocks that run already, and for tiles that they publish without waiting. */
KERNEL_OF(window_exact)
{
    EXACT_LAUNCH_OF_PARAMETERS;
    SHARED far_nodes s;
    maybe after = nothing(b.p);
    if (thread_index() == 0) {
        s.epoch = begin_epoch(status_table);
        s.taken[FAR_TAKEN - 1] = jobs, s.taken[0] = (i64)atomicAdd(status_table, (u64)1);
    }
    BARRIER();
    /* each block takes two more tickets than tiles */
    l.table = status_table, l.epoch = s.epoch, l.last = jobs + 2 * group_count() - 1;
    for (int turn = -1; turn < 0 || far_job(&l, &s, turn) >= 0; turn++)
        after = exact_turn(&l, LOCAL_MEMORY, &s, turn, after);
}
#else
/* Sliding, if the operator has an inverse: a window is the previous one plus the item at its end,
 * minus the item before its begin, which is still in the cache. A block computes a part of the
 * results. In a step each thread has SLIDE_ROWS items; their differences are scanned: in the warps,
 * across the warps, and from step to step. Before the first result of a part, the items of its
 * window are added. */
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
    FOR(u, SLIDE_ROWS) {
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

    FOR(u, SLIDE_ROWS) next.plus[u] = next.minus[u] = NO_ELEMENT;
    slide_load(&next, l, s, item);
    for (int step = 0; item - t < after; item += SLIDE_STEP, step ^= 1) {
        LOCAL state *const sums = totals + step * LANES;
        state v[SLIDE_ROWS];
        e = next;
        slide_load(&next, l, s, item + SLIDE_STEP);
        FOR(u, SLIDE_ROWS) {
            const i64 i = item + u * WINDOW_THREADS, old = i - l->width;
            v[u] = choose(slide_adds(s, i), lift(e.plus[u], i, l->b.p), none);
            v[u] = uncombine(v[u], choose(slide_adds(s, old), lift(e.minus[u], old, l->b.p), none));
            v[u] = fold_to_lane(v[u], 0);
            if (lane == LANES - 1) sums[u * SLIDE_WARPS + warp] = v[u];
        }
        BARRIER();

        const state all = JOIN(before, fold_to_lane(sums[lane], 0));
        FOR(u, SLIDE_ROWS) {
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
    EXACT_LAUNCH_OF_PARAMETERS;
    SHARED state totals[2 * LANES];
    for (i64 job = group_index(); job < jobs; job += group_count()) {
        const i64 j0 = job * each;
        slide_along(&l, totals, j0, j0 + each < count ? j0 + each : count);
        BARRIER();
    }
}
#endif
