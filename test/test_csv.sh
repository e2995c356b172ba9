#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Text and CSV on the command line where the meaning is not certain; files that are something else or do not end; outputs
# that are one file; groups of chosen keys. test_csv.c has the cases that need no command line.
# shellcheck source=test/cli/check.sh
source "$(dirname "${BASH_SOURCE[0]}")/cli/check.sh"

printf 'region,2023,2024,2025\nEMEA,10,20,30\nAPAC,5,6,7\n' >years.csv
bad 2 'tally reduce sum --axis 0 years.csv' "tally: years.csv: the first line, 'region,2023,2024,2025', may be a header or data: say --header yes or --header no"
ok 'tally reduce sum --axis 0 --header yes years.csv' $'15\n26\n37'
ok 'tally reduce sum --column 2024,2025 years.csv' $'26\n37'
bad 2 'tally reduce sum --column 2026 years.csv' "tally: years.csv: no column '2026'; the columns are 1 'region', 2 '2023', 3 '2024', 4 '2025'"
printf 'sep=;\r\nx;y\r\n1,5;2\r\n2;7\r\n' >sep.csv
ok 'tally reduce sum --column y sep.csv; tally reduce sum --column x --decimal , sep.csv; sed "s/;/|/g" sep.csv | tally reduce max --column y' $'9\n3.5\n7'
ok 'tally reduce sum --by region --column 2 years.csv | tail -n 1' "APAC${t}5"
printf 'tag,v\n#1,10\n#2,20\nx,30\n' >hash.csv
ok 'tally reduce sum --column v hash.csv' 60
ok "tally reduce sum --column v --comment '#' hash.csv" 30
ok "tally reduce sum --column v --comment '' hash.csv" 60
ok 'tally scan sum --column v --keep hash.csv | tail -n 2' $'#2,20,30\nx,30,60'
says "tally scan sum --column v --keep --comment '#' hash.csv >k.csv && tail -n 1 k.csv >&2" 'tally: hash.csv: 2 comment lines were not kept
x,30,30'
bad 2 'tally reduce sum --comment // hash.csv' "tally: --comment is '//': must be one character, or '' for none"
printf 'state,pop,tax\nAL,"4,903,185",4\nAK,"731,545",0\n' >thousands.csv
bad 2 'tally reduce sum thousands.csv' "tally: thousands.csv: column 2 has '4,903,185', which is no number here: read it with --thousands ',', or choose the columns with --column"
ok 'tally reduce sum --thousands , --column pop thousands.csv' 5634730
bad 2 'tally reduce sum --thousands . thousands.csv' "tally: --thousands is '.': must be one of , ' _ and a space"
ok 'printf "a,v\r1,2\r3,4\r" | tally reduce sum --column v' 6
ok 'printf "a,v\r1,2\r3,4\r" | tally scan sum --column v --keep' $'a,v,sum\n1,2,2\n3,4,6'
ok 'printf "1\r# 9\r2\r" | tally reduce sum' 3
bad 2 "printf '1 000\n2 000\n' | tally reduce sum --thousands ' '" "tally: thousands is ' ': must be one of , ' _ and a space, and not the delimiter"

