/* SPDX-License-Identifier: MIT
 * Short sequences, of fewer elements than a chunk: rows, and segments of any mixture of lengths. A
 * warp takes as many neighbouring sequences as fit in its local memory (a window of the batch), and
 * folds the trees of all of them together:
 *
 *   elements  a a a a a a a a a b b c c c c c c c c c c c c c c c c d ...
 *   groups    [a 0..7         ]     [c 0..7         ][c 8..15       ]
 *   nodes           a0                     c0              c1
 *
 * A group is 8 neighbouring elements, counted from the start of a sequence. Groups are numbered
 * from left to right, and each lane folds one group after the other. A bit marks the first group of
 * each segment, so the last bit up to a group tells its segment. On the next level, 8 nodes of one
 * sequence make one. There a lane looks at a bucket of 8 places. Groups of nodes are disjoint, so
 * at most one begins in each bucket, and its sequence is the last one that begins in the bucket or
 * before it: if a later sequence began in the same bucket, the group would have to end before it.
 * At the end one lane per sequence folds the remaining nodes of each level, the highest first:
 * S(n).
 *
 * Elements are copied to local memory 16 bytes at a time, without registers in between. So many
 * warps fit on a multiprocessor, and some compute while others wait for memory. The offsets of a
 * warp's next job are copied meanwhile (a job: SEGMENTED_SEQUENCES segments, or the rows of a
 * window). gpu/program.c sets SEGMENTS: 1 for segments, in a program of their own; 0 for rows.
 * Lanes exchange data only through local memory, so this text runs on every device. */

enum { GROUP_LOG = 3, GROUP = 1 << GROUP_LOG, UNIT = 16 / TL_SIZE };

/* A warp's local memory and its share of the batch. */
typedef struct {
    LOCAL state *node, *upper; /* nodes of groups of elements, and of groups of nodes */
    LOCAL elem *x;
    LOCAL i64 *offsets;          /* offsets of the next job's segments */
    LOCAL u32 *begins;           /* begins of this job's segments */
    LOCAL u32 *marks;            /* bit g: group g of the window is the first one of a segment */
    LOCAL u8 *marked;            /* and the segment's number in the window */

    /* elements between these may be read 16 bytes at a time; NULL: none */
    GLOBAL const u8 *low, *high;
    i64 jobs, each;
    i64 self, all_warps; /* number of this warp in the launch; warps of the launch */
    int n, groups, part; /* of every sequence without offsets; part: 2^20 / groups, rounded up */
    int by_lanes;        /* jobs that fit may be done by lane.cl */
} segmented;

/* Sequences first to first + count - 1 of the batch, which a warp takes at a time (not a window of
 * the verb). count 0: there are no more. */
typedef struct {
    i64 job, first, base;         /* base: offset of its first element, in elements */
    int at, count, all;           /* at: index of `first` in the job; all: sequences of the job */
    /* elements: staged in local memory; off: where they begin there */
    int elements, off;
    int by_lanes;                 /* true: lane.cl does the job */
    LOCAL u32 *begin;             /* begin of the first sequence */
} window;

/* The begin of a segment, relative to its job: the elements before it in the low bits, the groups
 * before it in the high bits. A segment that another launch computes counts as LONG_PLACES
 * elements, so that it is always a window of its own. */
enum { PLACE_BITS = 18, LONG_PLACES = SEGMENTED_ELEMENTS + 1 };
typedef char the_places_of_a_job_fit[SEGMENTED_SEQUENCES * LONG_PLACES < 1 << PLACE_BITS ? 1 : -1];
fn int begin_place(u32 begin) { return (int)(begin & ((1u << PLACE_BITS) - 1)); }
fn int begin_groups(u32 begin) { return (int)(begin >> PLACE_BITS); }

/* A sequence of the window: its length, its place in local memory, the window's groups before
 * it. */
typedef struct {
    int n, place, groups;
} sequence;

fn sequence sequence_in(const segmented *f, const window *w, int j)
{
    sequence s;
    if (SEGMENTS) {
        const u32 here = w->begin[j], first = w->begin[0];
        s.n = begin_place(w->begin[j + 1]) - begin_place(here);
        s.place = w->off + begin_place(here) - begin_place(first);
        s.groups = begin_groups(here) - begin_groups(first);
    } else {
        s.n = f->n, s.place = w->off + j * f->n, s.groups = j * f->groups;
    }
    return s;
}

