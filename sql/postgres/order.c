/* SPDX-License-Identifier: MIT
 * PostgreSQL: the operators of order E, as tally_sum(x ORDER BY t). Their result depends on the
 * order of the rows, so a call without ORDER BY is refused. Rows are pushed in blocks to a stream
 * of the library, which a callback of the aggregate's memory context closes. */
#include "postgres.h"

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include <tally.h>

enum { BLOCK = 256 };
typedef struct ordered {
    tally_stream *stream;
    MemoryContextCallback close;
    int two, n, any; /* arguments are pairs; rows that wait; there was a row without NULL */
    double x[BLOCK], y[];
} ordered;

static tally *context; /* of this server process */

static void check(tally_status status, const char *name)
{
    if (status)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("%s: %s", name, tally_error(context))));
}

static void close_stream(void *o) { tally_stream_close(((ordered *)o)->stream); }

/* The stream of the operator after which the aggregate is called: tally_NAME. */
static ordered *begin(FunctionCallInfo fcinfo, MemoryContext memory)
{
    const Aggref *call = AggGetAggref(fcinfo);
    char *name = call ? get_func_name(call->aggfnoid) : NULL;
    if (!call || !call->aggorder)
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("%s depends on the order of the rows, and none is given",
                               name ? name : "an ordered aggregate of tally"),
                        errhint("Write it as %s(x ORDER BY ...), not as a window function. "
                                "exact_sum needs no order.",
                                name ? name : "tally_sum")));
    if (strncmp(name, "tally_", 6)) elog(ERROR, "%s is no aggregate of tally", name);
    if (!context) check(tally_open(&context, "cpu,threads=1"), name);
    const int two = PG_NARGS() > 2;
    ordered *o = MemoryContextAllocZero(memory, sizeof *o + (two ? BLOCK * sizeof(double) : 0));
    o->two = two;
    o->close = (MemoryContextCallback){close_stream, o, NULL};
    MemoryContextRegisterResetCallback(memory, &o->close);
    check(tally_stream_reduce(context, name + 6, TALLY_F64, &o->stream), name);
    return o;
}

static void push(ordered *o)
{
    tally_view x = tally_flat(o->x, TALLY_F64, o->n), y = tally_flat(o->y, TALLY_F64, o->n);
    CHECK_FOR_INTERRUPTS();
    if (o->two) x.next = &y;
    if (o->n) check(tally_stream_push_view(o->stream, &x, NULL), "tally");
    o->n = 0;
}

PG_FUNCTION_INFO_V1(tally_row);
Datum tally_row(PG_FUNCTION_ARGS)
{
    MemoryContext memory;
    if (!AggCheckCallContext(fcinfo, &memory))
        elog(ERROR, "a transition function of tally was called outside an aggregate");
    ordered *o = PG_ARGISNULL(0) ? begin(fcinfo, memory) : (ordered *)PG_GETARG_POINTER(0);
    if (PG_ARGISNULL(1) || (o->two && PG_ARGISNULL(2))) PG_RETURN_POINTER(o);
    o->any = 1;
    o->x[o->n] = PG_GETARG_FLOAT8(1);
    if (o->two) o->y[o->n] = PG_GETARG_FLOAT8(2);
    if (++o->n == BLOCK) push(o);
    PG_RETURN_POINTER(o);
}

PG_FUNCTION_INFO_V1(tally_result);
Datum tally_result(PG_FUNCTION_ARGS)
{
    double value;
    if (PG_ARGISNULL(0)) PG_RETURN_NULL();
    ordered *o = (ordered *)PG_GETARG_POINTER(0);
    if (!o->any) PG_RETURN_NULL();
    push(o);
    check(tally_stream_finish(o->stream, &value, NULL), "tally");
    PG_RETURN_FLOAT8(value);
}
