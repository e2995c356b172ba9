/* SPDX-License-Identifier: MIT
 * Several devices as one context, on every kind that has at least two (PoCL has as many as
 * POCL_DEVICES names): the bits of the processors, by memcmp, whatever the number of devices and
 * wherever a sequence is cut; device strings; a member whose calls fail one after the other.
 * Skipped without two devices of a kind. */
#include "many_local.h"

/* ---- host arrays ---- */

static const char *layout;

/* All three verbs on a view, with results of the same layout. */
static void check_view(const tally_view *v)
{
    tally_window_options w0 = any_window(v->n, check_below(6)), w = w0;
    char init[RESULT] = {0};
    const tally_scan_options scans[] = {
        {0}, {.exclusive = 1, .init = o.info.seedable ? init : NULL}, {.reverse = 1}};
    const tally_scan_options *how = &scans[check_below(3)];
    const int64_t results = v->offsets ? v->offsets[v->rows] : v->rows * v->n;
    if (v->offsets && w.edges == TALLY_EDGES_VALID) w.edges = TALLY_EDGES_SHRINK;
    for (int verb = 0; verb < 3; verb++) {
        tally_view a = *v;
        a.dtype = o.info.output;
        if (verb == 2 && !v->offsets) a.n = tally_window_length(v->n, &w);
        if (verb && !v->offsets && v->stride == 1) a.row_stride = a.n;
        tally_view b = a;
        memset(want, 0xa5, (size_t)(results * o.result));
        memset(got, 0xa5, (size_t)(results * o.result));
        a.data = want, b.data = got;
        tally_status expected = verb == 0   ? tally_reduce(cpu, o.op, v, want)
                                : verb == 1 ? tally_scan(cpu, o.op, v, &a, how)
                                            : tally_window(cpu, o.op, v, &a, &w);
        tally_status status = verb == 0   ? tally_reduce(ctx, o.op, v, got)
                              : verb == 1 ? tally_scan(ctx, o.op, v, &b, how)
                                          : tally_window(ctx, o.op, v, &b, &w);
        if (check_ok(cpu, expected, "cpu") && check_ok(ctx, status, o.op))
            check_same(
                got, want, results, o.result,
                "%s %s, %s: verb %d of %lld x %lld on %d devices, before %lld after %lld edges %d",
                o.op, tally_dtype_name(o.dtype), layout, verb, (long long)v->rows, (long long)v->n,
                members, (long long)w.before, (long long)w.after, (int)w.edges);
    }
}

/* One sequence, rows, columns and segments; quick: one sequence, and one of the others. */
static void check_host(void)
{
    static int64_t cuts[2000];
    const int64_t other = check_quick ? check_below(3) : -1;
    check_fill(x, o.dtype, MOST, check_below(2) ? TL_DATA_PLAIN : TL_DATA_HOSTILE);
    tally_view v = tally_flat(x, o.dtype, MOST - check_below(100000));
    layout = "one sequence", check_view(&v);
    int64_t rows = 1 + check_below(9);
    v = tally_rows(x, o.dtype, rows, MOST / rows);
    if (other < 1) layout = "rows", check_view(&v);
    rows = 2 + check_below(300);
    v = tally_columns(x, o.dtype, MOST / rows, rows);
    if (other < 0 || other == 1) layout = "columns", check_view(&v);
    for (rows = 0; rows < 1000 && cuts[rows] < MOST; rows++) {
        const int64_t n = rows == 500 ? MOST / 2 : check_below(400), left = MOST - cuts[rows];
        cuts[rows + 1] = cuts[rows] + (n < left ? n : left);
    }
    v = tally_segments(x, o.dtype, cuts, rows);
    if (other < 0 || other == 2) layout = "segments", check_view(&v);
}

/* ---- parts ---- */

static int64_t lengths[MEMBERS];

/* Lengths of parts: of a power of two, of any size, few, none. */
static int64_t any_lengths(void)
{
    int64_t all = 0;
    const int64_t kind = check_below(4), same = (int64_t)1 << check_below(15);
    for (int k = 0; k < members; k++) {
        lengths[k] = kind == 0   ? same
                     : kind == 1 ? check_below(PART)
                     : kind == 2 ? check_size(70)
                                 : check_size(PART);
        if (kind && check_below(5) == 0) lengths[k] = 0;
        all += lengths[k];
    }
    return all;
}

