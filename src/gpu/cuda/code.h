/* SPDX-License-Identifier: MIT
 * The machine code of a CUDA program, from the cache on disk or compiled now. A text can have two
 * codes with the same bits: quick code, while a caller waits, and the best code. */
#ifndef TALLY_CODE_H
#define TALLY_CODE_H

#include "gpu/gpu.h"
#include <stdatomic.h>

typedef struct tl_cuda_text {
    const char *text;
    size_t length;
    int capability; /* compute capability of the device */
} tl_cuda_text;

/* how (here and below): TL_CODE_QUICK or TL_CODE_BEST. Returns the code on disk, which the caller
 * frees, or NULL. */
void *tl_cuda_code_load(const tl_cuda_text *t, tl_code how, size_t *bytes);

/* Compiles with NVRTC; stop: as in nvrtc.h. The caller frees *code. */
tally_status tl_cuda_code_make(tally *ctx, const tl_cuda_text *t, tl_code how,
                               const atomic_int *stop, void **code, size_t *bytes);

/* Stores code on disk; the best code replaces quick code. */
void tl_cuda_code_store(const tl_cuda_text *t, tl_code how, const void *code, size_t bytes);

#endif
