/* SPDX-License-Identifier: MIT
 * Passes (passes.cl) for states of 12 to 24 bytes. The registers hold only few of these, so the
 * radix is 8: w is split into octal digits. Local memory holds the elements, and nodes of 8 and of
 * 64 items:
 *
 *   up      a thread has a run of neighbouring items and the 7 after them: elements -> Y_3. If w
 *           has three digits, items that lie 8 apart: Y_3 -> Y_6
 *   digits  from high to low: nodes of a column, 64, 8 and at last 1 item apart, are folded onto
 *           the thread's results
 *
 * A thread walks down its items and keeps only the last nodes of each level, at most 8. With a run
 * of 11 items, a level costs 1.3 nodes per item and no store. A digit reads its nodes once for two
 * bits, and again for the third. There are no bank conflicts: runs are odd, and columns are
 * neighbours. */
#define NODE_ALIGN (FOUR_LOW_BIT(sizeof(state)) > 16 ? 16 : FOUR_LOW_BIT(sizeof(state)))
/* A state in local memory, aligned so that it is one load. */
typedef struct ALIGNED(NODE_ALIGN) {
    state s;
} node;

#if PASS_LOG == DIGIT_LOG
typedef elem pass_item;
enum { DIGIT = (1 << DIGIT_LOG) - 1, PASS_NODES = PASS_RUN + DIGIT };

/* Index of the first of a thread's items, which are 2^log apart. */
fn int digit_first(int log)
{
    const int me = thread_index();
    return (me >> log << log) * PASS_RUN + (me & ((1 << log) - 1));
}

/* Item i as a state, from elements (number: index of the first one) or from nodes. */
fn state digit_item(const int elements, LOCAL const u8 *from, int i, i64 number, par p)
{
    return elements ? lift(((LOCAL const elem *)from)[i], number + i, p)
                    : ((LOCAL const node *)from)[i].s;
}

/* Computes nodes of 8 items, which are 2^log apart and have 2^log elements each. */
fn void digit_up(LOCAL node *to, const int elements, LOCAL const u8 *from, int log, i64 number,
                 par p)
{
    const int i = digit_first(log);
    state s[PASS_NODES], two[PASS_NODES], four_[PASS_NODES];
    UNROLL for (int j = 0; j < PASS_NODES; j++)
    {
        s[j] = digit_item(elements, from, i + (j << log), number, p);
        if (j >= 1) two[j - 1] = TWIN(s[j - 1], s[j], (i64)1 << log);
        if (j >= 3) four_[j - 3] = TWIN(two[j - 3], two[j - 1], (i64)2 << log);
        if (j >= 7) to[i + ((j - 7) << log)].s = TWIN(four_[j - 7], four_[j - 3], (i64)4 << log);
    }
}

/* Folds the bits 4 and 2 of a digit (`bits` is 2, 4 or 6) onto the results y, or sets y if have is
 * 0. Their nodes begin at item i. done: elements of a window before them. */
fn void digit_fold(state *y, const int have, const int bits, const int elements,
                   LOCAL const u8 *from, int i, int log, i64 done, i64 number, par p)
{
    state s[PASS_NODES], two[PASS_NODES], four_[PASS_NODES];
    /* see plus_halves */
    if (!elements) SURELY((real)((i64)1 << log) > num(1.0) && (real)((i64)2 << log) > num(1.0));
    UNROLL for (int j = 0; j < PASS_RUN + bits - 1; j++)
    {
        const int r = j - bits + 1; /* the result whose last node this is */
        s[j] = digit_item(elements, from, i + (j << log), number, p);
        if (j >= 1) two[j - 1] = TWIN(s[j - 1], s[j], (i64)1 << log);
        if (j >= 3 && bits > 2) four_[j - 3] = TWIN(two[j - 3], two[j - 1], (i64)2 << log);
        if (r >= 0) {
            state v = bits > 2 ? four_[r] : two[r];
            if (have) v = COMBINE(y[r], v, done, (i64)(bits & 4 ? 4 : 2) << log);
            if (bits == 6) v = COMBINE(v, two[r + 4], done + ((i64)4 << log), (i64)2 << log);
            y[r] = v;
        }
    }
}

