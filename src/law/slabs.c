/* SPDX-License-Identifier: MIT
 * Slabs with gaps (counter.h). A join costs time for what it adds and for the slabs that move, not
 * for all slabs. */
#include "counter.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

void tl_slabs_free(tl_slabs *a)
{
    for (int64_t i = 0; i < a->count; i++) free(a->slab[i]);
    free(a->slab);
    *a = (tl_slabs){0};
}

tl_slab *tl_slab_new(int64_t start, int64_t end, int64_t rows, const tl_scalar *op, int counted)
{
    assert(start >= 0 && rows >= 0);
    const size_t state_bytes = op->state_bytes + (counted ? sizeof(int64_t) : 0);
    unsigned char level[TL_MAX_NODES];
    int64_t bytes = 0;
    int count = 0;
    for (int64_t at = start; at < end; at += (int64_t)1 << level[count++])
        level[count] = (unsigned char)tl_slab_level(at, end);
    tl_slab *s = NULL;

    if (count && !__builtin_mul_overflow(rows, (int64_t)state_bytes * count, &bytes) &&
        (s = malloc(sizeof *s + (size_t)bytes))) {
        s->start = start;
        s->end = end;
        s->rows = rows;
        s->count = count;
        s->bytes = (unsigned char)state_bytes;
        s->counted = (unsigned char)counted;
        memcpy(s->level, level, (size_t)count);
    }

    return s;
}

/* Copies a few bytes without a call; merges of many small slabs consist of such copies. */
static inline void copy_state(void *to, const void *from, int bytes)
{
    if (bytes == 8)
        memcpy(to, from, 8);
    else if (bytes == 16)
        memcpy(to, from, 16);
    else
        memcpy(to, from, (size_t)bytes);
}

void tl_slab_get(const tl_slab *s, int64_t row, tl_counter *c)
{
    assert(row >= 0 && row < s->rows);
    const unsigned char *state = s->state + row * s->bytes;
    c->start = s->start;
    c->end = s->end;
    c->count = s->count;
    c->counted = s->counted;
    memcpy(c->level, s->level, (size_t)s->count);
    for (int j = 0; j < s->count; j++, state += s->rows * s->bytes)
        copy_state(&c->node[j], state, s->bytes);
}

void tl_slab_set(tl_slab *s, int64_t row, const tl_counter *c)
{
    assert(row >= 0 && row < s->rows);
    assert(c->start == s->start && c->end == s->end);
    assert(c->count == s->count);
    unsigned char *state = s->state + row * s->bytes;
    for (int j = 0; j < s->count; j++, state += s->rows * s->bytes)
        copy_state(state, &c->node[j], s->bytes);
}

/* Makes space for `more` slabs. */
static int reserve(tl_slabs *a, int64_t more)
{
    assert(more >= 0);
    assert(a->count <= a->capacity);
    if (a->count + more <= a->capacity) return 1;
    const int64_t capacity = a->count + more + a->capacity / 2;
    tl_slab **slab = realloc(a->slab, (size_t)capacity * sizeof *slab);
    if (!slab) return 0;
    a->slab = slab;
    a->capacity = capacity;
    return 1;
}

int tl_slabs_append(tl_slabs *a, tl_slab *s)
{
    assert(!s || !a->count || a->slab[a->count - 1]->end < s->start);
    if (s && reserve(a, 1)) {
        a->slab[a->count++] = s;
        return 1;
    }
    free(s);
    return 0;
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
        /* the last slab that begins before b ends */
        const int64_t i = before(a, b->slab[j]->end) - 1;
        if (i < 0 || a->slab[i]->end <= b->slab[j]->start) continue;
        *in_a = i;
        *in_b = j;
        return 1;
    }
    return 0;
}

/* A join of the slabs of b to those of a. */
typedef struct {
    const tl_slabs *a, *b;
    const tl_scalar *op;
    tl_share_rows *share;
    int threads, counted; /* counted: the slabs that are made */
} joining;

/* `count` slabs of a from number `first` on, and `more` slabs of b from number `from` on, become
 * one. */
typedef struct {
    int64_t first, count, from, more;
    tl_slab *slab;
} change;

/* The next of the slabs that become one, in order. */
static const tl_slab *next_of(const joining *g, const change *x, int64_t *i, int64_t *j)
{
    const tl_slab *const of_a = *i < x->count ? g->a->slab[x->first + *i] : NULL,
                         *const of_b = *j < x->more ? g->b->slab[x->from + *j] : NULL;
    const int take_a = of_a && (!of_b || of_a->start < of_b->start);
    ++*(take_a ? i : j);
    return take_a ? of_a : of_b;
}

