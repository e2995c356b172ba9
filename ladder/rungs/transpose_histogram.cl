==== transpose/transpose_naive.cl
/* SPDX-License-Identifier: MIT
 * teaches: coalescing: neighbouring threads read neighbouring elements, and write elements that are a column apart
 * source: NVIDIA, "An Efficient Matrix Transpose in CUDA C/C++" (2013), the naive kernel
 * look at: sectors in each request: 4 where 32 lanes read one row, 32 where each writes into a row of its own */
KERNEL(transpose, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 rows, i64 cols)
{
    i64 i = group_index() * THREADS + thread_index();

    if (i < rows * cols) out[i % cols * rows + i / cols] = in[i];
}
==== transpose/transpose_tile.cl
/* SPDX-License-Identifier: MIT
 * teaches: a tile of 32 x 32 goes through shared memory, so that both the reads and the writes of a warp are one row
 * source: NVIDIA, "An Efficient Matrix Transpose in CUDA C/C++" (2013), the coalesced kernel
 * look at: sectors in each request, beside transpose_naive; bank conflicts: a column of the tile lies in one bank,
 *          32-fold */
#define SIDE 32
KERNEL(transpose, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 rows, i64 cols)
{
    SHARED elem tile[SIDE * SIDE];
    int x = thread_index() % SIDE;
    int y = thread_index() / SIDE;
    i64 across = (cols + SIDE - 1) / SIDE;
    i64 row = group_index() / across * SIDE;
    i64 col = group_index() % across * SIDE;

    for (int k = y; k < SIDE; k += THREADS / SIDE)
        if (row + k < rows && col + x < cols) tile[k * SIDE + x] = in[(row + k) * cols + col + x];
    BARRIER();
    for (int k = y; k < SIDE; k += THREADS / SIDE)
        if (col + k < cols && row + x < rows) out[(col + k) * rows + row + x] = tile[x * SIDE + k];
}
==== transpose/transpose_padded.cl
/* SPDX-License-Identifier: MIT
 * teaches: one word left unused in each row of the tile moves the next row by one bank: no conflict is left
 * source: NVIDIA, "An Efficient Matrix Transpose in CUDA C/C++" (2013), the kernel without bank conflicts
 * look at: bank conflicts: none; the size of the tile and its two indices are what differs from transpose_tile */
#define SIDE 32
KERNEL(transpose, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 rows, i64 cols)
{
    SHARED elem tile[SIDE * (SIDE + 1)];
    int x = thread_index() % SIDE;
    int y = thread_index() / SIDE;
    i64 across = (cols + SIDE - 1) / SIDE;
    i64 row = group_index() / across * SIDE;
    i64 col = group_index() % across * SIDE;

    for (int k = y; k < SIDE; k += THREADS / SIDE)
        if (row + k < rows && col + x < cols) tile[k * (SIDE + 1) + x] = in[(row + k) * cols + col + x];
    BARRIER();
    for (int k = y; k < SIDE; k += THREADS / SIDE)
        if (col + k < cols && row + x < rows) out[(col + k) * rows + row + x] = tile[x * (SIDE + 1) + k];
}
==== histogram/count_global.cl
/* SPDX-License-Identifier: MIT
 * teaches: a histogram by the definition: every thread adds one to the count of its element, in global memory
 * source: common practice since atomic operations on memory (compute capability 1.1, 2006)
 * look at: atomics are requests: one for each element, all of them to the same 128 words */
KERNEL(count, THREADS)(GLOBAL const elem *in, GLOBAL u32 *counts, i64 n)
{
    for (i64 i = group_index() * THREADS + thread_index(); i < n; i += group_count() * THREADS)
        atomic_next(counts, in[i]);
}
==== histogram/count_shared.cl
/* SPDX-License-Identifier: MIT
 * teaches: each group counts in shared memory, and adds its 128 counts to the result once
 * source: NVIDIA, "GPU Pro Tip: Fast Histograms Using Shared Atomics on Maxwell" (2015)
 * look at: requests, beside count_global: almost none but the reads; the two barriers around the counting */
#define BINS 128
KERNEL(count, THREADS)(GLOBAL const elem *in, GLOBAL u32 *counts, i64 n)
{
    SHARED u32 mine[BINS];
    int tid = thread_index();

    for (int b = tid; b < BINS; b += THREADS) mine[b] = 0;
    BARRIER();
    for (i64 i = group_index() * THREADS + tid; i < n; i += group_count() * THREADS) atomic_next(mine, in[i]);
    BARRIER();
    for (int b = tid; b < BINS; b += THREADS) atomic_more(counts, b, mine[b]);
}
==== histogram/count_private.cl
/* SPDX-License-Identifier: MIT
 * teaches: several copies of the counts: lanes with equal elements use different copies; then one fold
 * source: Podlozhnyuk, "Histogram Calculation in CUDA" (2007), has a copy for each warp; copies by lane are usual now
 * look at: bank conflicts: where neighbours are equal (half of the data), 32 lanes want one word of count_shared, and 4
 *          lanes each want one of 8 words here. Shared accesses of the fold at the end: the price */
#define BINS 128
#define COPIES 8
#define COPY (BINS + 1)
KERNEL(count, THREADS)(GLOBAL const elem *in, GLOBAL u32 *counts, i64 n)
{
    SHARED u32 mine[COPIES * COPY];
    int tid = thread_index();
    int copy = tid % COPIES * COPY;

    for (int b = tid; b < COPIES * COPY; b += THREADS) mine[b] = 0;
    BARRIER();
    for (i64 i = group_index() * THREADS + tid; i < n; i += group_count() * THREADS) atomic_next(mine, copy + in[i]);
    BARRIER();
    for (int b = tid; b < BINS; b += THREADS) {
        u32 sum = 0;
        for (int k = 0; k < COPIES; k++) sum += mine[k * COPY + b];
        atomic_more(counts, b, sum);
    }
}
