/* SPDX-License-Identifier: MIT
 * text.c - makes names and sentences safe to print. Control characters are written as \n, \t or
 * \xNN, and so are bytes that are not UTF-8. A name comes from a file, a folder or a compiler, and
 * may contain anything. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

size_t utf8_length(const char *text, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *const s = (const unsigned char *)text;
    const size_t n = s[0] < 0x80   ? 1
                     : s[0] < 0xc0 ? 0
                     : s[0] < 0xe0 ? 2
                     : s[0] < 0xf0 ? 3
                     : s[0] < 0xf8 ? 4
                                   : 0;
    if (!n) return 0;
    *code = n == 1 ? s[0] : s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        *code = *code << 6 | (s[i] & 0x3f);
    }
    return *code < least[n] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000) ? 0 : n;
}

/* Whether a character is printed unchanged: not control characters, line separators, or marks
 * that change the direction of text. */
int is_shown(uint32_t c)
{
    return c >= 0x20 && (c < 0x7f || c > 0x9f) && c != 0x200e && c != 0x200f &&
           (c < 0x2028 || c > 0x202e) && (c < 0x2066 || c > 0x2069) && c != 0xfeff;
}

void put_plain(FILE *f, const char *text)
{
    for (uint32_t c; *text;) {
        const size_t n = utf8_length(text, &c);
        if (n && is_shown(c)) {
            fwrite(text, 1, n, f);
        } else if (*text == '\n' || *text == '\t') {
            fputs(*text == '\n' ? "\\n" : "\\t", f);
        } else {
            for (size_t i = 0; i < (n ? n : 1); i++) fprintf(f, "\\x%02x", (unsigned char)text[i]);
        }
        text += n ? n : 1;
    }
}

char *plain(const char *text)
{
    char *shown = NULL;
    size_t bytes;
    FILE *const f = open_memstream(&shown, &bytes);
    if (!f) return NULL;
    put_plain(f, text);
    if (!fclose(f)) return shown;
    free(shown);
    return NULL;
}

int plain_width(const char *shown)
{
    int width = 0;
    for (; *shown; shown++) width += (*shown & 0xc0) != 0x80;
    return width;
}
