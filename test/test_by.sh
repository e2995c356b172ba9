#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --by: groups of lines by text and numeric keys, in all verbs and formats. A group's bits are those of its lines alone.
# shellcheck source=test/cli/check.sh
source "$(dirname "${BASH_SOURCE[0]}")/cli/check.sh"

cat >c.csv <<'END'
city,temp,hum,year
Oslo,3,50,2001
Rome,21,60,2001
"Oslo",4,51,2002
 Rome ,22,61,2001
"a ""b"", c",1,2,10
,7,8,9
END
ok 'tally reduce mean,count --by city --column temp c.csv' "city${t}mean${t}count
Oslo${t}3.5${t}2
Rome${t}21.5${t}2
a \"b\", c${t}1${t}1
${t}7${t}1"
ok 'tally reduce sum --by city --column temp --sort c.csv --to csv' 'city,sum
,7
Oslo,7
Rome,43
"a ""b"", c",1'
ok 'tally reduce sum --by year --column temp --sort c.csv' "year${t}sum
9${t}7
10${t}1
2001${t}46
2002${t}4"
ok 'tally reduce sum --by year,city --column temp --sort c.csv' "year${t}city${t}sum
9${t}${t}7
10${t}a \"b\", c${t}1
2001${t}Oslo${t}3
2001${t}Rome${t}43
2002${t}Oslo${t}4"
ok 'tally reduce max,minmax --by 1 --column temp,hum c.csv --to csv | head -n 2' 'city,max.temp,minmax.temp.min,minmax.temp.max,max.hum,minmax.hum.min,minmax.hum.max
Oslo,4,3,4,51,50,51'
ok 'printf "a,b,c,d\n1,20,300,4000\n1,50,600,7000\n" | tally reduce sum --by a --column a,c,d --to csv | tail -n 1' '1,2,900,11000' # the key's cell is a value too
ok 'tally reduce sum --by temp --column temp c.csv | head -n 2' "temp${t}sum
3${t}3"
ok 'tail -n +2 c.csv | head -n 4 | tally reduce sum --format csv --by 1 --column 2' "key${t}sum
Oslo${t}7
Rome${t}43"
ok 'printf "b 1\na 2\nb 3\n" | tally reduce sum --by 1' "key${t}sum
b${t}4
a${t}2"
ok 'printf "b x 1\na x 2\nb y 3\nb x 4\n" | tally reduce sum:exact --by 1-2 --column 3' "key1${t}key2${t}sum:exact
b${t}x${t}5
a${t}x${t}2
b${t}y${t}3"
has 'tally reduce sum --by city --column temp c.csv --json' '"per": "group", "values": \[7, 43, 1, 7\].*'
has 'tally reduce sum --by city --column temp c.csv --json' '"keys": \[\{"name": "city", "values": \["Oslo", "Rome", "a \\"b\\", c", ""\]\}\], "skipped": 0'
same 'tally reduce sum --by city --column temp c.csv --digest' "tally reduce sum --by city --column temp c.csv -o d.raw && sha256sum d.raw | cut -d' ' -f1"
ok 'tally reduce sum --by city --column temp c.csv c.csv | sed -n "1p;2p;6p"' "file${t}city${t}sum
c.csv${t}Oslo${t}7
c.csv${t}Oslo${t}7"
# `a""b` in quotes and `a"b` without them are one key, also a long one, and beside another
for key in 'a"b' 'a"bcdefghijklmnopqrstuvwxyz'; do
    printf 'k,j,v\n"%s",1,1\n%s,"1",2\n"%s",1,4\n%sc,1,8\n' "${key/\"/\"\"}" "$key" "${key/\"/\"\"}" "$key" >quotes.csv
    ok 'tally reduce sum --by k --column v quotes.csv' "k${t}sum
$key${t}7
${key}c${t}8"
    ok 'tally reduce sum --by k,j --column v quotes.csv | cut -f 3' $'sum\n7\n8'
