/* SPDX-License-Identifier: MIT
 *
 * pairs.c - two builds of the library in one process, in turns:
 *
 *     pairs [-t THREADS] [-p MICROSECONDS] BEFORE.so AFTER.so BYTES SECONDS JOB...
 *
 *     -p: a turn is one call after a pause, in which the threads fall asleep
 *     JOB: reduce/sum/f32, scan/max/u8, window/mean/f64/50, reduce/max/i8/rows=8,
 *          scan/.../columns=1000, .../segments=20, scan/.../reversed,
 *          .../stride=3 (every third element and result), .../valid (one element in 97 is missing)
 *
 * First their results are compared, byte by byte. Then a line for each job: GB/s of both (what
 * is read and what is written, in the processor time of the thread or, with -t, in the time that
 * passes; the best turn) and the speed of AFTER as a multiple of BEFORE's, the median of the
 * turns. Where other programs share the machine, only the ratio means something; run it several
 * times, because where buffers come to lie changes it by some hundredths.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "tally.h"

typedef struct {
    tally *ctx;
    __typeof__(tally_open) *open;
    __typeof__(tally_reduce) *reduce;
    __typeof__(tally_scan) *scan;
    __typeof__(tally_window) *window;
    __typeof__(tally_operator) *operator;
} library;

typedef struct {
    char verb[16], op[32], dtype[8];
    int width;
    tally_view in, out;
    int64_t *offsets;
    int reversed;
    unsigned char *valid;
} job;

enum { TURNS_LEAST = 7, TURNS_MOST = 400 };
static const struct {
    const char *name;
    tally_dtype dtype;
    int bytes;
} types[] = {{"i8", TALLY_I8, 1},     {"u8", TALLY_U8, 1},   {"i16", TALLY_I16, 2},
             {"u16", TALLY_U16, 2},   {"i32", TALLY_I32, 4}, {"u32", TALLY_U32, 4},
             {"i64", TALLY_I64, 8},   {"u64", TALLY_U64, 8}, {"f16", TALLY_F16, 2},
             {"bf16", TALLY_BF16, 2}, {"f32", TALLY_F32, 4}, {"f64", TALLY_F64, 8}};
enum { TYPES = sizeof types / sizeof *types };

static library libraries[2];
static long threads; /* 0: one, and processor time */
static long pause_us;

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "pairs: %s: %s\n", what, why);
    exit(2);
}

static void load(library *l, const char *path)
{
    void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!h) stop(path, dlerror());
    *(void **)&l->open = dlsym(h, "tally_open");
    *(void **)&l->reduce = dlsym(h, "tally_reduce");
    *(void **)&l->scan = dlsym(h, "tally_scan");
    *(void **)&l->window = dlsym(h, "tally_window");
    *(void **)&l->operator= dlsym(h, "tally_operator");
    if (!l->open || !l->reduce || !l->scan || !l->window || !l->operator)
        stop(path, "is no tally library");
    char device[32];
    snprintf(device, sizeof device, "cpu,threads=%ld", threads ? threads : 1);
    if (l->open(&l->ctx, device)) stop(path, "cannot be opened");
}

static double now(void)
{
    struct timespec t;
    clock_gettime(threads ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double run(const library *l, const job *j, long repeat)
{
    const tally_window_options window = {.before = j->width - 1};
    const tally_scan_options scan = {.reverse = j->reversed};
    tally_status status = TALLY_OK;
    if (pause_us) nanosleep(&(struct timespec){.tv_nsec = pause_us * 1000}, NULL);
    double begin = now();
    for (long r = 0; r < repeat; r++)
        status |= *j->verb == 'r'   ? l->reduce(l->ctx, j->op, &j->in, j->out.data)
                  : *j->verb == 's' ? l->scan(l->ctx, j->op, &j->in, &j->out, &scan)
                                    : l->window(l->ctx, j->op, &j->in, &j->out, &window);
    if (status) stop(j->op, "failed");
    return (now() - begin) / (double)repeat;
}

/* Small numbers, exact in every type, without a NaN. */
static void fill(void *x, int64_t n, tally_dtype dtype, int bytes)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t r = (i * 7919 + i / 3) % 97;
        float f = (float)r * 0.0078125f + 1;
        double d = f;
        uint16_t half = (uint16_t)((dtype == TALLY_F16 ? 0x3c00 : 0x3f80) + r);
        const void *from = dtype == TALLY_F32                          ? (void *)&f
                           : dtype == TALLY_F64                        ? (void *)&d
                           : dtype == TALLY_F16 || dtype == TALLY_BF16 ? (void *)&half
                                                                       : (void *)&r;
        memcpy((char *)x + i * bytes, from, (size_t)bytes);
    }
}

/* The job's views of n elements, or some fewer, as `word` says; of segments, random lengths of
 * that mean. Returns the number of results of a reduction. */
