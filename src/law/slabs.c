/* SPDX-License-Identifier: MIT
 * Slabs with gaps (slabs.h). A join takes time for what it adds and for the places of slabs that move, not for all that
 * is known: ten thousand fragments in random order take milliseconds (bench/results). */
#include "slabs.h"
#include <stdlib.h>
#include <string.h>

void tl_slabs_free(tl_slabs *a)
{
    for (int64_t i = 0; i < a->count; i++) free(a->slab[i]);
    free(a->slab);
    *a = (tl_slabs){0};
}

void tl_slabs_counter(const tl_slab *s, tl_counter *c)
{
    c->start = s->start;
    c->end = s->end;
    c->count = s->count;
    memcpy(c->node, s->node, (size_t)s->count * sizeof *s->node);
    memcpy(c->level, tl_slab_levels(s), (size_t)s->count);
}

static tl_slab *slab_of(const tl_counter *c)
{
    tl_slab *s = malloc(sizeof *s + (size_t)c->count * (sizeof *s->node + 1));
    if (!s) return NULL;
    s->start = c->start;
    s->end = c->end;
    s->count = c->count;
    memcpy(s->node, c->node, (size_t)c->count * sizeof *s->node);
    memcpy(s->node + c->count, c->level, (size_t)c->count);
    return s;
}

/* Room for `more` slabs. */
static int make_room(tl_slabs *a, int64_t more)
{
    if (a->count + more <= a->room) return 1;
    const int64_t room = a->count + more + a->room / 2;
    tl_slab **slab = realloc(a->slab, (size_t)room * sizeof *slab);
    if (!slab) return 0;
    a->slab = slab;
    a->room = room;
    return 1;
}

int tl_slabs_append(tl_slabs *a, const tl_counter *c)
{
    if (!c->count) return 1;
    tl_slab *s = make_room(a, 1) ? slab_of(c) : NULL;
    if (s) a->slab[a->count++] = s;
    return s != NULL;
}

/* The number of slabs that begin before `at`. */
static int64_t before(const tl_slabs *a, int64_t at)
{
    int64_t low = 0, high = a->count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (a->slab[middle]->start < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int tl_slabs_overlap(const tl_slabs *a, const tl_slabs *b, int64_t *in_a, int64_t *in_b)
{
    for (int64_t j = 0; j < b->count; j++) {
        const int64_t i = before(a, b->slab[j]->end) - 1; /* the last that begins before b ends */
        if (i < 0 || a->slab[i]->end <= b->slab[j]->start) continue;
        *in_a = i;
        *in_b = j;
        return 1;
    }
    return 0;
}

static void push_slab(tl_counter *c, const tl_scalar *op, const tl_slab *s)
{
    for (int j = 0; j < s->count; j++) tl_counter_push(c, op, tl_slab_levels(s)[j], &s->node[j]);
}

/* Slabs of a from number `first` on, `count` of them, become one. */
typedef struct {
    int64_t first, count;
    tl_slab *slab;
} change;

/* What b's slabs do to a, in order; each change takes the slabs of b that meet through slabs of a. Returns the number
 * of changes, -1: no memory. */
static int64_t find_changes(const tl_slabs *a, const tl_slabs *b, const tl_scalar *op, change *changes)
{
    int64_t n = 0;
    tl_counter c;
    for (int64_t j = 0; j < b->count; n++) {
        change *x = &changes[n];
        x->first = before(a, b->slab[j]->start);
        x->count = 0;
        if (x->first > 0 && a->slab[x->first - 1]->end == b->slab[j]->start) {
            tl_slabs_counter(a->slab[--x->first], &c);
            x->count = 1;
        } else {
            tl_counter_init(&c, b->slab[j]->start);
        }
        for (;;) { /* from b, then what comes next in a, then again */
            push_slab(&c, op, b->slab[j++]);
            const int64_t next = x->first + x->count;
            if (next == a->count || a->slab[next]->start != c.end) break;
            push_slab(&c, op, a->slab[next]);
            x->count++;
            if (j == b->count || b->slab[j]->start != c.end) break;
        }
        x->slab = slab_of(&c);
        if (x->slab) continue;
        while (n > 0) free(changes[--n].slab);
        return -1;
    }
    return n;
}

int tl_slabs_join(tl_slabs *a, const tl_slabs *b, const tl_scalar *op)
{
    change one, *changes = b->count > 1 ? malloc((size_t)b->count * sizeof *changes) : &one;
    const int64_t n = changes && make_room(a, b->count) ? find_changes(a, b, op, changes) : -1;
    for (int64_t k = n - 1; k >= 0; k--) { /* from the last on, so that places before it stay what they are */
        const change *x = &changes[k];
        for (int64_t i = 0; i < x->count; i++) free(a->slab[x->first + i]);
        const int64_t after = x->first + x->count;
        memmove(a->slab + x->first + 1, a->slab + after, (size_t)(a->count - after) * sizeof *a->slab);
        a->slab[x->first] = x->slab;
        a->count += 1 - x->count;
    }
    if (changes != &one) free(changes);
    return n >= 0;
}
