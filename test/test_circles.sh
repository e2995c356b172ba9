#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# No circle of files in the library: who calls a function of another file is not called by it, over any number of steps.
# Read from the objects (nm) by tsort, which can order the files only then. The instances of operators are tables and
# stand for themselves.
#   test_circles.sh [FOLDER]      the objects of the library
set -uo pipefail
objects=${1:-$TALLY_BUILD/CMakeFiles/tally_parts.dir/src}
have() { command -v "$1" >/dev/null 2>&1; }
have nm && have tsort || { echo "skipped: nm or tsort is not here"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# An object whose source is gone is left over from another state of this build.
(cd "$objects" && find . -name '*.c.o' | while read -r o; do [ -f "$TALLY_SOURCE/src/${o%.o}" ] && echo "$o"; done | xargs nm -A 2>/dev/null) | awk '
    { split($1, part, ":"); file = part[1]; sub(/^\.\//, "", file); sub(/\.c\.o$/, "", file) }
    $(NF - 1) == "U" { uses[file " " $NF] = 1; next }
    $(NF - 1) ~ /[A-Z]/ { owner[$NF] = file }
    END { for (u in uses) { split(u, p, " "); if (p[2] in owner && owner[p[2]] != p[1]) print p[1], owner[p[2]] } }' | sort -u >"$work/arrows"
files=$(tr ' ' '\n' <"$work/arrows" | sort -u | wc -l)
[ "$files" -gt 50 ] || { echo "only $files files with arrows between them in $objects"; exit 1; }
tsort "$work/arrows" >"$work/order" 2>"$work/loops"
if [ -s "$work/loops" ]; then
    echo "circles:"
    sed 's/^tsort: //' "$work/loops"
    exit 1
fi
echo "$files files, $(wc -l <"$work/arrows") arrows, no circle; those above first:"
tr '\n' ' ' <"$work/order"
echo
# The folders: an arrow between files of two folders is one between the folders (test/layers.sh has those that may be).
sed -E 's#(^| )([^ ]*)/[^/ ]+#\1\2#g' "$work/arrows" | awk '$1 != $2' | sort -u >"$work/folders"
tsort "$work/folders" >"$work/order" 2>"$work/loops"
if [ -s "$work/loops" ]; then
    echo "circles of folders:"
    sed 's/^tsort: //' "$work/loops"
    exit 1
fi
echo "$(tr ' ' '\n' <"$work/folders" | sort -u | wc -l) folders, $(wc -l <"$work/folders") arrows, no circle; those above first:"
tr '\n' ' ' <"$work/order"
echo
