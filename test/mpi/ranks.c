/* SPDX-License-Identifier: MIT
 * tally_mpi.h on as many ranks as it is started with: random operators, types, lengths and cuts
 * (empty parts too, parts in another order than the ranks), every result by memcmp with the call
 * of one process on the whole sequence. Then wrong arguments on one rank: an error on all, with
 * the same sentence, and no rank waits for ever.
 *   mpirun -n 3 ranks [CASES [SEED [DEVICE [OPERATOR [DTYPE]]]]]
 * DEVICE "cuda" or "opencl": a device for each rank, parts and results in its memory. With
 * -DTEST_NCCL allreduce goes by tally_mpi_nccl.h; with -Itest/mpi/fake NCCL and CUDA's runtime
 * are none, and fail on one rank when told to. */
#include <mpi.h>
#ifdef TEST_NCCL
#include <tally_mpi_nccl.h>
static tally_mpi_nccl nccl;
static const tally_mpi_mover *const mover = &nccl.mover;
#else
#include <tally_mpi.h>
static const tally_mpi_mover *const mover = NULL;
#endif
#include "memory.h"
#include <signal.h>

enum { MOST = 5000, LANES_MOST = 2, RANKS_MOST = 64 };
static uint64_t seed;
static int rank, ranks, failures, passed;
static tally *ctx, *cpu; /* cpu: what one process gives */
static const char *only_op;
static tally_dtype only_dtype;
/* NULL: parts and results are where they are made */
static char *device_x, *device_y, *device_bits, *device_out;
enum { FIELDS = 4, EACH = 4000 };
static char *device_fields, *device_results;

static uint64_t next(void) /* the same numbers on all ranks */
{
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
static int64_t below(int64_t n) { return n > 0 ? (int64_t)(next() % (uint64_t)n) : 0; }

static void check(int good, const char *what, int64_t number)
{
    if (good) {
        passed++;
    } else if (failures++ < 5) {
        printf("FAILED on rank %d of %d: %s, case %lld: %s\n", rank, ranks, what, (long long)number,
               tally_mpi_error());
    }
}

static void fill(char *x, tally_dtype dtype, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double v = (double)(below(2001) - 1000) / 8;
        const size_t size = tally_dtype_size(dtype);
        if (dtype == TALLY_F32)
            ((float *)x)[i] = (float)v;
        else if (dtype == TALLY_F64)
            ((double *)x)[i] = v / 3;
        else
            memcpy(x + (size_t)i * size, &(int64_t){(int64_t)v}, size);
    }
}

/* A part and its results, in device memory; n elements or results there, `bytes` each. */
static tally_view there(tally_view v, char *device, size_t bytes)
{
    if (!device) return v;
    check(!tally_copy(ctx, device, v.data, (size_t)v.n * bytes), "a copy to the device", -1);
    v.data = device;
    return v;
}
/* Bits there, sometimes. */
static const void *bits_there(const void *bits, size_t bytes)
{
    if (!device_bits || below(2)) return bits;
    check(!tally_copy(ctx, device_bits, bits, bytes), "bits to the device", -1);
    return device_bits;
}
static void back(void *to, const void *from, size_t bytes)
{
    if (to != from) check(!tally_copy(ctx, to, from, bytes), "a copy from the device", -1);
}

static void put_bit(unsigned char *bits, int64_t at, int is)
{
    bits[at >> 3] = (unsigned char)((bits[at >> 3] & ~(1 << (at & 7))) | is << (at & 7));
}

/* What a case computes, the same on all ranks. */
typedef struct {
    const char *op;
    tally_dtype dtype, y_type;
    int two, valid; /* two inputs; with validity bits */
    size_t size, result;
    tally_operator_info info;
} choice;

