#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_cli.sh TALLY - the command line by exact expected output: every verb, option, exit code and error sentence.
#
# What is written where, and what ends early: test_cli_output.sh. The words ok, says, bad, has, same: cli/check.sh.
# shellcheck disable=SC2016 # commands are quoted on purpose: bash -c expands them
# shellcheck source=test/cli/check.sh
. "$(dirname "$0")/cli/check.sh"

# ---- reduce: text, pipes, tables ----
n=$(few 1000000 100000)
ok "seq 1 $n | tally reduce sum" $((n * (n + 1) / 2))
ok 'seq 1 1000 | tally reduce sum -' 500500
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
    ok "tally scan sum --axis 0 $f.npy" $'1\t2\t3\n5\t7\t9'
    ok "tally scan sum --reverse $f.npy" $'21\n20\n18\n15\n11\n6'
    ok "tally window sum -w 2 --axis 1 --edges valid $f.npy" $'3\t5\n9\t11'
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

ok 'tally reduce sum m.npy --segments <(cat seg.txt)' $'3\n0\n18'
ok 'tally reduce sum m.npy --segments <(cat seg.npy)' $'3\n0\n18'
ok 'cat seg.txt | tally reduce sum m.npy --segments -' $'3\n0\n18'
bad 1 'printf "0\n9007199254740993\n" | tally reduce count --segments - m.npy' "tally: --segments -: the last offset is 9007199254740993, and m.npy has 6 elements"

# ---- tables in text and CSV ----
ok 'printf "day,price,qty\nmon,1.5,10\ntue,2,20\nwed,4,30\n" >t.csv; tally reduce sum --axis 0 t.csv' $'7.5\n60'
ok 'tally reduce sum,max --column price,qty t.csv' "sum${t}max
7.5${t}4
60${t}30"
ok 'tally reduce sum --column qty,price t.csv' $'60\n7.5'
ok 'tally reduce sum --column 2-3 --threads 1 <t.csv' $'7.5\n60'
ok 'tally reduce sum --column 2- --axis 1 t.csv' $'11.5\n22\n34'
ok 'tally reduce sum --column qty --axis 0 t.csv' 60
ok 'printf "1 2\n3 4\n5 6\n" >t.txt; tally reduce sum --axis 0 t.txt' $'9\n12'
ok 'tally reduce sum,minmax --axis 1 t.txt' "sum${t}minmax.min${t}minmax.max
3${t}1${t}2
7${t}3${t}4
11${t}5${t}6"
ok 'tally reduce sum t.txt' 21
ok 'tally reduce sum --shape 2x3 --axis 1 t.txt' $'6\n15'
ok 'tally reduce sum --axis 1 a.txt' "$(seq 1 5)"
ok 'tally reduce sum --column price,qty --json t.csv' '{"file": "t.csv", "dtype": "f64", "order": "E v1", "results": [
  {"op": "sum", "dtype": "f64", "per": "column", "values": [7.5, 60], "bits": ["0x401e000000000000", "0x404e000000000000"], "count": 2}], "n": 6, "shape": [3, 2], "columns": ["price", "qty"], "skipped": 0, "device": "cpu", "ran_on": ["cpu"]}'
ok 'tally scan sum --axis 0 t.txt' $'1\t2\n4\t6\n9\t12'
ok 'tally scan sum --axis 0 --reverse t.txt' $'9\t12\n8\t10\n5\t6'
ok 'tally scan sum --axis 1 t.txt' $'1\t3\n3\t7\n5\t11'
ok 'tally scan sum --column price,qty t.csv -o t.npy && tally reduce last --axis 0 t.npy' $'7.5\n60'
ok 'tally scan sum --column price,qty t.csv' "sum.price${t}sum.qty
1.5${t}10
3.5${t}30
7.5${t}60"
ok 'seq 3 | tally scan sum,minmax,count' "sum${t}minmax.min${t}minmax.max${t}count
1${t}1${t}1${t}1
3${t}1${t}2${t}2
6${t}1${t}3${t}3"
ok 'seq 3 | tally scan sum,max --reverse -o s.csv; cat s.csv' $'sum,max\n6,3\n5,3\n3,3'
ok 'seq 3 | tally scan sum,max --init 10' "sum${t}max
11${t}10
13${t}10
16${t}10"
ok 'tally scan sum,max --json m.npy | grep op' '  {"op": "sum", "dtype": "i64", "per": "element", "values": [1, 3, 6, 10, 15, 21], "bits": ["0x0000000000000001", "0x0000000000000003", "0x0000000000000006", "0x000000000000000a", "0x000000000000000f", "0x0000000000000015"], "count": 6},
  {"op": "max", "dtype": "i32", "per": "element", "values": [1, 2, 3, 4, 5, 6], "bits": ["0x00000001", "0x00000002", "0x00000003", "0x00000004", "0x00000005", "0x00000006"], "count": 6}], "n": 6, "shape": [2, 3], "skipped": 0, "device": "cpu", "ran_on": ["cpu"]}'
