#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What climate scientists type: files in the order of their times, several operators in one NetCDF file with names, units
# and bounds, calendars. The files are made by ncgen (netcdf-bin); skipped where it or libnetcdf is not.
for tool in ncgen ncdump; do command -v $tool >/dev/null || { echo "fields: skipped: no $tool"; exit 77; }; done
# shellcheck source=test/cli/check.sh
source "$(dirname "${BASH_SOURCE[0]}")/cli/check.sh"
line() { ok "tally $1 | paste -sd' '" "$2"; }
make() { echo "netcdf x { $2 }" >x.cdl && ncgen -o "$1" x.cdl || exit 1; } # FILE BODY

# ---- joined files: in the order of their times ----
steps() { # FILE UNITS TIMES VALUES
    make "$1" "dimensions: time = UNLIMITED ; x = 2 ; variables: double time(time) ; time:units = \"$2\" ; float v(time, x) ; v:units = \"K\" ;
 data: time = $3 ; v = $4 ;"
}
steps jan.nc 'days since 2001-01-01' '0, 30' '1, 2, 3, 4'
tally reduce sum --variable v jan.nc >has.txt 2>&1
if grep -q 'libnetcdf is not here' has.txt; then echo "fields: skipped: no libnetcdf"; exit 77; fi
steps feb.nc 'days since 2001-01-01' '31, 58' '5, 6, 7, 8'
steps mar.nc 'hours since 2001-03-01' '0, 24' '9, 10, 11, 12'
steps late.nc 'hours since 2001-01-31' '0, 24' '9, 10, 11, 12'
of='--variable v --axis time --to csv'
for files in 'jan.nc feb.nc mar.nc' 'mar.nc jan.nc feb.nc' 'feb.nc mar.nc jan.nc'; do
    line "scan last $of $files | tail -n +2" '1,2 3,4 5,6 7,8 9,10 11,12'
    line "reduce first,last $of $files" 'first,last 1,11 2,12'
done
line "window sum --by time --last 28d $of feb.nc jan.nc | tail -n +2" '1,2 3,4 8,10 12,14'
yes 1 | head -n 8 >ones.txt # results of two values, in place
same "tally window minmax --by time --last 28d $of feb.nc jan.nc" "tally window minmax --by time --last 28d --valid ones.txt $of feb.nc jan.nc"
bad 1 "tally reduce sum $of jan.nc feb.nc jan.nc" 'tally: jan.nc: time begins at 0, and jan.nc, which comes before, ends at 30: files that are joined must go on ascending'
bad 1 "tally scan sum $of late.nc jan.nc -o o.nc" 'tally: late.nc: time begins at 0 hours since 2001-01-31, and jan.nc, which comes before, ends at 30 days since 2001-01-01: times of files that are joined must not repeat'
ok 'ls o.nc 2>/dev/null || echo none' none
# joined files that count from different dates: results count from the first file's, where its type has the numbers
dated() { make "$1" "dimensions: time = 2 ; x = 1 ; variables: $2 time(time) ; time:units = \"days since $3\" ; float v(time, x) ; data: time = $4 ; v = $5 ;"; }
of_time() { ok "tally $1 -o o.nc && ncdump o.nc | grep -E '^ time|time:units|(int|double) time' | tr -s '\n\t ' ' '; echo" "$2"; }
for row in 'double 0.25,1 double' 'int 0,1 int' 'float 0.25,1 double' 'short 0,1 double'; do
    read -r type times result <<<"$row"
    dated d0.nc "$type" '2000-01-01 12:00' "$times" '1, 2' && dated d1.nc "$type" '2001-01-01T15:00 +3' "$times" '3, 4'
    last=$(tr , ' ' <<<"$times" | awk '{ print 366 + $1 ", " 367 }')
    of_time 'scan sum --variable v --axis time d1.nc d0.nc' " $result time(time) ; time:units = \"days since 2000-01-01 12:00\" ; time = ${times/,/, }, $last ; "
    of_time 'window sum -w 2 --edges valid --variable v --axis time d1.nc d0.nc' " $result time(time) ; time:units = \"days since 2000-01-01 12:00\" ; time = 1, $last ; "
    of_time 'reduce sum --variable v --axis time d1.nc d0.nc' " double time ; time:units = \"days since 2000-01-01 12:00\" ; double time_bnds(bnds) ; time = $(awk -v a="${times%,*}" 'BEGIN { print (a + 367) / 2 }') ; time_bnds = ${times%,*}, 367 ; "
    line 'window sum --by time --last 366d --variable v --axis time d1.nc d0.nc --to csv | tail -n +2' '1 3 5 7'
done
dated d0.nc double 2000-01-01 '0, 1' '1, 2' && dated d1.nc double '2001-01-01 18:00' '0, 0.1' '3, 4'
of_time 'scan sum --variable v --axis time d0.nc d1.nc' ' double time(time) ; time:units = "days since 2000-01-01" ; time = 0, 1, 366.75, 366.85 ; '
bad 1 'tally window sum --by time --last 2d --variable v --axis time d0.nc d1.nc' "tally: d1.nc: time[1] has no exact number in the unit of d0.nc, 'days since 2000-01-01'"
dated d0.nc int 2000-01-01 '0, 1' '1, 2' && dated d1.nc int '2001-01-01 18:00' '0, 1' '3, 4' # 366.75 is no int
of_time 'scan sum --variable v --axis time d0.nc d1.nc' ' double time(time) ; time:units = "days since 2000-01-01" ; time = 0, 1, 366.75, 367.75 ; '
line 'window sum --by time --last 366d --variable v --axis time d0.nc d1.nc --to csv | tail -n +2' '1 3 5 7'
for k in '0 2000-01-01' "1 2001-01-01 18:00"; do dated d${k%% *}.nc int64 "${k#* }" '0, 1' '1, 2' && ncgen -4 -o d${k%% *}.nc x.cdl; done # nor an int64
bad 1 'tally window sum --by time --last 2d --variable v --axis time d0.nc d1.nc' "tally: d1.nc: time[0] has no exact number in the unit of d0.nc, 'days since 2000-01-01'"
line 'scan sum --variable v --axis time d0.nc d1.nc -o o.nc && ncdump o.nc | sed -n /time:/p | wc -l' 0
dated d0.nc int 1999-12-31 '0, 1' '1, 2' && dated d1.nc int 2000-01-01 '2, 2147483647' '3, 4' # nor is 2^31
bad 1 'tally window sum --by time --last 2d --variable v --axis time d0.nc d1.nc' "tally: d1.nc: time[1] has no exact number in the unit of d0.nc, 'days since 1999-12-31'"
# days in one file and hours in another
steps hourly.nc 'hours since 2001-01-01' '744, 750' '5, 6, 7, 8'
for row in 'jan.nc hourly.nc|days|0, 30, 31, 31.25' 'hourly.nc mar.nc|hours|744, 750, 1416, 1440' 'hourly.nc sun.nc|hours|744, 750, 960, 961'; do
    IFS='|' read -r files unit times <<<"$row"
    steps sun.nc 'minutes since 2001-02-10 00:00' '0, 60' '9, 10, 11, 12'
    of_time "scan sum --variable v --axis time $files" " double time(time) ; time:units = \"$unit since 2001-01-01\" ; time = $times ; "