/* Returns the number of elements, or -1 where the operator does not take the types. */
static int64_t pick(choice *p)
{
    static const char *const ops[] = {"sum",       "mean", "max",   "minmax",     "argmin",
                                      "var:1",     "prod", "first", "last",       "ema:0.25",
                                      "var:exact", "dot",  "corr",  "cov:exact:1"};
    static const tally_dtype types[] = {TALLY_F64, TALLY_F32, TALLY_I32, TALLY_U8};
    const int any_op = (int)below(only_op ? 11 : 14), any_type = (int)below(4);
    p->two = any_op > 10, p->valid = below(3) == 0;
    p->y_type = types[below(4)];
    p->op = only_op ? only_op : ops[any_op];
    p->dtype = only_dtype ? only_dtype : types[any_type];
    const int64_t n = below(4) ? below(300) : below(MOST);
    const int differ = p->two && p->y_type != p->dtype;
    if (tally_operator(ctx, p->op, differ ? TALLY_F64 : p->dtype, &p->info)) return -1;
    /* whose common type is another */
    if (differ && p->dtype != TALLY_F64 && p->y_type != TALLY_F64) return -1;
    p->size = tally_dtype_size(p->dtype);
    p->result = tally_dtype_size(p->info.output) * (size_t)p->info.lanes;
    return n;
}

/* Cuts 0 .. n between the ranks, in their order (returns 1) or in another. place[r]: of rank r. */
static int cut_up(int64_t n, int64_t *cut, int *place)
{
    for (int r = 1; r < ranks; r++) cut[r] = below(5) ? below(n + 1) : cut[r - 1];
    cut[ranks] = n;
    for (int i = 1; i <= ranks; i++)
        for (int k = i; k > 0 && cut[k - 1] > cut[k]; k--) {
            const int64_t t = cut[k];
            cut[k] = cut[k - 1];
            cut[k - 1] = t;
        }
    const int by_rank = below(2) == 0;
    for (int r = 0; r < ranks; r++) {
        const int k = by_rank ? r : (int)below(r + 1);
        place[r] = place[k];
        place[k] = r;
    }
    return by_rank;
}

static char x[MOST * 8], y[MOST * 8], want[MOST * 16], got[MOST * 16], bits[MOST / 8 + 1];

/* A window of the elements [a, a + count) of n, which are this rank's. */
static void windowed(const choice *p, const tally_view *all, const tally_view *local, int64_t a,
                     int64_t start, int64_t number)
{
    const int64_t n = all->n, local_n = local->n;
    void *const to = device_out ? device_out : got;
    const tally_view out = there(tally_flat(got, p->info.output, local_n), device_out, p->result);
    tally_window_options w = {.before = below(60)};
    w.after = below(2) ? below(60) : 0;
    w.edges = (tally_edges)below(3);
    if (below(3) == 0) w.min_count = below(w.before + w.after + 2);
    const int64_t length = tally_window_length(n, &w);
    const tally_view windows = tally_flat(want, p->info.output, length);
    /* with p->valid edges p->result i is that of the window at i + before */
    int64_t produced = -1, first = a, last = a + local_n;
    if (w.edges == TALLY_EDGES_VALID) {
        first = (a < w.before ? w.before : a) - w.before;
        last = (a + local_n > n - w.after ? n - w.after : a + local_n) - w.before;
        if (last < first) last = first;
    }
    tally_status status = tally_window(cpu, p->op, all, &windows, &w);
    check(!status, "window in one process", number);
    status = tally_mpi_window(ctx, p->op, local, start, &out, &w, &produced, MPI_COMM_WORLD);
    back(got, to, (size_t)local_n * p->result);
    check(!status && produced == last - first &&
              !memcmp(got, want + (size_t)first * p->result, (size_t)(last - first) * p->result),
          "window", number);
}

