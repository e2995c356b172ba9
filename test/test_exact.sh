#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Exact sums on the command line beside Python: math.fsum, and fractions for means and for sums that f32 rounds. Exact
# statistics of the library beside fractions.
command -v python3 >/dev/null || { echo "exact: no python3"; exit 77; }
python3 "$TALLY_SOURCE/test/exact.py" "$TALLY_CLI" || exit 1
[ -f "$TALLY_BUILD/libtally.so" ] || { echo "exact: no libtally.so"; exit 77; }
exec python3 "$TALLY_SOURCE/test/exact_statistics.py" "$TALLY_BUILD/libtally.so"
