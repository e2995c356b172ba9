/* SPDX-License-Identifier: MIT
 * Exact sums (src/exact/exact.h): the real sum of the elements, or of the real products of pairs,
 * rounded once.
 *
 *      elements --> a lane's registers --> the bins of a block --> the bins of a row --> its result
 *                   (integers in f64)       (local memory)         (global memory)
 *
 * Registers work as on processors (src/cpu/exact/exact_block.c has the proof). Each begins at 1.5
 * 2^(52 + u). While it stays in its binade, it is an integer of 52 bits in units of 2^u. Adding x
 * rounds x to a multiple of 2^u; the rest is exact and goes to the next register, whose unit is
 * smaller. The rest after the last register, and elements too large for any register, go to the
 * bins directly, so nothing is repeated. A lane's units follow from the largest exponent that it
 * has met. After 2^EXACT_LOG values, or for a larger exponent, its registers are read as integers
 * and start again.
 *
 * Bins: digit k has the weight 2^(32 k - EXACT_UNIT). A bin is a signed integer of 64 bits in two
 * words of 32 bits. It is changed by atomic additions of 32 bits; the returned old value tells the
 * carry. So no API needs 64-bit atomics, and any order gives the same bits. A value adds at most 3
 * 2^32 to a bin, and a job has at most EXACT_MOST items, so no bin overflows. After the digits come
 * four counts: elements that are NaN, +inf, -inf, skipped. */
/* At a time a lane loads EXACT_PACKS packs of 16 bytes of each input, or EXACT_LOADED items, and
 * adds EXACT_BATCH items to its registers. EXACT_TWICE: a product is two values. */
#define EXACT_PACKS  (EXACT_PAIRS ? 2 : 4)
#define EXACT_LOADED (EXACT_PACKS * 16 / TL_SIZE)
#define EXACT_BATCH  (EXACT_LOADED < 8 ? EXACT_LOADED : 8)
#define EXACT_TWICE  (EXACT_PAIRS && TL_SIZE == 8)
#define EXACT_VALUES (EXACT_BATCH << EXACT_TWICE)
#define EXACT_LEVELS (EXACT_TWICE ? 4 : EXACT_PAIRS || TL_SIZE == 8 ? 3 : TL_FORMAT == 16 ? 1 : 2)
/* All registers; see exact_take. */
#define EXACT_ALL       (EXACT_PAIRS || TL_SIZE == 8 ? EXACT_LEVELS : TL_FORMAT == 16 ? 1 : 8)
#define EXACT_LEFT_OVER (EXACT_PAIRS || TL_SIZE == 8) /* there may be a rest after all registers */
#define EXACT_LOG       (TL_FORMAT == 16 && !EXACT_PAIRS ? 11 : 12)
#define EXACT_LOW       (EXACT_PAIRS ? EXACT_LOW_PAIRS : EXACT_LOW_SUMS)
#define EXACT_UNIT      (1074 + 32 * EXACT_LOW)
#define EXACT_DIGITS    EXACT_DIGITS_OF(EXACT_PAIRS)
#define EXACT_WORDS     EXACT_WORDS_OF(EXACT_PAIRS)
#define EXACT_LOCAL     EXACT_LOCAL_OF(EXACT_PAIRS)
#define EXACT_NAN       (2 * EXACT_DIGITS) /* the words of the counts */
#define EXACT_PLUS      (EXACT_NAN + 2)
#define EXACT_MINUS     (EXACT_NAN + 4)
#define EXACT_LEFT      (EXACT_NAN + 6)
/* The word with HIGH_OF the largest element for which a lane has set its units. */
#define EXACT_TOP  (EXACT_WORDS + EXACT_MASKS)
#define HIGH_OF(x) ((u32)(as_u64(x) >> 32) & 0x7fffffffu)
#define HIGH(top)  ((u32)((top) + 1023) << 20) /* HIGH_OF the number 2^top */

/* With 1004 the first register begins below 2^1020. */
enum { EXACT_MARGIN = 3, EXACT_TOP_MOST = 1004 };

/* ---- bins ---- */

fn void exact_count(LOCAL u32 *at, u32 more)
{
    const u32 old = ADD_LOCAL(at, more);
    if (old + more < old) ADD_LOCAL(at + 1, 1u);
}

