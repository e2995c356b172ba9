/* SPDX-License-Identifier: MIT
 * NVRTC, and the archive of compiled programs (cuda.h). It has the few declarations that are
 * needed, with the names and values of NVIDIA's headers. */
#include "cuda.h"
#include "store/store.h"
#include "context/threads.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The interface changes with the major version, so no other version is opened. FIRST(the newest),
 * NEXT(the others). */
#define NVRTC                     "libnvrtc.so."
#define NVRTC_MAJORS(FIRST, NEXT) FIRST("13") NEXT("12") NEXT("11.2")
#define FIRST_SONAME(major)       "\"" NVRTC major "\""
#define NEXT_SONAME(major)        "," FIRST_SONAME(major)
TL_OPENS("nvrtc", "kernels for NVIDIA GPUs that are not embedded",
         NVRTC_MAJORS(FIRST_SONAME, NEXT_SONAME));

typedef struct _nvrtcProgram *nvrtcProgram;
#define CALLS(F) \
    F(nvrtcCreateProgram, \
      (nvrtcProgram *, const char *, const char *, int, const char *const *, const char *const *)) \
    F(nvrtcDestroyProgram, (nvrtcProgram *)) \
    F(nvrtcCompileProgram, (nvrtcProgram, int, const char *const *)) \
    F(nvrtcGetCUBINSize, (nvrtcProgram, size_t *)) \
    F(nvrtcGetCUBIN, (nvrtcProgram, char *)) \
    F(nvrtcGetPTXSize, (nvrtcProgram, size_t *)) \
    F(nvrtcGetPTX, (nvrtcProgram, char *)) \
    F(nvrtcGetProgramLogSize, (nvrtcProgram, size_t *)) \
    F(nvrtcGetProgramLog, (nvrtcProgram, char *))
#define DECLARE(name, parameters) static int(*name) parameters;
CALLS(DECLARE)
#undef DECLARE

/* only in newer versions */
static int (*nvrtcSetFlowCallback)(nvrtcProgram, int (*)(void *, void *), void *);

#define OPTIONS(F) \
    F("--fmad=false") \
    F("--ftz=false") \
    F("--prec-div=true") \
    F("--prec-sqrt=true") \
    F("--std=c++17")
#define JOINED(option) option " "
const char tl_nvrtc_options[] = OPTIONS(JOINED);
const char tl_nvrtc_quick[] = "--Ofast-compile=mid";

enum { OPTIONS_MOST = 8, NVRTC_ERROR_INVALID_OPTION = 5, NVRTC_ERROR_COMPILATION = 6 };

int tl_nvrtc_open(const char *path)
{
    static int found = -1;
    tl_lock_take(TL_LOCK_NVRTC);
    if (found < 0) {
#define NAME(major)   NVRTC major,
#define PLACED(major) "/usr/local/cuda/lib64/" NVRTC major,
        static const char *const names[] = {NVRTC_MAJORS(NAME, NAME) NVRTC_MAJORS(PLACED, PLACED)};
        void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
        for (size_t i = 0; !path && !library && i < sizeof names / sizeof *names; i++)
            library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        int whole = library != NULL;
#define FIND(name, parameters) whole = whole && (*(void **)&name = dlsym(library, #name)) != NULL;
        CALLS(FIND)
#undef FIND

        if (whole) *(void **)&nvrtcSetFlowCallback = dlsym(library, "nvrtcSetFlowCallback");
        found = whole;
    }

    tl_lock_release(TL_LOCK_NVRTC);
    return found;
}

/* Fetches a result of a program into allocated memory. Returns -1 if there is no memory. */
static int fetch(nvrtcProgram program, int (*size)(nvrtcProgram, size_t *),
                 int (*get)(nvrtcProgram, char *), void **to, size_t *bytes)
{
    int error = size(program, bytes);
    if (error) return error;

    char *memory = malloc(*bytes + 1);
    if (!memory) return -1;
    if ((error = get(program, memory)) != 0) {
        free(memory);
        return error;
    }
    memory[*bytes] = 0;
    *to = memory;
    return 0;
}

