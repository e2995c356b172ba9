/* SPDX-License-Identifier: MIT
 * Scans of up to 4 KiB of elements by a warp. Each lane scans contiguous lines of them: in class X
 * one element after the other, else (LINES_BY_TREE) in groups of 8, as scan_columns.cl does down a
 * column. So lanes exchange one node each, where rows of quads (scan_row.cl) exchange one for each
 * quad. Elements and results go through local memory in lines of 16 bytes, a row of 32 lines at a
 * time. Line u is stored at place u ^ (u / 8 & 7), so that neither rows nor the lines of a lane have
 * bank conflicts. */
#define LINES_BY_TREE (!OP_EXACT)
enum {
    LINES = SINGLE_ITEMS / (LANES * PACK),
    LANE_ITEMS_L = LINES * PACK,
    WARP_ITEMS = LANES * LANE_ITEMS_L,
    OCTET = 8,
    OCTET_LINES = OCTET / PACK,
    OCTETS = LANE_ITEMS_L / OCTET
};

#define LINE_PLACE(u) ((u) ^ ((u) >> 3 & 7))

/* True if the chunk at `at` is full, contiguous, and aligned to lines; then lines_load loads it
 * into registers. */
fn int lines_can(batch b, i64 start, i64 at)
{
    return at + WARP_ITEMS <= b.n && is_packed(b, start + at);
}

fn void lines_load(bundle *e, batch b, i64 first)
{
    GLOBAL const bundle *x = (GLOBAL const bundle *)(b.x + first * TL_SIZE) + lane_index();
    UNROLL for (int r = 0; r < LINES; r++) e[r] = x[r * LANES];
}

/* Stores the loaded lines into local memory. */
fn void lines_put(LOCAL bundle *stage, const bundle *e)
{
    UNROLL for (int r = 0; r < LINES; r++) stage[LINE_PLACE(r * LANES + lane_index())] = e[r];
}

fn LOCAL elem *element_at(LOCAL bundle *stage, int q)
{
    return (LOCAL elem *)(stage + LINE_PLACE(q / PACK)) + q % PACK;
}

/* Copies `count` elements of any chunk into local memory, element by element. */
fn void lines_gather(LOCAL bundle *stage, batch b, i64 first, int count)
{
    enum { SOME = 8 };
    const i64 step = b.stride * TL_SIZE;
    GLOBAL const u8 *x = b.x + first * TL_SIZE;
    const int near = ADDRESS(x) % TL_SIZE == 0,
              full = near ? count / (SOME * LANES) * (SOME * LANES) : 0;
    ROLLED for (int q = lane_index(); q < full; q += SOME * LANES)
    {
        elem e[SOME];
        UNROLL for (int k = 0; k < SOME; k++)
            e[k] = *(GLOBAL const elem *)(x + (q + k * LANES) * step);
        UNROLL for (int k = 0; k < SOME; k++) *element_at(stage, q + k * LANES) = e[k];
    }
    ROLLED for (int q = full + lane_index(); q < count; q += LANES)
        *element_at(stage, q) = load_element(x + q * step);
}

#if LINES_BY_TREE
/* Loads the lane's elements 8 g to 8 g + 7. */
fn void load_octet(elem *e, LOCAL const bundle *stage, int g)
{
    const int u = lane_index() * LINES + g * OCTET_LINES;
    UNROLL for (int j = 0; j < OCTET_LINES; j++)
    {
        const bundle v = stage[LINE_PLACE(u + j)];
        UNROLL for (int k = 0; k < PACK; k++) e[j * PACK + k] = pack_element(v, k);
    }
}
#endif

