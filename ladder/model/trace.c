/* SPDX-License-Identifier: MIT
 * Writes the events of a followed program. Nothing here changes what is computed or counted. */
#include "code.h"
#include <stdio.h>
#include <string.h>

void model_follow(model_program *program, model_trace *trace) { program->trace = trace; }

static trace_event *next_event(model_trace *t, trace_kind what)
{
    if (t->count == t->capacity || t->cut) {
        t->cut = 1;
        return NULL;
    }
    trace_event *e = &t->event[t->count++];
    memset(e, 0, sizeof *e);
    e->kind = what;
    return e;
}

static trace_value value_at(const char *from, kind k)
{
    const lane v = get_element(from, k);
    trace_value out;
    if (k >= KIND_F32)
        out.d = v.d;
    else
        out.i = v.i;
    return out;
}

void trace_launch_starts(model_trace *t, const model_program *p, const kernel_code *k,
                         const model_argument *arguments, int64_t groups)
{
    if (t->launches == TRACE_LAUNCHES) t->cut = 1;
    trace_event *e = next_event(t, TRACE_LAUNCH);
    if (!e) return;
    trace_launch *l = &t->launch[e->place = t->launches++];
    t->warp = p->setting.warp;
    t->banks = p->setting.banks;
    *l = (trace_launch){.groups = groups, .threads = k->threads, .arrays = k->array_count};
    memcpy(l->kernel, k->name, sizeof l->kernel);
    for (int a = 0; a < k->array_count; a++) {
        const array_info *from = &k->arrays[a];
        trace_array *to = &l->array[a];
        memcpy(to->name, from->name, sizeof to->name);
        to->shared = from->shared;
        to->kind = from->kind;
        to->length = from->length;
        to->same = -1;
        if (from->shared) continue;
        const model_argument *memory = &arguments[from->parameter];
        to->length = (int64_t)(memory->bytes / kind_bytes(from->kind));
        for (int b = 0; b < a && to->same < 0; b++)
            if (!k->arrays[b].shared && arguments[k->arrays[b].parameter].data == memory->data)
                to->same = b;
        for (int64_t i = 0; i < to->length && i < TRACE_WORDS; i++)
            to->start[i] = value_at(
                (const char *)memory->data + i * (int64_t)kind_bytes(from->kind), from->kind);
    }
}

void trace_group_starts(model_trace *t, int64_t index)
{
    trace_event *e = next_event(t, TRACE_GROUP);
    if (e) e->value[0].i = index;
}

void trace_meeting(model_trace *t, const warp_state *w, int warp, int line, int all)
{
    trace_event *e = next_event(t, w     ? TRACE_WARP_BARRIER
                                   : all ? TRACE_GRID_BARRIER
                                         : TRACE_BARRIER);
    if (!e) return;
    e->line = line;
    e->warp = warp;
    e->lanes = e->active = w ? w->mask : 0;
}

void trace_split(model_trace *t, const group_state *g, const warp_state *w, int line, uint64_t yes)
{
    trace_event *e = next_event(t, TRACE_SPLIT);
    if (!e) return;
    e->line = line;
    e->warp = w->first / g->warp;
    e->lanes = yes;
    e->active = w->mask;
}

void trace_bulk(model_trace *t, const group_state *g, const warp_state *w, int thread,
                const bulk_access *b)
{
    trace_array *const array = t->launches ? &t->launch[t->launches - 1].array[b->place] : NULL;
    trace_event *e = array ? next_event(t, b->write ? TRACE_WRITE : TRACE_READ) : NULL;
    const kind k = g->kernel->arrays[b->place].kind;
    const int at = thread - w->first, most = MODEL_WARP_MOST * 4 / (at + 1);
    t->races_pending = 0;
    if (!e) return;
    e->line = b->line;
    e->warp = thread / g->warp;
    e->place = b->place;
    e->sectors = b->sectors;
    e->degree = 1;
    e->width = (int)(b->count < most ? b->count : most);
    e->lanes = (uint64_t)1 << at;
    e->active = w->mask;
    e->index[at] = (int32_t)b->index;
    for (int q = 0; q < e->width; q++)
        e->value[at * e->width + q] = value_at(b->values + q * (int64_t)kind_bytes(k), k);
    if (b->index + b->count > array->used) array->used = (int)(b->index + b->count);
}

void trace_wait(model_trace *t, const warp_state *w, int warp, int line, int place)
{
    trace_event *e = next_event(t, TRACE_WAIT);
    if (!e) return;
    e->line = line;
    e->warp = warp;
    e->place = place;
    e->lanes = e->active = w->mask;
}

void trace_shuffle(model_trace *t, const group_state *g, const warp_state *w, const instruction *i)
{
    trace_event *e = next_event(t, TRACE_SHUFFLE);
    if (!e) return;
    const lane *by = w->registers + (ptrdiff_t)i->c * g->lanes;
    const lane *from = w->registers + (ptrdiff_t)i->b * g->lanes;
    e->line = i->line;
    e->warp = w->first / g->warp;
    e->lanes = e->active = w->mask;
    e->width = 1;
    for (int l = 0; l < g->warp; l++) {
        const int64_t at = shuffle_lane(i->d, l, by[l].i);
        e->index[l] = (int32_t)(at >= 0 && at < g->warp ? at : l);
        e->value[l].i = from[e->index[l]].i; /* both members have 8 bytes */
    }
}

void trace_race(model_trace *t, int one, int other, int64_t index)
{
    if (t->races_pending++) return;
    t->race_one = one;
    t->race_other = other;
    t->race_index = (int)index;
}

void trace_access(model_trace *t, const group_state *g, const warp_state *w, const instruction *i,
                  const lane *index, access_cost cost)
{
    const int store = i->op == DO_STORE, place = store ? i->a : i->b, width = cost.width;
    const array_info *a = &g->kernel->arrays[place];
    const int64_t size = (int64_t)kind_bytes(a->kind);
    const char *const base = a->shared ? g->shared + a->offset : g->arguments[a->parameter].data;
    const int64_t capacity =
        a->shared ? a->length : (int64_t)g->arguments[a->parameter].bytes / size;
    trace_array *const array = t->launches ? &t->launch[t->launches - 1].array[place] : NULL;
    trace_event *e = array ? next_event(t, store              ? TRACE_WRITE
                                           : i->op == DO_LOAD ? TRACE_READ
                                                              : TRACE_ATOMIC)
                           : NULL;
    const int races = t->races_pending;
    t->races_pending = 0;
    if (!e) return;
    e->line = i->line;
    e->warp = w->first / g->warp;
    e->place = place;
    e->degree = cost.degree;
    e->sectors = cost.sectors;
    e->width = width;
    e->active = w->mask;
    e->races = races;
    e->race_one = t->race_one;
    e->race_other = t->race_other;
    e->race_index = t->race_index;
    for (int l = 0; l < g->warp; l++) {
        if (!(w->mask >> l & 1) || index[l].i < 0 || index[l].i + width > capacity) continue;
        e->lanes |= (uint64_t)1 << l;
        e->index[l] = (int32_t)index[l].i;
        for (int q = 0; q < width; q++)
            e->value[l * width + q] = value_at(base + (index[l].i + q) * size, a->kind);
        if (index[l].i + width > array->used) array->used = (int)(index[l].i + width);
    }
}
