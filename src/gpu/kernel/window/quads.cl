/* SPDX-License-Identifier: MIT
 * Levels in quads: windows of their whole length w, of any state. A thread holds quads of four
 * neighbouring items. Y_1 and Y_2 of a quad need only the quad to its right. From level 2 on, a
 * level costs one store and one load of a quad:
 *
 *   Y_0 in local memory -> own quad, next quad -> Y_1, Y_2 in registers
 *   level k >= 2:  store Y_k, barrier, load the quad 2^k items to the right, Y_(k+1) in registers
 *   w's set bits:  Y_k stays in an array of its own (the highest one in registers); the other
 *                  levels alternate between two arrays
 *
 * The result at item i is the fold of Y_k[i + higher bits of w] over the set bits k of w, from high
 * to low; if the operator is idempotent and no level is kept, of two overlapping nodes of the
 * highest level. Tiles begin where results are aligned to quads; so elements are loaded one by one,
 * and neighbouring threads load neighbouring elements. */

/* Blocks of a multiprocessor, which bounds the registers. WIDE_BLOCKS: of rows and tables. */
#define QUADS_BLOCKS (sizeof(state) > 8 ? 3 : 4)
#define WIDE_BLOCKS  (sizeof(state) == 16 ? 2 : QUADS_BLOCKS)
enum { ARRAY_QUADS = QUAD_ITEMS / QUAD, THREAD_QUADS = ARRAY_QUADS / WINDOW_THREADS };

/* The unit of access to quad q of an array in local memory: 16 bytes, if the states of a quad are
 * permuted (place.cl). */
enum {
    STATES_EACH = sizeof(state) == 8 ? 2 : 1,
    OVERLAPS = OP_EXACT && OP_IDEMPOTENT && !TL_PARTS && !TL_TABLE
};

typedef struct ALIGNED(16) {
    state s[STATES_EACH];
} unit16;

fn four get_four(LOCAL const four *z, int q)
{
    four v;
    if (!SWIZZLED) return z[q];

    UNROLL for (int c = 0; c < QUAD; c += STATES_EACH)
    {
        const unit16 t = *(LOCAL const unit16 *)&z[q].s[c ^ swizzle_of(q)];
        FOR(k, STATES_EACH) v.s[c + k] = t.s[k];
    }
    return v;
}

fn void put_four(LOCAL four *z, int q, four v)
{
    if (!SWIZZLED) z[q] = v;

    UNROLL for (int c = 0; c < QUAD && SWIZZLED; c += STATES_EACH)
    {
        unit16 t;
        FOR(k, STATES_EACH) t.s[k] = v.s[c + k];
        *(LOCAL unit16 *)&z[q].s[c ^ swizzle_of(q)] = t;
    }
}

/* Number of quad m of a thread. */
fn int quad_number(int m) { return m * WINDOW_THREADS + thread_index(); }

/* Loads quad q of an array. If q is beyond its end, it is another quad, which no result uses. q <
 * (m + 1) * WINDOW_THREADS + far. */
fn four quad_at(LOCAL const four *z, int q, int m, int far)
{
    if ((m + 1) * WINDOW_THREADS + far > ARRAY_QUADS && q >= ARRAY_QUADS) q = ARRAY_QUADS - 1;
    return get_four(z, q);
}

/* For windows that end QUAD_ITEMS / 2 items after their beginning at most. */
enum { FAR_LEVEL = ARRAY_QUADS / 4 + TL_TABLE, FAR_BITS = ARRAY_QUADS / 2 + 1 };

/* The four states of an array from state `turn` of quad q on. */
fn four four_at(LOCAL const four *z, int q, int turn, int m, int most)
{
    four v = quad_at(z, q, m, most);
    if (!turn) return v;

    const four next = quad_at(z, q + 1, m, most);
    const int two = turn & 2;
    if (two) v.s[0] = v.s[2], v.s[1] = v.s[3], v.s[2] = next.s[0], v.s[3] = next.s[1];
    if ((TL_TABLE || OVERLAPS) && turn & 1) {
        v.s[0] = v.s[1], v.s[1] = v.s[2], v.s[2] = v.s[3];
        v.s[3] = two ? next.s[2] : next.s[0];
    }
    return v;
}

