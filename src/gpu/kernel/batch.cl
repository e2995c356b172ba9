/* SPDX-License-Identifier: MIT
 * What every shape starts from: a batch of sequences in memory. doc/order.md defines nodes,
 * C(a, b), S(n) and class X. In the code a group is a thread block, and local memory is what CUDA
 * calls shared memory.
 *
 * A sequence of n elements is cut into chunks of 1024 elements; the node of a chunk is on level 1.
 * 256 nodes of a level make one node of the next, so level l has n >> LEVEL_LOG(l) full nodes
 * (constants.h). The index of the first node of sequence s is first[l][s] if the lengths differ,
 * else s times the nodes of a sequence. */
typedef struct {
    GLOBAL const u8 *x; /* element 0 of row 0 */
    /* strides in elements; n: the length of every sequence, if there are no offsets */
    i64 row_stride, stride, n;

    /* OFFSETS: offsets and first are used; CHOSEN: ids is used; STATES: reduce writes states */
    i64 seqs, flags;
    GLOBAL const i64 *offsets; /* [rows + 1] */
    GLOBAL const i64 *ids;     /* ids[s]: row of sequence s */
    GLOBAL const i64 *first;   /* [level][seqs + 1] */
    par p;
#if TL_IN_PLACE                             /* inputs/in_place.cl */
    GLOBAL const u8 *y, *x_there, *y_there; /* the second input; the bitmaps */
    i64 x_bit, y_bit;                       /* bit of the element at place 0 */
    u64 left_out;                           /* bits of the element that stands for an absent one */
#endif
} batch;

#define BATCH_OF_PARAMETERS \
    batch b; \
    b.x = in_data + in_byte, b.row_stride = in_row_stride, b.stride = in_stride, b.n = in_n, \
    b.seqs = in_seqs, b.flags = in_flags, b.offsets = in_offsets, b.ids = in_ids, \
    b.first = in_first, b.p.value = parameter, b.p.origin = origin IN_PLACE_OF_PARAMETERS

#if TL_IN_PLACE
#define IN_PLACE_OF_PARAMETERS \
    , b.y = y_data + y_byte, b.x_there = x_there, b.x_bit = x_bit, b.y_there = y_there, \
      b.y_bit = y_bit, b.left_out = (u64)left_out
#else
#define IN_PLACE_OF_PARAMETERS
#endif

fn i64 row_of(batch b, i64 s) { return b.flags & CHOSEN ? b.ids[s] : s; }
fn i64 length_of(batch b, i64 s)
{
    if (!(b.flags & OFFSETS)) return b.n;
    i64 r = row_of(b, s);
    return b.offsets[r + 1] - b.offsets[r];
}

fn i64 start_of(batch b, i64 s) /* offset in elements */
{
    i64 r = row_of(b, s);
    return b.flags & OFFSETS ? b.offsets[r] * b.stride : r * b.row_stride;
}

fn i64 level_count(i64 n, int level) { return level ? n >> LEVEL_LOG(level) : n; }

/* Elements of a node. */
fn i64 level_size(int level) { return level ? (i64)1 << LEVEL_LOG(level) : 1; }
fn i64 level_first(batch b, int level, i64 s)
{
    return b.flags & OFFSETS ? b.first[level * (b.seqs + 1) + s] : s * level_count(b.n, level);
}

/* Index of the first node of a level in the array of all nodes. */
fn i64 level_base(batch b, int level)
{
    i64 at = 0;
    for (int l = 1; l < level; l++) at += level_first(b, l, b.seqs);
    return at;
}

/* The sequence of job number `job`, if sequence s has level_count + extra jobs. */
fn i64 sequence_of(batch b, int level, i64 extra, i64 job)
{
    if (b.seqs == 1) return 0;
    if (!(b.flags & OFFSETS)) {
        i64 each = level_count(b.n, level) + extra;
        if (each == 1) return job;
        if (((job | each) >> 32) == 0) return (i64)((u32)job / (u32)each);
        return job / each;
    }

    i64 low = 0, high = b.seqs; /* invariant: first(low) <= job < first(high) */
    while (high - low > 1) {
        i64 middle = (low + high) / 2;
        if (level_first(b, level, middle) + extra * middle <= job)
            low = middle;
        else
            high = middle;
    }

    return low;
}

