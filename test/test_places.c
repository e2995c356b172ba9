/* SPDX-License-Identifier: MIT
 * Memory of a GPU in every public call: each array that a call takes is in device memory, one at a
 * time and all together. The call gives the bits that the processors give from host memory, or a
 * sentence that says which memory it takes, and then nothing is written. The devices are those that
 * are here, and one that every machine has: its kernels run on the processor, and no address of
 * its memory is mapped (emulated/device.h), so a call that reads or writes such an address on the
 * host ends the test. The last line then names the call and the arrays.
 *
 *   test_places [CALL]    that call alone */
#include "places_calls.h"

/* ---- the table ---- */

static const operator_case operators[] = {
    {"sum", TALLY_F32, 0, 1},        {"dot", TALLY_F32, 1, 1},       {"last", TALLY_I16, 0, 0},
    {"sum:exact", TALLY_F32, 0, 1},  {"dot:exact", TALLY_F32, 1, 0}, {"var:exact", TALLY_F64, 0, 0},
    {"corr:exact", TALLY_F64, 1, 0},
};
#define AT(array) (1u << (array))
enum { DEVICE = 1, PAIRS = 2, BITS = 4 }; /* kernels are compiled; what the call may take */
static const struct call {
    const char *name;
    tally_status (*call)(place *);
    int layouts, variants, takes;
    unsigned refused; /* arrays that must be in host memory */
} calls_of[] = {
    {"reduce", call_reduce, ANY, 1, DEVICE | PAIRS | BITS, 0},
    {"reduce_valid", call_reduce_valid, ANY, 1, DEVICE | PAIRS | BITS, 0},
    {"scan", call_scan, ANY, 4, DEVICE | PAIRS | BITS, AT(INIT)},
    {"window", call_window, ANY, 5, DEVICE | PAIRS | BITS, 0},
    {"split", call_split, 1 << FLAT | 1 << LONG, 3, DEVICE, 0},
    {"by", call_by, ONE, 5, DEVICE | PAIRS | BITS, AT(INIT)},
    {"runs", call_runs, 1 << FLAT | 1 << BACK, 2, DEVICE, 0},
    {"groups", call_groups, 1 << FLAT, 2, 0, 0},
    {"take", call_take, ONE, 1, DEVICE, 0},
    {"window_ranges", call_ranges, 1 << FLAT | 1 << BACK, 2, PAIRS | BITS, 0},
    {"window_bounds", call_bounds, 1 << FLAT, 4, 0, 0},
    {"stream_reduce", call_stream_reduce, GROWING, 1, PAIRS | BITS, 0},
    {"stream_scan", call_stream_scan, GROWING, 2, PAIRS | BITS, AT(INIT)},
    {"stream_window", call_stream_window, GROWING, 1, PAIRS | BITS, 0},
    {"push", call_push, 1 << FLAT | 1 << LONG, 3, 0, AT(INIT)},
    {"finish", call_finish, GROWING, 2, PAIRS | BITS, 0},
    {"push_groups", call_push_groups, 1 << FLAT, 1, 0, AT(X) | AT(CODES)},
    {"fragment_make", call_fragment_make, 1 << FLAT | 1 << LONG, 1, 0, 0},
    {"fragment_of_view", call_fragment_of_view, GROWING, 1, PAIRS | BITS, 0},
    {"push_folded", call_folded, 1 << FLAT | 1 << LONG, 1, 0, 0},
    {"load", call_load, 1 << FLAT, 1, 0, AT(SAVED)},
    {"save", call_save, 1 << FLAT, 1, 0, AT(BYTES)},
    {"exact", call_exact, ANY, 2, PAIRS | BITS, AT(SUM)},
    {"value", call_value, 1 << FLAT, 1, PAIRS, AT(SUM) | AT(OUT)},
    {"write", call_write, 1 << FLAT, 1, 0, AT(X)},
    {"read", call_read, 1 << FLAT, 1, 0, AT(OUT)},
    {"read_lines", call_read_lines, 1 << FLAT, 2, 0, AT(OUT) | AT(CODES) | AT(KEYS)},
    {"boxes", call_boxes, 1 << FLAT, 1, 0, AT(X) | AT(OUT) | AT(INIT) | AT(KEYS) | AT(CODES)},
};

/* ---- one case ---- */

static tally *cpu_ctx, *gpu_ctx;
static char about[300];

static void after_fault(int number)
{
    (void)number;
    static const char head[] = "FAILED: the host reads or writes device memory: ";
    if (write(2, head, sizeof head - 1) < 0 || write(2, about, strlen(about)) < 0) _exit(3);
    _exit(2);
}

/* Runs a call on ctx, with the arrays `there` in device memory, and leaves their bytes in `host`.
 */
