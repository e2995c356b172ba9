/* SPDX-License-Identifier: MIT
 * PostgreSQL: exact aggregates. A transition state is `rows` in the aggregate's memory context, of
 * which the transition functions name the sums:
 *
 *     exact_x(internal, float8), exact_x_back    transition, and its inverse for frames
 *     exact_merge_rows, exact_save, exact_load   combine, serialize, deserialize
 *     exact_sum_value, ...                       final functions, which leave the state as it is
 *
 * tally--*.sql puts them together. */
#include "postgres.h"

#include "fmgr.h"
#include "libpq/pqformat.h"
#include "utils/memutils.h"

static void *grow(void *memory, size_t bytes)
{
    return memory ? repalloc(memory, bytes) : palloc(bytes); /* they end in an error, never NULL */
}
#define ROWS_GROW grow
#include "../rows.h"

PG_MODULE_MAGIC;

static MemoryContext context_of(FunctionCallInfo fcinfo)
{
    MemoryContext context;
    if (!AggCheckCallContext(fcinfo, &context))
        elog(ERROR, "a transition function of tally was called outside an aggregate");
    return context;
}

/* New rows in the aggregate's context. */
static rows *begin(FunctionCallInfo fcinfo, int needs)
{
    MemoryContext before = MemoryContextSwitchTo(context_of(fcinfo));
    rows *r = palloc(rows_bytes(needs));
    rows_open(r, needs);
    MemoryContextSwitchTo(before);
    return r;
}

static rows *state_of(FunctionCallInfo fcinfo, int argument)
{
    return PG_ARGISNULL(argument) ? NULL : (rows *)PG_GETARG_POINTER(argument);
}

/* One row more or less: rows with a NULL do not count. */
static Datum change(FunctionCallInfo fcinfo, int needs, int sign)
{
    const int second = (needs & ~(TALLY_NEEDS_X | TALLY_NEEDS_XX)) != 0;
    rows *r = state_of(fcinfo, 0);
    if (!r) r = begin(fcinfo, needs);
    if (!PG_ARGISNULL(1) && !(second && PG_ARGISNULL(2)))
        rows_add(r, PG_GETARG_FLOAT8(1), second ? PG_GETARG_FLOAT8(2) : 0, sign);
    PG_RETURN_POINTER(r);
}

