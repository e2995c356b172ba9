/* SPDX-License-Identifier: MIT
 * Memory of a group: loads and stores of a warp, and what a GPU makes of them.
 *
 *   shared   `banks` banks of 4 bytes, one word each in a pass. Lanes that want different words
 *            of one bank wait for each other; the same word is given to all that want it, and so
 *            are the four bytes in it. Elements of 8 bytes go half a warp at a time.
 *   global   sectors of 32 bytes. A warp's request costs as many sectors as its lanes touch.
 *
 * A race: two threads access one address between two barriers, and one of them writes. Two threads
 * of one warp can race too, because its lanes need not run in step since Volta. WARP_BARRIER orders
 * the lanes of a warp. In global memory, groups are not ordered at all. There atomics are no race,
 * and memory declared volatile is not checked: the kernel orders it by its own fences and flags. */
#include "code.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void defect(group_state *g, int what, int line, const char *format, ...)
{
    model_finding *f = &g->found[what];
    if (f->line) return;
    if (!g->defect) g->defect = what;
    f->line = line;
    f->group = g->index;
    va_list list;
    va_start(list, format);
    vsnprintf(f->sentence, sizeof f->sentence, format, list);
    va_end(list);
}

lane get_element(const char *from, kind k)
{
    lane v;
    union {
        int32_t i;
        uint32_t u;
        float f;
    } word;
    if (kind_bytes(k) == 8) {
        memcpy(&v, from, 8);
        return v;
    }
    if (is_byte(k)) {
        v.i = k == KIND_I8 ? *(const int8_t *)from : *(const uint8_t *)from;
        return v;
    }
    if (is_short(k)) {
        uint16_t half;
        memcpy(&half, from, 2);
        v.i = k == KIND_I16 ? (int64_t)(int16_t)half : (int64_t)half;
        return v;
    }
    memcpy(&word, from, 4);
    if (k == KIND_I32)
        v.i = word.i;
    else if (k == KIND_U32)
        v.i = word.u;
    else
        v.d = word.f;
    return v;
}

void put_element(char *to, kind k, lane v)
{
    union {
        uint32_t u;
        float f;
    } word;
    if (kind_bytes(k) == 8) {
        memcpy(to, &v, 8);
        return;
    }
    if (is_byte(k)) {
        *(uint8_t *)to = (uint8_t)v.i;
        return;
    }
    if (is_short(k)) {
        const uint16_t half = (uint16_t)v.i;
        memcpy(to, &half, 2);
        return;
    }
    if (k == KIND_F32)
        word.f = (float)v.d;
    else
        word.u = (uint32_t)v.i;
    memcpy(to, &word, 4);
}

/* ---- what the accesses cost ---- */

typedef struct request {
    int lanes, size; /* lanes that take part, bytes each asks for */
    int64_t offset[MODEL_WARP_MOST];
    int lane[MODEL_WARP_MOST];
} request;

/* Counts the passes that lanes from .. to - 1 of the warp need: the most different words in one
 * bank. Atomics need a pass for each lane. bank_of: NULL, or receives the bank of each lane. */
static int passes(const request *r, int from, int to, int banks, int atomic, int16_t *bank_of)
{
    int64_t words[MODEL_WARP_MOST * 4];
    int count[MODEL_BANKS_MOST] = {0}, found = 0, worst = 0;
    for (int i = 0; i < r->lanes; i++) {
        if (r->lane[i] < from || r->lane[i] >= to) continue;
        for (int64_t word = r->offset[i] / 4; word < (r->offset[i] + r->size + 3) / 4; word++) {
            const int bank = (int)(word % banks);
            if (bank_of && word == r->offset[i] / 4) bank_of[r->lane[i]] = (int16_t)bank;
            int counted = 0;
            for (int k = 0; k < found && !counted; k++) counted = words[k] == word;
            if (counted && !atomic) continue;
            words[found++] = word;
            if (++count[bank] > worst) worst = count[bank];
        }
    }
    return worst;
}

/* Counts a warp's access to shared memory. Returns its passes. */
static int cost_shared(group_state *g, const request *r, int line, int atomic)
{
    model_counts *c = g->counts;
    enum { AT_ONCE = 32 }; /* lanes of 4 bytes: a warp of 64 (AMD) is served in halves */
    const int parts = r->size > 4 ? r->size / 4 : 1,
              together = g->warp < AT_ONCE ? g->warp : AT_ONCE;
    const int each = (together + parts - 1) / parts;
    int16_t bank_of[MODEL_WARP_MOST];
    int degree = 0, conflicts = 0;
    for (int l = 0; l < MODEL_WARP_MOST; l++) bank_of[l] = -1;
    for (int from = 0; from < g->warp; from += each) {
        const int n = passes(r, from, from + each, g->program->setting.banks, atomic, bank_of);
        if (n > degree) degree = n;
        if (n > 1) conflicts += n - 1;
    }
    c->shared++;
    c->conflicts += conflicts;
    g->step->shared++;
    g->step->conflicts += conflicts;
    if (degree > g->step->shared_degree) g->step->shared_degree = degree;
    model_line *const at = &c->line[counted_line(line)];
    at->shared++;
    at->conflicts += conflicts;
    if (degree > at->degree) at->degree = degree;
    if (degree > c->worst_degree || (degree == c->worst_degree && r->lanes > c->worst_lanes)) {
        c->worst_degree = degree;
        c->worst_lanes = r->lanes;
        c->worst_line = line;
        memcpy(c->worst_bank, bank_of, sizeof bank_of);
    }
    return degree;
}

