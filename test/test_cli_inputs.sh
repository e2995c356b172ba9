#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Second inputs (--with, two columns) and validity (--valid) on the command line.
# shellcheck source=test/cli/check.sh
source "$(dirname "${BASH_SOURCE[0]}")/cli/check.sh"

printf 'x,y\n1,4\n2,5\n3,7\n' >a.csv
seq 1 3 >x.txt
printf '4\n5\n7\n' >y.txt
printf '1\n0\n1\n' >v.txt

# ---- two inputs: a file, or two columns ----
all='dot,wmean,cov,cov:1,corr,slope'
values="35${t}2.1875${t}1${t}1.5${t}0.9819805060619659${t}1.5"
header="dot${t}wmean${t}cov${t}cov:1${t}corr${t}slope"
ok "tally reduce $all --column x,y a.csv" "$header
$values"
ok "tally reduce $all --column 1-2 a.csv --threads 1" "$header
$values"
ok "tally reduce $all --with y.txt x.txt" "$header
$values"
ok "tally reduce $all --axis 0 --column x,y a.csv" "$header
$values"
ok 'cat x.txt | tally reduce dot --with y.txt' 35
ok 'cat y.txt | tally reduce dot --with - x.txt' 35
ok 'tally reduce dot --with y.txt x.txt y.txt' "file${t}dot
x.txt${t}35
y.txt${t}90"
ok 'tally scan dot --with y.txt x.txt' $'4\n14\n35'
ok 'tally scan last y.txt -o y1.npy && tally scan dot --axis 0 --column x --with y1.npy a.csv' $'4\n14\n35' # a table of one column
ok 'tally scan dot --reverse --init 100 --with y.txt x.txt' $'135\n131\n121'
ok 'tally scan dot --exclusive --with y.txt x.txt' $'0\n4\n14'
ok 'tally window dot -w 2 --edges valid --with y.txt x.txt' $'14\n31'
ok 'tally window dot --before=-1 --after 2 --edges shrink --with y.txt x.txt' $'31\n21\n0'
ok 'tally scan dot,wmean --column x,y --keep a.csv' 'x,y,dot,wmean
1,4,4,1
2,5,14,1.5555555555555556
3,7,35,2.1875'
ok 'tally scan dot --column y,x a.csv -o d.npy && tally reduce last,count d.npy' "last${t}count
35${t}3"
ok 'tally reduce corr --column x,y a.csv --skip-bad --quiet' 0.9819805060619659
has 'tally reduce dot --column x,y a.csv --json' '"per": "file", "value": 35, .*"n": 3, "shape": \[3\]'
ok 'tally reduce dot --column x,y a.csv a.csv --to csv' 'file,dot
a.csv,35
a.csv,35'

# arrays: C and Fortran order, axes, segments
for first in m f b fb; do
    for second in m f; do
        ok "tally reduce dot --with $second.npy $first.npy" 91
        ok "tally reduce dot --axis 0 --with $second.npy $first.npy" $'17\n29\n45'
        ok "tally reduce dot --axis 1 --with $second.npy $first.npy" $'14\n77'
        ok "tally scan dot --axis 0 --with $second.npy $first.npy" $'1\t4\t9\n17\t29\t45'
    done
done
ok 'seq 6 | tally reduce dot --shape 2x3 --axis 1 --with m.npy' $'14\n77'
ok 'seq 6 >s.txt; tally reduce dot --shape 2x3 --axis 1 --with s.txt s.txt' $'14\n77'
ok 'printf "0\n2\n2\n6\n" >g.txt; tally reduce dot --segments g.txt --with s.txt s.txt' $'5\n0\n86'
ok 'tally scan dot --segments g.txt --with s.txt s.txt' $'1\n5\n9\n25\n50\n86'
ok 'tally window dot -w 2 --edges shrink --segments g.txt --with s.txt s.txt' $'1\n5\n9\n25\n41\n61'
ok 'printf "1,2\n3,4\n" >u.csv; tally reduce dot --axis 0 --with u.csv u.csv' $'10\n20'

