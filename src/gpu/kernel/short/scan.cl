/* SPDX-License-Identifier: MIT
 * Scans short sequences: those of some chunks, one per warp (below), and those of fewer elements
 * than a chunk, many per warp (segmented.cl). Of these, one lane per group of 8 elements computes S
 * at its first element from the nodes before it, then S at the 7 others. One lane per sequence does
 * the elements after its last group, and S of all. Results are staged in local memory until the
 * tile is complete, and are then stored contiguously. If results and elements have the same kind
 * and size, a result overwrites its element, which no other lane needs. That saves a third of the
 * local memory. */
#define OVERWRITES \
    (OP_INPUTS == 1 && OP_LANES == 1 && TL_OUT_SIZE == TL_SIZE && \
     (TL_OUT_FLOAT != 0) == (TL_KIND == 3 && !TL_FORMAT))

/* Where the results of a sequence go: result i at place `place` + i. */
typedef struct {
    LOCAL result *to;
    int place;
    i64 exclusive;
    par p;
} placing;

/* Stores result i. v: S of i elements (exclusive) or of i + 1. */
fn void put_result(placing t, int i, maybe v)
{
    const i64 n = t.p.origin + i + !t.exclusive;
    t.to[(t.place + i) * OP_LANES] = v.exists ? lower(v.s, (real)n, 0, t.p) : empty(t.p);
#if OP_LANES == 2
    t.to[(t.place + i) * OP_LANES + 1] = v.exists ? lower_1(v.s, (real)n, 0, t.p) : empty_1(t.p);
#endif
}

/* Stores S of i elements: result i of an exclusive scan, result i - 1 of an inclusive one. */
fn void put_start(placing t, int i, maybe v)
{
    if (i || t.exclusive) put_result(t, i - !t.exclusive, v);
}

/* Stores S before the first `count` <= 8 elements e, but not v, which is S before the first one. i:
 * its index. */
fn void scan_group(placing t, const elem *e, int i, int count, maybe v)
{
    state node;
    maybe s[GROUP];

    s[0] = v;
    scan_eight(s, &node, e, i, t.p);
    UNROLL for (int k = 1; k < GROUP; k++)
    {
        if (k < count) put_result(t, i + k - !t.exclusive, s[k]);
    }
}

