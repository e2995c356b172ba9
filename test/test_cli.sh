#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_cli.sh TALLY - the command line by exact expected output: every verb, option, exit code and error sentence.
#
#   ok COMMAND EXPECTED            exit 0, standard output exactly EXPECTED, nothing on standard error
#   says COMMAND EXPECTED          exit 0, standard error exactly EXPECTED
#   bad CODE COMMAND EXPECTED      exit CODE, standard error exactly EXPECTED
#   has COMMAND PATTERN            exit 0, output matches the extended regular expression
# Commands run in a folder of their own, where `tally` is the binary.
# shellcheck disable=SC2016 # commands are quoted on purpose: bash -c expands them
set -u
here=$(cd "$(dirname "$0")" && pwd)
binary=${1:-${TALLY_CLI:?usage: test_cli.sh TALLY}}
binary=$(cd "$(dirname "$binary")" && pwd)/$(basename "$binary")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/run" && ln -s "$binary" "$work/bin/tally"
export PATH=$work/bin:$PATH LC_ALL=C
unset TALLY_DEVICE TALLY_THREADS TALLY_ISA
cd "$work/run" || exit 1
python3 "$here/cli/make_npy.py" . || exit 1
passed=0 failed=0

verdict() # NAME GOOD DETAIL
{
    if [ "$2" -eq 0 ]; then passed=$((passed + 1)); return; fi
    failed=$((failed + 1))
    printf 'FAILED %s\n%s\n' "$1" "$3"
}
check() # CODE COMMAND FILE EXPECTED: runs, compares the code and one stream; the other stream must be silent when CODE is 0
{
    local code
    bash -o pipefail -c "$2" >"$work/out" 2>"$work/err" </dev/null
    code=$?
    printf '%s' "$4${4:+$'\n'}" >"$work/want"
    local quiet=0
    if [ "$3" = out ] && [ -s "$work/err" ]; then quiet=1; fi
    [ "$code" -eq "$1" ] && [ $quiet -eq 0 ] && cmp -s "$work/want" "$work/$3"
    verdict "$2" $? "exit $code, wanted $1; difference in std$3:
$(diff "$work/want" "$work/$3" | head -20) $(head -3 "$work/err")"
}
ok() { check 0 "$1" out "$2"; }
says() { check 0 "$1" err "$2"; }
bad() { check "$1" "$2" err "$3"; }
has()
{
    bash -o pipefail -c "$1" >"$work/out" 2>&1 </dev/null && grep -Eq -- "$2" "$work/out"
    verdict "$1 ~ $2" $? "$(head -5 "$work/out")"
}
same() { ok "$1" "$(bash -c "$2" 2>&1 </dev/null)"; } # two commands, one output
t=$'\t'