# ---- columns of dates: results are written as the first date of the leftmost column is ----
printf 'day,at,x\n2024-02-29,2024-05-01 12:00,1\n1999-12-31,2024-05-01 09:30:01.5,1\n2024-03-01,1969-12-31 23:59,2\n' >dates.csv
ok 'tally reduce max,min,first,last,argmax,count --column day dates.csv' "max${t}min${t}first${t}last${t}argmax${t}count
2024-03-01${t}1999-12-31${t}2024-02-29${t}2024-03-01${t}2${t}3"
ok 'tally reduce minmax,nanlast --column at --to csv dates.csv' $'minmax.min,minmax.max,nanlast\n1969-12-31 23:59,2024-05-01 12:00,1969-12-31 23:59'
ok 'tally reduce max --by x --column day,at --to csv dates.csv' $'x,max.day,max.at\n1,2024-02-29,2024-05-01T12:00\n2,2024-03-01,1969-12-31T23:59'
ok 'tally reduce min --by day.year --column at dates.csv' "year${t}min
2024${t}1969-12-31 23:59
1999${t}2024-05-01 09:30:01.5"
ok 'tally reduce max --column day --json dates.csv | grep -o "\"value\": [^,]*"' '"value": "2024-03-01"'
ok 'tally reduce max --column day --hex dates.csv' 0x17b87ae90fe90000
ok 'tally reduce missing --column day dates.csv' 0
for form in 2024-02-29 2024-02-29T00:00 20240229T2359 20240229T235959.123456789Z '2024-02-29 01:02:03.40' 2024-02-29T01:02:03.000-03:30 \
    2024-02-29t01:02:03+0530 1677-09-22 2262-04-10T00:00:00+23 1970-01-01T00:00:00.000000001 1969-12-31T23:59:59.999999999z; do
    ok "printf 'a\n%s\n' '$form' | tally reduce max --delimiter , --column a" "$form"
done
bad 2 'tally reduce max,sum --column day dates.csv' "tally: dates.csv: the column has dates, and dates have no 'sum': they have min, max, minmax, first, last, argmin, argmax and count"
bad 2 'tally reduce corr --column day,at dates.csv' "tally: dates.csv: the column has dates, and dates have no 'corr': they have min, max, minmax, first, last, argmin, argmax and count"
bad 1 "printf 'day\n0001-01-01\n2024-05-01\n' | tally reduce max --delimiter , --column day" "tally: standard input:2:1: the time '0001-01-01' is not in 1677-09-21T00:12:44Z .. 2262-04-11T23:47:16Z, where nanoseconds fit 64 bits"
bad 1 "printf 'a\n2024-05-01T00:00:00.0000000001\n' | tally reduce max --delimiter , --column a" "tally: standard input:2:1: the time '2024-05-01T00:00:00.0000000001' has more than nine digits after the second"
bad 1 'tally reduce max --column day,x dates.csv' "tally: dates.csv:2:1: '2024-02-29' is not a number; --skip-bad skips and counts such cells"
bad 1 'tally scan max --column day dates.csv' "tally: dates.csv:2:1: '2024-02-29' is not a number; --skip-bad skips and counts such cells"
printf 'a\n2024-05-01T00:00:00+02:00\n2024-05-01T00:30:00+03:00\n7\n' >zones.csv
bad 1 'tally reduce max --column a zones.csv' "tally: zones.csv:3:1: the time '2024-05-01T00:30:00+03:00' cannot be compared with that of line 2, which has the zone +02:00; --utc takes times of several zones as UTC"
bad 1 'tally reduce max --column a --utc zones.csv' "tally: zones.csv:4:1: '7' is a number, and no date (2024-05-01T13:30:00.5Z)"
ok 'tally reduce min,max --column a --utc --skip-bad --quiet zones.csv | tail -n 1' "2024-04-30T21:30:00Z${t}2024-04-30T22:00:00Z"
# of many lines, which several threads read, the number is found too
{ echo a && yes 2024-05-01T00:00:00 | head -n 200000 && echo 2024 && yes 2024-05-02T00:00:00 | head -n 200000; } >many.csv
bad 1 'tally reduce max --column a --threads 4 many.csv' "tally: many.csv:200002:1: '2024' is a number, and no date (2024-05-01T13:30:00.5Z)"
ok 'tally reduce max,count --column a --threads 4 --skip-bad --quiet many.csv | tail -n 1' "2024-05-02T00:00:00${t}400000"

