/* SPDX-License-Identifier: MIT
 * Walks: windows of their whole length, with all nodes in registers. Lanes go along the elements
 * row by row, and no local memory is needed. Items are named by where they end: Z_k[t] is the node
 * of the 2^k elements up to t, and T_k[t] is the fold of the bits of w from k on, over the w >> k
 * << k elements up to t. Then all distances are powers of two, whatever w is:
 *
 *   Z_(k+1)[t] = C(Z_k[t - 2^k], Z_k[t])
 *   T_k[t]     = C(T_(k+1)[t - 2^k], Z_k[t])  if bit k of w is set, else T_(k+1)[t]
 *
 * WALK_LANES, the lanes of a sequence (constants.h):
 *
 *   32   a warp has a part of a sequence, and a row has 32 elements. Distances below 32 are
 *        shuffles, in which the last lanes give what they had in the row before
 *   1    a lane has a part of a column, and a row has one element of each column
 *
 * Other distances are whole rows: a lane keeps states of the rows before in registers. They are in
 * arrays whose indices are constants, because the loop over rows is unrolled for their period.
 *
 * Longer windows take three walks, each of which reads and writes memory once
 * (gpu/window/tiles.c). Y_K[i] is the node of the 2^K elements from the i-th one on:
 *
 *   PART_LEVEL                x         -> Y_K
 *   PART_LEVEL, of TL_NODES   Y_K       -> the fold of the bits of w from K on. Nodes 2^K apart are
 *                                          a column, and a window has w >> K of them
 *   PART_LAST_BITS            x, folds  -> the bits below K are folded onto those; results
 *
 * Of nodes, a block has a column for each warp. Its threads load and store along the rows of the
 * columns, and exchange the states in local memory. */
enum {
    WALK_LANES = WALK_LANES_OF(WALK_TOP),
    WALK_DOWN = TL_NODES || WALK_LANES == 1, /* sequences are columns */
    SHUFFLED = WALK_SHUFFLED(WALK_TOP), /* levels that are made by shuffles */
    WALK_KEPT = (1 << (WALK_TOP - SHUFFLED)) - 1,   /* states of rows before, of all levels */
    WALK_ROWS = WALK_ROWS_OF(sizeof(state)),        /* at a time */
    WALK_LONGEST = (WALK_KEPT + 1) / 2,             /* the largest distance, in rows */
    WALK_PERIOD = WALK_LONGEST > 2 * WALK_ROWS ? WALK_LONGEST : 2 * WALK_ROWS
};

/* A state in memory, aligned so that it is one load. */
#define NODE_ALIGN (LOW_BIT(sizeof(state)) > 16 ? 16 : LOW_BIT(sizeof(state)))
typedef struct ALIGNED(NODE_ALIGN) {
    state s;
} node;

/* What a walk goes along. */
#if TL_NODES
typedef node walk_item;
fn state walk_lift(walk_item e, i64 i, par p) { return e.s; }
#else
typedef elem walk_item;
fn state walk_lift(walk_item e, i64 i, par p) { return lift(e, i, p); }
#endif
enum { ITEM_BYTES = sizeof(walk_item), NODE_BYTES = sizeof(node) };

fn int walks_onto(const launch *l) { return TL_PARTS && l->what == PART_LAST_BITS; }
fn int makes_level(const launch *l) { return TL_PARTS && l->what == PART_LEVEL; }

/* The elements of a node of level k. */
fn i64 walk_elements(const launch *l, int k) { return (TL_NODES ? l->b.stride : 1) << k; }

/* What a lane keeps of the rows before: before_z and before_t of distances of whole rows, last_z
 * and last_t of shuffles. */
typedef struct {
    state before_z[WALK_KEPT + 1], before_t[WALK_KEPT + 1];
    state last_z[SHUFFLED + 1], last_t[SHUFFLED + 1];
} walk_past;

/* Exchanges `now`, the state of row `row`, for the state 2^log rows before. */
fn state walk_back(state *kept, const int row, const int log, state now)
{
    const int place = (1 << log) - 1 + (row & ((1 << log) - 1));
    const state before = kept[place];
    kept[place] = now;
    return before;
}

