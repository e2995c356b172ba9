/* SPDX-License-Identifier: MIT
 * Walks: windows of their whole length, with nodes in registers. A walk is one pass over the
 * elements, in which lanes go along them row by row. Items are named by where they end: Z_k[t] is
 * the node of the 2^k elements up to t, and T_k[t] is the fold of the bits of w from k on, over the
 * w >> k << k elements up to t. Then all distances are powers of two, whatever w is:
 *
 *   Z_(k+1)[t] = C(Z_k[t - 2^k], Z_k[t])
 *   T_k[t]     = C(T_(k+1)[t - 2^k], Z_k[t])  if bit k of w is set, else T_(k+1)[t]
 *
 * WALK_LANES, the lanes of a sequence (constants.h):
 *
 *   32        a warp has a part of a sequence, and a row has 32 elements. Distances below 32 are
 *             shuffles, in which the last lanes give what they had in the row before
 *   256       the same for longer windows by a block (WALK_BY_BLOCK), whose threads exchange
 *             states through local memory, where the longest distances are too
 *   1         a lane has a part of a column, and a row has one element of each column
 *   8 to 32   nodes (below): so many lanes have a part of a column
 *
 * Other distances are whole rows: a lane keeps states of the rows before, in registers if they fit.
 * They are in arrays whose indices are constants, because the loop over rows is unrolled for their
 * period.
 *
 * Windows that are longer still take three walks, each of which reads and writes memory once
 * (gpu/window/tiles.c). Y_K[i] is the node of the 2^K elements from the i-th one on:
 *
 *   WALK_LEVEL   x         -> Y_K
 *   WALK_NODES   Y_K       -> the fold of the bits of w from K on. Nodes 2^K apart are a column,
 *                             and a window has w >> K of them
 *   WALK_LAST    x, folds  -> the bits below K are folded onto those; results
 *
 * WALK_KIND is one of these or WALK_WHOLE. walk_levels.cl makes and folds the levels. */

/* From an item or result of a lane to that of the next row, in bytes. Sequences that are no columns
 * are contiguous. */
fn i64 walk_step(const launch *l)
{
    return WALK_LANES * (WALK_DOWN ? l->b.stride : 1) * ITEM_BYTES;
}
fn i64 walk_step_to(const launch *l)
{
    return MAKES_STATES ? WALK_LANES * (TL_NODES ? l->b.stride : 1) * NODE_BYTES
                        : WALK_LANES * (WALK_DOWN ? l->out.stride : 1) * RESULT_BYTES;
}

/* Rows from <= r < end of a lane, which are in memory. at: address of the row that is loaded
 * next. */
typedef struct {
    GLOBAL const u8 *at;
    int from, end;
} walk_source;

/* The walk of a lane. Row r has the item with index item + r * WALK_LANES; the window whose items
 * end there begins at element first + r * WALK_LANES. Rows begin <= r < end have results, whole <=
 * r < whole_end whole windows. rows: of all lanes. x: items; high: states to fold onto; to: where
 * the next row is stored. */
typedef struct {
    walk_source x, high;
    GLOBAL u8 *to;
    i64 item, first;
    int rows, begin, end, whole, whole_end;
} walk_lane;

/* The first row that is at least `distance` items after row 0, at most `most`. */
fn int walk_row_after(i64 distance, int most)
{
    const i64 row = distance > 0 ? (distance + WALK_LANES - 1) / WALK_LANES : 0;
    return row < most ? (int)row : most;
}

#if TL_NODES
/* Exchanges of nodes among the threads of a block: neighbouring threads copy items of neighbouring
 * columns to a box, from which the lanes of each column read them; results go back through another.
 * Empty places avoid bank conflicts. */
enum {
    BOX_COLUMNS = WINDOW_THREADS / WALK_LANES,
    BOX_EMPTY = LANES / WALK_LANES, /* after every 32 */
    BOX_ROW = WINDOW_THREADS / LANES * (LANES + BOX_EMPTY),
    BOX_NODES = WALK_ROWS * BOX_ROW,
    WALK_STAGES = 4 /* boxes of items, of which all but one are being filled */
};