ok 'tally scan sum --column price,qty --json t.csv | grep -o "\"n\": .*skipped"' '"n": 6, "shape": [3, 2], "columns": ["price", "qty"], "skipped'
same 'tally scan sum,max --digest m.npy | tail -n 1' 'printf "%s\t%s\n" "$(tally scan sum --digest m.npy)" "$(tally scan max --digest m.npy)"'
ok 'tally window min,max -w 2 --axis 0 --edges shrink m.npy' "min.0${t}max.0${t}min.1${t}max.1${t}min.2${t}max.2
1${t}1${t}2${t}2${t}3${t}3
1${t}4${t}2${t}5${t}3${t}6"
ok 'tally scan sum --keep t.csv' $'day,price,qty,sum.price,sum.qty\nmon,1.5,10,1.5,10\ntue,2,20,3.5,30\nwed,4,30,7.5,60'
ok 'tally scan sum,max --column price --keep t.csv -o k.csv; cat k.csv' $'day,price,qty,sum,max\nmon,1.5,10,1.5,1.5\ntue,2,20,3.5,2\nwed,4,30,7.5,4'
ok 'tally scan sum --column max k.csv' $'1.5\n3.5\n7.5'
ok 'tally window mean -w 2 --edges valid --keep --column qty t.csv' $'day,price,qty,mean\ntue,2,20,15\nwed,4,30,25'
ok 'tally window mean -w 3 --center --edges valid --keep t.txt' '3 4 3 4'
ok 'tally window max -w 2^40 --edges shrink --keep t.txt' $'1 2 1 2\n3 4 3 4\n5 6 5 6'
ok 'printf "a\tb\r\n1\t2\r\n3\t4\r\n" | tally scan sum --column b --keep' "a${t}b${t}sum
1${t}2${t}2
3${t}4${t}6"
ok 'printf "k,v\n\"x\ny\",1\nz,2\n" | tally scan sum --keep' $'k,v,sum\n"x\ny",1,1\nz,2,3'
says 'printf "1 2\n3 x\n5 6\n" | tally scan sum --skip-bad --keep' 'tally: standard input: skipped 1 bad cell'
ok 'printf "1 2\n3 x\n5 6\n" | tally scan sum --skip-bad --keep -q' $'1 2 1 2\n5 6 6 8'
n=$(few 200000 30000)
same "seq $n | paste - - | tally scan sum --keep | cut -f 3,4" "seq $n | paste - - | tally scan sum --axis 0 | tr ' ' '\t'"
same "seq $n | paste -d, - - | tally reduce sum,var --column 1,2 --header no --digest" "seq $n | tally reduce sum,var --shape $((n / 2))x2 --axis 0 --digest --threads 1"
ok "seq $n | paste -d, - - | tally reduce sum --column 2,1 --header no" "$(seq 2 2 $n | tally reduce sum; seq 1 2 $n | tally reduce sum)"

# ---- output ----
ok 'tally reduce sum m.npy -o r.npy && tally reduce sum r.npy' 21
ok 'tally reduce sum --axis 0 m.npy -o r.npy && tally scan sum r.npy' $'5\n12\n21'
ok 'tally reduce sum --axis 2 c.npy -o r.npy && tally reduce sum --axis 0 r.npy' $'51\n47\n78'
ok 'tally reduce minmax --axis 2 c.npy -o r.npy && tally reduce max --axis 2 r.npy | wc -l' 6
ok 'tally reduce sum,max m.npy c.npy -o r.csv && cat r.csv' $'file,sum,max\nm.npy,21,6\nc.npy,176,16'
ok 'tally reduce sum,max m.npy -o r.txt && cat r.txt' "sum${t}max
21${t}6"
ok 'tally reduce sum,max m.npy --to csv' $'sum,max\n21,6'
ok 'tally reduce sum m.npy -o r.raw && od -An -tx1 r.raw' ' 15 00 00 00 00 00 00 00'
ok 'tally reduce sum --to raw m.npy | od -An -tx1' ' 15 00 00 00 00 00 00 00'
same 'tally reduce sum --digest --axis 0 m.npy' 'tally reduce sum --axis 0 --to raw m.npy | sha256sum | cut -d" " -f1'
same 'tally scan sum --digest m.npy' 'tally scan sum --to raw m.npy | sha256sum | cut -d" " -f1'
n=$(few 100000 40000)
same "seq $n | tally window mean -w 9 --digest" "seq $n | tally window mean -w 9 --to raw | sha256sum | cut -d' ' -f1"
same "seq $n | tally reduce sum,var --digest --threads 1" "seq $n | tally reduce sum,var --digest"
ok 'seq 3 | tally scan sum -o s.csv; cat s.csv' $'sum\n1\n3\n6'
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
ok 'seq 1 3 | tally scan minmax' $'1\t1\n1\t2\n1\t3'
ok 'seq 1 3 | tally scan ema:0.5' $'1\n1.5\n2.25'
ok 'printf "" | tally scan sum' ''
ok 'seq 6 | tally scan sum --shape 3x2 --axis 0' $'1\t2\n4\t6\n9\t12'
n=$(few 300000 50000)
same "seq $n | tally scan mean --threads 2 --digest" "seq $n | tally scan mean --threads 1 --digest"
same "seq $n | tally scan mean | tail -n 1" "seq $n | tally reduce mean"

