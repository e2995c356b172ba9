/* SPDX-License-Identifier: MIT
 * What outlives a call: compiled programs on disk, and what must be cleaned up after a signal; the
 * notes of libraries that are opened at run time. */
#pragma once

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- the cache ----
 *
 * Compiled programs, and the devices that passed the probe, for later processes; the keys under
 * which programs are found; and the texts that they are made from. */

/* Loads the entry with this key (any bytes). NULL if there is none. The caller frees it. */
void *tl_cache_load(const void *key, size_t key_bytes, size_t *bytes);

/* Stores an entry. If that fails, a later call compiles the program again. */
void tl_cache_store(const void *key, size_t key_bytes, const void *data, size_t bytes);

/* Removes an entry, if there is one. */
void tl_cache_drop(const void *key, size_t key_bytes);

/* A hash of what a stored entry was made from: FNV-1a of 128 bits; two texts have the same key with
 * a chance of 2^-128. */
typedef struct {
    uint64_t high, low;
} tl_key;

static const tl_key tl_key_start = {0x6c62272e07bb0142u, 0x62b821756295c58du};

/* key * (2^88 + 0x13b) mod 2^128 in halves; 40 kB take 0.1 ms. */
static inline tl_key tl_key_add(tl_key key, const void *data, size_t bytes)
{
    const unsigned char *p = (const unsigned char *)data;
    for (size_t i = 0; i < bytes; i++) {
        uint64_t low = key.low ^ p[i], part = (low & 0xffffffff) * 0x13b,
                 rest = (low >> 32) * 0x13b + (part >> 32);
        key.high = key.high * 0x13b + (rest >> 32) + (low << 24);
        key.low = low * 0x13b;
    }
    return key;
}

/* The texts of src that compilers get at run time, which the build embeds (cmake/texts.cmake). */
typedef struct {
    const char *name; /* a path in src */
    const char *text;
} tl_source_text;

extern const tl_source_text tl_sources[]; /* ends with name NULL */

/* ---- the cleanup ----
 *
 * What must be cleaned up if the process ends in the middle of a call: temporary files, and the
 * folders and compilers of users' operators. Each is in a list as long as it exists. tally_abandon,
 * which a signal handler may call, cleans up everything in the list. */

typedef struct tl_cleanup {
    /* removes the path, with async-signal-safe calls only; NULL: a child process */
    void (*undo)(const char *path);
    const char *path; /* not copied; must live while it is in the list */
    /* child: the leader of its process group. owner: the process that added it, because a child
     * of fork has a copy of the list */
    pid_t child, owner;
    struct tl_cleanup *next, **at; /* at: NULL if it is not in the list */
} tl_cleanup;

/* Between hold and release no signal handler runs in this thread, so that creating a thing and
 * adding it to the list cannot be interrupted. */
void tl_cleanup_hold(sigset_t *old);
void tl_cleanup_release(const sigset_t *old);

/* Adds a path or a child process to the list. Requires: held. */
void tl_cleanup_path(tl_cleanup *l, void (*undo)(const char *path), const char *path);
void tl_cleanup_child(tl_cleanup *l, pid_t child);

/* Removes it from the list. Does nothing if it is not in the list (all zero: never added). */
void tl_cleanup_drop(tl_cleanup *l);

/* ---- notes ----
 *
 * A note in the section .note.dlopen of the library, for each library that is opened with dlopen.
 * Tools that make packages and images read these notes
 * (https://uapi-group.org/specifications/specs/elf_dlopen_metadata/). `readelf -n` shows them. */

/* Writes the note of a library; once per file. feature, text: a name and a description for people.
 * sonames: as in "\"libcuda.so.1\""; the first that exists is opened. */
#define TL_OPENS(feature, text, sonames) \
    TL_DLOPEN_NOTE("[{\"feature\":\"" feature "\",\"description\":\"" text \
                   "\",\"priority\":\"suggested\",\"soname\":[" sonames "]}]")
#define TL_DLOPEN_NOTE(json) \
    static const struct { \
        uint32_t owner_bytes, bytes, type; \
        char owner[4], text[(sizeof(json) + 3) / 4 * 4]; \
    } dlopen_note __attribute__((used, aligned(4), section(".note.dlopen"))) = { \
        4, sizeof(json), 0x407c0c0a /* the type of such notes */, "FDO", json}
