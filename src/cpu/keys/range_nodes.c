/* SPDX-License-Identifier: MIT
 * The nodes from which the ranges of one thread are folded: the elements read so far, and ring
 * buffers of each level (cpu/kernel/ranges_kernel.h has the method); and how many levels cost
 * least. */
#include "keys.h"
#include "cpu/widen.h"
#include <assert.h>
#include <stdlib.h>

enum {
    ALIGN = 64,
    WIDE = 2 * TL_WIDE_BYTES,
    RESULTS = TL_RANGE_BATCH * 2 * 8,
    PLACES = 1 << 30 /* places that are numbered from one base */
};

void tl_range_nodes_close(tl_range_nodes *s)
{
    free(s->memory);
    s->memory = NULL;
    s->levels = 0;
}

int tl_range_nodes_open(tl_range_nodes *s, const tl_plan *plan, int levels)
{
    assert(0 < levels && levels <= TL_RANGE_LEVELS);
    if (s->memory && levels <= s->levels) return 1;
    if (s->failed || !plan->core || !plan->core->ranges) return 0;

    tl_range_nodes_close(s);
    int64_t tiles = 0;

    for (int l = 0; l < levels; l++) {
        s->rings[l] = (tl_range_ring){.first = tiles, .tiles = (int32_t)tl_range_tiles(l)};
        tiles += s->rings[l].tiles;
    }

    const size_t soa = (size_t)plan->core->soa_bytes,
                 before_nodes = WIDE + 2 * RESULTS + ((soa + ALIGN - 1) & -(size_t)ALIGN);

    /* Pages that are never written cost nothing, so short sequences do not use whole rings. */
    s->memory = calloc(1, before_nodes + ALIGN + (size_t)tiles * soa);
    s->failed = !s->memory;
    if (s->failed) return 0;

    s->wide = (char *)(((uintptr_t)s->memory + ALIGN - 1) & -(uintptr_t)ALIGN);
    s->result = s->wide + WIDE;
    s->out = s->result + RESULTS;
    s->soa = s->out + RESULTS;
    s->nodes = s->wide + before_nodes;
    s->levels = levels;
    s->base = s->from = s->head = 0;
    return 1;
}

/* The number of the tile of element e. */
static int64_t tile_of(const tl_range_nodes *s, int64_t e)
{
    return (e - s->base) >> TL_TILE_LEVEL;
}

/* Must reading start again at `low`? True if the elements read so far begin later or end far
 * before, or if the rings have moved past the tile. */
static int starts_again(const tl_range_nodes *s, int64_t low, int64_t high)
{
    return s->from == s->head || low < s->from || low > s->head || high - s->base > PLACES ||
           tile_of(s, high - 1) < tile_of(s, s->head - 1);
}

int64_t tl_range_nodes_cost(const tl_range_nodes *s, int64_t low, int64_t high)
{
    if (starts_again(s, low, high)) return high - low;
    return high > s->head ? high - s->head : 0;
}

/* Reads the next elements, at most up to `end` or the end of the tile, and folds `count` ranges. */
static void step(tl_range_nodes *s, const tl_plan *plan, const char *x, int64_t end, int64_t count)
{
    tl_par par = plan->par;
    tl_range_work k = {.levels = s->levels, .rings = s->rings, .nodes = s->nodes, .soa = s->soa};

    if (end > s->head) {
        /* A partial vector is computed again, because the elements after it were not known. */
        k.at = (s->head - s->base) & -(int64_t)TL_ABREAST;
        k.tile = tile_of(s, s->head);
        const int64_t tile_end = (k.tile + 1) << TL_TILE_LEVEL;
        k.m = (end - s->base < tile_end ? end - s->base : tile_end) - k.at;
        s->head = s->base + k.at + k.m;
        k.x = x + (s->base + k.at) * plan->op->elem_bytes;

        if (plan->in && plan->op->inputs == 2) {
            plan->in->apply_two(plan->in, s->wide, s->wide + TL_WIDE_BYTES, k.x, k.m);
            par.second = TL_WIDE_BYTES;
        } else if (plan->in) {
            plan->in->apply(plan->in, s->wide, k.x, k.m);
        }

        if (plan->in) k.x = s->wide;
        assert(k.m > 0 && k.at + k.m <= tile_end);
    } else {
        k.tile = tile_of(s, s->head - 1);
    }

    for (int l = 0; l < s->levels; l++) s->rings[l].current = (int32_t)(k.tile % s->rings[l].tiles);
    k.results = count;
    k.from = s->place;
    k.length = s->length;
    plan->core->ranges(&k, par);
}

void tl_range_nodes_fold(tl_range_nodes *s, const tl_plan *plan, const char *x, int64_t low,
                         int64_t high, int64_t count)
{
    if (starts_again(s, low, high)) {
        s->base = low & -(int64_t)TL_TILE;
        s->from = s->head = low & -(int64_t)TL_ABREAST;
    }

    const int64_t tile = tile_of(s, high - 1);
    assert(s->base <= low && low < high);
    while (s->head < high && tile_of(s, s->head) < tile) step(s, plan, x, high, 0);
    assert(high - s->base <= PLACES);
    for (int64_t i = 0; i < count; i++) s->place[i] += (int32_t)(low - s->base);
    for (; count & (TL_ABREAST - 1); count++) { /* pad to whole vectors */
        s->place[count] = (int32_t)(high - s->base - 1);
        s->length[count] = 1;
    }

    step(s, plan, x, high, count);
}

tl_range_survey tl_range_survey_of(const tl_ranges *ranges)
{
    tl_range_survey v = {.sorted = 1};
    int64_t from, end, tile = 0;

    for (int64_t r = 0; r < ranges->results; r++) {
        tl_range_at(ranges, r, &from, &end);
        if (end <= from) continue;
        const int64_t length = end - from, bits = tl_top_level(length) + 1;
        v.by_level[tl_min(bits, TL_RANGE_LEVELS)] += length;
        v.all += length;
        if (length > v.longest) v.longest = length;
        if ((end - 1) >> TL_TILE_LEVEL < tile) v.sorted = 0;
        tile = (end - 1) >> TL_TILE_LEVEL;
    }
    return v;
}

int tl_range_levels(const tl_range_survey *v, int64_t n)
{
    const double each = (double)tl_min(v->all, n);
    double cost = (double)v->all, best = cost;
    int levels = 0;

    for (int l = 1; l < TL_RANGE_LEVELS; l++) {
        cost -= (double)v->by_level[l];
        if (each * l + cost < best) best = each * l + cost, levels = l;
    }
    return levels;
}

int64_t *tl_range_order(const tl_ranges *ranges)
{
    const int64_t tiles = (ranges->n >> TL_TILE_LEVEL) + 1;
    int64_t *const next = calloc((size_t)tiles + 1, sizeof *next), from, end;
    int64_t *const order = next ? malloc((size_t)ranges->results * sizeof *order) : NULL;

    for (int counted = 0; order && counted < 2; counted++) {
        for (int64_t t = 0; counted && t < tiles; t++) next[t + 1] += next[t];
        for (int64_t r = 0; r < ranges->results; r++) {
            tl_range_at(ranges, r, &from, &end);
            int64_t *const of_tile = &next[(end > 0 ? end - 1 : 0) >> TL_TILE_LEVEL];
            if (counted)
                order[of_tile[0]++] = r;
            else
                of_tile[1]++;
        }
    }

    free(next);
    return order;
}
