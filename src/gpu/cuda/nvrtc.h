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

/* A text to compile. arch: "sm_90" makes machine code, "compute_90" PTX. The others may be NULL.
 * wish: an option that is dropped if this NVRTC does not know it. more: another option. stop: when
 * it becomes nonzero, the compiler gives up soon (version 13.0; older ones finish). log: set to the
 * compiler's messages, which the caller frees. */
typedef struct tl_nvrtc_job {
    const char *text, *arch, *wish, *more;
    const atomic_int *stop;
    char **log;
} tl_nvrtc_job;

/* Compiles a text to code, which the caller frees. Opens NVRTC. Thread-safe. */
tally_status tl_nvrtc_compile(tally *ctx, const tl_nvrtc_job *job, void **code, size_t *bytes);

#endif
