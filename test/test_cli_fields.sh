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
bad 1 "tally reduce sum $of jan.nc feb.nc jan.nc" 'tally: jan.nc: time begins at 0, and jan.nc, which comes before, ends at 30: files that are joined must go on ascending'
bad 1 "tally scan sum $of late.nc jan.nc -o o.nc" 'tally: late.nc: time begins at 0 hours since 2001-01-31, and jan.nc, which comes before, ends at 30 days since 2001-01-01: times of files that are joined must not repeat'
ok 'ls o.nc 2>/dev/null || echo none' none
# levels keep the order of the command line
make high.nc 'dimensions: lev = 1 ; variables: int lev(lev) ; float v(lev) ; data: lev = 2 ; v = 1 ;'
make low.nc 'dimensions: lev = 1 ; variables: int lev(lev) ; float v(lev) ; data: lev = 1 ; v = 2 ;'
line 'scan last --variable v --axis lev high.nc low.nc' '1 2'

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
bad 2 'tally reduce sum,max --name a --variable v --axis time jan.nc -o o.nc' "tally: --name is 'a': 1 name for 2 operators"
bad 2 'tally reduce sum --name a --variable v --axis time jan.nc' "tally: --name is 'a', the variables of a NetCDF file, and the results go to text"
bad 2 'tally reduce sum,max --name a,a --variable v --axis time jan.nc -o o.nc' "tally: o.nc: name is 'a', and there is a variable of that name"
bad 2 'tally reduce sum,minmax --variable v --axis time jan.nc -o o.nc' "tally: operator 'minmax' has 2 values a result: write it to a NetCDF file of its own"
bad 2 'tally reduce sum,max --variable v jan.nc feb.nc -o o.nc' 'tally: --output o.nc: results of several operators and several files: join the files by --axis NAME, give one operator, or write .csv or .txt'

# ---- calendars ----
for kind in standard gregorian proleptic_gregorian noleap 365_day all_leap 366_day 360_day julian; do
    seed=${TALLY_TEST_SEED:-$RANDOM}
    python3 "$here/cli/calendars.py" $kind "$seed" 1000 c.cdl all.txt && ncgen -o c.nc c.cdl || exit 1
    awk '!seen[$0]++' all.txt >want.txt
    ok "tally reduce count --variable v --axis time --by time.year,time.season,time.month,time.day,time.hour,time.dayofyear c.nc --to csv | tail -n +2 | cut -d, -f1-6 | cmp - want.txt # $seed" ''
done
data 'reduce sum --variable v --axis time --by time.month mar.nc jan.nc feb.nc' 'netcdf o { dimensions: month = 3 ; x = 2 ; variables: float v_sum(month, x) ; v_sum:_FillValue = NaNf ; v_sum:long_name = "sum of v" ; v_sum:units = "K" ; v_sum:cell_methods = "time: sum" ; int month(month) ; data: v_sum = 4, 6, 12, 14, 20, 22 ; month = 1, 2, 3 ; }'
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
for units in 'Days since 2000-1-1' 'DAYS SINCE 2000-01-01T00:00:00Z' ' days  since  2000-01-01 0:0:0.0 UTC' 'day since 2000-01-01 03:00 +3' 'd since 1999-12-31 18:30 -0530'; do
    make u.nc "dimensions: time = 2 ; variables: float time(time) ; time:units = \"$units\" ; int v(time) ; data: time = 0, 0.999 ; v = 1, 1 ;"
    line 'reduce count --variable v --axis time --by time.year,time.day --to csv u.nc' 'year,day,count 2000,1,2'
done
finish
