/* SPDX-License-Identifier: MIT
 * The driver (libcuda), opened at run time once per process, its devices and its errors. */
#include "cuda.h"
#include "store/note.h"
#include "context/threads.h"
#include <stdio.h>
#include <string.h>

#define LIBRARY "libcuda.so.1"
TL_OPENS("cuda", "NVIDIA GPUs as devices", "\"" LIBRARY "\"");

enum {
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
};

#define DEVICE_CALLS(F) \
    F(cuInit, cuInit, (unsigned)) \
    F(cuDriverGetVersion, cuDriverGetVersion, (int *)) \
    F(cuDeviceGetCount, cuDeviceGetCount, (int *)) \
    F(cuDeviceGet, cuDeviceGet, (CUdevice *, int)) \
    F(cuDeviceGetName, cuDeviceGetName, (char *, int, CUdevice)) \
    F(cuDeviceTotalMem, cuDeviceTotalMem_v2, (size_t *, CUdevice)) \
    F(cuDeviceGetAttribute, cuDeviceGetAttribute, (int *, int, CUdevice)) \
    F(cuGetErrorString, cuGetErrorString, (CUresult, const char **))
TL_CUDA_CALLS(DEVICE_CALLS, find_calls)

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

void *tl_cuda_library(void)
{
    static int opened;
    static void *library;

    tl_lock_take(TL_LOCK_CUDA_LIBRARY);
    if (!opened) {
        opened = 1;
        library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    }
    tl_lock_release(TL_LOCK_CUDA_LIBRARY);
    return library;
}

tally_status tl_cuda_status(tally *ctx, CUresult error, const char *call)
{
    const char *text = NULL;
    if (!error) return TALLY_OK;
    if (cuGetErrorString(error, &text) || !text) text = "unknown error";
    return tl_fail(ctx, error == CUDA_ERROR_OUT_OF_MEMORY ? TALLY_NO_MEMORY : TALLY_NO_DEVICE,
                   "CUDA: %s: %s (%d)", call, text, error);
}

static void find_devices(void)
{
    static int done;
    tl_lock_take(TL_LOCK_CUDA);
    if (!done) {
        done = 1;
        void *const library = tl_cuda_library();
        int count = 0, version = 0;
        char driver[40];
        driver_version(driver, sizeof driver);
        if (library && find_calls(library) && !cuInit(0) && !cuDeviceGetCount(&count))
            cuDriverGetVersion(&version);

        for (int i = 0; i < count && i < DEVICES_MOST; i++) {
            char name[80] = "";
            size_t bytes = 0;
            int major = 0, minor = 0;
            if (cuDeviceGet(&devices[i].device, i)) break;
            const CUdevice d = devices[i].device;
            cuDeviceGetName(name, sizeof name, d);
            cuDeviceTotalMem(&bytes, d);
            cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, d);
            cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, d);
            cuDeviceGetAttribute(&devices[i].processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                 d);
            cuDeviceGetAttribute(&devices[i].shared,
                                 CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, d);
            devices[i].capability = 10 * major + minor;
            snprintf(devices[i].name, sizeof devices[i].name, "cuda:%d", i);
            snprintf(devices[i].text, sizeof devices[i].text,
                     "%s, %.1f GB, compute capability %d.%d, driver%s for CUDA %d.%d", name,
                     (double)bytes * 1e-9, major, minor, driver, version / 1000,
                     version % 1000 / 10);
            device_count = i + 1;
        }
    }

    tl_lock_release(TL_LOCK_CUDA);
}

const tl_cuda_found *tl_cuda_find(int index, int *count)
{
    find_devices();
    *count = device_count;
    return index < 0 || index >= device_count ? NULL : &devices[index];
}
