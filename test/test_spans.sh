#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Windows along times and other keys (--last, --next) at their edges: some by hand, and random cases beside integers of any
# width (test/spans.py), from CSV and, where ncgen and libnetcdf are here, along coordinates of NetCDF files. --by with --last and
# --next: windows along times; test/windows.py holds them to pandas' and Polars'.
# shellcheck source=test/cli/check.sh
source "$(dirname "${BASH_SOURCE[0]}")/cli/check.sh"

# a fraction only where there is one: the same number, written in other ways
seq 1 6 | sed 's/$/,1/' >six.csv
for two in 2 2.0 2e0 20e-1 +2 02 0.2e1 2.000000000000000000000; do
    ok "tally window sum --by 1 --column 2 --last $two six.csv | paste -sd' '" '1 2 2 2 2 2'
    ok "tally window sum --by 1 --column 2 --next $two six.csv | paste -sd' '" '2 2 2 2 1 0'
    ok "tally window sum --by 1 --column 2 --last $two --center six.csv | paste -sd' '" '2 2 2 2 2 1'
    ok "tally window sum --by 1 --column 2 --last $two --closed neither six.csv | paste -sd' '" '0 1 1 1 1 1'
done
ok "tally window sum --by 1 --column 2 --last 2.5 six.csv | paste -sd' '" '1 2 3 3 3 3'
ok "printf '0.1 1\n0.2 2\n0.3 4\n' | tally window sum --by 1 --column 2 --last 0.1 | paste -sd' '" '1 2 4'
ok "printf '0.1 1\n0.2 2\n0.3 4\n' | tally window sum --by 1 --column 2 --last 0.1 --closed both | paste -sd' '" '1 3 6'

# keys beyond 2^53, of i64 and u64, with one fraction in the column and without
keys() { ok "printf '%s,1\n%s,2\n%s,4\n' $1 | tally window sum --by 1 --column 2 $2 | paste -sd' '" "$3"; }
keys '18446744073709551613 18446744073709551614 18446744073709551615' '--last 2' '1 3 6'
keys '9007199254740993 9007199254740994 9007199254740994.5' '--last 1' '1 2 6'
keys '9223372036854775806 9223372036854775807 9223372036854775808' '--last 2' '1 3 6'
keys '-9223372036854775808 -9223372036854775807 9223372036854775807.25' '--last 9223372036854775807' '1 3 4'
keys '-9223372036854775808 -9223372036854775807 -1' '--next 9223372036854775807' '6 4 0'
keys '0 9223372036854775807 18446744073709551615' '--last 9223372036854775807 --closed both' '1 3 4'
keys '1 1.000000000000000001 1.000000000000000002' '--last 0.000000000000000002' '1 3 6'
keys '1 1.000000000000000001 1.000000000000000002' '--last 0.000000000000000003 --center' '3 7 6'
keys '1.5 2.5 4' '--last 3 --center' '3 7 4'

# what cannot be: it names the place, or the option and what it must be
key() { bad 1 "printf '0,1\n%s,2\n' $1 | tally window sum --by 1 --column 2 --last 2" "tally: standard input:2:1: $2"; }
key 18446744073709551616 "the number '18446744073709551616' is a time, and must be in -2^63 .. 2^64 - 1"
key 1e30 "the number '1e30' is a time, and must be in -2^63 .. 2^64 - 1"
key 1.0000000000000000001 "the number '1.0000000000000000001' is a time, and must have at most 18 digits after the point"
key 2024-05-01T00:00:00.1234567890 "the time '2024-05-01T00:00:00.1234567890' has more than nine digits after the second"
key -1 "the time '-1' is before 0, the last one above: times must not fall; those of each group: --by GROUP,TIME"
bad 1 "printf 'h,t,x\na,18446744073709551615,1\nb,-1,1\n' | tally window sum --by h,t --column x --last 2" "tally: standard input:3:3: the time '-1' does not go with 18446744073709551615 above: times must all be in -2^63 .. 2^63 - 1, or all in 0 .. 2^64 - 1"
must='must be a number above -2^63 and below 2^63 with at most 18 digits after the point, as the keys of --by are integers or decimals'
for length in 9223372036854775808 1e19 1e-19 1e-400; do
    bad 2 "tally window sum --by 1 --column 2 --last 5 --next=$length six.csv" "tally: --next is '$length': $must"
