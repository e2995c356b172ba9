/* SPDX-License-Identifier: MIT
 * The disk cache of compiled programs (src/store/store.c): what was stored comes back; a file
 * that is truncated, altered or of another key is as good as none; a folder that cannot be made
 * costs nothing else; old files go when there are too many bytes, and files of others never. */
#include "gpu/gpu.h"
#include "check.h"
#include <dirent.h>
#include <fcntl.h>
#include <utime.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[400], file[800];

/* The one file in the cache. */
static int find_file(void)
{
    char at[500];
    int count = 0;
    snprintf(at, sizeof at, "%s/tally", folder);
    DIR *d = opendir(at);
    if (!d) return 0;
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.') {
            snprintf(file, sizeof file, "%s/%s", at, e->d_name);
            count++;
        }
    closedir(d);
    return count;
}

static int loads(const char *key, const void *want, size_t bytes)
{
    size_t got = 0;
    void *data = tl_cache_load(key, strlen(key), &got);
    int same = data && got == bytes && !memcmp(data, want, bytes);
    free(data);
    return data ? (same ? 1 : -1) : 0;
}

/* A file of `bytes` bytes (none of them on the disk), last written `age` seconds ago. */
static void plant(const char *name, off_t bytes, int age)
{
    char path[900];
    snprintf(path, sizeof path, "%s/tally/%s", folder, name);
    int descriptor = open(path, O_WRONLY | O_CREAT, 0600);
    if (descriptor < 0 || ftruncate(descriptor, bytes)) exit(2);
    close(descriptor);
    utime(path, &(struct utimbuf){time(NULL) - age, time(NULL) - age});
}

/* Removes it if it is there. */
static int was_there(const char *name)
{
    char path[900];
    snprintf(path, sizeof path, "%s/tally/%s", folder, name);
    return !unlink(path) || !rmdir(path);
}

/* The folder has a limit for what is stored in it, and other files. */
static void folder_limit(const char *code, size_t bytes)
{
    static const char *const foreign[] = {"precious.dat",          "0123456789abcdef.bin.old",
                                          "0123456789abcdef.bing", "0123456789abcde.bin",
                                          "0123456789ABCDEF.bin",  "x0123456789abcdef.bin",
                                          "0123456789abcdef",      ".hidden"};
    enum { FOREIGN = sizeof foreign / sizeof *foreign };
    const off_t large = (off_t)600 << 20;
    char path[900];
    for (int i = 0; i < FOREIGN; i++) plant(foreign[i], large, 100000);
    /* the older ones go until the rest is small enough */
    plant("0123456789abcdef.bin", large, 5000);
    plant("00000000000000aa.bin.x1Y2z3", 1000, 9000);
    plant("00000000000000bb.bin", 1000, 4000);
    snprintf(path, sizeof path, "%s/tally/00000000000000cc.bin", folder);
    check(!mkdir(path, 0700), "a folder with a file's name");
    tl_cache_store("key", 3, code, bytes);
    for (int i = 0; i < FOREIGN; i++)
        check(was_there(foreign[i]), "%s is not the cache's, and was removed", foreign[i]);
    check(!was_there("0123456789abcdef.bin") && !was_there("00000000000000aa.bin.x1Y2z3"),
          "old files of the cache are still there");
    check(was_there("00000000000000bb.bin") && was_there("00000000000000cc.bin"),
          "what fits, and what is no file, stays");
    check(loads("key", code, bytes) == 1, "the new file");

    check(find_file() == 1 && !unlink(file) && !mkfifo(file, 0600),
          "a FIFO with the name of an entry");
    alarm(20);
    check(loads("key", code, bytes) == 0, "a FIFO is not an entry");
    tl_cache_store("key", 3, code, bytes);
    check(loads("key", code, bytes) == 1, "and gives way to one");
    alarm(0);
}

/* A folder of another version, far above the limit: one look at it is enough. */
static void many_old_files(const char *code, size_t bytes)
{
    enum { COUNT = 10000, KEPT = 511 }; /* of 1 MiB each, beside the new one */
    char name[30];
    int left = 0;
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "%016x.bin", i);
        plant(name, 1 << 20, 100 + i);
    }
    alarm(20);
    tl_cache_store("key", 3, code, bytes);
    alarm(0);
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "%016x.bin", i);
        const int there = was_there(name);
        left += there;
        check(there == (i < KEPT), "file %d of %d was %s", i, COUNT, there ? "kept" : "removed");
    }
    check(left == KEPT, "%d files are kept", left);
}

int main(void)
{
    char code[1000], whole[4000];
    check_start();
    for (size_t i = 0; i < sizeof code; i++) code[i] = (char)check_random();
    if (!getcwd(folder, sizeof folder - 8)) return 1;
    strcat(folder, "/cache");
    setenv("XDG_CACHE_HOME", folder, 1);
    if (find_file()) unlink(file); /* of a run before */
    mkdir(folder, 0700);

    check(loads("key", code, sizeof code) == 0, "an empty cache has nothing");
    tl_cache_store("key", 3, code, sizeof code);
    check(find_file() == 1, "one file, and no temporary one, after a store");
    check(loads("key", code, sizeof code) == 1, "what was stored comes back");
    check(loads("kez", code, sizeof code) == 0, "another key has nothing");

    FILE *f = fopen(file, "rb");
    size_t length = f ? fread(whole, 1, sizeof whole, f) : 0;
    if (f) fclose(f);
    check(length > sizeof code, "the file has %zu bytes", length);
    for (size_t cut = 0; cut < length; cut += cut < 64 ? 1 : 97) {
        if (truncate(file, (off_t)cut)) return 1;
        check(loads("key", code, sizeof code) == 0, "truncated to %zu bytes", cut);
        f = fopen(file, "wb");
        if (!f || fwrite(whole, 1, length, f) != length) return 1;
        fclose(f);
    }
    for (size_t at = 0; at < length; at += at < 64 ? 1 : 53) {
        f = fopen(file, "r+b");
        if (!f || fseek(f, (long)at, SEEK_SET)) return 1;
        fputc(whole[at] ^ 0x40, f);
        fclose(f);
        check(loads("key", code, sizeof code) == 0, "byte %zu altered", at);
        f = fopen(file, "r+b");
        if (!f || fseek(f, (long)at, SEEK_SET)) return 1;
        fputc(whole[at], f);
        fclose(f);
    }
    check(loads("key", code, sizeof code) == 1, "whole again");
    chmod(file, 0622);
    check(loads("key", code, sizeof code) == 0, "a file that others may write");
    chmod(file, 0600);
    tl_cache_store("key", 3, code + 1, sizeof code - 1);
    check(loads("key", code + 1, sizeof code - 1) == 1 && find_file() == 1,
          "a second store replaces the first");
    folder_limit(code, sizeof code);
    many_old_files(code, sizeof code);

    setenv("XDG_CACHE_HOME", "/proc/no/such/place", 1);
    tl_cache_store("key", 3, code, sizeof code);
    check(loads("key", code, sizeof code) == 0, "a folder that cannot be made");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    tl_cache_store("key", 3, code, sizeof code);
    check(loads("key", code, sizeof code) == 0, "no home");
    unlink(file);
    return check_finish();
}
