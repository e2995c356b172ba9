/* SPDX-License-Identifier: MIT
 * scan of sequences that lie across (columns): a lane a column, so that a warp reads and writes whole lines. A lane
 * walks down a chunk from S at its first element (scan.cl), 8 elements at a time:
 *
 *   node[l]    the last node of 2^l groups of 8 that still waits for its right neighbour
 *   start[l]   S at the last multiple of 2^l groups; so S after j groups is C(start[l + 1], node of 2^l groups), where
 *              j is an odd multiple of 2^l
 *
 * Nothing is exchanged. The next 8 elements are asked for before the results of these are made. */
enum { DOWN = 8, DOWN_LEVELS = ELEMENTS_LOG - 3 + 1 };

/* The results of `count` elements, which begin at number i; w[k]: S after k of them. */
fn void store_down(GLOBAL u8 *to, i64 step, int count, const maybe *w, i64 i, i64 exclusive, par p)
{
    const i64 n = i + !exclusive;
    const int aligned = ADDRESS(to) % sizeof(result) == 0;
    UNROLL for (int k = 0; k < DOWN; k++)
    {
        GLOBAL u8 *at = to + k * step;
        maybe v; /* no address of w's: it stays in registers */
        v.s = choose(exclusive != 0, w[k].s, w[k + 1].s), v.have = exclusive ? w[k].have : w[k + 1].have;
        if (k >= count) continue;
#if OP_LANES == 1
        if (aligned) {
            *(GLOBAL result *)at = v.have ? lower(v.s, (real)(p.origin + n + k), 0, p) : empty(p);
            continue;
        }
#endif
        store_maybe(at, v, n + k, 0, p);
    }
}

KERNEL_OF(scan_columns)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    const i64 groups = (b.seqs + LANES - 1) / LANES, step = b.stride * TL_SIZE;
    const i64 out_step = out.stride * (i64)(OP_LANES * sizeof(result));
    for (i64 job = warp_index(); job < jobs; job += warp_count()) {
        const i64 c = job / groups, s = (job - c * groups) * LANES + lane_index();
        if (s >= b.seqs) continue;
        i64 at = c << ELEMENTS_LOG;
        const i64 left = b.n - at;
        const int all = left < CHUNK ? (int)left : CHUNK; /* elements of the chunk */
        GLOBAL const u8 *x = b.x + (start_of(b, s) + at * b.stride) * TL_SIZE;
        GLOBAL u8 *to = place(out, b, s, at);
        maybe v = initial(seeded, init, s, b.p), start[DOWN_LEVELS + 1];
        state node[DOWN_LEVELS];
        elem e[DOWN], next[DOWN];
        GLOBAL const state *here = prefix + s * (level_count(b.n, 1) + 1) + c;
        if (at) v.s = here[0], v.have = 1;
        for (int l = 0; l <= DOWN_LEVELS; l++) start[l] = v;
        load_down(next, DOWN, x, step, all);
        for (int i = 0, j = 1; i < all; i += DOWN, j++) {
            maybe w[DOWN + 1];
            state mine;
            int l = 0;
            UNROLL for (int k = 0; k < DOWN; k++) e[k] = next[k];
            x += DOWN * step;
            if (i + DOWN < all) load_down(next, DOWN, x, step, all - i - DOWN);
            w[0] = v;
            scan_eight(w, &mine, e, at + i, b.p);
            for (; !(j >> l & 1); l++) mine = TWIN(node[l], mine, DOWN << l);
            node[l] = mine;
            v = then(start[l + 1], mine, b.p.origin + at + (i64)(j & (j - 1)) * DOWN, DOWN << l);
            for (int k = 0; k <= l; k++) start[k] = v;
            if (i + DOWN == CHUNK) v.s = here[1]; /* a chunk ends nodes of higher levels */
            w[DOWN] = v;
            store_down(to, out_step, all - i, w, at + i, exclusive, b.p);
            to += DOWN * out_step;
        }
    }
}
