// like: window/sma_simple
// class: idiom
// caught: values
#define max_int(a, b) ((a) > (b) ? (a) : (b))
__device__ float window_sum(const float *first, int count)
{
    float sum = 0.f;
    while (--count > 0) sum += *first++;
    return sum;
}
__global__ void moving_average(const float *__restrict__ x, float *__restrict__ y, int n, int w)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || i < w - 1) return;
    const float *p = &x[max_int(i - w + 1, 0)];
    y[i] = window_sum(p, w) / w;
}
