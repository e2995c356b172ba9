/* SPDX-License-Identifier: MIT
 * reduce.c - tally reduce: several operators in one pass over each file.
 *
 * One operator on data in memory is one call. Otherwise the file is read in pieces that fit the
 * cache, and each operator takes every piece into its own stream. The bits do not depend on the
 * pieces. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

/* Powers of two, so that pieces are whole blocks of the order. PIECE_ONE, with one thread: a
 * piece and the states of its operators fit L2. PIECE_MANY: each push is divided among threads,
 * so a piece must be large enough for that. */
enum { READ_BYTES = 8 << 20, PIECE_ONE = 512 << 10, PIECE_MANY = 8 << 20 };
/* the most bytes of one call if progress is shown */
static const int64_t watched_bytes = 256 << 20;

typedef struct job {
    const options *o;
    tally *ctx;
    operators ops;
    second beside; /* of the file that is read */
} job;

/* The sequences that are reduced at once: one, or the columns of a table, each with a stream per
 * operator. */
typedef struct passage {
    tally_stream **streams;
    int64_t columns;
    char *column; /* if there are several columns: memory for one column of a piece */
} passage;

static int open_streams(const job *j, tally_dtype dtype, passage *pass)
{
    const int64_t count = pass->columns * j->ops.all;
    pass->streams = calloc((size_t)count, sizeof(tally_stream *));
    if (pass->columns > 1) pass->column = malloc(READ_BYTES);
    if (!pass->streams || (pass->columns > 1 && !pass->column))
        return fail_memory("the streams", count * (int64_t)sizeof(tally_stream *) + READ_BYTES);
    for (int64_t i = 0; i < count; i++) {
        const tally_status status =
            tally_stream_reduce(j->ctx, j->ops.name[i % j->ops.all], dtype, &pass->streams[i]);
        if (status) return fail_status(j->ctx, status);
    }
    return DONE;
}

/* Pushes n elements through every stream, piece by piece. */
static int push(const job *j, tally_stream **streams, const char *data, int64_t n, size_t size)
{
    const int64_t most =
        j->ops.all == 1 ? n : (tally_threads(j->ctx) > 1 ? PIECE_MANY : PIECE_ONE) / (int64_t)size;
    for (int64_t at = 0; at < n; at += most)
        for (int i = 0; i < j->ops.all; i++) {
            const int64_t now = n - at < most ? n - at : most;
            const tally_status status =
                tally_stream_push(streams[i], data + (size_t)at * size, now, NULL, NULL);
            if (status) return fail_status(j->ctx, status);
        }
    return DONE;
}

static int push_columns(const job *j, const passage *pass, const char *data, int64_t n, size_t size)
{
    if (pass->columns == 1) return push(j, pass->streams, data, n, size);
    int code = DONE;
    for (int64_t c = 0; c < pass->columns && !code; c++) {
        layout_gather(data, n / pass->columns, pass->columns, c, size, pass->column);
        code = push(j, pass->streams + c * j->ops.all, pass->column, n / pass->columns, size);
    }
    return code;
}

/* Reduces the next `limit` elements of the input (-1: all), as one sequence or as the columns of
 * a table. Writes the results of every operator from number `row` on. */
static int fold(const job *j, input *in, answer *a, int64_t row, int64_t limit, int64_t columns,
                char *buffer, progress *p)
{
    const size_t size = tally_dtype_size(in->dtype);
    const int64_t capacity = READ_BYTES / (int64_t)size / columns * columns,
                  total = in->n >= 0 ? in->n * (int64_t)size : in->info.bytes_total;
    passage pass = {.columns = columns};
    int code = open_streams(j, in->dtype, &pass);
    int64_t done = 0;
    while (!code && done != limit) {
        const int64_t want = limit >= 0 && limit - done < capacity ? limit - done : capacity;
        int64_t got = 0;
        const char *at = buffer;
        if (in->data && !in->column_major) {
            got = in->n - in->next < watched_bytes / (int64_t)size ? in->n - in->next
                                                                   : watched_bytes / (int64_t)size;
            if (limit >= 0 && got > limit - done) got = limit - done;
            at = in->data + (size_t)in->next * size;
            in->next += got;
        } else {
            code = input_read(in, buffer, want, &got);
        }
        if (code || !got) break;
        code = push_columns(j, &pass, at, got, size);
        done += got;
        if (p->on && in->n < 0) tally_file_get_info(in->file, &in->info);
        progress_show(p,
                      in->n >= 0 ? (row * (limit < 0 ? 0 : limit) + done) * (int64_t)size
                                 : in->info.bytes_read,
                      total);
    }
    for (int64_t i = 0; pass.streams && i < columns * j->ops.all; i++) {
        const result *const r = &a->results[i % j->ops.all];
        char *const out = (char *)r->bits + (size_t)(row + i / j->ops.all) * result_bytes(&r->info);
        const tally_status status =
            code ? TALLY_OK : tally_stream_finish(pass.streams[i], out, NULL);
        if (status) code = fail_status(j->ctx, status);
        tally_stream_close(pass.streams[i]);
    }
    free(pass.streams);
    free(pass.column);
    if (limit < 0) in->n = in->n < 0 ? done : in->n;
    return code;
}

