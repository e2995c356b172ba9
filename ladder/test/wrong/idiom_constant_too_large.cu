/* like: reduce/tiled_4
 * class: idiom
 * caught: bounds
 * threads: 128 */
const int BLOCK = 128;
constexpr int ITEMS = 2;
static_assert(BLOCK % 32 == 0, "whole warps");
__global__ void __launch_bounds__(BLOCK) reduce(const int *in, int *out, int n)
{
    __shared__ int d[BLOCK / 2];
    const unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * BLOCK * ITEMS + tid;
    d[tid] = (i < n ? in[i] : 0) + (i + BLOCK < n ? in[i + BLOCK] : 0);
    __syncthreads();
#pragma unroll
    for (unsigned int s = BLOCK / 2; s > 0; s >>= 1) {
        if (tid < s) d[tid] += d[tid + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = d[0];
}