/* The state 2^k elements before `now`, which lies in this row or in the row before it. */
fn state walk_shuffle(state before, state now, const int k)
{
    const int lane = lane_index();
    return from_lane(choose(lane >= LANES - (1 << k), before, now), (lane - (1 << k)) & (LANES - 1),
                     0);
}

/* Makes the levels of WALK_ROWS rows from z[0]. row: number of the first one in its period. */
fn void walk_up(state z[WALK_TOP + 1][WALK_ROWS], walk_past *p, const int row, const launch *l)
{
    if (TL_NODES) SURELY((real)walk_elements(l, 0) > num(1.0)); /* see plus_halves */
    UNROLL for (int k = 0; k < SHUFFLED; k++)
    {
        UNROLL for (int u = 0; u < WALK_ROWS; u++) z[k + 1][u] =
            TWIN(walk_shuffle(u ? z[k][u ? u - 1 : 0] : p->last_z[k], z[k][u], k), z[k][u],
                 walk_elements(l, k));
        p->last_z[k] = z[k][WALK_ROWS - 1];
    }

    UNROLL for (int k = SHUFFLED; k < WALK_TOP; k++)
    {
        UNROLL for (int u = 0; u < WALK_ROWS; u++) z[k + 1][u] =
            TWIN(walk_back(p->before_z, row + u, k - SHUFFLED, z[k][u]), z[k][u],
                 walk_elements(l, k));
    }
}

/* Folds the bits of the walk below WALK_TOP, from high to low, onto t. */
fn void walk_fold(state t[WALK_ROWS], state z[WALK_TOP + 1][WALK_ROWS], walk_past *p, const int row,
                  const launch *l)
{
    const int w = (int)l->of.width;
    UNROLL for (int k = WALK_TOP - 1; k >= 0; k--)
    {
        const i64 higher = l->of.shift + (w >> (k + 1)) * walk_elements(l, k + 1);
        state y[WALK_ROWS];
        if (!(w >> k & 1)) continue;

        UNROLL for (int u = 0; u < WALK_ROWS; u++)
        {
            const state before = k >= SHUFFLED
                                     ? walk_back(p->before_t, row + u, k - SHUFFLED, t[u])
                                     : walk_shuffle(u ? t[u ? u - 1 : 0] : p->last_t[k], t[u], k);
            y[u] = COMBINE(before, z[k][u], higher, walk_elements(l, k));
        }
        if (k < SHUFFLED) p->last_t[k] = t[WALK_ROWS - 1];
        UNROLL for (int u = 0; u < WALK_ROWS; u++) t[u] = y[u];
    }
}

/* From an item or result of a lane to that of the next row, in bytes. Sequences that are no columns
 * are contiguous. */
