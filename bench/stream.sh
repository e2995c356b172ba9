#!/bin/sh
# SPDX-License-Identifier: MIT
#
# stream.sh - a raw file larger than the memory that tally may use (ulimit -v), beside cat and dd reading it.
#
#   TALLY=../build/tally GIB=16 LIMIT_MIB=1024 ROUNDS=3 JSON=out.jsonl ./stream.sh
#
# The size is cut to what the disk (less 4 GiB) can hold, and the file is removed afterwards. If the file fits in the
# page cache this is the speed of the cache; DROP=1 (root) empties it before every reading: then it is the disk's.
cd "$(dirname "$0")" || exit 1
TALLY=${TALLY:-../build/tally} GIB=${GIB:-16} LIMIT_MIB=${LIMIT_MIB:-1024} ROUNDS=${ROUNDS:-3} JSON=${JSON:-/dev/null}
DATA=${DATA:-data}
mkdir -p "$DATA"
free=$(df -Pk "$DATA" | awk 'NR == 2 { print int($4 / 1048576) - 4 }')
[ "$GIB" -le "$free" ] || { echo "disk: $GIB GiB do not fit, $free do"; GIB=$free; }
[ "$GIB" -ge 1 ] || { echo "stream: no room on the disk"; exit 1; }
file=$DATA/stream.raw
times=$(mktemp) || exit 1
trap 'rm -f "$file" "$file.2" "$file.3" "$times"' EXIT INT TERM
# One MiB of random bytes, doubled to a GiB, then repeated: any bytes will do for a sum of i32.
head -c 1048576 /dev/urandom > "$file" || exit 1
seq 1 10 | while read -r _; do cat "$file" "$file" > "$file.2" && mv "$file.2" "$file"; done
i=1
while [ "$i" -lt "$GIB" ]; do
    head -c 1073741824 "$file" >> "$file.3" || exit 1
    i=$((i + 1))
done
[ "$GIB" = 1 ] || { cat "$file" >> "$file.3" && mv "$file.3" "$file"; }
bytes=$(wc -c < "$file")
sync
echo "stream: $bytes bytes, limit $LIMIT_MIB MiB of address space"

run() {
    # dash and bash have ulimit -v; cat straight to /dev/null may read nothing
    # shellcheck disable=SC3045,SC2002
    case $1 in
    tally) (ulimit -v $((LIMIT_MIB * 1024)) && "$TALLY" reduce sum --format raw --dtype i32 "$file") ;;
    cat) cat "$file" | cat > /dev/null ;;
    dd) dd if="$file" of=/dev/null bs=1M 2> /dev/null ;;
    esac
}
round=1
while [ "$round" -le "$ROUNDS" ]; do
    for name in tally dd cat; do
        [ "$name" != tally ] || [ -x "$TALLY" ] || continue
        [ -z "$DROP" ] || { sync; echo 3 > /proc/sys/vm/drop_caches; }
        start=$(date +%s%N)
        result=$(run "$name" 2>&1) || { echo "$name failed: $result"; continue; }
        printf '%s\t%s\n' "$name" $(($(date +%s%N) - start)) >> "$times"
        [ "$round$name" != 1tally ] || echo "    $result"
    done
    round=$((round + 1))
done
for name in tally dd cat; do
    awk -F '\t' -v name="$name" '$1 == name { print $2 }' "$times" | sort -n |
        awk -v name="$name" -v bytes="$bytes" -v json="$JSON" -v how="${DROP:+cold}" '
        { t[NR] = $1 }
        END {
            if (!NR) exit
            mbps = bytes / t[int((NR + 1) / 2)] * 1000
            printf "    %-8s %8.0f MB/s\n", name, mbps
            printf "{\"stream\": \"%s%s\", \"mbps\": %.1f}\n", name, how ? ", cold cache" : "", mbps >> json
        }'
done
