#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Exact sums of rows (include/tally_digits.h) beside fractions: test/digits.py. Exit 77: no Python or no shared library.
set -uo pipefail
command -v python3 >/dev/null || { echo "digits: no python3"; exit 77; }
[ -f "$TALLY_BUILD/libtally.so" ] || { echo "digits: no libtally.so"; exit 77; }
exec python3 "$TALLY_SOURCE/test/digits.py" "$TALLY_BUILD/libtally.so"
