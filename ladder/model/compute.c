/* SPDX-License-Identifier: MIT
 * One operation on all lanes of a warp. Inactive lanes compute too, and their results are not used;
 * only MOVE, CONVERT of an arm of ?: and memory use the mask. Integers have 64 bits here and are
 * reduced to their kind after each operation. f32 is computed in double and rounded, which
 * gives the bits of f32 arithmetic (Figueroa 1995: 53 >= 2 * 24 + 2). */
#include "code.h"
#include <string.h>

/* Compiles the loops below for AVX2 too, which computes 4 lanes in an instruction. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

static int is_real(int k) { return k >= KIND_F32; }

WIDE static void cut(lane *a, int n, int k)
{
    if (k == KIND_I8)
        for (int l = 0; l < n; l++) a[l].i = (int8_t)(uint8_t)a[l].i;
    else if (k == KIND_U8)
        for (int l = 0; l < n; l++) a[l].i = (int64_t)(uint8_t)a[l].i;
    else if (k == KIND_I16)
        for (int l = 0; l < n; l++) a[l].i = (int16_t)(uint16_t)a[l].i;
    else if (k == KIND_U16)
        for (int l = 0; l < n; l++) a[l].i = (int64_t)(uint16_t)a[l].i;
    else if (k == KIND_I32)
        for (int l = 0; l < n; l++) a[l].i = (int32_t)(uint32_t)a[l].i;
    else if (k == KIND_U32)
        for (int l = 0; l < n; l++) a[l].i = (int64_t)(uint32_t)a[l].i;
    else if (k == KIND_F32)
        for (int l = 0; l < n; l++) a[l].d = (float)a[l].d;
}

#define EACH(expression) \
    for (int l = 0; l < n; l++) { \
        const uint64_t x = (uint64_t)b[l].i, y = (uint64_t)c[l].i; \
        a[l].i = (int64_t)(expression); \
    } \
    break

/* Quotients and remainders. By zero, and for the one overflow: a lane that is off may hold
 * anything. 32-bit division takes a third of the time. */
WIDE static void divide(int op, int k, lane *a, const lane *b, const lane *c, int n)
{
    const int remainder = op == DO_MOD;
    switch (k) {
    case KIND_I32:
        if (remainder) {
            EACH((int32_t)y + 1u <= 1u ? 0 : (uint64_t)(int64_t)((int32_t)x % (int32_t)y));
        }
        EACH((int32_t)y + 1u <= 1u ? 0 - (y & x) : (uint64_t)(int64_t)((int32_t)x / (int32_t)y));
    case KIND_U64:
        if (remainder) {
            EACH(y ? x % y : 0);
        }
        EACH(y ? x / y : 0);
    default:
        if (remainder) {
            EACH(y + 1 <= 1 ? 0 : (uint64_t)((int64_t)x % (int64_t)y));
        }
        EACH(y + 1 <= 1 ? 0 - (y & x) : (uint64_t)((int64_t)x / (int64_t)y));
    }
}

WIDE static void integers(int op, int k, lane *a, const lane *b, const lane *c, int n)
{
    const int bits = k == KIND_I32 || k == KIND_U32 ? 31 : 63;
    switch (op) {
    case DO_ADD:
        EACH(x + y);
    case DO_SUB:
        EACH(x - y);
    case DO_MUL:
        EACH(x * y);
    case DO_AND:
        EACH(x & y);
    case DO_OR:
        EACH(x | y);
    case DO_XOR:
        EACH(x ^ y);
    case DO_SHL:
        EACH(x << (y & (unsigned)bits));
    case DO_EQUAL:
        EACH(x == y);
    case DO_UNEQUAL:
        EACH(x != y);
    case DO_SHR:
        if (k == KIND_U64) {
            EACH(x >> (y & 63));
        }
        EACH((int64_t)x >> (y & (unsigned)bits));
    case DO_LESS:
        if (k == KIND_U64) {
            EACH(x < y);
        }
        EACH((int64_t)x < (int64_t)y);
    case DO_LESS_EQ:
        if (k == KIND_U64) {
            EACH(x <= y);
        }
        EACH((int64_t)x <= (int64_t)y);
    case DO_MIN:
        if (k == KIND_U64) {
            EACH(x < y ? x : y);
        }
        EACH((int64_t)x < (int64_t)y ? x : y);
    case DO_MAX:
        if (k == KIND_U64) {
            EACH(y < x ? x : y);
        }
        EACH((int64_t)y < (int64_t)x ? x : y);
    case DO_DIV:
    case DO_MOD:
        divide(op, k, a, b, c, n);
        break;
    default:
        break;
    }
    if (op != DO_EQUAL && op != DO_UNEQUAL && op != DO_LESS && op != DO_LESS_EQ) cut(a, n, k);
}
#undef EACH

