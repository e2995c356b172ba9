/* SPDX-License-Identifier: MIT
 * libFuzzer: any bytes as text, and fuzz_csv.c as CSV: the same bytes through a memory file on one,
 * two and three threads and through a pipe must give the same values and lines, or the same error.
 * The blocks are tiny (TL_TEXT_SHARE), so small inputs are cut too. And every cell that is a plain
 * decimal equals strtod_l in the C locale. */
#define _GNU_SOURCE
#include "tally.h"
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef FORMAT
#define FORMAT "text"
#endif

static int threads = 1;
int tl_io_threads(tally *ctx);
int tl_io_threads(tally *ctx) { return (void)ctx, threads; }
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct outcome {
    tally_status status;
    char error[512];
    unsigned char *values;  /* space for 8 bytes each byte of the input and some */
    char *lines;            /* with options.keep: each with a newline */
    int32_t *codes;         /* with options.by and a key in it: of each line */
    tally_line_time *times; /* with options.by_time; of that dtype */
    tally_dtype dtype;
    int64_t groups;
    int64_t bytes, rows, lengths, skipped;
} outcome;

static void take_lines(tally_file *f, outcome *to, int64_t capacity)
{
    const char *line;
    size_t length;
    while (tally_file_line(f, &line, &length) == TALLY_OK && line) {
        if (to->lengths + (int64_t)length + 1 > capacity) abort();
        memcpy(to->lines + to->lengths, line, length);
        to->lengths += (int64_t)length;
        to->lines[to->lengths++] = '\n';
    }
}

/* Reads values, the first of which is in line number `row`. */
static tally_status read_some(tally_file *f, outcome *to, unsigned char *values, int64_t row,
                              int64_t max, int64_t *got)
{
    if (to->times)
        return tally_file_read_times(f, values, to->codes ? to->codes + row : NULL, to->times + row,
                                     &to->dtype, max, got);
    if (!to->codes) return tally_file_read(f, values, max, got);
    return tally_file_read_by(f, values, to->codes + row, max, got);
}

static void load(int fd, const tally_file_options *o, int64_t size, int64_t step, outcome *to)
{
    char path[32];
    tally_file *f;
    tally_file_info info;
    int64_t n = 0, got = 1;
    const int64_t capacity = 8 * size + 64;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    *to = (outcome){.values = malloc((size_t)capacity), .lines = malloc((size_t)size + 64)};
    to->dtype = TALLY_I64;
    to->status = tally_file_open(NULL, path, o, &f);
    if (!to->status) {
        tally_file_get_info(f, &info);
        if (info.key_columns) to->codes = calloc((size_t)capacity, sizeof *to->codes);
        if (o->by_time) to->times = calloc((size_t)capacity, sizeof *to->times);
        const int64_t width = (int64_t)tally_dtype_size(info.dtype),
                      columns = info.ndim > 1 ? info.shape[1] : 1;
        if (columns < 1 || info.ndim > 2 || !width) abort();
        const int64_t most = step < columns && o->by ? columns : step;
        while (got && !(to->status = read_some(
                            f, to, to->values + n * width, n / columns,
                            most < capacity / width - n ? most : capacity / width - n, &got))) {
            n += got;
            if (o->keep) take_lines(f, to, size + 64);
        }
        if (!to->status && n % columns) abort();
        to->bytes = n * width;
        to->rows = n / columns;
        to->groups = tally_file_groups(f);
        for (int64_t i = 0; to->codes && !to->status && i < n / columns; i++)
            if (to->codes[i] < 0 || to->codes[i] >= to->groups ||
                !tally_file_key(f, to->codes[i], 0))
                abort();
        tally_file_get_info(f, &info);
        to->skipped = info.skipped;
        tally_file_close(f);
    }
    if (to->status) { /* without the path, which differs */
        const char *const at = strstr(tally_error(NULL), path);
        snprintf(to->error, sizeof to->error, "%s", at ? at + strlen(path) : tally_error(NULL));
    }
}

static void unload(outcome *x)
{
    free(x->values);
    free(x->lines);
    free(x->codes);
    free(x->times);
}

/* Of damaged compressed data, what comes before the damage and the byte that is named depend on the
 * pieces in which the data arrives. */
static int is_damaged(const outcome *x)
{
    return x->status && strstr(x->error, " is damaged near byte ");
}

