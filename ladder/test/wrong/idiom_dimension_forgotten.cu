/* like: reduce/tiled_3
 * class: idiom
 * caught: values
 * block: 32 x 8 */
__global__ void sum2d(const int *in, int *out, int n)
{
    __shared__ int rows[8][32];
    int i = blockIdx.x * (blockDim.x * blockDim.y) + threadIdx.y + threadIdx.x;
    rows[threadIdx.y][threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (int s = blockDim.y / 2; s > 0; s /= 2) {
        if (threadIdx.y < s) rows[threadIdx.y][threadIdx.x] += rows[threadIdx.y + s][threadIdx.x];
        __syncthreads();
    }
    if (threadIdx.y == 0) {
        int v = rows[0][threadIdx.x];
        for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
        if (threadIdx.x == 0) out[blockIdx.x] = v;
    }
}
