/* SPDX-License-Identifier: MIT
 * libFuzzer: any bytes as text (fuzz_files.h says what must hold); and every cell that is a
 * plain decimal equals strtod_l in the C locale. */
#define _GNU_SOURCE
#include "fuzz_files.h"
#include <locale.h>

static void each_word(const uint8_t *data, size_t size)
{
    static locale_t c;
    char word[256];
    if (!c) c = newlocale(LC_ALL_MASK, "C", 0);
    for (size_t i = 0; i < size;) {
        size_t k = i;
        while (k < size && k - i < sizeof word - 1 && strchr("+-.0123456789eE", data[k]) && data[k])
            k++;
        memcpy(word, data + i, k - i);
        word[k - i] = 0;
        char *end;
        const double d = strtod_l(word, &end, c);
        const float f = strtof_l(word, &end, c);
        double mine = 0;
        float mine4 = 0;
        const int is = k > i && end == word + (k - i);
        if ((tally_parse_value(TALLY_F64, word, k - i, &mine) == TALLY_OK) != is ||
            (is && memcmp(&d, &mine, 8) != 0))
            abort();
        if (is && (tally_parse_value(TALLY_F32, word, k - i, &mine4) || memcmp(&f, &mine4, 4) != 0))
            abort();
        i = k + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 1 << 15) return 0; /* fits a pipe */
    every_way(data, size, "text");
    each_word(data + 2, size - 2);
    return 0;
}
