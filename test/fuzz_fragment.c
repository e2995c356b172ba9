/* SPDX-License-Identifier: MIT
 * libFuzzer target: any bytes as a saved fragment, once as they are and once with their checksum
 * mended, so that what comes after it is reached. A fragment that is taken saves as the same
 * bytes (of version 1: as some), joins what comes after it and before it, and has a result where
 * nothing from 0 on is missing. */
#include "api/parts/fragment_bytes.c"
#undef NDEBUG
#include <assert.h>

static tally *ctx;

static void use(tally_fragment *f, const unsigned char *data, size_t bytes)
{
    int64_t start = -1, end = -1, from, to;
    size_t length = 0, again;
    tally_fragment *other;
    tally_fragment_info info;
    tally_fragment_range(f, &start, &end);
    assert(0 <= start && start <= end && end < (int64_t)1 << 62);
    uint32_t version;
    memcpy(&version, data + 8, sizeof version);
    assert(!tally_fragment_save(f, NULL, &length));
    tally_fragment_about(f, &info);
    /* an empty fragment counts no elements, so it is saved as version 4, whatever it came as */
    const int same = version >= VERSION_ONE_RANGE && (version < 5 || info.ranges > 0);
    assert(!same || length == bytes);
    const size_t rows = (size_t)info.rows, most = 1 << 10,
                 /* more than a merge can add */
        capacity = length + (rows < most ? rows : 1) * 4 * 130 * sizeof(tl_state);
    unsigned char *saved = malloc(capacity), *out = malloc(rows < most ? rows * 64 + 1 : 1);
    if (!saved || !out) {
        free(saved);
        free(out);
        return;
    }
    again = length - 1;
    assert(tally_fragment_save(f, saved, &again) == TALLY_INVALID && again == length);
    assert(!tally_fragment_save(f, saved, &again) && (!same || !memcmp(saved, data, bytes)));
    const int whole = info.ranges == 1 ? start == 0 : end == 0;
    if (rows < most) assert(tally_fragment_result(f, out) == (whole ? TALLY_OK : TALLY_INVALID));
    free(out);
    const tally_status with_itself = tally_fragment_merge(f, f); /* with itself, if it is empty */
    assert(start == end ? with_itself == TALLY_OK : with_itself == TALLY_INVALID);
    double x[3] = {1, 2, 3}; /* of any dtype: 24 bytes */
    const int fits = end < (int64_t)1 << 61;
    tally_view next = tally_flat(x, f->dtype, 3); /* of every sequence */
    next.rows = info.rows;
    next.row_stride = 0;
    if (rows < most && !tally_fragment_of_view(ctx, f->op, &next, fits ? end : start, &other)) {
        const tally_status status = tally_fragment_merge(f, other);
        assert(status == (fits || start == end ? TALLY_OK : TALLY_INVALID) ||
               status == TALLY_NO_MEMORY);
        tally_fragment_range(f, &from, &to);
        assert(status || from == start);
        again = capacity;
        assert(!tally_fragment_save(f, saved, &again));
        tally_fragment_free(other);
        assert(!tally_fragment_load(ctx, saved, again, &other));
        tally_fragment_free(other);
    }
    free(saved);
}

static void load(const unsigned char *data, size_t bytes)
{
    tally_fragment *f = (tally_fragment *)(uintptr_t)1;
    tally_status status = tally_fragment_load(ctx, data, bytes, &f);
    assert(status
               ? !f && (status == TALLY_BAD_DATA || status == TALLY_NO_MEMORY) && *tally_error(ctx)
               : f != NULL);
    if (f) use(f, data, bytes);
    tally_fragment_free(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint64_t sum;
    unsigned char *mended = malloc(bytes + 1);
    if ((!ctx && tally_open(&ctx, "cpu,threads=1")) || !mended) return free(mended), 0;
    load(data, bytes);
    memcpy(mended, data, bytes);
    if (bytes >= sizeof sum) {
        uint32_t version = 0;
        if (bytes >= 12) memcpy(&version, mended + 8, sizeof version);
        sum = checksum(mended, bytes - sizeof sum, version);
        memcpy(mended + bytes - sizeof sum, &sum, sizeof sum);
        load(mended, bytes);
    }
    free(mended);
    return 0;
}
