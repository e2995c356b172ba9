/* SPDX-License-Identifier: MIT
 * Kernels on a GPU, through the library's API layer (gpu/gpu.h). The only file of the ladder that
 * sees inside the library. */
#include "rung.h"
#include "gpu/work.h"
#include "store/store.h"
#include <stdlib.h>
#include <string.h>

static tl_gpu *gpu_of(const place *p) { return tl_gpu_of(p->ctx->device)->gpu; }
static tl_memory *memory_of(const memory *m) { return m->device; }

static int failed(place *p, tally_status status, ladder_error *error)
{
    return fail_with(error, status == TALLY_NO_DEVICE ? 3 : 1, "%s", tally_error(p->ctx));
}

/* ---- memory ---- */

static int gpu_alloc(place *p, memory *m, ladder_error *error)
{
    tl_gpu *const gpu = gpu_of(p);
    m->device = calloc(1, sizeof(tl_memory));
    if (!m->device) return fail_with(error, 1, "out of memory");
    const tally_status status = gpu->calls->allocate(gpu, p->ctx, (size_t)m->bytes, memory_of(m));
    if (status) {
        free(m->device);
        return failed(p, status, error);
    }
    m->address = (void *)(uintptr_t)memory_of(m)->address;
    return 0;
}

static void gpu_free(place *p, memory *m)
{
    gpu_of(p)->calls->release(gpu_of(p), memory_of(m));
    free(m->device);
}

static int gpu_write(place *p, memory *m, int64_t at, const void *from, int64_t bytes,
                     ladder_error *error)
{
    const tally_status status =
        tl_write(gpu_of(p), p->ctx, memory_of(m), (size_t)at, from, (size_t)bytes);
    return status ? failed(p, status, error) : 0;
}

static int gpu_read(place *p, void *to, memory *m, int64_t bytes, ladder_error *error)
{
    const tally_status status = tl_read(gpu_of(p), p->ctx, to, memory_of(m), 0, (size_t)bytes);
    return status ? failed(p, status, error) : 0;
}

static int gpu_wait(place *p, ladder_error *error)
{
    const tally_status status = gpu_of(p)->calls->wait(gpu_of(p), p->ctx);
    return status ? failed(p, status, error) : 0;
}

/* ---- programs ---- */

static const char *library_text(const char *name)
{
    for (const tl_source_text *t = tl_sources; t->name; t++)
        if (!strcmp(t->name, name)) return t->text;
    return "";
}

static void defines(const model_setting *s, char *text, size_t capacity)
{
    static const char *const types[] = {"i8",  "u8",  "i16", "u16", "i32",
                                        "u32", "i64", "u64", "f32", "f64"};
    static const char *const low[] = {"(-128)",
                                      "0",
                                      "(-32768)",
                                      "0",
                                      "(-2147483647 - 1)",
                                      "0",
                                      "(-9223372036854775807l - 1)",
                                      "0",
                                      "as_f32(0xff800000u)",
                                      "as_f64(0xfff0000000000000ul)"};
    static const char *const high[] = {"127",
                                       "255",
                                       "32767",
                                       "65535",
                                       "2147483647",
                                       "0xffffffffu",
                                       "9223372036854775807l",
                                       "0xfffffffffffffffful",
                                       "as_f32(0x7f800000u)",
                                       "as_f64(0x7ff0000000000000ul)"};
    const int k = s->elem, size = (int)kind_bytes(s->elem);
    snprintf(
        text, capacity,
        "#define ELEM_T %s\n#define BITS_T %s\n#define OPERATION %d\n#define NEUTRAL_VALUE "
        "%s\n#define THREADS %d\n"
        "#define ELEM_SIZE %d\n#define ELEM_FLOAT %d\n#define TL_SIZE 4\n#define TL_OUT_SIZE 4\n",
        types[k], size <= 4 ? "u32" : "u64", s->operation,
        !s->operation       ? "0"
        : s->operation == 1 ? high[k]
                            : low[k],
        s->threads ? s->threads : 256, size, k >= KIND_F32);
}

char *program_text(const model_setting *setting, const char *prelude, const char *text,
                   const char *path, size_t *length)
{
    char words[600];
    const char *const device = library_text(prelude), *const ladder_prelude =
                                                          ladder_text("prelude.h");
    const size_t capacity =
        strlen(device) + strlen(ladder_prelude) + strlen(text) + strlen(path) + sizeof words + 100;
    char *whole = malloc(capacity);
    if (!whole) return NULL;
    defines(setting, words, sizeof words);
    *length = (size_t)snprintf(whole, capacity, "%s\n%s\n%s\n#line 1 \"ladder/%s\"\n%s", device,
                               words, ladder_prelude, path, text);
    return whole;
}

