/* SPDX-License-Identifier: MIT
 * The byte string of a fragment. All numbers are little-endian:
 *
 *   "tallyfrg"  u32 version  u32 dtype  i64 start  i64 end  u32 nodes
 *   u32 bytes of the name  name
 *   [u64 rows]  [u64 ranges, each i64 start, i64 end]
 *   nodes, each u8 level, states
 *   u64 checksum of all bytes before it
 *
 * Version 2 has one range and does not list it. Version 3 has several ranges. Both are of one
 * sequence. Version 4 has any number of ranges, and any number of rows (sequences) but 1; each
 * node has a state for every row. Version 5 is like version 4, with any number of rows, and each
 * state is followed by the number of its elements, an i64; it is written if elements are left out
 * and the states do not count them (law/counter.h). A state without elements is all zero. Version
 * 6 is of exact operators and of sum:checked: like version 4, with the sums of every row before the
 * ranges (tl_exact_write, or an integer of 16 bytes), and no states.
 *
 * A state has its fields as a little-endian machine stores them; tally builds for no other. In
 * version 1 the states of var, std and their nan forms began with their number of elements
 * (from_version_1). The name of a user's operator is followed by @ and the hash of its text, 16
 * hexadecimal digits, because its states have no meaning for another text of that name. */
#include "parts.h"
#include "context/user.h"
#include "cpu/grid/grid.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "fragments and .npy input assume a little-endian machine"
#endif

enum {
    VERSION_ONE_RANGE = 2,
    VERSION_RANGES = 3,
    VERSION_ROWS = 4,
    VERSION_COUNTED = 5,
    VERSION = 6
};
enum { HASHED_MOST = TL_FRAGMENT_NAME + 17 };

static const char magic[8] = "tallyfrg";

typedef struct {
    char magic[8];
    uint32_t version, dtype;
    int64_t start, end;
    uint32_t nodes, name;
} header;

_Static_assert(sizeof(header) == 40, "the header has no padding");

/* FNV-1a of 64 bits. From version 4 on, where fragments may have gigabytes, each step takes 8
 * bytes (the last ones padded with zeros) and mixes the high bits into the low bits. */
static uint64_t checksum(const unsigned char *p, size_t n, uint32_t version)
{
    uint64_t h = 0xcbf29ce484222325u, word;
    if (version < VERSION_ROWS)
        for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3u;
    else
        for (size_t i = 0; i < n; i += sizeof word) {
            word = 0;
            memcpy(&word, p + i, n - i < sizeof word ? n - i : sizeof word);
            h = (h ^ word) * 0x100000001b3u;
            h ^= h >> 32;
        }

    return h;
}

/* ---- save ---- */

static void name_operator(const tally_fragment *f, char op[HASHED_MOST])
{
    const tl_user_instance *user = f->plan.op->user;
    if (user)
        snprintf(op, HASHED_MOST, "%s@%016lx", f->op, user->user->hash);
    else
        strcpy(op, f->op);
}

static unsigned char *put(unsigned char *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return to + bytes;
}

