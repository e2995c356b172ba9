/* SPDX-License-Identifier: MIT
 * Computes the nodes of chunks, level by level, for reduce and scan. */

/* Returns S after `before` and `count` < 32 nodes of n elements; lane k has node k. before: a state
 * of `done` elements. */
fn maybe append_lanes(maybe before, amount done, state node, amount n, int count, LOCAL state *box)
{
    state left[5];
    if (SKIPS && count == 0) return before;
    row_node_s(node, n, left, box);
    /* lane `count` has the fold of `before` and the nodes to its left */
    before.s = from_lane(row_start_s(before, done, n, left).s, count, box);
    before.have = before.have || count;
    return before;
}

/* Returns the node of the full chunk at `at`. */
fn state node_of_chunk(batch b, i64 from, i64 at, LOCAL state *box)
{
#if PARTIALS && !FINDS
    return chunk_partials(b, from, at, box);
#elif MOMENTS
    return chunk_moments(b, from, at, box);
#else
    return chunk_node_e(b, from, at, 1, box);
#endif
}

/* Level 1: a warp computes the node of one chunk at a time. Of segments it takes neighbouring ones
 * and searches once. */
fn void chunk_nodes(batch b, GLOBAL state *to, i64 jobs, LOCAL state *box)
{
#if SEGMENTS
    const i64 each = (jobs + warp_count() - 1) / warp_count(), first = warp_index() * each,
              end = first + each < jobs ? first + each : jobs;
    i64 s = first < end ? sequence_of(b, 1, 0, first) : 0, at = first - level_first(b, 1, s);

    for (i64 job = first; job < end; job++, at++) {
        if (at == length_of(b, s) >> ELEMENTS_LOG) s++, at = 0;
        const state v = node_of_chunk(b, start_of(b, s), at * CHUNK, box);
        if (lane_index() == 0) to[job] = v;
    }
#else
    for (i64 job = warp_index(); job < jobs; job += warp_count()) {
        const i64 s = sequence_of(b, 1, 0, job);
        const i64 at = (job - level_first(b, 1, s)) * CHUNK_e;
        const state v = node_of_chunk(b, start_of(b, s), at, box);
        if (lane_index() == 0) to[job] = v;
    }
#endif
}

/* A higher level: a warp computes one node from those of the level below. */
fn void higher_nodes(batch b, GLOBAL state *nodes, int level, i64 jobs, LOCAL state *box)
{
    GLOBAL state *const to = nodes + level_base(b, level);
    b.x = (GLOBAL const u8 *)(nodes + level_base(b, level - 1));
    for (i64 job = warp_index(); job < jobs; job += warp_count()) {
        const i64 s = sequence_of(b, level, 0, job);
        const i64 at = (job - level_first(b, level, s)) * CHUNK_s;
        const state v =
            chunk_node_s(b, level_first(b, level - 1, s), at, level_size(level - 1), box);
        if (lane_index() == 0) to[job] = v;
    }
}

/* Computes the nodes of level `level`. nodes: all levels, level 1 first. Where exchanges have
 * barriers (SKIPS is 0), they must not be in a branch: there one of the two calls has no jobs. */
KERNEL_OF(nodes)
{
    BATCH_OF_PARAMETERS;
    BOX const int first = level == 1;
    if (!SKIPS || first) chunk_nodes(b, nodes, first ? jobs : 0, box);
    if (!SKIPS) WARP_BARRIER();
    if (!SKIPS || !first) higher_nodes(b, nodes, (int)level, first ? 0 : jobs, box);
}

