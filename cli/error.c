/* SPDX-License-Identifier: MIT
 * error.c - one sentence on standard error and an exit code; suggestions; the end of standard
 * output. Names and sentences are made safe to print: control characters are written as \n, \t or
 * \xNN, and so are bytes that are not UTF-8. A name comes from a file, a folder or a compiler, and
 * may contain anything. */
#define _GNU_SOURCE
#include "cli.h"
#include "context/context.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* ---- text that is safe to print ---- */

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
    static locale_t utf8; /* wcwidth knows the characters of its locale alone */
    if (!utf8) utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    const locale_t before = utf8 ? uselocale(utf8) : (locale_t)0;
    int width = 0;
    for (uint32_t c; *shown;) {
        const size_t n = utf8_length(shown, &c);
        const int columns = n && utf8 ? wcwidth((wchar_t)c) : 1;
        width += columns < 0 ? 1 : columns;
        shown += n ? n : 1;
    }
    if (utf8) uselocale(before);
    return width;
}

/* ---- sentences ---- */

static int write_error; /* why standard output could not be written, or 0 */

void stdout_flush(void)
{
    if (fflush(stdout) && !write_error) write_error = errno;
}

/* Prints a sentence as one line, even if a name in it contains newlines. */
static void print_sentence(const char *format, va_list args)
{
    char *sentence = NULL;
    stdout_flush(); /* earlier output comes before the sentence */
    fputs("tally: ", stderr);
    if (vasprintf(&sentence, format, args) < 0) sentence = NULL;
    put_plain(stderr, sentence ? sentence : "no memory for the sentence that belongs here");
    fputc('\n', stderr);
    free(sentence);
}

int fail(int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_sentence(format, args);
    va_end(args);
    return code;
}

int usage(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_sentence(format, args);
    va_end(args);
    return USAGE;
}

int bad_data(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_sentence(format, args);
    va_end(args);
    return BAD_DATA;
}

void note(const options *o, const char *format, ...)
{
    va_list args;
    if (has(o, OPT_quiet)) return;
    va_start(args, format);
    print_sentence(format, args);
    va_end(args);
}

int code_of(const tally *ctx, tally_status status)
{
    static const struct {
        tally_status status;
        int code;
    } codes[] = {{TALLY_INVALID, USAGE},
                 {TALLY_UNSUPPORTED, USAGE},
                 {TALLY_NO_DEVICE, NO_DEVICE},
                 {TALLY_MISMATCH, VERIFY_FAILED}};
    int code = BAD_DATA;
    if (!status) return DONE;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].status == status) code = codes[i].code;
    const char *sentence = tally_error(ctx);
    return fail(code, "%s", *sentence ? sentence : tally_status_name(status));
}

int fail_memory(const char *what, int64_t bytes)
{
    return bad_data("%s needs %lld bytes of memory, which could not be had", what,
                    (long long)bytes);
}

void *memory_for(int *code, const char *what, int64_t count, size_t size)
{
    void *const memory = *code ? NULL : calloc((size_t)count + 1, size);
    if (!memory && !*code) *code = fail_memory(what, count * (int64_t)size);
    return memory;
}

int grow_memory(void *pointer, const char *what, size_t bytes)
{
    void *old, *more;
    memcpy(&old, pointer, sizeof old);
    if (!(more = realloc(old, bytes))) return fail_memory(what, (int64_t)bytes);
    memcpy(pointer, &more, sizeof more);
    return DONE;
}

char *text_for(int *code, const char *what, const char *text)
{
    char *const copy = *code || !text ? NULL : strdup(text);
    if (!copy && !*code && text) *code = fail_memory(what, (int64_t)strlen(text) + 1);
    return copy;
}

int fail_choice(int code, const char *what, const char *given, const char *const *names)
{
    char list[1024], hint[TL_HINT];
    size_t at = 0;
    list[0] = '\0';
    for (int i = 0; names[i] && at < sizeof list; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "", names[i]);
    return fail(code, "there is no %s '%s';%s choices: %s", what, given,
                tl_hint(what, given, names, hint), list);
}

int stdout_closed(void)
{
    struct pollfd p = {1, POLLOUT, 0};
    return poll(&p, 1, 0) == 1 && (p.revents & (POLLERR | POLLHUP));
}

int stdout_finish(int code)
{
    errno = 0;
    const int failed = fflush(stdout) != 0 || ferror(stdout);
    const int why = errno ? errno : write_error;
    if (!failed || code) return code;
    if (why == EPIPE || stdout_closed()) return CLOSED_PIPE;
    return bad_data("standard output: %s", why ? strerror(why) : "a write failed");
}
