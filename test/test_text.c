/* SPDX-License-Identifier: MIT
 * Text and CSV files: cells, columns, headers, quotes, and the place of the first bad cell, on
 * one thread and on several. Writers, pipes, npy and raw: test_files.c. */
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

static const tally_file_options none = {0}, txt = {.format = "text"};

static void texts(void)
{
    const tally_file_options i32 = {.format = "text", .dtype = TALLY_I32};
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
    text("5\n300000000000\n", i32, -1,
         "/t:2:1: '300000000000' does not fit i32 (-2147483648..2147483647)");
    text("5\n1.5\n", i32, -1, "/t:2:1: '1.5' is not a whole number");
    text("-2147483648 2147483647 +3 0x0000000a\n", i32, 4, "");
    text("256", (tally_file_options){.dtype = TALLY_U8}, -1, "does not fit u8 (0..255)");
    text("18446744073709551615 0 9223372036854775808", (tally_file_options){.dtype = TALLY_U64}, 3,
         "");
    text("18446744073709551616", (tally_file_options){.dtype = TALLY_U64}, -1,
         "does not fit u64 (0..18446744073709551615)");
    text("-9223372036854775808", (tally_file_options){.dtype = TALLY_I64}, 1, "");
    text("-9223372036854775809", (tally_file_options){.dtype = TALLY_I64}, -1, "does not fit");
    text("1 x 2 y 3", (tally_file_options){.format = "text", .skip_bad = 1}, 3, "");
    text("0x3ff0000000000000 0x3f800000", txt, -1,
         ":1:20: '0x3f800000' does not have the 16 hexadecimal digits of f64");
    text("a b\n1 2\n3 4\n", (tally_file_options){.format = "text", .column = "b"}, 2, "");
    expect(values[1] == 4, "text column", "");
    text("1 2\n3 4\n", (tally_file_options){.format = "text", .column = "3"}, -1,
         "no column '3'; the columns are 1, 2");
    text("1 2\n3\n", (tally_file_options){.format = "text", .column = "2"}, -1,
         ":2:1: the line '3' has no column 2");
    text("1|2|3\n", (tally_file_options){.format = "text", .delimiter = '|'}, 3, "");
}

static void csvs(void)
{
    text("date,price\n2020,1.5\n2021,2.5\n", (tally_file_options){.column = "price"}, 2, "");
    expect(values[1] == 2.5, "csv column", "");
    text("name,price\na,1.5\r\nb,2.5\r\n", none, 2, "");
    text("date,price\n2020,1.5\n", none, -1, "2 columns have numbers: 1 'date', 2 'price'");
    text("date,price\n2020,1.5\n", (tally_file_options){.format = "csv", .column = "cost"}, -1,
         "no column 'cost'; the columns are 1 'date', 2 'price'");
    text("a;b\n1;2\n3;4\n", (tally_file_options){.format = "csv", .column = "2"}, 2, "");
    expect(values[0] == 2 && values[1] == 4, "semicolon", "");
    text("a\tb\n1\t2\n", (tally_file_options){.format = "csv", .column = "b"}, 1, "");
    text("v\n1\n\n# c\nNA\n\"2.5\"\nnan\nNULL\n",
         (tally_file_options){.format = "csv", .comment = '#'}, 5, "");
    expect(values[2] == 2.5 && isnan(values[1]) && isnan(values[4]), "csv missing", "");
    text("a,v\nx,1\nx,\nx,3\n", (tally_file_options){.column = "v"}, 3, "");
    expect(isnan(values[1]), "csv empty", "");
    text("a,v\nx,1\nx,\nx,3\n", (tally_file_options){.column = "v", .dtype = TALLY_I32}, -1,
         "/t:3:3: empty cell");
    text("a,v\nx,1\nx,\nx,3\n",
         (tally_file_options){.column = "v", .dtype = TALLY_I32, .skip_bad = 1}, 2, "");
    text("\"a,\"\"b\",v\n\"x\ny, \"\"z\"\"\",1\n\"q\",2\n\"#\",3\n",
         (tally_file_options){.format = "csv", .column = "v"}, 3, "");
    expect(values[2] == 3, "quotes", "");
    text("a,v\n\"x\ny\",1\n\"q\",oops\n", (tally_file_options){.format = "csv", .column = "v"}, -1,
         "/t:4:5: 'oops' is not a number");
    text("a,v\n\"x,1\n", (tally_file_options){.format = "csv", .column = "v"}, -1,
         "/t:2:1: a quoted cell is not closed");
    text("1\n2\n", (tally_file_options){.format = "csv", .header = 1}, 1, "");
    text("v\n2\n", (tally_file_options){.format = "csv", .header = -1}, -1,
         "/t:1:1: 'v' is not a number");
    text("1\n2\n", (tally_file_options){.format = "cvs"}, -1, "format 'cvs' is not one of");
    text("1", (tally_file_options){.format = "raw"}, -1, "need a dtype");
    save("t", "\0\1\2\3", 4);
    expect(load(path("t"), &none, 10) == -1 && strstr(tally_error(NULL), "neither npy nor text"),
           "binary", "");
    expect(load("/nonexistent", &none, 10) == -1 &&
               strstr(tally_error(NULL), "/nonexistent: No such file"),
           "missing", "");
    expect(load("/tmp", &none, 10) == -1 && strstr(tally_error(NULL), "directory"), "directory",
           "");
}

