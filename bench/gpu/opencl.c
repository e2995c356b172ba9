/* SPDX-License-Identifier: MIT
 *
 * opencl.c - tally on an OpenCL device beside that device's own read and copy, in one run.
 *
 *     cc -O2 -Iinclude bench/gpu/opencl.c build/libtally.a -o bench-opencl -fopenmp -ldl -lm      (a static library)
 *     ./bench-opencl opencl:1 [log2 of the elements [rounds]]
 *
 * The array is a cl_mem of the caller's, results are another; calls go to the caller's queue. Every figure is the
 * median of the rounds, of INNER calls between two clFinish; a round runs all subjects one after the other. Bits are
 * compared with the CPU's first. */
#include "gpu/opencl/opencl.h" /* OpenCL's calls, which the library opens */
#include "tally.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static cl_int (*copy_buffer)(cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint, const cl_event *,
                             cl_event *);

enum { INNER = 5, MOST_ROUNDS = 99, GROUP = 256, GROUPS_A_UNIT = 16 };

static const char read_text[] = "__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void read_all(__global "
                                "const uint4 *x, ulong n, __global uint *out)\n"
                                "{\n"
                                "    uint4 a = 0;\n"
                                "    ulong step = get_global_size(0), i = get_global_id(0);\n"
                                "    for (; i + 7 * step < n; i += 8 * step) {\n"
                                "        uint4 v[8];\n"
                                "        for (int k = 0; k < 8; k++) v[k] = x[i + k * step];\n"
                                "        for (int k = 0; k < 8; k++) a ^= v[k];\n"
                                "    }\n"
                                "    for (; i < n; i += step) a ^= x[i];\n"
                                "    if ((a.x ^ a.y ^ a.z ^ a.w) == 0x12345678) *out = a.x;\n"
                                "}\n";

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}
static void must(cl_int error, const char *what)
{
    char number[32];
    snprintf(number, sizeof number, "OpenCL error %d", error);
    if (error) stop(what, number);
}
static void ok(tally_status status, tally *ctx)
{
    if (status) stop("tally", tally_error(ctx));
}
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static tally *gpu, *cpu;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_kernel reading;
static cl_mem input, output;
static void *x_there, *y_there;
static size_t units;

/* opencl:N as tally numbers them: the devices of all platforms, one after the other. */
static void find(int number)
{
    tally_device_info info;
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW);
    for (int i = 0; !tally_device(i, &info); i++) continue; /* opens OpenCL */
    if (!library || !(*(void **)&copy_buffer = dlsym(library, "clEnqueueCopyBuffer"))) stop("OpenCL", "is not here");
    cl_platform_id platforms[8];
    cl_device_id devices[16];
    cl_uint count = 0, found = 0;
    tl_cl.clGetPlatformIDs(8, platforms, &count);
    for (cl_uint i = 0; i < count; i++) {
        if (tl_cl.clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 16, devices, &found)) continue;
        if (number < (int)found) {
            device = devices[number];
            return;
        }
        number -= (int)found;
    }
    stop("device", "there are fewer");
}

typedef struct {
    const char *name, *op;
    tally_dtype dtype, result;
    int64_t n;
} problem;

enum { READ, COPY, REDUCE, SCAN, WINDOW, WIDE, SUBJECTS };
static const char *const subjects[] = {"read", "copy", "reduce", "scan", "window 50", "window 1000"};
static tally_status window(tally *ctx, const problem *p, const tally_view *in, const tally_view *out, int subject)
{
    return tally_window(ctx, p->op, in, out, &(tally_window_options){.before = subject == WINDOW ? 49 : 999});
}

static void run(int subject, const problem *p)
{
    size_t size = tally_dtype_size(p->dtype), threads = units * GROUPS_A_UNIT * GROUP, group = GROUP;
    uint64_t quads = (uint64_t)((size_t)p->n * size / 16);
    tally_view in = tally_flat(x_there, p->dtype, p->n), out = tally_flat(y_there, p->result, p->n);
    switch (subject) {
    case READ:
        tl_cl.clSetKernelArg(reading, 0, sizeof input, &input);
        tl_cl.clSetKernelArg(reading, 1, sizeof quads, &quads);
        tl_cl.clSetKernelArg(reading, 2, sizeof output, &output);
        must(tl_cl.clEnqueueNDRangeKernel(queue, reading, 1, NULL, &threads, &group, 0, NULL, NULL), "read");
        break;
    case COPY:
        must(copy_buffer(queue, input, output, 0, 0, (size_t)p->n * size, 0, NULL, NULL), "copy");
        break;
    case REDUCE:
        ok(tally_reduce(gpu, p->op, &in, y_there), gpu);
        break;
    case SCAN:
        ok(tally_scan(gpu, p->op, &in, &out, NULL), gpu);
        break;
    default:
        ok(window(gpu, p, &in, &out, subject), gpu);
        break;
    }
}