/* Stores the tile's results, contiguously if they lie so. */
fn void store_tile(const segmented *f, const warp_tile *w, batch b, results out,
                   LOCAL const result *from)
{
    const int all = w->elements * OP_LANES;
    GLOBAL u8 *to =
        SEGMENTS ? out.x + w->base * (i64)(OP_LANES * sizeof(result)) : place(out, b, w->first, 0);
    const int beside = out.stride == 1 && (SEGMENTS || out.row_stride == f->n || w->count == 1) &&
                       ADDRESS(to) % sizeof(result) == 0;

#ifdef COPY_UNIT
    /* 16 bytes at a time */
    if (OVERWRITES && beside && ADDRESS(to) % 16 == w->off * sizeof(result)) {
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
#define LANE_SCANS (LANE_FOLDS && STATE_BYTES <= 8)
#if LANE_SCANS
/* Stores the results of a segment of n < LANE_END elements from place `at`. v: S before them. All
 * lanes are at their group k at the same time. start[l]: S at the last multiple of 2^l groups;
 * node[l]: the last node of 2^l groups. The loop is not unrolled: eight copies of a division (mean)
 * would spill registers. */
fn void lane_scan_one(placing t, LOCAL const elem *x, int at, int n, maybe v)
{
    const par p = t.p;
    maybe start[3];
    state node[2];

    start[0] = start[1] = start[2] = v;
    node[0] = node[1] = v.s;
    ROLLED for (int i = 0; i < n; i += GROUP)
    {
        const int k = i / GROUP;
        elem e[GROUP];
        state carry;
        maybe s[GROUP + 1];
        lane_load(e, x, at + i);
        s[0] = start[0];
        scan_eight(s, &carry, e, i, p);

        if (!(k & 1)) { /* if the last group is not full, its nodes are not used */
            node[0] = carry;
            start[0] = then(start[1], carry, p.origin + i, GROUP);
        } else {
            carry = TWIN(node[0], carry, GROUP);
            if (!(k & 2)) {
                node[1] = carry;
                start[0] = then(start[2], carry, p.origin + i - GROUP, 2 * GROUP);
            } else {
                start[0] = start[2] = then(v, TWIN(node[1], carry, 2 * GROUP), p.origin, 4 * GROUP);
            }

            start[1] = start[0];
        }

        s[GROUP] = start[0];
        FOR(j, GROUP) {
            if (i + j < n) put_result(t, i + j, t.exclusive ? s[j] : s[j + 1]);
        }
    }
}

/* Scans a job, a segment in each lane (segmented.cl). */
fn void lane_scan(const segmented *f, const warp_tile *w, batch b, results out,
                  LOCAL result *memory, seeding seeds)
{
    for (int done = 0; done * LANES < w->all;) {
        const passes k = next_passes(f, w, done, b);
        placing t;
        t.to = OVERWRITES ? (LOCAL result *)f->x + k.w.off : memory;
        t.exclusive = seeds.exclusive, t.p = b.p;
        ROLLED for (; done < k.end; done++)
        {
            const int j = done * LANES + lane_index();
            if (j < w->all) {
                const int at = (int)w->begin[j], n = (int)w->begin[j + 1] - at;
                t.place = at - k.before;
                lane_scan_one(t, f->x, k.w.off + t.place, n, initial(seeds, w->first + j, b.p));
            }
        }
        WARP_BARRIER();
        store_tile(f, &k.w, b, out, t.to);
        WARP_BARRIER();
    }
}
#endif

/* apart: local memory for results that cannot overwrite their elements. */
fn void segmented_scan(segmented f, batch b, results out, LOCAL result *apart, seeding seeds)
{
    placing t;
    warp_tile w = first_tile(&f, b);

    t.exclusive = seeds.exclusive, t.p = b.p;
    while (w.count) {
#if LANE_SCANS
        if (SEGMENTS && w.by_lanes) {
            lane_scan(&f, &w, b, out, apart, seeds);
            w = tile_after(&f, w, b);
            continue;
        }
#endif
        stage_elements(&f, &w, b);
        t.to = OVERWRITES ? (LOCAL result *)f.x + w.off : apart;
        COPY_WAIT();
        WARP_BARRIER();
        segmented_up(&f, &w, b.p);
        const int groups = all_groups(&f, &w);
        for (int before = 0; before < groups; before += LANES) {
            const int g = before + lane_index();
            int i = 0;
            maybe v = nothing(b.p);
            if (g < groups) {
                const int j = sequence_before(&f, &w, g + 1);
                const sequence s = sequence_in(&f, &w, j);
                elem e[GROUP];
                i = (g - s.groups) << GROUP_LOG;
                v = segmented_start(&f, b.p, s, initial(seeds, w.first + j, b.p), g - s.groups);
                load_group(e, f.x, s.place + i);
                t.place = s.place - w.off;
                scan_group(t, e, i, GROUP, v);
            }

            WARP_BARRIER(); /* the last element of the group before has been loaded */
            if (g < groups) put_start(t, i, v);
        }

        /* The barrier is needed by PoCL 3.1: with optimisation, it loses the stores of the first of
         * two such loops without a barrier between them. */
        WARP_BARRIER();

        for (int j = lane_index(); j < w.count; j += LANES) {
            const sequence s = sequence_in(&f, &w, j);
            const int k = s.n >> GROUP_LOG, i = k << GROUP_LOG,
                      count = (s.n & (GROUP - 1)) + !t.exclusive;
            if ((SEGMENTS && s.n >= CHUNK) || !count) continue;
            const maybe v = segmented_start(&f, b.p, s, initial(seeds, w.first + j, b.p), k);
            t.place = s.place - w.off;
            if (count > 1) {
                elem e[GROUP];
                load_group(e, f.x, s.place + i);
                scan_group(t, e, i, count, v);
            }
            put_start(t, i, v);
        }

        WARP_BARRIER();
        store_tile(&f, &w, b, out, t.to);
        WARP_BARRIER();
        w = tile_after(&f, w, b);
    }
}

KERNEL_OF(scan_short)
{
    enum { RESULT = OP_LANES * sizeof(result) };
    VIEWS_OF_PARAMETERS;
    SEEDING_OF_PARAMETERS;
    SPECULATIVE_OF_PARAMETERS;
    const int warp = thread_index() / LANES;
    LOCAL u8 *const memory =
        LOCAL_MEMORY +
        warp * SEGMENTED_SCAN_BYTES(TL_SIZE, sizeof(state), RESULT, SEGMENTS, OVERWRITES);
    LOCAL result *const apart =
        (LOCAL result *)(memory + SEGMENTED_BYTES(TL_SIZE, sizeof(state), SEGMENTS));
    const i64 count = SEGMENTS ? speculative_jobs(a, jobs, b.seqs, 0) : jobs;
    if (SKIPS && warp >= warps) return;

    segmented_scan(segmented_of(b, each, count, (int)warps, memory, LANE_SCANS), b, out, apart,
                   seeds);
}

#if STATE_BYTES <= 8 && !SEGMENTS && !TL_IN_PLACE
/* ---- a warp for each sequence ----
 *
 * It reads every element once, and keeps the node of chunk c in lane c, so S after a chunk is a
 * fold over its lanes. States above 8 bytes need too many registers; for them several launches are
 * faster. */
#define BY_WARP_BLOCKS (TL_SIZE > 4 ? 1 : 2)
KERNEL_OF(scan_by_warp)
{
    VIEWS_OF_PARAMETERS;
    SEEDING_OF_PARAMETERS;
    SPECULATIVE_OF_PARAMETERS;
    BOX const int lane = lane_index();
    const i64 all_jobs = speculative_jobs(a, jobs, b.seqs, 1);
    for (i64 job = warp_index(); job < all_jobs; job += warp_count()) {
        const i64 s = job, all = length_of(b, s), n = all < BY_WARP_END ? all : 0;
        const i64 from = start_of(b, s);
        const maybe first = initial(seeds, s, b.p);
        const int chunks = (int)((n + CHUNK - 1) >> ELEMENTS_LOG);
        maybe before = first;
        chunk_scan row;
        row.b = b, row.out = out, row.s = s, row.n = n;
        row.exclusive = exclusive, row.last = ROWS_E - 1;
        state chunk_node = nothing(b.p).s; /* the node of chunk number `lane` */
        ROLLED for (int c = 0; c < chunks; c++)
        {
            const i64 at = (i64)c * CHUNK;
            maybe rows[ROWS_E + 1];
            state stack[LOG_ROWS_E + 1], v[ROWS_E];
            elem e[ROWS_E][QUAD];
            load_e(e, b, from, at, n);
            fold_quads_e(v, e, b, at, 1);
            fold_across_e(v, 1, box);
            v[0] = fold_lanes_e(v[0], 1, box); /* the chunk's node */
            chunk_node = choose(lane == c, v[0], chunk_node);
            const maybe after =
                append_lanes(first, b.p.origin, chunk_node, CHUNK, (c + 1) & (LANES - 1), box);

            /* rows[0]: S before the chunk; scan_row needs the nodes v and S after it */
            rows[0] = before;
            row.at = at, row.after = after.s;
            FOR(r, ROWS_E) scan_row(row, e[r], r, rows, stack, box);
            before = after;
        }
    }
}

#endif
