/* SPDX-License-Identifier: MIT
 * Streaming windows: windows longer than those of passes.cl, read and written once (CUDA; states of
 * at most 8 bytes; no segments). A block takes its tiles one after the other along the sequences.
 * Local memory keeps what the next tiles need of the previous ones:
 *
 *   x     items           the last RADIX - 1 before a tile's new ones
 *   low   Y_a             the last SQUARE - RADIX       a = PASS_LOG, RADIX = 2^a, SQUARE = 2^2a
 *   high  Y_2a            the last w - SQUARE
 *
 * A tile adds ALONG_TILE items: x -> low -> high, each step in registers as in pass_up of
 * passes.cl. Then its windows are folded at w's bits: bits from 2a on read high (and overwrite the
 * nodes at its beginning, which no later tile needs), bits from a to 2a - 1 read low, and lower
 * bits read x. At the end all three arrays move to the left by a tile. So each item is read once,
 * where long.cl needs seven streams through memory. The first tiles of a block, of w items, have no
 * results.
 *
 * Indices, relative to the first window of the tile: x[k] is item w - RADIX + k, low[k] begins at
 * item w - SQUARE + k, high[k] at item k. */
#if PASS_LOG && PASS_LOG != DIGIT_LOG && defined(TL_CUDA)
enum {
    SQUARE = RADIX * RADIX,
    ALONG_TILE = ALONG(PASS_LOG),
    /* neighbouring items of a thread; odd, which avoids bank conflicts */
    ALONG_RUN = ALONG_TILE / WINDOW_THREADS | 1,
    ALONG_ROWS = ALONG_TILE / WINDOW_THREADS,    /* rows of RADIX items */
    KEPT_LOW = SQUARE - RADIX,
    COPIES = ALONG_TILE / QUAD
};

/* Computes nodes of RADIX items for `many` items that lie `pitch` apart and have 2^more elements
 * each. */
fn void along_up(LOCAL state *to, LOCAL const state *from, const int many, const int pitch,
                 const int more)
{
    enum { LAST = RADIX };
    state s[ALONG_RUN + RADIX];
    UNROLL for (int j = 0; j < many + LAST - 1; j++) s[j] = from[j * pitch];
    pass_double(s, many + LAST - 2, 0, more);
    pass_double(s, many + LAST - 4, 1, more);
    pass_double(s, many + LAST - 8, 2, more);
    pass_double(s, many + LAST - 16, 3, more);
    if (PASS_LOG > 4) pass_double(s, many + LAST - 32, 4, more);
    UNROLL for (int j = 0; j < many; j++) to[j * pitch] = s[j];
}

/* along_high, along_middle, along_low: fold the bits of w, from Y_2a, from Y_a and from items, onto
 * the results at the beginning of `high`. */
fn void along_high(LOCAL state *high, int w)
{
    enum { ROWS = ALONG_TILE / SQUARE };
    ROLLED for (int i = thread_index(); i < SQUARE; i += WINDOW_THREADS) {
        state y[ROWS];
        pass_bits(y, 0, ROWS, high + i, w >> (2 * PASS_LOG), PASS_TOP, SQUARE, 0, 2 * PASS_LOG);
        UNROLL for (int j = 0; j < ROWS; j++) high[i + j * SQUARE] = y[j];
    }
}

fn void along_middle(LOCAL state *high, LOCAL const state *low, int w)
{
    const int i = thread_index() / RADIX * (ALONG_ROWS * RADIX) + thread_index() % RADIX,
              left = w & (SQUARE - 1);
    state y[ALONG_ROWS];
    UNROLL for (int j = 0; j < ALONG_ROWS; j++) y[j] = high[i + j * RADIX];
    pass_bits(y, 1, ALONG_ROWS, low + i + SQUARE - left, left >> PASS_LOG, PASS_LOG - 1, RADIX,
              w - left, PASS_LOG);
    UNROLL for (int j = 0; j < ALONG_ROWS; j++) high[i + j * RADIX] = y[j];
}

fn void along_low(LOCAL state *high, LOCAL const state *x, int w)
{
    const int i = thread_index() * ALONG_RUN, left = w & (RADIX - 1);
    state y[ALONG_RUN];
    if (i >= ALONG_TILE) return;
    UNROLL for (int j = 0; j < ALONG_RUN; j++) y[j] = high[i + j];
    pass_bits(y, 1, ALONG_RUN, x + i + RADIX - left, left, PASS_LOG - 1, 1, w - left, 0);
    if (i + ALONG_RUN <= ALONG_TILE) {
        UNROLL for (int j = 0; j < ALONG_RUN; j++) high[i + j] = y[j];
    } else {
        UNROLL for (int j = 0; j < ALONG_RUN; j++)
        {
            if (i + j < ALONG_TILE) high[i + j] = y[j];
        }
    }
}