fn int all_groups(const segmented *f, const window *w)
{
    return SEGMENTS ? begin_groups(w->begin[w->count]) - begin_groups(w->begin[0])
                     : w->count * f->groups;
}

/* Returns the last sequence that has fewer than `end` groups before it. */
fn int sequence_before(const segmented *f, const window *w, int end)
{
    if (SEGMENTS) {
        int word = (end - 1) >> 5;
        u32 bits = f->marks[word] & ~(u32)0 >> (31 - ((end - 1) & 31));
        while (!bits) bits = f->marks[--word];
        return f->marked[(word << 5) + 31 - high_zeros(bits)];
    }

    /* exact, since (end - 1) * groups < 2^20 */
    const int j = (int)((u32)(end - 1) * (u32)f->part >> 20);
    return j < w->count ? j : w->count - 1;
}

/* ---- trees ---- */

/* Loads eight neighbouring elements from place p. Lanes are 8 elements apart, so loads of single
 * elements of 4 bytes or more would have bank conflicts of 8 lanes. So aligned units of 16 bytes
 * are loaded, and the elements are selected from them. Another lane may overwrite the others at the
 * same time (a warning of racecheck); they are not used. */
fn void load_group(elem *e, LOCAL const elem *x, int p)
{
#if TL_SIZE >= 4
    enum { UNITS = (GROUP + 2 * UNIT - 2) / UNIT };
    typedef struct ALIGNED(16) {
        elem v[UNIT];
    } unit;
    const int off = p & (UNIT - 1);
    LOCAL const unit *from = (LOCAL const unit *)(x + p - off);
    elem v[UNITS * UNIT];

    UNROLL for (int u = 0; u < UNITS; u++)
    {
        const unit w = from[u];
        UNROLL for (int k = 0; k < UNIT; k++) v[u * UNIT + k] = w.v[k];
    }

    UNROLL for (int k = 0; k + 1 < UNITS * UNIT; k++) v[k] = off & 1 ? v[k + 1] : v[k];
#if TL_SIZE == 4
    UNROLL for (int k = 0; k < GROUP; k++) v[k] = off & 2 ? v[k + 2] : v[k];
#endif
    UNROLL for (int k = 0; k < GROUP; k++) e[k] = v[k];
#else /* smaller elements: single loads are faster */
    UNROLL for (int k = 0; k < GROUP; k++) e[k] = x[p + k];
#endif
}

/* Appends `count` < 8 items of n elements each, item(0), item(1), ..., to v, which has `done`
 * elements. */
#define APPEND(v, done, item, count, n) \
    { \
        int at_ = 0; \
        if ((count)&4) { \
            v = then(v, NODE_4(item, 0, n), done, 4 * (n)); \
            at_ = 4; \
        } \
        if ((count)&2) { \
            v = then(v, NODE_2(item, at_, n), (done) + at_ * (n), 2 * (n)); \
            at_ += 2; \
        } \
        if ((count)&1) v = then(v, item(at_), (done) + at_ * (n), n); \
    }

/* Computes the nodes of all groups, on both levels. */
fn void segmented_up(const segmented *f, const window *w, par p)
{
    const int all = all_groups(f, w);
    for (int g = lane_index(); g < all; g += LANES) {
        elem e[GROUP];
        const sequence s = sequence_in(f, w, sequence_before(f, w, g + 1));
        const int i = (g - s.groups) << GROUP_LOG;
        load_group(e, f->x, s.place + i);
#undef ITEM /* defined by chunk.cl */
#define ITEM(k) lift_e(e[k], i + (k), p)
        f->node[g] = NODE_8(ITEM, 0, 1);
#undef ITEM
    }

    WARP_BARRIER();
    if (!SKIPS || SEGMENTS || f->groups >= GROUP) { /* no barrier in a branch, for PoCL */
        for (int q = lane_index(); q << GROUP_LOG < all; q += LANES) {
            const sequence s = sequence_in(f, w, sequence_before(f, w, (q + 1) << GROUP_LOG));
            const int at = s.groups + ((q - (s.groups >> GROUP_LOG)) << GROUP_LOG);
#define ITEM(k) f->node[at + (k)]
            if (at >= s.groups && at + GROUP <= s.groups + (s.n >> GROUP_LOG))
                f->upper[q] = NODE_8(ITEM, 0, GROUP);
#undef ITEM
        }

        WARP_BARRIER();
    }
}

/* Returns S at the first element of a sequence's group number `groups`. v: S at the sequence's
 * first element. */