/* One call over parts: the verb, what it is asked for, and where its parts lie. */
typedef struct {
    int verb, in_place;
    int64_t all, shift; /* elements; bytes by which parts in memory of a member are moved */
    int64_t host;       /* the part that is in the host's memory, or -1 */
    tally_scan_options how;
    tally_window_options w;
    tally_view parts[MEMBERS], outs[MEMBERS];
} parts_case;

/* Results of the part of n elements from `at` on. */
static int64_t results_of(const parts_case *c, int64_t at, int64_t n)
{
    if (c->verb != 2 || c->w.edges != TALLY_EDGES_VALID) return n;
    const int64_t last = c->all - c->w.after, from = at > c->w.before ? at : c->w.before,
                  end = at + n < last ? at + n : last;
    return end > from ? end - from : 0;
}

/* Puts part k, the elements from `at` on, into its place, and guards around its results. */
static void put_part(parts_case *c, int k, int64_t at)
{
    const int64_t n = lengths[k], bytes = n * o.bytes, guarded = n * o.result + 2 * GUARD;
    memset(got, 0xa5, (size_t)guarded);
    put(k, &out[k], got, (size_t)guarded);
    memcpy(got + c->shift, x + at * o.bytes, (size_t)bytes);
    put(k, &in[k], got, (size_t)(bytes + c->shift));

    const int on_host = k == c->host;
    c->parts[k] = tally_flat(on_host ? x + at * o.bytes : in[k].at + c->shift, o.dtype, n);
    c->outs[k] = tally_flat(out[k].at + GUARD, o.info.output, results_of(c, at, n));
    if (c->verb == 1 && c->in_place && !on_host)
        c->outs[k] = tally_flat(in[k].at + c->shift, o.info.output, n);
    if (on_host && !(tally_member(ctx, k) && c->verb == 2)) /* scan: alike */
        c->outs[k].data = got + GUARD;
}

/* Compares the results of part k with those of the processors, of which `made` came before. */
static void check_part(const parts_case *c, int k, int64_t done)
{
    static char read[CAPACITY];
    const char *y = got + GUARD;
    if (k != c->host || c->verb == 2) {
        const int here = c->verb == 1 && c->in_place;
        get(k, here ? &in[k] : &out[k], read,
            (size_t)(lengths[k] * o.result + (here ? c->shift : 2 * GUARD)));
        y = read + (here ? c->shift : GUARD);
        check(here || (read[GUARD - 1] == (char)0xa5 &&
                       read[GUARD + c->outs[k].n * o.result] == (char)0xa5),
              "%s: written beside the results of part %d of verb %d", o.op, k, c->verb);
    }
    check_same(y, want + done * o.result, c->outs[k].n, o.result,
               "%s %s: parts %lld %lld %lld %lld, part %d of verb %d, window %lld %lld %d of %lld",
               o.op, tally_dtype_name(o.dtype), (long long)lengths[0], (long long)lengths[1],
               (long long)lengths[2], (long long)lengths[3], k, c->verb, (long long)c->w.before,
               (long long)c->w.after, (int)c->w.edges, (long long)c->w.min_count);
}

/* The verb on processors, whole, and on the members, in parts. Returns 0 if a call failed. */
static int call_both(parts_case *c, char *result)
{
    const tally_view whole = tally_flat(x, o.dtype, c->all);
    tally_view to = tally_flat(want, o.info.output, c->all);
    if (c->verb == 2) to.n = tally_window_length(c->all, &c->w);
    if (!check_ok(cpu,
                  c->verb == 0   ? tally_reduce(cpu, o.op, &whole, want)
                  : c->verb == 1 ? tally_scan(cpu, o.op, &whole, &to, &c->how)
                                 : tally_window(cpu, o.op, &whole, &to, &c->w),
                  "cpu"))
        return 0;

    int64_t at = 0;
    for (int k = 0; k < members; at += lengths[k++]) put_part(c, k, at);
    return check_ok(ctx,
                    c->verb == 0 ? tally_reduce_split(ctx, o.op, c->parts, members, result)
                    : c->verb == 1
                        ? tally_scan_split(ctx, o.op, c->parts, members, c->outs, &c->how)
                        : tally_window_split(ctx, o.op, c->parts, members, c->outs, &c->w),
                    o.op);
}

