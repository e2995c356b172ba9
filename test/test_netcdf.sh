#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# NetCDF from the command line: variables and dimensions by name, missing and packed values, files as one axis, boxes. The
# files are made by ncgen and nccopy (netcdf-bin); skipped where these or libnetcdf are not.
for tool in ncgen nccopy ncdump; do command -v $tool >/dev/null || { echo "netcdf: skipped: no $tool"; exit 77; }; done
# shellcheck source=test/cli/check.sh
source "$(dirname "${BASH_SOURCE[0]}")/cli/check.sh"

cat >a.cdl <<'END'
netcdf a {
dimensions: time = UNLIMITED ; lat = 2 ; lon = 3 ;
variables:
 double time(time) ; float lat(lat) ; float lon(lon) ;
 float temp(time, lat, lon) ; temp:_FillValue = -999.f ; temp:missing_value = -888.f, -777.f ;
 short packed(time, lat) ; packed:scale_factor = 0.1 ; packed:add_offset = 273.15 ; packed:_FillValue = -1s ;
 short days(time, lat) ; days:_FillValue = -1s ;
 byte raw(lon) ; raw:_Unsigned = "true" ; raw:missing_value = -1b ;
 char name(lon) ; int one ; int wrong(lat) ; wrong:scale_factor = "0.1" ;
data:
 time = 0, 1, 2, 3 ; lat = 10, 20 ; lon = 1, 2, 3 ;
 temp = 1,2,3,4,5,6, 7,-999,9,10,11,12, 13,14,-888,16,17,-777, 19,20,21,22,23,24 ;
 packed = 0,1,2,3,4,5,6,-1 ; days = 1,2,3,4,5,6,7,8 ; raw = -1, -2, 3 ; name = "abc" ; one = 42 ; wrong = 1, 2 ;
}
END
later() { sed "s/time = 0, 1, 2, 3/time = $1/"; }
later '4, 5, 6, 7' <a.cdl | sed 's/days = 1,2/days = 1,-1/' >b.cdl
echo 'netcdf narrow { dimensions: time = 4 ; lat = 2 ; lon = 2 ; variables: float temp(time, lat, lon) ; }' >narrow.cdl
for kind in classic 64-bit-offset 64-bit-data; do ncgen -k $kind -o $kind.nc a.cdl || exit 1; done
later '4, 5, 6, 7' <a.cdl >c.cdl && ncgen -k netCDF-4 -o netCDF-4.nc c.cdl || exit 1
later '8, 9, 10, 11' <a.cdl >c.cdl && ncgen -o third.nc c.cdl || exit 1
ncgen -o b.nc b.cdl && ncgen -o narrow.nc narrow.cdl || exit 1
tally reduce sum --variable one classic.nc >has.txt 2>&1
if grep -q 'libnetcdf is not here' has.txt; then echo "netcdf: skipped: no libnetcdf"; exit 77; fi
cp netCDF-4.nc nameless
printf '1\n2\n3\n4\n255\n' >bytes.txt
line() { ok "tally $1 | paste -sd' '" "$2"; }
for file in classic.nc 64-bit-offset.nc 64-bit-data.nc netCDF-4.nc nameless; do
    line "reduce nanmean --variable temp --axis time $file" '10 12 11 13 14 14'
    line "reduce count --variable temp $file" 21