fn maybe segmented_start(const segmented *f, par p, sequence s, maybe v, int groups)
{
    const int uppers = groups >> GROUP_LOG, left = groups & (GROUP - 1);
    const amount done = p.origin;

    if (uppers) {
        int u = s.groups >> GROUP_LOG, k = 0;
#define ITEM(k) f->upper[u + (k)]
        if (uppers & GROUP) {
            v = then(v, NODE_8(ITEM, 0, GROUP * GROUP), done, GROUP * GROUP * GROUP);
            k = GROUP;
            u += GROUP;
        }

        APPEND(v, done + k * (GROUP * GROUP), ITEM, uppers & (GROUP - 1), GROUP * GROUP)
#undef ITEM
    }

    if (left) {
        const int g = s.groups + (uppers << GROUP_LOG);
#define ITEM(k) f->node[g + (k)]
        APPEND(v, done + uppers * (GROUP * GROUP), ITEM, left, GROUP)
#undef ITEM
    }

    return v;
}

/* Returns S(n) of a sequence. */
fn maybe segmented_fold(const segmented *f, const window *w, par p, sequence s)
{
    const int groups = s.n >> GROUP_LOG, first = groups << GROUP_LOG, left = s.n & (GROUP - 1),
              x = s.place + first;
    maybe v = segmented_start(f, p, s, nothing(p), groups);
#define ITEM(k) lift_e(f->x[x + (k)], first + (k), p)
    if (left) APPEND(v, p.origin + first, ITEM, left, 1)
#undef ITEM
    return v;
}

/* ---- the next job and window ---- */

/* Starts to copy the elements of a window to local memory. */
fn void stage_elements(const segmented *f, window *w, batch b)
{
    const int lane = lane_index();
    LOCAL elem *x = f->x;

    w->off = 0;
#if TL_IN_PLACE

    if (SKIPS && (b.row_stride == f->n || w->count == 1)) { /* PoCL 5.0 aborts over both branches */
        stage_beside(x, b, w->first * b.row_stride, w->elements);
    } else {
        for (int e = lane; e < w->elements; e += LANES) {
            const int j = (int)((u32)e / (u32)f->n);
            x[e] = element_at(b, (w->first + j) * b.row_stride + e - j * f->n);
        }
    }
#else
#ifdef COPY_UNIT

    if (f->low) {
        GLOBAL const u8 *from = b.x + w->base * TL_SIZE;
        w->off = (int)(ADDRESS(from) / TL_SIZE) & (UNIT - 1);
        from -= w->off * TL_SIZE;
        const int units = (w->off + w->elements + UNIT - 1) / UNIT;
        if (from >= f->low && from + units * 16 <= f->high) {
            x += lane * UNIT, from += lane * 16;
            for (int u = lane; u < units; u += LANES, x += LANES * UNIT, from += LANES * 16)
                COPY_UNIT(x, from);
        } else { /* the batch begins or ends in this range */
            for (int e = lane; e < units * UNIT; e += LANES) {
                GLOBAL const u8 *at = from + e * TL_SIZE;
                if (at >= f->low && at + TL_SIZE <= f->high) x[e] = *(GLOBAL const elem *)at;
            }
        }

        return;
    }
#endif
    const i64 first = SEGMENTS ? w->base * b.stride : w->first * b.row_stride; /* segments: a row */

    for (int e = lane; e < w->elements; e += LANES) {
        const int j = SEGMENTS ? 0 : (int)((u32)e / (u32)f->n), i = e - j * f->n;
        x[e] = load_element(b.x + (first + j * b.row_stride + i * b.stride) * TL_SIZE);
    }
#endif
}

/* Sequences of a job; 0 if there is no such job. */
fn int all_of(const segmented *f, batch b, i64 job)
{
    const i64 left = b.seqs - job * f->each;
    return job >= f->jobs ? 0 : left < f->each ? (int)left : (int)f->each;
}

/* Starts to copy the offsets of a job to local memory. */
fn void stage_offsets(const segmented *f, batch b, i64 job)
{
    const int all = all_of(f, b, job);
    const i64 from = job * f->each;
    for (int j = lane_index(); j <= all && all; j += LANES)
        COPY_WORD(f->offsets + j, b.offsets + from + j);
}

