/* SPDX-License-Identifier: MIT
 * fragment.c - tally fragment: a reduction in parts, each in its own file, merged in any order. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 8 << 20 };
static const int64_t START_MOST = ((int64_t)1 << 61) - 1;

/* ---- fragments in files ---- */

/* Reads all bytes of the file into *buffer, which the caller frees, also after a failure. It
 * first reads a few bytes and checks them, because a file that is neither a fragment nor a state
 * may have no end (/dev/zero). */
static int read_bytes(tally *ctx, tally_file *file, const char *path, char **buffer,
                      int64_t *length)
{
    static const char magic[] = "tallyfrg"; /* see doc/formats.md */
    int64_t most = physical_memory() / 4;
    for (int64_t capacity = 0, want = sizeof magic - 1, got = 1; got; want = capacity - *length) {
        if (capacity - *length < want || !want) {
            capacity = 2 * capacity + READ_BYTES;
            const int code = grow_memory(buffer, path, (size_t)capacity);
            if (code) return code;
            if (*length) want = capacity - *length;
        }
        const int code = code_of(ctx, tally_file_read(file, *buffer + *length, want, &got));
        if (code) return code;
        *length += got;
        if (got && *length == sizeof magic - 1 && memcmp(*buffer, magic, sizeof magic - 1) != 0)
            most = sizeof(tally_exact); /* if it is valid, it is the state of an exact sum */
        if (*length > most && most == sizeof(tally_exact))
            return bad_data("%s: fragment: these bytes are not a fragment", path);
        if (*length > most)
            return bad_data("%s: more than %lld bytes, a quarter of the memory", path,
                            (long long)most);
    }
    return DONE;
}

/* Loads a fragment, or the state of an exact sum: then *f is NULL and *sum is the state. */
static int fragment_load(tally *ctx, const char *path, tally_fragment **f, tally_exact *sum)
{
    static const tally_file_options bytes = {.format = "raw", .dtype = TALLY_U8};
    tally_file *file = NULL;
    char *buffer = NULL;
    int64_t length = 0;
    *f = NULL;
    int code = code_of(ctx, tally_file_open(ctx, path, &bytes, &file));
    if (!code) code = read_bytes(ctx, file, path, &buffer, &length);
    tally_file_close(file);
    if (!code && state_is(buffer, length))
        code = state_load(path, buffer, length, sum);
    else if (!code && tally_fragment_load(ctx, buffer, (size_t)length, f))
        code = bad_data("%s: %s", path, tally_error(ctx));
    free(buffer);
    return code;
}

static int bytes_write(tally *ctx, const options *o, const void *buffer, size_t bytes)
{
    document d;
    const int code = document_open(&d, ctx, output_is_file(o) ? o->value[OPT_output] : NULL);
    if (code) return code;
    fwrite(buffer, 1, bytes, d.f);
    return document_close(&d, DONE);
}

static int fragment_save(tally *ctx, const options *o, const tally_fragment *f)
{
    size_t bytes = 0;
    int code = code_of(ctx, tally_fragment_save(f, NULL, &bytes));
    char *const buffer = memory_for(&code, "the fragment", (int64_t)bytes, 1);
    if (!code) code = code_of(ctx, tally_fragment_save(f, buffer, &bytes));
    if (!code) code = bytes_write(ctx, o, buffer, bytes);
    free(buffer);
    return code;
}

static int output_asked(const options *o)
{
    if (has(o, OPT_output)) return DONE;
    return usage("`tally fragment %s` writes a file: say which with -o FILE (- is standard output)",
                 o->args[0]);
}

/* ---- make ---- */

/* Makes the fragment of the input, whose first element has number start, piece by piece. */
static int make(tally *ctx, const options *o, input *in, int64_t start, tally_fragment **f,
                progress *p)
{
    const int64_t most = READ_BYTES / (int64_t)tally_dtype_size(in->dtype);
    const char *const op = o->args[1];
    int code = DONE;
    char *const buffer = memory_for(&code, "the reading buffer", READ_BYTES, 1);
    if (!code) code = code_of(ctx, tally_fragment_make(ctx, op, in->dtype, NULL, start, 0, f));
    for (int64_t at = start, got = 1; !code && got;) {
        tally_fragment *piece = NULL;
        code = input_read(in, buffer, most, &got);
        if (!code && got && at > START_MOST - got)
            code = usage("--start %lld: the last element would be beyond 2^61", (long long)start);
        if (code || !got) break;
        tally_status status = tally_fragment_make(ctx, op, in->dtype, buffer, at, got, &piece);
        if (!status) status = tally_fragment_merge(*f, piece);
        tally_fragment_free(piece);
        code = code_of(ctx, status);
        at += got;
        progress_show(p, in, at - start);
    }
    free(buffer);
    return code;
}

/* Makes the fragment of the array as one view, of one sequence or of many, which begin with
 * element number start, with validity and a second input. */
