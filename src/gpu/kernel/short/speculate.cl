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
#define SPECULATIVE_OF_PARAMETERS \
    speculative a; \
    a.measured = slot < 0 ? 0 : measured + slot * MEASURED_SLOT, a.most = most, \
    a.by_warp = by_warp

/* The jobs of a kernel for `rows` segments. warp_each: it is a kernel of warp_*.cl, else of
 * segmented_*.cl. */
fn i64 speculative_jobs(speculative a, i64 jobs, i64 rows, int warp_each)
{
    if (!a.measured) return jobs;
    GLOBAL const u32 *m = a.measured;
    const i64 first = ((GLOBAL const i64 *)m)[FIRST_OFFSET],
              last = ((GLOBAL const i64 *)m)[LAST_OFFSET];
    const int good = !m[BAD] && m[DIFFERENT] && last <= a.most;
    const int long_ones = a.by_warp && m[LONG_COUNT] && last - first >= rows * BY_WARP_MEAN;
    return good && long_ones == warp_each ? jobs : 0;
}

/* In a speculative launch warps take jobs from a counter, so that none has much more work than
 * others when segments have random lengths. take_ticket comes before a job's work, which hides the
 * counter's latency; job_after comes after it, with that ticket, and returns the warp's next job.
 * In other launches a warp's jobs are fixed, and there are no tickets. */
fn u32 take_ticket(speculative a)
{
    u32 ticket = 0; /* of all lanes but the first, which asks for the warp */
    if (SKIPS && a.measured && lane_index() == 0)
        ticket = ADD_GLOBAL(a.measured + MEASURED_NEXT, 1u);
    return ticket;
}

fn i64 job_after(speculative a, i64 job, u32 ticket)
{
#if SKIPS
    if (a.measured) {
        SHUFFLE(0, u32, ticket, ticket, 0);
        return warp_count() + ticket;
    }
#endif
    return job + warp_count();
}
