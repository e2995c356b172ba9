/* SPDX-License-Identifier: MIT
 * How the host runs scans and windows.
 *
 *   RECURSE      scan the tiles; scan their sums in the same way; give each tile what is before it
 *   SEGMENTS     RECURSE, with the flags of the segments
 *   LOOKBACK     one launch
 *   POLL         one launch
 *   WINDOW       one launch
 *   DIFFERENCE   RECURSE, then two places of the running sum per result
 *   TRANSPOSE    one launch: a thread for each element, or a group for each tile of 32 x 32
 *   HISTOGRAM    the counts are cleared; one launch of as many groups as the device runs at once */
#include "rung.h"
#include <string.h>

enum { OUT = 0, SUMS = 1, LEVELS_MOST = 4 };

static int64_t up(int64_t n, int64_t by) { return (n + by - 1) / by; }

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

/* The same by segments: heads, and whether one has begun in the tile (seen), go along. sums + 1:
 * the heads of the sums. */
static int segment_level(job *j, memory *in, memory *heads, memory *out, memory *seen, int64_t n,
                         int sums, ladder_error *error)
{
    const int64_t groups = up(n, j->rung->each);
    if (sums + 1 >= WORK_MOST)
        return fail_with(error, 2, "%lld elements are too many for this scan", (long long)j->n);
    memory *const above = j->work[sums], *const above_heads = j->work[sums + 1];
    const argument scan[] = {MEMORY(in),    MEMORY(heads),       MEMORY(out), MEMORY(seen),
                             MEMORY(above), MEMORY(above_heads), COUNT(n)};
    int code = launch_kernel(j, "tile_scan", groups, scan, 7, error);
    if (groups < 2 || code) return code;
    code = segment_level(j, above, above_heads, above, above_heads, groups, sums + 2, error);
    const argument spread[] = {MEMORY(out), MEMORY(seen), MEMORY(above), COUNT(n)};
    return code ? code : launch_kernel(j, "propagate", groups, spread, 4, error);
}

static int zero_cells(job *j, memory *m, int64_t n, ladder_error *error)
{
    const argument arguments[] = {MEMORY(m), COUNT(n)};
    const int64_t groups = up(n, SUPPORT_THREADS);
    return launch_support(j, "zero", groups < 1024 ? groups : 1024, arguments, 2, error);
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
        return segment_level(j, in, j->work[HEADS], j->work[OUT], j->work[2], j->n, 3, error);
    case LOOKBACK: {
        const argument arguments[] = {MEMORY(in),         MEMORY(j->work[0]), MEMORY(j->work[1]),
                                      MEMORY(j->work[2]), MEMORY(j->work[3]), MEMORY(j->work[4]),
                                      COUNT(j->n)};
        code = zero_cells(j, j->work[3], tiles, error);
        if (!code) code = zero_cells(j, j->work[4], 1, error);
        return code ? code : launch_kernel(j, kernel, tiles, arguments, 7, error);
    }
    case POLL: {
        const argument arguments[] = {MEMORY(in), MEMORY(j->work[0]), MEMORY(j->work[1]),
                                      MEMORY(j->work[2]), COUNT(j->n)};
        code = zero_cells(j, j->work[1], 4 * tiles, error);
        if (!code) code = zero_cells(j, j->work[2], 1, error);
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
        code = zero_cells(j, j->work[OUT], BINS, error);
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