fn i64 walk_step(const launch *l)
{
    return WALK_LANES * (WALK_DOWN ? l->b.stride : 1) * ITEM_BYTES;
}
fn i64 walk_step_to(const launch *l)
{
    return makes_level(l) ? WALK_LANES * (TL_NODES ? l->b.stride : 1) * NODE_BYTES
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
 * r < whole_end whole windows. rows: of all lanes. x: items; high: states that the walk folds onto;
 * to: address of the row that is stored next. */
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

/* Loads WALK_ROWS rows. */
fn void walk_load(walk_item e[WALK_ROWS], walk_source *x, int row, const launch *l)
{
    const i64 step = walk_step(l);
    const int all = row >= x->from && row + WALK_ROWS <= x->end;
    if (all) {
        UNROLL for (int u = 0; u < WALK_ROWS; u++) e[u] =
            *(GLOBAL const walk_item *)(x->at + u * step);
    } else {
        UNROLL for (int u = 0; u < WALK_ROWS; u++)
        {
            if (row + u >= x->from && row + u < x->end)
                e[u] = *(GLOBAL const walk_item *)(x->at + u * step);
        }
    }
    x->at += WALK_ROWS * step;
}

/* The same of states. */
fn void walk_load_high(node e[WALK_ROWS], walk_source *x, int row)
{
    UNROLL for (int u = 0; u < WALK_ROWS; u++)
    {
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

    if (makes_level(l)) {
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

/* Stores the results of WALK_ROWS rows. */
fn void walk_store(walk_lane *a, const state t[WALK_ROWS], int row, const launch *l)
{
    const i64 step = walk_step_to(l);
    const int all = row >= a->whole && row + WALK_ROWS <= a->whole_end,
              cut_too = !makes_level(l) && l->of.edges == EDGES_TOO && !l->of.valid;

    if (all) {
        UNROLL for (int u = 0; u < WALK_ROWS; u++)
            walk_put(a->to + u * step, t[u], 1, a->first + (row + u) * (i64)WALK_LANES, l);
    } else {
        UNROLL for (int u = 0; u < WALK_ROWS; u++)
        {
            const int r = row + u, whole = r >= a->whole && r < a->whole_end;
            if (r >= a->begin && r < a->end && (whole || cut_too))
                walk_put(a->to + u * step, t[u], whole, a->first + r * (i64)WALK_LANES, l);
        }
    }
    a->to += WALK_ROWS * step;
}

/* Exchanges states among the threads of a block: to the warp of each column from the threads that
 * load (to_warps) or back to them, which store. Thread i loads row i / WARPS of 32 of column i %
 * WARPS. A place of `box` in 33 is empty, which avoids bank conflicts. */
enum { TURN_WARPS = WINDOW_THREADS / LANES, TURN_PLACES = WINDOW_THREADS + TURN_WARPS };
fn void walk_turn(state v[WALK_ROWS], LOCAL node *box, const int to_warps)
{
    const int i = thread_index(), j = lane_index() * TURN_WARPS + i / LANES,
              loads = i + i / LANES, walks = j + j / LANES;
    UNROLL for (int u = 0; u < WALK_ROWS; u++) box[u * TURN_PLACES + (to_warps ? loads : walks)].s =
        v[u];
    BARRIER();
    UNROLL for (int u = 0; u < WALK_ROWS; u++) v[u] =
        box[u * TURN_PLACES + (to_warps ? walks : loads)].s;
}

/* Goes along all rows. boxes: of nodes. */
fn void walk_along(walk_lane a, LOCAL node *boxes, const launch *l)
{
    const state none = nothing(l->b.p).s;
    walk_past p;
    walk_item e[2][WALK_ROWS]; /* loads are two steps ahead */
    node high[2][WALK_ROWS];

    UNROLL for (int k = 0; k <= WALK_KEPT; k++) p.before_z[k] = p.before_t[k] = none;
    UNROLL for (int k = 0; k <= SHUFFLED; k++) p.last_z[k] = p.last_t[k] = none;
    UNROLL for (int u = 0; u < 2 * WALK_ROWS; u++)
    {
        high[u / WALK_ROWS][u % WALK_ROWS].s = none;
#if TL_NODES
        e[u / WALK_ROWS][u % WALK_ROWS].s = none;
#else
        e[u / WALK_ROWS][u % WALK_ROWS] = NO_ELEMENT;
#endif
    }

    UNROLL for (int u = 0; u < 2; u++)
    {
        walk_load(e[u], &a.x, u * WALK_ROWS, l);
        if (walks_onto(l)) walk_load_high(high[u], &a.high, u * WALK_ROWS);
    }

    for (int row = 0; row < a.rows; row += WALK_PERIOD) {
        UNROLL for (int u0 = 0; u0 < WALK_PERIOD; u0 += WALK_ROWS)
        {
            const int next = u0 / WALK_ROWS & 1, then = row + u0 + 2 * WALK_ROWS;
            state z[WALK_TOP + 1][WALK_ROWS], t[WALK_ROWS];
            UNROLL for (int u = 0; u < WALK_ROWS; u++) z[0][u] =
                walk_lift(e[next][u], a.item + (row + u0 + u) * (i64)WALK_LANES, l->b.p);
            walk_load(e[next], &a.x, then, l);
            if (TL_NODES) walk_turn(z[0], boxes, 1);

            walk_up(z, &p, u0, l);
            UNROLL for (int u = 0; u < WALK_ROWS; u++) t[u] =
                walks_onto(l) ? high[next][u].s : z[WALK_TOP][u];
            if (walks_onto(l)) walk_load_high(high[next], &a.high, then);
            walk_fold(t, z, &p, u0, l);

            if (TL_NODES) walk_turn(t, boxes + WALK_ROWS * TURN_PLACES, 0);
            walk_store(&a, t, row + u0, l);
        }
    }
}

/* A part of a sequence: `lane` is this lane's number in it. (Some columns of nodes have one less
 * than the first one.) */
fn walk_lane walk_of(const launch *l, i64 sequence, i64 part, int lane)
{
    enum { MOST = 1 << 30 }; /* rows; a part has fewer */
    const i64 done = part * l->each, left = l->of.count - done,
              length = TL_NODES ? l->of.width : length_in(l->of),
              n = TL_NODES ? quotient(l->b.n + l->b.stride - 1 - sequence, l->b.stride) : l->b.n,
              results_ = left < l->each ? left : l->each;
    walk_lane a;

    a.begin = walk_row_after(l->of.width - !walks_onto(l), MOST);
    const i64 place = done + lane - a.begin * (i64)WALK_LANES; /* of row 0 among the windows */
    a.first = l->of.at + place;
    a.item = a.first + l->of.shift + l->of.width - 1;
    a.x.at = l->b.x + (sequence * l->b.row_stride + a.item * l->b.stride) * ITEM_BYTES;
    a.high.at = (GLOBAL const u8 *)l->states +
                (walks_onto(l) ? (place + l->of.width) * NODE_BYTES : 0);
    a.to = makes_level(l)
               ? (GLOBAL u8 *)l->states +
                     (TL_NODES ? sequence + place * l->b.stride : place) * NODE_BYTES
               : l->out.x + (sequence * l->out.row_stride +
                             (a.first + (l->of.valid ? 0 : l->of.before)) * l->out.stride) *
                                RESULT_BYTES;

    a.rows = a.begin + walk_row_after(results_, MOST);
    a.end = a.begin + walk_row_after(results_ - lane, MOST);
    a.x.from = walk_row_after(-a.item, a.end);
    a.x.end = l->of.width ? walk_row_after(n - a.item, a.end) : 0;
    a.high.from = walk_row_after(-(place + l->of.width), a.end);
    a.high.end = walk_row_after(l->of.count - (place + l->of.width), a.end);
    a.whole = walk_row_after(-a.first, a.end);
    a.whole_end = walk_row_after(n - length - a.first + 1, a.end);
    if (makes_level(l) && !TL_NODES) a.whole = 0, a.whole_end = a.end;
    if (a.whole < a.begin) a.whole = a.begin;
    return a;
}

/* A job is a part of a sequence; parts of one sequence, or of many columns, are neighbours. */
KERNEL_OF(window_tile)
{
    LAUNCH_OF_PARAMETERS;
    SHARED node boxes[TL_NODES ? 2 * WALK_ROWS * TURN_PLACES : 1];
    const int me = thread_index(), lane = TL_NODES         ? me / TURN_WARPS
                                          : WALK_LANES == 1 ? 0
                                                             : lane_index();
    const i64 each_ = WINDOW_THREADS / WALK_LANES, /* jobs of a block */
        first_ = group_index() * each_ + (TL_NODES ? me % TURN_WARPS : me / WALK_LANES);
    for (i64 job = first_; job < l.jobs; job += group_count() * each_) {
        const i64 many = WALK_DOWN ? l.b.seqs : quotient(l.jobs, l.b.seqs),
                  row = quotient(job, many), column = job - row * many;
        walk_along(WALK_DOWN ? walk_of(&l, column, row, lane) : walk_of(&l, row, column, lane),
                   boxes, &l);
    }
}