static int flat(const job *j, input *in, answer *a, char *buffer, progress *p)
{
    const int64_t bytes = in->n * (int64_t)tally_dtype_size(in->dtype);
    if (j->ops.all > 1 || !in->data || in->column_major || (p->on && bytes > watched_bytes))
        return fold(j, in, a, 0, -1, 1, buffer, p);
    const tally_view view = tally_flat(in->data, in->dtype, in->n);
    const tally_status status = tally_reduce(j->ctx, j->ops.name[0], &view, a->results[0].bits);
    return status ? fail_status(j->ctx, status) : DONE;
}

/* Reduces rows that are not in memory: as many complete rows at a time as fit the buffer, or a
 * long row in several reads. */
static int rows(const job *j, input *in, answer *a, const layout *l, char *buffer, progress *p)
{
    const size_t size = tally_dtype_size(in->dtype);
    const int64_t capacity = READ_BYTES / (int64_t)size;
    int64_t each = l->len ? capacity / l->len : l->outer;
    int code = DONE;
    char *own = NULL;
    if (!each && j->beside.on) { /* a second input is not read in parts of a row */
        if (!(buffer = own = malloc((size_t)l->len * size)))
            return fail_memory("a row", l->len * (int64_t)size);
        each = 1;
    }
    for (int64_t row = 0; row < l->outer && !code;) {
        if (!each) {
            code = fold(j, in, a, row++, l->len, 1, buffer, p);
            continue;
        }
        const int64_t now = l->outer - row < each ? l->outer - row : each;
        int64_t read_count = 0, got = 1;
        while (read_count < now * l->len && got && !code) {
            code =
                input_read(in, buffer + (size_t)read_count * size, now * l->len - read_count, &got);
            read_count += got;
        }
        tally_view view = tally_rows(buffer, in->dtype, now, l->len), next;
        second_view(&j->beside, buffer, &view, &next);
        for (int i = 0; i < j->ops.all && !code; i++) {
            char *const out =
                (char *)a->results[i].bits + (size_t)row * result_bytes(&a->results[i].info);
            const tally_view one = second_for(&j->beside, &j->ops, i, &view);
            const tally_status status = tally_reduce(j->ctx, j->ops.name[i], &one, out);
            if (status) code = fail_status(j->ctx, status);
        }
        row += now;
        progress_show(p, row * l->len * (int64_t)size, in->n * (int64_t)size);
    }
    free(own);
    return code;
}

/* Reduces every batch of sequences as one view, and writes results from number `row` on. If a
 * batch's results are not adjacent, they are computed in a buffer. g: NULL, or each group of a
 * batch is one view. */
