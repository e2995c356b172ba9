#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes pow5.h: the top 128 bits of 5^q for q in -342..324. `python3 pow5.py > pow5.h`; `--check` compares with it."""
import pathlib
import sys


def entry(q):
    """The leading 128 bits of 5^q as Eisel-Lemire wants them: rounded up for -27 <= q < 0, else towards zero."""
    if q >= 0:
        p = 5**q
        return p << (128 - p.bit_length()) if p.bit_length() <= 128 else p >> (p.bit_length() - 128)
    p = 5**-q
    b = 127 + (p - 1).bit_length()
    c = (1 << b) // p
    assert 1 << 127 <= c < 1 << 128
    return c + 1 if q >= -27 else c


def text():
    out = [
        "/* SPDX-License-Identifier: MIT",
        " * Written by pow5.py: the leading 128 bits (high, low) of 5^q, q = -342..324, for reading decimals",
        " * (Eisel-Lemire, Software: Practice and Experience 51:8, 2021) and for writing them (Schubfach, Giulietti",
        " * 2020). They are exact for 0 <= q <= 55, one unit above the truncated value for -27 <= q < 0, and truncated",
        " * elsewhere. */",
        "#ifndef TALLY_IO_POW5_H",
        "#define TALLY_IO_POW5_H",
        "#include <stdint.h>",
        "enum { TL_POW5_MIN = -342, TL_POW5_MAX = 324 };",
        "extern const uint64_t tl_pow5[TL_POW5_MAX - TL_POW5_MIN + 1][2];",
        "#ifdef TL_POW5_TABLE",
        "const uint64_t tl_pow5[TL_POW5_MAX - TL_POW5_MIN + 1][2] = {",
    ]
    rows = ["{0x%016x, 0x%016x}" % (entry(q) >> 64, entry(q) & (2**64 - 1)) for q in range(-342, 325)]
    for i in range(0, len(rows), 2):
        out.append("    " + ", ".join(rows[i : i + 2]) + ",")
    return "\n".join(out + ["};", "#endif", "#endif", ""])


if "--check" in sys.argv:
    here = pathlib.Path(__file__).with_name("pow5.h")
    sys.exit(0 if here.read_text() == text() else "pow5.h is not what pow5.py writes")
sys.stdout.write(text())
