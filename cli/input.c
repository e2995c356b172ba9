/* SPDX-License-Identifier: MIT
 * input.c - a file as elements in C order: mapped if it fits, otherwise read in pieces.
 *
 *  mapped, fits in memory      data points into the mapping, which guard.c guards
 *  everything else             data is NULL, and input_read reads the elements in order, in
 *                              bounded memory
 *  input_load                  loads the rest into memory, for verbs that need all of it
 *                              (--axis 0, --reverse, Fortran order) */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int64_t physical_memory(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (int64_t)pages * size : INT64_MAX;
}

int memory_option(const options *o, int64_t *bytes)
{
    return opt_count(o, OPT_memory, 1, INT64_MAX, physical_memory() / 4, bytes);
}

void large_pages(void *memory, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t a = ((uintptr_t)memory + LARGE_PAGE - 1) & -(uintptr_t)LARGE_PAGE,
                    b = ((uintptr_t)memory + bytes) & -(uintptr_t)LARGE_PAGE;
    if (memory && a < b) madvise((void *)a, b - a, MADV_HUGEPAGE);
#else
    (void)memory, (void)bytes;
#endif
}

static int delimiter_option(const options *o, char *delimiter)
{
    static const struct {
        const char *name;
        char value;
    } names[] = {{"tab", '\t'}, {"\\t", '\t'}, {"space", ' '}, {"comma", ','}, {"semicolon", ';'}};
    const char *text = o->value[OPT_delimiter];
    *delimiter = 0;
    if (!text) return DONE;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i].name) == 0) *delimiter = names[i].value;
    if (!*delimiter && text[0] && !text[1]) *delimiter = text[0];
    if (*delimiter) return DONE;
    return usage("--delimiter is '%s': must be one character, or tab, space, comma, semicolon",
                 text);
}

/* Reads --comment and --thousands, which are one character each. */
static int character_options(const options *o, tally_file_options *f)
{
    const char *const comment = o->value[OPT_comment], *const thousands = o->value[OPT_thousands];
    if (comment && strlen(comment) > 1)
        return usage("--comment is '%s': must be one character, or '' for none", comment);
    const int comma = has(o, OPT_decimal) && *o->value[OPT_decimal] == ',';
    if (thousands && (strlen(thousands) != 1 || !strchr(comma ? ".' _" : ",' _", *thousands)))
        return usage("--thousands is '%s': must be one of %c ' _ and a space", thousands,
                     comma ? '.' : ',');
    const char *const decimal = o->value[OPT_decimal];
    if (decimal && strcmp(decimal, ",") && strcmp(decimal, "."))
        return usage("--decimal is '%s': must be a comma or a point", decimal);
    f->decimal = decimal && *decimal == ',' ? ',' : 0;
    f->comment = !comment ? 0 : *comment ? (unsigned char)*comment : -1;
    f->thousands = thousands ? *thousands : 0;
    return DONE;
}

static int file_options(const options *o, tally_file_options *f)
{
    memset(f, 0, sizeof *f);
    const char *header = o->value[OPT_header];
    f->format = o->value[OPT_format];
    f->column = o->value[OPT_column];
    f->header = !header ? 0 : header[0] == 'y' ? 1 : -1;
    f->skip_bad = has(o, OPT_skip_bad);
    f->table = has(o, OPT_axis) && !has(o, OPT_shape);
    f->keep = has(o, OPT_keep);
    f->utc = has(o, OPT_utc);
    /* with --axis, --by is handled by bands.c or coordinate.c */
    f->by = has(o, OPT_axis) ? NULL : o->value[OPT_by];
    f->variable = o->value[OPT_variable];
    f->by_time = f->by && (has(o, OPT_last) || has(o, OPT_next));
    f->dates = o->verb == VERB_reduce;
    static const enum option numbers[] = {OPT_axis,  OPT_segments, OPT_valid,    OPT_with,
                                          OPT_minus, OPT_shape,    OPT_precision};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) f->dates &= !has(o, numbers[i]);
    int code = dtype_option(o, OPT_dtype, &f->dtype);
    if (!code) code = character_options(o, f);
    if (!code) code = opt_count(o, OPT_skip_lines, 0, INT64_MAX, 0, &f->skip_lines);
    if (!code) code = opt_count(o, OPT_memory, 1, INT64_MAX, 0, &f->memory);
    return code ? code : delimiter_option(o, &f->delimiter);
}

