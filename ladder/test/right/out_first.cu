// like: reduce/cascade
// The output comes first, rows by a pointer with an offset, and macros with arguments.
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
__global__ void sum_chunks(float *out, const float *inp, int N)
{
    __shared__ float shared[256];
    int chunk = CEIL_DIV(N, gridDim.x);
    int start = blockIdx.x * chunk;
    int length = MIN(chunk, N - start);
    const float *x = inp + start;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < length; i += blockDim.x) sum += x[i];
    shared[threadIdx.x] = sum;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride >= 1; stride /= 2) {
        if (threadIdx.x < stride) shared[threadIdx.x] += shared[threadIdx.x + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = shared[0];
}