done
line "window sum --by time --last 24h $of jan.nc hourly.nc | tail -n +2" '1,2 3,4 5,6 12,14'
steps third.nc 'hours since 2001-02-01' '0, 8' '5, 6, 7, 8'
of_time 'scan sum --variable v --axis time jan.nc third.nc' ' double time(time) ; time:units = "days since 2001-01-01" ; time = 0, 30, 31, 31.3333333333333 ; '
bad 1 'tally window sum --by time --last 2d --variable v --axis time jan.nc third.nc' "tally: third.nc: time[1] has no exact number in the unit of jan.nc, 'days since 2001-01-01'"
# units of the values: a mean of K and degC is neither
make warm.nc 'dimensions: time = UNLIMITED ; x = 2 ; variables: double time(time) ; time:units = "days since 2001-01-01" ; float v(time, x) ; v:units = "degC" ; data: time = 31, 58 ; v = 5, 6, 7, 8 ;'
for units in '' ' v:units = "" ;'; do # a file that does not say its units is taken to have those of the others
    make none.nc "dimensions: time = UNLIMITED ; x = 2 ; variables: double time(time) ; time:units = \"days since 2001-01-01\" ; float v(time, x) ;$units data: time = 31, 58 ; v = 5, 6, 7, 8 ;"
    line "reduce sum $of jan.nc none.nc | tail -n +2" '16 20'
    line "reduce sum $of jan.nc --minus none.nc:v | tail -n +2" '-8 -8'
done
bad 1 "tally reduce mean $of jan.nc warm.nc" "tally: warm.nc: the units of v are 'degC', and in jan.nc 'K': files that are joined must have the same units"
bad 1 "tally reduce mean $of jan.nc none.nc warm.nc" "tally: warm.nc: the units of v are 'degC', and in jan.nc 'K': files that are joined must have the same units"
bad 1 "tally window first -w 1 $of jan.nc --minus warm.nc" "tally: --minus warm.nc: the units of v are 'degC', and in jan.nc 'K': must be the same"
bad 2 'tally reduce sum --variable v --axis time --by month jan.nc' "tally: jan.nc has no variable 'month'; that part of its dates is --by time.month"
bad 2 'tally reduce sum --variable v --axis time --by time.week jan.nc' "tally: there is no part of a date 'week'; choices: year, season, month, day, hour, dayofyear"
bad 2 'tally reduce sum --variable v --axis time --by when.week jan.nc' "tally: jan.nc: no variable 'when.week'; the variables are time(time 2), v(time 2, x 2)"
# levels keep the order of the command line
make high.nc 'dimensions: lev = 1 ; variables: int lev(lev) ; float v(lev) ; data: lev = 2 ; v = 1 ;'
make low.nc 'dimensions: lev = 1 ; variables: int lev(lev) ; float v(lev) ; data: lev = 1 ; v = 2 ;'
line 'scan last --variable v --axis lev high.nc low.nc' '1 2'
# the times of a variable in a group are in its group
for k in 1 2; do
    make g$k.nc "group: g { dimensions: time = 1 ; variables: double time(time) ; time:units = \"days since 2001-01-01\" ; float v(time) ;
 data: time = $k ; v = $k ; }"
done
line 'scan last --variable g/v --axis time g2.nc g1.nc' '1 2'

# ---- several operators in one file ----
data 'reduce mean,var,count --variable v --axis time jan.nc' 'netcdf o { dimensions: x = 2 ; bnds = 2 ; variables: float v_mean(x) ; v_mean:_FillValue = NaNf ; v_mean:long_name = "mean of v" ; v_mean:units = "K" ; v_mean:cell_methods = "time: mean" ; v_mean:coordinates = "time" ; double v_var(x) ; v_var:_FillValue = NaN ; v_var:long_name = "var of v" ; v_var:units = "K2" ; v_var:cell_methods = "time: variance" ; v_var:coordinates = "time" ; int64 v_count(x) ; v_count:long_name = "count of v" ; v_count:units = "1" ; v_count:coordinates = "time" ; double time ; time:units = "days since 2001-01-01" ; time:bounds = "time_bnds" ; double time_bnds(bnds) ; data: v_mean = 2, 3 ; v_var = 1, 1 ; v_count = 2, 2 ; time = 15 ; time_bnds = 0, 30 ; }'
data 'scan sum,max --name total,top --variable v --axis time jan.nc' 'netcdf o { dimensions: time = 2 ; x = 2 ; variables: float total(time, x) ; total:_FillValue = NaNf ; total:long_name = "sum of v" ; total:units = "K" ; float top(time, x) ; top:_FillValue = NaNf ; top:long_name = "max of v" ; top:units = "K" ; double time(time) ; time:units = "days since 2001-01-01" ; data: total = 1, 2, 4, 6 ; top = 1, 2, 3, 4 ; time = 0, 30 ; }'
data 'window nanmax,nansum -w 1 --min-count 1 --empty -9 --variable v --axis time jan.nc' 'netcdf o { dimensions: time = 2 ; x = 2 ; variables: float v_nanmax(time, x) ; v_nanmax:_FillValue = -9.f ; v_nanmax:long_name = "nanmax of v" ; v_nanmax:units = "K" ; float v_nansum(time, x) ; v_nansum:_FillValue = -9.f ; v_nansum:long_name = "nansum of v" ; v_nansum:units = "K" ; double time(time) ; time:units = "days since 2001-01-01" ; data: v_nanmax = 1, 2, 3, 4 ; v_nansum = 1, 2, 3, 4 ; time = 0, 30 ; }'
ok "tally reduce mean --variable v --axis time 'jan.nc' -o 'a b.nc' && ncdump -h 'a b.nc' | grep -E 'Conventions|history' | sed 's/tally [0-9.]*: //' | tr -d '\\\\'" "${t}${t}:Conventions = \"CF-1.8\" ;
${t}${t}:history = \"tally reduce mean --variable v --axis time jan.nc -o 'a b.nc'\" ;"
for op in sum mean max; do
    same "tally reduce sum,mean,max --variable v --axis time jan.nc feb.nc -o o.nc4 && tally reduce last --axis 0 --hex --variable v_$op o.nc4" \
        "tally reduce $op --variable v --axis time jan.nc feb.nc -o p.nc && tally reduce last --axis 0 --hex --variable v_$op p.nc"
