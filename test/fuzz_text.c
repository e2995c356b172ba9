/* SPDX-License-Identifier: MIT
 * libFuzzer: any bytes as text or CSV, through a memory file and in any dtype, on one thread and on three: no crash, the same values
 * or the same error; and every cell that is a plain decimal equals strtod_l in the C locale. The first two bytes choose how.
 *   clang -g -O1 -DTL_TEXT_SHARE=64 -DTL_TEXT_SMALL=16 -fsanitize=fuzzer,address,undefined -fopenmp -Iinclude test/fuzz_text.c src/io/[a-z]*.c src/error.c src/dtype.c */
#define _GNU_SOURCE
#include "tally.h"
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int threads = 1;
int tl_io_threads(tally *ctx);
int tl_io_threads(tally *ctx) { return (void)ctx, threads; }
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t load(const char *path, const tally_file_options *o, unsigned char *out, int64_t room, int64_t step, tally_status *s)
{
    tally_file *f;
    int64_t n = 0, got = 1;
    if ((*s = tally_file_open(NULL, path, o, &f))) return 0;
    tally_file_info info;
    tally_file_get_info(f, &info);
    const int64_t width = (int64_t)tally_dtype_size(info.dtype), most = room / width;
    while (got && n < most && !(*s = tally_file_read(f, out + n * width, step < most - n ? step : most - n, &got))) n += got;
    tally_file_close(f);
    return n * width;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static locale_t c;
    char path[32], error[512], word[256];
    if (!c) c = newlocale(LC_ALL_MASK, "C", 0);
    if (size < 2 || size > 1 << 16) return 0;
    const uint8_t a = data[0], b = data[1];
    data += 2, size -= 2;
    const tally_file_options o = {.format = a & 1 ? "csv" : "text", .dtype = (tally_dtype)(1 + (a >> 1) % 12), .column = b & 1 ? "2" : NULL,
                                  .delimiter = b & 2 ? '|' : 0, .header = (b >> 2) % 3 - 1, .skip_bad = b >> 4 & 1};
    const int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const int64_t room = 8 * (int64_t)size + 64;
    unsigned char *const x = malloc((size_t)room), *const y = malloc((size_t)room);
    tally_status s, t;
    threads = 1;
    const int64_t n = load(path, &o, x, room, 1 << 20, &s);
    snprintf(error, sizeof error, "%s", s ? tally_error(NULL) : "");
    threads = 3;
    const int64_t m = load(path, &o, y, room, 3, &t);
    if (s != t || n != m || memcmp(x, y, (size_t)n) != 0 || (s && strcmp(error, tally_error(NULL)) != 0)) abort();
    free(x);
    free(y);
    close(fd);
    for (size_t i = 0; i < size;) { /* each word against strtod */
        size_t k = i;
        while (k < size && k - i < sizeof word - 1 && strchr("+-.0123456789eE", data[k]) && data[k]) k++;
        memcpy(word, data + i, k - i);
        word[k - i] = 0;
        char *end;
        const double d = strtod_l(word, &end, c);
        const float f = strtof_l(word, &end, c);
        double mine = 0;
        float mine4 = 0;
        const int is = k > i && end == word + (k - i);
        if ((tally_parse_value(TALLY_F64, word, k - i, &mine) == TALLY_OK) != is || (is && memcmp(&d, &mine, 8) != 0)) abort();
        if (is && (tally_parse_value(TALLY_F32, word, k - i, &mine4) || memcmp(&f, &mine4, 4) != 0)) abort();
        i = k + 1;
    }
    return 0;
}
