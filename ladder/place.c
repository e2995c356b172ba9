/* SPDX-License-Identifier: MIT
 * Where kernels run: on the model, or on a device of the library's (place_gpu.c). The lesson's page
 * has this file without the library: LADDER_MODEL_ONLY. */
#include "rung.h"
#include <stdlib.h>
#include <string.h>

/* bytes of a memory of the model's whose stores are remembered */
enum { WRITERS_MOST = 1 << 24 };

int place_open(place **out, const char *device, ladder_error *error)
{
    place *p = calloc(1, sizeof *p);
    *out = NULL;
    if (!p) return fail_with(error, 1, "out of memory");
    snprintf(p->name, sizeof p->name, "%s", device);
    snprintf(p->text, sizeof p->text, "the SIMT model: counts, no times");
    p->groups = 64;
    p->has_warps = 1;
#ifndef LADDER_MODEL_ONLY
    if (place_library_open(p, device, error)) {
        free(p);
        return error->code;
    }
#endif
    *out = p;
    return 0;
}

void place_close(place *p)
{
    if (!p) return;
#ifndef LADDER_MODEL_ONLY
    place_library_close(p);
#endif
    free(p);
}

int place_is_model(const place *p) { return !p->device; }
int place_has_warps(const place *p) { return p->has_warps; }
int place_shares_memory(const place *p) { return p->shares_memory; }
/* Such as PoCL: its times say little about GPUs. */
int is_processors(const char *text) { return strstr(text, "PoCL") || strstr(text, "pthread"); }
int place_is_processors(const place *p) { return p->device && is_processors(p->text); }
const char *place_name(const place *p) { return p->name; }
const char *place_text(const place *p) { return p->text; }
tally *place_context(const place *p) { return p->ctx; }
int place_groups(const place *p) { return p->groups; }
int place_processors(const place *p)
{
    const int groups = p->groups / PLACE_GROUPS_EACH;
    return groups > 1 ? groups : 1;
}
void place_set_groups(place *p, int groups) { p->groups = groups; }
void place_set_watched_only(place *p, int only) { p->watched_only = only; }

/* ---- memory ---- */

int place_alloc(place *p, int64_t bytes, memory **out, ladder_error *error)
{
    memory *m = calloc(1, sizeof *m);
    *out = NULL;
    if (!m) return fail_with(error, 1, "out of memory");
    /* the model sees what is beyond the last element */
    m->bytes = !p->device || bytes >= 64 ? bytes : 64;
    if (p->device) {
        if (p->device->alloc(p, m, error)) {
            free(m);
            return error->code;
        }
    } else {
        m->host = m->address = calloc(1, (size_t)bytes + 64);
        if (bytes <= WRITERS_MOST) m->writers = calloc((size_t)bytes + 1, sizeof *m->writers);
        if (!m->host) {
            free(m->writers);
            free(m);
            return fail_with(error, 1, "%lld bytes of memory could not be had", (long long)bytes);
        }
    }
    *out = m;
    return 0;
}

void place_free(place *p, memory *m)
{
    if (!m) return;
    if (p->device) p->device->free(p, m);
    free(m->host);
    free(m->writers);
    free(m);
}

void *memory_address(const memory *m) { return m->address; }

int memory_writer(const memory *m, int64_t offset)
{
    return m && m->writers && offset < m->bytes ? m->writers[offset] : 0;
}

int place_write(place *p, memory *m, const void *from, int64_t bytes, ladder_error *error)
{
    if (p->device) return p->device->write(p, m, 0, from, bytes, error);
    memcpy(m->host, from, (size_t)bytes);
    return 0;
}

int place_read(place *p, void *to, memory *m, int64_t bytes, ladder_error *error)
{
    if (p->device) return p->device->read(p, to, m, bytes, error);
    memcpy(to, m->host, (size_t)bytes);
    return 0;
}

int place_poison(place *p, memory *m, ladder_error *error)
{
    enum { PIECE = 1 << 20 };
    if (!p->device) {
        memset(m->host, POISON, (size_t)m->bytes);
        if (m->writers) memset(m->writers, 0, (size_t)m->bytes * sizeof *m->writers);
        return 0;
    }
    char *piece = malloc(PIECE);
    int code = 0;
    if (!piece) return fail_with(error, 1, "out of memory");
    memset(piece, POISON, PIECE);
    for (int64_t at = 0; at < m->bytes && !code; at += PIECE)
        code =
            p->device->write(p, m, at, piece, m->bytes - at < PIECE ? m->bytes - at : PIECE, error);
    free(piece);
    return code;
}

int place_wait(place *p, ladder_error *error) { return p->device ? p->device->wait(p, error) : 0; }

/* ---- programs: the model reads every text, also those that a device runs ---- */

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
    x->support = !strcmp(path, "support.cl");
    if (p->device && p->device->build(p, text, path, setting, x, error)) {
        place_unload(p, x);
        return error->code;
    }
    *out = x;
    return 0;
}

void place_unload(place *p, program *x)
{
    if (!x) return;
    if (p->device) p->device->unload(p, x);
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

int place_launch(place *p, program *x, const kernel_launch *l, model_counts *counts,
                 ladder_error *error)
{
    model_argument list[PLACE_ARGUMENTS] = {0};
    char sentence[400];
    if (l->groups < 1) return 0;
    if (l->groups > INT32_MAX)
        return fail_with(error, 2, "%lld groups: a launch has at most 2147483647",
                         (long long)l->groups);
    if (p->device) return p->device->launch(p, x, l, error);
    for (int i = 0; i < l->count && i < PLACE_ARGUMENTS; i++) {
        const memory *const m = l->arguments[i].memory;
        if (l->arguments[i].kind == PUT_MEMORY) {
            list[i].data = m->host;
            list[i].bytes = (size_t)m->bytes;
            list[i].writers = x->support ? NULL : m->writers;
        } else {
            list[i].i64 = l->arguments[i].count;
        }
    }
    const model_start start = {l->kernel, l->groups, list, l->count, p->watched_only};
    return model_launch(x->model, &start, counts, sentence, sizeof sentence)
               ? fail_with(error, 4, "%s", sentence)
               : 0;
}
