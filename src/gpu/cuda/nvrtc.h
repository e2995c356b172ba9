/* SPDX-License-Identifier: MIT
 * NVRTC, NVIDIA's compiler as a library, opened at run time. program.c compiles with it what is
 * neither embedded nor on disk; the build's cmake/kernels.c compiles with it what is embedded.
 * Both with the same options. */
#ifndef TALLY_NVRTC_H
#define TALLY_NVRTC_H
#include "context/context.h"
#include <stdatomic.h>

/* What the law needs of the compiler, as one string for keys. */
extern const char tl_nvrtc_options[];
/* A wish where somebody waits: less optimisation, half the time and less, the same bits. CUDA
   12.8 has it. */
extern const char tl_nvrtc_quick[];

/* Opens NVRTC once a process: `path`, or (NULL) the newest that is here. 0: there is none. */
int tl_nvrtc_open(const char *path);
/* As 1000 * major + minor. */
int tl_nvrtc_version(void);
/* Does it compile for compute capability `capability` (80, 90, ...)? A version that cannot say
   (before 11.2) does. */
int tl_nvrtc_knows(int capability);

/* text -> machine code ("sm_90") or PTX ("compute_90"), which the caller frees. wish: an option
 * that is left out where this NVRTC does not know it; more: one more; stop: once it is not 0 the
 * compiler gives up soon (13.0 does; one that cannot goes on to its end); each may be NULL. log:
 * the compiler's messages, which the caller frees, or NULL. Opens NVRTC. Any thread may call it,
 * several at a time. */
tally_status tl_nvrtc_compile(tally *ctx, const char *text, const char *arch, const char *wish,
                              const char *more, const atomic_int *stop, void **code, size_t *bytes,
                              char **log);
#endif
