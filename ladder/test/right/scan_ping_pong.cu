/* like: scan/hillis_steele
 * shared: 2 * THREADS */
__global__ void scan(const int *g_idata, int *g_odata, int *sums, int n)
{
    extern __shared__ int temp[]; // two buffers
    int thid = threadIdx.x, B = blockDim.x;
    int pout = 0, pin = 1;
    int i = blockIdx.x * B + thid;
    temp[pout * B + thid] = i < n ? g_idata[i] : 0;
    __syncthreads();
    for (int offset = 1; offset < B; offset *= 2) {
        pout = 1 - pout;
        pin = 1 - pout;
        if (thid >= offset)
            temp[pout * B + thid] = temp[pin * B + thid] + temp[pin * B + thid - offset];
        else
            temp[pout * B + thid] = temp[pin * B + thid];
        __syncthreads();
    }
    if (i < n) g_odata[i] = temp[pout * B + thid];
    if (thid == B - 1) sums[blockIdx.x] = temp[pout * B + thid];
}
__global__ void uniform_add(int *data, const int *sums, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x && i < n) data[i] += sums[blockIdx.x - 1];
}
