/* SPDX-License-Identifier: MIT
 * The scan of one tile in L1 and L2: an up-sweep by shuffle networks and a down-sweep
 * by their inverses, with radix V.
 *
 *   up      w[0] = the elements, w[l+1][j] = network(w[l][jV .. jV+V-1]), until one vector is left
 *   top     the exclusive starts of its V nodes, in scalar code:
 *               start(0) = P,  start(r) = C(start(parent r), node(parent r))
 *   down    from the starts of V nodes to the starts of their V*V children: the left child
 *           starts where its parent does, the right one at C(start, left child)
 *
 * Then soa[j] = S(b + j). Padding lanes have undefined values: S(b + j) uses only nodes that end at
 * or before j.
 *
 * Operators of class X with one field and a neutral element use a running scan instead (TL_RUNS).
 * Any association gives the law's bits, so each vector is scanned in a register and combined with
 * the fold of everything before it. There is no up-sweep, so a tile may have any length. */

#if TL_RUNS
/* Lane l becomes the fold of lanes 0 .. l. */
TL_INLINE VS W(prefixes)(VS v, tl_par p)
{
    const VS none = TL_VE(neutral)(p);
    v = W(join)(W(delay1)(none, v), v, 0, 0);
#if TL_LOG_V >= 2
    v = W(join)(W(delay2)(none, v), v, 0, 0);
#endif
#if TL_LOG_V >= 3
    v = W(join)(W(delay4)(none, v), v, 0, 0);
#endif
#if TL_LOG_V >= 4
    v = W(join)(W(delay8)(none, v), v, 0, 0);
#endif

    return v;
}

/* Running scan; returns the tile's node. Stages S(b + 1) .. S(b + m) in soa, or writes the results
 * to out; for out, `exclusive` means S(b) .. S(b + m - 1). */
TL_INLINE SS W(running_scan)(W(soa) * soa, TL_OUT_T *out, const tl_tile *t, int exclusive,
                             int stream, tl_par p)
{
    const E *x = t->x;
    const int64_t m = t->m, b = t->b;
    const tl_prefetch next = t->next;
    VS before = TL_VE(neutral)(p), run = before, r = before, last;
    SS s;

    assert(0 < m && m <= TL_TILE);
    if (t->prefix) {
        memcpy(&s, t->prefix, sizeof s);
        for (int l = 0; l < TL_V; l++) W(put)(&before, l, s);
    }

    if (soa) W(soa_store)(soa, 0, before);
    last = before;

    for (int64_t j = 0; j < m; j += TL_V) {
        if (j % W(FETCHED) == 0) TL_PREFETCH_SOME(next, j, W(FETCHED), sizeof(E));
        r = m - j < TL_V ? W(load_part)(x + j, m - j, b + j, p) : W(load)(x + j, b + j, p);
        r = W(prefixes)(r, p);

        /* Taken from r before it is joined with `run`: one combine, and no shuffle, from vector to
         * vector. */
        const VS all = W(ends)(r);
        r = W(join)(run, r, 0, 0);
        run = W(join)(run, all, 0, 0);
        const VS whole = W(join)(before, r, 0, 0);

        if (soa) {
            W(soa_store)(soa, TL_V + j, whole);
            continue;
        }

        const VS what = exclusive ? W(delay1)(last, whole) : whole;
        const TL_VE(real) count = W(counts)(b + j + !exclusive, 1);
        const TL_VE(result) result = TL_RESULT(TL_VE(lower)(what, count, (TL_VE(idx)){0}, p), p);
        last = whole;

        if (m - j < TL_V)
            memcpy(out + j, &result, (size_t)(m - j) * sizeof *out);
        else if (stream)
            tl_stream_store(out + j, &result, sizeof result);
        else
            memcpy(out + j, &result, sizeof result);
    }

    return W(lane)(r, (int)((m - 1) & (TL_V - 1)));
}

static int W(do_scan_tile)(void *soa, const tl_tile *t, tl_state *node, tl_par p)
{
    const SS s = W(running_scan)(soa, NULL, t, 0, 0, p);
    memcpy(node, &s, sizeof s);
    return 1;
}

#if TL_SCAN_FULL
static void W(do_scan_full)(void *out, const tl_tile *t, tl_state *node, const tl_up *k, tl_par p)
{
    SS s;
    (void)k;
    assert(!t->stream || (uintptr_t)out % 64 == 0);
    if (t->exclusive)
        s = W(running_scan)(NULL, out, t, 1, t->stream, p);
    else if (t->stream)
        s = W(running_scan)(NULL, out, t, 0, 1, p);
    else
        s = W(running_scan)(NULL, out, t, 0, 0, p);
    memcpy(node, &s, sizeof s);
}
#endif