done
bad 1 "printf 'k,v\\na\\0b,1\\na\\0c,2\\n' | tally reduce sum --by k --format csv" 'tally: standard input: a key has a byte 0, which is no text'
ok 'tally scan sum --by city --column temp c.csv' '3
21
7
43
1
7'
ok 'tally scan sum,count --by city --column temp --keep c.csv | tail -n +4 | head -n 2' '"Oslo",4,51,2002,7,2
 Rome ,22,61,2001,43,2'
ok 'tally scan sum --reverse --by city --column temp c.csv | head -n 2' '7
43'
ok 'tally window mean -w 2 --by city --column temp,hum --keep c.csv' 'city,temp,hum,year,mean.temp,mean.hum
Oslo,3,50,2001,nan,nan
Rome,21,60,2001,nan,nan
"Oslo",4,51,2002,3.5,50.5
 Rome ,22,61,2001,21.5,60.5
"a ""b"", c",1,2,10,nan,nan
,7,8,9,nan,nan'
ok 'tally window minmax -w 2 --edges shrink --by city --column temp --dtype i32 c.csv' "3${t}3
21${t}21
3${t}4
21${t}22
1${t}1
7${t}7"
ok 'printf "city,temp\n" | tally reduce sum --format csv --by city --column temp --header yes' "city${t}sum"

# names of any length
long=$(printf 'of_a_very_long_name_%.0s' 1 2 3 4 5)
printf 'g,%s1,%s2\na,1,2\na,3,4\n' "$long" "$long" >long.csv
ok 'tally reduce minmax --by g --column 2,3 long.csv --to csv' "g,minmax.${long}1.min,minmax.${long}1.max,minmax.${long}2.min,minmax.${long}2.max
a,1,3,2,4"
bad 2 'tally reduce sum --by City --column tmep c.csv' "tally: c.csv: no column 'City'; did you mean 'city'? the columns are 1 'city', 2 'temp', 3 'hum', 4 'year'"
bad 2 'tally reduce sum --by city --column tmep c.csv' "tally: c.csv: no column 'tmep'; did you mean 'temp'? the columns are 1 'city', 2 'temp', 3 'hum', 4 'year'"
bad 2 'tally reduce sum --by town --column temp c.csv' "tally: c.csv: no column 'town'; the columns are 1 'city', 2 'temp', 3 'hum', 4 'year'"
bad 2 'tally reduce sum --by city c.csv' "tally: c.csv: 3 columns have numbers: 2 'temp', 3 'hum', 4 'year'; choose one with --column"
bad 2 'tally reduce sum --by city --axis 0 c.csv' 'tally: --by and --axis exclude each other'
bad 2 'tally scan sum --by city --segments c.csv c.csv' 'tally: --by and --segments exclude each other'
bad 2 'tally window sum -w 2 --step 2 --by city --column temp c.csv' 'tally: --by and --step exclude each other'
# empty cells are before numbers, and numbers that are equal in the order of their texts
ok 'printf "k,v\n2,1\n,2\n1.0,3\n-1,4\n1,5\nnan,6\n" | tally reduce sum --sort --by k --column v --to csv' "k,sum
,2
-1,4
1,5
1.0,3
2,1
nan,6"
bad 2 'tally reduce sum --sort --column temp c.csv' 'tally: --sort orders the groups of --by, which is not there'
# several columns in a file of one type: a row for each group
raw() { ok "tally reduce $1 --to raw -o rows.raw && od -An -v -tf8 -w64 rows.raw | tr -s ' '" "$2"; }
raw 'mean --by city --column temp,hum c.csv' ' 3.5 50.5 21.5 60.5 1 2 7 8'
raw 'minmax --by year --sort --column temp,hum c.csv' ' 7 7 8 8 1 1 2 2
 3 22 50 61 4 4 51 51'
