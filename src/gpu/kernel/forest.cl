/* SPDX-License-Identifier: MIT
 * Short sequences, of fewer elements than a chunk: rows and segments of any mixture of lengths. A warp takes as many
 * neighbouring ones as its room holds, loads their elements side by side and folds all their trees at once:
 *
 *   place      0         8         16        24        32        40         a bucket has 8 places
 *   elements   a a a a a a a a a b b c c c c c c c c c c c c c c c c d ...
 *   groups     [a 0..7         ]     [c 0..7         ][c 8..15       ]      8 neighbours of one sequence, from its start
 *   bucket          0              1         2             3                the one that a group begins in
 *
 * Groups are disjoint, so at most one begins in each bucket: bucket q is lane q's, and its sequence is the last one that
 * begins in it or before it. (If another began later in the same bucket, the group would have to end before that.) The
 * nodes of the groups lie one in a bucket, in order, so the next level is the same problem with every start divided by
 * 8. At the end one lane per sequence folds what is left over of each level, the highest first: S(n).
 *
 * Nothing is exchanged but through local memory, so every device runs this text. */

enum {
    GROUP_LOG = 3,                             /* elements of a group */
    FOREST_LEVELS = 2,                         /* 64 elements; of larger nodes a chunk has 15 at most */
    BUCKETS = FOREST_ROOM >> GROUP_LOG,        /* of level 1 */
    UPPER_BUCKETS = FOREST_ROOM >> 2 * GROUP_LOG
};

/* A word more for every 128 bytes, so that lanes that are 8 elements apart use different banks. */
#define PLACE(i) ((i) + ((i) >> PLACE_LOG) * PLACE_STEP)
enum {
    PLACE_LOG = TL_SIZE == 8 ? 4 : TL_SIZE == 4 ? 5 : TL_SIZE == 2 ? 6 : 7,
    PLACE_STEP = TL_SIZE >= 4 ? 1 : 4 / TL_SIZE
};

/* A warp's local memory, and what it holds: sequences first .. first + count - 1 of the batch. */
typedef struct {
    LOCAL elem *x;
    LOCAL state *node, *upper; /* of level 1 and 2 */
    LOCAL i64 *start;          /* of segments, in elements of memory, and the end of the last one */
    i64 first, base;           /* base: the start of the first one */
    int at, count, n;          /* at: place of the first one in `start`; n: of every sequence without offsets */
    int listed;
} forest;

/* The place of sequence j's first element; j = count: the end. */
fn int start_in(forest f, int j) { return f.listed ? (int)(f.start[f.at + j] - f.base) : j * f.n; }

/* The last sequence that begins before place `end`, or 0. */
fn int last_before(forest f, int end)
{
    if (!f.listed) {
        int j = f.n ? (int)((u32)(end - 1) / (u32)f.n) : f.count - 1;
        return j < f.count ? j : f.count - 1;
    }
    int j = 0;
    UNROLL for (int step = FOREST_SEQUENCES / 2; step > 0; step >>= 1)
    {
        const int there = j + step;
        if (there < f.count && start_in(f, there < f.count ? there : 0) < end) j = there;
    }
    return j;
}

/* The first item of the group of level `level` that begins in bucket q: its place among the items below, and its number
 * in its sequence; -1 if none begins there. */
fn int group_in(forest f, int level, int q, int *number)
{
    const int log = level * GROUP_LOG, j = last_before(f, (q + 1) << log), s = start_in(f, j);
    const int n = start_in(f, j + 1) - s, i = q - (s >> log);
    *number = i << GROUP_LOG;
    return i >= 0 && i < n >> log ? (s >> (log - GROUP_LOG)) + (i << GROUP_LOG) : -1;
}

fn state leaf(forest f, par p, int place, int i) { return lift_e(f.x[PLACE(place)], i, p); }

/* The node of two, four or eight neighbours. */
#define NODE_2(item, k) TWIN(item(k), item((k) + 1))
#define NODE_4(item, k) TWIN(NODE_2(item, k), NODE_2(item, (k) + 2))
#define NODE_8(item, k) TWIN(NODE_4(item, k), NODE_4(item, (k) + 4))