static void check_parts_case(void)
{
    static int64_t turn; /* each kind of window has one: a run has at least six cases */
    char seed[RESULT] = {0}, result[RESULT + 1];
    parts_case c = {.all = any_lengths()};
    c.shift = check_below(2) * o.bytes;
    c.host = check_below(4) ? -1 : check_below(members);
    c.how.exclusive = check_below(2) == 0;
    if (o.info.seedable && check_below(2)) c.how.init = seed;
    c.in_place = o.bytes == o.result && o.dtype == o.info.output && check_below(3) == 0;
    if (!turn) turn = check_below(6);
    c.w = any_window(c.all / members, turn++ % 6);
    check_fill(x, o.dtype, c.all + 16, check_below(2) ? TL_DATA_PLAIN : TL_DATA_HOSTILE);
    for (c.verb = 0; c.verb < 3; c.verb++) {
        if (!call_both(&c, result)) return;
        if (c.verb == 0) {
            check_same(result, want, 1, o.result, "%s %s: parts %lld %lld %lld %lld", o.op,
                       tally_dtype_name(o.dtype), (long long)lengths[0], (long long)lengths[1],
                       (long long)lengths[2], (long long)lengths[3]);
            continue;
        }
        int64_t done = 0;
        for (int k = 0; k < members; done += c.outs[k++].n) check_part(&c, k, done);
        const int64_t all = c.verb == 2 ? tally_window_length(c.all, &c.w) : c.all;
        check(done == all, "%lld results of %lld", (long long)done, (long long)all);
    }
}

/* Streams and fragments from memory of a member. */
static void check_pushes(void)
{
    const int k = (int)check_below(members);
    const int64_t n = check_size(PART), cut = check_below(n + 1);
    char result[RESULT];
    int64_t done;
    tally_stream *s;
    tally_fragment *left = NULL, *right = NULL;
    check_fill(x, o.dtype, n + 1, TL_DATA_PLAIN);
    put(k, &in[k], x, (size_t)(n * o.bytes));
    tally_view whole = tally_flat(x, o.dtype, n), to = tally_flat(want, o.info.output, n);
    check_ok(cpu, tally_scan(cpu, o.op, &whole, &to, NULL), "cpu");
    if (check_ok(ctx, tally_stream_scan(ctx, o.op, o.dtype, NULL, &s), "stream")) {
        const int64_t length[2] = {cut, n - cut};
        for (int i = 0; i < 2; i++) { /* also of what was folded before */
            const char *const at = in[k].at + i * cut * o.bytes;
            char *const results = out[k].at + i * cut * o.result;
            tally_fragment *folded = NULL;
            if (check_below(2) &&
                check_ok(ctx,
                         tally_fragment_make(ctx, o.op, o.dtype, at, i * cut, length[i], &folded),
                         "folded"))
                check_ok(ctx, tally_stream_push_folded(s, at, folded, results, &done),
                         "push of what was folded");
            else
                check_ok(ctx, tally_stream_push(s, at, length[i], results, &done), "push");
            check(done == length[i], "%lld results of %lld", (long long)done, (long long)length[i]);
            tally_fragment_free(folded);
        }
        tally_stream_close(s);
        get(k, &out[k], got, (size_t)(n * o.result));
        check_same(got, want, n, o.result, "%s: a stream of %lld and %lld", o.op, (long long)cut,
                   (long long)(n - cut));
    }
    check_ok(cpu, tally_reduce(cpu, o.op, &whole, want), "cpu");
    if (check_ok(ctx, tally_fragment_make(ctx, o.op, o.dtype, in[k].at, 0, cut, &left), "left") &&
        check_ok(
            ctx,
            tally_fragment_make(ctx, o.op, o.dtype, in[k].at + cut * o.bytes, cut, n - cut, &right),
            "right") &&
        check_ok(ctx, tally_fragment_merge(left, right), "merge") &&
        check_ok(ctx, tally_fragment_result(left, result), "result"))
        check_same(result, want, 1, o.result, "%s: fragments of %lld and %lld", o.op,
                   (long long)cut, (long long)(n - cut));
    tally_fragment_free(left);
    tally_fragment_free(right);
    const tally_window_options w = {4, 0, TALLY_EDGES_SHRINK, 0};
    if (n && check_ok(ctx, tally_stream_window(ctx, o.op, o.dtype, &w, &s), "stream")) {
        const tally_view all = tally_flat(x, o.dtype, n),
                         results = tally_flat(want, o.info.output, n);
        int64_t rest = 0;
        check_ok(cpu, tally_window(cpu, o.op, &all, &results, &w), "cpu");
        if (check_ok(ctx, tally_stream_push(s, in[k].at, n, got, &done),
                     "a window's stream of device memory") &&
            check_ok(ctx, tally_stream_finish(s, got + done * o.result, &rest), "its end") &&
            check(done + rest == n, "%lld results of %lld", (long long)(done + rest), (long long)n))
            check_same(got, want, n, o.result, "%s: windows of a stream", o.op);
        tally_stream_close(s);
    }
}

