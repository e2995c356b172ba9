/* SPDX-License-Identifier: MIT
 * Keys: runs, groups and gathers beside the obvious loops, for every type, stride and number of
 * threads; groups of lines of a file; by-key reductions, whose bits are those of each group
 * alone; bad arguments. */
#define _GNU_SOURCE
#include "files.h"
#include <math.h>

enum { MOST = 300000, SMALL_BLOCKS = TL_TEXT_SHARE < 1 << 20 };
static char keys[MOST * 8], values_of_keys[MOST * 8];
static int64_t offsets[MOST + 1], order[MOST], want[MOST + 1], seen[MOST];

static int same_key(tally_dtype d, const char *a, const char *b)
{
    double x, y;
    if (d < TALLY_F16) return !memcmp(a, b, tally_dtype_size(d));
    char text[48];
    const int n = tally_format_value(d, a, 0, text, sizeof text);
    /* equal values have equal shortest decimals */
    tally_parse_value(TALLY_F64, text, (size_t)n, &x);
    tally_parse_value(TALLY_F64, text, (size_t)tally_format_value(d, b, 0, text, sizeof text), &y);
    return x == y || (isnan(x) && isnan(y));
}

static void runs(tally *ctx, tally_dtype d, int64_t n, int64_t stride, int64_t mean)
{
    const int64_t bytes = (int64_t)tally_dtype_size(d), step = stride < 0 ? -stride : stride;
    char *const first = keys + (stride < 0 && n ? (n - 1) * step * bytes : 0);
    const tally_view v = {first, d, 1, n, n, stride, NULL};
    int64_t found = -1, wanted = n > 0;
    for (int64_t i = 0; i < n; i++) {
        char *const at = first + i * stride * bytes;
        if (i && check_below(mean))
            memcpy(at, at - stride * bytes, (size_t)bytes);
        else
            check_fill(at, d, 1, check_below(3) ? TL_DATA_HOSTILE : TL_DATA_ZEROS);
        /* -0 is +0; -1 is not 1 */
        if (d >= TALLY_F16 && check_below(50) == 0) at[bytes - 1] ^= (char)0x80;
    }
    want[0] = 0;
    for (int64_t i = 1; i < n; i++)
        if (!same_key(d, first + i * stride * bytes, first + (i - 1) * stride * bytes))
            want[wanted++] = i;
    want[wanted] = n;
    if (!n) want[0] = 0;
    memset(offsets, 0x55, (size_t)(wanted + 1) * 8);
    check_ok(ctx, tally_runs(ctx, &v, NULL, &found), "runs");
    check(found == wanted, "%s n=%lld: counted %lld runs of %lld", tally_dtype_name(d),
          (long long)n, (long long)found, (long long)wanted);
    check_ok(ctx, tally_runs(ctx, &v, offsets, &found), "runs");
    check(found == wanted, "%s n=%lld: %lld runs of %lld", tally_dtype_name(d), (long long)n,
          (long long)found, (long long)wanted);
    check_same(offsets, want, wanted + 1, 8, "runs of %s n=%lld stride %lld", tally_dtype_name(d),
               (long long)n, (long long)stride);
}

static void put_code(tally_dtype d, int64_t i, int64_t code)
{
    memcpy(keys + i * (int64_t)tally_dtype_size(d), &code, tally_dtype_size(d));
}