/* v after the nodes of `count` items, which are left over of a level; item(k): the one at place `at` + k. */
#define APPEND_1(v, item, count, at)                                                                                   \
    if ((count)&1) v = then(v, item(0))
#define APPEND_2(v, item, count, at)                                                                                   \
    if ((count)&2) {                                                                                                   \
        v = then(v, NODE_2(item, 0));                                                                                  \
        at += 2;                                                                                                       \
    }
#define APPEND_4(v, item, count, at)                                                                                   \
    if ((count)&4) {                                                                                                   \
        v = then(v, NODE_4(item, 0));                                                                                  \
        at += 4;                                                                                                       \
    }
#define APPEND_8(v, item, count, at)                                                                                   \
    if ((count)&8) {                                                                                                   \
        v = then(v, NODE_8(item, 0));                                                                                  \
        at += 8;                                                                                                       \
    }

/* The `count` elements from `from` on, in elements of memory, side by side. */
fn void load_beside(forest f, batch b, i64 from, int count)
{
    const int lane = lane_index(), step = QUAD_ALIGN / TL_SIZE;
    GLOBAL const elem *x = (GLOBAL const elem *)b.x + from;
    int head = (int)(-(ADDRESS(x) / TL_SIZE) & (step - 1));
    if (head > count) head = count;
    const int quads = (count - head) / QUAD, tail = head + quads * QUAD;
    GLOBAL const quad *y = (GLOBAL const quad *)(x + head);
    quad e[FOREST_ROOM / (LANES * QUAD)];
    UNROLL for (int r = 0; r < FOREST_ROOM / (LANES * QUAD); r++)
    {
        if (lane + r * LANES < quads) e[r] = y[lane + r * LANES];
    }
    UNROLL for (int r = 0; r < FOREST_ROOM / (LANES * QUAD); r++)
    {
        const int at = head + (lane + r * LANES) * QUAD;
        if (lane + r * LANES < quads) {
            f.x[PLACE(at)] = e[r].x, f.x[PLACE(at + 1)] = e[r].y;
            f.x[PLACE(at + 2)] = e[r].z, f.x[PLACE(at + 3)] = e[r].w;
        }
    }
    if (lane < head) f.x[PLACE(lane)] = x[lane];
    if (tail + lane < count) f.x[PLACE(tail + lane)] = x[tail + lane];
}

/* The same of any view: along the sequences, or across them where that is how memory lies. */
far_fn void load_apart(forest f, batch b, int count)
{
    const int across = !f.listed && b.row_stride * b.row_stride < b.stride * b.stride;
    for (int e = lane_index(); e < count; e += LANES) {
        i64 at = (f.base + e) * b.stride;
        int place = e;
        if (!f.listed) {
            const int by = across ? f.count : f.n, u = e / by, v = e - u * by, j = across ? v : u, i = across ? u : v;
            at = (f.first + j) * b.row_stride + i * b.stride;
            place = j * f.n + i;
        }
        f.x[PLACE(place)] = load_element(b.x + at * TL_SIZE);
    }
}

fn void forest_load(forest f, batch b, int count)
{
    const int beside = b.stride == 1 && (f.listed || b.row_stride == f.n || f.count == 1);
    if (beside && ADDRESS(b.x) % TL_SIZE == 0)
        load_beside(f, b, f.listed ? f.base : f.first * b.row_stride, count);
    else
        load_apart(f, b, count);
}

/* The nodes of all groups of `count` elements. */
fn void forest_up(forest f, batch b, int count)
{
    int number;
    for (int q = lane_index(); q << GROUP_LOG < count; q += LANES) {
        const int at = group_in(f, 1, q, &number);
#define ITEM(k) leaf(f, b.p, at + (k), number + (k))
        if (at >= 0) f.node[q] = NODE_8(ITEM, 0);
#undef ITEM
    }
    WARP_BARRIER();
    for (int q = lane_index(); q << 2 * GROUP_LOG < count; q += LANES) {
        const int at = group_in(f, 2, q, &number);
#define ITEM(k) f.node[at + (k)]
        if (at >= 0) f.upper[q] = NODE_8(ITEM, 0);
#undef ITEM
    }
    WARP_BARRIER();
}

