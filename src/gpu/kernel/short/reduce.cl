/* SPDX-License-Identifier: MIT
 * Reduces short sequences: those of fewer elements than a chunk, many per warp (segmented.cl), and
 * those of some chunks, one per warp. */

#if LANE_FOLDS
/* Reduces a job, a segment in each lane (segmented.cl). */
fn void lane_reduce(const segmented *f, const warp_tile *w, batch b, results out)
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
    warp_tile w = first_tile(&f, b);
    while (w.count) {
#if LANE_FOLDS
        if (SEGMENTS && w.by_lanes) {
            lane_reduce(&f, &w, b, out);
            w = tile_after(&f, w, b);
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
        w = tile_after(&f, w, b);
    }
}

KERNEL_OF(reduce_short)
{
    VIEWS_OF_PARAMETERS;
    SPECULATIVE_OF_PARAMETERS;
    const int warp = thread_index() / LANES;
    LOCAL u8 *const memory =
        LOCAL_MEMORY + warp * SEGMENTED_BYTES(TL_SIZE, sizeof(state), SEGMENTS);
    const i64 count = SEGMENTS ? speculative_jobs(a, jobs, b.seqs, 0) : jobs;
    if (SKIPS && warp >= warps) return;
    segmented_reduce(segmented_of(b, each, count, (int)warps, memory, LANE_FOLDS), b, out);
}

#if !SEGMENTS && !TL_IN_PLACE
/* ---- a warp for each sequence ----
 *
 * It folds chunk after chunk, and keeps the node of chunk c in lane c. No node goes to memory, and
 * no segment search is needed. After the last chunk come up to 7 full rows and a part of one. */
/* Loads the lane's elements of the full rows (e) and of the row after them (part); zeros where
 * there are none. */
fn void load_rest(elem e[ROWS_E][QUAD], elem *part, batch b, i64 first, int left)
{
    const int rows = left >> ROW_LOG, at = lane_index() * QUAD, part_at = rows * ROW_e + at;
    GLOBAL const u8 *from = b.x + first * TL_SIZE;

    FOR(r, ROWS_E) {
        FOR(k, QUAD) e[r][k] = NO_ELEMENT;
    }

    FOR(k, QUAD) part[k] = NO_ELEMENT;

    /* PoCL 5.0 aborts over both branches */
    if (SKIPS && b.stride == 1 && ADDRESS(b.x) % TL_SIZE == 0) {
        GLOBAL const elem *x = (GLOBAL const elem *)from;
        FOR(r, ROWS_E - 1) {
            if (r < rows) {
                FOR(k, QUAD) e[r][k] = x[at + r * ROW_e + k];
            }
        }

        FOR(k, QUAD) {
            if (part_at + k < left) part[k] = x[part_at + k];
        }
    } else {
        const i64 step = b.stride * TL_SIZE;
        FOR(r, ROWS_E - 1) {
            if (r < rows) put_quad(e[r], gather(from, step, at + r * ROW_e, left));
        }

        if (part_at < left) put_quad(part, gather(from, step, part_at, left));
    }
}

/* Returns S after `before` and the `rest` < 128 elements of a row; each lane has a quad of them. i:
 * index of the row's first element. */
fn maybe append_part(maybe before, const elem *e, i64 i, int rest, par p, LOCAL state *box)
{
    const i64 first = i + lane_index() * QUAD;
    state left[5], q[QUAD];

    FOR(k, QUAD) q[k] = lift_e(e[k], first + k, p);
    const state two = TWIN(q[0], q[1], 1);
    row_node_e(TWIN(two, TWIN(q[2], q[3], 1), 2), QUAD, left, box);
    maybe start = row_start_e(before, i, QUAD, left);
    maybe with = then(start, two, first, 2);
    if (rest & 2) start = with;
    with = then(start, choose(rest & 2, q[2], q[0]), first + (rest & 2), 1);
    if (rest & 1) start = with;
    before.s = from_lane(start.s, rest / QUAD, box);
    before.exists = before.exists || rest;

    return before;
}

#define BY_WARP_BLOCKS (TL_SIZE > 4 || sizeof(state) > 8 ? 1 : 3)
KERNEL_OF(reduce_by_warp)
{
    VIEWS_OF_PARAMETERS;
    SPECULATIVE_OF_PARAMETERS;
    BOX const int lane = lane_index();
    const i64 all_jobs = speculative_jobs(a, jobs, b.seqs, 1);
    u32 ticket = 0;
    for (i64 job = warp_index(); job < all_jobs; job = job_after(a, job, ticket)) {
        ticket = take_ticket(a);
        const i64 s = job, all = length_of(b, s), n = all < BY_WARP_END ? all : 0;
        if (SKIPS && all >= BY_WARP_END) continue;
        const i64 from = start_of(b, s);
        const int chunks = (int)(n >> ELEMENTS_LOG), left = (int)n & (CHUNK - 1),
                  rows = left >> ROW_LOG;
        state chunk_node = nothing(b.p).s, v[ROWS_E];
        ROLLED for (int c = 0; c < chunks; c++)
        {
            const state node = node_of_chunk(b, from, (i64)c * CHUNK, box);
            chunk_node = choose(lane == c, node, chunk_node);
        }
        const i64 at = (i64)chunks * CHUNK;
        maybe whole = append_lanes(nothing(b.p), 0, chunk_node, CHUNK, chunks, box);

        if (!SKIPS || left) {
            elem e[ROWS_E][QUAD], part[QUAD];
            load_rest(e, part, b, from + at * b.stride, left);
            fold_quads_e(v, e, b, at, 1);
            fold_across_e(v, 1, box);

            /* the lane that has the node of row `lane` (its bits reversed) */
            const int turned = (lane & 1) << 2 | (lane & 2) | (lane >> 2 & 1);
            whole = append_lanes(whole, at, from_lane(v[0], turned, box), ROW_e, rows, box);
            whole = append_part(whole, part, at + rows * ROW_e, left & (ROW_e - 1), b.p, box);
        }

        if (lane == 0 && all < BY_WARP_END) store_reduced(out, b, s, whole, all);
    }
}
#endif