/* ---- the steps of the counter are found once, then applied to blocks of rows ---- */

enum { BLOCK = 128 }; /* rows at a time */

/* Where the states of a node are: in a slab, or, with slab NULL, in a buffer for the rows of a
 * block. */
typedef struct {
    const tl_slab *slab;
    int node, buffer, level;
} place;

typedef struct {
    place left, right;
    int to; /* a buffer: the left node's own, if it has one */
} step;

typedef struct {
    const tl_scalar *op;
    tl_slab *slab; /* the slab that a change makes */
    place *node;   /* the nodes of that slab */
    step *steps;
    int64_t count;
    int buffers, failed;
} schedule;

/* Copies the states of rows first .. first + n - 1 of a slab, counted if the change is. */
static void read_slab(const schedule *w, const place *p, int64_t first, int64_t n, tl_state *to)
{
    assert(first >= 0 && n >= 0 && first + n <= p->slab->rows);
    const tl_slab *const s = p->slab;
    const unsigned char *from = s->state + (p->node * s->rows + first) * s->bytes;
    const int bytes = s->bytes, raised = w->slab->counted > s->counted;
    for (int64_t i = 0; i < n; i++, from += bytes) {
        copy_state(&to[i], from, bytes);
        if (raised) tl_set_kept(w->op, &to[i], (int64_t)1 << p->level);
    }
}

static void run_rows(void *job, int64_t a, int64_t b)
{
    assert(a >= 0 && a <= b && b <= ((schedule *)job)->slab->rows);
    schedule *const w = job;
    const tl_slab *const s = w->slab;
    tl_state right_block[BLOCK], *const buffer =
                                     malloc((size_t)w->buffers * BLOCK * sizeof *buffer + 1);
    if (!buffer) __atomic_store_n(&w->failed, 1, __ATOMIC_RELAXED);

    for (int64_t n; a < b && buffer; a += n) {
        n = b - a < BLOCK ? b - a : BLOCK;
        for (int64_t k = 0; k < w->count; k++) {
            const step *const t = &w->steps[k];
            const int64_t size = (int64_t)1 << t->left.level;
            tl_state *const l = buffer + t->to * BLOCK, *const r =
                                                            t->right.slab
                                                                ? right_block
                                                                : buffer + t->right.buffer * BLOCK;
            if (t->left.slab) read_slab(w, &t->left, a, n, l);
            if (t->right.slab) read_slab(w, &t->right, a, n, r);
            for (int64_t i = 0; i < n; i++)
                if (s->counted)
                    tl_join_counted(w->op, &l[i], &r[i]);
                else
                    w->op->combine(&l[i], &r[i], size, size);
        }

        for (int j = 0; j < s->count; j++) {
            unsigned char *const to = w->slab->state + (j * s->rows + a) * s->bytes;
            const place *const p = &w->node[j];
            const tl_state *const from = p->slab ? right_block : buffer + p->buffer * BLOCK;
            if (p->slab && p->slab->counted == s->counted) {
                memcpy(to, p->slab->state + (p->node * s->rows + a) * s->bytes,
                       (size_t)(n * s->bytes));
                continue;
            }

            if (p->slab) read_slab(w, p, a, n, right_block);
            for (int64_t i = 0; i < n; i++) copy_state(to + i * s->bytes, &from[i], s->bytes);
        }
    }

    free(buffer);
}

/* The same as tl_counter_push, with places instead of states. */
static int find_steps(schedule *w, const joining *g, const change *x)
{
    place top[TL_MAX_NODES + 1];
    char used[TL_MAX_NODES + 1] = {0};
    int64_t i = 0, j = 0, end = 0;
    int count = 0;

    while (i + j < x->count + x->more) {
        const tl_slab *const s = next_of(g, x, &i, &j);
        if (!count) end = s->start;
        for (int node = 0; node < s->count; node++) {
            place p = {s, node, 0, s->level[node]};
            end += (int64_t)1 << p.level;
            while (count && top[count - 1].level == p.level && !((end >> p.level) & 1)) {
                const place left = top[--count];
                int to = left.buffer;
                if (left.slab)
                    for (to = 0; used[to];) to++;
                used[to] = 1;
                if (to >= w->buffers) w->buffers = to + 1;
                w->steps[w->count++] = (step){left, p, to};
                if (!p.slab) used[p.buffer] = 0;
                p = (place){NULL, 0, to, p.level + 1};
            }

            top[count++] = p;
        }
    }

    memcpy(w->node, top, (size_t)count * sizeof *top);
    return count;
}

