/* SPDX-License-Identifier: MIT
 * Bulk copies (TMA, since Hopper): one thread starts the copy of many elements from global into
 * shared memory. They arrive at a word of shared memory, an mbarrier, and threads wait there.
 * Its phase tells copies apart: 0 for the first, 1 for the second, 0 for the third.
 *
 * In the model a copy is done at once. But no thread may access what it wrote before a wait for it,
 * or start a copy over what another thread has accessed since the last barrier. */
#include "code.h"
#include <string.h>

static const int64_t UNIT = 16; /* bytes: places and lengths are multiples of it */

/* The copies that arrive at word `index` of array a; NULL: an error, which was said. */
static bulk *arriving(group_state *g, const array_info *a, int64_t index, int thread, int line)
{
    if (index < 0 || index >= a->length) {
        defect(g, DEFECT_BOUNDS, line,
               "thread %d of group %lld waits at %s[%lld]: it has %lld elements", thread,
               (long long)g->index, a->name, (long long)index, (long long)a->length);
        return NULL;
    }
    const int64_t offset = a->offset + index * 8;
    for (int k = 0; k < g->bulk_count; k++)
        if (g->bulks[k].offset == offset) return &g->bulks[k];
    if (g->bulk_count == BULKS_MOST) {
        defect(g, DEFECT_BOUNDS, line, "bulk copies arrive at more than %d words of a group",
               BULKS_MOST);
        return NULL;
    }
    bulk *const b = &g->bulks[g->bulk_count++];
    memset(b, 0, sizeof *b);
    b->offset = offset;
    return b;
}

static instruction as_atomic(const instruction *i, opcode op)
{
    instruction atomic = *i;
    atomic.op = (uint8_t)op;
    return atomic;
}

/* The word of b is read and changed, as by this atomic: it must have been opened. */
static void touch_word(group_state *g, const warp_state *w, const array_info *a, const bulk *b,
                       int thread, instruction atomic)
{
    if (!g->counts) return;
    shadow *const s = &g->shared_shadow[b->offset / g->kernel->unit];
    /* others must come after a barrier */
    const int opened_now = s->write_step == g->step_number && !s->write_atomic;
    watch_shared(g, w, a, b->offset, thread, &atomic);
    if (opened_now) s->write_atomic = 0;
}

void bulk_touched(group_state *g, const shadow *s, const array_info *a, int64_t at, int thread,
                  int line)
{
    if (g->bulks[s->bulk - 1].waited[thread] >= s->bulk_number) return;
    defect(g, DEFECT_UNSET, line,
           "thread %d touches %s[%lld], and has not waited for its bulk copy (line %d)", thread,
           a->name, (long long)at, s->write_line);
}

static void watch_copy(group_state *g, const warp_state *w, const instruction *i, bulk *b,
                       const int64_t *asked, int thread)
{
    const array_info *const to = &g->kernel->arrays[i->a], *const from = &g->kernel->arrays[i->b];
    const int64_t size = (int64_t)kind_bytes(to->kind);
    instruction store = *i;
    store.op = DO_STORE;
    store.integer = 0;
    for (int64_t q = 0; q < asked[2]; q++) {
        const int64_t offset = to->offset + (asked[0] + q) * size;
        shadow *const s = &g->shared_shadow[offset / g->kernel->unit];
        watch_global(g, from, asked[1] + q, thread, 0, i->line);
        watch_shared(g, w, to, offset, thread, &store);
        s->write_step = BULK_STEP;
        s->bulk = (uint8_t)(b - g->bulks + 1);
        s->bulk_number = b->started;
    }
    const int64_t bytes = asked[2] * size, first = asked[1] * size / 32;
    const int64_t sectors = bytes ? (asked[1] * size + bytes - 1) / 32 - first + 1 : 0;
    model_line *const at = &g->counts->line[counted_line(i->line)];
    if (!g->step->line) g->step->line = i->line;
    g->touched[thread] = 1;
    g->counts->requests++, g->step->requests++, at->requests++;
    g->counts->sectors += sectors, g->step->sectors += sectors, at->sectors += sectors;
    g->counts->bytes_read += bytes, g->step->bytes += bytes, at->bytes += bytes;
    if (!g->trace) return;
    bulk_access access = {.line = i->line,
                          .place = i->b,
                          .index = asked[1],
                          .count = asked[2],
                          .values = g->shared + to->offset + asked[0] * size,
                          .sectors = (int)sectors};
    trace_bulk(g->trace, g, w, thread, &access);
    access.write = 1;
    access.place = i->a;
    access.index = asked[0];
    access.sectors = 0;
    trace_bulk(g->trace, g, w, thread, &access);
}

