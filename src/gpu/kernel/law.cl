/* SPDX-License-Identifier: MIT
 * The law in its plain form, for the probe at start-up (src/api/probe.c): S(1), S(2), ... by a
 * binary counter, as doc/order.md defines it. There are no warps and no exchanges, so it compiles
 * quickly. */

/* The counter after `count` elements: a node for each set bit of count, the largest first. */
typedef struct {
    state node[64];
    int nodes;
    i64 count;
} counter;

fn void count_element(counter *c, state s)
{
    for (i64 size = 1; c->count & size; size <<= 1) s = TWIN(c->node[--c->nodes], s, size);
    c->node[c->nodes++] = s;
    c->count++;
}

/* S(count), count > 0. */
fn state counted(const counter *c)
{
    state s = c->node[0];
    i64 before = 0;
    int k = 0;

    for (i64 size = (i64)1 << 62; size; size >>= 1) {
        if (!(c->count & size)) continue;
        if (k) s = COMBINE(s, c->node[k], before, size);
        before += size, k++;
    }
    return s;
}

/* out[i] = lower(S(i + 1)). A thread computes LAW_EACH neighbouring results, and begins at element
 * 0. */
KERNEL_OF(law)
{
    const i64 step = group_count() * LAW_THREADS * LAW_EACH;
    par p;

    p.value = parameter;
    for (i64 first = (group_index() * LAW_THREADS + thread_index()) * LAW_EACH; first < n;
         first += step) {
        const i64 end = first + LAW_EACH < n ? first + LAW_EACH : n;
        counter c;
        c.nodes = 0, c.count = 0;
        for (i64 i = 0; i < end; i++) {
            count_element(&c, lift(x[i], i, p));
            if (i < first) continue;
            const state s = counted(&c);
            out[OP_LANES * i] = lower(s, (real)(i + 1), 0, p);
#if OP_LANES == 2
            out[OP_LANES * i + 1] = lower_1(s, (real)(i + 1), 0, p);
#endif
        }
    }
}
