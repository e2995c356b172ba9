/* SPDX-License-Identifier: MIT
 * Scans sequences of some chunks: one warp scans each and reads every element once. It keeps the
 * node of chunk c in lane c, so S after a chunk is a fold over its lanes. States above 8 bytes need
 * too many registers; for them several launches are faster. */
#if STATE_BYTES <= 8

/* For params.def. BY_WARP_BLOCKS: how many blocks must fit a multiprocessor. */
#define LONG_ROWS_PARAMETERS PARAMETERS_OF(LONG_ROWS)
#define BY_WARP_BLOCKS (TL_SIZE > 4 ? 1 : 2)
KERNEL_OF(scan_by_warp)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    SEEDING_OF_PARAMETERS;
    SPECULATIVE_OF_PARAMETERS;
    BOX
    const int lane = lane_index();
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
        state mine = nothing(b.p).s; /* the node of chunk number `lane` */
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
            mine = choose(lane == c, v[0], mine);
            const maybe after =
                append_lanes(first, b.p.origin, mine, CHUNK, (c + 1) & (LANES - 1), box);

            /* rows[0]: S before the chunk; scan_row needs the nodes v and S after it */
            rows[0] = before;
            row.at = at, row.after = after.s;
            UNROLL for (int r = 0; r < ROWS_E; r++) scan_row(row, e[r], r, rows, stack, box);
            before = after;
        }
    }
}

#endif
