/* SPDX-License-Identifier: MIT
 * Level 1 for sequences that lie across (columns): neighbouring lanes take neighbouring columns, so
 * that a warp reads whole cache lines. Of few columns, the lanes of a warp take several parts of
 * the same chunk:
 *
 *   32 columns   lane = column                     3 columns   lane = 4 part + column, 8 parts
 *                0 1 2 3 ... 31                                0 1 2 . | 0 1 2 . | 0 1 2 . | ...
 *
 * 2^log columns, the least power of two for all columns, share a warp; log is 1 to 5. */

/* The node of n neighbouring states, which it overwrites. Loops with a halving bound are not
 * unrolled; v would then be in local memory, and 3 times as slow. */
fn state fold_states(state *v, const int n, const i64 unit)
{
    FOR(k, 4)
        UNROLL for (int i = 0; i + (1 << k) < n; i += 2 << k) v[i] =
            TWIN(v[i], v[i + (1 << k)], unit << k);
    return v[0];
}

/* Items of a column: elements, or (of_states) nodes of `unit` elements. x: the first one, which has
 * index `at`; step: the bytes between items. */
typedef struct {
    GLOBAL const u8 *x;
    i64 step, at, unit;
} column_items;

/* Loads n <= most elements, `step` bytes apart. */
fn void load_few(elem *e, const int most, GLOBAL const u8 *x, i64 step, int n)
{
    if (ADDRESS(x) % TL_SIZE == 0) {
        UNROLL for (int k = 0; k < most; k++, x += step)
        {
            if (k < n) e[k] = *(GLOBAL const elem *)x;
        }
    } else {
        FOR(k, most) {
            if (k < n) e[k] = load_bytes(x + k * step);
        }
    }
}

/* Folds `count` items. It leaves a node in `stack` for each set bit of count, the highest first. */
fn void fold_down(column_items c, int count, par p, state *stack, const int of_states)
{
    enum { STEP = sizeof(state) > 8 ? 8 : 16 }; /* items in registers at a time */
    int top = 0;
    state v[STEP];
    elem e[STEP];

    for (int j = 0; j < count / STEP; j++, c.at += STEP) {
        if (!of_states) load_down(e, STEP, c.x, c.step, STEP);
        FOR(k, STEP)
            v[k] =
                of_states ? *(GLOBAL const state *)(c.x + k * c.step) : lift_e(e[k], c.at + k, p);
        c.x += STEP * c.step;

        state one = fold_states(v, STEP, c.unit);
        for (int t = j, n = STEP; t & 1; t >>= 1, n *= 2) one = TWIN(stack[--top], one, n * c.unit);
        stack[top++] = one;
    }

    const int rest = count % STEP;
    if (!rest) return;

    if (of_states) {
        FOR(k, STEP - 1) {
            if (k < rest) v[k] = *(GLOBAL const state *)(c.x + k * c.step);
        }
    } else {
        load_few(e, STEP - 1, c.x, c.step, rest);
    }

    FOR(k, STEP - 1) {
        if (k >= rest) continue;
        state one = of_states ? v[k] : lift_e(e[k], c.at + k, p);
        for (int i = 0; k >> i & 1; i++) one = TWIN(stack[--top], one, c.unit << i);
        stack[top++] = one;
    }
}

fn state fold_column(GLOBAL const u8 *x, i64 step, i64 at, int size, par p)
{
    const column_items c = {x, step, at, 1};
    state stack[8];
    fold_down(c, size, p, stack, 0);
    return stack[0];
}

/* A chunk of 2^log columns, of which `columns` exist, in parts of `size` elements. */
typedef struct {
    int parts, size, log, threads;
    i64 columns;
} chunk_parts;

