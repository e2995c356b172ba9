/* SPDX-License-Identifier: MIT
 * One long sequence in one launch (CUDA), for operators in stripes (stripes.cl): the group that finishes last joins
 * what all have. ticket: 0 before and after. */
#ifdef TL_CUDA
#if STRIPED
#define REDUCE_BLOCKS 3 /* the spans of 24 warps in flight; left alone, the compiler takes up to 174 registers */
/* The lane's pile of the spans of its warp: number k, k + the warps of the launch, ... of the packs from x on. A pack
 * of the next span is asked for as soon as that of this one is folded. first: the index of the first span. */
fn pile fold_spans(GLOBAL const bundle *x, i64 spans, i64 first, i64 k, par p)
{
    const i64 step = group_count() * WARPS_IN_GROUP;
    const int lane = lane_index();
    pile t = pile_none(p);
    bundle e[SPAN_ROWS];
    x += k * (SPAN / PACK) + lane;
    if (k < spans) {
        UNROLL for (int r = 0; r < SPAN_ROWS; r++) e[r] = x[r * LANES];
    }
    ROLLED for (; k < spans; k += step)
    {
        const i64 i = first + k * SPAN;
        const int more = k + step < spans;
        x += step * (SPAN / PACK);
        UNROLL for (int r = 0; r < SPAN_ROWS; r++)
        {
            t = pile_pack(t, e[r], i + (r * LANES + lane) * PACK, p);
            if (more) e[r] = x[r * LANES];
        }
        t = pile_span(t, i);
    }
    return t;
}

enum { AT_ONCE = 8 };
/* v, and elements i of the sequence: the warps' own from number `me` on, in steps of `all`. Of the first `count` of
 * them, those from `gap` on are `skip` further on. */
fn state fold_others(state v, batch b, i64 me, i64 all, i64 count, i64 gap, i64 skip)
{
    for (i64 j = me; j < count; j += AT_ONCE * all) {
        elem e[AT_ONCE];
        UNROLL for (int k = 0; k < AT_ONCE; k++)
        {
            const i64 o = j + k * all, i = o < gap ? o : o + skip;
            if (o < count) e[k] = load_element(b.x + i * b.stride * TL_SIZE);
        }
        UNROLL for (int k = 0; k < AT_ONCE; k++)
        {
            const i64 o = j + k * all, i = o < gap ? o : o + skip;
            if (o < count) v = join(v, lift_e(e[k], i, b.p));
        }
    }
    return v;
}

#if FINDS
/* v, whose index is that of a span's first element: the first element of the span, `at` elements from x on, that has
 * its key. */
fn state find(state v, GLOBAL const bundle *x, i64 at, LOCAL state *box)
{
    const int lane = lane_index();
    state found = v;
    found.i = (i64)((u64)-1 >> 1);
    x += at / PACK + lane;
    ROLLED for (int r = SPAN_ROWS - 1; r >= 0; r--)
    {
        const bundle e = x[r * LANES];
        UNROLL for (int k = PACK - 1; k >= 0; k--)
        {
            par none;
            none.value = 0, none.origin = 0;
            if (lift(pack_element(e, k), 0, none).m == v.m) found.i = v.i + (r * LANES + lane) * PACK + k;
        }
    }
    return join_lanes(found, LANES, box);
}
#endif

/* The states of a group's threads joined, in the lanes of its first warp. */
fn state join_group(state v, LOCAL state *parts, LOCAL state *box)
{
    v = join_lanes(v, LANES, box);
    if (lane_index() == 0) parts[thread_index() / LANES] = v;
    BARRIER();
    return join_lanes(parts[lane_index() & (WARPS_IN_GROUP - 1)], WARPS_IN_GROUP, box);
}

/* Spans of packs, shared by all warps; the elements before the first aligned one and after the last span, or those of a
 * view that is not side by side, by all threads. nodes: a state of each group. */
KERNEL_OF(once)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    BOX
    SHARED u32 order;
    SHARED state parts[2][WARPS_IN_GROUP];
    b.x += start_of(b, 0) * TL_SIZE;
    const int me = thread_index(), warp = me / LANES;
    const i64 groups = group_count(), group = group_index(), threads = WARPS_IN_GROUP * LANES;
    const int near = b.stride == 1 && ADDRESS(b.x) % TL_SIZE == 0;
    const i64 head = (i64)((16 - ADDRESS(b.x) % 16) % 16 / TL_SIZE), spans = near ? (b.n - head) / SPAN : 0;
    GLOBAL const bundle *x = (GLOBAL const bundle *)(b.x + head * TL_SIZE);
    state v = pile_state(fold_spans(x, spans, b.p.origin + head, warp * groups + group, b.p));
    v = fold_others(v, b, group * threads + me, groups * threads, b.n - spans * SPAN, head, spans * SPAN);
    v = join_group(v, parts[0], box);
    if (me == 0) {
        nodes[group] = v;
        __threadfence();
        order = atomicAdd(ticket, 1u);
    }
    BARRIER();
    if (order != groups - 1) return;
    __threadfence();
    if (me == 0) *ticket = 0;
    v = none_of(b.p);
    for (i64 g = me; g < groups; g += threads) v = join(v, nodes[g]);
    v = join_group(v, parts[1], box);
    if (warp) return;
#if FINDS
    const i64 at = v.i - b.p.origin - head;
    if (spans && at >= 0 && at < spans * SPAN) v = find(v, x, at, box);
#endif
    maybe whole;
    whole.s = v, whole.have = 1;
    if (lane_index() == 0) store_reduced(out, b, 0, whole, b.n);
}
#endif
#endif
