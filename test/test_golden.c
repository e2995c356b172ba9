/* SPDX-License-Identifier: MIT
 * The golden file: the bits of order E, v1, for every operator and dtype, in test/golden.txt.
 * They were written once by src/law/spec.c (test_golden --write FILE [OPERATOR]) and change only
 * by hand, in a commit that says why. Both the law executed (src/law/spec.c) and the library must
 * reproduce them.
 *
 *   a line   OP DTYPE values V0 V1 ..    reduce of the first 0 .. 17, 23 .. 25, 31 .. 33, 39, 40 elements of data
 *                                        "plain", bits in hex (the hashes cover all n; this
 *                                        keeps the file small)
 *   a line   OP DTYPE hashes DATA H256 H4096 R256 W256
 *      H256, H4096   reduce of the first n = 1 .. 256 (4096) elements, which is also the
 *                    inclusive scan
 *      R256          reverse exclusive scan of 256 elements
 *      W256          trailing windows of 1, 2, .. 40 of 256 elements, edges shrink
 *   Hashes are FNV-1a, 64 bits, over the results' bytes (little-endian), one after the other.
 *
 *   test_golden [--all] [OPERATOR]           checks; of the spec, which is slow, H4096 for one
 *                                            line in eighty and W256 for one in five; of the
 *                                            library H4096 by reductions for one in four, for
 *                                            the others by a scan (--all: everything)
 *   test_golden --write FILE [OPERATOR]      writes the lines to another file, by the spec
 *   TALLY_TEST_QUICK=1                       H4096 by scans alone; of the spec W256 for one in
 *                                          ten, the other hashes for one in three
 *
 * The data. splitmix64 from state 1000 * dtype number + data number (plain 0, hostile 1, zeros
 * 2). Each element takes r, the next number; an integer is r (zeros: 1 if r & 7 is 0, else 0); a
 * float is sign and mantissa from r's top bit and low bits with an exponent e = bias - 2 + (r >>
 * 53 & 3); zeros: e and mantissa 0; hostile: by a second number & 15, 0: NaN, 1: inf, 2: zero,
 * 3: subnormal, 4: largest exponent, 5: smallest, else as plain. These rules must never change. */
#include "check.h"
#include "law/fp.h"
#include "context/context.h"
#include "law/spec.h"

enum { SHORT = 256, LONG = 4096, WINDOWS = 40, DATA = 3, LINE = 2048, SPEC_ONE_IN = 80 };
static const int64_t value_sizes[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
                                      13, 14, 15, 16, 17, 23, 24, 25, 31, 32, 33, 39, 40};
static const char *const data_names[DATA] = {"plain", "hostile", "zeros"};