# groups
printf 'city,temp,rain\nOslo,1,4\nRome,2,5\nOslo,3,7\nRome,4,8\nRome,0,9\n' >c.csv
ok 'tally reduce dot,slope --by city --column temp,rain c.csv' "city${t}dot${t}slope
Oslo${t}25${t}1.5
Rome${t}42${t}-0.25"
ok 'tally scan dot --by city --column temp,rain c.csv' $'4\n10\n25\n42\n42'
ok 'tally window dot -w 2 --edges shrink --by city --column temp,rain --keep c.csv' 'city,temp,rain,dot
Oslo,1,4,4
Rome,2,5,10
Oslo,3,7,25
Rome,4,8,42
Rome,0,9,32'
ok 'seq 5 | tally reduce dot --by city --column temp --with - c.csv' "city${t}dot
Oslo${t}10
Rome${t}20"
ok 'printf "1 0\n1 1\n0 1\n1 1\n1 1\n" >cv.txt; tr " " "\n" <cv.txt >ce.txt; tally reduce sum,count --by city --column temp,rain --valid cv.txt c.csv' \
    "city${t}sum.temp${t}count.temp${t}sum.rain${t}count.rain
Oslo${t}1${t}1${t}7${t}1
Rome${t}6${t}3${t}22${t}3"
same 'tally reduce sum,count --by city --column temp,rain --valid ce.txt c.csv' 'tally reduce sum,count --by city --column temp,rain --valid cv.txt c.csv'
ok 'printf "0\n1\n1\n1\n0\n" >cl.txt; tally reduce dot --by city --column temp,rain --valid cl.txt c.csv' "city${t}dot
Oslo${t}21
Rome${t}42"
ok 'tally scan sum --by city --column temp --valid cl.txt c.csv' $'0\n2\n3\n6\n6'

# ---- the common type: its result, of every pair of types. 3 x 5 + 1 x 2 in each of them ----
kinds='i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64'
for d in $kinds; do
    printf '3\n1\n' | tally scan first --dtype "$d" >/dev/null
    printf '3\n1\n' | tally window first -w 1 --dtype "$d" -o "x_$d.raw"
    printf '5\n2\n' | tally window first -w 1 --dtype "$d" -o "y_$d.raw"
done
wide() # A B: the output of dot
{
    case $1,$2 in
        f64,* | *,f64) echo f64 ;;
        *f*,*f*) echo f32 ;;
        *f*,* | *,*f*) echo f64 ;;
        u*,u*) echo u64 ;;
        i*,u64 | u64,i*) echo f64 ;;
        *) echo i64 ;;
    esac
}
turn=$RANDOM # with a sanitizer each type is the first of two pairs
for a in $kinds; do
    for b in $kinds; do
        turn=$((turn + 1))
        [ $((turn % $(few 1 7))) -eq 0 ] || continue
        out=$(tally reduce dot --dtype "$a" --with "y_$b.raw" --with-dtype "$b" "x_$a.raw" --json | sed -nE 's/.*"dtype": "([a-z0-9]+)", "per".*"value": ([0-9]+),.*/\1 \2/p')
        [ "$out" = "$(wide "$a" "$b") 17" ]
        verdict "dot of $a and $b" $? "'$out' instead of '$(wide "$a" "$b") 17'"
    done
done

# ---- validity: with nothing left out the bits are those without ----
awk 'BEGIN { srand(5); for (i = 0; i < 3001; i++) print int(rand() * 120) }' >r.txt
awk '{ print 1 }' r.txt >ones.txt
for d in $kinds; do
    ops=sum,prod,mean,var,min,max,minmax,argmin,argmax,any,all,count,first,last,ema:0.3
    same "tally reduce $ops --hex --dtype $d --valid ones.txt r.txt" "tally reduce $ops --hex --dtype $d r.txt"
    same "tally reduce dot,cov,corr --hex --dtype $d --valid ones.txt --with r.txt r.txt" "tally reduce dot,cov,corr --hex --dtype $d --with r.txt r.txt"
done

# ---- validity: of integers what the filtered elements give ----
awk 'BEGIN { srand(3); for (i = 0; i < 5000; i++) print int(rand() * 2001) - 1000 }' >n.txt
awk 'BEGIN { srand(4); for (i = 0; i < 5000; i++) print rand() < 0.3 ? 0 : int(rand() * 3) - 1 }' >k.txt
paste n.txt k.txt | awk '$2 { print $1 }' >left.txt
for d in i16 i32 i64 f32 f64; do
    same "tally reduce sum,min,max,count,minmax,any,prod,xor --dtype $d --valid k.txt n.txt 2>/dev/null || tally reduce sum,min,max,count,minmax,any --dtype $d --valid k.txt n.txt" \
        "tally reduce sum,min,max,count,minmax,any,prod,xor --dtype $d left.txt 2>/dev/null || tally reduce sum,min,max,count,minmax,any --dtype $d left.txt"
