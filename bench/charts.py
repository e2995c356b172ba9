#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""charts.py - the pictures of README.md, drawn from the tables of bench/results.

    bench/charts.py            writes doc/pictures/NAME-light.svg and NAME-dark.svg
    bench/charts.py --check    are the pictures what the tables say? Exit 1 if not

Only the standard library. TABLES names the table of each picture; a newer table is used by changing its line.
"""

import csv
import os
import re
import struct
import sys
from xml.sax.saxutils import escape

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.join(ROOT, "doc", "pictures")
TABLES = {
    "sums": "2026-11-25-sums.csv",
    "speed-cpu": "2026-11-21-intel-xeon-2core.txt",
    "speed-gpu": "2026-11-27-h100-bench.txt",
}
WIDTH = 820
# cells: one background for each different result of a row, and letters for those who cannot tell the colours apart
THEMES = {
    "light": {
        "text": "#1b1e23",
        "soft": "#5a6270",
        "tally": "#2563a8",
        "peer": "#9aa4b2",
        "line": "#b3261e",
        "back": "#eef0f3",
        "cells": ["#d6e6f7", "#fbe0c3", "#e2d8f0", "#d5ecd4", "#f7d3d3"],
    },
    "dark": {
        "text": "#e6e8ec",
        "soft": "#a0a8b6",
        "tally": "#6ca8e8",
        "peer": "#6b7482",
        "line": "#ff8a80",
        "back": "#20242b",
        "cells": ["#1f3d5c", "#5e421d", "#453263", "#23502a", "#632a2a"],
    },
}


def table(name):
    return os.path.join(ROOT, "bench", "results", TABLES[name])


class Picture:
    def __init__(self, theme, height, label):
        self.colours = THEMES[theme]
        self.lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            f'role="img" aria-label="{escape(label)}">',
            "<!-- bench/charts.py -->",
            "<style>text{font:13px system-ui,-apple-system,Segoe UI,sans-serif}</style>",
        ]

    def text(self, x, y, words, colour="text", anchor="start", size=13, weight="normal", mono=False):
        style = f"font-size:{size}px;font-weight:{weight}"
        style += ";font-family:ui-monospace,Consolas,monospace" if mono else ""
        self.lines.append(
            f'<text x="{x:g}" y="{y:g}" fill="{self.colours[colour]}" text-anchor="{anchor}" '
            f'style="{style}">{escape(words)}</text>'
        )

    def box(self, x, y, width, height, colour, round_=3):
        self.lines.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{round_}" fill="{colour}"/>'
        )

    def rule(self, x, top, bottom):
        self.lines.append(
            f'<line x1="{x:g}" x2="{x:g}" y1="{top:g}" y2="{bottom:g}" stroke="{self.colours["line"]}" '
            'stroke-width="2"/>'
        )

    def done(self):
        return "\n".join([*self.lines, "</svg>", ""])


# ---- the same sum on six machines by five tools ----

TOOLS = [
    ("C loop", "C loop", "gcc -Ofast"),
    ("OpenMP", "C loop, OpenMP", "gcc -Ofast -fopenmp"),
    ("OpenBLAS", "OpenBLAS", "x @ ones in NumPy"),
    ("NumPy", "NumPy", "x.sum(); no promise"),
    ("tally", "tally", "always this tree"),
]


def read_sums():
    """{tool: {machine: bits}}, and the machines in their order."""
    found, machines = {}, []
    with open(table("sums"), encoding="utf-8") as f:
        for machine, tool, _, _, bits in csv.reader(line for line in f if not line.startswith("#")):
            found.setdefault(tool, {})[machine] = bits
            if machine not in machines:
                machines.append(machine)
    return found, machines


def number(bits):
    return f"{struct.unpack('<f', struct.pack('<I', int(bits, 16)))[0]:.9g}".replace("-", "\u2212")


def sums(theme):
    found, machines = read_sums()
    left, top, row = 170, 62, 44
    step = (WIDTH - left - 86) / len(machines)
    p = Picture(
        theme,
        top + row * len(TOOLS) + 44,
        "The sum of the same 1,048,576 numbers on six machines: tally gives one "
        "result, the other tools up to four",
    )
    p.text(
        0,
        18,
        "The sum of the same 1,048,576 numbers (f32), by five tools on six kinds of machine",
        weight="600",
        size=15,
    )
    for i, machine in enumerate(machines):
        name, _, more = machine.partition(", ")
        p.text(left + step * i + step / 2, 40, name, anchor="middle", weight="600")
        p.text(left + step * i + step / 2, 55, more, "soft", "middle", 11)
    for t, (key, name, note) in enumerate(TOOLS):
        y = top + row * t
        ours = key == "tally"
        p.text(0, y + 19, name, weight="700" if ours else "600")
        p.text(0, y + 34, note, "soft", size=11)
        kinds = []
        for i, machine in enumerate(machines):
            bits = found[key].get(machine)
            if bits is None:
                p.text(left + step * i + step / 2, y + 26, "\u2013", "soft", "middle")
                continue
            if bits not in kinds:
                kinds.append(bits)
            p.box(left + step * i + 2, y + 3, step - 4, row - 6, p.colours["cells"][kinds.index(bits)])
            p.text(left + step * i + step / 2 - 4, y + 30, number(bits), anchor="middle", mono=True, size=11.5)
            p.text(left + step * (i + 1) - 6, y + 15, "ABCDE"[kinds.index(bits)], "soft", "end", 10)
        p.text(
            WIDTH,
            y + 26,
            "1 result" if len(kinds) == 1 else f"{len(kinds)} results",
            anchor="end",
            weight="700" if ours else "normal",
        )
    y = top + row * len(TOOLS)
    p.text(
        0,
        y + 20,
        "Letters and colours mark equal bits within a row. One AMD EPYC, limited to these vectors and threads; "
        "ARM NEON is emulated; one H100.",
        "soft",
        size=10.5,
    )
    p.text(
        0,
        y + 35,
        "tally gives these bits on an OpenCL device (PoCL) too. Table: bench/results/" + TABLES["sums"],
        "soft",
        size=10.5,
    )
    return p.done()


# ---- speed: tally, the best peer, the ceiling ----

CPU = [
    ("sum:f32:reduce:2^27", "sum"),
    ("max:f32:reduce:2^27", "max"),
    ("var:f32:reduce:2^27", "variance"),
    ("sum:f32:rows=256:2^28", "sum of each row of 256"),
    ("sum:f32:segments=1000000:2^27", "sum of 10⁶ uneven groups"),
    ("sum:f32:scan:2^27", "running sum"),
    ("mean:f32:window=50:2^26", "rolling mean of 50"),
    ("mean:f32:window=10000:2^26", "rolling mean of 10⁴"),
    ("mean:f32:window=1000000:2^26", "rolling mean of 10⁶"),
]
GPU = [
    ("sum f32 2^20", "sum of 2²⁰"),
    ("sum f32 2^28", "sum of 2²⁸"),
    ("sum f32, rows of 100", "sum of each row of 100"),
    ("sum f32, segments, mean 20", "sum of groups of about 20"),
    ("scan f32 2^28", "running sum"),
    ("scan f64 2^27", "running sum, f64"),
    ("scan sum f32, rows of 100", "running sum in rows of 100"),
    ("window mean f32 50 2^28", "rolling mean of 50"),
    ("window mean f32 4096 2^28", "rolling mean of 4096"),
    ("window mean f32 100000 2^28", "rolling mean of 10⁵"),
]


def read_cpu():
    """(what, tally, best peer, its name) as fractions of the ceiling, with two threads; our own loops are no peers."""
    rows = {}
    for line in open(table("speed-cpu"), encoding="utf-8"):
        m = re.match(r"(\S+:\S+) +2 +[\d.]+ +([\d.]+) (?:read|copy) +[\d.]+ (?:met|MISSED) +(.*)", line)
        if m:
            peers = [p.rpartition(" ") for p in re.split(r", (?=[a-zA-Z])(?!OpenMP \d)", m[3])]
            peers = [
                (float(ratio), name.rstrip("*"))
                for name, _, ratio in peers
                if not name.startswith(("hand", "running", "deque"))
            ]
            rows[m[1]] = (float(m[2]), *max(peers))
    return [(words, *rows[key]) for key, words in CPU]


def read_gpu():
    rows = {}
    for line in open(table("speed-gpu"), encoding="utf-8"):
        m = re.match(r"(.+?)  +(?:read|copy) ([\d.]+) us +tally ([\d.]+) us +(?:CUB ([\d.]+) us)?", line)
        if m:
            ceiling, ours, peer = (float(x) if x else None for x in m.groups()[1:])
            rows[m[1]] = (ceiling / ours, ceiling / peer if peer else None, "CUB" if peer else "")
    return [(words, *rows[key]) for key, words in GPU]


def speed(theme, rows, title, note):
    left, top, row, right = 190, 56, 34, 185
    scale = WIDTH - left - right
    p = Picture(theme, top + row * len(rows) + 30, title)
    p.text(0, 18, title, weight="600", size=15)
    p.box(left, 30, 12, 10, p.colours["tally"])
    p.text(left + 18, 40, "tally", size=12)
    p.box(left + 70, 30, 12, 10, p.colours["peer"])
    p.text(left + 88, 40, "the best peer", size=12)
    p.text(left + scale, 40, "ceiling: memory speed", "line", "end", 12)
    for i, (words, ours, peer, who) in enumerate(rows):
        y = top + row * i
        p.text(0, y + 18, words)
        p.box(left, y + 3, scale, row - 8, p.colours["back"])
        p.box(left, y + 3, scale * min(ours, 1), 14, p.colours["tally"])
        p.text(left + scale + 8, y + 15, f"{round(100 * ours)} %", weight="700", size=12)
        if peer is not None:
            p.box(left, y + 18, scale * min(peer, 1), 11, p.colours["peer"])
            p.text(left + scale + 8, y + 28, f"{round(100 * peer)} %  {who}", "soft", size=11)
        else:
            p.text(left + 6, y + 27, "no peer measured", "soft", size=10.5)
    p.rule(left + scale, top - 6, top + row * len(rows))
    p.text(0, top + row * len(rows) + 20, note, "soft", size=10.5)
    return p.done()


def cpu(theme):
    return speed(
        theme,
        read_cpu(),
        "Speed on a 2-core Intel Xeon with AVX-512, two threads, arrays in memory",
        "Percent of the best loop that only moves the same bytes, measured in the same run. "
        "Table: bench/results/" + TABLES["speed-cpu"],
    )


def gpu(theme):
    return speed(
        theme,
        read_gpu(),
        "Speed on an NVIDIA H100, data on the GPU",
        "Percent of a kernel that only moves the same bytes, measured in the same run. "
        "Table: bench/results/" + TABLES["speed-gpu"],
    )


def main():
    wrong = []
    os.makedirs(OUT, exist_ok=True)
    for name, draw in (("sums", sums), ("speed-cpu", cpu), ("speed-gpu", gpu)):
        for theme in THEMES:
            path, new = os.path.join(OUT, f"{name}-{theme}.svg"), draw(theme)
            old = open(path, encoding="utf-8").read() if os.path.exists(path) else None
            if "--check" not in sys.argv[1:]:
                with open(path, "w", encoding="utf-8") as f:
                    f.write(new)
            elif old != new:
                wrong.append(
                    f"doc/pictures/{name}-{theme}.svg is not what {TABLES[name]} says: run bench/charts.py"
                )
    if wrong:
        sys.exit("\n".join(wrong))
    print("charts: the pictures are what the tables say" if "--check" in sys.argv[1:] else "charts: written")


if __name__ == "__main__":
    main()
