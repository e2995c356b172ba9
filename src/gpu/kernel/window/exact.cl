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
 * left. The middle is a window over the nodes of whole runs, by doubling in local memory. The order
 * of the operands is kept. */
#if OP_EXACT
enum { RUN = EXACT_RUN(STATE_BYTES), VALUES = OP_LANES, OUT_BYTES = OP_LANES * TL_OUT_SIZE };
#define EXACT_BLOCKS (STATE_BYTES > 8 ? 2 : 4)

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

typedef struct ALIGNED(16) {
    u32 w[4];
} line;

enum { LINE = 16 / TL_SIZE, LOADS = 8 };
fn int lesser(int a, int b) { return a < b ? a : b; }

/* A tile: item 0 has index lo. z: its items in local memory. */
typedef struct {
    LOCAL kept *z;
    i64 lo;
    par p;
} exact_tile;

#if KEEPS_STATES
/* Loads items `from` to to - 1 from e, where item 0 is. */
fn void load_aligned(const exact_tile *t, GLOBAL const elem *e, int from, int to)
{
    const int me = thread_index();
    const int full = from + (to - from) / (LOADS * WINDOW_THREADS) * (LOADS * WINDOW_THREADS);

    for (int i = from + me; i < full; i += LOADS * WINDOW_THREADS) {
        elem loaded[LOADS];
        UNROLL for (int k = 0; k < LOADS; k++) loaded[k] = e[i + k * WINDOW_THREADS];
        UNROLL for (int k = 0; k < LOADS; k++) t->z[i + k * WINDOW_THREADS] =
            keep(loaded[k], t->lo + i + k * WINDOW_THREADS, t->p);
    }

    /* The rest: threads beyond the end load the last item too, so that these loads are not
     * conditional and overlap. */
    if (full + me < to) {
        elem loaded[LOADS];
        UNROLL for (int k = 0; k < LOADS; k++) loaded[k] =
            e[lesser(full + me + k * WINDOW_THREADS, to - 1)];

        UNROLL for (int k = 0; k < LOADS; k++)
        {
            const int i = full + me + k * WINDOW_THREADS;
            const kept v = keep(loaded[k], t->lo + i, t->p);
            if (i < to) t->z[i] = v;
        }
    }
}
#else
/* Loads items `from` to to - 1 from e, where item 0 is: whole lines, then the items before and
 * after them. e and z lie at the same offset in a line. */
fn void load_aligned(const exact_tile *t, GLOBAL const elem *e, int from, int to)
{
    const int me = thread_index(), shift = (int)(ADDRESS(e) % 16) / TL_SIZE;
    const int first = (from + shift + LINE - 1) / LINE, last = (to + shift) / LINE;
    GLOBAL const line *const lines = (GLOBAL const line *)(e - shift);
    LOCAL line *const to_lines = (LOCAL line *)(t->z - shift);
    int u = first + me;

    for (; u - me + LOADS * WINDOW_THREADS <= last; u += LOADS * WINDOW_THREADS) {
        line v[LOADS];
        UNROLL for (int k = 0; k < LOADS; k++) v[k] = lines[u + k * WINDOW_THREADS];
        UNROLL for (int k = 0; k < LOADS; k++) to_lines[u + k * WINDOW_THREADS] = v[k];
    }

    ROLLED for (; u < last; u += LOADS / 2 * WINDOW_THREADS)
    {
        line v[LOADS / 2];
        UNROLL for (int k = 0; k < LOADS / 2; k++) v[k] =
            lines[lesser(u + k * WINDOW_THREADS, last - 1)];

        UNROLL for (int k = 0; k < LOADS / 2; k++)
        {
            if (u + k * WINDOW_THREADS < last) to_lines[u + k * WINDOW_THREADS] = v[k];
        }
    }
    const int before = first * LINE - shift, after = last * LINE - shift;
    if (from + me < to && from + me < before) t->z[from + me] = e[from + me];
    const int rest = (after > from ? after : from) + me;
    if (rest < to) t->z[rest] = e[rest];
}
#endif

/* Loads items `from` to to - 1 of a tile. Moves t->z to item 0, at its offset in a line of 16
 * bytes. */
