/* SPDX-License-Identifier: MIT
 * Where a block of text may be cut for the threads: after a newline that ends a record, not after one in a quoted field. */
#include "io.h"
#include <string.h>

/* Whether the quote at q opens a quoted field: it comes first in its field, and not in a comment. */
static int opens(const char *block, const tl_layout *l, const char *q)
{
    const char *p = q;
    const char d = l->delimiter;
    while (p > block && (p[-1] == ' ' || p[-1] == '\t' || p[-1] == '\r') && p[-1] != d) p--;
    if (p > block && p[-1] != d && p[-1] != '\n') return 0;
    while (p > block && p[-1] != '\n') p--;
    while (*p == ' ' || *p == '\t') p++;
    return *p != '#';
}

void tl_text_cut(const char *b, size_t n, const tl_layout *l, size_t *cuts, int k, int last)
{
    const char *const end = b + n, *p = b, *at = b;
    int i = 1;
    while (p < end) {
        const char *q = l->quotes ? memchr(p, '"', (size_t)(end - p)) : NULL;
        const char *const outside = q ? q : end; /* [p, outside) is outside quotes */
        while (i < k) {
            const char *const from = p > b + cuts[i] ? p : b + cuts[i];
            const char *const nl = from < outside ? memchr(from, '\n', (size_t)(outside - from)) : NULL;
            if (!nl) break;
            cuts[i++] = (size_t)(nl + 1 - b);
        }
        for (const char *x = outside; x > p; x--)
            if (x[-1] == '\n') {
                at = x;
                break;
            }
        if (!q) break;
        if (!opens(b, l, q)) {
            p = q + 1;
            continue;
        }
        for (q++; (q = memchr(q, '"', (size_t)(end - q))) && q + 1 < end && q[1] == '"';) q += 2;
        if (!q) break; /* the record goes on in the next block */
        p = q + 1;
    }
    cuts[k] = last ? n : (size_t)(at - b);
    for (; i < k; i++) cuts[i] = cuts[k];
    for (i = 1; i < k; i++)
        if (cuts[i] > cuts[k]) cuts[i] = cuts[k];
}