done
same 'tally scan sum --dtype i32 --valid k.txt n.txt | paste - k.txt | grep -v "	0$" | cut -f1' 'tally scan sum --dtype i32 left.txt'
same 'paste n.txt k.txt | tally reduce sum,mean --dtype i64 --format text --column 1 --valid k.txt' 'tally reduce sum,mean --dtype i64 left.txt'
tally window first -w 1 --dtype u8 -o k.raw <(awk '{ print $1 != 0 }' k.txt)
tally window first -w 1 --dtype i64 -o k.npy k.txt
for file in k.raw k.npy; do
    same "tally reduce sum,mean,argmin,var --dtype i32 --valid $file n.txt" 'tally reduce sum,mean,argmin,var --dtype i32 --valid k.txt n.txt'
done
ok 'tally reduce sum,min,argmax,count,mean --valid v.txt x.txt' "sum${t}min${t}argmax${t}count${t}mean
4${t}1${t}2${t}2${t}2"
ok 'tally reduce dot,wmean --valid v.txt --column x,y a.csv' "dot${t}wmean
25${t}2.272727272727273"
ok 'tally scan sum --valid v.txt x.txt' $'1\n1\n4'
ok 'tally window mean -w 2 --edges shrink --valid v.txt x.txt' $'1\n1\n3'
ok 'tally window mean -w 2 --min-count 2 --edges shrink --valid v.txt x.txt' $'nan\nnan\nnan'
ok 'tally reduce sum --axis 0 --valid seg.npy --shape 2x2 --dtype i32 <(seq 4)' $'3\n6'
ok 'tally reduce sum --axis 1 --valid m.npy m.npy' $'6\n15'
ok 'tally reduce sum --axis 0,2 --shape 2x2x2 --valid <(printf "%s\n" 1 0 0 0 1 1 0 1) <(seq 8)' $'12\n8'
ok 'tally reduce dot --axis 0,2 --shape 2x2x2 --with <(seq 8) <(seq 8)' $'66\n138'
ok 'printf "1\nnan\n3\n" | tally reduce mean,nanmean,max --valid v.txt' "mean${t}nanmean${t}max
2${t}2${t}3"
ok 'printf "nan\n2\n3\n" | tally reduce mean,nanmean,max --valid v.txt' "mean${t}nanmean${t}max
nan${t}3${t}nan"
ok 'printf "0\n0\n0\n" >none.txt; tally reduce sum,mean,count,argmin --valid none.txt x.txt' "sum${t}mean${t}count${t}argmin
0${t}nan${t}0${t}-1"
ok 'printf "" >none.txt; tally reduce sum --valid none.txt empty.npy' 0
ok 'printf "" | tally reduce corr --with none.txt' nan
# an operator of the user's own
operators=$here/../examples/operators
same "tally reduce squares,streak --op-file $operators/squares.h --op-file $operators/streak.h --valid k.txt n.txt" \
    "tally reduce squares,streak --op-file $operators/squares.h --op-file $operators/streak.h left.txt"

# raw bits of any number; products that no f64 holds
ok 'printf "\1\0\1" >v.raw; tally reduce sum,mean:exact --valid v.raw x.txt' "sum${t}mean:exact
4${t}2"
ok 'printf "1e200,1e200\n1,3\n-1e200,1e200\n" | tally reduce dot,dot:exact --column 1,2' "dot${t}dot:exact
nan${t}3"

