/* SPDX-License-Identifier: MIT
 * Files: npy headers good and hostile, raw, pipes, and writers of every format. Cells of text
 * and CSV: test_text.c. */
#define _GNU_SOURCE
#include "files.h"
#include <fcntl.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

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

static void npy_case(const char *dict, const void *data, size_t n, tally_dtype dtype, int64_t want,
                     const char *error)
{
    char file[4096];
    const tally_file_options o = {.dtype = dtype};
    for (int major = 1; major <= 3; major++) {
        save("x.npy", file, npy(file, major, dict, data, n));
        const int64_t got = load(path("x.npy"), &o, 3);
        expect(got == want, "npy", dict);
        if (want < 0) expect(strstr(tally_error(NULL), error) != NULL, error, dict);
    }
}

static void npys(void)
{
    const double d[6] = {1, 2, 3, 4, 5, 6};
    uint64_t swapped[6];
    memcpy(swapped, d, sizeof swapped);
    for (int i = 0; i < 6; i++) swapped[i] = __builtin_bswap64(swapped[i]);
    npy_case("{'descr': '<f8', 'fortran_order': False, 'shape': (6,), }   \n", d, 48, 0, 6, "");
    npy_case("{\"shape\":(2,3),\"descr\":\"<f8\",\"fortran_order\":True}", d, 48, TALLY_F64, 6, "");
    expect(values[5] == 6, "npy value", "");
    npy_case("{'descr': '>f8', 'fortran_order': False, 'shape': (6,), }\n", swapped, 48, 0, 6, "");
    expect(values[0] == 1 && values[5] == 6, "swapped", "");
    npy_case("{'descr': '<f8', 'fortran_order': False, 'shape': (), }\n", d, 8, 0, 1, "");
    npy_case("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4), }\n", d, 0, 0, 0, "");
    npy_case("{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 0, 9), }\n",
             d, 0, 0, 0, "");
    npy_case("{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,2,3L), }\n", d, 48, 0,
             6, "");
    npy_case("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }\n", "\1\0\1", 3, TALLY_U8,
             3, "");
    npy_case("{'descr': '|V2', 'fortran_order': False, 'shape': (3,), }\n", "123456", 6, TALLY_BF16,
             3, "");
    npy_case("{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }\n", "123456", 6, TALLY_F16,
             3, "");
    static const struct {
        const char *dict, *error;
    } hostile[] = {
        {"{'descr': '|V2', 'fortran_order': False, 'shape': (3,), }", "--dtype bf16"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", "Python objects"},
        {"{'descr': '<c16', 'fortran_order': False, 'shape': (3,), }", "complex"},
        {"{'descr': '<U5', 'fortran_order': False, 'shape': (3,), }", "text"},
        {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (3,), }", "dates"},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': (3,), }", "f16, f32 and f64"},
        {"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,), }", "several fields"},
        {"{'descr': '|V16', 'fortran_order': False, 'shape': (3,), }", "structures"},
        {"{'descr': '|f8', 'fortran_order': False, 'shape': (3,), }", "byte order"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (7,), }",
         "truncated: shape (7) of f64 needs 56 bytes of elements, and 48 are there"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }", "negative"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775808,), }", "64 bits"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807,), }",
         "64-bit sizes"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
         "64-bit sizes"},
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
        {"{'descr': '<f8", "dict"},
        {"{'fortran_order': False", "at byte 23 of it"},
        {"{", "dict"},
        {"", "dict"},
        {"__import__('os').system('true')", "dict"},
    };
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++)
        npy_case(hostile[i].dict, d, 48, 0, -1, hostile[i].error);
    npy_case("{'descr': '<f8', 'fortran_order': False, 'shape': (6,), }", d, 48, TALLY_F32, -1,
             "are f64 ('<f8'), not f32");
    const tally_file_options none = {0}, raw = {.format = "raw", .dtype = TALLY_F64};
    char whole[256];
    const size_t n =
        npy(whole, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (6,), }", d, 48);
    for (size_t k = 0; k < n; k++) { /* cut anywhere */
        save("x.npy", whole, k);
        expect(load(path("x.npy"), &none, 10) == -1, "cut npy", "");
    }
    memcpy(whole + 8, "\xff\xff", 2);
    save("x.npy", whole, n);
    expect(load(path("x.npy"), &none, 10) == -1 &&
               strstr(tally_error(NULL), "ends inside the npy header"),
           "long header", "");
    save("x.npy", "\x93NUMPY\x02\x00\xff\xff\xff\xff", 12);
    expect(load(path("x.npy"), &none, 10) == -1 && strstr(tally_error(NULL), "the most is"),
           "huge header", "");
    save("r", d, 47);
    expect(load(path("r"), &raw, 10) == -1 &&
               strstr(tally_error(NULL), "47 bytes is not a multiple of 8"),
           "raw size", "");
    save("r", d, 48);
    tally_file *f;
    tally_file_info info;
    expect(!tally_file_open(NULL, path("r"), &raw, &f), "raw", "");
    tally_file_get_info(f, &info);
    expect(info.elements == 6 && info.mapped && memcmp(info.mapped, d, 48) == 0, "mapped", "");
    tally_file_close(f);
}

