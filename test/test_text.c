/* SPDX-License-Identifier: MIT
 * Text and CSV files: cells, columns, headers, quotes, and the place of the first bad cell, on one thread and on
 * several. Writers, pipes, npy and raw: test_files.c. */
#define _GNU_SOURCE
#include "files.h"
#include <math.h>

static void text(const char *content, tally_file_options o, int64_t want, const char *error)
{
    save("t", content, strlen(content));
    for (threads = 1; threads <= 3; threads++) {
        const int64_t n = load(path("t"), &o, threads == 2 ? 1 : 1000);
        expect(n == want, "text", content);
        if (want < 0) expect(strstr(tally_error(NULL), error) != NULL, error, content);
    }
    threads = 1;
}

static void texts(void)
{
    const tally_file_options none = {0}, txt = {.format = "text"}, csv = {.format = "csv"},
                             i32 = {.format = "text", .dtype = TALLY_I32};
    text("", none, 0, "");
    text("\n\n  \n", txt, 0, "");
    text("1\n2\n3", none, 3, "");
    text("1 2\t3\r\n# comment 4 5\n  # more\n-6e2\n", none, 4, "");
    expect(values[3] == -600, "comment", "");
    text("\xef\xbb\xbf"
         "7\n",
         none, 1, "");
    expect(values[0] == 7, "bom", "");
    text("1\n2 x3\n", none, -1, "/t:2:3: 'x3' is not a number");
    text("1\n2 3#\n", none, -1, "/t:2:3: '3#' is not a number");
    text("1\n\n  -\n", none, -1, "/t:3:3: '-' is not a number");
    text("5\n300000000000\n", i32, -1, "/t:2:1: '300000000000' does not fit i32 (-2147483648..2147483647)");
    text("5\n1.5\n", i32, -1, "/t:2:1: '1.5' is not a whole number");
    text("-2147483648 2147483647 +3 0x0000000a\n", i32, 4, "");
    text("256", (tally_file_options){.dtype = TALLY_U8}, -1, "does not fit u8 (0..255)");
    text("18446744073709551615 0 9223372036854775808", (tally_file_options){.dtype = TALLY_U64}, 3, "");
    text("18446744073709551616", (tally_file_options){.dtype = TALLY_U64}, -1,
         "does not fit u64 (0..18446744073709551615)");
    text("-9223372036854775808", (tally_file_options){.dtype = TALLY_I64}, 1, "");
    text("-9223372036854775809", (tally_file_options){.dtype = TALLY_I64}, -1, "does not fit");
    text("1 x 2 y 3", (tally_file_options){.format = "text", .skip_bad = 1}, 3, "");
    text("0x3ff0000000000000 0x3f800000", txt, -1, ":1:20: '0x3f800000' has not the 16 hexadecimal digits of f64");
    text("a b\n1 2\n3 4\n", (tally_file_options){.format = "text", .column = "b"}, 2, "");
    expect(values[1] == 4, "text column", "");
    text("1 2\n3 4\n", (tally_file_options){.format = "text", .column = "3"}, -1,
         "no column '3'; the columns are 1, 2");
    text("1 2\n3\n", (tally_file_options){.format = "text", .column = "2"}, -1, ":2:1: the line '3' has no column 2");
    text("1|2|3\n", (tally_file_options){.format = "text", .delimiter = '|'}, 3, "");
    text("date,price\n2020,1.5\n2021,2.5\n", (tally_file_options){.column = "price"}, 2, "");
    expect(values[1] == 2.5, "csv column", "");
    text("name,price\na,1.5\r\nb,2.5\r\n", none, 2, "");
    text("date,price\n2020,1.5\n", none, -1, "2 columns have numbers: 1 'date', 2 'price'");
    text("date,price\n2020,1.5\n", (tally_file_options){.format = "csv", .column = "cost"}, -1,
         "no column 'cost'; the columns are 1 'date', 2 'price'");
    text("a;b\n1;2\n3;4\n", (tally_file_options){.format = "csv", .column = "2"}, 2, "");
    expect(values[0] == 2 && values[1] == 4, "semicolon", "");
    text("a\tb\n1\t2\n", (tally_file_options){.format = "csv", .column = "b"}, 1, "");
    text("v\n1\n\n# c\nNA\n\"2.5\"\nnan\nNULL\n", csv, 5, "");
    expect(values[2] == 2.5 && isnan(values[1]) && isnan(values[4]), "csv missing", "");
    text("a,v\nx,1\nx,\nx,3\n", (tally_file_options){.column = "v"}, 3, "");
    expect(isnan(values[1]), "csv empty", "");
    text("a,v\nx,1\nx,\nx,3\n", (tally_file_options){.column = "v", .dtype = TALLY_I32}, -1, "/t:3:3: empty cell");
    text("a,v\nx,1\nx,\nx,3\n", (tally_file_options){.column = "v", .dtype = TALLY_I32, .skip_bad = 1}, 2, "");
    text("\"a,\"\"b\",v\n\"x\ny, \"\"z\"\"\",1\n\"q\",2\n\"#\",3\n",
         (tally_file_options){.format = "csv", .column = "v"}, 3, "");
    expect(values[2] == 3, "quotes", "");
    text("a,v\n\"x\ny\",1\n\"q\",oops\n", (tally_file_options){.format = "csv", .column = "v"}, -1,
         "/t:4:5: 'oops' is not a number");
    text("a,v\n\"x,1\n", (tally_file_options){.format = "csv", .column = "v"}, -1,
         "/t:2:1: a quoted cell is not closed");
    text("1\n2\n", (tally_file_options){.format = "csv", .header = 1}, 1, "");
    text("v\n2\n", (tally_file_options){.format = "csv", .header = -1}, -1, "/t:1:1: 'v' is not a number");
    text("1\n2\n", (tally_file_options){.format = "cvs"}, -1, "format 'cvs' is not one of");
    text("1", (tally_file_options){.format = "raw"}, -1, "need a dtype");
    save("t", "\0\1\2\3", 4);
    expect(load(path("t"), &none, 10) == -1 && strstr(tally_error(NULL), "neither npy nor text"), "binary", "");
    expect(load("/nonexistent", &none, 10) == -1 && strstr(tally_error(NULL), "/nonexistent: No such file"), "missing",
           "");
    expect(load("/tmp", &none, 10) == -1 && strstr(tally_error(NULL), "directory"), "directory", "");
}