#else
/* Computes nodes[2 j] and nodes[2 j + 1] from nodes[j], at step s. A left child begins where its
 * parent begins. */
TL_INLINE void W(nodes_below)(TL_VE(real) * nodes, int j, int s)
{
    TL_VE(real) left = nodes[j], right = left + (TL_REAL_T)(1 << s);
    int inside = s < TL_LOG_G;
    nodes[2 * j] = inside ? TL_SHUFFLE(left, right, TL_EACH_LANE(TL_LOW1))
                          : TL_SHUFFLE(left, right, TL_EACH_LANE(TL_LOW2));
    nodes[2 * j + 1] = inside ? TL_SHUFFLE(left, right, TL_EACH_LANE(TL_HIGH1))
                              : TL_SHUFFLE(left, right, TL_EACH_LANE(TL_HIGH2));
}

/* v: V vectors of neighbouring nodes of n elements; the first begins at element `at`. start: the
 * starts of the V groups of nodes. Replaces v by the starts of its nodes. absent: S before the
 * first group is ABSENT, so the start of the second node is the first node itself. */
TL_INLINE void W(down)(VS *v, VS start, int absent, int64_t at, int64_t n)
{
    VS t[TL_LOG_V][TL_V]; /* t[s]: the vectors before step s of the network */
    /* how many nodes of v come before each lane of e */
    TL_VE(real) nodes[TL_V];

    TL_UNROLL for (int j = 0; j < TL_V; j++) t[0][j] = v[j];
    TL_UNROLL for (int s = 1; s < TL_LOG_V; s++) TL_UNROLL for (int j = 0; j < TL_V >> s; j++)
        t[s][j] = W(step)(s - 1, t[s - 1][2 * j], t[s - 1][2 * j + 1], n << (s - 1));
    VS e[TL_V];
    e[0] = start;
    nodes[0] = W(ramp)() * TL_V;

    TL_UNROLL for (int s = TL_LOG_V - 1; s >= 0; s--)
        TL_UNROLL for (int j = (TL_V >> (s + 1)) - 1; j >= 0; j--)
    {
        VS left = s < TL_LOG_G ? W(even1)(t[s][2 * j], t[s][2 * j + 1])
                               : W(even2)(t[s][2 * j], t[s][2 * j + 1]);
        VS from = e[j];
        VS middle = W(combine_at)(from, left, W(numbers)(at, nodes[j], n), n << s);
        W(nodes_below)(nodes, j, s);
        if (absent && j == 0) W(put)(&middle, 0, W(lane)(left, 0));
        e[2 * j] = s < TL_LOG_G ? W(low1)(from, middle) : W(low2)(from, middle);
        e[2 * j + 1] = s < TL_LOG_G ? W(high1)(from, middle) : W(high2)(from, middle);
    }

    TL_UNROLL for (int j = 0; j < TL_V; j++) v[j] = e[j];
}

/* Loads the V vectors of elements from x[at] on; elements past m are padding. */
TL_INLINE void W(load_block)(VS *v, const E *x, int64_t at, int64_t m, int64_t b, tl_par p)
{
    if (at + TL_V * TL_V <= m) {
        TL_UNROLL for (int j = 0; j < TL_V; j++) v[j] =
            W(load)(x + at + j * TL_V, b + at + j * TL_V, p);
        return;
    }
    for (int j = 0; j < TL_V; j++) {
        int64_t from = at + j * TL_V, left = m - from;
        v[j] = left >= TL_V
                   ? W(load)(x + from, b + from, p)
                   : W(load_part)(left > 0 ? x + from : x, left > 0 ? left : 0, b + from, p);
    }
}

/* Returns the starts of the V nodes of one vector, after *prefix (NULL: ABSENT, lane 0 is
 * undefined). *node: the node above them. at, n: see down. */
TL_INLINE VS W(top_starts)(VS top, const SS *prefix, SS *node, int64_t at, int64_t n)
{
    SS level[TL_LOG_V + 1][TL_V], start[TL_V];
    for (int r = 0; r < TL_V; r++) level[0][r] = W(lane)(top, r);
    for (int k = 1; k <= TL_LOG_V; k++)
        for (int r = 0; r < TL_V >> k; r++)
            level[k][r] = W(twin_s)(level[k - 1][2 * r], level[k - 1][2 * r + 1], n << (k - 1));
    start[0] = prefix ? *prefix : level[0][0];

    for (int r = 1; r < TL_V; r++) {
        int from = r & (r - 1), k = __builtin_ctz((unsigned)r);
        SS s = level[k][from >> k];
        start[r] = from == 0 && !prefix ? s : W(combine_s)(start[from], s, at + from * n, n << k);
    }

    *node = level[TL_LOG_V][0];
    VS v = top;
    for (int r = 0; r < TL_V; r++) W(put)(&v, r, start[r]);

    return v;
}