# ---- window ----
ok 'seq 1 6 | tally window mean -w 3 --edges valid' $'2\n3\n4\n5'
ok 'seq 1 5 | tally window sum -w 3' $'0\n0\n6\n9\n12'
ok 'seq 1 5 | tally window mean -w 3' $'nan\nnan\n2\n3\n4'
ok 'seq 1 5 | tally window sum -w3 --edges=shrink' $'1\n3\n6\n9\n12'
ok 'seq 1 5 | tally window sum -w 3 --center --edges shrink' $'3\n6\n9\n12\n9'
ok 'seq 1 5 | tally window sum --before 1 --after 1 --edges shrink' $'3\n6\n9\n12\n9'
ok 'seq 1 5 | tally window sum --after 1 --edges valid' $'3\n5\n7\n9'
ok 'seq 1 4 | tally window mean -w 3 --min-count 2' $'nan\n1.5\n2\n3'
ok 'seq 2 | tally scan sum -o two.npy && tally window sum two.npy -w 8 --edges shrink --min-count 5' $'0\n0'
ok 'tally window sum two.npy -w 8 --edges shrink --min-count 2' $'0\n4'
ok 'tally window sum two.npy --before 9 --after -1 --edges shrink --min-count 7' $'0\n0'
n=$(few 70000 3000)
ok "{ seq -s, $n | sed 's/[0-9]*/c&/g' && seq -s, $n; } >wide.csv && tally reduce sum --axis 0 wide.csv | wc -l" "$n"
bad 2 'seq 4 | tally scan sum --shape 99999999999x99999999999' "tally: --shape is '99999999999x99999999999', which is more than 2^63 - 1 elements"
ok 'seq 1 4 | tally window max -w 1e3 --edges shrink' $'1\n2\n3\n4'
ok 'seq 1 4 | tally window max -w 2^40 --edges shrink' $'1\n2\n3\n4'
ok 'seq 1 4 | tally window max -w 2^61 --center --edges shrink' $'4\n4\n4\n4'
ok 'seq 1 4 | tally window max -w 2^40 --edges valid' ''
ok 'tally window max -w 1Ti --edges missing empty.npy' ''
same 'seq 1 7000 | tally window mean -w 5e2 --edges valid | tail -n 1' 'seq 6501 7000 | tally reduce mean'

# ---- json ----
for c in 'reduce sum,max,minmax nan.npy' 'reduce sum m.npy c.npy' 'reduce minmax --axis 0 m.npy' 'scan sum nan.npy' 'scan minmax m.npy' \
    'window mean -w 2 m.npy' 'scan sum m.npy -o j.npy' 'scan sum m.npy --digest' 'reduce mean --digest m.npy' 'devices' 'doctor --runs 0 --cases 5' 'ops' 'ops ema' \
    'ops --dtype u8' 'verify --cases 3' 'bench sum:f32:reduce:2^10 sum:f32:scan:2^10 --runs 2' 'reduce sum empty.npy'; do
    says "tally ${c%% *} --json ${c#"${c%% *}"} >>all.json" ''
done
# one program reads them all
ok 'python3 -c "
import json, sys
text, found = sys.stdin.read(), 0
while text.strip():
    value, end = json.JSONDecoder().raw_decode(text.strip())
    text, found = text.strip()[end:], found + 1
print(found)" <all.json' 17