/* Returns the node of the lane's elements, the first of which has index i. */
fn state lines_fold(LOCAL const bundle *stage, i64 i, par p)
{
#if LINES_BY_TREE
    state stack[LOG_ROWS_E + 1];
    int top = 0;
    UNROLL for (int g = 0; g < OCTETS; g++)
    {
        elem e[OCTET];
        load_octet(e, stage, g);
#define LIFTED(k) lift_e(e[k], i + g * OCTET + (k), p)
        state v = NODE_8(LIFTED, 0, 1);
#undef LIFTED
        UNROLL for (int n = 1; g & n; n <<= 1) v = TWIN(stack[--top], v, OCTET * n);
        stack[top++] = v;
    }
    return stack[0];
#else
    const int u = lane_index() * LINES;
#if PARTIALS && !FINDS
    lane_partial t = partial_none(p);

    UNROLL for (int j = 0; j < LINES; j++)
        t = partial_pack(t, stage[LINE_PLACE(u + j)], i + j * PACK, p);
    return partial_state(partial_span(t, i));
#else
    state v;

    UNROLL for (int j = 0; j < LINES; j++)
    {
        const bundle e = stage[LINE_PLACE(u + j)];
        UNROLL for (int k = 0; k < PACK; k++)
        {
            const state one = lift_e(pack_element(e, k), i + j * PACK + k, p);
            v = j || k ? COMBINE(v, one, j * PACK + k, 1) : one;
        }
    }

    return v;
#endif
#endif
}

#if !LINES_BY_TREE
/* Computes the results w of a line and returns S after it. q: S before element i, the line's
 * first. */
fn maybe line_scan(result *w, bundle e, maybe q, i64 i, i64 exclusive, par p)
{
    UNROLL for (int k = 0; k < PACK; k++)
    {
        const i64 done = p.origin + i + k;
        const maybe after = then(q, lift_e(pack_element(e, k), i + k, p), done, 1);
        const state s = choose(exclusive != 0, q.s, after.s);
        w[k] = lower(s, (real)(done + !exclusive), 0, p);
        if (!k) w[k] = exclusive && !q.have ? empty(p) : w[k];
        q = after;
    }
    return q;
}
#endif

#if TL_OUT_SIZE == TL_SIZE
fn bundle line_of(const result *w)
{
    bundle v;
    UNROLL for (int k = 0; k < 4; k++) v.w[k] = 0;
    UNROLL for (int k = 0; k < PACK; k++)
    {
#if TL_OUT_FLOAT == 4
        v.w[k] = as_u32(w[k]);
#elif TL_OUT_SIZE == 8
#if TL_OUT_FLOAT
        const u64 bits = as_u64(w[k]);
#else
        const u64 bits = (u64)w[k];
#endif
        v.w[2 * k] = (u32)bits, v.w[2 * k + 1] = (u32)(bits >> 32);
#else
        v.w[k * TL_SIZE / 4] |= ((u32)w[k] & (u32)(((u64)1 << (8 * TL_SIZE)) - 1))
                                << (8 * TL_SIZE * k) % 32;
#endif
    }

    return v;
}
#endif

/* Stores four results of 8 bytes of each lane in whole sectors: a pair of lanes stores first the
 * even lane's results, then the odd lane's. even, odd: their places, aligned to 16 bytes. */
#if TL_OUT_SIZE == 8
fn void store_pair(GLOBAL u8 *even, GLOBAL u8 *odd, const result *w)
{
    typedef struct ALIGNED(16) { result a, b; } two;
    const int right = lane_index() & 1;
    result x = right ? w[0] : w[2], y = right ? w[1] : w[3];
    SHUFFLE(1, result, x, x, 1);
    SHUFFLE(1, result, y, y, 1);
    two first, second;
    first.a = right ? x : w[0], first.b = right ? y : w[1], second.a = right ? w[2] : x,
    second.b = right ? w[3] : y;
    ((GLOBAL two *)even)[right] = first;
    ((GLOBAL two *)odd)[right] = second;
}
#endif

#if LINES_BY_TREE
/* Puts the results of a lane's elements, the first of which has index i, in their place. c.after: S
 * after them, if there are so many. */
