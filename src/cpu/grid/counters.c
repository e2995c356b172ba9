/* SPDX-License-Identifier: MIT
 * Counters of groups. Group g belongs to part g % parts. Each thread of a push takes the elements
 * of one part, so no two threads write to the same group.
 *
 *   group   n = 13 (binary 1101): 3 nodes, of 8, 4 and 1 elements, in a block with space for 4
 *           the next element is lifted and combined with each node of its size   n = 14: 8, 4, 2
 *   pools   blocks for 1, 2, 4, ... 64 nodes; a block that became too small is reused
 *   buffer  a group with many elements buffers the last ones; a kernel folds them to one node
 *
 * For exact sums the blocks hold elements instead of nodes. A full block is added to a tl_exact. */
#include "grid.h"
#include "context/context.h"
#include "context/threads.h"
#include "cpu/exact/exact.h"
#include "cpu/widen.h"
#include "cpu/shape.h"
#include <assert.h>
#include <stdlib.h>

enum {
    BUFFER = 1024,         /* bytes of a buffer */
    BUFFERS = 4096,        /* most buffers, in all parts together */
    BUFFER_AFTER = 4,      /* a group gets a buffer after so many times its elements */
    PARTS = 32,            /* most parts */
    CLASSES = 9,           /* blocks of 2^0 .. 2^8 items */
    EXACT_CLASS = 8,       /* a group gets a tl_exact after 2^8 elements */
    CHUNK = 2048,          /* elements that a thread reads at a time */
    AHEAD = 12,            /* prefetch distance in elements */
    RESULTS = 1024,        /* groups that a thread lowers at a time */
    PARALLEL_LEAST = 8192, /* fewest elements for several threads */
    PARALLEL_GROUPS = 4096 /* fewest groups: fewer stay in one cache */
};

static const uint32_t NONE = UINT32_MAX;

typedef struct {
    int64_t n;       /* elements folded; exact sums: elements in the block */
    uint32_t block;  /* number in the pool of its size */
    uint16_t buffer; /* buffer number, from 1; 0: none */
    uint8_t size;    /* the block has space for 2^size items */
} group;

typedef struct {
    unsigned char *bytes;
    uint32_t count, capacity; /* blocks used, and allocated */
    uint32_t free;            /* the first block of the list of free ones, or NONE */
} pool;

typedef struct {
    group *groups;
    int64_t count;
    pool pools[CLASSES];
    unsigned char *buffers;
    int32_t *buffer_fill; /* elements in each buffer */
    int32_t buffer_count;
    tl_exact **exact; /* of each group; NULL: it needs none */
    int failed;
} part;

struct tl_counters {
    tl_plan plan;
    int parts, exact;
    int64_t groups, capacity; /* capacity: groups that the parts have space for */
    size_t item;              /* bytes of an item in a block: a node or an element */
    int32_t fill;             /* elements of a full buffer: a power of two */
    part part[PARTS];
};

tl_counters *tl_counters_open(const tl_plan *plan, int threads)
{
    tl_counters *const c = calloc(1, sizeof *c);
    if (!c) return NULL;

    c->plan = *plan;
    c->exact = plan->exact != NULL;
    for (c->parts = 1; c->parts < PARTS && 2 * c->parts <= threads;) c->parts *= 2;
    c->item = c->exact ? plan->op->elem_bytes : plan->op->state_bytes;
    c->fill = BUFFER / plan->op->elem_bytes;
    for (int p = 0; p < c->parts; p++)
        for (int k = 0; k < CLASSES; k++) c->part[p].pools[k].free = NONE;
    return c;
}

void tl_counters_close(tl_counters *c)
{
    for (int p = 0; c && p < c->parts; p++) {
        part *const a = &c->part[p];
        for (int k = 0; k < CLASSES; k++) free(a->pools[k].bytes);
        for (int64_t g = 0; a->exact && g < a->count; g++) free(a->exact[g]);
        free(a->exact);
        free(a->groups);
        free(a->buffers);
        free(a->buffer_fill);
    }
    free(c);
}

int64_t tl_counters_groups(const tl_counters *c) { return c->groups; }

/* ---- blocks ---- */

