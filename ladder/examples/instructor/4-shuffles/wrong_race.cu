// like: reduce/shuffle
template <typename T>
__global__ void sum(const T *__restrict__ in, T *__restrict__ out, size_t n)
{
    __shared__ T warps[32];
    T mine = 0;

    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        mine += in[i];
    for (int d = 16; d > 0; d >>= 1) mine += __shfl_down_sync(0xffffffffu, mine, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    if (threadIdx.x == 0) {
        T all = 0;
        for (int w = 0; w < blockDim.x / 32; w++) all += warps[w];
        out[blockIdx.x] = all;
    }
}