done
make named.nc 'dimensions: x = 2 ; variables: float v(x) ; v:standard_name = "air_temperature" ; v:units = "K" ; data: v = 1, 2 ;'
for op in mean:1 max:1 var:0 count:0; do # a count and a variance have no name of the standard
    ok "tally reduce ${op%:*} --axis x --variable v named.nc -o o.nc; ncdump -h o.nc | grep -c standard_name || true" "${op#*:}"
done
bad 2 'tally reduce sum,max --name a --variable v --axis time jan.nc -o o.nc' "tally: --name is 'a': 1 name for 2 operators"
bad 2 'tally reduce sum --name a --variable v --axis time jan.nc' "tally: --name is 'a', the variables of a NetCDF file, and the results go to text"
bad 2 'tally reduce sum,max --name a,a --variable v --axis time jan.nc -o o.nc' "tally: o.nc: name is 'a', and there is a variable of that name"
bad 2 'tally reduce sum,minmax --variable v --axis time jan.nc -o o.nc' "tally: operator 'minmax' has 2 values a result: write it to a NetCDF file of its own"
bad 2 'tally reduce sum,max --variable v jan.nc feb.nc -o o.nc' 'tally: --output o.nc: results of several operators and several files: join the files by --axis NAME, give one operator, or write .csv or .txt'
bad 2 'tally reduce sum --variable v --axis 1 jan.nc feb.nc -o o.nc' 'tally: --output o.nc: each of several files has results of its own: write a file for each of them and join these, as `tally window first -w 1 --axis time` does, or .csv or .txt'

# ---- calendars ----
for kind in $(few 'standard gregorian proleptic_gregorian noleap 365_day all_leap 366_day 360_day julian' 'standard noleap 360_day'); do
    seed=${TALLY_TEST_SEED:-$RANDOM}
    python3 "$here/cli/calendars.py" $kind "$seed" 1000 c.cdl all.txt && ncgen -o c.nc c.cdl || exit 1
    awk '!seen[$0]++' all.txt >want.txt
    ok "tally reduce count --variable v --axis time --by time.year,time.season,time.month,time.day,time.hour,time.dayofyear c.nc --to csv | tail -n +2 | cut -d, -f1-6 | cmp - want.txt # $seed" ''
done
data 'reduce sum --variable v --axis time --by time.month mar.nc jan.nc feb.nc' 'netcdf o { dimensions: month = 3 ; x = 2 ; bnds = 2 ; variables: float v_sum(month, x) ; v_sum:_FillValue = NaNf ; v_sum:long_name = "sum of v" ; v_sum:units = "K" ; v_sum:cell_methods = "time: sum" ; v_sum:coordinates = "time" ; int month(month) ; double time(month) ; time:units = "days since 2001-01-01" ; time:bounds = "time_bnds" ; double time_bnds(month, bnds) ; data: v_sum = 4, 6, 12, 14, 20, 22 ; month = 1, 2, 3 ; time = 15, 44.5, 59.5 ; time_bnds = 0, 30, 31, 58, 59, 60 ; }'
data 'reduce sum --variable v --axis time --by time.season jan.nc feb.nc' 'netcdf o { dimensions: season = 1 ; x = 2 ; bnds = 2 ; variables: float v_sum(season, x) ; v_sum:_FillValue = NaNf ; v_sum:long_name = "sum of v" ; v_sum:units = "K" ; v_sum:cell_methods = "time: sum" ; v_sum:coordinates = "time" ; int season(season) ; season:long_name = "1 DJF, 2 MAM, 3 JJA, 4 SON" ; double time(season) ; time:units = "days since 2001-01-01" ; time:bounds = "time_bnds" ; double time_bnds(season, bnds) ; data: v_sum = 16, 20 ; season = 1 ; time = 29 ; time_bnds = 0, 58 ; }'
line "reduce max --by time.season $of jan.nc feb.nc" 'season,max DJF,7 DJF,8'
line "scan sum --by time.year $of jan.nc feb.nc | tail -n +2" '1,2 4,6 9,12 16,20'
# a climatology: two Januaries with a February between them
steps years.nc 'days since 2001-01-01' '0, 31, 365' '1, 2, 3, 4, 5, 6'
data 'reduce mean --variable v --axis time --by time.month years.nc' 'netcdf o { dimensions: month = 2 ; x = 2 ; bnds = 2 ; variables: float v_mean(month, x) ; v_mean:_FillValue = NaNf ; v_mean:long_name = "mean of v" ; v_mean:units = "K" ; v_mean:cell_methods = "time: mean" ; v_mean:coordinates = "time" ; int month(month) ; double time(month) ; time:units = "days since 2001-01-01" ; time:climatology = "time_bnds" ; double time_bnds(month, bnds) ; data: v_mean = 3, 4, 3, 4 ; month = 1, 2 ; time = 0, 31 ; time_bnds = 0, 365, 31, 31 ; }'
unit() { # UNITS CALENDAR TIME: the message
    make u.nc "dimensions: time = 1 ; variables: double time(time) ; time:units = \"$1\" ; time:calendar = \"$2\" ; int v(time) ; data: time = $3 ; v = 1 ;"
    bad 1 'tally reduce sum --variable v --axis time --by time.month u.nc' "tally: u.nc: $4"
}
must="after 'since' must be a date such as 1970-01-01 or 1970-01-01 12:00:00, and one that the calendar"
unit 'days since 2001-02-29' standard 0 "the units of time are 'days since 2001-02-29': $must standard has"
unit 'days since 1582-10-10' gregorian 0 "the units of time are 'days since 1582-10-10': $must gregorian has"
unit 'days since 0000-01-01' standard 0 "the units of time are 'days since 0000-01-01': $must standard has"
unit 'days since 2000-01-31' 360_day 0 "the units of time are 'days since 2000-01-31': $must 360_day has"
unit 'days since 2000-02-30' julian 0 "the units of time are 'days since 2000-02-30': $must julian has"
unit 'days since 2000-13-01' noleap 0 "the units of time are 'days since 2000-13-01': $must noleap has"
unit 'days since 2000-01-01 25:00' noleap 0 "the units of time are 'days since 2000-01-01 25:00': $must noleap has"
unit 'days since 2000-01-01 12:00 east' noleap 0 "the units of time are 'days since 2000-01-01 12:00 east': $must noleap has"
unit 'fortnights since 2000-01-01' standard 0 "the units of time are 'fortnights since 2000-01-01': must be days, hours, minutes, seconds or a part of a second"
unit 'days since 0001-01-01' standard -1 'time[0] is -1 days since 0001-01-01, a date that the calendar standard does not have'
unit 'days since 2000-01-01' noleap 1e30 'time[0] is 1e+30 days since 2000-01-01, a date that the calendar noleap does not have'
unit 'days since 2000-01-01' noleap NaN 'time[0] is missing, nan or infinite: every step must have its number'
unit kelvin standard 0 "the units of time are 'kelvin': --by time.month needs times, as in 'days since 1970-01-01'"
make old.nc 'dimensions: time = 3 ; variables: double time(time) ; time:units = "days since 1960-01-01" ; int v(time) ; data: time = -0.5, -365, 1 ; v = 1, 2, 4 ;'
line 'reduce sum --variable v --axis time --by time.year,time.month,time.hour --to csv old.nc' 'year,month,hour,sum 1959,12,12,1 1959,1,0,2 1960,1,0,4'
for units in 'Days since 2000-1-1' 'DAYS SINCE 2000-01-01T00:00:00Z' ' days  since  2000-01-01 0:0:0.0 UTC' 'day since 2000-01-01 03:00 +3' 'd since 1999-12-31 18:30 -0530'; do
    make u.nc "dimensions: time = 2 ; variables: float time(time) ; time:units = \"$units\" ; int v(time) ; data: time = 0, 0.999 ; v = 1, 1 ;"
    line 'reduce count --variable v --axis time --by time.year,time.day --to csv u.nc' 'year,day,count 2000,1,2'