static size_t block_bytes(const tl_counters *c, int size)
{
    const size_t bytes = c->item << size;

    /* a free block stores the number of the next one */
    return bytes < sizeof(uint32_t) ? sizeof(uint32_t) : bytes;
}

static unsigned char *block_at(const tl_counters *c, const part *a, int size, uint32_t block)
{
    return a->pools[size].bytes + block * block_bytes(c, size);
}

/* Returns the number of a block of 2^size items, or NONE. */
static uint32_t take_block(const tl_counters *c, part *a, int size)
{
    pool *const p = &a->pools[size];
    const uint32_t first = p->free;
    if (first != NONE) {
        memcpy(&p->free, block_at(c, a, size, first), sizeof p->free);
        return first;
    }

    if (p->count == p->capacity) {
        const uint32_t capacity = p->capacity < 64 ? 64 : p->capacity + p->capacity / 2;
        if (capacity < p->capacity) return NONE;
        unsigned char *const more = realloc(p->bytes, capacity * block_bytes(c, size));
        if (!more) return NONE;
        tl_large_pages(more, capacity * block_bytes(c, size));
        p->bytes = more;
        p->capacity = capacity;
    }

    return p->count++;
}

/* Doubles the space for the group's items. 0: out of memory. */
static int widen(const tl_counters *c, part *a, group *g)
{
    const int size = g->size + 1;
    const uint32_t block = take_block(c, a, size);
    if (block == NONE) return 0;

    unsigned char *const old = block_at(c, a, g->size, g->block);
    memcpy(block_at(c, a, size, block), old, c->item << g->size);
    memcpy(old, &a->pools[g->size].free, sizeof(uint32_t));
    a->pools[g->size].free = g->block;
    g->block = block;
    g->size = (uint8_t)size;
    return 1;
}

/* memcpy, with constant sizes for the usual ones. */
static inline void copy(void *to, const void *from, size_t n)
{
    if (n == 8)
        memcpy(to, from, 8);
    else if (n == 16)
        memcpy(to, from, 16);
    else
        memcpy(to, from, n);
}

/* Appends the node of 2^level elements to the group. 0: out of memory. */
static inline int push_node(const tl_counters *c, part *a, group *g, int level, tl_state *node)
{
    const tl_scalar *const op = c->plan.op;
    const int64_t size = (int64_t)1 << level;
    int count = __builtin_popcountll((unsigned long long)g->n);

    assert(g->n % size == 0);
    if (!g->n && (g->block = take_block(c, a, 0)) == NONE) return 0;

    unsigned char *items = block_at(c, a, g->size, g->block);

    for (; g->n >> level & 1; level++) {
        tl_state left;
        copy(left.bytes, items + (size_t)--count * c->item, c->item);
        op->combine(&left, node, (int64_t)1 << level, (int64_t)1 << level);
        copy(node->bytes, left.bytes, c->item);
    }

    if (count >> g->size) {
        if (!widen(c, a, g)) return 0;
        items = block_at(c, a, g->size, g->block);
    }

    copy(items + (size_t)count * c->item, node->bytes, c->item);
    g->n += size;
    return 1;
}

/* Gives the group a buffer if one is left. 0: out of memory. */
static int give_buffer(const tl_counters *c, part *a, group *g)
{
    const int32_t most = BUFFERS / c->parts, k = a->buffer_count;
    if (k == most) return 1;

    if ((k & (k - 1)) == 0) {
        const size_t capacity = k ? 2 * (size_t)k : 1;
        unsigned char *const buffers = realloc(a->buffers, capacity * BUFFER);
        if (buffers) a->buffers = buffers;
        int32_t *const buffer_fill = realloc(a->buffer_fill, capacity * sizeof *buffer_fill);
        if (buffer_fill) a->buffer_fill = buffer_fill;
        if (!buffers || !buffer_fill) return 0;
    }

    a->buffer_fill[k] = 0;
    g->buffer = (uint16_t)(a->buffer_count = k + 1);
    return 1;
}

/* Folds a full buffer to a node, and appends that to the group. 0: out of memory. */
static int fold_buffer(const tl_counters *c, part *a, group *g)
{
    tl_state node;
    tl_fold(&c->plan, &node, a->buffers + (size_t)(g->buffer - 1) * BUFFER, c->fill, g->n,
            TL_CACHED);
    a->buffer_fill[g->buffer - 1] = 0;
    return push_node(c, a, g, __builtin_ctz((unsigned)c->fill), &node);
}

