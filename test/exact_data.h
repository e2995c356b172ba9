/* SPDX-License-Identifier: MIT
 * Operators and data that make exact sums hard. Part of test_exact.c. */
#ifndef TALLY_TEST_EXACT_DATA_H
#define TALLY_TEST_EXACT_DATA_H
#include "check.h"

static const tally_dtype dtypes[] = {TALLY_F16, TALLY_BF16, TALLY_F32, TALLY_F64};
static const char *const forms[] = {"sum:exact",     "mean:exact",    "nansum:exact",
                                    "nanmean:exact", "sum:exact:f64", "mean:f64:exact"};
enum {
    FORMS = sizeof forms / sizeof *forms,
    MOST = 40000,
    KINDS = TL_DATA_KINDS + 6,
    LARGE_PAIRS = KINDS - 2
};

static uint64_t bits_at(const char *x, int64_t bytes)
{
    uint64_t v = 0;
    memcpy(&v, x, (size_t)bytes);
    return v;
}

/* n elements: what check_fill makes, or pairs that cancel among tiny ones; one exponent; the
 * largest numbers; subnormals; numbers near 1, and a few large ones that soon cancel; all
 * exponents, but no NaN or infinity. */
static void fill(char *x, tally_dtype d, int64_t n, int kind)
{
    const int64_t bytes = (int64_t)tally_dtype_size(d);
    const int width = d == TALLY_F64   ? 11
                      : d == TALLY_F16 ? 5
                                       : 8,
              mantissa = 8 * (int)bytes - 1 - width;
    const uint64_t top = ((uint64_t)1 << width) - 1, sign = (uint64_t)1 << (8 * bytes - 1);
    check_fill(x, d, n, kind < TL_DATA_KINDS ? (tl_data)kind : TL_DATA_BITS);
    for (int64_t i = 0; i < n && kind >= TL_DATA_KINDS; i++) {
        uint64_t v = bits_at(x + i * bytes, bytes), m = v & (((uint64_t)1 << mantissa) - 1),
                 e = v >> mantissa & top;
        switch (kind - TL_DATA_KINDS) {
        case 0:
            if (i & 1) v = check_below(4) ? bits_at(x + (i - 1) * bytes, bytes) ^ sign : m;
            if ((v >> mantissa & top) == top) v = m;
            break;
        case 1:
            v = (v & sign) | top / 2 << mantissa | m;
            break;
        case 2:
            v = (v & sign) | ((top - 1) << mantissa) | m;
            break;
        case 3:
            v = (v & sign) | m;
            break;
        /* large: registers that expect numbers near 1 lose bits, but end as if nothing had been */
        case 4: {
            const uint64_t far = top / 2 + 5 + (uint64_t)check_below(d == TALLY_F16 ? 9 : 90);
            v = (v & sign) | (top / 2 - (uint64_t)check_below(3)) << mantissa | m;
            if (i > 64 && i % 32 == 0 &&
                check_below(2)) { /* 32: the same lane of the same register, on most machines */
                const uint64_t large = far << mantissa;
                memcpy(x + (i - 32) * bytes, &large, (size_t)bytes);
                v = large | sign;
            }
            break;
        }
        default:
            v = (v & sign) | (e == top ? 0 : e) << mantissa | m;
            break;
        }
        memcpy(x + i * bytes, &v, (size_t)bytes);
    }
    for (int64_t i = n - 1; i > 0 && kind == TL_DATA_KINDS; i--) { /* the pairs part */
        const int64_t j = check_below(i + 1);
        const uint64_t a = bits_at(x + i * bytes, bytes), b = bits_at(x + j * bytes, bytes);
        memcpy(x + i * bytes, &b, (size_t)bytes);
        memcpy(x + j * bytes, &a, (size_t)bytes);
    }
}

static char data[MOST * 8 + 64], got[MOST * 8 + 64], want[MOST * 8 + 64];

static check_operator pick(const char *form, tally_dtype d)
{
    check_operator o;
    snprintf(o.op, sizeof o.op, "%s", form);
    o.dtype = d;
    check(!tally_operator(NULL, o.op, d, &o.info), "%s: %s", form, tally_error(NULL));
    o.bytes = (int64_t)tally_dtype_size(d);
    o.result = (int64_t)tally_dtype_size(o.info.output);
    return o;
}
#endif
