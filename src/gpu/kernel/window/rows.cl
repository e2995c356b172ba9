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

/* Programs of tables (TL_TABLE) have tiles of columns whose rows have any number of quads, which
 * the host chooses; see below. */

/* Blocks of a multiprocessor, which bounds the registers. */
#define ROWS_BLOCKS (sizeof(state) == 16 ? 2 : QUADS_BLOCKS)
fn int within(i64 i, i64 low, i64 high) { return (int)(i < low ? low : i > high ? high : i); }

#if TL_TABLE
/* x / n is x * part_of(n) >> PART_LOG, for the items x of a tile and n up to 64. */
enum { PART_LOG = 20 };
fn u32 part_of(int n) { return ((1u << PART_LOG) + (u32)n - 1) / (u32)n; }

/* The rows of a tile. Threads 0 to threads - 1 have quads: number m is in row row + m * step. */
typedef struct {
    int row_quads, rows, step, threads;
    int row, quad; /* of this thread's first quad; of threads without quads: 0 */
} tile_shape;

fn tile_shape shape_of(i64 row_quads)
{
    tile_shape t;
    t.row_quads = (int)row_quads, t.step = WINDOW_THREADS / t.row_quads;
    t.rows = THREAD_QUADS * t.step, t.threads = t.step * t.row_quads;
    const int me = thread_index() < t.threads ? thread_index() : 0;
    t.row = (int)((u32)me * part_of(t.row_quads) >> PART_LOG);
    t.quad = me - t.row * t.row_quads;
    return t;
}

/* A tile of columns. */
typedef struct {
    tile_shape shape;
    i64 first;      /* index of the element where the window of row 0 begins */
    i64 column;     /* its first column */
    int columns;    /* columns of it that exist */
    int low, high;  /* rows low <= i < high have whole windows */
    int results;    /* rows that have results */
    i64 side, down; /* bytes between elements: of columns, of rows */
} column_tile;

fn column_tile column_tile_of(const launch *l, tile_shape shape, i64 chunk, i64 group)
{
    column_tile t;
    const i64 w = length_in(l->of);

    t.shape = shape;
    t.column = group * shape.row_quads * QUAD;
    t.columns = within(l->b.seqs - t.column, 0, shape.row_quads * QUAD);
    t.first = l->of.at + chunk * l->each;
    t.low = within(-t.first, 0, shape.rows);
    t.high = within(l->b.n - w + 1 - t.first, 0, shape.rows);
    t.results = within(l->of.count - chunk * l->each, 0, l->each);
    t.side = l->b.row_stride * TL_SIZE, t.down = l->b.stride * TL_SIZE;
    return t;
}

/* Element number i of a tile, whose rows have t->columns elements, one row after the other. */
typedef struct {
    int row, place; /* place: in local memory */
    i64 byte;
} tile_element;

fn tile_element element_in(const column_tile *t, int i, u32 part, i64 side, i64 down)
{
    tile_element e;
    e.row = (int)((u32)i * part >> PART_LOG);
    const int column = i - e.row * t->columns;
    e.place = place_of(e.row * t->shape.row_quads * QUAD + column);
    e.byte = down == t->columns * side ? i * side : e.row * down + column * side;
    return e;
}

/* Loads and lifts a thread's elements: by quads if these are aligned, else one by one, so that
 * neighbouring threads load neighbouring elements, and by local memory. Elements that do not exist
 * are skipped; no result uses them. */
fn void load_columns(LOCAL four *z, four *y, const column_tile *t, const launch *l)
{
    enum { MANY = 4 }; /* elements of a thread at a time */
    const batch b = l->b;
    const i64 item = t->first + l->of.shift; /* of row 0 */
    GLOBAL const u8 *const x = b.x + t->column * t->side + item * t->down;
    const int inside = item >= 0 && item + t->shape.rows <= b.n;
    const int low = within(-item, 0, t->shape.rows), high = within(b.n - item, 0, t->shape.rows);
    const int quads = inside && t->columns == t->shape.row_quads * QUAD && t->side == TL_SIZE &&
                      ADDRESS(x) % QUAD_ALIGN == 0 && t->down % (i64)QUAD_ALIGN == 0;
    const int whole = ADDRESS(x) % TL_SIZE == 0, end = SKIPS && quads ? 0 : high * t->columns;
    const u32 part = part_of(t->columns > 0 ? t->columns : 1);

    if (quads) {
        quad e[THREAD_QUADS];
        GLOBAL const u8 *const mine =
            x + t->shape.row * t->down + t->shape.quad * (i64)sizeof(quad);
        UNROLL for (int m = 0; m < THREAD_QUADS; m++) e[m] =
            *(GLOBAL const quad *)(mine + m * t->shape.step * t->down);
        UNROLL for (int m = 0; m < THREAD_QUADS; m++)
        {
            elem each_[QUAD];
            put_quad(each_, e[m]);
            UNROLL for (int c = 0; c < QUAD; c++) y[m].s[c] =
                lift(each_[c], item + t->shape.row + m * t->shape.step, b.p);
        }
        if (SKIPS) return;
    }

    ROLLED for (int i = low * t->columns + thread_index(); i < end; i += MANY * WINDOW_THREADS)
    {
        elem e[MANY];
        tile_element at[MANY];
        UNROLL for (int k = 0; k < MANY; k++)
        {
            const int j = i + k * WINDOW_THREADS;
            at[k] = element_in(t, j < end ? j : i, part, t->side, t->down);
        }
        if (whole) {
            UNROLL for (int k = 0; k < MANY; k++) e[k] = *(GLOBAL const elem *)(x + at[k].byte);
        } else {
            UNROLL for (int k = 0; k < MANY; k++) e[k] = load_bytes(x + at[k].byte);
        }
        UNROLL for (int k = 0; k < MANY; k++)((LOCAL state *)z)[at[k].place] =
            lift(e[k], item + at[k].row, b.p);
    }
    BARRIER();
    if (!SKIPS || !quads) {
        UNROLL for (int m = 0; m < THREAD_QUADS; m++) y[m] =
            get_four(z, m * t->shape.threads + thread_index());
    }
}

