// like: reduce/reduce1
// class: bounds
// caught: bounds
#define BLOCK_SIZE 256
__global__ void reduce1 ( int * inData, int * outData )
{
    __shared__ int data [BLOCK_SIZE];
    int tid = threadIdx.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data [tid] = inData [i];
    __syncthreads ();
    for ( int s = 1; s < blockDim.x; s *= 2 ) {
        if ( tid % (2*s) == 0 ) data [tid] += data [tid + s];
        __syncthreads ();
    }
    if ( tid == 0 ) outData[blockIdx.x] = data [0];
}
