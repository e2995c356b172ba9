#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The page of tally ladder in a browser, driven by its keyboard (test_ladder_page.py). Exit 77: no browser here.
set -u
[ -z "${TALLY_SANITIZE-}" ] || { echo "skipped: once is enough"; exit 77; }
for browser in chromium chromium-browser google-chrome none; do command -v $browser >/dev/null && break; done
[ $browser != none ] || { echo "skipped: no browser here (scripts/setup --tests installs one)"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$TALLY_CLI" ladder --device model --n 5000 --runs 1 --html "$work/page.html" >/dev/null || exit 1
"$TALLY_CLI" ladder show reduce/tiled_3 --plain | sed 's/        BARRIER();//' >"$work/nobarrier.cl"
"$TALLY_CLI" ladder try "$work/nobarrier.cl" --rung reduce/tiled_3 --device model --n 1000 \
    --html "$work/try.html" >/dev/null
python3 "$(dirname "$0")/test_ladder_page.py" "$work/page.html" "$work/try.html"