done
# ---- several axes, and weights by name ----
python3 - >grid.cdl <<'END2'
import random
r = random.Random(3)
v = ["_" if r.random() < 0.1 else f"{r.randrange(1000) / 8}" for _ in range(5 * 4 * 3)]
print(f"netcdf g {{ dimensions: time = 5 ; lat = 4 ; lon = 3 ; variables: int time(time) ; double lat(lat) ; float t2m(time, lat, lon) ;"
      f" t2m:_FillValue = -9.f ; double area(lat, lon) ; double row(lat) ; data: lat = 90, 60, 0, -45 ; time = 1, 2, 3, 4, 5 ;"
      f" t2m = {', '.join(v)} ; area = 1, 2, 3, 1, 2, 3, 4, 4, 4, 5, 6, 7 ; row = 1, 2, 4, 8 ; }}")
END2
ncgen -o g.nc grid.cdl && make lat3.nc 'dimensions: lat = 3 ; variables: double row(lat) ; data: row = 1, 2, 4 ;'
make lev.nc 'dimensions: lev = 3 ; variables: double row(lev) ; data: row = 1, 2, 4 ;'
g='--variable t2m g.nc'
tally scan last --axis 0 $g | tr '\t' '\n' >g.txt # every value, in C order
for op in nanmean nansum,nanvar,count first; do
    same "tally reduce $op --hex --axis lat,lon $g" "tally reduce $op --hex --dtype f32 --shape 5x12 --axis 1 g.txt"
    same "tally reduce $op --hex --axis lon,lat $g" "tally reduce $op --hex --axis=1,-1 $g"
    same "tally reduce $op --hex --axis time,lat $g" "tally reduce $op --hex --dtype f32 --shape 20x3 --axis 0 g.txt"
    same "tally reduce $op --hex --axis time,lat,lon $g | tail -n 1" "tally reduce $op --hex --dtype f32 g.txt | tail -n 1"
done
awk '{ print > "lat" int((NR - 1) % 12 / 3) ".txt" }' g.txt
same "tally reduce nansum --hex --dtype f64 --axis time,lon $g" 'for i in 0 1 2 3; do tally reduce nansum --hex lat$i.txt; done'
bad 2 "tally reduce sum --axis lat,lat $g" "tally: --axis is 'lat,lat': dimension 1 is there twice"
bad 2 "tally reduce sum --axis lat,lev $g" "tally: there is no dimension of g.nc 'lev'; choices: time, lat, lon"
bad 2 "tally scan sum --axis lat,lon $g" "tally: --axis is 'lat,lon': several axes are for reduce without --by"
# the same weights written out for every element
for k in 0 1 2 3; do for j in 1 2 3; do echo $((1 << k)); done; done >one.txt
for i in 1 2 3 4 5; do cat one.txt; done >rows.txt
for i in 1 2 3 4 5; do printf '%s\n' 1 2 3 1 2 3 4 4 4 5 6 7; done >area.txt
awk '{ print > "area" int((NR - 1) % 12 / 3) ".txt" }' area.txt
for op in nanwmean nandot,nanwvar; do
    w="tally reduce $op --hex --dtype f64"
    same "$w --axis lat,lon --with g.nc:row $g" "$w --shape 5x12 --axis 1 --with rows.txt g.txt"
    same "$w --axis lat,lon --with g.nc:area $g" "$w --shape 5x12 --axis 1 --with area.txt g.txt"
    same "$w --axis lat --with g.nc:row $g" "$w --shape 5x4x3 --axis 1 --with rows.txt g.txt"
    same "$w --axis time --with g.nc:row $g" "$w --shape 5x4x3 --axis 0 --with rows.txt g.txt"
    same "$w --axis lon --with g.nc:area $g" "$w --shape 5x4x3 --axis 2 --with area.txt g.txt"
    same "$w --with g.nc:area $g | tail -n 1" "$w --with area.txt g.txt | tail -n 1"
    same "$w --axis lat,lon --empty NA --with g.nc:row $g" "$w --shape 5x12 --axis 1 --empty NA --with rows.txt g.txt"
    for more in '' '--empty NA'; do # of dimensions that are apart
        same "$w --axis time,lon $more --with g.nc:area $g | tail -n 4" "for i in 0 1 2 3; do $w --with area\$i.txt lat\$i.txt | tail -n 1; done"
    done
