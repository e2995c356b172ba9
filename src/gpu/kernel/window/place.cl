/* SPDX-License-Identifier: MIT
 * Where windows lie. The sequences of a batch are numbered end to end, so that a tile can contain
 * many short ones: element i of row r has the flat index r * n + i; the flat index of an element of
 * a segment is its distance from the first offset. A node that spans the border of two sequences
 * has no meaning, and no window uses it. Borders are looked up only where a window may cross one:
 * for rows by a division, for segments in a bitmap with a bit for each element of the tile. */

/* Items of a tile whose levels are made in quads (QUAD_ITEMS, quads.cl), of a tile of cut windows
 * (CUT_ITEMS, cut.cl) and of the larger one. LOCAL_ITEMS: of the largest tile of the program. */
enum {
    QUAD_ITEMS = 1 << QUADS_LOG,
    CUT_ITEMS = 1 << CUT_LOG,
    LARGER = QUAD_ITEMS > CUT_ITEMS ? QUAD_ITEMS : CUT_ITEMS,
    PASS_ITEMS = WINDOW_THREADS * PASS_RUN,
    LOCAL_ITEMS = LARGER > PASS_ITEMS ? LARGER : PASS_ITEMS
};

enum { RESULT_BYTES = OP_LANES * sizeof(result) };

fn i64 higher_bits(i64 length, int level) { return length >> (level + 1) << (level + 1); }

/* ---- the whole batch ---- */

fn i64 all_items(batch b)
{
    return b.flags & OFFSETS ? b.offsets[b.seqs] - b.offsets[0] : b.seqs * b.n;
}

/* Returns the number k of the first offset above flat index f, or 0 if f < 0. */
fn i64 offset_after(batch b, i64 f)
{
    const i64 at = b.offsets[0] + f;
    if (f < 0) return 0;

    i64 low = 0, high = b.seqs + 1; /* invariant: offsets[low] <= at < offsets[high] */
    while (high - low > 1) {
        const i64 middle = (low + high) / 2;
        if (b.offsets[middle] <= at)
            low = middle;
        else
            high = middle;
    }

    return high;
}

fn i64 quotient(i64 f, i64 n) { return ((f | n) >> 32) == 0 ? (i64)((u32)f / (u32)n) : f / n; }

/* The position of a flat index. s: number of its sequence; i: index in it; n: its length. */
typedef struct {
    i64 s, i, n;
} position;

fn position position_of(batch b, i64 f)
{
    position m;
    if (b.flags & OFFSETS) {
        m.s = offset_after(b, f) - 1;
        m.i = b.offsets[0] + f - b.offsets[m.s];
        m.n = b.offsets[m.s + 1] - b.offsets[m.s];
    } else {
        m.s = b.seqs == 1 ? 0 : quotient(f, b.n);
        m.i = f - m.s * b.n;
        m.n = b.n;
    }

    return m;
}

fn GLOBAL const u8 *element_of(batch b, i64 f)
{
    if (b.flags & OFFSETS) return b.x + (b.offsets[0] + f) * b.stride * TL_SIZE;

    const position m = position_of(b, f);
    return b.x + (m.s * b.row_stride + m.i * b.stride) * TL_SIZE;
}

/* Address of the result of element f. If only whole windows have results (valid), it is the result
 * of the window that begins at f. */
fn GLOBAL u8 *result_of(results out, batch b, i64 f)
{
    if (b.flags & OFFSETS) return out.x + (b.offsets[0] + f) * out.stride * RESULT_BYTES;

    const position m = position_of(b, f);
    return out.x + (m.s * out.row_stride + m.i * out.stride) * RESULT_BYTES;
}

/* ---- a launch ---- */

/* The windows of a launch: they begin at flat index `at`, at + 1, ..., and each has one result. */
typedef struct {
    i64 at, count; /* at: start of the first window; count: number of windows */
    i64 before, after, valid, least, edges;
    /* only elements shift to shift + width - 1 of each window are folded */
    i64 shift, width;
} windows;

fn i64 length_in(windows w) { return w.before + w.after + 1; }

/* Four neighbouring states of an array: the unit of access to memory. */
#define LOW_BIT(bytes)       ((bytes) & -(bytes))
#define QUAD_OF_STATES_ALIGN (LOW_BIT(4 * sizeof(state)) > 16 ? 16 : LOW_BIT(4 * sizeof(state)))
typedef struct ALIGNED(QUAD_OF_STATES_ALIGN) {
    state s[QUAD];
} four;

/* A state in memory, aligned so that it is one load. */
#define NODE_ALIGN (LOW_BIT(sizeof(state)) > 16 ? 16 : LOW_BIT(sizeof(state)))
typedef struct ALIGNED(NODE_ALIGN) {
    state s;
} node;

