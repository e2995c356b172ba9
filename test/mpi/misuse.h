/* SPDX-License-Identifier: MIT
 * Wrong arguments on one rank: an error on all, with the same sentence, and no rank waits for
 * ever. Part of ranks.c. */
#ifndef TALLY_TEST_MPI_MISUSE_H
#define TALLY_TEST_MPI_MISUSE_H

/* An operator whose text is another on one rank. */
static const char text[] =
    "#define OP_STATE(F) F(real, s)\n"
    "typedef struct { OP_STATE(FIELD) } state;\n"
    "fn state lift(elem x, idx i, par p) { state r; r.s = to_real(x); return r; }\n"
    "fn state combine(state a, state b) { state r; r.s = sel(a.s > b.s, a.s, b.s); return r; }\n"
    "fn result lower(state a, real n, idx first, par p) { return to_result(a.s); }\n"
    "fn result empty(par p) { return to_result(num(0)); }\n";

/* A bit of what is merged changes on its way. */
static int damage;
static MPI_User_function *merge;
static void damaged(void *in, void *inout, int *count, MPI_Datatype *type)
{
    ((char *)in)[sizeof(long long) + 50] ^= 4;
    merge(in, inout, count, type);
}
int MPI_Op_create(MPI_User_function *f, int commute, MPI_Op *op)
{
    merge = f;
    return PMPI_Op_create(damage ? damaged : f, commute, op);
}

/* One rank is wrong: all get the status and a sentence that has `says`. */
static void refused(tally_status status, tally_status expected, const char *says)
{
    check(status == expected && strstr(tally_mpi_error(), says) != NULL, says, -1);
    char text[700] = {0}, first[700];
    tally_mpi_copy_(text, sizeof text, tally_mpi_error());
    memcpy(first, text, sizeof text);
    MPI_Bcast(first, (int)sizeof first, MPI_BYTE, 0, MPI_COMM_WORLD);
    check(!strcmp(first, text), "the same sentence on all ranks", -1);
}

/* ---- misuse: the last rank is wrong ---- */

static double values[100], out[200];
static int is_bad;
static tally_view local, less, floats, to, to_floats, two[2]; /* two: fields */
static void *results[2] = {out, out + 10};
static const tally_window_options trailing = {.before = 3};

static void refused_arguments(void)
{
    tally_view pitched = tally_rows(values, TALLY_F64, 2, 5), null = local;
    const tally_scan_options reverse = {.reverse = 1};
    const tally_window_options wrong = {.before = -1};
    pitched.row_stride = 7;
    null.data = NULL;
    tally *none;
    refused(tally_mpi_open(&none, is_bad ? "cpu,threads=0" : "cpu", MPI_COMM_WORLD), TALLY_INVALID,
            "threads");
    check(none == NULL, "no context after a failure", -1);
    refused(tally_mpi_reduce(ctx, "sum", is_bad ? &pitched : &local, -1, out, 0, MPI_COMM_WORLD),
            TALLY_INVALID, "mine is not dense");
    refused(tally_mpi_reduce(ctx, "sum", is_bad ? &null : &local, -1, out, 0, MPI_COMM_WORLD),
            TALLY_INVALID, "mine->data is NULL");
    refused(tally_mpi_window(ctx, "sum", is_bad ? &null : &local, -1, &to, &trailing, NULL,
                             MPI_COMM_WORLD),
            TALLY_INVALID, "mine->data is NULL");
    refused(tally_mpi_allreduce(ctx, "sum", &local, is_bad ? &null : &to, MPI_COMM_WORLD),
            TALLY_INVALID, "out->data is NULL");
    refused(tally_mpi_reduce(is_bad ? NULL : ctx, "sum", &local, -1, out, 0, MPI_COMM_WORLD),
            TALLY_INVALID, "ctx is NULL");
    refused(tally_mpi_reduce(ctx, "summ", &local, -1, out, 0, MPI_COMM_WORLD), TALLY_INVALID,
            "rank 0: op is 'summ'");
    refused(tally_mpi_reduce(ctx, "sum", &local, -1, out, ranks, MPI_COMM_WORLD), TALLY_INVALID,
            "root is");
    refused(tally_mpi_reduce(ctx, "sum", &local, -1, is_bad ? NULL : out, -1, MPI_COMM_WORLD),
            TALLY_INVALID, "out is NULL");
    refused(tally_mpi_scan(ctx, "sum", &local, -1, &to, &reverse, MPI_COMM_WORLD),
            TALLY_UNSUPPORTED, "reverse");
    refused(tally_mpi_scan(ctx, "sum", &local, -1, is_bad ? &less : &to, NULL, MPI_COMM_WORLD),
            TALLY_INVALID, "out has 9 results");
    refused(tally_mpi_scan(ctx, "sum", &local, -1, is_bad ? &to_floats : &to, NULL, MPI_COMM_WORLD),
            TALLY_INVALID, "out is f32");
    refused(tally_mpi_window(ctx, "sum", &local, -1, &to, is_bad ? &wrong : &trailing, NULL,
                             MPI_COMM_WORLD),
            TALLY_UNSUPPORTED, "before -1");
    refused(tally_mpi_window(ctx, "sum", &local, -1, &to, is_bad ? NULL : &trailing, NULL,
                             MPI_COMM_WORLD),
            TALLY_INVALID, "options is NULL");
}

