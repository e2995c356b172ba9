/* SPDX-License-Identifier: MIT
 * Windows. Result j folds elements start to start + length - 1, numbered from start. Doubling:
 * Y_k[i] is the node of the 2^k items from i on, Y_(k+1)[i] = C(Y_k[i], Y_k[i + 2^k]), and a window
 * folds Y at the set bits of its length, from high to low:
 *
 *   length 13:  Y_3[start]  Y_2[start + 8]  Y_0[start + 12]
 *   in general:                   Y_k[start + (higher bits of the length)]
 *
 * A window that is cut off by an edge only has another length. Nothing is ever subtracted. The
 * kernels:
 *
 *   window_whole                     whole.cl: levels in registers and local memory; all windows
 *                                    have their whole length
 *   window                           all levels in local memory; windows of at most ROOM / 2
 *                                    elements and any edge
 *   window_columns                   columns.cl: columns, one per lane
 *   window_part, window_rows         long.cl (a program of its own): longer windows of their whole
 *                                    length
 *   window_tall                      columns.cl (in that program): columns, by tiles
 *   lift_all, double_all, fold_all   each level is an array in global memory; longer windows at an
 *                                    edge */
enum { WINDOW_LEVELS = ROOM_LOG };
enum { OUTPUTS = ROOM / 2 / WINDOW_THREADS, ITEMS = ROOM / WINDOW_THREADS };

#ifndef TL_LONG
/* EDGES_APART: window_whole computes the windows of their whole length. */
KERNEL_OF(window)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    SHARED state z[ROOM];
    SHARED stretch tile;
    SHARED borders cuts;
    windows of;
    LOCAL const stretch *p = &tile;
    const int me = thread_index(), w = (int)(before + after + 1);
    of.at = valid ? 0 : -before, of.count = count, of.before = before, of.after = after,
    of.valid = valid;
    of.least = least, of.edges = edges, of.shift = 0, of.width = w;
    for (i64 job = group_index(); job < jobs; job += group_count()) {
        if (me == 0) stretch_of(&tile, b, out, of, job, mark_of(b, job), each, ROOM);
        clear_borders(&cuts, b);
        BARRIER();
        if (SKIPS && edges != EDGES_TOO && p->inside) {
            BARRIER();
            continue;
        }
        set_borders(&cuts, p, b);
        load_items(z, 0, p, b, of);
        BARRIER();
        int start[OUTPUTS], length[OUTPUTS];
        UNROLL for (int o = 0; o < OUTPUTS; o++)
        {
            /* The window around place c. Its sequence has `some` elements before c and `more`
             * elements from c on. */
            const int j = o * WINDOW_THREADS + me, c = valid ? j : j + (int)before;
            start[o] = j, length[o] = w;
            if (j < p->results && !p->inside) {
                const int some = behind(p, &cuts, b, c), more = ahead(p, &cuts, b, c);
                const int left = valid || some > before ? (int)before : some;
                const int right = more > after ? (int)after : more - 1;
                start[o] = valid ? j : c - left;
                length[o] = valid ? (more >= w ? w : 0) : left + 1 + right;
            }
        }
        state keep[WINDOW_LEVELS][OUTPUTS];
        UNROLL for (int k = 0; k < WINDOW_LEVELS; k++)
        {
            if (SKIPS && w >> k == 0) continue;
            UNROLL for (int o = 0; o < OUTPUTS; o++)
            {
                if (o * WINDOW_THREADS + me < p->results && (length[o] >> k & 1))
                    keep[k][o] = z[start[o] + (int)higher_bits(length[o], k)];
            }
            if (SKIPS && w >> (k + 1) == 0) continue;
            state next[ITEMS];
            UNROLL for (int r = 0; r < ITEMS; r++)
            {
                int i = r * WINDOW_THREADS + me;
                if (i + (2 << k) <= p->beyond) next[r] = TWIN(z[i], z[i + (1 << k)], 1 << k);
            }
            BARRIER();
            UNROLL for (int r = 0; r < ITEMS; r++)
            {
                int i = r * WINDOW_THREADS + me;
                if (i + (2 << k) <= p->beyond) z[i] = next[r];
            }
            BARRIER();
        }
        UNROLL for (int o = 0; o < OUTPUTS; o++)
        {
            const int j = o * WINDOW_THREADS + me;
            if (j >= p->results || (valid && !length[o])) continue;
            maybe acc = nothing(b.p);
            UNROLL for (int k = WINDOW_LEVELS - 1; k >= 0; k--)
            {
                if (length[o] >> k & 1)
                    acc = then(acc, keep[k][o], higher_bits(length[o], k), (i64)1 << k);
            }
            acc.have = acc.have && length[o] >= least;
            store_maybe(result_at(p, b, out, of, j), acc, length[o], p->lo + start[o], b.p);
        }
        BARRIER();
    }
}

#if !TL_IN_PLACE
/* y: level k begins at y + k * room. Lifts the elements with flat indices lo to lo + count - 1. */
KERNEL_OF(lift_all)
{
    BATCH_OF_PARAMETERS;
    for (i64 i = group_index() * WINDOW_THREADS + thread_index(); i < count;
         i += group_count() * WINDOW_THREADS)
        y[i] = lift(load_element(element_of(b, lo + i)), lo + i, b.p);
}

KERNEL_OF(double_all)
{
    GLOBAL const state *from = y + room * level;
    GLOBAL state *to = y + room * (level + 1);
    i64 step = (i64)1 << level;
    i64 i = group_index() * WINDOW_THREADS + thread_index();
    for (; i + 2 * step <= count; i += group_count() * WINDOW_THREADS)
        to[i] = TWIN(from[i], from[i + step], step);
}

/* Computes the results of elements j0 to j1 - 1. If only whole windows have results (valid), these
 * are the windows that begin there. */
KERNEL_OF(fold_all)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    for (i64 j = j0 + group_index() * WINDOW_THREADS + thread_index(); j < j1;
         j += group_count() * WINDOW_THREADS) {
        const member m = member_of(b, j);
        const i64 left = valid          ? 0
                         : m.i < before ? m.i
                                        : before,
                  right = valid ? before + after : after;
        const i64 length = left + 1 + (m.n - m.i - 1 < right ? m.n - m.i - 1 : right),
                  start = j - left;
        maybe acc = nothing(b.p);
        if (valid && length <= right) continue;
        for (int k = 62; k >= 0; k--) {
            const i64 higher = higher_bits(length, k);
            if (length >> k & 1)
                acc = then(acc, y[room * k + start - lo + higher], higher, (i64)1 << k);
        }
        acc.have = acc.have && length >= least;
        store_maybe(result_of(out, b, j), acc, length, start, b.p);
    }
}

/* Overwrites the results of windows in which too few elements count by the empty value. counts:
 * dense, in the order of the results. */
KERNEL_OF(blank)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    for (i64 i = group_index() * WINDOW_THREADS + thread_index(); i < total;
         i += group_count() * WINDOW_THREADS) {
        if (counts[i] >= least) continue;
        if (b.flags & OFFSETS)
            store_empty(out.x + (b.offsets[0] + i) * out.stride * (i64)(OP_LANES * sizeof(result)),
                        b.p);
        else
            store_empty(place(out, b, i / results_each, i % results_each), b.p);
    }
}
#endif
#endif