done
same "tally scan nandot --hex --dtype f64 --axis time --with g.nc:row $g | tr '\t' '\n'" 'tally scan nandot --hex --shape 5x4x3 --axis 0 --with rows.txt g.txt | tr "\t" "\n"'
ok "tally reduce dot --axis lat --with 'cos(lat)' --variable lat g.nc | awk '{ print (\$1 > -1.8198052 && \$1 < -1.8198050) }'" 1
bad 1 "tally reduce dot --with 'cos(lat' --variable lat g.nc" 'tally: cos(lat: No such file or directory'
bad 1 "tally reduce dot --with 'cos()' --variable lat g.nc" 'tally: cos(): No such file or directory'
# the cosine: exact where it is simple, the same bits everywhere
make cos.nc 'dimensions: lat = 9 ; variables: double lat(lat), one(lat) ; data: lat = 0, 90, -90, 180, 270, 360, 60, 45, 89.5 ; one = 1, 1, 1, 1, 1, 1, 1, 1, 1 ;'
ok "tally scan dot --axis lat --with 'cos(lat)' --variable one cos.nc --to csv | tail -n 1 | awk '{ print (\$1 > 2.21583 && \$1 < 2.21584) }'" 1
ok "tally window dot -w 1 --hex --axis lat --with 'cos(lat)' --variable one cos.nc | paste -sd' '" '0x3ff0000000000000 0x0000000000000000 0x0000000000000000 0xbff0000000000000 0x0000000000000000 0x3ff0000000000000 0x3fdfffffffffffff 0x3fe6a09e667f3bcd 0x3f81df37c4954c21'
bad 1 "tally reduce wmean --axis lat,lon --with lat3.nc $g" 'tally: --with lat3.nc: the dimension lat is 3 long, and in g.nc it is 4: must be of the same grid'
bad 1 "tally reduce wmean --axis lat,lon --with lev.nc $g" 'tally: --with lev.nc has the dimension lev 3, which is not in g.nc'
make odd.nc 'dimensions: lat = 2 ; x = 2 ; variables: double lat(lat) ; double x(lat) ; double y(lat) ; float v(lat, x) ; float s ; float e(lat, x) ;
 data: lat = 30, 400 ; x = 1, 2 ; y = 1, 1.5 ; v = 1, 2, 3, 4 ; s = 2 ; e = 1, 1, 1, 1 ;'
bad 1 "tally reduce wmean --axis lat --with 'cos(lat)' --variable v odd.nc" 'tally: odd.nc: lat[1] is 400: --with cos(lat) takes degrees up to 360'
bad 1 'tally reduce dot --axis lat --with odd.nc:s --variable v odd.nc' 'tally: --with odd.nc is a single value: must have dimensions of odd.nc'
bad 1 'tally reduce sum --axis lat --minus odd.nc:s --variable v odd.nc' 'tally: --minus odd.nc is a single value or empty'
bad 1 'tally reduce dot --with no:file --variable v odd.nc' 'tally: no:file: No such file or directory'
bad 2 'tally window sum --axis lat --by lat --last 1e-400 --variable v odd.nc' "tally: --last is '1e-400': must be 0 or a number that a f64 holds"
make long.nc 'dimensions: lat = 3 ; n = 2 ; variables: double lat(n) ; float v(lat) ; data: lat = 1, 2 ; v = 1, 2, 3 ;'
bad 2 "tally reduce dot --axis lat --with 'cos(lat)' --variable v long.nc" 'tally: long.nc: the coordinate is lat(n 2): must have the one dimension lat 3'
bad 2 "tally reduce wmean --axis lat,lon --with 'cos(lev)' $g" "tally: --with is 'cos(lev)', and g.nc has no dimension of that name"
bad 2 "tally reduce wmean --axis lat,lon --with g.nc:rows $g" "tally: g.nc: no variable 'rows'; the variables are time(time 5), lat(lat 4), t2m(time 5, lat 4, lon 3), area(lat 4, lon 3), row(lat 4)"
has "tally reduce nanwmean --axis lat,lon --with 'cos(lat)' $g -o o.nc && ncdump -h o.nc" 'cell_methods = "lat: lon: mean"'

# ---- f64, and shares ----
same "tally reduce nanmean,nansum,max,count --hex --precision f64 --axis time $g | tail -n +2" "tally reduce nanmean:f64,nansum:f64,max,count --hex --axis time $g | tail -n +2"
same "tally scan nansum --hex --precision f64 --axis time $g" "tally scan nansum:f64 --hex --axis time $g"
# each of several files has a type of its own
printf '0.1\n0.7\n0.3\n' >p.txt
tally scan last --dtype f64 p.txt -o p64.npy && tally scan last --dtype f32 p.txt -o p32.npy
ok 'tally reduce sum --hex --precision f64 p64.npy p32.npy | tail -n 1 | cut -f 2' "$(tally reduce sum:f64 --hex p32.npy)"
ok "tally reduce nanmean,max --precision f64 --axis time $g | head -n 1" "nanmean${t}max"
same "tally reduce valid --axis time $g" "tally reduce count --axis time $g | awk '{ print \$1 / 5 }'"
same "tally reduce missing --axis lat,lon $g | awk '{ printf \"%.17g\\n\", \$1 }'" "tally reduce count --axis lat,lon $g | awk '{ printf \"%.17g\\n\", (12 - \$1) / 12 }'"
ok "printf 'a,1\na,nan\nb,nan\na,4\nb,5\nb,\nb,1\n' | tally reduce valid,missing,count --header no --by 1 --to csv" 'key,valid,missing,count
a,0.6666666666666666,0.3333333333333333,2
b,0.5,0.5,2'
printf '0\n0\n3\n4\n' >offsets.txt
ok "printf '1\nnan\n3\nnan\n' | tally reduce missing --segments offsets.txt --hex | paste -sd' '" '0x7ff8000000000000 0x3fd5555555555555 0x3ff0000000000000'
# a share has a value where there are elements, also where none of them is valid
printf '0\n1\n0\n0\n' >some.txt
cells() { ok "printf '1\n2\n3\n4\n' | tally reduce valid,missing,mean --valid some.txt --empty NA $1 | tail -n +2 | paste -sd'|' | tr '$t' ' '" "$2"; }
cells '--segments offsets.txt' 'NA NA NA|0.3333333333333333 0.6666666666666666 2|0 1 NA'
cells '--shape 2x2 --axis 1' '0.5 0.5 2|0 1 NA'
cells '--column 1 --by 1 --header no' '1 0 1 NA|2 1 0 2|3 0 1 NA|4 0 1 NA'
ok "printf '1\n2\n3\n4\n' | tally reduce missing --valid some.txt --segments offsets.txt --out-valid bits.raw -o share.raw && od -An -tu1 bits.raw" '   6'
make none.nc 'dimensions: x = 2 ; y = 2 ; variables: float v(x, y) ; data: v = 1, 2, 3, 4 ;'
ok "tally reduce missing --axis y --valid some.txt --empty=-1 none.nc -o o.nc && ncdump o.nc | grep 'missing ='" ' v_missing = 0.5, 1 ;'
bad 2 "tally scan valid g.txt" "tally: operator 'valid' is for \`tally reduce\`"

