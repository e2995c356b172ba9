/* SPDX-License-Identifier: MIT
 * A part: the SINGLE_ITEMS elements of a warp of scan_single.cl and scan_wave.cl, up to 4 KiB, in
 * local memory. A program has parts of one form, with these functions:
 *
 *   load_part, put_part   elements from global memory to registers, and on to local memory
 *   lane_node             the node of the lane's own elements; lines only
 *   part_node             the node of a full part
 *   part_scan             stores the results
 *
 * Lines (SCAN_LINES): each lane has contiguous lines of 16 bytes. In class X it scans one element
 * after the other, else groups of 8, as scan.cl does down a column; lanes exchange one node
 * each. Elements and results go through local memory a row of 32 lines at a time.
 * Line u is stored at place u ^ (u / 8 & 7), so that neither rows nor the lines of a lane have bank
 * conflicts. Rows: lanes have quads of rows of 128 elements (scan_row.cl). */
enum { PART_BYTES = SINGLE_ITEMS * TL_SIZE };

#if SCAN_LINES
enum {
    LINES = SINGLE_ITEMS / (LANES * PACK),
    LANE_ITEMS_L = LINES * PACK,
    OCTET = 8,
    OCTET_LINES = OCTET / PACK,
    OCTETS = LANE_ITEMS_L / OCTET
};

#define LINE_PLACE(u) ((u) ^ ((u) >> 3 & 7))

fn LOCAL elem *element_at(LOCAL bundle *stage, int q)
{
    return (LOCAL elem *)(stage + LINE_PLACE(q / PACK)) + q % PACK;
}

typedef bundle held[LINES];

fn LOCAL u32 *word_at(LOCAL bundle *stage, int q) { return stage[LINE_PLACE(q / 4)].w + q % 4; }

enum { LOADED_LINES = 1, LOADED_WORDS };

/* Loads a full part that is contiguous and aligned, by lines or words. Returns 0 for other parts:
 * then put_part does all. */
fn int load_part(held e, batch b, i64 start, i64 at)
{
    GLOBAL const u8 *const from = b.x + (start + at) * TL_SIZE;
    const int lane = lane_index();
    if (at + SINGLE_ITEMS > b.n || b.stride != 1 || ADDRESS(from) % 4 != 0) return 0;

    if (ADDRESS(from) % 16 == 0) {
        GLOBAL const bundle *x = (GLOBAL const bundle *)from + lane;
        FOR(r, LINES) e[r] = x[r * LANES];
        return LOADED_LINES;
    }
    GLOBAL const u32 *x = (GLOBAL const u32 *)from + lane;
    FOR(k, 4 * LINES) e[k / 4].w[k % 4] = x[k * LANES];
    return LOADED_WORDS;
}

fn void put_part(LOCAL u8 *part, const held e, int loaded, batch b, i64 start, i64 at)
{
    enum { SOME = 8 }; /* elements in flight, where there is one load for each */
    LOCAL bundle *const stage = (LOCAL bundle *)part;
    const i64 step = b.stride * TL_SIZE;
    const int lane = lane_index(), count = b.n - at < SINGLE_ITEMS ? (int)(b.n - at) : SINGLE_ITEMS;
    GLOBAL const u8 *x = b.x + start * TL_SIZE + at * step;
    const int full = ADDRESS(x) % TL_SIZE == 0 ? count / (SOME * LANES) * (SOME * LANES) : 0;
    if (loaded == LOADED_LINES) {
        FOR(r, LINES) stage[LINE_PLACE(r * LANES + lane)] = e[r];
        return;
    }
    if (loaded == LOADED_WORDS) {
        FOR(k, 4 * LINES) *word_at(stage, k * LANES + lane) = e[k / 4].w[k % 4];
        return;
    }
    ROLLED for (int q = lane; q < full; q += SOME * LANES)
    {
        elem v[SOME];
        FOR(k, SOME) v[k] = *(GLOBAL const elem *)(x + (q + k * LANES) * step);
        FOR(k, SOME) *element_at(stage, q + k * LANES) = v[k];
    }
    ROLLED for (int q = full + lane; q < count; q += LANES) * element_at(stage, q) =
        load_element(x + q * step);
}

