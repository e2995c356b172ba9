/* SPDX-License-Identifier: MIT
 * What the texts of operators promise (doc/dialect.md), kept by every instance on states of
 * random and hostile elements, bit for bit:
 *
 *   OP_EXACT       combine(combine(a, b), c) is combine(a, combine(b, c))
 *   OP_NEUTRAL     combine(a, neutral) and combine(neutral, a) are a, and combine(a, b) is
 *                  combine(b, a), as src/gpu/kernel/batch.cl takes for granted of built-in
 *                  operators
 *   OP_IDEMPOTENT  combine(a, a) is a
 *   OP_INVERSE     uncombine(combine(a, b), b) is a, and of a it is b
 *   OP_TWIN        twin(a, b) is combine(a, b) for nodes of equal size; with OP_SIZES, of n
 *                  elements, twin(a, b, n) is combine(a, b, n, n)
 *   OP_COMMUTES    combine(a, b) is combine(b, a)
 *   OP_EXTREME     combine(a, b) is a or b          OP_PICKS   it is the first, the last
 *   OP_ADDS        states are integers of 64 or 128 bits, lift widens, combine adds
 *   OP_MOMENTS     states are the mean and m2; of integers of one or two bytes those that the
 *                  sums give
 *   OP_MASKED      an element that does not count lifts to what changes nothing
 *   OP_WIDEN       OP_CORE's functions on the elements that the kernels get make the same
 *                  states, and the same results
 *
 * A fast path that a wrong promise enables need not show it on the data of a test; this does not
 * depend on the path. promises/liar.h breaks each of them, and each must be found. */
#include "check.h"
#include "cpu/shape.h"
#include "dtype/dtype_traits.h"
#include "law/fp.h"
#include "context/context.h"
#include "promises/promise.h"

enum { ELEMENTS = 64, LEVELS = 4, ROUNDS = 1000 };

typedef enum {
    EXACT,
    NEUTRAL,
    IDEMPOTENT,
    INVERSE,
    TWIN,
    COMMUTES,
    EXTREME,
    PICKS,
    ADDS,
    MOMENTS,
    MASKED,
    WIDEN,
    PROMISES
} kind;
static const char *const names[PROMISES] = {
    "OP_EXACT",   "OP_NEUTRAL", "OP_IDEMPOTENT", "OP_INVERSE", "OP_TWIN",   "OP_COMMUTES",
    "OP_EXTREME", "OP_PICKS",   "OP_ADDS",       "OP_MOMENTS", "OP_MASKED", "OP_WIDEN"};

extern const promise *const promises_liar[];
#define FORM(name, file, ...) extern const promise *const promises_##file[];
#include "op/forms.def"
#undef FORM
static const struct {
    const char *file;
    const promise *const *rows;
} files[] = {
#define FORM(name, file, ...) {#file, promises_##file},
#include "op/forms.def"
#undef FORM
};

static int64_t broken[PROMISES]; /* of the instance under way */
static char x[ELEMENTS * 8];
static tl_state node[LEVELS][ELEMENTS]; /* node[k][i]: of the 2^k elements from i 2^k on */
static tl_data data;

static void expect(kind k, int kept) { broken[k] += !kept; }

/* combine(a, b), which have folded na and nb elements */
static tl_state of_two(const promise *p, const tl_state *a, const tl_state *b, int64_t na,
                       int64_t nb)
{
    tl_state s = *a;
    p->op->combine(&s, b, na, nb);
    return s;
}

static void make_nodes(const promise *p, tl_par par)
{
    check_fill(x, p->op->dtype, ELEMENTS, data);
    memset(node, 0, sizeof node);
    for (int i = 0; i < ELEMENTS; i++) p->op->lift(&node[0][i], x + i * p->op->elem_bytes, i, par);
    for (int k = 1; k < LEVELS; k++)
        for (int i = 0; i < ELEMENTS >> k; i++)
            node[k][i] =
                of_two(p, &node[k - 1][2 * i], &node[k - 1][2 * i + 1], 1 << k >> 1, 1 << k >> 1);
}