fn void digit_folds(state *y, const int have, int digit, const int elements, LOCAL const u8 *from,
                    int i, int log, i64 done, i64 number, par p)
{
    const int high = digit & 6;
    if (high == 6) digit_fold(y, have, 6, elements, from, i, log, done, number, p);
    if (high == 4) digit_fold(y, have, 4, elements, from, i, log, done, number, p);
    if (high == 2) digit_fold(y, have, 2, elements, from, i, log, done, number, p);
    if (!(digit & 1)) return;
    i += high << log, done += (i64)high << log;
    if (have || high) {
        UNROLL for (int j = 0; j < PASS_RUN; j++)
            y[j] = COMBINE(y[j], digit_item(elements, from, i + (j << log), number, p), done,
                           (i64)1 << log);
    } else {
        UNROLL for (int j = 0; j < PASS_RUN; j++)
            y[j] = digit_item(elements, from, i + (j << log), number, p);
    }
}

/* Where the fold of the higher digits is: nowhere yet, in z, in global memory. */
enum { HAVE_NONE, HAVE_LOCAL, HAVE_GLOBAL };

/* Folds a nonzero digit of w into z, from nodes or elements that begin `far` items further on.
 * in_place: these nodes are z itself. The members of the tile are read where they are needed, to
 * save registers. */
fn void digit_pass(LOCAL node *z, int in_place, int digit, int have, LOCAL const stretch *p,
                   windows of, part make, const int elements, LOCAL const u8 *from, int far,
                   int log, par par_)
{
    const int i = digit_first(log), results = p->results, some = i < results;
    const i64 number = elements ? p->lo + of.shift : 0, done = of.shift + far;
    state y[PASS_RUN];
    if (some && have == HAVE_GLOBAL) {
        GLOBAL const node *const high = (GLOBAL const node *)make.states + p->done;
        UNROLL for (int j = 0; j < PASS_RUN; j++)
            y[j] = high[i + (j << log) < results ? i + (j << log) : 0].s;
    }
    if (some && have == HAVE_LOCAL) {
        UNROLL for (int j = 0; j < PASS_RUN; j++) y[j] = z[i + (j << log)].s;
    }
    if (some && (elements || have != HAVE_NONE))
        digit_folds(y, 1, digit, elements, from, i + far, log, done, number, par_);
    else if (some)
        digit_folds(y, 0, digit, elements, from, i + far, log, done, number, par_);
    if (in_place) BARRIER();
    if (some) {
        UNROLL for (int j = 0; j < PASS_RUN; j++) z[i + (j << log)].s = y[j];
    }
    BARRIER();
}

/* Arrays of nodes for windows of w; results need at least one. Y_3 is the last array, before the
 * elements. */
fn int digit_levels(int w) { return (w >= 1 << DIGIT_LOG) + (w >= 1 << (2 * DIGIT_LOG)); }
fn LOCAL pass_item *pass_items(LOCAL u8 *room, int w)
{
    const int levels = digit_levels(w);
    return (LOCAL elem *)((LOCAL node *)room + (levels ? levels : 1) * PASS_TILE);
}

fn void pass_tile(LOCAL u8 *room, LOCAL const stretch *p, batch b, windows of, part make)
{
    LOCAL node *const z = (LOCAL node *)room;
    const int w = (int)of.width, levels = digit_levels(w);
    LOCAL const u8 *const x = (LOCAL const u8 *)pass_items(room, w);
    int have = make.what == PART_LAST_BITS ? HAVE_GLOBAL : HAVE_NONE, far = 0;
    if (make.what == PART_RESULTS_ALONE) {
        GLOBAL const node *const high = (GLOBAL const node *)make.states + p->done;
        for (int i = thread_index(); i < p->results; i += WINDOW_THREADS) z[i] = high[i];
        BARRIER();
        return;
    }
    if (levels) {
        digit_up(z + (levels - 1) * PASS_TILE, 1, x, 0, p->lo + of.shift, b.p);
        BARRIER();
    }
    if (levels > 1) {
        digit_up(z, 0, (LOCAL const u8 *)(z + PASS_TILE), DIGIT_LOG, 0, b.p);
        BARRIER();
    }
    ROLLED for (int k = levels; k > 0; k--)
    {
        const int log = k * DIGIT_LOG, digit = w >> log & DIGIT;
        if (digit > 1 || (digit && (have != HAVE_NONE)))
            digit_pass(z, k == levels, digit, have, p, of, make, 0,
                       (LOCAL const u8 *)(z + (levels - k) * PASS_TILE), far, log, b.p);
        if (digit) have = HAVE_LOCAL; /* digit 1 without higher digits: z has that node already */
        far += digit << log;
    }
    if (w & DIGIT) digit_pass(z, 0, w & DIGIT, have, p, of, make, 1, x, far, 0, b.p);
}
#endif
