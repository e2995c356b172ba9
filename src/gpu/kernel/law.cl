/* SPDX-License-Identifier: MIT
 * The law in its plain form, for the probe at start-up (src/api/probe.c): the table of all nodes,
 * level by level, then S(1), S(2), ... from their nodes. There are no warps and no exchanges, so it
 * compiles quickly. n: a power of two.
 *
 *   level k has n >> k nodes, at nodes + 2 * (n - (n >> k)) */
fn i64 table(i64 n, int k) { return 2 * (n - (n >> k)); }
fn i64 my_index() { return group_index() * LAW_THREADS + thread_index(); }
fn i64 my_step() { return group_count() * LAW_THREADS; }

KERNEL_OF(law_lift)
{
    par p;
    p.value = parameter;
    for (i64 i = my_index(); i < n; i += my_step()) nodes[i] = lift(x[i], i, p);
}

KERNEL_OF(law_level)
{
    GLOBAL const state *below = nodes + table(n, (int)level - 1);
    GLOBAL state *here = nodes + table(n, (int)level);
    for (i64 i = my_index(); i < n >> level; i += my_step()) {
        state a = below[2 * i], b = below[2 * i + 1];
        here[i] = TWIN(a, b, (i64)1 << (level - 1));
    }
}

/* out[i] = lower(S(i + 1)): folds the nodes of the set bits of i + 1, from high to low. */
KERNEL_OF(law_lower)
{
    par p;
    p.value = parameter;
    for (i64 i = my_index(); i < n; i += my_step()) {
        i64 m = i + 1, at = 0;
        state s;
        int have = 0;
        for (int k = 62; k >= 0; k--) {
            if (!(m >> k & 1)) continue;
            state b = nodes[table(n, k) + (at >> k)];
            s = have ? COMBINE(s, b, at, (i64)1 << k) : b;
            have = 1;
            at += (i64)1 << k;
        }
        out[OP_LANES * i] = lower(s, (real)m, 0, p);
#if OP_LANES == 2
        out[OP_LANES * i + 1] = lower_1(s, (real)m, 0, p);
#endif
    }
}
