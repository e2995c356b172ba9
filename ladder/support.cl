/* SPDX-License-Identifier: MIT
 * Not a rung: what the ladder needs around them. clear sets elements to NEUTRAL, zero sets counters to 0; finish folds
 * what a reduction leaves (and its tail, where tails is 1) to one element; read_all and copy_all
 * measure the ceilings: 16 bytes a lane, four loads under way, as many groups as the device can hold. */
KERNEL(clear, THREADS)(GLOBAL elem *out, i64 n)
{
    for (i64 i = group_index() * THREADS + thread_index(); i < n; i += group_count() * THREADS) out[i] = NEUTRAL;
}

KERNEL(zero, THREADS)(GLOBAL u32 *out, i64 n)
{
    for (i64 i = group_index() * THREADS + thread_index(); i < n; i += group_count() * THREADS) out[i] = 0;
}

KERNEL(finish, THREADS)(GLOBAL const elem *in, GLOBAL const elem *tail, GLOBAL elem *out, i64 n, i64 tails)
{
    SHARED elem data[THREADS];
    int tid = thread_index();
    elem sum = NEUTRAL;

    for (i64 i = tid; i < n; i += THREADS) sum = combine(sum, in[i]);
    data[tid] = sum;
    BARRIER();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (tid < s) data[tid] = combine(data[tid], data[tid + s]);
        BARRIER();
    }
    if (tid == 0) out[0] = tails > 0 ? combine(data[0], tail[0]) : data[0];
}

KERNEL(read_all, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    i64 step = group_count() * THREADS;
    i64 i = group_index() * THREADS + thread_index();
    elem sum = NEUTRAL;
    for (; i + 3 * step < n / 4; i += 4 * step) {
        elem4 a = load4(in, 4 * i);
        elem4 b = load4(in, 4 * (i + step));
        elem4 c = load4(in, 4 * (i + 2 * step));
        elem4 d = load4(in, 4 * (i + 3 * step));
        sum = combine(sum, combine(combine(a.x, a.y), combine(a.z, a.w)));
        sum = combine(sum, combine(combine(b.x, b.y), combine(b.z, b.w)));
        sum = combine(sum, combine(combine(c.x, c.y), combine(c.z, c.w)));
        sum = combine(sum, combine(combine(d.x, d.y), combine(d.z, d.w)));
    }
    for (; i < n / 4; i += step) {
        elem4 a = load4(in, 4 * i);
        sum = combine(sum, combine(combine(a.x, a.y), combine(a.z, a.w)));
    }
    out[group_index() * THREADS + thread_index()] = sum;
}

KERNEL(copy_all, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    i64 i = group_index() * THREADS + thread_index();
    if (i < n / 4) {
        elem4 q = load4(in, 4 * i);
        store4(out, 4 * i, q);
    }
}
