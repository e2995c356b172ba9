/* SPDX-License-Identifier: MIT
 * Windows of their whole length w. A thread holds quads of four neighbouring items. Y_1 and Y_2 of
 * a quad need only the quad to its right. From level 2 on, a level costs one store and one load of
 * a quad:
 *
 *   Y_0 in local memory -> own quad, next quad -> Y_1, Y_2 in registers
 *   level k >= 2:  store Y_k, barrier, load the quad 2^k items to the right, Y_(k+1) in registers
 *   w's set bits:  Y_k stays in an array of its own (the highest one in registers); the other
 *                  levels alternate between two arrays
 *
 * The result at item i is the fold of Y_k[i + higher bits of w] over the set bits k of w, from high
 * to low. Tiles begin where results are aligned to quads; so elements are loaded one by one, and
 * neighbouring threads load neighbouring elements.
 *
 * RUNS (tl_gpu_runs): for some states of 12 and 16 bytes, which cost most to move to local memory
 * and back, a thread holds 8 contiguous items (a run), and local memory has the elements instead of
 * Y_0:
 *
 *   own run of elements, next run -> lifted, Y_1, Y_2, Y_3 in registers
 *   level k >= 3:  as above
 *   w's low bits:  the run of elements in which their nodes begin, and the next run
 *                  -> Y_2, Y_1, Y_0 in registers */
/* Blocks of a multiprocessor, which bounds the registers. */
#define WHOLE_BLOCKS (RUNS && sizeof(state) == 16 ? 2 : RUNS || sizeof(state) > 8 ? 3 : 4)
enum { WHOLE_QUADS = WHOLE / QUAD, MINE = WHOLE_QUADS / WINDOW_THREADS };
enum {
    ARRAY_QUADS = WHOLE_QUADS + (PADDED ? WHOLE_QUADS / 8 : 0),
    RUN_LOG = 3,
    RUN_ITEMS = 1 << RUN_LOG
};

/* For tiles that have TILE_ROWS rows (long.cl, columns.cl): quads of a row; log2 of the items of a
 * row. */
enum { COLUMN_QUADS = MINE, FIRST_LEVEL = WHOLE_LOG - TILE_ROWS_LOG };

#define FOUR_LOW_BIT(bytes) ((bytes) & -(bytes))
#define FOUR_ALIGN (FOUR_LOW_BIT(4 * sizeof(state)) > 16 ? 16 : FOUR_LOW_BIT(4 * sizeof(state)))
typedef struct ALIGNED(FOUR_ALIGN) {
    state s[QUAD];
} four;

/* The unit of access to quad q of an array in local memory: 16 bytes, if the states of a quad are
 * permuted (place.cl). */
enum { TOGETHER = sizeof(state) == 8 ? 2 : 1 };
typedef struct ALIGNED(16) {
    state s[TOGETHER];
} together;

/* State c of quad q. With quads, all of a thread's quads have the same turn_of, so it is computed
 * once; with place_of alone each quad would compute its own. */
#define STATE_AT(z, q, c)                                                                          \
    (RUNS ? (LOCAL const state *)(z) + place_of((q) * QUAD + (c)) : &(z)[q].s[(c) ^ turn_of(q)])
fn four get_four(LOCAL const four *z, int q)
{
    four v;
    if (!TURNED) return z[PADDED ? q + (q >> 3) : q];
    UNROLL for (int c = 0; c < QUAD; c += TOGETHER)
    {
        const together t = *(LOCAL const together *)STATE_AT(z, q, c);
        UNROLL for (int k = 0; k < TOGETHER; k++) v.s[c + k] = t.s[k];
    }
    return v;
}

fn void put_four(LOCAL four *z, int q, four v)
{
    if (!TURNED) z[PADDED ? q + (q >> 3) : q] = v;
    UNROLL for (int c = 0; c < QUAD && TURNED; c += TOGETHER)
    {
        together t;
        UNROLL for (int k = 0; k < TOGETHER; k++) t.s[k] = v.s[c + k];
        *(LOCAL together *)STATE_AT(z, q, c) = t;
    }
}