tally_status tally_fragment_save(const tally_fragment *f, void *buffer, size_t *bytes)
{
    if (!f) return tl_invalid(NULL, "fragment is NULL");
    if (!bytes) return tl_invalid(f->ctx, "bytes is NULL: must hold the buffer's size");

    char op[HASHED_MOST];
    name_operator(f, op);
    TL_TRY(tl_host_only(f->ctx, buffer, "buffer", "saved fragments"));
    tally_fragment_info info;
    tally_fragment_about(f, &info);

    if (info.nodes > UINT32_MAX)
        return tl_unsupported(
            f->ctx, "the fragment has %ld nodes: a byte string has at most 2^32 - 1", info.nodes);

    const int counted = tl_slabs_counted(&f->slabs);
    const uint32_t version = f->sum_bytes      ? VERSION
                             : counted         ? VERSION_COUNTED
                             : info.rows != 1  ? VERSION_ROWS
                             : info.ranges > 1 ? VERSION_RANGES
                                               : VERSION_ONE_RANGE;
    const uint64_t rows = (uint64_t)info.rows, ranges = (uint64_t)info.ranges;
    const size_t states = (size_t)rows *
                          (tl_fragment_nodes(f)->state_bytes + (counted ? sizeof(int64_t) : 0)),
                 name = strlen(op), capacity = *bytes,
                 list = version < VERSION_RANGES
                            ? 0
                            : sizeof ranges + (size_t)ranges * 2 * sizeof(int64_t),
                 sums = (size_t)f->sums * f->sum_bytes,
                 need = sizeof(header) + name + (version < VERSION_ROWS ? 0 : sizeof rows) + sums +
                        list + (size_t)info.nodes * (1 + states) + sizeof(uint64_t);
    *bytes = need;
    if (!buffer) return TALLY_OK;

    if (capacity < need)
        return tl_invalid(f->ctx, "bytes is %zu: this fragment needs %zu", capacity, need);
    header h = {.version = version,
                .dtype = (uint32_t)f->dtype,
                .nodes = (uint32_t)info.nodes,
                .name = (uint32_t)name};
    tally_fragment_range(f, &h.start, &h.end);
    memcpy(h.magic, magic, sizeof magic);
    unsigned char *to = put(put(buffer, &h, sizeof h), op, name);
    if (version >= VERSION_ROWS) to = put(to, &rows, sizeof rows);
    for (int64_t k = 0; f->exact && k < f->sums; k++, to += TL_EXACT_BYTES)
        tl_exact_write(&f->exact[k], to);
    if (f->totals) to = put(to, f->totals, sums);
    if (version >= VERSION_RANGES) to = put(to, &ranges, sizeof ranges);
    for (int64_t r = 0; r < info.ranges && version >= VERSION_RANGES; r++)
        to = put(put(to, &f->slabs.slab[r]->start, sizeof(int64_t)), &f->slabs.slab[r]->end,
                 sizeof(int64_t));

    for (int64_t r = 0; r < info.ranges; r++) {
        tl_slab *const slab = f->slabs.slab[r];
        for (int n = 0; n < slab->count; n++)
            to = put(put(to, &slab->level[n], 1), tl_slab_state(slab, n, 0), states);
    }

    const uint64_t sum = checksum(buffer, need - sizeof sum, version);
    memcpy(to, &sum, sizeof sum);
    return TALLY_OK;
}

/* ---- load ---- */

/* Whether a state of version 1 begins with its number of elements, an f64, which later versions
 * do not store. */
static int counted_in_1(const tl_scalar *op)
{
    return !op->user && (!strcmp(op->core, "var") || !strcmp(op->core, "nanvar"));
}

/* Reads a node's state of version 1 and checks its number of elements: 2^level, or in a nan form
 * the number that the state still has. */
static int from_version_1(unsigned char *s, const unsigned char *bytes, const tl_scalar *op,
                          int level)
{
    assert(level >= 0 && level < TL_MAX_LEVELS);
    double n;
    int64_t kept = (int64_t)1 << level;
    memcpy(&n, bytes, sizeof n);
    memcpy(s, bytes + sizeof n, op->state_bytes);
    if (op->masked) memcpy(&kept, s + op->state_bytes - sizeof kept, sizeof kept);
    return n == (double)kept && kept >= 0 && kept <= (int64_t)1 << level;
}

/* The unread part of a byte string. */
typedef struct {
    const unsigned char *at, *end;
    const tl_scalar *op;
    int64_t rows;  /* states of each node */
    int version_1; /* each state begins with its number of elements, an f64 */
    int counted;   /* each state ends with its number of elements, an i64 */
} reader;

/* Reads `bytes` bytes. Returns 0 if there are fewer. */
static int take(reader *r, void *to, size_t bytes)
{
    if ((size_t)(r->end - r->at) < bytes) return 0;
    memcpy(to, r->at, bytes);
    r->at += bytes;
    return 1;
}

/* Copies a node's counted states. Returns 0 if a number of elements is not in 0 .. 2^level, or is 0
 * where another byte is not. */
static int read_counted(unsigned char *to, const unsigned char *from, int64_t rows,
                        const tl_scalar *op, int level)
{
    assert(rows >= 0);
    assert(level >= 0 && level < TL_MAX_LEVELS);
    tl_state s, none;
    memset(&none, 0, sizeof none);
    const size_t bytes = op->state_bytes + sizeof(int64_t);

    for (int64_t row = 0; row < rows; row++, to += bytes, from += bytes) {
        memset(&s, 0, sizeof s);
        memcpy(&s, from, bytes);
        const int64_t n = tl_kept(op, &s);
        if (n < 0 || n > (int64_t)1 << level || (!n && memcmp(&s, &none, sizeof s))) return 0;
        memcpy(to, from, bytes);
    }

    return 1;
}

/* Reads the nodes of the range [start, end), which must be its maximal aligned blocks. Returns 1; 0
 * if they are not; -1 if a number of elements at *level is wrong; -2 without memory. */