#if HAS_COLUMNS
/* ---- columns ----
 *
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
    UNROLL for (int k = 0; k < 4; k++) UNROLL for (int i = 0; i + (1 << k) < n; i += 2 << k) v[i] =
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
        UNROLL for (int k = 0; k < most; k++)
        {
            if (k < n) e[k] = *(GLOBAL const elem *)(x + k * step);
        }
    } else {
        UNROLL for (int k = 0; k < most; k++)
        {
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
        UNROLL for (int k = 0; k < STEP; k++) v[k] =
            of_states ? *(GLOBAL const state *)(c.x + k * c.step) : lift_e(e[k], c.at + k, p);
        c.x += STEP * c.step;

        state one = fold_states(v, STEP, c.unit);
        for (int t = j, n = STEP; t & 1; t >>= 1, n *= 2) one = TWIN(stack[--top], one, n * c.unit);
        stack[top++] = one;
    }

    const int rest = count % STEP;
    if (!rest) return;

    if (of_states) {
        UNROLL for (int k = 0; k < STEP - 1; k++)
        {
            if (k < rest) v[k] = *(GLOBAL const state *)(c.x + k * c.step);
        }
    } else {
        load_few(e, STEP - 1, c.x, c.step, rest);
    }

    UNROLL for (int k = 0; k < STEP - 1; k++)
    {
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
        UNROLL for (int i = 0; i < n; i++) e[i] = LOAD_NEAR((GLOBAL const elem *)(x + i * step));
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
        UNROLL for (int i = 0; i < STEP; i++)
        {
            GLOBAL const u32 *const at = (GLOBAL const u32 *)(x + apart[0] + i * step);
            w[i] = TL_SIZE == 1 ? *at : LOAD_NEAR(at);
        }
        UNROLL for (int k = 0; k < EACH; k++) UNROLL for (int i = 0; i < STEP; i++) e[k][i] =
            (elem)(w[i] >> 8 * TL_SIZE * k);
        return;
    }
#endif
    UNROLL for (int k = 0; k < EACH; k++) load_column(e[k], STEP, x + apart[k], step);
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
        UNROLL for (int k = 0; k < EACH; k++)
        {
            state one[STEP];
            UNROLL for (int i = 0; i < STEP; i++) one[i] = lift_e(e[k][i], c.at + i, p);
            v[k] = fold_states(one, STEP, 1);
        }
        for (int t = j, n = STEP; t & 1; t >>= 1, n *= 2) {
            top--;
            UNROLL for (int k = 0; k < EACH; k++) v[k] = TWIN(stack[top][k], v[k], n);
        }

        if (sizeof(state) <= 4 || j + 1 == size / STEP) return;
        UNROLL for (int k = 0; k < EACH; k++) stack[top][k] = v[k];
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
    UNROLL for (int k = 0; k < EACH; k++) apart[k] =
        (column + k * beside < left ? column + k * beside : 0) * b.row_stride * TL_SIZE;
    LET_FOLLOW();
    for (int q = t / lanes; q < parts; q += WHOLE_THREADS / lanes) {
        const i64 at = c * size + q * part;
        const column_items items = {b.x + (first * b.row_stride + at * b.stride) * TL_SIZE,
                                    b.stride * TL_SIZE, at, 1};
        fold_columns(v, items, apart, part, words, b.p);
        UNROLL for (int k = 0; k < EACH; k++) node[(q << log) + column + k * beside] = v[k];
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

/* Of n <= most <= PART elements from index `at` on, a multiple of PART: node[i], the last of
 * 2^i. */
typedef struct {
    state node[PART_LOG + 1];
} few_nodes;

fn few_nodes fold_few(const elem *e, const int most, int at, int n, par p)
{
    few_nodes f;
    UNROLL for (int k = 0; k < most; k++)
    {
        if (k >= n) continue;
        state v = lift_e(e[k], at + k, p);
        UNROLL for (int i = 0; i <= PART_LOG; i++)
        {
            const int left = (k + 1) % (2 << i);
            if (left == 0) v = TWIN(f.node[i], v, 1 << i);
            if (left == 1 << i) f.node[i] = v;
        }
    }
    return f;
}

fn maybe append_few(maybe before, const few_nodes *f, i64 at, int n)
{
    UNROLL for (int i = PART_LOG - 1; i >= 0; i--)
    {
        if (!(n >> i & 1)) continue;
        if (before.have) /* else a division for nothing */
            before = then(before, f->node[i], at + (n >> (i + 1) << (i + 1)), 1 << i);
        else
            before.s = f->node[i], before.have = 1;
    }
    return before;
}

/* The result of column s of n <= most elements. */
fn void store_few(batch b, results out, i64 s, const elem *e, const int most)
{
    const int n = (int)b.n;
    const few_nodes f = fold_few(e, most, 0, n, b.p);
    store_reduced(out, b, s, append_few(nothing(b.p), &f, 0, n), n);
}

/* Columns of at most PART / each elements: a thread has `each`, WHOLE_THREADS apart. */
fn void pack_few(batch b, results out, const int each)
{
    const int most = PART / each;
    const i64 first = group_index() * WHOLE_THREADS * each + thread_index();
    elem e[PART];
    UNROLL for (int c = 0; c < each; c++)
    {
        const i64 s = first + c * WHOLE_THREADS;
        if (s < b.seqs)
            load_few(e + c * most, most, b.x + s * b.row_stride * TL_SIZE, b.stride * TL_SIZE,
                     (int)b.n);
    }
    UNROLL for (int c = 0; c < each; c++)
    {
        const i64 s = first + c * WHOLE_THREADS;
        if (s < b.seqs) store_few(b, out, s, e + c * most, most);
    }
}

