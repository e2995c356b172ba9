/* SPDX-License-Identifier: MIT
 * same.c - whether two names refer to one file: through links, through other folders, or for a file
 * that does not exist yet. */
#define _GNU_SOURCE
#include "cli.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
