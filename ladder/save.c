/* SPDX-License-Identifier: MIT
 * What is written to a file: gathered in memory, then through the library's writer, so that the
 * file is whole or as it was. */
#include "rung.h"
#include "tally.h"
#include <stdlib.h>
#include <string.h>

int save_begin(saving *s, const char *path, FILE *out, ladder_error *error)
{
    *s = (saving){.path = path, .f = out};
    if (!path || !strcmp(path, "-")) return 0;
    s->f = open_memstream(&s->text, &s->length);
    return s->f ? 0 : fail_with(error, 1, "%s: no memory for what is written", path);
}

int save_end(saving *s, int code, FILE *out, ladder_error *error)
{
    static const int64_t any[] = {-1};
    tally_file *file = NULL;
    if (!s->f || s->f == out) return code;
    if (fclose(s->f) && !code)
        code = fail_with(error, 1, "%s: no memory for what is written", s->path);
    if (!code) {
        tally_status status = tally_file_create(NULL, s->path, "raw", TALLY_U8, 1, any, 0, &file);
        if (!status) status = tally_file_write(file, s->text, (int64_t)s->length);
        if (!status) status = tally_file_commit(file);
        tally_file_close(file);
        if (status) code = fail_with(error, 1, "%s", tally_error(NULL));
    }
    free(s->text);
    return code;
}
