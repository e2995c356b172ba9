/* SPDX-License-Identifier: MIT
 * Pieces under every order that the lanes allow: the device's calls (src/gpu/gpu.h) are put off,
 * and done as late as they may be, or lane by lane, or at random, as far as marks and what
 * follows them let them. A wait that is missing, or a buffer or block of host memory that is
 * used again too early, then gives other bits than the CPU's. A real device shows such a mistake
 * once in a thousand runs. Skipped without a device. */
#include "gpu/work.h"
#include "gpus.h"

enum { N = 500000, ARGUMENTS = 64, MOST_EVENTS = 1 << 18, ROUNDS = 40 };

typedef enum { COPY_IN, COPY_OUT, LAUNCH, MARK, FOLLOW } kind;
typedef struct {
    kind kind;
    tl_memory memory;
    size_t offset, bytes;
    void *host;
    tl_program *program;
    tl_kernel_start start; /* its name and its arguments are those below */
    char name[24];
    uint64_t args[ARGUMENTS];
    int64_t event; /* MARK, FOLLOW */
} task;

static struct {
    task *tasks;
    int64_t head, count, capacity;
} lanes[TL_LANES];
static int64_t marks, last_mark[TL_EVENTS_ALL]; /* every mark has a number of its own */
static unsigned char lane_of[MOST_EVENTS], done[MOST_EVENTS];
/* 0..7: the lanes of these bits as early as possible, the others as late; more: at random */
static int policy;
static int locked; /* the caller's memory passes for page-locked */

static const tl_gpu_calls *real;
static tl_gpu_calls fake;
static tl_gpu *gpu;
static tally *ctx, *cpu;

/* Does the first task of a lane; 0: there is none, or it waits for another lane. */
static int step(int lane)
{
    if (lanes[lane].head == lanes[lane].count) return 0;
    task *t = &lanes[lane].tasks[lanes[lane].head];
    tally_status status = TALLY_OK;
    if (t->kind == FOLLOW && !done[t->event]) return 0;
    if (t->kind == MARK) done[t->event] = 1;
    const tl_copy copy = {TL_RUN,     t->kind == COPY_IN ? TL_TO_DEVICE : TL_TO_HOST,
                          &t->memory, t->offset,
                          t->host,    t->bytes,
                          1};
    t->start.kernel = t->name, t->start.arguments = t->args;
    if (t->kind == COPY_IN || t->kind == COPY_OUT) status = real->copy(gpu, ctx, &copy);
    if (t->kind == LAUNCH) status = real->launch(gpu, ctx, t->program, &t->start);
    if (!status && t->kind < MARK) status = real->quiet(gpu, ctx);
    check_ok(ctx, status, "a task");
    lanes[lane].head++;
    return 1;
}

/* Does what must be done before mark number `event` is reached, and no more. */
static void need(int64_t event)
{
    while (!done[event]) {
        int lane = lane_of[event];
        const task *t = &lanes[lane].tasks[lanes[lane].head];
        if (!step(lane)) need(t->event);
    }
}

static void drain(int lane)
{
    while (lanes[lane].head < lanes[lane].count)
        if (!step(lane)) need(lanes[lane].tasks[lanes[lane].head].event);
}

static void drain_all(void)
{
    for (int lane = 0; lane < TL_LANES; lane++) drain(lane);
}

/* What may be done now, in the order of the policy. */
static void go_on(void)
{
    for (int lane = 0; lane < TL_LANES && policy < 8; lane++)
        while ((policy >> lane & 1) && step(lane)) {
        }
    for (int64_t i = policy > 7 ? check_below(6) : 0; i > 0; i--) step((int)check_below(TL_LANES));
}

static task *append(int lane, kind k)
{
    if (lanes[lane].count == lanes[lane].capacity) {
        lanes[lane].capacity = 2 * lanes[lane].capacity + 64;
        lanes[lane].tasks = realloc(lanes[lane].tasks, (size_t)lanes[lane].capacity * sizeof(task));
        if (!lanes[lane].tasks) exit(2);
    }
    task *t = &lanes[lane].tasks[lanes[lane].count++];
    *t = (task){.kind = k};
    return t;
}

static tally_status f_copy(tl_gpu *g, tally *c, const tl_copy *copy)
{
    if (copy->waits) {
        drain(copy->lane);
        return real->copy(g, c, copy);
    }
    task *t = append(copy->lane, copy->way == TL_TO_DEVICE ? COPY_IN : COPY_OUT);
    t->memory = *copy->memory, t->offset = copy->offset, t->host = copy->host;
    t->bytes = copy->bytes;
    return TALLY_OK;
}
static tally_status f_launch(tl_gpu *g, tally *c, tl_program *p, const tl_kernel_start *start)
{
    (void)g, (void)c;
    task *t = append(TL_RUN, LAUNCH);
    if (start->count > ARGUMENTS) exit(2);
    t->program = p, t->start = *start;
    snprintf(t->name, sizeof t->name, "%s", start->kernel);
    memcpy(t->args, start->arguments, (size_t)start->count * TL_ARGUMENT_BYTES);
    return TALLY_OK;
}
static tally_status f_mark(tl_gpu *g, tally *c, int lane, int event)
{
    (void)g, (void)c;
    if (++marks == MOST_EVENTS) exit(2);
    lane_of[marks] = (unsigned char)lane;
    done[marks] = 0;
    last_mark[event] = marks;
    append(lane, MARK)->event = marks;
    return TALLY_OK;
}
static tally_status f_follow(tl_gpu *g, tally *c, int lane, int event)
{
    (void)g, (void)c;
    append(lane, FOLLOW)->event = last_mark[event];
    return TALLY_OK;
}
static tally_status f_reached(tl_gpu *g, tally *c, int event)
{
    (void)g, (void)c;
    go_on();
    need(last_mark[event]);
    return TALLY_OK;
}
static tally_status f_wait(tl_gpu *g, tally *c)
{
    drain(TL_RUN);
    return real->wait(g, c);
}
static tally_status f_quiet(tl_gpu *g, tally *c)
{
    go_on();
    drain_all();
    return real->quiet(g, c);
}
static void f_release(tl_gpu *g, tl_memory *m) /* the drivers wait, too */
{
    drain_all();
    real->release(g, m);
}