/* Any three nodes that follow each other. */
static void check_three(const promise *p, tl_par par)
{
    const tl_scalar *op = p->op;
    int k = (int)check_below(LEVELS), i = (int)check_below((ELEMENTS >> k) - 2);
    tl_state a = node[k][i], b = node[k][i + 1], c = node[k][i + 2];
    const int64_t n = 1 << k; /* elements of each */
    tl_state ab = of_two(p, &a, &b, n, n), bc = of_two(p, &b, &c, n, n),
             ba = of_two(p, &b, &a, n, n);
    tl_state left = of_two(p, &ab, &c, 2 * n, n), right = of_two(p, &a, &bc, n, 2 * n);
    if (op->exact) expect(EXACT, p->same(&left, &right));
    if (op->exact && p->commutes) expect(COMMUTES, p->same(&ab, &ba));
    if (op->exact && op->idempotent) {
        tl_state aa = of_two(p, &a, &a, n, n);
        expect(IDEMPOTENT, p->same(&aa, &a));
    }
    if (op->exact && p->extreme) expect(EXTREME, p->same(&ab, &a) || p->same(&ab, &b));
    if (op->exact && p->picks) expect(PICKS, p->same(&ab, p->picks < 0 ? &a : &b));
    if (op->exact && p->without) {
        tl_state first = ab, last = ab;
        p->without(&first, &b);
        p->without(&last, &a);
        expect(INVERSE, p->same(&first, &a) && p->same(&last, &b));
    }
    if (p->nothing) {
        tl_state none = {{0}}, before, after;
        p->nothing(&none, par);
        before = of_two(p, &none, &a, 0, n);
        after = of_two(p, &a, &none, n, 0);
        expect(NEUTRAL, p->same(&before, &a) && p->same(&after, &a) && p->same(&ab, &ba));
    }
    if (p->halves && (i & 1) == 0) {
        tl_state twin = a;
        p->halves(&twin, &b, n);
        expect(TWIN, p->same(&twin, &ab));
    }
}

/* The low and high half of an integer in 128 bits. */
static void widened(const promise *p, const void *from, uint64_t *half)
{
    int bytes = p->op->elem_bytes, is_signed = p->op->dtype & 1;
    half[0] = 0;
    memcpy(half, from, (size_t)bytes);
    if (is_signed) half[0] = (uint64_t)((int64_t)(half[0] << (64 - 8 * bytes)) >> (64 - 8 * bytes));
    half[1] = is_signed && half[0] >> 63 ? ~0ull : 0;
}

static void check_sums(const promise *p)
{
    uint64_t half[2], a[2], b[2], ab[2];
    size_t bytes = 8 * (size_t)p->adds;
    int i = (int)check_below(ELEMENTS / 2);
    widened(p, x + i * p->op->elem_bytes, half);
    memcpy(a, &node[1][i / 2 * 2], bytes), memcpy(b, &node[1][i / 2 * 2 + 1], bytes),
        memcpy(ab, &node[2][i / 2], bytes);
    expect(ADDS, p->op->state_bytes == bytes && p->op->dtype < TALLY_F16 &&
                     !memcmp(&node[0][i], half, bytes));
    expect(ADDS, ab[0] == a[0] + b[0] && (p->adds == 1 || ab[1] == a[1] + b[1] + (ab[0] < a[0])));
}

static void check_moments(const promise *p)
{
    const int i = (int)check_below(ELEMENTS >> (LEVELS - 1)), n = 1 << (LEVELS - 1),
              bytes = p->op->elem_bytes;
    uint64_t half[2];
    int64_t sum = 0, squares = 0;
    if (p->op->state_bytes != 2 * sizeof(double)) return expect(MOMENTS, 0);
    if (p->op->dtype >= TALLY_F16 || bytes > 2) return;
    for (int k = 0; k < n; k++) {
        widened(p, x + (i * n + k) * bytes, half);
        sum += (int64_t)half[0], squares += (int64_t)half[0] * (int64_t)half[0];
    }
    const double of_sums[2] = {(double)sum / n, (double)(n * squares - sum * sum) / n};
    expect(MOMENTS, !memcmp(of_sums, &node[LEVELS - 1][i], sizeof of_sums));
}

static void check_masked(const promise *p, tl_par par)
{
    int i = (int)check_below(ELEMENTS), j = (int)check_below(ELEMENTS);
    if (!p->op->is_masked(x + i * p->op->elem_bytes, par)) return;
    tl_state before = of_two(p, &node[0][i], &node[0][j], 1, 1),
             after = of_two(p, &node[0][j], &node[0][i], 1, 1);
    if (!p->op->is_masked(x + j * p->op->elem_bytes, par)) {
        expect(MASKED, p->same(&before, &node[0][j]) && p->same(&after, &node[0][j]));
        return;
    }
    char none[2 * 16], of[2 * 16]; /* two of them are nothing still */
    p->op->empty(par, none);
    p->op->lower(&before, 2, 0, par, of);
    expect(MASKED, !memcmp(of, none, p->op->result_bytes));
}

