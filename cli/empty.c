/* SPDX-License-Identifier: MIT
 * empty.c - results without a value: --empty WORD in text, csv, netcdf and JSON, --out-valid FILE
 * beside npy and raw.
 *
 * A second operator, which runs on the same pieces, groups and windows, shows which results have
 * no value: the position of a maximum is -1 if there is no element. If the operator is a nan
 * form, the nan form of that operator is used, which leaves NaNs out. Shares (valid, missing)
 * have an operator of their own, whose results reduce_shares changes.
 *
 *    tally window nansum,mean -w 2 --empty NA  -->  nansum, mean | nanargmax (for nansum),
 *                                                   argmax (for mean) */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static int marked(const options *o) { return has(o, OPT_empty) || has(o, OPT_out_valid); }

/* Checks that a word can be a cell: it contains nothing that ends a cell, and no control
 * character. */
static int check_word(const char *word)
{
    uint32_t c;
    for (const char *at = word; *at;) {
        const size_t n = utf8_length(at, &c);
        if (!n || !is_shown(c))
            return usage(
                "--empty is '%s': must be one cell: UTF-8 without tabs, ends of lines and the like",
                word);
        at += n;
    }
    return DONE;
}

static int check_place(const options *o)
{
    const int filed = output_is_file(o), word = has(o, OPT_empty);
    const enum format format = !filed && has(o, OPT_json) ? TO_JSON : output_format(o);
    const char *const option = word ? "empty" : "out-valid",
                      *const value = o->value[word ? OPT_empty : OPT_out_valid];
    if (!filed && has(o, OPT_digest))
        return usage("--%s is '%s': --digest prints no results; give --output FILE too", option,
                     value);
    if (word && (format == TO_NPY || format == TO_RAW))
        return usage("--empty is '%s', and %s has no value that stands for none; --out-valid FILE "
                     "marks them",
                     value, format_name(format));
    if (word && format == TO_JSON && strcmp(value, "null") != 0)
        return usage("--empty is '%s': in JSON it must be null", value);
    if (!word && !filed)
        return usage("--out-valid is '%s': the results must go to a file too; give --output FILE",
                     value);
    if (!word && format != TO_NPY && format != TO_RAW)
        return usage("--out-valid is '%s', for npy and raw, and the results go to %s%s", value,
                     format_name(format), "; --empty WORD marks them there");
    if (!word && (!strcmp(value, "-") || !*value))
        return usage("--out-valid is '%s': must be the name of a file", value);
    if (!word && same_file(value, o->value[OPT_output]))
        return usage("--out-valid is '%s', which is --output too: must be another file", value);
    return DONE;
}

int empty_check(const options *o)
{
    if (!marked(o)) return DONE;
    const int code = has(o, OPT_empty) ? check_word(o->value[OPT_empty]) : DONE;
    return code ? code : check_place(o);
}

int is_nan_form(const char *op) { return !strncmp(op, "nan", 3) && is_operator(op); }

int empty_operators(operators *ops, const options *o)
{
    static const char *const added[] = {"argmax", "nanargmax", "argmax"};
    int number[3] = {-1, -1, -1};
    /* results that start from --init always have a value */
    if (!marked(o) || has(o, OPT_init)) return DONE;
    int code = DONE;
    ops->index_of = memory_for(&code, "the operators", ops->count, sizeof *ops->index_of);
    for (int i = 0; i < ops->count && !code; i++) {
        const int kind = ops->share[i] ? 2 : is_nan_form(ops->name[i]);
        if (number[kind] < 0) {
            number[kind] = ops->all++;
            ops->name[number[kind]] = added[kind];
        }
        ops->index_of[i] = number[kind];
    }
    return code;
}

int has_value(const void *indexes, int64_t i)
{
    int64_t at = 0;
    if (indexes) memcpy(&at, (const char *)indexes + (size_t)i * sizeof at, sizeof at);
    return at >= 0;
}

/* ---- --out-valid ---- */

struct bitmap {
    tally *ctx;
    tally_file *file;
    int64_t count;
    unsigned char byte;
};

int bitmap_open(bitmap **bitmap_, tally *ctx, const options *o)
{
    static const int64_t any = -1;
    int code = DONE;
    *bitmap_ = NULL;
    if (!has(o, OPT_out_valid)) return DONE;
    bitmap *const b = *bitmap_ = memory_for(&code, "--out-valid", 1, sizeof *b);
    if (code) return code;
    b->ctx = ctx;
    return code_of(ctx, tally_file_create(ctx, o->value[OPT_out_valid], "raw", TALLY_U8, 1, &any, 0,
                                          &b->file));
}

int bitmap_write(bitmap *b, const void *indexes, int64_t count)
{
    unsigned char bytes[4096];
    int64_t n = 0;
    tally_status status = TALLY_OK;
    for (int64_t i = 0; b && i < count && !status; i++) {
        b->byte |= (unsigned char)(has_value(indexes, i) << (b->count & 7));
        if (++b->count & 7) continue;
        bytes[n++] = b->byte;
        b->byte = 0;
        if (n < (int64_t)sizeof bytes) continue;
        status = tally_file_write(b->file, bytes, n);
        n = 0;
    }
    if (n && !status) status = tally_file_write(b->file, bytes, n);
    return b ? code_of(b->ctx, status) : DONE;
}

int bitmap_close(bitmap *b, int code)
{
    if (!b) return code;
    if (!code && b->count & 7) code = code_of(b->ctx, tally_file_write(b->file, &b->byte, 1));
    if (!code) code = code_of(b->ctx, tally_file_commit(b->file));
    tally_file_close(b->file); /* removes the file if it was not committed */
    free(b);
    return code;
}
