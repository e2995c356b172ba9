/* SPDX-License-Identifier: MIT
 * Short sequences, of fewer elements than a chunk: rows and segments of any mixture of lengths. A warp takes as many
 * neighbours as its room holds, a window of the batch, and folds all their trees at once:
 *
 *   elements   a a a a a a a a a b b c c c c c c c c c c c c c c c c d ...
 *   groups     [a 0..7         ]     [c 0..7         ][c 8..15       ]      8 neighbours of one sequence, from its start
 *   nodes            a0                     c0              c1              numbered from left to right
 *
 * Each lane takes group after group: it finds whose it is by how many groups there are before a sequence, and folds its 8
 * elements. 8 nodes of one sequence make one of the next level. There a lane looks at a bucket of 8 places: groups of
 * nodes are disjoint, so at most one begins in each bucket, and its sequence is the last one that begins in the bucket or
 * before it. (If another began later in the same bucket, the group would have to end before that.) At the end one lane
 * per sequence folds what is left over of each level, the highest first: S(n).
 *
 * While a window is folded, the elements of the next one are on their way to local memory, and so are the offsets of the
 * job after that (a job: FOREST_SEQUENCES segments, or the rows of one window). Nothing is exchanged but through local
 * memory, so every device runs this text. */

enum { GROUP_LOG = 3, GROUP = 1 << GROUP_LOG, UNIT = 16 / TL_SIZE };

/* A warp's local memory and its share of the batch. */
typedef struct {
    LOCAL state *node, *upper; /* of groups of elements, and of groups of those */
    LOCAL i64 *starts;         /* of segments, in elements of memory, and the end of the last one: a table per job */
    LOCAL int *before;         /* groups of the job's segments before this one: a table per job */
    LOCAL u8 *buffers;
    GLOBAL const u8 *low, *high; /* what is all elements between these may be read 16 bytes at a time; NULL: nothing is */
    i64 jobs, each, longest;
    int n, groups, part; /* of every sequence without offsets; part: 2^20 / groups, rounded up */
    int listed;
} forest;

/* Sequences first .. first + count - 1 of the batch; count 0: there are no more. */
typedef struct {
    i64 job, first;
    int at, count, all;      /* at: the number of `first` among the job's; all: the job's */
    int elements, off; /* staged; where they begin in the buffer */
    int table, odd, turn; /* its job's starts, its job's groups, its buffer: the number of each */
    LOCAL i64 *start;        /* of the first one */
    LOCAL int *before;
    LOCAL elem *x;
} window;

fn int groups_before(const forest *f, const window *w, int j)
{
    return f->listed ? w->before[j] - w->before[0] : j * f->groups;
}
fn i64 length_in(const forest *f, const window *w, int j) { return f->listed ? w->start[j + 1] - w->start[j] : f->n; }
/* Where sequence j begins in the buffer. */
fn int place_in(const forest *f, const window *w, int j)
{
    return w->off + (f->listed ? (int)(w->start[j] - w->start[0]) : j * f->n);
}

/* The last sequence that has fewer than `end` groups before it. */
fn int sequence_before(const forest *f, const window *w, int end)
{
    if (!f->listed) {
        const int j = (int)((u32)(end - 1) * (u32)f->part >> 20); /* exact, since (end - 1) * groups < 2^20 */
        return j < w->count ? j : w->count - 1;
    }
    const int limit = end + w->before[0];
    int j = 0;
    UNROLL for (int step = FOREST_SEQUENCES / 2; step > 0; step >>= 1)
    {
        const int there = j + step;
        if (there < w->count && w->before[there < w->count ? there : 0] < limit) j = there;
    }
    return j;
}

/* ---- trees ---- */

/* Eight neighbours from place p of the buffer. Where an element has a bank of its own, 16 bytes at a time, and what was
 * asked for chosen from them: lanes are 8 elements apart, and one at a time each bank would serve 8 of them. */
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
#else
    UNROLL for (int k = 0; k < GROUP; k++) e[k] = x[p + k];
#endif
}

#define NODE_2(item, k) TWIN(item(k), item((k) + 1))
#define NODE_4(item, k) TWIN(NODE_2(item, k), NODE_2(item, (k) + 2))
#define NODE_8(item, k) TWIN(NODE_4(item, k), NODE_4(item, (k) + 4))

/* v after `count` < 16 items in a row, item(0) .. */
#define APPEND_SOME(v, item, count, bit, NODE, at)                                                                     \
    if ((count) & (bit)) {                                                                                             \
        v = then(v, NODE(item, at));                                                                                   \
        at += bit;                                                                                                     \
    }
#define APPEND(v, item, count)                                                                                         \
    {                                                                                                                  \
        int at_ = 0;                                                                                                   \
        APPEND_SOME(v, item, count, 4, NODE_4, at_)                                                                    \
        APPEND_SOME(v, item, count, 2, NODE_2, at_)                                                                    \
        if ((count)&1) v = then(v, item(at_));                                                                         \
    }

