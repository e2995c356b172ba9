/* SPDX-License-Identifier: MIT
 * Fragments: a slab's nodes (counter.h) with the operator they belong to, and their byte string:
 *
 *   "tallyfrg"  u32 version  u32 dtype  u64 start  u64 end  u32 count
 *   u32 bytes of the name  name  nodes (level u8, state)  u64 FNV-1a of all bytes before
 *
 * All of it is little-endian. A state is its fields as a little-endian machine keeps them in memory, and tally builds
 * for no other. In version 1 the states of var, std and their nan forms began with the number of elements
 * (from_version_1). The
 * name of an operator that a user defined is followed by @ and the hash of its text, 16 hexadecimal digits: its states
 * mean nothing to another text of that name. */
#include "context/device.h"
#include "law/fp.h"
#include "context/user.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "fragments and .npy input assume a little-endian machine"
#endif

enum { VERSION = 2, NAME_MOST = 40, HASHED_MOST = NAME_MOST + 17, NODE_MOST = 1 + (int)sizeof(tl_state) };

struct tally_fragment {
    tally *ctx;
    tl_plan plan;
    char op[NAME_MOST];
    tally_dtype dtype;
    tl_counter nodes;
};

static tally_status make(tally *ctx, const char *op, tally_dtype dtype, int64_t start, tally_fragment **fragment)
{
    if (!ctx) return tl_fail(NULL, TALLY_INVALID, "ctx is NULL: open one with tally_open");
    if (!fragment) return tl_fail(ctx, TALLY_INVALID, "fragment is NULL: must point to where the fragment goes");
    *fragment = NULL;
    tl_plan plan;
    tally_status status = tl_plan_of_host(ctx, op, dtype, &plan);
    if (status) return status;
    if (plan.exact)
        return tl_fail(ctx, TALLY_UNSUPPORTED,
                       "op is '%.60s': a tally_exact (tally_exact_add) is what a fragment would be", op);
    if (strlen(op) >= NAME_MOST)
        return tl_fail(ctx, TALLY_INVALID, "op is '%.60s': a fragment's operator has at most %d characters", op,
                       NAME_MOST - 1);
    tally_fragment *f = malloc(sizeof *f);
    if (!f) return tl_no_memory(ctx, sizeof *f, "a fragment");
    f->ctx = ctx;
    f->plan = plan;
    f->dtype = dtype;
    strcpy(f->op, op);
    tl_counter_init(&f->nodes, start);
    *fragment = f;
    return TALLY_OK;
}

tally_status tally_fragment_make(tally *ctx, const char *op, tally_dtype dtype, const void *x, int64_t start, int64_t n,
                                 tally_fragment **fragment)
{
    if (fragment) *fragment = NULL;
    if (start < 0 || n < 0 || start >> 61 || n >> 61)
        return tl_fail(ctx, TALLY_INVALID, "start %lld and n %lld: must be 0..2^61 - 1", (long long)start,
                       (long long)n);
    if (n > 0 && !x) return tl_fail(ctx, TALLY_INVALID, "x is NULL: must point to %lld elements", (long long)n);
    tally_status status = make(ctx, op, dtype, start, fragment);
    if (status) return status;
    tally_fragment *f = *fragment;
    int64_t bytes;
    if (__builtin_mul_overflow(n, (int64_t)f->plan.op->elem_bytes, &bytes)) {
        tally_fragment_free(f);
        *fragment = NULL;
        return tl_fail(ctx, TALLY_INVALID, "n is %lld: its elements are more bytes than 2^63", (long long)n);
    }
    tl_fp fp = tl_fp_enter();
    status = ctx->device->calls->slab(ctx->device, ctx, &f->plan, x, n, &f->nodes);
    tl_fp_leave(fp);
    if (status) {
        tally_fragment_free(f);
        *fragment = NULL;
    }
    return status;
}

tally_status tally_fragment_merge(tally_fragment *left, const tally_fragment *right)
{
    if (!left || !right) return tl_fail(NULL, TALLY_INVALID, "left or right is NULL: must be fragments");
    if (left->dtype != right->dtype || !tl_user_same(left->plan.op, right->plan.op) ||
        left->plan.par.value != right->plan.par.value)
        return tl_fail(left->ctx, TALLY_INVALID, "left is %s of %s and right is %s of %s: must be the same", left->op,
                       tally_dtype_name(left->dtype), right->op, tally_dtype_name(right->dtype));
    if (left->nodes.end != right->nodes.start)
        return tl_fail(left->ctx, TALLY_INVALID, "left ends at %lld and right starts at %lld: must be neighbours",
                       (long long)left->nodes.end, (long long)right->nodes.start);
    tl_fp fp = tl_fp_enter();
    for (int j = 0; j < right->nodes.count; j++)
        tl_counter_push(&left->nodes, left->plan.op, right->nodes.level[j], &right->nodes.node[j]);
    tl_fp_leave(fp);
    return TALLY_OK;
}