/* The arguments of a launch of tiles. */
typedef struct {
    batch b;
    results out;
    windows of;
    i64 jobs, each;      /* tiles; windows of a tile */
    int top, kept;       /* levels of `width` (constants.h, LEVELS) */
    int what;            /* FOLD_... (constants.h) */
    GLOBAL four *states; /* for `what` */
    /* elements: of a window; pitch: items from one of them to the next (1, except in tables) */
    i64 elements, pitch;
} launch;

/* Programs of windows in one launch (not TL_PARTS) fold all elements of each window, and give
 * results: these constants let the compiler drop the rest. */
#define LAUNCH_OF_PARAMETERS \
    VIEWS_OF_PARAMETERS; \
    launch l; \
    l.b = b, l.out = out, l.jobs = jobs, l.each = each; \
    l.of.at = at, l.of.count = count, l.of.before = before, l.of.after = after; \
    l.of.valid = valid, l.of.least = least, l.of.edges = edges; \
    l.of.shift = TL_PARTS ? shift : 0, l.of.width = TL_PARTS ? width : before + after + 1; \
    l.top = (int)top_level, l.kept = (int)kept_levels; \
    l.what = TL_PARTS ? (int)what : FOLD_RESULTS, l.states = TL_PARTS ? states : 0; \
    l.pitch = TL_TABLE ? pitch : 1, l.elements = number_of(&l, before + after) + 1

/* Index of an item's element in its sequence. Tables (TL_TABLE) are columns whose elements, row by
 * row, are one sequence of items; the elements of a window lie `pitch` items apart, and length_in
 * counts all items between them. */
fn i64 number_of(const launch *l, i64 item) { return TL_TABLE ? quotient(item, l->pitch) : item; }

/* ---- a tile ---- */

/* A tile of windows. Item i is element number `shift` of window i. */
typedef struct {
    GLOBAL const u8 *x; /* address of item 0, if items are regular */
    GLOBAL u8 *out;     /* address of the first result, if results are regular */
    /* lo: flat index where the first window begins; done: windows of the launch before it */
    i64 lo, done;
    i64 border; /* segments: number of the first offset above lo */

    /* first: place of the first border; n: rows: distance between borders */
    int first, n;
    u32 part; /* 2^31 / n, rounded up */

    /* items before <= i < beyond are elements of the batch */
    int results, before, beyond;
    int regular, out_regular; /* items (results) lie one stride apart */
    int dense_items;          /* items are contiguous, for all places of the tile */
    int inside;               /* no window crosses a border */

    /* results are stored by quads: contiguous, aligned, all windows */
    int quads;
} tile;

/* The borders between segments in a tile: bit q is set if a segment begins at place q. */
enum { BORDER_WORDS = LOCAL_ITEMS / 32, BORDER_MORE = (BORDER_WORDS + 31) / 32 };

typedef struct {
    u32 bit[BORDER_WORDS]; /* a bit for each place */
    u32 more[BORDER_MORE]; /* a bit for each nonzero word of `bit` */
} borders;

fn void clear_borders(LOCAL borders *d, batch b)
{
    if (!(b.flags & OFFSETS)) return;

    for (int i = thread_index(); i < BORDER_WORDS; i += WINDOW_THREADS) d->bit[i] = 0;
    for (int i = thread_index(); i < BORDER_MORE; i += WINDOW_THREADS) d->more[i] = 0;
}

fn void set_borders(LOCAL borders *d, LOCAL const tile *p, batch b)
{
    if (!(b.flags & OFFSETS) || p->inside) return;

    const i64 from = b.offsets[0] + p->lo;
    for (i64 k = p->border + thread_index(); k <= b.seqs && b.offsets[k] - from < LOCAL_ITEMS;
         k += WINDOW_THREADS) {
        const int q = (int)(b.offsets[k] - from);
        OR_LOCAL(&d->bit[q >> 5], 1u << (q & 31));
        OR_LOCAL(&d->more[q >> 10], 1u << (q >> 5 & 31));
    }
}

/* since_border: how far place q is from the border before it, i.e. the elements of its sequence
 * before q; q if the tile has no border before it. until_border: the elements of its sequence from
 * q on; LOCAL_ITEMS or more if the tile has no border after q. */
fn int since_border_of_rows(LOCAL const tile *p, int q)
{
    const u32 a = (u32)(q - p->first); /* a mod n; exact, since a * n < 2^31 */
    return q < p->first ? q : (int)(a - (u32)((u64)(2 * a) * p->part >> 32) * (u32)p->n);
}

fn int until_border_of_rows(LOCAL const tile *p, int q)
{
    return q < p->first ? p->first - q : p->n - since_border_of_rows(p, q);
}

