/* SPDX-License-Identifier: MIT
 * The table of operators and of their compiled instances, and the look-up of an operator's
 * string. */
#include "dtype/number.h"
#include "exact/exact.h"
#include "law/fp.h"
#include "user.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FORM(name, file, ...) extern const tl_scalar *const tl_scalars_##file[];
#include "op/forms.def"
#undef FORM

/* fallback, low, high: of the parameter. compiled: the instances of its text, ended by NULL; of a
 * user's operator NULL */
typedef struct operator_row {
    const char *name, *file, *kinds;
    const char *param;
    double fallback, low, high;
    const char *empty, *text;
    const tl_scalar *const *compiled;
} operator_row;

static const operator_row rows[] = {
#define FORM(name, file, kinds, param, fallback, low, high, empty, text) \
    {#name, #file, kinds, param, fallback, low, high, empty, text, tl_scalars_##file},
#include "op/forms.def"
#undef FORM
};

enum { ROWS = sizeof rows / sizeof *rows };

/* The first instance for dtype with this accumulator (0: any). */
static const tl_scalar *compiled_for(const operator_row *row, tally_dtype dtype, tally_dtype acc)
{
    for (const tl_scalar *const *s = row->compiled; *s; s++)
        if ((*s)->dtype == dtype && (!acc || (*s)->acc == acc)) return *s;
    return NULL;
}

const tl_scalar *tl_find_scalar(const char *file, tally_dtype dtype, tally_dtype acc)
{
    const tl_scalar *found = NULL;
    assert(file);
    for (int i = 0; i < ROWS && !found; i++)
        if (!strcmp(file, rows[i].file)) found = compiled_for(&rows[i], dtype, acc);
    return found;
}

const tl_scalar *tl_form_of_f64(const tl_scalar *op)
{
    int of = 0, i = 0; /* a row of op's text; the row of the same name for floats */
    while (strcmp(rows[of].file, op->file)) of++;
    while (strcmp(rows[i].name, rows[of].name) || !strchr(rows[i].kinds, 'F')) i++;
    return compiled_for(&rows[i], TALLY_F64, 0);
}

/* The error for an operator whose name is unknown. It lists the names. */
static tally_status no_operator(tally *ctx, const char *op)
{
    enum { MOST = 200, USERS_MOST = 50 };
    const char *names[MOST + 1];
    char given[64], list[360] = "", hint[TL_HINT];
    int count = 0;
    size_t used = 0;
    for (const tl_user *u = ctx ? ctx->users : NULL; u && count < USERS_MOST; u = u->next)
        names[count++] = u->name;
    for (const char *const *n = tally_operators(); *n && count < MOST; n++) names[count++] = *n;
    names[count] = NULL;

    for (int i = 0; i < count; i++) { /* whole names, and " ..." if not all fit */
        const int fits = used + strlen(names[i]) + sizeof "  ..." < sizeof list;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? " " : "",
                                 fits ? names[i] : "...");
        if (!fits) break;
    }

    snprintf(given, sizeof given, "%.*s", (int)strcspn(op, ":"), op);
    return tl_invalid(ctx, "op is '%.60s':%s must be one of %s", op,
                      tl_hint("operator", given, names, hint), list);
}

/* The table row of a user's operator. */
static operator_row row_of(const tl_user *u)
{
    return (operator_row){u->name,   u->name,  u->facts.kinds, u->facts.param, u->facts.fallback,
                          -INFINITY, INFINITY, "by its text",  u->where,       NULL};
}

/* A suffix as a number: "1", or "ddof=1" if the operator's parameter is called ddof. */
static int parse_parameter(const operator_row *row, const char *text, double *value)
{
    size_t name = strlen(row->param);
    if (!strncmp(text, row->param, name) && text[name] == '=') text += name + 1;
    return tally_parse_value(TALLY_F64, text, strlen(text), value) == TALLY_OK && !isnan(*value);
}

/* The error for a parameter outside its range. A %g would follow the locale. */
static tally_status bad_parameter(tally *ctx, const char *op, const operator_row *row, double value,
                                  const char *between)
{
    const double numbers[] = {value, row->low, row->high};
    char text[3][48];
    for (int i = 0; i < 3; i++)
        tally_format_value(TALLY_F64, &numbers[i], 0, text[i], sizeof text[i]);
    return tl_invalid(ctx, "op is '%.60s': %s is %s, must be %s%s%s", op, row->param, text[0],
                      text[1], between, text[2]);
}

