/* SPDX-License-Identifier: MIT
 * The machine code of a CUDA program, from the cache on disk or compiled now. A text can have two
 * codes with the same bits: quick code, while a caller waits, and the best code. */
#ifndef TALLY_CODE_H
#define TALLY_CODE_H

#include "store/cache.h"
#include "context/context.h"
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

/* Compiles with NVRTC; stop: as in tl_nvrtc_job. The caller frees *code. */
tally_status tl_cuda_code_make(tally *ctx, const tl_cuda_text *t, tl_code how,
                               const atomic_int *stop, void **code, size_t *bytes);

/* Stores code on disk; the best code replaces quick code. */
void tl_cuda_code_store(const tl_cuda_text *t, tl_code how, const void *code, size_t bytes);

/* ---- better.c ---- */

/* Compiles better code in a background thread while calls use quick code. The thread only compiles
 * and touches no CUDA context. The caller loads the program at a later call. */

typedef struct tl_better tl_better; /* a requested program */

/* the requests of a device, and its thread, which runs while there are requests */
typedef struct tl_beside tl_beside;

/* True if one more program may be requested. beside: NULL at first. */
int tl_better_accepts(const tl_beside *beside);

/* Requests the best code of a text, which is copied. Returns NULL if that is not possible. */
tl_better *tl_better_ask(tl_beside **beside, const tl_cuda_text *text);

/* Returns 0 if the code is not ready. Else returns 1 and frees *better; *code belongs to the caller
 * and is stored on disk, or is NULL if the compiler failed. */
int tl_better_take(tl_better **better, void **code);

/* Cancels a request; code that is ready goes to disk. Does not wait. */
void tl_better_drop(tl_better **better);

/* Stops the compiler and waits for the thread. All requests must have been taken or dropped. */
void tl_beside_end(tl_beside **beside);

/* ---- nvrtc.c ---- */

/* NVRTC, NVIDIA's compiler library, opened at run time. It compiles what is neither embedded nor on
 * disk; cmake/kernels.c compiles with it what is embedded. Both use the same options. */

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

/* Compiled CUDA programs in the library (TALLY_CUDA_KERNELS), found by their text:
 *
 *   head     "tally-k1", number of entries (u64)
 *   entries  key (2 x u64), offset and bytes of the code (2 x u64); ascending keys
 *   code     a fatbinary each, with code for every requested architecture and PTX for later ones
 *
 * cmake/kernels.c writes the archive, embedded.c includes it. A key is a hash of the assembled text
 * and the compiler's options. So a text that has changed since (an old archive, TALLY_KERNELS) is
 * not found, and is compiled. */

/* The key of a CUDA program. */
tl_key tl_archive_key(const char *text, size_t length);

typedef struct tl_archive_entry {
    tl_key key;
    uint64_t at, bytes; /* offset from the archive's first byte */
} tl_archive_entry;

typedef struct tl_archive_head {
    char magic[8];
    uint64_t count;
} tl_archive_head;

extern const char tl_archive_magic[8];

/* Returns the code of a key, or NULL. */
const void *tl_archive_find(const void *archive, tl_key key, size_t *bytes);

/* The archive in this library; it may be empty. */
extern const unsigned char tl_embedded[];

#endif