done
bad 2 'tally window sum --by 1 --column 2 --last=-9223372036854775808 --next 9223372036854775807 six.csv' 'tally: the window would end before it begins: --last is -9223372036854775808 and --next 9223372036854775807'
for length in 1.0000000001s 0.5ns 1.5001us 0.00000000000000000000000h; do
    bad 2 "tally window sum --by 1 --column 2 --last $length six.csv" "tally: --last is '$length': must have no digits of less than a nanosecond, as in nine after the point of a second"
done
bad 2 'tally window sum --by 1 --column 2 --last 9223372037s six.csv' "tally: --last is '9223372037s': must be below 2^63 nanoseconds"
bad 2 'tally window sum --by 1 --column 2 --last nan six.csv' "tally: --last is 'nan', which is no length of time: 500ms, 2s, 1.5h, 1h30min (units: ns, us, ms, s, min, h, d, w), or a plain number where the times are numbers"
bad 2 'tally window sum --by 1 --column 2 --last=-9007199254740993 --next 9007199254740992 six.csv' 'tally: the window would end before it begins: --last is -9007199254740993 and --next 9007199254740992'

# along coordinates that fall: the value of a key counts
if command -v ncgen >/dev/null; then
    cat >falling.cdl <<'END'
netcdf falling {
dimensions: lev = 4 ; x = 2 ; t = 4 ; d = 4 ;
variables: int lev(lev) ; lev:units = "hPa" ; float v(lev, x) ; int t(t) ; t:units = "seconds since 2000-1-1" ; double one(t) ;
 float d(d) ; double two(d) ;
data: lev = 1000, 925, 850, 500 ; v = 1, 1, 2, 2, 3, 3, 4, 4 ; t = 4, 3, 3, 2 ; one = 1, 2, 4, 8 ; d = 4, 3, 3, 2 ; two = 1, 2, 4, 8 ;
}
END
    ncgen -4 -o falling.nc falling.cdl
    tally reduce sum --variable one falling.nc >has.txt 2>&1
fi
if [ -e has.txt ] && ! grep -q 'libnetcdf is not here' has.txt; then
    ok "tally window mean --variable v --axis lev --by lev --last 500 --to csv falling.nc | paste -sd' '" 'mean.0,mean.1 2,2 3,3 3.5,3.5 4,4'
    along() { ok "tally window sum --variable one --axis t --by t $1 falling.nc | paste -sd' '" "$2"; }
    along '--last 2s' '7 14 14 8'
    along '--last 2s --ties all' '7 14 14 8'
    along '--next 2s' '0 1 1 7'
    along '--next 1s --closed both' '1 7 7 14'
    along '--next=-1s --last 2s' '6 8 8 0'
    along '--next=-1s --last 2s --ties row' '6 8 8 0'
    along '--last 1500ms' '7 14 14 8'
    along '--last 1ms --closed both' '1 6 6 8'
    along '--last 0s --closed both --ties row' '1 2 6 8'
    bad 1 'tally window sum --variable one --axis t --by t --last 2s --ties row falling.nc' 'tally: falling.nc: --by t: ties is 1 (row): rows 1 and 2 have the key 3, and the window of row 1 goes on behind them: without the second it would not be one range; use ties 0 (all)'
    for two in 2 2.0 2e0; do
        ok "tally window sum --variable two --axis d --by d --last $two falling.nc | paste -sd' '" '7 14 14 8'
    done
fi

python3 "$here/spans.py" "$binary" >"$work/random" 2>&1
verdict 'random cases' $? "$(tail -5 "$work/random")"
head -1 "$work/random"
tail -1 "$work/random"