/* Resolves NAME:exact for a known NAME. */
static tally_status resolve_exact(tally *ctx, const char *op, size_t length, tally_dtype dtype,
                                  tally_dtype acc, const tl_scalar **scalar)
{
    assert(acc == 0 || acc == TALLY_F64);
    assert(tl_dtype_kind(dtype));
    *scalar = tl_exact_find(op, length, dtype, acc, NULL, NULL);
    if (*scalar) return TALLY_OK;

    if (!tl_exact_find(op, length, TALLY_F64, 0, NULL, NULL))
        return tl_unsupported(ctx,
                              "op is '%.60s': the suffix :exact is for sum, mean, dot, wmean, "
                              "sumsq, norm, var, std, cov, corr, slope and their nan forms",
                              op);

    return tl_unsupported(ctx,
                          "op '%.60s' takes f16, bf16, f32 and f64, not %s (integers are added "
                          "exactly without the suffix)",
                          op, tally_dtype_name(dtype));
}

/* Finds the row of an operator of the library for elements of dtype. */
static tally_status find_row(tally *ctx, const char *op, tally_dtype dtype,
                             const operator_row **found)
{
    const size_t length = strcspn(op, ":");
    int is_known = 0;
    *found = NULL;
    for (int i = 0; i < ROWS && !*found; i++)
        if (op[0] == rows[i].name[0] && !strncmp(op, rows[i].name, length) &&
            !rows[i].name[length]) {
            is_known = 1;
            if (strchr(rows[i].kinds, tl_dtype_kind(dtype))) *found = &rows[i];
        }

    if (*found) return TALLY_OK;
    return is_known ? tl_unsupported(ctx, "op '%.60s' takes integers, not %s", op,
                                     tally_dtype_name(dtype))
                    : no_operator(ctx, op);
}

/* Checks that a user's operator is for elements of dtype. */
static tally_status check_user(tally *ctx, const char *op, const tl_user *user, tally_dtype dtype)
{
    if (strchr(user->facts.kinds, tl_dtype_kind(dtype))) return TALLY_OK;
    return tl_unsupported(ctx, "op '%.60s' is for the types %s (OP_TYPES in %.100s), not %s", op,
                          user->facts.kinds, user->where, tally_dtype_name(dtype));
}

enum { F64, EXACT, CHECKED, PARAMETER, SUFFIXES };

/* What the suffixes of an operator's name say. */
typedef struct {
    int has[SUFFIXES];
    double value; /* of the parameter */
} suffixes;

static tally_status read_suffixes(tally *ctx, const char *op, const operator_row *row, int is_user,
                                  tally_dtype dtype, suffixes *s)
{
    static const char *const words[] = {"f64", "exact", "checked"};
    char name[64];
    const size_t length = strcspn(op, ":");

    for (const char *at = op + length; *at == ':';) {
        size_t part = strcspn(++at, ":");
        if (part >= sizeof name)
            return tl_invalid(ctx, "op is '%.60s...': a suffix is too long", op);
        memcpy(name, at, part);
        name[part] = 0;
        at += part;

        int k = 0; /* a user's operator has only :f64 */
        while (k < PARAMETER && ((k && is_user) || strcmp(name, words[k]))) k++;
        if (k == PARAMETER && !*row->param) {
            const int wide = tl_find_scalar(row->file, dtype, TALLY_F64) != NULL,
                      sums = tl_exact_find(row->name, length, dtype, 0, NULL, NULL) != NULL;
            return tl_invalid(ctx, "op is '%.60s': '%s' takes no parameter, and '%s' was given%s",
                              op, row->name, name,
                              sums   ? "; its suffixes are :f64 and :exact"
                              : wide ? "; its only suffix is :f64"
                                     : "");
        }
        if (s->has[k]++)
            return tl_invalid(ctx, "op is '%.60s': %s is given twice", op,
                              k == PARAMETER ? row->param : name);
        if (k == PARAMETER && !parse_parameter(row, name, &s->value))
            return tl_invalid(ctx, "op is '%.60s': '%s' is not a value for %s (write %s:%s=NUMBER)",
                              op, name, row->param, row->name, row->param);
    }
    return TALLY_OK;
}

