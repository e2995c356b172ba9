/* SPDX-License-Identifier: MIT
 * The levels of a walk (walk.cl): what a lane keeps of the rows before, how lanes exchange states,
 * and how levels are made and folded. */

#define TL_NODES (WALK_KIND == WALK_NODES)
enum {
    WALK_LANES = WALK_LANES_OF(WALK_KIND, WALK_TOP, sizeof(state)),
    MAKES_STATES = WALK_KIND == WALK_LEVEL || TL_NODES,
    WALK_DOWN = TL_NODES || WALK_LANES == 1,              /* sequences are columns */
    NEAR = WALK_NEAR(WALK_KIND, WALK_TOP, sizeof(state)), /* levels of distances below a row */
    WALK_ALL = (1 << (WALK_TOP - NEAR)) - 1,              /* states of rows before, of all levels */
    WALK_KEPT = WALK_KEPT_OF(WALK_KIND, WALK_TOP, sizeof(state)) - 1, /* in registers */
    WALK_ROWS = WALK_ROWS_OF(WALK_KIND, WALK_TOP, sizeof(state)),     /* at a time */
    WALK_LONGEST = (WALK_ALL + 1) / 2, /* the largest distance, in rows */
    WALK_PERIOD = WALK_LONGEST > 2 * WALK_ROWS ? WALK_LONGEST : 2 * WALK_ROWS
};

/* What a walk goes along. */
#if TL_NODES
typedef node walk_item;
#else
typedef elem walk_item;
#endif
enum { ITEM_BYTES = sizeof(walk_item), NODE_BYTES = sizeof(node) };

/* The elements of a node of level k. */
fn i64 walk_elements(const launch *l, int k) { return (TL_NODES ? l->b.stride : 1) << k; }

/* What a lane keeps of the rows before: before_z and before_t of distances of whole rows, last_z
 * and last_t of shuffles. */
typedef struct {
    state before_z[WALK_KEPT + 1], before_t[WALK_KEPT + 1];
    state last_z[NEAR + 1], last_t[NEAR + 1];
    LOCAL node *boxes, *rings_z, *rings_t;
} walk_history;

/* Exchanges `now`, the state of row `row`, for the state 2^log rows before. kept: in registers;
 * rings: in local memory. */
fn state walk_back(state *kept, LOCAL node *rings, const int row, const int log, state now)
{
    const int place = (1 << log) - 1 + (row & ((1 << log) - 1));
    state before;
    if (place < WALK_KEPT) {
        before = kept[place];
        kept[place] = now;
    } else {
        LOCAL node *const ring = rings + (place - WALK_KEPT) * WINDOW_THREADS;
        before = ring->s;
        ring->s = now;
    }
    return before;
}

#if WALK_BY_BLOCK(WALK_KIND, WALK_TOP, STATE_BYTES)
/* Exchanges among the threads of a block, through boxes in local memory: a box has the 2^k states
 * before a step's rows, then theirs. Each level of z has a box; those of t share one, and what the
 * next step needs is saved. */
enum {
    STEP_ITEMS = WALK_ROWS * WINDOW_THREADS,
    SAVED_AT = WINDOW_THREADS + NEAR * STEP_ITEMS, /* after the boxes of z */
    SHARED_AT = SAVED_AT + WINDOW_THREADS,         /* the box of t */
    RINGS_AT = WALK_BOXES(WALK_ROWS),
    RINGS = (WALK_ALL - WALK_KEPT) * WINDOW_THREADS
};
/* This thread's place in the box of z[k]. */
fn LOCAL node *walk_box(const walk_history *p, const int k)
{
    return p->boxes + (2 << k) - 1 + k * STEP_ITEMS + thread_index();
}

/* Puts this thread's states into a box, and *before, that of the row before, where it is needed. */
fn void walk_put_in(LOCAL node *box, LOCAL const node *before, const state now[WALK_ROWS],
                    const int k)
{
    if (thread_index() >= WINDOW_THREADS - (1 << k)) box[-WINDOW_THREADS] = *before;
    FOR(u, WALK_ROWS) box[u * WINDOW_THREADS].s = now[u];
    BARRIER();
}

fn void walk_share_z(walk_history *p, const state now[WALK_ROWS], const int k)
{
    LOCAL node *const box = walk_box(p, k);
    walk_put_in(box, box + (WALK_ROWS - 1) * WINDOW_THREADS, now, k);
}

fn void walk_share_t(walk_history *p, const state now[WALK_ROWS], const int k)
{
    LOCAL node *const saved = p->boxes + SAVED_AT + (2 << k) - 1 - WINDOW_THREADS + thread_index();
    BARRIER(); /* the box has been read for the level before */
    walk_put_in(p->boxes + SHARED_AT + (1 << k) + thread_index(), saved, now, k);
    if (thread_index() >= WINDOW_THREADS - (1 << k)) saved->s = now[WALK_ROWS - 1];
}