fn void load_items_exact(exact_tile *t, batch b, int from, int to)
{
    const int me = thread_index();
    GLOBAL const u8 *x = b.x + t->lo * TL_SIZE;
    const int aligned = ADDRESS(x) % TL_SIZE == 0;

    t->z += aligned ? (int)(ADDRESS(x) % 16) / TL_SIZE : 0;

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

/* Computes the nodes of the tile's runs (all), and of the first `part` items of each run
 * (first). */
fn void nodes_of_runs(const exact_tile *t, LOCAL state *all, LOCAL state *first, int runs, int part)
{
    for (int g = thread_index(); g < runs; g += WINDOW_THREADS) {
        LOCAL const kept *x = t->z + g * RUN;
        const i64 start = t->lo + g * RUN;
        state v = state_of(x[0], start, t->p), start_node = v;
        UNROLL for (int j = 1; j < RUN; j++)
        {
            v = COMBINE(v, state_of(x[j], start + j, t->p), j, 1);
            start_node = choose(j < part, v, start_node);
        }
        all[g] = v;
        first[g] = start_node;
    }
}

/* Computes mid[g] for the first `heads` runs: the fold of the `inner` runs after run g. y, next:
 * `runs` nodes each; both are overwritten. Each step makes two levels and takes one base-4 digit of
 * `inner`, the lowest first. */
fn void fold_inner_runs(LOCAL state *y, LOCAL state *next, LOCAL state *mid, int heads, int runs,
                int inner)
{
    int at = 1;
    for (int log = 0; inner >> log; log += 2) {
        const int size = 1 << log, digit = inner >> log & 3,
                  made = inner >> log >= 4 ? runs - 3 * size : 0;
        const i64 each = (i64)RUN << log;
        ROLLED for (int g = thread_index(); g < runs; g += WINDOW_THREADS)
        {
            LOCAL const state *from = y + g, *more = from + at;
            if (g < made)
                next[g] = TWIN(TWIN(from[0], from[size], each),
                               TWIN(from[2 * size], from[3 * size], each), 2 * each);
            if (digit && g < heads) {
                state v = more[0];
                if (at > 1) v = COMBINE(mid[g], v, (i64)(at - 1) * RUN, each);
                if (digit > 1) v = COMBINE(v, more[size], (i64)(at - 1) * RUN + each, each);
                if (digit > 2) v = COMBINE(v, more[2 * size], (i64)(at - 1) * RUN + 2 * each, each);
                mid[g] = v;
            }
        }
        at += digit << log;
        BARRIER();
        LOCAL state *swap = y;
        y = next, next = swap;
    }
}

/* Computes the folds v of the RUN windows that begin in a run. x: its items, the first of which has
 * index `start`; d: w - 1; q: the middle, of d - RUN elements. */
fn void windows_of_run(state *v, LOCAL const kept *x, int d, maybe q, i64 start, par p)
{
    v[RUN - 1] = state_of(x[RUN - 1], start + RUN - 1, p);
    UNROLL for (int j = RUN - 2; j >= 0; j--) v[j] =
        COMBINE(state_of(x[j], start + j, p), v[j + 1], 1, RUN - 1 - j);
    UNROLL for (int j = 0; j < RUN; j++)
    {
        const state s = state_of(x[d + j], start + d + j, p);
        if (j || q.have)
            q.s = COMBINE(q.s, s, d - RUN + j, 1);
        else
            q.s = s;
        v[j] = COMBINE(v[j], q.s, RUN - j, d - RUN + j + 1);
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
far_fn void set_empty(LOCAL result *to, i64 start, int d, i64 n, par p)
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

/* first_item: index of the first item of result 0's window. each: results of a tile, one or several
 * rounds of WINDOW_THREADS runs. Windows that are not whole get the empty value. Results are staged
 * in local memory; they overwrite the items of their round, if they are not larger. */
KERNEL_OF(window_exact)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    const int me = thread_index(), d = (int)width - 1, inner = (d - RUN) / RUN,
              part = (d - RUN) % RUN;
    const int runs_most = EXACT_RUNS((int)each / RUN, inner);
    LOCAL u8 *memory = LOCAL_MEMORY;
    LOCAL kept *z = (LOCAL kept *)memory;
    LOCAL state *all = (LOCAL state *)(memory + EXACT_STATES_AT(TL_SIZE, STATE_BYTES, (int)each,
                                                                d));
    LOCAL state *next = all + runs_most, *first = next + runs_most, *mid = first + runs_most;
    LOCAL u8 *apart = memory + EXACT_RESULTS_AT(TL_SIZE, STATE_BYTES, (int)each, d);

    for (i64 job = group_index(); job < jobs; job += group_count()) {
        const i64 j0 = job * each, lo = first_item + j0;
        const int results_ = j0 + each < count ? (int)each : (int)(count - j0),
                  items = results_ + d;
        const int heads = (results_ + RUN - 1) / RUN, runs = heads + inner + 1;
        const int inside = lo >= 0 && lo + items <= b.n;
        exact_tile t;
        t.z = z, t.lo = lo, t.p = b.p;
        load_items_exact(&t, b, lo < 0 ? (int)-lo : 0, lo + items <= b.n ? items : (int)(b.n - lo));
        BARRIER();
        nodes_of_runs(&t, all, first, runs, part);
        BARRIER();
        fold_inner_runs(all, next, mid, heads, runs, inner);
        for (int round = 0; round < heads; round += WINDOW_THREADS) {
            const int g = round + me, at = g * RUN, left = results_ - round * RUN;
            LOCAL u8 *to =
                OUT_BYTES > (int)sizeof(kept) ? apart : memory + round * (RUN * OUT_BYTES);
            state v[RUN];
            if (g < heads) {
                maybe q;
                q.have = inner > 0 || part > 0;
                if (inner) q.s = mid[g];
                if (part)
                    q.s = inner ? COMBINE(q.s, first[g + 1 + inner], (i64)inner * RUN, part)
                                 : first[g + 1];
                windows_of_run(v, t.z + at, d, q, lo + at, b.p);
            }

            BARRIER();
            if (g < heads) {
                LOCAL result *own = (LOCAL result *)to + me * (RUN * VALUES);
                UNROLL for (int j = 0; j < RUN; j++)
                {
                    own[j * VALUES] = lower(v[j], (real)width, lo + at + j, b.p);
#if OP_LANES == 2
                    own[j * VALUES + 1] = lower_1(v[j], (real)width, lo + at + j, b.p);
#endif
                }

                if (!inside) set_empty(own, lo + at, d, b.n, b.p);
            }

            BARRIER();
            store_side_by_side(out.x + (j0 + round * RUN) * OUT_BYTES, to,
                               left < WINDOW_THREADS * RUN ? left : WINDOW_THREADS * RUN);
            BARRIER();
        }
    }
}

#endif
