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

/* Loads and lifts the elements of a tile one by one into z: neighbouring threads load neighbouring
 * elements. x: address of row 0; inside: all rows exist. Elements that do not exist are replaced by
 * others, which no result uses. */
fn void load_column_items(LOCAL state *z, const column_tile *t, GLOBAL const u8 *x, i64 item,
                          const int inside, batch b)
{
    enum { MANY = 4 }; /* loads at a time */
    const int me = thread_index(), row = me / COLUMNS, whole = ADDRESS(x) % TL_SIZE == 0;
    const int low = within(-item, 0, TILE_ROWS - 1), high = within(b.n - item, 1, TILE_ROWS);
    const i64 step = ITEMS_STEP * t->down;
    GLOBAL const u8 *at = x + within(me % COLUMNS, 0, t->columns - 1) * t->side + row * t->down;

    ROLLED for (int k = 0; k < ITEMS; k += MANY)
    {
        elem e[MANY];
        UNROLL for (int j = 0; j < MANY; j++, at += step)
        {
            const int i = row + (k + j) * ITEMS_STEP;
            GLOBAL const u8 *const here = inside || (i >= low && i < high) ? at : x + low * t->down;
            e[j] = whole ? *(GLOBAL const elem *)here : load_bytes(here);
        }
        UNROLL for (int j = 0; j < MANY; j++) z[place_of(me + (k + j) * WINDOW_THREADS)] =
            lift(e[j], item + row + (k + j) * ITEMS_STEP, b.p);
    }
}

/* Loads and lifts a thread's quads, if they are aligned; else returns 1, and z has the tile's
 * items. */
fn int load_columns(LOCAL four *z, four *y, const column_tile *t, const launch *l)
{
    const batch b = l->b;
    const i64 item = t->first + l->of.shift; /* of row 0 */
    GLOBAL const u8 *const x = b.x + t->column * t->side + item * t->down;
    const int inside = item >= 0 && item + TILE_ROWS <= b.n;

    if (inside && t->columns % QUAD == 0 && t->columns && t->side == TL_SIZE &&
        ADDRESS(x) % QUAD_ALIGN == 0 && t->down % (i64)QUAD_ALIGN == 0) {
        const int row = thread_index() / TILE_QUADS, q = thread_index() % TILE_QUADS;
        GLOBAL const u8 *const mine =
            x + row * t->down + (q * QUAD < t->columns ? q : 0) * (i64)sizeof(quad);
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

    if (inside) load_column_items((LOCAL state *)z, t, x, item, 1, b);
    if (!inside) load_column_items((LOCAL state *)z, t, x, item, 0, b);
    return 1;
}

/* Prefetches the rows of a tile of columns, one row by each thread. */
fn void prefetch_columns(const launch *l, i64 chunk, i64 group)
{
    const i64 i = l->of.at + chunk * l->each + l->of.shift + thread_index();
    if (thread_index() < TILE_ROWS && i >= 0 && i < l->b.n)
        PREFETCH(l->b.x + (group * COLUMNS * l->b.row_stride + i * l->b.stride) * TL_SIZE);
}

/* What the stores of a tile share. to: address of its first result; rows from <= i < end have
 * results, those of rows low <= i < high are not empty; w: of the windows. */
typedef struct {
    GLOBAL u8 *to;
    i64 side, down, first, w;
    int columns, from, end, low, high;
    par p;
} column_results;

/* rows: of the tile that have results, if it has columns. */
fn column_results results_of_tile(const column_tile *t, int rows, const launch *l)
{
    const int apart = l->of.edges != EDGES_TOO;
    column_results o;
    o.side = l->out.row_stride * RESULT_BYTES, o.down = l->out.stride * RESULT_BYTES;
    o.to = l->out.x + t->column * o.side + (t->first + (l->of.valid ? 0 : l->of.before)) * o.down;
    o.first = t->first, o.w = length_in(l->of), o.columns = t->columns, o.p = l->b.p;
    o.low = t->low, o.high = o.w >= l->of.least ? t->high : 0;
    o.from = apart ? t->low : 0, o.end = apart && t->high < rows ? t->high : rows;
    return o;
}

/* Stores a tile's results by quads; returns 0 if they are not aligned. */
fn int store_columns(const column_results *o, const four *y)
{
#if OP_LANES == 1
    const int row = thread_index() / TILE_QUADS, q = thread_index() % TILE_QUADS;
    const real w = (real)o->w;
    GLOBAL u8 *const mine = o->to + row * o->down + q * (i64)sizeof(result_quad);

    if (o->columns % QUAD || o->side != sizeof(result) || ADDRESS(o->to) % QUAD_OUT_ALIGN != 0 ||
        o->down % (i64)QUAD_OUT_ALIGN != 0)
        return 0;
    UNROLL for (int m = 0; m < THREAD_QUADS; m++)
    {
        const int i = row + m * ROWS_STEP;
        const i64 at = o->first + i;
        result_quad r;
        r.x = lower(y[m].s[0], w, at, o->p), r.y = lower(y[m].s[1], w, at, o->p);
        r.z = lower(y[m].s[2], w, at, o->p), r.w = lower(y[m].s[3], w, at, o->p);
        if (i < o->low || i >= o->high) r.x = r.y = r.z = r.w = empty(o->p);
        if (i >= o->from && i < o->end && q * QUAD < o->columns)
            *(GLOBAL result_quad *)(mine + m * ROWS_STEP * o->down) = r;
    }
    return 1;
#else
    return 0;
#endif
}

/* Stores them one by one from z, neighbours by neighbouring threads. A function of its own, so that
 * it takes no registers of the rest. */
far_fn void store_column_items(column_results o, LOCAL const state *z)
{
    const int me = thread_index(), column = me % COLUMNS, row = me / COLUMNS,
              dense = SKIPS && OP_LANES == 1 && ADDRESS(o.to) % sizeof(result) == 0;
    const i64 step = ITEMS_STEP * o.down;
    GLOBAL u8 *to = o.to + column * o.side + row * o.down;

    for (int k = 0; k < (column < o.columns ? ITEMS : 0); k++, to += step) {
        const int i = row + k * ITEMS_STEP;
        const i64 at = o.first + i;
        maybe v;
        v.s = z[place_of(me + k * WINDOW_THREADS)], v.have = i >= o.low && i < o.high;
        if (i < o.from || i >= o.end) continue;
        if (dense)
            *(GLOBAL result *)to = v.have ? lower(v.s, (real)o.w, at, o.p) : empty(o.p);
        else
            store_maybe(to, v, o.w, at, o.p);
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

        if (!SKIPS || apart) {
            BARRIER();
            UNROLL for (int m = 0; m < THREAD_QUADS && apart; m++) y[m] =
                get_four(z, quad_number(m));
        }

        double_quads(z, y, &v, FIRST_LEVEL, 0, 1);
        BARRIER();
        fold_onto(y, l.what, l.states, &at, &v);
        fold_bits(z, y, &v);
        if (!columns || l.what == PART_LEVEL) store_quads(l.states, y, &at);

        const int rows = columns && l.what != PART_LEVEL && t.columns ? t.results : 0;
        const column_results o = results_of_tile(&t, rows, &l);
        apart = rows > 0 && !store_columns(&o, y);
        BARRIER();
        if (!SKIPS || apart) {
            UNROLL for (int m = 0; m < THREAD_QUADS && apart; m++)
                put_four(z, quad_number(m), y[m]);
            BARRIER();
            if (apart) store_column_items(o, (LOCAL const state *)z);
            BARRIER();
        }
    }
}
