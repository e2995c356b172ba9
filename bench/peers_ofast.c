/* SPDX-License-Identifier: MIT
 *
 * peers_ofast.c - the reductions that one would write, compiled by `gcc -Ofast -march=native
 * -fopenmp`: the compiler may reorder the additions. With a team every thread runs the plain
 * loop on its part.
 */
#include "bench.h"
#include <omp.h>

#define IN(T) const T *x = j->in

/* The plain loops. */
static float add_f32(const float *x, int64_t n)
{
    float s = 0;
    for (int64_t i = 0; i < n; i++) s += x[i];
    return s;
}
static double add_f64(const double *x, int64_t n)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += x[i];
    return s;
}
static int64_t add_i32(const int32_t *x, int64_t n)
{
    int64_t s = 0;
    for (int64_t i = 0; i < n; i++) s += x[i];
    return s;
}
static int64_t add_i64(const int64_t *x, int64_t n)
{
    int64_t s = 0;
    for (int64_t i = 0; i < n; i++) s += x[i];
    return s;
}
static int64_t add_u8(const uint8_t *x, int64_t n)
{
    int64_t s = 0;
    for (int64_t i = 0; i < n; i++) s += x[i];
    return s;
}
static float top_f32(const float *x, int64_t n)
{
    float s = x[0];
    for (int64_t i = 0; i < n; i++) s = x[i] > s ? x[i] : s;
    return s;
}
static double top_f64(const double *x, int64_t n)
{
    double s = x[0];
    for (int64_t i = 0; i < n; i++) s = x[i] > s ? x[i] : s;
    return s;
}
static int32_t top_i32(const int32_t *x, int64_t n)
{
    int32_t s = x[0];
    for (int64_t i = 0; i < n; i++) s = x[i] > s ? x[i] : s;
    return s;
}
static double wide_f32(const float *x, int64_t n)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += x[i];
    return s;
}
static double spread_f32(const float *x, int64_t n, double mean)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += (x[i] - mean) * (x[i] - mean);
    return s;
}

/* The part [from, to) of the thread that asks, and a job's loop split over its team. */
static int64_t part(const job *j, int of) { return j->n * of / omp_get_num_threads(); }
#define FROM part(j, omp_get_thread_num())
#define MINE (part(j, omp_get_thread_num() + 1) - FROM)

static void sum_f32(const job *j) { *(float *)j->out = add_f32(j->in, j->n); }
static void team_sum_f32(const job *j)
{
    IN(float);
    float s = 0;
#pragma omp parallel num_threads(j->threads) reduction(+ : s)
    s += add_f32(x + FROM, MINE);
    *(float *)j->out = s;
}
static void sum_f64(const job *j) { *(double *)j->out = add_f64(j->in, j->n); }
static void team_sum_f64(const job *j)
{
    IN(double);
    double s = 0;
#pragma omp parallel num_threads(j->threads) reduction(+ : s)
    s += add_f64(x + FROM, MINE);
    *(double *)j->out = s;
}
static void sum_i32(const job *j) { *(int64_t *)j->out = add_i32(j->in, j->n); }
static void team_sum_i32(const job *j)
{
    IN(int32_t);
    int64_t s = 0;
#pragma omp parallel num_threads(j->threads) reduction(+ : s)
    s += add_i32(x + FROM, MINE);
    *(int64_t *)j->out = s;
}
static void sum_i64(const job *j) { *(int64_t *)j->out = add_i64(j->in, j->n); }
static void team_sum_i64(const job *j)
{
    IN(int64_t);
    int64_t s = 0;
#pragma omp parallel num_threads(j->threads) reduction(+ : s)
    s += add_i64(x + FROM, MINE);
    *(int64_t *)j->out = s;
}
static void sum_u8(const job *j) { *(int64_t *)j->out = add_u8(j->in, j->n); }
static void team_sum_u8(const job *j)
{
    IN(uint8_t);
    int64_t s = 0;
#pragma omp parallel num_threads(j->threads) reduction(+ : s)
    s += add_u8(x + FROM, MINE);
    *(int64_t *)j->out = s;
}
static void max_f32(const job *j) { *(float *)j->out = top_f32(j->in, j->n); }
static void team_max_f32(const job *j)
{
    IN(float);
    float s = x[0], local;
#pragma omp parallel num_threads(j->threads) reduction(max : s) private(local)
    {
        local = top_f32(x + FROM, MINE);
        s = local > s ? local : s;
    }
    *(float *)j->out = s;
}
static void max_f64(const job *j) { *(double *)j->out = top_f64(j->in, j->n); }
static void team_max_f64(const job *j)
{
    IN(double);
    double s = x[0], local;
#pragma omp parallel num_threads(j->threads) reduction(max : s) private(local)
    {
        local = top_f64(x + FROM, MINE);
        s = local > s ? local : s;
    }
    *(double *)j->out = s;
}
static void max_i32(const job *j) { *(int32_t *)j->out = top_i32(j->in, j->n); }
static void team_max_i32(const job *j)
{
    IN(int32_t);
    int32_t s = x[0], local;
#pragma omp parallel num_threads(j->threads) reduction(max : s) private(local)
    {
        local = top_i32(x + FROM, MINE);
        s = local > s ? local : s;
    }
    *(int32_t *)j->out = s;
}
static void mean_f32(const job *j)
{
    sum_f32(j);
    *(float *)j->out /= (float)j->n;
}
static void team_mean_f32(const job *j)
{
    team_sum_f32(j);
    *(float *)j->out /= (float)j->n;
}
static void mean_f64(const job *j)
{
    sum_f64(j);
    *(double *)j->out /= (double)j->n;
}
static void team_mean_f64(const job *j)
{
    team_sum_f64(j);
    *(double *)j->out /= (double)j->n;
}
static void mean_i32(const job *j)
{
    sum_i32(j);
    *(double *)j->out = (double)*(int64_t *)j->out / (double)j->n;
}
static void team_mean_i32(const job *j)
{
    team_sum_i32(j);
    *(double *)j->out = (double)*(int64_t *)j->out / (double)j->n;
}

