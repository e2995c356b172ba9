/* SPDX-License-Identifier: MIT
 * tally ladder: runs what was asked for and writes the reports. What is written to a file is
 * gathered in memory, then goes through the library's writer, so that the file is whole or as it
 * was. */
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

static int write_file(const char *path, const report *r, void (*print)(const report *, FILE *),
                      FILE *out, ladder_error *error)
{
    saving s;
    if (!path) return 0;
    const int code = save_begin(&s, path, out, error);
    if (!code) print(r, s.f);
    return save_end(&s, code, out, error);
}

int write_reports(const ladder_options *o, const report *r, FILE *out, ladder_error *error)
{
    const int instead = (o->json && !strcmp(o->json, "-")) || (o->html && !strcmp(o->html, "-"));
    if (!instead) report_table(r, out);
    const int code = write_file(o->json, r, report_json, out, error);
    return code ? code : write_file(o->html, r, report_html, out, error);
}

int ladder_run(const ladder_options *o, FILE *out, ladder_error *error)
{
    report r;
    int code = run_report(o, &r, error);
    if (code) return code;
    if (!r.shape_count && o->rung && o->shape)
        return fail_with(error, 2, "--rung is '%s', which is no rung of %s", o->rung, o->shape);
    code = write_reports(o, &r, out, error);
    if (!code && r.wrong) code = error->code = 4;
    report_free(&r);
    return code;
}
