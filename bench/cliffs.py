#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cliffs.py - what the cliff finder measured, for people.

    cliffs.py report FILE [--worst N] [--html MAP.html] [--colour auto|always|never]
                                  the worst cells, loops that were no ceilings, call costs, and the map as text
    cliffs.py page FILE...        writes the paragraph of doc/performance.md from these tables
    cliffs.py check               does doc/performance.md say what its tables say, and reasons.csv why any of their
                                  cells is below the floor? Exit 1 if not

Only the standard library. Of a cell that a file has twice the last row counts.
"""
import argparse
import csv
import html
import os
import re
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
PAGE = os.path.join(ROOT, "doc", "performance.md")
ABOVE = 1.03  # more than this of its ceiling: the ceiling was none
# At least this ratio: background, text, number of the terminal's colour. Blue is fast, red is slow; the light middle
# keeps them apart for people who cannot tell red from green, and every cell has its number.
COLOURS = [(0.90, "#08519c", "#ffffff", 25), (0.75, "#6baed6", "#000000", 74), (0.50, "#deebf7", "#000000", 153),
           (0.25, "#fee391", "#000000", 222), (0.10, "#fe9929", "#000000", 208), (0.00, "#a50f15", "#ffffff", 124)]
NEAR = 0.7  # the least part of the speed of one row or column more or fewer
BARS = {"cpu": 0.20, "gpu": 0.25}  # below: a cliff


def order(name, rule):
    """The words of cells.def in their order."""
    text = open(os.path.join(HERE, "cells.def"), encoding="utf-8").read()
    return {w: i for i, w in enumerate(re.findall(rule + r'\("([^"]+)"', text))}


SHAPES, VIEWS = order("shape", "CLIFF_VERB"), order("view", "CLIFF_VIEW")
TYPES = {t: i for i, t in enumerate("i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64".split())}
SWEPT = re.compile(r"(rows|columns)=(\d+)$")
KEY = ("device", "threads", "op", "dtype", "shape", "view", "size")


class Table:
    def __init__(self, path):
        self.path, self.runs, cells = path, [], {}
        lines = []
        for line in open(path, encoding="utf-8"):
            if line.startswith("#"):
                self.runs.append(line[1:].strip())
            elif line.strip():
                lines.append(line)
        for row in csv.DictReader(lines):
            if row["device"] == "device":
                continue
            for name in ("n", "in_bytes", "out_bytes", "threads"):
                row[name] = int(row[name])
            for name in ("ns", "spread", "ceiling_ns", "ceiling_spread", "ratio", "gbps"):
                row[name] = float(row[name])
            cells[tuple(row[k] for k in KEY)] = row
        self.cells = list(cells.values())
        # what is too small for its bytes to matter: what a call costs
        self.calls = [c for c in self.cells
                      if c["size"].startswith("2^") and c["in_bytes"] + c["out_bytes"] <= 1 << 19]
        self.full = [c for c in self.cells if c not in self.calls and c["view"] in VIEWS]
        self.kind = "cpu" if self.cells and self.cells[0]["device"] == "cpu" else "gpu"

    def date(self):
        found = re.search(r"\d{4}-\d\d-\d\d", self.runs[-1]) if self.runs else None
        return found[0] if found else "no date"

    def busy(self):
        """What others did meanwhile, in words."""
        found = re.search(r"load ([\d.]+)", self.runs[-1]) if self.runs else None
        many = re.search(r"(\d+) processors", self.runs[-1]) if self.runs else None
        if not found or not many or float(found[1]) < 0.75 * int(many[1]):
            return ""
        return f" (others used the machine too: load {found[1]})"

    def machine(self):
        found = re.search(r"run \S+, tally [^,]+, [^,]+, (.*), load ", self.runs[-1]) if self.runs else None
        return found[1] if found else "a machine"


def words(c):
    return f"{c['op']} {c['dtype']}, {c['shape']}, {c['view']}, {c['size']}, {threads_of(c)}"


def threads_of(c):
    return c["device"] if c["device"] != "cpu" else f"{c['threads']} thread{'s' if c['threads'] > 1 else ''}"


def colour(ratio):
    return next(c for c in COLOURS if ratio >= c[0])


# ---- maps: panels of rows x columns, each place the worst of its cells ----

def panels(table):
    """(title, note, rows, columns, {(row, column): cells})"""
    groups = sorted({(c["threads"], c["device"], c["size"]) for c in table.full}, key=str)
    for team, device, size in groups:
        here = [c for c in table.full if (c["threads"], c["device"], c["size"]) == (team, device, size)]
        who = f"{device}, {team} thread{'s' if team > 1 else ''}" if device == "cpu" else device
        types = sorted({c["dtype"] for c in here}, key=TYPES.get)
        places = {}
        for c in here:
            places.setdefault((f"{c['shape']} {c['view']}", c["dtype"]), []).append(c)
        rows = sorted({r for r, _ in places}, key=lambda r: (SHAPES[r.split()[0]], VIEWS[r.split()[1]]))
        yield f"{who}, {size}: shapes and views", "the slowest of the operators", rows, types, places
        flat = [c for c in here if c["view"] == "flat"]
        places = {}
        for c in flat:
            places.setdefault((f"{c['shape']} {c['op']}", c["dtype"]), []).append(c)
        rows = sorted({r for r, _ in places}, key=lambda r: (SHAPES[r.split()[0]], r))
        if len({c["op"] for c in flat}) > 1:
            yield f"{who}, {size}: operators", "flat arrays", rows, types, places


def neighbours(table):
    """The rows and columns that are slower than one number fewer or more: (part of the faster one's speed, cell, that
    one), the slowest first."""
    series = {}
    for c in table.cells:
        found = SWEPT.match(c["view"])
        if found:
            key = tuple(c[k] for k in KEY if k != "view") + (found[1],)
            series.setdefault(key, []).append((int(found[2]), c))
    slower = []
    for cells in series.values():
        cells = [c for _, c in sorted(cells, key=lambda c: c[0])]
        for before, c, after in zip([None] + cells, cells, cells[1:] + [None]):
            best = max((x for x in (before, after) if x), key=lambda x: x["gbps"], default=c)
            if c["gbps"] < best["gbps"]:
                slower.append((c["gbps"] / best["gbps"], c, best))
    return sorted(slower, key=lambda s: s[0])


def worst_of(cells):
    return min(cells, key=lambda c: c["ratio"])


def text_map(table, colours, out):
    for title, note, rows, columns, places in panels(table):
        wide = max(len(r) for r in rows)
        print(f"\n{title} ({note}); percent of the ceiling", file=out)
        print(" " * wide + "".join(f"{c:>6}" for c in columns), file=out)
        for r in rows:
            line = f"{r:{wide}}"
            for c in columns:
                if (r, c) not in places:
                    line += "     ."
                    continue
                ratio = worst_of(places[r, c])["ratio"]
                text = f" {100 * ratio:4.0f} " if ratio >= 0.01 else f" {100 * ratio:4.1f} "
                _, _, ink, number = colour(ratio)
                ink = 231 if ink == "#ffffff" else 16
                line += f"\033[48;5;{number}m\033[38;5;{ink}m{text}\033[0m" if colours else text
            print(line, file=out)


STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 1rem; color: #111;
  background: #fff; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .4rem; }
.scroll { overflow-x: auto; }
table { border-collapse: separate; border-spacing: 2px; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
th { font-weight: 600; text-align: left; padding: .15rem .4rem; white-space: nowrap; }
thead th { text-align: center; }
tbody th { position: sticky; left: 0; background: #fff; font-weight: 400; font-size: .9rem; }
td { min-width: 2.4rem; padding: .2rem .25rem; text-align: center; border-radius: 3px; font-size: .9rem; }
td.none { color: #595959; }
td.above { outline: 3px solid #111; outline-offset: -3px; }
.key span { display: inline-block; padding: .15rem .5rem; margin: .1rem; border-radius: 3px; }
:focus-visible { outline: 3px solid #111; }
@media (max-width: 40rem) { body { padding: .6rem; }
  tbody th { white-space: normal; max-width: 8.5rem; font-size: .8rem; }
  td { min-width: 1.9rem; font-size: .8rem; } thead th { padding: .1rem; font-size: .8rem; } }
"""