/* Computes the begins of a job's segments from their offsets. */
fn void find_begins(const segmented *f, const window *w)
{
    enum { EACH = SEGMENTED_SEQUENCES / LANES };
    const int lane = lane_index();
    u32 mine[EACH], sum = 0;
    UNROLL for (int k = 0; k < EACH; k++)
    {
        const int j = lane * EACH + k;
        const i64 n = f->offsets[j < w->all ? j + 1 : 0] - f->offsets[j < w->all ? j : 0];
        mine[k] = sum;
        sum += n < CHUNK ? ((u32)n >> GROUP_LOG) << PLACE_BITS | (u32)n : LONG_PLACES;
    }

    u32 to = sum; /* inclusive prefix sum over the lanes */
#ifdef TL_SHUFFLES

    UNROLL for (int m = 1; m < LANES; m <<= 1)
    {
        u32 got;
        SHUFFLE(0, u32, got, to, lane - m < 0 ? lane : lane - m);
        to += lane >= m ? got : 0;
    }
#else

    UNROLL for (int m = 1; m < LANES; m <<= 1)
    {
        WARP_BARRIER();
        w->begin[lane] = to;
        WARP_BARRIER();
        to += lane >= m ? w->begin[lane >= m ? lane - m : 0] : 0;
    }

    WARP_BARRIER();
#endif
    UNROLL for (int k = 0; k < EACH; k++) w->begin[lane * EACH + k] = to - sum + mine[k];
    if (lane == LANES - 1) w->begin[SEGMENTED_SEQUENCES] = to;
    WARP_BARRIER();
}

/* True if all segments of the job are shorter than LANE_END, and the segments of each pass fit in
 * local memory (lane.cl). Then begins are the elements before a segment in the job. */
enum { LANE_END = 64 };
#ifdef TL_SHUFFLES
#define LANE_FOLDS 1
#else
#define LANE_FOLDS 0
#endif

fn int find_lane_jobs(const segmented *f, const window *w)
{
    int fits = 0;
#if LANE_FOLDS
    enum { PASSES = SEGMENTED_SEQUENCES / LANES };
    const int lane = lane_index(), all = w->all;
    u32 begin[PASSES];
    fits = 1;

    UNROLL for (int k = 0; k < PASSES; k++)
    {
        const int j = k * LANES + lane, end = (k + 1) * LANES < all ? (k + 1) * LANES : all;
        const i64 at = f->offsets[j < all ? j : all];
        begin[k] = (u32)(at - f->offsets[0]);
        fits = fits && f->offsets[j < all ? j + 1 : all] - at < LANE_END;
        fits = fits &&
               (k * LANES >= all || f->offsets[end] - f->offsets[k * LANES] <= SEGMENTED_ELEMENTS);
    }

    UNROLL for (int m = 1; m < LANES; m <<= 1)
    {
        int other;
        SHUFFLE(1, int, other, fits, m);
        fits &= other;
    }

    if (fits) {
        UNROLL for (int k = 0; k < PASSES; k++) w->begin[k * LANES + lane] = begin[k];
        if (lane == 0) w->begin[SEGMENTED_SEQUENCES] = (u32)(f->offsets[all] - f->offsets[0]);
        WARP_BARRIER();
    }
#endif
    return fits;
}

/* Finds how many of the next w->count segments of a job fit in local memory, and marks their first
 * groups. A segment that another launch computes counts as one that fits, if it is the first. */
fn void find_end(const segmented *f, window *w)
{
    enum { WORDS = SEGMENTED_NODES / 32 }; /* after them: the number of segments that fit */
    const int lane = lane_index(), most = w->count;
    const u32 first = w->begin[0];
    const int end = begin_place(first) + SEGMENTED_ELEMENTS;
    if (lane <= WORDS) f->marks[lane] = 0;
    WARP_BARRIER();

    for (int j = lane; j < most && begin_place(w->begin[j + 1]) <= end; j += LANES) {
        const int g = begin_groups(w->begin[j]) - begin_groups(first);
        if (g < begin_groups(w->begin[j + 1]) - begin_groups(first)) {
            OR_LOCAL(&f->marks[g >> 5], 1u << (g & 31));
            f->marked[g] = (u8)j;
        }
        if (j + 1 == most || begin_place(w->begin[j + 2]) > end) f->marks[WORDS] = (u32)(j + 1);
    }

    WARP_BARRIER();
    const int fit = (int)f->marks[WORDS];
    w->count = fit || !most ? fit : 1;
    w->elements = begin_place(w->begin[fit]) - begin_place(first);
}

/* Returns the window after w, of the same job or of the warp's next job. A segment that another
 * launch computes is a window with count 1 and elements 0. Its begin does not tell its length, so
 * the base of the window after it is read from the offsets (`was_long`). */
