/* SPDX-License-Identifier: MIT
 * Windows of sequences that lie across (columns). Windows of their whole length go by tiles
 * (window_tall; if longer than half a tile, by groups of levels, long.cl). Other windows go by a
 * lane for each column (window_columns). */

/* ---- tiles (in the program of window_long) ---- */

#ifdef TL_LONG

/* Tiles of TILE_ROWS elements of some columns, in the layout of window_rows: a quad has one element
 * of each of four columns, and a distance of r elements is one of r << FIRST_LEVEL items. So a
 * level is one store and one load of a quad. Elements outside the columns are replaced by others,
 * which no result uses. */
/* A tile, and the columns of it that a thread has. */
typedef struct {
    i64 first;       /* index of the element where the window of row 0 begins */
    int low, high;   /* rows low <= i < high have whole windows */
    int results;     /* rows that have results */
    int columns;     /* columns of the quad that exist */
    i64 side, down;  /* bytes between results: of columns, of rows */
} tall;
fn int within(i64 i, i64 low, i64 high) { return (int)(i < low ? low : i > high ? high : i); }

/* Stores the results of row i; `to`: address of the first one. */
fn void put_tall(const tall *t, GLOBAL u8 *to, int i, int dense, const four *v, i64 w, int enough,
                 par p)
{
    const int have = i >= t->low && i < t->high && enough;
#if OP_LANES == 1
    if (dense) {
        result_quad q;
        q.x = lower(v->s[0], (real)w, t->first + i, p),
        q.y = lower(v->s[1], (real)w, t->first + i, p);
        q.z = lower(v->s[2], (real)w, t->first + i, p),
        q.w = lower(v->s[3], (real)w, t->first + i, p);
        if (!have) q.x = q.y = q.z = q.w = empty(p);
        *(GLOBAL result_quad *)to = q;
        return;
    }
#endif
    UNROLL for (int c = 0; c < QUAD; c++)
    {
        maybe m;
        m.s = v->s[c], m.have = have;
        if (c < t->columns) store_maybe(to + c * t->side, m, w, t->first + i, p);
    }
}

/* Prefetches the rows of a tile, one row by each thread. */
fn void ask_for_rows(batch b, windows of, i64 job, i64 groups, i64 each)
{
    const i64 chunk = quotient(job, groups), s = (job - chunk * groups) << FIRST_LEVEL;
    const i64 i = of.at + chunk * each + of.shift + thread_index();
    if (thread_index() < TILE_ROWS && i >= 0 && i < b.n)
        PREFETCH(b.x + (s * b.row_stride + i * b.stride) * TL_SIZE);
}