done
line 'reduce nanmean --variable temp --axis lat classic.nc' '2.5 3.5 4.5 8.5 11 10.5 14.5 15.5 nan 20.5 21.5 22.5'
line 'reduce nansum --variable temp --axis lon classic.nc' '6 15 16 33 27 33 60 69'
line 'reduce nansum --variable temp --axis=-1 classic.nc' '6 15 16 33 27 33 60 69'
line 'reduce nanmean --variable temp --axis time classic.nc netCDF-4.nc' '10 12 11 13 14 14'
line 'reduce count --variable temp --axis time classic.nc netCDF-4.nc third.nc' '12 9 9 12 12 9'
# files whose coordinates have different types
cdl='dimensions: time = 2 ; variables: KIND time(time) ; time:units = "days since 2000-01-01" ; float x(time) ; data: x = 1, 2 ;'
echo "netcdf i { ${cdl/KIND/int} time = 0, 1 ; }" | ncgen -o i.nc && echo "netcdf d { ${cdl/KIND/double} time = 2.5, 3 ; }" | ncgen -o d.nc
echo "netcdf l { ${cdl/KIND/int64} time = 0, 1 ; }" | ncgen -k netCDF-4 -o l.nc
for files in 'i.nc d.nc' 'd.nc i.nc'; do line "reduce mean --variable x --axis time $files -o t.nc && tally reduce max --variable time t.nc" 1.5; done
bad 2 'tally reduce mean --variable x --axis time l.nc d.nc -o t.nc' 'tally: d.nc: the coordinate time is f64, and i64 in the files before it: must be the same'
# several operators of groups have a variable each, each with its own type
printf 'k,x,y\nb,1,2\na,2,5\nb,3,7\n' >k.csv
tally reduce sum,count --by k --column x,y k.csv -o k.nc
for of in sum.x=4,2 count.x=2,1 sum.y=9,5 count.y=2,1; do line "scan last --variable ${of%=*} k.nc" "$(echo "${of#*=}" | tr , ' ')"; done
bad 2 'tally reduce mean,minmax --by k --column x k.csv -o k.nc' "tally: operator 'minmax' has 2 values a result: write it to a NetCDF file of its own"
line 'scan sum --variable days --axis time classic.nc b.nc --dtype f64 --to csv' 'sum.0,sum.1 1,2 4,6 9,12 16,20 17,nan 20,nan 25,nan 32,nan'
line 'window nansum -w 2 --edges shrink --variable days --axis time classic.nc --to csv' 'nansum.0,nansum.1 1,2 4,6 8,10 12,14'
ok 'tally reduce sum --variable days classic.nc netCDF-4.nc' "file${t}sum
classic.nc${t}36
netCDF-4.nc${t}36"
line 'reduce min --variable packed classic.nc' nan
line 'reduce nanmin,nanmax --variable packed classic.nc --to csv' 'nanmin,nanmax 273.15,273.75'
line 'reduce nansum --variable raw --dtype f64 classic.nc' 257
line 'reduce sum --variable one classic.nc' 42
line 'fragment make sum classic.nc --variable days -o d.frag && tally fragment result d.frag' 36
has 'tally reduce sum --variable days --axis time classic.nc --json' '"shape": \[4, 2\].*'

bad 2 'tally reduce sum --variable tmp b.nc' "tally: b.nc: no variable 'tmp'; the variables are time(time 4), lat(lat 2), lon(lon 3), temp(time 4, lat 2, lon 3), packed(time 4, lat 2), days(time 4, lat 2), raw(lon 3), name(lon 3), one(), wrong(lat 2)"
bad 2 'tally reduce sum b.nc' 'tally: b.nc: 5 variables are no coordinates: temp(time 4, lat 2, lon 3), packed(time 4, lat 2), days(time 4, lat 2), raw(lon 3), wrong(lat 2); choose one with --variable (--with, --minus: FILE:NAME)'
bad 2 'tally reduce sum --variable temp --axis tme b.nc' "tally: there is no dimension of b.nc 'tme'; did you mean 'time'? choices: time, lat, lon"
bad 2 'tally reduce sum --axis time m.npy' "tally: --axis is 'time', and the dimensions of m.npy have no names: give a number, 0 for the first"
bad 2 'tally reduce sum --variable x m.npy' "tally: m.npy: variable 'x': npy files have no variables"
bad 2 'tally reduce sum --variable model/temp b.nc' "tally: b.nc: no group 'model'"
bad 2 'tally reduce sum --variable temp --axis time b.nc narrow.nc' 'tally: narrow.nc: temp(time 4, lat 2, lon 2) cannot be joined with temp(time 4, lat 2, lon 3) of b.nc: only the length of time may differ'
bad 2 'tally reduce sum --variable one --axis time b.nc b.nc' 'tally: b.nc: one() has no dimension along which files can be joined'
bad 2 'tally reduce sum --variable temp --dtype i32 b.nc' 'tally: b.nc: temp(time 4, lat 2, lon 3) is f32: --dtype may be that or f64, and i32 was asked for'
bad 2 'tally reduce sum --variable name b.nc' 'tally: b.nc: name(lon 3) has characters, not numbers'
bad 1 'tally reduce sum --variable wrong b.nc' 'tally: b.nc: wrong(lat 2): the attribute scale_factor is not one number'
bad 1 'tally reduce sum --variable days b.nc' 'tally: b.nc: days[0, 1] is -1, which stands for a missing value, and i16 has none; --dtype f64 makes it NaN'
bad 2 'cat b.nc | tally reduce sum --variable days' 'tally: standard input: NetCDF and HDF5 must be files with a name, not pipes'
bad 2 'tally reduce sum --variable days <b.nc' 'tally: standard input: NetCDF and HDF5 must be files with a name, not pipes'
bad 1 'head -c 9000 netCDF-4.nc >cut.nc; tally reduce sum --variable days cut.nc' 'tally: cut.nc: NetCDF: HDF error'
bad 1 'echo 1 >no.nc; tally reduce sum no.nc' 'tally: no.nc: NetCDF: Unknown file format'
bad 1 'tally reduce sum --variable days --axis time b.nc none.nc' 'tally: none.nc: No such file or directory'
bad 1 'tally reduce sum --variable days --axis time b.nc .' 'tally: .: must be a file'
bad 1 'tally reduce sum none.nc' 'tally: none.nc: No such file or directory'

# one missing value, two, and both in all places of a vector
awk 'BEGIN { print "netcdf m { dimensions: x = 37 ; variables: float a(x), b(x) ; a:_FillValue = -9.f ; b:_FillValue = -9.f ; b:missing_value = -8.f ; data:"
    for (v = 0; v < 2; v++) { printf "%s = ", v ? "b" : "a"; for (i = 0; i < 37; i++) printf "%s%d", (i ? "," : ""), (i % 5 == 0 ? -9 : i % 7 == 0 ? -8 : i); print " ;" }
    print "}" }' >m.cdl && ncgen -o m.nc m.cdl
