/* SPDX-License-Identifier: MIT
 * Short sequences, of fewer elements than a chunk: rows and segments of any mixture of lengths. A warp takes neighbouring
 * ones and folds all their trees at once:
 *
 *   elements   a a a a a a a a a b b c c c c c c c c c c c c c c c c d ...
 *   groups     [a 0..7         ]     [c 0..7         ][c 8..15       ]      8 neighbours of one sequence, from its start
 *   nodes            a0                     c0              c1              numbered from left to right
 *
 * Each lane takes group after group: it finds whose it is by how many groups there are before a sequence, loads 8
 * elements and folds them. Nodes lie in local memory, and 8 nodes of one sequence make one of the next level. There a
 * lane looks at a bucket of 8 places: groups of nodes are disjoint, so at most one begins in each bucket, and its
 * sequence is the last one that begins in the bucket or before it. (If another began later in the same bucket, the group
 * would have to end before that.) At the end one lane per sequence folds what is left over of each level, the highest
 * first: S(n).
 *
 * Nothing is exchanged but through local memory, so every device runs this text. */

enum { GROUP_LOG = 3, GROUP = 1 << GROUP_LOG };

/* A warp's local memory, and which sequences it works on: first .. first + count - 1 of the batch. */
typedef struct {
    LOCAL state *node, *upper; /* of groups of elements, and of groups of those */
    LOCAL i64 *start;          /* of segments, in elements of memory, and the end of the last one */
    LOCAL int *before;         /* groups of the job's segments before this one */
    GLOBAL const u8 *low, *high; /* what may be read between these: all of the job's elements; NULL: a sequence's own */
    i64 first;
    int at, count; /* at: the number of `first` in the job */
    int n, groups, part; /* of every sequence without offsets; part: 2^20 / groups, rounded up */
    int listed;
} forest;

/* Groups of the warp's sequences before number j of them. */
fn int groups_before(forest f, int j)
{
    return f.listed ? f.before[f.at + j] - f.before[f.at] : j * f.groups;
}

/* The last of the sequences that has fewer than `end` groups before it. */
fn int sequence_before(forest f, int end)
{
    if (!f.listed) {
        const int j = (int)((u32)(end - 1) * (u32)f.part >> 20); /* exact: both factors' product is below 2^20 */
        return j < f.count ? j : f.count - 1;
    }
    int j = 0;
    UNROLL for (int step = FOREST_SEQUENCES / 2; step > 0; step >>= 1)
    {
        const int there = j + step;
        if (there < f.count && groups_before(f, there < f.count ? there : 0) < end) j = there;
    }
    return j;
}

fn i64 length_in(forest f, int j) { return f.listed ? f.start[f.at + j + 1] - f.start[f.at + j] : f.n; }

/* ---- elements ---- */

/* `count` <= 8 elements at x, `step` bytes apart; what lies between low and high may be read with them. */
fn void load_group(elem *e, GLOBAL const u8 *x, i64 step, int count, GLOBAL const u8 *low, GLOBAL const u8 *high)
{
    const int beside = step == TL_SIZE && ADDRESS(x) % TL_SIZE == 0;
#if defined(TL_CUDA) && TL_SIZE >= 4
    /* 16 bytes at a time, and what was asked for chosen from them: a word at a time would take each line 8 times. */
    enum { UNIT = 16 / TL_SIZE, UNITS = (GROUP + 2 * UNIT - 2) / UNIT };
    typedef struct ALIGNED(16) { elem v[UNIT]; } unit;
    const int off = (int)(ADDRESS(x) / TL_SIZE) & (UNIT - 1), units = (off + count + UNIT - 1) / UNIT;
    GLOBAL const u8 *from = x - off * TL_SIZE;
    if (beside && from >= low && from + units * 16 <= high) {
        unit w[UNITS];
        elem v[UNITS * UNIT];
        UNROLL for (int u = 0; u < UNITS; u++)
        {
            if (u < units) w[u] = ((GLOBAL const unit *)from)[u];
        }
        UNROLL for (int k = 0; k < UNITS * UNIT; k++) v[k] = w[k / UNIT].v[k % UNIT];
        if (off) {
            UNROLL for (int m = 1; m < UNIT; m <<= 1)
            {
                UNROLL for (int k = 0; k + m < UNITS * UNIT; k++) v[k] = off & m ? v[k + m] : v[k];
            }
        }
        UNROLL for (int k = 0; k < GROUP; k++) e[k] = v[k];
        return;
    }
#endif
    if (beside) {
        GLOBAL const elem *y = (GLOBAL const elem *)x;
        UNROLL for (int k = 0; k < GROUP; k++) e[k] = y[k < count ? k : count - 1];
    } else {
        UNROLL for (int k = 0; k < GROUP; k++) e[k] = load_element(x + (k < count ? k : count - 1) * step);
    }
}