static int f_locked(tl_gpu *g, const void *p, size_t bytes)
{
    (void)g, (void)p, (void)bytes;
    return locked;
}

static float x[N], got[N], want[N];
static tl_memory there; /* space for N results on the device, beyond its limit */

/* What this test does with `there`, as the library does: with the device's context the current
   one. */
static void take_there(void)
{
    real->enter(gpu, NULL);
    check_ok(ctx, real->allocate(gpu, ctx, sizeof got, &there), "memory on the device");
    real->leave(gpu);
}
static void read_there(void)
{
    real->enter(gpu, NULL);
    check_ok(ctx, tl_read(gpu, ctx, got, &there, 0, sizeof got), "read");
    real->leave(gpu);
}
static void give_there(void)
{
    real->enter(gpu, NULL);
    real->release(gpu, &there);
    real->leave(gpu);
}

static void check_case(int which)
{
    static const char *const names[] = {"sum",
                                        "scan",
                                        "scan in place",
                                        "window",
                                        "columns",
                                        "scan of rows",
                                        "seeded scan",
                                        "scan of rows to the device",
                                        "window of rows to the device",
                                        "sums of rows"};
    static const tally_window_options w = {9, 3, TALLY_EDGES_SHRINK, 0};
    tally *const on[] = {ctx, cpu};
    float *const to[] = {got, want}, init = 2.5f;
    tally_scan_options o = {.exclusive = which == 5, .init = which == 6 ? &init : NULL};
    for (int i = 0; i < 2; i++) {
        tally_view in = tally_flat(x, TALLY_F32, N);
        if (which == 4) in = tally_columns(x, TALLY_F32, N / 4, 4);
        if (which == 5 || which > 6)
            in = tally_rows(x, TALLY_F32, which == 9 ? N / 4 : 500, which == 9 ? 4 : N / 500);
        memset(to[i], 0xa5, sizeof got);
        if (which == 2) memcpy(in.data = to[i], x, sizeof x);
        tally_view out = in;
        out.data = i == 0 && (which == 7 || which == 8) ? (void *)(uintptr_t)there.address : to[i];
        tally_status status = which == 0 || which == 9   ? tally_reduce(on[i], "sum", &in, to[i])
                              : which == 3 || which == 8 ? tally_window(on[i], "sum", &in, &out, &w)
                                                         : tally_scan(on[i], "sum", &in, &out, &o);
        if (!check_ok(on[i], status, names[which])) return;
        if (out.data != to[i]) read_there();
    }
    check_same(got, want,
               which == 9 ? N / 4
               : which    ? N
                          : 1,
               sizeof(float), "%s, policy %d%s", names[which], policy,
               locked ? ", page-locked" : "");
}

static void check_device(const char *device)
{
    char name[104];
    snprintf(name, sizeof name, "%s,memory=1M,threads=1,probe=off", device);
    if (!check_ok(NULL, tally_open(&ctx, name), name)) return;
    gpu = tl_gpu_of(ctx->device)->gpu;
    real = gpu->calls;
    fake = *real;
    fake.copy = f_copy, fake.launch = f_launch, fake.mark = f_mark;
    fake.follow = f_follow, fake.reached = f_reached, fake.wait = f_wait, fake.quiet = f_quiet;
    fake.release = f_release;
    gpu->calls = &fake;
    fake.locked = f_locked;
    done[0] = 1;
    take_there();
    /* PoCL runs them as slowly as it compiles: every fixed policy there, and fewer random ones */
    const int rounds = check_quick || gpu->shares_memory ? 20 : ROUNDS;
    /* PoCL compiles for most of the time: the seed picks a verb */
    static const char verbs[] = {'r', 's', 's', 'w', 'r', 's', 's', 's', 'w', 'r'};
    const char only = "rsw"[check_below(3)];
    for (int round = 0; round < rounds; round++)
        for (int which = 0; which < 10; which++) {
            if (gpu->shares_memory && !check_long && verbs[which] != only) continue;
            policy = round / 2;
            locked = round % 2;
            check_case(which);
            for (int lane = 0; lane < TL_LANES; lane++) lanes[lane].head = lanes[lane].count = 0;
            marks = 0;
            memset(last_mark, 0, sizeof last_mark);
        }
    give_there();
    gpu->calls = real;
    tally_close(ctx);
}

int main(void)
{
    check_start();
    tl_random_fill(&check_state, x, TALLY_F32, N, TL_DATA_PLAIN);
    cpu = check_open(2, NULL);
    for_each_gpu(NULL, check_device);
    for (int lane = 0; lane < TL_LANES; lane++) free(lanes[lane].tasks);
    tally_close(cpu);
    return finish_gpus();
}