#if !OP_EXACT
/* Loads the lane's elements 8 g to 8 g + 7. */
fn void load_octet(elem *e, LOCAL const bundle *stage, int g)
{
    const int u = lane_index() * LINES + g * OCTET_LINES;
    FOR(j, OCTET_LINES) {
        const bundle v = stage[LINE_PLACE(u + j)];
        FOR(k, PACK) e[j * PACK + k] = pack_element(v, k);
    }
}
#endif

fn state lane_node(LOCAL const u8 *part, batch b, i64 at)
{
    LOCAL const bundle *const stage = (LOCAL const bundle *)part;
    const i64 i = at + lane_index() * LANE_ITEMS_L;
    const par p = b.p;
#if !OP_EXACT
    state stack[LOG_ROWS_E + 1];
    int top = 0;
    FOR(g, OCTETS) {
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

    FOR(j, LINES) t = partial_pack(t, stage[LINE_PLACE(u + j)], i + j * PACK, p);
    return partial_state(partial_span(t, i));
#else
    state v;

    FOR(j, LINES) {
        const bundle e = stage[LINE_PLACE(u + j)];
        FOR(k, PACK) {
            const state one = lift_e(pack_element(e, k), i + j * PACK + k, p);
            v = j || k ? COMBINE(v, one, j * PACK + k, 1) : one;
        }
    }

    return v;
#endif
#endif
}

fn state part_node(LOCAL const u8 *part, state node, batch b, i64 at, LOCAL state *box)
{
    state left[5];
    return row_node_s(node, LANE_ITEMS_L, left, box);
}

#if OP_EXACT
/* Computes the results w of a line and returns S after it. q: S before element i, the line's
 * first. */
fn maybe line_scan(result *w, bundle e, maybe q, i64 i, i64 exclusive, par p)
{
    FOR(k, PACK) {
        const i64 done = p.origin + i + k;
        const maybe after = then(q, lift_e(pack_element(e, k), i + k, p), done, 1);
        const state s = choose(exclusive != 0, q.s, after.s);
        w[k] = lower(s, (real)(done + !exclusive), 0, p);
        if (!k) w[k] = exclusive && !q.exists ? empty(p) : w[k];
        q = after;
    }
    return q;
}
#endif

#if TL_OUT_SIZE == TL_SIZE
fn bundle line_of(const result *w)
{
#if TL_SIZE >= 4
    union {
        result w[PACK];
        bundle line;
    } v;
    FOR(k, PACK) v.w[k] = w[k];
    return v.line;
#else
    bundle v;
    FOR(k, 4) v.w[k] = 0;
    FOR(k, PACK)
        v.w[k * TL_SIZE / 4] |= ((u32)w[k] & (u32)(((u64)1 << (8 * TL_SIZE)) - 1))
                                << (8 * TL_SIZE * k) % 32;
    return v;
#endif
}
#endif

#if !OP_EXACT
/* Puts the results of a lane's elements, the first of which has index i, in their place. c.after: S
 * after them, if there are so many. */
fn void scan_octets(chunk_scan c, LOCAL bundle *stage, maybe start, i64 i)
{
    const par p = c.b.p;
    maybe rows[ROWS_E + 1];
    state stack[LOG_ROWS_E + 1];
    rows[0] = start;
    FOR(g, OCTETS) {
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
        FOR(k, OCTET) {
            const state v = choose(c.exclusive != 0, s[k].s, s[k + 1].s);
            w[k] = lower(v, (real)(p.origin + i + g * OCTET + k + !c.exclusive), 0, p);
        }
        if (g == 0) w[0] = c.exclusive && !start.exists ? empty(p) : w[0];
        FOR(j, OCTET_LINES) stage[LINE_PLACE(u + j)] = line_of(w + j * PACK);
    }
}
#endif

/* before: S before the part; c.after: S after it, if it is full; node: the lane's node. */
fn void part_scan(chunk_scan c, LOCAL u8 *part, maybe before, state node, LOCAL state *box)
{
    LOCAL bundle *const stage = (LOCAL bundle *)part;
    const int lane = lane_index(), u = lane * LINES;
    const i64 i = c.at + u * PACK;
    const int count = c.n - c.at < SINGLE_ITEMS ? (int)(c.n - c.at) : SINGLE_ITEMS;
    GLOBAL u8 *to = place(c.out, c.b, c.s, c.at);
    const int full = c.out.stride == 1 && count == SINGLE_ITEMS,
              lines = full && ADDRESS(to) % 16 == 0;
    state left[5];
    row_node_s(node, LANE_ITEMS_L, left, box);
    maybe start = row_start_s(before, c.b.p.origin + c.at, LANE_ITEMS_L, left);

#if TL_OUT_SIZE == TL_SIZE
#if !OP_EXACT
    const state next = from_lane(start.s, (lane + 1) & 31, box);
    c.after = choose(lane == LANES - 1, c.after, next);
    scan_octets(c, stage, start, i);
#else
    ROLLED for (int j = 0; j < LINES; j++)
    {
        result w[PACK];
        start = line_scan(w, stage[LINE_PLACE(u + j)], start, i + j * PACK, c.exclusive, c.b.p);
        stage[LINE_PLACE(u + j)] = line_of(w);
    }
#endif
    WARP_BARRIER();

    if (lines) {
        FOR(r, LINES) ((GLOBAL bundle *)to)[r * LANES + lane] = stage[LINE_PLACE(r * LANES + lane)];
    } else if (full && ADDRESS(to) % 4 == 0) {
        FOR(k, 4 * LINES) ((GLOBAL u32 *)to)[k * LANES + lane] = *word_at(stage, k * LANES + lane);
    } else {
        ROLLED for (int q = lane; q < count; q += LANES)
            store_bytes(to + q * c.out.stride * TL_SIZE, *(LOCAL result *)element_at(stage, q));
    }
#else
    GLOBAL u8 *even = to + (lane & 30) * (LANE_ITEMS_L * 8);
    ROLLED for (int j = 0; j < LINES; j++)
    {
        result w[PACK];
        start = line_scan(w, stage[LINE_PLACE(u + j)], start, i + j * PACK, c.exclusive, c.b.p);
        if (lines) {
            UNROLL for (int k = 0; k < PACK; k += QUAD) store_pair(
                even + (j * PACK + k) * 8, even + (LANE_ITEMS_L + j * PACK + k) * 8, w + k);
        } else {
            FOR(k, PACK) {
                const int q = lane * LANE_ITEMS_L + j * PACK + k;
                if (q < count) store_bytes(to + q * c.out.stride * 8, w[k]);
            }
        }
    }
#endif
}
#else
#define LINE_PLACE(u) (u)
enum { PART_ROWS = SINGLE_ITEMS / ROW_e };
typedef elem held[PART_ROWS][QUAD];

fn int load_part(held e, batch b, i64 start, i64 at)
{
    SINGLE_PART(load)(e, b, start, at, b.n);
    return 1;
}

fn void put_part(LOCAL u8 *part, held e, int loaded, batch b, i64 start, i64 at)
{
    FOR(r, PART_ROWS) {
        quad q;
        q.x = e[r][0], q.y = e[r][1], q.z = e[r][2], q.w = e[r][3];
        ((LOCAL quad *)part)[r * LANES + lane_index()] = q;
    }
}

fn state lane_node(LOCAL const u8 *part, batch b, i64 at) { return nothing(b.p).s; }
fn state part_node(LOCAL const u8 *part, state node, batch b, i64 at, LOCAL state *box)
{
    held e;
    state v[PART_ROWS];
    FOR(r, PART_ROWS) put_quad(e[r], ((LOCAL const quad *)part)[r * LANES + lane_index()]);
    SINGLE_PART(fold_quads)(v, e, b, at, 1);
    SINGLE_PART(fold_across)(v, 1, box);
    return SINGLE_PART(fold_lanes)(v[0], 1, box);
}

fn void part_scan(chunk_scan c, LOCAL u8 *part, maybe before, state node, LOCAL state *box)
{
    maybe rows[ROWS_E + 1];
    state stack[LOG_ROWS_E + 1];
    rows[0] = before;
    FOR(r, PART_ROWS) {
        elem x[QUAD];
        put_quad(x, ((LOCAL const quad *)part)[r * LANES + lane_index()]);
        scan_row(c, x, r, rows, stack, box);
    }
}
#endif
