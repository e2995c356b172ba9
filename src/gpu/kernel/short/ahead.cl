/* SPDX-License-Identifier: MIT
 * Launches of segments that do not wait until the host knows what `measure` (segments.cl) found of their offsets. The
 * host guesses which kernel it will want and launches that at once; the kernel reads what was found, and has no jobs if
 * the guess was wrong or the host will refuse the call. */

#define AHEAD_PARAMETERS PARAMETERS_OF(AHEAD)

/* The jobs of a kernel for segments: of middle_*.cl (walks), or the forest's. */
fn i64 jobs_ahead(i64 jobs, GLOBAL const u32 *measured, i64 slot, i64 most, i64 may_walk, i64 rows, int walks)
{
    if (slot < 0) return jobs;
    GLOBAL const u32 *m = measured + slot * MEASURED_SLOT;
    const i64 first = ((GLOBAL const i64 *)m)[FIRST_OFFSET], last = ((GLOBAL const i64 *)m)[LAST_OFFSET];
    const int good = !m[BAD] && m[DIFFERENT] && last <= most;
    const int long_ones = may_walk && m[LONGS] && last - first >= rows * MIDDLE_MEAN;
    return good && long_ones == walks ? jobs : 0;
}
