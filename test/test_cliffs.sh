#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The cliff finder (bench/cliffs) on a few cells: it builds, checks bits, writes its table, the map and the report, and
# goes on where it was stopped; doc/performance.md says what the recorded tables say. Never how fast anything is.
set -uo pipefail
bad=0
fail() {
    echo "FAILED: $*"
    bad=1
}
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
python3 "$TALLY_SOURCE/bench/cliffs.py" check || fail "doc/performance.md and the tables"
if [ -n "${TALLY_SANITIZE-}" ]; then exit $bad; fi # the benchmark is not built with sanitizers

rm -rf cliffs && mkdir cliffs && cd cliffs || exit 1
run() { env -u MAKEFLAGS CC="${CC:-gcc}" OUT="$PWD/out" "$TALLY_SOURCE/bench/cliffs" "$TALLY_BUILD" "$@" --rounds 3 --bytes 65536 2>&1; }
cells() { grep -c '^cpu,' "$1"; }
few=(--threads 1 --ops sum,ema:0.1,brackets --types f32,i8 --shapes reduce,scan,window=5 --views rows=8,columns=16,segments=20,misaligned)

answer=$(run --file a.csv "${few[@]}" --sizes dram) || fail "a run: $answer"
[[ $answer == *" 0 failed"* ]] || fail "the last line: $answer"
[[ $answer == *"the 10 worst of"* && $answer == *"are above 1.03 of their ceiling"* && $answer == *"percent of the ceiling"* ]] ||
    fail "the report: $answer"
n=$(cells a.csv)
[ "$n" -eq 60 ] || fail "$n cells"
sed -n '/^cpu,/p' a.csv | awk -F, 'NF != 18 || $8 < 1 || $11 <= 0 || $13 <= 0 || $16 <= 0 || $18 !~ /^[1-9][0-9]*\/[1-9][0-9]*$/' |
    { ! grep .; } || fail "rows of the table"
for verb in reduce scan window=5; do grep -q ",$verb," a.csv || fail "no $verb"; done
grep -qE '^# run 20[0-9-]+T[0-9:]+Z, tally [0-9.]+, cpu, .*load ' a.csv || fail "date and machine"
grep -q '</main></body></html>' a.html && grep -q 'scope="row">scan columns=16' a.html || fail "the map"
grep -qE 'src=|href=|@import|http' a.html && fail "the map asks the network for something"
[ "$(grep -o '<td style' a.html | wc -l)" -gt 20 ] || fail "the map is empty"

# threads and a size in elements
answer=$(run --file d.csv --threads 1,2 --ops sum --types f64 --shapes scan --views flat --sizes 2^10) || fail "threads: $answer"
[ "$(cut -d, -f1,2,7,8 d.csv | grep -cE '^cpu,[12],2\^10,1024$')" -eq 2 ] && [[ $answer == *"calls: nanoseconds"* ]] ||
    fail "threads: $answer"

# what the file has is not measured again; a line that was cut off is
head -n 50 a.csv >b.csv && printf 'cpu,2,sum,f32,red' >>b.csv
answer=$(run --file b.csv "${few[@]}" --sizes dram) || fail "going on: $answer"
[ "$(cells b.csv)" -eq "$n" ] && [ "$(grep '^cpu,' b.csv | cut -d, -f1-7 | sort -u | wc -l)" -eq "$n" ] || fail "a cell is missing or twice"
answer=$(run --file b.csv "${few[@]}" --sizes dram)
[[ $answer == *"0 of 0 cells"* ]] || fail "nothing to do: $answer"

# both quick sheets exist, and words that are none are one sentence
[[ $(run --quick --list | tail -n 1) =~ ^1[0-9][0-9]\ cells$ ]] || fail "quick"
for wrong in "--ops summ" "--types f33" "--views rows=3" "--sizes l3" "--shapes sort" "--device fpga" "--fast"; do
    # shellcheck disable=SC2086
    answer=$("$PWD/out/cliffs" --file c.csv $wrong 2>&1) && fail "$wrong is taken"
    [[ $answer == cliffs:* ]] || fail "$wrong: $answer"
done

# a sweep: numbers that the other sets have not, random ones too; a cell that is slower than its neighbour is listed first
swept=$("$PWD/out/cliffs" --sweep --list --threads 1 --shapes reduce)
for view in rows=1 rows=130 columns=3 columns=127 columns=255 columns=4097; do
    [[ $swept == *",reduce,$view,dram"* ]] || fail "the sweep has no $view"
done
[[ $swept != *flat* && $swept != *segments* ]] && [ "$(grep -cE 'rows=([2-9][0-9]{2}|[1-4][0-9]{3})' <<<"$swept")" -gt 20 ] ||
    fail "the sweep: $(tail -n 1 <<<"$swept")"