static void groups(tally *ctx, tally_dtype d, int64_t n, int64_t count)
{
    const tally_view v = tally_flat(keys, d, n);
    for (int64_t i = 0; i < n; i++)
        put_code(d, i, seen[i] = check_below(3) ? check_below(count) : i % count);
    memset(order, 0x55, (size_t)n * 8);
    check_ok(ctx, tally_groups(ctx, &v, count, order, offsets), "groups");
    for (int64_t i = 0; i <= count; i++) want[i] = 0;
    for (int64_t i = 0; i < n; i++) want[seen[i] + 1]++;
    for (int64_t g = 0; g < count; g++) want[g + 1] += want[g];
    check_same(offsets, want, count + 1, 8, "offsets of %lld groups of %s", (long long)count,
               tally_dtype_name(d));
    int good = 1;
    for (int64_t g = 0; g < count && good; g++)
        for (int64_t j = want[g], last = -1; j < want[g + 1]; last = order[j++])
            good = good && order[j] > last && order[j] < n && seen[order[j]] == g;
    check(good, "order of %lld groups of %s n=%lld", (long long)count, tally_dtype_name(d),
          (long long)n);

    /* values into that order; a group's mean is that of its values alone */
    const tally_view x = tally_flat(values_of_keys, TALLY_F32, n);
    float *const taken = malloc((size_t)n * 4 + 4), *const mean = malloc((size_t)count * 4), alone;
    check_fill(values_of_keys, TALLY_F32, n, TL_DATA_PLAIN);
    const tally_view y = tally_flat(taken, TALLY_F32, n),
                     s = tally_segments(taken, TALLY_F32, offsets, count);
    check_ok(ctx, tally_take(ctx, &x, order, n, &y), "take");
    for (int64_t i = 0; i < n && good; i++)
        good = !memcmp(&taken[i], values_of_keys + 4 * order[i], 4);
    check(good, "taken n=%lld", (long long)n);
    check_ok(ctx, tally_reduce(ctx, "mean", &s, mean), "mean by key");
    for (int64_t g = 0; g < count && g < 20; g++) {
        int64_t m = 0;
        for (int64_t i = 0; i < n; i++) /* codes are not needed any more */
            if (seen[i] == g) memcpy(keys + 4 * m++, values_of_keys + 4 * i, 4);
        const tally_view one = tally_flat(keys, TALLY_F32, m);
        check_ok(ctx, tally_reduce(ctx, "mean", &one, &alone), "mean");
        check_same(&mean[g], &alone, 1, 4, "the mean of group %lld", (long long)g);
    }
    free(taken);
    free(mean);
}

static void takes(tally *ctx, tally_dtype d)
{
    const int64_t bytes = (int64_t)tally_dtype_size(d), n = 1 + check_below(3000),
                  length = 1 + check_below(500);
    check_fill(keys, d, 2 * length, TL_DATA_BITS);
    for (int64_t i = 0; i < n; i++) order[i] = check_below(length);
    const tally_view x = {keys + (length - 1) * 2 * bytes, d, 1, length, length, -2, NULL},
                     y = {values_of_keys, d, 1, n, n, 3, NULL};
    check_ok(ctx, tally_take(ctx, &x, order, n, &y), "take");
    int good = 1;
    for (int64_t i = 0; i < n; i++)
        good = good && !memcmp(values_of_keys + i * 3 * bytes,
                               keys + (length - 1 - order[i]) * 2 * bytes, (size_t)bytes);
    check(good, "take of %s", tally_dtype_name(d));
}

static void refused(const tally *ctx, tally_status status, tally_status wanted, const char *words)
{
    check(status == wanted && strstr(tally_error(ctx), words), "refused: %s: %s; wanted %s",
          tally_status_name(status), tally_error(ctx), words);
}