/* Counts a warp's access to global memory. Returns its sectors. */
static int cost_global(group_state *g, const request *r, int line, int store)
{
    model_counts *c = g->counts;
    int64_t sectors[2 * MODEL_WARP_MOST];
    int found = 0;
    for (int i = 0; i < r->lanes; i++)
        for (int64_t s = r->offset[i] / 32; s <= (r->offset[i] + r->size - 1) / 32; s++) {
            int counted = 0;
            for (int k = found - 1; k >= 0 && !counted; k--) counted = sectors[k] == s;
            if (!counted) sectors[found++] = s;
        }
    const int64_t bytes = (int64_t)r->lanes * r->size;
    c->requests++;
    c->sectors += found;
    *(store ? &c->bytes_written : &c->bytes_read) += bytes;
    g->step->requests++;
    g->step->sectors += found;
    g->step->bytes += bytes;
    model_line *const at = &c->line[counted_line(line)];
    at->requests++;
    at->sectors += found;
    at->bytes += bytes;
    return found;
}

/* ---- races ---- */

/* Two accesses to a[at]: their threads and lines. */
typedef struct race {
    const array_info *a;
    int64_t at;
    int first, second, first_line, line;
} race;

static void count_race(group_state *g, const race *r)
{
    if (g->trace) trace_race(g->trace, r->first, r->second, r->at);
    g->counts->races++;
    g->counts->line[counted_line(r->line)].races++;
    g->step->races++;
}

/* Reports a race within a group. what: as in "both write". */
static void report_race(group_state *g, race r, const char *what)
{
    char where[40] = "";
    if (r.first_line != r.line)
        snprintf(where, sizeof where, " (lines %d and %d)", r.first_line, r.line);
    count_race(g, &r);
    defect(g, DEFECT_RACE, r.line,
           "race: threads %d and %d %s %s[%lld] in step %d with no barrier between%s", r.first,
           r.second, what, r.a->name, (long long)r.at, g->step_number, where);
}

void watch_shared(group_state *g, const warp_state *w, const array_info *a, int64_t offset,
                  int thread, const instruction *i)
{
    shadow *s = &g->shared_shadow[offset / g->kernel->unit];
    const int step = g->step_number, warp = thread / g->warp, line = i->line;
    const int atomic = i->op != DO_LOAD && i->op != DO_STORE,
              reads = i->op == DO_LOAD || i->op == DO_ATOMIC_GET;
    const int64_t at = (offset - a->offset) / (int64_t)kind_bytes(a->kind);
    if (s->write_step < 0 && i->op != DO_STORE && i->op != DO_ATOMIC_PUT)
        defect(g, DEFECT_UNSET, line, "thread %d reads %s[%lld], which was never written", thread,
               a->name, (long long)at);
    if (s->on_its_way && i->op != DO_STORE)
        defect(g, DEFECT_UNSET, line,
               "thread %d reads %s[%lld], whose copy (line %d) was not waited for", thread, a->name,
               (long long)at, s->write_line);
    if (s->bulk) bulk_touched(g, s, a, at, thread, line);
    if (s->write_step == step && s->writer != thread && !(atomic && s->write_atomic) &&
        !(s->writer / g->warp == warp && s->write_epoch < w->epoch))
        report_race(g, (race){a, at, s->writer, thread, s->write_line, line},
                    reads ? "write and read" : "both write");
    if (!reads) {
        const int several = s->read_epoch < 0;
        if (s->read_step == step && (several || s->reader != thread) &&
            !(!several && s->reader / g->warp == warp && s->read_epoch < w->epoch))
            report_race(g, (race){a, at, s->reader, thread, s->read_line, line}, "read and write");
        s->write_step = step;
        s->writer = (int16_t)thread;
        s->write_epoch = (int16_t)w->epoch;
        s->write_line = (uint16_t)line;
        s->write_atomic = (uint8_t)atomic;
        s->on_its_way = i->op == DO_STORE && i->integer;
        s->bulk = 0;
    } else if (atomic) {
        return;
    } else if (s->read_step != step ||
               (s->read_epoch >= 0 && s->reader / g->warp == warp && s->read_epoch < w->epoch)) {
        s->read_step = step;
        s->reader = (int16_t)thread;
        s->read_epoch = (int16_t)w->epoch;
        s->read_line = (uint16_t)line;
    } else if (s->reader != thread) {
        /* several threads read: the report names one that is not the writer */
        if (s->reader == s->writer) s->reader = (int16_t)thread;
        s->read_epoch = -1;
        s->read_line = (uint16_t)line;
    }
}