/* The places of what a thread copies and stores, and of what it computes. */
fn int box_place(int i) { return i + i / LANES * BOX_EMPTY; }
fn int place_outside(void) { return box_place(thread_index()); }
fn int place_inside(void)
{
    const int i = thread_index();
    return box_place(i % WALK_LANES * BOX_COLUMNS + i / WALK_LANES);
}

typedef struct {
    LOCAL node *boxes;
    int stage;
} walk_prefetch;

fn void walk_copy(walk_prefetch *w, walk_source *x, int row, const launch *l)
{
    const i64 step = walk_step(l);
    LOCAL node *const to = w->boxes + w->stage * BOX_NODES + place_outside();
    FOR(u, WALK_ROWS) {
        if (row + u >= x->from && row + u < x->end)
            COPY_ALIGNED(NODE_ALIGN, to + u * BOX_ROW, x->at + u * step, NODE_BYTES);
    }
    COPY_GROUP();
    x->at += WALK_ROWS * step;
    w->stage = (w->stage + 1) % WALK_STAGES;
}

fn void walk_begin(walk_prefetch *w, walk_source *x, const launch *l)
{
    w->stage = 0;
    for (int i = 0; i < WALK_STAGES - 1; i++) walk_copy(w, x, i * WALK_ROWS, l);
}

/* The items of WALK_ROWS rows. step: number of these rows. */
fn void walk_next(state z[WALK_ROWS], walk_prefetch *w, walk_lane *a, int row, const int step,
                  const launch *l)
{
    LOCAL const node *const from =
        w->boxes + (w->stage + 1) % WALK_STAGES * BOX_NODES + place_inside();
    COPY_WAIT_BUT(WALK_STAGES - 2);
    BARRIER();
    walk_copy(w, &a->x, row + (WALK_STAGES - 1) * WALK_ROWS, l);
    FOR(u, WALK_ROWS) z[u] = from[u * BOX_ROW].s;
}

/* Takes results to the threads that store them. */
fn void walk_back_out(state t[WALK_ROWS], walk_prefetch *w)
{
    LOCAL node *const box = w->boxes + WALK_STAGES * BOX_NODES;
    FOR(u, WALK_ROWS) box[place_inside() + u * BOX_ROW].s = t[u];
    BARRIER();
    FOR(u, WALK_ROWS) t[u] = box[place_outside() + u * BOX_ROW].s;
}

#else
typedef struct {
    LOCAL node *boxes;
    elem e[2][WALK_ROWS]; /* loads are two steps ahead */
} walk_prefetch;

/* Loads WALK_ROWS rows. Walks of many levels, of which few warps are resident, prefetch too. */
fn void walk_load(elem e[WALK_ROWS], walk_source *x, int row, const launch *l)
{
    const i64 step = walk_step(l);
    if (row >= x->from && row + WALK_ROWS <= x->end) {
        FOR(u, WALK_ROWS) e[u] = *(GLOBAL const elem *)(x->at + u * step);
    } else {
        FOR(u, WALK_ROWS) {
            if (row + u >= x->from && row + u < x->end)
                e[u] = *(GLOBAL const elem *)(x->at + u * step);
        }
    }
    if (WALK_TOP >= 9 && WALK_ROWS <= 4 && sizeof(state) <= 4 && lane_index() < WALK_ROWS &&
        row + 4 * WALK_ROWS < x->end)
        PREFETCH(x->at + (2 * WALK_ROWS + lane_index()) * step - lane_index() * ITEM_BYTES);
    x->at += WALK_ROWS * step;
}

fn void walk_begin(walk_prefetch *w, walk_source *x, const launch *l)
{
    FOR(u, WALK_ROWS) w->e[0][u] = w->e[1][u] = NO_ELEMENT;
    walk_load(w->e[0], x, 0, l);
    walk_load(w->e[1], x, WALK_ROWS, l);
}

