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
 *   window_tile  FOLD_LEVEL      x              -> Y_LOW
 *   window_rows  FOLD_LEVEL      Y_LOW          -> Y_(LOW + HIGH) ...    while w has higher bits
 *   window_rows                  the highest Y  -> the fold at its bits of w; then the bits of
 *                                                  each lower group are folded onto that
 *   window_tile  FOLD_LAST_BITS  x              -> the bits below LOW folded onto that; results
 *
 * A window is folded at its bits from high to low (order.md), so the bits of a group come after
 * those of all higher groups. For columns, window_rows takes the place of window_tile. */

enum {
    TILE_QUADS = THREAD_QUADS,               /* quads of a row */
    FIRST_LEVEL = QUADS_LOG - TILE_ROWS_LOG, /* log2 of the items of a row */
    COLUMNS = 1 << FIRST_LEVEL,
    ROWS_STEP = WINDOW_THREADS / TILE_QUADS /* rows between a thread's quads */
};

/* A tile of columns, and the quads of it that a thread has. TL_TABLE: of l->pitch columns and as
 * many rows as fit; `column` and `columns` are those of the tile. */
typedef struct {
    i64 first;      /* index of the element where the window of row 0 begins */
    i64 column;     /* the thread's first column */
    int row;        /* the thread's first row */
    int columns;    /* columns of the quad that exist */
    int low, high;  /* rows low <= i < high have whole windows */
    int results;    /* rows that have results */
    i64 side, down; /* bytes between elements: of columns, of rows */
} column_tile;

fn column_tile column_tile_of(const launch *l, i64 chunk, i64 group)
{
    column_tile t;
    const i64 w = length_in(l->of);
    const int wide = TL_TABLE ? (int)l->pitch : COLUMNS,
              rows = TL_TABLE ? QUAD_ITEMS / wide : TILE_ROWS;

    t.row = thread_index() / TILE_QUADS;
    t.column = group * wide + (TL_TABLE ? 0 : thread_index() % TILE_QUADS * QUAD);
    t.columns = within(l->b.seqs - t.column, 0, TL_TABLE ? wide : QUAD);
    t.first = l->of.at + chunk * l->each;
    t.low = within(-t.first, 0, rows), t.high = within(l->b.n - w + 1 - t.first, 0, rows);
    t.results = within(l->of.count - chunk * l->each, 0, l->each);
    t.side = l->b.row_stride * TL_SIZE, t.down = l->b.stride * TL_SIZE;
    return t;
}

#if TL_TABLE
enum { ITEMS = QUAD_ITEMS / WINDOW_THREADS };

/* A thread's items, WINDOW_THREADS apart in the order of the tile. byte: from the tile's first one;
 * step, carry: added to it for the next item, and where that begins another row. */
typedef struct {
    int row, column, rows, columns, wide;
    i64 byte, step, carry;
} item_walk;

fn item_walk walk_of(int wide, i64 side, i64 down)
{
    item_walk a;
    a.wide = wide, a.row = thread_index() / wide, a.column = thread_index() - a.row * wide;
    a.rows = WINDOW_THREADS / wide, a.columns = WINDOW_THREADS - a.rows * wide;
    a.byte = a.row * down + a.column * side;
    a.step = a.rows * down + a.columns * side, a.carry = down - wide * side;
    return a;
}

fn void walk_on(item_walk *a)
{
    a->row += a->rows, a->column += a->columns, a->byte += a->step;
    if (a->column >= a->wide) a->row++, a->column -= a->wide, a->byte += a->carry;
}

/* Loads and lifts a tile's items. Those that do not exist are replaced by another one, which no
 * result uses. */
fn void load_single_items(LOCAL state *z, const column_tile *t, int wide, batch b)
{
    enum { MANY = 4 }; /* loads at a time */
    const int rows = QUAD_ITEMS / wide, low = within(-t->first, 0, rows - 1),
              high = within(b.n - t->first, 1, rows);
    GLOBAL const u8 *const x = b.x + t->column * t->side + t->first * t->down;
    const int whole = ADDRESS(x) % TL_SIZE == 0;
    item_walk a = walk_of(wide, t->side, t->down);

    ROLLED for (int k = 0; k < ITEMS; k += MANY)
    {
        elem e[MANY];
        int row[MANY];
        FOR(j, MANY) {
            const int exists = a.row >= low && a.row < high && a.column < t->columns;
            GLOBAL const u8 *const at = x + (exists ? a.byte : low * t->down);
            e[j] = whole ? *(GLOBAL const elem *)at : load_bytes(at), row[j] = a.row;
            walk_on(&a);
        }
        FOR(j, MANY)
            z[place_of(thread_index() + (k + j) * WINDOW_THREADS)] =
                lift(e[j], t->first + row[j], b.p);
    }
}