# ---- windows along times ----
cat >l.csv <<'END'
host,time,load
a,2024-05-01T12:00:00Z,1
a,2024-05-01T12:00:01Z,2
b,2024-05-01T12:00:00.5Z,10
a,2024-05-01T12:00:01Z,4
b,2024-05-01T12:00:02.5Z,20
a,2024-05-01T12:00:03Z,8
END
by='--by host,time --column load l.csv'
sums() { ok "tally window sum,count $1 $by --to csv | tail -n +2 | paste -sd' '" "$2"; }
sums '--last 2s' '1,1 3,2 10,1 7,3 20,1 8,1'
sums '--last 2s --closed both' '1,1 3,2 10,1 7,3 30,2 14,3'
sums '--last 2s --closed left' '0,0 1,1 0,0 1,1 10,1 6,2'
sums '--last 2s --closed neither' '0,0 1,1 0,0 1,1 0,0 0,0'
sums '--last 2s --ties all' '1,1 7,3 10,1 7,3 20,1 8,1'
sums '--last 2s --next 1s' '7,3 7,3 10,1 7,3 20,1 8,1'
sums '--last 2s --next 2s --closed both' '7,3 15,4 30,2 15,4 30,2 14,3'
sums '--next 2s' '6,2 8,1 20,1 8,1 0,0 0,0'
sums '--last 2s --center --closed both' '7,3 7,3 10,1 7,3 20,1 8,1'
sums '--last=-1s --next 2s --closed left' '6,2 0,0 0,0 0,0 0,0 0,0'
sums '--last 0s --closed both --ties all' '1,1 6,2 10,1 6,2 20,1 8,1'
sums '--last 2s --min-count 2' '0,0 3,2 0,0 7,3 0,0 0,0'
ok "tally window sum --last 1min --keep --hex $by | tail -n 1" 'a,2024-05-01T12:00:03Z,8,0x402e000000000000'
for d in 2000ms 2000000us 2000000000ns 0.0005h200ms 1s1000ms 1.5s500ms; do
    same "tally window sum --last $d $by" "tally window sum --last 2s $by"
done

# the same instants, as people write them
printf 't,x\n2024-02-29 23:59:59,1\n2024-03-01,2\n2024-03-01T00:00:00.000000001,4\n20240301T0000,8\n' >w.csv
bad 1 'tally window sum --by t --last 1s w.csv' "tally: w.csv:5:1: the time '20240301T0000' is before 2024-03-01T00:00:00.000000001, the last one above: times must not fall; those of each group: --by GROUP,TIME"
ok 'head -n 4 w.csv | tally window sum --by t --last 1s | paste -sd" "' '1 2 6'
ok 'head -n 4 w.csv | tally window sum --by t --last 1000000001ns | paste -sd" "' '1 3 6'
for row in '2024-05-01T14:00:00+02:00 2024-05-01T14:00:01+0200 2024-05-01T14:00:01+02' '-1e0 0 0.0' \
    '1714564800 1714564801 1714564801' '1969-12-31T23:59:59Z 1970-01-01T00:00:00z 1970-01-01T00:00Z' \
    '9223372036854775806 9223372036854775807 9223372036854775807' '1677-09-21T00:12:44 1677-09-21T00:12:45 1677-09-21T00:12:45.0'; do
    case $row in *:*) d=1s ;; *) d=1 ;; esac
    ok "paste <(tr ' ' '\n' <<<'$row') <(printf '1\n2\n4\n') | tally window sum --by 1 --column 2 --last $d | paste -sd' '" '1 2 6'
done
numbers() { ok "printf '1 1\n2 2\n$1 4\n3 8\n' | tally window sum --by 1 --column 2 $2 | paste -sd' '" "$3"; }
numbers 2.5 '--last 1' '1 2 6 12'
numbers 2 '--last 1.5 --ties all' '1 7 7 14'
numbers 2 '--last 2' '1 3 7 14'
numbers 2 '--last 3 --center' '7 15 15 14'
numbers 2 '--last 1 --center' '1 6 6 8'
numbers 2 '--next 1.5 --last=-0.5' '6 8 8 0'
ok "printf 't,x\n' | tally window sum --header yes --format csv --by t --column x --last 2s" ''
ok "printf 't,x\n2024-01-01,1\nsoon,2\n2024-01-02,4\n' | tally window sum --quiet --skip-bad --by t --last 7d | paste -sd' '" '1 5'

