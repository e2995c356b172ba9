/* SPDX-License-Identifier: MIT
 * Short columns in one launch, and the last launch of longer ones. */

/* The n elements of a column from index `at` on, a multiple of PART; n <= PART. */
typedef struct {
    int at, n;
} column_part;

/* node[i]: the last of 2^i of these elements. */
typedef struct {
    state node[PART_LOG + 1];
} part_nodes;

/* Folds n elements of each column. e: `most` >= n of each. All threads have the same n, so the
 * columns stand inside of what n decides. */
fn void fold_short_part(part_nodes *f, const elem *e, const int columns, const int most,
                        column_part r, par p)
{
    UNROLL for (int k = 0; k < most; k++)
    {
        if (k >= r.n) continue;
        UNROLL for (int c = 0; c < columns; c++)
        {
            state v = lift_e(e[c * most + k], r.at + k, p);
            UNROLL for (int i = 0; i <= PART_LOG; i++)
            {
                const int left = (k + 1) % (2 << i);
                if (left == 0) v = TWIN(f[c].node[i], v, 1 << i);
                if (left == 1 << i) f[c].node[i] = v;
            }
        }
    }
}

/* Appends these elements to v[c], which is S of those before them, if there are any (exists). For
 * narrow elements n says so after the first node, which takes fewer registers. */
fn void append_short_part(state *v, int exists, const part_nodes *f, const int columns,
                          column_part r)
{
    UNROLL for (int i = PART_LOG - 1; i >= 0; i--)
    {
        if (!(r.n >> i & 1)) continue;
        UNROLL for (int c = 0; c < columns; c++)
        {
            const state node = f[c].node[i];
            if (TL_SIZE < 4 ? exists || r.n >> (i + 1) : exists)
                v[c] = COMBINE(v[c], node, r.at + (r.n >> (i + 1) << (i + 1)), 1 << i);
            else
                v[c] = node;
        }
        exists |= TL_SIZE >= 4;
    }
}

/* Columns of at most PART / each elements: a thread has `each`, WHOLE_THREADS apart. */
fn void columns_of_thread(batch b, results out, const int each)
{
    const int most = PART / each, n = (int)b.n;
    const column_part all = {0, n};
    const i64 first = group_index() * WHOLE_THREADS * each + thread_index();
    elem e[PART];
    UNROLL for (int c = 0; c < each; c++)
    {
        const i64 s = first + c * WHOLE_THREADS;
        if (s < b.seqs)
            load_few(e + c * most, most, b.x + s * b.row_stride * TL_SIZE, b.stride * TL_SIZE, n);
    }
    UNROLL for (int c = 0; c < each; c++)
    {
        const i64 s = first + c * WHOLE_THREADS;
        part_nodes nodes;
        maybe v = nothing(b.p);
        fold_short_part(&nodes, e + c * most, 1, most, all, b.p);
        append_short_part(&v.s, 0, &nodes, 1, all);
        v.exists = n > 0;
        if (s < b.seqs) store_reduced(out, b, s, v, n);
    }
}

/* The same of words: a word has the elements of a row of EACH neighbouring columns, whose results
 * are stored together. */
