/* SPDX-License-Identifier: MIT
 * Windows of class X, of one contiguous sequence. Any bracketing of a window's elements gives the
 * same bits, so the work for a result does not grow with w (van Herk 1992, Gil and Werman 1993).
 * Elements are cut into runs of RUN, one for each thread. A thread computes the results of the
 * windows that begin in its run:
 *
 *   item      run          (run + 1) RUN                             run RUN + w - 1
 *   window j  j ---------- | whole runs | first `part` items of a run | ---------- j + w - 1
 *             suffix of    the middle, which all windows of the run     prefix of the run's
 *             the run      share                                        last items
 *
 * The suffixes of the run are folded from the right, and the prefixes of the last items from the
 * left. The order of the operands is kept. There are two ways to the middle:
 *
 *   near   a tile has all items of its windows in local memory: the middle is a window over the
 *          nodes of whole runs, by doubling
 *   far    (TL_FAR 1; CUDA) windows longer than a tile, which has the items where its windows begin
 *          (left) and where they end (right). The middle is the runs of `left` after this one, the
 *          whole tiles between, the first items of a tile, and the runs of `right` before this one.
 *          Each tile publishes its node and the node of its first items (exact_far.cl)
 *
 * If the operator has an inverse, such windows slide instead (TL_FAR 2). */
#if OP_EXACT
enum {
    RUN = TL_FAR ? EXACT_FAR_RUN(TL_SIZE, STATE_BYTES) : EXACT_RUN(STATE_BYTES),
    VALUES = OP_LANES,
    OUT_BYTES = OP_LANES * TL_OUT_SIZE
};
#define EXACT_BLOCKS (STATE_BYTES > 8 || (TL_FAR && TL_SIZE < 4) ? 2 : 4)

/* No operator of class X needs to know how many elements a node has. */
#define JOIN(a, b) COMBINE(a, b, 1, 1)

/* What local memory holds: elements, or states if these have the same size and are costly to
 * make. */
#define KEEPS_STATES (TL_KIND == 3 && STATE_BYTES == TL_SIZE)
#if KEEPS_STATES
typedef state kept;
fn kept keep(elem x, i64 i, par p) { return lift(x, i, p); }
fn state state_of(kept v, i64 i, par p) { return v; }
#else
typedef elem kept;
fn kept keep(elem x, i64 i, par p) { return x; }
fn state state_of(kept v, i64 i, par p) { return lift(v, i, p); }
#endif

enum { LINE = 16 / TL_SIZE, LOADS = 4 };

typedef struct ALIGNED(16) {
    u32 w[4];
} line;

fn int lesser(int a, int b) { return a < b ? a : b; }

/* A tile: item 0 has index lo. z: its items in local memory. */
typedef struct {
    LOCAL kept *z;
    i64 lo;
    par p;
} exact_tile;

/* A line of items as local memory holds it. i: index of the first one. */
fn line kept_line(line v, i64 i, par p)
{
#if KEEPS_STATES
    union {
        line all;
        elem x[LINE];
        kept z[LINE];
    } from, to;
    from.all = v;
    FOR(c, LINE) to.z[c] = keep(from.x[c], i + c, p);
    return to.all;
#else
    return v;
#endif
}

/* Loads items `from` to to - 1 from e, where item 0 is: whole lines, then the items before and
 * after them. e and z lie at the same offset in a line. */
fn void load_aligned(const exact_tile *t, GLOBAL const elem *e, int from, int to)
{
    const int me = thread_index(), shift = (int)(ADDRESS(e) % 16) / TL_SIZE;
    const int first = (from + shift + LINE - 1) / LINE, last = (to + shift) / LINE;
    GLOBAL const line *const lines = (GLOBAL const line *)(e - shift);
    LOCAL line *const to_lines = (LOCAL line *)(t->z - shift);
    const i64 lo = t->lo - shift;
    int u = first + me;

    ROLLED for (; u < last; u += LOADS * WINDOW_THREADS)
    {
        line v[LOADS];
        FOR(k, LOADS) v[k] = lines[lesser(u + k * WINDOW_THREADS, last - 1)];

        FOR(k, LOADS) {
            const int at = u + k * WINDOW_THREADS;
            if (at < last) to_lines[at] = kept_line(v[k], lo + at * LINE, t->p);
        }
    }
    const int before = first * LINE - shift, after = last * LINE - shift;
    const int i = from + me, rest = (after > from ? after : from) + me;
    if (i < to && i < before) t->z[i] = keep(e[i], t->lo + i, t->p);
    if (rest < to) t->z[rest] = keep(e[rest], t->lo + rest, t->p);
}

/* The tile whose item 0 has index lo. Its items lie in memory at the offset in a line of 16 bytes
 * that they have in global memory. */
fn exact_tile exact_tile_at(LOCAL u8 *memory, batch b, i64 lo)
{
    const u64 x = ADDRESS(b.x + lo * TL_SIZE);
    exact_tile t;
    t.z = (LOCAL kept *)memory + (x % TL_SIZE == 0 ? (int)(x % 16) / TL_SIZE : 0);
    t.lo = lo, t.p = b.p;
    return t;
}