/* Number of quad m of a thread. */
fn int quad_number(int runs, int m)
{
    return runs ? thread_index() * (RUN_ITEMS / QUAD) + m : m * WINDOW_THREADS + thread_index();
}

/* ---- runs ---- */

/* Elements in local memory, in pieces of a quad (or of 16 bytes, if that is less). They are
 * permuted so that lanes which read a run each have no bank conflicts. */
enum {
    PIECE = QUAD * TL_SIZE > 16 ? 16 / TL_SIZE : QUAD,
    PIECES = RUN_ITEMS / PIECE,
    BANKS = 128 / (PIECE * TL_SIZE)
};
typedef struct ALIGNED(PIECE * TL_SIZE) {
    elem e[PIECE];
} piece;
fn int piece_place(int k) { return k ^ (k / BANKS & (PIECES - 1)); }
fn int element_place(int i) { return piece_place(i / PIECE) * PIECE + i % PIECE; }

/* Loads `many` elements from item i on, where a quad begins. Places beyond the tile give other
 * elements, which no result uses. */
fn void get_elements(elem *e, const int many, LOCAL const elem *x, int i)
{
    UNROLL for (int k = 0; k < many; k += PIECE)
    {
        const int at = i + k < WHOLE ? i + k : WHOLE - PIECE;
        const piece t = ((LOCAL const piece *)x)[piece_place(at / PIECE)];
        UNROLL for (int c = 0; c < PIECE; c++) e[k + c] = t.e[c];
    }
}

fn void load_elements(LOCAL elem *z, LOCAL const stretch *p, batch b, windows w)
{
    const int me = thread_index();
    if (p->dense_items) {
        elem e[WHOLE / WINDOW_THREADS];
        UNROLL for (int k = 0; k < WHOLE / WINDOW_THREADS; k++)
            e[k] = DENSE_ITEM(p, b, w, me + k * WINDOW_THREADS);
        UNROLL for (int k = 0; k < WHOLE / WINDOW_THREADS; k++)
            z[k * WINDOW_THREADS + element_place(me)] = e[k];
    } else {
        for (int i = p->before + me; i < p->beyond; i += WINDOW_THREADS)
            z[element_place(i)] = item_of(p, b, w, i);
    }
}

/* y = Y_3 of a run. item: index of its first element. */
fn void run_levels(four *y, const elem *e, i64 item, par p)
{
    state s[2 * RUN_ITEMS - 1];
    UNROLL for (int c = 0; c < 2 * RUN_ITEMS - 1; c++) s[c] = lift(e[c], item + c, p);
    UNROLL for (int c = 0; c < 2 * RUN_ITEMS - 2; c++) s[c] = TWIN(s[c], s[c + 1], 1);
    UNROLL for (int c = 0; c < 2 * RUN_ITEMS - 4; c++) s[c] = TWIN(s[c], s[c + 2], 2);
    UNROLL for (int c = 0; c < RUN_ITEMS; c++) y[c / QUAD].s[c % QUAD] = TWIN(s[c], s[c + 4], 4);
}

fn void join(four *y, const state *s, int have, i64 done, int n)
{
    UNROLL for (int c = 0; c < QUAD; c++) y->s[c] = have ? COMBINE(y->s[c], s[c], done, n) : s[c];
}

/* Folds the lowest bits of w (`low`) onto the quad y, or sets y if have is 0. x[i]: where their
 * elements begin; first: index of x[0]. */
