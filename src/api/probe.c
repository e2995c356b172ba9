/* SPDX-License-Identifier: MIT
 * The start-up probe (context.h). The expected bits come from the law's binary counter and the
 * operators' scalar functions, not from stored hashes: the tests compare these functions with
 * golden files, a mismatch can be reported to the bit, and a new row needs no new hash. */
#include "context/device.h"
#include "store/store.h"
#include "law/fp.h"
#include "context/threads.h"
#include "law/random.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4096, RESULT_MOST = 16, PASSED_MOST = 16 };

typedef enum { PLAIN, TINY, SQUARES, WIDE, SPECIAL, ANY, ODD } data;
static const char *const data_names[] = {"plain", "tiny", "subnormal squares", "wide", "special",
                                         "any",   "odd"};

static const struct row {
    const char *op, *shape; /* shape NULL: another vector for the program above */
    tally_dtype dtype;
    data kind;
} rows[] = {
#define PROGRAM(op, dtype, shape) {op, shape, TALLY_##dtype, PLAIN},
#define VECTOR(data)              {NULL, NULL, 0, data},
#include "probe.def"
};

enum { ROWS = sizeof rows / sizeof *rows };

/* A float with random sign and mantissa, and a biased exponent in low .. low + span - 1. */
static uint64_t with_exponent(uint64_t r, tally_dtype d, int low, int span)
{
    assert(d >= TALLY_F16 && span > 0);
    int bytes = (int)tally_dtype_size(d), exponent = d == TALLY_F64 ? 11 : d == TALLY_F16 ? 5 : 8;
    int mantissa = 8 * bytes - 1 - exponent;
    uint64_t e = (uint64_t)low + (r >> 52 & 0x7ff) % (uint64_t)span;
    return r >> 63 << (8 * bytes - 1) | e << mantissa | (r & (((uint64_t)1 << mantissa) - 1));
}

static void fill(void *to, tally_dtype d, data kind)
{
    uint64_t random = 20261121;
    size_t bytes = tally_dtype_size(d);
    int bias = d == TALLY_F64 ? 1023 : d == TALLY_F16 ? 15 : 127;

    if (kind == SPECIAL) { /* zeros of both signs first, then all kinds of values */
        tl_random_fill(&random, to, d, N / 2, TL_DATA_ZEROS);
        tl_random_fill(&random, (char *)to + N / 2 * bytes, d, N / 2, TL_DATA_HOSTILE);
        return;
    }

    if (kind == PLAIN || kind == ANY) {
        tl_random_fill(&random, to, d, N, kind == PLAIN ? TL_DATA_PLAIN : TL_DATA_BITS);
        return;
    }

    for (int i = 0; i < N; i++) {
        uint64_t v = tl_random(&random);
        if (kind == TINY) v = with_exponent(v, d, 0, 3);
        if (kind == SQUARES) v = with_exponent(v, d, bias / 2 - 18, 4);
        if (kind == WIDE) v = with_exponent(v, d, bias - 20, 40);
        if (kind == ODD) v |= 1;
        memcpy((char *)to + (size_t)i * bytes, &v, bytes);
    }
}

/* S(1) .. S(N) as results: pushes one element after the other, and reduces the counter after
 * each. */
static void law(const tl_plan *plan, const char *x, char *out)
{
    assert(plan->op->result_bytes <= RESULT_MOST);
    const tl_scalar *op = plan->op;
    tl_counter c;
    tl_state s;
    tl_counter_init(&c, 0);

    for (int64_t i = 0; i < N; i++) {
        op->lift(&s, x + i * op->elem_bytes, i, plan->par);
        tl_counter_push(&c, op, 0, &s);
        tl_counter_fold(&c, op, NULL, &s);
        op->lower(&s, i + 1, 0, plan->par, out + i * op->result_bytes);
    }
}

typedef struct {
    char x[N * 8], got[N * RESULT_MOST], want[N * RESULT_MOST];
} vectors;

/* Sets the error for the first bit that differs. identity: the model, driver and version of the
 * device. */