WIDE static void reals(int op, int k, lane *a, const lane *b, const lane *c, int n)
{
#define EACH(field, expression) \
    for (int l = 0; l < n; l++) { \
        const double x = b[l].d, y = c[l].d; \
        a[l].field = expression; \
    } \
    break
    switch (op) {
    case DO_ADD:
        EACH(d, x + y);
    case DO_SUB:
        EACH(d, x - y);
    case DO_MUL:
        EACH(d, x * y);
    case DO_DIV:
        EACH(d, x / y);
    case DO_MIN:
        EACH(d, x < y ? x : y);
    case DO_MAX:
        EACH(d, y < x ? x : y);
    case DO_LESS:
        EACH(i, x < y);
    case DO_LESS_EQ:
        EACH(i, x <= y);
    case DO_EQUAL:
        EACH(i, x == y);
    case DO_UNEQUAL:
        EACH(i, x != y);
    default:
        break;
    }
#undef EACH
    if (k == KIND_F32 && (op == DO_ADD || op == DO_SUB || op == DO_MUL || op == DO_DIV))
        cut(a, n, k);
}

WIDE static void change_kind(lane *a, const lane *b, int n, int to, int from)
{
    if (is_real(to) && is_real(from))
        for (int l = 0; l < n; l++) a[l].d = b[l].d;
    else if (is_real(to) && from == KIND_U64)
        for (int l = 0; l < n; l++)
            a[l].d = to == KIND_F32 ? (double)(float)(uint64_t)b[l].i : (double)(uint64_t)b[l].i;
    else if (is_real(to))
        for (int l = 0; l < n; l++)
            a[l].d = to == KIND_F32 ? (double)(float)b[l].i : (double)b[l].i;
    else if (is_real(from))
        for (int l = 0; l < n; l++) {
            const double x = b[l].d; /* what does not fit is undefined in C: 0 here */
            if (to == KIND_U64 && x >= 0x1p63)
                a[l].i = x < 0x1p64 ? (int64_t)(uint64_t)x : 0;
            else
                a[l].i = x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : 0;
        }
    else
        for (int l = 0; l < n; l++) a[l].i = b[l].i;
    cut(a, n, to);
}

static void masked(lane *a, const lane *b, int n, uint64_t mask)
{
    for (int l = 0; l < n; l++)
        if (mask >> l & 1) a[l] = b[l];
}

/* Is the lane on, and its index in its array? */
static int is_valid_index(group_state *g, const warp_state *w, const instruction *i,
                          const lane *index, int l, const char *does)
{
    if (!(w->mask >> l & 1)) return 0;
    if (index[l].i >= 0 && index[l].i < i->d) return 1;
    defect(g, DEFECT_BOUNDS, i->line,
           "thread %d of group %lld %s element %lld of an array of its own: it has %d elements",
           w->first + l, (long long)g->index, does, (long long)index[l].i, i->d);
    return 0;
}