/* The nodes of all groups, of both levels. */
fn void forest_up(const forest *f, const window *w, par p)
{
    const int all = groups_before(f, w, w->count);
    for (int g = lane_index(); g < all; g += LANES) {
        elem e[GROUP];
        const int j = sequence_before(f, w, g + 1), i = (g - groups_before(f, w, j)) << GROUP_LOG;
        load_group(e, w->x, place_in(f, w, j) + i);
#define ITEM(k) lift_e(e[k], i + (k), p)
        f->node[g] = NODE_8(ITEM, 0);
#undef ITEM
    }
    WARP_BARRIER();
    for (int q = lane_index(); q << GROUP_LOG < all; q += LANES) {
        const int j = sequence_before(f, w, (q + 1) << GROUP_LOG), s = groups_before(f, w, j);
        const int at = s + ((q - (s >> GROUP_LOG)) << GROUP_LOG);
#define ITEM(k) f->node[at + (k)]
        if (at >= s && at + GROUP <= groups_before(f, w, j + 1)) f->upper[q] = NODE_8(ITEM, 0);
#undef ITEM
    }
    WARP_BARRIER();
}

/* S(n) of sequence j. */
fn maybe forest_fold(const forest *f, const window *w, par p, int j, int n)
{
    maybe v = nothing(p);
    const int s = groups_before(f, w, j), groups = n >> GROUP_LOG, uppers = groups >> GROUP_LOG;
    if (uppers) {
        int u = s >> GROUP_LOG;
        const int left = uppers & (GROUP - 1);
#define ITEM(k) f->upper[u + (k)]
        if (uppers & GROUP) {
            v = then(v, NODE_8(ITEM, 0));
            u += GROUP;
        }
        APPEND(v, ITEM, left)
#undef ITEM
    }
    if (groups & (GROUP - 1)) {
        const int g = s + (uppers << GROUP_LOG), left = groups & (GROUP - 1);
#define ITEM(k) f->node[g + (k)]
        APPEND(v, ITEM, left)
#undef ITEM
    }
    if (n & (GROUP - 1)) {
        const int first = groups << GROUP_LOG, left = n & (GROUP - 1), x = place_in(f, w, j) + first;
#define ITEM(k) lift_e(w->x[x + (k)], first + (k), p)
        APPEND(v, ITEM, left)
#undef ITEM
    }
    return v;
}

/* ---- what comes next ---- */

/* The elements of a window on their way to its buffer. */
fn void stage_elements(const forest *f, window *w, batch b)
{
    const int lane = lane_index();
    const i64 first = f->listed ? w->start[0] : w->first * (i64)f->n; /* where they lie side by side */
    LOCAL elem *x = w->x;
    w->off = 0;
#ifdef COPY_UNIT
    if (f->low) {
        GLOBAL const u8 *from = b.x + first * TL_SIZE;
        w->off = (int)(ADDRESS(from) / TL_SIZE) & (UNIT - 1);
        from -= w->off * TL_SIZE;
        for (int u = lane; u * UNIT < w->off + w->elements; u += LANES) {
            GLOBAL const u8 *at = from + u * 16;
            if (at >= f->low && at + 16 <= f->high) {
                COPY_UNIT(x + u * UNIT, at);
            } else { /* the batch begins or ends in it */
                for (int k = 0; k < UNIT; k++)
                    if (at + k * TL_SIZE >= f->low && at + (k + 1) * TL_SIZE <= f->high)
                        x[u * UNIT + k] = *(GLOBAL const elem *)(at + k * TL_SIZE);
            }
        }
        return;
    }
#endif
    if (f->listed) {
        for (int e = lane; e < w->elements; e += LANES) x[e] = load_element(b.x + (first + e) * b.stride * TL_SIZE);
    } else { /* along the sequences, or across them where that is how memory lies */
        const int across = b.row_stride * b.row_stride < b.stride * b.stride, by = across ? w->count : f->n;
        for (int e = lane; e < w->elements; e += LANES) {
            const int u = (int)((u32)e / (u32)by), v = e - u * by, j = across ? v : u, i = across ? u : v;
            x[j * f->n + i] = load_element(b.x + ((w->first + j) * b.row_stride + i * b.stride) * TL_SIZE);
        }
    }
}

/* The offsets of a job on their way to a table. */
fn void stage_offsets(const forest *f, batch b, i64 job, int table)
{
    if (job >= f->jobs) return;
    const i64 from = job * f->each, left = b.seqs - from, all = left < f->each ? left : f->each;
    LOCAL i64 *to = f->starts + table * (FOREST_SEQUENCES + 1);
    for (int j = lane_index(); j <= all; j += LANES) COPY_WORD(to + j, b.offsets + from + j);
}

