#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Windows along times and other keys (--last, --next) at their edges: some by hand, and random cases beside integers of any
# width (test/spans.py), from CSV and, where ncgen and libnetcdf are here, along coordinates of NetCDF files.
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
key -1 "the time '-1' is before 0, the last one above: times must not fall"
bad 1 "printf 'h,t,x\na,18446744073709551615,1\nb,-1,1\n' | tally window sum --by h,t --column x --last 2" "tally: standard input:3:3: the time '-1' does not go with 18446744073709551615 above: times must all be in -2^63 .. 2^63 - 1, or all in 0 .. 2^64 - 1"
must='must be a number above -2^63 and below 2^63 with at most 18 digits after the point, as the keys of --by are integers or decimals'
for length in 9223372036854775808 1e19 1e-19 1e-400; do
    bad 2 "tally window sum --by 1 --column 2 --last 5 --next=$length six.csv" "tally: --next is '$length': $must"
done
bad 2 'tally window sum --by 1 --column 2 --last=-9223372036854775808 --next 9223372036854775807 six.csv' 'tally: the window would end before it begins: --last is -9223372036854775808 and --next 9223372036854775807'
for length in 1.0000000000s 0.5ns 1.5000us 0.00000000000000000000000h; do
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
finish
