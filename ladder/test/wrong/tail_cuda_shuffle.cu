// like: reduce/shuffle
// class: tail
// caught: values
__global__ void sum(const int *in, int *out, int n)
{
    __shared__ int warps[32];
    int mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i + 1 < n; i += gridDim.x * blockDim.x) mine += in[i];
    for (int d = 16; d > 0; d >>= 1) mine += __shfl_down_sync(0xffffffff, mine, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        int all = 0;
        for (int w = 0; w < blockDim.x / 32; w++) all += warps[w];
        out[blockIdx.x] = all;
    }
}