# second inputs and elements that are left out: times 1, 2, 3, ... of two hosts are windows of lines
awk 'BEGIN { srand(3); print "h,t,x,w"; for (i = 0; i < 400; i++) printf "h%d,%d,%.3f,%d\n", i % 2, i / 2, rand() * 9, rand() * 5 }' >p.csv
awk 'BEGIN { srand(4); for (i = 0; i < 400; i++) print int(rand() * 3) }' >p.valid
for more in '' '--valid p.valid'; do
    for what in 'dot,wmean,nancorr --column x,w' 'sum,nanmean --column x'; do
        same "tally window $what $more --by h,t --last 7 --keep --empty none p.csv" \
            "tally window $what $more --by h -w 7 --edges shrink --keep --empty none p.csv"
    done
done
printf '1\n3\n1\n4\n2\n1\n' >l.weights
ok "tally window wmean --by host,time --last 2s --column load --with l.weights l.csv | paste -sd' '" '1 1.75 10 2.875 20 8'
bad 1 "tally window wmean --last 2s --with w.csv $by" 'tally: --with w.csv has 4 elements, and l.csv has 6: must be as many'

# what cannot be
times() { bad 1 "printf 't,x\n2024-05-01T12:00:00Z,1\n$1,2\n' | tally window sum --by t --last 2s" "tally: standard input:3:1: $2"; }
times 2024-05-01T12:00:00 "the time '2024-05-01T12:00:00' cannot be compared with that of line 2, which has the zone Z"
times 2024-05-01T14:00:00+02:00 "the time '2024-05-01T14:00:00+02:00' cannot be compared with that of line 2, which has the zone Z; --utc takes times of several zones as UTC"
times 5 "the time '5' cannot be compared with that of line 2, which has the zone Z"
for t in 2024-02-30T00:00Z 2024-13-01 2024-05-01T24:00Z 2024-05-01T12:60Z 2024-05-01T12:00:60Z 2024-05-01T12:00:00. \
    2024-05-01T12:00+1 2024-5-1 noon nan; do
    times $t "'$t' is neither a time (2024-05-01T13:30:00.5Z) nor a number"
