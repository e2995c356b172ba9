/* SPDX-License-Identifier: MIT
 * NVRTC, NVIDIA's compiler library, opened at run time. program.c compiles with it what is neither
 * embedded nor on disk; cmake/kernels.c compiles with it what is embedded. Both use the same
 * options. */
#ifndef TALLY_NVRTC_H
#define TALLY_NVRTC_H
#include "context/context.h"
#include <stdatomic.h>

/* The options that the law needs, as one string for keys. */
extern const char tl_nvrtc_options[];

/* An option to compile faster while a caller waits: less optimisation, at most half the time, the
 * same bits. Since CUDA 12.8. */
extern const char tl_nvrtc_quick[];

/* Opens NVRTC once per process: `path`, or (NULL) the newest version. Returns 0 if there is
 * none. */
int tl_nvrtc_open(const char *path);

/* Returns 1000 * major + minor. */
int tl_nvrtc_version(void);

/* True if it compiles for compute capability `capability` (80, 90, ...), or if it cannot tell
 * (before 11.2). */
int tl_nvrtc_knows(int capability);

/* Compiles text to machine code ("sm_90") or PTX ("compute_90"), which the caller frees. wish: an
 * option that is dropped if this NVRTC does not know it; more: another option; stop: when it
 * becomes nonzero, the compiler gives up soon (version 13.0; older ones finish); each may be NULL.
 * log: the compiler's messages, which the caller frees, or NULL. Opens NVRTC. Thread-safe. */
tally_status tl_nvrtc_compile(tally *ctx, const char *text, const char *arch, const char *wish,
                              const char *more, const atomic_int *stop, void **code, size_t *bytes,
                              char **log);
#endif
