# SPDX-License-Identifier: MIT
"""Writes the small .npy files that test_cli.sh reads, with nothing but struct: make_npy.py FOLDER."""
import os
import struct
import sys


def npy(name, descr, shape, data, fortran=False):
    head = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape)
    head += " " * (-(10 + len(head) + 1) % 64) + "\n"
    with open(os.path.join(sys.argv[1], name), "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)


npy("m.npy", "<i4", (2, 3), struct.pack("<6i", 1, 2, 3, 4, 5, 6))
npy("f.npy", "<i4", (2, 3), struct.pack("<6i", 1, 4, 2, 5, 3, 6), True)
npy("b.npy", ">i4", (2, 3), struct.pack(">6i", 1, 2, 3, 4, 5, 6))
npy("fb.npy", ">i4", (2, 3), struct.pack(">6i", 1, 4, 2, 5, 3, 6), True)
cube = [i * i % 17 for i in range(24)]
turned = [cube[i * 12 + j * 4 + k] for k in range(4) for j in range(3) for i in range(2)]
npy("c.npy", "<f8", (2, 3, 4), struct.pack("<24d", *cube))
npy("cf.npy", "<f8", (2, 3, 4), struct.pack("<24d", *turned), True)
npy("seg.npy", "<i4", (4,), struct.pack("<4i", 0, 2, 2, 6))
npy("object.npy", "|O", (4,), b"")
npy("empty.npy", "<f4", (0,), b"")
npy("short.npy", "<f4", (10,), b"1234")
npy("huge.npy", "<f4", (1 << 40, 1 << 40), b"1234")
npy("nan.npy", "<f4", (5,), struct.pack("<5f", 1.5, float("nan"), -0.0, float("inf"), 2.5))
