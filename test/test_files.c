/* SPDX-License-Identifier: MIT
 * Files: npy headers good and hostile, raw, pipes, calls that are interrupted. Cells of text and
 * CSV: test_text.c; writers: test_writers.c. */
#define _GNU_SOURCE
#include "files.h"
#include <errno.h>
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

static const double six[6] = {1, 2, 3, 4, 5, 6};

static void npys(void)
{
    uint64_t swapped[6];
    memcpy(swapped, six, sizeof swapped);
    for (int i = 0; i < 6; i++) swapped[i] = __builtin_bswap64(swapped[i]);
    npy_case("{'descr': '<f8', 'fortran_order': False, 'shape': (6,), }   \n", six, 48, 0, 6, "");
    npy_case("{\"shape\":(2,3),\"descr\":\"<f8\",\"fortran_order\":True}", six, 48, TALLY_F64, 6,
             "");
    expect(values[5] == 6, "npy value", "");
    npy_case("{'descr': '>f8', 'fortran_order': False, 'shape': (6,), }\n", swapped, 48, 0, 6, "");
    expect(values[0] == 1 && values[5] == 6, "swapped", "");
    npy_case("{'descr': '<f8', 'fortran_order': False, 'shape': (), }\n", six, 8, 0, 1, "");
    npy_case("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4), }\n", six, 0, 0, 0, "");
    npy_case("{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 0, 9), }\n",
             six, 0, 0, 0, "");
    npy_case("{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,2,3L), }\n", six, 48,
             0, 6, "");
    npy_case("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }\n", "\1\0\1", 3, TALLY_U8,
             3, "");
    npy_case("{'descr': '|V2', 'fortran_order': False, 'shape': (3,), }\n", "123456", 6, TALLY_BF16,
             3, "");
    npy_case("{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }\n", "123456", 6, TALLY_F16,
             3, "");
}

static void hostile_npys(void)
{
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
        npy_case(hostile[i].dict, six, 48, 0, -1, hostile[i].error);
    npy_case("{'descr': '<f8', 'fortran_order': False, 'shape': (6,), }", six, 48, TALLY_F32, -1,
             "are f64 ('<f8'), not f32");
}

static void cut_npys(void)
{
    const tally_file_options none = {0};
    char whole[256];
    const size_t n =
        npy(whole, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (6,), }", six, 48);
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
}

static void raws(void)
{
    const tally_file_options raw = {.format = "raw", .dtype = TALLY_F64};
    save("r", six, 47);
    expect(load(path("r"), &raw, 10) == -1 &&
               strstr(tally_error(NULL), "47 bytes is not a multiple of 8"),
           "raw size", "");
    save("r", six, 48);
    tally_file *f;
    tally_file_info info;
    expect(!tally_file_open(NULL, path("r"), &raw, &f), "raw", "");
    tally_file_get_info(f, &info);
    expect(info.elements == 6 && info.mapped && memcmp(info.mapped, six, 48) == 0, "mapped", "");
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

int main(void)
{
    files_start();
    npys();
    hostile_npys();
    cut_npys();
    raws();
    shrunk();
    pipes();
    interrupted();
    return files_finish();
}
