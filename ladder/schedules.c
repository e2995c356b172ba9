/* SPDX-License-Identifier: MIT
 * How the host runs a rung, by its schedule. Reductions: launches, again on what is left, and the
 * fold of the last few results.
 *
 *   HALVES, EIGHTHS   a launch for each shrinking, in place from the second on; a tail cell
 *   TILES             a result per tile, again until at most one tile is left; two arrays take
 *                     turns; the processor folds the rest
 *   LEVELS            the same until one is left
 *   STRIDES           one launch; the processor folds a result per group
 *   ATOMIC, ONCE      one launch; one cell
 *   COOPERATIVE       the same, with at most one group per processor: they wait for each other
 *
 * What the processor would fold, job_complete folds on the device: times are of the result
 * there. Scans, windows and the like:
 *
 *   RECURSE      scan the tiles; scan their sums in the same way; give each tile what is before it
 *   SEGMENTS     RECURSE, with the flags of the segments
 *   LOOKBACK     one launch
 *   POLL         one launch
 *   WINDOW       one launch
 *   DIFFERENCE   RECURSE, then two places of the running sum per result
 *   TRANSPOSE    one launch: a thread for each element, or a group for each tile of 32 x 32
 *   HISTOGRAM    the counts are cleared; one launch of as many groups as the device runs at once */
#include "ceiling.h"
#include "rung.h"
#include <string.h>

int64_t rung_groups(const rung *g, int64_t n, const place *p)
{
    const int64_t useful = (n + g->threads - 1) / g->threads;
    const int64_t most = g->schedule == COOPERATIVE ? place_processors(p) : place_groups(p);
    return useful < 1 ? 1 : useful < most ? useful : most;
}
int64_t job_groups(const job *j) { return rung_groups(j->rung, j->n, j->place); }

static int64_t up(int64_t n, int64_t by) { return (n + by - 1) / by; }

static int shrink(job *j, memory *in, int64_t *left, int of, const char *kernel,
                  ladder_error *error)
{
    int code = 0;
    memory *from = in;
    int64_t n = *left;
    for (; n >= of && !code; n /= of) {
        const argument arguments[] = {MEMORY(from), MEMORY(j->work[0]), MEMORY(j->work[1]),
                                      COUNT(n)};
        code = launch_kernel(j, kernel, up(n / of, j->rung->threads), arguments, 4, error);
        from = j->work[0];
    }
    j->where = from == in ? -1 : 0;
    *left = n;
    return code;
}

static int fold_tiles(job *j, memory *in, int64_t *left, int64_t enough, const char *kernel,
                      ladder_error *error)
{
    int code = 0, turn = 0;
    memory *from = in;
    int64_t n = *left;
    if (j->rung->each < 2)
        return fail_with(error, 2,
                         "%s: each is 1 and must be at least 2: groups of one element "
                         "leave as many sums",
                         j->rung->name);
    for (; n > enough && !code; n = up(n, j->rung->each), turn = !turn) {
        const argument arguments[] = {MEMORY(from), MEMORY(j->work[turn]), COUNT(n)};
        code = launch_kernel(j, kernel, up(n, j->rung->each), arguments, 3, error);
        from = j->work[turn];
    }
    j->where = from == in ? -1 : !turn;
    *left = n;
    return code;
}

/* Cells are set by a launch too: a copy from the host would wait. */
static int set_cells(job *j, const char *kernel, memory *m, int64_t n, ladder_error *error)
{
    const argument arguments[] = {MEMORY(m), COUNT(n)};
    const int64_t groups = up(n, SUPPORT_THREADS);
    return launch_support(j, kernel, groups < 1024 ? groups : 1024, arguments, 2, error);
}

static int has_tail(const job *j)
{
    return j->rung->schedule == HALVES || j->rung->schedule == EIGHTHS;
}

int needs_fold(const job *j, int64_t partials)
{
    if (j->rung->shape != SHAPE_reduce || is_host(j->rung)) return 0;
    return partials > 1 || (partials && has_tail(j));
}

int job_complete(job *j, int64_t partials, ladder_error *error)
{
    if (j->rung->shape != SHAPE_reduce || is_host(j->rung) || !partials) return 0;
    const int tail = has_tail(j);
    memory *const from = j->where < 0 ? j->input[0] : j->work[j->where];
    const argument arguments[] = {MEMORY(from), MEMORY(tail ? j->work[1] : from), MEMORY(j->cell),
                                  COUNT(partials), COUNT(tail)};
    j->result = needs_fold(j, partials) ? j->cell : from;
    return j->result == from ? 0 : launch_support(j, "finish", 1, arguments, 5, error);
}