fn int since_border(LOCAL const tile *p, LOCAL const borders *d, batch b, int q)
{
    if (!(b.flags & OFFSETS)) return since_border_of_rows(p, q);

    int word = q >> 5;
    u32 bits = d->bit[word] << (31 - (q & 31));
    if (bits) return high_zeros(bits);

    for (int m = --word >> 5; word >= 0; m--, word = m * 32 + 31) {
        bits = d->more[m] << (31 - (word & 31));
        if (!bits) continue;
        word -= high_zeros(bits);
        return q - (word << 5) - 31 + high_zeros(d->bit[word]);
    }

    return q;
}

fn int until_border(LOCAL const tile *p, LOCAL const borders *d, batch b, int q)
{
    if (!(b.flags & OFFSETS)) return until_border_of_rows(p, q);
    if (q + 1 >= LOCAL_ITEMS) return LOCAL_ITEMS;

    int word = (q + 1) >> 5;
    u32 bits = d->bit[word] >> ((q + 1) & 31);
    if (bits) return 1 + low_zeros(bits);

    word++;
    for (int m = word >> 5; m < BORDER_MORE; m++, word = m << 5) {
        bits = d->more[m] >> (word & 31);
        if (!bits) continue;
        word += low_zeros(bits);
        return (word << 5) + low_zeros(d->bit[word]) - q;
    }

    return LOCAL_ITEMS;
}

/* True if window q lies in one sequence. */
fn int is_whole(LOCAL const tile *p, LOCAL const borders *d, const launch *l, int q)
{
    const i64 length = length_in(l->of);
    if (p->inside) return 1;
    if (l->of.width == length && length <= LOCAL_ITEMS) /* until_border says no more */
        return until_border(p, d, l->b, q) >= length;
    if (p->lo + q < 0) return 0;

    const position m = position_of(l->b, p->lo + q);
    return m.n - m.i >= length;
}

/* Returns a bit for each of the four windows from q on: 1 if the window crosses a border. The
 * windows end in the tile, or the sequences are rows. */
fn int cut_windows(LOCAL const tile *p, LOCAL const borders *d, batch b, int q, int length)
{
    /* to: the first border after the first item of window q + c, relative to q */
    int to = 0, cut = 0;
    for (int c = 0; c < QUAD && to < length + QUAD - 1; c++) {
        if (c >= to) to = c + until_border(p, d, b, q + c);
        cut |= (to - c < length) << c;
    }
    return cut;
}

/* For segments, the result of tile_firsts for a tile: the number of the first offset above the
 * beginning of its first window, and its flat index. */
typedef struct {
    i64 border, place;
} tile_start;

fn tile_start start_of_tile(batch b, i64 job)
{
    tile_start m;
    const int listed = (b.flags & OFFSETS) != 0;
    m.border = listed ? b.first[2 * job] : 0, m.place = listed ? b.first[2 * job + 1] : 0;
    return m;
}

/* i, or the bound of low .. high that is next to it. */
fn int within(i64 i, i64 low, i64 high) { return (int)(i < low ? low : i > high ? high : i); }

/* Fills *p for tile number `job`; local memory has `capacity` items. Called by one thread. */
fn void set_tile(LOCAL tile *p, const launch *l, i64 job, tile_start start, int capacity)
{
    const batch b = l->b;
    const windows w = l->of;
    const i64 all = all_items(b), done = job * l->each, lo = w.at + done, item = lo + w.shift;
    const i64 left = w.count - done, results_ = left < l->each ? left : l->each,
              items = results_ + w.width - 1;
    const i64 first_result = w.valid ? lo : lo + w.before;
    const int listed = (b.flags & OFFSETS) != 0;
    i64 free_; /* places before the first border */

    p->lo = lo, p->done = done, p->results = (int)results_;
    p->before = within(-item, 0, items), p->beyond = within(all - item, 0, items);

    if (listed) {
        p->border = start.border;
        free_ = start.place - lo;
        p->n = 0, p->part = 0;
    } else {
        const i64 row = b.seqs == 1 && lo >= 0 ? 0
                        : lo >= 0              ? quotient(lo, b.n)
                                               : -quotient(b.n - 1 - lo, b.n);
        free_ = (row + 1) * b.n - lo;
        p->n = b.n < 2 * LOCAL_ITEMS ? (int)b.n : 2 * LOCAL_ITEMS;
        p->part = (0x80000000u + (u32)p->n - 1) / (u32)p->n;
    }

    p->first = free_ < 2 * LOCAL_ITEMS ? (int)free_ : 2 * LOCAL_ITEMS;
    p->inside = free_ >= results_ + length_in(w) - 1;

    p->regular = listed || b.seqs == 1 || b.row_stride == b.n * b.stride;
    p->x = b.x + (item + (listed ? b.offsets[0] : 0)) * b.stride * TL_SIZE;
    p->out_regular =
        listed || b.seqs == 1 || (!w.valid && l->out.row_stride == b.n * l->out.stride);
    p->out = l->out.x + (first_result + (listed ? b.offsets[0] : 0)) * l->out.stride * RESULT_BYTES;

    p->dense_items = p->regular && b.stride == 1 && (TL_IN_PLACE || ADDRESS(p->x) % TL_SIZE == 0) &&
                     item >= 0 && item + capacity <= all;
    p->quads = OP_LANES == 1 && p->out_regular && l->out.stride == 1 &&
               ADDRESS(p->out) % QUAD_OUT_ALIGN == 0 && length_in(w) >= w.least &&
               (p->inside || ((listed ? w.width == length_in(w) : length_in(w) < LOCAL_ITEMS) &&
                              w.edges == WITH_EDGES && !w.valid));
}

