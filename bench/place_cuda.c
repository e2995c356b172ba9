/* SPDX-License-Identifier: MIT
 *
 * place_cuda.c - a CUDA device as a place. libcuda and NVRTC are opened when the program runs,
 * so that it is built without a toolkit; the few declarations needed have the names and values
 * of NVIDIA's headers.
 */
#include "cliffs.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long address;
#define CALLS(F) \
    F(cuInit, cuInit, (unsigned)) \
    F(cuDeviceGet, cuDeviceGet, (int *, int)) \
    F(cuDeviceGetName, cuDeviceGetName, (char *, int, int)) \
    F(cuDeviceGetAttribute, cuDeviceGetAttribute, (int *, int, int)) \
    F(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (void **, int)) \
    F(cuCtxSetCurrent, cuCtxSetCurrent, (void *)) \
    F(cuMemGetInfo, cuMemGetInfo_v2, (size_t *, size_t *)) \
    F(cuMemAlloc, cuMemAlloc_v2, (address *, size_t)) \
    F(cuMemFree, cuMemFree_v2, (address)) \
    F(cuMemcpyHtoD, cuMemcpyHtoD_v2, (address, const void *, size_t)) \
    F(cuMemcpyDtoH, cuMemcpyDtoH_v2, (void *, address, size_t)) \
    F(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, (address, address, size_t, void *)) \
    F(cuStreamCreate, cuStreamCreate, (void **, unsigned)) \
    F(cuStreamSynchronize, cuStreamSynchronize, (void *)) \
    F(cuModuleLoadData, cuModuleLoadData, (void **, const void *)) \
    F(cuModuleGetFunction, cuModuleGetFunction, (void **, void *, const char *)) \
    F(cuLaunchKernel, cuLaunchKernel, \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, \
       void **, void **))
#define COMPILER(F) \
    F(nvrtcCreateProgram, nvrtcCreateProgram, \
      (void **, const char *, const char *, int, const char *const *, const char *const *)) \
    F(nvrtcCompileProgram, nvrtcCompileProgram, (void *, int, const char *const *)) \
    F(nvrtcGetCUBINSize, nvrtcGetCUBINSize, (void *, size_t *)) \
    F(nvrtcGetCUBIN, nvrtcGetCUBIN, (void *, char *)) \
    F(nvrtcGetProgramLogSize, nvrtcGetProgramLogSize, (void *, size_t *)) \
    F(nvrtcGetProgramLog, nvrtcGetProgramLog, (void *, char *))
