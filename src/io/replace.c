/* SPDX-License-Identifier: MIT
 * A new file that replaces another. It is made in the same folder, synced to disk and renamed. So
 * the target's name always refers to the old file or to the complete new one, also after a power
 * failure.
 *
 *    O_TMPFILE       the new file has no name until it is complete: if the process dies, the
 *                    file is gone
 *    else            .tally-<random>.tmp, in the list of store/cleanup.h until it is renamed
 *                    or removed */
#define _GNU_SOURCE
#include "writer.h"
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DESCRIPTOR = 32 };

static void remove_temp(const char *path) { unlink(path); }

/* The path of the descriptor in /proc, by which linkat can name a file without a name. */
static const char *descriptor(int fd, char *path)
{
    snprintf(path, DESCRIPTOR, "/proc/self/fd/%d", fd);
    return path;
}

/* Length of the target's folder in its path, with the last slash. */
static int folder_length(const char *target)
{
    const char *const slash = strrchr(target, '/');
    return slash ? (int)(slash - target) + 1 : 0;
}

/* Opens a file without a name. -1: not possible here. */
static int open_unnamed(const char *target)
{
    const int n = folder_length(target);
    char path[DESCRIPTOR], *const folder = strndup(n ? target : ".", n ? (size_t)n : 1);
    if (!folder) return -1;
    const int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    free(folder);
    if (fd < 0 || access(descriptor(fd, path), F_OK) == 0) return fd;
    close(fd); /* without /proc it could not be named */
    return -1;
}

/* Gives the new file an unused name in the target's folder. If *fd < 0, also creates the file.
 * Returns 0 with errno on failure. */
static int name_it(tl_replacement *r, int *fd)
{
    const int n = folder_length(r->target);
    const size_t capacity = (size_t)n + 40;
    char from[DESCRIPTOR];
    struct timespec now;
    sigset_t held;
    int done = 0;
    if (!(r->temp = malloc(capacity))) return 0;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed = (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 30 ^ (uint64_t)getpid() << 16 ^
                    (uintptr_t)r;
    tl_cleanup_hold(&held);

    for (int i = 0; i < 100 && !done; i++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        snprintf(r->temp, capacity, "%.*s.tally-%012llx.tmp", n, r->target,
                 (unsigned long long)(seed >> 16));

        if (*fd >= 0) {
            done =
                linkat(AT_FDCWD, descriptor(*fd, from), AT_FDCWD, r->temp, AT_SYMLINK_FOLLOW) == 0;
        } else {
            *fd = open(r->temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            done = *fd >= 0;
        }

        if (!done && errno != EEXIST) break;
    }

    if (done) tl_cleanup_path(&r->cleanup, remove_temp, r->temp);
    tl_cleanup_release(&held);

    if (!done) {
        free(r->temp);
        r->temp = NULL;
    }
    return done;
}

const char *tl_replace_open(tl_replacement *r, const struct stat *old, int named, int *fd)
{
    *fd = named ? -1 : open_unnamed(r->target);
    if (*fd < 0 && !name_it(r, fd)) return "creating a temporary file beside it";
    return old && fchmod(*fd, old->st_mode & 0777) != 0 ? "keeping its mode" : NULL;
}

const char *tl_replace_finish(tl_replacement *r, int fd)
{
    if (fsync(fd) != 0) return "bringing it to the disk";
    return r->temp || name_it(r, &fd) ? NULL : "giving it a name";
}

const char *tl_replace_commit(tl_replacement *r)
{
    if (rename(r->temp, r->target) != 0) return "renaming into place";
    tl_cleanup_drop(&r->cleanup);
    free(r->temp);
    r->temp = NULL;
    return NULL;
}

void tl_replace_drop(tl_replacement *r)
{
    if (r->temp) {
        unlink(r->temp);
        tl_cleanup_drop(&r->cleanup);
    }
    free(r->temp);
    free(r->target);
    r->temp = r->target = NULL;
}
