/* SPDX-License-Identifier: MIT
 * Where windows lie. The sequences of a batch are numbered end to end, so that a tile can contain
 * many short ones: element i of row r has the flat index r * n + i; the flat index of an element of
 * a segment is its distance from the first offset. A node that spans the border of two sequences
 * has no meaning, and no window uses it. Borders are looked up only where a window may cross one:
 * for rows by a division, for segments in a bitmap with a bit for each element of the tile. */


#define WINDOW_PARAMETERS PARAMETERS_OF(WINDOW)
#define TILES_PARAMETERS  PARAMETERS_OF(TILES)

/* Items of a tile of window_whole, of a tile of window, and of the larger one. */
enum { WHOLE = 1 << WHOLE_LOG, ROOM = 1 << ROOM_LOG, LARGER = WHOLE > ROOM ? WHOLE : ROOM };
enum { PASS_TILE = WINDOW_THREADS * PASS_RUN, PLACES = LARGER > PASS_TILE ? LARGER : PASS_TILE };
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

/* The sequence that contains a flat index: s: its number; i: the element's index in it; n: its
 * length. */
typedef struct {
    i64 s, i, n;
} member;
fn member member_of(batch b, i64 f)
{
    member m;
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
    const member m = member_of(b, f);
    return b.x + (m.s * b.row_stride + m.i * b.stride) * TL_SIZE;
}

/* Address of the result of element f. If only whole windows have results (valid), it is the result
 * of the window that begins at f. */
fn GLOBAL u8 *result_of(results out, batch b, i64 f)
{
    if (b.flags & OFFSETS) return out.x + (b.offsets[0] + f) * out.stride * RESULT_BYTES;
    const member m = member_of(b, f);
    return out.x + (m.s * out.row_stride + m.i * out.stride) * RESULT_BYTES;
}

/* ---- a tile ---- */

/* The windows of a launch: they begin at flat index `at`, at + 1, ..., and each has one result. */
typedef struct {
    i64 at, count;                    /* at: start of the first window; count: number of windows */
    i64 before, after, valid, least, edges;
    /* only elements shift to shift + width - 1 of each window are folded */
    i64 shift, width;
} windows;
fn i64 length_in(windows w) { return w.before + w.after + 1; }

/* A tile of windows. Item i is element number `shift` of window i. */
typedef struct {
    GLOBAL const u8 *x;               /* address of item 0, if items lie one stride apart */
    /* address of the first result, if results lie one stride apart */
    GLOBAL u8 *out;
    /* lo: flat index where the first window begins; done: windows of the launch before it */
    i64 lo, done;
    i64 border;                       /* segments: number of the first offset above lo */
    /* first: place of the first border; n: rows: distance between borders */
    int first, n;
    u32 part;                         /* 2^31 / n, rounded up */
    /* items before <= i < beyond are elements of the batch */
    int results, before, beyond;
    int beside, out_beside;           /* items (results) lie one stride apart */
    int dense_items;                  /* items are contiguous, for all places of the tile */
    int inside;                       /* no window crosses a border */
    /* results are stored by quads: contiguous, aligned, all windows */
    int quads;
} stretch;

/* The borders between segments in a tile: bit q is set if a segment begins at place q. */
enum { BORDER_WORDS = PLACES / 32, BORDER_MORE = (BORDER_WORDS + 31) / 32 };
typedef struct {
    u32 bit[BORDER_WORDS];            /* a bit for each place */
    u32 more[BORDER_MORE];            /* a bit for each nonzero word of `bit` */
} borders;
fn void clear_borders(LOCAL borders *d, batch b)
{
    if (!(b.flags & OFFSETS)) return;
    for (int i = thread_index(); i < BORDER_WORDS; i += WINDOW_THREADS) d->bit[i] = 0;
    for (int i = thread_index(); i < BORDER_MORE; i += WINDOW_THREADS) d->more[i] = 0;
}

fn void set_borders(LOCAL borders *d, LOCAL const stretch *p, batch b)
{
    if (!(b.flags & OFFSETS) || p->inside) return;
    const i64 from = b.offsets[0] + p->lo;
    for (i64 k = p->border + thread_index(); k <= b.seqs && b.offsets[k] - from < PLACES;
         k += WINDOW_THREADS) {
        const int q = (int)(b.offsets[k] - from);
        OR_LOCAL(&d->bit[q >> 5], 1u << (q & 31));
        OR_LOCAL(&d->more[q >> 10], 1u << (q >> 5 & 31));
    }
}

