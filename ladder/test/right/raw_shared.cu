/* like: reduce/tiled_3
 * threads: 64 */
extern "C" {
template <class T> __device__ T *nothing();
}
template <class T>
__global__ void sum(const T *in, T *out, int n)
{
    extern __shared__ __align__(16) unsigned char raw[];
    T *s = reinterpret_cast<T *>(raw);
    const int tid = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + tid;
    s[tid] = i < n ? in[i] : static_cast<T>(0);
    __syncthreads();
    for (int half = blockDim.x >> 1; half; half >>= 1) {
        if (tid < half) s[tid] += s[tid + half];
        __syncthreads();
    }
    if (!tid) out[blockIdx.x] = *s;
}
