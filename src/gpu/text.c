/* SPDX-License-Identifier: MIT
 * The rows of gpu/kernel/params.def as data (kernels.h), and the text of a program, assembled from
 * files of src/. Each file begins with a #line, so that a compiler's message names the file in the
 * tree. The words KERNEL_OF(name) of a file are replaced by what the table says.
 *
 *   TALLY_KERNELS=dir    reads a file from there if it exists (dir is laid out like src/) */
#include "kernels.h"
#include "gpu/kernel/constants.h"
#include "store/store.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the kernels ---- */

/* tl_parameter lists: parameters_NAME. */
#define KERNEL(name, threads, blocks) static const tl_parameter parameters_##name[] = {
#define GROUP(name)                   static const tl_parameter parameters_##name[] = {
#define IN(type, name)                {TL_IS_MEMORY, "GLOBAL const " #type " *", #name, NULL},
#define OUT(type, name)               {TL_IS_MEMORY, "GLOBAL " #type " *", #name, NULL},
#define I64(name)                     {TL_IS_I64, "i64 ", #name, NULL},
#define F64(name)                     {TL_IS_F64, "f64 ", #name, NULL},
#define TAKES(name)                   {TL_IS_GROUP, "", "", parameters_##name},
#define LOCAL_BYTES()                 {TL_IS_LOCAL_BYTES, "", "local_bytes", NULL},
#define END(name) \
    { \
        TL_IS_GROUP, NULL, NULL, NULL \
    } \
    } \
    ;
#include "gpu/kernel/params.def"

/* HAS_LOCAL_NAME: 1 if its last row is LOCAL_BYTES. */
#define KERNEL(name, threads, blocks) enum { HAS_LOCAL_##name = 0
#define GROUP(name)                   enum { HAS_LOCAL_##name = 0
#define LOCAL_BYTES()                 +1
#define END(name) \
    } \
    ;
#include "gpu/kernel/params.def"

