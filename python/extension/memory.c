/* SPDX-License-Identifier: MIT
 * Large blocks of memory for results. A fresh block of the system costs a page fault for every page
 * that is written, which may take longer than a scan. So blocks have large pages, are touched
 * first by the threads that write the results, and when an array dies its block is kept for the
 * next one. A kept block is marked as free (MADV_FREE): the system takes its pages back when it
 * needs memory. At most TALLY_KEEP bytes are kept, by default an eighth of the memory and not more
 * than 2 GiB; TALLY_KEEP=0 keeps none.
 *
 * And device memory from functions of Python, which are called from the library, with the GIL. */
#define _GNU_SOURCE
#include "pt.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCKS = 16, PAGE = 1 << 21 };

static struct {
    pthread_mutex_t lock;
    int is_read; /* the limit is read */
    size_t limit, total;
    int count;
    struct {
        void *at;
        size_t bytes;
    } block[BLOCKS]; /* the oldest first */
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t rounded(size_t bytes) { return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1); }

/* Memory on large pages, which free releases. */
static void *large(size_t bytes)
{
    if (bytes < PT_LARGE || bytes > SIZE_MAX / 2) return malloc(bytes ? bytes : 1);
    void *const at = aligned_alloc(PAGE, rounded(bytes));
#ifdef MADV_HUGEPAGE
    if (at) madvise(at, rounded(bytes), MADV_HUGEPAGE);
#endif
    return at;
}

static void read_limit(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const char *const text = getenv("TALLY_KEEP");
    char *end = NULL;
    kept.is_read = 1;
    kept.limit = pages > 0 && page > 0 ? (size_t)pages / 8 * (size_t)page : 0;
    if (kept.limit > (size_t)1 << 31) kept.limit = (size_t)1 << 31;
    if (!text || *text < '0' || *text > '9') return;
    const unsigned long long number = strtoull(text, &end, 10);
    const int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    kept.limit = number > SIZE_MAX >> shift ? SIZE_MAX : (size_t)number << shift;
}

/* Removes block i from the list. */
static void *remove_block(int i)
{
    void *const at = kept.block[i].at;
    kept.total -= kept.block[i].bytes;
    kept.count--;
    for (; i < kept.count; i++) kept.block[i] = kept.block[i + 1];
    return at;
}

void *pt_block_take(size_t bytes)
{
    void *found = NULL;
    const size_t wanted = bytes > SIZE_MAX / 2 ? bytes : rounded(bytes);
    /* busy, or held by a thread that a fork lost: then there is no kept block */
    if (bytes < PT_LARGE || pthread_mutex_trylock(&kept.lock)) return large(bytes);
    for (int i = kept.count - 1; i >= 0 && !found; i--)
        if (kept.block[i].bytes == wanted) found = remove_block(i);
    pthread_mutex_unlock(&kept.lock);
    return found ? found : large(bytes);
}

void pt_block_give(void *at, size_t bytes)
{
    if (!at || bytes < PT_LARGE || pthread_mutex_trylock(&kept.lock)) {
        free(at);
        return;
    }
    bytes = rounded(bytes);
    if (!kept.is_read) read_limit();
    while (kept.count && (kept.count == BLOCKS || kept.total + bytes > kept.limit) &&
           bytes <= kept.limit)
        free(remove_block(0));
    if (bytes <= kept.limit) {
#ifdef MADV_FREE
        madvise(at, bytes, MADV_FREE);
#endif
        kept.block[kept.count].at = at;
        kept.block[kept.count++].bytes = bytes;
        kept.total += bytes;
        at = NULL;
    }
    pthread_mutex_unlock(&kept.lock);
    free(at);
}

/* ---- device memory from functions of Python ---- */

/* Pairs of functions are never freed: contexts may hold memory of an earlier one until they are
 * used again. */
struct pt_allocator {
    PyObject *allocate, *release;
};
static _Atomic(const pt_allocator *) wanted; /* NULL: the library's own */

/* allocate(bytes, stream) -> address */
static void *allocate(size_t bytes, void *stream, void *user)
{
    const pt_allocator *const a = user;
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *const address = PyObject_CallFunction(a->allocate, "nK", (Py_ssize_t)bytes,
                                                    (unsigned long long)(uintptr_t)stream);
    void *const memory = address && PyLong_Check(address) ? PyLong_AsVoidPtr(address) : NULL;
    Py_XDECREF(address);
    PyErr_Clear(); /* the library says that there is no memory, after it tried without its caches */
    PyGILState_Release(state);
    return memory;
}

/* release(address, bytes, stream) */
static void release(void *memory, size_t bytes, void *stream, void *user)
{
    const pt_allocator *const a = user;
    if (!Py_IsInitialized()) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *const done =
        PyObject_CallFunction(a->release, "KnK", (unsigned long long)(uintptr_t)memory,
                              (Py_ssize_t)bytes, (unsigned long long)(uintptr_t)stream);
    if (!done) PyErr_WriteUnraisable(a->release);
    Py_XDECREF(done);
    PyGILState_Release(state);
}

int pt_catch_up_allocator(pt_slot *slot)
{
    const pt_allocator *const a = atomic_load(&wanted);
    const tally_allocator functions = {allocate, release, (void *)(uintptr_t)a};
    if (!slot->is_gpu || slot->allocator == a) return 0;
    tally_status status;
    Py_BEGIN_ALLOW_THREADS status = tally_use_allocator(slot->ctx, a ? &functions : NULL);
    Py_END_ALLOW_THREADS if (status) return pt_raise(slot->ctx, status);
    slot->allocator = a;
    return 0;
}

/* use_allocator(allocate, release), or two times None */
PyObject *pt_use_allocator(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (pt_count("use_allocator", count, 2)) return NULL;
    pt_allocator *const a = args[0] == Py_None ? NULL : malloc(sizeof *a);
    if (args[0] != Py_None) {
        if (!a) return PyErr_NoMemory();
        *a = (pt_allocator){Py_NewRef(args[0]), Py_NewRef(args[1])};
    }
    atomic_store(&wanted, a);
    Py_RETURN_NONE;
}