enum { W(SCAN_VECTORS) = TL_TILE / TL_V }; /* vectors of elements in a tile */
_Static_assert(TL_TILE_LEVEL % TL_LOG_V == 0, "levels of radix V must end at a tile");

/* The number of elements of a lane at level l of the up-sweep. */
TL_INLINE int64_t W(lane_size)(int l) { return (int64_t)1 << (TL_LOG_V * l); }

/* The levels of a sweep: count[l] vectors w[l] of nodes, 1 <= l <= top. */
typedef struct {
    VS *w[TL_TILE_LEVEL + 1];
    int64_t count[TL_TILE_LEVEL + 1];
    int top;
} W(sweep);

enum { W(SWEEP_ROOM) = W(SCAN_VECTORS) / TL_V * 2 + TL_TILE_LEVEL * TL_V };

/* Adds levels to s, until one vector is left. levels_memory: SWEEP_ROOM vectors, of which `used`
 * are used. Levels are whole groups; padding vectors are read but have no effect. */
TL_INLINE void W(add_levels)(W(sweep) * s, VS *levels_memory, int64_t used)
{
    for (; s->count[s->top] > 1; s->top++) {
        const int64_t count = (s->count[s->top] + TL_V - 1) / TL_V;
        s->count[s->top + 1] = count;
        s->w[s->top + 1] = levels_memory + used;
        used += (count + TL_V - 1) / TL_V * TL_V;
    }
    assert(used <= W(SWEEP_ROOM) && s->top <= TL_TILE_LEVEL);
}

/* Computes levels 2 .. top from level 1. */
TL_INLINE void W(sweep_up)(W(sweep) * s)
{
    for (int l = 1; l < s->top; l++) {
        VS *const w = s->w[l];
        for (int64_t j = s->count[l]; j % TL_V; j++) w[j] = w[j - 1];
        for (int64_t j = 0; j < s->count[l + 1]; j++)
            s->w[l + 1][j] = W(network)(w + j * TL_V, W(lane_size)(l));
    }
}

/* Replaces levels top - 1 .. 1 by the starts of their nodes; level `top` has its starts. absent: S
 * before the tile, whose first element has index b, is ABSENT. */
TL_INLINE void W(sweep_down)(W(sweep) * s, int absent, int64_t b)
{
    for (int l = s->top; l > 1; l--)
        for (int64_t j = 0; j < s->count[l]; j++) {
            const int64_t size = W(lane_size)(l - 1), at = b + j * TL_V * TL_V * size;
            if (j == 0 && absent)
                W(down)(s->w[l - 1], s->w[l][0], 1, at, size);
            else
                W(down)(s->w[l - 1] + j * TL_V, s->w[l][j], 0, at, size);
        }
}

static int W(do_scan_tile)(void *soa, const tl_tile *t, tl_state *node, tl_par p)
{
    enum { BLOCK = TL_V * TL_V };
    const E *x = t->x;
    const int64_t m = t->m, b = t->b;
    const tl_prefetch next = t->next;
    const int absent = !t->prefix;
    W(soa) *out = soa;
    SS before, whole;
    assert(0 < m && m <= TL_TILE && (b == 0 || m <= (b & -b)));
    memset(&before, 0, sizeof before); /* never used without a prefix, but compilers cannot tell */
    if (!absent) memcpy(&before, t->prefix, sizeof before);
    const SS *start = absent ? NULL : &before;

    const int64_t want = m < TL_TILE ? m + 1 : TL_TILE; /* states to stage */
    VS levels_memory[W(SWEEP_ROOM)];
    W(sweep) s = {.count = {(want + TL_V - 1) / TL_V}, .top = 0};
    W(add_levels)(&s, levels_memory, 0);
    if (s.top == 0) {
        VS only = m == TL_V ? W(load)(x, b, p) : W(load_part)(x, m, b, p);
        W(soa_store)(out, 0, W(top_starts)(only, start, &whole, b, 1));
        return 0;
    }

    for (int64_t j = 0; j < s.count[1]; j++) {
        VS v[TL_V];
        W(load_block)(v, x, j * BLOCK, m, b, p);
        s.w[1][j] = W(network)(v, 1);
    }

    W(sweep_up)(&s);
    VS *const top = s.w[s.top];
    top[0] = W(top_starts)(top[0], start, &whole, b, W(lane_size)(s.top));
    W(sweep_down)(&s, absent, b);
    for (int64_t j = 0; j < s.count[1]; j++) {
        VS v[TL_V];
        W(load_block)(v, x, j * BLOCK, m, b, p);
        TL_PREFETCH_SOME(next, j * BLOCK, BLOCK, sizeof(E));

        if (j == 0 && absent)
            W(down)(v, s.w[1][0], 1, b, 1);
        else
            W(down)(v, s.w[1][j], 0, b + j * BLOCK, 1);
        TL_UNROLL for (int k = 0; k < TL_V; k++) W(soa_store)(out, (j * TL_V + k) * TL_V, v[k]);
    }

    memcpy(node, &whole, sizeof whole);
    return m == TL_TILE;
}

