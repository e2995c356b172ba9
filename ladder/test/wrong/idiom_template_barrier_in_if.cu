// like: reduce/reduce4
// class: idiom
// caught: barrier
// One int template for the kernel and its helper, instantiated by the launch.
template <unsigned int blockSize>
__device__ void warpReduce(volatile int *sdata, unsigned int tid)
{
    if (blockSize >= 64) { int v = sdata[tid + 32]; __syncwarp(); sdata[tid] += v; __syncwarp(); }
    if (blockSize >= 32) { int v = sdata[tid + 16]; __syncwarp(); if (tid < 16) sdata[tid] += v; __syncwarp(); }
    if (blockSize >= 16) { int v = sdata[tid + 8]; __syncwarp(); if (tid < 8) sdata[tid] += v; __syncwarp(); }
    if (blockSize >= 8) { int v = sdata[tid + 4]; __syncwarp(); if (tid < 4) sdata[tid] += v; __syncwarp(); }
    if (blockSize >= 4) { int v = sdata[tid + 2]; __syncwarp(); if (tid < 2) sdata[tid] += v; __syncwarp(); }
    if (blockSize >= 2) { int v = sdata[tid + 1]; __syncwarp(); if (tid < 1) sdata[tid] += v; __syncwarp(); }
}

template <unsigned int blockSize>
__global__ void reduce6(int *g_idata, int *g_odata, unsigned int n)
{
    extern __shared__ int sdata[];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockSize * 2) + tid;
    sdata[tid] = 0;
    if (i < n) sdata[tid] = g_idata[i];
    if (i + blockSize < n) sdata[tid] += g_idata[i + blockSize];
    __syncthreads();
    if (blockSize >= 512) { if (tid < 256) { sdata[tid] += sdata[tid + 256]; } __syncthreads(); }
    if (blockSize >= 256) { if (tid < 100) { sdata[tid] += sdata[tid + 128]; __syncthreads(); } }
    if (blockSize >= 128) { if (tid < 64) { sdata[tid] += sdata[tid + 64]; } __syncthreads(); }
    if (tid < 32) warpReduce<blockSize>(sdata, tid);
    if (tid == 0) g_odata[blockIdx.x] = sdata[0];
}

int main() { reduce6<256><<<64, 256, 256 * sizeof(int)>>>(in, out, n); }
