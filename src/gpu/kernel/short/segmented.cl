/* SPDX-License-Identifier: MIT
 * Short sequences, of fewer elements than a chunk: rows, and segments of any mixture of lengths. A
 * warp takes as many neighbouring sequences as fit in its local memory (a tile of the batch), and
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
 * tile). gpu/program.c sets SEGMENTS: 1 for segments, in a program of their own; 0 for rows.
 * Lanes exchange data only through local memory, so this text runs on every device. */

/* A sequence of the tile: its length, its place in local memory, the tile's groups before
 * it. */
typedef struct {
    int n, place, groups;
} sequence;

fn sequence sequence_in(const segmented *f, const warp_tile *w, int j)
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

fn int all_groups(const segmented *f, const warp_tile *w)
{
    return SEGMENTS ? begin_groups(w->begin[w->count]) - begin_groups(w->begin[0])
                    : w->count * f->groups;
}

/* Returns the last sequence that has fewer than `end` groups before it. */
fn int sequence_before(const segmented *f, const warp_tile *w, int end)
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

    FOR(u, UNITS) {
        const unit w = from[u];
        FOR(k, UNIT) v[u * UNIT + k] = w.v[k];
    }

    UNROLL for (int k = 0; k + 1 < UNITS * UNIT; k++) v[k] = off & 1 ? v[k + 1] : v[k];
#if TL_SIZE == 4
    FOR(k, GROUP) v[k] = off & 2 ? v[k + 2] : v[k];
#endif
    FOR(k, GROUP) e[k] = v[k];
#else /* smaller elements: single loads are faster */
    FOR(k, GROUP) e[k] = x[p + k];
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
fn void segmented_up(const segmented *f, const warp_tile *w, par p)
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
fn maybe segmented_fold(const segmented *f, const warp_tile *w, par p, sequence s)
{
    const int groups = s.n >> GROUP_LOG, first = groups << GROUP_LOG, left = s.n & (GROUP - 1),
              x = s.place + first;
    maybe v = segmented_start(f, p, s, nothing(p), groups);
#define ITEM(k) lift_e(f->x[x + (k)], first + (k), p)
    if (left) APPEND(v, p.origin + first, ITEM, left, 1)
#undef ITEM
    return v;
}

/* ---- a segment in each lane ----
 *
 * Segments of less than LANE_END elements: each lane takes one and folds it, 8 elements at a time.
 * A job's segments are done in passes of 32; as many passes as fit in local memory are copied
 * together. No segment search is needed, which is most of the work of the trees above. One longer
 * segment would make all other lanes wait, so jobs with one are done by the trees. */
#if LANE_FOLDS

/* The passes of a job whose elements are in local memory at the same time. */
typedef struct {
    int end;     /* the pass after the last of them */
    int before;  /* elements of the job before them */
    warp_tile w; /* their elements */
} passes;

/* Copies the elements of the next passes, after the first `done`, to local memory. */
fn passes next_passes(const segmented *f, const warp_tile *w, int done, batch b)
{
    passes k;
    k.end = done + 1;
    k.before = (int)w->begin[done * LANES];
    while (k.end * LANES < w->all &&
           (int)w->begin[(k.end + 1) * LANES] - k.before <= SEGMENTED_ELEMENTS)
        k.end++;
    k.w = *w;
    k.w.base += k.before;

    /* there are no segments after the job's last one */
    k.w.elements = (int)w->begin[k.end * LANES] - k.before;
    stage_elements(f, &k.w, b);
    COPY_WAIT();
    WARP_BARRIER();

    return k;
}

/* Loads eight neighbouring elements from place p. The distances between lanes are arbitrary, so
 * loads of 16 bytes would have as many bank conflicts as loads of single elements, and would need
 * selects. */
fn void lane_load(elem *e, LOCAL const elem *x, int p)
{
    FOR(k, GROUP) e[k] = x[p + k];
}

/* A lane keeps one node for each power of two of its groups. */
typedef char lanes_have_three_levels[LANE_END == 8 * GROUP ? 1 : -1];
enum { LANE_GROUPS = LANE_END / GROUP - 1, LANE_NODES = 3 };

/* Returns S(n) of n < LANE_END elements from place `at`. */
fn maybe lane_fold(LOCAL const elem *x, int at, int n, par p)
{
    const int groups = n >> GROUP_LOG, left = n & (GROUP - 1);
    state node[LANE_NODES];
    maybe v = nothing(p);

    FOR(l, LANE_NODES) node[l] = v.s;
    FOR(k, LANE_GROUPS) {
        if (k < groups) {
            elem e[GROUP];
            int l = 0;
            lane_load(e, x, at + k * GROUP);
#define ITEM(i) lift_e(e[i], k *GROUP + (i), p)
            state carry = NODE_8(ITEM, 0, 1);
#undef ITEM
            UNROLL for (; l < LANE_NODES && (k >> l & 1); l++) carry =
                TWIN(node[l], carry, GROUP << l);
            node[l] = carry;
        }
    }

    UNROLL for (int l = LANE_NODES - 1; l >= 0; l--)
    {
        if (groups >> l & 1)
            v = then(v, node[l], p.origin + (groups >> (l + 1) << (l + 1)) * GROUP, GROUP << l);
    }

    const int first = groups << GROUP_LOG, place = at + first;
#define ITEM(k) lift_e(x[place + (k)], first + (k), p)
    if (left) APPEND(v, p.origin + first, ITEM, left, 1)
#undef ITEM

    return v;
}
#endif
