#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Windows of pandas, Polars and SQL beside tally's (test/windows.py), where these are installed:
#   python3 -m venv v && v/bin/pip install pandas polars duckdb && TALLY_PYTHON=v/bin/python ctest -R parity
python=${TALLY_PYTHON:-python3}
library=$TALLY_BUILD/libtally.so
[ -z "${TALLY_SANITIZE-}" ] && [ -e "$library" ] && command -v "$python" >/dev/null || { echo "parity: skipped"; exit 77; }
exec "$python" "$TALLY_SOURCE/test/windows.py" "$library" "$TALLY_CLI"
