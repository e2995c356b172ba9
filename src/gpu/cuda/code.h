/* SPDX-License-Identifier: MIT
 * The machine code of a CUDA program: from the cache on disk, or compiled now. There are two of
 * a text, with the same bits: quick code, for somebody who waits, and the best. */
#ifndef TALLY_CODE_H
#define TALLY_CODE_H
#include "gpu/gpu.h"
#include <stdatomic.h>

typedef struct tl_cuda_text {
    const char *text;
    size_t length;
    int capability; /* of the device */
} tl_cuda_text;

/* How (here and below): TL_CODE_QUICK or TL_CODE_BEST. What is on disk, which the caller frees;
   NULL: nothing. */
void *tl_cuda_code_load(const tl_cuda_text *t, tl_code how, size_t *bytes);
/* By NVRTC; stop as in nvrtc.h. Caller frees *code. */
tally_status tl_cuda_code_make(tally *ctx, const tl_cuda_text *t, tl_code how,
                               const atomic_int *stop, void **code, size_t *bytes);
/* To disk; the best takes the place of quick code. */
void tl_cuda_code_store(const tl_cuda_text *t, tl_code how, const void *code, size_t bytes);
#endif