/* Adds an integer times 2^(at - EXACT_UNIT). All low words come first, because each addition waits
 * for the old value. */
fn void exact_put_here(LOCAL u32 *bins, i64 value, int at)
{
    const u32 shift = (u32)at & 31, minus = (u32)(value < 0), low = (u32)value,
              high = (u32)((u64)value >> 32);
    u32 add[3], more[3];

    add[0] = low << shift;
    add[1] = high << shift | low >> 1 >> (31 - shift);
    add[2] = (u32)((i32)high >> 1 >> (31 - shift));
    bins += 2 * (at >> 5);

    FOR(k, 3) {
        const u32 old = add[k] ? ADD_LOCAL(bins + 2 * k, add[k]) : 0;

        /* the upper words of a negative value subtract 2^32 */
        more[k] = (u32)(old + add[k] < old) - (k == 2 ? minus : 0);
    }

    FOR(k, 3) {
        if (more[k]) ADD_LOCAL(bins + 2 * k + 1, more[k]);
    }
}

far_fn void exact_put(LOCAL u32 *bins, i64 value, int at) { exact_put_here(bins, value, at); }

/* Returns a finite f64 as an integer; the value is that integer times 2^(*at - 1074). */
fn i64 exact_integer(f64 x, int *at)
{
    const u64 bits = as_u64(x);
    const int exponent = (int)(bits >> 52) & 2047;
    *at = exponent ? exponent - 1 : 0;
    return (i64)((bits & (((u64)1 << 52) - 1)) | (u64)(exponent != 0) << 52);
}

fn void exact_put_finite(LOCAL u32 *bins, f64 x)
{
    int at;
    const i64 m = exact_integer(x, &at);
    exact_put_here(bins, as_u64(x) >> 63 ? -m : m, at + 32 * EXACT_LOW);
}

fn void exact_put_any(LOCAL u32 *bins, f64 x)
{
    if (x - x == 0)
        exact_put_finite(bins, x);
    else
        exact_count(bins + (x != x ? EXACT_NAN : x < 0 ? EXACT_MINUS : EXACT_PLUS), 1);
}

/* Two values at a time, so that neither waits for the other. */
far_fn void exact_put_values(LOCAL u32 *bins, f64 x, f64 y)
{
    if (x - x == 0 && y - y == 0) {
        exact_put_finite(bins, x);
        exact_put_finite(bins, y);
    } else {
        exact_put_any(bins, x);
        exact_put_any(bins, y);
    }
}

#if EXACT_PAIRS
/* Adds the product of any two values. Finite ones are multiplied in halves of at most 27 bits. */
far_fn void exact_put_pair(LOCAL u32 *bins, f64 x, f64 y)
{
    enum { HALF = 27 };
    int at_x, at_y;
    const u64 m = (u64)exact_integer(x, &at_x), n = (u64)exact_integer(y, &at_y),
              low = ((u64)1 << HALF) - 1;
    const int minus = (int)((as_u64(x) ^ as_u64(y)) >> 63);

    if (x - x == 0 && y - y == 0) {
        const int at = at_x + at_y + EXACT_UNIT - 2 * 1074;
        const i64 a = (i64)((m & low) * (n & low)),
                  b = (i64)((m & low) * (n >> HALF) + (m >> HALF) * (n & low)),
                  c = (i64)((m >> HALF) * (n >> HALF));
        exact_put(bins, minus ? -a : a, at);
        exact_put(bins, minus ? -b : b, at + HALF);
        exact_put(bins, minus ? -c : c, at + 2 * HALF);
    } else if (x != x || y != y) {
        exact_count(bins + EXACT_NAN, 1);
    } else { /* infinity times 0 has no value: counted as both infinities */
        const int none = x == 0 || y == 0;
        if (none || !minus) exact_count(bins + EXACT_PLUS, 1);
        if (none || minus) exact_count(bins + EXACT_MINUS, 1);
    }
}
#endif

/* ---- a lane's registers ---- */

/* What is done with elements. EXACT_WIDE: what the registers cannot hold goes to the bins.
 * EXACT_LOOK, then EXACT_NARROW (rows.cl): the largest element is found first, then elements go to
 * the registers alone. */
