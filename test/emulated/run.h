/* SPDX-License-Identifier: MIT
 * CUDA's programs on a processor: the device of device.h with the kernels' texts compiled as C++
 * (gpu/cuda/prelude_cuda.h of this folder) and run on fibers. Where the compiler has them, the
 * address and the undefined sanitizer watch the kernels: a block on the device has the size that
 * was asked for, so what is read beside it, at an address that is not aligned, or at null, ends
 * the test or fails it, with the sentence of check_about. Header only. */
#ifndef TALLY_TEST_RUN_H
#define TALLY_TEST_RUN_H
#include "device.h"
#include <dlfcn.h>
#include <ucontext.h>
#include <unistd.h>

/* ---- fibers: a grid of CUDA threads on one thread of the host, a fiber per thread, group after
 * group. A fiber runs until it waits at a barrier or a shuffle for the others of its group or
 * warp. ---- */

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

/* ---- programs: the compiled texts ---- */

enum { ARGUMENTS = 48 };
/* Each kernel is a shared object of its own, compiled when it is launched first: most programs have
 * several kernels and launch one. */
struct tl_program {
    char *text;
    size_t length;
    void *objects[TL_KERNELS];
};

/* ---- the sanitizers: null where the test is built without them ---- */

#define WEAK __attribute__((weak))
extern WEAK void __asan_poison_memory_region(void const volatile *p, size_t bytes);
extern WEAK void __asan_unpoison_memory_region(void const volatile *p, size_t bytes);
extern WEAK void __asan_set_error_report_callback(void (*report)(const char *));
static char check_about[400]; /* what the test does now */
static void after_report(const char *report)
{
    (void)report;
    fprintf(stderr, "FAILED: %s\n", check_about);
}
/* The sanitizer calls it for each report. It is visible, because shared objects report too. */
__attribute__((visibility("default"))) void __ubsan_on_report(void);
void __ubsan_on_report(void) { check(0, "%s", check_about); }
/* Bytes that no kernel may touch. */
static void forbid(const volatile void *p, size_t bytes)
{
    if (__asan_poison_memory_region) __asan_poison_memory_region(p, bytes);
}
static void allow(const volatile void *p, size_t bytes)
{
    if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(p, bytes);
}

/* The library's own blocks come from a pool and may be larger than was asked for (the linker puts
 * these in the place of the functions: cmake/tests.cmake). They hold what a device's memory holds:
 * anything. */
tally_status __real_tl_gpu_take(tl_gpu_device *d, size_t bytes, tl_memory *memory);
void __real_tl_gpu_give(tl_gpu_device *d, tl_memory *memory);
tally_status __wrap_tl_gpu_take(tl_gpu_device *d, size_t bytes, tl_memory *memory);
void __wrap_tl_gpu_give(tl_gpu_device *d, tl_memory *memory);
tally_status __wrap_tl_gpu_take(tl_gpu_device *d, size_t bytes, tl_memory *memory)
{
    const tally_status status = __real_tl_gpu_take(d, bytes, memory);
    char *const p = bytes_at(memory->address);
    if (status || d->gpu != &gpu) return status;
    allow(p, memory->bytes);
    memset(p, 0xa5, memory->bytes);
    forbid(p + bytes, memory->bytes - bytes);
    return status;
}
void __wrap_tl_gpu_give(tl_gpu_device *d, tl_memory *memory)
{
    if (d->gpu == &gpu) allow(bytes_at(memory->address), memory->bytes);
    __real_tl_gpu_give(d, memory);
}

/* ---- programs ---- */

/* Compiles the kernel of `text` to a shared object. 0: the compiler fails. -fwrapv: threads beyond
 * a tile's end fold whatever local memory held, and leave the result out. -nostdlib: the program
 * has the libraries of mathematics and of the sanitizers, and to read them again was a third of
 * the compiler's time. */
static int compile(const char *kernel, const char *text, size_t length, const char *path)
{
    char command[600];
    FILE *f = fopen("emulated.cpp", "w");
    if (f) fprintf(f, "#define EMULATE_%s 0, extern \"C\"\n", kernel);
    const int written = f && fwrite(text, 1, length, f) == length;
    if (f) fclose(f);
    snprintf(command, sizeof command,
             "exec " EMULATED_CXX
             " -O0 -w -fwrapv -ffp-contract=off -fno-strict-aliasing -shared -nostdlib -fPIC -o %s "
             "emulated.cpp",
             path);
    return written && !system(command);
}

static tally_status run_build(tl_gpu *g, tally *c, const char *text, size_t length, tl_code how,
                              tl_program **p)
{
    (void)g, (void)how;
    *p = calloc(1, sizeof **p);
    if (*p) (*p)->text = malloc(length), (*p)->length = length;
    if (!*p || !(*p)->text) return tl_fail(c, TALLY_NO_MEMORY, "no memory for a text");
    memcpy((*p)->text, text, length);
    return TALLY_OK;
}
static void run_unload(tl_gpu *g, tl_program *p)
{
    (void)g;
    for (int i = 0; i < TL_KERNELS; i++)
        if (p->objects[i]) dlclose(p->objects[i]);
    free(p->text), free(p);
}

