/* SPDX-License-Identifier: MIT
 * Where kernels run: a GPU through the library's API layer (gpu/gpu.h), or the model. The only
 * file of the ladder that sees inside the library. */
#include "rung.h"
#include "gpu/work.h"
#include "store/sources.h"
#include <stdlib.h>
#include <string.h>

struct memory {
    tl_memory on;
    void *host;        /* the model's */
    uint16_t *writers; /* the model's: lines of stores, one a byte; NULL: too many */
    int64_t bytes;
};
struct program {
    tl_program *gpu;
    model_program *model; /* always: the model reads the same text */
    int support;          /* the ladder's own kernels, whose stores have no line to be told */
};
struct place {
    int model, groups, watched_only; /* the model's */
    tally *ctx;
    tl_gpu *gpu;
    char name[40], text[200];
};

/* groups for each processor of a device, where they need not all run at once */
enum { GROUPS_EACH = 8 };
/* bytes of a memory of the model's whose stores are remembered */
enum { WRITERS_MOST = 1 << 24 };

static int failed(place *p, tally_status status, ladder_error *error)
{
    return fail_with(error, status == TALLY_NO_DEVICE ? 3 : 1, "%s", tally_error(p->ctx));
}

int place_open(place **out, const char *device, ladder_error *error)
{
    place *p = calloc(1, sizeof *p);
    *out = NULL;
    if (!p) return fail_with(error, 1, "out of memory");
    snprintf(p->name, sizeof p->name, "%s", device);
    p->model = !strcmp(device, "model");
    /* Every answer is checked here, so the probe that guards users' calls would only take time. The
       times are those of the best code, which the library makes later otherwise. */
    char opened[140];
    const int best = !strncmp(device, "cuda", 4) && !strstr(device, "code=");
    snprintf(opened, sizeof opened, "%.100s,probe=off%s", device, best ? ",code=best" : "");
    const tally_status status = tally_open(&p->ctx, p->model                ? "cpu"
                                                    : strcmp(device, "cpu") ? opened
                                                                            : device);
    if (status) {
        free(p);
        return fail_with(error, status == TALLY_NO_DEVICE || status == TALLY_INVALID ? 3 : 1, "%s",
                         tally_error(NULL));
    }
    p->groups = 64;
    snprintf(p->text, sizeof p->text, "the SIMT model: counts, no times");
    if (!p->model) {
        const char *const api = p->ctx->device->calls->name;
        if (!strcmp(api, "cpu")) {
            tally_close(p->ctx);
            free(p);
            return fail_with(
                error, 3,
                "the ladder runs kernels on cuda, opencl or model; device '%s' has none: its rows "
                "sequential, openmp and tally run beside every device",
                device);
        }
        p->gpu = tl_gpu_of(p->ctx->device)->gpu;
        snprintf(p->name, sizeof p->name, "%s", tl_gpu_of(p->ctx->device)->name);
        const tally_status entered = p->gpu->calls->enter(p->gpu, p->ctx);
        if (entered) {
            const int code = failed(p, entered, error);
            tally_close(p->ctx);
            free(p);
            return code;
        }
        /* The library's calls then return without waiting, as launches do, so that all rungs are
           timed alike. */
        tl_gpu_of(p->ctx->device)->stream = 1;
        tally_device_info info;
        for (int i = 0; tally_device(i, &info) == TALLY_OK; i++)
            if (!strcmp(info.name, p->name)) snprintf(p->text, sizeof p->text, "%s", info.text);
    }
    *out = p;
    return 0;
}

void place_close(place *p)
{
    if (!p) return;
    if (p->gpu) p->gpu->calls->leave(p->gpu);
    tally_close(p->ctx);
    free(p);
}