fn void walk_next(state z[WALK_ROWS], walk_prefetch *w, walk_lane *a, int row, const int step,
                  const launch *l)
{
    FOR(u, WALK_ROWS) z[u] = lift(w->e[step & 1][u], a->item + (row + u) * (i64)WALK_LANES, l->b.p);
    walk_load(w->e[step & 1], &a->x, row + 2 * WALK_ROWS, l);
}

fn void walk_back_out(state t[WALK_ROWS], walk_prefetch *w) {}
#endif

/* Loads the states of WALK_ROWS rows that the walk folds onto. */
fn void walk_load_high(node e[WALK_ROWS], walk_source *x, int row)
{
    FOR(u, WALK_ROWS) {
        if (row + u >= x->from && row + u < x->end) e[u] = ((GLOBAL const node *)x->at)[u * LANES];
    }
    x->at += WALK_ROWS * LANES * NODE_BYTES;
}

/* Stores a result, whose address is a multiple of its size, or a state. */
fn void walk_put(GLOBAL u8 *to, state t, int whole, i64 first, const launch *l)
{
    GLOBAL result *const r = (GLOBAL result *)to;
    const real length = (real)length_in(l->of);
    const par p = l->b.p;

    if (MAKES_STATES) {
        node n;
        n.s = t;
        *(GLOBAL node *)to = n;
        return;
    }

    r[0] = whole ? lower(t, length, first, p) : empty(p);
#if OP_LANES == 2
    r[1] = whole ? lower_1(t, length, first, p) : empty_1(p);
#endif
}

fn void walk_store(walk_lane *a, const state t[WALK_ROWS], int row, const launch *l)
{
    const i64 step = walk_step_to(l);
    const int all = row >= a->whole && row + WALK_ROWS <= a->whole_end,
              cut_too = !MAKES_STATES && l->of.edges == WITH_EDGES && !l->of.valid;

    if (all) {
        FOR(u, WALK_ROWS)
            walk_put(a->to + u * step, t[u], 1, a->first + (row + u) * (i64)WALK_LANES, l);
    } else {
        FOR(u, WALK_ROWS) {
            const int r = row + u, whole = r >= a->whole && r < a->whole_end;
            if (r >= a->begin && r < a->end && (whole || cut_too))
                walk_put(a->to + u * step, t[u], whole, a->first + r * (i64)WALK_LANES, l);
        }
    }
    a->to += WALK_ROWS * step;
}

/* Goes along all rows. boxes: of nodes. */
fn void walk_along(walk_lane a, LOCAL node *boxes, const launch *l)
{
    const state none = nothing(l->b.p).s;
    walk_history p;
    walk_prefetch ahead;
    node high[2][WALK_ROWS]; /* two steps ahead */

    UNROLL for (int k = 0; k <= WALK_KEPT; k++) p.before_z[k] = p.before_t[k] = none;
    walk_clear(&p, boxes, none);
    FOR(u, WALK_ROWS) high[0][u].s = high[1][u].s = none;
    ahead.boxes = boxes;
    walk_begin(&ahead, &a.x, l);
    if (WALK_KIND == WALK_LAST) walk_load_high(high[0], &a.high, 0);
    if (WALK_KIND == WALK_LAST) walk_load_high(high[1], &a.high, WALK_ROWS);

    for (int row = 0; row < a.rows; row += WALK_PERIOD) {
        UNROLL for (int u0 = 0; u0 < WALK_PERIOD; u0 += WALK_ROWS)
        {
            const int step = u0 / WALK_ROWS;
            state z[WALK_TOP + 1][WALK_ROWS], t[WALK_ROWS];
            walk_next(z[0], &ahead, &a, row + u0, step, l);
            walk_up(z, &p, u0, l);
            FOR(u, WALK_ROWS)
                t[u] = (WALK_KIND == WALK_LAST) ? high[step & 1][u].s : z[WALK_TOP][u];
            if (WALK_KIND == WALK_LAST)
                walk_load_high(high[step & 1], &a.high, row + u0 + 2 * WALK_ROWS);
            if (WALK_KIND != WALK_LEVEL) walk_fold(t, z, &p, u0, l);
            walk_back_out(t, &ahead);
            walk_store(&a, t, row + u0, l);
        }
    }
    if (TL_NODES || WALK_LANES > LANES) BARRIER(); /* the next job's states */
}