ok "tally reduce mean --by city --column temp,hum c.csv -o rows.npy && tally reduce sum --axis 1 rows.npy | paste -sd' '" '54 82 3 15'
ok "printf 'k,x,y\na,1,2\nb,,3\na,5,\n' | tally reduce nansum --by k --column x,y -o rows.npy --out-valid rows.bits && od -An -tu1 rows.bits" '  11'
bad 2 'tally reduce sum --by 1 m.npy' "tally: m.npy: key column '1': npy files have no columns"
bad 1 'printf "a,b\nx,1\ny\n" | tally reduce sum --by a --column b' "tally: standard input:3:1: the line 'y' has no column 2"
bad 1 'printf "b,a\n1,x\n2\n" | tally reduce sum --by a --column b' "tally: standard input:3:1: the line '2' has no column 2"
bad 1 'printf "a,b\nx,1\n\"y,2\n" | tally reduce sum --by a --column b' "tally: standard input:3:1: a quoted cell is not closed"
bad 2 'tally window sum -w 2 --edges valid --by city --column temp c.csv' 'tally: --by and --edges valid exclude each other: each line has a result'
ok 'printf "a,b\nx,1\ny,z\nx,5\n" | tally reduce sum --skip-bad --quiet --by a --column b' "a${t}sum
x${t}6"

# ---- many lines and groups: each group is what its lines alone give, on any number of threads ----
awk 'BEGIN { srand(5); print "k,v"; for (i = 0; i < '"$(few 200000 30000)"'; i++) printf "%s%d,%.4f\n", rand() < 0.5 ? "x" : "y", int(rand() * 500), rand() * 100 - 50 }' >big.csv
tally reduce sum,mean,count,last --by k --column v --hex big.csv >groups.txt
for threads in 1 2 3; do
    same "tally reduce sum,mean,count,last --by k --column v --hex --threads $threads big.csv" 'cat groups.txt'
    same "cat big.csv | tally reduce sum,mean,count,last --by k --column v --hex --threads $threads" 'cat groups.txt'
done
same 'tail -n +2 groups.txt | cut -f1' "tail -n +2 big.csv | cut -d, -f1 | awk '!seen[\$0]++'"
for k in x7 y499 x0; do
    same "grep '^$k$t' groups.txt | cut -f2-" "grep '^$k,' big.csv | cut -d, -f2 | tally reduce sum,mean,count,last --hex | tail -n 1"
    same "tally scan sum --by k --column v --keep --hex big.csv | grep '^$k,' | cut -d, -f3" "grep '^$k,' big.csv | cut -d, -f2 | tally scan sum --hex"
    same "tally window mean -w 9 --min-count 1 --by k --column v --keep --hex big.csv | grep '^$k,' | cut -d, -f3" \
        "grep '^$k,' big.csv | cut -d, -f2 | tally window mean -w 9 --min-count 1 --hex"
done


# more groups than there are streams for while the file is read, and groups of many lines: those of each group alone
awk 'BEGIN { srand(3); print "k,v,w"; for (i = 0; i < '"$(few 40000 20000)"'; i++) printf "%d,%.3f,%d\n", (i % 3 ? i * 7919 % 6007 : i % 7), rand() - 0.5, i % 100 }' >many.csv
tally reduce sum,var,first --by k --column v,w --hex many.csv >many.txt
awk -F, 'NR > 1 && !seen[$1]++ { print $1 }' many.csv >order.txt
same 'tail -n +2 many.txt | cut -f1' 'cat order.txt'
same 'tally reduce count,first,last --by k --column w --dtype i64 many.csv | tail -n +2' \
    "awk -F, 'NR > 1 { if (!n[\$1]++) { o[++m] = \$1; f[\$1] = \$3 } l[\$1] = \$3 } END { for (i = 1; i <= m; i++) print o[i] \"\t\" n[o[i]] \"\t\" f[o[i]] \"\t\" l[o[i]] }' many.csv"
for k in 0 3 6 17 3000 "$(tail -1 order.txt)"; do
    awk -F, -v k="$k" '$1 == k { print $2 }' many.csv >one.txt
    awk -F, -v k="$k" '$1 == k { print $3 }' many.csv >two.txt
    same "awk -v k=$k '\$1 == k' many.txt | cut -f2-" \
        'paste <(tally reduce sum,var,first --hex one.txt | tail -n +2) <(tally reduce sum,var,first --hex two.txt | tail -n +2)'
done
same 'tally reduce mean --by k --sort --column v --hex many.csv' '(tally reduce mean --by k --column v --hex many.csv | head -1; tally reduce mean --by k --column v --hex many.csv | tail -n +2 | sort -n)'

finish
