/* SPDX-License-Identifier: MIT
 * What tally_mpi.f90 calls: tally_mpi.h with Fortran's arrays, whose type, rank and extents come
 * with them (ISO_Fortran_binding.h, Fortran 2018). A section that is not contiguous is copied,
 * and results go back. Compile it with your mpicc. */
#include <ISO_Fortran_binding.h>
#include <mpi.h>
#include <stdio.h>
#include <tally_mpi.h>

static char refusal[160];

/* A call: its arrays as dense views in the order of their elements, and what was made for them. */
typedef struct {
    tally_view x, next, out;
    void *made[4];
    int count;
    const CFI_cdesc_t *back; /* results that go from out to this section */
} arrays;

static int no_memory(int64_t bytes)
{
    return snprintf(refusal, sizeof refusal, "no memory for %lld bytes of a section",
                    (long long)bytes),
           0;
}

static int64_t elements(const CFI_cdesc_t *a)
{
    int64_t n = 1;
    for (int d = 0; d < a->rank; d++) n *= a->dim[d].extent;
    return n;
}

/* Between a section and dense memory. */
static void copy(const CFI_cdesc_t *a, char *dense, int to_section)
{
    CFI_index_t at[CFI_MAX_RANK] = {0};
    const int64_t n = elements(a);
    char *p = a->base_addr;
    for (int64_t i = 0; i < n; i++, dense += a->elem_len) {
        memcpy(to_section ? p : dense, to_section ? dense : p, a->elem_len);
        for (int d = 0; d < a->rank; d++) { /* the next element */
            p += a->dim[d].sm;
            if (++at[d] < a->dim[d].extent) break;
            p -= at[d] * a->dim[d].sm;
            at[d] = 0;
        }
    }
}

/* Dense memory with the elements of an array: its own, or a copy. NULL: refusal says why. */
static char *dense_of(tally *ctx, const CFI_cdesc_t *a, const char *name, arrays *to, int *copied)
{
    const int64_t bytes = elements(a) * (int64_t)a->elem_len;
    int owner = -1;
    *copied = a->rank && bytes && !CFI_is_contiguous(a);
    if (!*copied) return a->base_addr;
    if (ctx && !tally_owner(ctx, a->base_addr, &owner) && owner >= 0)
        return snprintf(refusal, sizeof refusal,
                        "%s: a section in device memory must be contiguous", name),
               NULL;
    char *const made = to->made[to->count++] = malloc((size_t)bytes + 1);
    if (!made) return no_memory(bytes), NULL;
    copy(a, made, 0);
    return made;
}

static int is_float(const CFI_cdesc_t *a)
{
    return a->type == CFI_type_float || a->type == CFI_type_double;
}

static int is_integer(const CFI_cdesc_t *a)
{
    return a->type == CFI_type_int8_t || a->type == CFI_type_int16_t ||
           a->type == CFI_type_int32_t || a->type == CFI_type_int64_t;
}

/* An array as one sequence, in the order of its elements. 0: it is none, and refusal says why. */
static int view_of(tally *ctx, const CFI_cdesc_t *a, const char *name, arrays *to, tally_view *v)
{
    const int log = a->elem_len == 1   ? 0
                    : a->elem_len == 2 ? 1
                    : a->elem_len == 4 ? 2
                    : a->elem_len == 8 ? 3
                                       : -1;
    static const tally_dtype integers[] = {TALLY_I8, TALLY_I16, TALLY_I32, TALLY_I64};
    int copied;
    if (log < 0 || (!is_float(a) && !is_integer(a)))
        return snprintf(refusal, sizeof refusal, "%s: must be real or integer of 1 to 8 bytes",
                        name),
               0;
    char *const at = dense_of(ctx, a, name, to, &copied);
    const tally_dtype real = log == 2 ? TALLY_F32 : TALLY_F64;
    *v = tally_flat(at, is_float(a) ? real : integers[log], elements(a));
    if (copied && v == &to->out) to->back = a;
    return at || !v->n;
}

/* The same rank and extents? */
static int same_shape(const CFI_cdesc_t *x, const CFI_cdesc_t *a, const char *name)
{
    int same = a->rank == x->rank;
    for (int d = 0; same && d < x->rank; d++) same = a->dim[d].extent == x->dim[d].extent;
    if (!same) snprintf(refusal, sizeof refusal, "%s: must have the shape of x", name);
    return same;
}

