/* SPDX-License-Identifier: MIT
 * Finds places where a block of text can be cut for the threads: after a newline that ends a
 * record, not after a newline in a quoted field. */
#include "io.h"
#include <assert.h>
#include <string.h>

static int blank(char c, char delimiter)
{
    return (c == ' ' || c == '\t' || c == '\r') && c != delimiter;
}

static int is_comment(const char *line, const char *end, const tl_layout *l)
{
    while (line < end && blank(*line, l->delimiter)) line++;
    return line < end && (unsigned char)*line == l->comment;
}

/* Whether the quote at q is the first character of its field. `line` is the start of q's line. */
static int is_first(const char *line, const char *q, char delimiter)
{
    while (q > line && blank(q[-1], delimiter)) q--;
    return q == line || q[-1] == delimiter;
}

void tl_text_cut(const char *b, size_t n, const tl_layout *l, size_t *cuts, int k, int last)
{
    assert(k >= 1);
    const char *const end = b + n, *p = b, *at = b; /* at: the start of the line of p */
    int i = 1, comment = is_comment(b, end, l);
    while (p < end) {
        const char *q = l->quotes ? memchr(p, '"', (size_t)(end - p)) : NULL;
        const char *const outside = q ? q : end; /* [p, outside) is not in quotes */
        while (i < k) {
            const char *const from = p > b + cuts[i] ? p : b + cuts[i];
            const char *const nl =
                from < outside ? memchr(from, '\n', (size_t)(outside - from)) : NULL;
            if (!nl) break;
            cuts[i++] = (size_t)(nl + 1 - b);
        }

        for (const char *x = outside; x > p; x--)
            if (x[-1] == '\n') {
                at = x;
                comment = is_comment(at, end, l);
                break;
            }

        if (!q) break;
        if (comment || !is_first(at, q, l->delimiter)) {
            p = q + 1;
            continue;
        }

        for (q++; (q = memchr(q, '"', (size_t)(end - q))) && q + 1 < end && q[1] == '"';) q += 2;
        if (!q) break; /* the record continues in the next block */
        p = q + 1;
    }

    cuts[k] = last ? n : (size_t)(at - b);
    for (; i < k; i++) cuts[i] = cuts[k];
    for (i = 1; i < k; i++)
        if (cuts[i] > cuts[k]) cuts[i] = cuts[k];
}