typedef enum { EXACT_WIDE, EXACT_LOOK, EXACT_NARROW } exact_mode;

typedef struct {
    f64 sum[EXACT_ALL];
    /* EXACT_WIDE: all registers are in use, not only EXACT_LEVELS. Else: the registers cannot hold
     * the row. */
    int far;
    /* HIGH_OF all elements that the registers take is below it; EXACT_LOOK: the largest so far */
    u32 limit;
    int top, left;
    u32 marks; /* elements that were skipped */
} exact_lane;

fn int exact_unit(int top, int level)
{
    /* an f16 is an integer of 40 bits in these units */
    if (TL_FORMAT == 16 && !EXACT_PAIRS) return -24;
    const int unit = top + EXACT_LOG - 49 - level * (51 - EXACT_LOG);
    return unit < -1074 ? -1074 : unit;
}

/* The units for elements up to one whose HIGH_OF is `most`. */
fn int exact_top_of(u32 most)
{
    const int top = (int)(most >> 20) - 1023 + EXACT_MARGIN;
    return top < EXACT_TOP_MOST ? top : EXACT_TOP_MOST;
}

fn f64 exact_start(int unit) { return as_f64((u64)(unit + 52 + 1023) << 52 | (u64)1 << 51); }

fn void exact_begin(exact_lane *w, int top)
{
    w->top = top;
    w->left = 1 << EXACT_LOG;
    FOR(l, EXACT_ALL) w->sum[l] = exact_start(exact_unit(top, l));
}

/* The integer in a register, in its unit. */
fn i64 exact_part(const exact_lane *w, int level)
{
    return (i64)(as_u64(w->sum[level]) - as_u64(exact_start(exact_unit(w->top, level))));
}

fn void exact_flush(exact_lane *w, LOCAL u32 *bins)
{
    FOR(l, EXACT_ALL) {
        if (l == EXACT_LEVELS && !w->far) break;
        const i64 part = exact_part(w, l);
        if (part) exact_put(bins, part, exact_unit(w->top, l) + EXACT_UNIT);
    }
}

/* Adds the values to the registers `from` to end - 1. v becomes the rest; returns the bits of all
 * rests. */
fn u64 exact_cut(exact_lane *w, f64 *v, int from, int end)
{
    u64 cut = 0;
    FOR(k, EXACT_VALUES) {
        f64 r = v[k];
        FOR(l, EXACT_ALL) {
            if (l < from || l >= end) continue;
            const f64 t = w->sum[l] + r, q = t - w->sum[l];
            w->sum[l] = t;
            r = r - q;
        }

        v[k] = r;
        cut |= as_u64(r);
    }

    return cut;
}

/* The largest element that the lanes with these bins have met. A lane that must set its units again
 * uses it, so that the lanes of a warp do so together and do not wait for each other. The second
 * atomic sees what other lanes contributed by the first. */
fn u32 exact_top(LOCAL u32 *bins, u32 most)
{
    MAX_LOCAL(bins + EXACT_TOP, most);
    return MAX_LOCAL(bins + EXACT_TOP, most);
}

/* Adds the values of a batch. v stays until its values go to the registers: a change in a branch
 * would cost a move for each. */
fn void exact_take(exact_lane *w, f64 *v, exact_mode mode, LOCAL u32 *bins)
{
    u32 most = 0;
    FOR(k, EXACT_VALUES) most = HIGH_OF(v[k]) > most ? HIGH_OF(v[k]) : most;

    if (mode == EXACT_LOOK) {
        if (most > w->limit) w->limit = most;
        return;
    }

    if (mode == EXACT_NARROW) {
        if (exact_cut(w, v, 0, EXACT_LEVELS) << 1) w->far = 1;
        return;
    }

    int alone = most >= HIGH(EXACT_TOP_MOST + 1); /* all values go to the bins directly */
    int top = w->top, begin = w->left < EXACT_VALUES;

    if (most >= w->limit && !alone) {
        top = exact_top_of(exact_top(bins, most));
        w->limit = HIGH(top + 1);
        begin = 1;
    }

    if (begin) {
        exact_flush(w, bins);
        exact_begin(w, top);
    }

    if (!alone) {
        w->left -= EXACT_VALUES;
        const u64 cut = exact_cut(w, v, 0, EXACT_LEVELS);
        if (EXACT_LEFT_OVER) alone = cut << 1 != 0; /* not only the sign of a zero */
#if EXACT_ALL > EXACT_LEVELS
        /* From now on nothing is cut off: EXACT_ALL registers hold all bits of such elements. */
        if (cut << 1) w->far = 1;
        if (w->far) exact_cut(w, v, EXACT_LEVELS, EXACT_ALL);
#endif
    }

    if (alone) {
        UNROLL for (int k = 0; k < EXACT_VALUES; k += 2)
        {
            if (v[k] != 0 || v[k + 1] != 0) exact_put_values(bins, v[k], v[k + 1]);
        }
    }
}