# ---- reduce: text, pipes, tables ----
ok 'seq 1 1000000 | tally reduce sum' 500000500000
ok 'seq 1 1000000 | tally reduce sum -' 500000500000
ok 'seq 1 10 | tally reduce sum,mean,minmax' "sum${t}mean${t}minmax.min${t}minmax.max
55${t}5.5${t}1${t}10"
ok 'seq 1 10 | tally reduce minmax' "1${t}10"
ok 'seq 1 5 >a.txt; seq 6 9 >b.txt; tally reduce sum a.txt b.txt' "file${t}sum
a.txt${t}15
b.txt${t}30"
ok 'tally reduce sum,max a.txt b.txt' "file${t}sum${t}max
a.txt${t}15${t}5
b.txt${t}30${t}9"
ok 'tally reduce var:1 a.txt' 2.5
ok 'tally reduce var:ddof=1,std a.txt' "var:ddof=1${t}std
2.5${t}1.4142135623730951"
ok 'tally reduce ema:0.5 a.txt' 4.0625
ok 'printf "" | tally reduce sum,mean,count,prod' "sum${t}mean${t}count${t}prod
0${t}nan${t}0${t}1"
ok 'printf "0.1\n0.2\n" | tally reduce sum --hex' 0x3fd3333333333334
ok 'printf "0.1\n0.2\n" | tally reduce sum' 0.30000000000000004
ok 'printf "0.1\n0.2\n" | tally reduce sum --dtype f32' 0.3
ok 'printf "0.1\n0.2\n" | tally reduce sum:f64 --dtype f32' 0.30000000447034836
ok 'printf "200\n100\n" | tally reduce sum,max --dtype u8' "sum${t}max
300${t}200"
ok 'printf "9223372036854775807\n1\n" | tally reduce sum --dtype i64' -9223372036854775808
ok 'printf "18446744073709551615\n" | tally reduce max --dtype=u64' 18446744073709551615
ok 'printf "nan\n1\n" | tally reduce nansum,max,count' "nansum${t}max${t}count
1${t}nan${t}1"
ok 'printf "7\n7\n9\n9\n" | tally reduce argmin,argmax,first,last,any,all' "argmin${t}argmax${t}first${t}last${t}any${t}all
0${t}2${t}7${t}9${t}1${t}1"
ok 'printf "12\n10\n" | tally reduce and,or,xor --dtype i32' "and${t}or${t}xor
8${t}14${t}6"
ok 'tally reduce sum -- a.txt' 15
ok 'tally reduce --threads 1 sum a.txt --device cpu' 15
ok 'tally reduce sum a.txt --device cpu,threads=1' 15
ok 'TALLY_DEVICE=cpu TALLY_THREADS=1 tally reduce sum a.txt' 15
ok 'tally reduce sum a.txt --device cpu:0,threads=1' 15

# ---- npy, raw, csv ----
for f in m f b fb; do
    ok "tally reduce sum,first,last $f.npy" "sum${t}first${t}last
21${t}1${t}6"
    ok "tally reduce sum --axis 0 $f.npy" $'5\n7\n9'
    ok "tally reduce sum --axis 1 $f.npy" $'6\n15'
    ok "tally reduce minmax --axis -1 $f.npy" "1${t}3
4${t}6"
    ok "tally scan sum $f.npy" $'1\n3\n6\n10\n15\n21'
    ok "tally scan sum --axis 0 $f.npy" $'1 2 3\n5 7 9'
    ok "tally scan sum --reverse $f.npy" $'21\n20\n18\n15\n11\n6'
    ok "tally window sum -w 2 --axis 1 --edges valid $f.npy" $'3 5\n9 11'
done
for f in c cf; do
    ok "tally reduce sum --axis 0 $f.npy" $'8\n17\n13\n13\n17\n8\n3\n19\n22\n29\n23\n4'
    ok "tally reduce sum --axis 1 $f.npy" $'29\n22\n21\n26\n18\n32\n18\n10'
    ok "tally reduce sum --axis 2 $f.npy" $'14\n41\n43\n37\n6\n35'
    same "tally scan last --axis 1 --digest $f.npy" 'tally scan last --axis 2 --digest c.npy'
done
ok 'tally reduce sum,mean,min empty.npy' "sum${t}mean${t}min
0${t}nan${t}nan"
ok 'tally reduce nansum,max,first,min nan.npy' "nansum${t}max${t}first${t}min
inf${t}nan${t}1.5${t}nan"
ok 'cat m.npy | tally reduce sum' 21
ok 'cat f.npy | tally reduce first,last --axis 0' "first${t}last
1${t}4
2${t}5
3${t}6"
ok 'printf "\001\002\003\004" >x.raw; tally reduce sum --dtype u8 x.raw' 10
ok 'tally reduce sum --dtype u16 --format raw x.raw' 1540
ok 'tally reduce sum --dtype u8 --shape 2x2 --axis 0 x.raw' $'4\n6'
ok 'cat x.raw | tally reduce sum --dtype u8 --format raw --shape 2x2 --axis 1' $'3\n7'
ok 'seq 6 | tally reduce sum --shape 3x2 --axis 1' $'3\n7\n11'
ok 'printf "day,price\nmon,1.5\ntue,2.5\n" >p.csv; tally reduce sum --column price p.csv' 4
ok 'tally reduce sum p.csv' 4
ok 'tally reduce sum --column 2 --header yes p.csv' 4
ok 'printf "1;2\n3;4\n" | tally reduce sum --format csv --delimiter semicolon --column 2 --header no' 6
ok 'printf "1|2\n3|4\n" | tally reduce sum --format csv --delimiter "|" --column 2 --header no' 6
says 'printf "1\nx\n3\n" | tally reduce sum --skip-bad' 'tally: standard input: skipped 1 bad cell'
says 'printf "1\nx\n3\n" | tally reduce sum --skip-bad --quiet' ''
ok 'printf "1\nx\n3\n" | tally reduce sum --skip-bad -q' 4
ok 'printf "0\n2\n2\n6\n" >seg.txt; tally reduce sum,count --segments seg.txt m.npy' "sum${t}count
3${t}2
0${t}0
18${t}4"
ok 'tally reduce sum --segments seg.npy m.npy' $'3\n0\n18'
ok 'tally reduce sum --segments seg.npy f.npy' $'3\n0\n18'
ok 'tally scan sum --segments seg.npy m.npy' $'1\n3\n3\n7\n12\n18'
ok 'tally window max -w 2 --edges shrink --segments seg.npy m.npy' $'1\n2\n3\n4\n5\n6'

