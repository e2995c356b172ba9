/* SPDX-License-Identifier: MIT
 * Exact sums of short rows; some lanes (a power of 2) take each row. The lanes find the row's
 * largest element first, so all of them have registers with the same units (sum.cl). At the end
 * they add EXACT_LEVELS integers. So the row's sum is an integer of 192 bits, and no bins are
 * needed.
 *
 * The registers cannot hold rows with an infinity, a NaN that counts, elements of very different
 * sizes, or none above 2^-950. All lanes together sum these rows with bins, one after the other. */

/* The words of a row: its largest element, the number of skipped elements, and whether the
 * registers cannot hold it. */
enum { NARROW_TOP, NARROW_LEFT, NARROW_WIDE };

/* Items that a lane adds before it reads its registers, and how often. Each time they are at most
 * 2^49, so the sum over 32 lanes is below 2^62. */
enum { NARROW_ITEMS = 1 << (EXACT_LOG - 2), NARROW_TIMES = 1 << 8 };

/* Adds the registers' integers of a row, for n items from `first` on. After:
 * sums[EXACT_LEVELS][LANES] of the row's first lane; own[NARROW_WIDE] and *any: a row (any row of
 * the block) does not fit in registers. All lanes of the block must call it. there: 0 if the lane
 * has no row. */
fn void narrow_sums(exact_row x, i64 first, i64 n, int there, int at, int lanes, i64 flags,
                    LOCAL u32 *own, LOCAL u32 *any, LOCAL i64 *sums)
{
    const int t = thread_index();
    exact_lane w;
    exact_lane_begin(&w);
    w.limit = 0;
    if (there) exact_add(&w, x, first, n, at, lanes, flags, EXACT_LOOK, own);
    if (w.limit) MAX_LOCAL(own + NARROW_TOP, w.limit);
    WARP_BARRIER();
    const u32 most = own[NARROW_TOP];
    const i64 each = (i64)lanes * NARROW_ITEMS;
    const int top = exact_top_of(most),
              held = most < HIGH(EXACT_TOP_MOST + 1) && n <= each * NARROW_TIMES,
              /* then units are not equally far apart */
        lowest = exact_unit(top, EXACT_LEVELS - 1) == -1074;
    i64 part[EXACT_LEVELS];
    UNROLL for (int l = 0; l < EXACT_LEVELS; l++) part[l] = 0;
    for (i64 from = 0; there && held && from < n; from += each) {
        exact_begin(&w, top);
        exact_add(&w, x, first + from, n - from < each ? n - from : each, at, lanes, flags,
                  EXACT_NARROW, own);
        UNROLL for (int l = 0; l < EXACT_LEVELS; l++) part[l] += exact_part(&w, l);
    }
    UNROLL for (int l = 0; l < EXACT_LEVELS; l++) w.far |= lowest && part[l];
    if (there && (w.far || !held)) {
        OR_LOCAL(own + NARROW_WIDE, 1u);
        OR_LOCAL(any, 1u);
    }
    if (w.marks) ADD_LOCAL(own + NARROW_LEFT, w.marks);
    UNROLL for (int l = 0; l < EXACT_LEVELS; l++) sums[l * LANES + t] = part[l];
    WARP_BARRIER();
    for (int m = lanes / 2; m; m >>= 1) {
        UNROLL for (int l = 0; l < EXACT_LEVELS; l++)
        {
            if (at < m) sums[l * LANES + t] += sums[l * LANES + t + m];
        }
        WARP_BARRIER();
    }
}

/* An integer of 192 bits; word[2] is the highest word. */
typedef struct {
    u64 word[3];
} wide_integer;

/* a + x 2^by */
fn wide_integer wide_add(wide_integer a, i64 x, int by)
{
    const int at = by >> 6, bits = by & 63;
    const u64 sign = (u64)(x >> 63), low = (u64)x << bits,
              high = bits ? (u64)(x >> (64 - bits)) : sign;
    u64 carry = 0;
    UNROLL for (int k = 0; k < 3; k++)
    {
        const u64 add = k < at        ? 0
                        : k == at     ? low
                        : k == at + 1 ? high
                                      : sign,
                  sum = a.word[k] + add;
        a.word[k] = sum + carry;
        carry = (u64)(sum < add) | (u64)(a.word[k] < sum);
    }
    return a;
}

