/* SPDX-License-Identifier: MIT
 * json.c - JSON (RFC 8259) in UTF-8: strings, values, bits, and the object with the results of
 * every verb (doc/formats.md). Values for which JSON has no number (nan, inf) are strings; "bits"
 * is always exact. */
#include "cli.h"

#include <string.h>

void put_json(FILE *f, const char *before, const char *text)
{
    static const char plain[] = "\"\\\n\t\r", escaped[] = "\"\\ntr";
    fprintf(f, "%s\"", before);
    for (uint32_t c; *text;) {
        const size_t n = utf8_length(text, &c);
        const char *const at = strchr(plain, *text);
        if (at)
            fprintf(f, "\\%c", escaped[at - plain]);
        else if (!n || !is_shown(c))
            /* for a byte that is not UTF-8, the replacement character */
            fprintf(f, "\\u%04x", n ? (unsigned)c : 0xfffdu);
        else
            fwrite(text, 1, n, f);
        text += n ? n : 1;
    }
    fputc('"', f);
}

static void put_value(FILE *f, const result *r, int64_t at, int bits)
{
    char text[RESULT_BYTES];
    result_text(r, at, bits, text);
    const int number = !bits && !r->date && strspn(text, "-+.0123456789eE") == strlen(text);
    fprintf(f, number ? "%s" : "\"%s\"", text);
}

void json_begin(FILE *f, const char *file, tally_dtype dtype)
{
    put_json(f, "{\"file\": ", file);
    fprintf(f, ", \"dtype\": \"%s\", \"order\": \"E v1\", \"results\": [", tally_dtype_name(dtype));
}

/* Writes the values of a result, or their bits. A result without a value is null. */
static void put_list(FILE *f, const result *r, int64_t count, int bits)
{
    const int lanes = r->info.lanes;
    for (int64_t i = 0; i < count; i++) {
        if (i) fputs(", ", f);
        if (!has_value(r->indexes, i)) {
            fputs("null", f);
            continue;
        }
        if (lanes > 1) fputc('[', f);
        for (int lane = 0; lane < lanes; lane++) {
            if (lane) fputs(", ", f);
            put_value(f, r, i * lanes + lane, bits);
        }
        if (lanes > 1) fputc(']', f);
    }
}

static void put_result(FILE *f, const answer *a, const result *r, int values)
{
    put_json(f, "{\"op\": ", r->op);
    fprintf(f, ", \"dtype\": \"%s\", \"per\": \"%s\"", tally_dtype_name(r->info.output), a->per);
    for (int bits = 0; bits < 2 && values; bits++) {
        fprintf(f, ", \"%s%s\": %s", bits ? "bits" : "value", bits || a->flat ? "" : "s",
                a->flat ? "" : "[");
        put_list(f, r, a->count, bits);
        if (!a->flat) fputc(']', f);
    }
    fprintf(f, ", \"count\": %lld", (long long)a->count);
    if (*r->digest) fprintf(f, ", \"sha256\": \"%s\"", r->digest);
    fputc('}', f);
}

/* "keys": for each key column an object with its cell of every group. */
static void json_keys(FILE *f, const answer *a)
{
    fputs(", \"keys\": [", f);
    for (int64_t c = 0; c < a->key_columns; c++) {
        put_json(f, c ? ", {\"name\": " : "{\"name\": ", a->key_names[c]);
        fputs(", \"values\": [", f);
        for (int64_t i = 0; i < a->key_groups; i++)
            put_json(f, i ? ", " : "", a->keys[i * a->key_columns + c]);
        fputs("]}", f);
    }
    fputc(']', f);
}

void json_answer(FILE *f, const tally *ctx, const answer *a, int values, const char *path)
{
    json_begin(f, a->file, a->dtype);
    for (int i = 0; i < a->ops; i++) {
        fputs(i ? ",\n  " : "\n  ", f);
        put_result(f, a, &a->results[i], values);
    }
    fprintf(f, "], \"n\": %lld, \"shape\": [", (long long)a->n);
    for (int d = 0; d < a->ndim; d++) fprintf(f, "%s%lld", d ? ", " : "", (long long)a->shape[d]);
    if (a->names) fputs("], \"columns\": [", f);
    for (int64_t i = 0; i < a->named; i++) put_json(f, i ? ", " : "", a->names[i]);
    fputc(']', f);
    if (a->keys) json_keys(f, a);
    fprintf(f, ", \"skipped\": %lld", (long long)a->skipped);
    if (path) put_json(f, ", \"path\": ", path);
    json_ran(f, ctx, &a->ran);
    fputc('}', f);
}
