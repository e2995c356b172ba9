/* SPDX-License-Identifier: MIT
 * Scans of dense elements, by the tree: blocks of V*V elements, each in three steps.
 *
 *   up       the network turns V vectors of elements into one vector of V nodes
 *   starts   S at the starts of the V groups below these nodes, inside one vector
 *   down     S at the starts of the V*V elements: the left child starts where its parent does, the
 *            right one at C(start, left child)
 *
 * A counter of the blocks' nodes (tl_block_counter) has S at the start of each block. Later blocks
 * go up while this one goes down: they do not wait for each other, so stores overlap loads and
 * arithmetic. Padding lanes have undefined values: S(b + j) uses only nodes that end by j.
 *
 * Operators of class X with one field and a neutral element use a running scan instead (TL_RUNS).
 * Any association gives the law's bits, so each vector is scanned in a register and combined with
 * the fold of everything before it. It may have any length. */

#if TL_RUNS
/* Lane l becomes the fold of lanes 0 .. l. */
TL_INLINE VS W(prefixes)(VS v, tl_par p)
{
    const VS none = TL_VE(neutral)(p);
    TL_FOR(t, TL_LOG_V) v = W(join)(W(delayed)(none, v, t), v, 0, 0);
    return v;
}

/* The states of V elements. A NaN gets the bits that become the key of NaN (to_ord). */
#if TL_KEY_RUNS && TL_FUSES && TL_V * TL_SIZE == 64
TL_INLINE VS W(load_run)(const E *x)
{
    const TL_ORD_T nan = TL_WIDEN == TL_WIDEN_HIGH ? TL_ORD_MAX : -1;
    TL_VE(elem) e;
    VS v;
    memcpy(&e, x, sizeof e);
    v.m = TL_VE(to_ord)(TL_PASTE(TL_CANON_, TL_SIZE)(e, (TL_VE(ord)){0} + nan));
    return v;
}
#define LOAD_RUN(x, i, p) W(load_run)(x)
#else
#define LOAD_RUN W(load)
#endif

/* A running scan: where its states or results go, and what it has folded. prefix: the fold of the
 * elements so far; fold: lane l has the fold of those up to lane l of the last vector; whole: the
 * same after `before`. */
typedef struct {
    W(soa) * soa;
    TL_OUT_T *out;
    int exclusive, stream;
    VS before, prefix, fold, whole;
} W(running);

/* Scans elements j .. j + m - 1 of the tile, m <= V, whose states are v. */
TL_INLINE void W(run_on)(W(running) * k, VS v, int64_t m, const tl_tile *t, int64_t j, tl_par p)
{
    /* `all` is made of v before v is joined with `prefix`, so only one combine, and no shuffle,
     * depends on the last vector. */
    v = W(prefixes)(v, p);
    const VS all = W(ends)(v, v), last = k->whole;
    k->fold = W(join)(k->prefix, v, 0, 0);
    k->prefix = W(join)(k->prefix, all, 0, 0);
    k->whole = W(join)(k->before, k->fold, 0, 0);
    if (k->soa) {
        W(soa_store)(k->soa, TL_V + j, k->whole);
        return;
    }

    const VS what = k->exclusive ? W(delay1)(last, k->whole) : k->whole;
    const TL_VE(real) count = W(counts)(t->b + j + !k->exclusive, 1);
    const TL_VE(result) result = TL_RESULT(TL_VE(lower)(what, count, (TL_VE(idx)){0}, p), p);
    if (m < TL_V)
        memcpy(k->out + j, &result, (size_t)m * sizeof result[0]);
    else if (k->stream)
        tl_stream_store(k->out + j, &result, sizeof result);
    else
        memcpy(k->out + j, &result, sizeof result);
}

/* Returns the tile's node. Stages S(b + 1) .. S(b + m) in soa, or writes the results to out; for
 * out, `exclusive` means S(b) .. S(b + m - 1). */
