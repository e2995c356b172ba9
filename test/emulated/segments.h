/* SPDX-License-Identifier: MIT
 * Short segments as CUDA folds and scans them (src/gpu/kernel/short/), for test_emulated.c: a
 * lane for each where they are all short (walk.cl), the forest otherwise; launched ahead of the
 * host, with what `measure` wrote. */
enum { SEGMENTS_MOST = 700, SEGMENT_GUARD = 64, SEGMENT_ROOM = 1 << 18 };

typedef void segments_kernel(const void *data, long long byte, long long row_stride,
                             long long stride, long long n, long long seqs, long long flags,
                             const void *offsets, const void *ids, const void *first,
                             double parameter, long long origin, IN_PLACE, void *out,
                             long long out_byte, long long out_row_stride, long long out_stride,
                             const void *measured, long long slot, long long most,
                             long long may_walk, long long longest, long long each, long long jobs,
                             long long warps, long long exclusive, long long seeded,
                             const void *init);
typedef void middles_kernel(const void *data, long long byte, long long row_stride,
                            long long stride, long long n, long long seqs, long long flags,
                            const void *offsets, const void *ids, const void *first,
                            double parameter, long long origin, IN_PLACE, void *out,
                            long long out_byte, long long out_row_stride, long long out_stride,
                            const void *measured, long long slot, long long most,
                            long long may_walk, long long jobs, long long exclusive,
                            long long seeded, const void *init);
typedef void measure_kernel(const void *offsets, long long rows, long long least, long long *ids,
                            uint32_t *measured, long long slot, uint32_t *said);
static struct {
    segments_kernel *kernel; /* NULL: middles */
    middles_kernel *middles;
    measure_kernel *measure;
    char *data, *out;
    long long rows, offsets[SEGMENTS_MOST + 1], ids[SEGMENTS_MOST], slot, most, each, warps,
        exclusive;
    const void *init;
    uint32_t measured[MEASURED_SLOTS * MEASURED_SLOT], said[MEASURED_SLOT];
    double parameter;
    int scan;
} cuts;

/* (reduce has three parameters less; it does not look for them.) */
static void run_segments(void)
{
    cuts.kernel(cuts.data, 0, 0, 1, 0, cuts.rows, OFFSETS, cuts.offsets, NULL, NULL, cuts.parameter,
                0, ALSO, cuts.out, 0, 1, 1, cuts.measured, cuts.slot, cuts.most, 1, CHUNK - 1,
                cuts.each, (cuts.rows + cuts.each - 1) / cuts.each, cuts.warps, cuts.exclusive,
                cuts.init ? SEED_VALUE : SEED_NONE, cuts.init);
}
static void run_middles(void)
{
    cuts.middles(cuts.data, 0, 0, 1, 0, cuts.rows, OFFSETS, cuts.offsets, NULL, NULL,
                 cuts.parameter, 0, ALSO, cuts.out, 0, 1, 1, cuts.measured, cuts.slot, cuts.most, 1,
                 cuts.rows, cuts.exclusive, cuts.init ? SEED_VALUE : SEED_NONE, cuts.init);
}
static void run_measure(void)
{
    cuts.measure(cuts.offsets, cuts.rows, CHUNK, cuts.ids, cuts.measured, cuts.slot, cuts.said);
}

static long long length_of(int k, long long r)
{
    if (!cuts.kernel) /* of MIDDLE_MEAN and more at the mean */
        return r < 2         ? 2500 + r
               : r % 8 == 5  ? check_below(1024)
               : r % 40 == 9 ? 8180 + check_below(30)
                             : 1024 + check_below(2100);
    switch (k % 6) {
    case 0:
        return check_below(9);
    case 1:
        return check_below(41);
    case 2:
        return check_below(64); /* 32 of them need not fit the room */
    case 3:
        return check_below(30) ? check_below(20) : check_below(1200);
    case 4:
        return r % 200 < 130 ? check_below(12) : check_below(300);
    default:
        return check_below(2) ? 0 : check_below(66);
    }
}

/* What `measure` says, and what it leaves: the other slot empty, the long ones in the list. */
static void check_measured(const char *what, long long longs, long long nodes)
{
    uint32_t *const slot = cuts.measured + cuts.slot * MEASURED_SLOT,
                    *other = cuts.measured + (cuts.slot ^ 1) * MEASURED_SLOT;
    const long long *ends = (const long long *)(void *)cuts.said;
    check(!memcmp(slot, cuts.said, MEASURED_DONE * sizeof *slot),
          "%s: the host reads something else", what);
    check(slot[LONGS] == longs && slot[NODES] == nodes && !slot[BAD] && slot[DIFFERENT] == 1,
          "%s: %u long ones and %u nodes, not %lld and %lld", what, slot[LONGS], slot[NODES], longs,
          nodes);
    check(ends[FIRST_OFFSET] == cuts.offsets[0] && ends[LAST_OFFSET] == cuts.offsets[cuts.rows],
          "%s: ends", what);
    for (int i = 0; i < MEASURED_SLOT; i++)
        check(!other[i], "%s: the next slot's word %d", what, i);
    for (long long i = 0; i < longs; i++)
        check(cuts.offsets[cuts.ids[i] + 1] - cuts.offsets[cuts.ids[i]] >= CHUNK,
              "%s: no long one in the list", what);
}