for v in a b; do
    ok "tally reduce count,nansum --variable $v --to csv m.nc" "$(
        awk -v v=$v 'BEGIN { for (i = 0; i < 37; i++) { x = i % 5 == 0 ? -9 : i % 7 == 0 ? -8 : i; if (x != -9 && (v == "a" || x != -8)) { n++; s += x } }
            print "count,nansum"; print n "," s }')"
done

# windows along a coordinate: of hours, of days whose values are whole, and the same as text with times
coordinates() { # UNITS CALENDAR TYPE VALUES
    printf 'netcdf w { dimensions: time = 6 ; x = 2 ; variables: %s time(time) ; time:units = "%s" ; time:calendar = "%s" ;
 float lev(x) ; float temp(time, x) ; float one(time) ; data: time = %s ; lev = 1, 2 ;
 temp = 1,10, 2,20, 3,30, 4,40, 5,50, 6,60 ; one = 1, 2, 3, 4, 5, 6 ; }\n' "$3" "$1" "$2" "$4" >w.cdl && ncgen -o w.nc w.cdl
}
by='tally window sum --variable temp --axis time --by time'
flat() { ok "$by $1 | paste -sd' '" "$2"; }
coordinates 'hours since 1970-01-01 00:00:00' standard double '0, 24, 36, 48, 96, 96'
printf 'time,one,x\n1970-01-01,1,10\n1970-01-02,2,20\n1970-01-02T12:00,3,30\n1970-01-03,4,40\n1970-01-05,5,50\n1970-01-05,6,60\n' >w.csv
for how in '--last 1d' '--last 36h --closed both' '--next 1d12h --closed left' '--last 2d --center' '--last 1d --next 12h' \
           '--last 1d --ties all' '--last 2d --min-count 3'; do
    same "tally window sum --variable one --axis time --by time $how w.nc" "tally window sum --by time $how --column one w.csv"
    same "tally window sum,minmax --variable temp --axis time --by time $how --to csv w.nc | tail -n +2" \
         "tally window sum,minmax --by time $how --column one,x --to csv w.csv | tail -n +2 | awk -F, '{ print \$0 }'"
done
printf '%s\n' 10 20 30 40 50 60 >w.second
printf '%s\n' 1 0 1 1 0 1 1 1 0 0 1 1 >w.valid
same 'tally window dot,nanwmean --variable one --axis time --by time --last 36h --with w.second w.nc' \
    'tally window dot,nanwmean --by time --last 36h --column one,x w.csv'
same 'tally window mean --variable temp --axis time --by time --last 2d --valid w.valid --empty none --to csv w.nc | tail -n +2' \
    'tally window mean --by time --last 2d --column one,x --valid w.valid --empty none --to csv w.csv | tail -n +2'
flat '--last 24h --to csv w.nc' 'sum.0,sum.1 1,10 2,20 5,50 7,70 5,50 11,110'
coordinates 'days since 2000-1-1' noleap int '0, 1, 2, 3, 10, 11'
flat '--last 36h --to csv w.nc' 'sum.0,sum.1 1,10 3,30 5,50 7,70 5,50 11,110'
bad 1 "$by --last 2d w.nc w.nc" "tally: w.nc: time begins at 0, and w.nc, which comes before, ends at 11: files that are joined must go on ascending"
bad 2 "$by --last 20min w.nc" "tally: --last is '20min', which is no exact number in the unit of time, 'days since 2000-1-1'"
bad 2 "$by --last 2 w.nc" 'tally: w.nc: the variable of --by has times, so --last needs a unit, as in --last 2s'
bad 2 "tally window sum --variable temp --axis x --by lev --last 2s w.nc" 'tally: w.nc: the variable of --by has plain numbers, so --last is a number of the same unit, as in --last 2'
line 'window sum --variable temp --axis x --by lev --last 2 w.nc --to csv' 'sum.0,sum.1 1,11 2,22 3,33 4,44 5,55 6,66'
bad 2 "tally window sum --variable temp --axis time --by lev --last 2 w.nc" "tally: w.nc: the coordinate is lev(x 2): must have the one dimension time 6"
bad 2 "tally window sum --variable temp --by time --last 2d w.nc" "tally: w.nc: key column 'time': netcdf files have no columns; --axis says along which dimension the times go"
bad 2 "tally window sum --axis 0 --by time --last 2d w.csv" 'tally: --by and --axis exclude each other'
sed 's/ time:units/ string time:units/' w.cdl >string.cdl && ncgen -k netCDF-4 -o string.nc string.cdl
flat '--last 36h --to csv string.nc' 'sum.0,sum.1 1,10 3,30 5,50 7,70 5,50 11,110'
cp w.nc days.nc && coordinates 'hours since 2000-1-13' noleap int '0, 1, 2, 3, 10, 11'
bad 1 "$by --last 2d days.nc w.nc" "tally: w.nc: time[1] has no exact number in the unit of days.nc, 'days since 2000-1-1'"
coordinates 'furlongs' noleap int '12, 13, 14, 15, 16, 17'
bad 1 "$by --last 2d days.nc w.nc" "tally: w.nc: the unit of time is 'furlongs', and in days.nc 'days since 2000-1-1': must be the same"
coordinates 'months since 2000-1-1' standard int '0, 1, 2, 3, 10, 11'
bad 1 "$by --last 2d w.nc" "tally: w.nc: the units of time are 'months since 2000-1-1': must be days, hours, minutes, seconds or a part of a second"
coordinates 'days since midnight' standard int '0, 1, 2, 3, 10, 11'
bad 1 "$by --last 2d w.nc" "tally: w.nc: the units of time are 'days since midnight': after 'since' must be a date such as 1970-01-01 or 1970-01-01 12:00:00, and one that the calendar standard has"
coordinates 'days since 2000-1-1' maya int '0, 1, 2, 3, 10, 11'
bad 1 "$by --last 2d w.nc" "tally: there is no calendar of w.nc 'maya'; choices: standard, gregorian, proleptic_gregorian, noleap, 365_day, all_leap, 366_day, 360_day, julian"
coordinates 'days since 2000-1-1' standard double '0, 1, NaN, 3, 10, 11'
bad 1 "$by --last 2d w.nc" 'tally: w.nc: time[2] is missing, nan or infinite: every step must have its number'
coordinates 'days since 2000-1-1' standard double '0, 1, 0.5, 3, 10, 11'
bad 1 "$by --last 2d w.nc" 'tally: w.nc: --by time: keys: row 2 is 0.5, after 1: keys must be numbers that ascend'

