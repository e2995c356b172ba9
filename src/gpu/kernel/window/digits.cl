/* SPDX-License-Identifier: MIT
 * Levels in passes of radix 8, for states of 12 to 24 bytes, of which the registers hold only few:
 * w is split into octal digits. Local memory holds the elements, and nodes of 8 and of 64 items:
 *
 *   up      a thread has a run of neighbouring items and the 7 after them: elements -> Y_3. If w
 *           has three digits, items that lie 8 apart: Y_3 -> Y_6
 *   digits  from high to low: nodes of a column, 64, 8 and at last 1 item apart, are folded onto
 *           the thread's results
 *
 * A thread goes down its items and keeps only the last nodes of each level, at most 8. With a run
 * of 11 items, a level costs 1.3 nodes per item and no store. A digit reads its nodes once for two
 * bits, and again for the third. There are no bank conflicts: runs are odd, and columns are
 * neighbours. */
enum { DIGIT = (1 << DIGIT_LOG) - 1, DIGIT_NODES = PASS_RUN + DIGIT };

/* Index of the first of a thread's items, which are 2^log apart. */
fn int first_item(int log)
{
    const int me = thread_index();
    return (me >> log << log) * PASS_RUN + (me & ((1 << log) - 1));
}

/* Items of 2^log elements each, 2^log apart, from item i on: elements, or nodes in local memory.
 * number: index of element 0; done: elements of a window before item i. */
typedef struct {
    int elements;
    LOCAL const u8 *from;
    int i, log;
    i64 number, done;
    par p;
} digit_source;

fn state digit_item(const digit_source *x, int j)
{
    const int i = x->i + (j << x->log);
    return x->elements ? lift(((LOCAL const elem *)x->from)[i], x->number + i, x->p)
                       : ((LOCAL const node *)x->from)[i].s;
}

/* Computes nodes of 8 items. */
fn void digit_up(LOCAL node *to, const digit_source *x)
{
    const int log = x->log;
    state s[DIGIT_NODES], two[DIGIT_NODES], four_[DIGIT_NODES];

    UNROLL for (int j = 0; j < DIGIT_NODES; j++)
    {
        s[j] = digit_item(x, j);
        if (j >= 1) two[j - 1] = TWIN(s[j - 1], s[j], (i64)1 << log);
        if (j >= 3) four_[j - 3] = TWIN(two[j - 3], two[j - 1], (i64)2 << log);
        if (j >= 7) to[x->i + ((j - 7) << log)].s = TWIN(four_[j - 7], four_[j - 3], (i64)4 << log);
    }
}

/* Folds the bits 4 and 2 of a digit (`bits` is 2, 4 or 6) onto the results y, or sets y (onto
 * 0). */
fn void fold_two_bits(state *y, const int onto, const int bits, const digit_source *x)
{
    const int log = x->log;
    state s[DIGIT_NODES], two[DIGIT_NODES], four_[DIGIT_NODES];

    /* see plus_halves */
    if (!x->elements) SURELY((real)((i64)1 << log) > num(1.0) && (real)((i64)2 << log) > num(1.0));

    UNROLL for (int j = 0; j < PASS_RUN + bits - 1; j++)
    {
        const int r = j - bits + 1; /* the result whose last node this is */
        s[j] = digit_item(x, j);
        if (j >= 1) two[j - 1] = TWIN(s[j - 1], s[j], (i64)1 << log);
        if (j >= 3 && bits > 2) four_[j - 3] = TWIN(two[j - 3], two[j - 1], (i64)2 << log);

        if (r >= 0) {
            state v = bits > 2 ? four_[r] : two[r];
            if (onto) v = COMBINE(y[r], v, x->done, (i64)(bits & 4 ? 4 : 2) << log);
            if (bits == 6) v = COMBINE(v, two[r + 4], x->done + ((i64)4 << log), (i64)2 << log);
            y[r] = v;
        }
    }
}

/* Folds a nonzero digit onto the results y, or sets y (onto 0): the bits 4 and 2, then the bit 1,
 * whose node comes after theirs. */
fn void fold_digit(state *y, const int onto, int digit, digit_source x)
{
    const int high = digit & 6;
    if (high == 6) fold_two_bits(y, onto, 6, &x);
    if (high == 4) fold_two_bits(y, onto, 4, &x);
    if (high == 2) fold_two_bits(y, onto, 2, &x);
    if (!(digit & 1)) return;

    x.i += high << x.log, x.done += (i64)high << x.log;
    if (onto || high) {
        UNROLL for (int j = 0; j < PASS_RUN; j++) y[j] =
            COMBINE(y[j], digit_item(&x, j), x.done, (i64)1 << x.log);
    } else {
        UNROLL for (int j = 0; j < PASS_RUN; j++) y[j] = digit_item(&x, j);
    }
}

