/* SPDX-License-Identifier: MIT
 * Windows whose levels are arrays in global memory (window_level): longer than a tile
 * and cut off by an edge; and blank. */

/* Level `level` of the elements with flat indices lo to lo + count - 1: level 0 from the elements,
 * another from the level below. y: level k begins at y + k * level_items. Or (level < 0), from
 * these levels, `count` results from that of element `first` on; valid: those of the windows that
 * begin there. */
KERNEL_OF(window_level)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    GLOBAL const state *const from = y + level_items * (level - 1);
    GLOBAL state *const to = y + level_items * level;
    const i64 step = level > 0 ? (i64)1 << (level - 1) : 0, nodes = level < 0 ? 0
                                                                    : level   ? count - 2 * step + 1
                                                                              : count;
    const i64 me = group_index() * WINDOW_THREADS + thread_index(),
              all = group_count() * WINDOW_THREADS;
    for (i64 i = me; i < nodes; i += all)
        to[i] = level ? TWIN(from[i], from[i + step], step)
                      : lift(load_element(element_of(b, lo + i)), lo + i, b.p);

    for (i64 j = first + me; level < 0 && j < first + count; j += all) {
        const position m = position_of(b, j);
        const i64 left = valid          ? 0
                         : m.i < before ? m.i
                                        : before,
                  right = valid ? before + after : after;
        const i64 length = left + 1 + (m.n - m.i - 1 < right ? m.n - m.i - 1 : right),
                  start = j - left;
        maybe v = nothing(b.p);
        if (valid && length <= right) continue;

        for (int k = 62; k >= 0; k--) {
            const i64 higher = higher_bits(length, k);
            if (length >> k & 1)
                v = then(v, y[level_items * k + start - lo + higher], higher, (i64)1 << k);
        }

        v.have = v.have && length >= least;
        store_maybe(result_of(out, b, j), v, length, start, b.p);
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
