// like: reduce/reduce5
// class: race
// caught: race
template <unsigned int blockSize>
__global__ void reduce5(const float *in, float *out, unsigned int n)
{
    extern __shared__ float data[];
    unsigned int tid = threadIdx.x, i = blockIdx.x * (blockSize * 2) + threadIdx.x;
    data[tid] = (i < n ? in[i] : 0) + (i + blockSize < n ? in[i + blockSize] : 0);
    __syncthreads();
    for (unsigned int s = blockSize / 2; s > 32; s >>= 1) {
        if (tid < s) data[tid] += data[tid + s];
        __syncthreads();
    }
    if (tid < 32) {
        volatile float *smem = data;
        smem[tid] += smem[tid + 32];
        smem[tid] += smem[tid + 16];
        smem[tid] += smem[tid + 8];
        smem[tid] += smem[tid + 4];
        smem[tid] += smem[tid + 2];
        smem[tid] += smem[tid + 1];
    }
    if (tid == 0) out[blockIdx.x] = data[0];
}
