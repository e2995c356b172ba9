/* SPDX-License-Identifier: MIT
 * The last error: one sentence, stored in the context, or in the thread if there is no context. */
#include "context.h"
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char thread_error[512];
_Static_assert(sizeof thread_error == sizeof((tally *)0)->error, "the same capacity");

tally_status tl_fail(tally *ctx, tally_status status, const char *format, ...)
{
    assert(status != TALLY_OK);
    va_list args;
    va_start(args, format);
    vsnprintf(ctx ? ctx->error : thread_error, sizeof thread_error, format, args);
    va_end(args);
    return status;
}

tally_status tl_no_context(void)
{
    return tl_invalid(NULL, "ctx is NULL: open one with tally_open");
}

tally_status tl_no_memory(tally *ctx, size_t bytes, const char *what)
{
    return tl_fail(ctx, TALLY_NO_MEMORY, "out of memory: %zu bytes for %s", bytes, what);
}

tally_status tl_grow(tally *ctx, void *pointer, size_t bytes, const char *what)
{
    void *old, *more;
    memcpy(&old, pointer, sizeof old);
    if (!(more = realloc(old, bytes))) return tl_no_memory(ctx, bytes, what);
    memcpy(pointer, &more, sizeof more);
    return TALLY_OK;
}

const char *tally_error(const tally *ctx) { return ctx ? ctx->error : thread_error; }

const char *tally_status_name(tally_status status)
{
    static const char *const names[] = {"ok",        "invalid argument", "unsupported", "no memory",
                                        "no device", "input/output",     "bad data",    "mismatch"};
    return (unsigned)status < sizeof names / sizeof *names ? names[status] : "unknown status";
}