# ---- lines with more cells than the first one, or fewer ----
# a column of numbers beside signs is not left out silently; one of other words is
for cell in '5%' '$5' '-5 %' '(5)' '"3,14%"' '£4.9' '5 €' '−5' '<5'; do
    shown=${cell//\"/}
    bad 2 "printf 'a,b,c\nx,%s,1\ny,%s,2\n' '$cell' '$cell' | tally reduce sum --axis 0" "tally: standard input: column 2 has '$shown', which is no number here: choose the columns with --column"
done
for cell in A5 5A 2024-05-01 12:30 - % '#5' 5kg; do
    ok "printf 'a,b,c\nx,%s,1\ny,%s,2\n' '$cell' '$cell' | tally reduce sum --axis 0" 3
done
for cell in 5% '$5' 3,14; do # nor is one whose first cell is a word
    bad 2 "printf 'a;b;c\nx;-;1\ny;%s;2\n' '$cell' | tally reduce sum" 'tally: standard input: column 2 has words and numbers: choose with --column'
done
printf 'id,price,qty\n1,10,2\n2,3,14,5\n' >long.csv # 3,14 without quotes
printf 'x y\n1 10 20\n2 30 40\n' >rows.txt          # as write.table of R, without quotes
printf 'at temp wind\n1 10 3\n2    4\n' >blank.txt
for how in '--column price' '--column 2' '--axis 0' '--column id,price,qty' '--by id --column price' '--by qty --column id'; do
    bad 1 "tally reduce sum $how long.csv" "tally: long.csv:3:1: the line '2,3,14,5' has more cells than the first one, which has 3"
done
for how in '--column x' '--column y' '--column 3' '--axis 0' '--by x --column y' '--by 3 --column y'; do
    bad 1 "tally reduce sum $how rows.txt" "tally: rows.txt:2:1: the line '1 10 20' has more cells than the first one, which has 2"
done
for how in '--column temp' '--column 1' '--axis 0' '--by at --column temp'; do
    bad 1 "tally scan sum $how blank.txt" "tally: blank.txt:3:1: the line '2    4' has no column 3"
done
bad 1 'sed s/20/\"a,b\"/ rows.txt | tr " " , | tally reduce sum --column y' "tally: standard input:2:1: the line '1,10,\"a,b\"' has more cells than the first one, which has 2"
ok 'tally reduce sum --column price --skip-bad -q long.csv' 10
for line in '1,2' '1,2,3,' '1,2,3,""'; do # with --keep the results would be in another column
    why="column 3" && [[ $line == *3* ]] && why='more cells than the first one, which has 3'
    [[ $why == c* ]] && why="no $why"
    bad 1 "printf '%s\n' x,y,z 1,2,3 '$line' | tally scan sum --column y --keep" "tally: standard input:3:1: the line '$line' has $why"
    ok "printf '%s\n' x,y,z 1,2,3 '$line' | tally scan sum --column y | tail -n 1" 4
done
ok "printf 'x,y,z\n1,2\n3,4, ,,\n5,6,7,\"\",\n' | tally reduce sum --column x,y" $'9\n12'
ok "printf 'x y \n1 2\t\n 3 4 \n' | tally reduce sum --column y" 6
ok "printf '1 2\n3\n' | tally reduce sum" 6

bad 1 'printf "a\0b,x\n1,2\n" | tally scan sum --column x --keep --format csv' 'tally: standard input: the header has a byte 0, and --keep cannot write it'
ok 'printf "a\0b,x\n1,2\n" | tally scan sum --column x --format csv' 2

# ---- numbers as times ----
printf 't;v\n1,5;1\n2,25;2\n2,5;4\n' >comma.csv
ok 'tally window sum --by t --last 1 --column v --decimal , comma.csv' $'1\n3\n6'
ok 'sed s/^/2024-05-01T00:00:0/ comma.csv | sed 1s/.*/t\;v/ | tally window sum --by t --last 1s --column v --decimal , --keep' $'t;v;sum\n2024-05-01T00:00:01,5;1;1\n2024-05-01T00:00:02,25;2;3\n2024-05-01T00:00:02,5;4;6'
bad 1 'tally window sum --by t --last 1 --column v comma.csv' "tally: comma.csv:2:1: '1,5' is neither a time (2024-05-01T13:30:00.5Z) nor a number"
bad 1 'sed 4s/,/./ comma.csv | tally window sum --by t --last 1 --column v --decimal ,' "tally: standard input:4:1: '2.5' is neither a time (2024-05-01T13:30:00.5Z) nor a number"
bad 1 'tally reduce sum --by t.day --column v --decimal , comma.csv' "tally: comma.csv:2:1: '1,5' is a number, and no date (2024-05-01T13:30:00.5Z)"
bad 1 'sed 2s/1,5/x/ comma.csv | tally reduce sum --by t.day --column v --header yes' "tally: standard input:2:1: 'x' is neither a time (2024-05-01T13:30:00.5Z) nor a number"

# ---- lines of many lengths, whose cells are counted in blocks ----
for cells in 2 18 257 1025; do
    for digits in 1 9 13 16; do
        awk -v n=$cells -v d=$digits 'BEGIN { for (r = 0; r < 3; r++) {
            printf "1"; for (c = 1; c < n; c++) printf ","; print substr("1234567890123456", 1, d) } }' >wide.csv
        ok 'tally reduce sum --column 1 --header no wide.csv' 3
        has "! sed '2s/$/,9/' wide.csv | tally reduce sum --column 1 --header no 2>&1" "has more cells than the first one, which has $cells"
        has "! sed '2s/,//' wide.csv | tally scan sum --column 1 --header no --keep 2>&1" "has no column $cells"
    done
