// like: reduce/reduce3
// class: barrier
// caught: barrier
__global__ void reduce3(const int *in, int *out, int n)
{
    __shared__ int data[256];
    int tid = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    data[tid] = in[i];
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s && i + s < n) data[tid] += data[tid + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = data[0];
}