# ---- results without a value: --empty, --out-valid ----
printf '1\nnan\n3\n' >gap.txt
printf '0\n1\n2\n2\n3\n' >cuts.txt
printf 'k,x\na,nan\nb,2\na,nan\nb,nan\n' >keys.csv
printf 't,x\n2024-01-01T00:00:00,nan\n2024-01-01T00:00:01,2\n2024-01-01T00:00:05,nan\n' >times.csv
printf 'x,y\n1,nan\n2,3\nnan,4\n' >pairs.csv
ok 'tally window nansum -w 2 --min-count 2 gap.txt' $'0\n0\n0'
ok 'tally window nansum -w 2 --min-count 1 --empty NA gap.txt' $'1\n1\n3'
ok 'tally window nansum,sum,minmax -w 2 --empty NA --to csv gap.txt' $'nansum,sum,minmax.min,minmax.max\nNA,NA,NA,NA\n1,nan,nan,nan\n3,nan,nan,nan'
ok 'printf "1,2\n0,5\n" | tally scan minmax --header no --column 1,2 --to csv' $'minmax.min.1,minmax.max.1,minmax.min.2,minmax.max.2\n1,1,2,2\n0,1,2,5'
ok 'printf "1,2\n0,5\n" | tally scan minmax --header no --column 1,2' $'1\t1\t2\t2\n0\t1\t2\t5'
ok 'tally window minmax -w 2 --empty NA --to csv gap.txt' $'minmax.min,minmax.max\nNA,NA\nnan,nan\nnan,nan'
ok "tally window nansum -w 1 --empty 'a,\"b' --to csv gap.txt" $'nansum\n1\n"a,""b"\n3'
ok "tally window nansum -w 1 --empty '' --to csv gap.txt" $'nansum\n1\n""\n3'
ok "tally window nansum -w 1 --empty= gap.txt -o o.txt && cat o.txt" $'1\n\n3'
ok "tally reduce nansum --empty '' --to csv --segments cuts.txt gap.txt" $'nansum\n1\n""\n""\n3'
ok 'tally reduce nansum,sum,count --empty none --segments cuts.txt gap.txt' "nansum${t}sum${t}count
1${t}1${t}1
none${t}nan${t}0
none${t}none${t}none
3${t}3${t}1"
ok 'printf "" | tally reduce nansum,sum --empty none' "nansum${t}sum
none${t}none"
ok 'tally reduce sum --empty none gap.txt /dev/null --to csv' $'file,sum\ngap.txt,nan\n/dev/null,none'
ok 'tally scan nansum --exclusive --empty - gap.txt' $'-\n1\n1'
ok 'tally scan nansum --exclusive --reverse --empty - gap.txt' $'3\n3\n-'
ok 'tally scan nansum --exclusive --init 5 --empty - gap.txt' $'5\n6\n6'
ok 'tally scan nansum --shape 1x3 --axis 1 --exclusive --empty - gap.txt --to csv' $'nansum.0,nansum.1,nansum.2\n-,1,1'
ok 'tally reduce nansum,sum --by k --column x --empty NULL --to csv keys.csv' $'k,nansum,sum\na,NULL,nan\nb,2,nan'
ok "tally window nansum -w 2 --edges shrink --by k --column x --keep --empty '' keys.csv" $'k,x,nansum\na,nan,\nb,2,2\na,nan,\nb,nan,2'
ok "tally window nansum --by t --last 2s --column x --keep --empty '?' times.csv" $'t,x,nansum\n2024-01-01T00:00:00,nan,?\n2024-01-01T00:00:01,2,2\n2024-01-01T00:00:05,nan,?'
ok 'tally window nandot,dot -w 1 --column x,y --empty NA pairs.csv' "nandot${t}dot
NA${t}nan
6${t}6
NA${t}nan"
ok 'tally reduce nandot --column x,y --segments c3.txt --empty NA pairs.csv' $'NA\n6\nNA' <<<"$(printf '0\n1\n2\n3\n' >c3.txt)"
ok 'tally window nandot -w 1 --by k --column x,y --to csv --empty NA <<<"k,x,y
a,1,2
b,nan,1
a,3,nan
b,2,2"' $'nandot\n2\nNA\nNA\n4'
ok 'tally window sum -w 1 --valid v.txt --empty NA x.txt' $'1\nNA\n3'
ok 'tally scan max --exclusive --axis 0 c.npy -o w.npy && tally window nandot -w 1 --axis 1 --with w.npy --empty NA c.npy | sed "s/[0-9.-][0-9.-]*/v/g" | uniq -c | tr -s "\t " " "' $' 3 NA NA NA NA\n 3 v v v v'
ok "printf '1 2\n3 4\n' | tally scan sum --exclusive --column 1 --keep --empty NA" $'1 2 NA\n3 4 1'
ok 'tally window sum -w 1 --valid v.txt x.txt -o o.npy --out-valid o.bits && od -An -tx1 o.bits' ' 05'
ok 'seq 12 | tally scan minmax --exclusive --to raw -o o.raw --out-valid o.bits && od -An -tx1 o.bits' ' fe 0f'
ok 'seq 16 | tally scan sum --init 1 -o o.raw --out-valid o.bits && od -An -tx1 o.bits' ' ff ff'
# more bits than are written at a time
ok 'seq 70000 | tally scan sum --exclusive -o o.raw --out-valid o.bits && od -An -v -tx1 -w1 o.bits | uniq -c | tr -s " "' ' 1 fe
 8749 ff'