static int read_range(reader *r, int64_t start, int64_t end, tl_slab **slab, int *level)
{
    assert(r->op && r->at <= r->end);
    const tl_scalar *const op = r->op;
    const int64_t rows = r->rows;
    const size_t bytes = op->state_bytes + (r->counted ? sizeof(int64_t) : 0),
                 most = bytes ? (size_t)(r->end - r->at) / bytes : 1, states = (size_t)rows * bytes,
                 step = 1 + states + (r->version_1 ? sizeof(double) : 0);
    const unsigned char *p = r->at;
    *slab = NULL;
    if (start < end && (uint64_t)rows > most) return 0;

    /* checks everything before memory is allocated */
    for (int64_t at = start; at < end; p += step) {
        if ((size_t)(r->end - p) < step || *p != tl_slab_level(at, end)) return 0;
        at += (int64_t)1 << *p;
    }

    tl_slab *const s = *slab = tl_slab_new(start, end, rows, op, r->counted);
    if (!s) return -2;

    for (int n = 0; n < s->count; n++, r->at += step) {
        *level = s->level[n];
        unsigned char *const to = tl_slab_state(s, n, 0);
        if (!r->counted && !r->version_1)
            memcpy(to, r->at + 1, states);
        else if (r->counted ? !read_counted(to, r->at + 1, rows, op, *level)
                            : !from_version_1(to, r->at + 1, op, *level))
            return -1;
    }
    return 1;
}

/* Finds the list of ranges; NULL if it is missing or not in order. A single range is in the
 * header. */
static const unsigned char *find_ranges(reader *r, const header *h, uint64_t *ranges)
{
    /* h->start is followed by h->end */
    const unsigned char *list = (const unsigned char *)&h->start;
    int64_t range[2], last = -1;

    *ranges = h->end > h->start;
    if (h->version < VERSION_RANGES) return list;
    if (!take(r, ranges, sizeof *ranges)) return NULL;
    list = r->at;
    if ((*ranges < 2 && h->version < VERSION_ROWS) ||
        *ranges > (uint64_t)(r->end - list) / sizeof range)
        return NULL;

    for (uint64_t i = 0; i < *ranges; i++) {
        memcpy(range, list + i * sizeof range, sizeof range);
        if (range[0] <= last || range[1] <= range[0] || (!i && range[0] != h->start)) return NULL;
        last = range[1];
    }

    r->at = list + *ranges * sizeof range;
    if (!*ranges) return h->end == h->start ? list : NULL;
    return last == h->end ? list : NULL;
}

static tally_status read_sums(tally_fragment *f, reader *r, const header *h)
{
    const size_t bytes = f->sum_bytes;
    int good = (h->version == VERSION) == (bytes > 0) &&
               (!bytes || (size_t)(r->end - r->at) / bytes >= (size_t)f->sums);
    for (int64_t k = 0; f->exact && k < f->sums && good; k++, r->at += bytes)
        good = tl_exact_read(&f->exact[k], r->at, h->end - h->start);
    if (f->totals && good) good = take(r, f->totals, (size_t)f->sums * bytes);
    return good ? TALLY_OK : tl_bad_data(f->ctx, "fragment: its exact sums are damaged or missing");
}

/* Reads the nodes of all ranges into f, which is empty. */
static tally_status read_nodes(tally_fragment *f, reader *r, const header *h)
{
    assert(f->slabs.count == 0);
    uint64_t ranges;
    int64_t range[2], nodes = 0;
    int level = 0, good = 1;
    tl_slab *s;
    const unsigned char *list = find_ranges(r, h, &ranges);
    if (!list) return tl_bad_data(f->ctx, "fragment: its ranges are not in order");

    for (uint64_t i = 0; i < ranges && good > 0; i++) {
        memcpy(range, list + i * sizeof range, sizeof range);
        good = read_range(r, range[0], range[1], &s, &level);
        if (good > 0) nodes += s->count;

        if (good < 0)
            free(s);
        else if (good && !tl_slabs_append(&f->slabs, s))
            good = -2;
    }

    if (good == -2) return tl_no_memory(f->ctx, (size_t)f->rows * sizeof(tl_state), "a fragment");
    if (good < 0)
        return tl_bad_data(
            f->ctx, "fragment: a node of 2^%d elements has another number of elements", level);
    if (!good || nodes != h->nodes || r->at != r->end)
        return tl_bad_data(f->ctx, "fragment: its nodes do not cover [%ld, %ld)", h->start, h->end);
    return TALLY_OK;
}

