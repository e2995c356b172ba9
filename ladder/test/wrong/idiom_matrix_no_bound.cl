/* like: transpose/transpose_naive
 * class: idiom
 * caught: bounds
 * block: 16 x 16 */
#define IDX(row, col, width) ((row) * (width) + (col))
__kernel void transpose(__global const int *in, __global int *out, int rows, int cols)
{
    int col = get_global_id(0), row = get_global_id(1);
    out[IDX(col, row, rows)] = in[IDX(row, col, cols)];
}