# ---- output ----
ok 'tally reduce sum m.npy -o r.npy && tally reduce sum r.npy' 21
ok 'tally reduce sum --axis 0 m.npy -o r.npy && tally scan sum r.npy' $'5\n12\n21'
ok 'tally reduce sum,max m.npy c.npy -o r.csv && cat r.csv' $'file,sum,max\nm.npy,21,6\nc.npy,176,16'
ok 'tally reduce sum,max m.npy -o r.txt && cat r.txt' "sum${t}max
21${t}6"
ok 'tally reduce sum,max m.npy --to csv' $'sum,max\n21,6'
ok 'tally reduce sum m.npy -o r.raw && od -An -tx1 r.raw' ' 15 00 00 00 00 00 00 00'
ok 'tally reduce sum --to raw m.npy | od -An -tx1' ' 15 00 00 00 00 00 00 00'
same 'tally reduce sum --digest --axis 0 m.npy' 'tally reduce sum --axis 0 --to raw m.npy | sha256sum | cut -d" " -f1'
same 'tally scan sum --digest m.npy' 'tally scan sum --to raw m.npy | sha256sum | cut -d" " -f1'
same 'seq 100000 | tally window mean -w 9 --digest' 'seq 100000 | tally window mean -w 9 --to raw | sha256sum | cut -d" " -f1'
same 'seq 100000 | tally reduce sum,var --digest --threads 1' 'seq 100000 | tally reduce sum,var --digest'
ok 'seq 3 | tally scan sum -o s.csv; cat s.csv' $'1\n3\n6'
ok 'seq 3 | tally scan sum -o s.npy --digest >/dev/null; tally reduce last s.npy' 6
ok 'seq 3 | tally scan sum -o s.npy; ls s.npy*' s.npy
ok 'seq 3 | tally scan sum --hex' $'0x3ff0000000000000\n0x4008000000000000\n0x4018000000000000'
ok 'echo old >keep.txt; printf "1\nx\n" | tally scan sum -o keep.txt 2>/dev/null; cat keep.txt; ls keep*' $'old\nkeep.txt'

# ---- scan ----
ok 'seq 1 5 | tally scan sum' $'1\n3\n6\n10\n15'
ok 'seq 1 5 | tally scan sum --exclusive' $'0\n1\n3\n6\n10'
ok 'seq 1 5 | tally scan sum --reverse' $'15\n14\n12\n9\n5'
ok 'seq 1 5 | tally scan sum --init 100' $'101\n103\n106\n110\n115'
ok 'seq 1 5 | tally scan max --exclusive --init 3' $'3\n3\n3\n3\n4'
ok 'seq 1 5 | tally scan sum --reverse --exclusive' $'14\n12\n9\n5\n0'
ok 'seq 1 3 | tally scan minmax' $'1 1\n1 2\n1 3'
ok 'seq 1 3 | tally scan ema:0.5' $'1\n1.5\n2.25'
ok 'printf "" | tally scan sum' ''
ok 'seq 6 | tally scan sum --shape 3x2 --axis 0' $'1 2\n4 6\n9 12'
same 'seq 300000 | tally scan mean --threads 2 --digest' 'seq 300000 | tally scan mean --threads 1 --digest'
same 'seq 300000 | tally scan mean | tail -n 1' 'seq 300000 | tally reduce mean'

