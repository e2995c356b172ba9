/* SPDX-License-Identifier: MIT
 * The jobs of a warp that takes short sequences (segmented.cl): how it finds the sequences that fit
 * in its local memory, and copies them there; and speculative launches. */

enum { GROUP_LOG = 3, GROUP = 1 << GROUP_LOG, UNIT = 16 / TL_SIZE };

/* A warp's local memory and its share of the batch. */
typedef struct {
    LOCAL state *node, *upper; /* nodes of groups of elements, and of groups of nodes */
    LOCAL elem *x;
    LOCAL i64 *offsets; /* offsets of the next job's segments */
    LOCAL u32 *begins;  /* begins of this job's segments */
    LOCAL u32 *marks;   /* bit g: group g of the tile is the first one of a segment */
    LOCAL u8 *marked;   /* and the segment's number in the tile */

    /* elements between these may be read 16 bytes at a time; NULL: none */
    GLOBAL const u8 *low, *high;
    i64 jobs, each;
    i64 self, all_warps; /* number of this warp in the launch; warps of the launch */
    int n, groups, part; /* of every sequence without offsets; part: 2^20 / groups, rounded up */
    int by_lanes;        /* jobs that fit may be done a segment in each lane */
} segmented;

/* Sequences first to first + count - 1 of the batch, which a warp takes at a time. count 0: there
 * are no more. */
typedef struct {
    i64 job, first, base; /* base: offset of its first element, in elements */
    int at, count, all;   /* at: index of `first` in the job; all: sequences of the job */
    /* elements: staged in local memory; off: where they begin there */
    int elements, off;
    int by_lanes;     /* true: the job is done so */
    LOCAL u32 *begin; /* begin of the first sequence */
} warp_tile;

/* The begin of a segment, relative to its job: the elements before it in the low bits, the groups
 * before it in the high bits. A segment that another launch computes counts as LONG_PLACES
 * elements, so that it is always a tile of its own. */
enum { PLACE_BITS = 18, LONG_PLACES = SEGMENTED_ELEMENTS + 1 };
typedef char the_places_of_a_job_fit[SEGMENTED_SEQUENCES * LONG_PLACES < 1 << PLACE_BITS ? 1 : -1];
fn int begin_place(u32 begin) { return (int)(begin & ((1u << PLACE_BITS) - 1)); }
fn int begin_groups(u32 begin) { return (int)(begin >> PLACE_BITS); }

/* ---- the next job and tile ---- */

