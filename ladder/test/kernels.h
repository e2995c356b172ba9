/* SPDX-License-Identifier: MIT
 * The kernels that `tally ladder try` is tested with: right.txt has whole texts, the files of
 * wrong/ small patches of them and of the rungs. A section:
 *
 *   == barrier_break.cl          the file's name, which says the language
 *   from: reduce/tiled_3         the text that is patched: a rung, or a section of right.txt
 *   caught: barrier 12 WORDS     a complaint of this kind, at this line, that has these words
 *   / * like: reduce/tiled_3 * / the head, in place of the other text's first comment
 *   @@                           a patch: lines that stay, with a blank before them, lines that
 *   -old line                    go and lines that come; the old lines stand together, once
 *   +new line
 *
 * Without `from:` the whole text stands there. */
#ifndef LADDER_TEST_KERNELS_H
#define LADDER_TEST_KERNELS_H
#include "check.h"
#include "student.h"

static const char *const kernel_files[] = {"right.txt", "wrong/idiom.txt", "wrong/places.txt",
                                           "wrong/steps.txt", "wrong/words.txt"};

typedef struct kernel_text {
    char name[64], from[64];
    char kind[16], words[160]; /* of `caught` */
    int line;                  /* of `caught`; 0: none is named */
    char *text;
} kernel_text;

typedef struct kernel_file {
    char *all, *at; /* the file; the section to be read next */
} kernel_file;

static inline int kernels_open(kernel_file *f, const char *name)
{
    char path[400];
    ladder_error error = {0};
    snprintf(path, sizeof path, "%s/ladder/test/%s", TALLY_SOURCE_DIR, name);
    f->all = f->at = read_text(path, &error);
    return check(f->all && !strncmp(f->all, "== ", 3), "%s: %s", path, error.sentence);
}

static inline void kernels_close(kernel_file *f) { free(f->all); }

/* What is behind the first comment. */
static inline const char *behind_head(const char *text)
{
    const char *const end = strncmp(text, "/*", 2) ? NULL : strstr(text, "*/\n");
    if (end) return end + 3;
    while (!strncmp(text, "//", 2)) text += strcspn(text, "\n") + 1;
    return text;
}

/* Where the lines `old` stand in `text`; NULL: nowhere. */
static inline const char *find_lines(const char *text, const char *old)
{
    const char *at = text;
    while (at && strncmp(at, old, strlen(old))) {
        at = strchr(at, '\n');
        at = at && at[1] ? at + 1 : NULL;
    }
    return at;
}

/* One patch of `text`, which is replaced; the lines from `at` to `end` say what. */
static inline int patch_one(char **text, const char *at, const char *end)
{
    const size_t most = (size_t)(end - at) + 1, length = strlen(*text);
    char *const old = calloc(1, most), *const new = calloc(1, most);
    while (at < end) {
        const size_t line = strcspn(at, "\n") + 1;
        if (*at != '+') strncat(old, at + (*at != '\n'), line - (*at != '\n'));
        if (*at != '-') strncat(new, at + (*at != '\n'), line - (*at != '\n'));
        at += line;
    }
    const char *const found = find_lines(*text, old), *next = found ? strchr(found, '\n') : NULL;
    const int once = *old && found && !find_lines(next + 1, old);
    char *const whole = once ? calloc(1, length + most) : NULL;
    if (whole) {
        memcpy(whole, *text, (size_t)(found - *text));
        strcat(strcat(whole, new), found + strlen(old));
        free(*text);
        *text = whole;
    }
    free(old);
    free(new);
    return whole != NULL;
}

static inline char *kernel_of(const char *name);

/* head: of the section; patches: from its first @@ on. */
static inline char *patch_all(const kernel_text *k, const char *head, const char *patches)
{
    char path[80];
    const rung *const g = strchr(k->from, '/') ? find_rung(NULL, k->from) : NULL;
    char *const whole = g ? strdup(rung_text(g, path, sizeof path)) : kernel_of(k->from);
    if (!check(whole != NULL, "%s: there is no text '%s'", k->name, k->from)) return NULL;
    const char *const body = behind_head(whole);
    char *text = calloc(1, (size_t)(patches - head) + strlen(body) + 1);
    strcat(strncat(text, head, (size_t)(patches - head)), body);
    free(whole);
    for (const char *at = patches, *end; *at; at = end) {
        const char *const next = strstr(at + 3, "\n@@\n");
        end = next ? next + 1 : at + strlen(at);
        check(patch_one(&text, at + 3, end), "%s: the text does not have exactly once: %.*s",
              k->name, (int)(end - at), at);
    }
    return text;
}

/* The next section of the file; 0: there is none. The caller frees k->text. */
static inline int kernels_next(kernel_file *f, kernel_text *k)
{
    *k = (kernel_text){.text = NULL};
    if (!f->at || sscanf(f->at, "== %63s", k->name) != 1) return 0;
    char *const next = strstr(f->at, "\n\n== "), *at = strchr(f->at, '\n') + 1;
    if (next) next[1] = 0;
    f->at = next ? next + 2 : NULL;
    if (sscanf(at, "from: %63s", k->from) == 1) at = strchr(at, '\n') + 1;
    if (!strncmp(at, "caught: ", 8)) {
        sscanf(at, "caught: %15s %d %159[^\n]", k->kind, &k->line, k->words);
        at = strchr(at, '\n') + 1;
    }
    const char *const patches = strstr(at, "@@\n");
    k->text = k->from[0] ? patch_all(k, at, patches ? patches : at + strlen(at)) : strdup(at);
    return k->text != NULL;
}

/* The text of a kernel, wherever it is; the caller frees it. NULL: there is none. */
static inline char *kernel_of(const char *name)
{
    for (size_t i = 0; i < sizeof kernel_files / sizeof *kernel_files; i++) {
        kernel_file f;
        kernel_text k;
        int found = 0;
        if (!kernels_open(&f, kernel_files[i])) return NULL;
        while (!found && kernels_next(&f, &k)) {
            found = !strcmp(k.name, name);
            if (!found) free(k.text);
        }
        kernels_close(&f);
        if (found) return k.text;
    }
    return NULL;
}
#endif