# ---- terminal: the aligned table ----
if command -v script >/dev/null; then
    ok "script -qec 'tally reduce sum,mean a.txt' /dev/null | tr -d '\r'" $'sum   15\nmean  3'
    ok "script -qec 'tally reduce sum,mean a.txt p.csv' /dev/null | tr -d '\r'" $'file   sum  mean\na.txt   15     3\np.csv    4     2'
    ok "script -qec 'tally reduce sum,max --axis 1 m.npy' /dev/null | tr -d '\r'" $'row  sum  max\n0      6    3\n1     15    6'
    # wide characters take two columns, and combining ones none
    printf '\345\237\216,v\n\346\235\261\344\272\254,1\ne\314\201,2\n' >wide.csv
    ok "script -qec 'tally reduce sum,max --by 1 wide.csv' /dev/null | tr -d '\r'" $'城    sum  max\n東京    1    1\ne\xcc\x81       2    2'
    # help fits the terminal, and has the same words
    for v in '' reduce window fragment ladder; do
        ok "script -qec 'stty cols 80; tally help $v' /dev/null | tr -d '\r' >fits; awk 'length > 80' fits" ''
        ok "words() { tr -s ' \\n' '\\n' | grep -v '^#\$' | sort; }; words <fits | cmp - <(tally help $v | words)" ''
    done
    has "seq 3 | script -qec 'tally reduce sum' /dev/null" '^tally: reading from the terminal; end with Ctrl-D'
    ok "seq 3 | script -qec 'tally reduce sum --quiet' /dev/null | grep -c terminal || true" 0
    # the line of progress appears after a second, and goes away
    n=$(few 1000000 200000)
    slow="(seq $n; sleep 1.1; seq $n)"
    has "TERM=xterm script -qec '$slow | tally reduce count' /dev/null | tr '\r' '\n'" 'standard input  0\.0[0-9] GB  0\.0[0-9] GB/s'
    ok "TERM=dumb script -qec '$slow | tally reduce count' /dev/null | tr -d '\r'" "count  $((2 * n))"
    # no wider than the terminal, and no escape sequences where they are not obeyed
    for columns in 20 30; do
        ok "TERM=xterm script -qec 'stty cols $columns; $slow | tally reduce count' /dev/null | tr '\r' '\n' | sed 's/\x1b\[K//' | awk 'length >= $columns'" ''
    done
    ok "script -qec '$slow | tally reduce count --quiet' /dev/null | tr -d '\r'" "count  $((2 * n))"
fi

# ---- the other verbs ----
has 'tally devices' '^cpu '
has 'tally devices' 'isa: '
has 'tally ops' '^minmax'
has 'tally ops' '^xor +i64 .*; integers only'
bad 2 'tally ops and --dtype f64' "tally: op 'and' takes integers, not f64"
has 'tally ops --dtype i16' '^sum +i64 +X'
has 'tally ops ema' 'alpha'
has 'tally ops sum' '^  f16 +f32'
has 'tally ops sum' 'sum:f64 accumulates'
has 'tally ops dot' '^  inputs +two'
ok 'tally ops sum | grep inputs || echo none' none
has 'tally verify --cases 20 --seed 5' '^[a-z0-9]+ +ok '
has 'tally verify --cases '"$(few 128 20)"' --threads 1 --isa "$(tally devices | sed -n "s/.*isa: \([a-z0-9]*\).*/\1/p" | head -n 1)"' ' ok '
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
for v in reduce scan window ladder devices doctor verify bench ops help; do
    same "tally $v --help" "tally help $v"
    ok "tally help $v" "$(awk -v verb=$v '/^==== / { on = $2 == verb; next } on' "$here/cli/help.out")"
    ok "tally help $v | sed -n '/^examples/,/^options/p' | grep -c '  # '" 3
done
if command -v mandoc >/dev/null; then
    tally help --man >tally.1
    ok 'mandoc -T lint -W warning tally.1' ''
    ok 'mandoc -O width=58 tally.1 | col -b | sed -n "/SYNOPSIS/,/DESCRIPTION/p" | grep -cE "^ *tally [a-z]+ .*(\||\[OPTION\.\.\.\])$"' 11
fi
if man --version 2>/dev/null | grep -q "^man "; then has 'tally help --man >tally.1; man -l tally.1 2>/dev/null || man ./tally.1' 'COMMON OPTIONS'; fi
complete='source <(tally help --completion bash); c() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tally; echo "${COMPREPLY[*]}"; }'
ok "$complete; c tally re" reduce
ok "$complete; c tally reduce nanm" 'nanmean nanmin nanmax nanminmax'
ok "$complete; c tally reduce sum,nanm" 'sum,nanmean sum,nanmin sum,nanmax sum,nanminmax'
ok "$complete; c tally window --ed" --edges
ok "$complete; c tally window --edges v" valid
ok "$complete; c tally reduce --dtype bf" bf16
ok "$complete; c tally reduce sum seg." $'seg.npy seg.txt'
ok "$complete; c tally fragment ''; c tally ladder s; c tally fragment merge seg." $'make merge result show\nscan show\nseg.npy seg.txt'
for s in zsh fish; do
    has "tally help --completion $s" tally
    if command -v $s >/dev/null; then tally help --completion $s >c.$s; ok "$s -n c.$s" ''; fi
done
if command -v fish >/dev/null; then ok "fish -c 'source c.fish; complete -C \"tally reduce sum,nanm\"'" $'sum,nanmax\nsum,nanmean\nsum,nanmin\nsum,nanminmax'
    ok "fish -c 'source c.fish; complete -C \"tally fragment mer\"'" merge; fi