/* Moves at most COPIES quads, from quad `first` on and below `many`, to the left by a tile. */
fn void along_move(LOCAL state *z, int first, int many)
{
    LOCAL four *const to = (LOCAL four *)z;
    for (int q = first + thread_index(); q < many && q < first + COPIES; q += WINDOW_THREADS)
        to[q] = to[q + COPIES];
}

/* Loads items item to item + ALONG_TILE - 1 of all sequences, end to end. e keeps its value where
 * there is no such item. The loads overlap with the stores of the tile before. */
fn void along_load(elem *e, GLOBAL const u8 *x, i64 item, i64 all)
{
    const int me = thread_index();
    if (item >= 0 && item + ALONG_TILE <= all && ADDRESS(x) % TL_SIZE == 0) {
        GLOBAL const elem *const from = (GLOBAL const elem *)x + item + me;
        UNROLL for (int k = 0; k < ALONG_ROWS; k++) e[k] = from[k * WINDOW_THREADS];
        return;
    }
    for (int k = 0; k < ALONG_ROWS; k++) {
        const i64 at = item + me + k * WINDOW_THREADS;
        if (at >= 0 && at < all) e[k] = load_element(x + at * TL_SIZE);
    }
}

fn void along_windows(LOCAL u8 *room, LOCAL stretch *tile, batch b, results out, windows of,
                      i64 jobs, part make)
{
    const int w = (int)length_in(of), me = thread_index(), kept_high = w - SQUARE;
    LOCAL state *const high = (LOCAL state *)room, *const low = high + ALONG_HIGH(PASS_LOG, w);
    LOCAL state *const x = low + ALONG_LOW(PASS_LOG);
    const i64 begin = group_index() * jobs / group_count(),
              end = (group_index() + 1) * jobs / group_count();
    const i64 all = all_items(b), first = begin - (w + ALONG_TILE - 2) / ALONG_TILE;
    elem e[ALONG_ROWS];
    UNROLL for (int k = 0; k < ALONG_ROWS; k++) e[k] = 0;
    if (begin < end) along_load(e, b.x, of.at + first * ALONG_TILE + w - 1, all);
    for (i64 job = first; job < end && begin < end; job++) {
        const i64 item = of.at + job * ALONG_TILE + w - 1;
        UNROLL for (int k = 0; k < ALONG_ROWS; k++)
            x[RADIX - 1 + me + k * WINDOW_THREADS] =
                lift(e[k], item + me + k * WINDOW_THREADS, b.p);
        if (me == 0 && job >= begin)
            stretch_of(tile, b, out, of, job, mark_of(b, job), ALONG_TILE, ALONG_TILE);
        BARRIER();
        if (me * ALONG_RUN < ALONG_TILE)
            along_up(low + KEPT_LOW + me * ALONG_RUN, x + me * ALONG_RUN, ALONG_RUN, 1, 0);
        BARRIER();
        const int row = me / RADIX * (ALONG_ROWS * RADIX) + me % RADIX;
        along_up(high + kept_high + row, low + row, ALONG_ROWS, RADIX, PASS_LOG);
        BARRIER();
        if (job >= begin) {
            along_high(high, w);
            BARRIER();
            if (w & (SQUARE - RADIX)) along_middle(high, low, w);
            BARRIER();
            if (w & (RADIX - 1)) along_low(high, x, w);
        }
        if (job + 1 < end) along_load(e, b.x, item + ALONG_TILE, all);
        BARRIER();
        if (job >= begin) pass_store((LOCAL const node *)high, tile, 0, b, out, of, make);
        along_move(x, 0, RADIX / QUAD);
        along_move(low, 0, KEPT_LOW / QUAD);
        for (int q = 0; q * QUAD < kept_high; q += COPIES) {
            BARRIER();
            along_move(high, q, (kept_high + QUAD - 1) / QUAD);
        }
    }
}

KERNEL_OF(window_along)
{
    PART_OF_PARAMETERS;
    SHARED stretch tile;
    along_windows((LOCAL u8 *)ROOM_OF_PARAMETER, &tile, b, out, of, jobs, make);
}
#endif
