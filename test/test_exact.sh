#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Exact sums on the command line beside Python: math.fsum, and fractions for means and for sums that f32 rounds. Of the
# library beside fractions and integers of any width: exact statistics, sums of integers that 64 bits may not hold, exact
# sums of rows (include/tally_digits.h).
command -v python3 >/dev/null || { echo "exact: no python3"; exit 77; }
python3 "$TALLY_SOURCE/test/exact.py" "$TALLY_CLI" || exit 1
library=$TALLY_BUILD/libtally.so
[ -z "${TALLY_SANITIZE-}" ] && [ -f "$library" ] || { echo "exact: no libtally.so without sanitizers"; exit 77; }
python3 "$TALLY_SOURCE/test/digits.py" "$library" || exit 1
python3 "$TALLY_SOURCE/test/checked.py" "$library" || exit 1
exec python3 "$TALLY_SOURCE/test/exact_statistics.py" "$library"
