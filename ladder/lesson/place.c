/* SPDX-License-Identifier: MIT
 * Where kernels run in the page: the model alone. ladder/place.c without the library. */
#include "rung.h"
#include <stdlib.h>
#include <string.h>

struct memory {
    char *host;
    uint16_t *writers; /* as in ladder/place.c */
    int64_t bytes;
};
struct program {
    model_program *model;
    int support;
};
struct place {
    int groups, watched_only;
};

int place_open(place **out, const char *device, ladder_error *error)
{
    place *p = calloc(1, sizeof *p);
    (void)device;
    *out = p;
    if (!p) return fail_with(error, 1, "out of memory");
    p->groups = 64;
    return 0;
}

void place_close(place *p) { free(p); }
int place_is_model(const place *p) { return p != NULL; }
int place_has_warps(const place *p) { return p != NULL; }
int place_is_processors(const place *p) { return p == NULL; }
int place_shares_memory(const place *p) { return p == NULL; }
int is_processors(const char *text) { return text == NULL; }
const char *place_name(const place *p) { return p ? "model" : ""; }
const char *place_text(const place *p) { return p ? "the SIMT model" : ""; }
tally *place_context(const place *p) { return (void)p, NULL; }
int place_groups(const place *p) { return p->groups; }
int place_processors(const place *p) { return p->groups / 8 > 1 ? p->groups / 8 : 1; }
void place_set_groups(place *p, int groups) { p->groups = groups; }
void place_set_watched_only(place *p, int only) { p->watched_only = only; }

int place_alloc(place *p, int64_t bytes, memory **out, ladder_error *error)
{
    memory *m = calloc(1, sizeof *m);
    if (m) m->host = calloc(1, (size_t)bytes + 64);
    if (m) m->writers = calloc((size_t)bytes + 1, sizeof *m->writers);
    *out = m;
    if (m && m->host && m->writers) return m->bytes = bytes, 0;
    place_free(p, m);
    *out = NULL;
    return fail_with(error, 1, "%lld bytes of memory could not be had", (long long)bytes);
}

void place_free(place *p, memory *m)
{
    (void)p;
    if (m) free(m->host), free(m->writers);
    free(m);
}

void *memory_address(const memory *m) { return m->host; }

int memory_writer(const memory *m, int64_t offset)
{
    return m && offset < m->bytes ? m->writers[offset] : 0;
}

int place_write(place *p, memory *m, const void *from, int64_t bytes, ladder_error *error)
{
    (void)p, (void)error;
    memcpy(m->host, from, (size_t)bytes);
    return 0;
}

int place_read(place *p, void *to, memory *m, int64_t bytes, ladder_error *error)
{
    (void)p, (void)error;
    memcpy(to, m->host, (size_t)bytes);
    return 0;
}

int place_poison(place *p, memory *m, ladder_error *error)
{
    (void)p, (void)error;
    memset(m->host, POISON, (size_t)m->bytes);
    memset(m->writers, 0, (size_t)m->bytes * sizeof *m->writers);
    return 0;
}

int place_wait(place *p, ladder_error *error) { return (void)p, (void)error, 0; }

int place_build(place *p, const char *text, const char *path, const model_setting *setting,
                program **out, ladder_error *error)
{
    program *x = calloc(1, sizeof *x);
    char sentence[400];
    (void)p;
    *out = x;
    if (!x) return fail_with(error, 1, "out of memory");
    x->support = !strcmp(path, "support.cl");
    if (!model_compile(text, path, setting, &x->model, sentence, sizeof sentence)) return 0;
    free(x);
    *out = NULL;
    return fail_with(error, 1, "%s", sentence);
}

void place_unload(place *p, program *x)
{
    (void)p;
    if (x) model_free(x->model);
    free(x);
}

const char *program_kernel(const program *x, int index) { return model_kernel(x->model, index); }
int program_threads(const program *x, int index) { return model_kernel_threads(x->model, index); }
int program_parameters(const program *x, const char *kernel)
{
    for (int i = 0; model_kernel(x->model, i); i++)
        if (!strcmp(model_kernel(x->model, i), kernel)) return model_kernel_parameters(x->model, i);
    return 0;
}

int place_launch(place *p, program *x, const char *kernel, int64_t groups, int threads,
                 const argument *arguments, int count, model_counts *counts, ladder_error *error)
{
    enum { MOST = 16 };
    model_argument list[MOST] = {0};
    char sentence[400];
    (void)threads;
    if (groups < 1) return 0;
    for (int i = 0; i < count && i < MOST; i++) {
        const memory *const m = arguments[i].memory;
        if (arguments[i].kind == PUT_MEMORY)
            list[i] = (model_argument){.data = m->host,
                                       .bytes = (size_t)m->bytes,
                                       .writers = x->support ? NULL : m->writers};
        else
            list[i].i64 = arguments[i].count;
    }
    return model_launch(x->model, kernel, groups, list, count, p->watched_only, counts, sentence,
                        sizeof sentence)
               ? fail_with(error, 4, "%s", sentence)
               : 0;
}
