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
    FOR(k, most) {
        if (k >= r.n) continue;
        FOR(c, columns) {
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
        FOR(c, columns) {
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
    FOR(c, each) {
        const i64 s = first + c * WHOLE_THREADS;
        if (s < b.seqs)
            load_few(e + c * most, most, b.x + s * b.row_stride * TL_SIZE, b.stride * TL_SIZE, n);
    }
    FOR(c, each) {
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
    FOR(c, each) {
        const i64 s = first + c * WHOLE_THREADS * EACH;
        if (s >= b.seqs) continue;
        FOR(k, most) {
            if (k < n) w[c * most + k] = *(GLOBAL const u32 *)(b.x + s * TL_SIZE + k * step);
        }
    }
    FOR(c, each) {
        const i64 s = first + c * WHOLE_THREADS * EACH;
        elem e[EACH * PART];
        part_nodes nodes[EACH];
        state v[EACH];
        unit r;
        FOR(i, EACH)
            FOR(k, most) e[i * most + k] = (elem)(w[c * most + k] >> i * TL_SIZE * 8);
        fold_short_part(nodes, e, EACH, most, all, b.p);
        append_short_part(v, 0, nodes, EACH, all);
        FOR(i, EACH) r.of[i] = n ? lower(v[i], (real)(n + b.p.origin), 0, b.p) : empty(b.p);
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

/* Columns of a word of 4 bytes, and the element of column c in it. */
#if TL_SIZE < 4 && OP_INPUTS == 1
enum { WORD_LOG = EACH_LOG };
#define OF_WORD(word, c) ((elem)((word) >> (c)*TL_SIZE * 8))
#else
enum { WORD_LOG = 0 };
#define OF_WORD(word, c) NO_ELEMENT
#endif
enum { WORD_COLUMNS = 1 << WORD_LOG };

/* Rows of a part: elements of a column, or words of neighbouring columns. */
typedef struct {
    elem e[PART];
    u32 word[PART];
} part_rows;

/* Loads n <= most <= PART rows. The step is added, because the compiler would hold its multiples
 * in registers. */
fn void load_rows(part_rows *r, const int words, const int most, GLOBAL const u8 *x, i64 step,
                  int n)
{
    if (words) {
        UNROLL for (int k = 0; k < most; k++, x += step)
        {
            if (k < n) r->word[k] = *(GLOBAL const u32 *)x;
        }
    } else if (TL_SIZE >= 4 && most == PART) {
        load_column(r->e, PART, x, step);
    } else {
        load_few(r->e, most, x, step, n);
    }
}

/* The elements of a column, which is number c of a word. */
fn void rows_of_column(elem *e, const part_rows *r, const int words, const int most, const int c)
{
    FOR(k, most) e[k] = words ? OF_WORD(r->word[k], c) : r->e[k];
}

/* v[c]: the node of the PART elements from index `at` on of a column, or of each of a word. */
fn void fold_part(state *v, const int words, GLOBAL const u8 *x, i64 step, int at, par p)
{
    const column_part part = {at, PART};
    part_rows rows;
    load_rows(&rows, words, PART, x, step, PART);
    FOR(c, (words ? WORD_COLUMNS : 1)) {
        elem e[PART];
        part_nodes nodes;
        rows_of_column(e, &rows, words, PART, c);
        fold_short_part(&nodes, e, 1, PART, part, p);
        v[c] = nodes.node[PART_LOG];
    }
}

/* The node of PART << more elements of a column. */
fn state fold_large_part(GLOBAL const u8 *x, i64 step, int at, int more, par p)
{
    state v, left[PART_MORE(sizeof(state)) + 1];
    for (int j = 1; j <= 1 << more; j++, at += PART, x += PART * step) {
        fold_part(&v, 0, x, step, at, p);
        FOR(i, PART_MORE(sizeof(state))) {
            const int last = j & ((2 << i) - 1);
            if (last == 0) v = TWIN(left[i], v, PART << i);
            if (last == 1 << i) left[i] = v;
        }
    }
    return v;
}

/* Columns of some parts, at most FEW_PARTS: a thread has one, or those of a word. */
fn void columns_of_few_parts(batch b, results out, const int words)
{
    const int n = (int)b.n, parts = FEW_PARTS(sizeof(state)) == 1 ? 1 : n / PART, rest = n % PART,
              each = words ? WORD_COLUMNS : 1;
    const i64 s = (group_index() * WHOLE_THREADS + thread_index()) * each,
              step = b.stride * TL_SIZE;
    const column_part after = {n - rest, rest};
    GLOBAL const u8 *const x = b.x + s * b.row_stride * TL_SIZE;
    state v[WORD_COLUMNS];
    part_rows rows;
    if (s >= b.seqs) return;

    for (int part = 0; part < parts; part++) {
        const int at = part * PART;
        state next[WORD_COLUMNS];
        fold_part(next, words, x + at * step, step, at, b.p);
        FOR(c, each)
            v[c] = part == 0   ? next[c]
                   : part == 1 ? TWIN(v[c], next[c], PART)
                               : COMBINE(v[c], next[c], at, PART);
    }

    load_rows(&rows, words, PART - 1, x + (n - rest) * step, step, rest);
    FOR(c, each) {
        elem e[PART];
        part_nodes nodes;
        maybe whole;
        rows_of_column(e, &rows, words, PART - 1, c);
        fold_short_part(&nodes, e, 1, PART - 1, after, b.p);
        whole.s = v[c], whole.exists = 1;
        append_short_part(&whole.s, 1, &nodes, 1, after);
        store_reduced(out, b, s + c, whole, n);
    }
}

/* The threads of a column, or of a word's columns, take parts of PART << more elements in turns,
 * and then parts of PART, so that they go down together; the one that has the elements after the
 * last part computes the result. node: of all parts of the block's columns. */
fn void parts_of_columns(batch b, results out, int log, const int words, const int more,
                         LOCAL state *node)
{
    const int t = thread_index(), each_log = words ? WORD_LOG : 0, first = t & ((1 << log) - 1),
              turns = WHOLE_THREADS >> log, turn = t >> log, n = (int)b.n,
              size_log = PART_LOG + more, large = n >> size_log, rest = n % PART,
              small = (n - (large << size_log)) / PART, parts = large + small;
    const i64 s = ((group_index() << log) + first) << each_log, step = b.stride * TL_SIZE;
    const int has = s < b.seqs, last = has && turn == (parts & (turns - 1));
    GLOBAL const u8 *const x = b.x + s * b.row_stride * TL_SIZE;
    const column_part after = {n - rest, rest};
    part_rows rows;
    part_nodes nodes[WORD_COLUMNS];

    node += first << each_log, log += each_log;
    for (int part = turn; has && part < parts; part += turns) {
        const int at =
            part < large ? part << size_log : (large << size_log) + (part - large) * PART;
        state v[WORD_COLUMNS];
        if (more && part < large)
            v[0] = fold_large_part(x + at * step, step, at, more, b.p);
        else
            fold_part(v, words, x + at * step, step, at, b.p);
        FOR(c, 1 << each_log) node[(part << log) + c] = v[c];
    }

    if (last) {
        load_rows(&rows, words, PART - 1, x + (n - rest) * step, step, rest);
        FOR(c, 1 << each_log) {
            elem e[PART];
            rows_of_column(e, &rows, words, PART - 1, c);
            fold_short_part(nodes + c, e, 1, PART - 1, after, b.p);
        }
    }
    BARRIER();
    if (!last) return;
    FOR(c, 1 << each_log) {
        maybe v = append_nodes(nothing(b.p), node + c, large, 1 << size_log, 0, log);
        if (more)
            v = append_nodes(v, node + c + (large << log), small, PART, large << size_log, log);
        append_short_part(&v.s, TL_SIZE < 4 || v.exists, nodes + c, 1, after);
        store_reduced(out, b, s + c, v, n);
    }
}

#define SHORT_BLOCKS \
    (TL_SIZE == 4 && sizeof(state) > 8 && sizeof(state) <= 16 ? 4 \
     : TL_SIZE > 4 || sizeof(state) > 4                       ? 3 \
                                                              : 5)
/* Short columns, if they are many: a block has 2^log columns or words of columns; of fewer than
 * PART elements, its threads have some each. */
KERNEL_OF(short_columns)
{
    LOCAL state *const node = (LOCAL state *)LOCAL_MEMORY;
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
    else if (WORD_LOG && words && b.n < PART * (FEW_PARTS(sizeof(state)) + 1))
        columns_of_few_parts(b, out, 1);
    else if (b.n < PART * (FEW_PARTS(sizeof(state)) + 1))
        columns_of_few_parts(b, out, 0);
    else if (PART_MORE(sizeof(state)) && more)
        parts_of_columns(b, out, (int)log, 0, (int)more, node);
    else if (WORD_LOG && words)
        parts_of_columns(b, out, (int)log, 1, 0, node);
#endif
    else
        parts_of_columns(b, out, (int)log, 0, 0, node);
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