/* ---- elements ---- */

/* How items are added. marked: -0 is left out; masked: so is a NaN, which EXACT_WIDE counts in the
 * bins. lane, lanes: the share of this lane. */
typedef struct {
    int marked, masked, lane, lanes;
    exact_mode mode;
    LOCAL u32 *bins;
} exact_way;

fn exact_way exact_way_of(i64 flags, exact_mode mode, int lane, int lanes, LOCAL u32 *bins)
{
    exact_way h;
    h.marked = (flags & EXACT_MARKED) != 0, h.masked = (flags & EXACT_MASKED) != 0;
    h.lane = lane, h.lanes = lanes, h.mode = mode, h.bins = bins;
    return h;
}

/* Turns item k of a batch into its values. */
fn void exact_item(exact_lane *w, f64 *v, int k, f64 x, f64 y, exact_way h)
{
    const int mark = (h.marked && as_u64(x) == (u64)1 << 63) ||
                     (h.mode != EXACT_WIDE && h.masked && (x != x || (EXACT_PAIRS && y != y)));

    if (h.mode != EXACT_LOOK) w->marks += (u32)mark;
#if EXACT_PAIRS
    f64 p = x * y;
    const u64 size = as_u64(p) & ~(u64)0 >> 1;
#if EXACT_TWICE
    f64 rest = fma_f64(x, y, -p);
    const int safe = (size >= (u64)(1023 - 900) << 52 && size < (u64)(1023 + 900) << 52) ||
                     (size == 0 && (x == 0 || y == 0));
#else
    const int safe = size < (u64)2047 << 52; /* 48 bits: the product is exact */
#endif

    if (mark || !safe) {
        if (!mark && h.mode == EXACT_WIDE) exact_put_pair(h.bins, x, y);
        if (!mark && h.mode != EXACT_WIDE) w->far = 1;
        p = 0;
#if EXACT_TWICE
        rest = 0;
#endif
    }

    v[k] = p;
#if EXACT_TWICE
    v[EXACT_BATCH + k] = rest;
#endif
#else
    v[k] = mark ? 0 : x;
#endif
}

fn f64 exact_load(GLOBAL const u8 *p)
{
    u64 bits = 0;
    if (ADDRESS(p) % TL_SIZE) {
        for (int k = TL_SIZE - 1; k >= 0; k--) bits = bits << 8 | p[k];
        return (f64)to_real(bits_elem(bits));
    }
    return (f64)to_real(*(GLOBAL const elem *)p);
}

typedef struct ALIGNED(16) {
    u32 x, y, z, w;
} exact_pack;

#if TL_SIZE == 8
#define WORD_VALUE(word, k) as_f64((u64)(word)[2 * (k) + 1] << 32 | (word)[2 * (k)])
#elif TL_SIZE == 4
#define WORD_VALUE(word, k) ((f64)as_f32((word)[k]))
#else
#define WORD_VALUE(word, k) ((f64)to_real((elem)((word)[(k) / 2] >> 16 * ((k)&1))))
#endif

/* A row of n items. */
typedef struct {
    GLOBAL const u8 *x, *y; /* y: the second input of pairs */
    i64 stride, y_stride, n;
} exact_row;

fn void exact_words(u32 *word, GLOBAL const exact_pack *from, i64 j, int lanes, i64 packs)
{
    FOR(k, EXACT_PACKS) {
        exact_pack q;
        q.x = q.y = q.z = q.w = 0;
        if (j + k * lanes < packs) q = from[j + k * lanes];
        word[4 * k] = q.x, word[4 * k + 1] = q.y, word[4 * k + 2] = q.z, word[4 * k + 3] = q.w;
    }
}

