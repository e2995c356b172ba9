/* SPDX-License-Identifier: MIT
 * session.c - opens the context for the options, and looks names up. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NAMES = 32 };

const char *const *device_names(void)
{
    static const char *names[NAMES + 2] = {"auto"};
    tally_device_info info;
    for (int i = 0; i < NAMES && tally_device(i, &info) == TALLY_OK; i++) names[i + 1] = info.name;
    return names;
}

const char *const *isa_names(void)
{
    static char store[256];
    static const char *names[NAMES];
    tally_device_info info;
    int count = 0;
    for (int i = 0; tally_device(i, &info) == TALLY_OK && !store[0]; i++)
        snprintf(store, sizeof store, "%s", info.isas);
    if (!names[0])
        for (char *at = strtok(store, " "); at && count < NAMES - 1; at = strtok(NULL, " "))
            names[count++] = at;
    return names;
}

const char *const *dtype_names(void)
{
    static const char *names[NAMES];
    for (int t = TALLY_I8; t <= TALLY_F64; t++)
        names[t - TALLY_I8] = tally_dtype_name((tally_dtype)t);
    return names;
}

int parse_literal(tally_dtype dtype, const char *text, void *value)
{
    char shown[48];
    if (tally_parse_value(dtype, text, strlen(text), value)) return 0;
    tally_format_value(dtype, value, 0, shown, sizeof shown);
    const int infinite = !strcmp(shown, "inf") || !strcmp(shown, "-inf"),
              hex = text[0] == '0' && (text[1] | 32) == 'x';
    return !infinite || hex || strpbrk(text, "iI");
}

int dtype_option(const options *o, enum option id, tally_dtype *dtype)
{
    const char *text = o->value[id];
    *dtype = text ? tally_dtype_parse(text) : (tally_dtype)0;
    return text && !*dtype ? fail_choice(USAGE, "dtype", text, dtype_names()) : DONE;
}

/* An unknown device and an unusable one give the same exit code, 3. tally_open checks the number
 * in cpu:0, because it knows how many devices there are; and says why a kind has none. */
static int device_check(const char *device)
{
    const size_t kind = strcspn(device, ",:");
    for (const char *const *name = device_names(); *name; name++)
        if (strcspn(*name, ":") == kind && memcmp(*name, device, kind) == 0) return DONE;
    char base[64];
    snprintf(base, sizeof base, "%.*s", (int)strcspn(device, ","), device);
    const char *const needs = device_needs(device, kind);
    tally *ctx = NULL;
    if (needs && tally_open(&ctx, base))
        return fail(NO_DEVICE, "%s; it needs %s", tally_error(NULL), needs);
    tally_close(ctx);
    return needs ? DONE : fail_choice(NO_DEVICE, "device", base, device_names());
}

/* ---- users' operators: --op-file [NAME=]FILE ---- */

enum { NAME_BYTES = 64 };
static struct {
    char name[NAME_BYTES];
    const char *path;
} user_operators[OP_FILES];
static int user_operator_count;

int is_operator(const char *name)
{
    const size_t length = strcspn(name, ":,");
    for (const char *const *built_in = tally_operators(); *built_in; built_in++)
        if (strlen(*built_in) == length && memcmp(*built_in, name, length) == 0) return 1;
    return 0;
}

int session_operators(const options *o)
{
    for (int i = 0; i < o->op_files; i++) {
        const char *const given = o->op_file[i], *const equals = strchr(given, '='),
                          *const slash = strchr(given, '/');
        const int named = equals && (!slash || equals < slash);
        const char *path = named ? equals + 1 : given, *name = given;
        if (!named) name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
        const size_t length = named ? (size_t)(equals - given) : strcspn(name, ".");
        if (!length || length >= NAME_BYTES || !*path)
            return usage(
                "--op-file is '%s': must be NAME=FILE, or a FILE whose name is the operator's",
                given);
        snprintf(user_operators[user_operator_count].name, NAME_BYTES, "%.*s", (int)length, name);
        if (is_operator(user_operators[user_operator_count].name))
            return usage("--op-file %s: '%s' is a built-in operator; give yours a name of its own: "
                         "--op-file NAME=%s",
                         given, user_operators[user_operator_count].name, path);
        if (access(path, F_OK) != 0) /* a missing file is reported before a wrong operator name */
            return bad_data("%s: %s", path, strerror(errno));
        user_operators[user_operator_count++].path = path;
    }
    return DONE;
}

static int define_user_operators(tally *ctx)
{
    int code = DONE;
    for (int i = 0; i < user_operator_count && !code; i++)
        code = code_of(ctx, tally_define_file(ctx, user_operators[i].name, user_operators[i].path));
    return code;
}