#define DECLARE(name, symbol, parameters) static int(*name) parameters;
CALLS(DECLARE)
COMPILER(DECLARE)
#define FIND(name, symbol, parameters) \
    whole = whole && (*(void **)&name = dlsym(library, #symbol)) != NULL;

enum {
    PROCESSORS = 16,
    L2_BYTES = 38,
    MAJOR = 75,
    MINOR = 76,
    MOST_KERNELS = 16,
    NON_BLOCKING = 1
};

typedef struct cuda {
    void *context, *stream, *module, *kernel[MOST_KERNELS];
    int processors;
    gpu_loops list;
} cuda;

static int find(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    int whole = library != NULL;
    CALLS(FIND)
    if (!whole) return fprintf(stderr, "cliffs: CUDA's driver (libcuda.so.1) is not here\n"), 0;
    static const char *const names[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12",
                                        "libnvrtc.so.11.2", "/usr/local/cuda/lib64/libnvrtc.so"};
    library = NULL;
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
        library = dlopen(names[i], RTLD_NOW);
    whole = library != NULL;
    COMPILER(FIND)
    return whole ||
           (fprintf(stderr, "cliffs: libnvrtc, which compiles the ceilings, is not here\n"), 0);
}

static int failed(const char *what, int error)
{
    if (error) fprintf(stderr, "cliffs: CUDA: %s: error %d\n", what, error);
    return error != 0;
}

static int compile(cuda *g, int capability)
{
    char arch[48], log[4096] = "";
    const char *const options[] = {arch};
    void *program = NULL, *code = NULL;
    size_t bytes = 0;
    snprintf(arch, sizeof arch, "--gpu-architecture=sm_%d", capability);
    int error = nvrtcCreateProgram(&program, gpu_text, "cliffs.cu", 0, NULL, NULL);
    if (!error && (error = nvrtcCompileProgram(program, 1, options)) &&
        !nvrtcGetProgramLogSize(program, &bytes) && bytes < sizeof log &&
        !nvrtcGetProgramLog(program, log))
        fprintf(stderr, "%s\n", log);
    if (!error) error = nvrtcGetCUBINSize(program, &bytes);
    if (!error && !(code = malloc(bytes))) error = -1;
    if (!error) error = nvrtcGetCUBIN(program, code);
    if (failed("the ceilings' kernels do not compile", error)) return free(code), 0;
    error = cuModuleLoadData(&g->module, code);
    free(code);
    for (int k = 0; !error && gpu_kernels[k]; k++)
        error = cuModuleGetFunction(&g->kernel[k], g->module, gpu_kernels[k]);
    return !failed("the ceilings' kernels do not load", error);
}

static void *alloc(place *p, size_t bytes)
{
    address a = 0;
    (void)p;
    return failed("memory", cuMemAlloc(&a, bytes)) ? NULL : (void *)(uintptr_t)a;
}
static void release(place *p, void *memory, size_t bytes)
{
    (void)p, (void)bytes, cuMemFree((address)(uintptr_t)memory);
}
static int put(place *p, void *to, const void *from, size_t bytes)
{
    p->finish(p);
    /* From pageable memory it returns before the last bytes are there, and our stream does not
     * wait for the default one. */
    return !failed("copying to the device",
                   cuMemcpyHtoD((address)(uintptr_t)to, from, bytes) || cuStreamSynchronize(NULL));
}
static int get(place *p, void *to, const void *from, size_t bytes)
{
    p->finish(p);
    return !failed("copying from the device", cuMemcpyDtoH(to, (address)(uintptr_t)from, bytes));
}
static void finish(place *p)
{
    const cuda *g = p->state;
    if (failed("waiting", cuStreamSynchronize(g->stream))) exit(1);
}
static int loops(place *p, size_t in, size_t out)
{
    cuda *g = p->state;
    gpu_list(&g->list, in, out, g->processors);
    return g->list.count;
}
static const char *name(place *p, int loop) { return ((cuda *)p->state)->list.loop[loop].name; }

static void run(place *p, int loop, void *dst, size_t out, const void *src, size_t in, int repeat)
{
    cuda *g = p->state;
    const gpu_loop *l = &g->list.loop[loop];
    address x = (address)(uintptr_t)src, y = (address)(uintptr_t)dst;
    uint64_t quads_in = (in + 15) / 16, quads_out = (out + 15) / 16, tile = (uint64_t)l->tile;
    if (out <= in / 256) quads_out = 0;
    void *arguments[] = {&x, &quads_in, &y, &quads_out, &tile};
    int k = 0, error = 0;
    while (l->kernel && strcmp(gpu_kernels[k], l->kernel)) k++;
    for (; repeat > 0 && !error; repeat--)
        error = !l->kernel ? cuMemcpyDtoDAsync(y, x, in, g->stream)
                           : cuLaunchKernel(g->kernel[k], (unsigned)l->groups, 1, 1, GPU_GROUP, 1,
                                            1, 0, g->stream, arguments, NULL);
    if (failed(l->name, error)) exit(1);
}

static void shut(place *p)
{
    tally_close(p->ctx);
    free(p->state);
}

int place_cuda(place *p, int number)
{
    cuda *g = calloc(1, sizeof *g);
    int device = 0, major = 0, minor = 0, cache = 0;
    char model[120] = "", words[32];
    size_t capacity = 0, total = 0;
    *p = (place){.alloc = alloc,
                 .free = release,
                 .put = put,
                 .get = get,
                 .finish = finish,
                 .loops = loops,
                 .name = name,
                 .run = run,
                 .close = shut,
                 .state = g};
    if (!g || !find()) return free(g), 0;
    if (failed("the device",
               cuInit(0) || cuDeviceGet(&device, number) ||
                   cuDeviceGetName(model, sizeof model, device) ||
                   cuDeviceGetAttribute(&g->processors, PROCESSORS, device) ||
                   cuDeviceGetAttribute(&cache, L2_BYTES, device) ||
                   cuDeviceGetAttribute(&major, MAJOR, device) ||
                   cuDeviceGetAttribute(&minor, MINOR, device) ||
                   cuDevicePrimaryCtxRetain(&g->context, device) || cuCtxSetCurrent(g->context) ||
                   cuStreamCreate(&g->stream, NON_BLOCKING) || cuMemGetInfo(&capacity, &total)) ||
        !compile(g, 10 * major + minor))
        return free(g), 0;
    snprintf(words, sizeof words, "cuda:%d", number);
    if (tally_open(&p->ctx, words) || tally_use_stream(p->ctx, g->stream))
        return fprintf(stderr, "cliffs: %s\n", tally_error(p->ctx)), free(g), 0;
    snprintf(p->device, sizeof p->device, "%s", words);
    tally_device_info info;
    snprintf(p->text, sizeof p->text, "%s", model);
    for (int i = 0; !tally_device(i, &info); i++)
        if (!strcmp(info.name, words)) snprintf(p->text, sizeof p->text, "%.300s", info.text);
    p->fast = cache > 0 ? (size_t)cache / 4 : (size_t)1 << 22;
    p->slow = capacity / 8 < GPU_SLOW ? capacity / 8 : GPU_SLOW;
    return 1;
}
