/* SPDX-License-Identifier: MIT
 * Scans short sequences (forest.cl). One lane per group of 8 elements computes S at its first
 * element from the nodes before it, then the 8 results. One lane per sequence does the elements
 * after its last group. Results are staged in local memory until the window is complete, and are
 * then stored contiguously. If results and elements have the same kind and size, a result
 * overwrites its element, which no other lane needs. That saves a third of the local memory. */
#define SCANS_IN_ROOM                                                                              \
    (OP_INPUTS == 1 && OP_LANES == 1 && TL_OUT_SIZE == TL_SIZE &&                                  \
     (TL_OUT_FLOAT != 0) == (TL_KIND == 3 && !TL_FORMAT))

/* Stores result i of a sequence that begins at place `place`: S of i elements (exclusive) or of i +
 * 1. */
fn void put_result(LOCAL result *to, int place, int i, maybe v, i64 exclusive, par p)
{
    const i64 n = p.origin + i + !exclusive;
    to[(place + i) * OP_LANES] = v.have ? lower(v.s, (real)n, 0, p) : empty(p);
#if OP_LANES == 2
    to[(place + i) * OP_LANES + 1] = v.have ? lower_1(v.s, (real)n, 0, p) : empty_1(p);
#endif
}

/* Stores the results of `count` <= 8 elements e, the first of which has index i. v: S before them;
 * after: S after all 8 of them. */
fn void scan_group(LOCAL result *to, int place, const elem *e, int i, int count, maybe v,
                   maybe after, i64 exclusive, par p)
{
    state node;
    maybe s[GROUP + 1];
    s[0] = v;
    scan_eight(s, &node, e, i, p);
    s[GROUP] = after;
    UNROLL for (int k = 0; k < GROUP; k++)
    {
        if (k < count) put_result(to, place, i + k, exclusive ? s[k] : s[k + 1], exclusive, p);
    }
}

/* Stores the window's results, contiguously if they lie so. */
fn void store_window(const forest *f, const window *w, batch b, results out,
                     LOCAL const result *from)
{
    const int all = w->elements * OP_LANES;
    GLOBAL u8 *to =
        SEGMENTS ? out.x + w->base * (i64)(OP_LANES * sizeof(result)) : place(out, b, w->first, 0);
    const int beside = out.stride == 1 && (SEGMENTS || out.row_stride == f->n || w->count == 1) &&
                       ADDRESS(to) % sizeof(result) == 0;
#ifdef COPY_UNIT
    /* 16 bytes at a time */
    if (SCANS_IN_ROOM && beside && ADDRESS(to) % 16 == w->off * sizeof(result)) {
        const int head = (UNIT - w->off) & (UNIT - 1), first = head < all ? head : all,
                  units = (all - first) / UNIT;
        GLOBAL bundle *const far = (GLOBAL bundle *)((GLOBAL result *)to + first);
        LOCAL const bundle *const near = (LOCAL const bundle *)(from + first);
        const int lane = lane_index(), last = first + units * UNIT + lane;
        if (lane < first) ((GLOBAL result *)to)[lane] = from[lane];
        ROLLED for (int u = lane; u < units; u += LANES) far[u] = near[u];
        if (last < all) ((GLOBAL result *)to)[last] = from[last];
        return;
    }
#endif
    for (int e = lane_index(); e < all; e += LANES) {
        if (beside) {
            ((GLOBAL result *)to)[e] = from[e];
        } else {
            const int i = e / OP_LANES, l = e - i * OP_LANES,
                      j = SEGMENTS ? 0 : (int)((u32)i / (u32)f->n);
            const i64 row = SEGMENTS ? w->base * out.stride : (w->first + j) * out.row_stride;
            store_bytes(out.x + ((row + (i - j * f->n) * out.stride) * OP_LANES + l) *
                                    (i64)sizeof(result),
                        from[e]);
        }
    }
}

/* Larger states would not fit in the registers. */
#define WALKS_SCANS (WALKS && STATE_BYTES <= 8)
#if WALKS_SCANS
/* Stores the results of a segment of n < WALK_END elements from place `at`. v: S before them; off:
 * place of the window's first element, where its results begin. All lanes are at their group k at
 * the same time. start[l]: S at the last multiple of 2^l groups; node[l]: the last node of 2^l
 * groups. The loop is not unrolled: eight copies of a division (mean) would spill registers. */