static uint64_t state;
static uint64_t next(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void generate(void *to, tally_dtype d, int64_t n, int data)
{
    int bytes = (int)tally_dtype_size(d),
        exponent = d == TALLY_F64   ? 11
                   : d == TALLY_F16 ? 5
                                    : 8,
        mantissa = 8 * bytes - 1 - exponent;
    uint64_t top = ((uint64_t)1 << exponent) - 1;
    state = 1000 * (uint64_t)d + (uint64_t)data;
    for (int64_t i = 0; i < n; i++) {
        uint64_t r = next(), v = r;
        if (d < TALLY_F16) {
            if (data == 2) v = (r & 7) == 0;
        } else {
            uint64_t sign = r >> 63 << (8 * bytes - 1), m = r & (((uint64_t)1 << mantissa) - 1),
                     e = top / 2 - 2 + (r >> 53 & 3);
            if (data == 2) e = m = 0;
            switch (data == 1 ? next() & 15 : 15) {
            case 0:
                e = top, m |= 1;
                break;
            case 1:
                e = top, m = 0;
                break;
            case 2:
                e = 0, m = 0;
                break;
            case 3:
                e = 0;
                break;
            case 4:
                e = top - 1;
                break;
            case 5:
                e = 1;
                break;
            default:
                break;
            }
            v = sign | e << mantissa | m;
        }
        memcpy((char *)to + i * bytes, &v, (size_t)bytes);
    }
}

static uint64_t fnv(uint64_t h, const void *p, int64_t n)
{
    const unsigned char *b = p;
    for (int64_t i = 0; i < n; i++) h = (h ^ b[i]) * 0x100000001b3u;
    return h;
}
static const uint64_t FNV = 0xcbf29ce484222325u;

/* ---- who computes: the spec (ctx NULL) or the library ---- */

typedef struct {
    tally *ctx;
    const char *op;
    tally_dtype dtype;
    const tl_scalar *scalar;
    tl_par par;
} who;

static char x[LONG * 8 + 64], y[LONG * 16 + 64];

static void reduce(const who *w, int64_t n, void *out)
{
    tally_view in = tally_flat(x, w->dtype, n);
    if (w->ctx)
        check_ok(w->ctx, tally_reduce(w->ctx, w->op, &in, out), w->op);
    else
        tl_spec_reduce((tl_spec_sequence){w->scalar, w->par, x, 1, n}, NULL, out);
}

static uint64_t hash_reduce(const who *w, int64_t most)
{
    uint64_t h = FNV;
    for (int64_t n = 1; n <= most; n++) {
        reduce(w, n, y);
        h = fnv(h, y, w->scalar->result_bytes);
    }
    return h;
}

static uint64_t hash_scan(const who *w, int64_t n, const tally_scan_options *o)
{
    tally_view in = tally_flat(x, w->dtype, n), out = tally_flat(y, w->scalar->out, n);
    if (w->ctx)
        check_ok(w->ctx, tally_scan(w->ctx, w->op, &in, &out, o), w->op);
    else
        tl_spec_scan((tl_spec_sequence){w->scalar, w->par, x, 1, n}, o, y);
    return fnv(FNV, y, n * w->scalar->result_bytes);
}

static uint64_t hash_windows(const who *w, int64_t n)
{
    uint64_t h = FNV;
    tally_view in = tally_flat(x, w->dtype, n), out = tally_flat(y, w->scalar->out, n);
    for (int64_t k = 0; k < WINDOWS; k++) {
        tally_window_options o = {k, 0, TALLY_EDGES_SHRINK, 0};
        if (w->ctx)
            check_ok(w->ctx, tally_window(w->ctx, w->op, &in, &out, &o), w->op);
        else
            tl_spec_window((tl_spec_sequence){w->scalar, w->par, x, 1, n}, &o, y);
        h = fnv(h, y, n * w->scalar->result_bytes);
    }
    return h;
}

/* The line of values (data < 0) or of hashes. What is not in `slow` (H4096, W256) is left out,
   as "-". */
enum { SLOW_LONG = 1, SLOW_WINDOWS = 2, SCAN_LONG = 4 }; /* SCAN_LONG: H4096 by the scan */
static void make_line(const who *w, int data, int slow, char *to)
{
    int64_t bytes = w->scalar->result_bytes;
    to += sprintf(to, "%s %s ", w->op, tally_dtype_name(w->dtype));
    generate(x, w->dtype, LONG, data < 0 ? 0 : data);
    if (data < 0) {
        to += sprintf(to, "values");
        for (size_t v = 0; v < sizeof value_sizes / sizeof *value_sizes; v++) {
            reduce(w, value_sizes[v], y);
            *to++ = ' ';
            for (int64_t lane = 0; lane < w->scalar->lanes; lane++)
                for (int64_t b = bytes / w->scalar->lanes; b-- > 0;)
                    to += sprintf(to, "%02x",
                                  (unsigned char)y[lane * (bytes / w->scalar->lanes) + b]);
        }
        return;
    }
    tally_scan_options back = {.exclusive = 1, .reverse = 1};
    to += sprintf(to, "hashes %s %016llx ", data_names[data],
                  (unsigned long long)hash_reduce(w, SHORT));
    if (slow & (SLOW_LONG | SCAN_LONG))
        to += sprintf(to, "%016llx ",
                      (unsigned long long)(slow & SLOW_LONG ? hash_reduce(w, LONG)
                                                            : hash_scan(w, LONG, NULL)));
    else
        to += sprintf(to, "- ");
    to += sprintf(to, "%016llx ", (unsigned long long)hash_scan(w, SHORT, &back));
    if (slow & SLOW_WINDOWS)
        sprintf(to, "%016llx", (unsigned long long)hash_windows(w, SHORT));
    else
        sprintf(to, "-");
}

/* ---- every operator ---- */

static char golden[400][LINE];
static int golden_count;

static const char *find(const char *line)
{
    size_t key = 0; /* the first three words, four for hashes */
    for (int words = strstr(line, " hashes ") ? 4 : 3; words--;)
        key += strcspn(line + key, " ") + 1;
    for (int i = 0; i < golden_count; i++)
        if (!strncmp(golden[i], line, key)) return golden[i];
    return NULL;
}

/* Equal, except that a "-" in line stands for anything. */
static int agrees(const char *line, const char *want)
{
    while (*line && *want) {
        if (*line == '-') {
            line++;
            want += strcspn(want, " ");
        } else if (*line++ != *want++) {
            return 0;
        }
    }
    return *line == *want;
}

/* The lines of `op`. */
static void read_lines(const char *path, const char *op)
{
    const size_t name = strlen(op);
    golden_count = 0;
    FILE *f = fopen(path, "r");
    if (!check(f != NULL, "%s cannot be opened", path)) return;
    while (golden_count < 400 && fgets(golden[golden_count], LINE, f)) {
        char *const line = golden[golden_count];
        line[strcspn(line, "\n")] = 0;
        golden_count += !strncmp(line, op, name) && strchr(" :", line[name]);
    }
    fclose(f);
    check(golden_count > 0,
          "%s has no lines of %s; scripts/mkoperators adds those of a new operator", path, op);
}

/* repeat: the command that checks this operator alone. */
static void check_lines(who *w, tally **contexts, int all, const char *repeat)
{
    char line[LINE];
    static int turn;
    for (int data = -1; data < DATA; data++, turn++) {
        int lucky = turn % SPEC_ONE_IN == (int)(check_seed % SPEC_ONE_IN);
        const int one_in = check_quick ? 10 : 5,
                  windows = turn % one_in == (int)(check_seed % (uint64_t)one_in);
        const int scalar =
            all || !check_quick || data < 0 || windows || turn % DATA == (int)(check_seed % DATA);
        for (int i = scalar ? -1 : 0; i < 0 || contexts[i]; i++) { /* -1: the spec */
            const int spec = i < 0,
                      with = all || (!check_quick &&
                                     (spec ? lucky : turn % 4 == (i + (int)(check_seed % 4)) % 4));
            w->ctx = spec ? NULL : contexts[i];
            make_line(w, data,
                      (with   ? SLOW_LONG
                       : spec ? 0
                              : SCAN_LONG) |
                          (!spec || all || windows ? SLOW_WINDOWS : 0),
                      line);
            const char *want = find(line);
            if (!check(want != NULL, "no golden line for: %.60s; again: %s", line, repeat)) break;
            check(agrees(line, want), "%s gives\n  %.300s\n  golden: %.300s\n  again: %s",
                  spec ? "the spec" : tally_isa(contexts[i]), line, want, repeat);
        }
    }
}

static void write_lines(who *w, FILE *f)
{
    char line[LINE];
    w->ctx = NULL;
    for (int data = -1; data < DATA; data++) {
        make_line(w, data, SLOW_LONG | SLOW_WINDOWS, line);
        fprintf(f, "%s\n", line);
    }
}

int main(int argc, char **argv)
{
    const char *path = TALLY_SOURCE_DIR "/test/golden.txt", *only = NULL;
    int write = argc > 1 && !strcmp(argv[1], "--write"),
        all = argc > 1 && !strcmp(argv[1], "--all");
    int first = 1 + all + 2 * write;
    if (write && (argc < 3 || !*argv[2]))
        test_usage(argv[0], "the file of --write", "", "the file to write to");
    if (argc > first) {
        test_names(argc, argv, first);
        only = argv[first];
        if (argc > first + 1)
            test_usage(argv[0], "an argument", argv[first + 1],
                       "left out: an operator is checked for all its types");
    }
    if (write) path = argv[2];
    int64_t lines = 0;
    tally *contexts[9] = {NULL};
    check_start();
    tl_fp fp = tl_fp_enter();
    FILE *f = write ? fopen(path, "w") : NULL;
    if (write && !f) return perror(path), 1;
    for (int i = 0; check_isa(i); i++) contexts[i] = check_open(1, check_isa(i));
    for (const char *const *op = tally_operators(); *op; op++) {
        if ((only && strcmp(only, *op)) || test_takes_two(*op)) continue;
        /* the seed's half of the operators, or a quarter */
        const uint64_t one_of = CHECK_SLOW ? 4 : 2, number = (uint64_t)(op - tally_operators());
        if (check_quick && !only && !write && (number + check_seed) % one_of) continue;
        char repeat[600];
        snprintf(repeat, sizeof repeat, "%s %s%s", argv[0], all ? "--all " : "", *op);
        if (!write) read_lines(path, *op);
        int64_t here = lines;
        for (tally_dtype d = TALLY_I8; d <= TALLY_F64; d++)
            for (int wide = 0; wide < 2; wide++) {
                check_operator o;
                who w = {NULL, o.op, d, NULL, {0, 0}};
                if (wide && (d < TALLY_F16 || d == TALLY_F64)) continue;
                if (!check_operator_make(&o, *op, d, wide) ||
                    tl_resolve(NULL, o.op, d, &w.scalar, &w.par))
                    continue;
                lines += DATA + 1;
                if (write)
                    write_lines(&w, f);
                else
                    check_lines(&w, contexts, all, repeat);
            }
        if (!write)
            check(golden_count == lines - here, "%s: %d lines of %s, not %lld", path, golden_count,
                  *op, (long long)(lines - here));
    }
    tl_fp_leave(fp);
    for (int i = 0; contexts[i]; i++) tally_close(contexts[i]);
    if (f && fclose(f)) return perror(path), 1;
    if (write) printf("%lld lines written to %s\n", (long long)lines, path);
    return check_finish();
}