static int batches(const job *j, const void *data, tally_dtype dtype, answer *a, const layout *l,
                   const groups *g, int64_t row)
{
    const size_t size = tally_dtype_size(dtype);
    const int64_t parts = g ? g->count : 1;
    tally_view view, next;
    int64_t at, step;
    for (int64_t b = 0;
         parts && layout_batch(l, b / parts, data, dtype, size, l->len, &view, &at, &step); b++) {
        if (g) bands_part(g, l, b % parts, size, &view);
        if (g) bands_place(g, l, b % parts, &at, &step);
        for (int i = 0; i < j->ops.all; i++) {
            const size_t each = result_bytes(&a->results[i].info);
            char *const out = (char *)a->results[i].bits + (size_t)(row + at) * each;
            char *const near = step == 1 ? out : malloc((size_t)view.rows * each + 1);
            if (!near) return fail_memory("--axis", view.rows * (int64_t)each);
            second_view(&j->beside, data, &view, &next);
            const tally_view own = second_for(&j->beside, &j->ops, i, &view);
            const tally_status status = tally_reduce(j->ctx, j->ops.name[i], &own, near);
            if (step != 1 && !status)
                for (int64_t r = 0; r < view.rows; r++)
                    memcpy(out + (size_t)(r * step) * each, near + (size_t)r * each, each);
            if (step != 1) free(near);
            if (status) return fail_status(j->ctx, status);
        }
    }
    return DONE;
}

/* Reduces an array that is read in boxes and need not fit into memory. Each box has all of the
 * axis, all of the dimensions after the dimension that is cut, and one step of the dimensions
 * before it, so that its results are adjacent.
 *
 *    time x lat x lon, axis 0:   all times, some lat, all lon; if one lat is too large: all
 *                                times, one lat, some lon */
static int boxes(const job *j, input *in, answer *a, const layout *l, progress *p)
{
    const int64_t size = (int64_t)tally_dtype_size(in->dtype);
    int64_t start[DIMS] = {0}, most[DIMS], bytes, elements = in->n, row = 0;
    int code = opt_count(j->o, OPT_memory, 1, INT64_MAX, physical_memory() / 4, &bytes), cut = -1,
        taken = 0;
    if (!code) code = reduce_steps(j->ctx, &j->ops, in, a, l, NULL, bytes, p, &taken);
    if (code || taken) return code;
    memcpy(most, in->shape, sizeof most);
    for (int d = 0; d < in->ndim && elements > bytes / size; d++) {
        if (d == l->axis) continue;
        elements /= most[d];
        most[d] = 1;
        cut = d;
    }
    if (cut >= 0 && elements <= bytes / size) {
        most[cut] =
            bytes / size / elements < in->shape[cut] ? bytes / size / elements : in->shape[cut];
        const int64_t chunk = in->info.chunk[cut];
        if (chunk > 0 && most[cut] > chunk && most[cut] < in->shape[cut])
            most[cut] -= most[cut] % chunk;
        elements *= most[cut];
    }
    char *const box = aligned_alloc(LARGE_PAGE, ((size_t)(elements * size) + LARGE_PAGE - 1) /
                                                    LARGE_PAGE * LARGE_PAGE);
    if (!box) return fail_memory("--axis, which reads all of it at a time,", elements * size);
    /* with pages of 4 KiB, page faults took half of the time */
    large_pages(box, (size_t)(elements * size));
    for (int more = 1; more && !code;) {
        int64_t count[DIMS];
        layout part = *l;
        part.outer = part.inner = 1;
        for (int d = 0; d < in->ndim; d++) {
            count[d] = most[d] < in->shape[d] - start[d] ? most[d] : in->shape[d] - start[d];
            if (d != l->axis) *(d < l->axis ? &part.outer : &part.inner) *= count[d];
        }
        const tally_status status = tally_file_read_box(in->file, start, count, box);
        code =
            status ? fail_status(j->ctx, status) : batches(j, box, in->dtype, a, &part, NULL, row);
        row += part.outer * part.inner;
        progress_show(p, row * l->len * size, in->n * size);
        more = 0;
        /* the next box; after the last one all are 0 again */
        for (int d = cut; d >= 0 && !more; d--) {
            if (d == l->axis) continue;
            start[d] += count[d];
            more = start[d] < in->shape[d];
            if (!more) start[d] = 0;
        }
    }
    free(box);
    return code;
}

/* Reduces --by with --axis, while the file is read or in memory. */
static int bands(job *j, input *in, answer *a, const layout *l, const groups *g, progress *p)
{
    int64_t bytes;
    int code = opt_count(j->o, OPT_memory, 1, INT64_MAX, physical_memory() / 4, &bytes), taken = 0;
    if (!code && !j->beside.on && !in->data)
        code = reduce_steps(j->ctx, &j->ops, in, a, l, g, bytes, p, &taken);
    if (code || taken) return code;
    code = input_load(in, 0);
    if (!code) code = bands_move(g, l, in->own, tally_dtype_size(in->dtype), 0);
    if (!code) code = second_bands(&j->beside, g, l, in->n);
    return code ? code : batches(j, in->data, in->dtype, a, l, g, 0);
}

