/* SPDX-License-Identifier: MIT
 * Finds where one cell of a line begins and ends. */
#include "io.h"
#include <assert.h>
#include <string.h>

const char *tl_line_end(const char *p, const char *end)
{
    const char *const n = memchr(p, '\n', (size_t)(end - p));
    return n ? n : end;
}

void tl_unify_lines(char *p, size_t n, int last)
{
    typedef unsigned char v16 __attribute__((vector_size(16)));
    typedef uint64_t v2 __attribute__((vector_size(16)));
    char *const end = p + n;
    p = memchr(p, '\r', n);
    while (p && p < end) {
        v16 at, next;
        while (end - p > 16) { /* in a file with CR LF each line has one carriage return */
            memcpy(&at, p, 16);
            memcpy(&next, p + 1, 16);
            const v2 lone = (v2)((at == '\r') & (next != '\n'));
            if (lone[0] | lone[1]) break;
            p += 16;
        }

        char *const stop = end - p > 16 ? p + 16 : end;
        for (; p < stop; p++)
            if (*p == '\r' && (p + 1 < end ? p[1] != '\n' : last)) *p = '\n';
    }
}

static int blank(char c, char delimiter)
{
    return (c == ' ' || c == '\t' || c == '\r') && c != delimiter;
}

const char *tl_field(const char *p, const char *end, const tl_layout *l, const char **s,
                     const char **e)
{
    assert(p <= end);
    const char d = l->delimiter;
    while (p < end && blank(*p, d)) p++;
    *s = p;
    if (l->quotes && p < end && *p == '"') {
        const char *q = p + 1;
        while (q < end && (*q != '"' || (q + 1 < end && q[1] == '"'))) q += 1 + (*q == '"');
        if (q >= end) {
            *e = NULL;
            return end;
        }

        const char *rest = q + 1;
        while (rest < end && blank(*rest, d)) rest++;
        if (rest == end || *rest == d || *rest == '\n') {
            *s = p + 1;
            *e = q;
            return rest;
        }

        if (memchr(p, '\n',
                   /* the quoted text has several lines and more text follows it, so the opening
                    * quote is a mistake */
                   (size_t)(q - p))) {
            *e = NULL;
            return end;
        } /* else the cell is read with its quotes */

        p = rest;
    }

    if (d) {
        while (p < end && *p != d && *p != '\n') p++;
        *e = p;
        while (*e > *s && blank((*e)[-1], d)) (*e)--;
    } else {
        while (p < end && !blank(*p, d) && *p != '\n') p++;
        *e = p;
        while (p < end && blank(*p, d)) p++;
    }

    return p;
}
