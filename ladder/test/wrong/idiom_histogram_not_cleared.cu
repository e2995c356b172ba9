// like: histogram/count_shared
// class: idiom
// caught: unset
constexpr int NUM_BINS = 128;
__device__ void clear(unsigned int *bins) { for (int b = threadIdx.x; b < NUM_BINS; b += blockDim.x) bins[b] = 0; }
__global__ void histo_kernel(const unsigned int *data, unsigned int *histo, int length)
{
    __shared__ unsigned int histo_s[NUM_BINS];
    const int stride = blockDim.x * gridDim.x;
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < length; i += stride) atomicAdd(&histo_s[data[i]], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < NUM_BINS; b += blockDim.x) {
        unsigned int v = histo_s[b];
        if (v > 0) atomicAdd(&histo[b], v);
    }
}