# ---- usage errors: exit 2 ----
ops=$(tally ops x 2>&1 | sed 's/.*choices: //')
bad 2 'tally reduc' "tally: there is no verb 'reduc'; did you mean 'reduce'? choices: reduce, scan, window, fragment, ladder, devices, doctor, verify, bench, ops, help"
bad 2 'tally help xyz' "tally: there is no verb 'xyz'; choices: reduce, scan, window, fragment, ladder, devices, doctor, verify, bench, ops, help"
bad 2 'tally reduce summ a.txt' "tally: there is no operator 'summ'; did you mean 'sum'? choices: $ops"
bad 2 'tally scan frobnicate a.txt' "tally: there is no operator 'frobnicate'; choices: $ops"
bad 2 'tally window maen -w 2 a.txt' "tally: there is no operator 'maen'; did you mean 'mean'? choices: $ops"
bad 2 'tally reduce avg a.txt' "tally: there is no operator 'avg'; did you mean 'mean'? choices: $ops"
bad 2 'tally reduce SUM a.txt' "tally: there is no operator 'SUM'; did you mean 'sum'? choices: $ops"
bad 2 'tally reduce median a.txt' "tally: there is no operator 'median'; did you mean 'mean' (there are no quantiles)? choices: $ops"
bad 2 'tally reduce Stddev a.txt' "tally: there is no operator 'Stddev'; did you mean 'std'? choices: $ops"
types='choices: i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64'
bad 2 'tally reduce sum --dtype float a.txt' "tally: there is no dtype 'float'; did you mean 'f32' (float in C) or 'f64' (float in Python)? $types"
bad 2 'tally reduce sum --dtype f8 a.txt' "tally: there is no dtype 'f8'; did you mean 'f64' (names count bits)? $types"
bad 2 'tally reduce sum --dtype int32 a.txt' "tally: there is no dtype 'int32'; did you mean 'i32'? $types"
bad 2 'tally reduce sum --dtype float64 a.txt' "tally: there is no dtype 'float64'; did you mean 'f64'? $types"
bad 2 'tally sum a.txt' "tally: there is no verb 'sum', which is an operator: \`tally reduce sum\`, \`tally scan sum\` or \`tally window sum -w W\`"
bad 1 'tally reduce sum mean' "tally: mean: there is no such file; it is an operator, and several have commas between them: \`tally reduce sum,mean\`"
bad 2 'tally reduce a.txt sum' "tally: there is no operator 'a.txt', which is a file: the operator comes first, as in \`tally reduce sum a.txt\`"
bad 2 'tally reduce sum --op-file sum.h a.txt' "tally: --op-file sum.h: 'sum' is a built-in operator; give yours a name of its own: --op-file NAME=sum.h"
bad 2 'tally reduce sum,,max a.txt' "tally: the operators 'sum,,max' have an empty name among them"
bad 2 'tally reduce argmax:1 a.txt' "tally: op is 'argmax:1': 'argmax' takes no parameter, and '1' was given"
bad 2 'tally reduce sum:1 a.txt --dtype f32' "tally: op is 'sum:1': 'sum' takes no parameter, and '1' was given; its suffixes are :f64 and :exact"
bad 2 'tally reduce' "tally: which operator? \`tally reduce sum FILE\`; \`tally ops\` lists them, \`tally help reduce\` explains"
bad 2 'tally window sum -w 2 --group a t.csv' "tally: there is no option of \`tally window\` 'group'; did you mean --by?"
bad 2 'tally reduce std --ddof 1 a.txt' "tally: there is no option of \`tally reduce\` 'ddof'; did you mean a parameter of the operator, as in std:1?"
bad 2 'tally devices -v' "tally: there is no option of \`tally devices\` '-v'; did you mean -V?"
ok "tally reduce sum --dof 1 a.txt 2>&1 | grep -c 'did you mean' || true" 0
ok "(tally reduce quantile:0.5 a.txt 2>&1 || true) | cut -d'?' -f1" "tally: there is no operator 'quantile'; did you mean 'min' or 'max' (there are no others)"
bad 2 'tally reduce sum --dtype f33 a.txt' "tally: there is no dtype 'f33'; did you mean 'f32'? choices: i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64"
bad 2 'tally reduce sum --column price --threads 1 --column=qty t.csv' 'tally: --column is given twice: write --column price,qty'
bad 2 'seq 4 | tally window sum -w 2 --width 3' "tally: --width is given twice, as '2' and as '3'"
ok 'seq 4 | tally reduce sum --threads 1 --threads 1 -q -q' 10
bad 2 'tally window max --edgs valid' "tally: there is no option of \`tally window\` 'edgs'; did you mean 'edges'? choices: before, after, last, next, closed, ties, width, center, edges, min-count, step, op-file, axis, variable, memory, shape, segments, minus, with, with-dtype, valid, precision, format, dtype, column, by, utc, keep, delimiter, header, comment, thousands, decimal, skip-lines, skip-bad, output, to, empty, name, out-valid, hex, digest, device, threads, isa, json, explain, quiet, help, version"
bad 2 'tally window max -w 2 --edges valud' "tally: there is no value of --edges 'valud'; did you mean 'valid'? choices: missing, shrink, valid"
bad 2 'tally reduce sum --exclusive' "tally: --exclusive is not an option of \`tally reduce\`; it belongs to: scan"
bad 2 'tally reduce sum --json=1' "tally: --json takes no value, and '1' was given"
bad 2 'tally reduce sum --dtype' "tally: --dtype needs a value: --dtype T"
bad 2 'tally reduce sum -o' "tally: -o needs a value: -o FILE"
bad 2 'tally window sum --before 2305843009213693952 a.txt' 'tally: --before is 2305843009213693952 and must be at most 2305843009213693951'
bad 2 'tally window sum -w 0 a.txt' "tally: --width is 0 and must be at least 1"
bad 2 'tally window sum -w x a.txt' "tally: --width is 'x', which is not a whole number (2^28, 1e6 and 64Ki are)"
bad 2 'tally window sum -w 1.55e1 a.txt' "tally: --width is '1.55e1', which is not a whole number (2^28, 1e6 and 64Ki are)"
bad 2 'tally window sum -w 2^99 a.txt' "tally: --width is '2^99', which is not a whole number (2^28, 1e6 and 64Ki are)"
bad 2 'tally window sum --before -2 a.txt' "tally: --before is -2 and --after 0: the window would end before it begins"
bad 2 'tally window sum -w 3 --min-count 4 a.txt' "tally: --min-count is 4: must be 0..3, the window's length"
bad 2 'tally window sum -w 3 --step 2 --segments a.txt a.txt' "tally: --step and --segments exclude each other"
bad 2 'tally window sum -w 3 --edges valid --segments a.txt a.txt' "tally: --segments and --edges valid exclude each other: each element has a result"
bad 2 'tally window sum --step 0 -w 2 a.txt' "tally: --step is 0 and must be at least 1"
bad 2 'tally window sum --step 2 --keep -w 2 --column 1 p.csv' "tally: --keep and --step exclude each other"
ok 'seq 5 | tally window sum --before=-1 --after 2 --edges shrink' '5
7
9
5
0'
ok 'seq 7 | tally window mean -w 3 --edges valid --step 2' '2
4
6'
bad 2 'tally window sum -w 1h30min a.txt' "tally: --width is '1h30min' and counts elements: --by TIME --last 1h30min is a window along the times of column TIME"
bad 2 'tally window sum a.txt' "tally: how wide is the window? -w W, or --before B and --after A, or --last D along times"
bad 2 'tally window sum -w 3 --after 1 a.txt' "tally: -w gives the whole window: leave out --before and --after, or -w"
bad 2 'tally window sum --center --after 1 a.txt' "tally: --center goes with -w W; --before and --after place the window themselves"
bad 2 'tally scan sum,,max a.txt' "tally: the operators 'sum,,max' have an empty name among them"
bad 2 'tally scan sum,max a.txt -o x.npy' "tally: --output x.npy: a file of this format holds one type and no lines of text, so give one operator, or write .csv or .txt"
bad 2 'tally scan sum --keep a.txt -o x.npy' "tally: --output x.npy: a file of this format holds one type and no lines of text, so leave out --keep, or write .csv or .txt"
bad 2 'tally scan sum --keep --json a.txt' "tally: --keep and --json exclude each other"
bad 2 'tally scan sum --keep -o x.json a.txt' "tally: --keep and JSON exclude each other: JSON has no lines"
bad 2 'tally scan sum --keep --reverse a.txt' "tally: --keep and --reverse exclude each other"
bad 2 'tally scan sum --keep m.npy' "tally: m.npy: its lines cannot be kept: npy files have none"
bad 2 'tally reduce sum --column 2 m.npy' "tally: m.npy: column '2': npy files have no columns"
ok 'tally reduce sum --header no a.txt m.npy | wc -l' "$(tally reduce sum a.txt m.npy | wc -l)"
for option in 'delimiter tab' 'header yes' "comment '#'" "thousands ' '" 'decimal ,' 'skip-lines 1' 'skip-bad' 'utc'; do
    bad 2 "tally reduce sum --$option m.npy" "tally: m.npy: --${option%% *} is for text and csv, and the file is npy"
    bad 2 "tally scan sum --dtype u8 --format raw --$option m.npy" "tally: m.npy: --${option%% *} is for text and csv, and the file is raw"