enum { WARPS = 0 };
const tl_gpu_kernel tl_gpu_kernels[TL_KERNELS] = {
#define KERNEL(name, threads, blocks) \
    {#name, \
     #threads, \
     #blocks, \
     threads, \
     (int)sizeof(tl_arguments_##name) / TL_ARGUMENT_BYTES - HAS_LOCAL_##name, \
     HAS_LOCAL_##name, \
     parameters_##name},
#include "gpu/kernel/params.def"
};

int tl_kernel_number(tally *ctx, char *names, size_t step, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(names + (size_t)i * step, name)) return i;
    if (strlen(name) >= TL_KERNEL_NAME || count == TL_KERNELS_MOST) {
        tl_unsupported(
            ctx,
            "kernel %.100s: a program's kernels are at most %d, with names of at most %d "
            "characters",
            name, TL_KERNELS_MOST, TL_KERNEL_NAME - 1);
        return -1;
    }
    memcpy(names + (size_t)count * step, name, strlen(name) + 1);

    return count;
}

/* ---- buffers ---- */

void tl_add(tl_buffer *b, const char *text, size_t length)
{
    if (b->failed) return;
    if (b->length + length + 1 > b->capacity) {
        size_t capacity = 2 * b->capacity + length + 4096;
        char *more = realloc(b->text, capacity);
        if (!more) {
            b->failed = 1;
            return;
        }

        b->text = more;
        b->capacity = capacity;
    }

    memcpy(b->text + b->length, text, length);
    b->length += length;
    b->text[b->length] = 0;
}

void tl_addf(tl_buffer *b, const char *format, ...)
{
    char line[256];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    tl_add(b, line, length < (int)sizeof line ? (size_t)length : sizeof line - 1);
}

/* ---- heads of kernels ---- */

static void add_parameters(tl_buffer *b, const tl_parameter *p)
{
    for (int first = 1; p->name; p++, first = 0) {
        if (!first && p->kind != TL_IS_LOCAL_BYTES) tl_addf(b, ", ");
        if (p->group)
            add_parameters(b, p->group);
        else if (p->kind == TL_IS_LOCAL_BYTES) /* has its own comma, if there is one */
            tl_addf(b, " LOCAL_MEMORY_PARAMETER");
        else
            tl_addf(b, "%s%s", p->type, p->name);
    }
}

static void add_head(tl_buffer *b, const tl_gpu_kernel *k)
{
    const char *threads = k->threads ? k->threads_text : "32 * WARPS_IN_GROUP";
    if (strcmp(k->blocks_text, "ANY"))
        tl_addf(b, "KERNEL_BLOCKS(%s, %s, %s)(", k->name, threads, k->blocks_text);
    else
        tl_addf(b, "KERNEL(%s, %s)(", k->name, threads);
    add_parameters(b, k->parameters);
    tl_addf(b, " BOX_PARAMETER)");
}

/* Writes a file's text with the heads of its kernels; its lines stay. Every kernel begins with
 * FOLLOW(), but for whole_columns, which calls it later. The compiler reports unknown names. */
static void add_text(tl_buffer *b, const char *text)
{
    static const char kernel_of[] = "KERNEL_OF(";

    for (const char *word; (word = strstr(text, kernel_of)) != NULL;) {
        const char *const name = word + sizeof kernel_of - 1;
        const size_t length = strcspn(name, ")");
        int k = 0;
        while (k < TL_KERNELS && (strncmp(tl_gpu_kernels[k].name, name, length) != 0 ||
                                  tl_gpu_kernels[k].name[length]))
            k++;

        const char *const body = k < TL_KERNELS ? strchr(name, '{') : NULL;
        tl_add(b, text, (size_t)((body ? word : name + length) - text));
        text = name + length;
        if (!body) continue;
        add_head(b, &tl_gpu_kernels[k]);
        tl_add(b, text + 1, (size_t)(body - text));
        if (strncmp(name, "whole_columns", length)) tl_addf(b, " FOLLOW();");
        text = body + 1;
    }
    tl_add(b, text, strlen(text));
}

/* ---- files ---- */

static int add_from_folder(tl_buffer *b, const char *folder, const char *name)
{
    char path[512], part[4096];
    size_t got;
    tl_buffer whole = {0};
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return 0;

    FILE *f = fopen(path, "rb");
    if (!f) return 0;
    while ((got = fread(part, 1, sizeof part, f)) > 0) tl_add(&whole, part, got);
    fclose(f);
    if (whole.failed) b->failed = 1;
    if (whole.text && !whole.failed) add_text(b, whole.text);
    free(whole.text);

    return 1;
}

void tl_add_file(tl_buffer *b, const char *name)
{
    const char *folder = getenv("TALLY_KERNELS");
    tl_addf(b, "\n#line 1 \"src/%s\"\n", name);
    if (folder && *folder && add_from_folder(b, folder, name)) return;
    for (const tl_source_text *t = tl_sources; t->name; t++)
        if (!strcmp(t->name, name)) {
            add_text(b, t->text);
            return;
        }
    b->failed = 1;
    snprintf(b->missing, sizeof b->missing, "%s", name);
}

/* ---- messages of compilers ---- */

const char *tl_first_error(const char *log)
{
    const char *error = strstr(log, "error");
    while (error && error > log && error[-1] != '\n') error--;
    return error ? error : log;
}

void tl_name_place(const char *line, const char *text, char *to, size_t capacity)
{
    static const char nameless[] = "<kernel>:";
    char file[200] = "", *rest = NULL;
    long wanted = strncmp(line, nameless, sizeof nameless - 1)
                      ? 0
                      : strtol(line + sizeof nameless - 1, &rest, 10),
         at = 1;

    for (long n = 1; n < wanted && *text; n++, at++) {
        long next;
        if (sscanf(text, "#line %ld \"%199[^\"]\"", &next, file) == 2) at = next - 1;
        text += strcspn(text, "\n");
        text += *text == '\n';
    }

    if (*file)
        snprintf(to, capacity, "%s:%ld%s", file, at, rest);
    else
        snprintf(to, capacity, "%s", line);
}