/* ---- interrupted calls ---- */

/* What happens to the next calls of read, pread and write, one letter a call: i interrupted, a not
 * ready, s short (1 byte), f fails, . nothing. */
static const char *trouble = "";

/* -1 if the call fails, else how many of n bytes it takes. */
static ssize_t troubled(size_t n)
{
    const char what = *trouble;
    if (what) trouble++;
    if (what == 'i') return errno = EINTR, -1;
    if (what == 'a') return errno = EAGAIN, -1;
    if (what == 'f') return errno = EIO, -1;
    return what == 's' && n ? 1 : (ssize_t)n;
}

ssize_t read(int fd, void *to, size_t n)
{
    const ssize_t some = troubled(n);
    return some < 0 ? -1 : (ssize_t)syscall(SYS_read, fd, to, (size_t)some);
}

ssize_t pread(int fd, void *to, size_t n, off_t at)
{
    const ssize_t some = troubled(n);
    return some < 0 ? -1 : (ssize_t)syscall(SYS_pread64, fd, to, (size_t)some, at);
}

ssize_t write(int fd, const void *from, size_t n)
{
    const ssize_t some = troubled(n);
    return some < 0 ? -1 : (ssize_t)syscall(SYS_write, fd, from, (size_t)some);
}

/* Files that become shorter while they are open. */
static void shrunk(void)
{
    const tally_file_options raw = {.format = "raw", .dtype = TALLY_F64}, text = {.format = "text"};
    char *const zeros = calloc(1, 1 << 17);
    tally_file *f;
    tally_file_info info;
    int64_t got;
    for (size_t left = 4096; left < 1 << 17; left = left == 4096 ? (1 << 17) - 8 : 1 << 17) {
        save("r", zeros, 1 << 17);
        expect(!tally_file_open(NULL, path("r"), &raw, &f), "raw", "");
        tally_file_get_info(f, &info);
        expect(info.mapped && !info.shrunk, "not yet", "");
        expect(tally_file_read(f, values, -1, &got) == TALLY_INVALID &&
                   !strcmp(tally_error(NULL), "max is -1: must be at least 0") && !got &&
                   tally_file_read(f, values, 1, NULL) == TALLY_INVALID &&
                   !strcmp(tally_error(NULL), "got is NULL"),
               "refused", tally_error(NULL));
        if (truncate(path("r"), (off_t)left)) exit(1);
        tally_file_get_info(f, &info);
        expect(info.shrunk, "shrunk", "");
        expect(tally_file_read(f, values, 1 << 14, &got) == TALLY_BAD_DATA &&
                   strstr(tally_error(NULL), "truncated"),
               "raw shrunk", "");
        tally_file_close(f);
        for (size_t i = 0; i < 1 << 17; i++) zeros[i] = i % 2 ? '\n' : '1';
        save("t", zeros, 1 << 17);
        expect(!tally_file_open(NULL, path("t"), &text, &f), "text", "");
        if (truncate(path("t"), (off_t)left)) exit(1);
        expect(tally_file_read(f, values, 1 << 16, &got) == TALLY_IO &&
                   strstr(tally_error(NULL), "became shorter while it was read"),
               "text shrunk", "");
        tally_file_close(f);
    }
    /* Offsets and the like: `assume` is the type of files that do not say theirs. */
    const tally_file_options assume = {.assume = TALLY_I64};
    save("t", "9007199254740993\n", 17);
    expect(load(path("t"), &assume, 10) == 1 &&
               memcmp(values, &(int64_t){9007199254740993}, 8) == 0,
           "assumed", "");
    size_t n =
        npy(zeros, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "1234", 4);
    save("x.npy", zeros, n);
    expect(!tally_file_open(NULL, path("x.npy"), &assume, &f), "npy keeps its type", "");
    tally_file_get_info(f, &info);
    expect(info.dtype == TALLY_F32, "npy keeps its type", "");
    tally_file_close(f);
    free(zeros);
}

