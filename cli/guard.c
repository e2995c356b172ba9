/* SPDX-License-Identifier: MIT
 * guard.c - handles a mapped input that becomes shorter while it is read.
 *
 * An access to a page that is no longer in the file raises SIGBUS. The handler maps zeros from
 * that page to the end of the mapping, and the work continues. guard_hit then returns 1, and the
 * verb fails in the usual way, which removes temporary files. Reading into a buffer needs no
 * guard, but is slower for files in the page cache. */
#define _GNU_SOURCE
#include "cli.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GUARDS = 4 }; /* the input, the offsets, and two more */
static struct {
    volatile uintptr_t from, to;
    volatile sig_atomic_t used, hit;
} guards[GUARDS];
static uintptr_t page;

static void on_bus(int number, siginfo_t *info, void *context)
{
    (void)context;
    const uintptr_t at = (uintptr_t)info->si_addr;
    for (int i = 0; i < GUARDS; i++) {
        const uintptr_t from = at / page * page, to = guards[i].to;
        if (!guards[i].used || at < guards[i].from || at >= to) continue;
        void *const zeros = mmap((void *)from, to - from, PROT_READ,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (zeros == MAP_FAILED) break;
        guards[i].hit = 1;
        return;
    }
    /* not a guarded mapping: the signal is raised again and ends the process */
    signal(number, SIG_DFL);
}

int guard_add(const void *from, int64_t bytes)
{
    struct sigaction act = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
    int i = 0;
    while (i < GUARDS && guards[i].used) i++;
    if (!page) {
        page = (uintptr_t)sysconf(_SC_PAGESIZE);
        sigemptyset(&act.sa_mask);
        if (sigaction(SIGBUS, &act, NULL) != 0) page = 0;
    }
    if (i == GUARDS || !page) return 0;
    guards[i].from = (uintptr_t)from;
    guards[i].to = ((uintptr_t)from + (uintptr_t)bytes + page - 1) / page * page;
    guards[i].hit = 0;
    guards[i].used = 1;
    return i + 1;
}

int guard_hit(int guard) { return guard > 0 && guards[guard - 1].hit; }

void guard_remove(int guard)
{
    if (guard > 0) guards[guard - 1].used = 0;
}
