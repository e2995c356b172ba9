#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The pages of the ladder in a browser without a network. tally ladder --html, driven by its keyboard (test_ladder_page.py). tally
# ladder lesson: right and wrong answers, graded as the command line grades them; keyboard, sizes, contrasts (test_ladder_lesson.py).
# Exit 77: no browser, or no lesson in this build.
set -u
[ -z "${TALLY_SANITIZE-}" ] || { echo "skipped: once is enough"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
for browser in chromium chromium-browser google-chrome none; do command -v $browser >/dev/null && break; done

# ---- the page ----
"$TALLY_CLI" ladder --device model --n 5000 --runs 1 --html "$work/page.html" >/dev/null || exit 1
"$TALLY_CLI" ladder show reduce/tiled_3 --plain | sed 's/        BARRIER();//' >"$work/nobarrier.cl"
"$TALLY_CLI" ladder try "$work/nobarrier.cl" --rung reduce/tiled_3 --device model --n 1000 \
    --html "$work/try.html" >/dev/null
if [ $browser != none ]; then
    "$TALLY_CLI" ladder scan --device model --n 65536 --runs 1 --sweep --dtype f32 --html "$work/wide.html" >/dev/null
    python3 "$(dirname "$0")/test_ladder_page.py" "$work/page.html" "$work/try.html" "$work/wide.html" || exit 1
fi

# ---- the lesson ----
"$TALLY_CLI" ladder lesson reduce 2>"$work/messages" >&2
[ $? -eq 2 ] && grep -q 'give --html FILE' "$work/messages" || { echo "FAILED: without --html: $(cat "$work/messages")"; exit 1; }
"$TALLY_CLI" ladder lesson reduce --html "$work/lesson.html" >/dev/null 2>"$work/messages"
case $? in
0) ;;
3) cat "$work/messages"; echo "skipped: no clang for wasm32 when this was built (scripts/setup --tests)"; exit 77 ;;
*) cat "$work/messages"; exit 1 ;;
esac
"$TALLY_CLI" ladder lesson scan --html "$work/x.html" 2>"$work/messages" >&2
[ $? -eq 2 ] && grep -q "there is no lesson 'scan'; choices: reduce" "$work/messages" && [ ! -e "$work/x.html" ] ||
    { echo "FAILED: lesson scan: $(cat "$work/messages")"; exit 1; }
[ $browser != none ] || { echo "skipped: no browser here (scripts/setup --tests installs one)"; exit 77; }
python3 "$(dirname "$0")/test_ladder_lesson.py" "$work/lesson.html" "$TALLY_CLI" "$TALLY_SOURCE/ladder/examples"