fn void run_low(four *y, int have, int low, LOCAL const elem *x, int i, i64 first, i64 done, par p)
{
    elem e[2 * QUAD];
    state s[QUAD + 3];
    if (low & 4) {
        get_elements(e, 2 * QUAD, x, i);
        UNROLL for (int c = 0; c < QUAD + 3; c++) s[c] = lift(e[c], first + i + c, p);
        UNROLL for (int c = 0; c < QUAD + 2; c++) s[c] = TWIN(s[c], s[c + 1], 1);
        UNROLL for (int c = 0; c < QUAD; c++) s[c] = TWIN(s[c], s[c + 2], 2);
        join(y, s, have, done, 4);
        have = 1, done += 4, i += 4;
    }
    if (low & 3) get_elements(e, 2 * QUAD, x, i);
    if (low & 2) {
        UNROLL for (int c = 0; c < QUAD + 1; c++) s[c] = lift(e[c], first + i + c, p);
        UNROLL for (int c = 0; c < QUAD; c++) s[c] = TWIN(s[c], s[c + 1], 1);
        join(y, s, have, done, 2);
        have = 1, done += 2, i += 2;
        UNROLL for (int c = 0; c < QUAD; c++) e[c] = e[c + 2];
    }
    if (low & 1) {
        UNROLL for (int c = 0; c < QUAD; c++) s[c] = lift(e[c], first + i + c, p);
        join(y, s, have, done, 1);
    }
}

/* ---- quads ---- */

/* Y_0 of a tile. */
fn void load_whole(LOCAL state *z, LOCAL const stretch *p, batch b, windows w)
{
    const int me = thread_index();
    if (p->dense_items) {
        elem e[WHOLE / WINDOW_THREADS];
        const i64 item = p->lo + w.shift + me;
        UNROLL for (int k = 0; k < WHOLE / WINDOW_THREADS; k++)
            e[k] = DENSE_ITEM(p, b, w, me + k * WINDOW_THREADS);
        UNROLL for (int k = 0; k < WHOLE / WINDOW_THREADS; k++)
            z[k * WINDOW_THREADS + place_of(me)] = lift(e[k], item + k * WINDOW_THREADS, b.p);
    } else {
        load_items(z, 1, p, b, w);
    }
}

/* Results of a tile, from the folds v of all elements of its windows: four windows at a time
 * (quads), or from local memory, contiguous (store_items). */
#if OP_LANES == 1
fn void lower_quad(result *x, LOCAL const stretch *p, LOCAL const borders *d, batch b, windows w,
                   int q, const four *v)
{
    const real length = (real)length_in(w);
    UNROLL for (int c = 0; c < QUAD; c++) x[c] = lower(v->s[c], length, p->lo + q + c, b.p);
    if (!p->inside && (b.flags & OFFSETS) && q < p->results) {
        const int cut = cut_windows(p, d, b, q, (int)length_in(w));
        UNROLL for (int c = 0; c < QUAD; c++) x[c] = cut >> c & 1 ? empty(b.p) : x[c];
    } else if (!p->inside && !(b.flags & OFFSETS) &&
               ahead_in_rows(p, q) < length_in(w) + QUAD - 1) {
        /* For rows this is faster than cut_windows. */
        UNROLL for (int c = 0; c < QUAD; c++)
            x[c] = ahead_in_rows(p, q + c) < length_in(w) ? empty(b.p) : x[c];
    }
}

/* Stores the results of a warp's runs; at: address of the lane's first one. Pairs of lanes exchange
 * units of 16 bytes first, so that whole sectors are written. */