/* The same of words: a word has the elements of a row of EACH neighbouring columns. */
fn void pack_words(batch b, results out, const int each)
{
#if TL_SIZE < 4 && OP_INPUTS == 1
    const int most = PART / each, n = (int)b.n;
    const i64 step = b.stride * TL_SIZE,
              first = (group_index() * WHOLE_THREADS * each + thread_index()) * EACH;
    u32 w[PART];
    UNROLL for (int c = 0; c < each; c++)
    {
        const i64 s = first + c * WHOLE_THREADS * EACH;
        if (s >= b.seqs) continue;
        UNROLL for (int k = 0; k < most; k++)
        {
            if (k < n) w[c * most + k] = *(GLOBAL const u32 *)(b.x + s * TL_SIZE + k * step);
        }
    }
    UNROLL for (int c = 0; c < each; c++) UNROLL for (int i = 0; i < EACH; i++)
    {
        const i64 s = first + c * WHOLE_THREADS * EACH + i;
        elem e[PART];
        UNROLL for (int k = 0; k < most; k++) e[k] = (elem)(w[c * most + k] >> i * TL_SIZE * 8);
        if (s < b.seqs) store_few(b, out, s, e, most);
    }
#endif
}

/* Appends the nodes of `count` parts of `size` elements from element `at` on to `before`. The nodes
 * lie 2^log apart and are overwritten. */
fn maybe append_nodes(maybe before, LOCAL state *node, int count, int size, i64 at, int log)
{
    for (int k = PARTS_LOG; k >= 0; k--) {
        if (!(count >> k & 1)) continue;
        for (int by = 1; by < 1 << k; by *= 2)
            for (int i = 0; i < 1 << k; i += 2 * by)
                node[i << log] = TWIN(node[i << log], node[(i + by) << log], (i64)size * by);
        before = then(before, *node, at, (i64)size << k);
        node += 1 << k << log, at += size << k;
    }
    return before;
}

/* The node of the PART elements of a column from index `at` on. */
fn state fold_part(GLOBAL const u8 *x, i64 step, int at, par p)
{
    elem e[PART];
    load_column(e, PART, x, step);
    return fold_few(e, PART, at, PART, p).node[PART_LOG];
}

/* The same of PART << more elements. */
fn state fold_large_part(GLOBAL const u8 *x, i64 step, int at, int more, par p)
{
    state v, left[PACK_MORE(sizeof(state)) + 1];
    for (int j = 1; j <= 1 << more; j++, at += PART, x += PART * step) {
        v = fold_part(x, step, at, p);
        UNROLL for (int i = 0; i < PACK_MORE(sizeof(state)); i++)
        {
            const int last = j & ((2 << i) - 1);
            if (last == 0) v = TWIN(left[i], v, PART << i);
            if (last == 1 << i) left[i] = v;
        }
    }
    return v;
}

/* The threads of a column take parts of PART << more elements in turns, and then parts of PART, so
 * that they go down together; the one that has the elements after the last part computes the
 * result. */
fn void pack_parts(batch b, results out, int log, const int more, LOCAL state *node)
{
    const int t = thread_index(), column = t & ((1 << log) - 1), turns = WHOLE_THREADS >> log,
              turn = t >> log, n = (int)b.n, size = PART << more, large = n / size,
              small = n % size / PART, parts = large + small, rest = n % PART;
    const i64 s = (group_index() << log) + column, step = b.stride * TL_SIZE;
    const int has = s < b.seqs, last = has && turn == (parts & (turns - 1));
    GLOBAL const u8 *const x = b.x + s * b.row_stride * TL_SIZE;
    elem e[PART];
    few_nodes few;

    for (int part = turn; has && part < parts; part += turns) {
        const int at = part < large ? part * size : large * size + (part - large) * PART;
        node[(part << log) + column] = more && part < large
                                           ? fold_large_part(x + at * step, step, at, more, b.p)
                                           : fold_part(x + at * step, step, at, b.p);
    }
    if (last) {
        load_few(e, PART - 1, x + (n - rest) * step, step, rest);
        few = fold_few(e, PART - 1, n - rest, rest, b.p);
    }
    BARRIER();
    if (last) {
        node += column;
        maybe all = append_nodes(nothing(b.p), node, large, size, 0, log);
        if (more) all = append_nodes(all, node + (large << log), small, PART, large * size, log);
        store_reduced(out, b, s, append_few(all, &few, n - rest, rest), n);
    }
}

#define PACK_BLOCKS \
    (TL_SIZE == 4 && sizeof(state) > 8 && sizeof(state) <= 16 ? 4 \
     : TL_SIZE > 4 || sizeof(state) > 4                       ? 3 \
     : TL_SIZE == 2                                           ? 4 \
                                                              : 5)
/* Short columns, if they are many: a block has 2^log; of fewer than PART elements, its threads have
 * some columns or words each. */