static int join_rows(const joining *g, const change *x, tl_slab *slab)
{
    assert(slab->bytes <= sizeof(tl_state));
    int64_t i = 0, j = 0, nodes = 0;
    while (i + j < x->count + x->more) nodes += next_of(g, x, &i, &j)->count;
    place node[TL_MAX_NODES + 1];
    schedule w = {
        .op = g->op, .slab = slab, .node = node, .steps = malloc((size_t)nodes * sizeof *w.steps)};
    if (!w.steps) return 0;
    find_steps(&w, g, x);
    g->share(g->threads, slab->rows, run_rows, &w);
    free(w.steps);

    return !w.failed;
}

static tl_slab *join(const joining *g, const change *x)
{
    int64_t i = 0, j = 0, end;
    const tl_slab *const first = next_of(g, x, &i, &j);

    end = first->end;
    while (i + j < x->count + x->more) end = next_of(g, x, &i, &j)->end;
    tl_slab *const s = tl_slab_new(first->start, end, first->rows, g->op, g->counted);
    if (!s || join_rows(g, x, s)) return s;
    free(s);
    return NULL;
}

/* The changes that the slabs of b make to a, in order. Each takes the slabs of b that touch each
 * other, directly or through slabs of a. Returns their number; -1: out of memory. */
static int64_t find_changes(const joining *g, change *changes)
{
    const tl_slabs *const a = g->a, *const b = g->b;
    int64_t n = 0;

    for (int64_t j = 0; j < b->count; n++) {
        change *x = &changes[n];
        *x = (change){.first = before(a, b->slab[j]->start), .from = j};
        if (x->first > 0 && a->slab[x->first - 1]->end == b->slab[j]->start) x->first--, x->count++;

        for (;;) { /* alternately from b and from a */
            const int64_t end = b->slab[j++]->end, next = x->first + x->count;
            x->more++;
            if (next == a->count || a->slab[next]->start != end) break;
            x->count++;
            if (j == b->count || b->slab[j]->start != a->slab[next]->end) break;
        }

        x->slab = join(g, x);
        if (x->slab) continue;
        while (n > 0) free(changes[--n].slab);
        return -1;
    }

    return n;
}

int tl_slabs_counted(const tl_slabs *a) { return a->count && a->slab[0]->counted; }

static int raise_all(tl_slabs *a, const tl_scalar *op)
{
    tl_slab **const raised = calloc((size_t)a->count + 1, sizeof *raised);
    tl_counter c;
    int good = raised != NULL;

    for (int64_t i = 0; i < a->count && good; i++) {
        const tl_slab *const s = a->slab[i];
        raised[i] = tl_slab_new(s->start, s->end, s->rows, op, 1);
        good = raised[i] != NULL;
        for (int64_t row = 0; row < s->rows && good; row++) {
            tl_slab_get(s, row, &c);
            tl_counter_raise(&c, op);
            tl_slab_set(raised[i], row, &c);
        }
    }

    for (int64_t i = 0; i < a->count && raised; i++) {
        free(good ? a->slab[i] : raised[i]);
        if (good) a->slab[i] = raised[i];
    }

    free(raised);
    return good;
}

int tl_slabs_join(tl_slabs *a, const tl_slabs *b, const tl_scalar *op, tl_share_rows *share,
                  int threads)
{
    assert(threads >= 1);
    const int counted = tl_slabs_counted(a) || tl_slabs_counted(b);
    if (b->count && a->count && counted > tl_slabs_counted(a) && !raise_all(a, op)) return 0;

    change one, *changes = b->count > 1 ? malloc((size_t)b->count * sizeof *changes) : &one;
    const joining g = {a, b, op, share, threads, counted};
    const int64_t n = changes && reserve(a, b->count) ? find_changes(&g, changes) : -1;

    /* From the last change on, so the indices of earlier slabs stay valid. */
    for (int64_t k = n - 1; k >= 0; k--) {
        const change *x = &changes[k];
        for (int64_t i = 0; i < x->count; i++) free(a->slab[x->first + i]);
        const int64_t after = x->first + x->count;
        memmove(a->slab + x->first + 1, a->slab + after,
                (size_t)(a->count - after) * sizeof *a->slab);
        a->slab[x->first] = x->slab;
        a->count += 1 - x->count;
    }

    if (changes != &one) free(changes);
    return n >= 0;
}
