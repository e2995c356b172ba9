#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The tables of doc/operators.md are what `tally ops` says and `tally reduce` does, for the rows of src/op/ops.def.
command -v python3 >/dev/null || { echo "operators: no python3"; exit 77; }
exec python3 "$TALLY_SOURCE/scripts/mkoperators" --check "$TALLY_CLI"