/* What careful users found: each gave wrong numbers without a word, or differed with the number
   of threads. */
static void found(void)
{
    const tally_file_options csv = {.format = "csv"}, b = {.format = "csv", .column = "b"},
                             skip = {.format = "csv", .skip_bad = 1};
    static const char *const missing[] = {"NULL\n5\n7\n", "na\n5\n7\n", "Na\n5\n7\n", "NA\n5\n7\n",
                                          "\"\"\n5\n7\n"};
    /* no header: the words for missing values are the same everywhere */
    for (int i = 0; i < 5; i++) {
        text(missing[i], csv, 3, "");
        expect(isnan(values[0]) && values[2] == 7, "missing first", missing[i]);
        if (i < 4) text(missing[i], txt, 3, "");
        expect(isnan(values[0]) && values[2] == 7, "missing in text", missing[i]);
    }
    text("1\nNA\n", (tally_file_options){.format = "text", .dtype = TALLY_I32}, -1,
         ":2:1: 'NA' stands for no value, and i32 has none");
    text("1\nnan\n", (tally_file_options){.format = "csv", .dtype = TALLY_I32}, -1,
         ":2:1: 'nan' is not a whole number");
    /* An empty first cell says nothing about its column: the next lines do. */
    text("a,b\n,1\n3,2\n4,5\n", csv, -1, "2 columns have numbers: 1 'a', 2 'b'");
    text(",1\n3,2\n4,5\n", (tally_file_options){.format = "csv", .header = -1}, -1,
         "2 columns have numbers: 1, 2");
    text("a,b\n,1\nx,2\ny,5\n", csv, 3, "");
    text("a,b\n,1\n,2\n", csv, 2, "");
    expect(values[1] == 2, "an empty column", "");
    text("a,b\n,1\n3,2\n4,5\n", b, 3, "");
    /* A stray quote hides what follows: an error, also where bad cells are skipped. */
    text("1\n2\n\"3\n4\n5\n", csv, -1, ":3:1: a quoted cell is not closed");
    text("1\n2\n\"3\n4\n5\n", skip, -1, ":3:1: a quoted cell is not closed");
    text("1\n2\n\"3\n4\n\"5\n6\n", skip, -1, ":3:1: a quoted cell is not closed");
    text("x,1\n\"y,2\nz,3\n\"w,4\n",
         (tally_file_options){.format = "csv", .column = "2", .skip_bad = 1, .header = -1}, -1,
         ":2:1: a quoted cell is not closed");
    text("1\n\"2\"x\n3\n", skip, 2, ""); /* on one line it is an odd cell */
    /* A first word that is no number may be a header. */
    text("price\n1\n", txt, -1,
         ":1:1: 'price' is not a number; if the first line is a header, say so with --header yes");
    text("1\nprice\n", txt, -1, ":2:1: 'price' is not a number");
    expect(!strstr(tally_error(NULL), "header"), "no hint", "");
    text("price\n1\n", (tally_file_options){.format = "text", .header = 1}, 1, "");
    text("a\"b,c\n1,2\n", (tally_file_options){.format = "csv", .column = "a\"b"}, 1, "");
    text("\"a\"\"b\",c\n1,2\n", (tally_file_options){.format = "csv", .column = "a\"b"}, 1, "");
}