static void errors(tally *ctx)
{
    int32_t code[5] = {0, 1, 2, 1, -1};
    int64_t n = 7, at[6] = {7, 7, 7, 7, 7, 7}, to[6];
    tally_view v = tally_flat(code, TALLY_I32, 5), rows = tally_rows(code, TALLY_I32, 2, 2),
               none = {0}, f = tally_flat(code, TALLY_F32, 5),
               out = tally_flat(order, TALLY_I32, 2), big = tally_flat(NULL, TALLY_I32, 5);
    refused(NULL, tally_runs(NULL, &v, NULL, &n), TALLY_INVALID, "ctx is NULL");
    refused(ctx, tally_runs(ctx, NULL, NULL, &n), TALLY_INVALID, "keys is NULL");
    refused(ctx, tally_runs(ctx, &v, NULL, NULL), TALLY_INVALID, "runs is NULL");
    refused(ctx, tally_runs(ctx, &rows, NULL, &n), TALLY_INVALID,
            "keys->rows is 2: must be one sequence");
    refused(ctx, tally_runs(ctx, &none, NULL, &n), TALLY_INVALID, "keys->dtype is 0");
    refused(ctx, tally_runs(ctx, &big, NULL, &n), TALLY_INVALID, "keys->data is NULL");
    refused(ctx, tally_groups(ctx, &v, 3, at, to), TALLY_INVALID,
            "codes: element 4 is -1: must be in 0..2");
    refused(ctx, tally_groups(ctx, &v, 2, at, to), TALLY_INVALID,
            "codes: element 2 is 2: must be in 0..1");
    refused(ctx, tally_groups(ctx, &v, -1, at, to), TALLY_INVALID, "groups is -1");
    refused(ctx, tally_groups(ctx, &f, 3, at, to), TALLY_UNSUPPORTED,
            "codes->dtype is f32: must be an integer type");
    refused(ctx, tally_groups(ctx, &v, 3, NULL, at), TALLY_INVALID,
            "order is NULL: must have space for 5");
    refused(ctx, tally_groups(ctx, &v, 3, at, NULL), TALLY_INVALID,
            "offsets is NULL: must have space for 4");
    refused(ctx, tally_groups(ctx, &v, INT64_MAX / 4, at, to), TALLY_INVALID,
            "groups is 2305843009213693951: must be in 0..576460752303423487");
    at[1] = 5;
    at[0] = 0;
    refused(ctx, tally_take(ctx, &v, at, 2, &out), TALLY_INVALID, "order[1] is 5: must be in 0..4");
    at[1] = -1;
    refused(ctx, tally_take(ctx, &v, at, 2, &out), TALLY_INVALID,
            "order[1] is -1: must be in 0..4");
    refused(ctx, tally_take(ctx, &v, at, 3, &out), TALLY_INVALID, "out->n is 2: must be n = 3");
    refused(ctx, tally_take(ctx, &v, NULL, 2, &out), TALLY_INVALID, "order is NULL");
    refused(ctx, tally_take(ctx, &f, at, 2, &out), TALLY_INVALID,
            "out->dtype is i32: must be in->dtype, f32");
    refused(ctx, tally_take(ctx, &v, at, 5, &v), TALLY_INVALID, "out overlaps in");
    check(n == 7 && at[2] == 7 && at[5] == 7, "something was written");

    /* results over what is read, and over each other */
    int64_t over[6] = {0, 1, 2, 1, 0, 0};
    tally_view codes = tally_flat(over, TALLY_I64, 5), bits = codes;
    bits.data = to, bits.valid = over;
    refused(ctx, tally_runs(ctx, &codes, over, &n), TALLY_INVALID, "offsets overlap keys");
    refused(ctx, tally_groups(ctx, &codes, 3, over, to), TALLY_INVALID, "codes overlap");
    refused(ctx, tally_groups(ctx, &codes, 3, to, over + 4), TALLY_INVALID, "codes overlap");
    refused(ctx, tally_groups(ctx, &codes, 3, to, to + 4), TALLY_INVALID, "codes overlap");
    refused(ctx, tally_groups(ctx, &bits, 3, over, at), TALLY_INVALID, "codes overlap");
    codes.n = 2;
    refused(ctx, tally_take(ctx, &bits, over, 2, &codes), TALLY_UNSUPPORTED, "in->valid");
    bits.valid = NULL;
    refused(ctx, tally_take(ctx, &bits, over + 1, 2, &codes), TALLY_INVALID, "out overlaps order");
    check(n == 7 && over[0] == 0 && over[1] == 1 && over[4] == 0, "something was written over");
}

