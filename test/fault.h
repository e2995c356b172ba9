/* SPDX-License-Identifier: MIT
 * Allocations that fail: malloc and its kin, defined over glibc's own. Only allocations called
 * from this program's code (the static library is part of it) are counted, failed and watched
 * for leaks; the C library gets its own. Under a sanitizer, which has its own malloc,
 * nothing is counted and nothing fails. */
#ifndef TALLY_TEST_FAULT_H
#define TALLY_TEST_FAULT_H
#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define SANITIZED 1
#endif

/* seen: allocations so far. Allocation number fail_at fails, and with fail_all every later one
   too. */
static __attribute__((unused)) atomic_int counting, seen, fail_at, fail_all;

#ifndef SANITIZED
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);
extern char __executable_start, etext;

enum { LIVE = 1 << 12 };
static void *live[LIVE]; /* what this program's code holds */
static int live_count;
static atomic_flag live_lock = ATOMIC_FLAG_INIT;

static void live_swap(void *old, void *new)
{
    while (atomic_flag_test_and_set_explicit(&live_lock, memory_order_acquire)) {
    }
    for (int i = 0; i < LIVE; i++)
        if (live[i] == old) {
            live[i] = new;
            live_count += (new != NULL) - (old != NULL);
            break;
        }
    atomic_flag_clear_explicit(&live_lock, memory_order_release);
}

/* 1 if this allocation must fail. ours: by the caller's address. */
static int fails(const char *caller, int *ours)
{
    *ours = atomic_load(&counting) && caller >= &__executable_start && caller < &etext;
    if (!*ours) return 0;
    int number = atomic_fetch_add(&seen, 1) + 1, at = atomic_load(&fail_at);
    return at && (number == at || (number > at && atomic_load(&fail_all)));
}

#define ALLOCATE(how) \
    int ours; \
    if (fails(__builtin_return_address(0), &ours)) { \
        errno = ENOMEM; \
        return NULL; \
    } \
    void *p = how; \
    if (ours && p) live_swap(NULL, p); \
    return p

__attribute__((noinline)) void *malloc(size_t n) { ALLOCATE(__libc_malloc(n)); }
__attribute__((noinline)) void *calloc(size_t n, size_t m) { ALLOCATE(__libc_calloc(n, m)); }
__attribute__((noinline)) void *aligned_alloc(size_t a, size_t n)
{
    ALLOCATE(__libc_memalign(a, n));
}
__attribute__((noinline)) void *memalign(size_t a, size_t n) { ALLOCATE(__libc_memalign(a, n)); }
__attribute__((noinline)) int posix_memalign(void **to, size_t a, size_t n)
{
    int ours;
    if (fails(__builtin_return_address(0), &ours)) return ENOMEM;
    *to = __libc_memalign(a, n);
    if (ours && *to) live_swap(NULL, *to);
    return *to ? 0 : ENOMEM;
}
__attribute__((noinline)) void *realloc(void *old, size_t n)
{
    int ours;
    if (fails(__builtin_return_address(0), &ours)) {
        errno = ENOMEM;
        return NULL;
    }
    if (old) live_swap(old, NULL);
    void *p = __libc_realloc(old, n);
    if (ours && p) live_swap(NULL, p);
    return p;
}
__attribute__((noinline)) void free(void *p)
{
    if (p) live_swap(p, NULL);
    __libc_free(p);
}
#else
static __attribute__((unused)) int live_count;
#endif
#endif
