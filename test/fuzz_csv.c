/* SPDX-License-Identifier: MIT
 * libFuzzer: any bytes as CSV: delimiter, header and columns guessed or given, quotes, tables,
 * lines kept. fuzz_files.h says what must hold. */
#define _GNU_SOURCE
#include "fuzz_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 1 << 15) return 0; /* fits a pipe */
    every_way(data, size, "csv");
    return 0;
}