static void open_places(void)
{
    for (int k = 0; k < members; k++) {
        open_place(k, &in[k], MOST * 8 + 2 * GUARD);
        open_place(k, &out[k], CAPACITY);
    }
}
static void close_places(void)
{
    for (int k = 0; k < members; k++) {
        close_place(k, &in[k]);
        close_place(k, &out[k]);
    }
}

/* ---- what is refused ---- */

static void refuses(tally_status status, tally_status wanted, const char *words)
{
    check(status == wanted && strstr(tally_error(ctx), words), "'%s' expected, got %s: %s", words,
          tally_status_name(status), tally_error(ctx));
}

static void check_refusals(void)
{
    void *p;
    float y;
    int64_t done;
    tally_times_info times, one;
    char words[96];
    tally_view parts[MEMBERS + 1], outs[MEMBERS + 1];
    for (int k = 0; k <= members; k++)
        parts[k] = outs[k] = tally_flat(in[k % members].at, TALLY_F32, 10);
    refuses(tally_use_stream(ctx, &y), TALLY_UNSUPPORTED, "stream: ");
    refuses(tally_device_pointer(ctx, &y, &p), TALLY_UNSUPPORTED, "object: ");
    refuses(tally_reduce_split(ctx, "sum", parts, 0, &y), TALLY_INVALID, "count is 0");
    refuses(tally_reduce_split(ctx, "sum", parts, members + 1, &y), TALLY_INVALID, "count is ");
    refuses(tally_reduce_split(ctx, "sum", NULL, 1, &y), TALLY_INVALID, "parts is NULL");
    refuses(tally_reduce_split(ctx, "sum", parts, members, NULL), TALLY_INVALID, "out is NULL");
    refuses(tally_reduce_split(ctx, "sum:exact", parts, members, &y), TALLY_UNSUPPORTED,
            "sum:exact");
    refuses(tally_scan_split(ctx, "sum", parts, members, outs, &(tally_scan_options){.reverse = 1}),
            TALLY_UNSUPPORTED, "reverse");
    refuses(
        tally_window_split(ctx, "sum", parts, members, outs, &(tally_window_options){.before = 2}),
        TALLY_INVALID, "overlaps");
    refuses(tally_window_split(ctx, "sum", parts, members, outs,
                               &(tally_window_options){.before = -1, .after = 2}),
            TALLY_UNSUPPORTED, "before -1");
    parts[members - 1].stride = 2;
    snprintf(words, sizeof words, "parts[%d] is not one dense", members - 1);
    refuses(tally_reduce_split(ctx, "sum", parts, members, &y), TALLY_INVALID, words);
    parts[members - 1].n = 1; /* one element has no neighbour: its stride means nothing */
    check_ok(ctx, tally_reduce_split(ctx, "sum", parts, members, &y), "a part of one element");
    parts[members - 1] = outs[members - 1];
    parts[members - 1].dtype = TALLY_F64;
    if (members > 1)
        refuses(tally_reduce_split(ctx, "sum", parts, members, &y), TALLY_INVALID, ".dtype is f64");
    parts[members - 1] = outs[members - 1];
    if (members > 1) {
        parts[1].data = parts[0].data;
        refuses(tally_reduce_split(ctx, "sum", parts, members, &y), TALLY_INVALID,
                "parts[1] is memory of ");
        tally_view b = tally_flat(in[1].at, TALLY_F32, 10);
        refuses(tally_scan(ctx, "sum", &parts[0], &b, NULL), TALLY_UNSUPPORTED,
                "must be of one device");
    }
    tally_time(ctx, 1); /* a view in the memory of one device is that device's work */
    parts[0] = tally_flat(in[members - 1].at, TALLY_F32, 20000);
    check_ok(ctx, tally_reduce(ctx, "sum", &parts[0], &y), "the last device");
    tally_times(ctx, &times);
    tally_times(tally_member(ctx, members - 1), &one);
    check(times.launches && times.launches == one.launches && times.kernels == one.kernels,
          "%lld launches of %lld", (long long)one.launches, (long long)times.launches);
    tally_time(ctx, 0);
    check(!tally_member(ctx, members) && !tally_member(ctx, -1), "a member past the last");
    check(tally_member(cpu, 0) == cpu && !tally_member(cpu, 1),
          "the member of a context of one device");
    (void)done;
}