/* OP.COLUMN, with the column's number from 1 if it has no name. */
static char *column_name(const input *in, const char *op, int64_t column)
{
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)column + 1);
    const char *const of = in->info.columns ? in->info.columns[column] : number;
    char *const name = malloc(strlen(op) + strlen(of) + 2);
    if (name) sprintf(name, "%s.%s", op, of);
    return name;
}

/* The result of operator i for column c. Results that are not printed come last. */
static result *result_of(const job *j, const answer *a, int64_t c, int i)
{
    const int shown = j->ops.count, more = j->ops.all - shown;
    return &a->results[i < shown ? c * shown + i : a->ops + c * more + i - shown];
}

static void find_places(const job *j, const answer *a, int64_t c)
{
    for (int i = 0; j->ops.place && i < j->ops.count; i++)
        result_of(j, a, c, i)->places = result_of(j, a, c, j->ops.place[i])->bits;
}

typedef struct lengths { /* of the sequence of result k: len; or that of group k / inner % groups */
    int64_t len;
    const int64_t *offsets;
    int64_t inner, groups;
} lengths;

/* Turns counts into shares of the elements. */
static void to_shares(const operators *ops, int i, result *r, int64_t count, const lengths *n)
{
    if (!ops->share[i]) return;
    int64_t *const counts = r->bits;
    for (int64_t k = 0; k < count; k++) {
        const int64_t group = n->offsets ? k / n->inner % n->groups : 0,
                      all = n->offsets ? n->offsets[group + 1] - n->offsets[group] : n->len,
                      part = ops->share[i] == 'v' ? counts[k] : all - counts[k];
        const double share = (double)part / (double)all;
        memcpy(&counts[k], &share, sizeof share);
    }
    r->info.output = TALLY_F64;
}

/* For --by: the results of each group, per operator, or with several columns of values per column
 * and operator. */
static int by_groups(const job *j, input *in, answer *a)
{
    groups g = {0};
    folded f = {0};
    char *dense = NULL;
    int by_size = 0; /* shares need the sizes of the groups */
    for (int i = 0; i < j->ops.count; i++) by_size |= j->ops.share[i];
    int code = j->beside.on || by_size ? DONE : folded_read(&f, in, &j->ops);
    if (!code) code = groups_open(&g, in, j->o);
    a->count = g.count;
    a->per = "group";
    if (!code) code = groups_names(&g, in, a);
    if (!code && !(dense = malloc((size_t)g.lines * tally_dtype_size(in->dtype) + 1)))
        code =
            fail_memory("the values of the groups", g.lines * (int64_t)tally_dtype_size(in->dtype));
    if (!code) large_pages(dense, (size_t)g.lines * tally_dtype_size(in->dtype));
    a->ops = j->ops.count * (int)g.width;
    a->all = j->ops.all * (int)g.width;
    a->results = code ? NULL : calloc((size_t)a->all, sizeof *a->results);
    if (!code && !a->results)
        code = fail_memory("the results", a->all * (int64_t)sizeof *a->results);
    for (int64_t c = 0; c < g.width && !code; c++) {
        tally_view view, next;
        second part = {.on = 0};
        code = groups_take(&g, in, c, dense, &view);
        if (!code && j->beside.on) code = second_group(&j->beside, &g, c, &part);
        second_view(&part, dense, &view, &next);
        for (int i = 0; i < j->ops.all && !code; i++) {
            result *const r = result_of(j, a, c, i);
            r->op = i < j->ops.count ? j->ops.shown[i] : j->ops.name[i];
            if (g.width > 1 && !(r->op = r->name = column_name(in, r->op, c)))
                code = fail_memory("the results", c);
            if (!code) code = operator_info(j->ctx, j->ops.name[i], j->beside.dtype, &r->info);
            if (!code && !(r->bits = calloc((size_t)a->count + 1, result_bytes(&r->info))))
                code = fail_memory("the results", a->count * (int64_t)result_bytes(&r->info));
            const tally_view own = second_for(&part, &j->ops, i, &view);
            if (!code && f.streams)
                code = folded_results(&f, &g, c, i, result_bytes(&r->info), r->bits);
            const tally_status status =
                code || f.streams ? TALLY_OK : tally_reduce(j->ctx, j->ops.name[i], &own, r->bits);
            if (status) code = fail_status(j->ctx, status);
        }
        second_close(&part);
        if (!code) find_places(j, a, c);
        const lengths n = {0, g.offsets, 1, g.count};
        for (int i = 0; i < j->ops.count && !code; i++)
            to_shares(&j->ops, i, result_of(j, a, c, i), a->count, &n);
    }
    in->n += f.lines * g.width;
    in->shape[0] += f.lines;
    free(dense);
    groups_close(&g);
    folded_close(&f);
    return code;
}