# ---- window ----
ok 'seq 1 6 | tally window mean -w 3 --edges valid' $'2\n3\n4\n5'
ok 'seq 1 5 | tally window sum -w 3' $'0\n0\n6\n9\n12'
ok 'seq 1 5 | tally window mean -w 3' $'nan\nnan\n2\n3\n4'
ok 'seq 1 5 | tally window sum -w3 --edges=shrink' $'1\n3\n6\n9\n12'
ok 'seq 1 5 | tally window sum -w 3 --center --edges shrink' $'3\n6\n9\n12\n9'
ok 'seq 1 5 | tally window sum --before 1 --after 1 --edges shrink' $'3\n6\n9\n12\n9'
ok 'seq 1 5 | tally window sum --after 1 --edges valid' $'3\n5\n7\n9'
ok 'seq 1 4 | tally window mean -w 3 --min-count 2' $'nan\n1.5\n2\n3'
ok 'seq 1 4 | tally window max -w 1e3 --edges shrink' $'1\n2\n3\n4'
ok 'seq 1 4 | tally window max -w 2^40 --edges shrink' $'1\n2\n3\n4'
ok 'seq 1 4 | tally window max -w 2^61 --center --edges shrink' $'4\n4\n4\n4'
ok 'seq 1 4 | tally window max -w 2^40 --edges valid' ''
ok 'tally window max -w 1Ti --edges missing empty.npy' ''
same 'seq 1 70000 | tally window mean -w 5e2 --edges valid | tail -n 1' 'seq 69501 70000 | tally reduce mean'

# ---- json ----
ok 'seq 1 5 | tally reduce sum,minmax --json' '{"file": "-", "dtype": "f64", "n": 5, "shape": [5], "skipped": 0, "order": "E v1", "results": [
  {"op": "sum", "dtype": "f64", "value": 15, "bits": "0x402e000000000000"},
  {"op": "minmax", "dtype": "f64", "value": [1, 5], "bits": ["0x3ff0000000000000", "0x4014000000000000"]}]}'
for c in 'reduce sum,max,minmax nan.npy' 'reduce sum m.npy c.npy' 'reduce minmax --axis 0 m.npy' 'scan sum nan.npy' 'scan minmax m.npy' \
    'window mean -w 2 m.npy' 'scan sum m.npy -o j.npy' 'scan sum m.npy --digest' 'reduce mean --digest m.npy' 'devices' 'ops' 'ops ema' \
    'ops --dtype u8' 'verify --cases 3' 'bench sum:f32:reduce:2^10 sum:f32:scan:2^10 --runs 2' 'reduce sum empty.npy'; do
    has "tally ${c%% *} --json ${c#"${c%% *}"} | python3 -m json.tool" '.'
done

# ---- terminal: the aligned table ----
if command -v script >/dev/null; then
    ok "script -qec 'tally reduce sum,mean a.txt' /dev/null | tr -d '\r'" $'sum   15\nmean  3'
    ok "script -qec 'tally reduce sum,mean a.txt p.csv' /dev/null | tr -d '\r'" $'file   sum  mean\na.txt   15     3\np.csv    4     2'
    ok "script -qec 'tally reduce sum,max --axis 1 m.npy' /dev/null | tr -d '\r'" $'row  sum  max\n0      6    3\n1     15    6'
fi

