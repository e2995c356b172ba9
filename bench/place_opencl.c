/* SPDX-License-Identifier: MIT
 *
 * place_opencl.c - an OpenCL device as a place: cl_mem buffers of the caller's, calls in the
 * caller's queue. libOpenCL is opened when the program runs; the declarations have the names and
 * values of the Khronos headers.
 */
#include "cliffs.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define CALLS(F) \
    F(int, clGetPlatformIDs, (unsigned, void **, unsigned *)) \
    F(int, clGetDeviceIDs, (void *, uint64_t, unsigned, void **, unsigned *)) \
    F(int, clGetDeviceInfo, (void *, unsigned, size_t, void *, size_t *)) \
    F(void *, clCreateContext, (const intptr_t *, unsigned, void **, void *, void *, int *)) \
    F(void *, clCreateCommandQueue, (void *, void *, uint64_t, int *)) \
    F(void *, clCreateProgramWithSource, (void *, unsigned, const char **, const size_t *, int *)) \
    F(int, clBuildProgram, (void *, unsigned, void **, const char *, void *, void *)) \
    F(int, clGetProgramBuildInfo, (void *, void *, unsigned, size_t, void *, size_t *)) \
    F(void *, clCreateKernel, (void *, const char *, int *)) \
    F(int, clSetKernelArg, (void *, unsigned, size_t, const void *)) \
    F(int, clEnqueueNDRangeKernel, \
      (void *, void *, unsigned, const size_t *, const size_t *, const size_t *, unsigned, \
       const void *, void *)) \
    F(void *, clCreateBuffer, (void *, uint64_t, size_t, void *, int *)) \
    F(int, clReleaseMemObject, (void *)) \
    F(int, clEnqueueReadBuffer, \
      (void *, void *, int, size_t, size_t, void *, unsigned, const void *, void *)) \
    F(int, clEnqueueWriteBuffer, \
      (void *, void *, int, size_t, size_t, const void *, unsigned, const void *, void *)) \
    F(int, clEnqueueCopyBuffer, \
      (void *, void *, void *, size_t, size_t, size_t, unsigned, const void *, void *)) \
    F(int, clFinish, (void *))
#define DECLARE(type, name, parameters) static type(*name) parameters;
CALLS(DECLARE)
#define FIND(type, name, parameters) \
    whole = whole && (*(void **)&name = dlsym(library, #name)) != NULL;

enum {
    BUFFERS = 16,
    MOST_KERNELS = 16,
    UNITS = 0x1002,
    GLOBAL_MEMORY = 0x101F,
    MOST_ALLOC = 0x1010,
    BUILD_LOG = 0x1183,
    READ_WRITE = 1
};

typedef struct opencl {
    void *device, *context, *queue, *program, *kernel[MOST_KERNELS];
    struct {
        void *object, *address; /* the buffer, and what stands for it in views */
    } buffer[BUFFERS];
    int units;
    gpu_loops list;
} opencl;

static int failed(const char *what, int error)
{
    if (error) fprintf(stderr, "cliffs: OpenCL: %s: error %d\n", what, error);
    return error != 0;
}

/* opencl:N as tally numbers them: the devices of all platforms, one after the other. */
static void *find(int number)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW), *platforms[8], *devices[16];
    int whole = library != NULL;
    unsigned count = 0, found = 0;
    CALLS(FIND)
    if (whole && !clGetPlatformIDs(8, platforms, &count))
        for (unsigned i = 0; i < count; i++) {
            if (clGetDeviceIDs(platforms[i], 0xFFFFFFFF, 16, devices, &found)) continue;
            if (number < (int)found) return devices[number];
            number -= (int)found;
        }
    fprintf(stderr,
            whole ? "cliffs: OpenCL has fewer devices\n" : "cliffs: libOpenCL.so.1 is not here\n");
    return NULL;
}

static void *object(const opencl *g, const void *address)
{
    for (int i = 0; i < BUFFERS; i++)
        if (g->buffer[i].address == address) return g->buffer[i].object;
    return NULL;
}

