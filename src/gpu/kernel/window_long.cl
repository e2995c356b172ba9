/* SPDX-License-Identifier: MIT
 * Whole windows that are longer than window_whole's. The levels are taken in groups, the lowest LOW by tiles of
 * neighbouring items, then HIGH at a time by tiles of rows: the items that lie 2^l apart, l being the group's first
 * level, are neighbours there. (Who launches them cuts the levels: window_long.c.)
 *
 *   window_part  PART_LEVEL      x              -> Y_LOW                the tiles of window_whole.cl
 *   window_rows                  Y_LOW          -> Y_(LOW + HIGH) ...   while w has bits beyond the next group
 *   window_rows                  the highest Y  -> its bits of w        then onto those the bits of the groups below it
 *   window_part  PART_LAST_BITS  x              -> the bits below LOW folded onto that, and the results
 *
 * A window is folded at its bits from high to low, as order.md has it, so a group's bits come after those of all higher
 * groups. In a tile of rows item (row, column) is number row * COLUMNS + column, and a distance of r rows one of r *
 * COLUMNS items: the levels of window_whole again. */
KERNEL_OF(window_part)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    SHARED stretch tile[2];
    SHARED borders cuts[2];
    windows of;
    part make;
    of.at = at, of.count = count, of.before = before, of.after = after, of.valid = valid;
    of.least = least, of.edges = edges, of.shift = shift, of.width = width;
    make.what = (int)what, make.states = states;
    whole_windows((LOCAL four *)ROOM_OF_PARAMETER, tile, cuts, b, out, of, jobs, each, top_level, kept_levels,
        make);
}

/* Rows of 2^log items. from: `count` items; to: results of windows of `rows` rows, from row + shift on, for `results`
 * items. more: folded onto what `to` holds, and the window's highest bit is not folded. A tile: `each` rows of results,
 * a row's quads column * COLUMN_QUADS and after. All quads in whole. */
KERNEL_OF(window_rows)
{
    LOCAL four *z = (LOCAL four *)ROOM_OF_PARAMETER;
    const int w = (int)rows << FIRST_LEVEL, top = (int)top_level + FIRST_LEVEL, kept = (int)kept_levels,
        me = thread_index();
    const int tiles_log = (int)log - FIRST_LEVEL, quads_log = (int)log - 2;
    for (i64 job = group_index(); job < jobs; job += group_count()) {
        const i64 row = (job >> tiles_log) * each, column = (job & (((i64)1 << tiles_log) - 1)) * COLUMN_QUADS;
        four y[MINE];
        UNROLL for (int m = 0; m < MINE; m++)
        {
            const int q = m * WINDOW_THREADS + me;
            const i64 at = ((row + q / COLUMN_QUADS + shift) << quads_log) + column + q % COLUMN_QUADS;
            y[m] = from[at * QUAD < count ? at : 0];
        }
        double_quads(z, y, FIRST_LEVEL, top, w, kept, 0, tiles_log);
        BARRIER();
        UNROLL for (int m = 0; m < MINE; m++)
        {
            const int q = m * WINDOW_THREADS + me;
            const i64 at = ((row + q / COLUMN_QUADS) << quads_log) + column + q % COLUMN_QUADS;
            if (more && q / COLUMN_QUADS < each && at * QUAD < results) y[m] = to[at];
        }
        fold_bits(z, y, top, w, kept, tiles_log, shift << log);
        UNROLL for (int m = 0; m < MINE; m++)
        {
            const int q = m * WINDOW_THREADS + me;
            const i64 at = ((row + q / COLUMN_QUADS) << quads_log) + column + q % COLUMN_QUADS;
            if (q / COLUMN_QUADS < each && at * QUAD < results) to[at] = y[m];
        }
        BARRIER();
    }
}