/* Loads items `from` to to - 1 of a tile. */
fn void load_items_exact(const exact_tile *t, batch b, int from, int to)
{
    const int me = thread_index();
    GLOBAL const u8 *x = b.x + t->lo * TL_SIZE;
    const int aligned = ADDRESS(x) % TL_SIZE == 0;

    /* Without else, for PoCL 5.0 (see BARRIER in prelude_opencl.h): there, all items are loaded one
     * by one, or none. */
    if (!SKIPS || !aligned) {
        const int end = SKIPS || !aligned ? to : from;
        ROLLED for (int i = from + me; i < end; i += WINDOW_THREADS) t->z[i] =
            keep(load_element(x + i * TL_SIZE), t->lo + i, t->p);
        if (SKIPS) return;
        from = end;
    }

    load_aligned(t, (GLOBAL const elem *)x, from, to);
}

/* Returns the node of run g, and sets *first to the node of its first `part` items. */
fn state fold_run(const exact_tile *t, int g, int part, state *first)
{
    LOCAL const kept *x = t->z + g * RUN;
    const i64 start = t->lo + g * RUN;
    state v = state_of(x[0], start, t->p);
    *first = v;
    UNROLL for (int j = 1; j < RUN; j++)
    {
        v = JOIN(v, state_of(x[j], start + j, t->p));
        *first = choose(j < part, v, *first);
    }
    return v;
}

/* mid[g] for the first `heads` runs: the fold of the `inner` runs after run g. y, next: `runs`
 * nodes each, overwritten. Each step makes two levels and takes one base-4 digit of `inner`, the
 * lowest first. */
fn void fold_inner_runs(LOCAL state *y, LOCAL state *next, LOCAL state *mid, int heads, int runs,
                        int inner)
{
    int at = 1;
    for (int log = 0; inner >> log; log += 2) {
        const int size = 1 << log, digit = inner >> log & 3,
                  next_count = inner >> log >= 4 ? runs - 3 * size : 0;
        ROLLED for (int g = thread_index(); g < runs; g += WINDOW_THREADS)
        {
            LOCAL const state *from = y + g, *more = from + at;
            if (g < next_count)
                next[g] =
                    TWIN(TWIN(from[0], from[size], 1), TWIN(from[2 * size], from[3 * size], 1), 1);
            if (digit && g < heads) {
                state v = more[0];
                if (at > 1) v = JOIN(mid[g], v);
                if (digit > 1) v = JOIN(v, more[size]);
                if (digit > 2) v = JOIN(v, more[2 * size]);
                mid[g] = v;
            }
        }
        at += digit << log;
        BARRIER();
        LOCAL state *swap = y;
        y = next, next = swap;
    }
}

/* Stores `count` contiguous results from local memory. from: aligned to lines. */
fn void store_side_by_side(GLOBAL u8 *to, LOCAL const u8 *from, int count)
{
    const int values = count * VALUES, lines = ADDRESS(to) % 16 ? 0 : count * OUT_BYTES / 16;
    for (int u = thread_index(); u < lines; u += WINDOW_THREADS)
        ((GLOBAL line *)to)[u] = ((LOCAL const line *)from)[u];
    ROLLED for (int i = lines * (16 / TL_OUT_SIZE) + thread_index(); i < values;
                i += WINDOW_THREADS)
        store_bytes(to + i * TL_OUT_SIZE, ((LOCAL const result *)from)[i]);
}

/* Writes the empty value for the windows of a run that are not whole. start: index of its first
 * item. */
far_fn void set_empty(LOCAL result *to, i64 start, i64 d, i64 n, par p)
{
    ROLLED for (int j = 0; j < RUN; j++)
    {
        if (start + j >= 0 && start + j + d < n) continue;
        to[j * VALUES] = empty(p);
#if OP_LANES == 2
        to[j * VALUES + 1] = empty_1(p);
#endif
    }
}

#if TL_FAR
/* The fold of the nodes v of lanes 0 to this one, or (after) of this one to the last. */
fn state fold_to_lane(state v, const int after)
{
    const int lane = lane_index();
    UNROLL for (int m = 1; m < LANES; m <<= 1)
    {
        const state other = from_lane(v, after ? lane + m : lane - m, 0);
        const int some = after ? lane + m < LANES : lane >= m;
        v = choose(some, after ? JOIN(v, other) : JOIN(other, v), v);
    }
    return v;
}
#endif

/* ---- a launch ---- */

/* width: w; d: w - 1; each: results of a tile; first: index of the item where the window of
 * result 0 begins; out: address of result 0. */
typedef struct {
    batch b;
    GLOBAL u8 *out;
    i64 first, width, d, count, each, jobs;
    GLOBAL u64 *table; /* far: status table; the launch's epoch; the number of its last ticket */
    u64 epoch;
    i64 last;
} exact_launch;

