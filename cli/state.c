/* SPDX-License-Identifier: MIT
 * state.c - tally fragment with exact sums. The files are states, the 576 bytes of a tally_exact,
 * as in C, Python, MPI and databases. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <tally_digits.h>

enum { PIECE = 1 << 20 };

int state_fits(const options *o, const input *in)
{
    return !strcmp(o->args[1], "sum:exact") && !in->columns && !has(o, OPT_axis) &&
           !has(o, OPT_start);
}

int state_is(const void *data, int64_t bytes)
{
    return bytes == (int64_t)sizeof(tally_exact) && memcmp(data, "tallyfrg", 8) != 0;
}

int state_load(const char *path, const void *data, int64_t bytes, tally_exact *sum)
{
    const char *const problem = tally_exact_problem(data, (size_t)bytes);
    if (problem) return bad_data("%s: it is no fragment and no exact sum: %s", path, problem);
    memcpy(sum, data, sizeof *sum);
    return DONE;
}

int state_make(tally *ctx, input *in, const second *beside, tally_exact *sum)
{
    int code = DONE;
    tally_exact_init(sum);
    if (beside->on) {
        tally_view view = tally_flat(in->data, in->dtype, in->n), next;
        second_view(beside, in->data, &view, &next);
        return code_of(ctx, tally_exact_add(ctx, sum, &view));
    }
    char *const buffer = memory_for(&code, "the reading buffer", PIECE, 1);
    const int64_t most = PIECE / (int64_t)tally_dtype_size(in->dtype);
    for (int64_t got = 1; !code && got;) {
        code = input_read(in, buffer, most, &got);
        const tally_view view = tally_flat(buffer, in->dtype, got);
        if (!code) code = code_of(ctx, tally_exact_add(ctx, sum, &view));
    }
    free(buffer);
    return code;
}

int state_result(tally *ctx, const options *o, const tally_exact *sum)
{
    result r = {.op = o->nargs > 2 ? o->args[2] : "sum:exact"};
    double value; /* or a float */
    tally_dtype dtype;
    r.bits = (char *)&value;
    int code = dtype_option(o, OPT_dtype, &dtype);
    if (!dtype) dtype = TALLY_F64;
    if (!code && tally_exact_value(ctx, sum, r.op, dtype, &value))
        code = usage("%s", tally_error(ctx));
    if (!code) code = operator_info(ctx, r.op, dtype, &r.info);
    options one = *o; /* without the word after the file */
    one.nargs = 2;
    const answer a = {.file = o->args[1],
                      .dtype = dtype,
                      .n = sum->word[71],
                      .ndim = 1,
                      .shape = {sum->word[71]},
                      .count = 1,
                      .flat = 1,
                      .per = "state",
                      .results = &r,
                      .ops = 1};
    return code ? code : print_answers(ctx, &a, 1, &one);
}

int state_show(const options *o, const tally_exact *sum)
{
    const long long nan = sum->word[68], plus = sum->word[69], minus = sum->word[70],
                    n = sum->word[71];
    if (has(o, OPT_json)) {
        json_begin(stdout, o->args[1], TALLY_F64);
        printf(
            "{\"op\": \"sum:exact\", \"elements\": %lld, \"nan\": %lld, \"inf\": %lld, \"-inf\": "
            "%lld}]}\n",
            n, nan, plus, minus);
    } else {
        printf("sum:exact, %lld elements: %lld nan, %lld inf, %lld -inf\n", n, nan, plus, minus);
    }
    return DONE;
}