/* The levels that a launch folds, for double_quads, fold_onto and fold_bits. */
typedef struct {
    int w, top, kept; /* w: their bits; top: the highest one; kept: arrays of the others */
    int more;         /* nodes of level k have 2^(k + more) elements; 0 but in rows and tables */
    int pitch;        /* TL_TABLE: items from one element of a window to the next one */
    i64 done;         /* elements of a window before the items of this launch */
} levels;

/* Folds the last node of Y_top in each window onto the first one, in y. */
fn void fold_two(LOCAL four *z, four *y, const levels *v)
{
    const int far = v->w - (1 << v->top);
    LOCAL four *const to = z + !(v->top & 1) * ARRAY_QUADS;
    if (!far) return;

    FOR(m, THREAD_QUADS) put_four(to, quad_number(m), y[m]);
    BARRIER();
    FOR(m, THREAD_QUADS) {
        const four right = four_at(to, quad_number(m) + (far >> 2), far & (QUAD - 1), m, FAR_BITS);
        FOR(c, QUAD) y[m].s[c] = TWIN(y[m].s[c], right.s[c], 1);
    }
}

/* Doubles y from Y_from to Y_top, and folds two that overlap. Levels that are kept are in arrays
 * slot, slot + 1, ...; the others alternate between two. ones: the first nodes may have one
 * element. TL_TABLE: the array of the first level has been filled. */
fn void double_quads(LOCAL four *z, four *y, const levels *v, int from, int slot, const int ones)
{
    for (int k = from; k < v->top; k++) {
        if (!ones) ASSUME((real)((i64)1 << (k + v->more)) > num(1.0)); /* see plus_halves */
        LOCAL four *to = z + (v->kept && v->w >> k & 1 ? slot++ : v->kept + !(k & 1)) * ARRAY_QUADS;
        const int items = TL_TABLE ? v->pitch << (k - TABLE_LEVEL) : 1 << k; /* to the next node */
        UNROLL for (int m = 0; m < THREAD_QUADS && (!TL_TABLE || k > from); m++)
            put_four(to, quad_number(m), y[m]);
        BARRIER();
        FOR(m, THREAD_QUADS) {
            const four right = four_at(to, quad_number(m) + (items >> 2),
                                       TL_TABLE ? items & (QUAD - 1) : 0, m, FAR_LEVEL);
            FOR(c, QUAD) y[m].s[c] = TWIN(y[m].s[c], right.s[c], (i64)1 << (k + v->more));
        }
    }
    if (OVERLAPS && !v->kept) fold_two(z, y, v);
}

/* Folds the levels of w's bits below top, which are in `kept` arrays, onto y. */
fn void fold_bits(LOCAL const four *z, four *y, const levels *v)
{
    int slot = v->kept;
    for (int k = v->top - 1; slot; k--) {
        if ((v->w >> k & 1) == 0) continue;

        const int far = v->w >> (k + 1) << (k + 1),
                  items = TL_TABLE ? (far >> TABLE_LEVEL) * v->pitch : far;
        const i64 before = v->more < 0 ? far >> -v->more : (i64)far << v->more;
        LOCAL const four *from = z + --slot * ARRAY_QUADS;

        FOR(m, THREAD_QUADS) {
            const four right = four_at(from, quad_number(m) + (items >> 2),
                                       items & (TL_TABLE ? QUAD - 1 : 2), m, FAR_BITS);
            FOR(c, QUAD)
                y[m].s[c] =
                    COMBINE(y[m].s[c], right.s[c], v->done + before, (i64)1 << (k + v->more));
        }
    }
}

/* Where a thread's quads lie in an array of global memory: quad m at first + m * step, if bit m of
 * `exist` is set. */
