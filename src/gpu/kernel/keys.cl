/* SPDX-License-Identifier: MIT
 * Keys: runs of equal neighbours, and a gather. The text depends on no operator, and types are
 * numbers (constants.h), so one program serves all.
 *
 *   keys --runs_heads--> heads:  a bit for each key, 1 where a run begins
 *                        counts: the number of heads of each part
 *   heads, counts --runs_places--> offsets
 *
 * So the keys are read once, and only heads, 1/64 of keys of 64 bits, are read twice. A part is
 * some neighbouring steps, a step is KEYS_TILES tiles of KEYS_TILE keys. */

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
    enum { TOGETHER = 8 };
    i64 value = start;
    for (i64 at = thread_index(); at < count; at += TOGETHER * KEYS_THREADS) {
        i64 v[TOGETHER];
        UNROLL for (int k = 0; k < TOGETHER; k++)
        {
            const i64 i = at + k * KEYS_THREADS;
            v[k] = i < count ? list[i] : start;
        }
        UNROLL for (int k = 0; k < TOGETHER; k++) value = of_two(what, value, v[k]);
    }

    return of_group(scratch, what, value);
}

/* ---- runs ---- */

/* True if two keys of different bits are equal: NaNs are, and so are zeros. */
fn int are_equal(u64 a, u64 b, u64 sign, u64 infinity)
{
    const u64 x = a & ~sign, y = b & ~sign;
    return ((x > infinity) & (y > infinity)) | ((x | y) == 0);
}

typedef struct {
    GLOBAL const u8 *data; /* the first key of a tile */
    i64 stride;            /* in keys */
    int count, bytes;      /* count: keys of the tile */
    int is_first;          /* no key comes before the tile */
    u64 sign, infinity;    /* sign: 0 for integers */
} key_tile;

/* The place of the mark of key k of a tile: groups of 32 marks lie 36 bytes apart, so that threads
 * which read a group each use different banks of local memory. */
fn int mark_at(int k) { return k + (k >> 5) * 4; }

/* Marks the keys of a tile: 1 where a run begins. */
fn void mark_heads(key_tile l, LOCAL u8 *marks)
{
    ROLLED for (int k = thread_index(); k < KEYS_TILE; k += LOADS * KEYS_THREADS)
    {
        i64 at[LOADS], at_before[LOADS];
        u64 key[LOADS], before[LOADS];
        UNROLL for (int j = 0; j < LOADS; j++)
        {
            const int i = k + j * KEYS_THREADS, near = i < l.count ? i : l.count - (l.count > 0);
            at[j] = near * l.stride;
            at_before[j] = (l.is_first && near == 0 ? 0 : near - 1) * l.stride;
        }

        load_bits(key, l.data, at, l.bytes);
        load_bits(before, l.data, at_before, l.bytes);
        UNROLL for (int j = 0; j < LOADS; j++)
        {
            const int i = k + j * KEYS_THREADS;
            int head = key[j] != before[j];
            if (head && l.sign) head = !are_equal(key[j], before[j], l.sign, l.infinity);
            marks[mark_at(i)] = (u8)((head || (l.is_first && i == 0)) && i < l.count);
        }
    }
}

/* Packs 32 marks, four in each word, to a word with a bit for each. */
fn u32 pack_marks(LOCAL const u32 *marks)
{
    u32 bits = 0;
    UNROLL for (int k = 0; k < 8; k++) bits |= marks[k] * 0x10204080u >> 28 << 4 * k;
    return bits;
}

KERNEL_OF(runs_heads)
{
    SHARED u32 marks[KEYS_TILE / 4 + KEYS_THREADS]; /* a byte for each key, and gaps (mark_at) */
    SHARED i64 scratch[KEYS_THREADS];
    const int t = thread_index(), bytes = TYPE_BYTES((int)type);
    const int is_float = TYPE_KIND((int)type) >= KIND_FLOAT;
    key_tile l;

    l.stride = stride, l.bytes = bytes, l.infinity = infinity_of((int)type);
    l.sign = is_float ? (u64)1 << (8 * bytes - 1) : 0;
    for (i64 part = group_index(); part < parts; part += group_count()) {
        const i64 end = (part + 1) * steps_each < steps ? (part + 1) * steps_each : steps;
        i64 found = 0;
        for (i64 tile = part * steps_each * KEYS_TILES; tile < end * KEYS_TILES; tile++) {
            const i64 first = tile * KEYS_TILE, left = count - first;
            l.count = (int)(left < 0 ? 0 : left < KEYS_TILE ? left : KEYS_TILE);
            l.is_first = tile == 0 || l.count == 0; /* a tile without keys reads the first key */
            l.data = keys + byte + (l.count ? first * stride * bytes : 0);
            mark_heads(l, (LOCAL u8 *)marks);
            BARRIER();
            const u32 word = pack_marks(marks + 9 * t);
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
    typedef struct ALIGNED(16) { u32 w[KEYS_TILES]; } words;
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
            UNROLL for (int k = 0; k < KEYS_TILES; k++) found += ones(v.w[k]);
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
                UNROLL for (int k = 0; k < KEYS_TILES; k++)
                {
                    while (v.w[k] && rank - from < count_here) {
                        list[rank++ - from] = (u16)((t * KEYS_TILES + k) * 32 + low_zeros(v.w[k]));
                        v.w[k] &= v.w[k] - 1;
                    }
                }

                BARRIER();
                for (u32 i = (u32)t; i < count_here; i += KEYS_THREADS)
                    to[before + from + i] = step * KEYS_STEP + list[i];
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

/* For each part of `each` indices of order: finds the first one that is not below `length`; `count`
 * if there is none. */
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

/* reported: the distance from the first bad index to the end (0: there is none, and only then
 * elements are copied), and that index. */
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
        UNROLL for (int k = 0; k < LOADS; k++)
            at[k] = places[i + k * step < end ? i + k * step : i] * in_stride;
        load_bits(v, x, at, (int)bytes);
        UNROLL for (int k = 0; k < LOADS; k++)
        {
            if (i + k * step < end) store_bits(y, (i + k * step) * out_stride, v[k], (int)bytes);
        }
    }
}
