/* like: reduce/tiled_3
 * block: 8 x 8 x 4 */
__device__ int flat(int x, int y, int z) { return (z * 8 + y) * 8 + x; }
__global__ void sum3d(const int *in, int *out, int n)
{
    __shared__ int cube[4][8][8];
    int i = blockIdx.x * blockDim.x * blockDim.y * blockDim.z + flat(threadIdx.x, threadIdx.y, threadIdx.z);
    cube[threadIdx.z][threadIdx.y][threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    if (threadIdx.z == 0) {
        int v = 0;
        for (int k = 0; k < 4; k++) v += cube[k][threadIdx.y][threadIdx.x];
        cube[0][threadIdx.y][threadIdx.x] = v;
    }
    __syncthreads();
    if (threadIdx.z == 0 && threadIdx.y == 0 && threadIdx.x == 0) {
        int all = 0;
        for (int y = 0; y < 8; y++)
            for (int x = 0; x < 8; x++) all += cube[0][y][x];
        out[blockIdx.x] = all;
    }
}
