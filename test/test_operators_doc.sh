#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The tables of doc/operators.md and the list in README.md are what `tally ops` says, `tally reduce` does and src/op/ops.def has.
command -v python3 >/dev/null || { echo "operators: no python3"; exit 77; }
exec python3 "$TALLY_SOURCE/scripts/mkoperators" --check "$TALLY_CLI"
