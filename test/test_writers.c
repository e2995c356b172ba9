/* SPDX-License-Identifier: MIT
 * Writers of files of every format: what is written is read again; a file is whole or as it was;
 * devices and pipes. */
#define _GNU_SOURCE
#include "files.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static const double d[3] = {1.5, NAN, -0.0};
static const int64_t three[1] = {3}, any[1] = {-1};

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
            double wide;
            float f;
            memcpy(&wide, data + (size_t)i * size, size == 8 ? 8 : 4);
            memcpy(&f, data + (size_t)i * size, 4);
            if (!hex && size == 8 && isnan(wide)) memset(data + i * 8, 0, 8);
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

static void round_trips(void)
{
    for (threads = 1; threads <= 2; threads++)
        for (tally_dtype t = TALLY_I8; t <= TALLY_F64; t++) {
            /* long enough for several threads and writes: quick, of three types */
            const int large = !check_quick || (t + check_seed) % 4 == 0;
            round_trip(t, "w.npy", 0, large ? 100000 : 4000);
            round_trip(t, "w.raw", 0, 4000);
            round_trip(t, "w.txt", 0, large ? 150000 : 4000);
            round_trip(t, "w.txt", 1, 40);
            round_trip(t, "w.csv", 0, 4000);
        }
    threads = 1;
}

/* An old file keeps its mode, and its content until commit; without commit nothing changes and
 * nothing stays behind. */
static void over_an_old_file(void)
{
    tally_file *f;
    char line[64] = "";
    struct stat st;
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
}

static void no_elements(void)
{
    const int64_t none[1] = {0};
    tally_file *f;
    expect(!tally_file_create(NULL, path("empty.npy"), NULL, TALLY_F64, 1, none, 0, &f) &&
               !tally_file_commit(f),
           "empty", "");
    tally_file_close(f);
    expect(load(path("empty.npy"), NULL, 10) == 0, "empty npy", "");
}

/* Devices and pipes are written directly. */
static void refused(void)
{
    tally_file *f;
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
    expect(tally_file_create(NULL, path("x"), "png", TALLY_F64, 1, any, 0, &f) == TALLY_INVALID &&
               !f,
           "format", "");
}

static void tabs_between_columns(void)
{
    tally_file *f;
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
}

static void broken_pipe(void)
{
    tally_file *f;
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
    static const char *const calls[] = {"oslr", "Osr"};
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
        expect(!tally_file_commit(f) && !strcmp(asked, calls[!unnamed]), "the order of things",
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
    round_trips();
    over_an_old_file();
    no_elements();
    refused();
    tabs_between_columns();
    broken_pipe();
    replaced();
    return files_finish();
}
