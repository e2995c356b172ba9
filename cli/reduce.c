/* SPDX-License-Identifier: MIT
 * reduce.c - tally reduce: several operators in one pass over each file. */
#include "reduce.h"

#include <stdlib.h>
#include <string.h>

static int answer_bytes(const job *j, answer *a)
{
    int code = DONE;
    a->results = memory_for(&code, "the results", j->ops.all, sizeof *a->results);
    a->ops = j->ops.count;
    a->all = j->ops.all;
    for (int i = 0; i < j->ops.all && !code; i++) {
        a->results[i].op = i < j->ops.count ? j->ops.shown[i] : j->ops.name[i];
        code = result_open(&a->results[i], j->ctx, j->ops.name[i], j->beside.dtype, a->count);
    }
    if (!code) reduce_indexes(j, a, 0);
    return code;
}

/* Copies the columns' names, which are used after the file is closed. */
static int copy_names(answer *a, const input *in)
{
    static const char what[] = "the names of the columns";
    int code = DONE;
    if (!in->info.columns) return DONE;
    a->names = memory_for(&code, what, a->count, sizeof *a->names);
    a->named = code ? 0 : a->count;
    for (int64_t i = 0; i < a->named && !code; i++)
        a->names[i] = text_for(&code, what, in->info.columns[i]);
    return code;
}

/* Opens everything that is read. more: NULL, or files that form one array with the first. */
static int open_inputs(reduction *r, char *const *more)
{
    const options *const o = r->j->o;
    int code = input_open(&r->in, r->j->ctx, o, r->path, more);
    if (code) return code;
    progress_begin(&r->p, o, r->path);
    r->buffer = memory_for(&code, "the reading buffer", READ_BYTES, 1);
    if (!code && !r->by && has(o, OPT_shape)) code = input_reshape(&r->in, o->value[OPT_shape]);
    if (!code) code = minus_apply(&r->in, o);
    for (int i = 0; i < r->j->ops.count && !code && r->in.info.date; i++)
        if (date_result(r->j->ops.name[i]) < 0) code = date_refuse(r->in.label, r->j->ops.shown[i]);
    return code ? code : second_open(&r->j->beside, &r->in, o, &r->j->ops);
}

/* Finds the sequences, and makes the answer for their results. */
static int open_answer(reduction *r)
{
    answer *const a = r->a;
    const options *const o = r->j->o;
    const int segments = has(o, OPT_segments);
    a->flat = !has(o, OPT_axis) && !segments && !r->in.columns;
    int code = layout_columns(&r->in, o, &r->columns);
    r->boxed =
        r->in.info.dimensions && !several_axes(o) && r->in.n > 0 && !has(o, OPT_shape) && !segments;
    if (!code && !a->flat && (!r->columns || r->j->beside.on))
        code = layout_open(&r->l, &r->in, o, r->boxed && !r->j->beside.on);
    if (!code && !layout_is_one_run(r->l.axes))
        code = second_bands(&r->j->beside, NULL, &r->l, &r->in);
    if (!code && r->banded) code = bands_open(&r->steps, a, o, &r->in, &r->l);
    if (a->flat) r->l = (layout){.outer = 1, .len = r->in.n, .inner = 1};
    a->count = a->flat      ? 1
               : r->columns ? r->columns
                            : layout_sequences(&r->l) * (r->banded ? r->steps.count : 1);
    a->per = a->flat      ? "file"
             : r->banded  ? "group"
             : r->columns ? "column"
                          : layout_per(&r->l, &r->in);
    if (!code) code = answer_bytes(r->j, a);
    if (!code && r->columns) code = copy_names(a, &r->in);
    a->axis = a->flat || r->columns || segments ? -1 : r->l.axis;
    a->axes = r->l.axes;
    if (a->axis >= 0) a->dimensions = dimension_names(&r->in, r->l.axes, groups_dimension(a));
    return code;
}

/* Computes the results. */
static int compute_answer(reduction *r)
{
    const input *const in = &r->in;
    const second *const beside = &r->j->beside;
    if (r->banded) return reduce_bands(r);
    if (beside->on && !beside->repeats) return reduce_batches(r, in->data, &r->l, 0);
    if (r->columns) return reduce_fold(r, 0, -1);
    if (r->a->flat) return reduce_flat(r);
    if (in->data) return reduce_batches(r, in->data, &r->l, 0);
    if (r->boxed && r->l.axis < in->ndim - 1) return reduce_boxes(r);
    return reduce_rows(r);
}

/* Turns counts into shares, of the elements that were found. */
static void finish_shares(const reduction *r)
{
    answer *const a = r->a;
    const layout *const l = &r->l;
    const lengths n = r->banded    ? (lengths){0, r->steps.offsets, l->inner, r->steps.count}
                      : l->offsets ? (lengths){0, l->offsets, 1, l->segments}
                      : r->columns ? (lengths){.len = r->in.n / r->columns}
                                   : (lengths){.len = a->flat ? r->in.n : l->len};
    for (int i = 0; i < r->j->ops.count; i++)
        reduce_shares(&r->j->ops, i, &a->results[i], a->count, &n);
}

/* Says in the answer what was read and where it was computed; and explains it, if --explain is
 * given. */