TL_INLINE SS W(running_scan)(W(soa) * soa, TL_OUT_T *out, const tl_tile *t, int exclusive,
                             int stream, tl_par p)
{
    const E *x = t->x;
    const int64_t m = t->m, b = t->b;
    const tl_prefetch next = t->next;
    const VS none = TL_VE(neutral)(p);
    W(running) k = {soa, out, exclusive, stream, none, none, none, none};
    SS s;

    assert(0 < m && m <= TL_TILE);
    if (t->prefix) {
        memcpy(&s, t->prefix, sizeof s);
        for (int l = 0; l < TL_V; l++) W(put)(&k.before, l, s);
    }

    if (soa) W(soa_store)(soa, 0, k.before);
    k.whole = k.before;
    for (int64_t j = 0; j < m;) {
        const int64_t end = m - j < W(FETCHED) ? m : j + W(FETCHED);
        TL_PREFETCH_SOME(next, j, W(FETCHED), sizeof(E), 0);
        for (; j + TL_V <= end; j += TL_V) W(run_on)(&k, LOAD_RUN(x + j, b + j, p), TL_V, t, j, p);
        if (j < end) W(run_on)(&k, W(load_part)(x + j, end - j, b + j, p), end - j, t, j, p);
        j = end;
    }

    return W(lane)(k.fold, (int)((m - 1) & (TL_V - 1)));
}

#undef LOAD_RUN

static void W(do_scan_run)(const tl_tile *t, tl_state *node, tl_par p)
{
    SS s;
#if TL_SCAN_FULL
    assert(!t->stream || (uintptr_t)t->out % 64 == 0);
    if (t->out && t->exclusive)
        s = W(running_scan)(NULL, t->out, t, 1, t->stream, p);
    else if (t->out && t->stream)
        s = W(running_scan)(NULL, t->out, t, 0, 1, p);
    else if (t->out)
        s = W(running_scan)(NULL, t->out, t, 0, 0, p);
    else
#endif
        s = W(running_scan)(t->soa, NULL, t, 0, 0, p);
    memcpy(node, &s, sizeof s);
}

#else
enum { W(BLOCK) = TL_V * TL_V };

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

/* The left children of a block, of each step of the network. */
typedef struct {
    VS left[TL_LOG_V][TL_V / 2];
} W(steps);

/* Turns the elements e of a block into its vector of V nodes, which it returns. */
TL_CALLED VS W(up)(W(steps) * b, VS *e)
{
    TL_FOR(s, TL_LOG_V)
        TL_FOR(j, TL_V >> (s + 1)) {
            const VS x = e[2 * j], y = e[2 * j + 1];
            b->left[s][j] = s < TL_LOG_G ? W(even1)(x, y) : W(even2)(x, y);
            e[j] = W(step)(s, x, y, 1 << s);
        }

    return e[0];
}

TL_CALLED VS W(load_up)(W(steps) * b, const E *x, int64_t i, tl_par p)
{
    VS e[TL_V];
    TL_FOR(j, TL_V) e[j] = W(load)(x + j * TL_V, i + j * TL_V, p);
    return W(up)(b, e);
}

/* The starts of a block's V groups, and S after the block in each lane. absent: S before it is
 * ABSENT, so the start of the second element is the first one itself. */
typedef struct {
    VS start, end;
    int absent;
} W(groups);

/* e[j]: the starts of the elements of a block, whose first one has index `at`; or, with `ends`, a
 * constant, S after these elements. */
TL_CALLED void W(down)(VS *e, const W(steps) * b, const W(groups) * g, int ends, int64_t at)
{
    VS from[TL_V], *const to = e;
    TL_VE(real) nodes[TL_V]; /* how many elements come before each lane of `from` */

    from[0] = g->start;
    to[0] = W(next)(g->start, g->end);
    nodes[0] = W(ramp)() * TL_V;
    TL_UNROLL for (int s = TL_LOG_V - 1; s >= 0; s--)
        TL_UNROLL for (int j = (TL_V >> (s + 1)) - 1; j >= 0; j--)
    {
        const int inside = s < TL_LOG_G;
        const VS left = b->left[s][j], a = from[j], z = to[j];
        VS middle = W(combine_at)(a, left, W(numbers)(at, nodes[j], 1), 1 << s);
        if (OP_SIZES) W(nodes_below)(nodes, j, s);
        if (g->absent && j == 0) W(put)(&middle, 0, W(lane)(left, 0));
        if (s > 0 || !ends) {
            from[2 * j] = inside ? W(low1)(a, middle) : W(low2)(a, middle);
            from[2 * j + 1] = inside ? W(high1)(a, middle) : W(high2)(a, middle);
        }
        if (ends) {
            to[2 * j] = inside ? W(low1)(middle, z) : W(low2)(middle, z);
            to[2 * j + 1] = inside ? W(high1)(middle, z) : W(high2)(middle, z);
        }
    }

    if (!ends)
        TL_FOR(j, TL_V) e[j] = from[j];
}