/* a, b: arrays to and from; c: the first of four registers (where to, where from, how many, at
   which word of d). */
void bulk_copy(group_state *g, warp_state *w, const instruction *i)
{
    const array_info *const to = &g->kernel->arrays[i->a], *const from = &g->kernel->arrays[i->b];
    const array_info *const arrived = &g->kernel->arrays[i->d];
    const int64_t size = (int64_t)kind_bytes(to->kind),
                  capacity = (int64_t)g->arguments[from->parameter].bytes / size;
    for (int l = 0; l < g->warp; l++) {
        if (!(w->mask >> l & 1)) continue;
        const int thread = w->first + l;
        int64_t asked[4];
        for (int k = 0; k < 4; k++) asked[k] = w->registers[(ptrdiff_t)(i->c + k) * g->lanes + l].i;
        bulk *const b = arriving(g, arrived, asked[3], thread, i->line);
        if (!b) continue;
        touch_word(g, w, arrived, b, thread, as_atomic(i, DO_ATOMIC_NEXT));
        b->started++;
        if (asked[0] < 0 || asked[2] < 0 || asked[0] > to->length ||
            asked[2] > to->length - asked[0]) {
            defect(g, DEFECT_BOUNDS, i->line,
                   "thread %d of group %lld copies %lld elements to %s[%lld]: it has %lld", thread,
                   (long long)g->index, (long long)asked[2], to->name, (long long)asked[0],
                   (long long)to->length);
            continue;
        }
        if (asked[1] < 0 || asked[1] > capacity || asked[2] > capacity - asked[1]) {
            defect(g, DEFECT_BOUNDS, i->line,
                   "thread %d of group %lld copies %lld elements from %s[%lld]: it has %lld",
                   thread, (long long)g->index, (long long)asked[2], from->name,
                   (long long)asked[1], (long long)capacity);
            continue;
        }
        if ((asked[0] * size | asked[1] * size | asked[2] * size) % UNIT)
            defect(g, DEFECT_ALIGN, i->line,
                   "thread %d copies %lld elements from %s[%lld] to %s[%lld]: not multiples of "
                   "%lld bytes",
                   thread, (long long)asked[2], from->name, (long long)asked[1], to->name,
                   (long long)asked[0], (long long)UNIT);
        memcpy(g->shared + to->offset + asked[0] * size,
               (const char *)g->arguments[from->parameter].data + asked[1] * size,
               (size_t)(asked[2] * size));
        if (g->counts) watch_copy(g, w, i, b, asked, thread);
    }
}

/* a: the array; b: the first of two registers (which word, which phase). */
void bulk_wait(group_state *g, warp_state *w, const instruction *i)
{
    const array_info *const arrived = &g->kernel->arrays[i->a];
    if (g->trace) trace_wait(g->trace, w, w->first / g->warp, i->line, i->a);
    for (int l = 0; l < g->warp; l++) {
        if (!(w->mask >> l & 1)) continue;
        const int thread = w->first + l;
        const int64_t index = w->registers[(ptrdiff_t)i->b * g->lanes + l].i;
        const int64_t phase = w->registers[(ptrdiff_t)(i->b + 1) * g->lanes + l].i;
        bulk *const b = arriving(g, arrived, index, thread, i->line);
        if (!b) continue;
        touch_word(g, w, arrived, b, thread, as_atomic(i, DO_ATOMIC_GET));
        if (!b->started || phase != (b->started - 1) % 2)
            defect(g, DEFECT_ENDLESS, i->line,
                   "thread %d waits for phase %lld of %s[%lld], where %d copies were started",
                   thread, (long long)phase, arrived->name, (long long)index, b->started);
        b->waited[thread] = b->started;
    }
}