#define EXACT_LAUNCH_OF_PARAMETERS \
    VIEWS_OF_PARAMETERS; \
    exact_launch l; \
    l.b = b, l.out = out.x, l.first = first_item, l.width = width, l.d = width - 1; \
    l.count = count, l.each = each, l.jobs = jobs

/* A round of results: a run for each thread. */
typedef struct {
    int run;                /* this thread's */
    LOCAL const kept *ends; /* the items where its windows end */
    maybe middle;
    i64 first;    /* the round's first result */
    int count;    /* results of the round, at most a run for each thread */
    int inside;   /* all windows of the tile are whole */
    LOCAL u8 *to; /* local memory for them */
} exact_round;

/* Computes the folds v of the windows that begin in this thread's run. d: w - 1. */
fn void windows_of_run(state *v, const exact_tile *t, const exact_round *r, i64 d)
{
    LOCAL const kept *x = t->z + r->run * RUN, *y = r->ends;
    const i64 start = t->lo + r->run * RUN;
    maybe q = r->middle;

    v[RUN - 1] = state_of(x[RUN - 1], start + RUN - 1, t->p);
    UNROLL for (int j = RUN - 2; j >= 0; j--) v[j] =
        JOIN(state_of(x[j], start + j, t->p), v[j + 1]);
    FOR(j, RUN) {
        const state s = state_of(y[j], start + d + j, t->p);
        if (j || q.exists)
            q.s = JOIN(q.s, s);
        else
            q.s = s;
        v[j] = JOIN(v[j], q.s);
    }
}

/* Computes and stores the results of a round. Windows that are not whole get the empty value. */
fn void finish_round(const exact_launch *l, const exact_tile *t, const exact_round *r)
{
    const int me = thread_index(), active = me * RUN < r->count;
    const i64 start = t->lo + r->run * RUN;
    state v[RUN];

    if (active) windows_of_run(v, t, r, l->d);
    BARRIER();
    if (active) {
        LOCAL result *results = (LOCAL result *)r->to + me * (RUN * VALUES);
        FOR(j, RUN) {
            results[j * VALUES] = lower(v[j], (real)l->width, start + j, t->p);
#if OP_LANES == 2
            results[j * VALUES + 1] = lower_1(v[j], (real)l->width, start + j, t->p);
#endif
        }
        if (!r->inside) set_empty(results, start, l->d, l->b.n, t->p);
    }
    BARRIER();
    store_side_by_side(l->out + r->first * OUT_BYTES, r->to, r->count);
    BARRIER();
}

#if !TL_FAR
/* A tile has one or several rounds. Results overwrite the items of their round, if they are not
 * larger. */
fn void exact_job(const exact_launch *l, LOCAL u8 *memory, i64 job)
{
    const int d = (int)l->d, each = (int)l->each, inner = (d - RUN) / RUN, part = (d - RUN) % RUN;
    const int runs_most = EXACT_RUNS(each / RUN, inner);
    LOCAL state *all = (LOCAL state *)(memory + EXACT_STATES_AT(TL_SIZE, STATE_BYTES, each, d));
    LOCAL state *next = all + runs_most, *first = next + runs_most, *mid = first + runs_most;
    LOCAL u8 *apart = memory + EXACT_RESULTS_AT(TL_SIZE, STATE_BYTES, each, d);
    const i64 j0 = job * each, lo = l->first + j0;
    const int results_ = j0 + each < l->count ? each : (int)(l->count - j0), items = results_ + d;
    const int heads = (results_ + RUN - 1) / RUN, runs = heads + inner + 1;
    const int inside = lo >= 0 && lo + items <= l->b.n;
    const exact_tile t = exact_tile_at(memory, l->b, lo);

    load_items_exact(&t, l->b, lo < 0 ? (int)-lo : 0,
                     lo + items <= l->b.n ? items : (int)(l->b.n - lo));
    BARRIER();
    for (int g = thread_index(); g < runs; g += WINDOW_THREADS) {
        state node_of_first;
        all[g] = fold_run(&t, g, part, &node_of_first);
        first[g] = node_of_first;
    }
    BARRIER();
    fold_inner_runs(all, next, mid, heads, runs, inner);

    for (int round = 0; round < heads; round += WINDOW_THREADS) {
        const int g = round + thread_index();
        exact_round r;
        r.run = g, r.ends = t.z + g * RUN + d, r.first = j0 + round * RUN;
        r.count = lesser(results_ - round * RUN, WINDOW_THREADS * RUN), r.inside = inside;
        r.to = OUT_BYTES > (int)sizeof(kept) ? apart : memory + round * (RUN * OUT_BYTES);
        r.middle.exists = inner > 0 || part > 0;
        if (g < heads && inner) r.middle.s = mid[g];
        if (g < heads && part)
            r.middle.s = inner ? JOIN(r.middle.s, first[g + 1 + inner]) : first[g + 1];
        finish_round(l, &t, &r);
    }
}

KERNEL_OF(window_exact)
{
    EXACT_LAUNCH_OF_PARAMETERS;
    for (i64 job = group_index(); job < jobs; job += group_count())
        exact_job(&l, LOCAL_MEMORY, job);
}
#endif
#endif
