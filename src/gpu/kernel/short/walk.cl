/* SPDX-License-Identifier: MIT
 * Segments below WALK_END elements: a lane takes each, and walks down it, 8 elements at a time.
 * A job's segments go in passes of 32, as many of which as fit are in the room. Nobody looks up
 * whose a group is, which is most of what the forest does (counted in the machine code, at a
 * mean of 20 elements about a third of its instructions are left). Longer segments among them
 * would let all other lanes wait; such jobs are the forest's. */
#if WALKS

/* The passes of a walk that are in the room at the same time. */
typedef struct {
    int end;    /* the pass after them */
    int before; /* elements of the job before them */
    window w;   /* their elements */
} walk;

/* Those that come after `done` passes, and their elements on the way to the room. */
fn walk walk_on(const forest *f, const window *w, int done, batch b)
{
    walk k;
    k.end = done + 1;
    k.before = (int)w->begin[done * LANES];
    while (k.end * LANES < w->all && (int)w->begin[(k.end + 1) * LANES] - k.before <= FOREST_ELEMENTS) k.end++;
    k.w = *w;
    k.w.base += k.before;
    k.w.elements = (int)w->begin[k.end * LANES] - k.before; /* behind the job's segments lie none */
    stage_elements(f, &k.w, b);
    COPY_WAIT();
    WARP_BARRIER();
    return k;
}

/* Eight neighbours from place p of the room. Lanes lie at any distance, so that one element at a
 * time meets no more of the others in its bank than 16 bytes at a time would, and leaves nothing
 * to choose. */
fn void walk_load(elem *e, LOCAL const elem *x, int p)
{
#if TL_SIZE >= 4
    UNROLL for (int k = 0; k < GROUP; k++) e[k] = x[p + k];
#else
    load_group(e, x, p);
#endif
}

#if STRIPED && OP_EXTREME && !FINDS && TL_SIZE == 1
/* S(n) of n < WALK_END bytes from place `at` of the room, word by word (stripes.cl): eight of
 * them cost a quarter of what they cost one by one. */
fn maybe walk_fold(LOCAL const elem *x, int at, int n, par p)
{
    enum { BYTES = 4, FILL = (int)((u32)(u8)WORST * 0x01010101u) };
    LOCAL const u32 *const words = (LOCAL const u32 *)x;
    const int end = at + n, last = (end - 1) / BYTES, before = at % BYTES * 8, after = (end - 1) % BYTES * 8;
    pile t = pile_none(p);
    maybe v = nothing(p);
    if (n) {
        int k = at / BYTES;
        const u32 left = ~0u << before, right = ~0u >> (24 - after); /* what is the segment's */
        u32 w = (words[k] & left) | ((u32)FILL & ~left);
        for (; k <= last; k++) {
            if (k == last) w = (w & right) | ((u32)FILL & ~right);
            t.part.a = PAIR_MOST(t.part.a, w);
            t.part.b = PAIR_MOST(t.part.b, w << 8);
            w = words[k + 1];
        }
        v.s = pile_state(t);
        v.have = 1;
    }
    return v;
}
#else
/* The nodes of a lane's groups so far, one for each power of two. */
typedef char walks_have_three_levels[WALK_END == 8 * GROUP ? 1 : -1];
enum { WALK_GROUPS = WALK_END / GROUP - 1, WALK_NODES = 3 };

/* S(n) of n < WALK_END elements from place `at` of the room. */
fn maybe walk_fold(LOCAL const elem *x, int at, int n, par p)
{
    const int groups = n >> GROUP_LOG, left = n & (GROUP - 1);
    state node[WALK_NODES];
    maybe v = nothing(p);
    UNROLL for (int l = 0; l < WALK_NODES; l++) node[l] = v.s;
    UNROLL for (int k = 0; k < WALK_GROUPS; k++)
    {
        if (k < groups) {
            elem e[GROUP];
            int l = 0;
            walk_load(e, x, at + k * GROUP);
#define ITEM(i) lift_e(e[i], k * GROUP + (i), p)
            state mine = NODE_8(ITEM, 0, 1);
#undef ITEM
            UNROLL for (; l < WALK_NODES && (k >> l & 1); l++) mine = TWIN(node[l], mine, GROUP << l);
            node[l] = mine;
        }
    }
    UNROLL for (int l = WALK_NODES - 1; l >= 0; l--)
    {
        if (groups >> l & 1) v = then(v, node[l], p.origin + (groups >> (l + 1) << (l + 1)) * GROUP, GROUP << l);
    }
    const int first = groups << GROUP_LOG, place = at + first;
#define ITEM(k) lift_e(x[place + (k)], first + (k), p)
    if (left) APPEND(v, p.origin + first, ITEM, left, 1)
#undef ITEM
    return v;
}
#endif
#endif