/* The groups before each of a job's segments, from their offsets. */
fn void count_groups(const forest *f, const window *w)
{
    enum { EACH = FOREST_SEQUENCES / LANES };
    const int lane = lane_index();
    int mine[EACH], sum = 0;
    UNROLL for (int k = 0; k < EACH; k++)
    {
        const int j = lane * EACH + k;
        const i64 n = w->start[j < w->all ? j + 1 : 0] - w->start[j < w->all ? j : 0];
        mine[k] = sum;
        sum += n <= f->longest ? (int)n >> GROUP_LOG : 0;
    }
    int to = sum; /* of the lanes up to this one */
    UNROLL for (int m = 1; m < LANES; m <<= 1)
    {
        WARP_BARRIER();
        w->before[lane] = to;
        WARP_BARRIER();
        to += lane >= m ? w->before[lane >= m ? lane - m : 0] : 0;
    }
    WARP_BARRIER();
    UNROLL for (int k = 0; k < EACH; k++) w->before[lane * EACH + k] = to - sum + mine[k];
    if (lane == LANES - 1) w->before[FOREST_SEQUENCES] = to;
    WARP_BARRIER();
}

/* The window after w: of the same job, or of the warp's next one. *entered: that. */
fn window window_after(const forest *f, window w, batch b, int *entered)
{
    w.at += w.count, w.first += w.count;
    w.start += w.count, w.before += w.count;
    *entered = w.at >= w.all;
    if (*entered) {
        w.job += warp_count();
        const i64 from = w.job * f->each, left = b.seqs - from;
        w.table = w.table + 1 < FOREST_STARTS ? w.table + 1 : 0, w.odd ^= 1;
        w.all = w.job >= f->jobs ? 0 : (int)(left < f->each ? left : f->each);
        w.at = 0, w.first = from;
        w.start = f->starts + w.table * (FOREST_SEQUENCES + 1);
        w.before = f->before + w.odd * (FOREST_SEQUENCES + 1);
        if (f->listed && w.all) count_groups(f, &w);
    }
    const int most = w.all - w.at;
    w.count = most, w.elements = most * f->n;
    if (f->listed && most) {
        const i64 base = w.start[0];
        int low = 0;
        UNROLL for (int step = FOREST_SEQUENCES; step > 0; step >>= 1)
        {
            const int there = low + step;
            if (there <= most && w.start[there <= most ? there : 0] - base <= FOREST_ELEMENTS) low = there;
        }
        w.elements = (int)(w.start[low] - base);
        w.count = low ? low : 1; /* one that is longer than the room is another launch's */
    }
    w.turn ^= 1;
    w.x = (LOCAL elem *)(f->buffers + w.turn * FOREST_BUFFER(TL_SIZE));
    return w;
}

/* What is read 16 bytes at a time. */
fn void find_range(forest *f, batch b)
{
    f->low = f->high = 0;
#ifdef COPY_UNIT
    const i64 first = f->listed ? b.offsets[0] : 0, end = f->listed ? b.offsets[b.seqs] : b.seqs * b.n;
    if (b.stride == 1 && (f->listed || b.row_stride == b.n || b.seqs == 1) && ADDRESS(b.x) % TL_SIZE == 0)
        f->low = b.x + first * TL_SIZE, f->high = b.x + end * TL_SIZE;
#endif
}

/* jobs: of `each` sequences; of rows, no more than a room holds. */
KERNEL_OF(forest_reduce)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    LOCAL u8 *room = ROOM_OF_PARAMETER + thread_index() / LANES * FOREST_BYTES(sizeof(state), TL_SIZE);
    forest f;
    window now, next;
    int entered;
    f.starts = (LOCAL i64 *)room;
    f.before = (LOCAL int *)(room + FOREST_BEFORE_AT);
    f.node = (LOCAL state *)(room + FOREST_NODES_AT);
    f.upper = f.node + FOREST_NODES;
    f.buffers = room + FOREST_BUFFERS_AT(sizeof(state));
    f.jobs = jobs, f.each = each, f.longest = longest;
    f.listed = (b.flags & OFFSETS) != 0;
    f.n = f.listed ? 0 : (int)b.n;
    f.groups = f.n >> GROUP_LOG;
    f.part = f.groups ? ((1 << 20) + f.groups - 1) / f.groups : 0;
    find_range(&f, b);

    now.job = warp_index() - warp_count(), now.first = 0;
    now.at = now.count = now.all = now.elements = now.off = now.turn = now.odd = 0;
    now.table = FOREST_STARTS - 1;
    now.start = f.starts, now.before = f.before, now.x = 0;
    if (f.listed) stage_offsets(&f, b, warp_index(), 0);
    COPY_WAIT();
    WARP_BARRIER();
    now = window_after(&f, now, b, &entered);
    stage_elements(&f, &now, b);
    if (f.listed) stage_offsets(&f, b, now.job + warp_count(), 1);
    while (now.count) {
        COPY_WAIT();
        WARP_BARRIER();
        next = window_after(&f, now, b, &entered);
        if (next.count) stage_elements(&f, &next, b);
        if (f.listed && entered) stage_offsets(&f, b, next.job + warp_count(), next.table + 1 < FOREST_STARTS ? next.table + 1 : 0);
        forest_up(&f, &now, b.p);
        for (int j = lane_index(); j < now.count; j += LANES) {
            const i64 n = length_in(&f, &now, j);
            if (n <= longest) store_reduced(out, b, now.first + j, forest_fold(&f, &now, b.p, j, (int)n), n);
        }
        now = next;
    }
}
