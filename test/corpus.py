#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The inputs that a fuzzer starts from, many in one text file: test/corpus/NAME.txt for test/fuzz_NAME.c.

    test/corpus.py add FILE INPUT...     adds these files to FILE, each under its own name
    test/corpus.py unpack FILE FOLDER    writes each input of FILE into FOLDER, as fuzzers read them

A line `name:` begins an input; the lines below are its bytes, in quotes, as C and Python write them ("a,b\\n\\x00").
A line that begins with # tells what the input found or where it leads."""
import ast
import os
import re
import sys

WIDTH = 72  # bytes of a line of FILE, where the input has no lines of its own


def quoted(data):
    special = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    plain = data.decode("latin-1")
    return '"' + "".join(special.get(c, c if " " <= c <= "~" else f"\\x{ord(c):02x}") for c in plain) + '"'


def section(name, data):
    lines = re.findall(rb"[^\n]{1,%d}\n?|\n" % WIDTH, data)
    return "\n".join([name + ":"] + [quoted(line) for line in lines]) + "\n"


def read(path):
    """{name: bytes}; a line that is not of this format ends the program with its number."""
    inputs, name = {}, None
    for number, line in enumerate(open(path, encoding="ascii"), 1):
        line = line.rstrip("\n")
        if re.fullmatch(r"[\w.-]+:", line) and line[:-1] not in inputs:
            name = line[:-1]
            inputs[name] = b""
        elif re.fullmatch(r'"(\\.|[^"\\])*"', line) and name:
            inputs[name] += ast.literal_eval("b" + line)
        elif line and not line.startswith("#"):
            sys.exit(f"{path}:{number}: must be a new name and a colon, bytes in quotes, or a comment")
    return inputs


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in ("add", "unpack"):
        sys.exit(__doc__)
    path = sys.argv[2]
    if sys.argv[1] == "unpack":
        os.makedirs(sys.argv[3], exist_ok=True)
        for name, data in read(path).items():
            with open(os.path.join(sys.argv[3], name), "wb") as f:
                f.write(data)
        return
    entries = read(path) if os.path.exists(path) else {}
    with open(path, "a", encoding="ascii") as f:
        for file in sys.argv[3:]:
            name = os.path.basename(file)
            if name in entries:
                sys.exit(f"{path} has an input '{name}' already")
            f.write(section(name, open(file, "rb").read()))


main()