/* A part of a sequence: `lane` is this lane's number in it. (Some columns have one node less
 * than the first one.) */
fn walk_lane walk_of(const launch *l, i64 sequence, i64 part, int lane)
{
    enum { MOST = 1 << 30 }; /* rows; a part has fewer */
    const i64 done = part * l->each, left = l->of.count - done,
              length = TL_NODES ? l->of.width : length_in(l->of),
              n = TL_NODES ? quotient(l->b.n + l->b.stride - 1 - sequence, l->b.stride) : l->b.n,
              results_ = left < l->each ? left : l->each;
    walk_lane a;

    a.begin = walk_row_after(l->of.width - (WALK_KIND != WALK_LAST), MOST);
    const i64 place = done + lane - a.begin * (i64)WALK_LANES; /* of row 0 among the windows */
    a.first = l->of.at + place;
    a.item = a.first + l->of.shift + l->of.width - 1;
    a.x.at = l->b.x + (sequence * l->b.row_stride + a.item * l->b.stride) * ITEM_BYTES;
    a.high.at = (GLOBAL const u8 *)l->states +
                ((WALK_KIND == WALK_LAST) ? (place + l->of.width) * NODE_BYTES : 0);
    a.to = MAKES_STATES
               ? (GLOBAL u8 *)l->states +
                     (TL_NODES ? sequence + place * l->b.stride : place) * NODE_BYTES
               : l->out.x + (sequence * l->out.row_stride +
                             (a.first + (l->of.valid ? 0 : l->of.before)) * l->out.stride) *
                                RESULT_BYTES;

    a.rows = a.begin + walk_row_after(results_, MOST);
    a.end = a.begin + walk_row_after(results_ - lane, MOST);
    a.x.from = walk_row_after(-a.item, a.end);
    /* width 0 loads nothing; a test for it costs time with larger states */
    const int tests = WALK_KIND == WALK_LAST || sizeof(state) <= 8;
    a.x.end = tests && !l->of.width ? 0 : walk_row_after(n - a.item, a.end);
    a.high.from = walk_row_after(-(place + l->of.width), a.end);
    a.high.end = walk_row_after(l->of.count - (place + l->of.width), a.end);
    a.whole = walk_row_after(-a.first, a.end);
    a.whole_end = walk_row_after(n - length - a.first + 1, a.end);
    if (WALK_KIND == WALK_LEVEL) a.whole = 0, a.whole_end = a.end;
    if (a.whole < a.begin) a.whole = a.begin;
    return a;
}

/* A job is a part of a sequence; parts of one sequence, or of many columns, are neighbours. */
KERNEL_OF(window_tile)
{
    LAUNCH_OF_PARAMETERS;
#if TL_NODES
    SHARED node boxes[(WALK_STAGES + 1) * BOX_NODES];
    const int lane = thread_index() / BOX_COLUMNS, offset = thread_index() % BOX_COLUMNS;
#else
    LOCAL node *const boxes = (LOCAL node *)LOCAL_MEMORY;
    const int lane = WALK_LANES > LANES ? thread_index()
                     : WALK_LANES == 1  ? 0
                                        : lane_index(),
              offset = thread_index() / WALK_LANES;
#endif
    const i64 of_block = WINDOW_THREADS / WALK_LANES; /* jobs */
    for (i64 job = group_index() * of_block + offset; job < l.jobs;
         job += group_count() * of_block) {
        const i64 many = WALK_DOWN ? l.b.seqs : quotient(l.jobs, l.b.seqs),
                  row = quotient(job, many), column = job - row * many;
        walk_along(WALK_DOWN ? walk_of(&l, column, row, lane) : walk_of(&l, row, column, lane),
                   boxes, &l);
    }
}