/* A bit for each element of a logical array: .true. is odd with every compiler. */
static int bits_of(const CFI_cdesc_t *a, arrays *to)
{
    const int64_t n = elements(a), bytes = n * (int64_t)a->elem_len;
    if (a->elem_len > 8 || is_float(a) || is_integer(a))
        return snprintf(refusal, sizeof refusal, "valid: must be logical"), 0;
    unsigned char *const bits = to->made[to->count++] = calloc((size_t)n / 8 + 1, 1);
    char *const dense = malloc((size_t)bytes + 1);
    const int big = *(const char *)&(const int){1} == 0;
    if (bits && dense) {
        copy(a, dense, 0);
        for (int64_t i = 0; i < n; i++)
            bits[i >> 3] |= (unsigned char)((dense[i * (int64_t)a->elem_len +
                                                   (big ? (int64_t)a->elem_len - 1 : 0)] &
                                             1)
                                            << (i & 7));
    }
    free(dense);
    to->x.valid = bits;
    return (bits && dense) || no_memory(bytes);
}

/* x with its second input and its validity, which may be NULL, and the results. */
static int open_arrays(tally *ctx, const CFI_cdesc_t *x, const CFI_cdesc_t *next,
                       const CFI_cdesc_t *valid, const CFI_cdesc_t *out, const char *out_name,
                       arrays *to)
{
    *to = (arrays){.count = 0};
    if (!view_of(ctx, x, "x", to, &to->x) || !view_of(ctx, out, out_name, to, &to->out)) return 0;
    if (next && (!same_shape(x, next, "next") || !view_of(ctx, next, "next", to, &to->next)))
        return 0;
    if (next) to->x.next = &to->next;
    return !valid || (same_shape(x, valid, "valid") && bits_of(valid, to));
}

/* What this rank refuses, all do, with its sentence. */
static tally_status meet(int good, MPI_Comm comm)
{
    return tally_mpi_agree_(comm, good ? TALLY_OK : tally_mpi_fail_(TALLY_INVALID, "%s", refusal));
}

static int close_arrays(arrays *a, tally_status status)
{
    if (!status && a->back) copy(a->back, a->out.data, 1);
    for (int i = 0; i < a->count; i++) free(a->made[i]);
    return (int)status;
}

int tally_mpi_fortran_reduce(tally *ctx, const char *op, const CFI_cdesc_t *x, int64_t start,
                             CFI_cdesc_t *out, int root, const CFI_cdesc_t *next,
                             const CFI_cdesc_t *valid, MPI_Fint comm)
{
    arrays a;
    tally_operator_info info;
    int good = open_arrays(ctx, x, next, valid, out, "result", &a);
    if (good && !tally_operator(ctx, op, tally_mpi_field_dtype_(&a.x), &info) &&
        (a.out.dtype != info.output || a.out.n < info.lanes)) {
        snprintf(refusal, sizeof refusal, "result: must have %d of %s", info.lanes,
                 tally_dtype_name(info.output));
        good = 0;
    }
    tally_status status = meet(good, MPI_Comm_f2c(comm));
    if (!status)
        status = tally_mpi_reduce(ctx, op, &a.x, start, a.out.data, root, MPI_Comm_f2c(comm));
    return close_arrays(&a, status);
}

int tally_mpi_fortran_scan(tally *ctx, const char *op, const CFI_cdesc_t *x, int64_t start,
                           CFI_cdesc_t *out, int exclusive, const CFI_cdesc_t *next,
                           const CFI_cdesc_t *valid, MPI_Fint comm)
{
    arrays a;
    const tally_scan_options o = {.exclusive = exclusive};
    tally_status status =
        meet(open_arrays(ctx, x, next, valid, out, "results", &a), MPI_Comm_f2c(comm));
    if (!status) status = tally_mpi_scan(ctx, op, &a.x, start, &a.out, &o, MPI_Comm_f2c(comm));
    return close_arrays(&a, status);
}

int tally_mpi_fortran_window(tally *ctx, const char *op, const CFI_cdesc_t *x, int64_t start,
                             CFI_cdesc_t *out, int64_t before, int64_t after, int edges,
                             int64_t *count, const CFI_cdesc_t *next, const CFI_cdesc_t *valid,
                             MPI_Fint comm)
{
    arrays a;
    const tally_window_options o = {.before = before, .after = after, .edges = (tally_edges)edges};
    *count = 0;
    tally_status status =
        meet(open_arrays(ctx, x, next, valid, out, "results", &a), MPI_Comm_f2c(comm));
    if (!status)
        status = tally_mpi_window(ctx, op, &a.x, start, &a.out, &o, count, MPI_Comm_f2c(comm));
    return close_arrays(&a, status);
}

