/* SPDX-License-Identifier: MIT
 * Exact sums of short rows, and of columns. Some lanes (a power of 2) share each row. They find its
 * largest element first, so that all of them have registers with the same units (sum.cl). At the
 * end they add EXACT_LEVELS integers. The row's sum is then an integer of 192 bits, and no bins are
 * needed.
 *
 * The registers cannot hold rows with an infinity, a NaN that counts, elements of very different
 * sizes, or none above 2^-950. All lanes together sum these rows with bins, one after the other. */

/* The arrays of a launch. */
typedef struct {
    GLOBAL const u8 *x, *y; /* element 0 of row 0; y: of the second input */
    i64 row_stride, stride, y_row_stride, y_stride, n;
    GLOBAL const i64 *offsets; /* 0, or [rows + 1] */
} exact_input;
#define EXACT_INPUT_OF_PARAMETERS \
    exact_input in; \
    in.x = in_data + in_byte, in.row_stride = in_row_stride, in.stride = in_stride, in.n = in_n, \
    in.y = second_data + second_byte, in.y_row_stride = second_row_stride, \
    in.y_stride = second_stride, in.offsets = in_flags & OFFSETS ? in_offsets : 0

/* Row r. */
fn exact_row exact_row_of(exact_input in, i64 r)
{
    const i64 from = in.offsets ? in.offsets[r] : 0;
    exact_row row;
    row.n = in.offsets ? in.offsets[r + 1] - from : in.n;
    row.stride = in.stride, row.y_stride = in.y_stride;
    row.x = in.x + (in.offsets ? from * in.stride : r * in.row_stride) * TL_SIZE;
    row.y = in.y + (in.offsets ? from * in.y_stride : r * in.y_row_stride) * TL_SIZE;
    return row;
}

/* Adds a block's bins to a row's, with one step of carries, so that any number of jobs can be added
 * to a row. t: number of this lane of `lanes`. */
fn void exact_merge(GLOBAL u32 *to, LOCAL const u32 *block_bins, int t, int lanes)
{
    for (int k = t; 2 * k < EXACT_WORDS; k += lanes) {
        /* the top digit and the counts keep their upper word */
        const int digits = k < EXACT_DIGITS - 1;
        const i64 v = (i64)block_bins[2 * k] +
                      (digits ? 0 : (i64)((u64)block_bins[2 * k + 1] << 32)) +
                      (k && k < EXACT_DIGITS ? (i64)(i32)block_bins[2 * k - 1] : 0);
        if (v) {
            const u32 low = (u32)v, old = low ? ADD_GLOBAL(to + 2 * k, low) : 0,
                      more = (u32)((u64)v >> 32) + (u32)(low && old + low < old);
            if (more) ADD_GLOBAL(to + 2 * k + 1, more);
        }
    }
}

/* Job j sums part j % parts, of `each` items, of row first_row + j / parts. */
KERNEL_OF(exact_parts)
{
    LOCAL u32 *const block_bins = (LOCAL u32 *)LOCAL_MEMORY;
    const int t = thread_index();
    const i64 jobs = rows * parts;

    EXACT_INPUT_OF_PARAMETERS;
    for (i64 job = group_index(); job < jobs; job += group_count()) {
        const i64 row = job / parts, at = (job - row * parts) * each;
        const exact_row x = exact_row_of(in, first_row + row);
        const i64 left = x.n - at, n = left < each ? left : each;
        for (int k = t; k < EXACT_LOCAL; k += EXACT_THREADS) block_bins[k] = 0;
        BARRIER();

        if (n > 0) {
            exact_lane w;
            exact_lane_begin(&w);
            exact_add(&w, x, at, n, exact_way_of(flags, EXACT_WIDE, t, EXACT_THREADS, block_bins));
            exact_lane_end(&w, block_bins);
        }

        BARRIER();
        exact_merge(bins + row * EXACT_WORDS, block_bins, t, EXACT_THREADS);
        BARRIER();
    }
}

/* Computes the results of rows from their bins, and leaves the bins zero for the next launch. */
KERNEL_OF(exact_finish)
{
    LOCAL u32 *const memory = (LOCAL u32 *)LOCAL_MEMORY;
    const int t = thread_index();

    for (i64 row = group_index() * LANES; row < rows; row += group_count() * LANES) {
        const int rows_here = (int)(rows - row < LANES ? rows - row : LANES);
        for (int k = t; k < rows_here * EXACT_WORDS; k += LANES) {
            memory[k / EXACT_WORDS * EXACT_LOCAL + k % EXACT_WORDS] = bins[row * EXACT_WORDS + k];
            bins[row * EXACT_WORDS + k] = 0;
        }

        WARP_BARRIER();
        if (t < rows_here) {
            for (int m = 0; m < EXACT_MASKS; m++) memory[t * EXACT_LOCAL + EXACT_WORDS + m] = 0;
            exact_mark(memory + t * EXACT_LOCAL, 0, 1);
            const i64 r = first_row + row + t,
                      n = in_flags & OFFSETS ? in_offsets[r + 1] - in_offsets[r] : in_n;
            exact_store(out_data + (out_byte + r * out_row_stride * (flags & EXACT_F64 ? 8 : 4)),
                        exact_value(memory + t * EXACT_LOCAL, n, flags), flags);
        }

        WARP_BARRIER();
    }
}