/* Uses the mapped elements as data, unless the mapping cannot be guarded. */
static void use_mapping(input *in)
{
    const int64_t bytes = in->n * (int64_t)tally_dtype_size(in->dtype);
    in->guard = guard_add(in->info.mapped, bytes);
    if (in->guard) in->data = in->info.mapped;
}

static int open_as(input *in, tally *ctx, const tally_file_options *f, const char *path)
{
    in->ctx = ctx;
    const int code = code_of(ctx, tally_file_open(ctx, path, f, &in->file));
    if (code) return code;
    tally_file_get_info(in->file, &in->info);
    in->name = path;
    in->label = strcmp(path, "-") ? path : "standard input";
    in->dtype = in->info.dtype;
    in->n = in->info.elements;
    in->ndim = in->info.ndim;
    memcpy(in->shape, in->info.shape, sizeof in->shape);
    in->column_major = in->info.fortran && in->ndim > 1;
    in->columns = in->info.elements < 0 && in->ndim == 2 ? in->shape[1] : 0;
    in->keep = f->keep;
    in->timed = f->by_time;
    in->times_dtype = TALLY_I64;
    /* The pages of a mapping are in memory while they are used, so a file that would displace
     * everything else is read in pieces. */
    if (in->info.mapped && in->info.bytes_total <= physical_memory() / 2) use_mapping(in);
    return DONE;
}

/* Refuses options about text for a file of another format; of several files one may be text. */
static int refuse_text_options(const input *in, const options *o)
{
    static const enum option of_text[] = {OPT_delimiter, OPT_header,  OPT_comment,
                                          OPT_thousands, OPT_decimal, OPT_skip_lines,
                                          OPT_skip_bad,  OPT_utc};
    const char *const format = in->info.format;
    const int several = o->nargs > (o->verb == VERB_fragment ? 3 : 2);
    if (several || !strcmp(format, "text") || !strcmp(format, "csv")) return DONE;
    for (size_t i = 0; i < sizeof of_text / sizeof *of_text; i++)
        if (has(o, of_text[i]))
            return usage("%s: --%s is for text and csv, and the file is %s", in->label,
                         option_table[of_text[i]].name, format);
    return DONE;
}

int input_open(input *in, tally *ctx, const options *o, const char *path, char *const *more)
{
    memset(in, 0, sizeof *in);
    tally_file_options f;
    int code = file_options(o, &f);
    if (code) return code;
    f.more = (const char *const *)(size_t)more;
    f.along = more ? o->value[OPT_axis] : NULL;
    if (!strcmp(path, "-") && isatty(0) && !has(o, OPT_quiet))
        fputs("tally: reading from the terminal; end with Ctrl-D\n", stderr);
    if (is_operator(path) && access(path, F_OK) != 0)
        return bad_data("%s: there is no such file; it is an operator, and several have commas "
                        "between them: `tally %s %s,%s`",
                        path, verb_table[o->verb].name, o->args[0], path);
    code = open_as(in, ctx, &f, path);
    return code ? code : refuse_text_options(in, o);
}

int input_open_beside(input *in, tally *ctx, const tally_file_options *f, const char *path)
{
    memset(in, 0, sizeof *in);
    return open_as(in, ctx, f, path);
}

void strided_copy(const strided *a, int64_t first, int64_t count, char *out)
{
    int64_t index[DIMS], at = 0, rest = first;
    if (count == 0) return; /* an extent may be 0 */
    for (int d = a->ndim - 1; d >= 0; d--) {
        index[d] = rest % a->shape[d];
        rest /= a->shape[d];
        at += index[d] * a->step[d];
    }
    for (int64_t i = 0; i < count; i++, out += a->size) {
        memcpy(out, a->data + (size_t)at * a->size, a->size);
        for (int d = a->ndim - 1; d >= 0; d--) { /* the last index changes fastest */
            at += a->step[d];
            if (++index[d] < a->shape[d]) break;
            at -= a->step[d] * a->shape[d];
            index[d] = 0;
        }
    }
}

