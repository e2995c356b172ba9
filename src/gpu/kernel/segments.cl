/* SPDX-License-Identifier: MIT
 * Segments: finds what the host needs to know of offsets that are on the device. */

enum { FIRSTS_ITEMS = 8 };

#ifdef TL_CUDA
/* The last block to come here copies the slot `from` to `reported`, which is host memory: a copy by
 * the host would delay the next kernel. */
fn void report_last(GLOBAL u32 *from, GLOBAL u32 *reported)
{
    SHARED u32 before;
    const int t = thread_index();

    BARRIER(); /* all threads have added to the slot */
    if (t == 0) {
        __threadfence();
        before = ADD_GLOBAL(from + MEASURED_DONE, 1u);
        __threadfence();
    }

    BARRIER();
    if (before == (u32)group_count() - 1 && t < MEASURED_DONE)
        reported[t] = ADD_GLOBAL(from + t, 0u);
}
#endif

/* The first block clears the next slot, and writes the first and the last offset into this one. */
fn void begin_slot(GLOBAL u32 *next, GLOBAL u32 *to, GLOBAL const i64 *offsets, i64 rows)
{
    const int t = thread_index();
    if (group_index() == 0 && t < MEASURED_SLOT) next[t] = 0;
    if (group_index() == 0 && t == 0) {
        ((GLOBAL i64 *)to)[FIRST_OFFSET] = offsets[0];
        ((GLOBAL i64 *)to)[LAST_OFFSET] = offsets[rows];
    }
}

/* Counts the nodes of the long ones of MEASURE_EACH segments, of n[k] elements. */
fn void count_nodes(LOCAL u32 *nodes, const i64 *n, i64 least)
{
    FOR(k, MEASURE_EACH) {
        for (int l = 1; n[k] >= least && l <= NODE_LEVELS && level_count(n[k], l); l++)
            ADD_LOCAL(&nodes[l - 1], (u32)level_count(n[k], l));
    }
}

/* Writes into the slot of `measured` (constants.h), which must be zero: the number of long segments
 * (`least` elements or more); whether any has a negative length or begins below zero; whether
 * lengths differ; whether any has BY_WARP_END elements or more; the nodes of each level of the long
 * ones. ids: their rows, in any order (results do not depend on it). A thread takes MEASURE_EACH
 * segments and loads all their offsets at once. The last segments come first, so that the first
 * ones are in the cache for the next kernel. */
KERNEL_OF(measure)
{
    SHARED u32 part[MEASURED_WORDS], base;
    const int t = thread_index();
    GLOBAL u32 *const to = measured + slot * MEASURED_SLOT;
    const i64 usual = offsets[1] - offsets[0], step = group_count() * MEASURE_GROUP,
              rounds = (rows + step - 1) / step;
    int bad = 0, different = 0, beyond = 0;

    begin_slot(measured + (slot ^ 1) * MEASURED_SLOT, to, offsets, rows);
    for (i64 round = rounds - 1; round >= 0; round--) {
        const i64 r = round * step + group_index() * MEASURE_GROUP + t;
        i64 n[MEASURE_EACH];
        u32 long_count = 0, place = 0;
        if (t < MEASURED_WORDS) part[t] = 0;
        BARRIER();

        FOR(k, MEASURE_EACH) {
            const i64 at = r + k * MEASURE_THREADS, s = at < rows ? at : 0, from = offsets[s],
                      end = offsets[s + 1];
            const int wrong = from < 0 || end < from;
            n[k] = at < rows && !wrong ? end - from : 0;
            bad |= wrong;
            different |= end - from != usual;
            beyond |= n[k] >= BY_WARP_END;
            long_count += n[k] >= least;
        }

        if (long_count) {
            place = ADD_LOCAL(&part[LONG_COUNT], long_count);
            count_nodes(&part[NODES], n, least);
        }

        BARRIER();
        if (t == LONG_COUNT)
            base = part[LONG_COUNT] ? ADD_GLOBAL(to + LONG_COUNT, part[LONG_COUNT]) : 0;
        else if (t < MEASURED_WORDS && part[t])
            ADD_GLOBAL(to + t, part[t]);
        BARRIER();

        FOR(k, MEASURE_EACH) {
            if (n[k] >= least) ids[base + place++] = r + k * MEASURE_THREADS;
        }

        BARRIER();
    }

    if (t < MEASURED_WORDS) part[t] = 0;
    BARRIER();
    if (bad) OR_LOCAL(&part[BAD], 1u);
    if (different) OR_LOCAL(&part[DIFFERENT], 1u);
    if (beyond) OR_LOCAL(&part[BEYOND], 1u);
    BARRIER();
    if (t < MEASURED_WORDS && part[t]) ADD_GLOBAL(to + t, part[t]);
#ifdef TL_CUDA
    report_last(to, reported);
#endif
}

/* first[l][s]: nodes of level l before the long segment s. One block per level. */
KERNEL_OF(firsts)
{
    SHARED i64 sums[2 * MEASURE_THREADS];
    const int t = thread_index();

    for (i64 l = group_index(); l < levels; l += group_count()) {
        GLOBAL i64 *row = first + l * (long_count + 1);
        i64 before = 0;
        for (i64 at = 0; at < long_count; at += MEASURE_THREADS * FIRSTS_ITEMS) {
            i64 counts[FIRSTS_ITEMS], sum = 0;
            FOR(k, FIRSTS_ITEMS) {
                i64 s = at + t * FIRSTS_ITEMS + k, r = ids[s < long_count ? s : 0],
                    n = offsets[r + 1] - offsets[r];
                counts[k] = s < long_count ? level_count(n, (int)l) : 0;
            }

            FOR(k, FIRSTS_ITEMS) sum += counts[k];
            int turn = 0;
            sums[t] = sum;
            BARRIER();

            /* prefix sum of Hillis and Steele, with double buffering in `sums` */
            for (int m = 1; m < MEASURE_THREADS; m <<= 1) {
                i64 v = sums[turn + t] + (t >= m ? sums[turn + t - m] : 0);
                turn ^= MEASURE_THREADS;
                sums[turn + t] = v;
                BARRIER();
            }

            i64 here = before + sums[turn + t] - sum;
            FOR(k, FIRSTS_ITEMS) {
                i64 s = at + t * FIRSTS_ITEMS + k;
                if (s < long_count) row[s] = here;
                here += counts[k];
            }

            before += sums[turn + MEASURE_THREADS - 1];
            BARRIER();
        }

        if (t == 0) row[long_count] = before;
    }
}