typedef struct {
    i64 first, step;
    int exist;
} quad_places;

/* Folds the highest bit of the launch, Y_top in y, onto the fold of the higher bits in `states`, if
 * any (what). All loads come before the first fold. */
fn void fold_onto(four *y, int what, GLOBAL const four *states, const quad_places *at,
                  const levels *v)
{
    four high[THREAD_QUADS];
    if (what != FOLD_LAST_BITS && what != FOLD_RESULTS_ALONE) return;

    FOR(m, THREAD_QUADS) high[m] = states[at->exist >> m & 1 ? at->first + m * at->step : 0];
    if (what == FOLD_RESULTS_ALONE) {
        FOR(m, THREAD_QUADS) y[m] = high[m];
        return;
    }

    FOR(m, THREAD_QUADS) {
        FOR(c, QUAD)
            y[m].s[c] = COMBINE(high[m].s[c], y[m].s[c], v->done, (i64)1 << (v->top + v->more));
    }
}

fn void store_quads(GLOBAL four *states, const four *y, const quad_places *at)
{
    FOR(m, THREAD_QUADS) {
        if (at->exist >> m & 1) states[at->first + m * at->step] = y[m];
    }
}

/* ---- a tile of neighbouring items (tile.cl) ---- */

typedef struct {
    four y[THREAD_QUADS];
} quads_registers;

enum { quads_items = QUAD_ITEMS };

fn int quads_prefetches(LOCAL const tile *p, const launch *l)
{
    return l->what != FOLD_RESULTS_ALONE;
}

/* The array where Y_0 begins. */
fn LOCAL four *first_array(LOCAL u8 *memory, const launch *l)
{
    return (LOCAL four *)memory +
           (l->elements & 1 && l->top ? 0 : l->kept + TL_TABLE) * ARRAY_QUADS;
}

/* Y_0 of a tile. */
fn void quads_load(LOCAL u8 *memory, LOCAL const tile *p, const launch *l)
{
    LOCAL state *const z = (LOCAL state *)first_array(memory, l);
    const int me = thread_index();

    if (SKIPS && l->what == FOLD_RESULTS_ALONE) return; /* no items are needed */
    if (p->dense_items) {
        enum { MANY = QUAD_ITEMS / WINDOW_THREADS };
        elem e[MANY];
        const i64 item = p->lo + l->of.shift + me;
        FOR(k, MANY) e[k] = DENSE_ITEM(p, l, me + k * WINDOW_THREADS);
        FOR(k, MANY)
            z[k * WINDOW_THREADS + place_of(me)] =
                lift(e[k], number_of(l, item + k * WINDOW_THREADS), l->b.p);
    } else {
        load_items(z, 1, p, l);
    }
}

/* Doubles quad m from Y_0 to Y_1, and to Y_2 if w has a level 2. right: the next quad. */
fn void first_levels(four *y, four right, int top, LOCAL four *keep_1, int q)
{
    const state one = TWIN(right.s[0], right.s[1], 1), two = TWIN(right.s[1], right.s[2], 1);
    FOR(c, 3) y->s[c] = TWIN(y->s[c], y->s[c + 1], 1);
    y->s[3] = TWIN(y->s[3], right.s[0], 1);
    if (top > 1) {
        if (keep_1) put_four(keep_1, q, *y);
        y->s[0] = TWIN(y->s[0], y->s[2], 2), y->s[1] = TWIN(y->s[1], y->s[3], 2);
        y->s[2] = TWIN(y->s[2], one, 2), y->s[3] = TWIN(y->s[3], two, 2);
    }
}

fn levels levels_of(const launch *l)
{
    const int low = TL_TABLE ? TABLE_LEVEL : 0;
    levels v;
    v.w = (int)(TL_TABLE ? l->elements : l->of.width) << low, v.top = l->top + low;
    v.kept = l->kept, v.more = -low, v.pitch = (int)l->pitch, v.done = l->of.shift;
    return v;
}

