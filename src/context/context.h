/* SPDX-License-Identifier: MIT
 * The context, operators by name, scratch memory, and the last error. A failure is one sentence:
 * tl_fail formats it, stores it for tally_error, and returns the status. Callers write
 * `return tl_invalid(ctx, "n is %ld: must be at least 0", n);`. */
#pragma once

#include "operator/kernel.h"

struct tl_device; /* context/device.h */
struct tl_user;   /* user.h */

/* A cache of the last operators that were looked up. */
typedef struct {
    char op[40];
    tally_dtype dtype;
    tl_plan plan;
} tl_plan_entry;

enum { TL_PLAN_ENTRIES = 4 };

/* 0, or the number of the process in which a call runs. */
typedef int tl_in_call;

struct tally {
    struct tl_device *device;
    /* a context of several devices: one context per device, then NULL; else NULL */
    struct tally **members;
    tl_plan_entry plans[TL_PLAN_ENTRIES];
    int next_plan;
    unsigned plan_changes;            /* a sequence lock of plans: odd while one is changed */
    struct tl_user *users;            /* operators defined in this context, the newest first */
    struct tl_scratch_block *scratch; /* scratch memory of its threads */
    int scratch_threads;
    tl_in_call in_call; /* which uses the scratch memory */
    char error[512];
    char report[256]; /* tally_verify's sentence */
};

/* ---- operators by name ----
 *
 * From the strings that users write ("sum", "sum:f64", "ema:alpha=0.1") to rows of the tables
 * (operators.c), and to plans. */

/* The scalar row and the parameter of `op` on dtype. ctx may be NULL. */
tally_status tl_resolve(tally *ctx, const char *op, tally_dtype dtype, const tl_scalar **scalar,
                        tl_par *par);

/* The instance of the operator text `file`. acc 0: the default accumulator, which is the first
 * row of the dtype. NULL if there is none. */
const tl_scalar *tl_find_scalar(const char *file, tally_dtype dtype, tally_dtype acc);

/* The instance for f64 of the built-in operator of this name. Requires: there is one. */
const tl_scalar *tl_form_of_f64(const tl_scalar *op);

/* The suffix with the parameter that tally_verify and the tests give to an operator: empty if it
 * may be left out, except for var and nanvar, whose golden bits have ddof=1; else 0.3 above the
 * least of the range in op/ops.def. */
enum { TL_SAMPLE_BYTES = 32 };
const char *tl_sample_parameter(const char *op, char to[TL_SAMPLE_BYTES]);

/* tl_plan_of: for the verbs on ctx's device. tl_plan_of_host: for streams and fragments, which the
 * processors compute on every device. A GPU can have the first without the second if no C compiler
 * can compile a user's operator. */
tally_status tl_plan_of(tally *ctx, const char *op, tally_dtype dtype, tl_plan *plan);
tally_status tl_plan_of_host(tally *ctx, const char *op, tally_dtype dtype, tl_plan *plan);

/* tl_plan_of_host for an operator that is resolved. */
tally_status tl_plan_on_host(tally *ctx, const tl_scalar *op, tl_par par, tl_plan *plan);

/* Like tl_plan_of_host, but allows operators of two inputs, whose elements are of dtype. */
tally_status tl_plan_of_inputs(tally *ctx, const char *op, tally_dtype dtype, tl_plan *plan);

/* ---- scratch memory: kept between calls. If each call freed it, the system could take the pages
 * away, and each page would cost a fault ---- */

enum { TL_SCRATCH_SLOTS = 5 };

/* One call at a time. tl_call_begin refuses if another thread is in a call of c. */
tally_status tl_call_begin(tally *ctx, tl_in_call *c);
void tl_call_end(tl_in_call *c);

/* Until the block ends, the scratch memory of ctx is this call's. If another thread's call has it,
 * returns from the function with a refusal. */
#define TL_TAKE_SCRATCH(ctx) \
    TL_TRY(tl_call_begin(ctx, &(ctx)->in_call)); \
    __attribute__((cleanup(tl_scratch_give), unused)) tally *const taken_ = ctx
static inline void tl_scratch_give(tally *const *taken) { tl_call_end(&(*taken)->in_call); }

/* Makes slots for `threads` threads. Call it outside of a parallel region. Returns 0 if out of
 * memory. */
int tl_scratch_begin(tally *ctx, int threads);

/* At least `bytes` bytes, aligned to 64; a larger request loses the content. NULL: no memory. */
void *tl_scratch(tally *ctx, int thread, int slot, size_t bytes);

void tl_scratch_end(tally *ctx);

/* Asks for pages of 2 MiB, so that access in any order misses the TLB less. memory: NULL too. */
void tl_large_pages(void *memory, size_t bytes);

/* ---- the last error ---- */

/* Refuses p if it is device memory, with the sentence that `what` take host memory. */
tally_status tl_host_only(tally *ctx, const void *p, const char *name, const char *what);

/* Stores the sentence in ctx (NULL: in this thread) and returns status. */
tally_status tl_fail(tally *ctx, tally_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* tl_fail with one status: tl_invalid(ctx, format, ...). */
#define tl_invalid(ctx, ...)     tl_fail(ctx, TALLY_INVALID, __VA_ARGS__)
#define tl_unsupported(ctx, ...) tl_fail(ctx, TALLY_UNSUPPORTED, __VA_ARGS__)
#define tl_bad_data(ctx, ...)    tl_fail(ctx, TALLY_BAD_DATA, __VA_ARGS__)

/* Returns the status of a call from the function that contains it, unless it is TALLY_OK. */
#define TL_TRY(call) \
    do { \
        const tally_status status_ = (call); \
        if (status_) return status_; \
    } while (0)

/* Before a pointer: its memory is freed where the block ends. */
#define TL_FREED __attribute__((cleanup(tl_free_at)))
void tl_free_at(const void *pointer);

/* realloc of the memory at *(void **)pointer to `bytes` bytes for `what`. */
tally_status tl_grow(tally *ctx, void *pointer, size_t bytes, const char *what);

/* tl_fail for a call without a context. */
tally_status tl_no_context(void);

/* tl_fail for an allocation of `bytes` for `what`. */
tally_status tl_no_memory(tally *ctx, size_t bytes, const char *what);

/* ---- suggestions for unknown names, for error sentences, also those of the command line ---- */

enum { TL_HINT = 96 };

/* Writes a suggestion such as " did you mean 'mean'?" to `to`, or "", and returns `to`. It
 * suggests tally's word for another program's name, else the nearest of `names`, which end with
 * NULL. what: the kind of name: "operator", "dtype", or another word. */
const char *tl_hint(const char *what, const char *given, const char *const *names,
                    char to[TL_HINT]);

/* S(1) .. S(4096) of the vectors of probe.def, by the device and by the law in scalar C
 * (api/probe.c). A difference is TALLY_NO_DEVICE; the sentence names the row and both bit patterns.
 * A pass is recorded in this process and in the folder of compiled programs, under `identity` (the
 * device's name and driver), tally's version and the texts. Devices whose kernels are compiled with
 * the library (calls->text is NULL) pass. */
tally_status tl_probe(tally *ctx, const char *identity);