#define TRANSITION(name, needs) \
    PG_FUNCTION_INFO_V1(name); \
    PG_FUNCTION_INFO_V1(name##_back); \
    Datum name(PG_FUNCTION_ARGS) { return change(fcinfo, needs, 1); } \
    Datum name##_back(PG_FUNCTION_ARGS) { return change(fcinfo, needs, -1); }

enum {
    X = TALLY_NEEDS_X,
    Y = TALLY_NEEDS_Y,
    XX = TALLY_NEEDS_XX,
    YY = TALLY_NEEDS_YY,
    XY = TALLY_NEEDS_XY
};
TRANSITION(exact_x, X)
TRANSITION(exact_spread, X | XX)
TRANSITION(exact_product, XY)
TRANSITION(exact_weighted, Y | XY)
TRANSITION(exact_pair, X | Y | XY)
TRANSITION(exact_both, X | Y | XX | YY | XY)
TRANSITION(exact_slope, X | Y | YY | XY)

PG_FUNCTION_INFO_V1(exact_narrow);
PG_FUNCTION_INFO_V1(exact_narrow_back);
static Datum change_narrow(FunctionCallInfo fcinfo, int sign)
{
    rows *r = state_of(fcinfo, 0);
    if (!r) r = begin(fcinfo, X);
    if (!PG_ARGISNULL(1)) rows_add(r, PG_GETARG_FLOAT4(1), 0, sign);
    PG_RETURN_POINTER(r);
}
Datum exact_narrow(PG_FUNCTION_ARGS) { return change_narrow(fcinfo, 1); }
Datum exact_narrow_back(PG_FUNCTION_ARGS) { return change_narrow(fcinfo, -1); }

PG_FUNCTION_INFO_V1(exact_refuse);
Datum exact_refuse(PG_FUNCTION_ARGS)
{
    ereport(ERROR,
            (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("exact sums are of float4 and float8"),
             errhint("sum(numeric) and sum(bigint) are exact; x::float8 rounds each value.")));
}

/* ---- values ---- */

static Datum value(FunctionCallInfo fcinfo, tally_statistic which)
{
    rows *r = state_of(fcinfo, 0);
    double v;
    if (!r || !rows_value(r, which, TALLY_F64, &v)) PG_RETURN_NULL();
    PG_RETURN_FLOAT8(v);
}
#define FINAL(name, which) \
    PG_FUNCTION_INFO_V1(name); \
    Datum name(PG_FUNCTION_ARGS) { return value(fcinfo, which); }
FINAL(exact_sum_value, TALLY_SUM)
FINAL(exact_avg_value, TALLY_MEAN)
FINAL(exact_dot_value, TALLY_DOT)
FINAL(exact_wavg_value, TALLY_WEIGHTED_MEAN)
FINAL(exact_var_pop_value, TALLY_VAR_POP)
FINAL(exact_var_samp_value, TALLY_VAR_SAMP)
FINAL(exact_stddev_pop_value, TALLY_STDDEV_POP)
FINAL(exact_stddev_samp_value, TALLY_STDDEV_SAMP)
FINAL(exact_covar_pop_value, TALLY_COVAR_POP)
FINAL(exact_covar_samp_value, TALLY_COVAR_SAMP)
FINAL(exact_corr_value, TALLY_CORR)
FINAL(exact_regr_slope_value, TALLY_SLOPE)

PG_FUNCTION_INFO_V1(exact_narrow_value);
Datum exact_narrow_value(PG_FUNCTION_ARGS)
{
    rows *r = state_of(fcinfo, 0);
    float v;
    if (!r || !rows_value(r, TALLY_SUM, TALLY_F32, &v)) PG_RETURN_NULL();
    PG_RETURN_FLOAT4(v);
}

/* ---- partial aggregates: parallel workers, and servers that share a query ---- */

PG_FUNCTION_INFO_V1(exact_merge_rows);
Datum exact_merge_rows(PG_FUNCTION_ARGS)
{
    rows *to = state_of(fcinfo, 0), *from = state_of(fcinfo, 1);
    if (!to && !from) PG_RETURN_NULL();
    if (!to) to = begin(fcinfo, from->needs);
    if (from) rows_merge(to, from);
    PG_RETURN_POINTER(to);
}

/* needs; then of each sum its bytes and the tally_digits */
PG_FUNCTION_INFO_V1(exact_save);
Datum exact_save(PG_FUNCTION_ARGS)
{
    StringInfoData buffer;
    rows *r = state_of(fcinfo, 0);
    pq_begintypsend(&buffer);
    pq_sendint32(&buffer, (uint32)r->needs);
    for (int i = 0; i < r->sums; i++) {
        const size_t bytes = tally_digits_bytes(r->sum[i]->used);
        pq_sendint32(&buffer, (uint32)bytes);
        pq_sendbytes(&buffer, (char *)r->sum[i], (int)bytes);
    }
    PG_RETURN_BYTEA_P(pq_endtypsend(&buffer));
}

static void load(rows *r, StringInfo from)
{
    for (int i = 0; i < r->sums; i++) {
        const int bytes = pq_getmsgint(from, 4);
        const char *data = pq_getmsgbytes(from, bytes);
        if (!tally_digits_sound(data, (size_t)bytes))
            ereport(ERROR,
                    (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
                     errmsg("a partial state of tally is damaged: sum %d of %d", i + 1, r->sums)));
        rows_room(&r->sum[i], (bytes - (int)sizeof(tally_digits)) / 8);
        const int32_t room = r->sum[i]->room;
        memcpy(r->sum[i], data, (size_t)bytes);
        r->sum[i]->room = room;
    }
}

PG_FUNCTION_INFO_V1(exact_load);
Datum exact_load(PG_FUNCTION_ARGS)
{
    bytea *data = PG_GETARG_BYTEA_PP(0);
    StringInfoData from = {VARDATA_ANY(data), VARSIZE_ANY_EXHDR(data), VARSIZE_ANY_EXHDR(data), 0};
    context_of(fcinfo);
    const int needs = pq_getmsgint(&from, 4);
    if (needs <= 0 || needs >= 1 << ROWS_SUMS)
        ereport(ERROR, (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
                        errmsg("a partial state of tally is damaged: it needs sums %d", needs)));
    rows *r = palloc(rows_bytes(needs));
    rows_open(r, needs);
    load(r, &from);
    pq_getmsgend(&from);
    PG_RETURN_POINTER(r);
}

/* ---- states: the 576 bytes of a tally_exact ---- */

static const char *state_in(bytea *data)
{
    const char *problem = tally_exact_problem(VARDATA_ANY(data), VARSIZE_ANY_EXHDR(data));
    if (problem)
        ereport(ERROR, (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
                        errmsg("state, of %d bytes: %s", (int)VARSIZE_ANY_EXHDR(data), problem)));
    return VARDATA_ANY(data);
}

PG_FUNCTION_INFO_V1(exact_state_value);
Datum exact_state_value(PG_FUNCTION_ARGS)
{
    rows *r = state_of(fcinfo, 0);
    bytea *out;
    tally_exact e;
    if (!r || !r->sum[0]->count) PG_RETURN_NULL();
    if (tally_digits_exact(r->sum[0], &e)) elog(ERROR, "%s", tally_error(NULL));
    out = palloc(VARHDRSZ + sizeof e);
    SET_VARSIZE(out, VARHDRSZ + sizeof e);
    memcpy(VARDATA(out), &e, sizeof e);
    PG_RETURN_BYTEA_P(out);
}

static Datum change_states(FunctionCallInfo fcinfo, int sign)
{
    rows *r = state_of(fcinfo, 0);
    if (!r) r = begin(fcinfo, X);
    if (!PG_ARGISNULL(1)) rows_merge_state(r, state_in(PG_GETARG_BYTEA_PP(1)), sign);
    PG_RETURN_POINTER(r);
}
PG_FUNCTION_INFO_V1(exact_states);
PG_FUNCTION_INFO_V1(exact_states_back);
Datum exact_states(PG_FUNCTION_ARGS) { return change_states(fcinfo, 1); }
Datum exact_states_back(PG_FUNCTION_ARGS) { return change_states(fcinfo, -1); }

static Datum value_of_state(FunctionCallInfo fcinfo, const char *op)
{
    tally_exact e;
    double v;
    memcpy(&e, state_in(PG_GETARG_BYTEA_PP(0)), sizeof e);
    if (!e.word[71]) PG_RETURN_NULL();
    if (tally_exact_value(NULL, &e, op, TALLY_F64, &v)) elog(ERROR, "%s", tally_error(NULL));
    PG_RETURN_FLOAT8(v);
}
PG_FUNCTION_INFO_V1(exact_value);
PG_FUNCTION_INFO_V1(exact_mean);
Datum exact_value(PG_FUNCTION_ARGS) { return value_of_state(fcinfo, "sum:exact"); }
Datum exact_mean(PG_FUNCTION_ARGS) { return value_of_state(fcinfo, "mean:exact"); }
