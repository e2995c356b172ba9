/* SPDX-License-Identifier: MIT
 * kurt: excess kurtosis n m4 / m2^2 - 3: the mean and the sums of the second to fourth powers of
 * deviations, merged pairwise in f64 (Pebay 2008). op/var.h explains the sizes. v and w are the
 * fractions of the elements on each side. sample=1 corrects it for a sample of n, and gives NaN for
 * n < 4. It is NaN if all elements are equal, or if one is a NaN or infinite. */
#define OP_LANE REAL
#define OP_WIDEN REAL
#define OP_EXACT 0
#define OP_COUNTS 1
#define OP_SIZES 1
#define OP_STATE(F) F(real, mean) F(real, m2) F(real, m3) F(real, m4)
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p)
{
    state r;
    r.mean = to_real(x);
    r.m2 = r.mean - r.mean;
    r.m3 = r.m2;
    r.m4 = r.m2;
    return r;
}
fn state combine(state a, state b, real na, real nb)
{
    state r;
    real v = na / (na + nb), w = nb / (na + nb), d = b.mean - a.mean, f = (d * d) * (na * w);
    r.mean = a.mean + d * w;
    r.m2 = (a.m2 + b.m2) + f;
    r.m3 = (a.m3 + b.m3) + d * (f * (v - w) + num(3.0) * (v * b.m2 - w * a.m2));
    r.m4 = (a.m4 + b.m4) + d * (d * (f * (v * v - v * w + w * w)
                                     + num(6.0) * ((v * v) * b.m2 + (w * w) * a.m2))
                                + num(4.0) * (v * b.m3 - w * a.m3));
    return r;
}
fn result lower(state a, real n, idx first, par p)
{
    real g = n * a.m4 / (a.m2 * a.m2) - num(3.0), k = n - num(1.0),
         s = (n - num(2.0)) * (n - num(3.0));
    real c = sel(n > num(3.0), k / s * ((n + num(1.0)) * g + num(6.0)), num(NOT_A_NUMBER));
    return to_result(canon(sel(num(p.value) == num(1.0), c, g)));
}
fn result empty(par p) { return to_result(num(NOT_A_NUMBER)); }