done
bad 2 'tally reduce sum --column 2-5 t.csv' "tally: t.csv: no column '2-5'; the columns are 1 'day', 2 'price', 3 'qty'"
bad 2 'tally scan sum --keep --segments seg.txt t.csv' "tally: --segments cuts one sequence, and t.csv is read as a table of 2 columns"
bad 2 'tally scan sum a.txt b.txt' "tally: \`tally scan\` takes one FILE, and 'b.txt' is a second one"
bad 2 'tally scan sum --init abc a.txt' "tally: --init is 'abc', which is not a value of f64, the output of sum"
bad 2 'tally reduce sum --threads 0 a.txt' "tally: --threads is 0 and must be at least 1"
bad 2 'tally reduce sum --threads 5000 a.txt' "tally: --threads is 5000 and must be at most 1024"
bad 2 'tally reduce sum --axis 2 m.npy' "tally: --axis is 2, and m.npy has 2 dimensions: must be -2..1"
bad 2 'tally reduce sum --axis 2 a.txt' "tally: --axis is 2, and a.txt has 2 dimensions: must be -2..1"
bad 2 'tally reduce sum --axis 1 --dtype u8 x.raw' "tally: --axis is 1, and x.raw has 1 dimension: must be -1..0 (--shape RxC makes an array)"
printf '\223NUMPY\1\0v\0%-117s\n12345678' "{'descr': '<f8', 'fortran_order': False, 'shape': ()}" >one.npy
bad 2 'tally reduce sum --axis 0 one.npy' "tally: --axis is 0, and one.npy is one number, without axes"
for v in 'reduce sum' 'scan sum' 'window sum -w 2'; do
    bad 2 "tally $v --axis 0 --segments seg.txt m.npy" "tally: --axis and --segments exclude each other"