static void check_string(const char *kind, const char *list, const char *words)
{
    char name[80];
    tally *c;
    snprintf(name, sizeof name, "%s:%s", kind, list);
    check(tally_open(&c, name) != TALLY_OK && !c && strstr(tally_error(NULL), words), "%s: %s",
          name, tally_error(NULL));
}

/* ---- a member that fails ---- */

/* Call number k of the last member's API fails: each of the first, and some of the others, which
 * the seed picks. */
static void check_failures(int verb)
{
    enum { FIRST = 8 };
    const tally_window_options w = {50, 0, TALLY_EDGES_SHRINK, 0};
    const int64_t n = PART;
    tally_view parts[MEMBERS], outs[MEMBERS], whole = tally_flat(x, TALLY_F32, MOST),
                                              host = tally_flat(got, TALLY_F32, MOST);
    for (int k = 0; k < members; k++) {
        parts[k] = tally_flat(in[k].at + 4, TALLY_F32, n - 4);
        outs[k] = tally_flat(out[k].at, TALLY_F32, n - 4);
    }
    int failed = 0, done = 0;
    for (int64_t k = 1; !done; k++) {
        calls_seen = 0;
        call_fails = k;
        tally_status status = verb == 0   ? tally_reduce_split(ctx, "sum", parts, members, got)
                              : verb == 1 ? tally_scan_split(ctx, "sum", parts, members, outs, NULL)
                              : verb == 2 ? tally_window_split(ctx, "sum", parts, members, outs, &w)
                                          : tally_scan(ctx, "sum", &whole, &host, NULL);
        done = calls_seen < k;
        call_fails = 0;
        failed += status != TALLY_OK;
        check(!status || strstr(tally_error(ctx), device->name), "verb %d, call %lld: %s", verb,
              (long long)k, tally_error(ctx));
        check_pool("a call that failed");
        if (!check_long && k > FIRST) k += check_below(verb == 3 ? 24 : 6);
    }
    check(failed > 3, "verb %d: %d failures", verb, failed);
}

/* ---- contexts ---- */

static const struct {
    const char *op;
    tally_dtype dtype;
} ops[] = {{"sum", TALLY_F32},    {"argmax", TALLY_I16}, {"mean", TALLY_F64},
           {"var", TALLY_F64},    {"argmin", TALLY_I16}, {"ema", TALLY_F32},
           {"minmax", TALLY_F32}, {"nansum", TALLY_F32}, {"last", TALLY_F32}};
enum { OPS = sizeof ops / sizeof *ops };

static void check_turns(int turns)
{
    for (int turn = 0; turn < turns; turn++) {
        if (turn < (check_quick ? 1 : 2)) check_host();
        check_parts_case();
        check_pushes();
    }
}

/* A user's operator, which the members' threads must not compile at the same time. */
static void check_user(void)
{
    check_ok(ctx, tally_define_file(ctx, NULL, TALLY_SOURCE_DIR "/examples/operators/descent.h"),
             "define");
    check_ok(cpu, tally_define_file(cpu, NULL, TALLY_SOURCE_DIR "/examples/operators/descent.h"),
             "define");
    o = (check_operator){.op = "descent", .dtype = TALLY_F32, .bytes = 4};
    if (!check_ok(ctx, tally_operator(ctx, o.op, o.dtype, &o.info), "descent")) return;
    o.result = (int64_t)tally_dtype_size(o.info.output) * o.info.lanes;
    check_turns(2);
}