fn int zeros_above(u64 x) { return x >> 32 ? high_zeros((u32)(x >> 32)) : 32 + high_zeros((u32)x); }

/* Rounds m 2^(e - 63) to nearest even, where the highest bit of m is set; more: the value is a
 * little larger. */
fn u64 narrow_round(u64 m, int more, int e, i64 flags)
{
    const int is_wide = (flags & EXACT_F64) != 0, mantissa = is_wide ? 52 : 23,
              least = is_wide ? -1022 : -126, drop = 63 - mantissa + (e < least ? least - e : 0);
    const u64 half_way = (u64)1 << 63, most = is_wide ? 2047 : 255;
    if (drop > 64) return 0;
    const u64 kept = drop < 64 ? m >> drop : 0, rest = drop < 64 ? m << (64 - drop) : m,
              bits = ((u64)(e < least ? 0 : e - least) << mantissa) + kept +
                     (u64)(rest > half_way || (rest == half_way && (more || (kept & 1))));
    return bits >> mantissa >= most ? most << mantissa : bits;
}

/* The result of a row from the sums of its registers; never -0. */
fn u64 narrow_value(LOCAL const u32 *own, LOCAL const i64 *sums, i64 count, i64 flags)
{
    const int t = thread_index(), is_wide = (flags & EXACT_F64) != 0;
    const u64 n = (u64)(count - (i64)own[NARROW_LEFT]); /* below 2^32 */
    if (flags & EXACT_MEAN && !n) return (u64)(is_wide ? 0x7ff8 : 0x7fc0) << (is_wide ? 48 : 16);
    wide_integer a;
    a.word[0] = a.word[1] = a.word[2] = 0;
    UNROLL for (int l = 0; l < EXACT_LEVELS; l++)
        a = wide_add(a, sums[l * LANES + t], (EXACT_LEVELS - 1 - l) * (51 - EXACT_LOG));
    const u64 minus = a.word[2] >> 63;
    u64 carry = minus;
    UNROLL for (int k = 0; k < 3; k++)
    {
        a.word[k] = (minus ? ~a.word[k] : a.word[k]) + carry;
        carry &= (u64)(a.word[k] == 0);
    }
    int e = exact_unit(exact_top_of(own[NARROW_TOP]), EXACT_LEVELS - 1) + 191;
    UNROLL for (int k = 0; k < 2; k++)
    {
        if (a.word[2]) continue;
        a.word[2] = a.word[1], a.word[1] = a.word[0], a.word[0] = 0;
        e -= 64;
    }
    if (!a.word[2]) return 0;
    const int up = zeros_above(a.word[2]);
    u64 m = a.word[2] << up | a.word[1] >> 1 >> (63 - up),
        next = a.word[1] << up | a.word[0] >> 1 >> (63 - up);
    int more = a.word[0] << up != 0;
    e -= up;
    if (flags & EXACT_MEAN) {
        const u64 first = m / n, rest = (m - first * n) << 32 | next >> 32, second = rest / n;
        const int down = zeros_above(first); /* at most 32 */
        more |= rest - second * n != 0 || (u32)next != 0;
        m = first << down | second >> (32 - down);
        next = second << 32 << down;
        e -= down;
    }
    const u64 bits = narrow_round(m, more || next, e, flags);
    return bits ? bits | minus << (is_wide ? 63 : 31) : 0;
}

/* Computes the result of a row with all lanes and bins. */
fn void wide_row(exact_row x, i64 n, i64 flags, GLOBAL u8 *to, LOCAL u32 *bins)
{
    const int t = thread_index();
    for (int k = t; k < EXACT_ROOM; k += LANES) bins[k] = 0;
    WARP_BARRIER();
    exact_lane w;
    exact_lane_begin(&w);
    exact_add(&w, x, 0, n, t, LANES, flags, EXACT_WIDE, bins);
    exact_lane_end(&w, bins);
    WARP_BARRIER();
    exact_mark(bins, t, LANES);
    WARP_BARRIER();
    if (t == 0) exact_store(to, exact_value(bins, n, flags), flags);
    WARP_BARRIER();
}