fn void tall_windows(LOCAL four *z, batch b, results out, windows of, i64 jobs, i64 each,
                     LEVELS_PARAMETERS, part make)
{
    /* STEP: rows between a thread's quads */
    enum { COLUMNS = 1 << FIRST_LEVEL, STEP = WINDOW_THREADS / COLUMN_QUADS };
    const int top = (int)top_level + FIRST_LEVEL, kept = (int)kept_levels,
              row = thread_index() / COLUMN_QUADS;
    const int width = (int)of.width << FIRST_LEVEL, column = thread_index() % COLUMN_QUADS;
    const i64 groups = (b.seqs + COLUMNS - 1) / COLUMNS, w = length_in(of),
              back = of.valid ? 0 : of.before;
    const i64 side = b.row_stride * TL_SIZE, down = b.stride * TL_SIZE;
    for (i64 job = group_index(); job < jobs; job += group_count()) {
        const i64 chunk = quotient(job, groups), r0 = chunk * each, group = job - chunk * groups;
        const i64 s = group * COLUMNS + column * QUAD,
                  state0 = ((r0 + row) * groups + group) * COLUMN_QUADS + column;
        tall t;
        t.columns = within(b.seqs - s, 0, QUAD), t.first = of.at + r0;
        t.low = within(-t.first, 0, TILE_ROWS),
        t.high = within(b.n - w + 1 - t.first, 0, TILE_ROWS);
        t.results = within(of.count - r0, 0, each);
        t.side = out.row_stride * RESULT_BYTES, t.down = out.stride * RESULT_BYTES;
        const i64 item = t.first + of.shift; /* of row 0 */
        four y[MINE];
        if (!SKIPS || make.what != PART_RESULTS_ALONE) {
            GLOBAL const u8 *const x =
                b.x + (t.columns ? s : b.seqs - 1) * side + (item + row) * down;
            quad e[MINE];
            if (t.columns == QUAD && side == TL_SIZE && ADDRESS(x) % QUAD_ALIGN == 0 &&
                down % (i64)QUAD_ALIGN == 0 && item >= 0 && item + TILE_ROWS <= b.n) {
                UNROLL for (int m = 0; m < MINE; m++)
                    e[m] = *(GLOBAL const quad *)(x + m * STEP * down);
            } else {
                UNROLL for (int m = 0; m < MINE; m++)
                {
                    const i64 at = item + row + m * STEP, i = at < 0 ? 0 : at < b.n ? at : b.n - 1;
                    e[m] =
                        gather(x + (i - at + m * STEP) * down, side, 0, t.columns ? t.columns : 1);
                }
            }
            UNROLL for (int m = 0; m < MINE; m++)
            {
                elem each_[QUAD];
                put_quad(each_, e[m]);
                UNROLL for (int c = 0; c < QUAD; c++)
                    y[m].s[c] = lift(each_[c], item + row + m * STEP, b.p);
            }
        }
        ask_for_rows(b, of, job + group_count() < jobs ? job + group_count() : job, groups, each);
        double_quads(z, y, FIRST_LEVEL, top, width, kept, 0, -FIRST_LEVEL, 0, 1);
        BARRIER();
        int some = 0;
        UNROLL for (int m = 0; m < MINE; m++) some |= (row + m * STEP < t.results) << m;
        fold_onto(y, 1, make, state0, STEP * groups * COLUMN_QUADS, some, of.shift, top,
                  -FIRST_LEVEL);
        fold_bits(z, y, top, width, kept, -FIRST_LEVEL, of.shift, 0);
        if (make.what == PART_LEVEL) {
            UNROLL for (int m = 0; m < MINE; m++)
            {
                if (some >> m & 1) make.states[state0 + m * STEP * groups * COLUMN_QUADS] = y[m];
            }
            if (SKIPS) {
                BARRIER();
                continue;
            }
            t.results = 0; /* no barrier in a branch: PoCL 5.0 aborts over it */
        }
        GLOBAL u8 *const to = out.x + s * t.side + (t.first + back + row) * t.down;
        const int dense = t.columns == QUAD && t.side == sizeof(result) &&
                          ADDRESS(to) % QUAD_OUT_ALIGN == 0 && t.down % (i64)QUAD_OUT_ALIGN == 0;
        UNROLL for (int m = 0; m < MINE; m++)
        {
            const int i = row + m * STEP;
            if (i < t.results && t.columns && (of.edges == EDGES_TOO || (i >= t.low && i < t.high)))
                put_tall(&t, to + m * STEP * t.down, i, dense, &y[m], w, w >= of.least, b.p);
        }
        BARRIER();
    }
}

KERNEL_OF(window_tall)
{
    WHOLE_OF_PARAMETERS;
    tall_windows((LOCAL four *)ROOM_OF_PARAMETER, b, out, of, jobs, each, top_level, kept_levels,
                 make);
}

#else

/* ---- lanes ---- */

/* A lane walks down its column from the first element of its first window, WALK elements at a time,
 * so that a warp reads and writes whole cache lines. Z_k[e], the node of the 2^k elements that end
 * at e, is C(Z_(k-1)[e - 2^(k-1)], Z_(k-1)[e]). The window of L elements that ends at e folds Z at
 * the bits of L, from high to low, each as far back as the lower bits count:
 *
 *   L = 13 ending at e:   Z_3[e - 5]   Z_2[e - 1]   Z_0[e]
 *
 * So a level is a ring buffer of its last nodes in local memory. It is the lane's own, and lanes
 * exchange nothing. The lowest levels are made in registers; they have a ring buffer only if a
 * window folds them. */
/* Blocks of a multiprocessor, which bounds the registers. */
#define WALK_BLOCKS (sizeof(state) > 8 ? 12 : sizeof(state) * OP_LANES > 4 ? 16 : 24)
enum { LOW_LEVELS = WALK_LOG(sizeof(state)), WALK = 1 << LOW_LEVELS };

