/* SPDX-License-Identifier: MIT
 * Reduces short sequences (segmented.cl). */

#if LANE_FOLDS
/* Reduces a job, a segment in each lane (lane.cl). */
fn void lane_reduce(const segmented *f, const window *w, batch b, results out)
{
    for (int done = 0; done * LANES < w->all;) {
        const passes k = next_passes(f, w, done, b);
        ROLLED for (; done < k.end; done++)
        {
            const int j = done * LANES + lane_index();
            if (j < w->all) {
                const int at = (int)w->begin[j], n = (int)w->begin[j + 1] - at;
                store_reduced(out, b, w->first + j,
                              lane_fold(f->x, k.w.off + at - k.before, n, b.p), n);
            }
        }
        WARP_BARRIER();
    }
}
#endif

fn void segmented_reduce(segmented f, batch b, results out)
{
    window w = first_window(&f, b);
    while (w.count) {
#if LANE_FOLDS
        if (SEGMENTS && w.by_lanes) {
            lane_reduce(&f, &w, b, out);
            w = window_after(&f, w, b);
            continue;
        }
#endif
        stage_elements(&f, &w, b);
        COPY_WAIT();
        WARP_BARRIER();
        segmented_up(&f, &w, b.p);
        const i64 step = out.row_stride * (i64)(OP_LANES * sizeof(result));
        GLOBAL u8 *to = out.x + (w.first + lane_index()) * step;
        for (int j = lane_index(); j < w.count; j += LANES, to += LANES * step) {
            const sequence s = sequence_in(&f, &w, j);
            if (SEGMENTS && s.n >= CHUNK) continue;
            const maybe v = segmented_fold(&f, &w, b.p, s);
            if (b.flags & STATES)
                pack(out.x + (w.first + j) * PACKED, v.s);
            else
                store_maybe(to, v, s.n, 0, b.p);
        }

        WARP_BARRIER();
        w = window_after(&f, w, b);
    }
}

KERNEL_OF(reduce_short)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    SPECULATIVE_OF_PARAMETERS;
    const int warp = thread_index() / LANES;
    LOCAL u8 *const memory =
        LOCAL_MEMORY + warp * SEGMENTED_BYTES(TL_SIZE, sizeof(state), SEGMENTS);
    const i64 mine = SEGMENTS ? speculative_jobs(a, jobs, b.seqs, 0) : jobs;
    if (SKIPS && warp >= warps) return;
    segmented_reduce(segmented_of(b, each, mine, (int)warps, memory, LANE_FOLDS), b, out);
}
