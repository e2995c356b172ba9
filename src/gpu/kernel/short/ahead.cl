/* SPDX-License-Identifier: MIT
 * Speculative launches for segments: the host does not wait until it knows what `measure`
 * (segments.cl) found of the offsets. It predicts the kernel and launches it at once. The kernel
 * reads what `measure` found. If the prediction was wrong, or if the host will refuse the call, the
 * kernel has no jobs. */

#define SPECULATIVE_PARAMETERS PARAMETERS_OF(SPECULATIVE)
typedef struct {
    GLOBAL u32 *measured; /* the slot that `measure` filled; 0: the launch is not speculative */
    i64 most, by_warp;
} speculative;
#define AHEAD_OF_PARAMETERS                                                                        \
    speculative a;                                                                                 \
    a.measured = slot < 0 ? 0 : measured + slot * MEASURED_SLOT, a.most = most,                    \
    a.by_warp = by_warp

/* The jobs of a kernel for `rows` segments. walks: it is a kernel of middle_*.cl, else of
 * forest_*.cl. */
fn i64 speculative_jobs(speculative a, i64 jobs, i64 rows, int walks)
{
    if (!a.measured) return jobs;
    GLOBAL const u32 *m = a.measured;
    const i64 first = ((GLOBAL const i64 *)m)[FIRST_OFFSET],
              last = ((GLOBAL const i64 *)m)[LAST_OFFSET];
    const int good = !m[BAD] && m[DIFFERENT] && last <= a.most;
    const int long_ones = a.by_warp && m[LONG_COUNT] && last - first >= rows * MIDDLE_MEAN;
    return good && long_ones == walks ? jobs : 0;
}

/* Returns the warp's next job after `job`. In a speculative launch jobs come from a counter, so
 * that no warp has much more work than others when segments have random lengths. Lane 0 increments
 * the counter before the work (ask_job), which hides the latency. */
fn u32 ask_job(speculative a)
{
    u32 next = 0;
    if (SKIPS && a.measured && lane_index() == 0)
        next = ADD_GLOBAL(a.measured + MEASURED_NEXT, 1u);
    return next;
}

fn i64 job_after(speculative a, i64 job, u32 asked)
{
#if SKIPS
    if (a.measured) {
        SHUFFLE(0, u32, asked, asked, 0);
        return warp_count() + asked;
    }
#endif
    return job + warp_count();
}
