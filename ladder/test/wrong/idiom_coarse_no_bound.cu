/* like: reduce/atomic
 * class: idiom
 * caught: bounds
 * threads: 256 */
#define COARSE_FACTOR 4
#define BLOCK_DIM 256
__global__ void CoarsenedSumReductionKernel(float *input, float *output, int n) {
    __shared__ float input_s[BLOCK_DIM];
    unsigned int t = threadIdx.x;
    float sum = 0.0f;
    for (unsigned int i = COARSE_FACTOR * blockDim.x * blockIdx.x + t; i < n;
         i += COARSE_FACTOR * blockDim.x * gridDim.x) {
        for (unsigned int tile = 0; tile < COARSE_FACTOR; ++tile)
            sum += input[i + tile * BLOCK_DIM];
    }
    input_s[t] = sum;
    for (unsigned int stride = blockDim.x / 2; stride >= 1; stride /= 2) {
        __syncthreads();
        if (t < stride) { input_s[t] += input_s[t + stride]; }
    }
    if (t == 0) { atomicAdd(output, input_s[0]); }
}