done
bad 2 'tally reduce sum --shape 4x2 --axis 0 a.txt' "tally: --shape is '4x2', which is 8 elements, and a.txt has 5"
bad 2 'tally reduce sum --shape 2x99999999999999999999 --axis 0 a.txt' "tally: --shape is '2x99999999999999999999', which is more than 2^63 - 1 elements"
bad 2 'tally reduce sum --shape 4x --axis 0 a.txt' "tally: --shape is '4x': must be whole numbers with x between them, like 1000x256"
bad 2 'printf "# a,b\nx,y\n1,2\n" | tally reduce sum --format csv --column y' "tally: standard input: no column 'y'; the columns are 1 '# a', 2 'b'; --comment '#' skips lines that begin with #"
bad 2 'tally reduce sum --shape 4y2 --axis 0 a.txt' "tally: --shape is '4y2': must be whole numbers with x between them, like 1000x256"
bad 2 'tally reduce sum --shape 3x2 m.npy' "tally: --shape is for raw, text and csv; m.npy has 2 dimensions of its own"
bad 2 'tally reduce sum --delimiter ab a.txt' "tally: --delimiter is 'ab': must be one character, or tab, space, comma, semicolon"
bad 2 'tally reduce sum,max m.npy -o r.npy' "tally: --output r.npy: npy files hold one type, so give one operator, or write .csv or .txt"
bad 2 'tally bench sum:f32:2^4' "tally: the problem 'sum:f32:2^4' has too few parts; a problem is OP:DTYPE:SHAPE:N, like sum:f32:scan:2^24 or mean:f32:window=50:2^26"
bad 2 'tally bench sum:f32:scam:2^4' "tally: there is no shape 'scam'; did you mean 'scan'? choices: reduce, scan, window"
bad 2 'tally bench sum:f32:window:2^4' "tally: the problem 'sum:f32:window:2^4' needs a width, as in window=50"
bad 2 'tally bench sum:f32:reduce:0' "tally: the problem 'sum:f32:reduce:0' has N '0': must be a whole number from 1 to 2^40"
bad 2 'tally bench sum:f32:reduce=5:1K' "tally: the problem 'sum:f32:reduce=5:1K': reduce takes no width"
bad 2 'tally devices cpu' "tally: \`tally devices\` takes no operand, and 'cpu' is one"
bad 2 'tally help scan reduce' "tally: \`tally help\` explains one verb, and 'reduce' is a second one"
bad 2 'tally scan' "tally: which operator? \`tally scan OP[,OP...] [FILE]\`; \`tally ops\` lists them, \`tally help scan\` explains"
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
bad 1 'printf "price\n1\n" | tally reduce sum' "tally: standard input:1:1: 'price' is not a number; if the first line is a header, say so with --header yes"
bad 1 'printf "1\n\"2\n3\n" | tally reduce sum --format csv --skip-bad' 'tally: standard input:2:1: a quoted cell is not closed'
bad 1 'printf "1 2\n3\n" | tally reduce sum --axis 0' "tally: standard input:2:1: the line '3' has no column 2"
# A mapped file becomes shorter, after it was opened and before it is read: the offsets come late, through a FIFO, which
# opens for writing when tally reads it, and then tally has opened its file.
for c in 'reduce sum' 'scan sum -o gone.npy' 'window max -w 9 -o gone.npy'; do
    for size in 4096 1048570; do # whole pages, and a part of the last one
        bad 1 "truncate -s 1048576 shrinks.raw; mkfifo -m 600 late; timeout 60 tally $c --dtype f32 shrinks.raw --segments late &
            timeout 60 bash -c 'exec >late; truncate -s $size shrinks.raw; printf \"0 262144\"'; wait \$!; code=\$?; rm late; ls gone.npy .tally* 2>/dev/null; exit \$code" 'tally: shrinks.raw: the file became shorter while it was read'
    done