/* Prefetches the rows of a tile of columns: the first and the last element of each. */
fn void prefetch_columns(const launch *l, tile_shape t, i64 chunk, i64 group)
{
    const i64 first = l->of.at + chunk * l->each + l->of.shift, step = t.row_quads * QUAD,
              column = group * step, last = column + step < l->b.seqs ? column + step : l->b.seqs;
    for (int k = thread_index(); k < t.rows; k += WINDOW_THREADS) {
        const i64 i = first + k;
        if (i < 0 || i >= l->b.n) continue;
        PREFETCH(l->b.x + (column * l->b.row_stride + i * l->b.stride) * TL_SIZE);
        if (step > LINE_ITEMS / 2)
            PREFETCH(l->b.x + ((last - 1) * l->b.row_stride + i * l->b.stride) * TL_SIZE);
    }
}

/* True if the window of row i is inside its column, and long enough for a result. */
fn int has_result(const column_tile *t, const launch *l, int i)
{
    return i >= t->low && i < t->high && length_in(l->of) >= l->of.least;
}

fn int stores_row(const column_tile *t, const launch *l, int i, int many)
{
    return i < many && (l->of.edges == EDGES_TOO || (i >= t->low && i < t->high));
}

/* Stores a tile's results: by quads if these are aligned, else one by one, by local memory. many:
 * rows of the tile that have any. */
fn void store_columns(LOCAL four *z, const column_tile *t, const four *y, int many, const launch *l)
{
    const i64 side = l->out.row_stride * RESULT_BYTES, down = l->out.stride * RESULT_BYTES;
    const i64 back = l->of.valid ? 0 : l->of.before, w = length_in(l->of);
    const int wide = t->shape.row_quads * QUAD;
    const par p = l->b.p;
    GLOBAL u8 *const to = l->out.x + t->column * side + (t->first + back) * down;
    const u32 part = part_of(t->columns > 0 ? t->columns : 1);
    int some = many * t->columns;

#if OP_LANES == 1
    if (t->columns == wide && side == sizeof(result) && ADDRESS(to) % QUAD_OUT_ALIGN == 0 &&
        down % (i64)QUAD_OUT_ALIGN == 0) {
        GLOBAL u8 *const mine = to + t->shape.row * down + t->shape.quad * (i64)sizeof(result_quad);
        UNROLL for (int m = 0; m < THREAD_QUADS; m++)
        {
            const int i = t->shape.row + m * t->shape.step;
            const i64 first = t->first + i;
            result_quad q;
            q.x = lower(y[m].s[0], (real)w, first, p), q.y = lower(y[m].s[1], (real)w, first, p);
            q.z = lower(y[m].s[2], (real)w, first, p), q.w = lower(y[m].s[3], (real)w, first, p);
            if (!has_result(t, l, i)) q.x = q.y = q.z = q.w = empty(p);
            if (thread_index() < t->shape.threads && stores_row(t, l, i, many))
                *(GLOBAL result_quad *)(mine + m * t->shape.step * down) = q;
        }
        some = 0;
    }
    if (SKIPS && !some) return;
#endif

    BARRIER();
    UNROLL for (int m = 0; m < THREAD_QUADS; m++)
    {
        if (thread_index() < t->shape.threads)
            put_four(z, m * t->shape.threads + thread_index(), y[m]);
    }
    BARRIER();
    for (int k = thread_index(); k < some; k += WINDOW_THREADS) {
        const tile_element e = element_in(t, k, part, side, down);
        const state s = ((LOCAL const state *)z)[e.place];
        const int has = has_result(t, l, e.row);
        if (!stores_row(t, l, e.row, many)) continue;
#if OP_LANES == 1
        if (SKIPS && ADDRESS(to) % sizeof(result) == 0) {
            *(GLOBAL result *)(to + e.byte) =
                has ? lower(s, (real)w, t->first + e.row, p) : empty(p);
            continue;
        }
#endif
        maybe v;
        v.s = s, v.have = has;
        store_maybe(to + e.byte, v, w, t->first + e.row, p);
    }
}

