/* SPDX-License-Identifier: MIT
 * libFuzzer target: any bytes as an operator's text. It is read for its facts, never compiled; a
 * refusal has a place in it. A text that is taken is read once more as compilers read it, by
 * other code than the library's: no line of it may bring in a file. */
#include "context/user_facts.c"
#undef NDEBUG
#include <assert.h>

/* What a compiler may make of a text before it looks for directives: trigraphs replaced (or
 * not), lines joined (also where blanks follow the backslash), carriage returns as newlines,
 * comments as spaces, literals without their content. Caller frees. */
static char *as_compiled(const char *text, int trigraphs)
{
    static const char from[] = "=/'()!<>-", to[] = "#\\^[]|{}~";
    size_t n = strlen(text), m = 0;
    char *a = malloc(n + 2), *b = malloc(n + 2);
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\r' && text[i + 1] == '\n') continue;
        const char *trigraph = trigraphs && text[i] == '?' && text[i + 1] == '?' && text[i + 2]
                                   ? strchr(from, text[i + 2])
                                   : NULL;
        a[m++] = trigraph ? to[trigraph - from] : text[i] == '\r' ? '\n' : text[i];
        if (trigraph) i += 2;
    }
    a[m] = 0;
    n = m, m = 0;
    for (size_t i = 0; i < n;) {
        size_t j = i + 1;
        while (a[i] == '\\' && (a[j] == ' ' || a[j] == '\t' || a[j] == '\v' || a[j] == '\f')) j++;
        if (a[i] == '\\' && a[j] == '\n')
            i = j + 1;
        else
            b[m++] = a[i++];
    }
    b[m] = 0;
    n = m, m = 0;
    for (size_t i = 0; i < n;) {
        if (b[i] == '/' && b[i + 1] == '/') {
            while (i < n && b[i] != '\n') i++;
        } else if (b[i] == '/' && b[i + 1] == '*') {
            const char *end = strstr(b + i + 2, "*/");
            i = end ? (size_t)(end - b) + 2 : n;
            a[m++] = ' ';
        } else if (b[i] == '"' || b[i] == '\'') {
            const char quote = b[i++];
            while (i < n && b[i] != quote && b[i] != '\n')
                i += b[i] == '\\' && i + 1 < n && b[i + 1] != '\n' ? 2 : 1;
            i += i < n && b[i] == quote;
            a[m++] = 'x';
        } else {
            a[m++] = b[i++];
        }
    }
    a[m] = 0;
    free(b);
    return a;
}

/* Is there a word that begins like this? */
static int has_word(const char *text, const char *begin)
{
    const char *at = text;
    while ((at = strstr(at, begin)) && at > text && is_word(at[-1])) at++;
    return at != NULL;
}

static void brings_in_nothing(const char *text)
{
    for (int trigraphs = 0; trigraphs < 2; trigraphs++) {
        char *seen = as_compiled(text, trigraphs), word[16];
        for (const char *line = seen; *line; line += strcspn(line, "\n"), line += *line == '\n') {
            const char *at = line + strspn(line, " \t\v\f");
            if (*at != '#' && strncmp(at, "%:", 2)) continue;
            at += *at == '#' ? 1 : 2;
            at += strspn(at, " \t\v\f");
            snprintf(word, sizeof word, "%.*s", (int)strspn(at, "abcdefghijklmnopqrstuvwxyz_"), at);
            assert(strncmp(word, "include", 7) && strcmp(word, "import") && strcmp(word, "embed") &&
                   strcmp(word, "pragma") && strcmp(word, "line"));
        }
        assert(!has_word(seen, "__") && !strstr(seen, "##"));
        free(seen);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    tl_facts facts;
    char *text = malloc(bytes + 1);
    if (!text) return 0;
    memcpy(text, data, bytes);
    text[bytes] = 0;
    tally_status status = tl_facts_read(NULL, "where", text, &facts);
    if (status) {
        assert(!strncmp(tally_error(NULL), "where:", 6));
    } else {
        assert(facts.fields > 0 && facts.state_line > 0 && facts.words <= TL_USER_WORDS);
        brings_in_nothing(text);
    }
    free(text);
    return 0;
}