/* Joins the nodes of the parts, [part][column], and stores the chunk's nodes `step` apart. */
fn void join_parts(LOCAL state *node, chunk_parts c, GLOBAL state *to, i64 step)
{
    const int t = thread_index(), last = (1 << c.log) - 1;
    for (int k = 1; c.parts >> k; k++) { /* nodes of 2^k parts */
        for (int i = t; i < c.parts >> k << c.log; i += c.threads) {
            LOCAL state *const left = node + (i >> c.log << (c.log + k)) + (i & last);
            if ((i & last) < c.columns)
                *left = TWIN(*left, left[1 << (c.log + k - 1)], (i64)c.size << (k - 1));
        }
        BARRIER();
    }

    if (t <= last && t < c.columns) to[t * step] = node[t];
}

/* Columns of a thread, STEP elements of each of which are in registers at a time. */
enum {
    EACH_LOG = COLUMNS_EACH_LOG(TL_SIZE, sizeof(state)),
    EACH = 1 << EACH_LOG,
    STEP = (TL_SIZE < 4 ? 2 : EACH) * (int)sizeof(state) > 8 ? 8 : 16
};

/* Whether a thread's columns are neighbours, of which one load takes a row: aligned words. */
fn int has_words(batch b)
{
    return (EACH > 1 ? EACH * TL_SIZE * OP_INPUTS : 0) == 4 && b.row_stride == 1 &&
           b.seqs % EACH == 0 && b.stride % EACH == 0 && ADDRESS(b.x) % 4 == 0;
}

#ifndef LOAD_NEAR
#define LOAD_NEAR(p) (*(p))
#endif

/* Loads n elements of a column, `step` bytes apart. */
fn void load_column(elem *e, const int n, GLOBAL const u8 *x, i64 step)
{
#if TL_SIZE == 4 || TL_SIZE == 8
    if (ADDRESS(x) % TL_SIZE == 0) {
        FOR(i, n) e[i] = LOAD_NEAR((GLOBAL const elem *)(x + i * step));
        return;
    }
#endif
    load_down(e, n, x, step, n);
}

/* Loads STEP elements of each of them. x: the first one's; apart: bytes to the others. */
fn void load_columns(elem e[EACH][STEP], GLOBAL const u8 *x, const i64 *apart, i64 step, int words)
{
#if OP_INPUTS == 1 && TL_SIZE < 4
    if (words) {
        u32 w[STEP];
        FOR(i, STEP) {
            GLOBAL const u32 *const at = (GLOBAL const u32 *)(x + apart[0] + i * step);
            w[i] = TL_SIZE == 1 ? *at : LOAD_NEAR(at);
        }
        FOR(k, EACH)
            FOR(i, STEP) e[k][i] = (elem)(w[i] >> 8 * TL_SIZE * k);
        return;
    }
#endif
    FOR(k, EACH) load_column(e[k], STEP, x + apart[k], step);
}

/* Folds `size` elements of each of them: STEP, or of larger states a multiple. c: of the
 * first one. */
fn void fold_columns(state *v, column_items c, const i64 *apart, int size, int words, par p)
{
    state stack[4][EACH];
    int top = 0;

    for (int j = 0; j < size / STEP; j++, c.at += STEP, c.x += STEP * c.step) {
        elem e[EACH][STEP];
        load_columns(e, c.x, apart, c.step, words);
        FOR(k, EACH) {
            state one[STEP];
            FOR(i, STEP) one[i] = lift_e(e[k][i], c.at + i, p);
            v[k] = fold_states(one, STEP, 1);
        }
        for (int t = j, n = STEP; t & 1; t >>= 1, n *= 2) {
            top--;
            FOR(k, EACH) v[k] = TWIN(stack[top][k], v[k], n);
        }

        if (sizeof(state) <= 4 || j + 1 == size / STEP) return;
        FOR(k, EACH) stack[top][k] = v[k];
        top++;
    }
}

/* A block takes a chunk of `size` elements of 2^log columns; blocks go along all columns before the
 * next chunk. The threads of a block go down the chunk together, so that few places of memory are
 * read at once: part q of the chunk is that of the threads q modulo their number. The node of chunk
 * c of column s is stored at s * across + c * down. */