#if TL_SCAN_FULL
/* Where the V groups of a block start, and the groups after each. at: the index of the block's
 * first element. absent: S before the first group is ABSENT. */
typedef struct {
    VS start, end;
    int64_t at;
    int absent;
} W(groups);

/* Writes the results of one block of V*V elements, v. Starts and ends descend together: the left
 * child of (from, to) is (from, middle), the right child is (middle, to). */
TL_INLINE void W(down_out)(TL_OUT_T *out, VS *v, W(groups) g, int exclusive, int stream, tl_par p)
{
    const int64_t at = g.at;
    VS t[TL_LOG_V][TL_V], from[TL_V], to[TL_V];
    TL_VE(real) nodes[TL_V]; /* as in down */

    TL_UNROLL for (int j = 0; j < TL_V; j++) t[0][j] = v[j];
    TL_UNROLL for (int s = 1; s < TL_LOG_V; s++) TL_UNROLL for (int j = 0; j < TL_V >> s; j++)
        t[s][j] = W(step)(s - 1, t[s - 1][2 * j], t[s - 1][2 * j + 1], 1 << (s - 1));
    from[0] = g.start;
    nodes[0] = W(ramp)() * TL_V;
    to[0] = g.end;

    TL_UNROLL for (int s = TL_LOG_V - 1; s >= 0; s--)
        TL_UNROLL for (int j = (TL_V >> (s + 1)) - 1; j >= 0; j--)
    {
        int inside = s < TL_LOG_G;
        VS left = inside ? W(even1)(t[s][2 * j], t[s][2 * j + 1])
                         : W(even2)(t[s][2 * j], t[s][2 * j + 1]);
        VS a = from[j], z = to[j],
           middle = W(combine_at)(a, left, W(numbers)(at, nodes[j], 1), 1 << s);
        W(nodes_below)(nodes, j, s);
        if (g.absent && j == 0) W(put)(&middle, 0, W(lane)(left, 0));
        if (s > 0 || exclusive) {
            from[2 * j] = inside ? W(low1)(a, middle) : W(low2)(a, middle);
            from[2 * j + 1] = inside ? W(high1)(a, middle) : W(high2)(a, middle);
        }

        if (s > 0 || !exclusive) {
            to[2 * j] = inside ? W(low1)(middle, z) : W(low2)(middle, z);
            to[2 * j + 1] = inside ? W(high1)(middle, z) : W(high2)(middle, z);
        }
    }

    TL_UNROLL for (int k = 0; k < TL_V; k++)
    {
        TL_VE(real) count = W(numbers)(at + !exclusive, W(ramp)() + (TL_REAL_T)(k * TL_V), 1);
        TL_VE(result)
        r = TL_RESULT(TL_VE(lower)(exclusive ? from[k] : to[k], count, (TL_VE(idx)){0}, p), p);

        if (stream)
            tl_stream_store(out + k * TL_V, &r, sizeof r);
        else
            memcpy(out + k * TL_V, &r, sizeof r);
    }
}

/* Computes the first level of the up-sweep of the whole tile at x. */
static void W(do_scan_up)(void *up, const void *x, int64_t i, tl_par p)
{
    VS *w = up;
    assert((uintptr_t)up % 64 == 0 && i % TL_TILE == 0);
    for (int64_t j = 0; j < TL_TILE / (TL_V * TL_V); j++)
        w[j] = W(block)((const E *)x + j * (TL_V * TL_V), i + j * (TL_V * TL_V), p);
}