static int64_t view(job *j, const char *word, int64_t n)
{
    const tally_dtype in = j->in.dtype, out = j->out.dtype;
    void *const x = j->in.data, *const y = j->out.data;
    long each;
    if (sscanf(word, "rows=%ld", &each) == 1 && each > 0) {
        j->in = tally_rows(x, in, n / each, each);
        j->out = tally_rows(y, out, n / each, each);
    } else if (sscanf(word, "columns=%ld", &each) == 1 && each > 0) {
        j->in = (tally_view){
            .data = x, .dtype = in, .rows = each, .n = n / each, .row_stride = 1, .stride = each};
        j->out = (tally_view){
            .data = y, .dtype = out, .rows = each, .n = n / each, .row_stride = 1, .stride = each};
    } else if (sscanf(word, "segments=%ld", &each) == 1 && each > 0) {
        int64_t count = 0;
        uint64_t random = 1;
        j->offsets = malloc(((size_t)n + 1) * sizeof *j->offsets);
        if (!j->offsets) stop(word, "out of memory");
        for (int64_t at = 0; at < n;
             at += (int64_t)((random >> 33) % (uint64_t)(2 * each - 1)) + 1) {
            j->offsets[count++] = at;
            random = random * 6364136223846793005u + 1442695040888963407u;
        }
        j->offsets[count] = n;
        j->in = tally_segments(x, in, j->offsets, count);
        j->out = tally_segments(y, out, j->offsets, count);
    } else if (sscanf(word, "stride=%ld", &each) == 1 && each > 0) {
        j->in.n = j->out.n = n / each;
        j->in.stride = j->out.stride = each;
    } else if (!strcmp(word, "reversed")) {
        j->reversed = 1;
    } else if (!strcmp(word, "valid")) {
        j->valid = malloc((size_t)n / 8 + 1);
        if (!j->valid) stop(word, "out of memory");
        memset(j->valid, 255, (size_t)n / 8 + 1);
        for (int64_t i = 0; i < n; i += 97) j->valid[i >> 3] &= (unsigned char)~(1 << (i & 7));
        j->in.valid = j->valid;
    } else {
        stop(word, "is no view");
    }
    return j->in.rows;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *name, int64_t bytes, double seconds)
{
    job j = {.width = 50};
    int t = 0, at = 0, more = 0;
    if (sscanf(name, "%15[^/]/%31[^/]/%7[^/]%n", j.verb, j.op, j.dtype, &at) < 3)
        stop(name, "is no job");
    if (sscanf(name + at, "/%d%n", &j.width, &more) == 1) at += more;
    while (t < TYPES && strcmp(types[t].name, j.dtype)) t++;
    if (t == TYPES) stop(name, "has no such type");
    const int64_t n = bytes / types[t].bytes;
    tally_operator_info info;
    if (libraries[0].operator(libraries[0].ctx, j.op, types[t].dtype, &info))
        stop(name, "is not in BEFORE");
    int out = 0;
    while (types[out].dtype != info.output) out++;
    const size_t each = (size_t)(info.lanes * types[out].bytes);
    size_t result = (size_t)(*j.verb == 'r' && !name[at] ? 1 : n) * each;
    const size_t written = (result + 8191) & ~(size_t)4095;
    char *x = aligned_alloc(4096, ((size_t)bytes + 8191) & ~(size_t)4095),
         *y = aligned_alloc(4096, written);
    char *wanted = malloc(written);
    if (!x || !y || !wanted) stop(name, "out of memory");
    fill(x, n, types[t].dtype, types[t].bytes);
    memset(y, 1, written);
    j.in = (tally_view){
        .data = x, .dtype = types[t].dtype, .rows = 1, .n = n, .row_stride = n, .stride = 1};
    j.out = (tally_view){
        .data = y, .dtype = info.output, .rows = 1, .n = n, .row_stride = n, .stride = 1};
    const int64_t sequences = name[at] ? view(&j, name + at + 1, n) : 1;
    if (*j.verb == 'r') result = (size_t)sequences * each;
    double best[2] = {1e9, 1e9}, ratio[TURNS_MOST];
    run(&libraries[0], &j, 1);
    memcpy(wanted, y, written);
    memset(y, 1, written);
    const double once = run(&libraries[1], &j, 1);
    const int same = !memcmp(wanted, y, written);
    const long repeat = once < 2e-4 && !pause_us ? 1 + (long)(4e-4 / once) : 1;
    int turns = 0;
    for (double begin = now();
         turns < TURNS_MOST && (turns < TURNS_LEAST || now() - begin < seconds); turns++) {
        double elapsed[2];
        for (int s = 0; s < 2; s++) {
            const int which = (s + turns) & 1;
            elapsed[which] = run(&libraries[which], &j, repeat);
            if (elapsed[which] < best[which]) best[which] = elapsed[which];
        }
        ratio[turns] = elapsed[0] / elapsed[1];
    }
    qsort(ratio, (size_t)turns, sizeof *ratio, ascending);
    const double moved = (double)bytes + (double)result;
    printf("%-28s before %7.2f GB/s  after %7.2f GB/s  speed %.3f%s\n", name,
           moved / best[0] * 1e-9, moved / best[1] * 1e-9, ratio[turns / 2],
           same ? "" : "  OTHER BITS");
    fflush(stdout);
    free(x);
    free(y);
    free(wanted);
    free(j.offsets);
    free(j.valid);
}

int main(int argc, char **argv)
{
    for (int c; (c = getopt(argc, argv, "+t:p:")) != -1;)
        if (c == 't')
            threads = atol(optarg);
        else if (c == 'p')
            pause_us = atol(optarg);
        else
            return 2;
    argc -= optind - 1;
    argv += optind - 1;
    if (argc < 6)
        stop("usage",
             "pairs [-t THREADS] [-p MICROSECONDS] BEFORE.so AFTER.so BYTES SECONDS JOB...");
    for (int i = 0; i < 2; i++) load(&libraries[i], argv[1 + i]);
    for (int i = 5; i < argc; i++) measure(argv[i], atoll(argv[3]), atof(argv[4]));
    return 0;
}