fn void scan_octets(chunk_scan c, LOCAL bundle *stage, maybe start, i64 i)
{
    const par p = c.b.p;
    maybe rows[ROWS_E + 1];
    state stack[LOG_ROWS_E + 1];
    rows[0] = start;
    UNROLL for (int g = 0; g < OCTETS; g++)
    {
        const int u = lane_index() * LINES + g * OCTET_LINES;
        elem e[OCTET];
        maybe s[OCTET + 1];
        state node;
        result w[OCTET];
        load_octet(e, stage, g);
        s[0] = rows[g];
        scan_eight(s, &node, e, i + g * OCTET, p);
        next_row_e(rows, stack, g, node, p.origin + i, OCTET);
        s[OCTET] = rows[g + 1];
        if (g == OCTETS - 1) s[OCTET].s = c.after;
        UNROLL for (int k = 0; k < OCTET; k++)
        {
            const state v = choose(c.exclusive != 0, s[k].s, s[k + 1].s);
            w[k] = lower(v, (real)(p.origin + i + g * OCTET + k + !c.exclusive), 0, p);
        }
        if (g == 0) w[0] = c.exclusive && !start.have ? empty(p) : w[0];
        UNROLL for (int j = 0; j < OCTET_LINES; j++)
            stage[LINE_PLACE(u + j)] = line_of(w + j * PACK);
    }
}
#endif

/* Stores a chunk's results. start: S before the lane's first element; c.after: S after the chunk, if
 * it is full. */
fn void lines_scan(chunk_scan c, LOCAL bundle *stage, maybe start, LOCAL state *box)
{
    const int lane = lane_index(), u = lane * LINES;
    const i64 mine = c.at + lane * LANE_ITEMS_L;
    const int count = c.n - c.at < WARP_ITEMS ? (int)(c.n - c.at) : WARP_ITEMS;
    GLOBAL u8 *to = place(c.out, c.b, c.s, c.at);
    const int lines = c.out.stride == 1 && count == WARP_ITEMS && ADDRESS(to) % 16 == 0;

#if TL_OUT_SIZE == TL_SIZE
#if LINES_BY_TREE
    const state next = from_lane(start.s, (lane + 1) & 31, box);
    c.after = choose(lane == LANES - 1, c.after, next);
    scan_octets(c, stage, start, mine);
#else
    ROLLED for (int j = 0; j < LINES; j++)
    {
        result w[PACK];
        start = line_scan(w, stage[LINE_PLACE(u + j)], start, mine + j * PACK, c.exclusive, c.b.p);
        stage[LINE_PLACE(u + j)] = line_of(w);
    }
#endif
    WARP_BARRIER();

    if (lines) {
        UNROLL for (int r = 0; r < LINES; r++)
            ((GLOBAL bundle *)to)[r * LANES + lane] = stage[LINE_PLACE(r * LANES + lane)];
    } else {
        ROLLED for (int q = lane; q < count; q += LANES)
            store_bytes(to + q * c.out.stride * TL_SIZE, *(LOCAL result *)element_at(stage, q));
    }
#else
    GLOBAL u8 *even = to + (lane & 30) * (LANE_ITEMS_L * 8);
    ROLLED for (int j = 0; j < LINES; j++)
    {
        result w[PACK];
        start = line_scan(w, stage[LINE_PLACE(u + j)], start, mine + j * PACK, c.exclusive, c.b.p);
        if (lines) {
            UNROLL for (int k = 0; k < PACK; k += QUAD)
                store_pair(even + (j * PACK + k) * 8, even + (LANE_ITEMS_L + j * PACK + k) * 8,
                           w + k);
        } else {
            UNROLL for (int k = 0; k < PACK; k++)
            {
                const int q = lane * LANE_ITEMS_L + j * PACK + k;
                if (q < count) store_bytes(to + q * c.out.stride * 8, w[k]);
            }
        }
    }
#endif
}
