/* SPDX-License-Identifier: MIT
 * The disk cache, and the list of what must be cleaned up.
 *
 * The disk cache: $XDG_CACHE_HOME/tally or ~/.cache/tally, with one file per entry, named by a hash
 * of its key. A file has a header (magic, length, checksum), the key, and the code. A file that
 * does not match its header or key is ignored and replaced. The same applies to a file that another
 * user owns or may write, because its code would run with the rights of this process. A new file is
 * written under a temporary name and renamed, so processes can share the folder. Files with other
 * names are not touched. A failure here costs only time.
 *
 * The list has files, folders and child processes, and tally_abandon cleans them up. A spin lock
 * guards the list. The thread that holds it has its signals blocked, so a signal handler never
 * waits for the thread that it interrupted. */
#define _GNU_SOURCE
#include "store.h"
#include "tally.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 600 };

/* the oldest files are removed above this size */
static const long long FOLDER_BYTES = 512ll << 20;

typedef struct {
    char magic[8];
    uint64_t key_bytes, bytes, checksum;
} header;

static const char MAGIC[8] = "tally-1";

/* FNV-1a, 64 bits. */
static uint64_t hash(uint64_t h, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++) h = (h ^ p[i]) * 0x100000001b3ull;
    return h;
}

/* Returns 0 if there is no folder. */
static int folder(char *to)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length;

    if (xdg && *xdg == '/')
        length = snprintf(to, PATH_BYTES, "%s/tally", xdg);
    else if (home && *home == '/')
        length = snprintf(to, PATH_BYTES, "%s/.cache/tally", home);
    else
        return 0;
    return length < PATH_BYTES - 64;
}

static int path_of(char *to, const void *key, size_t key_bytes)
{
    if (!folder(to)) return 0;
    size_t used = strlen(to);
    snprintf(to + used, PATH_BYTES - used, "/%016lx.bin",
             hash(0xcbf29ce484222325ull, key, key_bytes));
    return 1;
}

/* Whether path_of made this name, or the name is a temporary file of mkstemp that a killed
 * process left. */
static int is_ours(const char *name)
{
    static const char ending[] = ".bin";
    if (strspn(name, "0123456789abcdef") != 16 || strncmp(name + 16, ending, sizeof ending - 1))
        return 0;
    const char *rest = name + 16 + sizeof ending - 1;
    return !*rest || (*rest == '.' && strlen(rest) == 7);
}

/* Opens a regular file that only this user can write, or returns NULL. Without O_NONBLOCK,
 * opening a FIFO would wait for its writer. */
static FILE *open_ours(const char *path, struct stat *info)
{
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) return NULL;
    FILE *f = !fstat(descriptor, info) && S_ISREG(info->st_mode) && info->st_uid == geteuid() &&
                      !(info->st_mode & 022)
                  ? fdopen(descriptor, "rb")
                  : NULL;
    if (!f) close(descriptor);
    return f;
}

void *tl_cache_load(const void *key, size_t key_bytes, size_t *bytes)
{
    char path[PATH_BYTES];
    header h;
    struct stat info;
    char *data = NULL;
    FILE *f = path_of(path, key, key_bytes) ? open_ours(path, &info) : NULL;
    if (!f) return NULL;

    if (fread(&h, sizeof h, 1, f) == 1 && !memcmp(h.magic, MAGIC, sizeof MAGIC) &&
        h.key_bytes == key_bytes && h.bytes < 1ull << 32 &&
        (uint64_t)info.st_size == sizeof h + h.key_bytes + h.bytes)
        data = malloc(key_bytes + h.bytes);

    if (data &&
        (fread(data, 1, key_bytes + h.bytes, f) != key_bytes + h.bytes ||
         memcmp(data, key, key_bytes) || hash(0, data, key_bytes + h.bytes) != h.checksum)) {
        free(data);
        data = NULL;
    }

    fclose(f);
    if (!data) return NULL;

    memmove(data, data + key_bytes, h.bytes);
    *bytes = h.bytes;
    return data;
}

typedef struct {
    time_t time;
    long long bytes;
    char name[32]; /* as is_ours takes them */
} entry;

static int earlier(const void *a, const void *b)
{
    const entry *const x = a, *const y = b;
    return (x->time > y->time) - (x->time < y->time);
}

/* Removes the oldest files of the cache until the others have fewer than FOLDER_BYTES. */
static void trim(const char *at)
{
    size_t count = 0, capacity = 0;
    entry *entries = NULL;
    long long total = 0;
    struct stat info;
    DIR *d = opendir(at);
    if (!d) return;

    for (struct dirent *e; (e = readdir(d));) {
        if (!is_ours(e->d_name) || fstatat(dirfd(d), e->d_name, &info, AT_SYMLINK_NOFOLLOW) ||
            !S_ISREG(info.st_mode))
            continue;
        if (count == capacity) {
            capacity = 2 * capacity + 64;
            entry *const more = realloc(entries, capacity * sizeof *entries);
            if (!more) break; /* the files that are known may do */
            entries = more;
        }
        entry *const x = &entries[count++];
        x->time = info.st_mtime;
        total += x->bytes = info.st_size;
        memcpy(x->name, e->d_name, strlen(e->d_name) + 1);
    }

    if (total > FOLDER_BYTES) qsort(entries, count, sizeof *entries, earlier);
    for (size_t i = 0; i < count && total > FOLDER_BYTES; total -= entries[i++].bytes)
        if (unlinkat(dirfd(d), entries[i].name, 0)) break;
    closedir(d);
    free(entries);
}

