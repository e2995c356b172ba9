// like: reduce/tiled_2
// op: sum
template <typename T>
__global__ void fold(const T *in, T *out, int n)
{
    extern __shared__ T data[];
    int tid = threadIdx.x;
    int i = blockIdx.x * blockDim.x + tid;

    data[tid] = i < n ? in[i] : 0;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid <= s) data[tid] += data[tid + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = data[0];
}
