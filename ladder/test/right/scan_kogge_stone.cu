/* like: scan/hillis_steele
 * threads: 128 */
#define SECTION_SIZE 128
__global__ void Kogge_Stone_scan_kernel(float *X, float *Y, float *S, unsigned int N) {
    __shared__ float XY[SECTION_SIZE];
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) { XY[threadIdx.x] = X[i]; } else { XY[threadIdx.x] = 0.0f; }
    for (unsigned int stride = 1; stride < blockDim.x; stride *= 2) {
        __syncthreads();
        float temp;
        if (threadIdx.x >= stride) temp = XY[threadIdx.x] + XY[threadIdx.x - stride];
        __syncthreads();
        if (threadIdx.x >= stride) XY[threadIdx.x] = temp;
    }
    __syncthreads();
    if (i < N) { Y[i] = XY[threadIdx.x]; }
    if (threadIdx.x == blockDim.x - 1) S[blockIdx.x] = XY[threadIdx.x];
}
__global__ void add_sums(float *Y, const float *S, unsigned int N) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x > 0 && i < N) Y[i] += S[blockIdx.x - 1];
}