/* Stores the results of a tile's items, one by one. */
fn void store_single_items(const column_tile *t, LOCAL const state *z, const launch *l)
{
    const i64 side = l->out.row_stride * RESULT_BYTES, down = l->out.stride * RESULT_BYTES;
    const int apart = l->of.edges != WITH_EDGES, high = l->elements >= l->of.least ? t->high : 0;
    const int from = apart ? t->low : 0, end = apart && t->high < t->results ? t->high : t->results;
    const par p = l->b.p;
    GLOBAL u8 *const to =
        l->out.x + t->column * side + (t->first + (l->of.valid ? 0 : l->of.before)) * down;
    const int dense = SKIPS && OP_LANES == 1 && ADDRESS(to) % sizeof(result) == 0;
    item_walk a = walk_of((int)l->pitch, side, down);

    for (int k = 0; k < ITEMS; k++, walk_on(&a)) {
        const i64 first = t->first + a.row;
        maybe v;
        v.s = z[place_of(thread_index() + k * WINDOW_THREADS)];
        v.exists = a.row >= t->low && a.row < high;
        if (a.row < from || a.row >= end || a.column >= t->columns) continue;
        if (dense)
            *(GLOBAL result *)(to + a.byte) =
                v.exists ? lower(v.s, (real)l->elements, first, p) : empty(p);
        else
            store_maybe(to + a.byte, v, l->elements, first, p);
    }
}

/* Columns whose quads are not aligned: items are loaded and stored one by one, neighbours by
 * neighbouring threads, by local memory. */
KERNEL_OF(window_rows)
{
    LAUNCH_OF_PARAMETERS;
    const i64 tiles = quotient(b.seqs - 1, pitch) + 1; /* tiles of a row */
    l.elements = length_in(l.of);
    LOCAL four *const z = (LOCAL four *)LOCAL_MEMORY, *const y0 = first_array(LOCAL_MEMORY, &l);
    const levels v = levels_of(&l);

    for (i64 job = group_index(); job < l.jobs; job += group_count()) {
        const i64 chunk = quotient(job, tiles);
        const column_tile t = column_tile_of(&l, chunk, job - chunk * tiles);
        four y[THREAD_QUADS];

        load_single_items((LOCAL state *)y0, &t, (int)l.pitch, l.b);
        BARRIER();
        FOR(m, THREAD_QUADS) y[m] = get_four(y0, quad_number(m));
        double_quads(z, y, &v, TABLE_LEVEL, 0, 1);
        BARRIER();
        fold_bits(z, y, &v);
        BARRIER();
        FOR(m, THREAD_QUADS) put_four(z, quad_number(m), y[m]);
        BARRIER();
        store_single_items(&t, (LOCAL const state *)z, &l);
        BARRIER();
    }
}

#else
/* Loads and lifts a thread's elements. Elements outside the columns are replaced by others, which
 * no result uses. */
fn void load_columns(four *y, const column_tile *t, const launch *l)
{
    const batch b = l->b;
    const i64 item = t->first + l->of.shift; /* of row 0 */
    GLOBAL const u8 *const x =
        b.x + (t->columns ? t->column : b.seqs - 1) * t->side + (item + t->row) * t->down;
    quad e[THREAD_QUADS];

    if (t->columns == QUAD && t->side == TL_SIZE && ADDRESS(x) % QUAD_ALIGN == 0 &&
        t->down % (i64)QUAD_ALIGN == 0 && item >= 0 && item + TILE_ROWS <= b.n) {
        FOR(m, THREAD_QUADS) e[m] = *(GLOBAL const quad *)(x + m * ROWS_STEP * t->down);
    } else {
        FOR(m, THREAD_QUADS) {
            const i64 at = item + t->row + m * ROWS_STEP, i = at < 0 ? 0 : at < b.n ? at : b.n - 1;
            e[m] = gather(x + (i - at + m * ROWS_STEP) * t->down, t->side, 0,
                          t->columns ? t->columns : 1);
        }
    }

    FOR(m, THREAD_QUADS) {
        elem each_[QUAD];
        put_quad(each_, e[m]);
        FOR(c, QUAD) y[m].s[c] = lift(each_[c], item + t->row + m * ROWS_STEP, b.p);
    }
}

/* Prefetches the rows of a tile of columns, one row by each thread. */
fn void prefetch_columns(const launch *l, i64 chunk, i64 group)
{
    const i64 i = l->of.at + chunk * l->each + l->of.shift + thread_index();
    if (thread_index() < TILE_ROWS && i >= 0 && i < l->b.n)
        PREFETCH(l->b.x + (group * COLUMNS * l->b.row_stride + i * l->b.stride) * TL_SIZE);
}