fn void quads_fold(LOCAL u8 *memory, quads_registers *r, LOCAL const tile *p,
                   LOCAL const borders *d, const launch *l)
{
    LOCAL four *const z = (LOCAL four *)memory, *const y0 = first_array(memory, l);
    const levels v = levels_of(l);
    FOR(m, THREAD_QUADS) {
        const int q = quad_number(m);
        r->y[m] = get_four(y0, q);
        if (!TL_TABLE && v.top)
            first_levels(&r->y[m], quad_at(y0, q + 1, m, 1), v.top,
                         v.kept && v.w & 2 ? z + (v.w & 1) * ARRAY_QUADS : 0, q);
    }

    double_quads(z, r->y, &v, 2, TL_TABLE ? 0 : (v.w & 1) + (v.w >> 1 & 1), TL_TABLE);
    BARRIER();

    quad_places at;
    at.first = p->done / QUAD + thread_index(), at.step = WINDOW_THREADS, at.exist = 0;
    FOR(m, THREAD_QUADS) at.exist |= (quad_number(m) * QUAD < p->results) << m;
    fold_onto(r->y, l->what, l->states, &at, &v);
    fold_bits(z, r->y, &v);
    if (l->what == FOLD_LEVEL) store_quads(l->states, r->y, &at);
}

#if OP_LANES == 1
/* The results of a quad of windows, which begins at window q. */
fn void lower_quad(result *x, LOCAL const tile *p, LOCAL const borders *d, const launch *l, int q,
                   const four *v)
{
    const i64 w = length_in(l->of);
    const real length = (real)l->elements;

    FOR(c, QUAD) x[c] = lower(v->s[c], length, number_of(l, p->lo + q + c), l->b.p);
    if (!p->inside && (l->b.flags & OFFSETS) && q < p->results) {
        const int cut = cut_windows(p, d, l->b, q, (int)w);
        FOR(c, QUAD) x[c] = cut >> c & 1 ? empty(l->b.p) : x[c];
    } else if (!p->inside && !(l->b.flags & OFFSETS) && until_border_of_rows(p, q) < w + QUAD - 1) {
        /* For rows this is faster than cut_windows. */
        FOR(c, QUAD) x[c] = until_border_of_rows(p, q + c) < w ? empty(l->b.p) : x[c];
    }
}
#endif

/* Stores the results of quad q, of four windows at a time. */
fn void store_quad(LOCAL const tile *p, LOCAL const borders *d, const launch *l, int q,
                   const four *v)
{
#if OP_LANES == 1
    const int row = q - lane_index() * QUAD; /* of the first quad of the warp */
    result x[QUAD];

    lower_quad(x, p, d, l, q, v);
    if (SKIPS && row + LANES * QUAD <= p->results) {
        store_row(p->out + row * (i64)sizeof(result), x);
        return;
    }

    GLOBAL result *to = (GLOBAL result *)p->out + q;
    FOR(c, QUAD) {
        if (q + c < p->results) to[c] = x[c];
    }
#endif
}

/* Stores results four windows at a time (p->quads), or one by one from local memory. */
fn void quads_store(LOCAL u8 *memory, quads_registers *r, LOCAL const tile *p,
                    LOCAL const borders *d, const launch *l)
{
    const int by_quads = p->quads && l->what != FOLD_LEVEL;
    LOCAL four *const z = (LOCAL four *)memory;

    if (by_quads) {
        FOR(m, THREAD_QUADS) store_quad(p, d, l, quad_number(m) * QUAD, &r->y[m]);
    }
    if (SKIPS && (by_quads || l->what == FOLD_LEVEL)) return;

    BARRIER();
    FOR(m, THREAD_QUADS) put_four(z, quad_number(m), r->y[m]);
    BARRIER();
    if (l->what != FOLD_LEVEL && !by_quads) store_items(p, d, l, (LOCAL const state *)z, 1);
}