/* Copies elements [from, from + count) in C order from column-major data. */
static void gather(const input *in, int64_t from, int64_t count, char *out)
{
    strided a = {.data = in->data, .size = tally_dtype_size(in->dtype), .ndim = in->ndim};
    int64_t stride = 1;
    for (int d = 0; d < in->ndim; d++) {
        a.shape[d] = in->shape[d];
        a.step[d] = stride;
        stride *= in->shape[d];
    }
    strided_copy(&a, from, count, out);
}

static int read_file(input *in, void *buffer, int64_t line, int64_t max, int64_t *got)
{
    int32_t *const codes = in->codes ? in->codes + line : NULL;
    const tally_status status =
        in->times ? tally_file_read_times(in->file, buffer, codes, in->times + line,
                                          &in->times_dtype, max, got)
        : codes   ? tally_file_read_by(in->file, buffer, codes, max, got)
                  : tally_file_read(in->file, buffer, max, got);
    const char *text;
    size_t length;
    int code = code_of(in->ctx, status);
    while (in->keep && !code && tally_file_line(in->file, &text, &length) == TALLY_OK && text)
        code = lines_put(&in->kept, text, length);
    return code;
}

/* Allocates the groups and times of `count` lines, for --by. */
static int rows_that_fit(input *in, int64_t count)
{
    const size_t codes = ((size_t)count + 1) * sizeof *in->codes,
                 times = ((size_t)count + 1) * sizeof *in->times;
    int code = in->info.key_columns ? grow_memory(&in->codes, "--by", codes) : DONE;
    if (!code && in->timed) code = grow_memory(&in->times, "--by", times);
    if (code) return code;
    if (in->codes) large_pages(in->codes, codes);
    if (in->times) large_pages(in->times, times);
    return DONE;
}

/* Loads all remaining elements. If the length is unknown, the buffer doubles, and an input
 * without end (/dev/zero) is refused. */
static int load(input *in)
{
    const size_t size = tally_dtype_size(in->dtype);
    const int64_t width = in->columns ? in->columns : 1,
                  most = in->most ? in->most : physical_memory() / (int64_t)size;
    int64_t capacity = in->n >= 0 ? in->n : ((1 << 16) / width + 1) * width, n = 0, got = 0;
    char *all = NULL;
    int code = DONE;
    for (;;) {
        char *more = (uint64_t)capacity > SIZE_MAX / 2 / size
                         ? NULL
                         : realloc(all, capacity ? (size_t)capacity * size : 1);
        if (!more) {
            free(all);
            char what[160];
            snprintf(what, sizeof what, "%.100s: this needs the whole file in memory, and it",
                     in->label);
            return fail_memory(what, capacity * (int64_t)size);
        }
        all = more;
        large_pages(all, (size_t)capacity * size);
        code = rows_that_fit(in, capacity / width);
        while (!code && n < capacity &&
               !(code = read_file(in, all + (size_t)n * size, n / width, capacity - n, &got)) &&
               got)
            n += got;
        if (code || n < capacity || in->n >= 0) break;
        capacity *= 2;
        if (n > most) {
            free(all);
            return bad_data("%s: there are more than %lld elements, %s", in->label, (long long)most,
                            in->most ? "too many beside the data"
                                     : "and the memory does not hold more");
        }
    }
    if (code) {
        free(all);
        return code;
    }
    tally_file_get_info(in->file, &in->info); /* now the kind of the times is known */
    if (in->n < 0) in->shape[0] = in->columns ? n / in->columns : n;
    in->n = n;
    in->data = in->owned = all;
    return DONE;
}