def percent(ratio):
    return f"{100 * ratio:.0f}" if ratio >= 0.0095 else f"{100 * ratio:.1f}"


def html_map(table, path):
    e = html.escape
    rows_of_worst = "".join(
        f"<tr><th scope=\"row\">{e(words(c))}</th><td style=\"background:{colour(c['ratio'])[1]};"
        f"color:{colour(c['ratio'])[2]}\">{percent(c['ratio'])}</td><td>{c['gbps']:.3g}</td></tr>"
        for c in sorted(table.full, key=lambda c: c["ratio"])[:10])
    highs = [1.0] + [c[0] for c in COLOURS]
    steps = [f"{100 * low:.0f} to {100 * high:.0f}" for (low, *_), high in zip(COLOURS, highs)]
    key = "".join(f'<span style="background:{c[1]};color:{c[2]}">{s}</span>' for c, s in zip(COLOURS, steps))
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                f"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
                f"<title>tally: where it is fast</title><style>{STYLE}</style></head><body><main>\n"
                f"<h1>Where tally is fast, and where it falls off a cliff</h1>\n"
                f"<p>{e(table.machine())}; {table.date()}; {len(table.full)} cells. A number is the speed as percent "
                f"of the ceiling: the best loop that reads and writes the same bytes in the same memory with the "
                f"same threads. A place that stands for several cells shows the slowest.</p>\n"
                f"<p class=\"key\">Percent of the ceiling: {key} <span>· not measured</span></p>\n"
                f"<h2>The ten slowest</h2><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                f"aria-label=\"The ten slowest\"><table><thead><tr><th scope=\"col\">cell</th><th scope=\"col\">%</th>"
                f"<th scope=\"col\">GB/s</th></tr></thead><tbody>{rows_of_worst}</tbody></table></div>\n")
        for title, note, rows, columns, places in panels(table):
            f.write(f"<h2>{e(title)}</h2><p>{e(note.capitalize())}.</p>\n<div class=\"scroll\" tabindex=\"0\" "
                    f"role=\"region\" aria-label=\"{e(title)}\"><table><thead><tr><td></td>")
            f.write("".join(f"<th scope=\"col\">{c}</th>" for c in columns) + "</tr></thead><tbody>\n")
            for r in rows:
                f.write(f"<tr><th scope=\"row\">{e(r)}</th>")
                for c in columns:
                    if (r, c) not in places:
                        f.write('<td class="none">·</td>')
                        continue
                    w = worst_of(places[r, c])
                    _, back, ink, _ = colour(w["ratio"])
                    above = ' class="above"' if w["ratio"] > ABOVE else ""
                    f.write(f'<td{above} style="background:{back};color:{ink}" title="{e(words(w))}: '
                            f'{w["gbps"]:.3g} GB/s, ceiling {e(w["ceiling"])}">{percent(w["ratio"])}</td>')
                f.write("</tr>\n")
            f.write("</tbody></table></div>\n")
        f.write("</main></body></html>\n")