/* behind: how far place q is from the border before it, i.e. the elements of its sequence before q;
 * q if the tile has no border before it. ahead: the elements of its sequence from q on; PLACES or
 * more if the tile has no border after q. */
fn int behind_in_rows(LOCAL const stretch *p, int q)
{
    const u32 a = (u32)(q - p->first); /* a mod n; exact, since a * n < 2^31 */
    return q < p->first ? q : (int)(a - (u32)((u64)(2 * a) * p->part >> 32) * (u32)p->n);
}

fn int ahead_in_rows(LOCAL const stretch *p, int q)
{
    return q < p->first ? p->first - q : p->n - behind_in_rows(p, q);
}

fn int behind(LOCAL const stretch *p, LOCAL const borders *d, batch b, int q)
{
    if (!(b.flags & OFFSETS)) return behind_in_rows(p, q);
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

fn int ahead(LOCAL const stretch *p, LOCAL const borders *d, batch b, int q)
{
    if (!(b.flags & OFFSETS)) return ahead_in_rows(p, q);
    if (q + 1 >= PLACES) return PLACES;
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
    return PLACES;
}

/* True if window q lies in one sequence. */
fn int is_whole(LOCAL const stretch *p, LOCAL const borders *d, batch b, windows w, int q)
{
    if (p->inside) return 1;
    /* the window ends in the tile */
    if (w.width == length_in(w)) return ahead(p, d, b, q) >= length_in(w);
    if (p->lo + q < 0) return 0;
    const member m = member_of(b, p->lo + q);
    return m.n - m.i >= length_in(w);
}

/* Returns a bit for each of the four windows from q on: 1 if the window crosses a border. The
 * windows end in the tile, or the sequences are rows. */
fn int cut_windows(LOCAL const stretch *p, LOCAL const borders *d, batch b, int q, int length)
{
    /* to: the first border after the first item of window q + c, relative to q */
    int to = 0, cut = 0;
    for (int c = 0; c < QUAD && to < length + QUAD - 1; c++) {
        if (c >= to) to = c + ahead(p, d, b, q + c);
        cut |= (to - c < length) << c;
    }
    return cut;
}

/* For segments, the result of tile_firsts for a tile: the number of the first offset above the
 * beginning of its first window, and its flat index. */
typedef struct {
    i64 border, place;
} mark;
fn mark mark_of(batch b, i64 job)
{
    mark m;
    const int listed = (b.flags & OFFSETS) != 0;
    m.border = listed ? b.first[2 * job] : 0, m.place = listed ? b.first[2 * job + 1] : 0;
    return m;
}

/* Fills *p for tile number `job`, of at most `each` windows; local memory has `room` items. Called
 * by one thread. */
fn void stretch_of(LOCAL stretch *p, batch b, results out, windows w, i64 job, mark at, i64 each,
                   int room)
{
    const i64 all = all_items(b), done = job * each, lo = w.at + done, item = lo + w.shift;
    const i64 left = w.count - done, results_ = left < each ? left : each,
              items = results_ + w.width - 1;
    const i64 first_result = w.valid ? lo : lo + w.before;
    const int listed = (b.flags & OFFSETS) != 0;
    i64 free_; /* places before the first border */
    p->lo = lo, p->done = done, p->results = (int)results_;
    p->before = item < 0 ? (int)-item : 0,
    p->beyond = item + items > all ? (int)(all - item) : (int)items;
    if (listed) {
        p->border = at.border;
        free_ = at.place - lo;
        p->n = 0, p->part = 0;
    } else {
        const i64 row = b.seqs == 1 && lo >= 0 ? 0
                        : lo >= 0              ? quotient(lo, b.n)
                                               : -quotient(b.n - 1 - lo, b.n);
        free_ = (row + 1) * b.n - lo;
        p->n = b.n < 2 * PLACES ? (int)b.n : 2 * PLACES;
        p->part = (0x80000000u + (u32)p->n - 1) / (u32)p->n;
    }
    p->first = free_ < 2 * PLACES ? (int)free_ : 2 * PLACES;
    p->inside = free_ >= results_ + length_in(w) - 1;
    p->beside = listed || b.seqs == 1 || b.row_stride == b.n * b.stride;
    p->x = b.x + (item + (listed ? b.offsets[0] : 0)) * b.stride * TL_SIZE;
    p->out_beside = listed || b.seqs == 1 || (!w.valid && out.row_stride == b.n * out.stride);
    p->out = out.x + (first_result + (listed ? b.offsets[0] : 0)) * out.stride * RESULT_BYTES;
    p->dense_items = p->beside && b.stride == 1 && (TL_IN_PLACE || ADDRESS(p->x) % TL_SIZE == 0) &&
                     item >= 0 && item + room <= all;
    p->quads = OP_LANES == 1 && p->out_beside && out.stride == 1 &&
               ADDRESS(p->out) % QUAD_OUT_ALIGN == 0 && length_in(w) >= w.least &&
               (p->inside || ((listed ? w.width == length_in(w) : length_in(w) < PLACES) &&
                              w.edges == EDGES_TOO && !w.valid));
}

/* Arrays of quads in local memory, for states of 8, 16 or 32 bytes: the states of a quad are
 * permuted so that neighbouring lanes have no bank conflicts. State c of quad q is at place c ^
 * turn_of(q). With RUNS the states of a run are permuted, or one quad in nine is left empty. */
enum {
    TURNED = sizeof(state) == 8 || sizeof(state) == 16 || sizeof(state) == 32,
    PADDED = RUNS && sizeof(state) == 12
};
fn int turn_of(int q)
{
    return sizeof(state) == 8    ? q >> 1 & 2
           : sizeof(state) == 16 ? q >> 1 & 3
           : sizeof(state) == 32 ? q & 3
                                 : 0;
}

fn int place_of(int i)
{
    if (!RUNS) return i ^ turn_of(i / QUAD);
    return PADDED ? i + (i >> 5 << 2) : i ^ (i >> 3 & 7);
}

/* Item i of a tile. DENSE_ITEM is the same for tiles whose items are contiguous (dense_items). */
fn elem item_of(LOCAL const stretch *p, batch b, windows w, int i)
{
    const i64 item = p->lo + w.shift + i;
#if TL_IN_PLACE
    const member m = member_of(b, item);
    return element_at(b, p->beside ? item : m.s * b.row_stride + m.i);
#else
    return load_element(p->beside ? p->x + i * b.stride * TL_SIZE : element_of(b, item));
#endif
}
#if TL_IN_PLACE
#define DENSE_ITEM(p, b, w, i) element_at(b, (p)->lo + (w).shift + (i))
#else
#define DENSE_ITEM(p, b, w, i) ((GLOBAL const elem *)(p)->x)[i]
#endif

enum { LINE_ITEMS = 128 / TL_SIZE };

/* Prefetches the elements of the next tile, which has `items` items. */
fn void ask_for(LOCAL const stretch *p, int items)
{
#if !TL_IN_PLACE
    if (!p->dense_items) return;
    for (int i = thread_index() * LINE_ITEMS; i < items; i += WINDOW_THREADS * LINE_ITEMS)
        PREFETCH((GLOBAL const elem *)p->x + i);
#endif
}

/* Y_0: lifts the items of a tile into z; quads: in the order of place_of, else in sequence. Items
 * that are not elements of the batch are skipped; no result uses them. */
fn void load_items(LOCAL state *z, int quads, LOCAL const stretch *p, batch b, windows w)
{
    const i64 item = p->lo + w.shift;
    for (int i = p->before + thread_index(); i < p->beyond; i += WINDOW_THREADS)
        z[quads ? place_of(i) : i] = lift(item_of(p, b, w, i), item + i, b.p);
}

fn GLOBAL u8 *result_at(LOCAL const stretch *p, batch b, results out, windows w, int q)
{
    if (p->out_beside) return p->out + q * out.stride * RESULT_BYTES;
    return result_of(out, b, p->lo + q + (w.valid ? 0 : w.before));
}

#if !TL_IN_PLACE
/* Writes a mark for each tile of segments. */
KERNEL_OF(tile_firsts)
{
    BATCH_OF_PARAMETERS;
    for (i64 job = group_index() * WINDOW_THREADS + thread_index(); job < jobs;
         job += group_count() * WINDOW_THREADS) {
        const i64 k = offset_after(b, at + job * each);
        first[2 * job] = k, first[2 * job + 1] = b.offsets[k <= b.seqs ? k : b.seqs] - b.offsets[0];
    }
}
#endif