/* ---- elements ---- */

typedef QUAD_OF(elem, QUAD_ALIGN) quad;

far_fn elem load_bytes(GLOBAL const u8 *p)
{
#if OP_INPUTS == 2
    elem e;
    u8 *to = (u8 *)&e;

    for (int k = 0; k < TL_SIZE; k++) to[k] = p[k];
    return e;
#elif TL_SIZE == 1
    return *(GLOBAL const elem *)p;
#else
    u64 bits = 0;
    for (int k = TL_SIZE - 1; k >= 0; k--) bits = bits << 8 | p[k];
#if TL_KIND == 3 && !TL_FORMAT
    return bits_elem(bits);
#else
    return (elem)bits;
#endif
#endif
}

fn elem load_element(GLOBAL const u8 *p)
{
    if (TL_SIZE > 1 && ADDRESS(p) % TL_SIZE) return load_bytes(p);
    return *(GLOBAL const elem *)p;
}

/* Four elements of any sequence, one load each. x: its element 0; step: its stride in bytes.
 * Indices from `limit` on repeat the last. */
far_fn quad gather(GLOBAL const u8 *x, i64 step, i64 i, i64 limit)
{
    quad q;
    q.x = load_element(x + (i < limit ? i : limit - 1) * step);
    q.y = load_element(x + (i + 1 < limit ? i + 1 : limit - 1) * step);
    q.z = load_element(x + (i + 2 < limit ? i + 2 : limit - 1) * step);
    q.w = load_element(x + (i + 3 < limit ? i + 3 : limit - 1) * step);
    return q;
}

/* The first `all` of the `left` elements of a sequence, `step` bytes apart; the last is repeated if
 * there are too few. */
fn void load_down(elem *e, const int all, GLOBAL const u8 *x, i64 step, i64 left)
{
    /* The step is a multiple of TL_SIZE, so all elements are aligned or none. */
    if (left >= all && ADDRESS(x) % TL_SIZE == 0) {
        FOR(k, all) e[k] = *(GLOBAL const elem *)(x + k * step);
    } else {
        FOR(k, all) e[k] = load_element(x + (k < left ? k : left - 1) * step);
    }
}

/* ---- items of a chunk: elements, or states that are nodes of the level below ---- */

/* A lane's items of rows_ rows: item k of row r has index at + r * 128 + lane * 4 + k in the
 * sequence that starts at `start`. From `limit` on the last item is repeated; limit 0 gives `none`.
 * One test for the whole chunk, so that its loads overlap. */
#define LOAD_ROWS(name, item, rows_, fast_load, slow_load, none) \
    fn void name(item e[rows_][QUAD], batch b, i64 start, i64 at, i64 limit) \
    { \
        i64 first = at + lane_index() * QUAD; \
        if (at + rows_ * LANES * QUAD <= limit && can_##name(b, start + at)) { \
            FOR(r, rows_) fast_load; \
        } else if (at + rows_ * LANES * QUAD <= limit && unaligned_##name(b, start + at)) { \
            FOR(r, rows_) { \
                GLOBAL const item *x = \
                    (GLOBAL const item *)b.x + start + first + r * LANES * QUAD; \
                FOR(k, QUAD) e[r][k] = x[k]; \
            } \
        } else { \
            FOR(r, rows_) { \
                i64 i = first + r * LANES * QUAD; \
                if (limit <= 0) { \
                    FOR(k, QUAD) e[r][k] = none; \
                } else if (!SKIPS || at + r * LANES * QUAD < limit) { \
                    slow_load; \
                } \
            } \
        } \
    }

#if !TL_IN_PLACE
fn int can_load_e(batch b, i64 first)
{
    return b.stride == 1 && ADDRESS(b.x + first * TL_SIZE) % QUAD_ALIGN == 0;
}