fn void store_full_runs(GLOBAL u8 *at, const result *x)
{
#if TL_OUT_SIZE >= 4 && defined(TL_SHUFFLES)
    enum { UNIT = 16 / TL_OUT_SIZE, UNITS = RUN_ITEMS / UNIT };
    typedef struct ALIGNED(16) { result r[UNIT]; } unit;
    const int odd = lane_index() & 1;
    GLOBAL unit *to = (GLOBAL unit *)(at - odd * RUN_ITEMS * (i64)sizeof(result)) + odd;
    UNROLL for (int j = 0; j < UNITS; j += 2)
    {
        unit even_s, odd_s; /* from the even lane's run, from the odd lane's */
        UNROLL for (int c = 0; c < UNIT; c++)
        {
            const result even_x = x[j * UNIT + c], odd_x = x[(j + 1) * UNIT + c],
                         mine = odd ? odd_x : even_x;
            result other = odd ? even_x : odd_x;
            SHUFFLE(1, result, other, other, 1);
            even_s.r[c] = odd ? other : mine, odd_s.r[c] = odd ? mine : other;
        }
        to[j] = even_s, to[UNITS + j] = odd_s;
    }
#else
    UNROLL for (int j = 0; j < RUN_ITEMS; j += QUAD)
    {
        result_quad r;
        r.x = x[j], r.y = x[j + 1], r.z = x[j + 2], r.w = x[j + 3];
        ((GLOBAL result_quad *)at)[j / QUAD] = r;
    }
#endif
}
#endif
fn void store_quads(LOCAL const stretch *p, LOCAL const borders *d, batch b, windows w, int q,
                    const four *v)
{
#if OP_LANES == 1
    const int row = q - lane_index() * QUAD; /* of the first quad of the warp */
    result x[QUAD];
    lower_quad(x, p, d, b, w, q, v);
    if (SKIPS && row + LANES * QUAD <= p->results) {
        store_row(p->out + row * (i64)sizeof(result), x);
        return;
    }
    GLOBAL result *to = (GLOBAL result *)p->out + q;
    UNROLL for (int c = 0; c < QUAD; c++)
    {
        if (q + c < p->results) to[c] = x[c];
    }
#endif
}

fn void store_runs(LOCAL const stretch *p, LOCAL const borders *d, batch b, windows w, int q,
                   const four *v)
{
#if OP_LANES == 1
    result x[RUN_ITEMS];
    GLOBAL result *to = (GLOBAL result *)p->out + q;
    UNROLL for (int k = 0; k < RUN_ITEMS; k += QUAD)
        lower_quad(x + k, p, d, b, w, q + k, v + k / QUAD);
    if (SKIPS && q - lane_index() * RUN_ITEMS + LANES * RUN_ITEMS <= p->results) {
        store_full_runs((GLOBAL u8 *)to, x);
        return;
    }
    UNROLL for (int c = 0; c < RUN_ITEMS; c++)
    {
        if (q + c < p->results) to[c] = x[c];
    }
#endif
}

/* Stores results from local memory. turned: states are in the order of place_of, else in
 * sequence. */
fn void store_items(LOCAL const stretch *p, LOCAL const borders *d, batch b, results out, windows w,
    LOCAL const state *v, const int turned)
{
    const i64 length = length_in(w);
    for (int i = thread_index(); i < p->results; i += WINDOW_THREADS) {
        const int whole = is_whole(p, d, b, w, i);
        maybe m;
        m.s = v[turned ? place_of(i) : i];
        m.have = whole && length >= w.least;
        if (whole || (w.edges == EDGES_TOO && !w.valid))
            store_maybe(result_at(p, b, out, w, i), m, length, p->lo + i, b.p);
    }
}

/* Loads quad q of an array. If q is beyond its end, it is another quad, which no result uses. q <
 * (m + 1) * WINDOW_THREADS + far. */
fn four quad_at(LOCAL const four *z, int q, int m, int far)
{
    if ((m + 1) * WINDOW_THREADS + far > WHOLE_QUADS && q >= WHOLE_QUADS) q = WHOLE_QUADS - 1;
    return get_four(z, q);
}

/* for windows of at most WHOLE / 2 */
enum { FAR_LEVEL = WHOLE_QUADS / 4, FAR_BITS = WHOLE_QUADS / 2 + 1 };

/* Doubles y from Y_from to Y_top. The levels of w's set bits are kept in the arrays slot, slot + 1,
 * ... The other levels alternate between two arrays (runs: they use one). Nodes of level k have
 * 2^(k + more) elements; more is 0 except for tiles of rows (long.cl, columns.cl). ones: the first
 * nodes may have one element. */