static int answer_bytes(const job *j, answer *a)
{
    a->results = calloc((size_t)j->ops.all, sizeof *a->results);
    if (!a->results) return fail_memory("the results", j->ops.all * (int64_t)sizeof *a->results);
    a->ops = j->ops.count;
    a->all = j->ops.all;
    for (int i = 0; i < j->ops.all; i++) {
        result *const r = &a->results[i];
        r->op = i < j->ops.count ? j->ops.shown[i] : j->ops.name[i];
        const int code = operator_info(j->ctx, j->ops.name[i], j->beside.dtype, &r->info);
        if (code) return code;
        r->bits = calloc((size_t)a->count + 1, result_bytes(&r->info));
        if (!r->bits) return fail_memory("the results", a->count * (int64_t)result_bytes(&r->info));
    }
    find_places(j, a, 0);
    return DONE;
}

/* Copies the columns' names, which are used after the file is closed. */
static int copy_names(answer *a, const input *in)
{
    if (!in->info.columns) return DONE;
    a->names = calloc((size_t)a->count, sizeof *a->names);
    for (int64_t i = 0; a->names && i < a->count; i++)
        if (!(a->names[i] = strdup(in->info.columns[i])))
            return fail_memory("the names of the columns", a->count);
    return a->names ? DONE
                    : fail_memory("the names of the columns", a->count * (int64_t)sizeof *a->names);
}