done

# ---- a column of numbers that begins with a word is not left out silently ----
printf 'k,a,b\nx,N/A,1\ny,s,2\nx,7,3\n' >words.csv
for how in '' '--axis 0' '--by k' '--by 1 --header yes'; do
    bad 2 "tally reduce sum $how words.csv" "tally: words.csv: column 2 has words and numbers: choose with --column"
done
ok 'tally reduce sum --column b words.csv; tally reduce sum --by a,k words.csv | tail -n 1; sed s/7/t/ words.csv | tally reduce sum' $'6\n7\tx\t3\n6'
bad 2 'tr , " " <words.csv | tally reduce sum --axis 0' "tally: standard input: column 2 has words and numbers: choose with --column"
ok "printf 'x;1 000\n' | tally reduce sum --format text --delimiter ';' --thousands ' ' --column 2 --header no" 1000

# ---- a number that is also the name of another column ----
printf 'at,1,2,x\nA,10,20,30\nB,1,2,3\n' >months.csv
for how in '--column 2' '--column 2 --header yes' '--by at --column x,2' '--by 2 --column x'; do
    bad 2 "tally reduce sum $how months.csv" "tally: months.csv: '2' is a number, and the name of column 3: write 2-2 or 3-3"
done
ok 'tally reduce sum --column 2-2,3-3 months.csv; tally reduce sum --column 4 months.csv; sed s/x/3/ months.csv | tally reduce sum --header yes --column 4' $'11\n22\n33\n33'
ok "printf '3,1,4\n3,1,5\n' | tally reduce sum --column 3" 9
bad 1 'tally reduce sum --column v --format csv </dev/null' "tally: standard input: no column 'v': the input is empty"
bad 2 'printf "v,w,v\n1,2,3\n" | tally reduce sum --column v' "tally: standard input: columns 1 and 3 are both called 'v': choose by number"

# ---- files that are something else: by their bytes, whatever they are called ----
gzip -c years.csv >years.csv.gz && cp years.csv.gz wrong.csv && gzip -c years.csv.gz >twice.csv.gz
for f in years.csv.gz wrong.csv '<wrong.csv'; do same "tally reduce sum --header yes --axis 0 $f" 'tally reduce sum --header yes --axis 0 years.csv'; done
bad 2 'tally reduce sum twice.csv.gz' 'tally: twice.csv.gz: this is compressed by gzip twice: decompress it first'
bad 2 'printf "\377\3761\0\n\0" | tally reduce sum' 'tally: standard input: this is UTF-16 text: tally reads UTF-8: iconv -f UTF-16 -t UTF-8 FILE'
bad 1 'tally reduce mine --op-file nope.h years.csv' 'tally: nope.h: No such file or directory'