/* Starts to copy the elements of a tile to local memory. */
fn void stage_elements(const segmented *f, warp_tile *w, batch b)
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
fn void find_begins(const segmented *f, const warp_tile *w)
{
    enum { EACH = SEGMENTED_SEQUENCES / LANES };
    const int lane = lane_index();
    u32 before[EACH], sum = 0;
    FOR(k, EACH) {
        const int j = lane * EACH + k;
        const i64 n = f->offsets[j < w->all ? j + 1 : 0] - f->offsets[j < w->all ? j : 0];
        before[k] = sum;
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
    FOR(k, EACH) w->begin[lane * EACH + k] = to - sum + before[k];
    if (lane == LANES - 1) w->begin[SEGMENTED_SEQUENCES] = to;
    WARP_BARRIER();
}

/* True if all segments of the job are shorter than LANE_END, and the segments of each pass fit in
 * local memory, so that lanes may take them. Then begins are the elements before a segment in the
 * job. */
enum { LANE_END = 64 };
#ifdef TL_SHUFFLES
#define LANE_FOLDS 1
#else
#define LANE_FOLDS 0
#endif

fn int find_lane_jobs(const segmented *f, const warp_tile *w)
{
    int fits = 0;
#if LANE_FOLDS
    enum { PASSES = SEGMENTED_SEQUENCES / LANES };
    const int lane = lane_index(), all = w->all;
    u32 begin[PASSES];
    fits = 1;

    FOR(k, PASSES) {
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
        FOR(k, PASSES) w->begin[k * LANES + lane] = begin[k];
        if (lane == 0) w->begin[SEGMENTED_SEQUENCES] = (u32)(f->offsets[all] - f->offsets[0]);
        WARP_BARRIER();
    }
#endif
    return fits;
}

/* Finds how many of the next w->count segments of a job fit in local memory, and marks their first
 * groups. A segment that another launch computes counts as one that fits, if it is the first. */
fn void find_end(const segmented *f, warp_tile *w)
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

/* Returns the tile after w, of the same job or of the warp's next job. A segment that another
 * launch computes is a tile with count 1 and elements 0. Its begin does not tell its length, so
 * the base of the tile after it is read from the offsets (`was_long`). */
fn warp_tile tile_after(const segmented *f, warp_tile w, batch b)
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

/* A warp's local memory, and its first tile. */
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

fn warp_tile first_tile(const segmented *f, batch b)
{
    warp_tile w;
    w.job = f->self - f->all_warps, w.first = w.base = 0;
    w.at = w.count = w.all = w.elements = w.off = w.by_lanes = 0;
    w.begin = f->begins;
    if (SEGMENTS) stage_offsets(f, b, f->self);
    COPY_WAIT();
    WARP_BARRIER();
    return tile_after(f, w, b);
}

/* Blocks of a multiprocessor, which bounds the registers. BY_WARP_BLOCKS: the same. */
#define SEGMENTED_BLOCKS (TL_SIZE > 4 || sizeof(state) > 8 ? 2 : 4)
/* A result that differs from its state, such as a mean, needs more registers. */
#define SEGMENTED_SCAN_BLOCKS (TL_SIZE > 4 || sizeof(state) > 8 ? 1 : OP_SEED ? 4 : 3)

/* ---- speculative launches ----
 *
 * For segments: the host does not wait until it knows what `measure`
 * (segments.cl) found of the offsets. It predicts the kernel and launches it at once. The kernel
 * reads what `measure` found. If the prediction was wrong, or if the host will refuse the call, the
 * kernel has no jobs. */
typedef struct {
    GLOBAL u32 *measured; /* the slot that `measure` filled; 0: the launch is not speculative */
    i64 most, by_warp;
} speculative;
#define SPECULATIVE_OF_PARAMETERS \
    speculative a; \
    a.measured = slot < 0 ? 0 : measured + slot * MEASURED_SLOT, a.most = most, a.by_warp = by_warp

/* The jobs of a kernel for `rows` segments. warp_each: it gives a warp each of them. */
fn i64 speculative_jobs(speculative a, i64 jobs, i64 rows, int warp_each)
{
    if (!a.measured) return jobs;
    GLOBAL const u32 *m = a.measured;
    const i64 first = ((GLOBAL const i64 *)m)[FIRST_OFFSET],
              last = ((GLOBAL const i64 *)m)[LAST_OFFSET];
    const int good = !m[BAD] && m[DIFFERENT] && last <= a.most;
    const int long_ones = a.by_warp && m[LONG_COUNT] && last - first >= rows * BY_WARP_MEAN;
    return good && long_ones == warp_each ? jobs : 0;
}

/* In a speculative launch warps take jobs from a counter, so that none has much more work than
 * others when segments have random lengths. take_ticket comes before a job's work, which hides the
 * counter's latency; job_after comes after it, with that ticket, and returns the warp's next job.
 * In other launches a warp's jobs are fixed, and there are no tickets. */
fn u32 take_ticket(speculative a)
{
    u32 ticket = 0; /* of all lanes but the first, which asks for the warp */
    if (SKIPS && a.measured && lane_index() == 0)
        ticket = ADD_GLOBAL(a.measured + MEASURED_NEXT, 1u);
    return ticket;
}

fn i64 job_after(speculative a, i64 job, u32 ticket)
{
#if SKIPS
    if (a.measured) {
        SHUFFLE(0, u32, ticket, ticket, 0);
        return warp_count() + ticket;
    }
#endif
    return job + warp_count();
}