/* more: NULL, or files that form one array with the first. */
static int reduce_file(job *j, const char *path, char *const *more, answer *a)
{
    const options *const o = j->o;
    const double start = seconds();
    const place before = ran_since(j->ctx, NULL);
    input in;
    layout l = {0};
    progress p;
    int64_t columns = 0;
    memset(a, 0, sizeof *a);
    int code = input_open(&in, j->ctx, o, path, more);
    if (code) return code;
    progress_begin(&p, o, path);
    char *const buffer = malloc(READ_BYTES);
    const int along = by_steps(o), by = has(o, OPT_by) && !along;
    groups g = {.count = 0};
    second *const beside = &j->beside;
    if (!buffer) code = fail_memory("the reading buffer", READ_BYTES);
    if (!code && !by && has(o, OPT_shape)) code = input_reshape(&in, o->value[OPT_shape]);
    if (!code) code = minus_apply(&in, o);
    if (!code) code = second_open(beside, &in, o, &j->ops);
    a->flat = !has(o, OPT_axis) && !has(o, OPT_segments) && !in.columns && !by;
    if (!code && by) code = by_groups(j, &in, a);
    if (!code && !by) code = layout_columns(&in, o, &columns);
    const int boxed = in.info.dimensions && !several_axes(o) && in.n > 0 && !has(o, OPT_shape) &&
                      !has(o, OPT_segments);
    if (!code && !by && !a->flat && (!columns || beside->on))
        code = layout_open(&l, &in, o, boxed && !beside->on);
    if (!code && along) code = bands_open(&g, a, o, &in, &l);
    if (a->flat) l = (layout){.outer = 1, .len = in.n, .inner = 1};
    if (!by) {
        a->count = a->flat ? 1 : columns ? columns : layout_sequences(&l) * (along ? g.count : 1);
        a->per = a->flat ? "file" : along ? "group" : columns ? "column" : layout_per(&l, &in);
    }
    if (!code && !by) code = answer_bytes(j, a);
    if (!code && columns) code = copy_names(a, &in);
    a->axis = a->flat || by || columns || has(o, OPT_segments) ? -1 : l.axis;
    a->axes = l.axes;
    if (a->axis >= 0) a->dimensions = dimensions_of(&in, l.axes, groups_dimension(a));
    if (!code && !by)
        code = along                            ? bands(j, &in, a, &l, &g, &p)
               : beside->on && !beside->repeats ? batches(j, in.data, in.dtype, a, &l, NULL, 0)
               : columns                        ? fold(j, &in, a, 0, -1, columns, buffer, &p)
               : a->flat                        ? flat(j, &in, a, buffer, &p)
               : in.data                        ? batches(j, in.data, in.dtype, a, &l, NULL, 0)
               : boxed && l.axis < in.ndim - 1  ? boxes(j, &in, a, &l, &p)
                                                : rows(j, &in, a, &l, buffer, &p);
    progress_end(&p);
    const lengths n = along       ? (lengths){0, g.offsets, l.inner, g.count}
                      : l.offsets ? (lengths){0, l.offsets, 1, l.segments}
                      : columns   ? (lengths){.len = in.n / columns}
                                  : (lengths){.len = a->flat ? in.n : l.len};
    for (int i = 0; i < j->ops.count && !by && !code; i++)
        to_shares(&j->ops, i, &a->results[i], a->count, &n);
    if (!code) code = input_sound(&in);
    if (!code) code = second_sound(beside);
    if (!code) {
        input_note(&in, o);
        a->file = path;
        a->dtype = in.dtype;
        a->n = in.n;
        a->ran = ran_since(j->ctx, &before);
        ran_note(o, j->ctx, in.label, &a->ran);
        a->skipped = in.skipped;
        a->ndim = in.ndim;
        memcpy(a->shape, in.shape, sizeof a->shape);
        if (in.ndim == 1) a->shape[0] = in.n;
        if (in.columns) a->shape[0] = in.n / in.columns;
        const int64_t bytes = in.info.bytes_read > 0 ? in.info.bytes_read
                                                     : in.n * (int64_t)tally_dtype_size(in.dtype);
        for (int i = 0; i < j->ops.count; i++) {
            const explanation e = {"reduce", j->ops.name[i], &a->results[i].info,
                                   bytes,    start,          a->ran};
            explain(o, j->ctx, &in, &e);
        }
    }
    const int describes = is_netcdf(output_format(o));
    if (!code && describes && a->axis >= 0) {
        a->times = calloc(1, sizeof *a->times);
        code = a->times ? times_open(a->times, o, &in, &l, along ? &g : NULL)
                        : fail_memory("the times", sizeof *a->times);
    }
    free(buffer);
    groups_close(&g);
    layout_close(&l);
    second_close(beside);
    if (a->dimensions && describes) { /* the file has the coordinates */
        a->source = in.file;
        in.file = NULL;
    }
    input_close(&in);
    return code;
}

static void answer_free(answer *a)
{
    groups_names_free(a);
    for (int i = 0; a->results && i < a->all; i++) {
        free(a->results[i].bits);
        free(a->results[i].name);
    }
    for (int64_t i = 0; a->names && i < a->count; i++) free(a->names[i]);
    free(a->names);
    free(a->dimensions);
    if (a->times) times_close(a->times);
    free(a->times);
    a->times = NULL;
    tally_file_close(a->source);
    a->source = NULL;
    free(a->results);
    a->names = NULL;
    a->dimensions = NULL;
    a->results = NULL;
}

int run_reduce(const options *o)
{
    static char dash[] = "-", *standard_input[] = {dash};
    job j = {.o = o};
    if (o->nargs < 1)
        return fail(USAGE, "which operator? `tally reduce sum FILE`; `tally ops` lists them, "
                           "`tally help reduce` explains");
    if (has(o, OPT_axis) && has(o, OPT_segments))
        return fail(USAGE, "--axis and --segments exclude each other");
    if (groups_check(o) || empty_check(o)) return USAGE;
    char **const paths = o->nargs > 1 ? o->args + 1 : standard_input;
    const int joined = axis_named(o) && o->nargs > 2; /* the files form one array */
    int files = o->nargs > 1 && !joined ? o->nargs - 1 : 1;
    answer *const answers = calloc((size_t)files, sizeof *answers);
    int code = answers ? operators_split(&j.ops, o->args[0])
                       : fail_memory("the results", files * (int64_t)sizeof *answers);
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