/* Contiguous, but not aligned to quads: four loads, three of which hit the L1 cache. */
fn int unaligned_load_e(batch b, i64 first)
{
    return SKIPS && b.stride == 1 && ADDRESS(b.x) % TL_SIZE == 0;
}

#define unaligned_load_h unaligned_load_e
#define unaligned_load_d unaligned_load_e
#define unaligned_load_r unaligned_load_e
#endif

fn void put_quad(elem *e, quad q) { e[0] = q.x, e[1] = q.y, e[2] = q.z, e[3] = q.w; }
fn int can_load_s(batch b, i64 first) { return 1; }
#define unaligned_load_s(b, first) 0
fn void get_states(state *v, GLOBAL const state *x, i64 i, i64 limit)
{
    FOR(k, QUAD) v[k] = x[i + k < limit ? i + k : limit - 1];
}

#define STATES_OF(b) ((GLOBAL const state *)(b).x + start)
#if !TL_IN_PLACE
/* A row that is not full or not aligned. It tests for contiguous elements here, because a call of
 * gather for each lane would wait for the loads before. */
seldom_fn quad load_some(batch b, i64 start, i64 i, i64 limit)
{
    if (b.stride == 1 && i + QUAD <= limit && can_load_e(b, start + i))
        return *(GLOBAL const quad *)(b.x + (start + i) * TL_SIZE);
    if (unaligned_load_e(b, start + i)) {
        GLOBAL const elem *x = (GLOBAL const elem *)b.x + start;
        quad q;
        q.x = x[i < limit ? i : limit - 1], q.y = x[i + 1 < limit ? i + 1 : limit - 1];
        q.z = x[i + 2 < limit ? i + 2 : limit - 1], q.w = x[i + 3 < limit ? i + 3 : limit - 1];
        return q;
    }
    return gather(b.x + start * TL_SIZE, b.stride * TL_SIZE, i, limit);
}

#define LOAD_ELEMENTS(name, rows) \
    LOAD_ROWS(name, elem, rows, \
              put_quad(e[r], ((GLOBAL const quad *)(b.x + (start + first) * TL_SIZE))[r * LANES]), \
              put_quad(e[r], load_some(b, start, i, limit)), NO_ELEMENT)
LOAD_ELEMENTS(load_e, 8)
/* The same for a full chunk for which can_load_e is true. */
fn void load_dense(elem e[8][QUAD], batch b, i64 first)
{
    GLOBAL const quad *x = (GLOBAL const quad *)(b.x + first * TL_SIZE) + lane_index();
    FOR(r, 8) put_quad(e[r], x[r * LANES]);
}

#define can_load_h can_load_e
#define can_load_d can_load_e
#define can_load_r can_load_e
LOAD_ELEMENTS(load_r, 1)
LOAD_ELEMENTS(load_d, 2)
LOAD_ELEMENTS(load_h, 4)
typedef elem strip[8][QUAD]; /* a chunk that is prefetched before it is folded (reduce.cl) */
#define fold_dense(v, e, b, from, at) fold_quads_e(v, e, b, at, 1)
#endif

LOAD_ROWS(load_s, state, 2, get_states(e[r], STATES_OF(b), first + r * LANES * QUAD, limit),
          get_states(e[r], STATES_OF(b), i, limit), nothing(b.p).s)

/* The state of an item of a chunk; i: its index in this piece. The letter is that of the chunk's
 * program (chunk.cl): e, h, d, r for 8, 4, 2 and 1 rows of elements, s for states. */
fn state lift_e(elem x, i64 i, par p) { return lift(x, p.origin + i, p); }
#define lift_r lift_e
#define lift_d lift_e
#define lift_h lift_e
fn state lift_s(state x, i64 i, par p) { return x; }

/* ---- results ---- */

/* The results of a batch: the same sequences with other strides, OP_LANES values for each
 * result. */
typedef struct {
    GLOBAL u8 *x;
    i64 row_stride, stride;
} results;

#define RESULTS_OF_PARAMETERS \
    results out; \
    out.x = out_data + out_byte, out.row_stride = out_row_stride, out.stride = out_stride