done
# A non-blocking standard output, whose reader is slow.
cat >slow.py <<'PY'
import os, subprocess, sys, time
r, w = os.pipe() if sys.argv[1] == "pipe" else [s.detach() for s in __import__("socket").socketpair()]
os.set_blocking(w, False)
p = subprocess.Popen(["timeout", "20", "tally"] + sys.argv[2:], stdout=w)
time.sleep(0.2)
os.close(w)
n = 0
while b := os.read(r, 1 << 16): n += b.count(b"\n")
print(p.wait(), n)
PY
n=$(few 100000 30000) # more than a pipe holds
for w in pipe socket; do
    ok "seq $n >n.txt; python3 slow.py $w scan sum n.txt" "0 $n"
    ok "python3 slow.py $w reduce sum --axis 1 n.txt" "0 $n"
    ok "python3 slow.py $w scan sum,max n.txt" "0 $((n + 1))"
done

bad 1 'tally reduce sum nope.npy' "tally: nope.npy: No such file or directory"
bad 1 'tally scan sum nope.npy -o x.npy' "tally: nope.npy: No such file or directory"
bad 1 'tally reduce sum short.npy' "tally: short.npy: the file is truncated: shape (10) of f32 needs 40 bytes of elements, and 4 are there"
bad 1 'printf "3\n2\n" >d.txt; tally reduce sum --segments d.txt m.npy' "tally: --segments d.txt: offset 1 is 2, and the one before it is 3: they must ascend"
bad 1 'printf "%s\n" -1 6 >d.txt; tally reduce sum --segments d.txt m.npy' "tally: --segments d.txt: offset 0 is -1"
bad 1 ': >d.txt; tally reduce sum --segments d.txt m.npy' "tally: --segments d.txt: there are no offsets; one more than the segments is needed"
bad 1 'printf "0\n9\n" >d.txt; tally reduce sum --segments d.txt m.npy' "tally: --segments d.txt: the last offset is 9, and m.npy has 6 elements"
for v in 'reduce sum' 'scan sum' 'window sum -w 2'; do
    bad 1 "printf '1\n6\n' >d.txt; tally $v --segments d.txt m.npy" "tally: --segments d.txt: every element is in a segment, so the offsets must run from 0 to 6 and run from 1 to 6"
    bad 1 "printf '0\n3\n5\n' >d.txt; tally $v --segments d.txt m.npy" "tally: --segments d.txt: every element is in a segment, so the offsets must run from 0 to 6 and run from 0 to 5"
done
bad 1 'tally reduce sum --segments nan.npy m.npy' "tally: --segments nan.npy: offsets must be whole numbers, and these are f32"
bad 1 'seq 3 | tally scan last --dtype f16 -o half.npy; tally reduce sum --segments half.npy m.npy' "tally: --segments half.npy: offsets must be whole numbers, and these are f16"
bad 1 'tally reduce sum --segments empty.txt m.npy' "tally: empty.txt: No such file or directory"
bad 1 'tally reduce sum a.txt -o nodir/x.csv' "tally: nodir/x.csv: creating a temporary file beside it: No such file or directory"
for c in 'reduce sum huge.npy' 'reduce sum object.npy' 'reduce sum --dtype u64 --format raw p.csv' 'reduce sum --column nope p.csv' 'scan mean --init 1 a.txt' \
    'reduce and a.txt' 'reduce ema a.txt' 'reduce sum:x a.txt' 'reduce sum .' 'scan sum a.txt -o nodir/x.npy' 'scan sum a.txt -o . --to raw'; do
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
    bad 1 'tally verify --cases 1 >/dev/full' "tally: standard output: No space left on device"
    bad 1 'tally reduce sum,max a.txt -o /dev/full --to text' "tally: /dev/full: writing: No space left on device"
    bash -c 'seq 100000 | tally scan sum >/dev/full' 2>"$work/err"
    [ $? -eq 1 ] && grep -q 'No space left' "$work/err"
    verdict 'scan to /dev/full' $? "$(cat "$work/err")"
fi
# pipes and devices get text, and /dev/stdout is standard output
ok 'seq 3 | tally scan sum -o /dev/null; seq 3 | tally reduce sum -o /dev/null' ''
ok 'seq 3 | tally scan sum -o /dev/stdout | tail -n 1; seq 3 | tally reduce sum -o /dev/fd/1 >to.out; cat to.out' $'6\n6'
ok 'mkfifo pipe; cat pipe & seq 3 | tally scan sum -o pipe; wait' $'1\n3\n6'
ok 'seq 3 | tally scan sum -o /dev/fd/3 3>3.out && cat 3.out' $'1\n3\n6'
bad 141 'seq 300000 | tally scan sum | head -n 1 >/dev/null; exit ${PIPESTATUS[1]}' ''
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

finish