void tl_cache_store(const void *key, size_t key_bytes, const void *data, size_t bytes)
{
    char at[PATH_BYTES], path[PATH_BYTES], temporary[PATH_BYTES + 32];
    if (!folder(at) || !path_of(path, key, key_bytes)) return;

    char *slash = strrchr(at, '/');
    *slash = 0;
    mkdir(at, 0700); /* if this fails, the folder exists already, or nothing can be stored */
    *slash = '/';
    mkdir(at, 0700);
    snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);

    /* mkstemp makes a file that only its owner can read and write */
    int descriptor = mkstemp(temporary);
    if (descriptor < 0) return;
    FILE *f = fdopen(descriptor, "wb");
    if (!f) {
        close(descriptor);
        unlink(temporary);
        return;
    }

    header h = {{0}, key_bytes, bytes, hash(hash(0, key, key_bytes), data, bytes)};
    memcpy(h.magic, MAGIC, sizeof MAGIC);
    int whole = fwrite(&h, sizeof h, 1, f) == 1 && fwrite(key, 1, key_bytes, f) == key_bytes &&
                fwrite(data, 1, bytes, f) == bytes;
    if (fclose(f) || !whole || rename(temporary, path)) unlink(temporary);
    trim(at);
}

void tl_cache_drop(const void *key, size_t key_bytes)
{
    char path[PATH_BYTES];
    if (path_of(path, key, key_bytes)) unlink(path);
}

/* ---- the list of what must be cleaned up ---- */

enum { POLLS = 200, WAIT_MS = 10 }; /* a child has 2 s to end after SIGTERM */

static tl_cleanup *to_clean_up;
static atomic_int holder; /* the process whose thread has the list; 0: none */

void tl_cleanup_hold(sigset_t *old)
{
    sigset_t entries;
    sigfillset(&entries);
    pthread_sigmask(SIG_SETMASK, &entries, old);
}

void tl_cleanup_release(const sigset_t *old) { pthread_sigmask(SIG_SETMASK, old, NULL); }

static void lock(sigset_t *old)
{
    const int here = (int)getpid();
    tl_cleanup_hold(old);
    /* in a child of fork, a thread of the parent that has the list does not exist */
    for (int by = 0; by == here || !atomic_compare_exchange_weak(&holder, &by, here);)
        if (by == here) by = 0;
}

static void unlock(const sigset_t *old)
{
    atomic_store(&holder, 0);
    tl_cleanup_release(old);
}

static void add(tl_cleanup *l)
{
    sigset_t old;
    l->owner = getpid();
    lock(&old);
    l->next = to_clean_up;
    l->at = &to_clean_up;
    if (to_clean_up) to_clean_up->at = &l->next;
    to_clean_up = l;
    unlock(&old);
}

void tl_cleanup_path(tl_cleanup *l, void (*undo)(const char *path), const char *path)
{
    l->undo = undo;
    l->path = path;
    add(l);
}

void tl_cleanup_child(tl_cleanup *l, pid_t child)
{
    l->undo = NULL;
    l->child = child;
    add(l);
}

static void take_out(tl_cleanup *l)
{
    *l->at = l->next;
    if (l->next) l->next->at = l->at;
    l->at = NULL;
}

void tl_cleanup_drop(tl_cleanup *l)
{
    sigset_t old;
    lock(&old);
    if (l->at) take_out(l);
    unlock(&old);
}

/* Ends a child and the processes that it started: asks first, then kills them. */
static void end_child(pid_t child)
{
    int status;
    kill(-child, SIGTERM);
    for (int i = 0; i < POLLS && waitpid(child, &status, WNOHANG) == 0; i++) poll(NULL, 0, WAIT_MS);
    kill(-child, SIGKILL);
}

void tally_abandon(void)
{
    const int error = errno;
    const pid_t process = getpid();
    sigset_t old;

    lock(&old);

    /* children first, because a running compiler writes into its folder */
    for (int paths = 0; paths < 2; paths++)
        for (tl_cleanup *l = to_clean_up, *next; l; l = next) {
            next = l->next;
            if ((l->undo != NULL) != paths || l->owner != process) continue;
            if (paths)
                l->undo(l->path);
            else
                end_child(l->child);
            take_out(l);
        }

    unlock(&old);
    errno = error;
}