/* Writes a CSV of `lines` lines whose keys are cities and years; seen[i] is the key of line i. */
static void write_keyed(int64_t lines, int64_t key_count)
{
    FILE *const f = fopen(path("k.csv"), "w");
    fputs("when,city,temp,year\n", f);
    for (int64_t i = 0; i < lines; i++) {
        seen[i] = check_below(key_count);
        const char *const quote = check_below(4) ? "" : "\"";
        fprintf(f, "x,%s%sC%lld%s,%lld, %lld \n", check_below(3) ? "" : " ", quote,
                (long long)(seen[i] / 3), quote, (long long)i, (long long)(seen[i] % 3));
    }
    fclose(f);
}

/* Is key number `code` of the file that of line i? */
static int is_key(tally_file *in, int64_t code, int64_t i)
{
    char name[24], year[24];
    snprintf(name, sizeof name, "C%lld", (long long)(seen[i] / 3));
    snprintf(year, sizeof year, "%lld", (long long)(seen[i] % 3));
    return !strcmp(tally_file_key(in, code, 0), name) && !strcmp(tally_file_key(in, code, 1), year);
}

/* Reads the whole file a few lines at a time: codes are numbered as keys first appear. */
static void read_keyed(tally *ctx, tally_file *in, int64_t lines)
{
    static int32_t cells[2 * MOST], codes[MOST];
    int64_t n = 0, got = 0, next = 0;
    do {
        check_ok(ctx, tally_file_read_by(in, cells + 2 * n, codes + n, 2 + check_below(9000), &got),
                 "read");
        n += got / 2;
    } while (got);
    check(n == lines, "%lld lines of %lld", (long long)n, (long long)lines);

    int good = 1;
    memset(order, 0xff, sizeof order); /* the code of each key */
    for (int64_t i = 0; i < n && good; i++) {
        if (order[seen[i]] < 0) {
            good = is_key(in, next, i);
            order[seen[i]] = next++;
        }
        good = good && codes[i] == order[seen[i]] && cells[2 * i] == i &&
               cells[2 * i + 1] == seen[i] % 3;
    }
    check(good && tally_file_groups(in) == next, "the groups of a file on %d threads", threads);
    check(!tally_file_key(in, next, 0) && !tally_file_key(in, -1, 0) && !tally_file_key(in, 0, 2),
          "no such key");
    refused(ctx, tally_file_read_by(in, cells, codes, 1, &got), TALLY_INVALID,
            "max is 1: must be at least 2");
}

static void refused_keys(tally *ctx)
{
    static const struct {
        const char *by, *words;
    } wrong[] = {{"town", "no column 'town'"}, {"city,city", "column 2 is asked for twice"}};
    tally_file_options o = {.column = "temp"};
    tally_file *in;
    int32_t cell, code;
    int64_t got;
    check_ok(ctx, tally_file_open(ctx, path("k.csv"), &o, &in), "open");
    refused(ctx, tally_file_read_by(in, &cell, &code, 1, &got), TALLY_INVALID,
            "keys were not asked for");
    check(tally_file_groups(in) == 0, "no groups");
    tally_file_close(in);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        o.by = wrong[i].by;
        refused(ctx, tally_file_open(ctx, path("k.csv"), &o, &in), TALLY_INVALID, wrong[i].words);
    }
}

/* Codes of a file on some threads. */
static void file_groups(int many)
{
    const int64_t lines = check_quick ? 3000 : 60000;
    write_keyed(lines, many ? 20000 : 30);
    for (int t = 1; t <= 3; t++) {
        threads = t;
        tally *ctx = check_open(t, NULL);
        const tally_file_options o = {.by = "city,year", .column = "temp,year", .dtype = TALLY_I32};
        tally_file *in;
        tally_file_info info;
        if (!check_ok(ctx, tally_file_open(ctx, path("k.csv"), &o, &in), "open")) return;
        tally_file_get_info(in, &info);
        check(info.key_columns == 2 && !strcmp(info.keys[0], "city") &&
                  !strcmp(info.keys[1], "year") && info.ndim == 2,
              "the names of the keys");
        read_keyed(ctx, in, lines);
        tally_file_close(in);
        refused_keys(ctx);
        tally_close(ctx);
    }
}