static void refused_fields(void)
{
    two[1].data = is_bad ? NULL : values;
    refused(tally_mpi_fields(ctx, "sum", two, 2, results, MPI_COMM_WORLD), TALLY_INVALID,
            "x->data is NULL");
    two[1].data = values;
    two[1].n = is_bad ? -1 : 7;
    refused(tally_mpi_fields(ctx, "sum", two, 2, results, MPI_COMM_WORLD), TALLY_INVALID,
            "n below 0");
    two[1].n = 7;
    refused(tally_mpi_fields(ctx, "sum", two, is_bad ? -2 : 2, results, MPI_COMM_WORLD),
            TALLY_INVALID, "count is -2");
    results[0] = is_bad ? NULL : out;
    refused(tally_mpi_fields(ctx, "sum", two, 2, results, MPI_COMM_WORLD), TALLY_INVALID,
            "results[0] is NULL");
    results[0] = out;
    refused(tally_mpi_fields(ctx, "sum", is_bad ? NULL : two, 2, results, MPI_COMM_WORLD),
            TALLY_INVALID, "fields or results is NULL");
    tally_view next[2] = {two[0], two[1]};
    for (int f = 0; f < 2; f++) two[f].next = &next[f];
    next[1].rows -= is_bad;
    refused(tally_mpi_fields(ctx, "dot:exact", two, 2, results, MPI_COMM_WORLD), TALLY_INVALID,
            "fields[1].next has offsets, or rows or n that are not");
    next[1].rows = two[1].rows, next[0].n -= is_bad;
    refused(tally_mpi_fields(ctx, "dot:exact", two, 2, results, MPI_COMM_WORLD), TALLY_INVALID,
            "fields[0].next has offsets, or rows or n that are not");
    for (int f = 0; f < 2; f++) two[f].next = NULL;
}

