/* SPDX-License-Identifier: MIT
 * The driver (libcuda), opened at run time once per process, its devices and its errors. */
#include "cuda.h"
#include "store/store.h"
#include "context/threads.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "libcuda.so.1"
TL_OPENS("cuda", "NVIDIA GPUs as devices", "\"" LIBRARY "\"");

enum {
    CAPABILITY_LEAST = 70,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,       /* kHz */
    CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37, /* bits */
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
};

tl_cuda_api tl_cu;

enum { DEVICES_MOST = 16 };
static tl_cuda_found devices[DEVICES_MOST];
static int device_count;

/* The driver's version, such as 580.159.04; "" if the kernel module does not tell. */
static void driver_version(char *to, size_t capacity)
{
    char line[200] = "";
    FILE *f = fopen("/proc/driver/nvidia/version", "r");
    if (f && !fgets(line, sizeof line, f)) line[0] = 0;
    if (f) fclose(f);
    to[0] = 0;
    for (char *rest, *at = strtok_r(line, " \t\n", &rest); at && !to[0];
         at = strtok_r(NULL, " \t\n", &rest))
        if (*at >= '0' && *at <= '9' && strchr(at, '.')) snprintf(to, capacity, " %s", at);
}

/* Opens the driver. Returns 0 if it is not here or lacks a function. */
static int open_driver(void)
{
    void *const library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    int whole = library != NULL;
#define FIND(name, version, parameters) \
    whole = whole && (*(void **)&tl_cu.name = dlsym(library, #name #version)) != NULL;
    TL_CUDA_CALLS(FIND)
#undef FIND
    if (whole) *(void **)&tl_cu.cuLaunchKernelEx = dlsym(library, "cuLaunchKernelEx");
    return whole;
}

tally_status tl_cuda_status(tally *ctx, CUresult error, const char *call)
{
    const char *text = NULL;
    if (!error) return TALLY_OK;
    if (tl_cu.cuGetErrorString(error, &text) || !text) text = "unknown error";
    return tl_fail(ctx, error == CUDA_ERROR_OUT_OF_MEMORY ? TALLY_NO_MEMORY : TALLY_NO_DEVICE,
                   "CUDA: %s: %s (%d)", call, text, error);
}

static void find_devices(void)
{
    static int done;
    tl_lock_take(TL_LOCK_CUDA);
    if (!done) {
        done = 1;
        int count = 0, version = 0;
        char driver[40];
        driver_version(driver, sizeof driver);
        if (open_driver() && !tl_cu.cuInit(0) && !tl_cu.cuDeviceGetCount(&count))
            tl_cu.cuDriverGetVersion(&version);

        for (int i = 0; i < count && i < DEVICES_MOST; i++) {
            char name[80] = "";
            size_t bytes = 0;
            int major = 0, minor = 0, clock = 0, bits = 0;
            if (tl_cu.cuDeviceGet(&devices[i].device, i)) break;
            const CUdevice d = devices[i].device;
            tl_cu.cuDeviceGetName(name, sizeof name, d);
            tl_cu.cuDeviceTotalMem(&bytes, d);
            tl_cu.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, d);
            tl_cu.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, d);
            tl_cu.cuDeviceGetAttribute(&devices[i].processors,
                                       CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, d);
            tl_cu.cuDeviceGetAttribute(&devices[i].shared,
                                       CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, d);
            tl_cu.cuDeviceGetAttribute(&clock, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, d);
            tl_cu.cuDeviceGetAttribute(&bits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, d);
            devices[i].bandwidth = 2 * (int64_t)clock * bits / 8000; /* two transfers a cycle */
            devices[i].capability = 10 * major + minor;
            tl_gpu_found *const found = &devices[i].base;
            found->reason = devices[i].capability < CAPABILITY_LEAST
                                ? "its compute capability is below 7.0"
                                : "";
            snprintf(found->name, sizeof found->name, "cuda:%d", i);
            snprintf(found->text, sizeof found->text,
                     "%s, %.1f GB, compute capability %d.%d, driver%s for CUDA %d.%d", name,
                     (double)bytes * 1e-9, major, minor, driver, version / 1000,
                     version % 1000 / 10);
            device_count = i + 1;
        }
    }

    tl_lock_release(TL_LOCK_CUDA);
}

const tl_gpu_found *tl_cuda_find(int index, int *count)
{
    find_devices();
    *count = device_count;
    return index < 0 || index >= device_count ? NULL : &devices[index].base;
}