# results as NetCDF
data 'reduce nanmean:f64 --variable temp --axis time classic.nc' 'netcdf o { dimensions: lat = 2 ; lon = 3 ; variables: double temp_nanmean_f64(lat, lon) ; temp_nanmean_f64:_FillValue = NaN ; temp_nanmean_f64:long_name = "nanmean:f64 of temp" ; temp_nanmean_f64:cell_methods = "time: mean" ; float lat(lat) ; float lon(lon) ; data: temp_nanmean_f64 = 10, 12, 11, 13, 14, 14 ; lat = 10, 20 ; lon = 1, 2, 3 ; }'
data 'reduce sum --variable days --axis 1 classic.nc' 'netcdf o { dimensions: time = 4 ; variables: int64 days_sum(time) ; days_sum:long_name = "sum of days" ; days_sum:cell_methods = "lat: sum" ; double time(time) ; data: days_sum = 3, 7, 11, 15 ; time = 0, 1, 2, 3 ; }'
data 'reduce minmax --variable days --axis lat classic.nc' 'netcdf o { dimensions: time = 4 ; value = 2 ; variables: short days_minmax(time, value) ; days_minmax:long_name = "minmax of days" ; double time(time) ; data: days_minmax = 1, 2, 3, 4, 5, 6, 7, 8 ; time = 0, 1, 2, 3 ; }'
data 'scan max --variable days --axis time classic.nc' 'netcdf o { dimensions: time = 4 ; lat = 2 ; variables: short days_max(time, lat) ; days_max:long_name = "max of days" ; double time(time) ; float lat(lat) ; data: days_max = 1, 2, 3, 4, 5, 6, 7, 8 ; time = 0, 1, 2, 3 ; lat = 10, 20 ; }'
data 'scan max --variable days --axis time classic.nc netCDF-4.nc' 'netcdf o { dimensions: time = 8 ; lat = 2 ; variables: short days_max(time, lat) ; days_max:long_name = "max of days" ; double time(time) ; float lat(lat) ; data: days_max = 1, 2, 3, 4, 5, 6, 7, 8, 7, 8, 7, 8, 7, 8, 7, 8 ; time = 0, 1, 2, 3, 4, 5, 6, 7 ; lat = 10, 20 ; }'
steps='netcdf o { dimensions: time = 3 ; lat = 2 ; variables: short days_max(time, lat) ; days_max:long_name = "max of days" ; float lat(lat) ; double time(time) ; data: days_max = 3, 4, 5, 6, 7, 8 ; lat = 10, 20 ; time = 1, 2, 3 ; }'
data 'window max -w 2 --edges valid --variable days --axis time classic.nc' "$steps" # the time of each result
data 'window max -w 2 --edges valid --variable days --axis time --memory 1K classic.nc' "$steps"
data 'window max -w 2 --step 3 --variable days --axis 0 classic.nc' 'netcdf o { dimensions: time = 2 ; lat = 2 ; variables: short days_max(time, lat) ; days_max:long_name = "max of days" ; float lat(lat) ; double time(time) ; data: days_max = -32768, -32768, 7, 8 ; lat = 10, 20 ; time = 0, 3 ; }'
data 'window minmax --after 1 --edges valid --variable x i.nc' 'netcdf o { dimensions: time = 1 ; value = 2 ; variables: float x_minmax(time, value) ; x_minmax:_FillValue = NaNf ; x_minmax:long_name = "minmax of x" ; int time(time) ; time:units = "days since 2000-01-01" ; data: x_minmax = 1, 2 ; time = 0 ; }'
data 'scan max --dtype u8 bytes.txt' 'netcdf o { dimensions: dim0 = UNLIMITED ; // (5 currently) variables: ubyte data(dim0) ; data: data = 1, 2, 3, 4, 255 ; }'
data 'reduce max --variable days classic.nc classic.nc' 'netcdf o { dimensions: dim0 = 2 ; variables: short data(dim0) ; data: data = 8, 8 ; }'
echo 'netcdf odd { dimensions: a\ b = 2 ; x = 2 ; variables: int v(a\ b, x) ; data: v = 1, 2, 3, 4 ; }' >odd.cdl && ncgen -o odd.nc odd.cdl
data 'scan sum --axis 1 odd.nc' 'netcdf o { dimensions: a\ b = 2 ; x = 2 ; variables: int64 v_sum(a\ b, x) ; v_sum:long_name = "sum of v" ; data: v_sum = 1, 3, 3, 7 ; }'
# What steps are: attributes too, but not the names of variables that are left behind; of joined files those that count in the unit of the first.
in_days() {
    echo "netcdf $1 { dimensions: t = 2 ; x = 2 ; b = 2 ; variables: int t(t) ; t:units = \"$2\" ; t:bounds = \"t_b\" ; t:axis = \"T\" ;
 int t_b(t, b) ; int v(t, x) ; v:_FillValue = -1 ; data: t = $3 ; v = 1, 2, 3, -1 ; }" >$1.cdl && ncgen -o $1.nc $1.cdl
}
in_days one 'days since 2000-1-1' '5, 6' && in_days two 'days since 2000-1-1' '7, 8' && in_days other 'days since 2001-1-1' '7, 8'
v='--variable v --dtype f64'
data "scan last $v --axis 1 one.nc" 'netcdf o { dimensions: t = 2 ; x = 2 ; variables: double v_last(t, x) ; v_last:_FillValue = NaN ; v_last:long_name = "last of v" ; int t(t) ; t:units = "days since 2000-1-1" ; t:axis = "T" ; data: v_last = 1, 2, 3, _ ; t = 5, 6 ; }'
data "reduce count $v --axis x one.nc" 'netcdf o { dimensions: t = 2 ; variables: int64 v_count(t) ; v_count:long_name = "count of v" ; v_count:units = "1" ; int t(t) ; t:units = "days since 2000-1-1" ; t:axis = "T" ; data: v_count = 2, 1 ; t = 5, 6 ; }'
data "scan last $v --axis t one.nc two.nc" 'netcdf o { dimensions: t = 4 ; x = 2 ; variables: double v_last(t, x) ; v_last:_FillValue = NaN ; v_last:long_name = "last of v" ; int t(t) ; t:units = "days since 2000-1-1" ; t:axis = "T" ; data: v_last = 1, 2, 3, _, 1, 2, 3, _ ; t = 5, 6, 7, 8 ; }'
data "scan last $v --axis t one.nc other.nc" 'netcdf o { dimensions: t = 4 ; x = 2 ; variables: double v_last(t, x) ; v_last:_FillValue = NaN ; v_last:long_name = "last of v" ; int t(t) ; t:units = "days since 2000-1-1" ; data: v_last = 1, 2, 3, _, 1, 2, 3, _ ; t = 5, 6, 373, 374 ; }'
# Results that are none.
data "reduce nanmax $v --axis t --empty -9 one.nc" 'netcdf o { dimensions: x = 2 ; bnds = 2 ; variables: double v_nanmax(x) ; v_nanmax:_FillValue = -9. ; v_nanmax:long_name = "nanmax of v" ; v_nanmax:cell_methods = "t: maximum" ; v_nanmax:coordinates = "t" ; double t ; t:units = "days since 2000-1-1" ; t:bounds = "t_bnds" ; double t_bnds(bnds) ; data: v_nanmax = 3, 2 ; t = 5.5 ; t_bnds = 5, 6 ; }'
# A dimension bnds of another length is there.
echo 'netcdf three { dimensions: t = 2 ; bnds = 3 ; variables: int t(t) ; t:units = "days since 2000-1-1" ; int v(t, bnds) ; data: t = 5, 6 ; v = 1, 2, 3, 4, 5, 6 ; }' >three.cdl && ncgen -o three.nc three.cdl
data 'reduce max --variable v --axis t three.nc' 'netcdf o { dimensions: bnds = 3 ; bnds2 = 2 ; variables: int v_max(bnds) ; v_max:long_name = "max of v" ; v_max:cell_methods = "t: maximum" ; v_max:coordinates = "t" ; double t ; t:units = "days since 2000-1-1" ; t:bounds = "t_bnds" ; double t_bnds(bnds2) ; data: v_max = 4, 5, 6 ; t = 5.5 ; t_bnds = 5, 6 ; }'
data "window nanmax $v --axis t -w 1 --empty -9 one.nc" 'netcdf o { dimensions: t = 2 ; x = 2 ; variables: double v_nanmax(t, x) ; v_nanmax:_FillValue = -9. ; v_nanmax:long_name = "nanmax of v" ; int t(t) ; t:units = "days since 2000-1-1" ; t:axis = "T" ; data: v_nanmax = 1, 2, 3, _ ; t = 5, 6 ; }'
data "window nanminmax $v --axis t -w 1 --empty nan one.nc" 'netcdf o { dimensions: t = 2 ; x = 2 ; value = 2 ; variables: double v_nanminmax(t, x, value) ; v_nanminmax:_FillValue = NaN ; v_nanminmax:long_name = "nanminmax of v" ; int t(t) ; t:units = "days since 2000-1-1" ; t:axis = "T" ; data: v_nanminmax = 1, 1, 2, 2, 3, 3, _, _ ; t = 5, 6 ; }'
data "reduce max --axis 1 --shape 5x1 --empty 7 --dtype u8 bytes.txt" 'netcdf o { dimensions: dim0 = 5 ; variables: ubyte data(dim0) ; data :_FillValue = 7UB ; data: data = 1, 2, 3, 4, 255 ; }'
bad 2 "tally reduce max --axis 1 --shape 5x1 --empty 300 --dtype u8 bytes.txt -o o.nc" "tally: --empty is '300': must be a u8, the value that stands for none in o.nc"
has "tally window nanmax $v --axis t -w 1 --empty null one.nc --to json" '"values": \[1, 2, 3, null\], "bits": \["0x3ff0000000000000", "0x4000000000000000", "0x4008000000000000", null\].*'
has "tally window nanminmax $v --axis t -w 1 --empty null one.nc --json" '"values": \[\[1, 1\], \[2, 2\], \[3, 3\], null\].*'
has "tally reduce nanmax --shape 2x2 --axis 1 --empty null --json --dtype f64 --format text - <<<'nan nan 1 2'" '"values": \[null, 2\].*'
bad 2 "tally reduce nanmax $v --axis t --empty none one.nc --json" "tally: --empty is 'none': in JSON it must be null"
# HDF5, which NetCDF-4 is.
for end in nc4 h5 hdf5 he5; do
    same "tally scan sum --variable temp --axis lat classic.nc -o o.$end && tally reduce last --axis 2 --hex o.$end" 'tally scan sum --variable temp --axis lat --hex classic.nc | tr "\t" "\n" | awk "NR % 3 == 0"'
    ok "ncdump -k o.$end" netCDF-4