TL_INLINE VS W(splat)(SS s)
{
    VS v;
#define ONE(l) one
#define FILL(type, f) \
    { \
        const __typeof__(s.f) one = s.f; \
        v.f = (__typeof__(v.f)){TL_EACH_LANE(ONE)}; \
    }
    OP_FIELDS(FILL)
#undef FILL
#undef ONE
    return v;
}

/* A vector of V nodes of n elements; the first begins at element `at`. Returns where they start,
 * after *before (absent: lane 0 is undefined). *node: the node above them. */
TL_CALLED VS W(starts)(VS v, const SS *before, int absent, int64_t at, int64_t n, SS *node)
{
    VS left[TL_LOG_V], start = W(splat)(*before);
    TL_VE(real) nodes = {0}; /* how many of the nodes come before each lane of `start` */

    TL_FOR(s, TL_LOG_V) {
        left[s] = s < TL_LOG_G ? W(even1)(v, v) : W(even2)(v, v);
        v = W(step)(s, v, v, n << s);
    }
    *node = W(lane)(v, 0);

    TL_UNROLL for (int s = TL_LOG_V - 1; s >= 0; s--)
    {
        TL_VE(real) below[2] = {nodes};
        VS middle = W(combine_at)(start, left[s], W(numbers)(at, nodes, n), n << s);
        if (absent) W(put)(&middle, 0, W(lane)(left[s], 0));
        start = s < TL_LOG_G ? W(low1)(start, middle) : W(low2)(start, middle);
        W(nodes_below)(below, 0, s);
        nodes = below[0];
    }

    return start;
}

TL_INLINE SS W(state_of)(const tl_state *s)
{
    SS r;
    memcpy(&r, s, sizeof r);
    return r;
}

/* Appends the node of a block; returns S after it. */
TL_INLINE SS W(append)(tl_block_counter *c, SS node)
{
    int l = 0;
    for (; c->blocks >> l & 1; l++)
        node = W(twin_s)(W(state_of)(&c->node[l]), node, (int64_t)W(BLOCK) << l);
    memcpy(&c->node[l], &node, sizeof node);
    c->blocks++;

    const int64_t parent = c->blocks & (c->blocks - 1);
    const tl_state *under = parent ? &c->start[tl_level(parent)] : &c->init;
    if (parent || c->seeded)
        node = W(combine_s)(W(state_of)(under), node, parent * W(BLOCK), (int64_t)W(BLOCK) << l);
    memcpy(&c->start[l], &node, sizeof node);
    return node;
}

enum { W(SHIFTS) = TL_SCAN_FULL && TL_SHIFTS && sizeof(TL_VE(result)) == 64 };

#if TL_SCAN_FULL
/* The results of V states: vector k of those from t->out[j] on. */
TL_INLINE TL_VE(result) W(results)(const tl_tile *t, int64_t j, int k, VS s, tl_par p)
{
    const TL_VE(real) count =
        W(numbers)(t->b + j + !t->exclusive, W(ramp)() + (TL_REAL_T)(k * TL_V), 1);
    return TL_RESULT(TL_VE(lower)(s, count, (TL_VE(idx)){0}, p), p);
}

/* last: the vector of results before those of this block; becomes the last of them. */
TL_INLINE void W(put_results)(const tl_tile *t, int64_t j, const VS *e, TL_VE(result) * last,
                              tl_par p)
{
    TL_OUT_T *const to = (TL_OUT_T *)t->out + j;
    if (!t->stream) {
        TL_FOR(k, TL_V) {
            const TL_VE(result) r = W(results)(t, j, k, e[k], p);
            memcpy(to + k * TL_V, &r, sizeof r);
        }
    } else if (!W(SHIFTS) || (uintptr_t)to % 64 == 0) {
        TL_FOR(k, TL_V) {
            const TL_VE(result) r = W(results)(t, j, k, e[k], p);
            tl_stream_store(to + k * TL_V, &r, sizeof r);
        }
    } else {
        TL_FOR(k, TL_V) {
            const TL_VE(result) r = W(results)(t, j, k, e[k], p);
            if (k || j)
                tl_stream_shifted(to + k * TL_V, last, &r);
            else
                memcpy(to, &r, 64 - (uintptr_t)to % 64);
            *last = r;
        }
    }
}
#endif

/* The last step of a block: writes its results, or stages its states. */
TL_INLINE void W(down_out)(const W(steps) * b, const W(groups) * g, const tl_tile *t, int64_t j,
                           TL_VE(result) * last, tl_par p)
{
    VS e[TL_V];
#if TL_SCAN_FULL
    if (t->out) {
        if (t->exclusive)
            W(down)(e, b, g, 0, t->b + j);
        else
            W(down)(e, b, g, 1, t->b + j);
        W(put_results)(t, j, e, last, p);
        return;
    }
#endif
    W(down)(e, b, g, 0, t->b + j);
    TL_FOR(k, TL_V) W(soa_store)(t->soa, j + k * TL_V, e[k]);
}