# ---- files that do not end ----
if [ -z "${TALLY_TEST_QUICK-}" ]; then
    bad 1 "head -c 68000000 /dev/zero | tr '\\0' 1 | timeout 60 tally reduce sum" 'tally: standard input:1:1: a cell of more than 67108864 bytes'
    bad 1 'seq 3 >x.txt; yes 1 | timeout 60 tally reduce dot --with - x.txt' 'tally: standard input: there are more than 16777216 elements, too many beside the data'
fi
bad 1 'timeout 60 tally fragment show /dev/zero' 'tally: /dev/zero: fragment: these bytes are not a fragment'
bad 1 'timeout 60 tally reduce sum --op-file x=/dev/zero years.csv' 'tally: /dev/zero: byte 0 is zero: an operator is a text'
bad 1 'seq 3 | timeout 60 tally reduce sum --valid /dev/zero' 'tally: /dev/zero: there are more than 16777216 elements, too many beside the data'

# ---- outputs that are one file ----
one="which is --output too: must be another file"
for name in ./o.npy "$PWD/o.npy" sub/../o.npy link; do
    mkdir -p sub && rm -f link && ln -s o.npy link
    bad 2 "seq 3 | tally window sum -w 2 -o o.npy --out-valid $name" "tally: --out-valid is '$name', $one"
done
seq 3 | tally window sum -w 2 -o o.npy && ln o.npy hard
bad 2 'seq 3 | tally window sum -w 2 -o o.npy --out-valid hard' "tally: --out-valid is 'hard', $one"
ok 'seq 3 | tally window sum -w 2 -o o.npy --out-valid sub/o.npy && wc -c <sub/o.npy' 1
bad 2 'tally ladder reduce --html a.html --json ./a.html' "tally: --html is 'a.html', which is --json too: must be another file"

self='is standard output too, which would be read while it is written: use --output FILE'
for how in 'scan sum same.txt >>same.txt' 'scan sum ./same.txt -o /dev/stdout --json 1<>same.txt' 'reduce sum years.csv same.txt --axis 0 >>same.txt'; do
    file=same.txt && [[ $how == *./* ]] && file=./same.txt
    bad 2 "seq 3 >same.txt; tally $how" "tally: $file $self"
done
bad 2 'seq 3 >same.txt; tally window sum -w 2 <same.txt >>same.txt' "tally: standard input $self"
ok 'tally scan sum same.txt -o same.raw --digest >>same.txt; tally scan sum same.txt -o same.txt --skip-bad -q; head -n 3 same.txt' $'1\n3\n6'

# ---- groups ----
lines=$(few 120000 40000)
python3 - "$lines" >many.csv <<'END'
import sys
print("k,v")
for i in range(int(sys.argv[1])): print("key%d,%d" % (i * 7919 % 30011, i % 100))
END
python3 - "$lines" >want.csv <<'END'
import sys
total = {}
for i in range(int(sys.argv[1])):
    k = i * 7919 % 30011
    total.setdefault(k, []).append(i % 100)
print("k,sum,max,count")
for k, v in total.items(): print("key%d,%d,%d,%d" % (k, sum(v), max(v), len(v)))
END
for threads in 1 2 3; do
    ok "tally reduce sum,max,count --by k --column v --threads $threads --to csv many.csv | cmp - want.csv" ''
done
ok '(head -n 1 want.csv; tail -n +2 want.csv | LC_ALL=C sort -t, -k1,1) >sorted.csv; tally reduce sum,max,count --sort --by k --column v --to csv many.csv | cmp - sorted.csv' ''
finish
