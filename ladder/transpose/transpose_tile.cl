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