int tally_mpi_fortran_allreduce(tally *ctx, const char *op, const CFI_cdesc_t *x, CFI_cdesc_t *out,
                                const CFI_cdesc_t *next, const CFI_cdesc_t *valid, MPI_Fint comm)
{
    arrays a;
    tally_status status =
        meet(open_arrays(ctx, x, next, valid, out, "results", &a), MPI_Comm_f2c(comm));
    if (!status) status = tally_mpi_allreduce(ctx, op, &a.x, &a.out, MPI_Comm_f2c(comm));
    return close_arrays(&a, status);
}

/* Sequences along dimension `dim`, of which the dimensions before it count `inner` and those
 * after it `outer`: for each index of the latter a field, number f; one: a single field, of
 * rows. */
static tally_view field_of(const tally_view *all, int one, int64_t f, int64_t inner, int64_t n,
                           int64_t outer)
{
    const int64_t first = f * inner * n;
    const char *const at = (const char *)all->data + (size_t)first * tally_dtype_size(all->dtype);
    tally_view field =
        one ? tally_rows(at, all->dtype, outer, n) : tally_columns(at, all->dtype, n, inner);
    field.valid = all->valid;
    field.valid_offset = first;
    return field;
}

int tally_mpi_fortran_fields(tally *ctx, const char *op, const CFI_cdesc_t *x, CFI_cdesc_t *out,
                             int dim, const CFI_cdesc_t *next, const CFI_cdesc_t *valid,
                             MPI_Fint comm)
{
    arrays a;
    tally_operator_info info = {0};
    int64_t inner = 1, outer = 1, n = 0;
    int good = open_arrays(ctx, x, next, valid, out, "results", &a);
    if (good && (dim < 1 || dim > x->rank)) {
        snprintf(refusal, sizeof refusal, "dim is %d: must be 1..%d", dim, (int)x->rank);
        good = 0;
    }
    for (int d = 1; good && d <= x->rank; d++) {
        if (d < dim) inner *= x->dim[d - 1].extent;
        if (d == dim) n = x->dim[d - 1].extent;
        if (d > dim) outer *= x->dim[d - 1].extent;
    }
    const int one = inner == 1 || outer > 0x7fffffff;
    if (good && one && inner != 1) {
        snprintf(refusal, sizeof refusal, "x has %lld fields beside each other: at most 2^31 - 1",
                 (long long)outer);
        good = 0;
    }
    if (good && !tally_operator(ctx, op, tally_mpi_field_dtype_(&a.x), &info) &&
        (a.out.dtype != info.output || a.out.n != inner * outer * info.lanes)) {
        snprintf(refusal, sizeof refusal, "results: must be %lld of %s",
                 (long long)(inner * outer * info.lanes), tally_dtype_name(info.output));
        good = 0;
    }
    const int count = good ? (one ? 1 : (int)outer) : 0;
    const size_t bytes = tally_dtype_size(a.out.dtype) * (size_t)info.lanes;
    tally_view *const field = calloc(2 * (size_t)count + 1, sizeof *field), *const beside =
                                                                                field + count;
    void **const to = calloc((size_t)count + 1, sizeof *to);
    if (good && (!field || !to)) {
        snprintf(refusal, sizeof refusal, "no memory for %d fields", count);
        good = 0;
    }
    for (int f = 0; good && f < count; f++) {
        field[f] = field_of(&a.x, one, f, inner, n, outer);
        if (next)
            beside[f] = field_of(&a.next, one, f, inner, n, outer), field[f].next = &beside[f];
        to[f] = (char *)(uintptr_t)a.out.data + (size_t)(f * inner) * bytes;
    }
    tally_status status = meet(good, MPI_Comm_f2c(comm));
    if (!status) status = tally_mpi_fields(ctx, op, field, count, to, MPI_Comm_f2c(comm));
    free(field);
    free(to);
    return close_arrays(&a, status);
}

const char *tally_mpi_fortran_error(void) { return tally_mpi_error(); }