/* Element by element over the ranks: element i of rank r is x[i * ranks + r]. */
static void all_reduced(const choice *p, int64_t number)
{
    static char local_x[MOST * 8], local_second[MOST * 8], others[MOST * 8 * 4];
    static unsigned char some[MOST / 8 + 1], all_bits[MOST / 8 + 1];
    const int64_t m = below(MOST / ranks);
    int has_part = 0;
    for (int r = 0; r < ranks; r++) { /* element i of rank r */
        fill(others, p->dtype, m);
        for (int64_t i = 0; i < m; i++)
            memcpy(x + (size_t)(i * ranks + r) * p->size, others + (size_t)i * p->size, p->size);
        if (r == rank) memcpy(local_x, others, (size_t)m * p->size);
        const size_t beside = tally_dtype_size(p->y_type);
        fill(others, p->y_type, p->two ? m : 0);
        for (int64_t i = 0; i < m && p->two; i++)
            memcpy(y + (size_t)(i * ranks + r) * beside, others + (size_t)i * beside, beside);
        if (r == rank) memcpy(local_second, others, (size_t)m * beside);
        const int has = p->valid && below(3); /* some ranks have bits, others have not */
        for (int64_t i = 0; i < m; i++) {
            const int is = !has || below(4);
            put_bit(all_bits, i * ranks + r, is);
            if (r == rank) put_bit(some, i + 3, is);
        }
        if (r == rank) has_part = has;
    }
    tally_view ranks_x = tally_rows(x, p->dtype, m, ranks),
               ranks_y = tally_rows(y, p->y_type, m, ranks);
    ranks_x.valid = all_bits;
    if (p->two) ranks_x.next = &ranks_y;
    tally_reduce(cpu, p->op, &ranks_x, want);
    tally_view element = there(tally_flat(local_x, p->dtype, m), device_x, p->size),
               second = there(tally_flat(local_second, p->y_type, m), device_y,
                              tally_dtype_size(p->y_type));
    if (p->two) element.next = &second;
    tally_view *const has_bits = p->two ? &second : &element;
    const void *const some_there = bits_there(some, sizeof some);
    if (has_part) has_bits->valid = some_there, has_bits->valid_offset = 3;
    tally_view each = there(tally_flat(got, p->info.output, m), device_out, p->result);
    const int in_place = p->size == p->result && below(2) == 0;
    if (in_place) each.data = element.data;
    const tally_status status =
        tally_mpi_allreduce_by(ctx, p->op, &element, &each, mover, MPI_COMM_WORLD);
    back(got, each.data, (size_t)m * p->result);
    check(!status && !memcmp(got, want, (size_t)m * p->result), "allreduce", number);
}

static void one(int64_t number)
{
    int64_t cut[RANKS_MOST + 1] = {0};
    int place[RANKS_MOST]; /* of the ranks in the sequence */
    choice picked, *const p = &picked;
    const int64_t n = pick(p);
    if (n < 0) return;
    fill(x, p->dtype, n);
    fill(y, p->y_type, n);
    for (int i = 0; i < MOST / 8 + 1; i++) bits[i] = (char)(below(256) | below(256));
    const int by_rank = cut_up(n, cut, place);
    const int me = place[rank];
    const int64_t a = cut[me], local_n = cut[me + 1] - a, start = by_rank && below(2) ? -1 : a;
    tally_view all = tally_flat(x, p->dtype, n),
               local =
                   there(tally_flat(x + (size_t)a * p->size, p->dtype, local_n), device_x, p->size);
    tally_view all_y = tally_flat(y, p->y_type, n),
               local_y = there(
                   tally_flat(y + (size_t)a * tally_dtype_size(p->y_type), p->y_type, local_n),
                   device_y, tally_dtype_size(p->y_type));
    if (p->two) all.next = &all_y, local.next = &local_y;
    if (p->valid && p->two && below(2))
        all_y.valid = bits, local_y.valid = bits_there(bits, sizeof bits), local_y.valid_offset = a;
    else if (p->valid)
        all.valid = bits, local.valid = bits_there(bits, sizeof bits), local.valid_offset = a;
    const tally_view out = there(tally_flat(got, p->info.output, local_n), device_out, p->result);
    void *const to = device_out ? device_out : got;
    const int root = (int)below(ranks + 1) - 1;

    tally_reduce(cpu, p->op, &all, want);
    memset(got, 0x5a, p->result);
    tally_status status = tally_mpi_reduce(ctx, p->op, &local, start, to, root, MPI_COMM_WORLD);
    back(got, to, p->result);
    check(!status && ((root >= 0 && root != rank) || !memcmp(got, want, p->result)), "reduce",
          number);

    const tally_scan_options scan = {.exclusive = (int)below(2)};
    const tally_view scanned = tally_flat(want, p->info.output, n);
    tally_scan(cpu, p->op, &all, &scanned, &scan);
    status = tally_mpi_scan(ctx, p->op, &local, start, &out, &scan, MPI_COMM_WORLD);
    back(got, to, (size_t)local_n * p->result);
    check(!status && !memcmp(got, want + (size_t)a * p->result, (size_t)local_n * p->result),
          "scan", number);

    windowed(p, &all, &local, a, start, number);
    if (!mover || (!p->two && !p->valid)) all_reduced(p, number);
}

/* Several fields in one message: sequences go on from rank to rank; some ranks have none of
   their elements. */