fn void words_of_thread(batch b, results out, const int each)
{
#if TL_SIZE < 4 && OP_INPUTS == 1 && OP_LANES == 1
    typedef struct ALIGNED(UNIT_ALIGN(EACH * TL_OUT_SIZE)) {
        result of[EACH];
    } unit;
    const column_part all = {0, (int)b.n};
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
    UNROLL for (int c = 0; c < each; c++)
    {
        const i64 s = first + c * WHOLE_THREADS * EACH;
        elem e[EACH * PART];
        part_nodes nodes[EACH];
        state v[EACH];
        unit r;
        UNROLL for (int i = 0; i < EACH; i++) UNROLL for (int k = 0; k < most; k++)
            e[i * most + k] = (elem)(w[c * most + k] >> i * TL_SIZE * 8);
        fold_short_part(nodes, e, EACH, most, all, b.p);
        append_short_part(v, 0, nodes, EACH, all);
        UNROLL for (int i = 0; i < EACH; i++) r.of[i] =
            n ? lower(v[i], (real)(n + b.p.origin), 0, b.p) : empty(b.p);
        if (s < b.seqs) *(GLOBAL unit *)(out.x + s * TL_OUT_SIZE) = r;
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
    const column_part all = {at, PART};
    elem e[PART];
    part_nodes nodes;
    load_column(e, PART, x, step);
    fold_short_part(&nodes, e, 1, PART, all, p);
    return nodes.node[PART_LOG];
}

/* The same of PART << more elements. */
fn state fold_large_part(GLOBAL const u8 *x, i64 step, int at, int more, par p)
{
    state v, left[PART_MORE(sizeof(state)) + 1];
    for (int j = 1; j <= 1 << more; j++, at += PART, x += PART * step) {
        v = fold_part(x, step, at, p);
        UNROLL for (int i = 0; i < PART_MORE(sizeof(state)); i++)
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
fn void parts_of_columns(batch b, results out, int log, const int more, LOCAL state *node)
{
    const int t = thread_index(), column = t & ((1 << log) - 1), turns = WHOLE_THREADS >> log,
              turn = t >> log, n = (int)b.n, size = PART << more, large = n / size,
              small = n % size / PART, parts = large + small, rest = n % PART;
    const i64 s = (group_index() << log) + column, step = b.stride * TL_SIZE;
    const int has = s < b.seqs, last = has && turn == (parts & (turns - 1));
    GLOBAL const u8 *const x = b.x + s * b.row_stride * TL_SIZE;
    const column_part after = {n - rest, rest};
    elem e[PART];
    part_nodes nodes;

    for (int part = turn; has && part < parts; part += turns) {
        const int at = part < large ? part * size : large * size + (part - large) * PART;
        node[(part << log) + column] = more && part < large
                                           ? fold_large_part(x + at * step, step, at, more, b.p)
                                           : fold_part(x + at * step, step, at, b.p);
    }
    if (last) {
        load_few(e, PART - 1, x + (n - rest) * step, step, rest);
        fold_short_part(&nodes, e, 1, PART - 1, after, b.p);
    }
    BARRIER();
    if (last) {
        node += column;
        maybe all = append_nodes(nothing(b.p), node, large, size, 0, log);
        if (more) all = append_nodes(all, node + (large << log), small, PART, large * size, log);
        append_short_part(&all.s, TL_SIZE < 4 || all.exists, &nodes, 1, after);
        store_reduced(out, b, s, all, n);
    }
}

#define SHORT_BLOCKS \
    (TL_SIZE == 4 && sizeof(state) > 8 && sizeof(state) <= 16 ? 4 \
     : TL_SIZE > 4 || sizeof(state) > 4                       ? 3 \
                                                              : 5)
/* Short columns, if they are many: a block has 2^log; of fewer than PART elements, its threads have
 * some columns or words each. */
KERNEL_OF(short_columns)
{
    SHARED state node[COLUMN_NODES(sizeof(state))];
    VIEWS_OF_PARAMETERS;
    b.flags &= STATES; /* columns are not chosen by ids */
    const int each = b.n < PART ? SHORT_EACH(b.n) : 0;
    if (each == 4)
        words ? words_of_thread(b, out, 4) : columns_of_thread(b, out, 4);
    else if (each == 2)
        words ? words_of_thread(b, out, 2) : columns_of_thread(b, out, 2);
    else if (each)
        words ? words_of_thread(b, out, 1) : columns_of_thread(b, out, 1);
#ifdef TL_CUDA /* PoCL compiles two such calls wrongly (test_opencl.sh) */
    else if (PART_MORE(sizeof(state)) && more)
        parts_of_columns(b, out, (int)log, (int)more, node);
#endif
    else
        parts_of_columns(b, out, (int)log, 0, node);
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
    VIEWS_OF_PARAMETERS;
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
        v.s = high_node[column], v.exists = chunks > 0;
        v = append_parts(node, stack, low, v);
        if (is_last_part(low)) store_reduced(out, b, s, v, b.n);
        BARRIER();
    }
}
