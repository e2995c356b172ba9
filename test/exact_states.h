/* SPDX-License-Identifier: MIT
 * Plain data: tally_exact is the same however it was made, and has no other value than the
 * reduction. Part of test_exact.c. */
#ifndef TALLY_TEST_EXACT_STATES_H
#define TALLY_TEST_EXACT_STATES_H
#include "exact_inputs.h"

static void states(tally *ctx, tally_dtype d, int kind)
{
    const int64_t bytes = (int64_t)tally_dtype_size(d), n = 3000, cut = check_below(n);
    tally_exact single_launch, parts, part, none, some, these;
    tally_view x = tally_flat(data, d, n), a = tally_flat(data, d, cut),
               b = tally_flat(data + cut * bytes, d, n - cut),
               back = {data + (n - 1) * bytes, d, 1, n, n, -1, NULL};
    fill(data, d, n, kind);
    tally_exact_init(&single_launch);
    tally_exact_init(&parts);
    tally_exact_init(&part);
    tally_exact_init(&none);
    check_ok(ctx, tally_exact_add(ctx, &single_launch, &x), "add");
    check_ok(NULL, tally_exact_add(NULL, &parts, &b), "add");
    check_ok(ctx, tally_exact_add(ctx, &part, &a), "add");
    tally_exact_merge(&parts, &part);
    check_same(&parts, &single_launch, 1, sizeof single_launch, "merged %s kind %d",
               tally_dtype_name(d), kind);
    tally_exact_unmerge(&parts, &part);
    check_ok(ctx, tally_exact_subtract(ctx, &single_launch, &a), "subtract");
    check_same(&parts, &single_launch, 1, sizeof single_launch, "taken back %s kind %d",
               tally_dtype_name(d), kind);
    check_ok(ctx, tally_exact_subtract(ctx, &single_launch, &b), "subtract");
    check_same(&single_launch, &none, 1, sizeof single_launch, "nothing left %s kind %d",
               tally_dtype_name(d), kind);
    check_ok(ctx, tally_exact_add(ctx, &single_launch, &back), "add");
    tally_exact_merge(&parts, &part);
    check_same(&parts, &single_launch, 1, sizeof single_launch, "backwards %s kind %d",
               tally_dtype_name(d), kind);
    /* of elements with bits: those that are there, on both sides of a cut and by columns
       backwards */
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
    for (int k = 0; k < 67; k++)
        check(single_launch.word[k] >= 0 && single_launch.word[k] >> 32 == 0,
              "word %d is not settled", k);
    /* words of many states, added as integers by somebody else */
    memset(&parts, 0, sizeof parts);
    for (int j = 0; j < 1000; j++)
        for (int k = 0; k < 72; k++) parts.word[k] += single_launch.word[k];
    exactly e;
    memset(&e, 0, sizeof e);
    for (int64_t i = 0; i < n; i++) take_in(&e, d, data + i * bytes);
    tally_exact_init(&none);
    for (int j = 0; j < 1000; j++) tally_exact_merge(&none, &single_launch);
    for (int f = 0; f < FORMS; f++) {
        const check_operator o = pick(forms[f], d);
        double u = 0, v = 0, w = 0;
        check_ok(ctx, tally_exact_value(ctx, &single_launch, o.op, d, &u), "value");
        value_of(&e, &o, &v);
        check_same(&u, &v, 1, 8, "value %s %s kind %d", o.op, tally_dtype_name(d), kind);
        check_ok(ctx, tally_exact_value(ctx, &parts, o.op, d, &v), "value");
        check_ok(ctx, tally_exact_value(ctx, &none, o.op, d, &w), "value");
        check_same(&v, &w, 1, 8, "value of 1000 states %s %s kind %d", o.op, tally_dtype_name(d),
                   kind);
    }
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
