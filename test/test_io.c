/* SPDX-License-Identifier: MIT
 * Files: parsing against strtod, shortest printing, npy headers good and hostile, text error places over threads, pipes, writers.
 * Run in a folder it may write to; the last line is "N passed, 0 failed". */
#define _GNU_SOURCE
#include "tally.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static long passed, failed;
static int threads = 1;
int tl_io_threads(tally *ctx);
int tl_io_threads(tally *ctx) { return (void)ctx, threads; } /* instead of the context's */

static void check(int ok, const char *what, const char *detail)
{
    if (ok) {
        passed++;
    } else if (failed++ < 50) {
        printf("FAILED %s: %s (last error: %s)\n", what, detail, tally_error(NULL));
    }
}

static uint64_t seed = 88172645463325252ull;
static uint64_t rnd(void)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed * 2685821657736338717ull;
}

static uint64_t bits64(double x) { uint64_t b; memcpy(&b, &x, 8); return b; }
static uint32_t bits32(float x) { uint32_t b; memcpy(&b, &x, 4); return b; }

static char dir[64];
static const char *path(const char *name)
{
    static char out[4][128];
    static int k;
    k = (k + 1) % 4;
    snprintf(out[k], sizeof out[k], "%s/%s", dir, name);
    return out[k];
}