/* Adds packs of contiguous items. */
fn void exact_add_packs(exact_lane *w, GLOBAL const u8 *x, GLOBAL const u8 *y, i64 packs,
                        exact_way h)
{
    const int lanes = h.lanes;
    f64 v[EXACT_VALUES];
    for (i64 j = h.lane; j < packs; j += EXACT_PACKS * lanes) {
        u32 word[4 * EXACT_PACKS];
        exact_words(word, (GLOBAL const exact_pack *)x, j, lanes, packs);
#if EXACT_PAIRS
        u32 second[4 * EXACT_PACKS];
        exact_words(second, (GLOBAL const exact_pack *)y, j, lanes, packs);
#else
        const u32 *const second = word;
#endif

        UNROLL for (int i = 0; i < EXACT_LOADED; i += EXACT_BATCH)
        {
            /* no items are left */
            if (h.mode != EXACT_WIDE && i && j + i * TL_SIZE / 16 * lanes >= packs) continue;
            FOR(k, EXACT_BATCH)
                exact_item(w, v, k, WORD_VALUE(word, i + k), WORD_VALUE(second, i + k), h);
            exact_take(w, v, h.mode, h.bins);
        }
    }
}

/* The lane's share of n items from index `at` on. Contiguous aligned items go in packs. */
fn void exact_add(exact_lane *w, exact_row row, i64 at, i64 n, exact_way h)
{
    const int lanes = h.lanes;
    GLOBAL const u8 *const x = row.x + at * row.stride * TL_SIZE;
    const int over = (int)(ADDRESS(x) & 15), gap = over ? (16 - over) / TL_SIZE : 0;
    int aligned = row.stride == 1 && over % TL_SIZE == 0 && n >= gap;
#if EXACT_PAIRS
    GLOBAL const u8 *const y = row.y + at * row.y_stride * TL_SIZE;

    aligned &= row.y_stride == 1 && (int)(ADDRESS(y) & 15) == over;
#else
    GLOBAL const u8 *const y = x;
#endif
    const i64 head = aligned ? gap : 0, packs = aligned ? (n - head) / (16 / TL_SIZE) : 0,
              packed = packs * (16 / TL_SIZE), others = n - packed;

    if (h.marked || (h.masked && h.mode != EXACT_WIDE)) {
        exact_add_packs(w, x + head * TL_SIZE, y + head * TL_SIZE, packs, h);
    } else {
        /* a separate copy of the code: the test for marks is 4 of 15 instructions per element */
        exact_way all = h;
        all.marked = all.masked = 0;
        exact_add_packs(w, x + head * TL_SIZE, y + head * TL_SIZE, packs, all);
    }

    f64 v[EXACT_VALUES];
    for (i64 j = h.lane; j < others; j += EXACT_BATCH * lanes) {
        f64 a[EXACT_BATCH], b[EXACT_BATCH];
        FOR(k, EXACT_BATCH) /* all loads come before the first use */
        {
            const i64 other = j + k * lanes, near = other < others ? other : j,
                      i = near < head ? near : near + packed;
            a[k] = exact_load(x + i * row.stride * TL_SIZE), b[k] = 0;
#if EXACT_PAIRS
            b[k] = exact_load(y + i * row.y_stride * TL_SIZE);
#endif
        }

        FOR(k, EXACT_BATCH) {
            const int there = j + k * lanes < others;
            exact_item(w, v, k, there ? a[k] : 0, there ? b[k] : 0, h);
        }

        exact_take(w, v, h.mode, h.bins);
    }
}

fn void exact_lane_begin(exact_lane *w)
{
    exact_begin(w, -1023);
    w->limit = TL_FORMAT == 16 && !EXACT_PAIRS ? HIGH(16) : 0; /* the first batch sets it */
    w->marks = 0;
    w->far = 0;
}

fn void exact_lane_end(exact_lane *w, LOCAL u32 *bins)
{
    exact_flush(w, bins);
    if (w->marks) exact_count(bins + EXACT_LEFT, w->marks);
}
