/* SPDX-License-Identifier: MIT
 * json.c - JSON (RFC 8259) in UTF-8: strings, values, bits, and the object with the results of
 * every verb (doc/formats.md). Values for which JSON has no number (nan, inf) are strings; "bits"
 * is always exact. */
#include "cli.h"

#include <string.h>

void print_json_string(FILE *f, const char *text)
{
    static const char plain[] = "\"\\\n\t\r", escaped[] = "\"\\ntr";
    fputc('"', f);
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

void print_json_value(FILE *f, tally_dtype dtype, const void *value)
{
    char text[64];
    tally_format_value(dtype, value, 0, text, sizeof text);
    const int number = strspn(text, "-+.0123456789eE") == strlen(text);
    fprintf(f, number ? "%s" : "\"%s\"", text);
}

void print_json_bits(FILE *f, tally_dtype dtype, const void *value)
{
    char text[64];
    tally_format_value(dtype, value, 1, text, sizeof text);
    fprintf(f, "\"%s\"", text);
}

void json_begin(FILE *f, const char *file, tally_dtype dtype)
{
    fputs("{\"file\": ", f);
    print_json_string(f, file);
    fprintf(f, ", \"dtype\": \"%s\", \"order\": \"E v1\", \"results\": [", tally_dtype_name(dtype));
}

void json_result(FILE *f, int number, const char *op, tally_dtype dtype, const char *per)
{
    fputs(number ? ",\n  {\"op\": " : "\n  {\"op\": ", f);
    print_json_string(f, op);
    fprintf(f, ", \"dtype\": \"%s\", \"per\": \"%s\"", tally_dtype_name(dtype), per);
}

void json_list(FILE *f, const tally_operator_info *info, const void *results, const void *places,
               int64_t count, json_put *put)
{
    const size_t size = tally_dtype_size(info->output);
    const char *at = results;
    for (int64_t i = 0; i < count; i++) {
        if (i) fputs(", ", f);
        if (places && !has_value(places, i)) {
            fputs("null", f);
            at += size * (size_t)info->lanes;
            continue;
        }
        if (info->lanes > 1) fputc('[', f);
        for (int lane = 0; lane < info->lanes; lane++, at += size) {
            if (lane) fputs(", ", f);
            put(f, info->output, at);
        }
        if (info->lanes > 1) fputc(']', f);
    }
}

/* "keys": for each key column an object with its cell of every group. */
static void json_keys(FILE *f, const answer *a)
{
    fputs(", \"keys\": [", f);
    for (int64_t c = 0; c < a->key_columns; c++) {
        fputs(c ? ", {\"name\": " : "{\"name\": ", f);
        print_json_string(f, a->key_names[c]);
        fputs(", \"values\": [", f);
        for (int64_t i = 0; i < a->key_groups; i++) {
            if (i) fputs(", ", f);
            print_json_string(f, a->keys[i * a->key_columns + c]);
        }
        fputs("]}", f);
    }
    fputc(']', f);
}

void json_end(FILE *f, const tally *ctx, const answer *a, const char *path)
{
    fprintf(f, "], \"n\": %lld, \"shape\": [", (long long)a->n);
    for (int d = 0; d < a->ndim; d++) fprintf(f, "%s%lld", d ? ", " : "", (long long)a->shape[d]);
    if (a->names) fputs("], \"columns\": [", f);
    for (int64_t i = 0; a->names && i < a->count; i++) {
        if (i) fputs(", ", f);
        print_json_string(f, a->names[i]);
    }
    fputc(']', f);
    if (a->keys) json_keys(f, a);
    fprintf(f, ", \"skipped\": %lld", (long long)a->skipped);
    if (path) {
        fputs(", \"path\": ", f);
        print_json_string(f, path);
    }
    json_ran(f, ctx, &a->ran);
    fputc('}', f);
}