/* Word number w: many have their length and their first 8 or 16 bytes in common, some are another
 * word and the lowest byte of a text. Returns the length. */
static size_t make_word(int w, char *word)
{
    const size_t n = (size_t)w % 25;
    if (w % 5 == 0) return (size_t)sprintf(word, "wordword%05d", w);
    if (w % 5 == 1) return (size_t)sprintf(word, "wordword%05d\1", w - 1);
    if (w % 5 == 2) return (size_t)sprintf(word, "wordwordwordword%c", 'a' + w % 7);
    memset(word, 'a', n);
    for (int k = 0; k < 3 && n; k++) word[check_below((int64_t)n)] = "bc\"d"[check_below(4)];
    return n;
}

/* Keys of one column: short ones are compared as two words, ones of more than 16 bytes, or with
 * doubled quotes, as texts; a cache has the last ones if there are few. */
static void file_words(int words)
{
    enum { WORDS = 4000, LINES = SMALL_BLOCKS ? 30000 : 300000 };
    static char word[WORDS][32];
    static int32_t codes[LINES], id[WORDS], code[WORDS];
    static int line[LINES];
    static double x[LINES];
    size_t length[WORDS];
    FILE *const f = fopen(path("w.csv"), "w");
    fputs("k,x\n", f);
    for (int w = 0; w < words; w++) {
        length[w] = make_word(w, word[w]);
        code[w] = -1;
        for (id[w] = 0; length[id[w]] != length[w] || memcmp(word[id[w]], word[w], length[w]);)
            id[w]++;
    }
    for (int i = 0; i < LINES; i++) {
        const int w = line[i] = i < 9 ? 5 * i : (int)check_below(words); /* 9: without the byte */
        fputs("\"", f);
        for (size_t k = 0; k < length[w]; k++) {
            if (word[w][k] == '"') fputc('"', f);
            fputc(word[w][k], f);
        }
        fprintf(f, "\",%d\n", i);
    }
    fclose(f);
    tally *const ctx = check_open(1, NULL);
    const tally_file_options o = {.format = "csv", .by = "k", .column = "x", .header = 1};
    tally_file *in;
    int64_t n = 0, got = 1;
    int wanted = 0, good = 1;
    if (!check_ok(ctx, tally_file_open(ctx, path("w.csv"), &o, &in), "open")) return;
    for (; got && n < LINES; n += got)
        check_ok(ctx, tally_file_read_by(in, x + n, codes + n, LINES - n, &got), "read");
    check(n == LINES, "%lld lines", (long long)n);
    for (int i = 0; i < n && good; i++) {
        const int w = id[line[i]];
        if (code[w] < 0) {
            code[w] = wanted++;
            good = !strcmp(tally_file_key(in, codes[i], 0), word[w]);
        }
        good &= codes[i] == code[w];
        if (!good) printf("line %d, word %.*s\n", i, (int)length[w], word[w]);
    }
    check(good && tally_file_groups(in) == wanted, "words of one column");
    tally_file_close(in);
    tally_close(ctx);
}