# ---- scan and window in slabs ----
for verb in 'scan nansum,count' 'scan nansum --exclusive' 'scan max --init 3' 'window nansum,max -w 3' 'window nanmean -w 3 --center --edges shrink' \
            'window nanmax -w 2 --edges valid --min-count 1 --empty NA' 'window nanminmax -w 9' 'window last --after 2 --edges valid' 'window nanvar:exact,nansum:exact -w 3 --edges shrink'; do
    for to in '--to csv' '--hex'; do same "tally $verb $to --axis time --memory 1 $g" "tally $verb $to --axis time $g"; done
    case $verb in *NA*) continue ;; esac
    same "tally $verb --axis time --memory 1 $g -o a.nc && ncdump a.nc | grep -v history" "tally $verb --axis time $g -o a.nc && ncdump a.nc | grep -v history"
done

# of exact statistics, where their sums need less memory than the array
LC_ALL=C awk 'BEGIN { print "netcdf e { dimensions: t = 900 ; x = 2 ; variables: double v(t, x) ; data: v = "
    for (i = 0; i < 1800; i++) printf "%s%.17g", i ? ", " : "", i * 7 % 1000 / 7
    print "; }" }' >exact.cdl
ncgen -o exact.nc exact.cdl || exit 1
same "tally scan var:exact,sum:exact --hex --axis t --memory 1 exact.nc" "tally scan var:exact,sum:exact --hex --axis t exact.nc"

# ---- many cells by groups: read group after group, in the order of the file, or whole ----
# 40 steps of 600 packed cells, each eleventh missing, in 3 groups of 12 to 14 steps
LC_ALL=C awk 'BEGIN { print "netcdf m { dimensions: time = 40 ; x = 600 ; variables: int key(time) ; short v(time, x) ;\nv:_ChunkSizes = 7, 600 ;"
    print "v:scale_factor = 0.5 ; v:add_offset = 10. ; v:_FillValue = -1s ; v:missing_value = -1s, -2s ; data: key = "
    for (i = 0; i < 40; i++) printf "%s%d", i ? ", " : "", int(i / 2) % 3
    for (i = 0; i < 24000; i++) printf "%s%d", i ? ", " : "; v = ", i % 11 ? i * 7 % 1000 : i % 2 ? -1 : -2
    print "; }" }' >chunks.cdl
LC_ALL=C awk 'BEGIN { for (i = 0; i < 24000; i++) if (i % 11) sum[int(int(i / 600) / 2) % 3 * 600 + i % 600] += i * 7 % 1000 / 2 + 10
    for (k = 0; k < 1800; k++) print sum[k] }' >sums.txt
grep -v _ChunkSizes chunks.cdl >steps.cdl
ncgen -k netCDF-4 -o chunks.nc chunks.cdl && ncgen -o steps.nc steps.cdl || exit 1
for file in chunks.nc steps.nc; do
    for memory in 1 160000 100000000; do
        ok "tally reduce nansum --variable v --axis time --by key --memory $memory --to csv $file | tail -n +2 | sed 's/.*,//'" "$(cat sums.txt)"
    done
    same "tally reduce nanvar,nanargmax,first,missing --hex --variable v --axis time --by key $file" \
        "tally reduce nanvar,nanargmax,first,missing --hex --variable v --axis time --by key --memory 1 $file"
done

# ---- anomalies ----
tally reduce nanmean --axis time $g -o mean.nc
paste -d' ' <(tally scan last --dtype f32 --hex g.txt) <(for i in 1 2 3 4 5; do tally reduce nanmean --axis time --hex $g; done) >pairs.txt
python3 - >want.txt <<'END2'
import struct
f = lambda h: struct.unpack(">f", bytes.fromhex(h[2:]))[0]
for x, y in map(str.split, open("pairs.txt")):
    print("0x" + struct.pack(">f", f(x) - f(y)).hex() if f(x) == f(x) else "0x7fc00000")
END2
same "tally window first -w 1 --hex --axis time $g --minus mean.nc | tr '\t' '\n'" 'cat want.txt'
same "tally reduce nansum --hex --axis lat,lon $g --minus mean.nc" 'tally reduce nansum --hex --dtype f32 --shape 5x12 --axis 1 want.txt'
same "tally reduce nansum --hex $g --minus mean.nc:t2m_nanmean" 'tally reduce nansum --hex --dtype f32 want.txt'
# a NaN that is made here is the positive one on every processor
make inf.nc 'dimensions: x = 2 ; variables: float v(x) ; float p(x) ; p:scale_factor = 0. ; data: v = Infinityf, 1 ; p = Infinityf, 1 ;'
ok "for v in 'v --minus inf.nc:v' p; do tally window first -w 1 --hex --axis x inf.nc --variable \$v | paste -sd' '; done" $'0x7fc00000 0x00000000\n0x7ff8000000000000 0x0000000000000000'
make two.nc 'dimensions: time = 6 ; x = 2 ; variables: double time(time) ; time:units = "days since 2001-01-01" ; int kind(time) ; float v(time, x) ;
 data: time = 0, 31, 62, 365, 396, 427 ; kind = 7, 7, 8, 8, 7, 7 ; v = 1, 2, 3, 4, 5, 6, 11, 22, 13, 24, 15, 26 ;'
for by in time.month kind time.year; do
    line "reduce mean --axis time --by $by two.nc --variable v -o c.nc && tally reduce sum --by $by --axis time --variable v two.nc --minus c.nc --to csv | cut -d, -f2" "sum $(tally reduce sum --by $by --axis time --variable v two.nc | tail -n +2 | sed 's/.*/0/' | paste -sd' ')"