static void check_members(const char *kind, int count, int last)
{
    char name[96];
    int used = snprintf(name, sizeof name, "%s:0", kind);
    members = count;
    for (int k = 1; k < count; k++)
        used += snprintf(name + used, sizeof name - (size_t)used, "+%d", k);
    snprintf(name + used, sizeof name - (size_t)used, ",memory=1M,probe=off,threads=2");
    if (!check_ok(NULL, tally_open(&ctx, name), name)) return;
    name[used] = 0;
    check(!strcmp(tally_isa(ctx), name), "%s is called %s", name, tally_isa(ctx));
    open_places();
    /* quick: what test_pieces has PoCL compile too, 20 s each */
    const int chosen = count == 1 || (check_quick && !last) ? 1 : check_quick ? 2 : OPS;
    for (int i = 0; i < chosen; i++)
        if (check(check_operator_make(&o, ops[i].op, ops[i].dtype, 0), "no operator %s", ops[i].op))
            check_turns(check_long ? 40 : check_quick ? 2 : 6);
    if (check_operator_make(&o, ops[0].op, ops[0].dtype, 0))
        for (int i = 0; i < (check_long ? 100 : 6); i++) check_fields(), check_keys();
    if (last && !check_quick) check_user();
    if (last) {
        check_refusals();
        put_fake(tl_gpu_of(tally_member(ctx, count - 1)->device));
        live_blocks = live_locked = live_programs = 0;
        tl_gpu_device *d = device;
        for (int i = 0; i < TL_GPU_POOL; i++) live_blocks += d->slot->pool[i].bytes > 0;
        live_blocks +=
            (d->slot->status_table.memory.bytes > 0) + (d->slot->measured.memory.bytes > 0);
        for (int verb = 0; verb < 4; verb++) check_failures(verb);
        check_field_failures(0), check_field_failures(count - 1);
        d->gpu->calls = real;
    }
    close_places();
    tally_close(ctx);
}

static void check_kind(const char *kind)
{
    char name[32], list[32];
    tally_device_info info;
    int usable = 0, all = 0;
    for (int i = 0; !tally_device(i, &info); i++) {
        snprintf(name, sizeof name, "%s:%d", kind, all);
        if (strcmp(info.name, name)) continue;
        all++;
        usable += info.usable;
    }
    if (usable < 2 || usable < all) return;
    gpus_tested++;
    snprintf(list, sizeof list, "0+%d", all);
    check_string(kind, list, list + 2);
    check_string(kind, "1+x", "'x'");
    check_string(kind, "0+", "''");
    check_string(kind, "0+1+0", "twice");
    check_string(kind, "0+1,memory=1", "memory");
    snprintf(name, sizeof name, "%s:all,probe=off", kind);
    if (check_ok(NULL, tally_open(&ctx, name), name)) {
        for (members = 0; tally_member(ctx, members);) members++;
        check(members == usable, "%s has %d members", name, members);
        tally_close(ctx);
    }
    const int most = usable < MEMBERS ? usable : MEMBERS;
    for (int count = 1; count <= most; count++) check_members(kind, count, count == most);
    printf("%s: %d devices\n", kind, usable);
}

int main(void)
{
    check_start();
    /* For PoCL: three devices, one thread for all. With two, PoCL 3.1 gives other bits of a user's
     * operator once in 300 calls while several contexts are busy, of one device too. */
    setenv("POCL_DEVICES", "pthread pthread pthread", 0);
    setenv("POCL_MAX_PTHREAD_COUNT", "1", 0);
    x = calloc(MOST + 64, 8);
    want = calloc(1, CAPACITY);
    got = calloc(1, CAPACITY);
    cpu = check_open(2, NULL);
    const char *kinds = getenv("TALLY_TEST_DEVICES"); /* NULL: both */
    if (!kinds || strstr(kinds, "cuda")) check_kind("cuda");
    if (!kinds || strstr(kinds, "opencl")) check_kind("opencl");
    tally_close(cpu);
    free(x);
    free(want);
    free(got);
    return finish_gpus();
}
