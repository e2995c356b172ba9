/* SPDX-License-Identifier: MIT
 * devices.c - tally devices lists every device of this build, and why one cannot be used; tally
 * verify checks that the library keeps the law, on every instruction set or on the one that was
 * given. Of every run: which device it was for, and which parts ran there. The bits are the same
 * everywhere, so they cannot show it. */
#include "cli.h"

#include <string.h>

static int is_gpu(const tally *ctx) { return strchr(tally_isa(ctx), ':') != NULL; }

const char *device_of(const tally *ctx) { return is_gpu(ctx) ? tally_isa(ctx) : "cpu"; }

where_ran ran_since(tally *ctx, const where_ran *start)
{
    tally_times_info t;
    if (tally_times(ctx, &t)) return (where_ran){0, 0};
    return (where_ran){t.launches - (start ? start->launches : 0),
                       t.on_processors - (start ? start->on_processors : 0)};
}

void put_ran(FILE *f, const tally *ctx, const where_ran *r)
{
    if (!is_gpu(ctx))
        fputs("on the processors", f);
    else if (!r->launches)
        fprintf(f, "on the processors; nothing ran on %s", device_of(ctx));
    else
        fprintf(f, "on %s, %lld kernel%s%s", device_of(ctx), (long long)r->launches,
                r->launches == 1 ? "" : "s", r->on_processors ? ", and on the processors" : "");
}

void json_ran(FILE *f, const tally *ctx, const where_ran *r)
{
    fprintf(f, ", \"device\": \"%s\", \"ran_on\": [", device_of(ctx));
    if (r->launches) fprintf(f, "\"%s\"", device_of(ctx));
    if (r->on_processors || !r->launches) fprintf(f, "%s\"cpu\"", r->launches ? ", " : "");
    fputc(']', f);
}

void ran_note(const options *o, const tally *ctx, const char *label, const where_ran *r)
{
    if (is_gpu(ctx) && !r->launches)
        note(o, "%s: nothing ran on %s: the processors computed this, as they do with small pieces",
             label, device_of(ctx));
}

/* ---- tally devices ---- */

static void print_json(void)
{
    tally_device_info d;
    fputs("[", stdout);
    for (int i = 0; tally_device(i, &d) == TALLY_OK; i++) {
        put_json(stdout, i ? ",\n{\"name\": " : "\n{\"name\": ", d.name);
        put_json(stdout, ", \"text\": ", d.text);
        printf(", \"usable\": %s, \"reason\": ", d.usable ? "true" : "false");
        put_json(stdout, "", d.reason);
        printf(", \"processors\": %d, \"isas\": ", d.processors);
        put_json(stdout, "", d.isas);
        fputs("}", stdout);
    }
    puts("\n]");
}

int run_devices(const options *o)
{
    if (no_operand(o)) return USAGE;
    if (has(o, OPT_json)) {
        print_json();
        return DONE;
    }
    tally_device_info d;
    for (int i = 0; tally_device(i, &d) == TALLY_OK; i++) {
        printf("%-12s %s\n", d.name, d.text);
        if (!d.usable)
            printf("%-12s not usable: %s\n", "", d.reason);
        else if (d.processors > 0)
            printf("%-12s %d processor%s\n", "", d.processors, d.processors == 1 ? "" : "s");
        if (d.isas && d.isas[0]) printf("%-12s isa: %s (default: the last)\n", "", d.isas);
    }
    return DONE;
}

/* ---- tally verify ---- */

static int verify_one(const options *o, const char *isa, uint64_t seed, int64_t cases, int first)
{
    options with = *o;
    tally *ctx = NULL;
    const char *report = "";
    with.value[OPT_isa] = isa;
    int code = session_open(&ctx, &with);
    if (code) return code;
    const double start = seconds();
    const tally_status status = tally_verify(ctx, seed, cases, &report);
    const double taken = seconds() - start;
    code = status == TALLY_MISMATCH ? VERIFY_FAILED : code_of(ctx, status);
    if (has(o, OPT_json)) {
        put_json(stdout, first ? "[\n{\"isa\": " : ",\n{\"isa\": ", tally_isa(ctx));
        printf(", \"threads\": %d, \"cases\": %lld, \"seed\": %llu, \"ok\": %s, \"seconds\": %.3f, "
               "\"report\": ",
               tally_threads(ctx), (long long)cases, (unsigned long long)seed,
               status ? "false" : "true", taken);
        put_json(stdout, "", report ? report : "");
        fputs("}", stdout);
    } else if (code == DONE || code == VERIFY_FAILED) {
        printf("%-8s %s  %s\n", tally_isa(ctx), status ? "FAILED" : "ok", report ? report : "");
    }
    if (code == VERIFY_FAILED)
        fail(code, "isa %s does not keep the law: %s", tally_isa(ctx), report ? report : "");
    stdout_flush();
    tally_close(ctx);
    return code;
}

int run_verify(const options *o)
{
    int64_t cases, seed;
    if (no_operand(o)) return USAGE;
    int worst = opt_count(o, OPT_cases, 1, INT64_MAX, 2000, &cases);
    if (!worst) worst = opt_count(o, OPT_seed, 0, INT64_MAX, 1, &seed);
    if (worst) return worst;
    const char *const one[] = {o->value[OPT_isa], NULL};
    const char *const *isa = has(o, OPT_isa) || !isa_names()[0] ? one : isa_names();
    int ran = 0;
    do {
        const int code = verify_one(o, *isa, (uint64_t)seed, cases, !ran++);
        if (code) worst = code;
    } while (*isa && *++isa && worst != USAGE && worst != NO_DEVICE);
    /* if the first one could not be opened, no list was begun */
    if (has(o, OPT_json) && (ran > 1 || (worst != USAGE && worst != NO_DEVICE)))
        fputs("\n]\n", stdout);
    return worst;
}