# ---- the other verbs ----
has 'tally devices' '^cpu '
has 'tally devices' 'isa: '
has 'tally ops' '^minmax'
has 'tally ops --dtype i16' '^sum +i64 +X'
has 'tally ops ema' 'alpha'
has 'tally ops sum' '^  f16 +f32'
has 'tally ops sum' 'sum:f64 accumulates'
has 'tally verify --cases 20 --seed 5' '^[a-z0-9]+ +ok '
has 'tally verify --cases 1Ki --threads 1 --isa "$(tally devices | sed -n "s/.*isa: \([a-z0-9]*\).*/\1/p" | head -n 1)"' ' ok '
has 'tally bench sum:f32:reduce:2^12 mean:f64:window=5:1e3 max:i32:scan:4Ki --runs 3' '^max:i32:scan:4Ki'
has 'tally reduce sum --explain m.npy' 'order +E v1, class X'
has 'tally scan ema:0.1 --explain a.txt' 'accumulator +f64'
has 'TALLY_DEVICE=cpu,threads=3 tally reduce sum --explain a.txt' 'device +cpu, .* 3 threads$'
has 'TALLY_DEVICE=cpu:0,threads=3 tally reduce sum --explain --device auto a.txt' 'device +cpu:0, .* 3 threads$'
has 'TALLY_DEVICE=cpu,threads=3 tally reduce sum --explain --threads 2 a.txt' 'device +cpu, .* 2 threads$'
has 'TALLY_DEVICE=cpu,threads=3 tally reduce sum --explain --device auto,threads=2 a.txt' 'device +cpu, .* 2 threads$'
has 'TALLY_DEVICE=tpu tally reduce sum --explain --device cpu,threads=2 a.txt' 'device +cpu, .* 2 threads$'
has 'tally window max -w 2 --explain m.npy' 'none \(moves'
has 'tally --version' '^tally [0-9]+\.[0-9]+\.[0-9]+ \(order E v1\)$'
has 'tally -V' '^tally '

# ---- help, manual, completions ----
has 'tally --help' 'usage: tally VERB'
has 'tally help' 'usage: tally VERB'
for v in reduce scan window ladder devices verify bench ops help; do
    same "tally $v --help" "tally help $v"
    ok "tally help $v" "$(cat "$here/cli/help_$v.out" 2>/dev/null)"
    ok "tally help $v | sed -n '/^examples/,/^options/p' | grep -c '  # '" 3
done
if command -v mandoc >/dev/null; then
    tally help --man >tally.1
    ok 'mandoc -T lint -W warning tally.1' ''
fi
if man --version 2>/dev/null | grep -q "^man "; then has 'tally help --man >tally.1; man -l tally.1 2>/dev/null || man ./tally.1' 'COMMON OPTIONS'; fi
complete='source <(tally help --completion bash); c() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tally; echo "${COMPREPLY[*]}"; }'
ok "$complete; c tally re" reduce
ok "$complete; c tally reduce nanm" 'nanmean nanmin nanmax nanminmax'
ok "$complete; c tally window --ed" --edges
ok "$complete; c tally window --edges v" valid
ok "$complete; c tally reduce --dtype bf" bf16
ok "$complete; c tally reduce sum seg." $'seg.npy seg.txt'
for s in zsh fish; do
    has "tally help --completion $s" tally
    if command -v $s >/dev/null; then tally help --completion $s >c.$s; ok "$s -n c.$s" ''; fi
done

