/* SPDX-License-Identifier: MIT
 * Streaming: windows longer than those of passes.cl, read and written once (CUDA; states of at most
 * 8 bytes; no segments). A block takes its tiles one after the other along the sequences. Local
 * memory keeps what the next tiles need of the previous ones:
 *
 *   x     items           the last RADIX - 1 before a tile's new ones
 *   low   Y_a             the last SQUARE - RADIX       a = PASS_LOG, RADIX = 2^a, SQUARE = 2^2a
 *   high  Y_2a            the last w - SQUARE
 *
 * A tile adds STREAM_ITEMS items: x -> low -> high, each step in registers as in pass_up of
 * passes.cl. Then its windows are folded at w's bits: bits from 2a on read high (and overwrite the
 * nodes at its beginning, which no later tile needs), bits from a to 2a - 1 read low, and lower
 * bits read x. At the end all three arrays move to the left by a tile. So each item is read once,
 * where rows.cl needs seven streams through memory. The first tiles of a block, of w items, have no
 * results.
 *
 * Indices, relative to the first window of the tile: x[k] is item w - RADIX + k, low[k] begins at
 * item w - SQUARE + k, high[k] at item k. */
#define STREAM_BLOCKS 2
enum {
    SQUARE = RADIX * RADIX,
    STREAM_ITEMS = STREAM_TILE(PASS_LOG),
    stream_items = STREAM_ITEMS,
    /* neighbouring items of a thread; odd, which avoids bank conflicts */
    STREAM_RUN = STREAM_ITEMS / WINDOW_THREADS | 1,
    STREAM_ROWS = STREAM_ITEMS / WINDOW_THREADS, /* rows of RADIX items */
    KEPT_LOW = SQUARE - RADIX,
    COPIES = STREAM_ITEMS / QUAD
};

/* e: the items of the next tile, whose loads overlap with the stores of this one. from: flat index
 * of the first window that has a result; end: of the block's first window that another block
 * computes. */
typedef struct {
    elem e[STREAM_ROWS];
    i64 from, end;
} stream_registers;

/* Where the arrays begin in local memory. */
typedef struct {
    LOCAL state *high, *low, *x;
    int w;
} stream_arrays;

fn stream_arrays arrays_of(LOCAL u8 *memory, const launch *l)
{
    stream_arrays a;
    a.w = (int)length_in(l->of), a.high = (LOCAL state *)memory;
    a.low = a.high + STREAM_HIGH(PASS_LOG, a.w), a.x = a.low + STREAM_LOW(PASS_LOG);
    return a;
}

/* Loads items item to item + STREAM_ITEMS - 1 of all sequences, end to end. e keeps its value where
 * there is no such item. */
fn void load_stream(elem *e, GLOBAL const u8 *x, i64 item, i64 all)
{
    const int me = thread_index();
    if (item >= 0 && item + STREAM_ITEMS <= all && ADDRESS(x) % TL_SIZE == 0) {
        GLOBAL const elem *const from = (GLOBAL const elem *)x + item + me;
        UNROLL for (int k = 0; k < STREAM_ROWS; k++) e[k] = from[k * WINDOW_THREADS];
        return;
    }
    for (int k = 0; k < STREAM_ROWS; k++) {
        const i64 at = item + me + k * WINDOW_THREADS;
        if (at >= 0 && at < all) e[k] = load_element(x + at * TL_SIZE);
    }
}

/* Neighbouring tiles; those before tile `begin` only fill the arrays. */
fn tile_range stream_tiles(stream_registers *r, const launch *l)
{
    const i64 begin = group_index() * l->jobs / group_count(), w = length_in(l->of);
    tile_range t;

    t.first = begin - (w + STREAM_ITEMS - 2) / STREAM_ITEMS, t.step = 1;
    t.end = (group_index() + 1) * l->jobs / group_count();
    if (begin == t.end) t.first = t.end;

    r->from = l->of.at + begin * STREAM_ITEMS, r->end = l->of.at + t.end * STREAM_ITEMS;
    UNROLL for (int k = 0; k < STREAM_ROWS; k++) r->e[k] = 0;
    if (t.first < t.end)
        load_stream(r->e, l->b.x, l->of.at + t.first * STREAM_ITEMS + w - 1, all_items(l->b));
    return t;
}

fn int stream_prefetches(LOCAL const tile *p, const launch *l) { return 0; }

fn void stream_load(LOCAL u8 *memory, stream_registers *r, LOCAL const tile *p, const launch *l)
{
    const stream_arrays a = arrays_of(memory, l);
    const i64 item = p->lo + a.w - 1;
    UNROLL for (int k = 0; k < STREAM_ROWS; k++)
    {
        const int i = thread_index() + k * WINDOW_THREADS;
        a.x[RADIX - 1 + i] = lift(r->e[k], item + i, l->b.p);
    }
}

/* Computes nodes of RADIX items for `many` items that lie `pitch` apart and have 2^more elements
 * each. */
