#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fields beside cdo: random fields, and the same question asked of both, as doc/from.md writes it.

    cdo.py TALLY FIELDS SEED    FIELDS random fields, 18 questions of each; exit 1 if one differs

All values are small whole numbers. So every sum is exact in any order, and a mean has one rounding:
the files that both write must hold the same numbers, as ncdump prints them with 17 digits. Where a
cell or a group has no value, both must say so. Needs cdo, ncgen and ncdump.
"""
import os
import random
import re
import subprocess
import sys
import tempfile

CALENDARS = ["standard", "proleptic_gregorian", "365_day", "360_day"]
MISSING = -9999


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def field(r):
    """CDL of a random field v(time, lat, lon) with gaps; how many steps, and cells of a step."""
    steps, lat, lon = r.randrange(2, 40), r.randrange(1, 4), r.randrange(2, 5)
    times, at = [], r.randrange(1200)
    for _ in range(steps):
        times.append(at)
        at += r.choice([1, 1, 1, 7, 31, 400])
    holes = r.choice([0, 0, 0.1, 0.6])
    values = [MISSING if r.random() < holes else r.randrange(-1000, 1000)
              for _ in range(steps * lat * lon)]
    cells = ", ".join(map(str, values))
    lats = ", ".join(str(-30 + 20 * i) for i in range(lat))
    lons = ", ".join(str(360 * i / lon) for i in range(lon))
    return f"""netcdf f {{ dimensions: time = UNLIMITED ; lat = {lat} ; lon = {lon} ;
variables: double time(time) ; time:standard_name = "time" ; time:units = "days since 1995-01-01 00:00:00" ;
 time:calendar = "{r.choice(CALENDARS)}" ;
 double lat(lat) ; lat:units = "degrees_north" ; lat:standard_name = "latitude" ;
 double lon(lon) ; lon:units = "degrees_east" ; lon:standard_name = "longitude" ;
 {r.choice(["double", "float", "int", "short"])} v(time, lat, lon) ; v:_FillValue = {MISSING} ;
data: time = {", ".join(map(str, times))} ; lat = {lats} ; lon = {lons} ; v = {cells} ; }}
""", steps, lat * lon


def questions(r, steps):
    """(cdo's operators, tally's words) of the same question."""
    along = "--axis time"
    for theirs, ours in (("sum", "nansum"), ("mean", "nanmean"), ("min", "nanmin"), ("max", "nanmax")):
        yield [f"-tim{theirs}"], f"reduce {ours} {along}"
        yield [f"-zon{theirs}"], f"reduce {ours} --axis lon"
        yield [f"-ymon{theirs}"], f"reduce {ours} {along} --by time.month --sort"
    yield ["-ydaymax"], f"reduce nanmax {along} --by time.month,time.day --sort"
    yield ["-yseassum"], f"reduce nansum {along} --by time.season --sort"
    yield ["-yearmean"], f"reduce nanmean {along} --by time.year"
    yield ["-monmean"], f"reduce nanmean {along} --by time.year,time.month"
    w = r.randrange(1, steps + 1)
    yield [f"-runmean,{w}"], f"window nanmean -w {w} --edges valid {along} --min-count 1"
    yield [f"-runmax,{w}"], f"window nanmax -w {w} --edges valid {along} --min-count 1"


def numbers(path, name):
    """The cells of a variable in the order of the file; None where a value is missing."""
    data = run("ncdump", "-p", "17,17", "-v", name, path).split("data:")[1]
    words = re.search(rf"\b{name} =([^;]*);", data)[1].replace("\n", " ").split(",")
    return [None if w.strip() in ("_", "NaN") else float(w) for w in words]


def in_any_order(values, cells):
    """The steps of a result, sorted by value: cdo gives groups of many years in its own order."""
    steps = [values[at:at + cells] for at in range(0, len(values), cells)]
    return sorted(steps, key=repr)


def main():
    tally, fields, seed = os.path.abspath(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    r, asked, different = random.Random(seed), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for _ in range(fields):
            cdl, steps, cells = field(r)
            with open("f.cdl", "w", encoding="ascii") as f:
                f.write(cdl)
            run("ncgen", "-o", "f.nc", "f.cdl")
            for theirs, ours in questions(r, steps):
                run("cdo", "-s", "-O", "-b", "F64", *theirs, "f.nc", "cdo.nc")
                run(tally, *ours.split(), "--dtype", "f64", "--variable", "v", "--name", "v",
                    "f.nc", "-o", "tally.nc")
                want, got = numbers("cdo.nc", "v"), numbers("tally.nc", "v")
                if "nansum" in ours:  # the sum of no value: missing in cdo, 0 in tally
                    want = [w or 0.0 for w in want]
                asked += len(want)
                if "--sort" in ours:
                    want, got = in_any_order(want, cells), in_any_order(got, cells)
                if want != got:
                    different += 1
                    print(f"DIFFER seed {seed}: cdo {theirs[0]}, tally {ours}\n"
                          f"  cdo   {want}\n  tally {got}\n{cdl}")
    print(f"{asked} cells of {fields} fields compared with cdo, {different} questions differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
