/* SPDX-License-Identifier: MIT
 * libFuzzer: any bytes as CSV: delimiter, header and columns guessed or given, quotes, tables,
 * lines kept. fuzz_text.c says what must hold. */
#define FORMAT "csv"
#include "fuzz_text.c"