/* A lane's ring buffers, from level 0 on. at[k]: the place of the next step's nodes in the ring
 * buffer of level k. */
typedef struct {
    LOCAL state *room; /* the lane's first place; places are LANES apart */
    int at[WALK_LEVELS], size[WALK_LEVELS];
    int top, places; /* places: of all ring buffers */
} rings;

/* The place of the last step's nodes in a ring buffer of `size` places. */
fn int ring_place(const rings *r, int k, int size) { return (r->at[k] ? r->at[k] : size) - WALK; }
fn void ring_step(rings *r, int k, int size)
{
    r->at[k] = r->at[k] + WALK == size ? 0 : r->at[k] + WALK;
}

/* Returns the fold of the `length` elements that end at element c of the last step. */
fn state walk_fold(const rings *r, int length, int c)
{
    state v;
    int base = r->places, have = 0;
    for (int k = r->top; k >= 0; k--) {
        const int size = r->size[k];
        base -= size;
        if (!(length >> k & 1)) continue;
        int i = ring_place(r, k, size) + c - (length & ((1 << k) - 1));
        if (i < 0) i += size;
        const state s = r->room[(base + i) * LANES];
        v = have ? COMBINE(v, s, length >> (k + 1) << (k + 1), (i64)1 << k) : s;
        have = 1;
    }
    return v;
}

/* The same for all elements of the step, with length w. */
fn void walk_folds(const rings *r, state *v, int w)
{
    int base = r->places;
    for (int k = r->top; k >= 0; k--) {
        const int size = r->size[k];
        base -= size;
        if (!(w >> k & 1)) continue;
        const int lag = w & ((1 << k) - 1), part = lag & (WALK - 1);
        /* far_: place of the first `part` nodes */
        int near_ = ring_place(r, k, size) - (lag - part), far_ = near_ - WALK;
        if (near_ < 0) near_ += size;
        if (far_ < 0) far_ += size;
        LOCAL const state *const late = r->room + (base + near_ - part) * LANES;
        LOCAL const state *const early = r->room + (base + far_ + WALK - part) * LANES;
        UNROLL for (int c = 0; c < WALK; c++)
        {
            const state s = (c < part ? early : late)[c * LANES];
            v[c] = k == r->top ? s : COMBINE(v[c], s, w >> (k + 1) << (k + 1), (i64)1 << k);
        }
    }
}

/* Makes the low levels in registers, from level 0 in v on. last: the nodes that the next step
 * needs. */
fn void walk_low(rings *r, state *v, state last[LOW_LEVELS][WALK / 2], int *base)
{
    UNROLL for (int k = 0; k < LOW_LEVELS; k++)
    {
        const int size = r->size[k];
        if (size) {
            UNROLL for (int c = 0; c < WALK; c++) r->room[(*base + r->at[k] + c) * LANES] = v[c];
            ring_step(r, k, size);
            *base += size;
        }
        if (k < r->top) {
            state mine[WALK / 2];
            UNROLL for (int i = 0; i < 1 << k; i++) mine[i] = v[WALK - (1 << k) + i];
            UNROLL for (int c = WALK - 1; c >= 0; c--)
            {
                const int far_ = c - (1 << k);
                v[c] = TWIN(far_ >= 0 ? v[far_ >= 0 ? far_ : 0] : last[k][c & (WALK / 2 - 1)], v[c],
                            1 << k);
            }
            UNROLL for (int i = 0; i < 1 << k; i++) last[k][i] = mine[i];
        }
    }
}

