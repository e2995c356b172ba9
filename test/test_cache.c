/* SPDX-License-Identifier: MIT
 * The disk cache of compiled programs (src/device/cache.c): what was stored comes back; a file that is truncated,
 * altered or of another key is as good as none; a folder that cannot be made costs nothing else. */
#include "../src/device/gpu.h"
#include "check.h"
#include <dirent.h>
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
    check(loads("key", code + 1, sizeof code - 1) == 1 && find_file() == 1, "a second store replaces the first");

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
