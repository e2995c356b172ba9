// like: reduce/shuffle
// Several elements a thread, in registers.
template <typename T, int ITEMS = 4>
__global__ void sum_items(const T *in, T *out, int n)
{
    __shared__ T partial[32];
    T items[ITEMS] = {0};
    for (int base = blockIdx.x * blockDim.x * ITEMS; base < n; base += gridDim.x * blockDim.x * ITEMS)
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            int i = base + k * blockDim.x + threadIdx.x;
            if (i < n) items[k] += in[i];
        }
    T sum = 0;
    for (int k = 0; k < ITEMS; k++) sum += items[k];
    for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, d);
    if (threadIdx.x % warpSize == 0) partial[threadIdx.x / warpSize] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        T all = 0;
        for (int w = 0; w < blockDim.x / warpSize; w++) all += partial[w];
        out[blockIdx.x] = all;
    }
}
