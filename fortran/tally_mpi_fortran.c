/* SPDX-License-Identifier: MIT
 * What tally_mpi.f90 calls: tally_mpi.h with Fortran's arrays, whose type, rank and extents come with them
 * (ISO_Fortran_binding.h, Fortran 2018). Compile it with your mpicc. */
#include <ISO_Fortran_binding.h>
#include <mpi.h>
#include <stdio.h>
#include <tally_mpi.h>

static char refusal[160];

/* An array as one sequence, in the order of its elements in memory. 0: it is none, and refusal says why. */
static int view_of(const CFI_cdesc_t *a, const char *name, tally_view *v)
{
    const int is_float = a->type == CFI_type_float || a->type == CFI_type_double;
    const int log = a->elem_len == 1 ? 0 : a->elem_len == 2 ? 1 : a->elem_len == 4 ? 2 : a->elem_len == 8 ? 3 : -1;
    const int is_integer = a->type == CFI_type_int8_t || a->type == CFI_type_int16_t || a->type == CFI_type_int32_t ||
                           a->type == CFI_type_int64_t;
    static const tally_dtype integers[] = {TALLY_I8, TALLY_I16, TALLY_I32, TALLY_I64};
    int64_t n = 1;
    if (log < 0 || (!is_float && !is_integer))
        return snprintf(refusal, sizeof refusal, "%s: must be real or integer of 1 to 8 bytes", name), 0;
    if (a->rank && !CFI_is_contiguous(a))
        return snprintf(refusal, sizeof refusal, "%s: must be contiguous; copy the section first", name), 0;
    for (int d = 0; d < a->rank; d++) n *= a->dim[d].extent;
    *v = tally_flat(a->base_addr, is_float ? (log == 2 ? TALLY_F32 : TALLY_F64) : integers[log], n);
    return 1;
}

/* What this rank refuses, all do, with its sentence. */
static tally_status meet(int good, MPI_Comm comm)
{
    return tally_mpi_agree_(comm, good ? TALLY_OK : tally_mpi_fail_(TALLY_INVALID, "%s", refusal));
}

int tally_mpi_fortran_reduce(tally *ctx, const char *op, const CFI_cdesc_t *x, int64_t start, CFI_cdesc_t *out,
                             int root, MPI_Fint comm)
{
    tally_view mine = {0}, result = {0};
    tally_operator_info info;
    int good = view_of(x, "x", &mine) && view_of(out, "result", &result);
    if (good && !tally_operator(ctx, op, mine.dtype, &info) && (result.dtype != info.output || result.n < info.lanes)) {
        snprintf(refusal, sizeof refusal, "result: must have %d of %s", info.lanes, tally_dtype_name(info.output));
        good = 0;
    }
    const tally_status status = meet(good, MPI_Comm_f2c(comm));
    if (status) return (int)status;
    return (int)tally_mpi_reduce(ctx, op, &mine, start, (void *)(uintptr_t)result.data, root, MPI_Comm_f2c(comm));
}

int tally_mpi_fortran_scan(tally *ctx, const char *op, const CFI_cdesc_t *x, int64_t start, CFI_cdesc_t *out,
                           int exclusive, MPI_Fint comm)
{
    tally_view mine = {0}, results = {0};
    const tally_scan_options o = {.exclusive = exclusive};
    const int good = view_of(x, "x", &mine) && view_of(out, "results", &results);
    const tally_status status = meet(good, MPI_Comm_f2c(comm));
    return (int)(status ? status : tally_mpi_scan(ctx, op, &mine, start, &results, &o, MPI_Comm_f2c(comm)));
}

int tally_mpi_fortran_window(tally *ctx, const char *op, const CFI_cdesc_t *x, int64_t start, CFI_cdesc_t *out,
                             int64_t before, int64_t after, int edges, int64_t *count, MPI_Fint comm)
{
    tally_view mine = {0}, results = {0};
    const tally_window_options o = {.before = before, .after = after, .edges = (tally_edges)edges};
    const int good = view_of(x, "x", &mine) && view_of(out, "results", &results);
    const tally_status status = meet(good, MPI_Comm_f2c(comm));
    return (int)(status ? status : tally_mpi_window(ctx, op, &mine, start, &results, &o, count, MPI_Comm_f2c(comm)));
}

int tally_mpi_fortran_allreduce(tally *ctx, const char *op, const CFI_cdesc_t *x, CFI_cdesc_t *out, MPI_Fint comm)
{
    tally_view mine = {0}, results = {0};
    const int good = view_of(x, "x", &mine) && view_of(out, "results", &results);
    const tally_status status = meet(good, MPI_Comm_f2c(comm));
    return (int)(status ? status : tally_mpi_allreduce(ctx, op, &mine, &results, MPI_Comm_f2c(comm)));
}

/* Sequences along dimension `dim`, of which the dimensions before it count `inner` and those after it `outer`: for each
 * index of the latter a field. */
int tally_mpi_fortran_fields(tally *ctx, const char *op, const CFI_cdesc_t *x, CFI_cdesc_t *out, int dim, MPI_Fint comm)
{
    tally_view all = {0}, result = {0};
    tally_operator_info info = {0};
    int64_t inner = 1, outer = 1, n = 0;
    int good = view_of(x, "x", &all) && view_of(out, "results", &result);
    if (good && (dim < 1 || dim > x->rank)) {
        snprintf(refusal, sizeof refusal, "dim is %d: must be 1..%d", dim, (int)x->rank);
        good = 0;
    }
    for (int d = 1; good && d <= x->rank; d++) {
        if (d < dim) inner *= x->dim[d - 1].extent;
        if (d == dim) n = x->dim[d - 1].extent;
        if (d > dim) outer *= x->dim[d - 1].extent;
    }
    const int one = inner == 1 || outer > 0x7fffffff; /* field, of rows */
    if (good && one && inner != 1) {
        snprintf(refusal, sizeof refusal, "x has %lld fields beside each other: at most 2^31 - 1", (long long)outer);
        good = 0;
    }
    if (good && !tally_operator(ctx, op, all.dtype, &info) &&
        (result.dtype != info.output || result.n != inner * outer * info.lanes)) {
        snprintf(refusal, sizeof refusal, "results: must be %lld of %s", (long long)(inner * outer * info.lanes),
                 tally_dtype_name(info.output));
        good = 0;
    }
    const int count = good ? (one ? 1 : (int)outer) : 0;
    const size_t size = tally_dtype_size(all.dtype), bytes = tally_dtype_size(result.dtype) * (size_t)info.lanes;
    tally_view *const field = calloc((size_t)count + 1, sizeof *field);
    void **const to = calloc((size_t)count + 1, sizeof *to);
    if (good && (!field || !to)) {
        snprintf(refusal, sizeof refusal, "no memory for %d fields", count);
        good = 0;
    }
    for (int f = 0; good && f < count; f++) {
        const char *const at = (const char *)all.data + (size_t)(f * inner * n) * size;
        field[f] = one ? tally_rows(at, all.dtype, outer, n) : tally_columns(at, all.dtype, n, inner);
        to[f] = (char *)(uintptr_t)result.data + (size_t)(f * inner) * bytes;
    }
    tally_status status = meet(good, MPI_Comm_f2c(comm));
    if (!status) status = tally_mpi_fields(ctx, op, field, count, to, MPI_Comm_f2c(comm));
    free(field);
    free(to);
    return (int)status;
}

const char *tally_mpi_fortran_error(void) { return tally_mpi_error(); }
