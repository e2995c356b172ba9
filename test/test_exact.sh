#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Exact sums on the command line beside Python: math.fsum, and fractions for means and for sums that f32 rounds.
command -v python3 >/dev/null || { echo "exact: no python3"; exit 77; }
exec python3 "$TALLY_SOURCE/test/exact.py" "$TALLY_CLI"
