/* SPDX-License-Identifier: MIT
 * Tiles of TILE_ROWS rows, for columns and for windows longer than a tile. A row has some items of
 * an array, and item (row, column) of a tile has index row * COLUMNS + column, so a distance of r
 * rows is one of r << FIRST_LEVEL items, and the levels are those of quads.cl. The rows are
 *
 *   elements   of columns: a row has one element of each column (log is 0)
 *   nodes      of 2^log elements: 2^log contiguous nodes of one sequence, or of 2^log elements of
 *              each column
 *
 * Windows of their whole length that are longer than a tile are computed in groups of levels: the
 * lowest LOW levels by tiles of neighbouring items, then HIGH at a time by tiles of rows
 * (gpu/window/groups.c chooses the groups):
 *
 *   window_tile  PART_LEVEL      x              -> Y_LOW
 *   window_rows  PART_LEVEL      Y_LOW          -> Y_(LOW + HIGH) ...    while w has higher bits
 *   window_rows                  the highest Y  -> the fold at its bits of w; then the bits of
 *                                                  each lower group are folded onto that
 *   window_tile  PART_LAST_BITS  x              -> the bits below LOW folded onto that; results
 *
 * A window is folded at its bits from high to low (order.md), so the bits of a group come after
 * those of all higher groups. For columns, window_rows takes the place of window_tile. */

/* Blocks of a multiprocessor, which bounds the registers. */
#define ROWS_BLOCKS (sizeof(state) == 16 ? 2 : QUADS_BLOCKS)
fn int within(i64 i, i64 low, i64 high) { return (int)(i < low ? low : i > high ? high : i); }

enum {
    TILE_QUADS = THREAD_QUADS,               /* quads of a row */
    FIRST_LEVEL = QUADS_LOG - TILE_ROWS_LOG, /* log2 of the items of a row */
    COLUMNS = 1 << FIRST_LEVEL,
    ROWS_STEP = WINDOW_THREADS / TILE_QUADS, /* rows between a thread's quads */
    ITEMS = QUAD_ITEMS / WINDOW_THREADS,     /* of a thread */
    ITEMS_STEP = WINDOW_THREADS / COLUMNS    /* rows between its items, one in a column */
};

/* A tile of columns. */
typedef struct {
    i64 first;      /* index of the element where the window of row 0 begins */
    i64 column;     /* its first column */
    int columns;    /* columns of it that exist */
    int low, high;  /* rows low <= i < high have whole windows */
    int results;    /* rows that have results */
    i64 side, down; /* bytes between elements: of columns, of rows */
} column_tile;

fn column_tile column_tile_of(const launch *l, i64 chunk, i64 group)
{
    column_tile t;
    t.column = group * COLUMNS, t.columns = within(l->b.seqs - t.column, 0, COLUMNS);
    t.first = l->of.at + chunk * l->each;
    t.low = within(-t.first, 0, TILE_ROWS);
    t.high = within(l->b.n - length_in(l->of) + 1 - t.first, 0, TILE_ROWS);
    t.results = within(l->of.count - chunk * l->each, 0, l->each);
    t.side = l->b.row_stride * TL_SIZE, t.down = l->b.stride * TL_SIZE;
    return t;
}

/* Loads and lifts the elements of a tile: aligned quads into y; else returns 1, and neighbouring
 * threads load neighbouring elements into z. Elements that do not exist are replaced by others,
 * which no result uses. */