static void big_texts(void)
{
    const tally_file_options none = {0};
    /* The first bad cell of a big file, wherever the threads cut it; every value before it is delivered. */
    const size_t room = 6 << 20;
    char *const big = malloc(room);
    size_t n = 0;
    int64_t lines = 0;
    for (; n + 64 < room; lines++)
        n += (size_t)snprintf(big + n, room - n, "%lld.%02d\n", (long long)lines, (int)(lines % 100));
    for (int i = 0; i < 6; i++) {
        size_t at = (size_t)check_below((int64_t)n - 8), line = 1, col = 1;
        while (big[at] == '\n' || big[at] == '.') at++;
        const char old = big[at], second = big[n - 2];
        big[at] = 'Z';
        big[n - 2] = '?';
        save("big", big, n);
        big[at] = old;
        big[n - 2] = second;
        size_t begin = at;
        while (begin > 0 && big[begin - 1] != '\n') begin--;
        for (size_t k = 0; k < begin; k++) line += big[k] == '\n';
        char want[64];
        snprintf(want, sizeof want, "/big:%zu:%zu: ", line, col);
        for (threads = 1; threads <= 4; threads++) {
            tally_file *f;
            int64_t got = 1, sum = 0;
            tally_status s = tally_file_open(NULL, path("big"), &none, &f);
            while (!s && got && !(s = tally_file_read(f, values, 1 + (int64_t)(check_random() % 65536), &got)))
                sum += got;
            expect(s == TALLY_BAD_DATA && strstr(tally_error(NULL), want) && sum == (int64_t)line - 1, want,
                   "first bad cell");
            tally_file_close(f);
        }
    }
    /* A line longer than any block, and quoted newlines everywhere: same values on any number of threads. */
    for (size_t k = 0; k < n; k++)
        if (big[k] == '\n' && k > 100) big[k] = ' ';
    memcpy(big + 40, "\n# ", 3);
    save("long", big, n);
    int64_t sums[2] = {0};
    for (size_t k = n = 0; n + 64 < room; k++)
        n += (size_t)snprintf(big + n, room - n, "\"a,\n\"\"%zu\"\"\",%zu,z\n", k, k);
    save("quoted.csv", big, n);
    const tally_file_options two = {.column = "2"};
    for (threads = 1; threads <= 4; threads++) {
        for (int i = 0; i < 2; i++) {
            tally_file *f;
            int64_t got = 1, sum = 0, count = 0;
            tally_status s = tally_file_open(NULL, path(i ? "quoted.csv" : "long"), i ? &two : &none, &f);
            while (!s && got && !(s = tally_file_read(f, values, 50000, &got)))
                for (int64_t k = 0; k < got; k++) sum += (int64_t)values[k] * ++count;
            expect(s == TALLY_OK && count > (i ? 1000 : 1), "big texts", i ? "quoted" : "long");
            if (threads == 1) sums[i] = sum;
            expect(sum == sums[i], "same values", i ? "quoted" : "long");
            tally_file_close(f);
        }
    }
    threads = 1;
    free(big);
}

int main(void)
{
    files_start();
    texts();
    big_texts();
    return files_finish();
}