/* An unsigned integer as the signed key that kernels make of it, or the way back (tl_par). */
static void flip(char *e, int count, int bytes, int64_t bits)
{
    for (int i = 0; i < count * bytes; i++) e[i] ^= (char)((uint64_t)bits >> 8 * (i % bytes));
}

/* What stands in for the elements in the kernels of the processors: the law's state, and its
 * result, must come of it. */
static void check_wide(const promise *p, const tl_plan *plan, const char *file, tl_par par)
{
    const tl_scalar *op = p->op;
    const tally_dtype acc = op->widen == TL_WIDEN_REAL ? op->wide : op->acc;
    const tl_scalar *core = tl_find_scalar(op->core, op->wide, acc),
                    *lower = tl_find_scalar(file, op->wide, acc);
    if (!core) {
        check(0, "src/op/%s.h: OP_CORE %s has no %s", file, op->core, tally_dtype_name(op->wide));
        return;
    }
    const int i = (int)check_below(ELEMENTS / 2) * 2;
    char wide[2 * 8], result[2 * 16], want[2 * 16];
    tl_state a = {{0}}, b = {{0}};
    if (plan->in)
        plan->in->apply(plan->in, wide, x + i * op->elem_bytes, 2);
    else
        memcpy(wide, x + i * op->elem_bytes, 2 * op->elem_bytes);
    flip(wide, 2, core->elem_bytes, plan->par.flip);
    core->lift(&a, wide, i, par);
    core->lift(&b, wide + core->elem_bytes, i + 1, par);
    core->combine(&a, &b, 1, 1);
    if (lower && lower->lanes == op->lanes) {
        lower->lower(&a, 2, i, par, result);
        if (op->out == op->dtype && op->wide != op->dtype && plan->out) {
            memcpy(want, result, sizeof want);
            plan->out->apply(plan->out, result, want, op->lanes);
        }
        const int flipped = plan->par.flip && op->out == op->dtype;
        if (flipped) flip(result, op->lanes, op->elem_bytes, plan->par.flip);
        op->lower(&node[1][i / 2], 2, i, par, want);
        if (op->out == lower->out || plan->out || flipped)
            expect(WIDEN, !memcmp(result, want, op->result_bytes));
    }
    if (op->from_wide) op->from_wide(&a);
    expect(WIDEN, p->same(&a, &node[1][i / 2]));
}

/* All promises of an instance, on all kinds of data. file: of the instances whose results it
   should have. */
static void check_instance(const promise *p, const char *file)
{
    const tl_scalar *op = p->op;
    const tl_par par = {.value = 0.3};
    tl_plan plan;
    tl_plan_kernels(&plan, op, par, tl_isa_widest());
    memset(broken, 0, sizeof broken);
    for (data = 0; data < TL_DATA_KINDS; data++)
        for (int round = 0; round < ROUNDS; round++) {
            if (round % 20 == 0) make_nodes(p, par);
            check_three(p, par);
            if (op->exact && p->adds) check_sums(p);
            if (p->moments) check_moments(p);
            if (op->masked) check_masked(p, par);
            if (op->widen || strcmp(op->core, op->file)) check_wide(p, &plan, file, par);
        }
}

int main(void)
{
    int64_t instances = 0;
    check_start();
    tl_fp fp = tl_fp_enter();
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        size_t earlier = 0;
        while (strcmp(files[earlier].file, files[f].file)) earlier++;
        if (earlier < f) continue; /* another name for the same instances */
        for (const promise *const *p = files[f].rows; *p; p++, instances++) {
            check_instance(*p, (*p)->op->lowers);
            for (int k = 0; k < PROMISES; k++)
                check(
                    !broken[k],
                    "%s, src/op/%s.h: %s is not kept for %s with accumulator %s: %lld of %d times",
                    files[f].file, (*p)->op->text, names[k], tally_dtype_name((*p)->op->dtype),
                    (*p)->op->acc ? tally_dtype_name((*p)->op->acc) : "none", (long long)broken[k],
                    TL_DATA_KINDS * ROUNDS);
        }
    }
    for (const promise *const *p = promises_liar; *p; p++) {
        check_instance(*p, "sum");
        for (int k = 0; k < PROMISES; k++)
            check(broken[k], "test/promises/liar.h breaks %s for %s, and that is not found",
                  names[k], tally_dtype_name((*p)->op->dtype));
    }
    tl_fp_leave(fp);
    printf("%lld instances\n", (long long)instances);
    return check_finish();
}
