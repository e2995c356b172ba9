/* SPDX-License-Identifier: MIT
 * Reduces sequences of some chunks: one warp folds each, chunk after chunk, and keeps the node of
 * chunk c in lane c. No node goes to memory, and no segment search is needed. After the last chunk
 * come up to 7 full rows and a part of one. */

/* Loads the lane's elements of the full rows (e) and of the row after them (part); zeros where
 * there are none. */
fn void load_rest(elem e[ROWS_E][QUAD], elem *part, batch b, i64 first, int left)
{
    const int rows = left >> ROW_LOG, at = lane_index() * QUAD, part_at = rows * ROW_e + at;
    GLOBAL const u8 *from = b.x + first * TL_SIZE;

    UNROLL for (int r = 0; r < ROWS_E; r++)
    {
        UNROLL for (int k = 0; k < QUAD; k++) e[r][k] = NO_ELEMENT;
    }

    UNROLL for (int k = 0; k < QUAD; k++) part[k] = NO_ELEMENT;

    /* PoCL 5.0 aborts over both branches */
    if (SKIPS && b.stride == 1 && ADDRESS(b.x) % TL_SIZE == 0) {
        GLOBAL const elem *x = (GLOBAL const elem *)from;
        UNROLL for (int r = 0; r < ROWS_E - 1; r++)
        {
            if (r < rows) {
                UNROLL for (int k = 0; k < QUAD; k++) e[r][k] = x[at + r * ROW_e + k];
            }
        }

        UNROLL for (int k = 0; k < QUAD; k++)
        {
            if (part_at + k < left) part[k] = x[part_at + k];
        }
    } else {
        const i64 step = b.stride * TL_SIZE;
        UNROLL for (int r = 0; r < ROWS_E - 1; r++)
        {
            if (r < rows) put_quad(e[r], gather(from, step, at + r * ROW_e, left));
        }

        if (part_at < left) put_quad(part, gather(from, step, part_at, left));
    }
}

/* Returns S after `before` and the `rest` < 128 elements of a row; each lane has a quad of them. i:
 * index of the row's first element. */
fn maybe append_part(maybe before, const elem *e, i64 i, int rest, par p, LOCAL state *box)
{
    const i64 mine = i + lane_index() * QUAD;
    state left[5], q[QUAD];

    UNROLL for (int k = 0; k < QUAD; k++) q[k] = lift_e(e[k], mine + k, p);
    const state two = TWIN(q[0], q[1], 1);
    row_node_e(TWIN(two, TWIN(q[2], q[3], 1), 2), QUAD, left, box);
    maybe start = row_start_e(before, i, QUAD, left);
    maybe with = then(start, two, mine, 2);
    if (rest & 2) start = with;
    with = then(start, choose(rest & 2, q[2], q[0]), mine + (rest & 2), 1);
    if (rest & 1) start = with;
    before.s = from_lane(start.s, rest / QUAD, box);
    before.have = before.have || rest;

    return before;
}

/* For params.def. BY_WARP_BLOCKS: how many blocks must fit a multiprocessor. */
#define LONG_ROWS_PARAMETERS PARAMETERS_OF(LONG_ROWS)
#define BY_WARP_BLOCKS (TL_SIZE > 4 || sizeof(state) > 8 ? 1 : 3)
KERNEL_OF(reduce_by_warp)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    SPECULATIVE_OF_PARAMETERS;
    BOX
    const int lane = lane_index();
    const i64 all_jobs = speculative_jobs(a, jobs, b.seqs, 1);
    u32 ticket = 0;
    for (i64 job = warp_index(); job < all_jobs; job = job_after(a, job, ticket)) {
        ticket = take_ticket(a);
        const i64 s = job, all = length_of(b, s), n = all < BY_WARP_END ? all : 0;
        if (SKIPS && all >= BY_WARP_END) continue;
        const i64 from = start_of(b, s);
        const int chunks = (int)(n >> ELEMENTS_LOG), left = (int)n & (CHUNK - 1),
                  rows = left >> ROW_LOG;
        state mine = nothing(b.p).s, v[ROWS_E];
        ROLLED for (int c = 0; c < chunks; c++)
        {
            const state node = node_of_chunk(b, from, (i64)c * CHUNK, box);
            mine = choose(lane == c, node, mine);
        }
        const i64 at = (i64)chunks * CHUNK;
        maybe whole = append_lanes(nothing(b.p), 0, mine, CHUNK, chunks, box);

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