static void *alloc(place *p, size_t bytes)
{
    opencl *g = p->state;
    int i = 0, error;
    while (i < BUFFERS && g->buffer[i].object) i++;
    if (i == BUFFERS) return NULL;
    g->buffer[i].object = clCreateBuffer(g->context, READ_WRITE, bytes, NULL, &error);
    if (failed("memory", error)) return NULL;
    if (tally_device_pointer(p->ctx, g->buffer[i].object, &g->buffer[i].address))
        return fprintf(stderr, "cliffs: %s\n", tally_error(p->ctx)), NULL;
    return g->buffer[i].address;
}
static void release(place *p, void *memory, size_t bytes)
{
    opencl *g = p->state;
    (void)bytes;
    for (int i = 0; i < BUFFERS; i++)
        if (g->buffer[i].address == memory) {
            tally_device_forget(p->ctx, memory);
            clReleaseMemObject(g->buffer[i].object);
            g->buffer[i].object = g->buffer[i].address = NULL;
        }
}
static int put(place *p, void *to, const void *from, size_t bytes)
{
    const opencl *g = p->state;
    return !failed("copying to the device",
                   clEnqueueWriteBuffer(g->queue, object(g, to), 1, 0, bytes, from, 0, NULL, NULL));
}
static int get(place *p, void *to, const void *from, size_t bytes)
{
    const opencl *g = p->state;
    return !failed("copying from the device",
                   clEnqueueReadBuffer(g->queue, object(g, from), 1, 0, bytes, to, 0, NULL, NULL));
}
static void finish(place *p)
{
    const opencl *g = p->state;
    if (failed("waiting", clFinish(g->queue))) exit(1);
}
static int loops(place *p, size_t in, size_t out)
{
    opencl *g = p->state;
    gpu_list(&g->list, in, out, g->units);
    return g->list.count;
}
static const char *name(place *p, int loop) { return ((opencl *)p->state)->list.loop[loop].name; }

static void run(place *p, int loop, void *dst, size_t out, const void *src, size_t in, int repeat)
{
    opencl *g = p->state;
    const gpu_loop *l = &g->list.loop[loop];
    void *x = object(g, src), *y = object(g, dst);
    uint64_t quads_in = (in + 15) / 16, quads_out = out <= in / 256 ? 0 : (out + 15) / 16,
             tile = (uint64_t)l->tile;
    const size_t group = GPU_GROUP, all = (size_t)l->groups * group;
    int k = 0, error = 0;
    while (l->kernel && strcmp(gpu_kernels[k], l->kernel)) k++;
    void *kernel = l->kernel ? g->kernel[k] : NULL;
    if (kernel)
        error = clSetKernelArg(kernel, 0, sizeof x, &x) ||
                clSetKernelArg(kernel, 1, sizeof quads_in, &quads_in) ||
                clSetKernelArg(kernel, 2, sizeof y, &y) ||
                clSetKernelArg(kernel, 3, sizeof quads_out, &quads_out) ||
                clSetKernelArg(kernel, 4, sizeof tile, &tile);
    for (; repeat > 0 && !error; repeat--)
        error = kernel
                    ? clEnqueueNDRangeKernel(g->queue, kernel, 1, NULL, &all, &group, 0, NULL, NULL)
                    : clEnqueueCopyBuffer(g->queue, x, y, 0, 0, in, 0, NULL, NULL);
    if (failed(l->name, error)) exit(1);
}

static void shut(place *p)
{
    tally_close(p->ctx);
    free(p->state);
}

static int build(opencl *g)
{
    const char *text = gpu_text;
    int error;
    g->context = clCreateContext(NULL, 1, &g->device, NULL, NULL, &error);
    if (!error) g->queue = clCreateCommandQueue(g->context, g->device, 0, &error);
    if (!error) g->program = clCreateProgramWithSource(g->context, 1, &text, NULL, &error);
    if (!error && (error = clBuildProgram(g->program, 1, &g->device, "", NULL, NULL))) {
        char log[4096] = "";
        clGetProgramBuildInfo(g->program, g->device, BUILD_LOG, sizeof log - 1, log, NULL);
        fprintf(stderr, "%s\n", log);
    }
    for (int k = 0; !error && gpu_kernels[k]; k++)
        g->kernel[k] = clCreateKernel(g->program, gpu_kernels[k], &error);
    return !failed("the ceilings' kernels", error);
}

int place_opencl(place *p, int number)
{
    opencl *g = calloc(1, sizeof *g);
    uint64_t memory = 0, most = 0;
    unsigned units = 1;
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
    if (!g || !(g->device = find(number)) || !build(g)) return free(g), 0;
    clGetDeviceInfo(g->device, UNITS, sizeof units, &units, NULL);
    clGetDeviceInfo(g->device, GLOBAL_MEMORY, sizeof memory, &memory, NULL);
    clGetDeviceInfo(g->device, MOST_ALLOC, sizeof most, &most, NULL);
    g->units = (int)units;
    snprintf(p->device, sizeof p->device, "opencl:%d", number);
    if (tally_open(&p->ctx, p->device) || tally_use_stream(p->ctx, g->queue))
        return fprintf(stderr, "cliffs: %s\n", tally_error(p->ctx)), free(g), 0;
    tally_device_info info;
    for (int i = 0; !tally_device(i, &info); i++)
        if (!strcmp(info.name, p->device)) snprintf(p->text, sizeof p->text, "%.300s", info.text);
    if (most > memory / 8) most = memory / 8;
    p->fast = (size_t)1 << 22;
    p->slow = most < GPU_SLOW ? (size_t)most : GPU_SLOW;
    return 1;
}