/* S(n) of the sequence that begins at place s. */
fn maybe forest_fold(forest f, batch b, int s, int n)
{
    maybe v = nothing(b.p);
    int at = s >> 2 * GROUP_LOG, left = n >> 2 * GROUP_LOG;
#define ITEM(k) f.upper[at + (k)]
    APPEND_8(v, ITEM, left, at)
    APPEND_4(v, ITEM, left, at)
    APPEND_2(v, ITEM, left, at)
    APPEND_1(v, ITEM, left, at);
#undef ITEM
    left = n >> GROUP_LOG & ((1 << GROUP_LOG) - 1), at = (s >> GROUP_LOG) + (n >> GROUP_LOG) - left;
#define ITEM(k) f.node[at + (k)]
    APPEND_4(v, ITEM, left, at)
    APPEND_2(v, ITEM, left, at)
    APPEND_1(v, ITEM, left, at);
#undef ITEM
    left = n & ((1 << GROUP_LOG) - 1), at = n - left;
#define ITEM(k) leaf(f, b.p, s + at + (k), at + (k))
    APPEND_4(v, ITEM, left, at)
    APPEND_2(v, ITEM, left, at)
    APPEND_1(v, ITEM, left, at);
#undef ITEM
    return v;
}

fn forest forest_of(batch b, LOCAL u8 *room)
{
    forest f;
    room += (thread_index() / LANES) * FOREST_BYTES(sizeof(state), TL_SIZE);
    f.start = (LOCAL i64 *)room;
    f.node = (LOCAL state *)(room + FOREST_NODES_AT);
    f.upper = f.node + BUCKETS;
    f.x = (LOCAL elem *)(room + FOREST_ELEMENTS_AT(sizeof(state)));
    f.listed = (b.flags & OFFSETS) != 0;
    f.n = f.listed ? 0 : (int)b.n;
    f.at = 0, f.first = 0, f.base = 0, f.count = 0;
    return f;
}

/* The next sequences that the room holds, of those up to `end`; the elements of all of them. A sequence that is longer
 * than the room is by itself, and of 0 elements. */
fn int forest_next(forest *f, i64 end)
{
    int most = (int)(end - f->first);
    if (!f->listed) {
        const int fit = f->n ? FOREST_ROOM / f->n : FOREST_ROOM;
        f->count = most < fit ? most : fit;
        return f->count * f->n;
    }
    int low = 0;
    f->base = f->start[f->at];
    UNROLL for (int step = FOREST_SEQUENCES; step > 0; step >>= 1)
    {
        const int there = low + step;
        if (there <= most && f->start[f->at + (there <= most ? there : 0)] - f->base <= FOREST_ROOM) low = there;
    }
    f->count = low ? low : 1;
    return low ? (int)(f->start[f->at + low] - f->base) : 0;
}

/* jobs: of `each` sequences. */
KERNEL_OF(forest_reduce)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    forest f = forest_of(b, ROOM_OF_PARAMETER);
    const i64 rounds = (jobs + warp_count() - 1) / warp_count();
    i64 job = warp_index();
    for (i64 round = 0; round < rounds; round++, job += warp_count()) {
        const i64 from = job < jobs ? job * each : b.seqs, end = b.seqs - from < each ? b.seqs : from + each;
        if (SKIPS && from >= end) continue;
        if (f.listed) {
            WARP_BARRIER();
            for (i64 j = lane_index(); j <= end - from; j += LANES) f.start[j] = b.offsets[from + j];
            WARP_BARRIER();
        }
        f.first = from, f.at = 0;
        while (f.first < end) {
            const int count = forest_next(&f, end);
            forest_load(f, b, count);
            WARP_BARRIER();
            forest_up(f, b, count);
            for (int j = lane_index(); j < f.count; j += LANES) {
                const int s = start_in(f, j);
                const i64 n = f.listed ? f.start[f.at + j + 1] - f.start[f.at + j] : b.n;
                if (n <= longest) store_reduced(out, b, f.first + j, forest_fold(f, b, s, (int)n), n);
            }
            WARP_BARRIER();
            f.first += f.count, f.at += f.count;
        }
    }
}
