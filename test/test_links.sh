#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every link of a document leads to a file of the tree, and to a heading of it if it names one. Every table of
# bench/results that a text file names is there.
set -uo pipefail
command -v python3 >/dev/null 2>&1 || { echo "skipped: python3 is not here"; exit 77; }
cd "$TALLY_SOURCE" || exit 1
[ -f README.md ] && [ -d bench/results ] || { echo "skipped: the documents are not here"; exit 77; }
python3 - <<'PYTHON'
import os, re, sys

def texts():
    for folder, folders, names in os.walk("."):
        folders[:] = [d for d in folders if not d.startswith((".", "build")) and d not in ("venv", "corpus", "results")]
        for name in names:
            path = os.path.normpath(os.path.join(folder, name))
            try:
                with open(path, encoding="utf-8") as f:
                    yield path, f.read()
            except (UnicodeDecodeError, OSError):
                pass # not a text

def anchor(heading): # as GitHub makes them
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")

def without_code(text): return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)

all = dict(texts())
documents = {path: without_code(text) for path, text in all.items() if path.endswith(".md")}
anchors = {path: {anchor(h) for h in re.findall(r"^#+ (.*)", text, re.M)} for path, text in documents.items()}
bad, links = [], 0
for path, text in documents.items():
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link): continue
        links += 1
        file, _, heading = link.partition("#")
        file = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if not os.path.exists(file): bad.append(f"{path}: {link}: no such file")
        elif heading and heading not in anchors.get(file, {heading}): bad.append(f"{path}: {link}: no such heading")
tables = set(os.listdir("bench/results"))
for name in list(tables): # a file of several tables has a line `==== NAME` above each
    with open("bench/results/" + name, encoding="utf-8") as f: tables |= set(re.findall(r"^==== (\S+)$", f.read(), re.M))
for path, text in all.items():
    for table in set(re.findall(r"\b20\d\d-\d\d-\d\d-[a-z0-9-]+\.(?:txt|csv|html)\b", text)):
        if table not in tables: bad.append(f"{path}: bench/results has no {table}")
print("\n".join(bad) or f"{links} links of {len(documents)} documents")
sys.exit(1 if bad or links < 100 else 0)
PYTHON
