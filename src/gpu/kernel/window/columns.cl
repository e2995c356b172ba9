/* SPDX-License-Identifier: MIT
 * Windows without tiles: of columns, with a lane for each; of sequences whose levels are arrays in
 * global memory; and the results of windows in which too few elements count.
 *
 * A lane for each column takes windows that an edge cuts off, and what rows.cl does not take. It
 * goes down its column from the first element of its first window, STEP elements at a time, so
 * that a warp reads and writes whole cache lines. Z_k[e], the node of the 2^k elements that end at
 * e, is C(Z_(k-1)[e - 2^(k-1)], Z_(k-1)[e]). The window of L elements that ends at e folds Z at the
 * bits of L, from high to low, each as far back as the lower bits count:
 *
 *   L = 13 ending at e:   Z_3[e - 5]   Z_2[e - 1]   Z_0[e]
 *
 * So a level is a ring buffer of its last nodes in local memory. It is the lane's own, and lanes
 * exchange nothing. The lowest levels are made in registers; they have a ring buffer only if a
 * window folds them. */
/* Blocks of a multiprocessor, which bounds the registers. */
#define RING_BLOCKS (sizeof(state) > 8 ? 12 : sizeof(state) * OP_LANES > 4 ? 16 : 24)
enum { LOW_LEVELS = STEP_LOG(sizeof(state)), STEP = 1 << LOW_LEVELS };

/* A lane's ring buffers, from level 0 on. at[k]: the place of the next step's nodes in the ring
 * buffer of level k. */
typedef struct {
    LOCAL state *ring; /* the lane's first place; places are LANES apart */
    int at[RING_LEVELS], size[RING_LEVELS];
    int top, places; /* places: of all ring buffers */
} rings;

/* The place of the last step's nodes in a ring buffer of `size` places. */
fn int ring_place(const rings *r, int k, int size) { return (r->at[k] ? r->at[k] : size) - STEP; }
fn void ring_step(rings *r, int k, int size)
{
    r->at[k] = r->at[k] + STEP == size ? 0 : r->at[k] + STEP;
}

/* Returns the fold of the `length` elements that end at element c of the last step. */
fn state fold_window(const rings *r, int length, int c)
{
    state v;
    int base = r->places, any = 0;

    for (int k = r->top; k >= 0; k--) {
        const int size = r->size[k];
        base -= size;
        if (!(length >> k & 1)) continue;
        int i = ring_place(r, k, size) + c - (length & ((1 << k) - 1));
        if (i < 0) i += size;
        const state s = r->ring[(base + i) * LANES];
        v = any ? COMBINE(v, s, length >> (k + 1) << (k + 1), (i64)1 << k) : s;
        any = 1;
    }

    return v;
}

/* The same for all elements of the step, with length w. */
fn void fold_step(const rings *r, state *v, int w)
{
    int base = r->places;
    for (int k = r->top; k >= 0; k--) {
        const int size = r->size[k];
        base -= size;
        if (!(w >> k & 1)) continue;
        const int lag = w & ((1 << k) - 1), part = lag & (STEP - 1);

        /* far_: place of the first `part` nodes */
        int near_ = ring_place(r, k, size) - (lag - part), far_ = near_ - STEP;
        if (near_ < 0) near_ += size;
        if (far_ < 0) far_ += size;
        LOCAL const state *const late = r->ring + (base + near_ - part) * LANES;
        LOCAL const state *const early = r->ring + (base + far_ + STEP - part) * LANES;

        FOR(c, STEP) {
            const state s = (c < part ? early : late)[c * LANES];
            v[c] = k == r->top ? s : COMBINE(v[c], s, w >> (k + 1) << (k + 1), (i64)1 << k);
        }
    }
}

/* Makes the low levels in registers, from level 0 in v on. last: the nodes that the next step
 * needs. */