static void save(const char *name, const void *data, size_t n)
{
    FILE *const f = fopen(path(name), "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f)) perror("save"), exit(1);
}

/* ---- numbers ---- */

static double half_value(uint64_t b, int mant, int exps) /* f16, bf16 as a double */
{
    const int field = (int)(b >> mant) & ((1 << exps) - 1), bias = (1 << (exps - 1)) - 1;
    const double frac = (double)(b & ((1u << mant) - 1)) / (1 << mant);
    if (field == (1 << exps) - 1) return frac != 0 ? NAN : INFINITY;
    return field ? ldexp(1 + frac, field - bias) : ldexp(frac, 1 - bias);
}

static void number(const char *s)
{
    double d = 0;
    float f = 0;
    check(tally_parse_value(TALLY_F64, s, strlen(s), &d) == TALLY_OK && bits64(d) == bits64(strtod(s, NULL)), "f64", s);
    check(tally_parse_value(TALLY_F32, s, strlen(s), &f) == TALLY_OK && bits32(f) == bits32(strtof(s, NULL)), "f32", s);
}

static void numbers(void)
{
    static const char *const cases[] = {
        "0", "-0", "0.0", "-0e5", "1", "+1", "1.", ".5", "-.5e1", "9007199254740993", "9007199254740992.5", "9007199254740993.000000000001",
        "9007199254740992.99999999999999999999999999", "1e-400", "1e400", "-1e400", "1e22", "1e23", "8.5e22", "4.9e-324", "2.4703282292062327e-324",
        "2.4703282292062327208e-324", "2.4703282292062328e-324", "2.2250738585072011e-308", "2.2250738585072012e-308", "2.2250738585072014e-308",
        "1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308", "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704342711559699508093042880",
        "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704342711559699508093042879.999",
        "16777217", "16777217.0000001", "16777216.99999999999999999999", "16777219", "1.00000005960464477539062", "1.00000005960464477539063", "1.000000059604644775390625",
        "1.000000059604644775390625000000000000000000000000000000001", "1.0000000596046447753906249999999999999999999", "1.17549435e-38", "1.17549428e-38", "1.4e-45", "7e-46", "7.0064923216240853546186479164495807e-46",
        "7.006492321624085354618647916449580656401309709382578858785341419448955413429303e-46", "3.4028235677973366e38", "3.4028235e38", "3.40282357e38", "3.4028236e38", "340282356779733661637539395458142568447", "340282356779733661637539395458142568448",
        "0.1", "0.2", "0.3", "123456789012345678", "1234567890123456789", "12345678901234567890", "123456789012345678901234567890", "0.000000000000000000000000000000000000000000001", "1e+5", "1E5", "1e-5", "1e0000000000000000000005", "1e-999999999999999999999", "0e999999999999999999999",
        "6929495644600919.5", "3.50583e-290", "8.988465674311580536566680721305029496276241413130815897397e307", "2.225073858507201136057409796709131975934819546351645648023426109724822222021076945516529523908135087914149158913039621106870086438694594645527657207407820621743379988141063267329253552286881372149012981122451451889849057222307285255133155755015914397476397983411801999323962548289017107081850690630666655994938275772572015763062690663332647565300009245888316433037779791869612049497390377829704905051080609940730262937128958950003583799967207254304360284078895771796150945516748243471030702609144621572289880258182545180325707018860872113128079512233426288368622321503775666622503982534335974568884423900265498198385487948292206894721689831099698365846814022854243330660339850886445804001034933970427567186443383770486037861622771738545623065874679014086723327636718751234567890123456789012345678901e-308",
    };
    static const char *const refused[] = {"", "-", "+", ".", "e5", "1e", "1e+", "1.2.3", "0x", "0x12", "1_000", "1,5", "--1", "+-1", "nan(1)", "infi", "in", " 1", "1 ", "1f", "0x3ff000000000000g", "0x3ff00000000000000"};
    char s[2048];
    double d;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        number(cases[i]);
        snprintf(s, sizeof s, "-%s", cases[i]);
        if (*cases[i] != '-' && *cases[i] != '+') number(s);
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        check(tally_parse_value(TALLY_F64, refused[i], strlen(refused[i]), &d) == TALLY_BAD_DATA, "refused", refused[i]);
    for (int i = 0; i < 4; i++) {
        static const char *const words[] = {"inf", "INF", "Infinity", "+iNf"};
        check(!tally_parse_value(TALLY_F64, words[i], strlen(words[i]), &d) && d == INFINITY, "inf", words[i]);
    }
    check(!tally_parse_value(TALLY_F64, "-inf", 4, &d) && d == -INFINITY, "-inf", "");
    check(!tally_parse_value(TALLY_F64, "NaN", 3, &d) && isnan(d), "NaN", "");
    check(!tally_parse_value(TALLY_F64, "0x7ff8000000000123", 18, &d) && bits64(d) == 0x7ff8000000000123, "hex", "");
    memset(s, '0', 1500);
    memcpy(s, "0.", 2);
    strcpy(s + 1000, "12345e1000"); /* many leading zeros */
    number(s);
    memset(s, '9', 1500);
    strcpy(s + 1500, "e-1490");
    number(s);
    for (int q = -345; q <= 310; q++) { /* every row of the table */
        for (int i = 0; i < 40; i++) {
            snprintf(s, sizeof s, "%llue%d", (unsigned long long)(rnd() >> (rnd() % 64)), q);
            number(s);
        }
    }
    for (int i = 0; i < 300000; i++) { /* doubles and midpoints, with enough and too many digits */
        uint64_t b = rnd();
        if (i % 4 == 0) b = (b & 0x800fffffffffffff) | (1023 + rnd() % 64 - 32) << 52;
        if (i % 16 == 1) b &= 0x800fffffffffffff;
        memcpy(&d, &b, 8);
        if (!isfinite(d)) continue;
        snprintf(s, sizeof s, "%.*e", (int)(rnd() % 25), d);
        number(s);
        if (i % 20) continue;
        const int e = (int)(b >> 52 & 0x7ff);
        const long double mid = (long double)d + ldexpl(d < 0 ? -1 : 1, (e ? e : 1) - 1076);
        snprintf(s, sizeof s, "%.800Le", mid); /* exact: half way between two doubles */
        number(s);
        char *const x = strchr(s, 'e');
        x[-1] = '1'; /* a hair above */
        number(s);
        float f = (float)d;
        if (isfinite(f)) {
            snprintf(s, sizeof s, "%.200e", (double)f + (double)(nextafterf(f, 1e38f) - f) / 2);
            number(s);
            char *const y = strchr(s, 'e');
            y[-1] = '1';
            number(s);
        }
    }
}

static void halves(int bf)
{
    const tally_dtype dtype = bf ? TALLY_BF16 : TALLY_F16;
    const int mant = bf ? 7 : 10, exps = bf ? 8 : 5;
    const uint16_t inf = bf ? 0x7f80 : 0x7c00;
    char s[512];
    for (uint32_t b = 0; b < inf; b++) {
        const double lo = half_value(b, mant, exps), hi = b + 1 < inf ? half_value(b + 1, mant, exps) : 2 * lo - half_value(b - 1, mant, exps);
        const double mid = lo + (hi - lo) / 2;
        uint16_t v = 0;
        int n = snprintf(s, sizeof s, "%.17g", lo);
        check(!tally_parse_value(dtype, s, (size_t)n, &v) && v == b, "half exact", s);
        n = snprintf(s, sizeof s, "%.200e", mid);
        check(!tally_parse_value(dtype, s, (size_t)n, &v) && v == b + (b & 1), "half tie", s);
        strchr(s, 'e')[-1] = '1';
        check(!tally_parse_value(dtype, s, (size_t)n, &v) && v == b + 1, "half above", s);
        n = snprintf(s, sizeof s, "%.17g", nextafter(mid, 0));
        check(!tally_parse_value(dtype, s, (size_t)n, &v) && v == b, "half below", s);
        const uint16_t in = (uint16_t)b;
        n = tally_format_value(dtype, &in, 0, s, sizeof s);
        check(!tally_parse_value(dtype, s, (size_t)n, &v) && v == b, "half round trip", s);
    }
}

static int digits(const char *s)
{
    int n = 0, zeros = 0, any = 0;
    for (; *s && *s != 'e'; s++)
        if (*s >= '0' && *s <= '9') {
            any |= *s != '0';
            zeros = *s == '0' ? zeros + 1 : 0;
            n += any;
        }
    return n - zeros;
}

static void printing(void)
{
    static const struct { double x; const char *s; } cases[] = {
        {0, "0"}, {-0.0, "-0"}, {1, "1"}, {0.1, "0.1"}, {-2.5, "-2.5"}, {1e15, "1000000000000000"}, {1e16, "1e+16"}, {1e22, "1e+22"}, {1e23, "1e+23"}, {5e-324, "5e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"}, {2.2250738585072014e-308, "2.2250738585072014e-308"}, {0.0001, "0.0001"}, {0.00001, "1e-05"},
        {123456.789, "123456.789"}, {9007199254740992, "9007199254740992"}, {9007199254740994, "9007199254740994"}, {INFINITY, "inf"}, {-INFINITY, "-inf"}, {NAN, "nan"}, {0.3, "0.3"}, {1.0 / 3, "0.3333333333333333"},
    };
    char s[64], t[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tally_format_value(TALLY_F64, &cases[i].x, 0, s, sizeof s);
        check(strcmp(s, cases[i].s) == 0, cases[i].s, s);
    }
    for (int i = 0; i < 400000; i++) {
        uint64_t b = rnd();
        double d, back = 0;
        if (i % 3 == 0) b = (b >> 20 << 20 & 0x800fffffffffffff) | (1023 + rnd() % 40) << 52;
        if (i % 50 == 0) b &= 0xfff0000000000000; /* powers of two: the lower neighbour is closer */
        memcpy(&d, &b, 8);
        if (!isfinite(d)) continue;
        const int n = tally_format_value(TALLY_F64, &d, 0, s, sizeof s);
        check(!tally_parse_value(TALLY_F64, s, (size_t)n, &back) && bits64(back) == b && bits64(strtod(s, NULL)) == b, "f64 round trip", s);
        int p = 1;
        if (i % 10 == 0) {
            do snprintf(t, sizeof t, "%.*e", p++ - 1, d);
            while (strtod(t, NULL) != d);
            check(digits(s) <= digits(t), "shortest f64", s);
        }
        const uint32_t b4 = (uint32_t)(rnd() >> 7);
        float f, g = 0;
        memcpy(&f, &b4, 4);
        if (!isfinite(f)) continue;
        const int m = tally_format_value(TALLY_F32, &f, 0, s, sizeof s);
        check(!tally_parse_value(TALLY_F32, s, (size_t)m, &g) && bits32(g) == b4 && bits32(strtof(s, NULL)) == b4, "f32 round trip", s);
        if (i % 10 == 0) {
            p = 1;
            do snprintf(t, sizeof t, "%.*e", p++ - 1, (double)f);
            while (strtof(t, NULL) != f);
            check(digits(s) <= digits(t), "shortest f32", s);
        }
    }
    const int64_t low = INT64_MIN;
    const uint64_t high = UINT64_MAX;
    const int8_t small = -5;
    const float one = 1;
    check(tally_format_value(TALLY_I64, &low, 0, s, sizeof s) == 20 && !strcmp(s, "-9223372036854775808"), "i64", s);
    check(tally_format_value(TALLY_U64, &high, 0, s, sizeof s) == 20 && !strcmp(s, "18446744073709551615"), "u64", s);
    check(tally_format_value(TALLY_I8, &small, 0, s, sizeof s) == 2 && !strcmp(s, "-5"), "i8", s);
    check(tally_format_value(TALLY_I8, &small, 1, s, sizeof s) == 4 && !strcmp(s, "0xfb"), "i8 hex", s);
    check(tally_format_value(TALLY_F32, &one, 1, s, sizeof s) == 10 && !strcmp(s, "0x3f800000"), "f32 hex", s);
    check(tally_format_value(TALLY_U64, &high, 0, s, 5) == 20 && !strcmp(s, "1844"), "small buffer", s);
}

/* ---- reading ---- */

static double values[1 << 16];

/* Opens and reads all of a file, `max` elements at a time, as f64 or bytes of any dtype: how many, or -1 (see tally_error). */
static int64_t load(const char *p, const tally_file_options *o, int64_t max)
{
    tally_file *f;
    int64_t n = 0, got;
    tally_file_info info;
    if (tally_file_open(NULL, p, o, &f)) return -1;
    tally_file_get_info(f, &info);
    const size_t size = tally_dtype_size(info.dtype);
    const int64_t room = (int64_t)(sizeof values / size);
    do {
        if (tally_file_read(f, (char *)values + (size_t)n * size, max < room - n ? max : room - n, &got)) n = -1, got = 0;
        n += got;
    } while (got);
    tally_file_close(f);
    return n;
}

static void text(const char *content, tally_file_options o, int64_t want, const char *error)
{
    save("t", content, strlen(content));
    for (threads = 1; threads <= 3; threads++) {
        const int64_t n = load(path("t"), &o, threads == 2 ? 1 : 1000);
        check(n == want, "text", content);
        if (want < 0) check(strstr(tally_error(NULL), error) != NULL, error, content);
    }
    threads = 1;
}

static void texts(void)
{
    const tally_file_options none = {0}, txt = {.format = "text"}, csv = {.format = "csv"}, i32 = {.format = "text", .dtype = TALLY_I32};
    text("", none, 0, "");
    text("\n\n  \n", txt, 0, "");
    text("1\n2\n3", none, 3, "");
    text("1 2\t3\r\n# comment 4 5\n  # more\n-6e2\n", none, 4, "");
    check(values[3] == -600, "comment", "");
    text("\xef\xbb\xbf" "7\n", none, 1, "");
    check(values[0] == 7, "bom", "");
    text("1\n2 x3\n", none, -1, "/t:2:3: 'x3' is not a number");
    text("1\n2 3#\n", none, -1, "/t:2:3: '3#' is not a number");
    text("1\n\n  -\n", none, -1, "/t:3:3: '-' is not a number");
    text("5\n300000000000\n", i32, -1, "/t:2:1: '300000000000' does not fit i32 (-2147483648..2147483647)");
    text("5\n1.5\n", i32, -1, "/t:2:1: '1.5' is not a whole number");
    text("-2147483648 2147483647 +3 0x0000000a\n", i32, 4, "");
    text("256", (tally_file_options){.dtype = TALLY_U8}, -1, "does not fit u8 (0..255)");
    text("18446744073709551615 0 9223372036854775808", (tally_file_options){.dtype = TALLY_U64}, 3, "");
    text("18446744073709551616", (tally_file_options){.dtype = TALLY_U64}, -1, "does not fit u64 (0..18446744073709551615)");
    text("-9223372036854775808", (tally_file_options){.dtype = TALLY_I64}, 1, "");
    text("-9223372036854775809", (tally_file_options){.dtype = TALLY_I64}, -1, "does not fit");
    text("1 x 2 y 3", (tally_file_options){.format = "text", .skip_bad = 1}, 3, "");
    text("0x3ff0000000000000 0x3f800000", txt, -1, ":1:20: '0x3f800000' has not the 16 hexadecimal digits of f64");
    text("a b\n1 2\n3 4\n", (tally_file_options){.format = "text", .column = "b"}, 2, "");
    check(values[1] == 4, "text column", "");
    text("1 2\n3 4\n", (tally_file_options){.format = "text", .column = "3"}, -1, "no column '3'; the columns are 1, 2");
    text("1 2\n3\n", (tally_file_options){.format = "text", .column = "2"}, -1, ":2:1: the line '3' has no column 2");
    text("1|2|3\n", (tally_file_options){.format = "text", .delimiter = '|'}, 3, "");
    text("date,price\n2020,1.5\n2021,2.5\n", (tally_file_options){.column = "price"}, 2, "");
    check(values[1] == 2.5, "csv column", "");
    text("name,price\na,1.5\r\nb,2.5\r\n", none, 2, "");
    text("date,price\n2020,1.5\n", none, -1, "2 columns have numbers: 1 'date', 2 'price'");
    text("date,price\n2020,1.5\n", (tally_file_options){.format = "csv", .column = "cost"}, -1, "no column 'cost'; the columns are 1 'date', 2 'price'");
    text("a;b\n1;2\n3;4\n", (tally_file_options){.format = "csv", .column = "2"}, 2, "");
    check(values[0] == 2 && values[1] == 4, "semicolon", "");
    text("a\tb\n1\t2\n", (tally_file_options){.format = "csv", .column = "b"}, 1, "");
    text("v\n1\n\n# c\nNA\n\"2.5\"\nnan\nNULL\n", csv, 5, "");
    check(values[2] == 2.5 && isnan(values[1]) && isnan(values[4]), "csv missing", "");
    text("a,v\nx,1\nx,\nx,3\n", (tally_file_options){.column = "v"}, 3, "");
    check(isnan(values[1]), "csv empty", "");
    text("a,v\nx,1\nx,\nx,3\n", (tally_file_options){.column = "v", .dtype = TALLY_I32}, -1, "/t:3:3: empty cell");
    text("a,v\nx,1\nx,\nx,3\n", (tally_file_options){.column = "v", .dtype = TALLY_I32, .skip_bad = 1}, 2, "");
    text("\"a,\"\"b\",v\n\"x\ny, \"\"z\"\"\",1\n\"q\",2\n\"#\",3\n", (tally_file_options){.format = "csv", .column = "v"}, 3, "");
    check(values[2] == 3, "quotes", "");
    text("a,v\n\"x\ny\",1\n\"q\",oops\n", (tally_file_options){.format = "csv", .column = "v"}, -1, "/t:4:5: 'oops' is not a number");
    text("a,v\n\"x,1\n", (tally_file_options){.format = "csv", .column = "v"}, -1, "/t:2:1: a quoted cell is not closed");
    text("1\n2\n", (tally_file_options){.format = "csv", .header = 1}, 1, "");
    text("v\n2\n", (tally_file_options){.format = "csv", .header = -1}, -1, "/t:1:1: 'v' is not a number");
    text("1\n2\n", (tally_file_options){.format = "cvs"}, -1, "format 'cvs' is not one of");
    text("1", (tally_file_options){.format = "raw"}, -1, "need a dtype");
    save("t", "\0\1\2\3", 4);
    check(load(path("t"), &none, 10) == -1 && strstr(tally_error(NULL), "neither npy nor text"), "binary", "");
    check(load("/nonexistent", &none, 10) == -1 && strstr(tally_error(NULL), "/nonexistent: No such file"), "missing", "");
    check(load("/tmp", &none, 10) == -1 && strstr(tally_error(NULL), "directory"), "directory", "");

    /* The first bad cell of a big file, wherever the threads cut it; every value before it is delivered. */
    const size_t room = 6 << 20;
    char *const big = malloc(room);
    size_t n = 0;
    int64_t lines = 0;
    for (; n + 64 < room; lines++) n += (size_t)snprintf(big + n, room - n, "%lld.%02d\n", (long long)lines, (int)(lines % 100));
    for (int i = 0; i < 6; i++) {
        size_t at = (size_t)(rnd() % n), line = 1, col = 1;
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
            while (!s && got && !(s = tally_file_read(f, values, 1 + (int64_t)(rnd() % 65536), &got))) sum += got;
            check(s == TALLY_BAD_DATA && strstr(tally_error(NULL), want) && sum == (int64_t)line - 1, want, "first bad cell");
            tally_file_close(f);
        }
    }
    /* A line longer than any block, and quoted newlines everywhere: same values on any number of threads. */
    for (size_t k = 0; k < n; k++)
        if (big[k] == '\n' && k > 100) big[k] = ' ';
    memcpy(big + 40, "\n# ", 3);
    save("long", big, n);
    int64_t sums[2] = {0};
    for (size_t k = n = 0; n + 64 < room; k++) n += (size_t)snprintf(big + n, room - n, "\"a,\n\"\"%zu\"\"\",%zu,z\n", k, k);
    save("quoted.csv", big, n);
    const tally_file_options two = {.column = "2"};
    for (threads = 1; threads <= 4; threads++) {
        for (int i = 0; i < 2; i++) {
            tally_file *f;
            int64_t got = 1, sum = 0, count = 0;
            tally_status s = tally_file_open(NULL, path(i ? "quoted.csv" : "long"), i ? &two : &none, &f);
            while (!s && got && !(s = tally_file_read(f, values, 50000, &got)))
                for (int64_t k = 0; k < got; k++) sum += (int64_t)values[k] * ++count;
            check(s == TALLY_OK && count > (i ? 1000 : 1), "big texts", i ? "quoted" : "long");
            if (threads == 1) sums[i] = sum;
            check(sum == sums[i], "same values", i ? "quoted" : "long");
            tally_file_close(f);
        }
    }
    threads = 1;
    free(big);
}