# ---- usage errors: exit 2 ----
ops=$(tally ops x 2>&1 | sed 's/.*choices: //')
bad 2 'tally reduc' "tally: there is no verb 'reduc'; did you mean 'reduce'? choices: reduce, scan, window, ladder, devices, verify, bench, ops, help"
bad 2 'tally help xyz' "tally: there is no verb 'xyz'; choices: reduce, scan, window, ladder, devices, verify, bench, ops, help"
bad 2 'tally reduce summ a.txt' "tally: there is no operator 'summ'; did you mean 'sum'? choices: $ops"
bad 2 'tally scan frobnicate a.txt' "tally: there is no operator 'frobnicate'; choices: $ops"
bad 2 'tally window maen -w 2 a.txt' "tally: there is no operator 'maen'; did you mean 'mean'? choices: $ops"
bad 2 'tally reduce sum,,max a.txt' "tally: the operators 'sum,,max' have an empty name among them"
bad 2 'tally reduce argmax:1 a.txt' "tally: op is 'argmax:1': 'argmax' takes no parameter, and '1' was given"
bad 2 'tally reduce sum:1 a.txt --dtype f32' "tally: op is 'sum:1': 'sum' takes no parameter, and '1' was given; its only suffix is :f64"
bad 2 'tally reduce' "tally: which operator? \`tally reduce sum FILE\`; \`tally ops\` lists them, \`tally help reduce\` explains"
bad 2 'tally reduce sum --dtype f33 a.txt' "tally: there is no dtype 'f33'; did you mean 'f32'? choices: i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64"
bad 2 'tally window max --edgs valid' "tally: there is no option of \`tally window\` 'edgs'; did you mean 'edges'? choices: before, after, width, center, edges, min-count, op-file, axis, shape, segments, format, dtype, column, delimiter, header, skip-bad, output, to, hex, digest, device, threads, isa, json, explain, quiet, help, version"
bad 2 'tally window max -w 2 --edges valud' "tally: there is no value of --edges 'valud'; did you mean 'valid'? choices: missing, shrink, valid"
bad 2 'tally reduce sum --exclusive' "tally: --exclusive is not an option of \`tally reduce\`; it belongs to: scan"
bad 2 'tally reduce sum --json=1' "tally: --json takes no value, and '1' was given"
bad 2 'tally reduce sum --dtype' "tally: --dtype needs a value: --dtype T"
bad 2 'tally reduce sum -o' "tally: -o needs a value: -o FILE"
bad 2 'tally window sum -w 0 a.txt' "tally: --width is 0 and must be at least 1"
bad 2 'tally window sum -w x a.txt' "tally: --width is 'x', which is not a whole number (2^28, 1e6 and 64Ki are)"
bad 2 'tally window sum -w 1.55e1 a.txt' "tally: --width is '1.55e1', which is not a whole number (2^28, 1e6 and 64Ki are)"
bad 2 'tally window sum -w 2^99 a.txt' "tally: --width is '2^99', which is not a whole number (2^28, 1e6 and 64Ki are)"
bad 2 'tally window sum --before -1 a.txt' "tally: --before is -1 and must be at least 0"
bad 2 'tally window sum a.txt' "tally: how wide is the window? -w W, or --before B and --after A"
bad 2 'tally window sum -w 3 --after 1 a.txt' "tally: -w gives the whole window: leave out --before and --after, or -w"
bad 2 'tally window sum --center --after 1 a.txt' "tally: --center goes with -w W; --before and --after place the window themselves"
bad 2 'tally scan sum,max a.txt' "tally: \`tally scan\` takes one operator, and 'sum,max' is several"
bad 2 'tally scan sum a.txt b.txt' "tally: \`tally scan\` takes one FILE, and 'b.txt' is a second one"
bad 2 'tally scan sum --init abc a.txt' "tally: --init is 'abc', which is not a value of f64, the output of sum"
bad 2 'tally reduce sum --threads 0 a.txt' "tally: --threads is 0 and must be at least 1"
bad 2 'tally reduce sum --threads 5000 a.txt' "tally: --threads is 5000 and must be at most 1024"
bad 2 'tally reduce sum --axis 2 m.npy' "tally: --axis is 2, and m.npy has 2 dimensions: must be -2..1"
bad 2 'tally reduce sum --axis 1 a.txt' "tally: --axis is 1, and a.txt has 1 dimension: must be -1..0 (--shape RxC makes an array)"
bad 2 'tally reduce sum --axis 0 --segments seg.txt m.npy' "tally: --axis and --segments exclude each other"
bad 2 'tally reduce sum --shape 4x2 --axis 0 a.txt' "tally: --shape is '4x2', which is 8 elements, and a.txt has 5"
bad 2 'tally reduce sum --shape 4y2 --axis 0 a.txt' "tally: --shape is '4y2': must be whole numbers with x between them, like 1000x256"
bad 2 'tally reduce sum --shape 3x2 m.npy' "tally: --shape is for raw, text and csv; m.npy has 2 dimensions of its own"
bad 2 'tally reduce sum --delimiter ab a.txt' "tally: --delimiter is 'ab': must be one character, or tab, space, comma, semicolon"
bad 2 'tally reduce sum,max m.npy -o r.npy' "tally: --output r.npy: an npy file holds one type, so give one operator, or write .csv or .txt"
bad 2 'tally bench sum:f32:2^4' "tally: the problem 'sum:f32:2^4' has too few parts; a problem is OP:DTYPE:SHAPE:N, like sum:f32:scan:2^24 or mean:f32:window=50:2^26"
bad 2 'tally bench sum:f32:scam:2^4' "tally: there is no shape 'scam'; did you mean 'scan'? choices: reduce, scan, window"
bad 2 'tally bench sum:f32:window:2^4' "tally: the problem 'sum:f32:window:2^4' needs a width, as in window=50"
bad 2 'tally bench sum:f32:reduce:0' "tally: the problem 'sum:f32:reduce:0' has N '0': must be a whole number from 1 to 2^40"
bad 2 'tally verify x' "tally: \`tally verify\` takes no operand, and 'x' is one"
bad 2 'tally verify --cases 0' "tally: --cases is 0 and must be at least 1"
bad 2 'tally ops sum max' "tally: \`tally ops\` explains one operator, and 'max' is a second one"
bash -c tally >"$work/out" 2>"$work/err"
[ $? -eq 2 ] && [ ! -s "$work/out" ] && grep -q 'usage: tally' "$work/err"
verdict 'tally alone' $? "$(head -3 "$work/err")"