done
line 'reduce mean --axis time --by time.month two.nc --variable v -o c.nc && tally window sum -w 2 --edges shrink --axis time --variable v two.nc --minus c.nc --to csv | tail -n +2' '-5,-10 -10,-20 -10,-20 0,0 10,20 10,20'
# the steps with keys need not be those of --axis: two.nc with its dimensions in the other order
make xt.nc 'dimensions: x = 2 ; time = 6 ; variables: double time(time) ; time:units = "days since 2001-01-01" ; int kind(time) ; float v(x, time) ;
 data: time = 0, 31, 62, 365, 396, 427 ; kind = 7, 7, 8, 8, 7, 7 ; v = 1, 3, 5, 11, 13, 15, 2, 4, 6, 22, 24, 26 ;'
for by in time.month kind; do
    tally reduce mean --axis time --by $by two.nc --variable v -o c.nc
    tally window first -w 1 --axis time --variable v two.nc --minus c.nc -o less.npy
    same 'tally window first -w 1 --axis x --variable v xt.nc --minus c.nc --to csv | tail -n +2 | tr , "\n" | sort -n' 'tally scan last less.npy | sort -n'
    for axes in 0:x 1:time 0,1:x,time 1,0:time,x; do
        same "tally reduce var:exact --axis ${axes#*:} --variable v xt.nc --minus c.nc | sort" \
            "tally reduce var:exact --axis $(tr 01 10 <<<"${axes%:*}") less.npy | sort"
    done
done
make one.nc 'dimensions: month = 2 ; x = 2 ; variables: int month(month) ; float c(month, x) ; data: month = 1, 2 ; c = 0, 0, 0, 0 ;'
make short.nc 'dimensions: month = 2 ; x = 2 ; n = 1 ; variables: int month(n) ; float c(month, x) ; data: month = 1 ; c = 0, 0, 0, 0 ;'
bad 1 'tally scan sum --axis time --variable v two.nc --minus short.nc:c' 'tally: short.nc: month has 1 values, and the dimension of that name has 2'
bad 1 'tally scan sum --axis time --variable v two.nc --minus one.nc' 'tally: --minus one.nc has no month 3, which step 2 of two.nc has'
bad 1 "tally scan sum --axis time $g --minus lat3.nc" 'tally: --minus lat3.nc: the dimension lat is 3 long, and in g.nc it is 4: must be of the same grid'
bad 2 "tally scan sum --axis time $g --minus lev.nc" "tally: g.nc: no variable 'lev'; the variables are time(time 5), lat(lat 4), t2m(time 5, lat 4, lon 3), area(lat 4, lon 3), row(lat 4)"
bad 2 'tally scan sum --axis time --variable kind two.nc --minus one.nc' 'tally: --minus is for NetCDF files of floats, and two.nc is netcdf of i32: --dtype f64 reads it as floats'
bad 2 'tally scan sum g.txt --minus one.nc' 'tally: --minus is for NetCDF files of floats, and g.txt is text of f64'