/* ---- npy and raw ---- */

static size_t npy(char *out, int major, const char *dict, const void *data, size_t n)
{
    const size_t h = strlen(dict), at = major > 1 ? 12 : 10;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (char)major, out[7] = 0;
    for (size_t i = 8; i < at; i++) out[i] = (char)(h >> 8 * (i - 8));
    memcpy(out + at, dict, h);
    memcpy(out + at + h, data, n);
    return at + h + n;
}

static void npy_case(const char *dict, const void *data, size_t n, tally_dtype dtype, int64_t want, const char *error)
{
    char file[4096];
    const tally_file_options o = {.dtype = dtype};
    for (int major = 1; major <= 3; major++) {
        save("x.npy", file, npy(file, major, dict, data, n));
        const int64_t got = load(path("x.npy"), &o, 3);
        check(got == want, "npy", dict);
        if (want < 0) check(strstr(tally_error(NULL), error) != NULL, error, dict);
    }
}

static void npys(void)
{
    const double d[6] = {1, 2, 3, 4, 5, 6};
    uint64_t swapped[6];
    for (int i = 0; i < 6; i++) swapped[i] = __builtin_bswap64(bits64(d[i]));
    npy_case("{'descr': '<f8', 'fortran_order': False, 'shape': (6,), }   \n", d, 48, 0, 6, "");
    npy_case("{\"shape\":(2,3),\"descr\":\"<f8\",\"fortran_order\":True}", d, 48, TALLY_F64, 6, "");
    check(values[5] == 6, "npy value", "");
    npy_case("{'descr': '>f8', 'fortran_order': False, 'shape': (6,), }\n", swapped, 48, 0, 6, "");
    check(values[0] == 1 && values[5] == 6, "swapped", "");
    npy_case("{'descr': '<f8', 'fortran_order': False, 'shape': (), }\n", d, 8, 0, 1, "");
    npy_case("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4), }\n", d, 0, 0, 0, "");
    npy_case("{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 0, 9), }\n", d, 0, 0, 0, "");
    npy_case("{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,2,3L), }\n", d, 48, 0, 6, "");
    npy_case("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }\n", "\1\0\1", 3, TALLY_U8, 3, "");
    npy_case("{'descr': '|V2', 'fortran_order': False, 'shape': (3,), }\n", "123456", 6, TALLY_BF16, 3, "");
    npy_case("{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }\n", "123456", 6, TALLY_F16, 3, "");
    static const struct { const char *dict, *error; } hostile[] = {
        {"{'descr': '|V2', 'fortran_order': False, 'shape': (3,), }", "--dtype bf16"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", "Python objects"},
        {"{'descr': '<c16', 'fortran_order': False, 'shape': (3,), }", "complex"},
        {"{'descr': '<U5', 'fortran_order': False, 'shape': (3,), }", "text"},
        {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (3,), }", "dates"},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': (3,), }", "f16, f32 and f64"},
        {"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,), }", "several fields"},
        {"{'descr': '|V16', 'fortran_order': False, 'shape': (3,), }", "structures"},
        {"{'descr': '|f8', 'fortran_order': False, 'shape': (3,), }", "byte order"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (7,), }", "truncated: shape (7) of f64 needs 56 bytes of elements, and 48 are there"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }", "negative"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775808,), }", "64 bits"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807,), }", "64-bit sizes"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", "64-bit sizes"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", "more than 8"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (6), }", "not a tuple"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': 6, }", "not a tuple"},
        {"{'descr': '<f8', 'fortran_order': 0, 'shape': (6,), }", "dict"},
        {"{'descr': '<f8', 'fortran_order': False, }", "no 'shape'"},
        {"{'descr': '<f8', 'shape': (6,), }", "no 'fortran_order'"},
        {"{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (6,), }", "twice"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (6,), 'x': 1}", "unknown key"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (6,), } x", "dict"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (6,)", "dict"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (6", "tuple"},
        {"{'descr': '<f8", "dict"}, {"{", "dict"}, {"", "dict"}, {"__import__('os').system('true')", "dict"},
    };
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) npy_case(hostile[i].dict, d, 48, 0, -1, hostile[i].error);
    npy_case("{'descr': '<f8', 'fortran_order': False, 'shape': (6,), }", d, 48, TALLY_F32, -1, "are f64 ('<f8'), not f32");
    const tally_file_options none = {0}, raw = {.format = "raw", .dtype = TALLY_F64};
    char whole[256];
    const size_t n = npy(whole, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (6,), }", d, 48);
    for (size_t k = 0; k < n; k++) { /* cut anywhere */
        save("x.npy", whole, k);
        check(load(path("x.npy"), &none, 10) == -1, "cut npy", "");
    }
    memcpy(whole + 8, "\xff\xff", 2);
    save("x.npy", whole, n);
    check(load(path("x.npy"), &none, 10) == -1 && strstr(tally_error(NULL), "ends inside the npy header"), "long header", "");
    save("x.npy", "\x93NUMPY\x02\x00\xff\xff\xff\xff", 12);
    check(load(path("x.npy"), &none, 10) == -1 && strstr(tally_error(NULL), "the most is"), "huge header", "");
    save("r", d, 47);
    check(load(path("r"), &raw, 10) == -1 && strstr(tally_error(NULL), "47 bytes is not a multiple of 8"), "raw size", "");
    save("r", d, 48);
    tally_file *f;
    tally_file_info info;
    check(!tally_file_open(NULL, path("r"), &raw, &f), "raw", "");
    tally_file_get_info(f, &info);
    check(info.elements == 6 && info.mapped && memcmp(info.mapped, d, 48) == 0, "mapped", "");
    tally_file_close(f);
}