# ---- the terminal ----

WHICH = ("op", "dtype", "shape", "view", "size")


def reasons():
    """reasons.csv: which cells may be below the floor, how far, and why."""
    path = os.path.join(HERE, "reasons.csv")
    rows = list(csv.DictReader(line for line in open(path, encoding="utf-8") if not line.startswith("#")))
    for row in rows:
        if any(not row[k] or set(row[k]) & set("* ?[") for k in WHICH):
            sys.exit(f"cliffs.py: bench/reasons.csv: {' '.join(row[k] for k in WHICH)}: a reason names one operator, "
                     "type, shape, view and size, without wildcards")
        row["used"] = False
    return rows


def reason_of(rows, kind, c):
    """Why the cell is slow; None where no row names it, or where it is slower than its row allows."""
    for row in rows:
        if row["kind"] == kind and all(c[k] == row[k] for k in WHICH) and c["ratio"] >= float(row["at_least"]):
            row["used"] = True
            return row["reason"]
    return None


def low_by_reason(table, rows):
    """The cells below the floor: {reason: cells}, the reason with most cells first, those without one last."""
    groups = {}
    for c in sorted(table.full, key=lambda c: c["ratio"]):
        if c["ratio"] < BARS[table.kind]:
            groups.setdefault(reason_of(rows, table.kind, c), []).append(c)
    return dict(sorted(groups.items(), key=lambda g: (g[0] is None, -len(g[1]))))


