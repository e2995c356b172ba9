/* SPDX-License-Identifier: MIT
 * verify.c - tally verify: the library's conformance check, on every instruction set or on the one
 * that was given. */
#include "cli.h"

#include <string.h>

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
    fflush(stdout);
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
    if (has(o, OPT_json) && worst != USAGE && worst != NO_DEVICE) fputs("\n]\n", stdout);
    return worst;
}
