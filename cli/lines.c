/* SPDX-License-Identifier: MIT
 * lines.c - a queue of the lines of an input that --keep copies, between reading and writing. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

int lines_put(lines *l, const char *text, size_t length)
{
    const size_t need = sizeof length + length;
    if (l->at > l->capacity / 2) { /* moves the rest to the start of the buffer */
        memmove(l->text, l->text + l->at, l->n - l->at);
        l->n -= l->at;
        l->at = 0;
    }
    if (l->n + need > l->capacity) {
        const size_t capacity = 2 * (l->n + need) + 4096;
        char *const more = realloc(l->text, capacity);
        if (!more) return fail_memory("--keep", (int64_t)capacity);
        l->text = more;
        l->capacity = capacity;
    }
    memcpy(l->text + l->n, &length, sizeof length);
    memcpy(l->text + l->n + sizeof length, text, length);
    l->n += need;
    return DONE;
}

const char *lines_take(lines *l, size_t *length)
{
    if (l->at == l->n) return NULL;
    memcpy(length, l->text + l->at, sizeof *length);
    const char *const text = l->text + l->at + sizeof *length;
    l->at += sizeof *length + *length;
    return text;
}

void lines_free(lines *l)
{
    free(l->text);
    *l = (lines){NULL, 0, 0, 0};
}