def report(args):
    table = Table(args.file)
    if not table.cells:
        sys.exit(f"cliffs.py: {args.file} has no cells")
    here = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    colours = args.colour == "always" or (args.colour == "auto" and here)
    text_map(table, colours, sys.stdout)
    if table.calls:
        print("\ncalls: nanoseconds of one, and more than the bare loop over the same bytes")
        for c in table.calls:
            print(f"  {words(c):52} {c['ns']:10.0f} {c['ns'] - c['ceiling_ns']:+10.0f}")
    title = f"the {args.worst} worst of {len(table.full)} cells"
    print(f"\n{title:49} of the ceiling   GB/s   spread (tally, ceiling)")
    for c in sorted(table.full, key=lambda c: c["ratio"])[:args.worst]:
        print(f"  {words(c):52} {c['ratio']:6.3f} {c['gbps']:8.2f}    {c['spread']:.2f}, {c['ceiling_spread']:.2f}")
    above = [c for c in table.full if c["ratio"] > ABOVE]
    print(f"\n{len(above)} cells are above {ABOVE} of their ceiling" + (": there the loop is none" if above else ""))
    for c in sorted(above, key=lambda c: -c["ratio"]):
        print(f"  {words(c):52} {c['ratio']:6.3f} of {c['ceiling']}    "
              f"spread {c['spread']:.2f}, {c['ceiling_spread']:.2f}")
    low = [c for c in table.full if c["ratio"] < BARS[table.kind]]
    spreads = [max(c["spread"], c["ceiling_spread"]) for c in table.full]
    print(f"{len(low)} of {len(table.full)} cells are below {BARS[table.kind]}; median ratio "
          f"{statistics.median(c['ratio'] for c in table.full or table.cells):.2f}; median spread "
          f"{statistics.median(spreads or [0]):.2f}")
    for reason, cells in low_by_reason(table, reasons()).items():
        print(f"\n{len(cells)} below it: {reason or 'nobody has said why (bench/reasons.csv)'}")
        for c in cells:
            print(f"  {words(c):52} {c['ratio']:6.3f}")
    slower = neighbours(table)
    if len(table.cells) > len(table.calls) + len(table.full):  # a sweep
        print(f"\n{sum(part < NEAR for part, *_ in slower)} are below {NEAR} of their neighbour; the worst:")
        for part, c, best in slower[:args.worst]:
            print(f"  {words(c):52} {part:6.3f} {c['gbps']:8.2f} GB/s, {best['view']} {best['gbps']:.2f}")
    if args.html:
        html_map(table, args.html)
        print(f"the map: {args.html}")


# ---- the paragraph of doc/performance.md ----

BEGIN, END = "<!-- cliffs:", "<!-- /cliffs -->"
# what the paragraph names, where the table has it: words, operator, type, shape, view
NAMED = [("sum f32", "sum", "f32", "reduce", "flat"), ("max f32", "max", "f32", "reduce", "flat"),
         ("sum i8", "sum", "i8", "reduce", "flat"), ("var f64", "var", "f64", "reduce", "flat"),
         ("rows of 8", "sum", "f32", "reduce", "rows=8"), ("rows of 100", "sum", "f32", "reduce", "rows=100"),
         ("columns of 1000", "sum", "f32", "reduce", "columns=1000"),
         ("segments of 20", "sum", "f32", "reduce", "segments=20"),
         ("prefix sum f32", "sum", "f32", "scan", "flat"), ("f64", "sum", "f64", "scan", "flat"),
         ("down columns", "sum", "f32", "scan", "columns=1000"),
         ("rolling sum of 50", "sum", "f32", "window=50", "flat"),
         ("rolling mean of 500", "mean", "f32", "window=500", "flat"),
         ("of 5000", "mean", "f32", "window=5000", "flat")]