/* Does the device have what the kernels need? */
static int lacks(const place *p, const char *path, const model_program *model, ladder_error *error)
{
    const char *const at = strstr(p->text, "compute capability ");
    const int is_cuda = !strcmp(p->ctx->device->calls->name, "cuda"),
              capability = at ? atoi(at + 19) : 0;
    int needs = 0;
    for (int k = 0; model_kernel(model, k); k++) needs |= model_kernel_needs(model, k);
    if ((needs & NEEDS_GRID) && !is_cuda)
        return fail_with(error, LACKS,
                         "not for this device: in %s all groups wait for each other, and OpenCL "
                         "does not promise that all groups of a launch run at the same time",
                         path);
    if ((needs & NEEDS_BULK) && (!is_cuda || capability < 9))
        return fail_with(error, LACKS,
                         "not for this device: %s needs bulk copies into shared memory, which CUDA "
                         "GPUs have from compute capability 9.0 on",
                         path);
    return 0;
}

static int gpu_build(place *p, const char *text, const char *path, const model_setting *setting,
                     program *x, ladder_error *error)
{
    size_t length;
    if (lacks(p, path, x->model, error)) return error->code;
    char *whole = program_text(setting, gpu_of(p)->calls->prelude, text, path, &length);
    if (!whole) return fail_with(error, 1, "out of memory");
    tl_program *built = NULL;
    const tally_status status =
        gpu_of(p)->calls->build(gpu_of(p), p->ctx, whole, length, TL_CODE_BEST, &built);
    free(whole);
    x->device = built;
    /* the model took it */
    return status ? failed(p, status == TALLY_BAD_DATA ? TALLY_NO_DEVICE : status, error) : 0;
}

static void gpu_unload(place *p, program *x)
{
    if (x->device) gpu_of(p)->calls->unload(gpu_of(p), x->device);
}

static int gpu_launch(place *p, program *x, const kernel_launch *l, ladder_error *error)
{
    int64_t list[PLACE_ARGUMENTS];
    for (int i = 0; i < l->count && i < PLACE_ARGUMENTS; i++)
        list[i] = l->arguments[i].kind == PUT_MEMORY
                      ? (int64_t)(uintptr_t)memory_of(l->arguments[i].memory)->handle
                      : l->arguments[i].count;
    const tl_kernel_start start = {l->kernel, l->groups, TL_GROUPS, l->threads,
                                   list,      l->count,  0,         0};
    const tally_status status = gpu_of(p)->calls->launch(gpu_of(p), p->ctx, x->device, &start);
    return status ? failed(p, status, error) : 0;
}

static const place_device gpu_device = {.alloc = gpu_alloc,
                                        .free = gpu_free,
                                        .write = gpu_write,
                                        .read = gpu_read,
                                        .wait = gpu_wait,
                                        .build = gpu_build,
                                        .unload = gpu_unload,
                                        .launch = gpu_launch};

/* ---- the library ---- */

int place_library_open(place *p, const char *device, ladder_error *error)
{
    const int is_model = !strcmp(device, "model"), is_cpu = !strcmp(device, "cpu");
    /* Every answer is checked here, so the probe that guards users' calls would only take time. The
       times are those of the best code, which the library makes later otherwise. */
    char opened[140];
    const int best = !strncmp(device, "cuda", 4) && !strstr(device, "code=");
    snprintf(opened, sizeof opened, "%.100s,probe=off%s", device, best ? ",code=best" : "");
    const tally_status status = tally_open(&p->ctx, is_model || is_cpu ? "cpu" : opened);
    if (status)
        return fail_with(error, status == TALLY_NO_DEVICE || status == TALLY_INVALID ? 3 : 1, "%s",
                         tally_error(NULL));
    if (is_model) return 0;

    if (!strcmp(p->ctx->device->calls->name, "cpu")) {
        tally_close(p->ctx);
        return fail_with(
            error, 3,
            "the ladder runs kernels on cuda, opencl or model; device '%s' has none: its rows "
            "sequential, openmp and tally run beside every device",
            device);
    }
    if (!strcmp(p->ctx->device->calls->name, "many")) {
        tally_close(p->ctx);
        return fail_with(error, 3, "the ladder runs kernels on one device; '%s' are several",
                         device);
    }
    tl_gpu *const gpu = gpu_of(p);
    snprintf(p->name, sizeof p->name, "%s", tl_gpu_of(p->ctx->device)->name);
    const tally_status entered = gpu->calls->enter(gpu, p->ctx);
    if (entered) {
        const int code = failed(p, entered, error);
        tally_close(p->ctx);
        return code;
    }
    p->device = &gpu_device;
    p->groups = gpu->processors * PLACE_GROUPS_EACH;
    p->has_warps = !strcmp(p->ctx->device->calls->name, "cuda");
    p->shares_memory = gpu->shares_memory;
    /* The library's calls then return without waiting, as launches do, so that all rungs are timed
       alike. */
    tl_gpu_of(p->ctx->device)->stream = 1;
    tally_device_info info;
    for (int i = 0; tally_device(i, &info) == TALLY_OK; i++)
        if (!strcmp(info.name, p->name)) snprintf(p->text, sizeof p->text, "%s", info.text);
    return 0;
}

void place_library_close(place *p)
{
    if (p->device) gpu_of(p)->calls->leave(gpu_of(p));
    tally_close(p->ctx);
}