int reduce_launch(job *j, int at, int64_t *partials, ladder_error *error)
{
    memory *const in = j->input[at % j->copies];
    const char *const kernel = program_kernel(j->program, 0);
    int64_t left = j->n;
    int code = 0;
    j->where = -1;
    *partials = 0;
    if (!j->n) return 0;
    switch (j->rung->schedule) {
    case HALVES:
    case EIGHTHS:
        code = set_cells(j, "clear", j->work[1], 1, error);
        if (!code) code = shrink(j, in, &left, j->rung->schedule == HALVES ? 2 : 8, kernel, error);
        break;
    case TILES:
        code = fold_tiles(j, in, &left, j->rung->threads, kernel, error);
        break;
    case LEVELS:
        code = fold_tiles(j, in, &left, 1, kernel, error);
        break;
    case STRIDES:
    case ATOMIC: {
        const argument arguments[] = {MEMORY(in), MEMORY(j->work[0]), COUNT(j->n)};
        const int cell = j->rung->schedule == ATOMIC;
        if (cell) code = set_cells(j, "clear", j->work[0], 1, error);
        left = job_groups(j);
        if (!code) code = launch_kernel(j, kernel, left, arguments, 3, error);
        if (cell) left = 1;
        j->where = 0;
        break;
    }
    default: { /* ONCE, COOPERATIVE */
        const argument arguments[] = {MEMORY(in), MEMORY(j->work[1]), MEMORY(j->work[2]),
                                      MEMORY(j->work[0]), COUNT(j->n)};
        code = set_cells(j, "zero", j->work[2], 1, error);
        if (!code) code = launch_kernel(j, kernel, job_groups(j), arguments, 5, error);
        left = 1;
        j->where = 0;
    }
    }
    *partials = left;
    return code;
}

static element fold(const job *j, element a, element b)
{
    const kind k = j->setting.elem;
    const int less = k >= KIND_F32   ? b.f < a.f
                     : k == KIND_U64 ? (uint64_t)b.i < (uint64_t)a.i
                                     : b.i < a.i;
    const int more = k >= KIND_F32   ? a.f < b.f
                     : k == KIND_U64 ? (uint64_t)a.i < (uint64_t)b.i
                                     : a.i < b.i;
    element e;
    char cell[8];
    if (j->setting.operation) return (j->setting.operation == 1 ? less : more) ? b : a;
    if (k >= KIND_F32)
        e.f = a.f + b.f;
    else
        e.i = (int64_t)((uint64_t)a.i + (uint64_t)b.i);
    data_put(cell, k, 0, e); /* rounds, wraps */
    return data_get(cell, k, 0);
}

int reduce_finish(job *j, int64_t partials, element *out, ladder_error *error)
{
    const kind k = j->setting.elem;
    const int64_t size = (int64_t)kind_bytes(k);
    double bound;
    *out = known_result(k, 0, j->setting.operation, 0, &bound); /* of nothing */
    j->partials = partials;
    if (!partials) return 0;
    memory *from = j->where < 0 ? j->input[0] : j->work[j->where];
    const double start = clock_seconds();
    int code = place_read(j->place, j->output, from, partials * size, error);
    j->copying = clock_seconds() - start;
    if (code) return code;
    *out = data_get(j->output, k, 0);
    for (int64_t i = 1; i < partials; i++) *out = fold(j, *out, data_get(j->output, k, i));
    if (has_tail(j)) {
        char tail[8];
        code = place_read(j->place, tail, j->work[1], size, error);
        *out = fold(j, *out, data_get(tail, k, 0));
    }
    return code;
}

/* ---- scans, windows, transposes, histograms ---- */

enum { OUT = 0, SUMS = 1, LEVELS_MOST = 4 };

/* out: the scan of in, n elements; the sums of its tiles go to work[sums], and so on. */
static int scan_level(job *j, memory *in, memory *out, int64_t n, int sums, ladder_error *error)
{
    const int64_t groups = up(n, j->rung->each);
    if (sums >= WORK_MOST)
        return fail_with(error, 2, "%lld elements are too many for this scan", (long long)j->n);
    memory *const above = j->work[sums];
    const argument scan[] = {MEMORY(in), MEMORY(out), MEMORY(above), COUNT(n)};
    int code = launch_kernel(j, "tile_scan", groups, scan, 4, error);
    if (groups < 2 || code) return code;
    code = scan_level(j, above, above, groups, sums + 1, error);
    const argument spread[] = {MEMORY(out), MEMORY(above), COUNT(n)};
    return code ? code : launch_kernel(j, "propagate", groups, spread, 3, error);
}

/* Elements, and a flag for each: does a segment begin there (of results: has one begun in the tile)? */
typedef struct flagged {
    memory *elements, *flags;
} flagged;