ok 'tally reduce nansum --segments cuts.txt gap.txt -o o.npy --out-valid o.bits && od -An -tx1 o.bits' ' 09'

lines=$(few 30000 6000)
# Every way: nansum has no value just where count is below the least number, or has no value itself.
awk 'BEGIN { srand(5); for (i = 0; i < '"$lines"'; i++) { if (i % 50 == 0) hole = rand() < 0.5;
    print int(rand() * 40) "," (hole || rand() < 0.3 ? "nan" : i % 9) "," (rand() < 0.9 ? "nan" : 1) } }' >many.csv
awk -F, -v OFS=, '{ $1 = NR % 9000; print }' many.csv >few.csv
sort -t, -k1,1n -s many.csv | awk -F, -v OFS=, '{ $1 += NR; print }' >ordered.csv
cut -d, -f2 many.csv >many.txt
tally scan last many.txt -o many.npy
while read -r least way; do
    key= && [[ $way == reduce*--by* ]] && key='s/^[^,]*,//'
    for op in nansum count; do # shellcheck disable=SC2086 # words
        tally ${way/OP/$op} --empty NA --to csv 2>&1 | sed -e 1d -e "$key" | tr , '\n' >$op.col
    done
    paste nansum.col count.col | awk -v least="$least" '{ bad += ($1 == "NA") != ($2 == "NA" || $2 < least); gone += $1 == "NA" }
        END { exit bad || !gone || gone == NR }'
    verdict "--empty: $way" $? "$(paste nansum.col count.col | head -5)"
done <<END
3 window OP -w 7 --min-count 3 many.txt
1 window OP -w 30 --edges shrink many.npy --threads 2
1 window OP -w 9 --center --step 3 many.npy
1 window OP --before=-1 --after 20 many.txt
4 window OP -w 12 --edges valid --min-count 4 --shape $((lines / 20))x20 --axis 1 many.npy
1 scan OP --reverse --axis 0 --shape 3x$((lines / 3)) many.npy
1 window OP -w 12 --axis 0 --column 2,3 many.csv
1 window OP -w 3 --by 1 --column 2,3 many.csv
2 window OP --by 1 --last 20 --min-count 2 --column 2 ordered.csv
1 scan OP --exclusive --by 1 --column 3 many.csv
1 reduce OP --by 1 --column 3 few.csv
1 reduce OP --by 1 --column 2,3 few.csv --sort --threads 1
1 reduce OP --axis 1 --shape $((lines / 5))x5 many.npy
1 reduce OP --axis 0 --shape 5x$((lines / 5)) many.npy
END

# ---- mistakes ----
printf 'city,temp,rain\n1,2,3\n' >d.csv
bad 2 'tally reduce dot x.txt' "tally: operator 'dot' takes two inputs: the second is --with FILE, or the second of --column X,Y"
bad 2 'tally scan corr --column x a.csv' "tally: operator 'corr' takes two inputs: the second is --with FILE, or the second of --column X,Y"
bad 2 'tally reduce dot --axis 0 --column city,temp,rain d.csv' "tally: operator 'dot' takes two inputs, and d.csv is read as a table of 3 columns: choose two"
bad 2 'tally reduce sum --with y.txt x.txt' "tally: --with y.txt is a second input, and operator 'sum' takes one"
bad 2 'tally reduce sum,dot --with y.txt x.txt' "tally: operator 'sum' takes one input, and 'dot' takes two: one call has operators of one kind"
bad 2 'tally window dot,max -w 2 --with y.txt x.txt' "tally: operator 'dot' takes two inputs, and 'max' takes one: one call has operators of one kind"
bad 1 'tally reduce dot --with s.txt x.txt' 'tally: --with s.txt has 6 elements, and x.txt has 3: must be as many'
bad 1 'seq 1 | tally reduce dot --with - x.txt' 'tally: --with standard input has 1 element, and x.txt has 3: must be as many'
bad 1 'tally reduce dot --axis 0 --with s.txt m.npy' 'tally: --with s.txt is an array of 6, and m.npy is one of 2x3: must be the same'
bad 1 'tally reduce sum --valid s.txt x.txt' 'tally: --valid s.txt has 6 elements, and x.txt has 3: must be as many'
bad 1 'tally reduce sum --valid empty.npy x.txt' 'tally: --valid empty.npy: must be whole numbers, 0 where an element is left out, and these are f32'
for d in f16 f64; do
    bad 1 "seq 3 | tally scan last --dtype $d -o h.npy; tally reduce sum --valid h.npy x.txt" "tally: --valid h.npy: must be whole numbers, 0 where an element is left out, and these are $d"