KERNEL_OF(exact_rows)
{
    LOCAL i64 *const sums = (LOCAL i64 *)ROOM_OF_PARAMETER;
    LOCAL u32 *const bins = (LOCAL u32 *)(sums + EXACT_LEVELS_MOST * LANES),
              *const room = bins + EXACT_ROOM;
    const int t = thread_index(), each = LANES / (int)lanes, mine = t / (int)lanes,
              at = t % (int)lanes;
    LOCAL u32 *const own = room + mine * NARROW_ROOM, *const any = room + each * NARROW_ROOM;
    for (i64 row = group_index() * each; row < in_seqs; row += group_count() * each) {
        const int some = (int)(in_seqs - row < each ? in_seqs - row : each), there = mine < some;
        const i64 r = row + (there ? mine : 0), from = in_flags & OFFSETS ? in_offsets[r] : 0,
                  n = in_flags & OFFSETS ? in_offsets[r + 1] - from : in_n,
                  step = out_row_stride * (flags & EXACT_F64 ? 8 : 4);
        GLOBAL u8 *const to = out_data + out_byte;
        for (int k = t; k <= each * NARROW_ROOM; k += LANES) room[k] = 0;
        WARP_BARRIER();
        narrow_sums(EXACT_ROW(r, from), 0, n, there, at, (int)lanes, flags, own, any, sums);
        if (at == 0 && there && !own[NARROW_WIDE])
            exact_store(to + r * step, narrow_value(own, sums, n, flags), flags);
        for (int k = 0; *any && k < some; k++) { /* uniform over the lanes */
            if (!room[k * NARROW_ROOM + NARROW_WIDE]) continue;
            const i64 its = row + k, begin = in_flags & OFFSETS ? in_offsets[its] : 0;
            wide_row(EXACT_ROW(its, begin), in_flags & OFFSETS ? in_offsets[its + 1] - begin : in_n,
                     flags, to + its * step, bins);
        }
        WARP_BARRIER();
    }
}

/* Job: part j % parts, of `each` items, of LANES rows that lie across, so that neighbouring lanes
 * read neighbouring elements. The sums of the registers, or all elements, go to bins, and these to
 * the row's bins, one row after the other. */
KERNEL_OF(exact_down)
{
    LOCAL i64 *const sums = (LOCAL i64 *)ROOM_OF_PARAMETER;
    LOCAL u32 *const own = (LOCAL u32 *)(sums + EXACT_LEVELS_MOST * LANES),
              *const room = own + EXACT_ROOM;
    const int t = thread_index();
    const i64 groups = (rows + LANES - 1) / LANES, jobs = groups * parts;
    for (i64 job = group_index(); job < jobs; job += group_count()) {
        const i64 group = job % groups, row = group * LANES, at = job / groups * each,
                  left = in_n - at, n = left < each ? left : each;
        const int some = (int)(rows - row < LANES ? rows - row : LANES), there = t < some;
        LOCAL u32 *const mine = room + t * NARROW_ROOM;
        for (int k = t; k <= LANES * NARROW_ROOM; k += LANES) room[k] = 0;
        WARP_BARRIER();
        narrow_sums(EXACT_ROW(first_row + row + (there ? t : 0), 0), at, n, there && n > 0, 0, 1,
                    flags, mine, room + LANES * NARROW_ROOM, sums);
        const int top = exact_top_of(mine[NARROW_TOP]);
        for (int k = 0; k < some && n > 0; k++) {
            for (int c = t; c < EXACT_ROOM; c += LANES) own[c] = 0;
            WARP_BARRIER();
            if (room[k * NARROW_ROOM + NARROW_WIDE]) {
                exact_lane w;
                exact_lane_begin(&w);
                exact_add(&w, EXACT_ROW(first_row + row + k, 0), at, n, t, LANES, flags, EXACT_WIDE,
                          own);
                exact_lane_end(&w, own);
            } else if (t == k) {
                UNROLL for (int l = 0; l < EXACT_LEVELS; l++)
                {
                    const i64 part = sums[l * LANES + t];
                    if (part) exact_put(own, part, exact_unit(top, l) + EXACT_UNIT);
                }
                own[EXACT_LEFT] = mine[NARROW_LEFT];
            }
            WARP_BARRIER();
            exact_merge(bins + (row + k) * EXACT_WORDS, own, t, LANES);
            WARP_BARRIER();
        }
    }
}