/* ---- pushes ---- */

/* Appends an element to group number `at` of a part. 0: out of memory. */
static inline int push_one(const tl_counters *c, part *a, int64_t at, const char *x)
{
    group *const g = &a->groups[at];
    const size_t bytes = c->plan.op->elem_bytes;

    if (g->buffer) {
        int32_t *const buffer_fill = &a->buffer_fill[g->buffer - 1];
        copy(a->buffers + (size_t)(g->buffer - 1) * BUFFER + (size_t)*buffer_fill * bytes, x,
             bytes);
        return ++*buffer_fill < c->fill || fold_buffer(c, a, g);
    }
    tl_state node;
    c->plan.op->lift(&node, x, g->n, c->plan.par);
    if (!push_node(c, a, g, 0, &node)) return 0;
    return (g->n & (c->fill - 1)) || g->n < BUFFER_AFTER * c->fill || give_buffer(c, a, g);
}

/* Adds the elements in a group's block to its tl_exact. 0: out of memory. */
static int add_exact(const tl_counters *c, part *a, int64_t at)
{
    if (!a->exact[at]) {
        const int sums = tl_exact_form_of(c->plan.op)->sums;
        if (!(a->exact[at] = malloc((size_t)sums * sizeof **a->exact))) return 0;
        tl_exact_begin(a->exact[at], sums);
    }
    group *const g = &a->groups[at];
    tl_exact_slab(a->exact[at], &c->plan, 1, block_at(c, a, g->size, g->block), g->n);
    g->n = 0;
    return 1;
}

static int push_exact(const tl_counters *c, part *a, int64_t at, const char *x)
{
    group *const g = &a->groups[at];
    if (g->block == NONE && (g->block = take_block(c, a, 0)) == NONE) return 0;
    if (g->n >> g->size && !widen(c, a, g)) return 0;
    memcpy(block_at(c, a, g->size, g->block) + (size_t)g->n * c->item, x, c->item);
    return ++g->n < (int64_t)1 << EXACT_CLASS || add_exact(c, a, at);
}

/* Pushes the elements of part p, in order. */
static int push_part(tl_counters *c, int p, const char *x, const int32_t *codes, int64_t n)
{
    part *const a = &c->part[p];
    const uint32_t mask = (uint32_t)c->parts - 1;

    assert(0 <= p && p < c->parts && (c->parts & (c->parts - 1)) == 0);
    const int shift = __builtin_ctz((unsigned)c->parts);
    const size_t bytes = c->plan.op->elem_bytes;
    struct {
        uint32_t at;    /* index in the chunk */
        uint32_t group; /* index in the part */
    } chunk_items[CHUNK + AHEAD];

    for (int64_t from = 0; from < n; from += CHUNK) {
        const int64_t end = tl_min(n - from, CHUNK);
        int64_t count = 0;
        for (int64_t i = 0; i < end; i++) {
            const uint32_t code = (uint32_t)codes[from + i];
            chunk_items[count].at = (uint32_t)i;
            chunk_items[count].group = code >> shift;
            count += (code & mask) == (uint32_t)p;
        }

        for (int64_t i = 0; i < AHEAD && count; i++)
            chunk_items[count + i] = chunk_items[count - 1];

        for (int64_t i = 0; i < count; i++) {
            __builtin_prefetch(&a->groups[chunk_items[i + AHEAD].group], 1);
            const group *const upcoming = &a->groups[chunk_items[i + AHEAD / 2].group];
            if (upcoming->n && !upcoming->buffer)
                __builtin_prefetch(block_at(c, a, upcoming->size, upcoming->block), 1);
            const char *const item = x + (size_t)(from + chunk_items[i].at) * bytes;
            const int64_t at = chunk_items[i].group;
            if (!(c->exact ? push_exact(c, a, at, item) : push_one(c, a, at, item))) return 0;
        }
    }

    return 1;
}