# ---- parts of dates in CSV ----
python3 - >dates.py.csv 2>parts.csv <<'END2'
import datetime, random, sys
r = random.Random(5)
print("t,x")
for i in range(3000):
    d = datetime.datetime(1, 1, 1) + datetime.timedelta(seconds=r.randrange(6 * 10**10 + 3 * 10**9))
    d = d.replace(year=1700 + d.year % 550, day=min(d.day, 28)) if not 1700 <= d.year <= 2250 else d
    print(f"{d.isoformat()},{i}")
    print(d.year, "DJF MAM JJA SON".split()[d.month % 12 // 3], d.month, d.day, d.hour, d.timetuple().tm_yday, sep=",", file=sys.stderr)
END2
for threads in 1 3; do
    ok "tally reduce first --threads $threads --by t.year,t.season,t.month,t.day,t.hour,t.dayofyear --to csv dates.py.csv | cut -d, -f1-6 | tail -n +2 | cmp - <(awk '!seen[\$0]++' parts.csv)" ''
done
cat >zones.csv <<'END2'
t,x
2024-03-31T23:30:00+01:00,1
2024-04-01T00:30:00+01:00,2
2023-12-31T00:00+01:00,4
"2024-12-31T12:00+01:00",8
END2
ok 'tally reduce sum --by t.month --to csv zones.csv' 'month,sum
3,1
4,2
12,12'
ok 'tally reduce sum --by t.month --utc --to csv zones.csv' 'month,sum
3,3
12,12'
ok 'tally scan sum --by t.year --keep zones.csv | cut -d, -f3 | paste -sd" "' 'sum 1 3 4 11'
ok "printf 't.month,x\nMarch,1\n' | tally reduce sum --by t.month --to csv" 't.month,sum
March,1'
mixed="printf 't,x\n2024-01-01T00:00Z,1\n2024-01-02T00:00Z,1\n2024-01-01T00:00+01:00,2\n'"
bad 1 "$mixed | tally reduce sum --by t.month" "tally: standard input:4:1: the time '2024-01-01T00:00+01:00' cannot be compared with that of line 2, which has the zone Z; --utc takes times of several zones as UTC"
ok "$mixed | tally reduce sum --utc --by t.year --to csv | paste -sd' '" 'year,sum 2024,2 2023,2'
ok "printf 't,x\n2024-01-01T00:00Z,1\n2024-01-01T02:00+01:00,2\n' | tally window sum --utc --by t --last 2h | paste -sd' '" '1 3'
bad 1 "printf 't,x\n2024-01-01T00:00Z,1\n2024-01-01,2\n' | tally reduce sum --utc --by t.month" "tally: standard input:3:1: the time '2024-01-01' cannot be compared with that of line 2, which has the zone Z"
ok "printf 'k;v\n1.010,5;1\n9,5;2\n;3\n' | tally reduce sum --by k --column v --sort --decimal , --thousands . | paste -sd' '" "k${t}sum ${t}3 9,5${t}2 1.010,5${t}1"
bad 1 "printf 't,x\n2023-02-29,1\n' | tally reduce sum --by t.month" "tally: standard input:2:1: '2023-02-29' is neither a time (2024-05-01T13:30:00.5Z) nor a number"
bad 2 "printf 't,x\n2024-02-20,1\n' | tally window sum --by t.year --last 2s" 'tally: standard input: the last column of --by has the times of windows, not their year'

# ---- CSV as people have it ----
printf 'Report of May\n\nx;y\n3,5;1.000,25\n-4;2\n,5;1.234.567\n' >german.csv
ok 'tally reduce sum --skip-lines 2 --decimal , --column x german.csv' 0
ok 'tally reduce sum --skip-lines 2 --decimal , --thousands . --column y --to csv german.csv' 'sum
1235569.25'
bad 1 'tally reduce sum --skip-lines 2 --decimal , --column y german.csv' "tally: german.csv:4:5: '1.000,25' is not a number; --decimal ',' --thousands '.' reads such numbers"
ok 'cat german.csv | tally scan sum --skip-lines 2 --decimal , --column x --keep - --format csv | tail -n 1' ',5;1.234.567;0'
ok "printf '3,25 -1,5e2\n1,\n' | tally reduce sum --decimal ," -145.75
bad 1 "printf '3.25\n' | tally reduce sum --decimal ," "tally: standard input:1:1: '3.25' is not a number; if the first line is a header, say so with --header yes"
ok "printf 'a|b\n1|2\n3|4\n' | tally reduce sum --column b" 6
ok "printf '\357\273\277pre\r\nx,y\r\n1,2\r\n' | tally reduce sum --format csv --skip-lines 1 --column y" 2
ok "(yes preamble | head -n 20000; echo x; seq 1 10) | tally reduce sum --skip-lines 20000 --column x --format csv -" 55
ok "printf '1\n2\n3\n' | tally reduce sum --skip-lines 1" 5
bad 1 "printf '1\n2\n' | tally reduce sum --skip-lines 3" 'tally: standard input: 3 lines are to be skipped, and there are 2 lines'
bad 2 'tally reduce sum --decimal x german.csv' "tally: --decimal is 'x': must be a comma or a point"
bad 2 'tally reduce sum --decimal , --thousands , german.csv' "tally: --thousands is ',': must be one of . ' _ and a space"
bad 2 'tally reduce sum --decimal , --delimiter , german.csv' "tally: decimal is ',': must be a comma that is neither the delimiter nor between thousands"
bad 2 "printf 'x,x\n1,2\n' | tally reduce sum --column x" "tally: standard input: columns 1 and 2 are both called 'x': choose by number"

# ---- gzip and zstd ----
n=$(few 300000 60000)
sum=$((n * (n + 1) / 2))
seq 1 "$n" | sed '1i x' >long.csv
gzip -k long.csv && cp long.csv.gz nameless && zstd -q long.csv
head -c "$n" long.csv.gz >cut.csv.gz
hurt() { head -c "$2" "$1"; printf 'XXXXXXXXXXXXXXXX'; tail -c +$(($2 + 17)) "$1"; } # FILE PLACE
hurt long.csv.gz $((n / 3 * 2)) >hurt.csv.gz
hurt long.csv.zst $((n / 6)) >hurt.csv.zst
gzip -c <(seq $((n + 1)) $((n + 10))) | cat long.csv.gz - >two.csv.gz
{ cat long.csv.gz; echo rubbish; } >more.csv.gz
for f in long.csv.gz long.csv.zst 'long.csv.gz --threads 3' 'nameless --column x' '- --column x <long.csv.gz' '- --column 1 <long.csv.zst'; do ok "tally reduce sum $f" $sum; done
ok 'tally reduce sum two.csv.gz' $((sum + 10 * n + 55))
ok 'tally reduce sum --skip-bad --column x two.csv.gz' $((sum + 10 * n + 55))
printf '1234567890123456' | gzip >n.raw.gz
ok 'tally reduce sum --dtype u8 n.raw.gz' 834
same 'tally reduce sum --dtype u8 --format raw n.raw.gz' 'tally reduce sum --dtype u8 n.raw.gz'
ok 'tally scan last --dtype i16 long.csv -o l.npy --header yes --column x 2>/dev/null; seq 1 9 | tally scan last --dtype i16 -o s.npy && gzip -f s.npy && tally reduce sum s.npy.gz' 45
ok 'gzip -c n.raw.gz >twice.raw.gz; printf "\x1f\x8b\x08" | tally reduce sum --format raw --dtype u8 -' 178
bad 1 'tally reduce sum cut.csv.gz' "tally: cut.csv.gz: is damaged near byte $n of its gzip data: it ends too early"
has '! tally reduce sum hurt.csv.gz' 'hurt.csv.gz: is damaged near byte [0-9]+ of its gzip data: [a-z ]+$|hurt.csv.gz:[0-9]+:'
# a frame whose last output fills the buffer of 256 KiB; several members
yes 1234567 | head -c 524288 >full.txt && gzip -k full.txt && zstd -q full.txt && cat full.txt.zst full.txt.zst >twice.zst && cat full.txt.gz full.txt.gz >twice.gz
for f in full.txt.gz full.txt.zst; do ok "tally reduce count $f" 65536; done
# frames that zstd skips: pzstd writes one before each frame
printf 'P*M\30\4\0\0\0abcd' | cat - full.txt.zst >skip.zst && cat skip.zst skip.zst >skips.zst
printf '_*M\30\0\0\0\0' | cat skip.zst - >last.zst
for f in skip.zst last.zst '- <skip.zst'; do ok "tally reduce count $f" 65536; done
ok 'tally reduce count skips.zst' 131072
bad 1 'head -c 10 skip.zst | tally reduce count' 'tally: standard input: is damaged near byte 10 of its zstd data: it ends too early'
for f in twice.gz twice.zst; do ok "tally reduce count $f" 131072; done
has '! tally reduce sum hurt.csv.zst' 'hurt.csv.zst: is damaged near byte [0-9]+ of its zstd data: its bytes make no sense|hurt.csv.zst:[0-9]+:'
{ printf '1\n2\n3x\n4\n' | gzip; echo rubbish; } >both.gz
bad 1 'tally reduce sum both.gz' "tally: both.gz:3:1: '3x' is not a number; --skip-bad skips and counts such cells"
bad 1 'tally reduce sum --skip-bad both.gz' 'tally: both.gz: is damaged near byte 31 of its gzip data: incorrect header check'
has '! tally reduce sum more.csv.gz' 'more.csv.gz: is damaged near byte [0-9]+ of its gzip data: incorrect header check'
head -c 300000 /dev/zero | cat full.txt.gz - full.txt.gz - >padded.gz # zeros after a member
ok 'tally reduce count padded.gz' 131072
mkfifo open
# an input that does not end: the error comes at once
ok "{ gzip -c long.csv; exec sleep 30; } >open 2>/dev/null & timeout 10 tally reduce sum --dtype i64 --column y - <open 2>&1; kill \$!; true" "tally: standard input: no column 'y'; the columns are 1 'x'"
# ---- beside cdo, where it is installed ----
if command -v cdo >/dev/null; then
    seed=${TALLY_TEST_SEED:-$RANDOM}
    has "python3 '$here/cdo.py' '$binary' 2 $seed" '^[0-9]+ cells of 2 fields compared with cdo, 0 questions differ$'
fi
finish