/* Several columns: a row of values per line. */
static const char csv[] = "day,price,qty\nmon,1.5,10\ntue,,20\n\"w\ne\"\"d\",3,30\n";

static void tables(void)
{
    text(csv, (tally_file_options){.format = "csv", .column = "price,qty"}, 6, "");
    expect(values[0] == 1.5 && values[1] == 10 && isnan(values[2]) && values[5] == 30,
           "two columns", "");
    text(csv, (tally_file_options){.format = "csv", .column = "qty,2"}, 6, "");
    expect(values[0] == 10 && values[1] == 1.5 && values[5] == 3, "their order is that asked for",
           "");
    text(csv, (tally_file_options){.format = "csv", .column = "2-3"}, 6, "");
    text(csv, (tally_file_options){.format = "csv", .column = "2-"}, 6, "");
    text(csv, (tally_file_options){.format = "csv", .table = 1}, 6, "");
    expect(values[4] == 3 && values[5] == 30, "columns with numbers", "");
    text(csv, (tally_file_options){.format = "csv", .column = "price,price"}, -1,
         "column 2 is asked for twice");
    text(csv, (tally_file_options){.format = "csv", .column = "price,cost"}, -1,
         "no column 'cost'; the columns are 1 'day', 2 'price', 3 'qty'");
    text(csv, (tally_file_options){.format = "csv", .column = "2-4"}, -1, "no column '2-4'");
    text(csv, (tally_file_options){.format = "csv", .column = "3-2"}, -1, "no column '3-2'");
    text(csv, (tally_file_options){.format = "csv", .column = "1-2"}, -1,
         ":2:1: 'mon' is not a number");
    text(csv, (tally_file_options){.format = "csv", .column = "1-2", .skip_bad = 1}, 0, "");
    text("\"a,b\",low-high,c\n1,2,3\n", (tally_file_options){.format = "csv", .column = "a,b"}, 1,
         "");
    text("\"a,b\",low-high,c\n1,2,3\n",
         (tally_file_options){.format = "csv", .column = "\"a,b\",low-high"}, 2, "");
    expect(values[0] == 1 && values[1] == 2, "names with commas and dashes", "");
    text("\"a,b\",c\n1,2\n", (tally_file_options){.format = "csv", .column = "\"a,b"}, -1,
         "a quote in it is not closed");
    const tally_file_options rows = {.format = "text", .table = 1};
    text("1 2\n 3\t4 \n# c\n\n5 6\r\n", rows, 6, "");
    expect(values[3] == 4 && values[5] == 6, "text table", "");
    text("x y\n1 2\n3 4\n", rows, 4, "");
    text("1 2\n3\n", rows, -1, ":2:1: the line '3' has no column 2");
    text("1 2\n3 4\n5 6 7\n", rows, -1,
         ":3:1: the line '5 6 7' has more cells than the first one, which has 2");
    text("1 2\n3 x\n5 6\n", (tally_file_options){.format = "text", .table = 1, .skip_bad = 1}, 4,
         "");
    expect(values[2] == 5, "a bad cell takes its line along", "");
    text(",,,\n,,,\n1,2,3,4\n", (tally_file_options){.format = "csv", .table = 1, .header = -1}, 12,
         "");
}

static void kept_lines(void)
{
    save("t", csv, strlen(csv));
    tally_file *f;
    tally_file_info info;
    const char *line;
    size_t length;
    int64_t got;
    const tally_file_options keep = {.format = "csv", .column = "qty", .keep = 1};
    expect(!tally_file_open(NULL, path("t"), &keep, &f), "keep", "");
    tally_file_get_info(f, &info);
    expect(info.ndim == 2 && info.shape[0] == -1 && info.shape[1] == 1 && info.elements == -1 &&
               info.delimiter == ',' && !strcmp(info.header, "day,price,qty") &&
               !strcmp(info.columns[0], "qty"),
           "the table's shape", info.header);
    static const char *const lines[] = {"mon,1.5,10", "tue,,20", "\"w\ne\"\"d\",3,30"};
    expect(!tally_file_line(f, &line, &length) && !line, "no line before its values", "");
    for (int i = 0; i < 3; i++) {
        expect(!tally_file_read(f, values, 1, &got) && got == 1, "keep", "");
        expect(!tally_file_line(f, &line, &length) && line && length == strlen(lines[i]) &&
                   !memcmp(line, lines[i], length),
               "line", lines[i]);
        expect(!tally_file_line(f, &line, &length) && !line, "one line per row", "");
    }
    tally_file_close(f);
    expect(!tally_file_open(NULL, path("t"),
                            &(tally_file_options){.format = "csv", .column = "qty"}, &f),
           "no keep", "");
    expect(tally_file_line(f, &line, &length) == TALLY_INVALID &&
               strstr(tally_error(NULL), "options.keep"),
           "not kept", "");
    tally_file_close(f);
}