/* Gives the parts space for `groups` groups. 0: out of memory. */
static int reserve_groups(tl_counters *c, int64_t groups)
{
    if (groups <= c->groups) return 1;
    const int64_t each = (groups + c->parts - 1) / c->parts;
    const int64_t wanted = tl_max(each, 2 * c->capacity);

    for (int p = 0; p < c->parts; p++) {
        part *const a = &c->part[p];
        if (each > c->capacity) {
            group *const more = realloc(a->groups, (size_t)wanted * sizeof *more);
            if (more) a->groups = more;
            tl_large_pages(more, (size_t)wanted * sizeof *more);
            tl_exact **const exact =
                c->exact ? realloc(a->exact, (size_t)wanted * sizeof *exact) : NULL;
            if (exact) a->exact = exact;
            if (!more || (c->exact && !exact)) return 0;
        }

        for (; a->count < each; a->count++) {
            a->groups[a->count] = (group){.block = NONE};
            if (c->exact) a->exact[a->count] = NULL;
        }
    }

    if (each > c->capacity) c->capacity = wanted;
    c->groups = groups;
    return 1;
}

typedef struct {
    tl_counters *c;
    const char *x;
    const int32_t *codes;
    int64_t n;
    int failed; /* out of memory */
} push_work;

static void push_chunk(void *data, int64_t p)
{
    push_work *const w = data;
    if (!push_part(w->c, (int)p, w->x, w->codes, w->n))
        __atomic_store_n(&w->failed, 1, __ATOMIC_RELAXED);
}

int tl_counters_push(tl_counters *c, const void *x, const int32_t *codes, int64_t n, int64_t groups,
                     int64_t *bad)
{
    for (*bad = 0; *bad < n && codes[*bad] >= 0 && codes[*bad] < groups;) ++*bad;
    if (*bad < n) return 1;
    *bad = -1;
    if (!reserve_groups(c, groups)) return 0;
    push_work work = {c, x, codes, n, 0};
    tl_for(n < PARALLEL_LEAST || groups < PARALLEL_GROUPS ? 1 : c->parts, c->parts, push_chunk,
           &work);
    return !work.failed;
}

/* ---- results ---- */

/* Writes the exact sum of a group: of its tl_exact, and of the elements in its block. */
static void lower_exact(const tl_counters *c, const part *a, int64_t at, void *out)
{
    const group *const g = &a->groups[at];
    const tl_exact_form *const form = tl_exact_form_of(c->plan.op);
    tl_exact e[TL_SUMS];
    if (a->exact[at])
        memcpy(e, a->exact[at], form->sums * sizeof *e);
    else
        tl_exact_begin(e, form->sums);
    if (g->n) tl_exact_slab(e, &c->plan, 1, block_at(c, a, g->size, g->block), g->n);
    tl_exact_lower(e, form, c->plan.par.value, out);
}

/* Writes the result of a group: its nodes, then the elements in its buffer. */
static void lower_group(const tl_counters *c, const part *a, int64_t at, void *out)
{
    const group *const g = &a->groups[at];
    tl_counter nodes;
    tl_counter_init(&nodes, 0);
    nodes.end = g->n;

    for (int64_t left = g->n; left; left &= ~((int64_t)1 << nodes.level[nodes.count++])) {
        nodes.level[nodes.count] = (unsigned char)tl_top_level(left);
        memcpy(nodes.node[nodes.count].bytes,
               block_at(c, a, g->size, g->block) + (size_t)nodes.count * c->item, c->item);
    }

    if (g->buffer)
        tl_push_slab(&c->plan, 1, a->buffers + (size_t)(g->buffer - 1) * BUFFER,
                     a->buffer_fill[g->buffer - 1], &nodes);

    tl_counter_lower(&nodes, &c->plan, out);
}

typedef struct {
    const tl_counters *c;
    char *out;
} results_work;

static void write_results(void *data, int64_t first, int64_t end)
{
    const results_work *const w = data;
    const tl_counters *const c = w->c;

    for (int64_t g = first; g < end; g++) {
        void *const to = w->out + g * c->plan.op->result_bytes;
        const part *const a = &c->part[g % c->parts];
        if (c->exact)
            lower_exact(c, a, g / c->parts, to);
        else
            lower_group(c, a, g / c->parts, to);
    }
}

void tl_counters_results(const tl_counters *c, void *out)
{
    results_work work = {c, out};
    tl_for_parts(c->groups < PARALLEL_LEAST ? 1 : c->parts, c->groups, RESULTS, write_results,
                 &work);
}
