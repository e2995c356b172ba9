/* SPDX-License-Identifier: MIT
 * A failure: its exit code and its sentence. */
#include "rung.h"
#include <stdarg.h>

int fail_with(ladder_error *error, int code, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(error->sentence, sizeof error->sentence, format, list);
    va_end(list);
    error->code = code;
    return code;
}
