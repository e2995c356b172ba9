/* SPDX-License-Identifier: MIT
 * tally ladder: runs what was asked for and writes the reports. */
#include "rung.h"
#include "tally.h"
#include <stdlib.h>
#include <string.h>

/* Through the library's writer: the file is whole or not there. */
static int write_file(const char *path, const report *r, void (*print)(const report *, FILE *), FILE *out,
                      ladder_error *error)
{
    static const int64_t any[] = {-1};
    char *text = NULL;
    size_t bytes;
    tally_file *file = NULL;
    if (!path) return 0;
    if (!strcmp(path, "-")) {
        print(r, out);
        return 0;
    }
    FILE *f = open_memstream(&text, &bytes);
    if (f) print(r, f);
    if (!f || fclose(f)) {
        free(text);
        return fail_with(error, 1, "%s: no memory for the report", path);
    }
    tally_status status = tally_file_create(NULL, path, "raw", TALLY_U8, 1, any, 0, &file);
    if (!status) status = tally_file_write(file, text, (int64_t)bytes);
    if (!status) status = tally_file_commit(file);
    tally_file_close(file);
    free(text);
    return status ? fail_with(error, 1, "%s", tally_error(NULL)) : 0;
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
