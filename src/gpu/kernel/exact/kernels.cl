/* SPDX-License-Identifier: MIT
 * The kernels for exact sums of long rows, in parts. The launch gives local memory. */
#define BATCH_PARAMETERS    PARAMETERS_OF(BATCH)
#define IN_PLACE_PARAMETERS PARAMETERS_OF(IN_PLACE) /* part of the batch; not read */
#define SECOND_PARAMETERS   PARAMETERS_OF(SECOND)
#define RESULTS_PARAMETERS  PARAMETERS_OF(RESULTS)

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
 * to a row. Lane t of `lanes` takes its share. */
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
