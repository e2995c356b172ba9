/* like: scan/blelloch
 * class: idiom
 * caught: values
 * shared: 2 * THREADS + 2 * THREADS / 32 */
#define LOG_NUM_BANKS 5
#define CONFLICT_FREE_OFFSET(n) ((n) >> LOG_NUM_BANKS)
__device__ int load_or_zero(const int *a, int i, int n) { return i < n ? a[i] : 0; }
__global__ void prescan(const int *g_idata, int *g_odata, int *sums, int n)
{
    extern __shared__ int temp[];
    int thid = threadIdx.x, offset = 1, m = 2 * blockDim.x, base = blockIdx.x * m;
    int ai = thid, bi = thid + m / 2;
    int bankOffsetA = CONFLICT_FREE_OFFSET(ai), bankOffsetB = CONFLICT_FREE_OFFSET(bi);
    int own_a = load_or_zero(g_idata, base + ai, n), own_b = load_or_zero(g_idata, base + bi, n);
    temp[ai + bankOffsetA] = own_a;
    temp[bi + bankOffsetB] = own_b;
    for (int d = m >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (thid < d) {
            int a = offset * (2 * thid + 1) - 1, b = offset * (2 * thid + 2) - 1;
            a += CONFLICT_FREE_OFFSET(a);
            b += CONFLICT_FREE_OFFSET(b);
            temp[b] += temp[a];
        }
        offset *= 2;
    }
    if (thid == 0) temp[m - 1 + CONFLICT_FREE_OFFSET(m - 1)] = 0;
    for (int d = 1; d < m; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (thid < d) {
            int a = offset * (2 * thid + 1) - 1, b = offset * (2 * thid + 2) - 1;
            a += CONFLICT_FREE_OFFSET(a);
            b += CONFLICT_FREE_OFFSET(b);
            int t = temp[a];
            temp[a] = temp[b];
            temp[b] += t;
        }
    }
    __syncthreads();
    own_a += temp[ai + bankOffsetA];
    own_b += temp[bi + bankOffsetB];
    if (base + ai < n) g_odata[base + ai] = own_a;
    if (base + bi < n) g_odata[base + bi] = own_b;
    if (thid == blockDim.x - 1) sums[blockIdx.x] = temp[bi + bankOffsetB];
}
__global__ void add(int *out, const int *sums, int n)
{
    int i = blockIdx.x * 2 * blockDim.x + threadIdx.x;
    if (blockIdx.x == 0) return;
    if (i < n) out[i] += sums[blockIdx.x - 1];
    if (i + blockDim.x < n) out[i + blockDim.x] += sums[blockIdx.x - 1];
}