int place_is_model(const place *p) { return p->model; }
int place_has_warps(const place *p)
{
    return p->model || !strcmp(p->ctx->device->calls->name, "cuda");
}
int place_shares_memory(const place *p)
{
    return !p->model && p->gpu->calls->shares_memory && p->gpu->calls->shares_memory(p->gpu);
}
/* Such as PoCL: its times say little about GPUs. */
int is_processors(const char *text) { return strstr(text, "PoCL") || strstr(text, "pthread"); }
int place_is_processors(const place *p) { return !p->model && is_processors(p->text); }
const char *place_name(const place *p) { return p->name; }
const char *place_text(const place *p) { return p->text; }
tally *place_context(const place *p) { return p->ctx; }
int place_groups(const place *p)
{
    return p->model ? p->groups : p->gpu->calls->processors(p->gpu) * GROUPS_EACH;
}
int place_processors(const place *p)
{
    const int groups = place_groups(p) / GROUPS_EACH;
    return groups > 1 ? groups : 1;
}
void place_set_groups(place *p, int groups) { p->groups = groups; }
void place_set_watched_only(place *p, int only) { p->watched_only = only; }

int place_alloc(place *p, int64_t bytes, memory **out, ladder_error *error)
{
    memory *m = calloc(1, sizeof *m);
    *out = NULL;
    if (!m) return fail_with(error, 1, "out of memory");
    /* the model sees what is beyond the last element */
    m->bytes = p->model || bytes >= 64 ? bytes : 64;
    if (p->model) {
        m->host = calloc(1, (size_t)bytes + 64);
        if (bytes <= WRITERS_MOST) m->writers = calloc((size_t)bytes + 1, sizeof *m->writers);
        if (!m->host) {
            free(m);
            return fail_with(error, 1, "%lld bytes of memory could not be had", (long long)bytes);
        }
    } else {
        const tally_status status =
            p->gpu->calls->allocate(p->gpu, p->ctx, (size_t)m->bytes, &m->on);
        if (status) {
            free(m);
            return failed(p, status, error);
        }
    }
    *out = m;
    return 0;
}

void place_free(place *p, memory *m)
{
    if (!m) return;
    if (p->model)
        free(m->host), free(m->writers);
    else
        p->gpu->calls->release(p->gpu, &m->on);
    free(m);
}

void *memory_address(const memory *m)
{
    return m->host ? m->host : (void *)(uintptr_t)m->on.address;
}

int memory_writer(const memory *m, int64_t offset)
{
    return m && m->writers && offset < m->bytes ? m->writers[offset] : 0;
}

int place_write(place *p, memory *m, const void *from, int64_t bytes, ladder_error *error)
{
    if (p->model) {
        memcpy(m->host, from, (size_t)bytes);
        return 0;
    }
    const tally_status status =
        p->gpu->calls->write(p->gpu, p->ctx, &m->on, 0, from, (size_t)bytes);
    return status ? failed(p, status, error) : 0;
}

int place_read(place *p, void *to, memory *m, int64_t bytes, ladder_error *error)
{
    if (p->model) {
        memcpy(to, m->host, (size_t)bytes);
        return 0;
    }
    const tally_status status = p->gpu->calls->read(p->gpu, p->ctx, to, &m->on, 0, (size_t)bytes);
    return status ? failed(p, status, error) : 0;
}

int place_poison(place *p, memory *m, ladder_error *error)
{
    enum { PIECE = 1 << 20 };
    if (p->model) {
        memset(m->host, POISON, (size_t)m->bytes);
        if (m->writers) memset(m->writers, 0, (size_t)m->bytes * sizeof *m->writers);
        return 0;
    }
    char *piece = malloc(PIECE);
    tally_status status = TALLY_OK;
    if (!piece) return fail_with(error, 1, "out of memory");
    memset(piece, POISON, PIECE);
    for (int64_t at = 0; at < m->bytes && !status; at += PIECE)
        status = p->gpu->calls->write(p->gpu, p->ctx, &m->on, (size_t)at, piece,
                                      (size_t)(m->bytes - at < PIECE ? m->bytes - at : PIECE));
    free(piece);
    return status ? failed(p, status, error) : 0;
}

int place_wait(place *p, ladder_error *error)
{
    const tally_status status = p->model ? TALLY_OK : p->gpu->calls->wait(p->gpu, p->ctx);
    return status ? failed(p, status, error) : 0;
}

/* ---- programs ---- */

static const char *library_text(const char *name)
{
    for (const tl_source *t = tl_sources; t->name; t++)
        if (!strcmp(t->name, name)) return t->text;
    return "";
}