/* Three blocks at once: while one goes down, the starts of the next one are computed, and the one
 * after that goes up. At the ends there are fewer. */
static void W(do_scan_blocks)(const tl_tile *t, tl_block_counter *c, tl_par p)
{
    enum { BLOCK = W(BLOCK) };
    const E *x = t->x;
    const tl_tile tile = *t;
    const int64_t m = t->m, b = t->b;
    const int absent = !c->blocks && !c->seeded;
    W(steps) steps[3], *down = &steps[0], *next = &steps[1], *up = &steps[2];
    TL_VE(result) last = {0};
    VS v, starts;
    SS node, end;

    assert(m > 0 && m % BLOCK == 0 && b == c->blocks * BLOCK);
    assert(!t->stream || (t->out && (uintptr_t)t->out % (W(SHIFTS) ? 4 : 64) == 0));
    memset(&end, 0, sizeof end); /* never used if absent, but compilers cannot tell */
    if (!absent) end = W(state_of)(c->blocks ? &c->start[tl_level(c->blocks)] : &c->init);

    v = starts = W(load_up)(next, x, b, p);
    for (int64_t j = -BLOCK; j < m; j += BLOCK) {
        const W(groups) here = {starts, W(splat)(end), absent && j == 0};
        const VS above = v;

        if (j >= 0) TL_PREFETCH_SOME(tile.next, j, BLOCK, sizeof(E), 0);
        if (j + 2 * BLOCK < m) v = W(load_up)(up, x + j + 2 * BLOCK, b + j + 2 * BLOCK, p);
        if (j + BLOCK < m) {
            starts = W(starts)(above, &end, absent && j < 0, b + j + BLOCK, TL_V, &node);
            end = W(append)(c, node);
        }

        if (j >= 0) W(down_out)(down, &here, &tile, j, &last, p);
        W(steps) *const free = down;
        down = next, next = up, up = free;
    }
    if (!TL_SCAN_FULL || !t->out) W(soa_set)(t->soa, m, end);
    const size_t rest = t->stream ? (uintptr_t)t->out % 64 : 0;
    if (rest)
        memcpy((char *)((TL_OUT_T *)t->out + m) - rest, (char *)&last + sizeof last - rest, rest);
}

/* Fewer than V*V elements, in whose block all that comes before them is before b. */
static void W(do_scan_part)(const tl_tile *t, tl_par p)
{
    const E *x = t->x;
    const int64_t m = t->m, b = t->b;
    const int absent = !t->prefix;
    W(steps) steps;
    VS e[TL_V];
    SS before, node;

    assert(0 < m && m < W(BLOCK) && (b == 0 || m <= (b & -b)));
    memset(&before, 0, sizeof before); /* never used if absent, but compilers cannot tell */
    if (!absent) before = W(state_of)(t->prefix);
    for (int k = 0; k < TL_V; k++) {
        const int64_t from = k * TL_V, left = m - from;
        e[k] = left >= TL_V
                   ? W(load)(x + from, b + from, p)
                   : W(load_part)(left > 0 ? x + from : x, left > 0 ? left : 0, b + from, p);
    }

    const W(groups) g = {.start = W(starts)(W(up)(&steps, e), &before, absent, b, TL_V, &node),
                         .absent = absent};
    W(down)(e, &steps, &g, 0, b);
#if TL_SCAN_FULL
    if (t->out) {
        TL_VE(result) r[TL_V];
        /* S after an element is the start of the next one; the block's last lane is padding. */
        if (!t->exclusive)
            TL_FOR(k, TL_V) e[k] = W(next)(e[k], e[k + 1 < TL_V ? k + 1 : k]);
        TL_FOR(k, TL_V) r[k] = W(results)(t, 0, k, e[k], p);
        W(store)(t->out, r, TL_V, m, 0);
        return;
    }
#endif
    TL_FOR(k, TL_V) W(soa_store)(t->soa, k * TL_V, e[k]);
}

#endif

static void W(do_stage)(void *soa, int64_t j, const tl_state *s)
{
    SS one;
    assert(0 <= j && j < TL_SOA);
    memcpy(&one, s, sizeof one);
    W(soa_set)(soa, j, one);
}
