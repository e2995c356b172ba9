// SPDX-License-Identifier: MIT
//
// peers.cpp - what C++17 and TBB offer: std::reduce and the like, sequential and std::execution::par,
// tbb::parallel_reduce and tbb::parallel_scan. Built twice as a shared object, with -O3 and with -Ofast (the name says
// which), because the flag decides whether the compiler may vectorise a sum. TBB's threads are limited to the job's and
// pinned.
#include "bench.h"
#include <algorithm>
#include <atomic>
#include <execution>
#include <functional>
#include <numeric>
#include <sched.h>
#include <tbb/tbb.h>
#include <type_traits>

#ifndef TAG
#define TAG ""
#endif

namespace {

// The arena's thread k goes to the k-th processor of those the process was started with; TBB's workers would
// otherwise inherit the one processor that the main thread is pinned to.
struct pinner : tbb::task_scheduler_observer {
    cpu_set_t all;
    pinner()
    {
        CPU_ZERO(&all);
        sched_getaffinity(0, sizeof all, &all);
    }
    void on_scheduler_entry(bool) override
    {
        int left = tbb::this_task_arena::current_thread_index() % CPU_COUNT(&all);
        for (int c = 0; c < CPU_SETSIZE; c++)
            if (CPU_ISSET(c, &all) && left-- == 0) {
                cpu_set_t one;
                CPU_ZERO(&one);
                CPU_SET(c, &one);
                sched_setaffinity(0, sizeof one, &one);
            }
    }
};

template <class T> const T *in(const job *j) { return static_cast<const T *>(j->in); }
template <class T> T *out(const job *j) { return static_cast<T *>(j->out); }
template <class T> using wide = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
template <class F> void limited(const job *j, F &&f)
{
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism, size_t(j->threads));
    f();
}
template <class T> T larger(T a, T b) { return a < b ? b : a; }

template <class T> void reduce(const job *j) { *out<wide<T>>(j) = std::reduce(in<T>(j), in<T>(j) + j->n, wide<T>(0)); }
template <class T> void reduce_par(const job *j)
{
    limited(j, [j] { *out<wide<T>>(j) = std::reduce(std::execution::par, in<T>(j), in<T>(j) + j->n, wide<T>(0)); });
}
template <class T> void reduce_tbb(const job *j)
{
    limited(j, [j] {
        *out<wide<T>>(j) = tbb::parallel_reduce(
            tbb::blocked_range<const T *>(in<T>(j), in<T>(j) + j->n), wide<T>(0),
            [](const tbb::blocked_range<const T *> &r, wide<T> s) {
                for (const T *p = r.begin(); p != r.end(); ++p) s += *p;
                return s;
            },
            std::plus<>());
    });
}
template <class T> void mean_par(const job *j)
{
    reduce_par<T>(j);
    if constexpr (std::is_integral_v<T>) *out<double>(j) = double(*out<int64_t>(j)) / double(j->n);
    else *out<T>(j) /= T(j->n);
}
template <class T> void max(const job *j) { *out<T>(j) = std::reduce(in<T>(j), in<T>(j) + j->n, *in<T>(j), larger<T>); }
template <class T> void max_par(const job *j)
{
    limited(j, [j] {
        *out<T>(j) = std::reduce(std::execution::par, in<T>(j), in<T>(j) + j->n, *in<T>(j), larger<T>);
    });
}
template <class T> void argmax(const job *j) 
{
    *out<int64_t>(j) = std::max_element(in<T>(j), in<T>(j) + j->n) - in<T>(j);
}
template <class T> void argmax_par(const job *j)
{
    limited(j, [j] {
        *out<int64_t>(j) = std::max_element(std::execution::par, in<T>(j), in<T>(j) + j->n) - in<T>(j);
    });
}
void var_par(const job *j)
{
    limited(j, [j] {
        const float *x = in<float>(j), *end = x + j->n;
        const double mean = std::transform_reduce(std::execution::par, x, end, 0.0, std::plus<>(),
                                                  [](float v) { return double(v); }) / double(j->n);
        *out<double>(j) = std::transform_reduce(std::execution::par, x, end, 0.0, std::plus<>(),
                                                [mean](float v) { return (v - mean) * (v - mean); }) / double(j->n);
    });
}
template <class T> void scan(const job *j) { std::inclusive_scan(in<T>(j), in<T>(j) + j->n, out<T>(j)); }
template <class T> void scan_par(const job *j)
{
    limited(j, [j] { std::inclusive_scan(std::execution::par, in<T>(j), in<T>(j) + j->n, out<T>(j)); });
}
template <class T> void scan_tbb(const job *j)
{
    limited(j, [j] {
        const T *x = in<T>(j);
        T *y = out<T>(j);
        tbb::parallel_scan(
            tbb::blocked_range<int64_t>(0, j->n), T(0),
            [x, y](const tbb::blocked_range<int64_t> &r, T s, bool last) {
                for (int64_t i = r.begin(); i != r.end(); ++i) {
                    s += x[i];
                    if (last) y[i] = s;
                }
                return s;
            },
            std::plus<>());
    });
}