int session_open(tally **ctx, const options *o)
{
    /* auto also reads TALLY_DEVICE */
    const char *device = has(o, OPT_device) ? o->value[OPT_device] : "auto";
    int64_t threads;
    int code = opt_count(o, OPT_threads, 1, 1024, 0, &threads);
    if (!code && has(o, OPT_device)) code = device_check(device);
    if (!code && has(o, OPT_isa)) {
        const char *const *isa = isa_names();
        while (*isa && strcmp(*isa, o->value[OPT_isa]) != 0) isa++;
        if (!*isa) code = fail_choice(NO_DEVICE, "instruction set", o->value[OPT_isa], isa_names());
    }
    if (code) return code;
    char text[256], part[32] = "";
    if (threads) snprintf(part, sizeof part, ",threads=%lld", (long long)threads);
    snprintf(text, sizeof text, "%.100s%s%s%.60s", device, part, has(o, OPT_isa) ? ",isa=" : "",
             has(o, OPT_isa) ? o->value[OPT_isa] : "");
    code = code_of(NULL, tally_open(ctx, text));
    if (code) return code;
    tally_time(*ctx, has(o, OPT_explain)); /* also resets the counts of launches and elements */
    code = define_user_operators(*ctx);
    if (code) {
        tally_close(*ctx);
        *ctx = NULL;
    }
    return code;
}

int operator_check(const char *op, size_t length)
{
    char base[64];
    size_t n = 0;
    while (n < length && op[n] != ':') n++;
    snprintf(base, sizeof base, "%.*s", (int)(n < 60 ? n : 60), op);
    const char *const *all = tally_operators();
    int built_in = 0, count = 0, found = 0;
    while (all[built_in]) built_in++;
    int code = DONE;
    const char **const names = memory_for(&code, "the names of the operators",
                                          built_in + user_operator_count, sizeof *names);
    if (code) return code;
    for (int i = 0; i < user_operator_count; i++) names[count++] = user_operators[i].name;
    for (int i = 0; i < built_in; i++) names[count++] = all[i];
    for (int i = 0; i < count && !found; i++) found = strcmp(names[i], base) == 0;
    if (!found && access(op, F_OK) == 0)
        code = usage("there is no operator '%s', which is a file: the operator comes first, as in "
                     "`tally reduce sum %s`",
                     op, op);
    else if (!found)
        code = fail_choice(USAGE, "operator", base, names);
    free(names);
    return code;
}

int operator_info(tally *ctx, const char *op, tally_dtype dtype, tally_operator_info *info)
{
    return code_of(ctx, tally_operator(ctx, op, dtype, info));
}

/* 'v' or 'm' for the shares of elements that are valid or missing; else 0. */
static int is_share(const char *op)
{
    return !strcmp(op, "valid") || !strcmp(op, "missing") ? *op : 0;
}

int operators_split(operators *ops, const char *text)
{
    static const char what[] = "the operators";
    const int64_t most = (int64_t)strlen(text) + 3; /* and those that empty_operators adds */
    int code = DONE;
    ops->list = text_for(&code, what, text);
    ops->name = memory_for(&code, what, most, sizeof *ops->name);
    ops->shown = memory_for(&code, what, most, sizeof *ops->shown);
    ops->share = memory_for(&code, what, most, 1);
    ops->info = memory_for(&code, what, most, sizeof *ops->info);
    for (char *at = ops->list; at && !code; ops->count++) {
        char *const comma = strchr(at, ',');
        if (comma) *comma = '\0';
        if (!*at) return usage("the operators '%s' have an empty name among them", text);
        const char *const name = is_share(at) ? "count" : at;
        code = operator_check(name, strlen(name));
        ops->name[ops->count] = name;
        ops->shown[ops->count] = at;
        ops->share[ops->count] = (char)is_share(at);
        at = comma ? comma + 1 : NULL;
    }
    ops->all = ops->count;
    return code;
}

int operators_info(operators *ops, tally *ctx, tally_dtype dtype)
{
    int code = DONE;
    for (int i = 0; i < ops->all && !code; i++)
        code = operator_info(ctx, ops->name[i], dtype, &ops->info[i]);
    return code;
}

int operators_precision(operators *ops, tally *ctx, const options *o, tally_dtype dtype)
{
    size_t bytes = 1;
    tally_operator_info info;
    if (!has(o, OPT_precision)) return DONE;
    for (int i = 0; i < ops->count; i++) bytes += strlen(ops->name[i]) + 5;
    int code = DONE;
    if (!ops->precise) ops->precise = memory_for(&code, "--precision", (int64_t)bytes, 1);
    char *at = ops->precise;
    for (int i = 0; i < ops->count && !code; i++) {
        ops->name[i] = ops->share[i] ? "count" : ops->shown[i];
        code = operator_info(ctx, ops->name[i], dtype, &info);
        if (code) break;
        sprintf(at, "%s:f64", ops->name[i]);
        if (info.output == TALLY_F32 && !tally_operator(ctx, at, dtype, &info) &&
            info.output == TALLY_F64)
            ops->name[i] = at;
        at += strlen(at) + 1;
    }
    return code;
}

void operators_free(operators *ops)
{
    free(ops->shown);
    free(ops->share);
    free(ops->precise);
    free(ops->list);
    free(ops->name);
    free(ops->info);
    free(ops->index_of);
    *ops = (operators){.count = 0};
}

size_t result_bytes(const tally_operator_info *info)
{
    return tally_dtype_size(info->output) * (size_t)info->lanes;
}

double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