static void defines(const model_setting *s, char *text, size_t room)
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
        text, room,
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
    const char *const device = library_text(prelude), *const own = ladder_text("prelude.h");
    const size_t room =
        strlen(device) + strlen(own) + strlen(text) + strlen(path) + sizeof words + 100;
    char *whole = malloc(room);
    if (!whole) return NULL;
    defines(setting, words, sizeof words);
    *length = (size_t)snprintf(whole, room, "%s\n%s\n%s\n#line 1 \"ladder/%s\"\n%s", device, words,
                               own, path, text);
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
                         "does not promise that "
                         "all groups of a launch run at the same time",
                         path);
    if ((needs & NEEDS_BULK) && (!is_cuda || capability < 9))
        return fail_with(error, LACKS,
                         "not for this device: %s needs bulk copies into shared memory, which CUDA "
                         "GPUs have from compute "
                         "capability 9.0 on",
                         path);
    return 0;
}

int place_build(place *p, const char *text, const char *path, const model_setting *setting,
                program **out, ladder_error *error)
{
    program *x = calloc(1, sizeof *x);
    char sentence[400];
    *out = NULL;
    if (!x) return fail_with(error, 1, "out of memory");
    if (model_compile(text, path, setting, &x->model, sentence, sizeof sentence)) {
        free(x);
        return fail_with(error, 1, "%s", sentence);
    }
    if (!p->model && lacks(p, path, x->model, error)) {
        place_unload(p, x);
        return error->code;
    }
    if (!p->model) {
        size_t length;
        char *whole = program_text(setting, p->gpu->calls->prelude, text, path, &length);
        if (!whole) {
            place_unload(p, x);
            return fail_with(error, 1, "out of memory");
        }
        const tally_status status =
            p->gpu->calls->build(p->gpu, p->ctx, whole, length, TL_CODE_BEST, &x->gpu);
        free(whole);
        if (status) {
            /* the model took it */
            failed(p, status == TALLY_BAD_DATA ? TALLY_NO_DEVICE : status, error);
            place_unload(p, x);
            return error->code;
        }
    }
    x->support = !strcmp(path, "support.cl");
    *out = x;
    return 0;
}

void place_unload(place *p, program *x)
{
    if (!x) return;
    if (x->gpu) p->gpu->calls->unload(p->gpu, x->gpu);
    model_free(x->model);
    free(x);
}

const char *program_kernel(const program *x, int index) { return model_kernel(x->model, index); }
int program_parameters(const program *x, const char *kernel)
{
    for (int i = 0; model_kernel(x->model, i); i++)
        if (!strcmp(model_kernel(x->model, i), kernel)) return model_kernel_parameters(x->model, i);
    return 0;
}
int program_threads(const program *x, int index) { return model_kernel_threads(x->model, index); }
void program_follow(program *x, model_trace *trace) { model_follow(x->model, trace); }

int place_launch(place *p, program *x, const char *kernel, int64_t groups, int threads,
                 const argument *arguments, int count, model_counts *counts, ladder_error *error)
{
    enum { MOST = 16 };
    if (groups < 1) return 0;
    if (groups > INT32_MAX)
        return fail_with(error, 2, "%lld groups: a launch has at most 2147483647",
                         (long long)groups);
    if (p->model) {
        model_argument list[MOST] = {0};
        char sentence[400];
        for (int i = 0; i < count && i < MOST; i++) {
            if (arguments[i].kind == PUT_MEMORY) {
                list[i].data = arguments[i].memory->host;
                list[i].bytes = (size_t)arguments[i].memory->bytes;
                list[i].writers = x->support ? NULL : arguments[i].memory->writers;
            } else {
                list[i].i64 = arguments[i].count;
            }
        }
        return model_launch(x->model, kernel, groups, list, count, p->watched_only, counts,
                            sentence, sizeof sentence)
                   ? fail_with(error, 4, "%s", sentence)
                   : 0;
    }
    tl_argument list[MOST];
    for (int i = 0; i < count && i < MOST; i++) {
        if (arguments[i].kind == PUT_MEMORY)
            list[i] = tl_memory_of(&arguments[i].memory->on).is;
        else
            list[i] = (tl_argument){TL_ARG_I64, {.i64 = arguments[i].count}};
    }
    const tl_kernel_start start = {kernel, groups, TL_GROUPS, threads, list, count};
    const tally_status status = p->gpu->calls->launch(p->gpu, p->ctx, x->gpu, &start);
    return status ? failed(p, status, error) : 0;
}
