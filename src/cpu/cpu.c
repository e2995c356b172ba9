/* SPDX-License-Identifier: MIT
 * The CPU as a device: a number of threads and an instruction set, chosen once at open. */
#define _GNU_SOURCE
#include "context/device.h"
#include "context/threads.h"
#include "shape.h"
#include "user/user.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MOST = 1024 };

typedef struct {
    tl_device base;
    int isa;
} cpu;

static void isa_names(char *to, size_t capacity, int only_running)
{
    size_t used = 0;
    to[0] = 0;
    for (int i = 0; i < tl_isa_count() && used < capacity; i++)
        if (!only_running || tl_isa_runs(i))
            used += (size_t)snprintf(to + used, capacity - used, "%s%s", used ? " " : "",
                                     tl_isa_name(i));
}

/* Why no kernel of this build runs on this machine; "" if one does. */
static const char *no_kernels(void)
{
    static _Thread_local char names[64], why[160];

    if (tl_isa_runs(tl_isa_widest())) return "";
    isa_names(names, sizeof names, 0);
    snprintf(
        why, sizeof why,
        "tally was built for %s, which this processor does not have: build it for this machine",
        names);
    return why;
}

static int describe(int index, tally_device_info *info)
{
    static _Thread_local char names[64], text[96];
    if (index != 0) return 0;
    const char *const reason = no_kernels();
    isa_names(names, sizeof names, 1);
    snprintf(text, sizeof text, "this computer's processors, %s kernels",
             tl_isa_name(tl_isa_widest()));
    *info = (tally_device_info){"cpu", text, !reason[0], reason, tl_processors(), names};
    return 1;
}

static tally_status set_threads(tally *ctx, cpu *d, const char *value, const char *what)
{
    int64_t n;
    if (tally_parse_value(TALLY_I64, value, strlen(value), &n) || n < 1 || n > THREADS_MOST)
        return tl_invalid(ctx, "%s is '%.40s': must be 1..%d", what, value, THREADS_MOST);
    d->base.threads = (int)n;
    return TALLY_OK;
}

static tally_status set_isa(tally *ctx, cpu *d, const char *value, const char *what)
{
    char names[64];
    int isa = tl_isa_find(value);
    isa_names(names, sizeof names, 1);
    if (isa == TL_ISA_NONE || !tl_isa_runs(isa))
        return tl_fail(ctx, isa == TL_ISA_NONE ? TALLY_INVALID : TALLY_NO_DEVICE,
                       "%s is '%.40s': must be one of %s", what, value, names);
    d->isa = isa;
    return TALLY_OK;
}

static tally_status parse_options(tally *ctx, cpu *d, const char *options)
{
    char item[64];
    const char *env;

    if ((env = getenv("TALLY_THREADS")) && *env) TL_TRY(set_threads(ctx, d, env, "TALLY_THREADS"));
    if ((env = getenv("TALLY_ISA")) && *env) TL_TRY(set_isa(ctx, d, env, "TALLY_ISA"));
    while (*options) {
        size_t length = strcspn(options, ",");
        if (length >= sizeof item)
            return tl_invalid(ctx, "device option '%.60s...' is too long", options);
        memcpy(item, options, length);
        item[length] = 0;
        options += length + (options[length] == ',');

        if (!strncmp(item, "threads=", 8))
            TL_TRY(set_threads(ctx, d, item + 8, "threads"));
        else if (!strncmp(item, "isa=", 4))
            TL_TRY(set_isa(ctx, d, item + 4, "isa"));
        else if (!strcmp(item, "probe=on") || !strcmp(item, "probe=off"))
            /* api.c handles it, for every kind of device */
            continue;
        else
            return tl_invalid(ctx,
                              "device option is '%s': must be threads=N, isa=NAME, probe=on or "
                              "probe=off; of a GPU also memory=SIZE or code=HOW",
                              item);
    }

    return TALLY_OK;
}

static tally_status cpu_open(tally *ctx, int index, const char *options, tl_device **device)
{
    /* there is one device; `describe` knows it */
    if (no_kernels()[0]) return tl_fail(ctx, TALLY_NO_DEVICE, "%s", no_kernels());

    cpu *d = malloc(sizeof *d);
    if (!d) return tl_no_memory(ctx, sizeof *d, "a device");

    const int processors = tl_processors();
    *d = (cpu){.base = {.calls = &tl_device_cpu,
                        .threads = processors < THREADS_MOST ? processors : THREADS_MOST},
               .isa = tl_isa_widest()};
    tally_status status = parse_options(ctx, d, options);
    if (status) {
        free(d);
        return status;
    }

    d->base.name = tl_isa_name(d->isa);
    *device = &d->base;
    return TALLY_OK;
}

static void cpu_close(tl_device *d) { free(d); }

static tally_status cpu_plan(tl_device *device, tally *ctx, const tl_scalar *op, tl_par par,
                             tl_plan_use use, tl_plan *plan)
{
    int isa = ((cpu *)device)->isa;
    /* the device is the processors */
    if (op->user) {
        TL_TRY(tl_user_compile(ctx, op, isa));
        const tl_kernel *k = op->user->kernel;
        *plan = tl_plan_begin(op, par, isa), plan->core = plan->lower = plan->fold = k;
        return TALLY_OK;
    }
    tl_plan_kernels(plan, op, par, isa);

    return TALLY_OK;
}

/* *done 0: the call is none of the driver's; api/ computes it in another way. */
static tally_status cpu_run(tl_device *d, tally *ctx, const tl_call *c, int *done)
{
    *done = c->verb <= TL_WINDOW && !c->form && !c->unchecked && !c->plan->exact;
    if (!*done) return TALLY_OK;
    return tl_run(ctx, d->threads, c);
}

static tally_status cpu_push(tl_device *d, tally *ctx, const tl_push *p)
{
    if (p->verb == TL_SCAN) return tl_scan_push(ctx, p->scan, d->threads, p->x, p->n, p->out);
    tl_push_slab(p->plan, d->threads, p->x, p->n, p->counter);
    return TALLY_OK;
}

const tl_device_calls tl_device_cpu = {
    .name = "cpu",
    .describe = describe,
    .open = cpu_open,
    .close = cpu_close,
    .plan = cpu_plan,
    .run = cpu_run,
    .push = cpu_push,
};
