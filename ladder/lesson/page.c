/* SPDX-License-Identifier: MIT
 * The lesson's WebAssembly: what the page calls, and what the grader does not need there: threads,
 * devices, times, files. Texts are exchanged in this program's memory, ended by a 0. */
#include "context/threads.h"
#include "ceiling.h"
#include "student.h"
#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(#name)))

static char *answer;

/* Memory for a text of `bytes` bytes; the page writes there. */
EXPORT(capacity) char *capacity(int bytes);
char *capacity(int bytes) { return malloc((size_t)bytes); }

EXPORT(done) void done(char *text);
void done(char *text) { free(text); }

/* The grade as `tally ladder grade --json -` prints it, or {"error": "..."}; until the next call. */
EXPORT(grade) const char *grade(const char *assignment, const char *name, const char *kernel);
const char *grade(const char *assignment, const char *name, const char *kernel)
{
    ladder_error error = {0};
    size_t length = 0;
    free(answer);
    answer = NULL;
    FILE *const out = open_memstream(&answer, &length);
    if (!out) return "{\"error\": \"out of memory\"}";
    if (grade_texts(assignment, name, kernel, out, &error)) {
        fprintf(out, "{");
        json_text(out, "error", error.sentence, "}");
    }
    fclose(out);
    return answer;
}

/* ---- of the library ---- */

int tl_processors(void) { return 1; }

void tl_for(int threads, int64_t chunks, void (*chunk)(void *data, int64_t i), void *data)
{
    (void)threads;
    for (int64_t i = 0; i < chunks; i++) chunk(data, i);
}

int tally_threads(const tally *t) { return t == NULL; }

tally_status tally_device(int index, tally_device_info *info)
{
    return (void)index, (void)info, TALLY_NO_DEVICE;
}

/* ---- of the ladder: rungs on the host, and times ---- */

int host_launch(job *j, int at, ladder_error *error)
{
    return (void)j, (void)at, fail_with(error, 2, "a rung of the host does not run in the page");
}

int host_finish(job *j, int64_t partials, element *out, ladder_error *error);
int host_finish(job *j, int64_t partials, element *out, ladder_error *error)
{
    return (void)partials, (void)out, host_launch(j, 0, error);
}

double clock_seconds(void) { return 0; }
