/* SPDX-License-Identifier: MIT
 * libFuzzer target: any bytes as a saved fragment, once as they are and once with their checksum mended, so that what
 * comes after it is reached. A fragment that is taken saves as the same bytes (of version 1: as some), joins its
 * neighbours, and has a result where it starts at 0. */
#include "api/fragment.c"
#undef NDEBUG
#include <assert.h>

static tally *ctx;

static void use(tally_fragment *f, const unsigned char *data, size_t bytes)
{
    static unsigned char saved[40 + HASHED_MOST + TL_MAX_NODES * NODE_MOST + 8];
    unsigned char out[64];
    int64_t start = -1, end = -1, from, to;
    size_t length = 0;
    tally_fragment *other;
    tally_fragment_range(f, &start, &end);
    assert(0 <= start && start <= end && end < (int64_t)1 << 62);
    uint32_t version;
    memcpy(&version, data + 8, sizeof version);
    assert(!tally_fragment_save(f, NULL, &length) && length <= sizeof saved);
    if (version < VERSION) bytes = length;
    assert(length == bytes);
    if (length) length--;
    assert(tally_fragment_save(f, saved, &length) == TALLY_INVALID && length == bytes);
    assert(!tally_fragment_save(f, saved, &length) && (version < VERSION || !memcmp(saved, data, bytes)));
    tally_status status = tally_fragment_result(f, out);
    assert(start ? status == TALLY_INVALID : status == TALLY_OK);
    const tally_status own = tally_fragment_merge(f, f); /* with itself, if it is empty */
    assert(start == end ? own == TALLY_OK : own == TALLY_INVALID);
    double x[3] = {1, 2, 3}; /* of any dtype: 24 bytes */
    if (!tally_fragment_make(ctx, f->op, f->dtype, x, end < (int64_t)1 << 61 ? end : 0, 3, &other)) {
        status = tally_fragment_merge(f, other);
        assert(status == (end < (int64_t)1 << 61 || end == 0 ? TALLY_OK : TALLY_INVALID));
        tally_fragment_range(f, &from, &to);
        assert(from == start && to == (status ? end : end + 3));
        length = sizeof saved;
        assert(!tally_fragment_save(f, saved, &length));
        tally_fragment_free(other);
        assert(!tally_fragment_load(ctx, saved, length, &other));
        tally_fragment_free(other);
    }
}

static void load(const unsigned char *data, size_t bytes)
{
    tally_fragment *f = (tally_fragment *)(uintptr_t)1;
    tally_status status = tally_fragment_load(ctx, data, bytes, &f);
    assert(status ? !f && (status == TALLY_BAD_DATA || status == TALLY_NO_MEMORY) && *tally_error(ctx) : f != NULL);
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
        sum = checksum(mended, bytes - sizeof sum);
        memcpy(mended + bytes - sizeof sum, &sum, sizeof sum);
        load(mended, bytes);
    }
    free(mended);
    return 0;
}