/* Makes the other levels. */
fn void walk_high(rings *r, state *v, int base)
{
    for (int k = LOW_LEVELS; k <= r->top; k++) {
        const int size = r->size[k], at = r->at[k], before_ = at - (1 << k);
        LOCAL state *to = r->room + (base + at) * LANES;
        LOCAL const state *old =
            r->room + (base + (before_ < 0 ? before_ + size : before_)) * LANES;
        state left[WALK];
        if (k < r->top) {
            UNROLL for (int c = 0; c < WALK; c++) left[c] = old[c * LANES];
        }
        UNROLL for (int c = 0; c < WALK; c++) to[c * LANES] = v[c];
        if (k < r->top) {
            UNROLL for (int c = 0; c < WALK; c++) v[c] = TWIN(left[c], v[c], (i64)1 << k);
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
    v.s = s, v.have = length >= o->least;
    store_maybe(o->to + r * o->step, v, length, first, p);
}

/* Stores the results of a step, from result r on. */
fn void put_step(const column *o, i64 r, const state *v, int w, i64 first, par p)
{
    GLOBAL u8 *to = o->to + r * o->step;
#if OP_LANES == 1
    if (o->aligned && w >= o->least) {
        const real length = (real)w;
        UNROLL for (int c = 0; c < WALK; c++)
            *(GLOBAL result *)(to + c * o->step) = lower(v[c], length, first + c, p);
        return;
    }
#endif
    UNROLL for (int c = 0; c < WALK; c++) put_column(o, r + c, v[c], w, first + c, p);
}

/* Job: `each` results of 32 columns; the first result's index is a multiple of jump. fold: bit k is
 * set if windows fold level k. */
KERNEL_OF(window_columns)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    const i64 groups = (b.seqs + LANES - 1) / LANES, step = b.stride * TL_SIZE;
    /* elements of a window before and after its result's element */
    const i64 back = valid ? 0 : before, on = valid ? before + after : after;
    const int w = (int)(before + after + 1), lane = thread_index();
    rings r;
    r.room = (LOCAL state *)ROOM_OF_PARAMETER + lane;
    r.top = (int)top_level, r.places = (int)places;
    for (int k = 0; k < WALK_LEVELS; k++)
        r.size[k] = k <= r.top ? RING_SIZE(k, r.top, (int)fold, LOW_LEVELS) : 0;
    for (i64 job = group_index(); job < jobs; job += group_count()) {
        const i64 chunk = job / groups, s = (job - chunk * groups) * LANES + lane;
        if (s >= b.seqs) continue;
        const i64 r0 = chunk * jump, r1 = r0 + each < count ? r0 + each : count;
        const i64 from = r0 > back ? r0 - back : 0, end = r1 + on < b.n ? r1 + on : b.n;
        GLOBAL const u8 *x = b.x + (start_of(b, s) + from * b.stride) * TL_SIZE;
        column o;
        elem e[WALK], next[WALK];
        state v[WALK], last[LOW_LEVELS][WALK / 2];
        o.to = place(out, b, s, 0), o.step = out.stride * (i64)RESULT_BYTES, o.least = least;
        o.aligned = ADDRESS(o.to) % sizeof(result) == 0, o.all = edges == EDGES_TOO && !valid;
        for (int k = 0; k <= r.top; k++) r.at[k] = 0;
        UNROLL for (int k = 0; k < LOW_LEVELS; k++)
        {
            UNROLL for (int i = 0; i < WALK / 2; i++) last[k][i] = nothing(b.p).s;
        }
        load_down(next, WALK, x, step, end - from);
        for (i64 j = from; j < end; j += WALK) {
            int base = 0;
            UNROLL for (int c = 0; c < WALK; c++) e[c] = next[c];
            x += WALK * step;
            if (j + WALK < end) load_down(next, WALK, x, step, end - j - WALK);
            UNROLL for (int c = 0; c < WALK; c++) v[c] = lift(e[c], j + c, b.p);
            walk_low(&r, v, last, &base);
            walk_high(&r, v, base);
            const i64 q = j - on; /* the result whose window ends at element j */
            if (q >= r0 && q + WALK <= r1 && j + 1 >= w && (j + WALK < b.n || on == 0 || valid)) {
                walk_folds(&r, v, w);
                put_step(&o, q, v, w, j + 1 - w, b.p);
                continue;
            }
            for (int c = 0; c < WALK && j + c < end; c++) {
                /* all windows that the end of the column cuts off end here */
                const i64 m1 = j + c == b.n - 1 && !valid ? r1 : q + c + 1;
                for (i64 m = q + c > r0 ? q + c : r0; m < m1 && m < r1; m++) {
                    const i64 first = m > back ? m - back : 0;
                    const int length = (int)(j + c + 1 - first), whole = length == w;
                    if (!whole && !o.all) continue;
                    put_column(&o, m, length >= least ? walk_fold(&r, length, c) : v[0], length,
                               first, b.p);
                }
            }
        }
    }
}
#endif