void copies_arrive(group_state *g, const warp_state *w)
{
    for (int64_t s = 0; s < g->kernel->shared_bytes / g->kernel->unit; s++) {
        shadow *const x = &g->shared_shadow[s];
        const int which = x->writer - w->first;
        if (x->on_its_way && which >= 0 && which < g->warp && (w->mask >> which & 1))
            x->on_its_way = 0;
    }
}

/* Checks an access to global memory. Groups are never ordered, so it is a race if one writes what
 * another accesses. Within a group the rules of shared memory hold. */
void watch_global(group_state *g, const array_info *a, int64_t at, int thread, int store, int line)
{
    global_shadow *const all = g->global_shadows ? g->global_shadows[a->parameter] : NULL;
    if (!all || a->by_hand) return;
    global_shadow *s = &all[at * (int64_t)kind_bytes(a->kind) / g->kernel->unit];
    const int group = (int)g->index + 1, step = g->step_number;
    const int wrote = s->writer_group &&
                      (s->writer_group != group || (s->write_step == step && s->writer != thread));
    const int was_read =
        store && s->reader_group &&
        (s->reader_group != group || (s->read_step == step && s->reader != thread));
    if (wrote || was_read) {
        const int other_group = wrote ? s->writer_group - 1 : s->reader_group - 1,
                  other = wrote ? s->writer : s->reader;
        const race r = {a, at, other, thread, wrote ? s->write_line : s->read_line, line};
        const char *const what = wrote && store ? "both write"
                                 : wrote        ? "write and read"
                                                : "read and write";
        if (other_group == g->index) {
            report_race(g, r, what);
        } else {
            count_race(g, &r);
            if (other_group >= 0)
                defect(g, DEFECT_RACE, line,
                       "race: groups %d and %lld %s %s[%lld] (threads %d and %d), and groups are "
                       "not ordered",
                       other_group, (long long)g->index, what, a->name, (long long)at, other,
                       thread);
            else
                defect(g, DEFECT_RACE, line,
                       "race: several groups read %s[%lld], and thread %d of group %lld writes it",
                       a->name, (long long)at, thread, (long long)g->index);
        }
    }
    if (store) {
        s->writer_group = group;
        s->writer = (int16_t)thread;
        s->write_step = step;
        s->write_line = (uint16_t)line;
    } else {
        s->reader_group = !s->reader_group || s->reader_group == group ? group : -1;
        s->reader = (int16_t)thread;
        s->read_step = step;
        s->read_line = (uint16_t)line;
    }
}

/* ---- the access ---- */

/* larger than any memory here; its bytes fit 64 bits */
static const int64_t INDEX_MOST = (int64_t)1 << 40;

static void atomic(const instruction *i, char *at, kind k, int operation, lane given, lane *old)
{
    *old = get_element(at, k);
    lane v = given;
    if (i->op == DO_ATOMIC_MORE) v.i = (int64_t)((uint64_t)old->i + (uint64_t)given.i);
    if (i->op == DO_ATOMIC_NEXT) v.i = (int64_t)((uint64_t)old->i + 1);
    if (i->op == DO_ATOMIC_GET) return;
    if (i->op == DO_ATOMIC_COMBINE) {
        const int real = k >= KIND_F32, less = real ? given.d < old->d
                                               : k == KIND_U64
                                                   ? (uint64_t)given.i < (uint64_t)old->i
                                                   : given.i < old->i;
        if (operation == 0 && real)
            v.d = k == KIND_F32 ? (double)(float)(old->d + given.d) : old->d + given.d;
        else if (operation == 0)
            v.i = (int64_t)((uint64_t)old->i + (uint64_t)given.i);
        else
            v = (operation == 1) == less ? given : *old;
    }
    put_element(at, k, v);
}

/* What one instruction accesses: `width` elements from the index of each lane on. */
typedef struct {
    const array_info *array;
    kind kind;
    int width, is_store, is_atomic, line;
    int64_t each;      /* bytes of an element */
    char *base;        /* of the array */
    int64_t capacity;  /* its bytes */
    uint16_t *writers; /* the line that wrote each byte; NULL: not recorded */
} target;