answer=$(run --sweep --file s.csv --threads 1 --views columns=4,columns=5,columns=6,rows=3,rows=5 --shapes scan) || fail "a sweep: $answer"
[ "$(cells s.csv)" -eq 5 ] || fail "a sweep of $(cells s.csv) cells"
awk -F, -v OFS=, '/^cpu,/ { $17 = $6 == "columns=5" ? 6 : 10 } 1' s.csv >slow.csv
answer=$(python3 "$TALLY_SOURCE/bench/cliffs.py" report slow.csv)
[[ $answer == *$'1 are below 0.7 of their neighbour; the worst:\n  sum f32, scan, columns=5, '*" 0.600 "*"6.00 GB/s, columns="[46]" 10.00"* ]] ||
    fail "the neighbours: $answer"

# an operator that promises what it does not do (a twin that is not its combine) has other bits than the law, in every view
mkdir -p liars && awk '/^fn result lower/ { print "fn state twin(state a, state b) { state r; r.s = a.s + b.s + num(1.0); return r; }" }
    /^#define OP_STATE/ { print "#define OP_TWIN 1" } { print }' "$TALLY_SOURCE/examples/operators/squares.h" >liars/liar.h
for case in "reduce flat" "scan columns=16" "window=5 segments=20"; do
    read -r shape view <<<"$case"
    answer=$("$PWD/out/cliffs" --file liar.csv --operators liars --ops liar --types f32 --sizes 2^12 --threads 1 --shapes "$shape" --views "$view" 2>&1)
    [ $? -eq 1 ] && [[ $answer == *"other bits than the law's"* ]] || fail "a wrong result is not seen: $answer"
done
grep -q '^cpu' liar.csv && fail "a wrong result is in the table"

# a table whose words the page does not have: the check sees it
mkdir -p copy/bench copy/doc && cp "$TALLY_SOURCE/bench/cliffs.py" "$TALLY_SOURCE/bench/cells.def" "$TALLY_SOURCE/bench/reasons.csv" copy/bench/ && cp a.csv copy/bench/
printf 'A\n<!-- cliffs: x (by hand) -->\n<!-- /cliffs -->\nZ\n' >copy/doc/performance.md
check() { python3 copy/bench/cliffs.py check 2>&1; }
head -n 4 "$TALLY_SOURCE/bench/reasons.csv" >copy/bench/none.csv # its comments and its first line
awk -F, -v OFS=, '/^cpu,/ { $16 = "0.9" } 1' a.csv >copy/bench/a.csv
cp copy/bench/none.csv copy/bench/reasons.csv
python3 copy/bench/cliffs.py page copy/bench/a.csv && check >/dev/null || fail "writing the paragraph"
[ "$(sed -n '1p;$p' copy/doc/performance.md | tr -d '\n')" = AZ ] || fail "the rest of the page"
# a reason excuses its own cell down to its own ratio, and no other
awk -F, -v OFS=, '/^cpu,/ { $16 = $3 == "sum" && $4 == "i8" && $5 == "scan" && $6 == "rows=8" ? "0.1" : "0.9" } 1' \
    a.csv >copy/bench/low.csv
python3 copy/bench/cliffs.py page copy/bench/low.csv
unsaid="low.csv: below the floor, and bench/reasons.csv does not say why: sum i8, scan, rows=8, dram, 1 thread 0.100"
[[ $(check) == *"$unsaid" ]] || fail "a low cell without a reason"
reason() { { cat copy/bench/none.csv && printf '%s\n' "$@"; } >copy/bench/reasons.csv; }
reason 'cpu,sum,i8,scan,rows=8,dram,0.10,a test' && check >/dev/null || fail "a cell with its reason: $(check)"
reason 'cpu,sum,i8,scan,rows=8,dram,0.11,a test' && [[ $(check) == *"$unsaid" ]] || fail "slower than its reason allows"
reason 'cpu,sum,i8,scan,rows=8,l2,0.10,a test' && [[ $(check) == *"$unsaid" ]] || fail "the reason of another cell"
reason 'cpu,sum,*,scan,rows=8,dram,0.10,a test' && [[ $(check) == *"without wildcards" ]] || fail "a wildcard"
reason 'cpu,sum,i8,scan,rows=8,dram,0.10,a' 'cpu,max,i8,scan,rows=8,dram,0.10,b' &&
    [[ $(check) == *"max i8 scan rows=8 dram: no table of doc/performance.md has this cell below the floor"* ]] ||
    fail "a reason that nothing needs"
cp copy/bench/none.csv copy/bench/reasons.csv
python3 copy/bench/cliffs.py page copy/bench/a.csv
sed -i 's/worst/best/' copy/doc/performance.md
python3 copy/bench/cliffs.py check >/dev/null 2>&1 && fail "a page that says something else is not seen"
exit $bad