static int make_view(tally *ctx, const options *o, input *in, const second *beside, int64_t start,
                     tally_fragment **f)
{
    layout l = {0};
    tally_view view, next;
    int64_t at, step;
    const int rows = has(o, OPT_axis) || in->columns;
    int code = rows ? layout_open(&l, in, o, 0) : DONE;
    if (!code && l.outer > 1 && l.inner > 1)
        code = usage(
            "--axis %d: a fragment takes the first axis of an array or the last, and %s has %d",
            l.axis, in->label, in->ndim);
    if (!code && (rows ? l.len : in->n) > START_MOST - start)
        code = usage("--start %lld: the last element would be beyond 2^61", (long long)start);
    if (!code) {
        view = tally_flat(in->data, in->dtype, in->n);
        if (rows) layout_batch(&l, 0, layout_elements(&l, in), &view, &at, &step);
        second_view(beside, in->data, &view, &next);
        code = code_of(ctx, tally_fragment_of_view(ctx, o->args[1], &view, start, f));
    }
    layout_close(&l);
    return code;
}

static int run_make(tally *ctx, const options *o)
{
    int64_t start;
    input in;
    progress p;
    second beside = {0};
    operators ops = {0};
    tally_fragment *f = NULL;
    tally_exact sum;
    if (o->nargs < 2 || o->nargs > 3 || strchr(o->args[1], ','))
        return usage("`tally fragment make OP FILE -o F` takes one operator and one file");
    int code = output_asked(o);
    if (!code) code = operator_check(o->args[1], strcspn(o->args[1], ":"));
    if (!code) code = opt_count(o, OPT_start, 0, START_MOST, 0, &start);
    if (!code) code = operators_split(&ops, o->args[1]);
    if (!code) code = input_open(&in, ctx, o, o->nargs > 2 ? o->args[2] : "-", NULL);
    if (code) {
        operators_free(&ops);
        return code;
    }
    const int exact = state_fits(o, &in);
    progress_begin(&p, o, in.name);
    if (has(o, OPT_shape) && (has(o, OPT_axis) || in.columns))
        code = input_reshape(&in, o->value[OPT_shape]);
    if (!code) code = second_open(&beside, &in, o, &ops);
    if (!code && exact)
        code = state_make(ctx, &in, &beside, &sum);
    else if (!code)
        code = beside.on || has(o, OPT_axis) || in.columns
                   ? make_view(ctx, o, &in, &beside, start, &f)
                   : make(ctx, o, &in, start, &f, &p);
    progress_end(&p);
    if (!code) code = input_sound(&in);
    if (!code) code = second_sound(&beside);
    if (!code) input_note(&in, o);
    if (!code) code = exact ? bytes_write(ctx, o, &sum, sizeof sum) : fragment_save(ctx, o, f);
    tally_fragment_free(f);
    second_close(&beside);
    input_close(&in);
    operators_free(&ops);
    return code;
}

/* ---- merge, result, show ---- */

static int run_merge(tally *ctx, const options *o)
{
    tally_fragment *all = NULL;
    tally_exact sum, more;
    int code = output_asked(o);
    if (!code && o->nargs < 2) code = usage("`tally fragment merge F... -o G`: which fragments?");
    for (int i = 1; i < o->nargs && !code; i++) {
        tally_fragment *f = NULL;
        code = fragment_load(ctx, o->args[i], &f, i == 1 ? &sum : &more);
        if (!code && i == 1) {
            all = f;
            continue;
        }
        if (!code && !all != !f)
            code = bad_data("%s: a fragment and the state of an exact sum do not merge: %s is %s",
                            o->args[i], o->args[1], all ? "a fragment" : "a state");
        else if (!code && !all)
            tally_exact_merge(&sum, &more);
        else if (!code && tally_fragment_merge(all, f))
            code = bad_data("%s (right) does not fit what was merged before (left): %s", o->args[i],
                            tally_error(ctx));
        tally_fragment_free(f);
    }
    if (!code) code = all ? fragment_save(ctx, o, all) : bytes_write(ctx, o, &sum, sizeof sum);
    tally_fragment_free(all);
    return code;
}

/* Checks the operands. more: a word may follow the file (for the state of an exact sum). */
static int one_file(const options *o, int more)
{
    if (o->nargs == 2 || (more && o->nargs == 3)) return DONE;
    return usage("`tally fragment %s F` takes one fragment, and there are %d", o->args[0],
                 o->nargs - 1);
}