const peer list[] = {
    {"std::reduce" TAG, "sum", F32, REDUCE, 1, 0, reduce<float>},
    {"std::reduce" TAG, "sum", F64, REDUCE, 1, 0, reduce<double>},
    {"std::reduce" TAG, "sum", I32, REDUCE, 1, 0, reduce<int32_t>},
    {"std::reduce" TAG, "sum", I64, REDUCE, 1, 0, reduce<int64_t>},
    {"std::reduce par" TAG, "sum", F32, REDUCE, 2, 1, reduce_par<float>},
    {"std::reduce par" TAG, "sum", F64, REDUCE, 2, 1, reduce_par<double>},
    {"std::reduce par" TAG, "sum", I32, REDUCE, 2, 1, reduce_par<int32_t>},
    {"tbb::parallel_reduce" TAG, "sum", F32, REDUCE, 2, 1, reduce_tbb<float>},
    {"tbb::parallel_reduce" TAG, "sum", F64, REDUCE, 2, 1, reduce_tbb<double>},
    {"tbb::parallel_reduce" TAG, "sum", I32, REDUCE, 2, 1, reduce_tbb<int32_t>},
    {"std::reduce par" TAG, "mean", F32, REDUCE, 2, 1, mean_par<float>},
    {"std::reduce par" TAG, "mean", F64, REDUCE, 2, 1, mean_par<double>},
    {"std::reduce par" TAG, "mean", I32, REDUCE, 2, 1, mean_par<int32_t>},
    {"std::reduce max" TAG, "max", F32, REDUCE, 1, 0, max<float>},
    {"std::reduce max" TAG, "max", F64, REDUCE, 1, 0, max<double>},
    {"std::reduce max" TAG, "max", I32, REDUCE, 1, 0, max<int32_t>},
    {"std::reduce max par" TAG, "max", F32, REDUCE, 2, 1, max_par<float>},
    {"std::reduce max par" TAG, "max", F64, REDUCE, 2, 1, max_par<double>},
    {"std::reduce max par" TAG, "max", I32, REDUCE, 2, 1, max_par<int32_t>},
    {"std::max_element" TAG, "argmax", F32, REDUCE, 1, 0, argmax<float>},
    {"std::max_element par" TAG, "argmax", F32, REDUCE, 2, 1, argmax_par<float>},
    {"std::transform_reduce par" TAG, "var", F32, REDUCE, 2, 1, var_par},
    {"std::inclusive_scan" TAG, "sum", F32, SCAN, 1, 0, scan<float>},
    {"std::inclusive_scan" TAG, "sum", F64, SCAN, 1, 0, scan<double>},
    {"std::inclusive_scan par" TAG, "sum", F32, SCAN, 2, 1, scan_par<float>},
    {"std::inclusive_scan par" TAG, "sum", F64, SCAN, 2, 1, scan_par<double>},
    {"tbb::parallel_scan" TAG, "sum", F32, SCAN, 2, 1, scan_tbb<float>},
    {"tbb::parallel_scan" TAG, "sum", F64, SCAN, 2, 1, scan_tbb<double>},
};

} // namespace

// Called before anything is pinned: TBB counts the processors then, and the observer remembers them.
extern "C" __attribute__((visibility("default"))) const peer *bench_peers(int *count)
{
    static pinner *const observer = new pinner;
    tbb::parallel_for(0, 64, [](int) {}); // starts the workers
    observer->observe(true);
    *count = int(sizeof list / sizeof *list);
    return list;
}