#define VIEWS_OF_PARAMETERS \
    BATCH_OF_PARAMETERS; \
    RESULTS_OF_PARAMETERS

/* Stores a result byte by byte. */
far_fn void store_apart(GLOBAL u8 *p, result v)
{
#if TL_OUT_FLOAT == 4
    u64 bits = as_u32(v);
#elif TL_OUT_FLOAT == 8
    u64 bits = as_u64(v);
#else
    u64 bits = (u64)v;
#endif
    for (int k = 0; k < (int)sizeof(result); k++) p[k] = (u8)(bits >> (8 * k));
}

fn void store_bytes(GLOBAL u8 *p, result v)
{
    if (ADDRESS(p) % sizeof(result) == 0)
        *(GLOBAL result *)p = v;
    else
        store_apart(p, v);
}

/* The address of result i of sequence s. */
fn GLOBAL u8 *place(results out, batch b, i64 s, i64 i)
{
    i64 r = row_of(b, s),
        at = (b.flags & OFFSETS ? b.offsets[r] * out.stride : r * out.row_stride) + i * out.stride;
    return out.x + at * (i64)(OP_LANES * sizeof(result));
}

fn void store_empty(GLOBAL u8 *p, par q)
{
    store_bytes(p, empty(q));
#if OP_LANES == 2
    store_bytes(p + sizeof(result), empty_1(q));
#endif
}

#if OP_LANES == 1
typedef QUAD_OF(result, QUAD_OUT_ALIGN) result_quad;

#if TL_OUT_SIZE == 8 && defined(TL_SHUFFLES)
typedef struct ALIGNED(16) {
    result a, b;
} result_pair;

/* Four results w of each lane in whole sectors: a pair of lanes stores first the even lane's, then
 * the odd lane's. even, odd: their places, aligned to 16 bytes. */
fn void store_pair(GLOBAL u8 *even, GLOBAL u8 *odd, const result *w)
{
    const int right = lane_index() & 1;
    result x = right ? w[0] : w[2], y = right ? w[1] : w[3];
    SHUFFLE(1, result, x, x, 1);
    SHUFFLE(1, result, y, y, 1);
    result_pair first, second;
    first.a = right ? x : w[0], first.b = right ? y : w[1], second.a = right ? w[2] : x,
    second.b = right ? w[3] : y;
    ((GLOBAL result_pair *)even)[right] = first;
    ((GLOBAL result_pair *)odd)[right] = second;
}
#endif

/* Stores the results of a warp's quads, which are contiguous. to: the place of lane 0's first
 * result, aligned to a quad. */
fn void store_row(GLOBAL u8 *to, const result *w)
{
#if TL_OUT_SIZE == 8 && defined(TL_SHUFFLES)
    GLOBAL u8 *const even = to + (lane_index() & 30) * (QUAD * 8);
    store_pair(even, even + QUAD * 8, w);
#else
    result_quad r;
    r.x = w[0], r.y = w[1], r.z = w[2], r.w = w[3];
    ((GLOBAL result_quad *)to)[lane_index()] = r;
#endif
}
#endif

/* The value is chosen first and stored once (see BARRIER in prelude_opencl.h). */
fn void store_maybe(GLOBAL u8 *p, maybe v, i64 n, i64 first, par q)
{
    n += q.origin;
    store_bytes(p, v.exists ? lower(v.s, (real)n, first, q) : empty(q));
#if OP_LANES == 2
    store_bytes(p + sizeof(result), v.exists ? lower_1(v.s, (real)n, first, q) : empty_1(q));
#endif
}

/* Stores the result of a reduction of sequence s, which has n elements. */
fn void store_reduced(results out, batch b, i64 s, maybe v, i64 n)
{
    i64 r = row_of(b, s);
    if (b.flags & STATES)
        pack(out.x + r * PACKED, v.s);
    else
        store_maybe(out.x + r * out.row_stride * (i64)(OP_LANES * sizeof(result)), v, n, 0, b.p);
}