/* `count` elements from number i on of the warp's sequence j. */
fn void load_of(elem *e, forest f, batch b, int j, int i, int count)
{
    const i64 s = f.listed ? f.start[f.at + j] * b.stride : (f.first + j) * b.row_stride;
    GLOBAL const u8 *x = b.x + s * TL_SIZE;
    const int apart = f.low == f.high; /* only what is the sequence's own may be read */
    load_group(e, x + i * b.stride * TL_SIZE, b.stride * TL_SIZE, count, apart ? x : f.low,
               apart ? x + length_in(f, j) * TL_SIZE : f.high);
}

/* ---- trees ---- */

#define NODE_2(item, k) TWIN(item(k), item((k) + 1))
#define NODE_4(item, k) TWIN(NODE_2(item, k), NODE_2(item, (k) + 2))
#define NODE_8(item, k) TWIN(NODE_4(item, k), NODE_4(item, (k) + 4))

/* v after `count` < 16 items in a row, item(0) .. */
#define APPEND(v, item, count)                                                                                         \
    {                                                                                                                  \
        int at = 0;                                                                                                    \
        if ((count)&8) {                                                                                               \
            v = then(v, NODE_8(item, 0));                                                                              \
            at = 8;                                                                                                    \
        }                                                                                                              \
        if ((count)&4) {                                                                                               \
            v = then(v, NODE_4(item, at));                                                                             \
            at += 4;                                                                                                   \
        }                                                                                                              \
        if ((count)&2) {                                                                                               \
            v = then(v, NODE_2(item, at));                                                                             \
            at += 2;                                                                                                   \
        }                                                                                                              \
        if ((count)&1) v = then(v, item(at));                                                                          \
    }

/* The nodes of all groups, of both levels. */
fn void forest_up(forest f, batch b)
{
    const int all = groups_before(f, f.count), across = !f.listed && b.row_stride * b.row_stride < b.stride * b.stride;
    for (int g = lane_index(); g < all; g += LANES) {
        elem e[GROUP];
        int j = sequence_before(f, g + 1), i = g - groups_before(f, j);
        if (across) i = g / f.count, j = g - i * f.count; /* neighbouring lanes, neighbouring memory */
        load_of(e, f, b, j, i << GROUP_LOG, GROUP);
#define ITEM(k) lift_e(e[k], (i << GROUP_LOG) + (k), b.p)
        f.node[groups_before(f, j) + i] = NODE_8(ITEM, 0);
#undef ITEM
    }
    WARP_BARRIER();
    for (int q = lane_index(); q << GROUP_LOG < all; q += LANES) {
        const int j = sequence_before(f, (q + 1) << GROUP_LOG), s = groups_before(f, j), i = q - (s >> GROUP_LOG);
        const int at = s + (i << GROUP_LOG);
#define ITEM(k) f.node[at + (k)]
        if (i >= 0 && at + GROUP <= groups_before(f, j + 1)) f.upper[q] = NODE_8(ITEM, 0);
#undef ITEM
    }
    WARP_BARRIER();
}

/* S(n) of the warp's sequence j. */
fn maybe forest_fold(forest f, batch b, int j, int n)
{
    maybe v = nothing(b.p);
    const int s = groups_before(f, j), groups = n >> GROUP_LOG, uppers = groups >> GROUP_LOG;
    if (uppers) {
        const int u = s >> GROUP_LOG;
#define ITEM(k) f.upper[u + (k)]
        APPEND(v, ITEM, uppers)
#undef ITEM
    }
    if (groups & (GROUP - 1)) {
        const int g = s + (uppers << GROUP_LOG), left = groups & (GROUP - 1);
#define ITEM(k) f.node[g + (k)]
        APPEND(v, ITEM, left)
#undef ITEM
    }
    if (n & (GROUP - 1)) {
        const int first = groups << GROUP_LOG, left = n & (GROUP - 1);
        elem e[GROUP];
        load_of(e, f, b, j, first, left);
        state two = TWIN(lift_e(e[0], first, b.p), lift_e(e[1], first + 1, b.p));
        state next = TWIN(lift_e(e[2], first + 2, b.p), lift_e(e[3], first + 3, b.p));
        if (left & 4) {
            v = then(v, TWIN(two, next));
            two = TWIN(lift_e(e[4], first + 4, b.p), lift_e(e[5], first + 5, b.p));
        }
        if (left & 2) v = then(v, two);
        if (left & 1) {
            const elem low = left & 2 ? e[2] : e[0], high = left & 2 ? e[6] : e[4];
            v = then(v, lift_e(left & 4 ? high : low, n - 1, b.p));
        }
    }
    return v;
}