/* NVRTC calls it some fifty times per program. */
static int asks_to_stop(void *stop, void *unused)
{
    return atomic_load_explicit((const atomic_int *)stop, memory_order_relaxed);
}

/* Compiles. wish: the last option is dropped if this NVRTC does not know it. *program: NULL if it
 * cannot be created. */
static int compile(nvrtcProgram *program, const tl_nvrtc_job *j, const char *const *options,
                   int count, int wish)
{
    int error = nvrtcCreateProgram(program, j->text, "tally.cu", 0, NULL, NULL);
    if (error) *program = NULL;
    if (!error && j->stop && nvrtcSetFlowCallback)
        error = nvrtcSetFlowCallback(*program, asks_to_stop, (void *)(uintptr_t)j->stop);
    if (!error) error = nvrtcCompileProgram(*program, count, options);
    if (error != NVRTC_ERROR_INVALID_OPTION || !wish) return error;
    nvrtcDestroyProgram(program);
    return compile(program, j, options, count - 1, 0);
}

tally_status tl_nvrtc_compile(tally *ctx, const tl_nvrtc_job *j, void **code, size_t *bytes)
{
    char architecture[48];
#define LISTED(option) option,
    const char *options[OPTIONS_MOST] = {OPTIONS(LISTED) architecture};
    int count = 6, ptx = !strncmp(j->arch, "compute", 7);
    void *messages = NULL;
    size_t length = 0;
    nvrtcProgram program = NULL;

    *code = NULL;
    if (j->log) *j->log = NULL;
    if (!tl_nvrtc_open(NULL))
        return tl_fail(ctx, TALLY_NO_DEVICE,
                       "CUDA: libnvrtc is not here: it is needed to compile kernels that this "
                       "build of tally does not hold");

    snprintf(architecture, sizeof architecture, "--gpu-architecture=%s", j->arch);
    if (j->more) options[count++] = j->more;
    if (j->wish) options[count++] = j->wish;
    int error = compile(&program, j, options, count, j->wish != NULL);
    if (!program) return tl_fail(ctx, TALLY_NO_DEVICE, "CUDA: NVRTC failed with error %d", error);

    if (!error)
        error = ptx ? fetch(program, nvrtcGetPTXSize, nvrtcGetPTX, code, bytes)
                    : fetch(program, nvrtcGetCUBINSize, nvrtcGetCUBIN, code, bytes);
    if ((error > 0 || j->log) &&
        fetch(program, nvrtcGetProgramLogSize, nvrtcGetProgramLog, &messages, &length))
        messages = NULL;
    nvrtcDestroyProgram(&program);
    tally_status status = TALLY_OK;
    if (error < 0) status = tl_no_memory(ctx, *bytes, "a program");

    if (error > 0)
        status = tl_fail(ctx, error == NVRTC_ERROR_COMPILATION ? TALLY_BAD_DATA : TALLY_NO_DEVICE,
                         "CUDA: the kernels do not compile (NVRTC error %d): %.380s", error,
                         messages ? tl_first_error(messages) : "");

    if (j->log)
        *j->log = messages;
    else
        free(messages);

    return status;
}

/* ---- the archive ---- */

const char tl_archive_magic[8] = "tally-k1";

tl_key tl_archive_key(const char *text, size_t length)
{
    return tl_key_add(tl_key_add(tl_key_start, tl_nvrtc_options, strlen(tl_nvrtc_options)), text,
                      length);
}

const void *tl_archive_find(const void *archive, tl_key key, size_t *bytes)
{
    tl_archive_head head;
    memcpy(&head, archive, sizeof head);
    if (memcmp(head.magic, tl_archive_magic, sizeof head.magic)) return NULL;

    uint64_t low = 0, high = head.count;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        tl_archive_entry e;
        memcpy(&e, (const char *)archive + sizeof head + middle * sizeof e, sizeof e);
        if (e.key.high == key.high && e.key.low == key.low) {
            *bytes = e.bytes;
            return (const char *)archive + e.at;
        }

        if (e.key.high < key.high || (e.key.high == key.high && e.key.low < key.low))
            low = middle + 1;
        else
            high = middle;
    }

    return NULL;
}
