/* SPDX-License-Identifier: MIT
 * The machine code of a text (code.h): keys of the cache on disk, calls of NVRTC. */
#include "code.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARCH_BYTES = 16 };

static const char *wish_of(tl_code how) { return how == TL_CODE_QUICK ? tl_nvrtc_quick : NULL; }
static void name_arch(char *to, const tl_cuda_text *t)
{
    snprintf(to, ARCH_BYTES, "sm_%d", t->capability);
}

/* The cache key: architecture, options and text. The caller frees it; NULL: out of memory. */
static char *key_of(const tl_cuda_text *t, tl_code how, size_t *length)
{
    char arch[ARCH_BYTES], tag[160];
    const char *wish = wish_of(how);

    name_arch(arch, t);
    const size_t tag_length =
        (size_t)snprintf(tag, sizeof tag, "cuda %s %s%s", arch, tl_nvrtc_options, wish ? wish : "");
    char *key = malloc(tag_length + t->length);
    if (!key) return NULL;
    memcpy(key, tag, tag_length);
    memcpy(key + tag_length, t->text, t->length);
    *length = tag_length + t->length;

    return key;
}

void *tl_cuda_code_load(const tl_cuda_text *t, tl_code how, size_t *bytes)
{
    size_t length;
    char *key = key_of(t, how, &length);
    void *code = key ? tl_cache_load(key, length, bytes) : NULL;
    free(key);
    return code;
}

tally_status tl_cuda_code_make(tally *ctx, const tl_cuda_text *t, tl_code how,
                               const atomic_int *stop, void **code, size_t *bytes)
{
    char arch[ARCH_BYTES];
    name_arch(arch, t);
    const tl_nvrtc_job job = {.text = t->text, .arch = arch, .wish = wish_of(how), .stop = stop};
    return tl_nvrtc_compile(ctx, &job, code, bytes);
}

void tl_cuda_code_store(const tl_cuda_text *t, tl_code how, const void *code, size_t bytes)
{
    size_t length;
    char *key = key_of(t, how, &length);
    if (key) tl_cache_store(key, length, code, bytes);
    free(key);
    key = how == TL_CODE_BEST ? key_of(t, TL_CODE_QUICK, &length) : NULL;
    if (key) tl_cache_drop(key, length);
    free(key);
}