/* Reads from standard input what a child writes slowly. */
static void piped(const void *data, size_t n, size_t step, const tally_file_options *o, int64_t want, const char *error)
{
    int p[2];
    if (pipe(p)) exit(1);
    const pid_t child = fork();
    if (child == 0) {
        close(p[0]);
        for (size_t k = 0; k < n; k += step) {
            const size_t len = n - k < step ? n - k : step;
            if (write(p[1], (const char *)data + k, len) != (ssize_t)len) _exit(1);
            if (k < 50 * step) usleep(200);
        }
        _exit(0);
    }
    close(p[1]);
    const int old = dup(0);
    dup2(p[0], 0);
    close(p[0]);
    const int64_t got = load("-", o, 1000);
    dup2(old, 0);
    close(old);
    waitpid(child, NULL, 0);
    check(got == want, "piped", error);
    if (want < 0) check(strstr(tally_error(NULL), error) != NULL, "piped", error);
}

static void pipes(void)
{
    const tally_file_options none = {0}, raw = {.format = "raw", .dtype = TALLY_F64};
    const double d[6] = {1, 2, 3, 4, 5, 6};
    char file[256], *const big = malloc(1 << 20);
    size_t n = npy(file, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (6,), }", d, 48);
    piped(file, n, 1, &none, 6, "npy");
    check(memcmp(values, d, 48) == 0, "piped npy", "");
    piped(file, n - 1, 7, &none, -1, "standard input: the file is truncated");
    piped(d, 48, 5, &raw, 6, "raw");
    piped(d, 45, 5, &raw, -1, "ends inside an element");
    piped("1\n2\n3", 5, 1, &none, 3, "text");
    piped("1\n2\nx", 5, 1, &none, -1, "standard input:3:1: 'x'");
    piped("a,b\n1,x\n2,y\n", 12, 1, &none, 2, "csv");
    piped("", 0, 1, &none, 0, "empty");
    n = 0;
    for (int i = 0; i < 60000; i++) n += (size_t)sprintf(big + n, "%d\n", i);
    threads = 2;
    piped(big, n, 4096, &none, 60000, "long text");
    check(values[59999] == 59999, "long text", "");
    threads = 1;
    free(big);
}

