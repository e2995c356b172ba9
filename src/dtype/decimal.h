/* SPDX-License-Identifier: MIT
 * Decimals as exact integers: the keys of windows, and lengths along them. */
#ifndef TALLY_DECIMAL_H
#define TALLY_DECIMAL_H

#include "tally.h"

/* Why a text is not a decimal that fits: it is not a number; it is outside -2^63 .. 2^64 - 1; it
 * has more than 18 digits after the point, not counting zeros at the end. */
enum { TL_DECIMAL_OK, TL_DECIMAL_BAD, TL_DECIMAL_RANGE, TL_DECIMAL_DIGITS };

/* Parses the whole text [s, e), in units of 1 / TALLY_KEY_PART. */
int tl_decimal_parse(const char *s, const char *e, __int128 *units);

/* Splits units into whole + part / TALLY_KEY_PART, 0 <= part < TALLY_KEY_PART. */
void tl_decimal_split(__int128 units, __int128 *whole, int64_t *part);
enum { TL_DECIMAL_CHARS = 48 };

/* Writes the decimal with the fewest digits, terminated by a zero byte. */
void tl_decimal_format(__int128 units, char out[TL_DECIMAL_CHARS]);

#endif
