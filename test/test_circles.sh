#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# No circle of files among those of the GPU engine: who calls a function of another file is not called by it, over any number of steps. Read
# from the objects in the static library (nm) by tsort, which can order the files only then.
#   test_circles.sh [PATTERN [LIBRARY]]      the files it looks at (an awk pattern), the library
set -uo pipefail
pattern=${1:-'^(gpu_|gpu$|cuda|opencl|program|nvrtc|archive)'}
library=${2:-$TALLY_BUILD/libtally.a}
have() { command -v "$1" >/dev/null 2>&1; }
have nm && have tsort || { echo "skipped: nm or tsort is not here"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nm -A "$library" 2>/dev/null | awk -v pattern="$pattern" '
    { split($1, part, ":"); file = part[2]; sub(/\.c\.o$/, "", file) }
    file !~ pattern { next }
    $(NF - 1) == "U" { uses[file " " $NF] = 1; next }
    $(NF - 1) ~ /[A-Z]/ { owner[$NF] = file }
    END { for (u in uses) { split(u, p, " "); if (p[2] in owner && owner[p[2]] != p[1]) print p[1], owner[p[2]] } }' | sort -u >"$work/arrows"
files=$(tr ' ' '\n' <"$work/arrows" | sort -u | wc -l)
[ "$files" -gt 1 ] || { echo "no arrows between files that match $pattern in $library"; exit 1; }
tsort "$work/arrows" >"$work/order" 2>"$work/loops"
if [ -s "$work/loops" ]; then
    echo "circles:"
    sed 's/^tsort: //' "$work/loops"
    exit 1
fi
echo "$files files, $(wc -l <"$work/arrows") arrows, no circle; those above first:"
tr '\n' ' ' <"$work/order"
echo