/* Reads the header of `bytes` bytes at p, and checks them all against the checksum. */
static tally_status read_header(tally *ctx, const unsigned char *p, size_t bytes, header *h)
{
    uint64_t sum;
    if (!p && bytes) return tl_invalid(ctx, "buffer is NULL: must point to %zu bytes", bytes);
    if (bytes < sizeof *h + sizeof sum)
        return tl_bad_data(ctx, "fragment: %zu bytes is too short", bytes);
    memcpy(h, p, sizeof *h);
    memcpy(&sum, p + bytes - sizeof sum, sizeof sum);
    if (memcmp(h->magic, magic, sizeof magic))
        return tl_bad_data(ctx, "fragment: these bytes are not a fragment");
    if (h->version < 1 || h->version > VERSION)
        return tl_bad_data(ctx, "fragment: version %u, this library reads 1 to %d", h->version,
                           VERSION);
    if (sum != checksum(p, bytes - sizeof sum, h->version))
        return tl_bad_data(ctx, "fragment: truncated or altered (checksum)");
    if (h->name == 0 || h->name >= HASHED_MOST || h->start < 0 || h->end < h->start ||
        h->end >> 62 || bytes < sizeof *h + h->name + sizeof sum ||
        memchr(p + sizeof *h, 0, h->name))
        return tl_bad_data(ctx, "fragment: its header is out of range");

    return TALLY_OK;
}

/* A user's operator has the hash of its text beside its name, and must be defined here. */
static tally_status read_operator(tally *ctx, const unsigned char *p, size_t length,
                                  char op[HASHED_MOST], const tl_user **user)
{
    char hash[20] = "";
    memcpy(op, p, length);
    op[length] = 0;
    char *at = strchr(op, '@');
    if (at) *at = 0;

    *user = tl_user_find(ctx, op, strcspn(op, ":"));
    if (at && !*user)
        return tl_bad_data(ctx, "fragment: its operator '%s' is not defined here (tally_define)",
                           op);
    if (*user) snprintf(hash, sizeof hash, "%016lx", (*user)->hash);
    if (*user && (!at || strcmp(hash, at + 1)))
        return tl_bad_data(ctx, "fragment: its operator '%s' had another text than %.200s", op,
                           (*user)->where);
    return TALLY_OK;
}

/* Reads the number of sequences, which is 1 in versions that do not store it. */
static tally_status read_rows(tally *ctx, const header *h, reader *r)
{
    uint64_t rows = 1;
    if (h->version >= VERSION_ROWS &&
        (!take(r, &rows, sizeof rows) || (rows == 1 && h->version == VERSION_ROWS) ||
         rows > TL_GRID_MOST))
        return tl_bad_data(ctx, "fragment: its number of sequences is out of range");

    r->rows = (int64_t)rows;
    return TALLY_OK;
}

tally_status tally_fragment_load(tally *ctx, const void *buffer, size_t bytes,
                                 tally_fragment **fragment)
{
    if (!ctx) return tl_no_context();
    if (!fragment)
        return tl_invalid(ctx, "fragment is NULL: must point to where the fragment goes");
    *fragment = NULL;
    header h;
    char op[HASHED_MOST];
    const tl_user *user;
    const unsigned char *const p = buffer;
    TL_TRY(tl_host_only(ctx, buffer, "buffer", "saved fragments"));
    TL_TRY(read_header(ctx, p, bytes, &h));
    TL_TRY(read_operator(ctx, p + sizeof h, h.name, op, &user));

    reader r = {.at = p + sizeof h + h.name,
                .end = p + bytes - sizeof(uint64_t), /* the checksum */
                .counted = h.version == VERSION_COUNTED};
    TL_TRY(read_rows(ctx, &h, &r));
    if (h.version == VERSION && r.rows > (r.end - r.at) / (int64_t)sizeof(tl_total))
        return tl_bad_data(ctx, "fragment: its number of sequences is out of range");
    tally_status status = tl_fragment_new(ctx, op, (tally_dtype)h.dtype, h.start, r.rows, fragment);

    /* an operator or a type that does not exist: the bytes are bad. A user's may fail to compile */
    if (status) return status == TALLY_NO_MEMORY || user ? status : TALLY_BAD_DATA;

    r.op = tl_fragment_nodes(*fragment);
    if ((*fragment)->sum_bytes) r.rows = 1; /* the sums are apart; nodes have no states */
    r.version_1 = h.version == 1 && counted_in_1((*fragment)->plan.op);
    status = read_sums(*fragment, &r, &h);
    if (!status) status = read_nodes(*fragment, &r, &h);
    if (status) {
        tally_fragment_free(*fragment);
        *fragment = NULL;
    }
    return status;
}