static void same(const outcome *x, const outcome *y)
{
    if (x->status && y->status && (is_damaged(x) || is_damaged(y))) return;
    if (x->status != y->status || x->bytes != y->bytes ||
        memcmp(x->values, y->values, (size_t)x->bytes) != 0 || strcmp(x->error, y->error) != 0 ||
        x->lengths != y->lengths || memcmp(x->lines, y->lines, (size_t)x->lengths) != 0 ||
        (x->skipped != y->skipped && !(x->times && x->status)) ||
        (!x->status && x->codes &&
         (x->groups != y->groups || memcmp(x->codes, y->codes, (size_t)x->bytes / 8))) ||
        (!x->status && x->times &&
         (x->dtype != y->dtype ||
          memcmp(x->times, y->times, (size_t)x->rows * sizeof *x->times)))) {
        fprintf(stderr,
                "status %d %d, bytes %lld %lld, lines %lld %lld, skipped %lld %lld\n'%s'\n'%s'\n",
                x->status, y->status, (long long)x->bytes, (long long)y->bytes,
                (long long)x->lengths, (long long)y->lengths, (long long)x->skipped,
                (long long)y->skipped, x->error, y->error);
        abort();
    }
}

/* The lines that were kept are lines of the input, in order. */
static void are_lines(const outcome *x, const uint8_t *data, size_t size)
{
    const char *p = (const char *)data, *const end = p + size;
    for (int64_t at = 0; at < x->lengths; p++) {
        const char *const nl = memchr(x->lines + at, '\n', (size_t)(x->lengths - at));
        const size_t n = (size_t)(nl - (x->lines + at));
        while (p <= end && !((size_t)(end - p) >= n && memcmp(p, x->lines + at, n) == 0)) p++;
        if (p > end) abort();
        at += (int64_t)n + 1;
    }
}

/* Every way to read the bytes, two of which choose how. */
static void every_way(const uint8_t *data, size_t size, const char *format)
{
    static const char *const columns[] = {NULL, "2", "a", "2,1", "1-2", "2-", "1,3-4", "\"a,b\",2"};
    static const char *const keys[] = {NULL, NULL, "1", "2,a"};
    const uint8_t a = data[0], b = data[1];
    data += 2, size -= 2;
    const int dates = (a ^ b) % 5 == 0;
    const tally_file_options o = {.format = format,
                                  .dtype = dates ? 0 : (tally_dtype)(1 + (a >> 1) % 12),
                                  .dates = dates,
                                  .column = columns[b & 7],
                                  .by = keys[(a >> 1) / 12 & 3],
                                  .by_time = (a >> 1) / 12 >> 2 & 1 && keys[(a >> 1) / 12 & 3],
                                  .delimiter = a & 1 ? '|' : 0,
                                  .header = (b >> 3) % 3 - 1,
                                  .skip_bad = b >> 5 & 1,
                                  .table = b >> 6 & 1,
                                  .keep = b >> 7,
                                  .comment = (a ^ b) % 5 ? 0 : '%',
                                  .thousands = (a ^ b) % 7 ? 0 : ','};
    const int fd = memfd_create("fuzz", 0);
    outcome one, other;
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    threads = 1;
    load(fd, &o, (int64_t)size, 1 << 20, &one);
    are_lines(&one, data, size);
    for (threads = 2; threads <= 3; threads++) {
        load(fd, &o, (int64_t)size, threads == 2 ? 7 : 1, &other);
        same(&one, &other);
        unload(&other);
    }
    close(fd);
    int p[2];
    if (pipe(p) || write(p[1], data, size) != (ssize_t)size) abort();
    close(p[1]);
    load(p[0], &o, (int64_t)size, 1 << 20, &other);
    same(&one, &other);
    unload(&other);
    close(p[0]);
    unload(&one);
}

static void each_word(const uint8_t *data, size_t size)
{
    static locale_t c;
    char word[256];
    if (!c) c = newlocale(LC_ALL_MASK, "C", 0);
    for (size_t i = 0; i < size;) {
        size_t k = i;
        while (k < size && k - i < sizeof word - 1 && strchr("+-.0123456789eE", data[k]) && data[k])
            k++;
        memcpy(word, data + i, k - i);
        word[k - i] = 0;
        char *end;
        const double d = strtod_l(word, &end, c);
        const float f = strtof_l(word, &end, c);
        double parsed = 0;
        float mine4 = 0;
        const int is = k > i && end == word + (k - i);
        if ((tally_parse_value(TALLY_F64, word, k - i, &parsed) == TALLY_OK) != is ||
            (is && memcmp(&d, &parsed, 8) != 0))
            abort();
        if (is && (tally_parse_value(TALLY_F32, word, k - i, &mine4) || memcmp(&f, &mine4, 4) != 0))
            abort();
        i = k + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 1 << 15) return 0; /* fits a pipe */
    every_way(data, size, FORMAT);
    each_word(data + 2, size - 2);
    return 0;
}