def sentence(table):
    team = max(c["threads"] for c in table.full)
    dram = {(c["op"], c["dtype"], c["shape"], c["view"]): c
            for c in table.full if c["size"] == "dram" and c["threads"] == team}
    parts = [f"{name} {dram[tuple(key)]['ratio']:.2f}" for name, *key in NAMED if tuple(key) in dram]
    where = f"{team} thread{'s' if team > 1 else ''}" if table.kind == "cpu" else table.cells[0]["device"]
    cells = [c["ratio"] for c in table.full]
    low = sum(r < BARS[table.kind] for r in cells)
    several = len({c["threads"] for c in table.full}) > 1
    worst = [f"{c['op']} {c['dtype']} {c['shape']} {c['view']} {c['size']} {c['ratio']:.3f}"
             + (f" ({threads_of(c)})" if several else "")
             for c in sorted(table.full, key=lambda c: c["ratio"])[:3]]
    name = os.path.relpath(table.path, os.path.dirname(PAGE))
    half = statistics.median(cells)
    return (f"{table.machine()}, {where}, arrays in memory{table.busy()}: "
            f"{', '.join(parts)}. Of all {len(cells)} cells of "
            f"[the table]({name}) half are above {half:.2f} and {low} below {BARS[table.kind]:.2f}; "
            f"the worst are {', '.join(worst)}.")


def paragraph(paths):
    lines = [BEGIN + " " + " ".join(os.path.relpath(os.path.abspath(p), ROOT) for p in paths) +
             " (written by bench/cliffs.py page) -->",
             "Speed as a fraction of the ceiling, the best loop that reads and writes the same bytes in the same run:",
             ""]
    for p in paths:
        lines += wrap("- " + sentence(Table(os.path.abspath(p))))
    return "\n".join(lines + [END])


def wrap(text, width=118):
    lines, line = [], ""
    for word in text.split(" "):
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = "  " + word
        else:
            line = f"{line} {word}" if line else word
    return lines + [line]


def parts_of_page():
    text = open(PAGE, encoding="utf-8").read()
    begin, end = text.find(BEGIN), text.find(END)
    if begin < 0 or end < begin:
        sys.exit(f"cliffs.py: doc/performance.md has no '{BEGIN}' with '{END}' after it")
    end += len(END)
    return text[:begin], text[begin:end], text[end:]


def page(args):
    before, _, after = parts_of_page()
    with open(PAGE, "w", encoding="utf-8") as f:
        f.write(before + paragraph(args.files) + after)


def check(_):
    _, now, _ = parts_of_page()
    names = now[len(BEGIN):now.index("(")].split()
    want = paragraph([os.path.join(ROOT, n) for n in names])
    if now != want:
        sys.exit(f"cliffs.py: doc/performance.md says something else than {' and '.join(names)}: "
                 f"bench/cliffs.py page {' '.join(names)}\n--- doc/performance.md\n{now}\n--- the tables\n{want}")
    rows = reasons()
    for n in names:
        unsaid = low_by_reason(Table(os.path.join(ROOT, n)), rows).get(None)
        if unsaid:
            sys.exit(f"cliffs.py: {n}: below the floor, and bench/reasons.csv does not say why: "
                     + "; ".join(f"{words(c)} {c['ratio']:.3f}" for c in unsaid))
    for row in rows:
        if not row["used"]:
            sys.exit(f"cliffs.py: bench/reasons.csv: {row['kind']} {' '.join(row[k] for k in WHICH)}: no table of "
                     "doc/performance.md has this cell below the floor: take the row out")
    print(f"doc/performance.md and {' and '.join(names)} agree")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    p = verbs.add_parser("report")
    p.add_argument("file")
    p.add_argument("--worst", type=int, default=10)
    p.add_argument("--html")
    p.add_argument("--colour", choices=("auto", "always", "never"), default="auto")
    p.set_defaults(run=report)
    p = verbs.add_parser("page")
    p.add_argument("files", nargs="+")
    p.set_defaults(run=page)
    verbs.add_parser("check").set_defaults(run=check)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