static void fields(int64_t number)
{
    static char x[FIELDS][EACH * 8], want[FIELDS][EACH * 16], got[FIELDS][EACH * 16];
    static const char *const ops[] = {"sum",       "mean",      "max",        "minmax",
                                      "argmin",    "var:1",     "nansum",     "ema:0.25",
                                      "std:exact", "sum:exact", "mean:exact", "dot:exact"};
    static const tally_dtype types[] = {TALLY_F64, TALLY_F32, TALLY_I32, TALLY_U8};
    const char *const any = ops[below(3) ? below(9) : 9 + below(3)], *const op =
                                                                         only_op ? only_op : any;
    const int count = below(8) ? 1 + (int)below(FIELDS) : 0, exact = strstr(op, "exact") != NULL;
    const int on_device = device_fields != NULL, valid = below(3) == 0;
    static unsigned char bits[EACH / 8 + 1];
    for (int i = 0; i < EACH / 8 + 1; i++) bits[i] = (unsigned char)(below(256) | below(256));
    tally_view local[FIELDS] = {{0}}, whole[FIELDS], beside[FIELDS], local_beside[FIELDS];
    const int two = strstr(op, "dot") != NULL; /* with itself, of f32 */
    tally_operator_info info[FIELDS];
    void *results[FIELDS] = {NULL};
    const void *const field_bits = bits_there(bits, sizeof bits);
    for (int f = 0; f < count; f++) {
        const tally_dtype type = two ? TALLY_F32 : types[below(exact ? 2 : 4)],
                          dtype = only_dtype ? only_dtype : type;
        const int64_t rows = below(4) ? 2 + below(40) : below(2),
                      n = below(4) ? below(90) : below(8);
        const size_t size = tally_dtype_size(dtype);
        int64_t first = 0, end = 0, a = 0, b = 0;
        if (tally_operator(ctx, op, dtype, &info[f])) return;
        fill(x[f], dtype, rows * n);
        whole[f] =
            below(2) ? tally_columns(x[f], dtype, n, rows) : tally_rows(x[f], dtype, rows, n);
        for (int r = 0; r < ranks; r++, first = end) {
            end = r == ranks - 1 ? n : first + (below(4) ? below(2 * n / ranks + 1) : 0);
            if (end > n) end = n;
            if (r == rank) a = first, b = end;
        }
        beside[f] = whole[f];
        if (two) whole[f].next = &beside[f];
        if (valid) whole[f].valid = bits;
        local[f] = whole[f];
        local[f].valid_offset = valid ? a * whole[f].stride : 0;
        char *const at = on_device ? device_fields + f * EACH * 8 : x[f];
        if (on_device)
            check(!tally_copy(ctx, at, x[f], sizeof x[f]), "a field to the device", number);
        local[f].data = at + (size_t)(a * whole[f].stride) * size;
        local[f].n = b - a;
        if (valid) local[f].valid = field_bits;
        local_beside[f] = local[f];
        local_beside[f].valid = NULL;
        local_beside[f].next = NULL;
        if (two) local[f].next = &local_beside[f];
        results[f] = on_device ? device_results + f * EACH * 16 : got[f];
        memset(got[f], 0x5a, sizeof got[f]);
        if (on_device)
            check(!tally_copy(ctx, results[f], got[f], sizeof got[f]), "results on the device",
                  number);
        check(!tally_reduce(cpu, op, &whole[f], want[f]), "fields in one process", number);
    }
    const tally_status status = tally_mpi_fields(ctx, op, local, count, results, MPI_COMM_WORLD);
    check(!status, "fields", number);
    for (int f = 0; f < count && !status; f++) {
        const size_t bytes =
            (size_t)whole[f].rows * tally_dtype_size(info[f].output) * (size_t)info[f].lanes;
        back(got[f], results[f], sizeof got[f]);
        check(!memcmp(got[f], want[f], bytes) && got[f][bytes] == 0x5a, "results of fields",
              number);
    }
}

#include "misuse.h"

#ifdef TEST_NCCL
#ifdef TEST_FAKE_NCCL_H
/* NCCL or a GPU fails on one rank: an error on all with its sentence, at this call and at those
   after it. */