static void segments_round(tally *ctx, const char *name, const tl_scalar *op, int k)
{
    static _Alignas(16) char room[SEGMENT_ROOM * 8 + SEGMENT_GUARD], got[SEGMENT_ROOM * 16],
        want[SEGMENT_ROOM * 16];
    static int64_t offsets[SEGMENTS_MOST + 1];
    const int64_t result = op->result_bytes, shift = k % 3 ? check_below(16) : 0;
    void (*const run)(void) = cuts.kernel ? run_segments : run_middles;
    const int64_t others = cuts.kernel ? CHUNK : MIDDLE_END; /* from here on other kernels' */
    long long longs = 0, nodes = 0;
    cuts.rows = 2 + check_below(cuts.kernel ? SEGMENTS_MOST - 2 : 80);
    cuts.offsets[0] = offsets[0] = check_below(5);
    for (long long r = 0; r < cuts.rows; r++) {
        long long n = r || !cuts.kernel ? length_of(k, r) : 3;
        if (cuts.offsets[r] + n > SEGMENT_ROOM) n = 0;
        cuts.offsets[r + 1] = offsets[r + 1] = cuts.offsets[r] + n;
        longs += n >= CHUNK, nodes += n / CHUNK;
    }
    const int64_t end = cuts.offsets[cuts.rows];
    cuts.data = room + (k % 5 == 4 ? shift : shift * op->elem_bytes % 16), cuts.out = got;
    check_fill(cuts.data, op->dtype, end, (tl_data)(k % TL_DATA_KINDS));
    char init[64];
    memcpy(init, room, sizeof init);
    cuts.init = cuts.scan && op->seedable && k % 4 == 1 ? init : NULL;
    cuts.exclusive = k % 7 > 3,
    cuts.each = k % 3 ? FOREST_SEQUENCES : 1 + check_below(FOREST_SEQUENCES);
    cuts.warps = 1 + check_below(8), cuts.most = end;
    const tally_view in = tally_segments(cuts.data, op->dtype, offsets, cuts.rows);
    const tally_view out = tally_segments(want, op->out, offsets, cuts.rows);
    const tally_scan_options how = {.exclusive = (int)cuts.exclusive, .init = cuts.init};
    memset(got, 0xa5, sizeof got), memset(want, 0xa5, sizeof want);
    if (!check_ok(ctx,
                  cuts.scan ? tally_scan(ctx, name, &in, &out, &how)
                            : tally_reduce(ctx, name, &in, want),
                  name))
        return;
    cuts.slot ^= 1;
    if (!check(fibers_launch(run_measure, 1 + k % 2, MEASURE_THREADS), "out of memory")) return;
    check_measured(name, longs, nodes);
    int launched = fibers_launch(run, 1 + k % 3, WARPS_THREADS);
    for (long long r = 0; r < cuts.rows; r++) { /* the longer ones */
        const int64_t at = cuts.scan ? offsets[r] : r, n = cuts.scan ? offsets[r + 1] - at : 1;
        if (offsets[r + 1] - offsets[r] >= others)
            memset(want + at * result, 0xa5, (size_t)(n * result));
    }
    check_same(got, want, sizeof got, 1,
               "%s segments %s %s, round %d: %lld of them, %lld a job, %lld warps",
               cuts.scan ? "scan of" : "reduce of", name, tally_dtype_name(op->dtype), k, cuts.rows,
               cuts.each, cuts.warps);
    /* where the host will refuse, or guessed wrongly, nothing is written */
    memset(got, 0xa5, sizeof got), memset(want, 0xa5, sizeof want);
    uint32_t *const slot = cuts.measured + cuts.slot * MEASURED_SLOT;
    if (k % 4 == 0) cuts.most = end - 1;
    if (k % 4 == 1) slot[BAD] = 1;
    if (k % 4 == 2) slot[DIFFERENT] = 0;
    if (k % 4 == 3 && !cuts.kernel) slot[LONGS] = 0;
    if (k % 4 == 3 && cuts.kernel) { /* as if they were MIDDLE_MEAN long */
        slot[LONGS] = 1, cuts.most = INT64_MAX / 4;
        ((long long *)(void *)slot)[LAST_OFFSET] = cuts.rows * MIDDLE_MEAN + offsets[0];
    }
    launched = launched && fibers_launch(run, 1, WARPS_THREADS);
    check(launched, "out of memory");
    check_same(got, want, sizeof got, 1, "segments %s, round %d: a launch that has no work", name,
               k);
}

static void try_segments(tally *ctx, const char *name, const tl_scalar *op, const tl_par *par,
                         int rounds, int is_scan, int middles, const char *what)
{
    const char *kernel = middles   ? is_scan ? "scan_middles" : "reduce_middles"
                         : is_scan ? "scan_segments"
                                   : "reduce_segments";
    void *object = load(ctx, op, is_scan ? "scan" : "reduce", kernel, what);
    void *first = object ? load(ctx, op, "reduce", "measure", what) : NULL;
    if (first) {
        emulator **at = dlsym(object, "emulated"), **too = dlsym(first, "emulated");
        void *const found = dlsym(object, kernel);
        cuts.kernel = middles ? NULL : (segments_kernel *)found,
        cuts.middles = (middles_kernel *)found;
        cuts.measure = (measure_kernel *)dlsym(first, "measure");
        cuts.scan = is_scan, cuts.parameter = par->value;
        memset(cuts.measured, 0, sizeof cuts.measured);
        if (check(at && too && found && cuts.measure, "%s: no kernel", what)) {
            *at = *too = &fibers;
            for (int k = 0; k < rounds; k++) segments_round(ctx, name, op, k);
        }
        dlclose(first);
    }
    if (object) dlclose(object);
}
