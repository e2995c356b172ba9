/* SPDX-License-Identifier: MIT
 * Plain data: tally_exact is the same however it was made, and has no other value than the
 * reduction. Part of test_exact.c. */
#ifndef TALLY_TEST_EXACT_STATES_H
#define TALLY_TEST_EXACT_STATES_H
#include "exact_inputs.h"

/* Of elements with bits: those that are there, on both sides of a cut and by columns backwards. */
static void states_of_bits(tally *ctx, tally_dtype d, int kind, tally_view x)
{
    const int64_t bytes = (int64_t)tally_dtype_size(d), n = x.n;
    tally_exact some, these;
    static unsigned char there[3000 / 8 + 4];
    for (size_t i = 0; i < sizeof there; i++) there[i] = (unsigned char)check_below(256);
    tally_exact_init(&some);
    tally_exact_init(&these);
    for (int64_t i = 0; i < n; i++) {
        const tally_view one = tally_flat(data + i * bytes, d, 1);
        if (there[(i + 5) >> 3] >> ((i + 5) & 7) & 1)
            check_ok(ctx, tally_exact_add(ctx, &these, &one), "add");
    }
    x.valid = there;
    x.valid_offset = 5;
    tally_view columns = {data + 29 * bytes, d, 30, n / 30, -1, 30, NULL, there, 5 + 29, NULL};
    check_ok(ctx, tally_exact_add(ctx, &some, &columns), "add with bits");
    check_same(&some, &these, 1, sizeof some, "bits %s kind %d", tally_dtype_name(d), kind);
    check_ok(ctx, tally_exact_subtract(ctx, &some, &x), "subtract with bits");
    tally_exact_init(&these);
    check_same(&some, &these, 1, sizeof some, "bits taken back %s kind %d", tally_dtype_name(d),
               kind);
}

/* Words of many states, added as integers by somebody else. state: that of the n elements of
 * data. */
static void added_words(tally *ctx, tally_dtype d, int kind, int64_t n, const tally_exact *state)
{
    const int64_t bytes = (int64_t)tally_dtype_size(d);
    tally_exact parts, none;
    memset(&parts, 0, sizeof parts);
    for (int j = 0; j < 1000; j++)
        for (int k = 0; k < 72; k++) parts.word[k] += state->word[k];
    exactly e;
    memset(&e, 0, sizeof e);
    for (int64_t i = 0; i < n; i++) take_in(&e, d, data + i * bytes);
    tally_exact_init(&none);
    for (int j = 0; j < 1000; j++) tally_exact_merge(&none, state);
    for (int f = 0; f < FORMS; f++) {
        const check_operator o = pick(forms[f], d);
        double u = 0, v = 0, w = 0;
        check_ok(ctx, tally_exact_value(ctx, state, o.op, d, &u), "value");
        value_of(&e, &o, &v);
        check_same(&u, &v, 1, 8, "value %s %s kind %d", o.op, tally_dtype_name(d), kind);
        check_ok(ctx, tally_exact_value(ctx, &parts, o.op, d, &v), "value");
        check_ok(ctx, tally_exact_value(ctx, &none, o.op, d, &w), "value");
        check_same(&v, &w, 1, 8, "value of 1000 states %s %s kind %d", o.op, tally_dtype_name(d),
                   kind);
    }
}

static void states(tally *ctx, tally_dtype d, int kind)
{
    const int64_t bytes = (int64_t)tally_dtype_size(d), n = 3000, cut = check_below(n);
    tally_exact whole, parts, part, none;
    tally_view x = tally_flat(data, d, n), a = tally_flat(data, d, cut),
               b = tally_flat(data + cut * bytes, d, n - cut),
               back = {data + (n - 1) * bytes, d, 1, n, n, -1, NULL};
    fill(data, d, n, kind);
    tally_exact_init(&whole);
    tally_exact_init(&parts);
    tally_exact_init(&part);
    tally_exact_init(&none);
    check_ok(ctx, tally_exact_add(ctx, &whole, &x), "add");
    check_ok(NULL, tally_exact_add(NULL, &parts, &b), "add");
    check_ok(ctx, tally_exact_add(ctx, &part, &a), "add");
    tally_exact_merge(&parts, &part);
    check_same(&parts, &whole, 1, sizeof whole, "merged %s kind %d", tally_dtype_name(d), kind);
    tally_exact_unmerge(&parts, &part);
    check_ok(ctx, tally_exact_subtract(ctx, &whole, &a), "subtract");
    check_same(&parts, &whole, 1, sizeof whole, "taken back %s kind %d", tally_dtype_name(d), kind);
    check_ok(ctx, tally_exact_subtract(ctx, &whole, &b), "subtract");
    check_same(&whole, &none, 1, sizeof whole, "nothing left %s kind %d", tally_dtype_name(d),
               kind);
    check_ok(ctx, tally_exact_add(ctx, &whole, &back), "add");
    tally_exact_merge(&parts, &part);
    check_same(&parts, &whole, 1, sizeof whole, "backwards %s kind %d", tally_dtype_name(d), kind);
    states_of_bits(ctx, d, kind, x);
    for (int k = 0; k < 67; k++)
        check(whole.word[k] >= 0 && whole.word[k] >> 32 == 0, "word %d is not settled", k);
    added_words(ctx, d, kind, n, &whole);
}

