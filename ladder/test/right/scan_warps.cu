// like: scan/hillis_steele
// Warps by shuffles, their totals by the first warp.
__device__ __forceinline__ int warp_scan(int v, int lane)
{
#pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
        int up = __shfl_up_sync(0xffffffff, v, d);
        if (lane >= d) v += up;
    }
    return v;
}
__device__ int block_scan(int v, int *totals)
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    v = warp_scan(v, lane);
    if (lane == 31) totals[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int t = lane < blockDim.x / 32 ? totals[lane] : 0;
        totals[lane] = warp_scan(t, lane);
    }
    __syncthreads();
    if (warp == 0) return v;
    return v + totals[warp - 1];
}
__global__ void scan(const int *in, int *out, int *sums, int n)
{
    __shared__ int totals[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = block_scan(i < n ? __ldg(&in[i]) : 0, totals);
    if (i < n) out[i] = v;
    if (threadIdx.x == blockDim.x - 1) sums[blockIdx.x] = v;
}
__global__ void add(int *out, const int *sums, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x > 0 && i < n) out[i] += sums[blockIdx.x - 1];
}