KERNEL_OF(columns)
{
    enum { NODES = COLUMN_NODES(sizeof(state)) };
    SHARED state node[NODES];
    BATCH_OF_PARAMETERS;
    const int each = (int)(size << log) / NODES, part = each > STEP ? each : STEP,
              parts = (int)size / part, t = thread_index(), lanes = 1 << (log - EACH_LOG),
              words = has_words(b), column = (t & (lanes - 1)) << (words ? EACH_LOG : 0),
              beside = words ? 1 : lanes; /* from a thread's column to its next one */
    const i64 groups = ((b.seqs - 1) >> log) + 1, c = group_index() / groups,
              first = (group_index() - c * groups) << log, left = b.seqs - first;
    i64 apart[EACH];
    state v[EACH];

    /* Where there is no column, the first one is folded again. */
    FOR(k, EACH)
        apart[k] = (column + k * beside < left ? column + k * beside : 0) * b.row_stride * TL_SIZE;
    LET_FOLLOW();
    for (int q = t / lanes; q < parts; q += WHOLE_THREADS / lanes) {
        const i64 at = c * size + q * part;
        const column_items items = {b.x + (first * b.row_stride + at * b.stride) * TL_SIZE,
                                    b.stride * TL_SIZE, at, 1};
        fold_columns(v, items, apart, part, words, b.p);
        FOR(k, EACH) node[(q << log) + column + k * beside] = v[k];
    }

    BARRIER();
    const chunk_parts p = {parts, part, (int)log, WHOLE_THREADS, left};
    join_parts(node, p, to + first * across + c * down, across);
}

#ifdef COPY_UNIT
/* Rows of a table in local memory: `parts` parts of `units` > 1 units of 16 bytes, `pitch` bytes
 * apart, so that the lanes of a warp read different banks. */
typedef struct {
    LOCAL u8 *at;
    int parts, units, pitch;
} staged_rows;

/* Copies them from or (back) to contiguous memory, as thread t of `threads`. */
fn void copy_rows(staged_rows r, GLOBAL u8 *x, int t, int threads, const int back)
{
    const u32 part_of = ~(u32)0 / (u32)r.units + 1; /* exact below 2^16 units in all */
    for (int u = t; u < r.parts * r.units; u += threads) {
        const int part = (int)((u64)u * part_of >> 32);
        LOCAL u8 *const at = r.at + part * r.pitch + (u - part * r.units) * 16;
        if (back)
            *(GLOBAL bundle *)(x + u * 16) = *(LOCAL const bundle *)at;
        else
            COPY_UNIT(at, x + u * 16);
    }
    if (!back) COPY_WAIT();
}

/* The same for tables whose rows are shorter than what a warp reads at once: a block copies its
 * chunk, which is contiguous, to local memory. The first element is aligned to 16 bytes, and
 * `pitch` is a multiple of 16. */
KERNEL_OF(table_columns)
{
    SHARED state node[COLUMN_THREADS];
    BATCH_OF_PARAMETERS;
    const int parts = COLUMN_THREADS >> log, part_size = (int)size / parts,
              line = (int)b.seqs * TL_SIZE;
    const int t = thread_index(), part = t >> log, s = t & ((1 << log) - 1);
    const i64 c = group_index();
    const staged_rows r = {LOCAL_MEMORY, parts, part_size * line / 16, (int)pitch};
    const chunk_parts all = {parts, part_size, (int)log, COLUMN_THREADS, b.seqs};

    LET_FOLLOW();
    copy_rows(r, (GLOBAL u8 *)b.x + c * size * line, t, COLUMN_THREADS, 0);
    BARRIER();
    if (s < b.seqs)
        node[t] = fold_column(r.at + part * r.pitch + s * TL_SIZE, line,
                              c * size + part * part_size, part_size, b.p);
    BARRIER();
    join_parts(node, all, to + c * down, across);
}
#endif