fn void make_low_levels(rings *r, state *v, state last[LOW_LEVELS][STEP / 2], int *base)
{
    FOR(k, LOW_LEVELS) {
        const int size = r->size[k];
        if (size) {
            FOR(c, STEP) r->ring[(*base + r->at[k] + c) * LANES] = v[c];
            ring_step(r, k, size);
            *base += size;
        }

        if (k < r->top) {
            state newest[STEP / 2];
            FOR(i, 1 << k) newest[i] = v[STEP - (1 << k) + i];
            UNROLL for (int c = STEP - 1; c >= 0; c--)
            {
                const int far_ = c - (1 << k);
                v[c] = TWIN(far_ >= 0 ? v[far_ >= 0 ? far_ : 0] : last[k][c & (STEP / 2 - 1)], v[c],
                            1 << k);
            }

            FOR(i, 1 << k) last[k][i] = newest[i];
        }
    }
}

fn void make_high_levels(rings *r, state *v, int base)
{
    for (int k = LOW_LEVELS; k <= r->top; k++) {
        const int size = r->size[k], at = r->at[k], before_ = at - (1 << k);
        LOCAL state *to = r->ring + (base + at) * LANES;
        LOCAL const state *old =
            r->ring + (base + (before_ < 0 ? before_ + size : before_)) * LANES;
        state left[STEP];
        if (k < r->top) {
            FOR(c, STEP) left[c] = old[c * LANES];
        }
        FOR(c, STEP) to[c * LANES] = v[c];
        if (k < r->top) {
            FOR(c, STEP) v[c] = TWIN(left[c], v[c], (i64)1 << k);
        }
        ring_step(r, k, size);
        base += size;
    }
}

/* What all results of a column share. to: address of result 0. */
typedef struct {
    GLOBAL u8 *to;
    i64 step, least;
    int aligned, all; /* all: windows that an edge cuts off have results too */
} column;

fn void put_column(const column *o, i64 r, state s, i64 length, i64 first, par p)
{
    maybe v;
    v.s = s, v.exists = length >= o->least;
    store_maybe(o->to + r * o->step, v, length, first, p);
}

/* Stores the results of a step, from result r on. */
fn void put_step(const column *o, i64 r, const state *v, int w, i64 first, par p)
{
    GLOBAL u8 *to = o->to + r * o->step;
#if OP_LANES == 1
    if (o->aligned && w >= o->least) {
        const real length = (real)w;
        FOR(c, STEP) *(GLOBAL result *)(to + c * o->step) = lower(v[c], length, first + c, p);
        return;
    }
#endif
    FOR(c, STEP) put_column(o, r + c, v[c], w, first + c, p);
}

/* Job: `each` results of 32 columns; the first result's index is a multiple of jump. fold: bit k is
 * set if windows fold level k. */
KERNEL_OF(window_columns)
{
    VIEWS_OF_PARAMETERS;
    const i64 groups = (b.seqs + LANES - 1) / LANES, step = b.stride * TL_SIZE;

    /* elements of a window before and after its result's element */
    const i64 back = valid ? 0 : before, on = valid ? before + after : after;
    const int w = (int)(before + after + 1), lane = thread_index();
    rings r;
    r.ring = (LOCAL state *)LOCAL_MEMORY + lane;
    r.top = (int)top_level, r.places = (int)places;
    for (int k = 0; k < RING_LEVELS; k++)
        r.size[k] = k <= r.top ? RING_SIZE(k, r.top, (int)fold, LOW_LEVELS) : 0;

    for (i64 job = group_index(); job < jobs; job += group_count()) {
        const i64 chunk = job / groups, s = (job - chunk * groups) * LANES + lane;
        if (s >= b.seqs) continue;
        const i64 r0 = chunk * jump, r1 = r0 + each < count ? r0 + each : count;
        const i64 from = r0 > back ? r0 - back : 0, end = r1 + on < b.n ? r1 + on : b.n;
        GLOBAL const u8 *x = b.x + (start_of(b, s) + from * b.stride) * TL_SIZE;
        column o;
        elem e[STEP], next[STEP];
        state v[STEP], last[LOW_LEVELS][STEP / 2];
        o.to = place(out, b, s, 0), o.step = out.stride * (i64)RESULT_BYTES, o.least = least;
        o.aligned = ADDRESS(o.to) % sizeof(result) == 0, o.all = edges == WITH_EDGES && !valid;
        for (int k = 0; k <= r.top; k++) r.at[k] = 0;
        FOR(k, LOW_LEVELS) {
            FOR(i, STEP / 2) last[k][i] = nothing(b.p).s;
        }

        load_down(next, STEP, x, step, end - from);
        for (i64 j = from; j < end; j += STEP) {
            int base = 0;
            FOR(c, STEP) e[c] = next[c];
            x += STEP * step;
            if (j + STEP < end) load_down(next, STEP, x, step, end - j - STEP);
            FOR(c, STEP) v[c] = lift(e[c], j + c, b.p);
            make_low_levels(&r, v, last, &base);
            make_high_levels(&r, v, base);
            const i64 q = j - on; /* the result whose window ends at element j */
            if (q >= r0 && q + STEP <= r1 && j + 1 >= w && (j + STEP < b.n || on == 0 || valid)) {
                fold_step(&r, v, w);
                put_step(&o, q, v, w, j + 1 - w, b.p);
                continue;
            }

            for (int c = 0; c < STEP && j + c < end; c++) {
                /* all windows that the end of the column cuts off end here */
                const i64 m1 = j + c == b.n - 1 && !valid ? r1 : q + c + 1;
                for (i64 m = q + c > r0 ? q + c : r0; m < m1 && m < r1; m++) {
                    const i64 first = m > back ? m - back : 0;
                    const int length = (int)(j + c + 1 - first), whole = length == w;
                    if (!whole && !o.all) continue;
                    put_column(&o, m, length >= least ? fold_window(&r, length, c) : v[0], length,
                               first, b.p);
                }
            }
        }
    }
}