int input_load(input *in, int any_order)
{
    int code = DONE;
    /* larger than half of the memory, but the caller needs all of it */
    if (!in->data && in->info.mapped) use_mapping(in);
    if (!in->data) code = load(in);
    if (code || !in->column_major || any_order) return code;
    const size_t size = tally_dtype_size(in->dtype);
    char *const turned = memory_for(&code, "turning Fortran order into C order", in->n, size);
    if (code) return code;
    gather(in, 0, in->n, turned);
    code = input_sound(in);
    if (code) {
        free(turned);
        return code;
    }
    free(in->owned);
    in->data = in->owned = turned;
    in->column_major = 0;
    return DONE;
}

int input_read(input *in, void *buffer, int64_t max, int64_t *got)
{
    *got = 0;
    if (in->column_major) {
        const int code = input_load(in, 1);
        if (code) return code;
    }
    if (!in->data) return read_file(in, buffer, 0, max, got);
    *got = in->n - in->next < max ? in->n - in->next : max;
    const size_t size = tally_dtype_size(in->dtype);
    if (in->column_major && *got)
        gather(in, in->next, *got, buffer);
    else if (*got)
        memcpy(buffer, in->data + (size_t)in->next * size, (size_t)*got * size);
    in->next += *got;
    return DONE;
}

int input_piece(input *in, char *buffer, int64_t max, const char **at, int64_t *got)
{
    *at = buffer;
    if (!in->data || in->column_major) return input_read(in, buffer, max, got);
    *got = in->n - in->next < max ? in->n - in->next : max;
    if (*got) *at = in->data + (size_t)in->next * tally_dtype_size(in->dtype);
    in->next += *got;
    return DONE;
}

int input_reshape(input *in, const char *shape)
{
    if (in->ndim != 1)
        return usage("--shape is for raw, text and csv; %s has %d dimensions of its own", in->label,
                     in->ndim);
    int code = in->n < 0 ? input_load(in, 1) : DONE;
    if (code) return code;
    int64_t product = 1;
    int ndim = 0;
    for (const char *at = shape; at; ndim++) {
        char part[32];
        const size_t length = strcspn(at, "x");
        if (ndim == DIMS) return usage("--shape is '%s': at most %d dimensions", shape, DIMS);
        snprintf(part, sizeof part, "%.*s", (int)(length < 31 ? length : 31), at);
        int64_t *const extent = &in->shape[ndim];
        const int wrong = count_parse(part, extent) || *extent < 0,
                  digits = length && strspn(part, "0123456789") == strlen(part);
        if (wrong && !digits)
            return usage(
                "--shape is '%s': must be whole numbers with x between them, like 1000x256", shape);
        if (wrong || __builtin_mul_overflow(product, *extent, &product))
            return usage("--shape is '%s', which is more than 2^63 - 1 elements", shape);
        at = at[length] ? at + length + 1 : NULL;
    }
    if (product != in->n)
        return usage("--shape is '%s', which is %lld elements, and %s has %lld", shape,
                     (long long)product, in->label, (long long)in->n);
    in->ndim = ndim;
    return code;
}

int input_sound(input *in)
{
    if (!in->guard) return DONE;
    tally_file_get_info(in->file, &in->info);
    if (!guard_hit(in->guard) && !in->info.shrunk) return DONE;
    return bad_data("%s: the file became shorter while it was read", in->label);
}

void input_note(input *in, const options *o)
{
    tally_file_get_info(in->file, &in->info);
    in->skipped = in->info.skipped;
    if (in->skipped)
        note(o, "%s: skipped %lld bad cell%s", in->label, (long long)in->skipped,
             in->skipped == 1 ? "" : "s");
    if (in->keep && in->info.comments)
        note(o, "%s: %lld comment line%s not kept", in->label, (long long)in->info.comments,
             in->info.comments == 1 ? " was" : "s were");
}

void input_close(input *in)
{
    guard_remove(in->guard);
    tally_file_close(in->file);
    free(in->owned);
    free(in->codes);
    free(in->times);
    lines_free(&in->kept);
    in->file = NULL;
    in->guard = 0;
    in->owned = NULL;
    in->codes = NULL;
    in->times = NULL;
}