/* The words of a row: its largest element, the number of skipped elements, and whether the
 * registers cannot hold it. */
enum { NARROW_TOP, NARROW_LEFT, NARROW_WIDE };

/* Items that a lane adds before it reads its registers, and how often. Each time they are at most
 * 2^49, so the sum over 32 lanes is below 2^62. */
enum { NARROW_ITEMS = 1 << (EXACT_LOG - 2), NARROW_TIMES = 1 << 8 };

/* Items of a row, and the lanes that share them. */
typedef struct {
    exact_row row;
    i64 first, n;           /* n: 0 if the lane has no row */
    int at, lanes;          /* number of this lane among those of its row */
    LOCAL u32 *words, *any; /* the words of the row; nonzero if a row of the block is wide */
    LOCAL i64 *sums;        /* [EXACT_LEVELS][LANES] */
} narrow;

/* Adds a row's items in registers, and the registers of its lanes. After: the row's first lane has
 * the sums; words[NARROW_WIDE] says that the row does not fit, *any that some row of the block does
 * not. All lanes of the block must call it. */
fn void narrow_sums(narrow r, i64 flags)
{
    const int t = thread_index();
    exact_lane w;

    exact_lane_begin(&w);
    w.limit = 0;
    if (r.n)
        exact_add(&w, r.row, r.first, r.n, exact_way_of(flags, EXACT_LOOK, r.at, r.lanes, r.words));
    if (w.limit) MAX_LOCAL(r.words + NARROW_TOP, w.limit);
    WARP_BARRIER();
    const u32 most = r.words[NARROW_TOP];
    const i64 each = (i64)r.lanes * NARROW_ITEMS;
    const int top = exact_top_of(most),
              held = most < HIGH(EXACT_TOP_MOST + 1) && r.n <= each * NARROW_TIMES,
              /* then units are not equally far apart */
        lowest = exact_unit(top, EXACT_LEVELS - 1) == -1074;
    i64 part[EXACT_LEVELS];
    FOR(l, EXACT_LEVELS) part[l] = 0;
    for (i64 from = 0; held && from < r.n; from += each) {
        exact_begin(&w, top);
        exact_add(&w, r.row, r.first + from, r.n - from < each ? r.n - from : each,
                  exact_way_of(flags, EXACT_NARROW, r.at, r.lanes, r.words));
        FOR(l, EXACT_LEVELS) part[l] += exact_part(&w, l);
    }

    FOR(l, EXACT_LEVELS) w.far |= lowest && part[l];
    if (r.n && (w.far || !held)) {
        OR_LOCAL(r.words + NARROW_WIDE, 1u);
        OR_LOCAL(r.any, 1u);
    }

    if (w.marks) ADD_LOCAL(r.words + NARROW_LEFT, w.marks);
    FOR(l, EXACT_LEVELS) r.sums[l * LANES + t] = part[l];
    WARP_BARRIER();

    for (int m = r.lanes / 2; m; m >>= 1) {
        FOR(l, EXACT_LEVELS) {
            if (r.at < m) r.sums[l * LANES + t] += r.sums[l * LANES + t + m];
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

    FOR(k, 3) {
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

/* The number of zero bits above the highest set bit. */
fn int zeros_above(u64 x) { return x >> 32 ? high_zeros((u32)(x >> 32)) : 32 + high_zeros((u32)x); }

/* The result of a row from the sums of its registers; never -0. */
fn u64 narrow_value(LOCAL const u32 *words, LOCAL const i64 *sums, i64 count, i64 flags)
{
    const int t = thread_index(), is_f64 = (flags & EXACT_F64) != 0;
    const u64 n = (u64)(count - (i64)words[NARROW_LEFT]); /* below 2^32 */
    if (flags & EXACT_MEAN && !n) return (u64)(is_f64 ? 0x7ff8 : 0x7fc0) << (is_f64 ? 48 : 16);

    wide_integer a;
    a.word[0] = a.word[1] = a.word[2] = 0;
    FOR(l, EXACT_LEVELS)
        a = wide_add(a, sums[l * LANES + t], (EXACT_LEVELS - 1 - l) * (51 - EXACT_LOG));
    const u64 minus = a.word[2] >> 63;
    u64 carry = minus;

    FOR(k, 3) {
        a.word[k] = (minus ? ~a.word[k] : a.word[k]) + carry;
        carry &= (u64)(a.word[k] == 0);
    }

    int e = exact_unit(exact_top_of(words[NARROW_TOP]), EXACT_LEVELS - 1) + 191;
    FOR(k, 2) {
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

    const u64 bits = exact_round(m, more || next, e, flags);
    return bits ? bits | minus << (is_f64 ? 63 : 31) : 0;
}

/* Adds a row's items to bins by all lanes. */
fn void wide_sums(exact_row x, i64 first, i64 n, i64 flags, LOCAL u32 *bins)
{
    exact_lane w;
    exact_lane_begin(&w);
    exact_add(&w, x, first, n, exact_way_of(flags, EXACT_WIDE, thread_index(), LANES, bins));
    exact_lane_end(&w, bins);
}

fn void clear_bins(LOCAL u32 *bins)
{
    for (int k = thread_index(); k < EXACT_LOCAL; k += LANES) bins[k] = 0;
    WARP_BARRIER();
}

/* Adds the sums of a row's registers to bins; one lane. */
fn void narrow_put(narrow r, LOCAL u32 *bins)
{
    const int top = exact_top_of(r.words[NARROW_TOP]);
    FOR(l, EXACT_LEVELS) {
        const i64 part = r.sums[l * LANES + thread_index()];
        if (part) exact_put(bins, part, exact_unit(top, l) + EXACT_UNIT);
    }
    bins[EXACT_LEFT] = r.words[NARROW_LEFT];
}

/* Job j: part j / groups, of `each` items, of each row of a group, so that neighbouring lanes read
 * neighbouring rows. Rows of one part (parts is 0) get their results; sums of others go to the
 * rows' bins in global memory. */
KERNEL_OF(exact_rows)
{
    LOCAL i64 *const sums = (LOCAL i64 *)LOCAL_MEMORY;
    LOCAL u32 *const block_bins = (LOCAL u32 *)(sums + EXACT_LEVELS_MOST * LANES), *const memory =
                                                                                       block_bins +
                                                                                       EXACT_LOCAL;
    const int t = thread_index(), rows_each = LANES / (int)lanes, lane_row = t / (int)lanes;
    const i64 groups = (rows + rows_each - 1) / rows_each, jobs = groups * (parts ? parts : 1);
    narrow r;

    EXACT_INPUT_OF_PARAMETERS;
    r.at = t % (int)lanes, r.lanes = (int)lanes, r.sums = sums;
    r.words = memory + lane_row * NARROW_LOCAL, r.any = memory + rows_each * NARROW_LOCAL;

    for (i64 job = group_index(); job < jobs; job += group_count()) {
        const i64 row = job % groups * rows_each, at = job / groups * each;
        const int some = (int)(rows - row < rows_each ? rows - row : rows_each),
                  there = lane_row < some;
        const exact_row s = exact_row_of(in, first_row + row + (there ? lane_row : 0));
        const i64 left = s.n - at, step = out_row_stride * (flags & EXACT_F64 ? 8 : 4);
        for (int k = t; k <= rows_each * NARROW_LOCAL; k += LANES) memory[k] = 0;
        WARP_BARRIER();
        r.row = s, r.first = at, r.n = !there || left < 0 ? 0 : left < each ? left : each;
        narrow_sums(r, flags);
        if (!parts && there && r.at == 0 && !r.words[NARROW_WIDE])
            exact_store(out_data + out_byte + (first_row + row + lane_row) * step,
                        narrow_value(r.words, sums, s.n, flags), flags);

        /* Uniform over the lanes. No barrier is in a branch: see prelude_opencl.h. */
        for (int k = 0; (parts || *r.any) && k < some; k++) {
            const int is_wide = memory[k * NARROW_LOCAL + NARROW_WIDE] != 0;
            if (SKIPS && !parts && !is_wide) continue;

            const i64 its = row + k;
            const exact_row x = exact_row_of(in, first_row + its);
            clear_bins(block_bins);
            if (is_wide)
                wide_sums(x, at, x.n - at < each ? x.n - at : each, flags, block_bins);
            else if (t == k * r.lanes)
                narrow_put(r, block_bins);
            WARP_BARRIER();

            if (parts) exact_merge(bins + its * EXACT_WORDS, block_bins, t, LANES);
            if (!parts) exact_mark(block_bins, t, LANES);
            WARP_BARRIER();

            if (!parts && is_wide && t == 0)
                exact_store(out_data + out_byte + (first_row + its) * step,
                            exact_value(block_bins, x.n, flags), flags);
            WARP_BARRIER();
        }

        WARP_BARRIER();
    }
}