done
ok 'tally reduce max --variable days --axis lat classic.nc --to netcdf4 -o o.nc && ncdump -k o.nc' netCDF-4
ok 'tally reduce max --variable days --axis lat classic.nc --to hdf5 -o o.nc && ncdump -k o.nc' netCDF-4
ok 'tally reduce max --variable days --axis lat classic.nc -o o.cdf && ncdump -k o.cdf' cdf5
line 'scan sum --dtype u8 bytes.txt -o o.h5 && tally scan last o.h5' '1 3 6 10 265'
head -c 80000 /dev/zero >zeros.raw
# A disk that is full: the old file stays, and nothing else.
for end in nc h5; do
    cp one.nc old.$end
    bad 1 "(ulimit -f 8; tally scan sum --shape 100x100 --axis 1 zeros.raw --dtype f64 -o old.$end)" "tally: old.$end: writing: File too large"
    ok "cmp one.nc old.$end && ls -A | grep -c 'tally-.*tmp' || true" 0
done
same 'tally scan sum --variable temp --axis lat classic.nc -o o.nc && tally reduce last --axis 2 --hex o.nc' 'tally scan sum --variable temp --axis lat --hex classic.nc | cut -f3'
bad 2 'tally scan max --dtype f16 bytes.txt -o o.nc' 'tally: o.nc: netcdf has no type f16'
data 'reduce max,min --dtype u8 bytes.txt' 'netcdf o { dimensions: dim0 = 1 ; variables: ubyte max(dim0) ; ubyte min(dim0) ; data: max = 255 ; min = 1 ; }'
bad 2 'tally scan max bytes.txt --to netcdf' 'tally: standard output: netcdf is written to a file with a name: give another format'
bad 2 'tally scan max bytes.txt -o /dev/full --to hdf5' 'tally: /dev/full: hdf5 is written to a file with a name: give another format'