fn void double_quads(LOCAL four *z, four *y, int from, int top, int w, int kept, int slot, int more,
                     int runs, const int ones)
{
    for (int k = from; k < top; k++) {
        if (!ones) SURELY((real)((i64)1 << (k + more)) > num(1.0)); /* see plus_halves */
        const int stays = w >> k & 1;
        if (RUNS && runs && k > from && !stays && !(w >> (k - 1) & 1)) BARRIER();
        LOCAL four *to = z + (stays ? slot++ : kept + (RUNS && runs ? 0 : !(k & 1))) * ARRAY_QUADS;
        UNROLL for (int m = 0; m < MINE; m++) put_four(to, quad_number(runs, m), y[m]);
        BARRIER();
        UNROLL for (int m = 0; m < MINE; m++)
        {
            four right = quad_at(to, quad_number(runs, m) + (1 << (k - 2)), m,
                                 runs ? WHOLE_QUADS : FAR_LEVEL);
            UNROLL for (int c = 0; c < QUAD; c++)
                y[m].s[c] = TWIN(y[m].s[c], right.s[c], (i64)1 << (k + more));
        }
    }
}

/* Folds the levels of w's bits below top, which are in `kept` arrays, onto y. done: elements of the
 * window before the items of this launch. */
fn void fold_bits(LOCAL const four *z, four *y, int top, int w, int kept, int more, i64 done,
                  int runs)
{
    int slot = kept;
    for (int k = top - 1; k >= 0; k--) {
        if ((w >> k & 1) == 0) continue;
        const int far = w >> (k + 1) << (k + 1);
        LOCAL const four *from = z + --slot * ARRAY_QUADS;
        UNROLL for (int m = 0; m < MINE; m++)
        {
            const int q = quad_number(runs, m) + far / QUAD;
            four right = quad_at(from, q, m, runs ? WHOLE_QUADS : FAR_BITS);
            if (!(RUNS && runs) && far & 2) { /* level 0 after level 1: half a quad further */
                four next = quad_at(from, q + 1, m, FAR_BITS);
                right.s[0] = right.s[2], right.s[1] = right.s[3], right.s[2] = next.s[0],
                right.s[3] = next.s[1];
            }
            UNROLL for (int c = 0; c < QUAD; c++)
                y[m].s[c] = COMBINE(y[m].s[c], right.s[c],
                                    done + (more < 0 ? far >> -more : (i64)far << more),
                                    (i64)1 << (k + more));
        }
    }
}

/* What a launch computes from its tiles. */
typedef struct {
    int what;            /* PART_RESULTS; for longer windows (long.cl) one of the others */
    /* PART_LEVEL: where Y_top is stored. PART_LAST_BITS: the fold of the higher bits, onto which
     * the bits of this launch are folded. PART_RESULTS_ALONE: the complete folds, from which
     * results are computed. */
    GLOBAL four *states;
} part;

/* Folds the highest bit of the launch, Y_top in y (some_y: if it has one), onto the fold of the
 * window's `done` elements before it, if there are any. Quad m of a thread has that fold at quad_ +
 * m * step, if bit m of `some` is set. All loads come before the first fold. */
fn void fold_onto(four *y, int some_y, part make, i64 quad_, i64 step, int some, i64 done, int top,
                  int more)
{
    four high[MINE];
    if (make.what != PART_LAST_BITS && make.what != PART_RESULTS_ALONE) return;
    UNROLL for (int m = 0; m < MINE; m++)
        high[m] = make.states[some >> m & 1 ? quad_ + m * step : 0];
    if (make.what == PART_RESULTS_ALONE || !some_y) {
        UNROLL for (int m = 0; m < MINE; m++) y[m] = high[m];
        return;
    }
    UNROLL for (int m = 0; m < MINE; m++)
    {
        UNROLL for (int c = 0; c < QUAD; c++)
            y[m].s[c] = COMBINE(high[m].s[c], y[m].s[c], done, (i64)1 << (top + more));
    }
}