/* What an operator's string names. row: in the table, or `user_row`, of a user's operator. */
typedef struct {
    const tl_scalar *scalar;
    tl_par par;
    const operator_row *row;
    operator_row user_row;
} resolved;

static tally_status resolve(tally *ctx, const char *op, tally_dtype dtype, resolved *r)
{
    if (!op) return tl_invalid(ctx, "op is NULL: must be an operator's name");
    if (!tl_dtype_kind(dtype))
        return tl_invalid(ctx, "dtype is %d: must be 1..%d", (int)dtype, TL_DTYPES);
    TL_LAW_FP; /* a parameter may be subnormal */
    const size_t length = strcspn(op, ":");
    tl_user *user = tl_user_find(ctx, op, length);
    if (user) r->user_row = row_of(user), r->row = &r->user_row;
    TL_TRY(user ? check_user(ctx, op, user, dtype) : find_row(ctx, op, dtype, &r->row));

    const operator_row *const row = r->row;
    suffixes s = {.value = row->fallback};
    TL_TRY(read_suffixes(ctx, op, row, user != NULL, dtype, &s));

    if (isnan(s.value))
        return tl_invalid(ctx, "op is '%.60s': %s needs its parameter, as in %s:%s=0.5", op,
                          row->name, row->name, row->param);
    const int is_flag = !user && !strcmp(row->param, "sample"); /* of skew and kurt */
    if (s.value < row->low || s.value > row->high || (is_flag && s.value != (int)s.value))
        return bad_parameter(ctx, op, row, s.value, is_flag ? " or " : "..");
    r->par = (tl_par){.value = s.value};
    const tally_dtype acc = s.has[F64] ? TALLY_F64 : 0;
    if (s.has[CHECKED] &&
        (s.has[EXACT] || acc || tl_dtype_kind(dtype) == 'F' || strcmp(row->file, "sum")))
        return tl_unsupported(
            ctx, "op is '%.60s' of %s: the suffix :checked is for sums of integers, alone", op,
            tally_dtype_name(dtype));
    if (s.has[EXACT]) return resolve_exact(ctx, op, length, dtype, acc, &r->scalar);

    if (user)
        TL_TRY(tl_user_resolve(ctx, user, dtype, acc, &r->scalar));
    else
        r->scalar = compiled_for(row, dtype, acc);

    if (!r->scalar)
        return tl_unsupported(
            ctx,
            "op is '%.60s': the suffix :f64 is for operators that add or multiply f16, bf16 or f32",
            op);
    return TALLY_OK;
}

tally_status tl_resolve(tally *ctx, const char *op, tally_dtype dtype, const tl_scalar **scalar,
                        tl_par *par)
{
    resolved r;
    TL_TRY(resolve(ctx, op, dtype, &r));
    *scalar = r.scalar, *par = r.par;
    return TALLY_OK;
}

tally_status tally_operator(tally *ctx, const char *op, tally_dtype dtype,
                            tally_operator_info *info)
{
    resolved r;
    if (!info) return tl_invalid(ctx, "info is NULL");
    TL_TRY(resolve(ctx, op, dtype, &r));

    const tl_scalar *const s = r.scalar;
    const operator_row *const row = r.row;
    *info = (tally_operator_info){row->name, row->text, row->empty, row->param,  s->out,
                                  s->acc,    s->lanes,  s->exact,   s->seedable, s->inputs};

    if (tl_exact_form_of(s)) {
        info->name = s->file;
        tl_exact_find(op, strcspn(op, ":"), dtype, 0, &info->text, &info->empty);
    }
    return TALLY_OK;
}

const char *tl_sample_parameter(const char *op, char to[TL_SAMPLE_BYTES])
{
    strcpy(to, strcmp(op, "var") && strcmp(op, "nanvar") ? "" : ":ddof=1");
    for (const operator_row *row = rows; row < rows + ROWS; row++)
        if (!strcmp(op, row->name) && *row->param && isnan(row->fallback)) {
            const double value = isfinite(row->low) ? row->low + 0.3 : 0.3;
            *to = ':';
            tally_format_value(TALLY_F64, value < row->high ? &value : &row->high, 0, to + 1,
                               TL_SAMPLE_BYTES - 1);
        }
    return to;
}
