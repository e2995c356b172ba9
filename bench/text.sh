#!/bin/sh
# SPDX-License-Identifier: MIT
#
# text.sh - sum of decimals in a text file, whole processes, interleaved, the median of ROUNDS.
#
#   TALLY=../build/tally COUNT=50000000 ROUNDS=3 JSON=out.jsonl ./text.sh
#
# The file is read once before, so all find it in the page cache. A program that is not installed is left out.
cd "$(dirname "$0")" || exit 1
TALLY=${TALLY:-../build/tally} COUNT=${COUNT:-50000000} ROUNDS=${ROUNDS:-3} JSON=${JSON:-/dev/null}
PYTHON=${PYTHON:-python3} OUT=${OUT:-build} DATA=${DATA:-data}
mkdir -p "$DATA"
file=$DATA/decimals-$COUNT.txt
[ -s "$file" ] || "$OUT/gen_text" "$COUNT" > "$file" || exit 1
bytes=$(wc -c < "$file")
cat "$file" > /dev/null
echo "text: $COUNT decimals, $bytes bytes"

run() { # name; prints the result on stdout
    case $1 in
    "tally, 1 thread") "$TALLY" reduce sum --threads 1 "$file" ;;
    "tally, 2 threads") "$TALLY" reduce sum --threads 2 "$file" ;;
    datamash) datamash sum 1 < "$file" ;;
    mawk) mawk '{ s += $1 } END { printf "%.17g\n", s }' "$file" ;;
    gawk) LC_ALL=C gawk '{ s += $1 } END { printf "%.17g\n", s }' "$file" ;;
    python) "$PYTHON" -c 'import sys; print(sum(map(float, open(sys.argv[1]))))' "$file" ;;
    esac
}
here() { # name: is its program here?
    case $1 in
    tally*) [ -x "$TALLY" ] ;;
    python) command -v "$PYTHON" > /dev/null ;;
    *) command -v "$1" > /dev/null ;;
    esac
}
times=$(mktemp) || exit 1
trap 'rm -f "$times"' EXIT INT TERM
round=1
while [ "$round" -le "$ROUNDS" ]; do
    for name in "tally, 1 thread" "tally, 2 threads" datamash mawk gawk python; do
        here "$name" || continue
        start=$(date +%s%N)
        result=$(run "$name" 2>&1) || { echo "$name failed: $result"; continue; }
        end=$(date +%s%N)
        printf '%s\t%s\n' "$name" $((end - start)) >> "$times"
        [ "$round" = 1 ] && printf '    %-20s %s\n' "$name" "$(echo "$result" | tail -n 1)"
    done
    round=$((round + 1))
done
for name in "tally, 1 thread" "tally, 2 threads" datamash mawk gawk python; do
    awk -F '\t' -v name="$name" '$1 == name { print $2 }' "$times" | sort -n |
        awk -v name="$name" -v bytes="$bytes" -v json="$JSON" '
        { t[NR] = $1 }
        END {
            if (!NR) exit
            mbps = bytes / t[int((NR + 1) / 2)] * 1000
            printf "    %-20s %8.1f MB/s\n", name, mbps
            printf "{\"text\": \"%s\", \"mbps\": %.1f}\n", name, mbps >> json
        }'
done
[ -n "$KEEP" ] || rm -f "$file"