/* Computes tiles of windows of their whole length. each: windows of a tile, a multiple of 4.
 * EDGES_APART: `window` computes the windows that are not whole; otherwise they get the empty
 * value. room: an array of WHOLE states for each level that is kept, and up to two more; with runs,
 * the elements come first. tiles, cuts: of this turn and of the next, which is prepared
 * meanwhile. */
#define LEVELS_PARAMETERS PARAMETERS_OF(LEVELS)
#define WHOLE_PARAMETERS  PARAMETERS_OF(WHOLE)
fn void whole_windows(LOCAL four *room, LOCAL stretch *tiles, LOCAL borders *cuts, batch b,
                      results out, windows of, i64 jobs, i64 each, LEVELS_PARAMETERS, part make)
{
    const int w = (int)of.width, top = (int)top_level, kept = (int)kept_levels, me = thread_index();
    /* with runs, low bits are computed from elements */
    const int low = RUNS ? w & (RUN_ITEMS - 1) : 0, high = w - low;
    LOCAL four *z = RUNS ? (LOCAL four *)((LOCAL u8 *)room + WHOLE * TL_SIZE) : room;
    int turn = 0;
    if (me == 0 && group_index() < jobs)
        stretch_of(&tiles[0], b, out, of, group_index(), mark_of(b, group_index()), each, WHOLE);
    clear_borders(&cuts[0], b);
    BARRIER();
    if (group_index() < jobs) set_borders(&cuts[0], &tiles[0], b);
    for (i64 job = group_index(); job < jobs; job += group_count(), turn ^= 1) {
        LOCAL const stretch *p = &tiles[turn];
        LOCAL four *y0 = z + (w & 1 && top ? 0 : kept) * ARRAY_QUADS;
        four y[MINE];
        const i64 next = job + group_count();
        const mark at = mark_of(b, next < jobs ? next : job);
        if (SKIPS && make.what == PART_RESULTS_ALONE)
            ; /* no elements are needed */
        else if (RUNS)
            load_elements((LOCAL elem *)room, p, b, of);
        else
            load_whole((LOCAL state *)y0, p, b, of);
        clear_borders(&cuts[turn ^ 1], b);
        if (me == 0 && next < jobs) stretch_of(&tiles[turn ^ 1], b, out, of, next, at, each, WHOLE);
        BARRIER();
        if (next < jobs) set_borders(&cuts[turn ^ 1], &tiles[turn ^ 1], b);
        if (next < jobs && make.what != PART_RESULTS_ALONE) ask_for(&tiles[turn ^ 1], WHOLE);
        if (RUNS) {
            UNROLL for (int m = 0; m + 1 < MINE && high; m += 2)
            {
                elem e[2 * RUN_ITEMS];
                const int i = quad_number(1, m) * QUAD;
                get_elements(e, 2 * RUN_ITEMS, (LOCAL const elem *)room, i);
                run_levels(&y[m], e, p->lo + of.shift + i, b.p);
            }
            double_quads(z, y, RUN_LOG, top, high, kept, 0, 0, 1, 0);
        } else {
            UNROLL for (int m = 0; m < MINE; m++)
            {
                const int q = m * WINDOW_THREADS + me;
                y[m] = get_four(y0, q);
                if (top) {
                    four right = quad_at(y0, q + 1, m, 1);
                    state one = TWIN(right.s[0], right.s[1], 1),
                          two = TWIN(right.s[1], right.s[2], 1);
                    UNROLL for (int c = 0; c < 3; c++)
                        y[m].s[c] = TWIN(y[m].s[c], y[m].s[c + 1], 1);
                    y[m].s[3] = TWIN(y[m].s[3], right.s[0], 1);
                    if (top > 1) {
                        if (w & 2) put_four(z + (w & 1) * ARRAY_QUADS, q, y[m]);
                        y[m].s[0] = TWIN(y[m].s[0], y[m].s[2], 2),
                        y[m].s[1] = TWIN(y[m].s[1], y[m].s[3], 2);
                        y[m].s[2] = TWIN(y[m].s[2], one, 2), y[m].s[3] = TWIN(y[m].s[3], two, 2);
                    }
                }
            }
            double_quads(z, y, 2, top, w, kept, (w & 1) + (w >> 1 & 1), 0, 0, 0);
            BARRIER();
        }
        int some = 0;
        UNROLL for (int m = 0; m < MINE; m++)
            some |= (quad_number(RUNS, m) * QUAD < p->results) << m;
        fold_onto(y, high != 0, make, p->done / QUAD + quad_number(RUNS, 0),
            quad_number(RUNS, 1) - quad_number(RUNS, 0), some, of.shift, top, 0);
        fold_bits(z, y, top, high, kept, 0, of.shift, RUNS);
        UNROLL for (int m = 0; m < MINE && RUNS; m++)
            run_low(&y[m], high || make.what != PART_RESULTS,
                    make.what == PART_RESULTS_ALONE ? 0 : low, (LOCAL const elem *)room,
                    quad_number(1, m) * QUAD + high, p->lo + of.shift, of.shift + high, b.p);
        const int quads = p->quads && make.what != PART_LEVEL;
        if (quads && RUNS) {
            UNROLL for (int m = 0; m + 1 < MINE; m += 2)
                store_runs(p, &cuts[turn], b, of, quad_number(1, m) * QUAD, &y[m]);
        } else if (quads) {
            UNROLL for (int m = 0; m < MINE; m++)
            {
                const int q = (m * WINDOW_THREADS + me) * QUAD;
                store_quads(p, &cuts[turn], b, of, q, &y[m]);
            }
        }
        if (make.what == PART_LEVEL) {
            UNROLL for (int m = 0; m < MINE; m++)
            {
                if (some >> m & 1) make.states[p->done / QUAD + quad_number(RUNS, m)] = y[m];
            }
        }
        BARRIER();
        if (SKIPS && (quads || make.what == PART_LEVEL)) continue;
        UNROLL for (int m = 0; m < MINE; m++) put_four(z, quad_number(RUNS, m), y[m]);
        BARRIER();
        if (make.what != PART_LEVEL && !quads)
            store_items(p, &cuts[turn], b, out, of, (LOCAL const state *)z, 1);
        BARRIER();
    }
}