fn void stream_up(LOCAL state *to, LOCAL const state *from, const int many, const int pitch,
                  const int more)
{
    enum { LAST = RADIX };
    state s[STREAM_RUN + RADIX];
    UNROLL for (int j = 0; j < many + LAST - 1; j++) s[j] = from[j * pitch];
    double_nodes(s, many + LAST - 2, 0, more);
    double_nodes(s, many + LAST - 4, 1, more);
    double_nodes(s, many + LAST - 8, 2, more);
    double_nodes(s, many + LAST - 16, 3, more);
    if (PASS_LOG > 4) double_nodes(s, many + LAST - 32, 4, more);
    UNROLL for (int j = 0; j < many; j++) to[j * pitch] = s[j];
}

/* stream_high, stream_inner, stream_low: fold the bits of w, from Y_2a, from Y_a and from items,
 * onto the results at the beginning of `high`. */
fn void stream_high(const stream_arrays *a)
{
    enum { ROWS = STREAM_ITEMS / SQUARE };
    ROLLED for (int i = thread_index(); i < SQUARE; i += WINDOW_THREADS)
    {
        state y[ROWS];
        fold_each_bit(y, 0, ROWS, places_at(a->high + i, SQUARE, 2 * PASS_LOG, 0),
                      a->w >> (2 * PASS_LOG), PASS_TOP);
        UNROLL for (int j = 0; j < ROWS; j++) a->high[i + j * SQUARE] = y[j];
    }
}

fn void stream_inner(const stream_arrays *a)
{
    const int i = thread_index() / RADIX * (STREAM_ROWS * RADIX) + thread_index() % RADIX,
              left = a->w & (SQUARE - 1);
    state y[STREAM_ROWS];
    UNROLL for (int j = 0; j < STREAM_ROWS; j++) y[j] = a->high[i + j * RADIX];
    fold_each_bit(y, 1, STREAM_ROWS,
                  places_at(a->low + i + SQUARE - left, RADIX, PASS_LOG, a->w - left),
                  left >> PASS_LOG, PASS_LOG - 1);
    UNROLL for (int j = 0; j < STREAM_ROWS; j++) a->high[i + j * RADIX] = y[j];
}

fn void stream_low(const stream_arrays *a)
{
    const int i = thread_index() * STREAM_RUN, left = a->w & (RADIX - 1);
    state y[STREAM_RUN];
    if (i >= STREAM_ITEMS) return;

    UNROLL for (int j = 0; j < STREAM_RUN; j++) y[j] = a->high[i + j];
    fold_each_bit(y, 1, STREAM_RUN, places_at(a->x + i + RADIX - left, 1, 0, a->w - left), left,
                  PASS_LOG - 1);

    if (i + STREAM_RUN <= STREAM_ITEMS) {
        UNROLL for (int j = 0; j < STREAM_RUN; j++) a->high[i + j] = y[j];
    } else {
        UNROLL for (int j = 0; j < STREAM_RUN; j++)
        {
            if (i + j < STREAM_ITEMS) a->high[i + j] = y[j];
        }
    }
}

fn void stream_fold(LOCAL u8 *memory, stream_registers *r, LOCAL const tile *p,
                    LOCAL const borders *d, const launch *l)
{
    const stream_arrays a = arrays_of(memory, l);
    const int me = thread_index(), row = me / RADIX * (STREAM_ROWS * RADIX) + me % RADIX;
    if (me * STREAM_RUN < STREAM_ITEMS)
        stream_up(a.low + KEPT_LOW + me * STREAM_RUN, a.x + me * STREAM_RUN, STREAM_RUN, 1, 0);
    BARRIER();
    stream_up(a.high + (a.w - SQUARE) + row, a.low + row, STREAM_ROWS, RADIX, PASS_LOG);
    BARRIER();

    if (p->lo >= r->from) {
        stream_high(&a);
        BARRIER();
        if (a.w & (SQUARE - RADIX)) stream_inner(&a);
        BARRIER();
        if (a.w & (RADIX - 1)) stream_low(&a);
    }

    if (p->lo + STREAM_ITEMS < r->end)
        load_stream(r->e, l->b.x, p->lo + a.w - 1 + STREAM_ITEMS, all_items(l->b));
    BARRIER();
}

/* Moves at most COPIES quads, from quad `first` on and below `many`, to the left by a tile. */
fn void move_quads(LOCAL state *z, int first, int many)
{
    LOCAL four *const to = (LOCAL four *)z;
    for (int q = first + thread_index(); q < many && q < first + COPIES; q += WINDOW_THREADS)
        to[q] = to[q + COPIES];
}

fn void stream_store(LOCAL u8 *memory, stream_registers *r, LOCAL const tile *p,
                     LOCAL const borders *d, const launch *l)
{
    const stream_arrays a = arrays_of(memory, l);
    const int kept_high = a.w - SQUARE;

    if (p->lo >= r->from) store_in_order((LOCAL const node *)a.high, p, d, l);
    move_quads(a.x, 0, RADIX / QUAD);
    move_quads(a.low, 0, KEPT_LOW / QUAD);
    for (int q = 0; q * QUAD < kept_high; q += COPIES) {
        BARRIER();
        move_quads(a.high, q, (kept_high + QUAD - 1) / QUAD);
    }
}