/* Times as people write them, in nanoseconds and parts of one. */
static const struct {
    const char *text;
    int64_t nanos, part;
} stamps[] = {{"1970-01-01T00:00:00Z", 0},
              {"2024-05-01T14:00:00.5+02:00", 1714564800500000000},
              {"2024-05-01T07:30:00,25-0430", 1714564800250000000},
              {"2024-05-01 12:00", 1714564800000000000},
              {"20240501T120000.000000001Z", 1714564800000000001},
              {"2000-02-29", 951782400000000000},
              {"1900-03-01T00:00Z", -2203891200000000000},
              {"1969-12-31T23:59:59.999999999-00:00", -1},
              {"1677-09-21T00:12:43.145224192Z", INT64_MIN},
              {"2262-04-11T23:47:16.854775807Z", INT64_MAX},
              {"2262-04-12T01:47:16.854775807+02", INT64_MAX},
              {"-12", -12},
              {"-12.25e1", -123, TALLY_KEY_PART / 2},
              {"1e-18", 0, 1},
              {"-1e-18", -1, TALLY_KEY_PART - 1},
              {"0.100000000000000000000", 0, TALLY_KEY_PART / 10},
              {"9223372036854775807.5", INT64_MAX, TALLY_KEY_PART / 2},
              {"0e999999999999999999999", 0},
              {"0x000000000000000a", 10},
              {"-9223372036854775808.00", INT64_MIN},
              {"9223372036854775807", INT64_MAX}};
static const struct {
    const char *text, *words;
} wrong[] = {{"2262-04-12T01:47:16.8547758070+02", "has more than nine digits after the second"},
             {"2024-05-01T12:00:00.0000000000", "has more than nine digits after the second"},
             {"18446744073709551616", "must be in -2^63 .. 2^64 - 1"},
             {"-9223372036854775808.000000001", "must be in -2^63 .. 2^64 - 1"},
             {"1e99999999999999999999", "must be in -2^63 .. 2^64 - 1"},
             {"1.0000000000000000001", "at most 18 digits after the point"},
             {"1e-19", "at most 18 digits after the point"},
             {"inf", "is neither a time"},
             {"1e", "is neither a time"},
             {".", "is neither a time"}};

static void file_stamps(void)
{
    const size_t good = sizeof stamps / sizeof *stamps, bad = sizeof wrong / sizeof *wrong;
    for (size_t i = 0; i < good + bad; i++) {
        const char *const text = i < good ? stamps[i].text : wrong[i - good].text;
        const tally_file_options o = {.format = "csv",
                                      .by = "1",
                                      .by_time = 1,
                                      .column = "2",
                                      .header = -1,
                                      .delimiter = ';'};
        char line[80];
        double x;
        int64_t got = 0;
        tally_line_time t = {7, 7};
        tally_dtype dtype = 0;
        tally_file *in = NULL;
        save("s.csv", line, (size_t)snprintf(line, sizeof line, "%s;1\n", text));
        check_ok(NULL, tally_file_open(NULL, path("s.csv"), &o, &in), "open");
        const tally_status status = tally_file_read_times(in, &x, NULL, &t, &dtype, 1, &got);
        if (i < good)
            check(!status && got == 1 && dtype == TALLY_I64 && t.whole == stamps[i].nanos &&
                      t.part == stamps[i].part,
                  "%s: %lld %lld", text, (long long)t.whole, (long long)t.part);
        else
            refused(NULL, status, TALLY_BAD_DATA, wrong[i - good].words);
        tally_file_close(in);
    }
}