done
bad 1 'printf "1\n0.5\n1\n" >h.txt; tally reduce sum --valid h.txt x.txt' "tally: h.txt:2:1: '0.5' is not a whole number, as i64 needs"
bad 1 'tally reduce sum --valid nope x.txt' 'tally: nope: No such file or directory'
bad 1 'tally reduce dot --with nope x.txt' 'tally: nope: No such file or directory'
bad 2 'tally reduce dot --with - <x.txt' 'tally: --with is -, and standard input is FILE'
bad 2 'tally reduce dot --valid - --with - x.txt' 'tally: --valid is -, and standard input is that of --with'
bad 2 'seq 3 | tally reduce sum - x.txt -' 'tally: FILE is - twice, and standard input can be read once'
bad 2 'seq 3 | tally reduce sum --segments - -' 'tally: --segments is -, and standard input is FILE'
bad 2 'seq 3 | tally reduce sum --segments - --valid - x.txt' 'tally: --segments is -, and standard input is that of --valid'
bad 2 'tally reduce sum --valid - x.txt y.txt' 'tally: --valid is -, and standard input cannot be read again for every FILE'
bad 2 'tally reduce sum --with-dtype f32 x.txt' 'tally: --with-dtype is f32, the type of --with, which is not there'
bad 2 'tally fragment make sum --with y.txt x.txt -o no' "tally: --with y.txt is a second input, and operator 'sum' takes one"

bad 2 'tally window sum -w 2 --empty NA --to npy x.txt' "tally: --empty is 'NA', and npy has no value that stands for none; --out-valid FILE marks them"
bad 2 'tally scan sum --empty NA --json x.txt' "tally: --empty is 'NA': in JSON it must be null"
bad 2 'tally reduce sum --empty NA x.txt -o no' "tally: --empty is 'NA', and raw has no value that stands for none; --out-valid FILE marks them"
bad 2 'tally reduce sum --empty NA --digest x.txt' "tally: --empty is 'NA': --digest prints no results; give --output FILE too"
bad 2 $'tally reduce sum --empty "a\tb" x.txt' "tally: --empty is 'a\\tb': must be one cell: UTF-8 without tabs, ends of lines and the like"
bad 2 'printf "1 2\n3 4\n" | tally scan sum --exclusive --column 1 --keep --empty ""' "tally: --empty is '': must be one word where white space is between the cells, as in standard input"
bad 2 'tally scan sum --out-valid no x.txt' "tally: --out-valid is 'no': the results must go to a file too; give --output FILE"
bad 2 'tally scan sum --out-valid no -o no.csv x.txt' "tally: --out-valid is 'no', for npy and raw, and the results go to csv; --empty WORD marks them there"
bad 2 'tally scan sum --out-valid no -o no x.txt' "tally: --out-valid is 'no', which is --output too: must be another file"
for file in '' -; do
    bad 2 "tally scan sum --out-valid '$file' -o no.npy x.txt" "tally: --out-valid is '$file': must be the name of a file"
done
bad 2 'tally scan minmax --axis 7 --shape 1x1x1x1x1x1x1x3 -o no.npy x.txt' 'tally: x.txt has 8 dimensions, and several values per result need one more: at most 8'
bad 2 'tally scan sum --out-valid no --empty NA -o no.csv x.txt' 'tally: --empty and --out-valid exclude each other'
bad 1 'tally scan sum --out-valid no/no -o no.npy x.txt' 'tally: no/no: creating a temporary file beside it: No such file or directory'
bad 1 'tally scan sum --out-valid /dev/full -o no.npy x.txt' 'tally: /dev/full: writing: No space left on device'
bad 1 'printf "1\nx\n" | tally scan sum --out-valid no.bits -o no.npy' "tally: standard input:2:1: 'x' is not a number; --skip-bad skips and counts such cells"
verdict 'nothing written' "$(find . -name 'no*' ! -name 'none.txt' ! -name nope | wc -l)" "$(ls -A)"

finish