static void check_bits(const problem *p, void *x, void *got, void *want, int subject)
{
    size_t size = tally_dtype_size(p->result), bytes = subject == REDUCE ? size : (size_t)p->n * size;
    tally_view in = tally_flat(x, p->dtype, p->n), out = tally_flat(want, p->result, p->n);
    run(subject, p);
    must(tl_cl.clEnqueueReadBuffer(queue, output, 1, 0, bytes, got, 0, NULL, NULL), "read back");
    ok(subject == REDUCE ? tally_reduce(cpu, p->op, &in, want)
       : subject == SCAN ? tally_scan(cpu, p->op, &in, &out, NULL)
                         : window(cpu, p, &in, &out, subject),
       cpu);
    if (memcmp(got, want, bytes)) printf("DIFFERENT BITS: %s %s\n", subjects[subject], p->name);
}

static void measure(const problem *p, int rounds)
{
    static double times[SUBJECTS][MOST_ROUNDS];
    double bytes = (double)p->n * (double)tally_dtype_size(p->dtype);
    for (int r = -1; r < rounds; r++)
        for (int s = 0; s < SUBJECTS; s++) {
            must(tl_cl.clFinish(queue), "finish");
            double begin = now();
            for (int k = 0; k < INNER; k++) run(s, p);
            must(tl_cl.clFinish(queue), "finish");
            if (r >= 0) times[s][r] = (now() - begin) / INNER;
        }
    for (int s = 0; s < SUBJECTS; s++) qsort(times[s], (size_t)rounds, sizeof(double), by_value);
    double t[SUBJECTS];
    for (int s = 0; s < SUBJECTS; s++) t[s] = times[s][rounds / 2];
    printf("%-12s read %.0f us (%.0f GB/s), copy %.0f us | ", p->name, t[READ] * 1e6, bytes / t[READ] * 1e-9,
           t[COPY] * 1e6);
    printf("reduce %.0f us, %.2f of read", t[REDUCE] * 1e6, t[READ] / t[REDUCE]);
    const double wider = (1 + (double)tally_dtype_size(p->result) / (double)tally_dtype_size(p->dtype)) /
                         2; /* than a copy of the input */
    for (int s = SCAN; s < SUBJECTS; s++)
        printf("; %s %.0f us, %.2f of copy", subjects[s], t[s] * 1e6, t[COPY] * wider / t[s]);
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "opencl:0";
    int log = argc > 2 ? atoi(argv[2]) : 28, rounds = argc > 3 ? atoi(argv[3]) : 7;
    if (strncmp(name, "opencl:", 7) || log < 10 || log > 34 || rounds < 1 || rounds > MOST_ROUNDS)
        stop("usage", "bench-opencl opencl:N [log2 of the elements, 10..34 [rounds, 1..99]]");
    cl_int error;
    cl_uint processors = 1;
    const char *text = read_text;
    size_t bytes = (size_t)4 << log;
    find(atoi(name + 7));
    tl_cl.clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof processors, &processors, NULL);
    units = processors;
    context = tl_cl.clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    must(error, "context");
    queue = tl_cl.clCreateCommandQueue(context, device, 0, &error);
    must(error, "queue");
    cl_program program = tl_cl.clCreateProgramWithSource(context, 1, &text, NULL, &error);
    must(error ? error : tl_cl.clBuildProgram(program, 1, &device, "", NULL, NULL), "the kernel that reads");
    reading = tl_cl.clCreateKernel(program, "read_all", &error);
    must(error, "the kernel that reads");
    input = tl_cl.clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    must(error, "input");
    output = tl_cl.clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    must(error, "output");
    ok(tally_open(&cpu, "cpu"), NULL);
    ok(tally_open(&gpu, name), NULL);
    ok(tally_use_stream(gpu, queue), gpu);
    ok(tally_device_pointer(gpu, input, &x_there), gpu);
    ok(tally_device_pointer(gpu, output, &y_there), gpu);
    char *x = malloc(bytes), *got = malloc(bytes), *want = malloc(bytes);
    if (!x || !got || !want) stop("memory", "three arrays do not fit");
    const int64_t n = (int64_t)1 << log;
    const problem problems[] = {{"sum f32", "sum", TALLY_F32, TALLY_F32, n},
                                {"sum f64", "sum", TALLY_F64, TALLY_F64, n / 2},
                                {"min u8", "min", TALLY_U8, TALLY_U8, n},
                                {"argmax f32", "argmax", TALLY_F32, TALLY_I64, n / 2}};
    printf("%s, 2^%d bytes, medians of %d rounds\n", name, log + 2, rounds);
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        const problem *p = &problems[i];
        uint64_t state = 1;
        for (int64_t k = 0; k < p->n; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            double v = (double)(int64_t)state / 9.3e18;
            if (p->dtype == TALLY_F32)
                ((float *)(void *)x)[k] = (float)v;
            else if (p->dtype == TALLY_F64)
                ((double *)(void *)x)[k] = v;
            else
                x[k] = (char)(state >> 56);
        }
        must(tl_cl.clEnqueueWriteBuffer(queue, input, 1, 0, bytes, x, 0, NULL, NULL), "to the device");
        for (int s = REDUCE; s < SUBJECTS; s++) check_bits(p, x, got, want, s);
        measure(p, rounds);
    }
    tally_close(gpu);
    tally_close(cpu);
    return 0;
}