#define WHOLE_OF_PARAMETERS                                                                        \
    BATCH_OF_PARAMETERS;                                                                           \
    RESULTS_OF_PARAMETERS;                                                                         \
    windows of;                                                                                    \
    part make;                                                                                     \
    of.at = valid ? 0 : -before, of.count = count, of.before = before, of.after = after,           \
    of.valid = valid;                                                                              \
    of.least = least, of.edges = edges, of.shift = 0, of.width = before + after + 1;               \
    make.what = PART_RESULTS, make.states = 0
#ifndef TL_LONG
KERNEL_OF(window_whole)
{
    WHOLE_OF_PARAMETERS;
    SHARED stretch tile[2];
    SHARED borders cuts[2];
    whole_windows((LOCAL four *)ROOM_OF_PARAMETER, tile, cuts, b, out, of, jobs, each, top_level,
                  kept_levels, make);
}

/* The same for one sequence: the compiler removes the code for borders, two fifths of the code.
 * CUDA only, because PoCL 5.0 makes wrong code of two kernels of this text (see BARRIER in
 * prelude_opencl.h). */
#ifdef TL_CUDA
KERNEL_OF(window_flat)
{
    WHOLE_OF_PARAMETERS;
    SHARED stretch tile[2];
    SHARED borders cuts[2]; /* not used */
    b.seqs = 1, b.flags = 0;
    whole_windows((LOCAL four *)ROOM_OF_PARAMETER, tile, cuts, b, out, of, jobs, each, top_level,
                  kept_levels, make);
}
#endif
#endif
