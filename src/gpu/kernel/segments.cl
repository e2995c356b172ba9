/* SPDX-License-Identifier: MIT
 * Segments: what the host needs to know of offsets that are on the device. */

enum { FIRSTS_ITEMS = 8 };

/* Into `measured` (constants.h), which is zero: how many segments are long (`least` elements or more), descend or begin
 * below zero, are not as long as the first one, have MIDDLE_END elements or more; the long ones' nodes of each level.
 * ids: the long ones, in any order (their nodes lie in that order; no result depends on it). */
KERNEL_OF(measure)
{
    SHARED u32 part[MEASURED_WORDS], base;
    const int t = thread_index();
    const i64 usual = offsets[1] - offsets[0], step = group_count() * MEASURE_THREADS;
    const i64 rounds = (rows + step - 1) / step;
    i64 r = group_index() * MEASURE_THREADS + t;
    for (i64 round = 0; round < rounds; round++, r += step) {
        if (t < MEASURED_WORDS) part[t] = 0;
        BARRIER();
        const i64 from = offsets[r < rows ? r : 0], to = offsets[r < rows ? r + 1 : 1], n = to - from;
        const int mine = r < rows, bad = from < 0 || to < from, is_long = mine && !bad && n >= least;
        u32 place = 0;
        if (mine && bad) ADD_LOCAL(&part[BAD], 1);
        if (mine && n != usual) ADD_LOCAL(&part[DIFFERENT], 1);
        if (mine && n >= MIDDLE_END) ADD_LOCAL(&part[BEYOND], 1);
        if (is_long) {
            place = ADD_LOCAL(&part[LONGS], 1);
            for (int l = 1; l <= NODE_LEVELS && level_count(n, l); l++) ADD_LOCAL(&part[NODES + l - 1],
                (u32)level_count(n, l));
        }
        BARRIER();
        if (t == LONGS)
            base = part[LONGS] ? ADD_GLOBAL(measured, part[LONGS]) : 0;
        else if (t < MEASURED_WORDS && part[t])
            ADD_GLOBAL(measured + t, part[t]);
        BARRIER();
        if (is_long) ids[base + place] = r;
        BARRIER();
    }
    if (group_index() == 0 && t == 0) {
        ((GLOBAL i64 *)measured)[FIRST_OFFSET] = offsets[0];
        ((GLOBAL i64 *)measured)[LAST_OFFSET] = offsets[rows];
    }
}

/* first[l][s]: nodes of level l before the long segment s. A group a level. */
KERNEL_OF(firsts)
{
    SHARED i64 sums[2 * MEASURE_THREADS];
    const int t = thread_index();
    for (i64 l = group_index(); l < levels; l += group_count()) {
        GLOBAL i64 *row = first + l * (longs + 1);
        i64 before = 0;
        for (i64 at = 0; at < longs; at += MEASURE_THREADS * FIRSTS_ITEMS) {
            i64 mine[FIRSTS_ITEMS], sum = 0;
            UNROLL for (int k = 0; k < FIRSTS_ITEMS; k++)
            {
                i64 s = at + t * FIRSTS_ITEMS + k, r = ids[s < longs ? s : 0], n = offsets[r + 1] - offsets[r];
                mine[k] = s < longs ? level_count(n, (int)l) : 0;
            }
            UNROLL for (int k = 0; k < FIRSTS_ITEMS; k++) sum += mine[k];
            int turn = 0;
            sums[t] = sum;
            BARRIER();
            for (int m = 1; m < MEASURE_THREADS; m <<= 1) { /* Hillis and Steele, between two halves of sums */
                i64 v = sums[turn + t] + (t >= m ? sums[turn + t - m] : 0);
                turn ^= MEASURE_THREADS;
                sums[turn + t] = v;
                BARRIER();
            }
            i64 here = before + sums[turn + t] - sum;
            UNROLL for (int k = 0; k < FIRSTS_ITEMS; k++)
            {
                i64 s = at + t * FIRSTS_ITEMS + k;
                if (s < longs) row[s] = here;
                here += mine[k];
            }
            before += sums[turn + MEASURE_THREADS - 1];
            BARRIER();
        }
        if (t == 0) row[longs] = before;
    }
}