# a field in chunks, compressed, beside the same numbers as text: every axis, boxes of every size, files cut anywhere
field() { # FILE FIRST LAST: the times FIRST..LAST
    awk -v a="$2" -v b="$3" 'BEGIN { print "netcdf f { dimensions: time = " b - a + 1 "; lat = 13; lon = 17; variables: double x(time, lat, lon), time(time); int lon(lon); time:units = \"days since 2000-1-1\"; data: lon = 0"
        for (i = 1; i < 17; i++) print "," i
        for (i = a; i <= b; i++) print (i > a ? "," : "; time = ") i
        print "; x ="
        for (i = a * 221; i < (b + 1) * 221; i++) printf "%s%.6f", (i > a * 221 ? "," : ""), (i * 7919 % 10007) / 7; print "; }" }' >f.cdl
    ncgen -k netCDF-4 -o whole.nc f.cdl && nccopy -d 1 -c time/4,lat/3,lon/5 whole.nc "$1" || exit 1
}
field all.nc 0 39
field one.nc 0 22
field two.nc 23 23
field three.nc 24 39
awk 'BEGIN { for (i = 0; i < 40 * 221; i++) printf "%.6f\n", (i * 7919 % 10007) / 7 }' >all.txt
for axis in 0 1 2; do
    tally reduce sum,var,last --hex --shape 40x13x17 --axis $axis all.txt >want.txt
    for memory in 1 5000 100000 300000 1Mi; do
        same "tally reduce sum,var,last --hex --axis $axis --memory $memory all.nc" 'cat want.txt'
    done