static tally_status run_call(const struct call *call, place *c, tally *ctx, unsigned there,
                             unsigned used)
{
    c->ctx = ctx, c->there = there, c->used = 0;
    for (int a = 0; a < ALL_ARRAYS; a++) {
        if (!(used >> a & 1)) continue;
        memcpy(arrays[a].host, arrays[a].given, arrays[a].bytes);
        if (there >> a & 1)
            check_ok(ctx, tally_copy(ctx, arrays[a].there, arrays[a].given, arrays[a].bytes),
                     "to the device");
    }
    const tally_status status = call->call(c);
    for (int a = 0; a < ALL_ARRAYS; a++)
        if (there >> a & 1 && used >> a & 1) {
            static char back[16 * (MANY + 8) + SAVED_MOST];
            if (check(!tally_copy(ctx, back, arrays[a].there, arrays[a].bytes), "to the host"))
                memcpy(arrays[a].host, back, arrays[a].bytes);
        }
    return status;
}

/* Compares a call whose arrays `there` are in device memory with what the processors gave. */
static void compare(const struct call *call, place *c, unsigned there, unsigned used,
                    tally_status wanted)
{
    int length =
        snprintf(about, sizeof about, "%s, variant %d, of %s, layout %d, bits %d:", call->name,
                 c->how, c->o->op, c->layout, c->valid);
    for (int a = 0; a < ALL_ARRAYS; a++)
        if (there >> a & 1)
            length +=
                snprintf(about + length, sizeof about - (size_t)length, " %s", arrays[a].name);
    snprintf(about + length, sizeof about - (size_t)length, "\n");
    const tally_status status = run_call(call, c, gpu_ctx, there, used);
    char message[600] = "";
    if (status) snprintf(message, sizeof message, "%s", tally_error(gpu_ctx));
    const int refused = !wanted && (there & used & call->refused) != 0;
    check(refused  ? status == TALLY_UNSUPPORTED && strstr(message, " take host memory")
          : wanted ? status != TALLY_OK
                   : status == TALLY_OK,
          "%s %s: %s", about, tally_status_name(status), message);
    for (int a = 0; a < ALL_ARRAYS && !wanted; a++)
        if (used >> a & 1)
            check_same(arrays[a].host, refused ? arrays[a].given : arrays[a].want,
                       (int64_t)arrays[a].bytes, 1, "%s array %s", about, arrays[a].name);
}

static void check_call(const struct call *call, place *c)
{
    const tally_status wanted = run_call(call, c, cpu_ctx, 0, (1u << ALL_ARRAYS) - 1);
    const unsigned used = c->used;
    for (int a = 0; a < ALL_ARRAYS; a++)
        if (used >> a & 1) memcpy(arrays[a].want, arrays[a].host, arrays[a].bytes);
    compare(call, c, 0, used, wanted);
    for (int a = 0; a < ALL_ARRAYS; a++)
        if (used >> a & 1) compare(call, c, 1u << a, used, wanted);
    compare(call, c, used, used, wanted);
}

/* ---- arrays, before a call ---- */

static void fill_arrays(const operator_case *o)
{
    check_fill(arrays[X].given, o->dtype, MANY, TL_DATA_PLAIN);
    check_fill(arrays[NEXT].given, o->dtype, MANY, TL_DATA_PLAIN);
    memcpy(arrays[INIT].given, arrays[X].given, 16);
    int64_t *const
        offsets = (void *)arrays[OFFSETS].given,
        *const order = (void *)arrays[ORDER].given, *const start = (void *)arrays[START].given,
        *const end = (void *)arrays[END].given, *const keys = (void *)arrays[KEYS].given,
        *const lows = (void *)arrays[LOWS].given, *const highs = (void *)arrays[HIGHS].given,
        *const parts = (void *)arrays[PARTS].given;
    int32_t *const codes = (void *)arrays[CODES].given;
    for (int g = 0; g < GROUPS; g++) offsets[g + 1] = offsets[g] + (g % 5 ? g % 7 : 30);
    for (int i = 0; i < MANY; i++) {
        codes[i] = (int32_t)check_below(GROUPS);
        order[i] = check_below(FEW / 2);
        end[i] = check_below(FEW / 2), start[i] = check_below(end[i] + 1);
        keys[i] = i ? keys[i - 1] + check_below(3) : 0;
        lows[i] = -check_below(4), highs[i] = check_below(3), parts[i] = i;
    }
    for (int a = 0; a < ALL_ARRAYS; a++)
        if (a == VALID || a == NEXT_VALID || a == CODES_VALID)
            for (size_t i = 0; i < arrays[a].bytes; i++)
                arrays[a].given[i] = (char)(check_below(256) | check_below(256));
        else if (a == OUT || a == OUT_VALID || a == BYTES)
            memset(arrays[a].given, 0x5a, arrays[a].bytes);
    tally_fragment *f = NULL;
    const tally_view in = tally_flat(arrays[X].given, o->dtype, FEW);
    tally_exact_init((tally_exact *)(void *)arrays[SUM].given);
    if (o->dtype >= TALLY_F32)
        check_ok(cpu_ctx, tally_exact_add(cpu_ctx, (tally_exact *)(void *)arrays[SUM].given, &in),
                 "exact");
    tally_view next = tally_flat(arrays[NEXT].given, o->dtype, FEW), pair = in;
    if (o->pairs) pair.next = &next;
    saved_bytes = SAVED_MOST;
    if (!tally_fragment_of_view(cpu_ctx, o->op, &pair, 0, &f))
        check_ok(cpu_ctx, tally_fragment_save(f, arrays[SAVED].given, &saved_bytes), "save");
    tally_fragment_free(f);
}