/* Reads from standard input what a child writes slowly. */
static void piped(const void *data, size_t n, size_t step, const tally_file_options *o,
                  int64_t want, const char *error)
{
    int p[2];
    if (pipe(p)) exit(1);
    const pid_t child = fork();
    if (child == 0) {
        trouble = "";
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
    expect(got == want, "piped", error);
    if (want < 0) expect(strstr(tally_error(NULL), error) != NULL, "piped", error);
}

static void pipes(void)
{
    const tally_file_options none = {0}, raw = {.format = "raw", .dtype = TALLY_F64};
    const double d[6] = {1, 2, 3, 4, 5, 6};
    char file[256], *const big = malloc(1 << 20);
    size_t n = npy(file, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (6,), }", d, 48);
    piped(file, n, 1, &none, 6, "npy");
    expect(memcmp(values, d, 48) == 0, "piped npy", "");
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
    expect(values[59999] == 59999, "long text", "");
    threads = 1;
    free(big);
}

/* Calls that are interrupted, not ready or short are made again, and a failure is told. */
static void interrupted(void)
{
    static const char *const passing[] = {"i", "a", "ia", "s", "sisas", ".i", ".a", ".s", "s.iiaa"},
                             *const failing[] = {"f", "if", "sf", "saf"};
    static const char text[] = "1\n22\n333\n4\n";
    const double d[4] = {1, 22, 333, 4};
    const tally_file_options none = {0}, raw = {.format = "raw", .dtype = TALLY_F64};
    const int64_t four[1] = {4};
    tally_file *f;
    save("i.txt", text, sizeof text - 1);
    save("i.raw", d, sizeof d);
    for (size_t k = 0; k < sizeof passing / sizeof *passing; k++) {
        const char *const what = passing[k];
        trouble = what;
        piped(text, sizeof text - 1, 100, &none, 4, what);
        expect(!memcmp(values, d, sizeof d) && !*trouble, "text from a pipe", what);
        trouble = what;
        piped(d, sizeof d, 100, &raw, 4, what);
        expect(!memcmp(values, d, sizeof d) && !*trouble, "raw from a pipe", what);
        if (strchr(what, 'a')) continue; /* a file is always ready */
        trouble = what;
        expect(load(path("i.txt"), &none, 9) == 4 && !memcmp(values, d, sizeof d), "text", what);
        trouble = what;
        expect(load(path("i.raw"), &raw, 9) == 4 && !memcmp(values, d, sizeof d), "raw", what);
    }
    for (size_t k = 0; k < sizeof passing / sizeof *passing; k++) {
        expect(!tally_file_create(NULL, path("o.txt"), NULL, TALLY_F64, 1, four, 0, &f) &&
                   !tally_file_write(f, d, 4),
               "create", passing[k]);
        trouble = passing[k];
        expect(!tally_file_commit(f), "interrupted writes", passing[k]);
        trouble = "";
        tally_file_close(f);
        expect(load(path("o.txt"), &none, 9) == 4 && !memcmp(values, d, sizeof d), "written", "");
    }
    for (size_t k = 0; k < sizeof failing / sizeof *failing; k++) {
        trouble = failing[k];
        piped(text, sizeof text - 1, 100, &none, -1, "standard input: reading: Input/output error");
        trouble = failing[k];
        piped(d, sizeof d, 100, &raw, -1, "standard input: reading: Input/output error");
        expect(!tally_file_create(NULL, path("o.txt"), NULL, TALLY_F64, 1, four, 0, &f) &&
                   !tally_file_write(f, d, 4),
               "create", failing[k]);
        trouble = failing[k];
        expect(tally_file_commit(f) == TALLY_IO &&
                   strstr(tally_error(NULL), "o.txt: writing: Input/output error"),
               "failed write", failing[k]);
        trouble = "";
        tally_file_close(f);
        if (strchr(failing[k], 'a')) continue;
        trouble = failing[k];
        expect(load(path("i.txt"), &none, 9) == -1 &&
                   strstr(tally_error(NULL), "i.txt: reading: Input/output error"),
               "failed read", failing[k]);
        trouble = "";
    }
}

/* ---- writing ---- */

/* What the writer asks of the system, in order: o open without a name, O open with one, s fsync,
 * l link, r rename, u unlink. */
static char asked[64];
static int no_unnamed, no_disk; /* as on a file system without O_TMPFILE; fsync fails */

static void ask(char what)
{
    const size_t n = strlen(asked);
    if (n + 1 < sizeof asked) asked[n] = what, asked[n + 1] = 0;
}

int open(const char *name, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    const int mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, int) : 0;
    va_end(more);
    if ((flags & O_TMPFILE) == O_TMPFILE && no_unnamed) return errno = EOPNOTSUPP, -1;
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, name, flags, mode);
    if (fd >= 0 && flags & O_CREAT) ask('O');
    if (fd >= 0 && (flags & O_TMPFILE) == O_TMPFILE) ask('o');
    return fd;
}