/* Item i in an array of quads in local memory. For states of 8, 16 or 32 bytes the states of a quad
 * are permuted so that neighbouring lanes have no bank conflicts: state c of quad q is at place c ^
 * swizzle_of(q). */
enum { SWIZZLED = sizeof(state) == 8 || sizeof(state) == 16 || sizeof(state) == 32 };

fn int swizzle_of(int q)
{
    return sizeof(state) == 8    ? q >> 1 & 2
           : sizeof(state) == 16 ? q >> 1 & 3
           : sizeof(state) == 32 ? q & 3
                                 : 0;
}

fn int place_of(int i) { return i ^ swizzle_of(i / QUAD); }

/* Item i of a tile. DENSE_ITEM is the same for tiles whose items are contiguous (dense_items). */
fn elem item_of(LOCAL const tile *p, const launch *l, int i)
{
    const i64 item = p->lo + l->of.shift + i;
#if TL_IN_PLACE
    const position m = position_of(l->b, item);
    return element_at(l->b, p->regular ? item : m.s * l->b.row_stride + m.i);
#else
    return load_element(p->regular ? p->x + i * l->b.stride * TL_SIZE : element_of(l->b, item));
#endif
}

#if TL_IN_PLACE
#define DENSE_ITEM(p, l, i) element_at((l)->b, (p)->lo + (l)->of.shift + (i))
#else
#define DENSE_ITEM(p, l, i) ((GLOBAL const elem *)(p)->x)[i]
#endif

enum { LINE_ITEMS = 128 / TL_SIZE };

/* Prefetches the elements of a tile, which has `items` items. */
fn void prefetch_tile(LOCAL const tile *p, int items)
{
#if !TL_IN_PLACE
    if (!p->dense_items) return;

    for (int i = thread_index() * LINE_ITEMS; i < items; i += WINDOW_THREADS * LINE_ITEMS)
        PREFETCH((GLOBAL const elem *)p->x + i);
#endif
}

/* Y_0: lifts the items of a tile into z; quads: in the order of place_of, else in sequence. Items
 * that are not elements of the batch are skipped; no result uses them. A thread loads several
 * items before it lifts the first. */
fn void load_items(LOCAL state *z, int quads, LOCAL const tile *p, const launch *l)
{
    enum { AT_ONCE = 4 };
    const i64 item = p->lo + l->of.shift;
    const int last = p->beyond - 1;
    for (int i = p->before + thread_index(); i <= last; i += AT_ONCE * WINDOW_THREADS) {
        elem e[AT_ONCE];

        FOR(k, AT_ONCE) {
            const int at = i + k * WINDOW_THREADS;
            e[k] = item_of(p, l, at < last ? at : last);
        }

        FOR(k, AT_ONCE) {
            const int at = i + k * WINDOW_THREADS;
            if (at <= last)
                z[quads ? place_of(at) : at] = lift(e[k], number_of(l, item + at), l->b.p);
        }
    }
}

fn GLOBAL u8 *result_at(LOCAL const tile *p, const launch *l, int q)
{
    if (p->out_regular) return p->out + q * l->out.stride * RESULT_BYTES;
    return result_of(l->out, l->b, p->lo + q + (l->of.valid ? 0 : l->of.before));
}

/* Stores the results of a tile from local memory. turned: states are in the order of place_of, else
 * in sequence. */
fn void store_items(LOCAL const tile *p, LOCAL const borders *d, const launch *l,
                    LOCAL const state *v, const int turned)
{
    const i64 length = length_in(l->of);
    for (int i = thread_index(); i < p->results; i += WINDOW_THREADS) {
        const int whole = is_whole(p, d, l, i);
        maybe m;
        m.s = v[turned ? place_of(i) : i];
        m.exists = whole && length >= l->of.least;
        if (whole || (l->of.edges == WITH_EDGES && !l->of.valid))
            store_maybe(result_at(p, l, i), m, l->elements, number_of(l, p->lo + i), l->b.p);
    }
}
