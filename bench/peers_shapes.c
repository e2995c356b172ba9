/* SPDX-License-Identifier: MIT
 *
 * peers_shapes.c - the scans, windows, rows, columns and segments that one would write, compiled
 * by `gcc -Ofast -march=native -fopenmp`. Two are what libraries do sequentially: the window
 * mean as a running sum (add one, subtract one; what TA-Lib and Tulip do, in f64 here as there)
 * and the window maximum as a deque (what bottleneck does).
 */
#include "bench.h"
#include <math.h>
#include <stdlib.h>

#define IN(T)  const T *x = j->in
#define OUT(T) T *out = j->out

static void scan_f32(const job *j)
{
    IN(float);
    OUT(float);
    float s = 0;
    for (int64_t i = 0; i < j->n; i++) out[i] = s += x[i];
}
static void scan_f64(const job *j)
{
    IN(double);
    OUT(double);
    double s = 0;
    for (int64_t i = 0; i < j->n; i++) out[i] = s += x[i];
}
static void inscan_f32(const job *j)
{
    IN(float);
    OUT(float);
    float s = 0;
#pragma omp parallel for simd num_threads(j->threads) reduction(inscan, + : s)
    for (int64_t i = 0; i < j->n; i++) {
        s += x[i];
#pragma omp scan inclusive(s)
        out[i] = s;
    }
}
static void inscan_f64(const job *j)
{
    IN(double);
    OUT(double);
    double s = 0;
#pragma omp parallel for simd num_threads(j->threads) reduction(inscan, + : s)
    for (int64_t i = 0; i < j->n; i++) {
        s += x[i];
#pragma omp scan inclusive(s)
        out[i] = s;
    }
}

static void window_mean_f32(const job *j)
{
    IN(float);
    OUT(float);
    const int64_t w = j->size;
    const double scale = 1.0 / (double)w;
    double s = 0;
    for (int64_t i = 0; i < w - 1 && i < j->n; i++) {
        s += x[i];
        out[i] = NAN;
    }
    for (int64_t i = w - 1; i < j->n; i++) {
        s += x[i];
        out[i] = (float)(s * scale);
        s -= x[i - w + 1];
    }
}
static void window_sum_i32(const job *j)
{
    IN(int32_t);
    OUT(int64_t);
    int64_t s = 0;
    for (int64_t i = 0; i < j->n; i++)
        out[i] = s += x[i] - (i >= j->size ? (int64_t)x[i - j->size] : 0);
}
static void window_sum_i64(const job *j)
{
    IN(int64_t);
    OUT(int64_t);
    int64_t s = 0;
    for (int64_t i = 0; i < j->n; i++) out[i] = s += x[i] - (i >= j->size ? x[i - j->size] : 0);
}

/* The deque: indices whose values fall from front to back; bottleneck's move_max does the same. */
static void window_max_f32(const job *j)
{
    IN(float);
    OUT(float);
    const int64_t w = j->size;
    int64_t *deque = malloc((size_t)w * sizeof *deque), front = 0, held = 0;
    for (int64_t i = 0; deque && i < j->n; i++) {
        if (held && deque[front] <= i - w) {
            front = front + 1 == w ? 0 : front + 1;
            held--;
        }
        while (held) {
            const int64_t back = front + held - 1;
            if (x[deque[back >= w ? back - w : back]] > x[i]) break;
            held--;
        }
        const int64_t end = front + held++;
        deque[end >= w ? end - w : end] = i;
        out[i] = i < w - 1 ? NAN : x[deque[front]];
    }
    free(deque);
}

static void rows_f32(const job *j)
{
    OUT(float);
#pragma omp parallel for num_threads(j->threads) if (j->threads > 1)
    for (int64_t r = 0; r < j->results; r++) {
        const float *x = (const float *)j->in + r * j->size;
        float s = 0;
        for (int64_t i = 0; i < j->size; i++) s += x[i];
        out[r] = s;
    }
}
static void columns_f32(const job *j)
{
    IN(float);
    OUT(float);
    const int64_t width = j->size, rows = j->n / width;
#pragma omp parallel for num_threads(j->threads) if (j->threads > 1)
    for (int64_t t = 0; t < j->threads; t++) {
        const int64_t from = width * t / j->threads, to = width * (t + 1) / j->threads;
        for (int64_t c = from; c < to; c++) out[c] = 0;
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = from; c < to; c++) out[c] += x[r * width + c];
    }
}
static void segments_f32(const job *j)
{
    IN(float);
    OUT(float);
#pragma omp parallel for num_threads(j->threads) if (j->threads > 1) schedule(dynamic, 256)
    for (int64_t r = 0; r < j->size; r++) {
        float s = 0;
        for (int64_t i = j->offsets[r]; i < j->offsets[r + 1]; i++) s += x[i];
        out[r] = s;
    }
}

const peer peers_shapes[] = {
    {"gcc -Ofast", "sum", F32, ROWS, 1, 0, rows_f32},
    {"gcc -Ofast, OpenMP", "sum", F32, ROWS, 2, 0, rows_f32},
    {"gcc -Ofast", "sum", F32, COLUMNS, 1, 0, columns_f32},
    {"gcc -Ofast, OpenMP", "sum", F32, COLUMNS, 2, 0, columns_f32},
    {"gcc -Ofast", "sum", F32, SEGMENTS, 1, 0, segments_f32},
    {"gcc -Ofast, OpenMP", "sum", F32, SEGMENTS, 2, 0, segments_f32},
    {"sequential loop", "sum", F32, SCAN, 1, 0, scan_f32},
    {"sequential loop", "sum", F64, SCAN, 1, 0, scan_f64},
    {"OpenMP inscan", "sum", F32, SCAN, 2, 0, inscan_f32},
    {"OpenMP inscan", "sum", F64, SCAN, 2, 0, inscan_f64},
    {"running sum (f64)", "mean", F32, WINDOW, 1, 0, window_mean_f32},
    {"running sum", "sum", I32, WINDOW, 1, 0, window_sum_i32},
    {"running sum", "sum", I64, WINDOW, 1, 0, window_sum_i64},
    {"deque", "max", F32, WINDOW, 1, 0, window_max_f32},
};
const int peers_shapes_count = sizeof peers_shapes / sizeof *peers_shapes;