/* A pass: folds a digit of w into z, from items that begin x.i items further on. skip: there is
 * nothing to fold; onto: z has the fold of the higher digits; in_place: the items are z itself. */
typedef struct {
    digit_source x;
    int digit, skip, onto, in_place;
} digit_pass;

/* The members of the tile are read where they are needed, to save registers. */
fn void fold_pass(LOCAL node *z, digit_pass a, LOCAL const tile *p)
{
    const int log = a.x.log, i = first_item(log), results = p->results,
              active = !a.skip && i < results;
    state y[PASS_RUN];
    if (SKIPS && a.skip) return;

    a.x.i += i;
    if (active && a.onto) {
        UNROLL for (int j = 0; j < PASS_RUN; j++) y[j] = z[i + (j << log)].s;
    }

    if (active && (a.x.elements || a.onto))
        fold_digit(y, 1, a.digit, a.x);
    else if (active)
        fold_digit(y, 0, a.digit, a.x);

    if (!SKIPS || a.in_place) BARRIER();
    if (active) {
        UNROLL for (int j = 0; j < PASS_RUN; j++) z[i + (j << log)].s = y[j];
    }

    BARRIER();
}

/* ---- a tile (tile.cl) ---- */

typedef struct {
    int none;
} digits_registers;

enum { digits_items = PASS_ITEMS };

fn tile_range digits_tiles(digits_registers *r, const launch *l) { return strided_tiles(l); }

fn int digits_prefetches(LOCAL const tile *p, const launch *l) { return 1; }

/* Arrays of nodes for windows of w; results need at least one. Y_3 is the last array, before the
 * elements. */
fn int digit_levels(int w) { return (w >= 1 << DIGIT_LOG) + (w >= 1 << (2 * DIGIT_LOG)); }

fn LOCAL elem *digit_elements(LOCAL u8 *memory, const launch *l)
{
    const int levels = digit_levels((int)l->of.width);
    return (LOCAL elem *)((LOCAL node *)memory + (levels ? levels : 1) * PASS_ITEMS);
}

fn void digits_load(LOCAL u8 *memory, digits_registers *r, LOCAL const tile *p, const launch *l)
{
    load_in_order(digit_elements(memory, l), p, l);
}

fn digit_source source_of(int elements, LOCAL const u8 *from, int log, LOCAL const tile *p,
                          const launch *l)
{
    digit_source x;
    x.elements = elements, x.from = from, x.log = log, x.i = 0, x.done = 0, x.p = l->b.p;
    x.number = elements ? p->lo : 0;
    return x;
}

fn void digits_fold(LOCAL u8 *memory, digits_registers *r, LOCAL const tile *p,
                    LOCAL const borders *d, const launch *l)
{
    LOCAL node *const z = (LOCAL node *)memory;
    const int w = (int)l->of.width, count = digit_levels(w);
    LOCAL const u8 *const elements = (LOCAL const u8 *)digit_elements(memory, l);
    int onto = 0, folded = 0; /* folded: elements of a window, by the higher digits */

    if (count) {
        digit_source x = source_of(1, elements, 0, p, l);
        x.i = first_item(0);
        digit_up(z + (count - 1) * PASS_ITEMS, &x);
    }
    if (!SKIPS || count) BARRIER();

    if (count > 1) {
        digit_source x = source_of(0, (LOCAL const u8 *)(z + PASS_ITEMS), DIGIT_LOG, p, l);
        x.i = first_item(DIGIT_LOG);
        digit_up(z, &x);
    }
    if (!SKIPS || count > 1) BARRIER();

    digit_pass a;
    ROLLED for (int k = count; k > 0; k--)
    {
        a.x = source_of(0, (LOCAL const u8 *)(z + (count - k) * PASS_ITEMS), k * DIGIT_LOG, p, l);
        a.digit = w >> a.x.log & DIGIT, a.onto = onto, a.in_place = k == count;
        a.x.i = folded, a.x.done += folded;
        /* digit 1 without higher digits: z has that node already */
        a.skip = !(a.digit > 1 || (a.digit && onto));
        fold_pass(z, a, p);
        if (a.digit) onto = 1;
        folded += a.digit << k * DIGIT_LOG;
    }

    a.x = source_of(1, elements, 0, p, l);
    a.digit = w & DIGIT, a.skip = !a.digit, a.onto = onto, a.in_place = 0;
    a.x.i = folded, a.x.done += folded;
    fold_pass(z, a, p);
}

fn void digits_store(LOCAL u8 *memory, digits_registers *r, LOCAL const tile *p,
                     LOCAL const borders *d, const launch *l)
{
    store_in_order((LOCAL const node *)memory, p, d, l);
}
