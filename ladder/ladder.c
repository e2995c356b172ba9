/* SPDX-License-Identifier: MIT
 * tally ladder: runs what was asked for and writes the reports. */
#include "rung.h"
#include <string.h>

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
    code = write_reports(o, &r, out, error);
    if (!code && r.wrong) code = error->code = 4;
    report_free(&r);
    return code;
}