/* Times of lines: numbers that all fit i64 until a larger one comes; by groups or without. */
static void file_times(void)
{
    enum { LINES = SMALL_BLOCKS ? 30000 : 600000, LATE = LINES / 20 * 19 };
    threads = 1; /* the file has more than one block */
    tally *ctx = check_open(1, NULL);
    FILE *const f = fopen(path("t.csv"), "w");
    fprintf(f, "t,k,x\n");
    for (int i = 0; i < LINES; i++)
        fprintf(f, "%s%d%s,%c,%d\n", i < LATE ? "" : "18446744073700", 100000 + i / 6,
                i / 3 % 2 ? ".5" : "", 'a' + i % 5, i % 100);
    fclose(f);
    for (int keyed = 0; keyed < 2; keyed++) {
        const tally_file_options o = {
            .by = keyed ? "k,t" : "t", .by_time = 1, .column = "x", .dtype = TALLY_I32};
        tally_file *in = NULL;
        tally_file_info info;
        static int32_t x[LINES + 1], codes[LINES + 1];
        static tally_line_time times[LINES + 1];
        tally_dtype dtype = 0;
        int64_t n = 0, got = 1, wholes = 0;
        check_ok(ctx, tally_file_open(ctx, path("t.csv"), &o, &in), "open");
        for (; got && n <= LINES; n += got) {
            check_ok(ctx,
                     tally_file_read_times(in, x + n, keyed ? codes + n : NULL, times + n, &dtype,
                                           10007, &got),
                     "read");
            if (n + got > LINES) break;
            if (dtype == TALLY_I64) wholes = n + got;
        }
        int good = n == LINES && dtype == TALLY_U64 && wholes > 0 && wholes <= LATE;
        for (int i = 0; i < LINES && good; i++)
            good = x[i] == i % 100 && (!keyed || codes[i] == i % 5) &&
                   (uint64_t)times[i].whole ==
                       (i < LATE ? 0 : 18446744073700000000u) + 100000u + (unsigned)i / 6 &&
                   times[i].part == (i / 3 % 2 ? TALLY_KEY_PART / 2 : 0);
        tally_file_get_info(in, &info);
        check(good && info.times == 1 && info.key_columns == keyed,
              "times of lines: %lld, whole %lld", (long long)n, (long long)wholes);
        if (!keyed)
            refused(ctx, tally_file_read_times(in, x, codes, times, &dtype, 1, &got), TALLY_INVALID,
                    "codes must be NULL");
        refused(ctx, tally_file_read_times(in, x, NULL, NULL, &dtype, 1, &got), TALLY_INVALID,
                "times is NULL");
        tally_file_close(in);
    }
    tally_file *in = NULL;
    int64_t got;
    tally_dtype dtype;
    tally_line_time one;
    check_ok(
        ctx,
        tally_file_open(ctx, path("t.csv"), &(tally_file_options){.by = "k", .column = "x"}, &in),
        "open");
    refused(ctx, tally_file_read_times(in, &got, NULL, &one, &dtype, 1, &got), TALLY_INVALID,
            "times were not asked for");
    tally_file_close(in);
    refused(ctx, tally_file_open(ctx, path("t.csv"), &(tally_file_options){.by_time = 1}, &in),
            TALLY_INVALID, "which column has the times?");
    tally_close(ctx);
}

int main(void)
{
    files_start();
    for (int t = CHECK_LEAST_THREADS; t <= 4; t = check_more_threads(t, 4)) {
        tally *ctx = check_open(t, NULL);
        for (int d = TALLY_I8; d <= TALLY_F64; d++) {
            runs(ctx, (tally_dtype)d, check_below(3), 1, 3);
            runs(ctx, (tally_dtype)d, check_size(5000), 1 + check_below(3), 1 + check_below(9));
            runs(ctx, (tally_dtype)d, check_size(5000), -1, 40);
            takes(ctx, (tally_dtype)d);
            const int large = !check_quick || check_below(4) == 0; /* for several threads */
            if (large) runs(ctx, (tally_dtype)d, check_quick ? 70000 : 250000, 1, 100);
            if (d > TALLY_U64) continue;
            groups(ctx, (tally_dtype)d, check_size(5000), 1 + check_below(127));
            if (!large) continue;
            groups(ctx, (tally_dtype)d, 150000, 100);
            if (d > TALLY_U16) groups(ctx, (tally_dtype)d, 90000, 80000);
        }
        errors(ctx);
        tally_close(ctx);
    }
    file_groups(0);
    file_groups(1);
    file_words(60);
    file_words(4000);
    file_stamps();
    file_times();
    return files_finish();
}