done
tally reduce sum,var,last --hex --shape 40x13x17 --axis 0 all.txt >want.txt
for memory in 5000 300000 1Mi; do
    same "tally reduce sum,var,last --hex --axis time --memory $memory one.nc two.nc three.nc" 'cat want.txt'
done
same 'tally scan sum --axis time --hex one.nc two.nc three.nc --digest' 'tally scan sum --axis 0 --shape 40x13x17 --hex all.txt --digest'
w='tally window sum --hex --digest'
for files in all.nc 'one.nc two.nc three.nc'; do
    same "$w --axis time --by time --last 72h $files" "$w --axis 0 --shape 40x13x17 -w 3 --edges shrink all.txt"
done
same "$w --axis lon --by lon --last 3 all.nc" "$w --axis 2 --shape 40x13x17 -w 3 --edges shrink all.txt"
bad 2 "$w --axis lon --by lon --last 3 one.nc two.nc" "tally: two.nc: x(time 1, lat 13, lon 17) cannot be joined with x(time 23, lat 13, lon 17) of one.nc: only the length of lon may differ"
same 'tally reduce sum --hex all.nc' 'tally reduce sum --hex all.txt'
same 'tally scan sum --hex all.nc' 'tally scan sum --hex all.txt'

# ---- groups of steps, by other variables ----
cat >s.cdl <<'END'
netcdf s { dimensions: time = 6 ; lat = 2 ; lon = 3 ; variables: double time(time) ; int season(time) ; float half(time) ;
 short zone(lat) ; float bad(time) ; float temp(time, lat, lon) ; temp:_FillValue = -9.f ;
data: time = 0,1,2,3,4,5 ; season = 4,1,1,4,4,2 ; half = 0.5,0.5,1.5,1.5,0.5,1.5 ; zone = 7, 7 ; bad = 1,2,NaN,4,5,6 ;
 temp = 1,2,3,4,5,6, 7,-9,9,10,11,12, 13,14,15,16,17,18, 19,20,21,22,23,24, 25,26,27,28,29,30, 31,32,33,34,35,36 ; }
END
ncgen -o s.nc s.cdl
of='--variable temp --axis time s.nc --by'
line "reduce nanmean --to csv $of season" 'season,nanmean 4,15 4,16 4,17 4,18 4,19 4,20 1,10 1,14 1,12 1,13 1,14 1,15 2,31 2,32 2,33 2,34 2,35 2,36'
line "reduce nansum,count --sort --to csv $of season | sed -n '2,4p;14p'" '1,20,2 1,14,1 1,24,2 4,45,3'
line "reduce first --sort --to csv $of season,half | awk -F, 'NR % 6 == 2'" '1,0.5,7 1,1.5,13 2,1.5,31 4,0.5,1 4,1.5,19'
line "scan nansum --to csv $of season | tail -n +2" '1,2,3 4,5,6 7,0,9 10,11,12 20,14,24 26,28,30 20,22,24 26,28,30 45,48,51 54,57,60 31,32,33 34,35,36'
line "window first -w 2 --edges shrink --to csv $of half | tail -n +2" '1,2,3 4,5,6 1,2,3 4,5,6 13,14,15 16,17,18 13,14,15 16,17,18 7,nan,9 10,11,12 19,20,21 22,23,24'
line 'reduce max --variable temp --axis lat --by zone --to csv s.nc | sed -n "1p;5p;8p"' 'zone,max 7,10 7,16'
has "tally reduce max --json --sort $of season" '"keys": \[\{"name": "season", "values": \["1", "2", "4"\]\}\]'
data "reduce max --sort $of season" 'netcdf o { dimensions: season = 3 ; lat = 2 ; lon = 3 ; variables: float temp_max(season, lat, lon) ; temp_max:_FillValue = NaNf ; temp_max:long_name = "max of temp" ; temp_max:cell_methods = "time: maximum" ; int season(season) ; data: temp_max = 13, _, 15, 16, 17, 18, 31, 32, 33, 34, 35, 36, 25, 26, 27, 28, 29, 30 ; season = 1, 2, 4 ; }'
same "tally scan nansum --variable temp --axis time --by season s.nc -o o.nc && tally reduce last --axis 0 --hex o.nc" "tally scan nansum --hex $of season | tail -n 2 | tr '\t' '\n'"
bad 2 "tally reduce sum $of zone" 'tally: s.nc: the coordinate is zone(lat 2): must have the one dimension time 6'
bad 2 "tally reduce sum $of none" "tally: s.nc: no variable 'none'; the variables are time(time 6), season(time 6), half(time 6), zone(lat 2), bad(time 6), temp(time 6, lat 2, lon 3)"
bad 2 "tally reduce sum $of season,,half" "tally: --by has an empty name among 'season,,half'"
bad 1 "tally reduce sum $of bad" 'tally: s.nc: bad[2] is missing, nan or infinite: every step must have its number'