/* ---- the warp's sequences ---- */

fn forest forest_of(batch b, LOCAL u8 *room)
{
    forest f;
    room += (thread_index() / LANES) * FOREST_BYTES(sizeof(state));
    f.start = (LOCAL i64 *)room;
    f.before = (LOCAL int *)(room + 8 * FOREST_SEQUENCES + 8);
    f.node = (LOCAL state *)(room + FOREST_NODES_AT);
    f.upper = f.node + FOREST_NODES(sizeof(state));
    f.listed = (b.flags & OFFSETS) != 0;
    f.n = f.listed ? 0 : (int)b.n;
    f.groups = f.n >> GROUP_LOG;
    f.part = f.groups ? ((1 << 20) + f.groups - 1) / f.groups : 0;
    f.low = f.high = b.x;
    f.at = 0, f.first = 0, f.count = 0;
    return f;
}

/* A job: sequences from .. end - 1. Their starts, and how many groups lie before each. */
fn void forest_open(forest *f, batch b, i64 from, i64 end, i64 longest)
{
    const int lane = lane_index(), count = (int)(end - from);
    f->first = from, f->at = 0;
    if (f->listed) {
        enum { EACH = FOREST_SEQUENCES / LANES };
        WARP_BARRIER();
        for (int j = lane; j <= count; j += LANES) f->start[j] = b.offsets[from + j];
        WARP_BARRIER();
        int mine[EACH], sum = 0;
        UNROLL for (int k = 0; k < EACH; k++)
        {
            const int j = lane * EACH + k;
            const i64 n = j < count ? f->start[j < count ? j + 1 : 0] - f->start[j < count ? j : 0] : 0;
            mine[k] = sum;
            sum += n <= longest ? (int)n >> GROUP_LOG : 0;
        }
        int all = sum; /* of the lanes up to this one */
        LOCAL int *box = (LOCAL int *)f->node;
        UNROLL for (int m = 1; m < LANES; m <<= 1)
        {
            WARP_BARRIER();
            box[lane] = all;
            WARP_BARRIER();
            all += lane >= m ? box[lane >= m ? lane - m : 0] : 0;
        }
        UNROLL for (int k = 0; k < EACH; k++)
        {
            if (lane * EACH + k <= count) f->before[lane * EACH + k] = all - sum + mine[k];
        }
        if (lane == LANES - 1 && count == FOREST_SEQUENCES) f->before[count] = all;
        WARP_BARRIER();
        if (b.stride == 1) f->low = b.x + f->start[0] * TL_SIZE, f->high = b.x + f->start[count] * TL_SIZE;
    } else if (b.stride == 1 && b.row_stride == b.n) {
        f->low = b.x + from * b.n * TL_SIZE, f->high = b.x + end * b.n * TL_SIZE;
    }
}

/* Takes the next sequences whose nodes have room, up to `end`. */
fn void forest_next(forest *f, i64 end)
{
    const int most = (int)(end - f->first);
    if (!f->listed) {
        f->count = most; /* a job has no more */
        return;
    }
    int low = 0;
    UNROLL for (int step = FOREST_SEQUENCES; step > 0; step >>= 1)
    {
        const int there = low + step;
        if (there <= most &&
            f->before[f->at + (there <= most ? there : 0)] - f->before[f->at] <= FOREST_NODES(sizeof(state)))
            low = there;
    }
    f->count = low;
}

/* jobs: of `each` sequences, rows no more than whose nodes have room. */
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
        forest_open(&f, b, from, end, longest);
        while (f.first < end) {
            forest_next(&f, end);
            forest_up(f, b);
            for (int j = lane_index(); j < f.count; j += LANES) {
                const i64 n = length_in(f, j);
                if (n <= longest) store_reduced(out, b, f.first + j, forest_fold(f, b, j, (int)n), n);
            }
            WARP_BARRIER();
            f.first += f.count, f.at += f.count;
        }
    }
}