fn void walk_scan_one(LOCAL result *to, LOCAL const elem *x, int at, int off, int n, maybe v,
                      i64 exclusive, par p)
{
    maybe start[3];
    state node[2];
    start[0] = start[1] = start[2] = v;
    node[0] = node[1] = v.s;
    ROLLED for (int i = 0; i < n; i += GROUP)
    {
        const int k = i / GROUP;
        elem e[GROUP];
        state mine;
        maybe s[GROUP + 1];
        walk_load(e, x, at + i);
        s[0] = start[0];
        scan_eight(s, &mine, e, i, p);
        if (!(k & 1)) { /* if the last group is not full, its nodes are not used */
            node[0] = mine;
            start[0] = then(start[1], mine, p.origin + i, GROUP);
        } else {
            mine = TWIN(node[0], mine, GROUP);
            if (!(k & 2)) {
                node[1] = mine;
                start[0] = then(start[2], mine, p.origin + i - GROUP, 2 * GROUP);
            } else {
                start[0] = start[2] = then(v, TWIN(node[1], mine, 2 * GROUP), p.origin, 4 * GROUP);
            }
            start[1] = start[0];
        }
        s[GROUP] = start[0];
        UNROLL for (int j = 0; j < GROUP; j++)
        {
            if (i + j < n)
                put_result(to, at - off, i + j, exclusive ? s[j] : s[j + 1], exclusive, p);
        }
    }
}

/* Scans a job by walk.cl. */
fn void walk_scan(const forest *f, const window *w, batch b, results out, LOCAL result *room,
                  i64 exclusive, i64 seeded, GLOBAL const result *init)
{
    for (int done = 0; done * LANES < w->all;) {
        const walk k = walk_on(f, w, done, b);
        LOCAL result *const to = SCANS_IN_ROOM ? (LOCAL result *)f->x + k.w.off : room;
        ROLLED for (; done < k.end; done++)
        {
            const int j = done * LANES + lane_index();
            if (j < w->all) {
                const int at = (int)w->begin[j], n = (int)w->begin[j + 1] - at;
                walk_scan_one(to, f->x, k.w.off + at - k.before, k.w.off, n,
                              initial(seeded, init, w->first + j, b.p), exclusive, b.p);
            }
        }
        WARP_BARRIER();
        store_window(f, &k.w, b, out, to);
        WARP_BARRIER();
    }
}
#endif

fn void forest_scan(batch b, results out, i64 longest, i64 each, i64 jobs, int warps, i64 exclusive,
                    i64 seeded, GLOBAL const result *init, LOCAL u8 *room)
{
    enum { RESULT = OP_LANES * sizeof(result) };
    room += thread_index() / LANES *
            FOREST_SCAN_BYTES(TL_SIZE, sizeof(state), RESULT, SEGMENTS, SCANS_IN_ROOM);
    if (SKIPS && thread_index() / LANES >= warps) return;
    const forest f = forest_of(b, longest, each, jobs, warps, room, WALKS_SCANS);
    LOCAL result *const apart =
        (LOCAL result *)(room + FOREST_BYTES(TL_SIZE, sizeof(state), SEGMENTS));
    window w = first_window(&f, b);
    while (w.count) {
#if WALKS_SCANS
        if (SEGMENTS && w.walk) {
            walk_scan(&f, &w, b, out, apart, exclusive, seeded, init);
            w = window_after(&f, w, b);
            continue;
        }
#endif
        stage_elements(&f, &w, b);
        LOCAL result *const to = SCANS_IN_ROOM ? (LOCAL result *)f.x + w.off : apart;
        COPY_WAIT();
        WARP_BARRIER();
        forest_up(&f, &w, b.p);
        const int groups = all_groups(&f, &w);
        for (int g = lane_index(); g < groups; g += LANES) {
            const int j = sequence_before(&f, &w, g + 1);
            const sequence s = sequence_in(&f, &w, j);
            const int k = g - s.groups, i = k << GROUP_LOG;
            const maybe v = initial(seeded, init, w.first + j, b.p);
            const maybe start = forest_start(&f, b.p, s, v, k),
                        after = forest_start(&f, b.p, s, v, k + 1);
            elem e[GROUP];
            load_group(e, f.x, s.place + i);
            scan_group(to, s.place - w.off, e, i, GROUP, start, after, exclusive, b.p);
        }
        /* The barrier is needed by PoCL 3.1: with optimisation, it loses the stores of the first of
         * two such loops without a barrier between them. */
        WARP_BARRIER();
        for (int j = lane_index(); j < w.count; j += LANES) {
            const sequence s = sequence_in(&f, &w, j);
            const int left = s.n & (GROUP - 1), k = s.n >> GROUP_LOG, i = k << GROUP_LOG;
            if (!left || (SEGMENTS && s.n > longest)) continue;
            const maybe v = forest_start(&f, b.p, s, initial(seeded, init, w.first + j, b.p), k);
            elem e[GROUP];
            load_group(e, f.x, s.place + i);
            scan_group(to, s.place - w.off, e, i, left, v, v, exclusive, b.p);
        }
        WARP_BARRIER();
        store_window(&f, &w, b, out, to);
        WARP_BARRIER();
        w = window_after(&f, w, b);
    }
}

KERNEL_OF(scan_short)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    const i64 mine =
        SEGMENTS ? jobs_ahead(jobs, measured, slot, most, may_walk, b.seqs, 0) : jobs;
    forest_scan(b, out, longest, each, mine, (int)warps, exclusive, seeded, init,
                ROOM_OF_PARAMETER);
}
