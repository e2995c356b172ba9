/* SPDX-License-Identifier: MIT
 * Walks: windows of their whole length, with all nodes in registers. Lanes go along the elements
 * row by row, and no local memory is needed. Items are named by where they end: Z_k[t] is the node
 * of the 2^k elements up to t, and T_k[t] is the fold of the bits of w from k on, over the w >> k
 * << k elements up to t. Then all distances are powers of two, whatever w is:
 *
 *   Z_(k+1)[t] = C(Z_k[t - 2^k], Z_k[t])
 *   T_k[t]     = C(T_(k+1)[t - 2^k], Z_k[t])  if bit k of w is set, else T_(k+1)[t]
 *
 * WALK_LANES, the lanes of a sequence:
 *
 *   32   a warp has a part of a sequence, and a row has 32 elements. Distances below 32 are
 *        shuffles, in which the last lanes give what they had in the row before
 *   1    a lane has a part of a column, and a row has one element of each column
 *
 * Other distances are whole rows: a lane keeps states of the rows before in registers. They are in
 * arrays whose indices are constants, because the loop over rows is unrolled for their period. */
enum {
    SHUFFLED = WALK_SHUFFLED(WALK_LANES, WALK_TOP), /* levels that are made by shuffles */
    WALK_KEPT = (1 << (WALK_TOP - SHUFFLED)) - 1,   /* states of rows before, of all levels */
    WALK_ROWS = WALK_ROWS_OF(sizeof(state)),        /* at a time */
    WALK_LONGEST = (WALK_KEPT + 1) / 2,             /* the largest distance, in rows */
    WALK_PERIOD = WALK_LONGEST > 2 * WALK_ROWS ? WALK_LONGEST : 2 * WALK_ROWS
};

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
fn void walk_up(state z[WALK_TOP + 1][WALK_ROWS], walk_past *p, const int row)
{
    UNROLL for (int k = 0; k < SHUFFLED; k++)
    {
        UNROLL for (int u = 0; u < WALK_ROWS; u++) z[k + 1][u] = TWIN(
            walk_shuffle(u ? z[k][u ? u - 1 : 0] : p->last_z[k], z[k][u], k), z[k][u], (i64)1 << k);
        p->last_z[k] = z[k][WALK_ROWS - 1];
    }

    UNROLL for (int k = SHUFFLED; k < WALK_TOP; k++)
    {
        UNROLL for (int u = 0; u < WALK_ROWS; u++) z[k + 1][u] =
            TWIN(walk_back(p->before_z, row + u, k - SHUFFLED, z[k][u]), z[k][u], (i64)1 << k);
    }
}

/* Folds the bits of w, from high to low, to t. */
fn void walk_fold(state t[WALK_ROWS], state z[WALK_TOP + 1][WALK_ROWS], walk_past *p, const int row,
                  int w)
{
    UNROLL for (int u = 0; u < WALK_ROWS; u++) t[u] = z[WALK_TOP][u];
    UNROLL for (int k = WALK_TOP - 1; k >= 0; k--)
    {
        const i64 higher = w >> (k + 1) << (k + 1);
        state y[WALK_ROWS];
        if (!(w >> k & 1)) continue;

        UNROLL for (int u = 0; u < WALK_ROWS; u++)
        {
            const state before = k >= SHUFFLED
                                     ? walk_back(p->before_t, row + u, k - SHUFFLED, t[u])
                                     : walk_shuffle(u ? t[u ? u - 1 : 0] : p->last_t[k], t[u], k);
            y[u] = COMBINE(before, z[k][u], higher, (i64)1 << k);
        }
        if (k < SHUFFLED) p->last_t[k] = t[WALK_ROWS - 1];
        UNROLL for (int u = 0; u < WALK_ROWS; u++) t[u] = y[u];
    }
}

/* From an item or result of a lane to that of the next row, in bytes. Sequences of 32 lanes are
 * contiguous. */
fn i64 walk_step(const launch *l) { return (WALK_LANES == 1 ? l->b.stride : WALK_LANES) * TL_SIZE; }
fn i64 walk_step_to(const launch *l)
{
    return (WALK_LANES == 1 ? l->out.stride : WALK_LANES) * RESULT_BYTES;
}

/* The walk of a lane. Row r has the item with index item + r * WALK_LANES; the window that ends
 * there begins at element first + r * WALK_LANES. Rows begin <= r < end have results, whole <= r <
 * whole_end whole windows, loads <= r < loads_end items. rows: of all lanes. x: of the row that is
 * loaded next; to: of the row that is stored next. */
typedef struct {
    GLOBAL const u8 *x;
    GLOBAL u8 *to;
    i64 item, first;
    int rows, begin, end, whole, whole_end, loads, loads_end;
} walk_lane;

/* The first row that is at least `distance` items after row 0, at most `most`. */
fn int walk_row_after(i64 distance, int most)
{
    const i64 row = distance > 0 ? (distance + WALK_LANES - 1) / WALK_LANES : 0;
    return row < most ? (int)row : most;
}

/* Loads WALK_ROWS rows. */
fn void walk_load(elem e[WALK_ROWS], walk_lane *a, int row, const launch *l)
{
    const i64 step = walk_step(l);
    if (row >= a->loads && row + WALK_ROWS <= a->loads_end) {
        UNROLL for (int u = 0; u < WALK_ROWS; u++) e[u] = *(GLOBAL const elem *)(a->x + u * step);
    } else {
        UNROLL for (int u = 0; u < WALK_ROWS; u++)
        {
            if (row + u >= a->loads && row + u < a->loads_end)
                e[u] = *(GLOBAL const elem *)(a->x + u * step);
        }
    }
    a->x += WALK_ROWS * step;
}

