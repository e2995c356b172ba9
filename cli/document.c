/* SPDX-License-Identifier: MIT
 * document.c - where results go, by --output and --to; whether two names refer to one file; and a
 * stream for the command line's own text (tables, JSON), which the library writes to a file, so
 * that all files are written in one way. */
#define _GNU_SOURCE
#include "cli.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

int output_is_file(const options *o)
{
    static const char *const standard[] = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
    int filed = has(o, OPT_output);
    for (int i = 0; i < 4 && filed; i++) filed = strcmp(o->value[OPT_output], standard[i]) != 0;
    return filed;
}

int is_device(const char *path)
{
    struct stat there;
    return !strncmp(path, "/dev/", 5) ||
           (!stat(path, &there) && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode));
}

static const struct {
    const char *name, *endings[5];
} formats[] = {[TO_TEXT] = {"text", {".txt"}},       [TO_CSV] = {"csv", {".csv"}},
               [TO_TSV] = {"tsv", {".tsv"}},         [TO_NPY] = {"npy", {".npy"}},
               [TO_RAW] = {"raw", {".raw", ".bin"}}, [TO_NETCDF] = {"netcdf", {".nc", ".cdf"}},
               [TO_NETCDF4] = {"netcdf4", {".nc4"}}, [TO_HDF5] = {"hdf5", {".h5", ".hdf5", ".he5"}},
               [TO_JSON] = {"json", {".json"}}};
enum { FORMATS = sizeof formats / sizeof *formats };

static int ends_with(const char *path, const char *ending)
{
    const size_t n = strlen(path), m = strlen(ending);
    return n > m && !strcasecmp(path + n - m, ending);
}

/* FORMATS: the file's ending says no format. */
static int find_format(const options *o)
{
    const char *const to = o->value[OPT_to], *const path = o->value[OPT_output];
    for (int i = 0; i < FORMATS; i++) {
        if (to && !strcmp(to, formats[i].name)) return i;
        for (const char *const *end = formats[i].endings; *end && path && !to; end++)
            if (ends_with(path, *end)) return i;
    }
    return output_is_file(o) && !is_device(path) ? FORMATS : TO_TEXT;
}

enum format output_format(const options *o)
{
    const int found = find_format(o);
    return found == FORMATS ? TO_RAW : (enum format)found;
}

int ending_check(const options *o)
{
    static const struct {
        const char *ending, *instead;
    } others[] = {{".parquet", "`python -m tally` writes Parquet"},
                  {".arrow", "`python -m tally` writes Arrow"},
                  {".feather", "`python -m tally` writes Feather"},
                  {".gz", "compress standard output: `tally ... | gzip`"},
                  {".zst", "compress standard output: `tally ... | zstd`"},
                  {".npz", "write .npy"},
                  {".zip", "write .csv"},
                  {".xlsx", "write .csv"}};
    const char *const path = o->value[OPT_output];
    if (find_format(o) != FORMATS || !*path) return DONE;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (ends_with(path, others[i].ending))
            return fail(USAGE, "--output %s: %s files are not written here; %s", path,
                        others[i].ending, others[i].instead);
    return fail(USAGE,
                "--output %s: its ending says no format (.txt, .csv, .tsv, .npy, .raw, .bin, .nc, "
                ".nc4, .h5, .json); name it: --to text",
                path);
}

int overlap_check(const options *o)
{
    struct stat out, in;
    if (output_is_file(o) || fstat(STDOUT_FILENO, &out) || !S_ISREG(out.st_mode)) return DONE;
    for (int i = 1; i == 1 || i < o->nargs; i++) {
        const int piped = i >= o->nargs || !strcmp(o->args[i], "-");
        if (piped ? fstat(STDIN_FILENO, &in) : stat(o->args[i], &in)) continue;
        if (in.st_dev == out.st_dev && in.st_ino == out.st_ino)
            return fail(USAGE,
                        "%s is standard output too, which would be read while it is "
                        "written: use --output FILE",
                        piped ? "standard input" : o->args[i]);
    }
    return DONE;
}

const char *format_name(enum format format) { return formats[format].name; }

int is_csv(enum format format) { return format == TO_CSV || format == TO_TSV; }

int is_netcdf(enum format format)
{
    return format == TO_NETCDF || format == TO_NETCDF4 || format == TO_HDF5;
}

static ssize_t write_cookie(void *cookie, const char *data, size_t bytes)
{
    document *const d = cookie;
    if (!d->status) d->status = tally_file_write(d->file, data, (int64_t)bytes);
    return d->status ? 0 : (ssize_t)bytes;
}

int document_open(document *d, tally *ctx, const char *path)
{
    static const int64_t any[] = {-1};
    *d = (document){.ctx = ctx, .f = stdout};
    if (!path) return DONE;
    d->f = NULL;
    const int code =
        code_of(ctx, tally_file_create(ctx, path, "raw", TALLY_U8, 1, any, 0, &d->file));
    if (code) return code;
    d->f = fopencookie(d, "w", (cookie_io_functions_t){.write = write_cookie});
    return d->f ? DONE : fail_memory(path, BUFSIZ);
}

int document_close(document *d, int code)
{
    if (!d->file) return !code && d->f && ferror(d->f) ? stdout_finish(DONE) : code;
    if (d->f) fclose(d->f); /* writes what is buffered; d->status tells whether that failed */
    if (!code && !d->status) d->status = tally_file_commit(d->file);
    if (!code) code = code_of(d->ctx, d->status);
    tally_file_close(d->file);
    return code;
}

/* ---- one file with two names: through links or folders, or a file that does not exist yet ---- */

/* The name at the end of symbolic links, even if it does not exist. Both buffers have PATH_MAX
 * bytes. */
static void follow(const char *name, char *to)
{
    char link[PATH_MAX];
    snprintf(to, PATH_MAX, "%s", name);
    for (int i = 0; i < 40; i++) {
        const ssize_t n = readlink(to, link, sizeof link - 1);
        if (n < 0) return;
        link[n] = 0;
        char *const slash = strrchr(to, '/');
        const size_t folder = *link == '/' || !slash ? 0 : (size_t)(slash - to) + 1;
        snprintf(to + folder, PATH_MAX - folder, "%s", link);
    }
}

/* Finds the folder of a name, and the name in the folder. */
static int folder_of(char *name, struct stat *folder, const char **base)
{
    char *const slash = strrchr(name, '/');
    *base = slash ? slash + 1 : name;
    if (slash == name) return stat("/", folder);
    if (slash) *slash = 0;
    return stat(slash ? name : ".", folder);
}

int same_file(const char *a, const char *b)
{
    struct stat x, y;
    const int there = stat(a, &x) == 0, there_too = stat(b, &y) == 0;
    if (there && there_too) return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    if (there || there_too) return 0;
    char one[PATH_MAX], two[PATH_MAX];
    const char *base, *other;
    follow(a, one);
    follow(b, two);
    if (folder_of(one, &x, &base) || folder_of(two, &y, &other)) return !strcmp(a, b);
    return x.st_dev == y.st_dev && x.st_ino == y.st_ino && !strcmp(base, other);
}
