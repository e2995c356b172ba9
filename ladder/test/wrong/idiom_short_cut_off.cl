/* like: transpose/transpose_naive
 * class: idiom
 * caught: values
 * block: 16 x 8
 * tile: 16 x 16 */
#define N 16
__kernel void transpose(__global const uint *in, __global uint *out, int rows, int cols)
{
    __local uchar low[N][N + 1]; __local ushort high[N][N + 1];
    const int lx = get_local_id(0), ly = get_local_id(1);
    for (int k = ly; k < N; k += get_local_size(1)) {
        int row = get_group_id(1) * N + k, col = get_group_id(0) * N + lx;
        if (row < rows && col < cols) {
            low[k][lx] = in[row * cols + col] & 65535u;
            high[k][lx] = in[row * cols + col] >> 16;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = ly; k < N; k += get_local_size(1)) {
        int row = get_group_id(0) * N + k, col = get_group_id(1) * N + lx;
        if (row < cols && col < rows) out[row * rows + col] = ((uint)high[lx][k] << 16) | low[lx][k];
    }
}
