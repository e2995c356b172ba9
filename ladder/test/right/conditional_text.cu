// like: reduce/reduce3
#ifndef BLOCK
#define BLOCK 256
#endif
#ifdef DEBUG
#error "not in this text"
#endif
#if 0
this is no kernel
#endif
#define FOR_EACH_HALF(s) for (int s = BLOCK / 2; s > 0; s >>= 1)
#define CHECK(call) do { if (call) exit(1); } while (0)
__global__ void reduce(const int *in, int *out, int n)
{
    __shared__ short low[BLOCK];
    __shared__ int d[BLOCK];
    int tid = threadIdx.x, i = blockIdx.x * BLOCK + tid;
    low[tid] = (short)(i < n ? in[i] & 7 : 0);
    d[tid] = i < n ? in[i] - low[tid] : 0;
    d[tid] += low[tid];
    __syncthreads();
    FOR_EACH_HALF(s) {
        if (tid < s) d[tid] += d[tid + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = d[0];
}
