/* SPDX-License-Identifier: MIT
 * Windows of at most CUT_ITEMS / 2 elements of which an edge may cut off a part: such a window only
 * has another length. All levels of a tile are in local memory, one after the other.
 *
 * Result j folds elements start to start + length - 1, numbered from start. Doubling: Y_k[i] is the
 * node of the 2^k items from i on, Y_(k+1)[i] = C(Y_k[i], Y_k[i + 2^k]), and a window folds Y at
 * the set bits of its length, from high to low:
 *
 *   length 13:  Y_3[start]  Y_2[start + 8]  Y_0[start + 12]
 *   in general:                   Y_k[start + (higher bits of the length)]
 *
 * Nothing is ever subtracted. NO_EDGES: only tiles with a border are computed; another launch
 * computes the windows of their whole length. */
#define CUT_BLOCKS 1
enum { cut_items = CUT_ITEMS, CUT_LEVELS = CUT_LOG };
enum { OUTPUTS = CUT_ITEMS / 2 / WINDOW_THREADS, THREAD_ITEMS = CUT_ITEMS / WINDOW_THREADS };

/* start, length: of a thread's windows; keep: the nodes that they fold. */
typedef struct {
    int start[OUTPUTS], length[OUTPUTS];
    state keep[CUT_LEVELS][OUTPUTS];
} cut_registers;

fn int cut_prefetches(LOCAL const tile *p, const launch *l)
{
    return l->of.edges == WITH_EDGES || !p->inside;
}

fn void cut_load(LOCAL u8 *memory, LOCAL const tile *p, const launch *l)
{
    if (!SKIPS || cut_prefetches(p, l)) load_items((LOCAL state *)memory, 0, p, l);
}

/* Sets start and length of window j, which lies around place c. Its sequence has `since` elements
 * before c and `until` elements from c on. */
fn void set_window(int *start, int *length, int j, int since, int until, const windows *w)
{
    const int width = (int)w->width, c = w->valid ? j : j + (int)w->before;
    const int left = w->valid || since > w->before ? (int)w->before : since;
    const int right = until > w->after ? (int)w->after : until - 1;
    *start = w->valid ? j : c - left;
    *length = w->valid ? (until >= width ? width : 0) : left + 1 + right;
}

/* Replaces Y_k in z by Y_(k + 1). */
fn void double_items(LOCAL state *z, LOCAL const tile *p, const int k)
{
    state next[THREAD_ITEMS];
    const int me = thread_index();

    FOR(r, THREAD_ITEMS) {
        const int i = r * WINDOW_THREADS + me;
        if (i + (2 << k) <= p->beyond) next[r] = TWIN(z[i], z[i + (1 << k)], 1 << k);
    }

    BARRIER();
    FOR(r, THREAD_ITEMS) {
        const int i = r * WINDOW_THREADS + me;
        if (i + (2 << k) <= p->beyond) z[i] = next[r];
    }

    BARRIER();
}

fn void cut_fold(LOCAL u8 *memory, cut_registers *r, LOCAL const tile *p, LOCAL const borders *d,
                 const launch *l)
{
    LOCAL state *const z = (LOCAL state *)memory;
    const int w = (int)l->of.width;

    if (SKIPS && !cut_prefetches(p, l)) return;

    FOR(o, OUTPUTS) {
        const int j = o * WINDOW_THREADS + thread_index();
        const int c = l->of.valid ? j : j + (int)l->of.before;
        r->start[o] = j, r->length[o] = w;
        if (j < p->results && !p->inside)
            set_window(&r->start[o], &r->length[o], j, since_border(p, d, l->b, c),
                       until_border(p, d, l->b, c), &l->of);
    }

    FOR(k, CUT_LEVELS) {
        if (SKIPS && w >> k == 0) continue;
        FOR(o, OUTPUTS) {
            const int length = r->length[o];
            if (o * WINDOW_THREADS + thread_index() < p->results && (length >> k & 1))
                r->keep[k][o] = z[r->start[o] + (int)higher_bits(length, k)];
        }

        if (SKIPS && w >> (k + 1) == 0) continue;
        double_items(z, p, k);
    }
}

fn void cut_store(LOCAL u8 *memory, cut_registers *r, LOCAL const tile *p, LOCAL const borders *d,
                  const launch *l)
{
    if (SKIPS && !cut_prefetches(p, l)) return;

    FOR(o, OUTPUTS) {
        const int j = o * WINDOW_THREADS + thread_index(), length = r->length[o];
        if (j >= p->results || (l->of.valid && !length)) continue;

        maybe v = nothing(l->b.p);
        UNROLL for (int k = CUT_LEVELS - 1; k >= 0; k--)
        {
            if (length >> k & 1) v = then(v, r->keep[k][o], higher_bits(length, k), (i64)1 << k);
        }

        v.exists = v.exists && length >= l->of.least;
        store_maybe(result_at(p, l, j), v, length, p->lo + r->start[o], l->b.p);
    }
}