fn window window_after(const segmented *f, window w, batch b)
{
    const int was_long = SEGMENTS && w.count && !w.elements, entered = w.at + w.count >= w.all;
    if (entered) {
        w.job += f->all_warps;
        w.at = 0, w.first = w.job * f->each, w.base = w.first * f->n;
        w.all = all_of(f, b, w.job);
    } else {
        w.at += w.count, w.first += w.count, w.base += w.elements;
    }

    if (SEGMENTS) {
#if SKIPS
        if (entered && w.all) {
            w.begin = f->begins;
            w.base = f->offsets[0];
            w.by_lanes = f->by_lanes && find_lane_jobs(f, &w);
            if (!w.by_lanes) find_begins(f, &w);
            stage_offsets(f, b, w.job + f->all_warps);
        } else {
            w.begin += w.count;
            if (was_long && !entered) w.base = b.offsets[w.first];
        }
#else /* no barrier in a branch: PoCL 5.0 aborts over most of them */
        stage_offsets(f, b, w.job);
        WARP_BARRIER();
        w.begin = f->begins;
        find_begins(f, &w);
        w.begin += w.at;
        w.base = f->offsets[w.all ? w.at : 0];
#endif
    }

    w.count = w.all - w.at, w.elements = w.count * f->n;
    if (SEGMENTS && !w.by_lanes) find_end(f, &w);

    return w;
}

/* Finds the range that may be read 16 bytes at a time. */
fn void find_range(segmented *f, batch b)
{
    f->low = f->high = 0;
#if defined(COPY_UNIT) && !TL_IN_PLACE
    const i64 first = SEGMENTS ? b.offsets[0] : 0,
              end = SEGMENTS ? b.offsets[b.seqs] : b.seqs * b.n;
    if (b.stride == 1 && (SEGMENTS || b.row_stride == b.n || b.seqs == 1) &&
        ADDRESS(b.x) % TL_SIZE == 0)
        f->low = b.x + first * TL_SIZE, f->high = b.x + end * TL_SIZE;
#endif
}

/* A warp's local memory, and its first window. */
fn segmented segmented_of(batch b, i64 each, i64 jobs, int warps, LOCAL u8 *memory,
                          const int by_lanes)
{
    segmented f;
    f.self = group_index() * warps + thread_index() / LANES;
    f.all_warps = group_count() * warps;
    f.x = (LOCAL elem *)memory;
    f.node = (LOCAL state *)(memory + SEGMENTED_NODES_AT(TL_SIZE));
    f.upper = f.node + SEGMENTED_NODES;
    f.offsets = (LOCAL i64 *)(memory + SEGMENTED_OFFSETS_AT(TL_SIZE, sizeof(state)));
    f.begins = (LOCAL u32 *)(memory + SEGMENTED_BEGIN_AT(TL_SIZE, sizeof(state)));
    f.marks = (LOCAL u32 *)(memory + SEGMENTED_MARKS_AT(TL_SIZE, sizeof(state)));
    f.marked = (LOCAL u8 *)f.marks + SEGMENTED_NODES / 8 + 16;
    f.jobs = jobs, f.each = each;
    f.by_lanes = SEGMENTS && by_lanes;
    f.n = SEGMENTS ? 0 : (int)b.n;
    f.groups = f.n >> GROUP_LOG;
    f.part = f.groups ? ((1 << 20) + f.groups - 1) / f.groups : 0;
    find_range(&f, b);

    return f;
}

fn window first_window(const segmented *f, batch b)
{
    window w;
    w.job = f->self - f->all_warps, w.first = w.base = 0;
    w.at = w.count = w.all = w.elements = w.off = w.by_lanes = 0;
    w.begin = f->begins;
    if (SEGMENTS) stage_offsets(f, b, f->self);
    COPY_WAIT();
    WARP_BARRIER();
    return window_after(f, w, b);
}

#define SEGMENTED_PARAMETERS PARAMETERS_OF(SEGMENTED)
/* Blocks of a multiprocessor, which bounds the registers. */
#define SEGMENTED_BLOCKS      (TL_SIZE > 4 || sizeof(state) > 8 ? 2 : 4)
/* A result that differs from its state, such as a mean, needs more registers. */
#define SEGMENTED_SCAN_BLOCKS (TL_SIZE > 4 || sizeof(state) > 8 ? 1 : OP_SEED ? 4 : 3)