tally_status tally_fragment_result(const tally_fragment *f, void *out)
{
    if (!f) return tl_fail(NULL, TALLY_INVALID, "fragment is NULL");
    if (!out) return tl_fail(f->ctx, TALLY_INVALID, "out is NULL: must have room for one result");
    if (f->nodes.start != 0)
        return tl_fail(f->ctx, TALLY_INVALID, "the fragment starts at %lld: only one that starts at 0 has a result",
                       (long long)f->nodes.start);
    tl_state s;
    tl_fp fp = tl_fp_enter();
    if (tl_counter_fold(&f->nodes, f->plan.op, NULL, &s))
        f->plan.op->lower(&s, f->nodes.end, 0, f->plan.par, out);
    else
        f->plan.op->empty(f->plan.par, out);
    tl_fp_leave(fp);
    return TALLY_OK;
}

void tally_fragment_range(const tally_fragment *f, int64_t *start, int64_t *end)
{
    if (start) *start = f ? f->nodes.start : 0;
    if (end) *end = f ? f->nodes.end : 0;
}

void tally_fragment_free(tally_fragment *f) { free(f); }

/* ---- bytes ---- */

static const char magic[8] = "tallyfrg";

typedef struct {
    char magic[8];
    uint32_t version, dtype;
    int64_t start, end;
    uint32_t count, name;
} header;
_Static_assert(sizeof(header) == 40, "the header has no padding");

