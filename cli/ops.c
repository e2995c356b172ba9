/* SPDX-License-Identifier: MIT
 * ops.c - tally ops: a table of the operators for one element type, or of one operator for every
 * element type. */
#include "cli.h"

#include <string.h>

static tally_status ask_with(const char *name, const char *suffix, tally_dtype dtype,
                             tally_operator_info *info)
{
    char with[64];
    snprintf(with, sizeof with, "%s:%s", name, suffix);
    return tally_operator(NULL, with, dtype, info);
}

/* Asks the library about an operator. If its parameter has no default, one is supplied. */
static tally_status ask(const char *name, tally_dtype dtype, tally_operator_info *info)
{
    const tally_status status = tally_operator(NULL, name, dtype, info);
    return status != TALLY_INVALID || strchr(name, ':') ? status
                                                        : ask_with(name, "0.5", dtype, info);
}

static void json_row(const char *name, tally_dtype dtype, const tally_operator_info *i, int first)
{
    put_json(stdout, first ? "\n{\"name\": " : ",\n{\"name\": ", name);
    printf(", \"dtype\": \"%s\", \"output\": \"%s\", \"accumulator\": ", tally_dtype_name(dtype),
           tally_dtype_name(i->output));
    if (i->accumulator)
        put_json(stdout, "", tally_dtype_name(i->accumulator));
    else
        fputs("null", stdout);
    printf(", \"lanes\": %d, \"class\": \"%s\", \"init\": %s, \"inputs\": %d, \"parameter\": ",
           i->lanes, i->exact ? "X" : "R", i->seedable ? "true" : "false", i->inputs);
    put_json(stdout, "", i->param);
    put_json(stdout, ", \"empty\": ", i->empty);
    put_json(stdout, ", \"text\": ", i->text);
    fputs("}", stdout);
}

/* Lists the operators. dtype 0: for f64, and for i64 those that have no form for floats. */
static int list(tally_dtype asked, int json)
{
    const tally_dtype dtype = asked ? asked : TALLY_F64;
    tally_operator_info i;
    int rows = 0;
    if (json)
        fputs("[", stdout);
    else
        printf("%-8s %-6s %-5s %-8s %-38s %s\n", "name", "output", "class", "param", "of nothing",
               "what");
    for (const char *const *name = tally_operators(); *name; name++) {
        /* not for this type: bit operators have no form for floats */
        const int whole = ask(*name, dtype, &i) != TALLY_OK;
        if (whole && (asked || ask(*name, TALLY_I64, &i) != TALLY_OK)) continue;
        if (json) {
            json_row(*name, whole ? TALLY_I64 : dtype, &i, !rows++);
            continue;
        }
        printf("%-8s %-6s %-5s %-8s %-38s %s%s\n", *name, tally_dtype_name(i.output),
               i.exact ? "X" : "R", i.param, i.empty, i.text,
               whole ? "; integers only, shown for i64" : "");
    }
    if (json)
        puts("\n]");
    else
        printf("\nfor elements of %s; --dtype T asks about another type, `tally ops NAME` explains "
               "one operator\n"
               "`tally reduce` has valid and missing too: the shares of elements that are numbers, "
               "and that are not\n",
               tally_dtype_name(dtype));
    return DONE;
}

/* Whether NAME:f64 widens the arithmetic of f32. */
static int takes_f64(const char *name)
{
    tally_operator_info plain, wide;
    return !ask(name, TALLY_F32, &plain) && !ask_with(name, "f64", TALLY_F32, &wide) &&
           plain.accumulator != wide.accumulator;
}

/* Whether there is NAME:exact. */
static int takes_exact(const char *name)
{
    tally_operator_info info;
    return !strchr(name, ':') && !ask_with(name, "exact", TALLY_F64, &info);
}

static int detail(const char *op, int json)
{
    tally_operator_info i;
    int rows = 0, code = operator_check(op, strlen(op));
    if (code) return code;
    tally_status status = TALLY_OK;
    if (json) fputs("[", stdout);
    for (int t = TALLY_I8; t <= TALLY_F64; t++) {
        const tally_status s = ask(op, (tally_dtype)t, &i);
        if (s) {
            status = s;
            continue;
        }
        if (json) {
            json_row(op, (tally_dtype)t, &i, !rows++);
            continue;
        }
        if (!rows++) {
            printf("%s\n\n", i.name);
            if (i.param[0])
                printf("  parameter   %s, as in %s:%s=%s\n", i.param, i.name, i.param,
                       strcmp(i.param, "alpha") ? "1" : "0.1; a span of n is alpha = 2 / (n + 1)");
            printf("  init        %s\n",
                   i.seedable ? "a scan may start from --init V" : "takes none");
            if (takes_f64(i.name))
                printf("  suffix      %s:f64 %s\n", i.name,
                       strchr(i.name, ':') ? "gives f64 for f16, bf16 and f32"
                                           : "accumulates f16, bf16 and f32 in f64");
            if (takes_exact(i.name))
                printf("  suffix      %s:exact gives the real value, rounded once\n", i.name);
            if (i.inputs > 1) puts("  inputs      two: --with FILE, or two columns");
            if (i.lanes > 1) printf("  values      %d per result, side by side\n", i.lanes);
            printf("\n  %-6s %-6s %-11s %-6s %-40s %s\n", "dtype", "output", "accumulator", "class",
                   "of nothing", "what");
        }
        printf("  %-6s %-6s %-11s %-6s %-40s %s\n", tally_dtype_name((tally_dtype)t),
               tally_dtype_name(i.output), i.accumulator ? tally_dtype_name(i.accumulator) : "-",
               i.exact ? "X" : "R", i.empty, i.text);
    }
    if (!rows) return code_of(NULL, status);
    if (json)
        puts("\n]");
    else
        puts("\nclass X is exact: any schedule gives these bits; class R rounds: the tree of order "
             "E decides the bits");
    return DONE;
}

int run_ops(const options *o)
{
    tally_dtype dtype;
    const int code = dtype_option(o, OPT_dtype, &dtype);
    if (code) return code;
    if (o->nargs > 1)
        return usage("`tally ops` explains one operator, and '%s' is a second one", o->args[1]);
    if (o->nargs && dtype) {
        tally_operator_info i;
        if (operator_check(o->args[0], strlen(o->args[0]))) return USAGE;
        const int wrong = code_of(NULL, ask(o->args[0], dtype, &i));
        if (wrong) return wrong;
    }
    return o->nargs ? detail(o->args[0], has(o, OPT_json)) : list(dtype, has(o, OPT_json));
}