/* Computes the tile's node from its first level. */
static void W(do_scan_node)(tl_state *node, const void *up)
{
    VS w[TL_TILE / (TL_V * TL_V)];
    memcpy(w, up, sizeof w);
    int count = TL_TILE / (TL_V * TL_V);
    int64_t size = TL_V;
    for (; count >= TL_V; count /= TL_V, size *= TL_V)
        for (int j = 0; j < count / TL_V; j++) w[j] = W(network)(w + j * TL_V, size);
    const SS s = W(finish)(w, count, size);
    memcpy(node, &s, sizeof s);
}

/* Scans a tile to results without staging. The caller writes the last result of an inclusive whole
 * tile, and out[0] of an exclusive scan without a prefix. stream: out must be aligned to a vector
 * of results. */
static void W(do_scan_full)(void *to, const tl_tile *t, tl_state *node, const tl_up *k, tl_par p)
{
    enum { BLOCK = TL_V * TL_V };
    const E *x = t->x, *next_tile = k ? k->next_tile : NULL;
    const int64_t m = t->m, b = t->b;
    const tl_state *const prefix = t->prefix;
    const int exclusive = t->exclusive, stream = t->stream;
    const tl_prefetch next = t->next;
    TL_OUT_T *out = to;
    SS before, whole;
    assert(0 < m && m <= TL_TILE && (b == 0 || m <= (b & -b)));
    assert(!stream || (uintptr_t)out % 64 == 0);
    assert(!k || !k->up || (m == TL_TILE && (uintptr_t)k->up % 64 == 0));
    assert(!next_tile || (uintptr_t)k->make % 64 == 0);
    memset(&before, 0, sizeof before); /* never used without a prefix, but compilers cannot tell */
    if (prefix) memcpy(&before, prefix, sizeof before);

    /* level 1: the starts of the blocks, and the end of a partial one */
    const int64_t blocks = m / BLOCK, count = blocks + (m < TL_TILE);
    VS levels_memory[W(SWEEP_ROOM)], *const w = k && k->up ? k->up : levels_memory,
                                            *make = k ? k->make : NULL;
    W(sweep) s = {.w = {NULL, w}, .count = {0, count}, .top = 1};
    W(add_levels)(&s, levels_memory, (count + TL_V - 1) / TL_V * TL_V);
    for (int64_t j = 0; j < count && w == levels_memory; j++) {
        VS v[TL_V];
        W(load_block)(v, x, j * BLOCK, m, b, p);
        w[j] = W(network)(v, 1);
    }

    W(sweep_up)(&s);
    VS *const top = s.w[s.top];
    top[0] = W(top_starts)(top[0], prefix ? &before : NULL, &whole, b, W(lane_size)(s.top));
    W(sweep_down)(&s, !prefix, b);

    for (int64_t j = 0; j < blocks; j++) {
        VS v[TL_V], start = w[j], end = W(next)(start, j + 1 < count ? w[j + 1] : start);
        W(load_block)(v, x, j * BLOCK, m, b, p);
        TL_PREFETCH_SOME(next, j * BLOCK, BLOCK, sizeof(E));
        TL_OUT_T *o = out + j * BLOCK;
        const W(groups) g = {start, end, b + j * BLOCK, 0}, first = {start, end, b, 1};

        if (j == 0 && !prefix)
            W(down_out)(o, v, first, exclusive, 0, p);
        else if (stream && exclusive)
            W(down_out)(o, v, g, 1, 1, p);
        else if (stream)
            W(down_out)(o, v, g, 0, 1, p);
        else
            W(down_out)(o, v, g, exclusive, 0, p);
        if (next_tile) make[j] = W(block)(next_tile + j * BLOCK, k->at + j * BLOCK, p);
    }

    if (m > blocks * BLOCK) {
        TL_OUT_T part[BLOCK];
        VS v[TL_V], start = w[blocks];
        W(load_block)(v, x, blocks * BLOCK, m, b, p);
        const W(groups)
            g = {start, W(next)(start, start), b + blocks * BLOCK, blocks == 0 && !prefix};
        W(down_out)(part, v, g, exclusive, 0, p);
        const int64_t skip = blocks == 0 && !prefix && exclusive;
        memcpy(out + blocks * BLOCK + skip, part + skip,
               (size_t)(m - blocks * BLOCK - skip) * sizeof *out);
    }

    memcpy(node, &whole, sizeof whole);
}
#endif
#endif

static void W(do_stage)(void *soa, int64_t j, const tl_state *s)
{
    SS one;
    assert(0 <= j && j < TL_SOA);
    memcpy(&one, s, sizeof one);
    W(soa_set)(soa, j, one);
}