static const char *only;
static int
    kernels; /* 1: also the calls that compile kernels, 0: on PoCL they would take a minute */

/* Does the case compile kernels, and does a quick run leave it out? A sixth of such cases stays. */
static int left_out(const struct call *k, const place *c)
{
    const uint64_t turn = (uint64_t)(k - calls_of) + (uint64_t)c->layout * 2 + (uint64_t)c->valid;
    return k->takes & DEVICE && check_quick && (turn + check_seed) % 6 != 0;
}

static int applies(const struct call *k, const place *c)
{
    if (!only && left_out(k, c)) return 0;
    return (!only || !strcmp(only, k->name)) && k->layouts >> c->layout & 1 &&
           (!c->valid || k->takes & BITS) && (!c->o->pairs || k->takes & PAIRS) &&
           (!(k->takes & DEVICE) || (kernels && c->o->kernels));
}

static void check_device(void)
{
    for (size_t o = 0; o < sizeof operators / sizeof *operators; o++) {
        place c = {.o = &operators[o]};
        if (!check_ok(cpu_ctx, tally_operator(cpu_ctx, c.o->op, c.o->dtype, &c.info), c.o->op))
            continue;
        fill_arrays(c.o);
        for (size_t k = 0; k < sizeof calls_of / sizeof *calls_of; k++)
            for (c.layout = 0; c.layout < LAYOUTS; c.layout++)
                for (c.valid = 0; c.valid < 2; c.valid++)
                    for (c.how = 0; c.how < calls_of[k].variants; c.how++)
                        if (applies(&calls_of[k], &c)) check_call(&calls_of[k], &c);
    }
}

static void each(const char *name)
{
    if (!check_ok(NULL, tally_open(&gpu_ctx, name), name)) return;
    const memory m = memory_of(gpu_ctx);
    kernels = check_long || strncmp(name, "opencl", 6) != 0;
    for (int a = 0; a < ALL_ARRAYS; a++) arrays[a].there = memory_new(&m, arrays[a].bytes);
    check_device();
    tally_close(gpu_ctx);
}

static void each_emulated(void)
{
    tl_device *cpu;
    tl_memory m[ALL_ARRAYS];
    const char *const texts = getenv("TALLY_KERNELS");
    char *const kept = texts ? strdup(texts) : NULL;
    device_away = DEVICE_AWAY;
    gpu_ctx = open_emulated(&cpu);
    if (!gpu_ctx) {
        free(kept);
        return;
    }
    gpus_tested++;
    kernels = 1;
    for (int a = 0; a < ALL_ARRAYS; a++) {
        check_ok(gpu_ctx, d_allocate(&gpu, gpu_ctx, arrays[a].bytes, &m[a]), "a block");
        arrays[a].there = (char *)(uintptr_t)m[a].address;
    }
    check_device();
    for (int a = 0; a < ALL_ARRAYS; a++) d_release(&gpu, &m[a]);
    close_none(gpu_ctx, cpu);
    if (kept)
        setenv("TALLY_KERNELS", kept, 1);
    else
        unsetenv("TALLY_KERNELS");
    free(kept);
}

int main(int argc, char **argv)
{
    static const char lines[] = "x,g,t\n1,a,3\n2,b,4\n5,a,9\n";
    check_start();
    only = argc > 1 ? argv[1] : NULL;
    signal(SIGSEGV, after_fault);
    signal(SIGBUS, after_fault);
    cpu_ctx = check_open(1, NULL);
    for (int a = 0; a < ALL_ARRAYS; a++) {
        arrays[a].given = calloc(arrays[a].bytes, 1), arrays[a].host = malloc(arrays[a].bytes);
        arrays[a].want = malloc(arrays[a].bytes);
    }
    FILE *const f = fopen("places.csv", "w");
    if (f) fputs(lines, f), fclose(f);
    each_emulated();
    for_each_gpu(NULL, each);
    tally_close(cpu_ctx);
    return finish_gpus();
}