fn int load_columns(LOCAL four *z, four *y, const column_tile *t, const launch *l)
{
    enum { MANY = ITEMS < 8 ? ITEMS : 8 }; /* loads at a time */
    const batch b = l->b;
    const int me = thread_index();
    const i64 item = t->first + l->of.shift; /* of row 0 */
    GLOBAL const u8 *const x = b.x + t->column * t->side + item * t->down;

    if (t->columns == COLUMNS && t->side == TL_SIZE && ADDRESS(x) % QUAD_ALIGN == 0 &&
        t->down % (i64)QUAD_ALIGN == 0 && item >= 0 && item + TILE_ROWS <= b.n) {
        const int row = me / TILE_QUADS;
        GLOBAL const u8 *const mine = x + row * t->down + me % TILE_QUADS * (i64)sizeof(quad);
        quad e[THREAD_QUADS];
        UNROLL for (int m = 0; m < THREAD_QUADS; m++) e[m] =
            *(GLOBAL const quad *)(mine + m * ROWS_STEP * t->down);
        UNROLL for (int m = 0; m < THREAD_QUADS; m++)
        {
            elem each_[QUAD];
            put_quad(each_, e[m]);
            UNROLL for (int c = 0; c < QUAD; c++) y[m].s[c] =
                lift(each_[c], item + row + m * ROWS_STEP, b.p);
        }
        return 0;
    }

    const int column = me % COLUMNS, whole = ADDRESS(x) % TL_SIZE == 0, row = me / COLUMNS;
    const int low = within(-item, 0, TILE_ROWS - 1), high = within(b.n - item, 1, TILE_ROWS);
    GLOBAL const u8 *const mine = x + within(column, 0, t->columns - 1) * t->side;
    ROLLED for (int k = 0; k < ITEMS; k += MANY)
    {
        elem e[MANY];
        UNROLL for (int j = 0; j < MANY; j++)
        {
            const int i = within(row + (k + j) * ITEMS_STEP, low, high - 1);
            e[j] = whole ? *(GLOBAL const elem *)(mine + i * t->down) : load_bytes(mine + i * t->down);
        }
        UNROLL for (int j = 0; j < MANY; j++)((LOCAL state *)z)[place_of(me + (k + j) * WINDOW_THREADS)] =
            lift(e[j], item + row + (k + j) * ITEMS_STEP, b.p);
    }
    return 1;
}

/* Prefetches the rows of a tile of columns, one row by each thread. */
fn void prefetch_columns(const launch *l, i64 chunk, i64 group)
{
    const i64 i = l->of.at + chunk * l->each + l->of.shift + thread_index();
    if (thread_index() < TILE_ROWS && i >= 0 && i < l->b.n)
        PREFETCH(l->b.x + (group * COLUMNS * l->b.row_stride + i * l->b.stride) * TL_SIZE);
}

/* What the stores of a tile share. to: address of its first result; rows: those with results. */
typedef struct {
    GLOBAL u8 *to;
    i64 side, down;
    int rows, apart; /* apart: only windows inside their column have results */
} column_results;

fn column_results results_of_tile(const column_tile *t, int rows, const launch *l)
{
    column_results o;
    o.side = l->out.row_stride * RESULT_BYTES, o.down = l->out.stride * RESULT_BYTES;
    o.to = l->out.x + t->column * o.side + (t->first + (l->of.valid ? 0 : l->of.before)) * o.down;
    o.rows = t->columns ? rows : 0, o.apart = l->of.edges != EDGES_TOO;
    return o;
}

/* True if row i has a result; *have: it is not the empty value. */
fn int stores_row(const column_tile *t, const column_results *o, int i, const launch *l, int *have)
{
    const int inside = i >= t->low && i < t->high;
    *have = inside && length_in(l->of) >= l->of.least;
    return i < o->rows && (inside || !o->apart);
}

/* Stores a tile's results by quads; returns 0 if they are not aligned. */
fn int store_columns(const column_tile *t, const column_results *o, const four *y, const launch *l)
{
#if OP_LANES == 1
    const int row = thread_index() / TILE_QUADS;
    const real w = (real)length_in(l->of);
    const par p = l->b.p;
    GLOBAL u8 *const mine =
        o->to + row * o->down + thread_index() % TILE_QUADS * (i64)sizeof(result_quad);

    if (t->columns != COLUMNS || o->side != sizeof(result) ||
        ADDRESS(o->to) % QUAD_OUT_ALIGN != 0 || o->down % (i64)QUAD_OUT_ALIGN != 0)
        return 0;
    UNROLL for (int m = 0; m < THREAD_QUADS; m++)
    {
        const int i = row + m * ROWS_STEP;
        const i64 first = t->first + i;
        int have;
        result_quad q;
        q.x = lower(y[m].s[0], w, first, p), q.y = lower(y[m].s[1], w, first, p);
        q.z = lower(y[m].s[2], w, first, p), q.w = lower(y[m].s[3], w, first, p);
        if (!stores_row(t, o, i, l, &have)) continue;
        if (!have) q.x = q.y = q.z = q.w = empty(p);
        *(GLOBAL result_quad *)(mine + m * ROWS_STEP * o->down) = q;
    }
    return 1;
#else
    return 0;
#endif
}