/* Stores a result, whose address is a multiple of its size. */
fn void walk_put(GLOBAL u8 *to, state t, int whole, i64 length, i64 first, par p)
{
    GLOBAL result *const r = (GLOBAL result *)to;
    r[0] = whole ? lower(t, (real)length, first, p) : empty(p);
#if OP_LANES == 2
    r[1] = whole ? lower_1(t, (real)length, first, p) : empty_1(p);
#endif
}

/* Stores the results of WALK_ROWS rows. */
fn void walk_store(walk_lane *a, const state t[WALK_ROWS], int row, const launch *l)
{
    const i64 length = length_in(l->of), step = walk_step_to(l);
    const par p = l->b.p;
    const int all = row >= a->whole && row + WALK_ROWS <= a->whole_end,
              cut_too = l->of.edges == EDGES_TOO && !l->of.valid;

    if (all) {
        UNROLL for (int u = 0; u < WALK_ROWS; u++)
            walk_put(a->to + u * step, t[u], 1, length, a->first + (row + u) * (i64)WALK_LANES, p);
    } else {
        UNROLL for (int u = 0; u < WALK_ROWS; u++)
        {
            const int r = row + u, whole = r >= a->whole && r < a->whole_end;
            if (r >= a->begin && r < a->end && (whole || cut_too))
                walk_put(a->to + u * step, t[u], whole, length, a->first + r * (i64)WALK_LANES, p);
        }
    }
    a->to += WALK_ROWS * step;
}

/* Goes along all rows. */
fn void walk_along(walk_lane a, const launch *l)
{
    const int w = (int)l->of.width;
    const state none = nothing(l->b.p).s;
    walk_past p;
    elem e[2][WALK_ROWS]; /* loads are two steps ahead */

    UNROLL for (int k = 0; k <= WALK_KEPT; k++) p.before_z[k] = p.before_t[k] = none;
    UNROLL for (int k = 0; k <= SHUFFLED; k++) p.last_z[k] = p.last_t[k] = none;
    UNROLL for (int u = 0; u < WALK_ROWS; u++) e[0][u] = e[1][u] = NO_ELEMENT;
    walk_load(e[0], &a, 0, l);
    walk_load(e[1], &a, WALK_ROWS, l);

    for (int row = 0; row < a.rows; row += WALK_PERIOD) {
        UNROLL for (int u0 = 0; u0 < WALK_PERIOD; u0 += WALK_ROWS)
        {
            const int next = u0 / WALK_ROWS & 1;
            state z[WALK_TOP + 1][WALK_ROWS], t[WALK_ROWS];
            UNROLL for (int u = 0; u < WALK_ROWS; u++) z[0][u] =
                lift(e[next][u], a.item + (row + u0 + u) * (i64)WALK_LANES, l->b.p);
            walk_load(e[next], &a, row + u0 + 2 * WALK_ROWS, l);
            walk_up(z, &p, u0);
            walk_fold(t, z, &p, u0, w);
            walk_store(&a, t, row + u0, l);
        }
    }
}

/* A part of a sequence: `lane` is this lane's number in it. */
fn walk_lane walk_of(const launch *l, i64 sequence, i64 part, int lane)
{
    enum { MOST = 1 << 30 }; /* rows; a part has fewer */
    const i64 done = part * l->each, left = l->of.count - done, length = length_in(l->of);
    walk_lane a;

    a.begin = walk_row_after(l->of.width - 1, MOST);
    a.first = l->of.at + done + lane - a.begin * (i64)WALK_LANES;
    a.item = a.first + l->of.width - 1;
    a.x = l->b.x + (sequence * l->b.row_stride + a.item * l->b.stride) * TL_SIZE;
    a.to = l->out.x + (sequence * l->out.row_stride +
                       (a.first + (l->of.valid ? 0 : l->of.before)) * l->out.stride) *
                          RESULT_BYTES;

    a.rows = a.begin + walk_row_after(left < l->each ? left : l->each, MOST);
    a.end = a.begin + walk_row_after((left < l->each ? left : l->each) - lane, MOST);
    a.loads = walk_row_after(-a.item, a.end), a.loads_end = walk_row_after(l->b.n - a.item, a.end);
    a.whole = walk_row_after(-a.first, a.end);
    a.whole_end = walk_row_after(l->b.n - length - a.first + 1, a.end);
    if (a.whole < a.begin) a.whole = a.begin;
    return a;
}

/* A job is a part of a sequence; parts of one sequence, or of many columns, are neighbours. */
KERNEL_OF(window_tile)
{
    LAUNCH_OF_PARAMETERS;
    const i64 me = WALK_LANES == 1 ? group_index() * WINDOW_THREADS + thread_index() : warp_index(),
              all = WALK_LANES == 1 ? group_count() * WINDOW_THREADS : warp_count();
    for (i64 job = me; job < l.jobs; job += all) {
        const i64 many = WALK_LANES == 1 ? l.b.seqs : quotient(l.jobs, l.b.seqs),
                  row = quotient(job, many), column = job - row * many;
        walk_along(WALK_LANES == 1 ? walk_of(&l, column, row, 0)
                                   : walk_of(&l, row, column, lane_index()),
                   &l);
    }
}