/* Like scan_level for segments: it also scans the flags. Those of the sums are work[sums + 1]. */
static int segment_level(job *j, flagged in, flagged out, int64_t n, int sums, ladder_error *error)
{
    const int64_t groups = up(n, j->rung->each);
    if (sums + 1 >= WORK_MOST)
        return fail_with(error, 2, "%lld elements are too many for this scan", (long long)j->n);
    const flagged above = {j->work[sums], j->work[sums + 1]};
    const argument scan[] = {MEMORY(in.elements),
                             MEMORY(in.flags),
                             MEMORY(out.elements),
                             MEMORY(out.flags),
                             MEMORY(above.elements),
                             MEMORY(above.flags),
                             COUNT(n)};
    int code = launch_kernel(j, "tile_scan", groups, scan, 7, error);
    if (groups < 2 || code) return code;
    code = segment_level(j, above, above, groups, sums + 2, error);
    const argument spread[] = {MEMORY(out.elements), MEMORY(out.flags), MEMORY(above.elements),
                               COUNT(n)};
    return code ? code : launch_kernel(j, "propagate", groups, spread, 4, error);
}

int series_launch(job *j, int at, ladder_error *error)
{
    memory *const in = j->input[at % j->copies];
    const char *const kernel = program_kernel(j->program, 0);
    const int64_t tiles = up(j->n, j->rung->each ? j->rung->each : 1);
    int code = 0;
    if (!j->n) return 0;
    switch (j->rung->schedule) {
    case RECURSE:
        return scan_level(j, in, j->work[OUT], j->n, SUMS, error);
    case SEGMENTS:
        return segment_level(j, (flagged){in, j->work[HEADS]}, (flagged){j->work[OUT], j->work[2]},
                             j->n, 3, error);
    case LOOKBACK: {
        const argument arguments[] = {MEMORY(in),         MEMORY(j->work[0]), MEMORY(j->work[1]),
                                      MEMORY(j->work[2]), MEMORY(j->work[3]), MEMORY(j->work[4]),
                                      COUNT(j->n)};
        code = set_cells(j, "zero", j->work[3], tiles, error);
        if (!code) code = set_cells(j, "zero", j->work[4], 1, error);
        return code ? code : launch_kernel(j, kernel, tiles, arguments, 7, error);
    }
    case POLL: {
        const argument arguments[] = {MEMORY(in), MEMORY(j->work[0]), MEMORY(j->work[1]),
                                      MEMORY(j->work[2]), COUNT(j->n)};
        code = set_cells(j, "zero", j->work[1], 4 * tiles, error);
        if (!code) code = set_cells(j, "zero", j->work[2], 1, error);
        return code ? code : launch_kernel(j, kernel, tiles, arguments, 5, error);
    }
    case WINDOW: {
        const argument arguments[] = {MEMORY(in), MEMORY(j->work[OUT]), COUNT(j->n),
                                      COUNT(j->width)};
        return launch_kernel(j, kernel, tiles, arguments, 4, error);
    }
    case TRANSPOSE: {
        /* a tile of side x side elements per group, where a group has fewer threads */
        int64_t rows, cols, side = 1;
        while (side * side < j->rung->each) side++;
        matrix_of(j->n, &rows, &cols);
        const argument arguments[] = {MEMORY(in), MEMORY(j->work[OUT]), COUNT(rows), COUNT(cols)};
        const int *const tile = j->rung->tile;
        const int64_t groups = tile[0] ? up(cols, tile[0]) * up(rows, tile[1])
                               : j->rung->each > j->rung->threads ? up(rows, side) * up(cols, side)
                                                                  : up(rows * cols, j->rung->each);
        return launch_kernel(j, kernel, groups, arguments, 4, error);
    }
    case HISTOGRAM: {
        const argument arguments[] = {MEMORY(in), MEMORY(j->work[OUT]), COUNT(j->n)};
        code = set_cells(j, "zero", j->work[OUT], BINS, error);
        return code ? code : launch_kernel(j, kernel, job_groups(j), arguments, 3, error);
    }
    default: { /* DIFFERENCE: work[1] has the running sum, the sums of its tiles follow */
        const argument arguments[] = {MEMORY(j->work[1]), MEMORY(j->work[OUT]), COUNT(j->n),
                                      COUNT(j->width)};
        code = scan_level(j, in, j->work[1], j->n, 2, error);
        return code ? code
                    : launch_kernel(j, "difference", up(j->n, j->rung->threads), arguments, 4,
                                    error);
    }
    }
}

int series_finish(job *j, ladder_error *error)
{
    const int64_t bytes =
        j->rung->schedule == HISTOGRAM ? BINS * 4 : j->n * (int64_t)kind_bytes(j->setting.elem);
    if (!j->n) memset(j->output, 0, (size_t)j->output_bytes); /* nothing was run */
    return j->n ? place_read(j->place, j->output, j->work[OUT], bytes, error) : 0;
}