/* Stores the results of row i; `to`: address of the first one. */
fn void store_columns(const column_tile *t, GLOBAL u8 *to, int i, const four *v, int dense,
                      const launch *l)
{
    const i64 w = length_in(l->of), first = t->first + i;
    const int whole = i >= t->low && i < t->high && w >= l->of.least;
    const par p = l->b.p;

#if OP_LANES == 1
    if (dense) {
        result_quad q;
        q.x = lower(v->s[0], (real)w, first, p), q.y = lower(v->s[1], (real)w, first, p);
        q.z = lower(v->s[2], (real)w, first, p), q.w = lower(v->s[3], (real)w, first, p);
        if (!whole) q.x = q.y = q.z = q.w = empty(p);
        *(GLOBAL result_quad *)to = q;
        return;
    }
#endif

    FOR(c, QUAD) {
        maybe m;
        m.s = v->s[c], m.exists = whole;
        if (c < t->columns) store_maybe(to + c * l->out.row_stride * RESULT_BYTES, m, w, first, p);
    }
}

/* Stores a thread's results; many: rows of the tile that have any. */
fn void store_column_tile(const column_tile *t, const four *y, int many, const launch *l)
{
    const i64 side = l->out.row_stride * RESULT_BYTES, down = l->out.stride * RESULT_BYTES;
    const i64 back = l->of.valid ? 0 : l->of.before;
    GLOBAL u8 *const to = l->out.x + t->column * side + (t->first + back + t->row) * down;
    const int dense = t->columns == QUAD && side == sizeof(result) &&
                      ADDRESS(to) % QUAD_OUT_ALIGN == 0 && down % (i64)QUAD_OUT_ALIGN == 0;

    FOR(m, THREAD_QUADS) {
        const int i = t->row + m * ROWS_STEP;
        if (i < many && t->columns && (l->of.edges == WITH_EDGES || (i >= t->low && i < t->high)))
            store_columns(t, to + m * ROWS_STEP * down, i, &y[m], dense, l);
    }
}

/* nodes: `node_count` items, if log is not 0. quads: of a row of the whole array. A tile has `each`
 * rows of results, which begin `shift` rows after the nodes' rows; `stored`: items in `states`.
 * Windows of `width` rows are folded. A tile has the quads column * TILE_QUADS and after of each
 * row; those of nodes are whole. */
KERNEL_OF(window_rows)
{
    LAUNCH_OF_PARAMETERS;
    const int row = thread_index() / TILE_QUADS, columns = log == 0;
    const int onto = l.what == FOLD_LAST_BITS || l.what == FOLD_RESULTS_ALONE;
    const i64 tiles = quads / TILE_QUADS; /* tiles of a row */
    levels v;
    v.w = (int)l.of.width << FIRST_LEVEL, v.top = l.top + FIRST_LEVEL, v.kept = l.kept;
    v.more = (int)log - FIRST_LEVEL, v.done = l.of.shift << log;

    for (i64 job = group_index(); job < l.jobs; job += group_count()) {
        const i64 chunk = quotient(job, tiles), group = job - chunk * tiles;
        const column_tile t = column_tile_of(&l, chunk, group);
        four y[THREAD_QUADS];
        quad_places at;
        at.first =
            (chunk * l.each + row) * quads + group * TILE_QUADS + thread_index() % TILE_QUADS;
        at.step = ROWS_STEP * quads, at.exist = 0;
        FOR(m, THREAD_QUADS)
            at.exist |= (row + m * ROWS_STEP < l.each && (at.first + m * at.step) * QUAD < stored)
                        << m;

        if (columns && (!SKIPS || l.what != FOLD_RESULTS_ALONE)) load_columns(y, &t, &l);
        UNROLL for (int m = 0; m < THREAD_QUADS && !columns; m++)
        {
            const i64 from = at.first + m * at.step + l.of.shift * quads;
            y[m] = nodes[from * QUAD < node_count ? from : 0];
        }

        if (columns) {
            const i64 next = job + group_count() < l.jobs ? job + group_count() : job;
            prefetch_columns(&l, quotient(next, tiles), next - quotient(next, tiles) * tiles);
        }

        double_quads((LOCAL four *)LOCAL_MEMORY, y, &v, FIRST_LEVEL, 0, 1);
        BARRIER();
        fold_onto(y, l.what, l.states, &at, &v);
        fold_bits((LOCAL const four *)LOCAL_MEMORY, y, &v);
        if (!columns || l.what == FOLD_LEVEL) store_quads(l.states, y, &at);
        if (columns) store_column_tile(&t, y, l.what == FOLD_LEVEL ? 0 : t.results, &l);
        BARRIER();
    }
}
#endif
