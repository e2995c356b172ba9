#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The shared library exports the functions of include/tally.h, tally_gpu.h, tally_stream.h, tally_file.h, tally_arrow.h and tally_digits.h,
# the names in test/symbols.txt, and nothing else.
#   test/symbols.sh build/libtally.so
set -euo pipefail
cd "${TALLY_SOURCE:-$(dirname "$0")/..}"
library=$1
list=test/symbols.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# every symbol has the version that packaging/tally.map gives it, and only so does it count
nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@@TALLY_0$/, "", $3); print $3 }' | LC_ALL=C sort >"$work/exported"
grep -q '@' "$work/exported" && { echo "symbols: a version other than TALLY_0: $(grep '@' "$work/exported" | head -n 3)"; exit 1; }
nm -D --defined-only "$library" | awk '$2 == "T" && $3 !~ /@@TALLY_0$/ { print $3 }' >"$work/bare"
[ -s "$work/bare" ] && { echo "symbols: without a version: $(head -n 3 "$work/bare")"; exit 1; }
# every declaration that begins with TALLY_API: its name is the word before the first parenthesis
sed -nE 's/^TALLY_API .*[ *](tally_[a-z0-9_]+)\(.*/\1/p' include/tally{,_gpu,_stream,_file,_arrow,_digits}.h | LC_ALL=C sort >"$work/declared"
grep -vE '^(#|$)' $list | LC_ALL=C sort >"$work/listed"

same() { # same WHAT FILE
    diff -u --label "$list" --label "$1" "$work/listed" "$2" && return 0
    echo "symbols: $1 and $list differ"
    exit 1
}
same "the headers in include/" "$work/declared"
same "$library" "$work/exported"
echo "symbols: $(wc -l <"$work/listed") functions, as listed"
