/* SPDX-License-Identifier: MIT
 * Reductions of the elements present (inputs.h). */
#include "inputs.h"
#include "context/context.h"
#include "context/threads.h"
#include "context/view.h"
#include "cpu/shape.h"
#include "cpu/widen.h"
#include <assert.h>
#include <stdlib.h>

enum {
    PIECE = 512,     /* elements that are packed at a time */
    PART = 64 << 10, /* elements that a thread takes at a time */
    AHEAD = 8 << 10  /* prefetch distance in bytes */
};

/* s: a counted state (law/counter.h). */
static void result(const tl_plan *plan, const tl_state *s, char *out)
{
    const int64_t n = tl_kept(plan->op, s);
    if (n)
        plan->op->lower(s, n, 0, plan->par, out);
    else
        plan->op->empty(plan->par, out);
}

static int64_t ones(const unsigned char *valid, int64_t bit, int64_t n)
{
    int64_t count = 0;
    for (; n > 0 && bit & 7; bit++, n--) count += tl_bit(valid, bit);
    const unsigned char *at = valid + (bit >> 3);
    for (uint64_t word; n >= 64; n -= 64, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        count += __builtin_popcountll(word);
    }
    for (int64_t j = 0; j < n; j++) count += tl_bit(at, j);
    return count;
}

/* The index of the k-th element present, counted from bit number `bit`. */
static int64_t place_of(const unsigned char *valid, int64_t bit, int64_t k)
{
    int64_t at = bit;
    while (1) {
        const unsigned byte = valid[at >> 3] >> (at & 7);
        const int here = __builtin_popcount(byte);
        if (k < here) break;
        k -= here;
        at = (at | 7) + 1;
    }
    for (unsigned byte = valid[at >> 3] >> (at & 7);; byte >>= 1, at++)
        if (byte & 1 && k-- == 0) return at - bit;
}

int tl_present_takes(const tl_scalar *op)
{
    return op->exact && op->inputs == 1 && !op->user &&
           (!op->indexed || (op->out == TALLY_I64 && op->lanes == 1));
}

/* Folds elements from .. to - 1 of the sequence at x, whose first has bit number `bit`, to a
 * counted state. */
static tl_state fold(const tl_plan *plan, const char *x, const unsigned char *valid, int64_t bit,
                     int64_t from, int64_t to)
{
    const tl_scalar *op = plan->op;
    const int64_t bytes = op->elem_bytes;
    _Alignas(64) char buffer[PIECE * 8 + 64];
    tl_state all = {{0}}, piece;

    for (int64_t at = from; at < to; at += PIECE) {
        const int64_t m = tl_min(to - at, PIECE);
        for (int64_t line = 0; line < m * bytes; line += 64)
            __builtin_prefetch(
                (const char *)((uintptr_t)x + (uintptr_t)(at * bytes + line + AHEAD)));
        const int64_t n =
            plan->mask->keep(buffer, x + at * bytes, (int)bytes, (tl_bits){valid, bit + at}, m);
        if (!n) continue;
        tl_fold(plan, &piece, buffer, n, 0, TL_CACHED);

        /* convert the index among the elements present to the index in the sequence */
        if (op->indexed) {
            int64_t k;
            op->lower(&piece, n, 0, plan->par, &k);
            k = at + place_of(valid, bit + at, k);
            op->lift(&piece, x + k * bytes, k, plan->par);
        }

        tl_set_kept(op, &piece, n);
        tl_join_counted(op, &all, &piece);
    }

    return all;
}

static tl_state fold_row(const tl_plan *plan, const tally_view *in, int64_t r, int64_t part,
                         int64_t parts)
{
    int64_t n;
    const char *x = tl_view_row(in, r, plan->op->elem_bytes, &n);
    const int64_t bit = in->valid_offset + (x - (const char *)in->data) / plan->op->elem_bytes,
                  to = (part + 1) * PART;
    return fold(plan, x, in->valid, bit, part * PART, part + 1 < parts ? to : n);
}

enum { SHARE = 16 }; /* tasks that a thread takes at a time */

typedef struct {
    const tl_plan *plan;
    const tally_view *in;
    tl_state *of; /* of the parts of one row; NULL: rows */
    char *out;
    int64_t parts, tasks;
} shares;

static void share(void *with, const tl_worker *worker)
{
    const shares *a = with;
    for (int64_t k; (k = tl_next_chunk(worker)) < worker->chunks;)
        for (int64_t t = k * SHARE; t < (k + 1) * SHARE && t < a->tasks; t++) {
            const tl_state s = a->of ? fold_row(a->plan, a->in, 0, t, a->parts)
                                     : fold_row(a->plan, a->in, t, 0, 1);
            if (a->of)
                a->of[t] = s;
            else
                result(a->plan, &s, a->out + t * a->plan->op->result_bytes);
        }
}

void tl_present_reduce(const tl_plan *plan, int threads, const tally_view *in, char *out)
{
    const int64_t parts =
        in->rows == 1 && threads > 1 && !in->offsets ? (in->n + PART - 1) / PART : 1;
    tl_state *const of = parts > 1 ? malloc((size_t)parts * sizeof *of) : NULL;
    const int64_t tasks = of ? parts : in->rows;
    shares all = {plan, in, of, out, parts, tasks};

    tl_parallel(tasks > 1 ? threads : 1, (tasks + SHARE - 1) / SHARE, share, &all);
    for (int64_t t = 1; of && t < parts; t++) tl_join_counted(plan->op, &of[0], &of[t]);
    if (of) result(plan, &of[0], out);
    free(of);
}

int tl_present_blank(const tl_form *form, tl_form *blank)
{
    const tl_scalar *s = form->named, *core = NULL;
    if (form->kind == TL_FORM_MARK && s->inputs == 1 && !s->user && s->core &&
        strcmp(s->core, s->file))
        core = tl_find_scalar(s->core, s->dtype, s->acc);
    if (!core || !core->blank || core->state_bytes != s->state_bytes || !s->neutral) return 0;
    *blank = (tl_form){.kind = TL_FORM_BLANK, .named = s, .op = s, .par = form->par, .absent = 1};
    blank->par.marked = 0;
    core->blank(&blank->fill);
    return 1;
}

void tl_present_reduce_blank(const tl_plan *given, const tl_form *blank, int threads,
                             const tally_view *in, char *out)
{
    int64_t n;
    tl_plan plan = *given;
    tl_gather gather;
    tl_counter c;
    tl_state s;

    assert(in->rows == 1 && in->valid && blank->kind == TL_FORM_BLANK);
    tl_gather_direct(&gather, blank, in, &plan);
    const char *x = tl_view_row(in, 0, plan.op->elem_bytes, &n);
    const int64_t bit = in->valid_offset + (x - (const char *)in->data) / plan.op->elem_bytes;
    tl_counter_init(&c, 0);
    tl_push_slab(&plan, threads, x, n, &c);
    tl_counter_fold(&c, plan.op, NULL, &s);
    tl_set_kept(plan.op, &s, ones(in->valid, bit, n));
    result(&plan, &s, out);
}