/* The states 2^k elements before z[k][u] and t[u], which walk_share_z and walk_share_t shared. */
fn state walk_shifted_z(const walk_history *p, const state now[WALK_ROWS], const int k, const int u)
{
    return walk_box(p, k)[u * WINDOW_THREADS - (1 << k)].s;
}

fn state walk_shifted_t(const walk_history *p, const state now[WALK_ROWS], const int k, const int u)
{
    return p->boxes[SHARED_AT + thread_index() + u * WINDOW_THREADS].s;
}

/* z[k][u], from its box, which saves registers. */
fn state walk_level_z(const walk_history *p, state z[WALK_TOP + 1][WALK_ROWS], const int k,
                      const int u)
{
    return k < NEAR ? walk_box(p, k)[u * WINDOW_THREADS].s : z[k][u];
}

fn void walk_clear(walk_history *p, LOCAL node *boxes, state none)
{
    p->boxes = boxes;
    p->rings_z = boxes + RINGS_AT + thread_index(), p->rings_t = p->rings_z + RINGS;
    for (int i = thread_index(); i < RINGS_AT + 2 * RINGS; i += WINDOW_THREADS) boxes[i].s = none;
    BARRIER();
}

#else
/* The state 2^k elements before `now`, which lies in this row or in the row before it. */
fn state walk_shuffle(state before, state now, const int k)
{
    enum { MORE = WALK_LANES > 1 ? WALK_LANES - 1 : 0 };
    const int lane = lane_index() & MORE, first = lane_index() - lane;
    return from_lane(choose(lane >= WALK_LANES - (1 << k), before, now),
                     first + ((lane - (1 << k)) & MORE), 0);
}

fn void walk_share_z(walk_history *p, const state now[WALK_ROWS], const int k) {}
fn void walk_share_t(walk_history *p, const state now[WALK_ROWS], const int k) {}

fn state walk_shifted_z(const walk_history *p, const state now[WALK_ROWS], const int k, const int u)
{
    return walk_shuffle(u ? now[u ? u - 1 : 0] : p->last_z[k], now[u], k);
}

fn state walk_shifted_t(const walk_history *p, const state now[WALK_ROWS], const int k, const int u)
{
    return walk_shuffle(u ? now[u ? u - 1 : 0] : p->last_t[k], now[u], k);
}

fn state walk_level_z(const walk_history *p, state z[WALK_TOP + 1][WALK_ROWS], const int k,
                      const int u)
{
    return z[k][u];
}

fn void walk_clear(walk_history *p, LOCAL node *boxes, state none)
{
    UNROLL for (int k = 0; k <= NEAR; k++) p->last_z[k] = p->last_t[k] = none;
}
#endif

/* Makes the levels of WALK_ROWS rows from z[0]. row: number of the first one in its period. */
fn void walk_up(state z[WALK_TOP + 1][WALK_ROWS], walk_history *p, const int row, const launch *l)
{
    if (TL_NODES) ASSUME((real)walk_elements(l, 0) > num(1.0)); /* see plus_halves */
    FOR(k, NEAR) {
        walk_share_z(p, z[k], k);
        FOR(u, WALK_ROWS)
            z[k + 1][u] = TWIN(walk_shifted_z(p, z[k], k, u), z[k][u], walk_elements(l, k));
        p->last_z[k] = z[k][WALK_ROWS - 1];
    }

    UNROLL for (int k = NEAR; k < WALK_TOP; k++)
    {
        FOR(u, WALK_ROWS)
            z[k + 1][u] = TWIN(walk_back(p->before_z, p->rings_z, row + u, k - NEAR, z[k][u]),
                               z[k][u], walk_elements(l, k));
    }
}

/* Folds the bits of the walk below WALK_TOP, from high to low, onto t. */
fn void walk_fold(state t[WALK_ROWS], state z[WALK_TOP + 1][WALK_ROWS], walk_history *p,
                  const int row, const launch *l)
{
    const int w = (int)l->of.width;
    UNROLL for (int k = WALK_TOP - 1; k >= 0; k--)
    {
        const i64 higher = l->of.shift + (w >> (k + 1)) * walk_elements(l, k + 1);
        state y[WALK_ROWS];
        if (!(w >> k & 1)) continue;

        if (k < NEAR) walk_share_t(p, t, k);
        FOR(u, WALK_ROWS) {
            const state before = k >= NEAR
                                     ? walk_back(p->before_t, p->rings_t, row + u, k - NEAR, t[u])
                                     : walk_shifted_t(p, t, k, u);
            y[u] = COMBINE(before, walk_level_z(p, z, k, u), higher, walk_elements(l, k));
        }
        if (k < NEAR) p->last_t[k] = t[WALK_ROWS - 1];
        FOR(u, WALK_ROWS) t[u] = y[u];
    }
}