static uint64_t checksum(const unsigned char *p, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a, 64 bits */
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

tally_status tally_fragment_save(const tally_fragment *f, void *buffer, size_t *bytes)
{
    if (!f) return tl_fail(NULL, TALLY_INVALID, "fragment is NULL");
    if (!bytes) return tl_fail(f->ctx, TALLY_INVALID, "bytes is NULL: must hold the buffer's room");
    char op[HASHED_MOST];
    const tl_user_instance *user = f->plan.op->user;
    if (user)
        snprintf(op, sizeof op, "%s@%016llx", f->op, (unsigned long long)user->user->hash);
    else
        strcpy(op, f->op);
    size_t state = f->plan.op->state_bytes, name = strlen(op), room = *bytes;
    size_t need = sizeof(header) + name + (size_t)f->nodes.count * (1 + state) + sizeof(uint64_t);
    *bytes = need;
    if (!buffer) return TALLY_OK;
    if (room < need) return tl_fail(f->ctx, TALLY_INVALID, "bytes is %zu: this fragment needs %zu", room, need);
    header h = {{0},           VERSION, (uint32_t)f->dtype, f->nodes.start, f->nodes.end, (uint32_t)f->nodes.count,
                (uint32_t)name};
    memcpy(h.magic, magic, sizeof magic);
    unsigned char *to = buffer;
    memcpy(to, &h, sizeof h);
    memcpy(to += sizeof h, op, name);
    to += name;
    for (int j = 0; j < f->nodes.count; j++) {
        *to++ = f->nodes.level[j];
        memcpy(to, &f->nodes.node[j], state);
        to += state;
    }
    uint64_t sum = checksum(buffer, need - sizeof sum);
    memcpy(to, &sum, sizeof sum);
    return TALLY_OK;
}

/* Does a state of version 1 begin with its number of elements, an f64, which is no field any more? */
static int counted_in_1(const tl_scalar *op)
{
    return !op->user && (!strcmp(op->core, "var") || !strcmp(op->core, "nanvar"));
}

/* The state of a node of 2^level elements out of version 1, without its number of elements, which must be what it has:
 * those of the node, or in a nan form those that are not NaN, a number that is still there. */
static int from_version_1(tl_state *s, const unsigned char *bytes, const tl_scalar *op, int level)
{
    double n;
    int64_t kept = (int64_t)1 << level;
    memcpy(&n, bytes, sizeof n);
    memcpy(s, bytes + sizeof n, op->state_bytes);
    if (op->masked) memcpy(&kept, s->bytes + op->state_bytes - sizeof kept, sizeof kept);
    return n == (double)kept && kept >= 0 && kept <= (int64_t)1 << level;
}

/* The nodes must be exactly the maximal aligned nodes of [start, end). */
static int well_formed(const unsigned char *level, size_t step, const header *h)
{
    int64_t at = h->start;
    for (uint32_t j = 0; j < h->count; j++, level += step) {
        if (at >= h->end || *level != tl_slab_level(at, h->end)) return 0;
        at += (int64_t)1 << *level;
    }
    return at == h->end;
}

tally_status tally_fragment_load(tally *ctx, const void *buffer, size_t bytes, tally_fragment **fragment)
{
    if (!ctx) return tl_fail(NULL, TALLY_INVALID, "ctx is NULL: open one with tally_open");
    if (!fragment) return tl_fail(ctx, TALLY_INVALID, "fragment is NULL: must point to where the fragment goes");
    *fragment = NULL;
    header h;
    char op[HASHED_MOST], hash[20] = "";
    const unsigned char *p = buffer;
    uint64_t sum;
    if (!p || bytes < sizeof h + sizeof sum)
        return tl_fail(ctx, TALLY_BAD_DATA, "fragment: %zu bytes is too short", bytes);
    memcpy(&h, p, sizeof h);
    memcpy(&sum, p + bytes - sizeof sum, sizeof sum);
    if (memcmp(h.magic, magic, sizeof magic))
        return tl_fail(ctx, TALLY_BAD_DATA, "fragment: these bytes are not a fragment");
    if (h.version < 1 || h.version > VERSION)
        return tl_fail(ctx, TALLY_BAD_DATA, "fragment: version %u, this library reads 1 to %d", h.version, VERSION);
    if (sum != checksum(p, bytes - sizeof sum))
        return tl_fail(ctx, TALLY_BAD_DATA, "fragment: truncated or altered (checksum)");
    if (h.name == 0 || h.name >= HASHED_MOST || h.count > TL_MAX_NODES || h.start < 0 || h.end < h.start ||
        h.end >> 62 || bytes < sizeof h + h.name + sizeof sum || memchr(p + sizeof h, 0, h.name))
        return tl_fail(ctx, TALLY_BAD_DATA, "fragment: its header is out of range");
    memcpy(op, p + sizeof h, h.name);
    op[h.name] = 0;
    char *at = strchr(op, '@');
    if (at) *at = 0;
    const tl_user *user = tl_user_find(ctx, op, strcspn(op, ":"));
    if (user) snprintf(hash, sizeof hash, "%016llx", (unsigned long long)user->hash);
    if (at && !user)
        return tl_fail(ctx, TALLY_BAD_DATA, "fragment: its operator '%s' is not defined here (tally_define)", op);
    if (user && (!at || strcmp(hash, at + 1)))
        return tl_fail(ctx, TALLY_BAD_DATA, "fragment: its operator '%s' had another text than %.200s", op,
                       user->where);
    tally_status status = make(ctx, op, (tally_dtype)h.dtype, h.start, fragment);
    if (status) return status == TALLY_NO_MEMORY || user ? status : TALLY_BAD_DATA;
    tally_fragment *f = *fragment;
    const tl_scalar *s = f->plan.op;
    const int counted = h.version == 1 && counted_in_1(s);
    size_t state = s->state_bytes, step = 1 + state + (counted ? sizeof(double) : 0);
    const unsigned char *nodes = p + sizeof h + h.name;
    if (bytes != sizeof h + h.name + h.count * step + sizeof sum || !well_formed(nodes, step, &h)) {
        tally_fragment_free(f);
        *fragment = NULL;
        return tl_fail(ctx, TALLY_BAD_DATA, "fragment: its nodes do not cover [%lld, %lld)", (long long)h.start,
                       (long long)h.end);
    }
    for (uint32_t j = 0; j < h.count; j++, nodes += step) {
        f->nodes.level[j] = *nodes;
        if (!counted) {
            memcpy(&f->nodes.node[j], nodes + 1, state);
        } else if (!from_version_1(&f->nodes.node[j], nodes + 1, s, *nodes)) {
            tally_fragment_free(f);
            *fragment = NULL;
            return tl_fail(ctx, TALLY_BAD_DATA, "fragment: a node of 2^%d elements says another number of them",
                           *nodes);
        }
    }
    f->nodes.count = (int)h.count;
    f->nodes.end = h.end;
    return TALLY_OK;
}