static void describe_answer(reduction *r)
{
    answer *const a = r->a;
    const job *const j = r->j;
    input *const in = &r->in;
    input_note(in, j->o);
    a->file = r->path;
    a->dtype = in->dtype;
    a->n = in->n;
    a->ran = ran_since(j->ctx, &r->before);
    ran_note(j->o, j->ctx, in->label, &a->ran);
    a->skipped = in->skipped;
    a->ndim = in->ndim;
    memcpy(a->shape, in->shape, sizeof a->shape);
    if (in->ndim == 1) a->shape[0] = in->n;
    if (in->columns) a->shape[0] = in->n / in->columns;
    if (in->info.date && in->n) date_form(a->date, in->info.date, has(j->o, OPT_utc));
    for (int i = 0; i < a->ops && *a->date; i++)
        if (date_result(a->results[i].info.name) > 0) a->results[i].date = a->date;
    const int64_t bytes = in->info.bytes_read > 0 ? in->info.bytes_read
                                                  : in->n * (int64_t)tally_dtype_size(in->dtype);
    for (int i = 0; i < j->ops.count; i++) {
        const explanation e = {"reduce", j->ops.name[i], &a->results[i].info,
                               bytes,    r->start,       a->ran};
        explain(j->o, j->ctx, in, &e);
    }
}

/* For a NetCDF file: the times of the steps, and the file that has the coordinates. */
static int take_coordinates(reduction *r)
{
    answer *const a = r->a;
    if (!is_netcdf(output_format(r->j->o))) return DONE;
    int code = DONE;
    if (a->axis >= 0) a->times = memory_for(&code, "the times", 1, sizeof *a->times);
    if (a->times) code = times_open(a->times, r->j->o, &r->in, &r->l, r->banded ? &r->steps : NULL);
    if (!code && a->dimensions) {
        a->source = r->in.file;
        r->in.file = NULL;
    }
    return code;
}

/* more: NULL, or files that form one array with the first. */
static int reduce_file(job *j, const char *path, char *const *more, answer *a)
{
    const int banded = by_steps(j->o);
    reduction r = {.j = j,
                   .a = a,
                   .path = path,
                   .banded = banded,
                   .by = has(j->o, OPT_by) && !banded,
                   .start = seconds(),
                   .before = ran_since(j->ctx, NULL)};
    memset(a, 0, sizeof *a);
    a->axis = -1;
    int code = open_inputs(&r, more);
    if (!code) code = r.by ? reduce_groups(j, &r.in, a) : open_answer(&r);
    if (!code && !r.by) code = compute_answer(&r);
    progress_end(&r.p);
    if (!code && !r.by) finish_shares(&r);
    if (!code) code = input_sound(&r.in);
    if (!code) code = second_sound(&j->beside);
    if (!code) describe_answer(&r);
    if (!code) code = take_coordinates(&r);
    free(r.buffer);
    groups_close(&r.steps);
    layout_close(&r.l);
    second_close(&j->beside);
    input_close(&r.in);
    return code;
}

static void answer_free(answer *a)
{
    groups_names_free(a);
    for (int i = 0; a->results && i < a->all; i++) {
        free(a->results[i].bits);
        free(a->results[i].name);
    }
    for (int64_t i = 0; i < a->named; i++) free(a->names[i]);
    free(a->names);
    free(a->dimensions);
    if (a->times) times_close(a->times);
    free(a->times);
    a->times = NULL;
    tally_file_close(a->source);
    a->source = NULL;
    free(a->results);
    a->names = NULL;
    a->named = 0;
    a->dimensions = NULL;
    a->results = NULL;
}

int run_reduce(const options *o)
{
    static char dash[] = "-", *standard_input[] = {dash};
    job j = {.o = o};
    if (o->nargs < 1)
        return usage("which operator? `tally reduce sum FILE`; `tally ops` lists them, `tally help "
                     "reduce` explains");
    if (options_exclude(o) || groups_check(o) || empty_check(o) || ending_check(o) ||
        overlap_check(o))
        return USAGE;
    char **const paths = o->nargs > 1 ? o->args + 1 : standard_input;
    const int joined = axis_named(o) && o->nargs > 2; /* the files form one array */
    int files = o->nargs > 1 && !joined ? o->nargs - 1 : 1;
    int code = DONE;
    answer *const answers = memory_for(&code, "the results", files, sizeof *answers);
    if (!code) code = operators_split(&j.ops, o->args[0]);
    if (!code) code = output_check(o, j.ops.count);
    if (!code) code = empty_operators(&j.ops, o);
    if (!code) code = session_open(&j.ctx, o);
    if (!code && joined) code = join_order(j.ctx, o, paths);
    if (code) files = 0;
    int good = 0, worst = code;
    /* continues after a file that cannot be read */
    for (int i = 0; i < files && j.ctx && code != USAGE; i++) {
        code = reduce_file(&j, paths[i], joined ? paths + 1 : NULL, &answers[good]);
        if (code) {
            worst = code;
            answer_free(&answers[good]);
        } else {
            good++;
        }
    }
    if (good) {
        code = print_answers(j.ctx, answers, good, o);
        if (code) worst = code;
    }
    for (int i = 0; i < good; i++) answer_free(&answers[i]);
    free(answers);
    operators_free(&j.ops);
    tally_close(j.ctx);
    return worst;
}
