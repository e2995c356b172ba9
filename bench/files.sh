#!/bin/sh
# SPDX-License-Identifier: MIT
#
# files.sh - whole processes on a file, interleaved, the median of ROUNDS. A program that is not installed is left out.
#
#   TALLY=../build/tally ROUNDS=3 JSON=out.jsonl COUNT=50000000 ./files.sh text
#       the sum of decimals in a text file, which is read once before, so all find it in the page cache
#   TALLY=../build/tally ROUNDS=3 JSON=out.jsonl GIB=16 LIMIT_MIB=1024 ./files.sh stream
#       the sum of a raw file larger than the memory that tally may use (ulimit -v), beside cat and dd reading it. The
#       size is cut to what the disk (less 4 GiB) can hold, and the file is removed afterwards. If the file fits in the
#       page cache this is the speed of the cache; DROP=1 (root) empties it before every reading: then it is the disk's.
cd "$(dirname "$0")" || exit 1
TALLY=${TALLY:-../build/tally} ROUNDS=${ROUNDS:-3} JSON=${JSON:-/dev/null} DATA=${DATA:-data} PYTHON=${PYTHON:-python3}
mkdir -p "$DATA"
what=$1

make_text() {
    file=$DATA/decimals-$COUNT.txt
    [ -s "$file" ] || "${OUT:-build}/gen_text" "$COUNT" > "$file" || exit 1
    cat "$file" > /dev/null
    echo "text: $COUNT decimals, $(wc -c < "$file") bytes"
}
make_stream() {
    free=$(df -Pk "$DATA" | awk 'NR == 2 { print int($4 / 1048576) - 4 }')
    [ "$GIB" -le "$free" ] || { echo "disk: $GIB GiB do not fit, $free do"; GIB=$free; }
    [ "$GIB" -ge 1 ] || { echo "stream: no space on the disk"; exit 1; }
    file=$DATA/stream.raw
    # One MiB of random bytes, doubled to a GiB, then repeated: any bytes will do for a sum of i32.
    head -c 1048576 /dev/urandom > "$file" || exit 1
    seq 1 10 | while read -r _; do cat "$file" "$file" > "$file.2" && mv "$file.2" "$file"; done
    i=1
    while [ "$i" -lt "$GIB" ]; do
        head -c 1073741824 "$file" >> "$file.3" || exit 1
        i=$((i + 1))
    done
    [ "$GIB" = 1 ] || { cat "$file" >> "$file.3" && mv "$file.3" "$file"; }
    sync
    echo "stream: $(wc -c < "$file") bytes, limit $LIMIT_MIB MiB of address space"
}

run() { # name; prints the result on stdout
    # dash and bash have ulimit -v; cat straight to /dev/null may read nothing
    # shellcheck disable=SC3045,SC2002
    case $1 in
    tally) (ulimit -v $((LIMIT_MIB * 1024)) && "$TALLY" reduce sum --format raw --dtype i32 "$file") ;;
    "tally, 1 thread") "$TALLY" reduce sum --threads 1 "$file" ;;
    "tally, 2 threads") "$TALLY" reduce sum --threads 2 "$file" ;;
    datamash) datamash sum 1 < "$file" ;;
    mawk) mawk '{ s += $1 } END { printf "%.17g\n", s }' "$file" ;;
    gawk) LC_ALL=C gawk '{ s += $1 } END { printf "%.17g\n", s }' "$file" ;;
    python) "$PYTHON" -c 'import sys; print(sum(map(float, open(sys.argv[1]))))' "$file" ;;
    cat) cat "$file" | cat > /dev/null ;;
    dd) dd if="$file" of=/dev/null bs=1M 2> /dev/null ;;
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
case $what in
text)
    COUNT=${COUNT:-50000000}
    trap 'rm -f "$times"; [ -n "$KEEP" ] || rm -f "$file"' EXIT INT TERM
    make_text
    set -- "tally, 1 thread" "tally, 2 threads" datamash mawk gawk python ;;
stream)
    GIB=${GIB:-16} LIMIT_MIB=${LIMIT_MIB:-1024}
    trap 'rm -f "$file" "$file.2" "$file.3" "$times"' EXIT INT TERM
    make_stream
    set -- tally dd cat ;;
*) echo "usage: files.sh text | stream"; exit 2 ;;
esac
round=1
while [ "$round" -le "$ROUNDS" ]; do
    for name; do
        here "$name" || continue
        [ -z "$DROP" ] || { sync; echo 3 > /proc/sys/vm/drop_caches; }
        start=$(date +%s%N)
        result=$(run "$name" 2>&1) || { echo "$name failed: $result"; continue; }
        printf '%s\t%s\n' "$name" $(($(date +%s%N) - start)) >> "$times"
        [ "$round" != 1 ] || [ -z "$result" ] || printf '    %-20s %s\n' "$name" "$(echo "$result" | tail -n 1)"
    done
    round=$((round + 1))
done
for name; do
    awk -F '\t' -v name="$name" '$1 == name { print $2 }' "$times" | sort -n |
        awk -v what="$what" -v name="$name" -v bytes="$(wc -c < "$file")" -v json="$JSON" \
            -v how="${DROP:+, cold cache}" '
        { t[NR] = $1 }
        END {
            if (!NR) exit
            mbps = bytes / t[int((NR + 1) / 2)] * 1000
            printf "    %-20s %8.1f MB/s\n", name, mbps
            printf "{\"%s\": \"%s%s\", \"mbps\": %.1f}\n", what, name, how, mbps >> json
        }'
done