/* Kernel `id` of a program; NULL: it does not compile. */
static void *kernel_of(tl_program *p, int id)
{
    static int number; /* a name once: the loader keeps them */
    const char *const name = tl_gpu_kernels[id].name;
    void *const object = p->objects[id];
    char path[60];
    if (object) return dlsym(object, name);
    snprintf(path, sizeof path, "./emulated%d.so", number++);
    p->objects[id] = compile(name, p->text, p->length, path) ? dlopen(path, RTLD_NOW) : NULL;
    unlink(path);
    emulator **const at = p->objects[id] ? dlsym(p->objects[id], "emulated") : NULL;
    if (!at) return NULL;
    *at = &fibers;
    return dlsym(p->objects[id], name);
}

/* ---- launches ---- */

/* All parameters of kernels are integers or addresses, and at most one is an f64: the calling
 * conventions of x86-64 and ARM64 put that into a register of its own, wherever it stands. */
#define EIGHT(F, i) F(i), F(i + 1), F(i + 2), F(i + 3), F(i + 4), F(i + 5), F(i + 6), F(i + 7)
#define ALL(F)      EIGHT(F, 0), EIGHT(F, 8), EIGHT(F, 16), EIGHT(F, 24), EIGHT(F, 32), EIGHT(F, 40)
#define TYPE_OF(i)  uint64_t
#define VALUE_OF(i) run.values[i]
static struct {
    void (*kernel)(double, ALL(TYPE_OF));
    double parameter;
    uint64_t values[ARGUMENTS];
} run;
static void run_thread(void) { run.kernel(run.parameter, ALL(VALUE_OF)); }

/* Puts the arguments of parameters p into `run`; *at: the argument of p. Returns the status table,
 * NULL if the kernel has none. */
static const uint64_t *put_arguments(const tl_parameter *p, const tl_kernel_start *start, int *at,
                                     int *values)
{
    const uint64_t *table = NULL, *found;
    for (; p->name; p++) {
        if (p->group) {
            found = put_arguments(p->group, start, at, values);
            if (found) table = found;
        } else if (p->kind != TL_IS_LOCAL_BYTES) {
            const uint64_t value = argument_at(start, (*at)++);
            const int is_memory = p->kind == TL_IS_MEMORY;
            if (p->kind == TL_IS_F64)
                memcpy(&run.parameter, &value, sizeof value);
            else if (*values < ARGUMENTS)
                run.values[(*values)++] = is_memory ? (uintptr_t)bytes_at(value) : value;
            if (is_memory && !strcmp(p->name, "status_table")) table = (void *)bytes_at(value);
        }
    }
    return table;
}

static tally_status run_launch(tl_gpu *g, tally *c, tl_program *p, const tl_kernel_start *start)
{
    const char *const name = start->kernel;
    const int64_t number = start->number;
    const int threads = start->threads;
    int values = 0, at = 0;
    const int id = check_launch(c, start);
    (void)g;
    if (id < 0) return TALLY_INVALID;
    memset(&run, 0, sizeof run);
    const uint64_t *const head = put_arguments(tl_gpu_kernels[id].parameters, start, &at, &values),
                          epoch = head ? head[1] : 0;
    *(void **)&run.kernel = kernel_of(p, id);
    fibers.local_memory = start->local_bytes ? malloc((size_t)start->local_bytes) : NULL;
    /* groups that share jobs: as many as there are, or some of them take several */
    const int64_t groups =
        start->spread == TL_SHARED_JOBS && check_below(2) ? 1 + check_below(number) : number;
    const int done =
        run.kernel && values < ARGUMENTS && fibers_launch(run_thread, (int)groups, threads);
    free(fibers.local_memory);
    check(!head || (!head[0] && head[1] == epoch + 1), "%s: %llu tickets, %llu epochs are left",
          name, head ? (unsigned long long)head[0] : 0,
          head ? (unsigned long long)(head[1] - epoch) : 0);
    return check(done, "%s: no kernel, or no memory", name) ? TALLY_OK : TALLY_INVALID;
}

static const tl_gpu_calls run_calls = {
    .build = run_build, .unload = run_unload, .launch = run_launch};

/* A context that runs CUDA's texts; NULL: there is no C++ compiler. *cpu: close_none gets it. */
static tally *open_emulated(tl_device **cpu)
{
    static const char nothing[] = "\n";
    if (!compile("none", nothing, sizeof nothing - 1, "./emulated.so")) return NULL;
    if (__asan_set_error_report_callback) __asan_set_error_report_callback(after_report);
    setenv("TALLY_KERNELS", TALLY_SOURCE_DIR "/test/emulated", 1);
    fibers_begin();
    return open_none(1, &run_calls, cpu);
}
#endif
