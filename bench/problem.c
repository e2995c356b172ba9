/* SPDX-License-Identifier: MIT
 *
 * problem.c - from a word to arrays: sum:f32:reduce:2^27. The data depend on the word alone (a
 * hash of the index).
 *
 * Floats are uniform in [0, 1), i32 in [-2^20, 2^20), i64 in [-2^40, 2^40), u8 over everything.
 */
#include "bench.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
} elements[ELEMENTS] = {{"f32", 4}, {"f64", 8}, {"i32", 4}, {"i64", 8}, {"u8", 1}};
static const char *const shapes[] = {"reduce", "scan", "window", "rows", "columns", "segments"};

const char *element_name(element e) { return elements[e].name; }
size_t element_size(element e) { return elements[e].size; }

/* What op makes of e. Only the operators that the benchmark measures are known here; bench
   checks nothing else. */
static element result_type(const char *op, element e)
{
    if (!strncmp(op, "arg", 3)) return I64;
    if (!strcmp(op, "max") || !strcmp(op, "min") || e == F64) return e;
    if (!strncmp(op, "var", 3) || !strncmp(op, "std", 3) || strstr(op, ":f64")) return F64;
    if (e == F32) return F32;
    return strcmp(op, "mean") ? I64 : F64;
}

static int64_t number(const char *s, char **end)
{
    int64_t v = strtoll(s, end, 10);
    if (**end == '^') {
        const int64_t power = strtoll(*end + 1, end, 10);
        int64_t r = 1;
        for (int64_t i = 0; i < power && r < (INT64_C(1) << 40); i++) r *= v;
        v = r;
    }
    return v;
}

int problem_parse(const char *word, job *j)
{
    char copy[128], *part[3], *end;
    memset(j, 0, sizeof *j);
    if (strlen(word) >= sizeof copy) return 0;
    strcpy(copy, word);
    for (int i = 2; i >= 0; i--) {
        char *colon = strrchr(copy, ':');
        if (!colon) return 0;
        *colon = 0;
        part[i] = colon + 1;
    }
    if (strlen(copy) >= sizeof j->op) return 0;
    strcpy(j->op, copy);
    int e = 0, s = 0;
    while (e < ELEMENTS && strcmp(part[0], elements[e].name)) e++;
    const size_t name = strcspn(part[1], "=");
    while (s <= SEGMENTS && (strncmp(part[1], shapes[s], name) || shapes[s][name])) s++;
    if (e == ELEMENTS || s > SEGMENTS) return 0;
    if (part[1][name]) {
        j->size = number(part[1] + name + 1, &end);
        if (*end || j->size < 1) return 0;
    }
    j->n = number(part[2], &end);
    if (*end || j->n < 1 || (s >= WINDOW && !j->size)) return 0;
    j->word = word;
    j->type = (element)e;
    j->shape = (shape)s;
    return 1;
}

static uint64_t hash(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* Lengths 1 .. 10^6 of a Pareto distribution cut there: length = u^(-1/alpha). With the alpha
 * found by bisection their sum is the wanted total as nearly as lengths allow; for a million
 * segments of 2^27 elements alpha is about 0.75: over half of the segments have one or two
 * elements, and some hundred of them hold half of all elements. Seed: the index.
 */
static int64_t segments_cut(int64_t *offsets, int64_t count, double alpha)
{
    offsets[0] = 0;
    for (int64_t i = 0; i < count; i++) {
        const double u = ((double)(hash((uint64_t)i) >> 11) + 0.5) * 0x1p-53;
        const double length = floor(pow(u, -1 / alpha));
        offsets[i + 1] = offsets[i] + (length > 1e6 ? 1000000 : (int64_t)length);
    }
    return offsets[count];
}

static int segments_make(job *j)
{
    int64_t *offsets = malloc((size_t)(j->size + 1) * sizeof *offsets);
    if (!offsets) return 0;
    double low = 0.2, high = 4;
    for (int i = 0; i < 30; i++) {
        const double middle = 0.5 * (low + high);
        *(segments_cut(offsets, j->size, middle) > j->n ? &low : &high) = middle;
    }
    j->n = segments_cut(offsets, j->size, high);
    j->offsets = offsets;
    fprintf(stderr, "%s: alpha %.4f, %lld elements\n", j->word, high, (long long)j->n);
    return 1;
}

int problem_fill(job *j)
{
    if (j->shape == SEGMENTS && !segments_make(j)) return 0;
    if (j->shape == ROWS || j->shape == COLUMNS) j->n -= j->n % j->size;
    const int64_t results[] = {1, j->n, j->n, j->n / (j->size ? j->size : 1), j->size, j->size};
    j->results = results[j->shape];
    j->in_bytes = (size_t)j->n * element_size(j->type);
    j->out_bytes = (size_t)j->results * element_size(result_type(j->op, j->type));
    void *in = memory_huge(j->in_bytes);
    j->in = in;
    j->out = memory_huge(j->out_bytes);
    if (!in || !j->out) return 0;
#pragma omp parallel for
    for (int64_t i = 0; i < j->n; i++) {
        const uint64_t h = hash((uint64_t)i);
        switch (j->type) {
        case F32:
            ((float *)in)[i] = (float)(h >> 40) * 0x1p-24f;
            break;
        case F64:
            ((double *)in)[i] = (double)(h >> 11) * 0x1p-53;
            break;
        case I32:
            ((int32_t *)in)[i] = (int32_t)(h >> 43) - (1 << 20);
            break;
        case I64:
            ((int64_t *)in)[i] = (int64_t)(h >> 23) - (INT64_C(1) << 40);
            break;
        case U8:
            ((uint8_t *)in)[i] = (uint8_t)(h >> 56);
            break;
        case ELEMENTS:
            break;
        }
    }
    return 1;
}

void problem_free(job *j)
{
    memory_free((void *)(uintptr_t)j->in, j->in_bytes);
    memory_free(j->out, j->out_bytes);
    free((void *)(uintptr_t)j->offsets);
    j->in = j->out = NULL;
    j->offsets = NULL;
}

/* Result i as a number, to see that the contenders solved the same problem. */
double problem_result(const job *j, int64_t i)
{
    switch (result_type(j->op, j->type)) {
    case F32:
        return ((const float *)j->out)[i];
    case F64:
        return ((const double *)j->out)[i];
    case I32:
        return ((const int32_t *)j->out)[i];
    case I64:
        return (double)((const int64_t *)j->out)[i];
    case U8:
        return ((const uint8_t *)j->out)[i];
    case ELEMENTS:
        break;
    }
    return NAN;
}
