/* SPDX-License-Identifier: MIT
 * libFuzzer target: any bytes as a tally_digits that came from elsewhere. One that is sound can be
 * added to, merged with itself, taken back, made a tally_exact and used in every statistic; what
 * is taken back leaves the bytes of nothing. And any 576 bytes as a tally_exact. */
#include "api/digits.c"
#include "exact/ratio.c"
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>

typedef struct {
    tally_digits head;
    int64_t digit[DIGITS_MOST];
} large;

static void use(const large *given)
{
    large a = *given, none = {.head = {.room = DIGITS_MOST}};
    tally_exact sum, again;
    double value;
    int64_t first;
    assert(!tally_digits_add(&a.head, 0x1.8p-1070, 1) && !tally_digits_add(&a.head, -1e308, 1));
    assert(!tally_digits_add_product(&a.head, 1e-300, -1e-300, 1));
    assert(!tally_digits_merge(&a.head, &given->head, 1));
    assert(!tally_digits_merge(&a.head, &given->head, -1));
    assert(!tally_digits_merge(&none.head, &a.head, 1));
    assert(!tally_digits_merge(&none.head, &a.head, -1));
    memcpy(&first, &none, sizeof first);
    assert(!first); /* the count */
    for (int k = 0; k < none.head.used; k++) assert(!none.digit[k]);
    if (!tally_digits_exact(&given->head, &sum)) {
        tally_exact_init(&again);
        tally_exact_merge(&again, &sum);
        assert(!memcmp(&again, &sum, sizeof sum));
    }
    const tally_digits *const x = &given->head, *const y = &a.head;
    large added = {.head = {.room = DIGITS_MOST}};
    double other = 0;
    assert(!tally_digits_merge(&added.head, x, 1));
    value = 0;
    assert(tally_statistic_value(TALLY_SUM, &(tally_sums){.x = x}, TALLY_F64, &value) ==
           tally_statistic_value(TALLY_SUM, &(tally_sums){.x = &added.head}, TALLY_F64, &other));
    assert(!memcmp(&value, &other, sizeof value));
    for (int which = 0; tally_statistic_needs((tally_statistic)which); which++) {
        tally_statistic_value((tally_statistic)which, &(tally_sums){x, x, x, x, x}, TALLY_F64,
                              &value);
        tally_statistic_value((tally_statistic)which, &(tally_sums){x, y, x, y, y}, TALLY_F64,
                              &value);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    large given = {.head = {.room = 0}};
    if (tally_digits_sound(data, bytes)) {
        assert(bytes <= sizeof given);
        memcpy(&given, data, bytes);
        given.head.room = DIGITS_MOST;
        use(&given);
    }
    if (bytes == sizeof(tally_exact)) {
        tally_exact sum;
        memcpy(&sum, data, bytes);
        memset(&given, 0, sizeof given);
        given.head.room = DIGITS_MOST;
        assert(!tally_digits_merge_exact(&given.head, &sum, 1));
        use(&given);
        tally_exact settled = {{0}}, produced;
        tally_exact_merge(&settled, &sum);
        assert(!tally_digits_exact(&given.head, &produced));
        assert(!memcmp(&produced, &settled, sizeof produced));
        if (!tally_exact_problem(data, bytes)) assert(produced.word[71] >= 0);
    }
    return 0;
}