/* Stores them one by one from z, neighbours by neighbouring threads. */
fn void store_column_items(const column_tile *t, const column_results *o, LOCAL const state *z,
                           const launch *l)
{
    const int me = thread_index(), column = me % COLUMNS, row = me / COLUMNS;
    GLOBAL u8 *const mine = o->to + column * o->side;
    const i64 w = length_in(l->of);
    const par p = l->b.p;

    ROLLED for (int k = 0; k < (column < t->columns ? ITEMS : 0); k++)
    {
        const int i = row + k * ITEMS_STEP;
        maybe v;
        v.s = z[place_of(me + k * WINDOW_THREADS)];
        if (!stores_row(t, o, i, l, &v.have)) continue;
#if OP_LANES == 1
        if (SKIPS && ADDRESS(mine) % sizeof(result) == 0) {
            *(GLOBAL result *)(mine + i * o->down) =
                v.have ? lower(v.s, (real)w, t->first + i, p) : empty(p);
            continue;
        }
#endif
        store_maybe(mine + i * o->down, v, w, t->first + i, p);
    }
}

/* nodes: `node_count` items, if log is not 0. quads: of a row of the whole array. A tile has `each`
 * rows of results, which begin `shift` rows after the nodes' rows; `stored`: items in `states`.
 * Windows of `width` rows are folded. A tile has the quads column * TILE_QUADS and after of each
 * row; quads of nodes are always whole. */
KERNEL_OF(window_rows)
{
    LAUNCH_OF_PARAMETERS;
    LOCAL four *const z = (LOCAL four *)LOCAL_MEMORY;
    const int row = thread_index() / TILE_QUADS, columns = log == 0;
    const i64 tiles = quads / TILE_QUADS; /* tiles of a row */
    levels v;
    v.w = (int)l.of.width << FIRST_LEVEL, v.top = l.top + FIRST_LEVEL, v.kept = l.kept;
    v.more = (int)log - FIRST_LEVEL, v.done = l.of.shift << log;

    for (i64 job = group_index(); job < l.jobs; job += group_count()) {
        const i64 chunk = quotient(job, tiles), group = job - chunk * tiles;
        const column_tile t = column_tile_of(&l, chunk, group);
        four y[THREAD_QUADS];
        quad_places at;
        int apart = 0; /* items or results go through local memory */
        at.first =
            (chunk * l.each + row) * quads + group * TILE_QUADS + thread_index() % TILE_QUADS;
        at.step = ROWS_STEP * quads, at.exist = 0;
        UNROLL for (int m = 0; m < THREAD_QUADS; m++) at.exist |=
            (row + m * ROWS_STEP < l.each && (at.first + m * at.step) * QUAD < stored) << m;

        if (columns && (!SKIPS || l.what != PART_RESULTS_ALONE)) apart = load_columns(z, y, &t, &l);
        UNROLL for (int m = 0; m < THREAD_QUADS && !columns; m++)
        {
            const i64 from = at.first + m * at.step + l.of.shift * quads;
            y[m] = nodes[from * QUAD < node_count ? from : 0];
        }

        if (columns) {
            const i64 next = job + group_count() < l.jobs ? job + group_count() : job;
            prefetch_columns(&l, quotient(next, tiles), next - quotient(next, tiles) * tiles);
        }

        if (!SKIPS || apart) BARRIER();
        UNROLL for (int m = 0; m < THREAD_QUADS && apart; m++) y[m] = get_four(z, quad_number(m));
        double_quads(z, y, &v, FIRST_LEVEL, 0, 1);
        BARRIER();
        fold_onto(y, l.what, l.states, &at, &v);
        fold_bits(z, y, &v);
        if (!columns || l.what == PART_LEVEL) store_quads(l.states, y, &at);

        const column_results o =
            results_of_tile(&t, columns && l.what != PART_LEVEL ? t.results : 0, &l);
        apart = o.rows > 0 && !store_columns(&t, &o, y, &l);
        BARRIER();
        if (SKIPS && !apart) continue;
        UNROLL for (int m = 0; m < THREAD_QUADS && apart; m++) put_four(z, quad_number(m), y[m]);
        BARRIER();
        if (apart) store_column_items(&t, &o, (LOCAL const state *)z, &l);
        BARRIER();
    }
}