static void nccl_fails(void)
{
    static const struct {
        int fault;
        const char *says;
    } faults[] = {{FAKE_SEND, "ncclSend: unhandled system error"},
                  {FAKE_STREAM, "cudaStreamQuery: uncorrectable ECC error encountered"},
                  {FAKE_MEMORY, "cudaMalloc: out of memory"}};
    double x[64], out[64];
    const tally_view local = tally_flat(x, TALLY_F64, 64), to = tally_flat(out, TALLY_F64, 64);
    for (int i = 0; i < 64; i++) x[i] = i;
    for (int k = 0; k < 3; k++) {
        if (ranks == 1 && faults[k].fault == FAKE_SEND) continue; /* there is nobody to send to */
        fake_rank = ranks - 1;
        if (faults[k].fault == FAKE_MEMORY)
            cudaFree(nccl.memory), nccl.memory = NULL, nccl.bytes = 0;
        fake_fault = faults[k].fault;
        refused(tally_mpi_allreduce_by(ctx, "sum", &local, &to, mover, MPI_COMM_WORLD), TALLY_IO,
                faults[k].says);
        fake_fault = FAKE_WELL;
        if (faults[k].fault == FAKE_MEMORY) continue; /* before anything moved */
        refused(tally_mpi_allreduce_by(ctx, "sum", &local, &to, mover, MPI_COMM_WORLD), TALLY_IO,
                "was ended by an earlier failure");
        tally_mpi_nccl_close(&nccl);
        check(!tally_mpi_nccl_open(&nccl, MPI_COMM_WORLD), "opened again", k);
    }
    fake_host = rank == ranks - 1 ? out : NULL;
    refused(tally_mpi_allreduce_by(ctx, "sum", &local, &to, mover, MPI_COMM_WORLD), TALLY_INVALID,
            "out: it is host memory");
    fake_host = NULL;
    check(!tally_mpi_allreduce_by(ctx, "sum", &local, &to, mover, MPI_COMM_WORLD) &&
              out[63] == 63. * ranks,
          "after failures", -1);
}
#else
static void nccl_fails(void) {}
#endif
static void nccl_open(const memory *m)
{
#ifndef TEST_FAKE_NCCL_H
    if (m->cuda) cudaSetDevice(atoi(strchr(tally_isa(ctx), ':') + 1));
#endif
    (void)m;
    if (tally_mpi_nccl_open(&nccl, MPI_COMM_WORLD))
        printf("FAILED: %s\n", tally_mpi_error()), exit(1);
}
#endif

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int64_t cases = argc > 1 ? atoll(argv[1]) : 100;
    seed = argc > 2 ? (uint64_t)atoll(argv[2]) : 1;
    const char *const device = argc > 3 ? argv[3] : "cpu";
    if (argc > 4) only_op = argv[4];
    if (argc > 5) only_dtype = tally_dtype_parse(argv[5]);
    if (tally_open(&cpu, rank % 2 ? "cpu,threads=1" : "cpu,threads=2"))
        return printf("%s\n", tally_error(NULL)), 1;
    const int on_device = strncmp(device, "cpu", 3) != 0;
    if (tally_mpi_open(&ctx, on_device || rank % 2 ? device : "cpu,threads=2", MPI_COMM_WORLD))
        return printf("FAILED: %s\n", tally_mpi_error()), 1;
    const memory m = memory_of(ctx);
    if (on_device) {
        device_x = memory_new(&m, MOST * 8);
        device_y = memory_new(&m, MOST * 8);
        device_bits = memory_new(&m, EACH);
        device_out = memory_new(&m, MOST * 16);
        device_fields = memory_new(&m, FIELDS * EACH * 8);
        device_results = memory_new(&m, FIELDS * EACH * 16);
    }
#ifdef TEST_NCCL
    nccl_open(&m);
    nccl_fails();
#endif
    if (argc > 1 &&
        /* a rank ends in the middle of all; the others must not wait for ever */
        !strcmp(argv[1], "lost")) {
        one(0);
        if (rank == ranks - 1) raise(SIGKILL);
        one(1);
        printf("FAILED: rank %d went on\n", rank);
    }
    for (int64_t k = 0; k < cases; k++) one(k), fields(k), fields(k);
    if (!on_device) misuse();
    int sum[2] = {passed, failures}, all[2];
    MPI_Reduce(sum, all, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!rank) printf("%d ranks on %s: %d passed, %d failed\n", ranks, device, all[0], all[1]);
#ifdef TEST_NCCL
    tally_mpi_nccl_close(&nccl);
#endif
    tally_close(ctx);
    tally_close(cpu);
    MPI_Finalize();
    return failures > 0;
}
