/* SPDX-License-Identifier: MIT
 * json.c - strings, values and bits as JSON. What JSON has no number for (nan, inf) is a string; "bits" is always
 * exact. */
#include "cli.h"

#include <string.h>

void print_json_string(FILE *f, const char *text)
{
    static const char plain[] = "\"\\\n\t\r", escaped[] = "\"\\ntr";
    fputc('"', f);
    for (; *text; text++) {
        const char *const at = strchr(plain, *text);
        if (at)
            fprintf(f, "\\%c", escaped[at - plain]);
        else if ((unsigned char)*text < 0x20)
            fprintf(f, "\\u%04x", (unsigned)*text);
        else
            fputc(*text, f);
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
