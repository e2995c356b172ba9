#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Exact statistics beside fractions: test/exact_statistics.py. Exit 77: no Python or no shared library.
set -uo pipefail
command -v python3 >/dev/null || { echo "exact statistics: no python3"; exit 77; }
[ -f "$TALLY_BUILD/libtally.so" ] || { echo "exact statistics: no libtally.so"; exit 77; }
exec python3 "$TALLY_SOURCE/test/exact_statistics.py" "$TALLY_BUILD/libtally.so"