int fsync(int fd) { return ask('s'), no_disk ? errno = EIO, -1 : (int)syscall(SYS_fsync, fd); }
int rename(const char *from, const char *to)
{
    return ask('r'), (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
int unlink(const char *name) { return ask('u'), (int)syscall(SYS_unlinkat, AT_FDCWD, name, 0); }
int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
    return ask('l'), (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
}

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
    for (int64_t i = 0; i < (int64_t)((size_t)n * size); i++)
        data[i] = (unsigned char)check_random();
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
        const int64_t m = 1 + (int64_t)(check_random() % 50000), take = m < n - k ? m : n - k;
        s = tally_file_write(f, data + (size_t)k * size, take);
        k += take;
    }
    if (!s) s = tally_file_commit(f);
    expect(!s, "write", name);
    tally_file_close(f);
    expect(files_in_dir() <= before + 1, "temporary files", name);
    /* text of several columns reads as a flat sequence with white space or the delimiter in
       between */
    const int csv = strstr(name, ".csv") != NULL;
    const tally_file_options o = {
        .format = csv ? "text" : NULL, .dtype = dtype, .delimiter = csv ? ',' : 0};
    unsigned char *const back = calloc((size_t)n + 1, size);
    int64_t got = 1, total = 0;
    s = tally_file_open(NULL, path(name), &o, &f);
    tally_file_info info = {0};
    if (!s) tally_file_get_info(f, &info);
    while (!s && got && total <= n &&
           !(s = tally_file_read(f, back + (size_t)total * size, n + 1 - total, &got)))
        total += got;
    expect(!s && total == n && memcmp(back, data, (size_t)n * size) == 0, "round trip", name);
    if (strstr(name, ".npy"))
        expect(info.ndim == 2 && info.shape[0] == n / 4 && info.shape[1] == 4, "npy shape", name);
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
    /* An old file keeps its mode, and its content until commit; without commit nothing changes
     * and nothing stays behind. */
    save("old.txt", "old\n", 4);
    chmod(path("old.txt"), 0640);
    const int64_t before = files_in_dir();
    expect(!tally_file_create(NULL, path("old.txt"), NULL, TALLY_F64, 1, three, 0, &f) &&
               !tally_file_write(f, d, 3),
           "old", "");
    tally_file_close(f);
    expect(files_in_dir() == before && !stat(path("old.txt"), &st) && st.st_size == 4,
           "not committed", "");
    expect(!tally_file_create(NULL, path("old.txt"), NULL, TALLY_F64, 1, three, 0, &f) &&
               !tally_file_write(f, d, 2),
           "old", "");
    expect(tally_file_commit(f) == TALLY_INVALID &&
               strstr(tally_error(NULL), "3 elements and 2 were written"),
           "short", "");
    tally_file_close(f);
    expect(!tally_file_create(NULL, path("old.txt"), NULL, TALLY_F64, 1, three, 0, &f) &&
               !tally_file_write(f, d, 3),
           "old", "");
    expect(tally_file_write(f, d, 1) == TALLY_INVALID, "beyond the shape", "");
    expect(!tally_file_commit(f) && tally_file_commit(f) == TALLY_INVALID, "commit", "");
    tally_file_close(f);
    FILE *const in = fopen(path("old.txt"), "r");
    expect(in && fread(line, 1, 63, in) == 11 && !strcmp(line, "1.5\nnan\n-0\n"), "text", line);
    if (in) fclose(in);
    expect(files_in_dir() == before && !stat(path("old.txt"), &st) && (st.st_mode & 0777) == 0640,
           "mode", "");
    expect(!tally_file_create(NULL, path("empty.npy"), NULL, TALLY_F64, 1, none, 0, &f) &&
               !tally_file_commit(f),
           "empty", "");
    tally_file_close(f);
    expect(load(path("empty.npy"), NULL, 10) == 0, "empty npy", "");
    /* Devices and pipes are written directly. */
    expect(!tally_file_create(NULL, "/dev/full", "text", TALLY_F64, 1, any, 0, &f) &&
               !tally_file_write(f, d, 3),
           "full", "");
    expect(tally_file_commit(f) == TALLY_IO &&
               strstr(tally_error(NULL), "/dev/full: writing: No space left"),
           "full", "");
    tally_file_close(f);
    expect(tally_file_create(NULL, "/dev/full", "npy", TALLY_F64, 1, any, 0, &f) ==
                   TALLY_UNSUPPORTED &&
               !f,
           "npy to a device", "");
    expect(tally_file_create(NULL, "/nonexistent/x", "raw", TALLY_F64, 1, any, 0, &f) == TALLY_IO &&
               !f,
           "no folder", "");
    expect(tally_file_create(NULL, dir, "raw", TALLY_F64, 1, any, 0, &f) == TALLY_IO && !f,
           "a folder", "");
    expect(tally_file_create(NULL, path("x.dat"), NULL, TALLY_F64, 1, any, 0, &f) ==
                   TALLY_INVALID &&
               !f && strstr(tally_error(NULL), "x.dat: its ending says no format: .npy, .raw"),
           "an ending that says no format", "");
    char text[64] = {0};
    expect(!tally_file_create(NULL, path("x.TSV"), NULL, TALLY_F64, 2, (int64_t[]){1, 3}, 0, &f) &&
               !tally_file_head(f, "a\tb\tc") && !tally_file_write(f, d, 3) &&
               !tally_file_commit(f),
           "csv with tabs", "");
    tally_file_close(f);
    FILE *const tabs = fopen(path("x.TSV"), "rb");
    expect(tabs && fread(text, 1, sizeof text - 1, tabs) && !strncmp(text, "a\tb\tc\n", 6) &&
               strchr(text + 6, '\t') && !strchr(text, ','),
           "csv with tabs", text);
    if (tabs) fclose(tabs);
    expect(tally_file_create(NULL, path("x"), "png", TALLY_F64, 1, any, 0, &f) == TALLY_INVALID &&
               !f,
           "format", "");
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
    expect(s == TALLY_IO && strstr(tally_error(NULL), "standard output: writing: Broken pipe"),
           "EPIPE", "");
    tally_file_close(f);
    tally_file_close(NULL);
}

