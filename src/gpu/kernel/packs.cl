/* SPDX-License-Identifier: MIT
 * Elements in packs of 16 bytes, and the first fast path that folds packs (partials.cl and
 * reduce.cl have the others). */
enum { PACK = 16 / TL_SIZE };

typedef struct ALIGNED(16) {
    u32 w[4];
} bundle;

fn elem pack_element(bundle v, int k)
{
#if OP_INPUTS == 2 || TL_SIZE == 8
    union {
        bundle all;
        elem e[PACK];
    } u;
    u.all = v;
    return u.e[k];
#else
    const u32 bits = v.w[k * TL_SIZE / 4] >> (8 * TL_SIZE * k) % 32;
#if TL_KIND == 3
    return bits_elem(bits);
#else
    return (elem)bits;
#endif
#endif
}

fn int is_packed(batch b, i64 first)
{
    return b.stride == 1 && ADDRESS(b.x + first * TL_SIZE) % 16 == 0;
}

/* Mean and sum of squared deviations (OP_MOMENTS) of integers of 8 or 16 bits. All means and m2 of
 * nodes of 2^k such elements, k <= 11, and all intermediate values of combine, are multiples of
 * 2^-k with less than 53 bits, so nothing is rounded. Then the node follows from the sums of the
 * elements and of their squares, in any order:
 *
 *   mean = sum / n        m2 = (n squares - sum sum) / n
 *
 * (n = 2^k; with 8 bits, k may be 19.) */
#define MOMENTS \
    (OP_MOMENTS && !TL_IN_PLACE && !OP_MASKED && TL_KIND != 3 && TL_SIZE <= 2 && TL_REAL_FLOAT == 8)

#if MOMENTS
typedef struct {
    u32 sum;
    u64 squares;
} moments;

fn moments moments_pack(moments t, bundle v)
{
#if TL_SIZE == 1
    u32 squares = 0;

    UNROLL for (int k = 0; k < 4; k++) squares = WORD_SQUARES(v.w[k], squares);
    t.squares += squares;
#else

    UNROLL for (int k = 0; k < PACK; k++)
    {
        const elem x = pack_element(v, k);
        t.squares += (u32)x * (u32)x;
    }
#endif
    UNROLL for (int k = 0; k < 4; k++) t.sum = WORD_SUM(v.w[k], t.sum);
    return t;
}

/* Returns the node of n elements, in every lane, from the sums of each lane. */
fn state moments_node(moments t, i64 n, LOCAL state *box)
{
    state s, got;
    s.mean = TL_KIND == 1 ? (real)(i32)t.sum : (real)t.sum, s.m2 = (real)t.squares;
    UNROLL for (int m = 1; m < LANES; m <<= 1)
    {
        got = exchange(s, m, box);
        s.mean += got.mean, s.m2 += got.m2;
    }
    const i64 sum = (i64)s.mean, squares = (i64)s.m2;
    s.mean = (real)sum / (real)n, s.m2 = (real)(n * squares - sum * sum) / (real)n;
    return s;
}

/* Returns the node of a full chunk, in every lane. */
fn state chunk_moments(batch b, i64 from, i64 at, LOCAL state *box)
{
    GLOBAL const bundle *x = (GLOBAL const bundle *)(b.x + (from + at) * TL_SIZE) + lane_index();
    enum { PACKS = CHUNK / (LANES * PACK) };
    bundle e[PACKS];
    moments t;
    t.sum = 0, t.squares = 0;

    if (is_packed(b, from + at)) {
        UNROLL for (int r = 0; r < PACKS; r++) e[r] = x[r * LANES];
        UNROLL for (int r = 0; r < PACKS; r++) t = moments_pack(t, e[r]);
    } else {
        elem o[ROWS_E][QUAD];
        load_e(o, b, from, at, at + CHUNK);
        UNROLL for (int r = 0; r < ROWS_E; r++)
        {
            UNROLL for (int k = 0; k < QUAD; k++)
                t.sum += (u32)o[r][k], t.squares += (u32)o[r][k] * (u32)o[r][k];
        }
    }

    return moments_node(t, CHUNK, box);
}

#endif
