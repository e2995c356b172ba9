#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""report.py - joins what bench, peers.py and files.sh wrote (JSON lines) with the bars of rows.def.

    report.py FILE.jsonl        prints one line a bar: tally's ratio, the best peers, met or missed

Ratios are fractions of the ceiling of their own run, so a Python peer and tally can stand in one line.
"""
import json
import os
import re
import sys

ABOVE = ("TA-Lib SMA (f64)", "Tulip sma (f64)", "bottleneck move_mean")  # window mean: above these, per thread


def read_bars():
    here = os.path.dirname(os.path.abspath(__file__))
    text = open(os.path.join(here, "rows.def")).read()
    for m in re.finditer(r'BAR\("([^"]+)", (\d+), "([^"]+)", ([\d.]+)\)', text):
        yield m[1], int(m[2]), m[3], float(m[4])


def verdict(ok):
    return "met" if ok else "MISSED"


def main():
    lines = [json.loads(text) for text in open(sys.argv[1]) if text.strip()]
    rows = {}
    for x in lines:
        if "problem" in x:
            rows.setdefault((x["problem"], x["threads"]), []).append(x)
    # a Python peer ran on one thread; it is shown beside every number of threads
    python = {p: [x for x in v if x["kind"] == "python"] for (p, t), v in rows.items() if t == 1}

    print(f"{'problem':32} {'thr':>3} {'tally GB/s':>10}  {'ratio':>5} {'against':12} {'bar':>5} {'':7} "
          "peers (ratio to the ceiling)")
    for word, threads, against, least in read_bars():
        for (problem, team), found in sorted(rows.items()):
            if problem != word or threads not in (0, team):
                continue
            tally = next((x for x in found if x["kind"] == "tally"), None)
            peers = [x for x in found if x["kind"] == "peer"] + python.get(word, [])
            peers.sort(key=lambda x: -(x["ratio"] or 0))
            shown = ", ".join(f"{x['name']}{'*' if x['kind'] == 'python' and team > 1 else ''} {x['ratio'] or 0:.3f}"
                              for x in peers)
            if not tally:
                print(f"{word:32} {team:3} {'-':>10}  {'-':>5} {against:12} {least:5.2f} {'no tally':7} {shown}")
                continue
            other = next((x for x in found if x["name"] == against), None)
            ratio = tally["ratio"] if against in ("read", "copy") else tally["gbps"] / other["gbps"] if other else None
            text = "-" if ratio is None else f"{ratio:5.2f}"
            ok = "unknown" if ratio is None else verdict(ratio >= least)
            print(f"{word:32} {team:3} {tally['gbps']:10.2f}  {text:>5} {against:12} {least:5.2f} {ok:7} {shown}")
    print("* one thread, beside a team")

    for (word, team), found in sorted(rows.items()):
        tally = next((x for x in found if x["kind"] == "tally"), None)
        if ":window=" not in word or not word.startswith("mean:f32") or team != 1 or not tally:
            continue
        for x in found:
            if x["name"] in ABOVE and x["ratio"]:
                print(f"{word:32} one thread: tally {tally['ratio']:.3f}, {x['name']} {x['ratio']:.3f} of copy: "
                      f"{verdict(tally['ratio'] > x['ratio'])}")
    for x in lines:
        if "calls" in x and x["calls"] != "plain loop":
            print(f"call, n = 1..64: {x['calls']:24} at most {x['worst']:.1f} ns more than the loop; bar {x['bar']}: "
                  f"{verdict(x['worst'] <= x['bar'])}")
    text = {x["text"]: x for x in lines if "text" in x}
    tally = next((x for name, x in text.items() if name.startswith("tally") and "2 threads" in name), None)
    for name, x in text.items():
        beside = ""
        if tally and not name.startswith("tally"):
            beside = f"; tally is {tally['mbps'] / x['mbps']:.1f} times that"
        print(f"text sum: {name:24} {x['mbps']:8.0f} MB/s{beside}")
    if tally:
        print(f"text sum: bar 1 GB/s on 2 threads: {verdict(tally['mbps'] >= 1000)}")
        if "datamash" in text:
            print(f"text sum: bar 8 times datamash: {verdict(tally['mbps'] >= 8 * text['datamash']['mbps'])}")
    for x in lines:
        if "stream" in x:
            print(f"stream: {x['stream']:24} {x['mbps']:8.0f} MB/s")


if __name__ == "__main__":
    main()
