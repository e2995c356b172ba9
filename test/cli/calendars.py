#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Dates of the calendars of CF by counting day after day, to compare `--by time.PART` with.

    calendars.py KIND SEED N CDL WANT    writes N random times for ncgen, and of each
                                         year,season,month,day,hour,dayofyear

It shares no formula with cli/calendar.c: a table has every day of the century of these times."""
import random
import sys

UNITS = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}
MONTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]


def length(kind, year, month):
    if kind == "360_day":
        return 30
    leap = {"noleap": False, "365_day": False, "all_leap": True, "366_day": True}.get(kind)
    if leap is None:
        leap = year % 4 == 0
        if kind == "proleptic_gregorian" or (kind in ("standard", "gregorian") and year > 1582):
            leap = leap and (year % 100 != 0 or year % 400 == 0)
    return MONTHS[month - 1] + (leap and month == 2)


def table(kind, since):
    days, first = [], {}
    for year in range(since, since + 101):
        of_year = 0
        for month in range(1, 13):
            for day in range(1, length(kind, year, month) + 1):
                of_year += 1  # also those of 1582 that are left out, as Python's cftime counts
                if kind in ("standard", "gregorian") and (1582, 10, 4) < (year, month, day) < (1582, 10, 15):
                    continue
                first[year, month, day] = len(days)
                days.append((year, "DJF MAM JJA SON".split()[month % 12 // 3], month, day, of_year))
    return days, first


def cases(kind, seed, n):
    """The units, their values, and the dates of these: whole seconds, so a f64 holds every time to the microsecond."""
    r = random.Random(f"{kind} {seed}")
    # the end of the Julian calendar is in 1582
    days, first = table(kind, r.choice([1400, 1550, 1550, 1700, 1850, 1950, 2100]))
    unit = r.choice(sorted(UNITS))
    origin = r.choice([d[:1] + d[2:4] for d in days])
    at = r.randrange(86400)
    east = r.choice([0, 0, 60, -330])
    zone = "" if not east else f" {'-' if east < 0 else '+'}{abs(east) // 60:02}:{abs(east) % 60:02}"
    text = f"{unit} since {origin[0]}-{origin[1]}-{origin[2]} {at // 3600}:{at // 60 % 60:02}:{at % 60:02}{zone}"
    values, dates = [], []
    for _ in range(n):
        day, hour = r.randrange(1, len(days) - 1), r.choice([0, 23, r.randrange(24)])
        second = r.choice([0, 3599, r.randrange(3600)])
        seconds = (day - first[origin]) * 86400 + hour * 3600 + second - at + east * 60
        values.append(seconds / UNITS[unit])
        year, season, month, of_month, of_year = days[day]
        dates.append(f"{year},{season},{month},{of_month},{hour},{of_year}")
    return text, values, dates


def main():
    kind, n = sys.argv[1], int(sys.argv[3])
    units, values, dates = cases(kind, sys.argv[2], n)
    with open(sys.argv[5], "w") as f:
        f.write("\n".join(dates) + "\n")
    with open(sys.argv[4], "w") as f:
        f.write(f'netcdf c {{ dimensions: time = {n} ; variables: double time(time) ; time:units = "{units}" ;\n'
                f' time:calendar = "{kind}" ; int v(time) ; data: time = {", ".join(map(repr, values))} ;\n'
                f' v = {", ".join(map(str, range(n)))} ; }}\n')


main()