done
times 2024-05-01T12:00:00.0000000001Z "the time '2024-05-01T12:00:00.0000000001Z' has more than nine digits after the second"
times '' 'empty cell: the line has no time'
times 2300-01-01T00:00Z "the time '2300-01-01T00:00Z' is not in 1677-09-21T00:12:44Z .. 2262-04-11T23:47:16Z, where nanoseconds fit 64 bits"
times 2024-05-01T11:59:59.25Z "the time '2024-05-01T11:59:59.25Z' is before 2024-05-01T12:00:00Z, the last one above: times must not fall; those of each group: --by GROUP,TIME"
bad 1 "printf 't,x\n2024-05-01,1\n2024-05-01T00:00Z,2\n' | tally window sum --skip-bad --by t --last 2s" "tally: standard input:3:1: the time '2024-05-01T00:00Z' cannot be compared with that of line 2, which has no zone"
bad 1 "printf 't,x\n2024-05-01T01:30:00.5+05:30,1\n2024-05-01T01:30+05:30,2\n' | tally window sum --by t --last 2s" "tally: standard input:3:1: the time '2024-05-01T01:30+05:30' is before 2024-05-01T01:30:00.5+05:30, the last one above: times must not fall; those of each group: --by GROUP,TIME"
bad 1 "printf 't,x\n2024-05-01T01:30-03:00,1\n2024-05-01T01:30+03:00,2\n' | tally window sum --by t --last 2s" "tally: standard input:3:1: the time '2024-05-01T01:30+03:00' cannot be compared with that of line 2, which has the zone -03:00; --utc takes times of several zones as UTC"
bad 1 "printf 't,x\n1,1\n2024-05-01,2\n' | tally window sum --by t --last 2" "tally: standard input:3:1: the time '2024-05-01' cannot be compared with that of line 2, which is a number"
bad 1 "printf 'h,t,x\na,2,1\nb,1,1\na,1.5,1\n' | tally window sum --by h,t --last 2 --column x" "tally: standard input:4:3: the time '1.5' is before 2, the last one of its group above: times must not fall"
bad 2 "tally window sum --last 2 $by" 'tally: l.csv: the column of --by has times, so --last needs a unit, as in --last 2s'
bad 2 "printf '1 1\n' | tally window sum --by 1 --last 2s --column 2" 'tally: standard input: the column of --by has plain numbers, so --last is a number of the same unit, as in --last 2'
bad 2 'tally window sum --last 2s --column load l.csv' "tally: --last needs the column that has the times: --by time, or --by city,time for each city's own"
bad 2 "tally window sum --last 2m $by" "tally: --last is '2m', which is no length of time: 500ms, 2s, 1.5h, 1h30min (units: ns, us, ms, s, min, h, d, w), or a plain number where the times are numbers"
bad 2 "tally window sum --last 0.5ns $by" "tally: --last is '0.5ns': must have no digits of less than a nanosecond, as in nine after the point of a second"
same "tally window sum --last 1000000000.0ns $by" "tally window sum --last 1s $by"
same "tally window sum --last 1.0000000000s $by" "tally window sum --last 1s $by"
bad 2 "tally window sum --last 2s --next 3 $by" "tally: --last is '2s' and --next is '3': one is a number and one a length of time"
bad 2 "tally window sum --last 2s -w 3 $by" 'tally: --width is for windows of lines; --last and --next make windows of times: leave one out'
bad 2 "tally window sum --last=-2s $by" 'tally: the window would end before it begins: --last is -2s'
bad 2 "tally window sum --last 2s --next 1s --ties row $by" 'tally: --ties row ends a window at its line, and --next reaches beyond it'
bad 2 "tally window sum -w 2 --closed both $by" 'tally: --closed goes with windows along times: --by time --last 2s'

# many lines: on any number of threads and from a pipe, where fractions come late; a group's results are those of its lines alone
lines=$(few 300000 40000)
awk -v lines="$lines" 'BEGIN { srand(7); print "k,t,v"; for (i = 0; i < lines; i++) { n += int(rand() * 3); printf "k%d,%d%s,%.3f\n", rand() * 40, n, (i > lines - 10000 ? ".5" : ""), rand() * 9 } }' >m.csv
many='tally window mean,count --last 40 --column v --hex'
$many --by k,t --threads 1 m.csv >m.txt
for threads in 2 3; do
    same "$many --by k,t --threads $threads m.csv" 'cat m.txt'
    same "cat m.csv | $many --by k,t --threads $threads" 'cat m.txt'
done
same "$many --by k,t --keep m.csv | grep '^k7,' | cut -d, -f4,5" \
    "(head -n 1 m.csv; grep '^k7,' m.csv) | $many --by t --keep | tail -n +2 | cut -d, -f4,5"
# a group's last time is of a block of whole numbers, and its next one of a block of fractions
bad 1 "(head -n 1 m.csv; echo z,1000000,1; tail -n +2 m.csv; echo z,5.5,1) >z.csv; $many --by k,t --threads 1 z.csv" "tally: z.csv:$((lines + 3)):3: the time '5.5' is before 1000000, the last one of its group above: times must not fall"
bad 1 "(cat m.csv; echo k7,1,1; cat m.csv) | $many --by k,t" "tally: standard input:$((lines + 2)):4: the time '1' is before $(grep '^k7,' m.csv | tail -n 1 | cut -d, -f2), the last one of its group above: times must not fall"

finish