# ---- device errors: exit 3 ----
devices=$(tally reduce sum --device cpu:x a.txt 2>&1 | sed -n "s/^tally: device is 'cpu:x': must be one of //p")
[[ ", $devices," == *", auto, "* && ", $devices," == *", cpu, cpu:0, "* && ", $devices," != *"cpu:1"* ]]
verdict 'the devices that can be asked for' $? "$devices"
bad 3 'tally reduce sum --device tpu:0 a.txt' "tally: there is no device 'tpu:0'; choices: auto$(tally devices | sed -n 's/^\([a-z][a-z0-9:]*\) .*/, \1/p' | tr -d '\n')"
bad 3 'tally reduce sum --device cpu:7 a.txt' "tally: device is 'cpu:7': must be one of $devices"
bad 3 'tally reduce sum --device cpu:7,threads=2 --threads 1 a.txt' "tally: device is 'cpu:7': must be one of $devices"
bad 3 'tally scan sum --device auto:0 a.txt' "tally: device is 'auto:0': must be one of $devices"
bad 3 'TALLY_DEVICE=cpu:7 tally reduce sum a.txt' "tally: TALLY_DEVICE is 'cpu:7': must be one of $devices"
bad 3 'TALLY_DEVICE=cpu:7 tally reduce sum --threads 2 a.txt' "tally: TALLY_DEVICE is 'cpu:7': must be one of $devices"
bad 3 'tally reduce sum --isa mmx a.txt' "tally: there is no instruction set 'mmx'; choices: $(tally devices | sed -n 's/.*isa: \(.*\) (default.*/\1/p' | head -n 1 | sed 's/ /, /g')"

