/* SPDX-License-Identifier: MIT
 * Keys: runs of equal neighbours, and a gather. The text depends on no operator, and types are
 * numbers (constants.h), so one program serves all.
 *
 *   keys --runs_heads--> heads:  a bit for each key, 1 where a run begins
 *                        counts: the number of heads of each part
 *   heads, counts --runs_places--> offsets
 *
 * So the keys are read once, and only heads, 1/64 of keys of 64 bits, are read twice. The place of
 * a key is its number plus `padding`, the number of keys between the preceding 16-byte boundary and
 * the first key. So places that are multiples of a unit are aligned. A part is some neighbouring
 * steps, a step is KEYS_TILES tiles of KEYS_TILE places. */

fn u32 ones(u32 x)
{
    x -= x >> 1 & 0x55555555u;
    x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
    return ((x + (x >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}

/* Returns the sum, or the least, of the values of a block's threads. All threads must call it. */
enum { KEYS_SUM, KEYS_LEAST };

fn i64 of_two(int what, i64 a, i64 b) { return what == KEYS_SUM ? a + b : b < a ? b : a; }
fn i64 of_group(LOCAL i64 *scratch, int what, i64 value)
{
    const int t = thread_index();
    scratch[t] = value;
    BARRIER();
    for (int m = KEYS_THREADS / 2; m; m >>= 1) {
        const i64 a = scratch[t], b = scratch[t < m ? t + m : t];
        if (t < m) scratch[t] = of_two(what, a, b);
        BARRIER();
    }
    const i64 all = scratch[0];
    BARRIER();
    return all;
}

/* The same for the first `count` numbers of a list; `start` if there are none. Several loads are in
 * flight. */
fn i64 of_list(LOCAL i64 *scratch, int what, GLOBAL const i64 *list, i64 count, i64 start)
{
    enum { LIST_LOADS = 8 };
    i64 value = start;
    for (i64 at = thread_index(); at < count; at += LIST_LOADS * KEYS_THREADS) {
        i64 v[LIST_LOADS];
        FOR(k, LIST_LOADS) {
            const i64 i = at + k * KEYS_THREADS;
            v[k] = i < count ? list[i] : start;
        }
        FOR(k, LIST_LOADS) value = of_two(what, value, v[k]);
    }

    return of_group(scratch, what, value);
}

/* ---- runs ---- */

/* sign, infinite: masks for floats; for integers 0 and all bits. */
typedef struct {
    GLOBAL const u8 *data;    /* address of the first key */
    i64 stride, padding, end; /* padding <= place < end for keys; stride in keys */
    u64 sign, infinite;
    int bytes;
} key_line;

/* True if two keys differ. All NaNs are equal, and so are zeros. */
fn int differ(u64 a, u64 b, u64 sign, u64 infinite)
{
    const u64 x = a & ~sign, y = b & ~sign;
    return (a != b) & !((x > infinite) & (y > infinite)) & ((x | y) != 0);
}

/* The head bit of a place. */
fn u32 is_head(key_line l, i64 place)
{
    if (place <= l.padding || place >= l.end) return place == l.padding && l.padding < l.end;
    GLOBAL const u8 *const at = l.data + (place - l.padding) * l.stride * l.bytes;
    return (u32)differ(bits_at(at, l.bytes), bits_at(at - l.stride * l.bytes, l.bytes), l.sign,
                       l.infinite);
}

/* The head bits of a tile from place `first` on. Each unit of `each` places gives a byte of `to`.
 * */
fn void any_units(key_line l, i64 first, int each, LOCAL u8 *to)
{
    for (int u = thread_index(); u < KEYS_TILE / each; u += KEYS_THREADS) {
        u32 bits = 0;
        for (int c = 0; c < each; c++) bits |= is_head(l, first + u * each + c) << c;
        to[u] = (u8)bits;
    }
}

/* The same for a tile inside contiguous keys; several loads of units are in flight. */
#define KEY_UNITS(name, word, each_) \
    fn void name(key_line l, i64 first, LOCAL u8 *to) \
    { \
        enum { EACH = each_, ROUNDS = KEYS_TILE / EACH / KEYS_THREADS }; \
        typedef struct ALIGNED(EACH * sizeof(word)) { \
            word w[EACH]; \
        } unit; \
        GLOBAL const word *const from = (GLOBAL const word *)l.data + (first - l.padding); \
        const word sign = (word)l.sign, infinite = (word)l.infinite; \
        ROLLED for (int round = 0; round < ROUNDS; round += LOADS) \
        { \
            unit v[LOADS]; \
            word before[LOADS]; \
            FOR(k, LOADS) { \
                const int u = (round + k) * KEYS_THREADS + thread_index(); \
                v[k] = ((GLOBAL const unit *)from)[u]; \
                before[k] = from[u * EACH - 1]; \
            } \
            FOR(k, LOADS) { \
                word a = before[k]; \
                u32 bits = 0; \
                FOR(c, EACH) { \
                    bits |= (u32)(a != v[k].w[c]) << c; \
                    a = v[k].w[c]; \
                } \
                a = before[k]; \
                if (bits && sign) { /* floats: NaNs and zeros that are equal */ \
                    FOR(c, EACH) { \
                        const word b = v[k].w[c], x = (word)(a & ~sign), y = (word)(b & ~sign); \
                        bits &= ~((u32)(((x > infinite) & (y > infinite)) | ((x | y) == 0)) << c); \
                        a = b; \
                    } \
                } \
                to[(round + k) * KEYS_THREADS + thread_index()] = (u8)bits; \
            } \
        } \
    }
KEY_UNITS(key_units_1, u8, 8)
KEY_UNITS(key_units_2, u16, 8)
KEY_UNITS(key_units_4, u32, 4)
KEY_UNITS(key_units_8, u64, 2)

/* The 32 bits of word w of a tile. */
fn u32 word_of(LOCAL const u32 *units, int w, int each)
{
    const int fours = 8 / each; /* groups of four units in a word */
    u32 bits = 0;

    for (int k = 0; k < fours; k++) {
        const u32 x = units[w * fours + k];
        const u32 four =
            (x & 255) | (x >> 8 & 255) << each | (x >> 16 & 255) << 2 * each | x >> 24 << 3 * each;
        bits |= four << (4 * each * k);
    }
    return bits;
}

KERNEL_OF(runs_heads)
{
    SHARED u32 units[KEYS_TILE / 2 / 4]; /* a byte for each unit, which has at least 2 places */
    SHARED i64 scratch[KEYS_THREADS];
    const int t = thread_index(), bytes = TYPE_BYTES((int)type);
    const int each = KEYS_UNIT(bytes), is_float = TYPE_KIND((int)type) >= KIND_FLOAT;
    const u64 all = ~(u64)0 >> (64 - 8 * bytes);
    key_line l;

    l.data = keys + byte, l.stride = stride, l.padding = padding, l.end = padding + count,
    l.bytes = bytes;
    l.sign = is_float ? all ^ all >> 1 : 0;
    l.infinite = is_float ? infinity_of((int)type) : all;
    const int beside = stride == 1 && ADDRESS(l.data) % (u64)bytes == 0 &&
                       (ADDRESS(l.data) - (u64)(padding * bytes)) % (u64)(each * bytes) == 0;

    for (i64 part = group_index(); part < parts; part += group_count()) {
        const i64 end = (part + 1) * steps_each < steps ? (part + 1) * steps_each : steps;
        i64 found = 0;
        for (i64 tile = part * steps_each * KEYS_TILES; tile < end * KEYS_TILES; tile++) {
            const i64 first = tile * KEYS_TILE;
            const int path = beside && first > l.padding && first + KEYS_TILE <= l.end ? bytes : 0;
            if (path == 8) key_units_8(l, first, (LOCAL u8 *)units);
            if (path == 4) key_units_4(l, first, (LOCAL u8 *)units);
            if (path == 2) key_units_2(l, first, (LOCAL u8 *)units);
            if (path == 1) key_units_1(l, first, (LOCAL u8 *)units);
            if (path == 0) any_units(l, first, each, (LOCAL u8 *)units);
            BARRIER();
            const u32 word = word_of(units, t, each);
            heads[tile * KEYS_THREADS + t] = word;
            found += ones(word);
            BARRIER();
        }

        found = of_group(scratch, KEYS_SUM, found);
        if (t == 0) counts[part] = found;
    }
}

/* Writes the offsets. runs: their number. counting: only the number is written, by one block. */
KERNEL_OF(runs_places)
{
    typedef struct ALIGNED(16) {
        u32 w[KEYS_TILES];
    } words;
    SHARED u16 list[KEYS_LIST]; /* places of consecutive heads in the step */
    SHARED i64 scratch[KEYS_THREADS];
    SHARED u32 sums[2 * KEYS_THREADS];
    const int t = thread_index();
    GLOBAL i64 *const to = (GLOBAL i64 *)(offsets + byte);

    for (i64 part = group_index(); part < (counting ? 1 : parts); part += group_count()) {
        const i64 some = counting ? parts : part, last = counting ? 0 : (part + 1) * steps_each;
        const i64 end = last < steps ? last : steps;
        i64 before = of_list(scratch, KEYS_SUM, counts, some, 0);

        for (i64 step = part * steps_each; step < end; step++) {
            words v = ((GLOBAL const words *)heads)[step * KEYS_THREADS + t];
            u32 found = 0;
            int turn = 0;
            FOR(k, KEYS_TILES) found += ones(v.w[k]);
            sums[t] = found;
            BARRIER();

            /* prefix sum of Hillis and Steele, with double buffering in `sums` */
            for (int m = 1; m < KEYS_THREADS; m <<= 1) {
                const u32 s = sums[turn + t] + (t >= m ? sums[turn + t - m] : 0);
                turn ^= KEYS_THREADS;
                sums[turn + t] = s;
                BARRIER();
            }

            const u32 all = sums[turn + KEYS_THREADS - 1];
            u32 rank = sums[turn + t] - found;
            for (u32 from = 0; from < all; from += KEYS_LIST) {
                const u32 count_here = all - from < KEYS_LIST ? all - from : KEYS_LIST;
                FOR(k, KEYS_TILES) {
                    while (v.w[k] && rank - from < count_here) {
                        list[rank++ - from] = (u16)((t * KEYS_TILES + k) * 32 + low_zeros(v.w[k]));
                        v.w[k] &= v.w[k] - 1;
                    }
                }

                BARRIER();
                for (u32 i = (u32)t; i < count_here; i += KEYS_THREADS)
                    to[before + from + i] = step * KEYS_STEP + list[i] - padding;
                BARRIER();
            }

            before += all;
        }

        if (t == 0 && (counting || part == parts - 1)) {
            runs[0] = before;
            if (!counting) to[before] = count;
        }
    }
}

/* ---- take ---- */

/* For each part of `each` indices of order: the first that is not below `length`, or `count`. */
KERNEL_OF(take_check)
{
    SHARED i64 scratch[KEYS_THREADS];
    const int t = thread_index();
    GLOBAL const i64 *const places = (GLOBAL const i64 *)(order + order_byte);

    for (i64 part = group_index(); part < parts; part += group_count()) {
        const i64 end = (part + 1) * each < count ? (part + 1) * each : count;
        i64 first = count;
        for (i64 i = part * each + t; i < end; i += KEYS_THREADS)
            if ((u64)places[i] >= (u64)length && i < first) first = i;
        first = of_group(scratch, KEYS_LEAST, first);
        if (t == 0) wrong[part] = first;
    }
}

/* reported: the distance from the first bad index to the end (0: there is none; only then elements
 * are copied), and that index. */
KERNEL_OF(take)
{
    SHARED i64 scratch[KEYS_THREADS];
    GLOBAL const u8 *const x = in + in_byte;
    GLOBAL const i64 *const places = (GLOBAL const i64 *)(order + order_byte);
    GLOBAL u8 *const y = out + out_byte;
    const i64 first = of_list(scratch, KEYS_LEAST, wrong, parts, count),
              end = first < count ? 0 : count, step = group_count() * KEYS_THREADS;

    if (group_index() == 0 && thread_index() == 0) {
        reported[0] = count - first;
        reported[1] = places[first < count ? first : 0];
    }

    for (i64 i = group_index() * KEYS_THREADS + thread_index(); i < end; i += LOADS * step) {
        i64 at[LOADS];
        u64 v[LOADS];
        FOR(k, LOADS) at[k] = places[i + k * step < end ? i + k * step : i] * in_stride;
        load_bits(v, x, at, (int)bytes);
        FOR(k, LOADS) {
            if (i + k * step < end) store_bits(y, (i + k * step) * out_stride, v[k], (int)bytes);
        }
    }
}