static target target_of(group_state *g, const instruction *i)
{
    target t = {.is_store = i->op == DO_STORE, .line = i->line};
    t.is_atomic = !t.is_store && i->op != DO_LOAD;
    t.width = t.is_atomic ? 1 : i->d;
    const array_info *const a = &g->kernel->arrays[t.is_store ? i->a : i->b];
    t.array = a;
    t.kind = a->kind;
    t.each = (int64_t)kind_bytes(a->kind);
    if (a->shared) {
        t.base = g->shared + a->offset;
        t.capacity = a->length * t.each;
    } else {
        const model_argument *const given = &g->arguments[a->parameter];
        t.base = given->data;
        t.capacity = (int64_t)given->bytes;
        if (i->op != DO_LOAD && i->op != DO_ATOMIC_GET) t.writers = given->writers;
    }
    return t;
}

/* The byte in the array where the elements from index `at` on begin; -1: not all are in it. */
static int64_t checked_offset(group_state *g, const target *t, int thread, int64_t at)
{
    const char *const does = t->is_store ? "writes" : "reads";
    const int64_t offset = at < 0 || at > INDEX_MOST ? INDEX_MOST : at * t->each;
    if (offset + t->width * t->each > t->capacity) {
        defect(g, DEFECT_BOUNDS, t->line,
               "thread %d of group %lld %s %s[%lld]: it has %lld elements", thread,
               (long long)g->index, does, t->array->name, (long long)at,
               (long long)(t->capacity / t->each));
        return -1;
    }
    if (t->width > 1 && at % t->width)
        defect(g, DEFECT_ALIGN, t->line,
               "thread %d %s %s[%lld] with %d elements at once: no multiple of %d", thread, does,
               t->array->name, (long long)at, t->width, t->width);
    return offset;
}

/* Notes the access of one lane for its cost, and looks for races. */
static void note_access(group_state *g, warp_state *w, const instruction *i, const target *t,
                        request *r, int64_t offset)
{
    const array_info *const a = t->array;
    const int64_t place = a->shared ? a->offset + offset : offset;
    const int thread = w->first + r->lane[r->lanes];
    r->offset[r->lanes++] = place;
    g->touched[thread] = 1;
    for (int q = 0; q < t->width; q++)
        if (a->shared)
            watch_shared(g, w, a, place + q * t->each, thread, i);
        else if (!t->is_atomic)
            watch_global(g, a, offset / t->each + q, thread, t->is_store, t->line);
}

/* Moves the elements of one lane, whose registers are n apart. */
static void move_elements(const target *t, char *at, lane *value, int n)
{
    for (int q = 0; q < t->width; q++)
        if (t->is_store)
            put_element(at + q * t->each, t->kind, value[q * n]);
        else
            value[q * n] = get_element(at + q * t->each, t->kind);
}

static access_cost cost_of(group_state *g, const target *t, const request *r, const instruction *i)
{
    access_cost cost = {.width = t->width};
    if (t->array->shared)
        cost.degree = cost_shared(g, r, t->line, t->is_atomic);
    else
        cost.sectors =
            cost_global(g, r, t->line, t->is_store || (t->is_atomic && i->op != DO_ATOMIC_GET));
    return cost;
}

void access_memory(group_state *g, warp_state *w, const instruction *i)
{
    const int n = g->lanes;
    const target t = target_of(g, i);
    const lane *index = w->registers + (ptrdiff_t)i->c * n;
    lane *value = w->registers + (ptrdiff_t)(t.is_store ? i->b : i->a) * n;
    const lane *given = w->registers + (ptrdiff_t)i->d * n;
    lane asked[MODEL_WARP_MOST]; /* a load may put its value where its index was */
    request r;
    r.lanes = 0;
    r.size = (int)(t.width * t.each);
    if (g->trace) memcpy(asked, index, (size_t)g->warp * sizeof *asked);

    for (int l = 0; l < g->warp; l++) {
        if (!(w->mask >> l & 1)) continue;
        const int64_t offset = checked_offset(g, &t, w->first + l, index[l].i);
        if (offset < 0) {
            for (int q = 0; !t.is_store && q < t.width; q++) value[q * n + l].i = 0;
            continue;
        }
        r.lane[r.lanes] = l;
        if (g->counts) note_access(g, w, i, &t, &r, offset);
        for (int q = 0; t.writers && q < t.width; q++) t.writers[offset + q * t.each] = i->line;
        if (t.is_atomic)
            atomic(i, t.base + offset, t.kind, g->program->setting.operation, given[l], &value[l]);
        else
            move_elements(&t, t.base + offset, value + l, n);
    }

    if (!g->counts || !r.lanes) return;
    if (!g->step->line) g->step->line = i->line;
    const access_cost cost = cost_of(g, &t, &r, i);
    if (g->trace) trace_access(g->trace, g, w, i, asked, cost);
}