/* The calls of two ranks differ, or their operators, types, parts. */
static void different_calls(void)
{
    const int bad = ranks - 1;
    char who[40], bad_reduces[80], bad_scans[80], bad_f32[80];
    snprintf(who, sizeof who, "rank %d", bad);
    snprintf(bad_reduces, sizeof bad_reduces,
             "rank %d calls reduce of max of f64 and rank 0 reduce of sum of f64", bad);
    snprintf(bad_scans, sizeof bad_scans,
             "rank %d calls scan of sum of f64 and rank 0 reduce of sum of f64", bad);
    snprintf(bad_f32, sizeof bad_f32,
             "rank %d calls reduce of sum of f32 and rank 0 reduce of sum of f64", bad);
    if (is_bad)
        refused(tally_mpi_scan(ctx, "sum", &local, -1, &to, NULL, MPI_COMM_WORLD), TALLY_INVALID,
                bad_scans);
    else
        refused(tally_mpi_reduce(ctx, "sum", &local, -1, out, 0, MPI_COMM_WORLD), TALLY_INVALID,
                bad_scans);
    two[0].rows = is_bad ? 4 : 5;
    refused(tally_mpi_fields(ctx, "sum", two, 2, results, MPI_COMM_WORLD), TALLY_INVALID,
            "sequences");
    two[0].rows = 5;
    refused(tally_mpi_fields(ctx, "sum", two, is_bad ? 1 : 2, results, MPI_COMM_WORLD),
            TALLY_INVALID, who);
    refused(tally_mpi_reduce(ctx, is_bad ? "max" : "sum", &local, -1, out, 0, MPI_COMM_WORLD),
            TALLY_INVALID, bad_reduces);
    refused(tally_mpi_reduce(ctx, "sum", is_bad ? &floats : &local, -1, out, 0, MPI_COMM_WORLD),
            TALLY_INVALID, bad_f32);
    refused(tally_mpi_reduce(ctx, "sum", &local, is_bad ? 10 * rank : -1, out, 0, MPI_COMM_WORLD),
            TALLY_INVALID, "-1 must be on all or none");
    refused(tally_mpi_reduce(ctx, "sum", &local, is_bad ? 10 * rank + 1 : 10 * rank, out, 0,
                             MPI_COMM_WORLD),
            TALLY_INVALID, "nobody has [");
    refused(tally_mpi_reduce(ctx, "sum", &local, is_bad ? 10 * rank - 1 : 10 * rank, out, 0,
                             MPI_COMM_WORLD),
            TALLY_INVALID, "must not overlap");
    refused(tally_mpi_allreduce(ctx, "sum", is_bad ? &less : &local, is_bad ? &less : &to,
                                MPI_COMM_WORLD),
            TALLY_INVALID, "length");
}

/* A bit of a message changes on its way. */
static void damaged_messages(void)
{
    damage = 1;
    refused(tally_mpi_reduce(ctx, "sum", &local, -1, out, 0, MPI_COMM_WORLD), TALLY_BAD_DATA,
            "truncated or altered (checksum)");
    refused(tally_mpi_reduce(ctx, "sum", &local, -1, out, -1, MPI_COMM_WORLD), TALLY_BAD_DATA,
            "truncated or altered (checksum)");
    refused(tally_mpi_fields(ctx, "sum", two, 2, results, MPI_COMM_WORLD), TALLY_BAD_DATA,
            "truncated or altered (checksum)");
    if (ranks > 2) /* of two ranks none merges */
        refused(tally_mpi_scan(ctx, "sum", &local, -1, &to, NULL, MPI_COMM_WORLD), TALLY_BAD_DATA,
                "truncated or altered (checksum)");
    damage = 0;
}

static void different_texts(void)
{
    char other[sizeof text + 8] = "/**/\n";
    strcat(other, text);
    const tally_status defined = tally_define(ctx, "mine", is_bad ? other : text, NULL);
    if (defined == TALLY_UNSUPPORTED) return; /* there is no compiler */
    check(!defined, "an operator of the test's own", -1);
    refused(tally_mpi_reduce(ctx, "mine", &local, -1, out, -1, MPI_COMM_WORLD), TALLY_INVALID,
            "text");
    refused(tally_mpi_scan(ctx, "mine", &local, -1, &to, NULL, MPI_COMM_WORLD), TALLY_INVALID,
            "text");
    refused(tally_mpi_window(ctx, "mine", &local, -1, &to, &trailing, NULL, MPI_COMM_WORLD),
            TALLY_INVALID, "text");
    refused(tally_mpi_allreduce(ctx, "mine", &local, &to, MPI_COMM_WORLD), TALLY_INVALID, "text");
    results[0] = out;
    refused(tally_mpi_fields(ctx, "mine", two, 2, results, MPI_COMM_WORLD), TALLY_INVALID, "text");
}

static void misuse(void)
{
    is_bad = rank == ranks - 1;
    local = tally_flat(values, TALLY_F64, 10), less = tally_flat(out, TALLY_F64, 9);
    floats = tally_flat(values, TALLY_F32, 10), to = tally_flat(out, TALLY_F64, 10);
    to_floats = tally_flat(out, TALLY_F32, 10);
    two[0] = tally_columns(values, TALLY_F64, 2, 5), two[1] = tally_flat(values, TALLY_F64, 7);
    refused_arguments();
    refused_fields();
    if (ranks == 1) return;
    different_calls();
    damaged_messages();
    different_texts();
}
#endif
