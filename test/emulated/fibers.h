/* SPDX-License-Identifier: MIT
 * A grid of CUDA threads on one thread of the host: a fiber per thread, group after group. A
 * fiber runs until it waits at a barrier or a shuffle for the others of its group or warp.
 * Header only; run.h is the one user. */
#ifndef TALLY_TEST_FIBERS_H
#define TALLY_TEST_FIBERS_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { FIBERS = 320, FIBER_STACK = 128 << 10, FIBER_WARPS = FIBERS / 32 }; /* at most */

/* What the kernel's text calls (gpu/cuda/prelude_cuda.h of this folder). */
typedef struct emulator {
    int thread, group, groups;
    unsigned char *local_memory; /* the group's local memory whose size the launch gives */
    uint64_t (*shuffle)(uint64_t v, int at, int across);
    void (*warp_barrier)(void), (*group_barrier)(void);
} emulator;

static emulator fibers; /* fibers_begin */
/* (The compiler's own jumps: those of the C library would have the address sanitizer look at the
 * fiber's stack, which is none of a thread's.) */
static void *fiber_home[5], *fiber_at[FIBERS][5];
static int fiber_begun[FIBERS];
static char *fiber_stacks;
/* of this shuffle of a warp, and of the one before, which a slow fiber reads */
static uint64_t fiber_slots[2][FIBERS];
static int warp_round[FIBER_WARPS], warp_arrived[FIBER_WARPS], group_round, group_arrived,
    fibers_alive, fiber_ended[FIBERS];
static void (*fiber_body)(void);

/* (apart from the functions that it ends: a compiler wants it so) */
static __attribute__((noinline)) void fiber_jump(void **to) { __builtin_longjmp(to, 1); }

static __attribute__((noinline)) void fiber_yield(void)
{
    if (!__builtin_setjmp(fiber_at[fibers.thread])) fiber_jump(fiber_home);
}

static void fiber_warp_barrier(void)
{
    const int w = fibers.thread / 32, round = warp_round[w];
    if (++warp_arrived[w] == 32) {
        warp_arrived[w] = 0;
        warp_round[w]++;
    }
    while (warp_round[w] == round) fiber_yield();
}

static uint64_t fiber_shuffle(uint64_t v, int at, int across)
{
    const int lane = fibers.thread & 31, first = fibers.thread - lane;
    uint64_t *slots = fiber_slots[warp_round[fibers.thread / 32] & 1];
    slots[fibers.thread] = v;
    fiber_warp_barrier();
    return slots[first + (across ? lane ^ at : at & 31)];
}

static void fiber_group_end_round(void)
{
    if (group_arrived < fibers_alive) return;
    group_arrived = 0;
    group_round++;
}
static void fiber_group_barrier(void)
{
    const int round = group_round;
    group_arrived++;
    fiber_group_end_round();
    while (group_round == round) fiber_yield();
}

static void fiber_start(void)
{
    for (;; fiber_yield()) { /* from group to group, and from launch to launch */
        fiber_body();
        fiber_ended[fibers.thread] = 1;
        fibers_alive--;
        if (group_arrived) fiber_group_end_round();
    }
}

static void fibers_begin(void)
{
    fibers.shuffle = fiber_shuffle, fibers.warp_barrier = fiber_warp_barrier;
    fibers.group_barrier = fiber_group_barrier;
}

/* Fiber i goes on where it waits. Jumps, since swapcontext makes a call of the system each time:
   a third of a test. */
static __attribute__((noinline)) void fiber_go_on(int i)
{
    fibers.thread = i;
    if (__builtin_setjmp(fiber_home)) return;
    if (fiber_begun[i]) fiber_jump(fiber_at[i]);
    ucontext_t begin;
    getcontext(&begin);
    begin.uc_stack =
        (stack_t){.ss_sp = fiber_stacks + (size_t)i * FIBER_STACK, .ss_size = FIBER_STACK};
    fiber_begun[i] = 1;
    makecontext(&begin, fiber_start, 0);
    setcontext(&begin);
}

/* All groups of a launch, of `threads` threads each. 0: no memory. */
static int fibers_launch(void (*body)(void), int groups, int threads)
{
    if (!fiber_stacks) fiber_stacks = malloc((size_t)FIBERS * FIBER_STACK);
    if (!fiber_stacks) return 0;
    fiber_body = body;
    fibers.groups = groups;
    for (fibers.group = 0; fibers.group < groups; fibers.group++) {
        memset(fiber_ended, 0, sizeof fiber_ended);
        memset(warp_arrived, 0, sizeof warp_arrived);
        group_arrived = 0;
        fibers_alive = threads;
        while (fibers_alive)
            for (int i = 0; i < threads; i++)
                if (!fiber_ended[i]) fiber_go_on(i);
    }
    return 1;
}
#endif