# ---- bad data: exit 1 ----
bad 1 'tally reduce sum nope.npy' "tally: nope.npy: No such file or directory"
bad 1 'tally scan sum nope.npy -o x.npy' "tally: nope.npy: No such file or directory"
bad 1 'tally reduce sum short.npy' "tally: short.npy: the file is truncated: shape (10) of f32 needs 40 bytes of elements, and 4 are there"
bad 1 'printf "3\n2\n" >d.txt; tally reduce sum --segments d.txt m.npy' "tally: --segments d.txt: offset 1 is 2, and the one before it is 3: they must ascend"
bad 1 'printf "0\n9\n" >d.txt; tally reduce sum --segments d.txt m.npy' "tally: --segments d.txt: the last offset is 9, and m.npy has 6 elements"
bad 1 'printf "1\n6\n" >d.txt; tally scan sum --segments d.txt m.npy' "tally: --segments d.txt: \`tally scan\` writes every element, so the offsets must run from 0 to 6 and run from 1 to 6"
bad 1 'tally reduce sum --segments nan.npy m.npy' "tally: --segments nan.npy: offsets must be whole numbers, and these are f32"
bad 1 'tally reduce sum --segments empty.txt m.npy' "tally: empty.txt: No such file or directory"
bad 1 'tally reduce sum a.txt -o nodir/x.csv' "tally: nodir/x.csv: No such file or directory"
for c in 'reduce sum huge.npy' 'reduce sum object.npy' 'reduce sum --dtype u64 --format raw p.csv' 'reduce sum --column nope p.csv' 'scan mean --init 1 a.txt' \
    'reduce and a.txt' 'reduce ema a.txt' 'reduce sum:x a.txt' 'reduce sum .' 'scan sum a.txt -o nodir/x.npy' 'scan sum a.txt -o .'; do
    bash -c "tally $c" >"$work/out" 2>"$work/err" </dev/null
    code=$?
    { [ $code -eq 1 ] || [ $code -eq 2 ]; } && [ ! -s "$work/out" ] && grep -q '^tally: .' "$work/err" && [ "$(wc -l <"$work/err")" -eq 1 ]
    verdict "tally $c" $? "exit $code: $(cat "$work/err")"
done
bash -c 'printf "1\n2 x3\n" | tally reduce sum' >"$work/out" 2>"$work/err"
[ $? -eq 1 ] && grep -Eq 'standard input:2:[0-9]+: ' "$work/err"
verdict 'a bad cell names file:line:column' $? "$(cat "$work/err")"
bash -c 'tally reduce sum m.npy nope.npy c.npy' >"$work/out" 2>"$work/err"
[ $? -eq 1 ] && [ "$(cat "$work/out")" = "file${t}sum
m.npy${t}21
c.npy${t}176" ]
verdict 'a bad file does not hide the others' $? "$(cat "$work/out" "$work/err")"

# ---- full disk, closed pipe, closed output, little memory ----
if [ -w /dev/full ]; then
    bad 1 'tally reduce sum a.txt >/dev/full' "tally: standard output: No space left on device"
    bad 1 'tally help >/dev/full' "tally: standard output: No space left on device"
    bad 1 'tally reduce sum,max a.txt -o /dev/full' "tally: /dev/full: No space left on device"
    bash -c 'seq 100000 | tally scan sum >/dev/full' 2>"$work/err"
    [ $? -eq 1 ] && grep -q 'No space left' "$work/err"
    verdict 'scan to /dev/full' $? "$(cat "$work/err")"
fi
bad 141 'seq 3000000 | tally scan sum | head -n 1 >/dev/null; exit ${PIPESTATUS[1]}' ''
bad 141 '(sleep 0.3; exec tally ops) | true; exit ${PIPESTATUS[0]}' ''
bash -c 'tally reduce sum a.txt >&-' >"$work/out" 2>"$work/err"
[ $? -eq 1 ]
verdict 'closed standard output' $? "$(cat "$work/err")"
if [ -z "${TALLY_SANITIZE-}" ]; then # a sanitizer reserves more address space than these limits
truncate -s 1G big.raw
ok 'ulimit -v 600000; tally reduce sum,max --dtype f32 --threads 2 big.raw' "sum${t}max
0${t}0"
ok 'ulimit -v 600000; tally reduce sum --dtype f32 --shape 1024x262144 --axis 1 big.raw | sort -u' 0
bash -c 'ulimit -v 600000; tally reduce sum --dtype f32 --shape 1024x262144 --axis 0 big.raw' >"$work/out" 2>"$work/err"
[ $? -eq 1 ] && grep -q 'needs the whole file in memory' "$work/err"
verdict '--axis 0 beyond the memory is a sentence' $? "$(cat "$work/err")"
truncate -s 64M big.raw
same 'ulimit -v 600000; tally window max -w 1000 --dtype f32 --digest big.raw' 'tally window max -w 1000 --dtype f32 --digest --threads 1 big.raw'
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
