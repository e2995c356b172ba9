/* SPDX-License-Identifier: MIT
 * Memory of the members of a context of several devices, and arrays beside it. Part of
 * test_many.c. */
#ifndef TALLY_TEST_MANY_PLACES_H
#define TALLY_TEST_MANY_PLACES_H
#include "fault_gpu.h"
#include "gpus.h"

enum {
    MOST = 300000,
    PART = 30000,
    MEMBERS = 4,
    GUARD = 64,
    RESULT = 16,
    CAPACITY = MOST * RESULT + 2 * GUARD
};

static tally *cpu;
static char *x, *want, *got;
static int members;
static check_operator o;

/* ---- memory of a member, and an address for it ---- */

typedef struct {
    tl_memory memory;
    char *at;
} place;
static place in[MEMBERS], out[MEMBERS];

static tl_gpu *gpu_of(int k) { return tl_gpu_of(tally_member(ctx, k)->device)->gpu; }

static int open_place(int k, place *p, size_t bytes)
{
    tl_gpu *g = gpu_of(k);
    void *adopted = NULL;
    *p = (place){0};
    g->calls->enter(g, NULL);
    if (check_ok(ctx, g->calls->allocate(g, ctx, bytes, &p->memory), "room on the device"))
        p->at = g->calls->adopt ? (g->calls->adopt(g, ctx, p->memory.object, &adopted), adopted)
                                : (char *)(uintptr_t)p->memory.address;
    g->calls->leave(g);
    return p->at != NULL;
}
static void close_place(int k, place *p)
{
    tl_gpu *g = gpu_of(k);
    g->calls->enter(g, NULL);
    if (p->at && g->calls->forget) g->calls->forget(g, ctx, p->at);
    if (p->memory.bytes) g->calls->release(g, &p->memory);
    g->calls->leave(g);
}
static void put(int k, const place *p, const void *from, size_t bytes)
{
    tl_gpu *g = gpu_of(k);
    g->calls->enter(g, NULL);
    check_ok(ctx, g->calls->write(g, ctx, &p->memory, 0, from, bytes), "to the device");
    check_ok(ctx, g->calls->wait(g, ctx), "to the device");
    g->calls->leave(g);
}
static void get(int k, const place *p, void *to, size_t bytes)
{
    tl_gpu *g = gpu_of(k);
    g->calls->enter(g, NULL);
    check_ok(ctx, g->calls->read(g, ctx, to, &p->memory, 0, bytes), "from the device");
    g->calls->leave(g);
}
#endif