/* ---- writing ---- */

static int64_t files_in_dir(void)
{
    char cmd[128], line[32] = "";
    snprintf(cmd, sizeof cmd, "ls -A %s | wc -l", dir);
    FILE *const f = popen(cmd, "r");
    if (!f || !fgets(line, sizeof line, f)) exit(1);
    pclose(f);
    return atoll(line);
}

static void round_trip(tally_dtype dtype, const char *name, int hex, int64_t n)
{
    const size_t size = tally_dtype_size(dtype);
    unsigned char *const data = malloc((size_t)n * size + 8);
    for (int64_t i = 0; i < (int64_t)((size_t)n * size); i++) data[i] = (unsigned char)rnd();
    if (dtype == TALLY_F64 || dtype == TALLY_F32)
        for (int64_t i = 0; i < n; i++) { /* no NaN payloads in decimal */
            double d;
            float f;
            memcpy(&d, data + (size_t)i * size, size == 8 ? 8 : 4);
            memcpy(&f, data + (size_t)i * size, 4);
            if (!hex && size == 8 && isnan(d)) memset(data + i * 8, 0, 8);
            if (!hex && size == 4 && isnan(f)) memset(data + i * 4, 0, 4);
        }
    if (!hex && (dtype == TALLY_F16 || dtype == TALLY_BF16))
        for (int64_t i = 0; i < n; i++) data[2 * i + 1] &= 0x3f;
    const int64_t shape[2] = {-1, 4}, before = files_in_dir();
    tally_file *f;
    tally_status s = tally_file_create(NULL, path(name), NULL, dtype, 2, shape, hex, &f);
    for (int64_t k = 0; !s && k < n;) {
        const int64_t m = 1 + (int64_t)(rnd() % 50000), take = m < n - k ? m : n - k;
        s = tally_file_write(f, data + (size_t)k * size, take);
        k += take;
    }
    if (!s) s = tally_file_commit(f);
    check(!s, "write", name);
    tally_file_close(f);
    check(files_in_dir() <= before + 1, "temporary files", name);
    /* text of several columns reads as a flat sequence with white space or the delimiter in between */
    const int csv = strstr(name, ".csv") != NULL;
    const tally_file_options o = {.format = csv ? "text" : NULL, .dtype = dtype, .delimiter = csv ? ',' : 0};
    unsigned char *const back = calloc((size_t)n + 1, size);
    int64_t got = 1, total = 0;
    s = tally_file_open(NULL, path(name), &o, &f);
    tally_file_info info = {0};
    if (!s) tally_file_get_info(f, &info);
    while (!s && got && total <= n && !(s = tally_file_read(f, back + (size_t)total * size, n + 1 - total, &got))) total += got;
    check(!s && total == n && memcmp(back, data, (size_t)n * size) == 0, "round trip", name);
    if (strstr(name, ".npy")) check(info.ndim == 2 && info.shape[0] == n / 4 && info.shape[1] == 4, "npy shape", name);
    tally_file_close(f);
    unlink(path(name));
    free(data);
    free(back);
}