/* With validity the state is that of the elements that are there, and a product of two below f64
   is an element. */
static void states_of_inputs(tally *ctx, tally_dtype d)
{
    const int64_t bytes = (int64_t)tally_dtype_size(d), rows = 3, n = 1 + check_below(400),
                  all = rows * n;
    const int64_t offsets[] = {0, n / 2, n / 2, all};
    for (int how = 0; how < 4; how++) {
        fill(data, d, 2 * all, how);
        fill(got, d, 2 * all, how + 1);
        for (int64_t i = 0; i < PAIRS; i++) bits[0][i] = (unsigned char)check_below(256);
        tally_view x = {data, d, rows, n, n, 1, NULL};
        if (how == 1) x.stride = rows, x.row_stride = 1;
        if (how == 2) x.stride = 2, x.row_stride = 2 * n;
        if (how == 3) x.offsets = offsets;
        x.valid = bits[0];
        x.valid_offset = 5;
        int64_t kept = 0;
        for (int64_t i = 0; i < (how == 2 ? 2 : 1) * all; i++)
            if (is_there(&x, i) && (how != 2 || i % 2 == 0))
                memcpy(want + kept++ * bytes, data + i * bytes, (size_t)bytes);
        const tally_view dense = tally_flat(want, d, kept);
        tally_exact masked, filtered;
        tally_exact_init(&masked);
        tally_exact_init(&filtered);
        check_ok(ctx, tally_exact_add(ctx, &masked, &x), "add with validity");
        check_ok(ctx, tally_exact_add(ctx, &filtered, &dense), "add");
        check_same(&masked, &filtered, 1, sizeof masked, "validity %d of %s", how,
                   tally_dtype_name(d));
        check_ok(ctx, tally_exact_subtract(ctx, &masked, &x), "subtract with validity");
        tally_exact_init(&filtered);
        check_same(&masked, &filtered, 1, sizeof masked, "validity %d of %s taken back", how,
                   tally_dtype_name(d));

        tally_view y = x, one = x;
        y.data = got;
        y.valid = NULL;
        x.next = &y;
        if (d == TALLY_F64) {
            check(tally_exact_add(ctx, &masked, &x) == TALLY_UNSUPPORTED &&
                      strstr(tally_error(ctx), "x->next is given"),
                  "pairs of f64: %s", tally_error(ctx));
            continue;
        }
        if (how == 3) continue;
        for (int64_t r = 0; r < rows; r++) { /* row after row, and one that comes and goes */
            tally_view next = y;
            one.rows = next.rows = 1;
            one.data = data + r * x.row_stride * bytes;
            one.valid_offset = x.valid_offset + r * x.row_stride;
            next.data = got + r * x.row_stride * bytes;
            one.next = &next;
            check_ok(ctx, tally_exact_add(ctx, &masked, &one), "add pairs");
            double dot = 0, value = 0;
            tally_exact row;
            tally_exact_init(&row);
            check_ok(ctx, tally_exact_add(ctx, &row, &one), "add pairs");
            check_ok(ctx, tally_reduce(ctx, "dot:exact", &one, &dot), "dot");
            check_ok(ctx, tally_exact_value(ctx, &row, "dot:exact", d, &value), "value");
            check_same(&value, &dot, 1, 8, "dot of %s, row %d, how %d", tally_dtype_name(d), (int)r,
                       how);
        }
        check_ok(ctx, tally_exact_add(ctx, &filtered, &x), "add pairs of rows");
        check_same(&masked, &filtered, 1, sizeof masked, "pairs %d of %s", how,
                   tally_dtype_name(d));
    }
}
#endif