/* The file is on the disk before it has the name, and leaves nothing: with names and without,
 * committed, closed, abandoned, in a child of a fork too. */
static void replaced(void)
{
    static const char *const roads[] = {"oslr", "Osr"};
    const double d[3] = {1, 2, 3};
    const int64_t three[1] = {3};
    tally_file *f;
    for (no_unnamed = 0; no_unnamed < 2; no_unnamed++) {
        save("p.txt", "old\n", 4);
        const int64_t before = files_in_dir();
        asked[0] = 0;
        expect(!tally_file_create(NULL, path("p.txt"), NULL, TALLY_F64, 1, three, 0, &f) &&
                   !tally_file_head(f, "x") && !tally_file_write(f, d, 3),
               "create", "");
        const int unnamed = asked[0] == 'o'; /* not on every file system */
        expect(files_in_dir() == before + !unnamed, "beside it", "");
        expect(tally_file_head(f, "y") == TALLY_INVALID, "a head after elements", "");
        expect(!tally_file_commit(f) && !strcmp(asked, roads[!unnamed]), "the order of things",
               asked);
        tally_file_close(f);
        expect(files_in_dir() == before && load(path("p.txt"), NULL, 10) == -1,
               "committed, with its head", "");
        expect(!tally_file_create(NULL, path("p.npy"), NULL, TALLY_F64, 1, three, 0, &f), "create",
               "");
        expect(tally_file_head(f, "x") == TALLY_UNSUPPORTED, "npy has no lines", "");
        tally_file_close(f);
        expect(files_in_dir() == before, "closed", "");
        expect(!tally_file_create(NULL, path("p.npy"), NULL, TALLY_F64, 1, three, 0, &f) &&
                   !tally_file_write(f, d, 3),
               "create", "");
        no_disk = 1;
        expect(tally_file_commit(f) == TALLY_IO &&
                   strstr(tally_error(NULL), "bringing it to the disk"),
               "no disk", "");
        no_disk = 0;
        tally_file_close(f);
        expect(files_in_dir() == before, "no disk", "");
        expect(!tally_file_create(NULL, path("p.npy"), NULL, TALLY_F64, 1, three, 0, &f) &&
                   !tally_file_write(f, d, 3),
               "create", "");
        const pid_t child = fork();
        if (child == 0) tally_abandon(), _exit(0); /* the file is its parent's */
        waitpid(child, NULL, 0);
        expect(files_in_dir() == before + !unnamed, "a child abandons", "");
        tally_abandon();
        tally_abandon();
        expect(files_in_dir() == before, "abandoned", "");
        expect(unnamed || (tally_file_commit(f) == TALLY_IO &&
                           strstr(tally_error(NULL), "renaming into place")),
               "commit", "");
        tally_file_close(f);
        expect(files_in_dir() == before, "abandoned and closed", "");
    }
    no_unnamed = 0;
}

int main(void)
{
    files_start();
    npys();
    shrunk();
    pipes();
    interrupted();
    writers();
    replaced();
    return files_finish();
}