/* Two passes, in f64. */
static void var_f32(const job *j)
{
    IN(float);
    *(double *)j->out = spread_f32(x, j->n, wide_f32(x, j->n) / (double)j->n) / (double)j->n;
}
static void team_var_f32(const job *j)
{
    IN(float);
    double s = 0;
#pragma omp parallel num_threads(j->threads) reduction(+ : s)
    s += wide_f32(x + FROM, MINE);
    const double mean = s / (double)j->n;
    s = 0;
#pragma omp parallel num_threads(j->threads) reduction(+ : s)
    s += spread_f32(x + FROM, MINE, mean);
    *(double *)j->out = s / (double)j->n;
}

static int64_t where_f32(const float *x, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 0; i < n; i++)
        if (x[i] > x[best]) best = i;
    return best;
}
static void argmax_f32(const job *j) { *(int64_t *)j->out = where_f32(j->in, j->n); }
static void team_argmax_f32(const job *j)
{
    IN(float);
    int64_t best = 0;
#pragma omp parallel num_threads(j->threads)
    {
        const int64_t from = FROM, local = from + where_f32(x + from, MINE);
#pragma omp critical
        if (x[local] > x[best] || (x[local] == x[best] && local < best)) best = local;
    }
    *(int64_t *)j->out = best;
}

#define BOTH(op, type, shape, run) \
    {"gcc -Ofast", op, type, shape, 1, 0, run}, \
    { \
        "gcc -Ofast, OpenMP", op, type, shape, 2, 0, team_##run \
    }
const peer peers_ofast[] = {
    BOTH("sum", F32, REDUCE, sum_f32),       BOTH("sum", F64, REDUCE, sum_f64),
    BOTH("sum", I32, REDUCE, sum_i32),       BOTH("sum", I64, REDUCE, sum_i64),
    BOTH("sum", U8, REDUCE, sum_u8),         BOTH("max", F32, REDUCE, max_f32),
    BOTH("max", F64, REDUCE, max_f64),       BOTH("max", I32, REDUCE, max_i32),
    BOTH("mean", F32, REDUCE, mean_f32),     BOTH("mean", F64, REDUCE, mean_f64),
    BOTH("mean", I32, REDUCE, mean_i32),     BOTH("var", F32, REDUCE, var_f32),
    BOTH("argmax", F32, REDUCE, argmax_f32),
};
const int peers_ofast_count = sizeof peers_ofast / sizeof *peers_ofast;
