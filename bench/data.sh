#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Exact sums, keys, and groups of a CSV file, beside math.fsum, datamash and what else is installed.
#   bench/data.sh [BUILD] [GB of CSV]      BUILD: default build; TALLY_PYTHON: a Python with polars and duckdb
set -euo pipefail
build=$(cd "${1:-build}" && pwd) gb=${2:-1}
here=$(cd "$(dirname "$0")" && pwd) python=${TALLY_PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

echo "== exact sums, one thread; sum for comparison"
"$build/tally" bench sum:exact:f32:reduce:2^27 sum:exact:f64:reduce:2^26 mean:exact:f64:reduce:2^26 \
    sum:f32:reduce:2^27 sum:exact:f64:window=5:2^24 sum:exact:f64:window=5000:2^24 sum:exact:f64:scan:2^24 --threads 1
"$python" -c '
import math, random, time
x = [random.gauss(0, 1) for _ in range(1 << 22)]
t = time.perf_counter(); math.fsum(x); t = time.perf_counter() - t
print("math.fsum of 2^22: %.2f ms, %.2f GB/s" % (1e3 * t, 8 * len(x) / t / 1e9))'

echo "== keys"
cc -O2 -I"$here/../include" "$here/keys.c" "$build/libtally.a" -pthread -lm -ldl -o keys
./keys 1
./keys 2

echo "== groups of a CSV file of $gb GB, 1000 cities: seconds"
awk -v bytes="${gb}e9" 'BEGIN { srand(1); print "date,city,temp"
    for (b = 0; b < bytes; b += length(s) + 1) {
        r = int(rand() * 1e9); date = sprintf("20%02d-%02d-%02d", r % 25, r % 12 + 1, r % 28 + 1)
        s = sprintf("%s,City-%d,%d.%d", date, rand() * 1000, r % 40, r % 10); print s } }' >days.csv
timed() { # WHAT COMMAND: the best of 3
    local best=999999 begin elapsed
    for _ in 1 2 3; do
        begin=$(date +%s%N)
        bash -c "$2" >/dev/null || return 0
        elapsed=$((($(date +%s%N) - begin) / 1000))
        [ $elapsed -lt $best ] && best=$elapsed
    done
    awk -v s=$best -v n="$(stat -c %s days.csv)" -v what="$1" \
        'BEGIN { printf "%-28s %8.2f s  %.2f GB/s\n", what, s / 1e6, n / s / 1e3 }'
}
timed "read (wc -l)" "wc -l days.csv"
timed "tally, 1 thread" "'$build/tally' reduce mean --by city --column temp --threads 1 days.csv"
timed "tally" "'$build/tally' reduce mean --by city --column temp days.csv"
command -v datamash >/dev/null && timed "datamash -s -g" "datamash -t, --header-in -s -g 2 mean 3 <days.csv"
for library in polars duckdb; do
    "$python" -c "import $library" 2>/dev/null || continue
    case $library in
    polars) cat >polars.run.py <<'END' ;;
import polars as p
print(p.scan_csv("days.csv").group_by("city", maintain_order=True).agg(p.col("temp").mean()).collect())
END
    duckdb) cat >duckdb.run.py <<'END' ;;
import duckdb
print(duckdb.sql("select city, avg(temp) from read_csv('days.csv') group by city"))
END
    esac
    timed "$library" "'$python' $library.run.py"
done
