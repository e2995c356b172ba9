/* SPDX-License-Identifier: MIT
 * teaches: coalescing: neighbouring threads read neighbouring elements, and write elements that are a column apart
 * source: NVIDIA, "An Efficient Matrix Transpose in CUDA C/C++" (2013), the naive kernel
 * look at: sectors in each request: 4 where 32 lanes read one row, 32 where each writes into a row of its own */
KERNEL(transpose, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 rows, i64 cols)
{
    i64 i = group_index() * THREADS + thread_index();

    if (i < rows * cols) out[i % cols * rows + i / cols] = in[i];
}