/* ---- levels in global memory ---- */

/* Windows that are longer than a tile and cut off by an edge. It makes level `level` of the
 * elements with flat indices lo to lo + count - 1: level 0 from the elements, another from the
 * level below. y: level k begins at y + k * level_items. Or (level < 0), from these levels, `count`
 * results from that of element `first` on; valid: those of the windows that begin there. */
KERNEL_OF(window_level)
{
    VIEWS_OF_PARAMETERS;
    GLOBAL const state *const from = y + level_items * (level - 1);
    GLOBAL state *const to = y + level_items * level;
    const i64 step = level > 0 ? (i64)1 << (level - 1) : 0, nodes = level < 0 ? 0
                                                                    : level   ? count - 2 * step + 1
                                                                              : count;
    const i64 me = group_index() * WINDOW_THREADS + thread_index(),
              all = group_count() * WINDOW_THREADS;
    for (i64 i = me; i < nodes; i += all)
        to[i] = level ? TWIN(from[i], from[i + step], step)
                      : lift(load_element(element_of(b, lo + i)), lo + i, b.p);

    for (i64 j = first + me; level < 0 && j < first + count; j += all) {
        const position m = position_of(b, j);
        const i64 left = valid          ? 0
                         : m.i < before ? m.i
                                        : before,
                  right = valid ? before + after : after;
        const i64 length = left + 1 + (m.n - m.i - 1 < right ? m.n - m.i - 1 : right),
                  start = j - left;
        maybe v = nothing(b.p);
        if (valid && length <= right) continue;

        for (int k = 62; k >= 0; k--) {
            const i64 higher = higher_bits(length, k);
            if (length >> k & 1)
                v = then(v, y[level_items * k + start - lo + higher], higher, (i64)1 << k);
        }

        v.exists = v.exists && length >= least;
        store_maybe(result_of(out, b, j), v, length, start, b.p);
    }
}

/* Overwrites the results of windows in which too few elements count by the empty value. counts:
 * dense, in the order of the results. */
KERNEL_OF(blank)
{
    VIEWS_OF_PARAMETERS;
    for (i64 i = group_index() * WINDOW_THREADS + thread_index(); i < total;
         i += group_count() * WINDOW_THREADS) {
        if (counts[i] >= least) continue;
        if (b.flags & OFFSETS)
            store_empty(out.x + (b.offsets[0] + i) * out.stride * (i64)(OP_LANES * sizeof(result)),
                        b.p);
        else
            store_empty(place(out, b, i / results_each, i % results_each), b.p);
    }
}