# beside the same steps as lines of text: boxes, files that are joined, threads
keyed() { sed -i "s/double x/int band(time); &/; s/; x =/; band = $(awk -v a="$1" -v b="$2" 'BEGIN { for (i = a; i <= b; i++) printf "%s%d", (i > a ? ", " : ""), i * 7 % 5 }') &/" f.cdl
    ncgen -k netCDF-4 -o "$3" f.cdl; }
field x.nc 0 39 && keyed 0 39 all_by.nc && field x.nc 0 22 && keyed 0 22 one_by.nc && field x.nc 23 39 && keyed 23 39 two_by.nc
awk 'BEGIN { printf "band"; for (j = 0; j < 221; j++) printf ",c%d", j; print ""
    for (i = 0; i < 40; i++) { printf "%d", i * 7 % 5; for (j = 0; j < 221; j++) printf ",%.6f", ((i * 221 + j) * 7919 % 10007) / 7; print "" } }' >by.csv
all=$(seq 0 220 | sed 's/^/c/' | paste -sd,)
tally reduce var --hex --by band --column "$all" --to csv by.csv | tail -n +2 | cut -d, -f2- | tr ',' '\n' >by.want
for options in '' '--memory 5000' '--memory 300000' '--threads 1' '--threads 3'; do
    for files in all_by.nc 'one_by.nc two_by.nc'; do
        same "tally reduce var --hex --variable x --axis time --by band --to csv $options $files | tail -n +2 | cut -d, -f2" 'cat by.want'
    done
done
for verb in 'scan sum' 'window var -w 3 --edges shrink'; do
    same "tally $verb --hex --variable x --axis time --by band one_by.nc two_by.nc | tr '\t' '\n'" \
        "tally $verb --hex --by band --column $all --to csv by.csv | tail -n +2 | tr ',' '\n'"
done
# what is left out, and a second input
awk 'BEGIN { srand(8); for (i = 0; i < 40 * 221; i++) print int(rand() * 4) }' >by.valid
tac all.txt >weights.txt && awk 'NR % 221 == 8' weights.txt >weights.c7
ok 'tally scan last --shape 40x13x17 --axis 2 weights.txt -o weights.npy' ''
for verb in 'reduce nanmean' 'scan sum' 'window max -w 3 --edges shrink'; do
    same "tally $verb --hex --variable x --axis time --by band --valid by.valid --empty NA --to csv one_by.nc two_by.nc | tail -n +2 | sed 's/^[0-9]*,0x/0x/; s/^[0-9]*,NA/NA/' | tr ',' '\n'" \
        "tally $verb --hex --by band --column $all --valid by.valid --empty NA --to csv by.csv | tail -n +2 | sed 's/^[0-9]*,//' | tr ',' '\n'"
done
same 'tally reduce wmean --hex --variable x --axis time --by band --with weights.npy --to csv all_by.nc | awk -F, "NR > 1 && NR % 221 == 9 { print \$2 }"' \
    'tally reduce wmean --hex --by band --column c7 --with weights.c7 --to csv by.csv | awk -F, "NR > 1 { print \$2 }"'
same 'tally window nandot -w 4 --hex --variable x --axis time --by band --with weights.npy all_by.nc | tr "\t" "\n" | awk "NR % 221 == 8"' \
    'tally window nandot -w 4 --hex --by band --column c7 --with weights.c7 by.csv'

# ---- --empty: in steps, in boxes ----
awk 'BEGIN { srand(2); for (i = 0; i < 20; i++) for (j = 0; j < 100; j++) print rand() < 0.9 ? "nan" : j + 1 }' >holes.txt
ok 'tally scan last --shape 20x100 --axis 1 holes.txt -o holes.nc' ''
tally reduce nansum --axis 0 holes.nc | sed 's/^0$/NA/' >holes.want
for options in '' '--memory 3000' '--threads 1'; do ok "tally reduce nansum --axis 0 --empty NA $options holes.nc" "$(cat holes.want)"; done
grep -q NA holes.want
verdict 'some have no value' $? ''

finish
