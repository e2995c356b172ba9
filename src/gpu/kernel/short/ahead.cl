/* SPDX-License-Identifier: MIT
 * Launches of segments that do not wait until the host knows what `measure` (segments.cl) found
 * of their offsets. The host guesses which kernel it will want and launches that at once; the
 * kernel reads what was found, and has no jobs if the guess was wrong or the host will refuse
 * the call. */

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

/* The warp's next job after `job`. Segments of random lengths are given out one by one where
 * there is a counter, so that no warp is left with much more work than others. Lane 0 asks
 * before the work (ask_job). */
fn u32 ask_job(GLOBAL u32 *measured, i64 slot)
{
    u32 next = 0;
    if (SKIPS && slot >= 0 && lane_index() == 0)
        next = ADD_GLOBAL(measured + slot * MEASURED_SLOT + MEASURED_NEXT, 1u);
    return next;
}
fn i64 job_after(i64 job, u32 asked, i64 slot)
{
#if SKIPS
    if (slot >= 0) {
        SHUFFLE(0, u32, asked, asked, 0);
        return warp_count() + asked;
    }
#endif
    return job + warp_count();
}