static tally_status report_difference(tally *ctx, const char *identity, const struct row *program,
                                      data kind, const tl_plan *plan, const vectors *v)
{
    const tl_scalar *op = plan->op;
    int64_t size = op->result_bytes / op->lanes, i = 0;

    while (!memcmp(v->got + i * size, v->want + i * size, (size_t)size)) i++;
    char got[48], want[48];
    tally_format_value(op->out, v->got + i * size, 1, got, sizeof got);
    tally_format_value(op->out, v->want + i * size, 1, want, sizeof want);

    return tl_fail(ctx, TALLY_NO_DEVICE,
                   "%.160s fails the conformance probe: operator %s, dtype %s, n = %ld (%s, %s "
                   "data): got %s, expected %s; the device option probe=off opens it all the same",
                   identity, program->op, tally_dtype_name(op->dtype), (i / op->lanes + 1),
                   program->shape, data_names[kind], got, want);
}

/* Runs one vector of a program, and compares its results with the law's. */
static tally_status check_vector(tally *ctx, const char *identity, const struct row *program,
                                 data kind, const tl_plan *plan, vectors *v)
{
    assert(program && program->shape);
    const tl_scalar *op = plan->op;
    tally_view in = tally_flat(v->x, op->dtype, N), out = tally_flat(v->got, op->out, N);
    fill(v->x, op->dtype, kind);
    memset(v->got, 0xa5, sizeof v->got);
    law(plan, v->x, v->want);
    const tl_call call = {.verb = strcmp(program->shape, "law") ? TL_SCAN : TL_LAW,
                          .plan = plan,
                          .in = &in,
                          .out = &out};
    int done;
    tally_status status = ctx->device->calls->run(ctx->device, ctx, &call, &done);
    if (status || !memcmp(v->got, v->want, (size_t)N * op->result_bytes)) return status;

    return report_difference(ctx, identity, program, kind, plan, v);
}

static tally_status plan_of(tally *ctx, const struct row *program, tl_plan *plan)
{
    const tl_scalar *scalar;
    tl_par par;
    TL_TRY(tl_resolve(ctx, program->op, program->dtype, &scalar, &par));
    return ctx->device->calls->plan(ctx->device, ctx, scalar, par, TL_FOR_DEVICE, plan);
}

static tally_status check_vectors(tally *ctx, const char *identity)
{
    TL_FREED vectors *const v = malloc(sizeof *v);
    tl_plan plan = {0};
    const struct row *program = NULL;
    if (!v) return tl_no_memory(ctx, sizeof *v, "the probe");

    for (int r = 0; r < ROWS; r++)
        TL_TRY(rows[r].op ? plan_of(ctx, program = &rows[r], &plan)
                          : check_vector(ctx, identity, program, rows[r].kind, &plan, v));
    return TALLY_OK;
}

/* Everything that a pass of the probe depends on, as text. */
static tally_status key_of(tally *ctx, const char *identity, char *key, size_t capacity)
{
    tl_key texts = tl_key_start;
    tl_plan plan;

    for (int r = 0; r < ROWS; r++) {
        char *text;
        size_t length;
        if (!rows[r].op) continue;
        TL_TRY(plan_of(ctx, &rows[r], &plan));
        TL_TRY(ctx->device->calls->text(ctx->device, ctx, &plan, rows[r].shape, &text, &length));
        texts = tl_key_add(texts, text, length);
        free(text);
    }

    snprintf(key, capacity, "probe, %d rows; tally %s; %016lx%016lx; %.300s", (int)ROWS,
             tally_version(), texts.high, texts.low, identity);
    return TALLY_OK;
}

tally_status tl_probe(tally *ctx, const char *identity)
{
    /* devices that passed in this process, because the cache folder may not be writable */
    static tl_key passed[PASSED_MOST];
    static int count;
    char key[512];
    size_t bytes;
    int passed_before = 0;

    if (!ctx->device->calls->text) return TALLY_OK;
    TL_TRY(key_of(ctx, identity, key, sizeof key));

    tl_key hash = tl_key_add(tl_key_start, key, strlen(key));
    tl_lock_take(TL_LOCK_PROBE);
    for (int i = 0; i < count; i++)
        passed_before |= passed[i].high == hash.high && passed[i].low == hash.low;
    tl_lock_release(TL_LOCK_PROBE);
    if (passed_before) return TALLY_OK;

    void *stored = tl_cache_load(key, strlen(key), &bytes);
    passed_before = stored != NULL;
    free(stored);

    if (!passed_before) {
        TL_LAW_FP;
        TL_TRY(check_vectors(ctx, identity));
        tl_cache_store(key, strlen(key), "passed", 6);
    }

    tl_lock_take(TL_LOCK_PROBE);
    if (count < PASSED_MOST) passed[count++] = hash;
    tl_lock_release(TL_LOCK_PROBE);
    return TALLY_OK;
}
