/* SPDX-License-Identifier: MIT
 * Windows of their whole length that are longer than those of window_whole. The levels are computed
 * in groups: the lowest LOW levels by tiles of neighbouring items, then HIGH at a time by tiles of
 * rows. In a tile of rows, items that lie 2^l apart are neighbours, where l is the group's first
 * level. (gpu/window/long.c chooses the groups.)
 *
 *   window_part  PART_LEVEL      x              -> Y_LOW
 *   window_rows                  Y_LOW          -> Y_(LOW + HIGH) ...    while w has higher bits
 *   window_rows                  the highest Y  -> the fold at its bits of w; then the bits of
 *                                                  each lower group are folded onto that
 *   window_part  PART_LAST_BITS  x              -> the bits below LOW folded onto that; results
 *
 * A window is folded at its bits from high to low (order.md), so the bits of a group come after
 * those of all higher groups. In a tile of rows, item (row, column) has index row * COLUMNS +
 * column, and a distance of r rows is one of r * COLUMNS items: so the levels are those of
 * window_whole.
 *
 * For columns, window_tall_part takes the place of window_part. Then Y lies in rows too, with an
 * item for each column, so items that are 2^l elements apart lie 2^l rows apart. */
KERNEL_OF(window_tall_part)
{
    PART_OF_PARAMETERS;
    tall_windows((LOCAL four *)ROOM_OF_PARAMETER, b, out, of, jobs, each, top_level, kept_levels,
                 make);
}

KERNEL_OF(window_part)
{
    PART_OF_PARAMETERS;
    SHARED stretch tile[2];
    SHARED borders cuts[2];
#if PASS_LOG
    pass_windows((LOCAL u8 *)ROOM_OF_PARAMETER, tile, cuts, b, out, of, jobs, each, make);
#else
    whole_windows((LOCAL four *)ROOM_OF_PARAMETER, tile, cuts, b, out, of, jobs, each, top_level,
                  kept_levels, make);
#endif
}

/* Folds rows of nodes. A row has `quads` quads; it is 2^log elements of a sequence. from: `count`
 * items; to: the results of windows of `rows` rows that begin `shift` rows after the result, for
 * `results` items. more: folded onto the contents of `to`, which are of the rows before them. A
 * tile has `each` rows of results, and the quads column * COLUMN_QUADS and after of each row. Quads
 * are always whole. */
KERNEL_OF(window_rows)
{
    LOCAL four *z = (LOCAL four *)ROOM_OF_PARAMETER;
    enum { STEP = WINDOW_THREADS / COLUMN_QUADS }; /* rows between a thread's quads */
    const int w = (int)rows << FIRST_LEVEL, top = (int)top_level + FIRST_LEVEL,
              kept = (int)kept_levels;
    const int mine = thread_index() / COLUMN_QUADS, column = thread_index() % COLUMN_QUADS;
    const int per_item = (int)log - FIRST_LEVEL; /* log2 of the elements of a tile's item */
    const i64 tiles = quads / COLUMN_QUADS;      /* tiles of a row */
    part make;
    make.what = more ? PART_LAST_BITS : PART_RESULTS, make.states = to;
    for (i64 job = group_index(); job < jobs; job += group_count()) {
        const i64 chunk = quotient(job, tiles);
        const i64 to0 =
            (chunk * each + mine) * quads + (job - chunk * tiles) * COLUMN_QUADS + column;
        four y[MINE];
        UNROLL for (int m = 0; m < MINE; m++)
        {
            const i64 at = to0 + (m * STEP + shift) * quads;
            y[m] = from[at * QUAD < count ? at : 0];
        }
        double_quads(z, y, FIRST_LEVEL, top, w, kept, 0, per_item, 0, 0);
        BARRIER();
        int some = 0;
        UNROLL for (int m = 0; m < MINE; m++)
            some |= (mine + m * STEP < each && (to0 + m * STEP * quads) * QUAD < results) << m;
        fold_onto(y, 1, make, to0, STEP * quads, some, shift << log, top, per_item);
        fold_bits(z, y, top, w, kept, per_item, shift << log, 0);
        UNROLL for (int m = 0; m < MINE; m++)
        {
            if (some >> m & 1) to[to0 + m * STEP * quads] = y[m];
        }
        BARRIER();
    }
}