static void writers(void)
{
    for (threads = 1; threads <= 2; threads++)
        for (tally_dtype t = TALLY_I8; t <= TALLY_F64; t++) {
            round_trip(t, "w.npy", 0, 100000);
            round_trip(t, "w.raw", 0, 4000);
            round_trip(t, "w.txt", 0, 150000);
            round_trip(t, "w.txt", 1, 40);
            round_trip(t, "w.csv", 0, 4000);
        }
    threads = 1;
    const double d[3] = {1.5, NAN, -0.0};
    const int64_t three[1] = {3}, any[1] = {-1}, none[1] = {0};
    tally_file *f;
    char line[64] = "";
    struct stat st;
    /* An old file keeps its mode, and its content until commit; without commit nothing changes and nothing stays behind. */
    save("old.txt", "old\n", 4);
    chmod(path("old.txt"), 0640);
    const int64_t before = files_in_dir();
    check(!tally_file_create(NULL, path("old.txt"), NULL, TALLY_F64, 1, three, 0, &f) && !tally_file_write(f, d, 3), "old", "");
    tally_file_close(f);
    check(files_in_dir() == before && !stat(path("old.txt"), &st) && st.st_size == 4, "not committed", "");
    check(!tally_file_create(NULL, path("old.txt"), NULL, TALLY_F64, 1, three, 0, &f) && !tally_file_write(f, d, 2), "old", "");
    check(tally_file_commit(f) == TALLY_INVALID && strstr(tally_error(NULL), "3 elements and 2 were written"), "short", "");
    tally_file_close(f);
    check(!tally_file_create(NULL, path("old.txt"), NULL, TALLY_F64, 1, three, 0, &f) && !tally_file_write(f, d, 3), "old", "");
    check(tally_file_write(f, d, 1) == TALLY_INVALID, "beyond the shape", "");
    check(!tally_file_commit(f) && tally_file_commit(f) == TALLY_INVALID, "commit", "");
    tally_file_close(f);
    FILE *const in = fopen(path("old.txt"), "r");
    check(in && fread(line, 1, 63, in) == 11 && !strcmp(line, "1.5\nnan\n-0\n"), "text", line);
    if (in) fclose(in);
    check(files_in_dir() == before && !stat(path("old.txt"), &st) && (st.st_mode & 0777) == 0640, "mode", "");
    check(!tally_file_create(NULL, path("empty.npy"), NULL, TALLY_F64, 1, none, 0, &f) && !tally_file_commit(f), "empty", "");
    tally_file_close(f);
    check(load(path("empty.npy"), NULL, 10) == 0, "empty npy", "");
    /* Devices and pipes are written directly. */
    check(!tally_file_create(NULL, "/dev/full", "text", TALLY_F64, 1, any, 0, &f) && !tally_file_write(f, d, 3), "full", "");
    check(tally_file_commit(f) == TALLY_IO && strstr(tally_error(NULL), "/dev/full: writing: No space left"), "full", "");
    tally_file_close(f);
    check(tally_file_create(NULL, "/dev/full", "npy", TALLY_F64, 1, any, 0, &f) == TALLY_UNSUPPORTED && !f, "npy to a device", "");
    check(tally_file_create(NULL, "/nonexistent/x", NULL, TALLY_F64, 1, any, 0, &f) == TALLY_IO && !f, "no folder", "");
    check(tally_file_create(NULL, dir, NULL, TALLY_F64, 1, any, 0, &f) == TALLY_IO && !f, "a folder", "");
    check(tally_file_create(NULL, path("x"), "png", TALLY_F64, 1, any, 0, &f) == TALLY_INVALID && !f, "format", "");
    int p[2];
    signal(SIGPIPE, SIG_IGN);
    if (pipe(p)) exit(1);
    close(p[0]);
    fflush(stdout);
    const int old = dup(1);
    dup2(p[1], 1);
    close(p[1]);
    tally_status s = tally_file_create(NULL, "-", NULL, TALLY_F64, 1, any, 0, &f);
    if (!s) s = tally_file_write(f, d, 3);
    if (!s) s = tally_file_commit(f);
    dup2(old, 1);
    close(old);
    check(s == TALLY_IO && strstr(tally_error(NULL), "standard output: writing: Broken pipe"), "EPIPE", "");
    tally_file_close(f);
    tally_file_close(NULL);
}

int main(void)
{
    strcpy(dir, "/tmp/tally-io-XXXXXX");
    if (!mkdtemp(dir)) return perror(dir), 1;
    numbers();
    halves(0);
    halves(1);
    printing();
    texts();
    npys();
    pipes();
    writers();
    char cmd[96];
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    if (system(cmd) != 0) failed++;
    printf("%ld passed, %ld failed\n", passed, failed);
    return failed != 0;
}
