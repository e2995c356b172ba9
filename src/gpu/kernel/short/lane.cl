/* SPDX-License-Identifier: MIT
 * Segments of less than LANE_END elements: each lane takes one and folds it, 8 elements at a time.
 * A job's segments are done in passes of 32; as many passes as fit in local memory are copied
 * together. No segment search is needed, which is most of the work of segmented.cl: at a mean of 20
 * elements this file takes about a third of its instructions. One longer segment would make all
 * other lanes wait, so segmented.cl does jobs with longer segments. */
#if LANE_FOLDS

/* The passes of a job whose elements are in local memory at the same time. */
typedef struct {
    int end;    /* the pass after the last of them */
    int before; /* elements of the job before them */
    window w;   /* their elements */
} passes;

/* Copies the elements of the next passes, after the first `done`, to local memory. */
fn passes next_passes(const segmented *f, const window *w, int done, batch b)
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
    UNROLL for (int k = 0; k < GROUP; k++) e[k] = x[p + k];
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

    UNROLL for (int l = 0; l < LANE_NODES; l++) node[l] = v.s;
    UNROLL for (int k = 0; k < LANE_GROUPS; k++)
    {
        if (k < groups) {
            elem e[GROUP];
            int l = 0;
            lane_load(e, x, at + k * GROUP);
#define ITEM(i) lift_e(e[i], k * GROUP + (i), p)
            state mine = NODE_8(ITEM, 0, 1);
#undef ITEM
            UNROLL for (; l < LANE_NODES && (k >> l & 1); l++)
                mine = TWIN(node[l], mine, GROUP << l);
            node[l] = mine;
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