/* Values that come from another register or from another lane. */
static void compute_moved(group_state *g, warp_state *w, const instruction *i)
{
    const int n = g->lanes, k = i->kind;
    lane *const row = w->registers, *a = row + (ptrdiff_t)i->a * n;
    const lane *b = row + (ptrdiff_t)i->b * n, *c = row + (ptrdiff_t)i->c * n;
    switch (i->op) {
    case DO_PICK: /* element c of the thread's own array, d registers from b on */
        for (int l = 0; l < g->warp; l++)
            g->scratch[l] =
                is_valid_index(g, w, i, c, l, "reads") ? row[(i->b + c[l].i) * n + l] : (lane){0};
        masked(a, g->scratch, n, w->mask);
        break;
    case DO_DROP: /* b into element c of the array from a on */
        for (int l = 0; l < g->warp; l++)
            if (is_valid_index(g, w, i, c, l, "writes")) row[(i->a + c[l].i) * n + l] = b[l];
        break;
    case DO_SHUFFLE: /* from a lane outside of the warp: one's own, as CUDA has it */
        for (int l = 0; l < g->warp; l++) {
            const int64_t from = shuffle_lane(i->d, l, c[l].i);
            g->scratch[l] = from >= 0 && from < g->warp ? b[from] : b[l];
        }
        memcpy(a, g->scratch, (size_t)n * sizeof *a);
        break;
    /* lane 0 has the most distant pairs first; d: the operation. Scratch: other lanes' values */
    case DO_WARP_COMBINE:
        memcpy(a, b, (size_t)n * sizeof *a);
        for (int s = g->warp / 2; s > 0; s /= 2) {
            for (int l = 0; l < g->warp; l++) g->scratch[l] = a[l ^ s];
            is_real(k) ? reals(i->d, k, a, a, g->scratch, n)
                       : integers(i->d, k, a, a, g->scratch, n);
        }
        break;
    default:
        break;
    }
}

/* The bytes of elements, in the low bytes of words; or elements of words. */
static void change_bits(lane *a, const lane *b, int n, int k, int to_words)
{
    for (int l = 0; l < n; l++) {
        char word[8] = {0};
        if (to_words) {
            put_element(word, k, b[l]);
            memcpy(&a[l], word, sizeof word);
        } else {
            memcpy(word, &b[l], sizeof word);
            a[l] = get_element(word, k);
        }
    }
}

void compute(group_state *g, warp_state *w, const instruction *i)
{
    const int n = g->lanes, k = i->kind;
    lane *const row = w->registers, *a = row + (ptrdiff_t)i->a * n;
    const lane *b = row + (ptrdiff_t)i->b * n, *c = row + (ptrdiff_t)i->c * n;
    const uint64_t all = g->warp == 64 ? ~(uint64_t)0 : ((uint64_t)1 << g->warp) - 1;
    switch (i->op) {
    case DO_CONST:
        for (int l = 0; l < n; l++) a[l].i = i->integer;
        break;
    case DO_MOVE:
        if (w->mask == all)
            memcpy(a, b, (size_t)n * sizeof *a);
        else
            masked(a, b, n, w->mask);
        break;
    case DO_CONVERT:
        if (i->d && w->mask != all) {
            change_kind(g->scratch, b, n, k, i->c);
            masked(a, g->scratch, n, w->mask);
        } else {
            change_kind(a, b, n, k, i->c);
        }
        break;
    case DO_NEG:
        for (int l = 0; l < n; l++)
            if (is_real(k))
                a[l].d = -b[l].d;
            else
                a[l].i = (int64_t)(0 - (uint64_t)b[l].i);
        if (!is_real(k)) cut(a, n, k);
        break;
    case DO_INVERT:
        for (int l = 0; l < n; l++) a[l].i = ~b[l].i;
        cut(a, n, k);
        break;
    case DO_NOT:
        for (int l = 0; l < n; l++) a[l].i = !b[l].i;
        break;
    case DO_BITS:
    case DO_VALUE:
        change_bits(a, b, n, k, i->op == DO_BITS);
        break;
    case DO_PICK:
    case DO_DROP:
    case DO_SHUFFLE:
    case DO_WARP_COMBINE:
        compute_moved(g, w, i);
        break;
    case DO_THREAD:
        for (int l = 0; l < n; l++) a[l].i = w->first + l;
        break;
    case DO_GROUP_INDEX:
    case DO_GROUP_COUNT:
        for (int l = 0; l < n; l++) a[l].i = i->op == DO_GROUP_INDEX ? g->index : g->groups;
        break;
    default:
        is_real(k) ? reals(i->op, k, a, b, c, n) : integers(i->op, k, a, b, c, n);
    }
}