static int run_result(tally *ctx, const options *o)
{
    tally_fragment *f = NULL;
    tally_fragment_info about;
    tally_exact sum;
    result r = {0};
    int code = one_file(o, 1);
    if (!code) code = fragment_load(ctx, o->args[1], &f, &sum);
    if (!code && !f) return state_result(ctx, o, &sum);
    if (!code && has(o, OPT_dtype))
        code =
            usage("--dtype is for the state of sum:exact, and %s is a fragment, which has a type",
                  o->args[1]);
    if (!code && o->nargs == 3 && access(o->args[2], F_OK) != 0) {
        tally_fragment_about(f, &about);
        code = usage("'%s': only the state of sum:exact has results of several operators, and %s "
                     "is a fragment of %s",
                     o->args[2], o->args[1], about.op);
    }
    if (!code) code = one_file(o, 0);
    if (code) {
        tally_fragment_free(f);
        return code;
    }
    tally_fragment_about(f, &about);
    r.op = about.op;
    code = result_open(&r, ctx, r.op, about.dtype, about.rows);
    if (!code && tally_fragment_result(f, r.bits))
        code = bad_data("%s: %s", o->args[1], tally_error(ctx));
    const int one = about.rows == 1;
    const answer a = {.file = o->args[1],
                      .dtype = about.dtype,
                      .n = about.elements * about.rows,
                      .ndim = one ? 1 : 2,
                      .shape = {about.elements, about.rows},
                      .count = about.rows,
                      .axis = -1,
                      .flat = one,
                      .per = one ? "fragment" : "sequence",
                      .results = &r,
                      .ops = 1};
    if (!code) code = print_answers(ctx, &a, 1, o);
    free(r.bits);
    tally_fragment_free(f);
    return code;
}

static int run_show(tally *ctx, const options *o)
{
    tally_fragment *f = NULL;
    tally_fragment_info about;
    tally_exact sum;
    int64_t start, end, last = 0;
    int code = one_file(o, 0);
    if (!code) code = fragment_load(ctx, o->args[1], &f, &sum);
    if (!code && !f) return state_show(o, &sum);
    if (code) return code;
    tally_fragment_about(f, &about);
    const int json = has(o, OPT_json);
    if (json) {
        json_begin(stdout, o->args[1], about.dtype);
        put_json(stdout, "{\"op\": ", about.op);
        printf(", \"sequences\": %lld, \"elements\": %lld, \"nodes\": %lld, \"ranges\": [",
               (long long)about.rows, (long long)about.elements, (long long)about.nodes);
    } else {
        printf("%s of %s, ", about.op, tally_dtype_name(about.dtype));
        if (about.rows != 1) printf("%lld sequences of ", (long long)about.rows);
        printf("%lld elements in %lld range%s, %lld nodes\n", (long long)about.elements,
               (long long)about.ranges, about.ranges == 1 ? "" : "s", (long long)about.nodes);
    }
    for (int64_t i = 0; i < about.ranges; i++, last = end) {
        tally_fragment_ranges(f, i, 1, &start, &end);
        if (json) {
            printf("%s[%lld, %lld]", i ? ", " : "", (long long)start, (long long)end);
            continue;
        }
        if (start > last) printf("missing  [%lld, %lld)\n", (long long)last, (long long)start);
        printf("here     [%lld, %lld)\n", (long long)start, (long long)end);
    }
    if (json) puts("]}]}");
    tally_fragment_free(f);
    return DONE;
}

/* Refuses an option that the action would ignore. */
static int options_fit(const options *o, int is_make, int is_result)
{
    static const unsigned char of_make[] = {OPT_start,     OPT_axis,    OPT_variable,
                                            OPT_shape,     OPT_with,    OPT_with_dtype,
                                            OPT_valid,     OPT_format,  OPT_column,
                                            OPT_header,    OPT_comment, OPT_delimiter,
                                            OPT_thousands, OPT_decimal, OPT_skip_lines,
                                            OPT_skip_bad},
                               of_result[] = {OPT_to, OPT_hex, OPT_digest};
    for (size_t i = 0; i < sizeof of_make && !is_make; i++)
        if (has(o, of_make[i]))
            return usage("--%s goes with `tally fragment make`", option_table[of_make[i]].name);
    for (size_t i = 0; i < sizeof of_result && !is_result; i++)
        if (has(o, of_result[i]))
            return usage("--%s goes with `tally fragment result`", option_table[of_result[i]].name);
    if (has(o, OPT_dtype) && !is_make && !is_result)
        return usage("--dtype goes with `tally fragment make` and `result`");
    return DONE;
}

int run_fragment(const options *o)
{
    static const char *const names[] = {"make", "merge", "result", "show", NULL};
    static int (*const run[])(tally *, const options *) = {run_make, run_merge, run_result,
                                                           run_show};
    int i = 0;
    if (!o->nargs)
        return usage("`tally fragment` makes, merges or reads: make, merge, result or show");
    while (names[i] && strcmp(o->args[0], names[i])) i++;
    if (!names[i]) return fail_choice(USAGE, "action", o->args[0], names);
    tally *ctx = NULL;
    int code = options_fit(o, i == 0, i == 2);
    if (!code) code = session_open(&ctx, o);
    if (!code) code = run[i](ctx, o);
    tally_close(ctx);
    return code;
}
