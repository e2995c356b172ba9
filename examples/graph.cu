/* SPDX-License-Identifier: MIT
 * A sum and running totals in a CUDA graph: captured once, launched for each new array, with the
 * bits of the processors each time. The memory that the graph needs belongs to the context.
 *
 *     nvcc -Iinclude examples/graph.cu -o graph -Lbuild -ltally && LD_LIBRARY_PATH=build ./graph */
#include "tally.h"
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1000003 };
static float x[N], totals[N];

static void must(int failed, const char *what)
{
    if (failed) printf("%s failed\n", what), exit(1);
}

int main(void)
{
    tally *ctx;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    float *on_device, *running, *sum, got;
    must(tally_open(&ctx, "cuda:0"), "tally_open");
    must(cudaStreamCreate(&stream), "a stream");
    must(cudaMalloc((void **)&on_device, sizeof x), "memory");
    must(cudaMalloc((void **)&running, sizeof x), "memory");
    must(cudaMalloc((void **)&sum, sizeof *sum), "memory");
    const tally_view in = tally_flat(on_device, TALLY_F32, N),
                     out = tally_flat(running, TALLY_F32, N);

    must(tally_use_stream(ctx, stream), tally_error(ctx));
    for (int captured = 0; captured < 2; captured++) { /* the first calls load the kernels */
        if (captured) must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
        must(tally_reduce(ctx, "sum", &in, sum), tally_error(ctx));
        must(tally_scan(ctx, "sum", &in, &out, NULL), tally_error(ctx));
    }
    must(cudaStreamEndCapture(stream, &graph), "the end of the capture");
    must(cudaGraphInstantiateWithFlags(&replay, graph, 0), "the graph");

    for (int step = 0; step < 3; step++) {
        for (int i = 0; i < N; i++) x[i] = 1 / (float)(i + step + 1);
        cudaMemcpyAsync(on_device, x, sizeof x, cudaMemcpyHostToDevice, stream);
        cudaGraphLaunch(replay, stream);
        cudaMemcpyAsync(&got, sum, sizeof got, cudaMemcpyDeviceToHost, stream);
        cudaMemcpyAsync(totals, running, sizeof x, cudaMemcpyDeviceToHost, stream);
        must(cudaStreamSynchronize(stream), "the graph");
        const float want = tally_sum_f32(x, N);
        printf("step %d: %a, %s\n", step, got,
               got == want && totals[N - 1] == want ? "as on the processors" : "different");
    }

    cudaGraphExecDestroy(replay);
    cudaGraphDestroy(graph);
    tally_close(ctx);
    return 0;
}