/* Blocks that end inside a line: in a comment behind blanks, and in a row of many quoted cells. */
static void long_lines(void)
{
    const size_t capacity = 7 * (TL_TEXT_SHARE / 4);
    char *const big = malloc(capacity);
    const tally_file_options first = {.format = "csv", .column = "1", .header = -1};
    for (int kind = 0; kind < 3; kind++) {
        size_t n = (size_t)sprintf(big, "1 2\n");
        const size_t blanks = kind == 1 ? 5 * (TL_TEXT_SHARE / 4) : 3;
        memset(big + n, ' ', blanks);
        n += blanks;
        big[n++] = '#';
        memset(big + n, 'x', capacity - n - 16);
        if (kind == 2) big[n] = ' ';
        n = capacity - 16;
        n += (size_t)sprintf(big + n, "\n3 4\n");
        save("comment", big, n);
        for (threads = 1; threads <= 3; threads++) {
            expect(load(path("comment"), &none, 1000) == 4 && values[3] == 4, "a long comment", "");
            if (threads == 1)
                expect(load(path("comment"), &(tally_file_options){.table = 1}, 1000) == 4,
                       "in a table", "");
        }
    }
    size_t n = 0;
    for (int k = 0; k < TL_TEXT_SHARE / 8; k++) n += (size_t)sprintf(big + n, "\"%d\",", k % 7);
    big[n++] = '\n';
    for (threads = 1; threads <= 2; threads++) {
        save("cells", big, n); /* took time that grows with the square: minutes */
        expect(load(path("cells"), &first, 1000) == 1, "many quoted cells", "");
    }
    threads = 1;
    free(big);
}

/* The first bad cell of a big file, of n bytes, wherever the threads cut it; every value before it
 * is delivered. */
static void first_bad_cell(char *big, size_t n)
{
    for (int i = 0; i < (check_quick ? 3 : 6); i++) {
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
        for (threads = CHECK_LEAST_THREADS; threads <= 4; threads++) {
            tally_file *f;
            int64_t got = 1, sum = 0;
            tally_status s = tally_file_open(NULL, path("big"), &none, &f);
            while (!s && got &&
                   !(s = tally_file_read(f, values, 1 + (int64_t)(check_random() % 65536), &got)))
                sum += got;
            expect(s == TALLY_BAD_DATA && strstr(tally_error(NULL), want) &&
                       sum == (int64_t)line - 1,
                   want, "first bad cell");
            tally_file_close(f);
        }
    }
}

/* A line longer than any block, and quoted newlines everywhere: same values on any number of
 * threads. */
static void big_texts(void)
{
    const size_t capacity = 6 * (TL_TEXT_SHARE / 4);
    char *const big = malloc(capacity);
    size_t n = 0;
    int64_t lines = 0;
    for (; n + 64 < capacity; lines++)
        n += (size_t)snprintf(big + n, capacity - n, "%lld.%02d\n", (long long)lines,
                              (int)(lines % 100));
    first_bad_cell(big, n);
    for (size_t k = 0; k < n; k++)
        if (big[k] == '\n' && k > 100) big[k] = ' ';
    memcpy(big + 40, "\n# ", 3);
    save("long", big, n);
    int64_t sums[2] = {0};
    for (size_t k = n = 0; n + 64 < capacity; k++)
        n += (size_t)snprintf(big + n, capacity - n, "\"a,\n\"\"%zu\"\"\",%zu,z\n", k, k);
    save("quoted.csv", big, n);
    const tally_file_options two = {.column = "2"};
    for (threads = 1; threads <= 4; threads++) {
        for (int i = 0; i < 2; i++) {
            tally_file *f;
            int64_t got = 1, sum = 0, count = 0;
            tally_status s =
                tally_file_open(NULL, path(i ? "quoted.csv" : "long"), i ? &two : &none, &f);
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
    csvs();
    found();
    tables();
    kept_lines();
    long_lines();
    big_texts();
    return files_finish();
}