KERNEL_OF(pack_columns)
{
    SHARED state node[COLUMN_NODES(sizeof(state))];
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    const int each = b.n < PART ? PACK_EACH(b.n) : 0;
    if (each == 4)
        words ? pack_words(b, out, 4) : pack_few(b, out, 4);
    else if (each == 2)
        words ? pack_words(b, out, 2) : pack_few(b, out, 2);
    else if (each)
        words ? pack_words(b, out, 1) : pack_few(b, out, 1);
#ifdef TL_CUDA /* PoCL compiles two such calls wrongly (test_opencl.sh) */
    else if (PACK_MORE(sizeof(state)) && more)
        pack_parts(b, out, (int)log, (int)more, node);
#endif
    else
        pack_parts(b, out, (int)log, 0, node);
}

/* n items of a column in parts of 2^size_log; an item has `unit` elements, and `before` elements
 * are before the first. A block has 2^log columns; has: this thread's column is of the batch. */
typedef struct {
    int n, size_log, unit, log, has;
    i64 before;
} column_parts;

/* Folds the items of a column: each thread its part, whose nodes it leaves in `stack`; then full
 * parts, in `node`. */
shared_fn void fold_items(LOCAL state *node, state *stack, column_items items, column_parts c,
                          par p, const int of_states)
{
    const int t = thread_index(), part = t >> c.log, size = 1 << c.size_log,
              first = part << c.size_log, left = c.n - first, full = c.n >> c.size_log;

    if (c.has && left > 0) {
        items.x += first * items.step, items.at += first;
        fold_down(items, left < size ? left : size, p, stack, of_states);
        node[t] = stack[0];
    }
    BARRIER();

    for (int k = 1; full >> k; k++) { /* nodes of 2^k parts */
        const int by = 1 << (k - 1);
        if (c.has && (part & (2 * by - 1)) == 0 && part + 2 * by <= full)
            node[t] = TWIN(node[t], node[t + (by << c.log)], (i64)c.unit << (c.size_log + k - 1));
        BARRIER();
    }
}

fn int is_last_part(column_parts c)
{
    return c.has && thread_index() >> c.log == (c.n ? (c.n - 1) >> c.size_log : 0);
}

/* Appends what fold_items has left to v, in the thread of the last part. */
shared_fn maybe append_parts(LOCAL const state *node, const state *stack, column_parts c, maybe v)
{
    const int column = thread_index() & ((1 << c.log) - 1);
    int done = 0, top = 0;
    if (!is_last_part(c)) return v;

    for (int k = COLUMNS_LOG; k >= 0; k--) {
        if (!(c.n >> k & 1)) continue;
        v = then(v, k >= c.size_log ? node[(done >> c.size_log << c.log) + column] : stack[top++],
                 c.before + (i64)done * c.unit, (i64)c.unit << k);
        done += 1 << k;
    }
    return v;
}

/* Columns of up to COLUMNS_WHOLE elements in one launch, or of `chunks` chunks of `size` elements,
 * whose nodes are given, and fewer than `size` elements after them. A job is 2^log columns. The
 * threads of a block share the nodes, and then the elements, 2^each_log of a part. */
KERNEL_OF(whole_columns)
{
    SHARED state node[WHOLE_THREADS], high_node[WHOLE_THREADS];
    if (!chunks) FOLLOW(); /* else the kernel before makes the nodes and writes no elements */
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    state stack[COLUMNS_LOG + 1], high_stack[COLUMNS_LOG + 1];
    const int column = thread_index() & ((1 << log) - 1);
    const i64 before = chunks * size;
    column_parts high = {(int)chunks, 0, (int)size, (int)log, 0, 0},
                 low = {(int)(b.n - before), (int)each_log, 1, (int)log, 0, before};
    while (1 << (WHOLE_LOG - log + high.size_log) < high.n) high.size_log++;

    for (i64 job = group_index(); job < jobs; job += group_count()) {
        const i64 s = (job << log) + column;
        high.has = low.has = s < b.seqs;
        const column_items of_nodes = {(GLOBAL const u8 *)(nodes + s * across),
                                       down * (i64)sizeof(state), 0, size},
                           elements = {b.x + (s * b.row_stride + before * b.stride) * TL_SIZE,
                                       b.stride * TL_SIZE, before, 1};

        fold_items(node, stack, elements, low, b.p, 0);
        if (chunks) FOLLOW();
        fold_items(high_node, high_stack, of_nodes, high, b.p, 1);
        maybe v = append_parts(high_node, high_stack, high, nothing(b.p));
        if (is_last_part(high)) high_node[column] = v.s;
        BARRIER();
        v.s = high_node[column], v.have = chunks > 0;
        v = append_parts(node, stack, low, v);
        if (is_last_part(low)) store_reduced(out, b, s, v, b.n);
        BARRIER();
    }
}
#endif