/* A tile has row_quads quads of each row, and as many rows as fit; so the item r rows further is
 * r * row_quads quads further. `each` rows have results. */
KERNEL_OF(window_rows)
{
    enum { LEVEL = 2 }; /* of quads.cl: its nodes begin a quad apart */
    LAUNCH_OF_PARAMETERS;
    LOCAL four *const z = (LOCAL four *)LOCAL_MEMORY;
    const tile_shape shape = shape_of(row_quads);
    const i64 tiles = quads / row_quads; /* tiles of a row */
    levels v;
    v.w = (int)l.of.width << LEVEL, v.top = l.top + LEVEL, v.kept = l.kept;
    v.more = -LEVEL, v.row = shape.row_quads, v.threads = shape.threads, v.done = 0;

    for (i64 job = group_index(); job < l.jobs; job += group_count()) {
        const i64 chunk = quotient(job, tiles), group = job - chunk * tiles;
        const column_tile t = column_tile_of(&l, shape, chunk, group);
        const i64 next = job + group_count() < l.jobs ? job + group_count() : job;
        four y[THREAD_QUADS];

        load_columns(z, y, &t, &l);
        prefetch_columns(&l, shape, quotient(next, tiles), next - quotient(next, tiles) * tiles);
        double_quads(z, y, &v, LEVEL, 0, 1);
        BARRIER();
        fold_bits(z, y, &v);
        store_columns(z, &t, y, t.results, &l);
        BARRIER();
    }
}

#else
enum {
    TILE_QUADS = THREAD_QUADS,               /* quads of a row */
    FIRST_LEVEL = QUADS_LOG - TILE_ROWS_LOG, /* log2 of the items of a row */
    COLUMNS = 1 << FIRST_LEVEL,
    ROWS_STEP = WINDOW_THREADS / TILE_QUADS /* rows between a thread's quads */
};

/* A tile of columns, and the quads of it that a thread has. */
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

    t.row = thread_index() / TILE_QUADS;
    t.column = group * COLUMNS + thread_index() % TILE_QUADS * QUAD;
    t.columns = within(l->b.seqs - t.column, 0, QUAD), t.first = l->of.at + chunk * l->each;
    t.low = within(-t.first, 0, TILE_ROWS);
    t.high = within(l->b.n - w + 1 - t.first, 0, TILE_ROWS);
    t.results = within(l->of.count - chunk * l->each, 0, l->each);
    t.side = l->b.row_stride * TL_SIZE, t.down = l->b.stride * TL_SIZE;
    return t;
}

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
        UNROLL for (int m = 0; m < THREAD_QUADS; m++) e[m] =
            *(GLOBAL const quad *)(x + m * ROWS_STEP * t->down);
    } else {
        UNROLL for (int m = 0; m < THREAD_QUADS; m++)
        {
            const i64 at = item + t->row + m * ROWS_STEP, i = at < 0 ? 0 : at < b.n ? at : b.n - 1;
            e[m] = gather(x + (i - at + m * ROWS_STEP) * t->down, t->side, 0,
                          t->columns ? t->columns : 1);
        }
    }

    UNROLL for (int m = 0; m < THREAD_QUADS; m++)
    {
        elem each_[QUAD];
        put_quad(each_, e[m]);
        UNROLL for (int c = 0; c < QUAD; c++) y[m].s[c] =
            lift(each_[c], item + t->row + m * ROWS_STEP, b.p);
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

    UNROLL for (int c = 0; c < QUAD; c++)
    {
        maybe m;
        m.s = v->s[c], m.have = whole;
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

    UNROLL for (int m = 0; m < THREAD_QUADS; m++)
    {
        const int i = t->row + m * ROWS_STEP;
        if (i < many && t->columns && (l->of.edges == EDGES_TOO || (i >= t->low && i < t->high)))
            store_columns(t, to + m * ROWS_STEP * down, i, &y[m], dense, l);
    }
}

/* nodes: `node_count` items, if log is not 0. quads: of a row of the whole array. A tile has `each`
 * rows of results, which begin `shift` rows after the nodes' rows; `stored`: items in `states`.
 * Windows of `width` rows are folded. A tile has the quads column * TILE_QUADS and after of each
 * row; quads of nodes are always whole. */
KERNEL_OF(window_rows)
{
    LAUNCH_OF_PARAMETERS;
    const int row = thread_index() / TILE_QUADS, columns = log == 0;
    const int onto = l.what == PART_LAST_BITS || l.what == PART_RESULTS_ALONE;
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
        UNROLL for (int m = 0; m < THREAD_QUADS; m++) at.exist |=
            (row + m * ROWS_STEP < l.each && (at.first + m * at.step) * QUAD < stored) << m;

        if (columns && (!SKIPS || l.what != PART_RESULTS_ALONE)) load_columns(y, &t, &l);
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
        if (!columns || l.what == PART_LEVEL) store_quads(l.states, y, &at);
        if (columns) store_column_tile(&t, y, l.what == PART_LEVEL ? 0 : t.results, &l);
        BARRIER();
    }
}
#endif
