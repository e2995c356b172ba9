# SPDX-License-Identifier: MIT
"""Compares a libtally.so with the golden vectors of reference/, through tally.h by ctypes. Run by test_reference.sh.

    reference.py REFERENCE VECTORS LIBRARY

The data comes from order_e.py's generator; nothing else of that file is asked.
"""
import ctypes as c
import json
import sys

reference, vectors, library = sys.argv[1:]
sys.path.insert(0, reference)
sys.dont_write_bytecode = True
import order_e  # noqa: E402

DTYPE = {"i64": 7, "f32": 11, "f64": 12}
EDGES = ["missing", "shrink", "valid"]
tally = c.CDLL(library)
tally.tally_error.restype = c.c_char_p
tally.tally_dtype_name.restype = c.c_char_p
I64, PTR = c.c_int64, c.c_void_p


class View(c.Structure):
    _fields_ = [("data", PTR), ("dtype", c.c_int), ("rows", I64), ("n", I64), ("row_stride", I64), ("stride", I64),
                ("offsets", PTR), ("more", c.c_char * 256)]  # what comes later is 0


class Scan(c.Structure):
    _fields_ = [("exclusive", c.c_int), ("reverse", c.c_int), ("init", PTR), ("more", c.c_char * 64)]


class Window(c.Structure):
    _fields_ = [("before", I64), ("after", I64), ("edges", c.c_int), ("min_count", I64), ("step", I64),
                ("more", c.c_char * 64)]


class Info(c.Structure):
    _fields_ = [("name", c.c_char_p), ("text", c.c_char_p), ("empty", c.c_char_p), ("param", c.c_char_p),
                ("output", c.c_int), ("more", c.c_char * 64)]


ctx = PTR()
if tally.tally_open(c.byref(ctx), b"cpu,threads=2"):
    sys.exit(tally.tally_error(None).decode())


def ok(status, what):
    if status:
        sys.exit(f"{what}: {tally.tally_error(ctx).decode()}")


def flat(buffer, dtype, n):
    return View(c.addressof(buffer), DTYPE[dtype], 1, n, n, 1)


def width_of(dtype):
    return 4 if dtype == "f32" else 8


def buffer_of(bits, dtype):
    width = width_of(dtype)
    raw = b"".join(b.to_bytes(width, "little") for b in bits)
    return c.create_string_buffer(raw, len(raw) + 8)


def bits_of(buffer, dtype, n):
    width = width_of(dtype)
    return [int.from_bytes(buffer.raw[width * i : width * (i + 1)], "little") for i in range(n)]


def fragment(v, op, dtype, bits):
    """The nodes after the third merge as saved (doc/formats.md), and the result."""
    frags, nodes = [], []
    for start, end in zip(v["cuts"], v["cuts"][1:]):
        f, x = PTR(), buffer_of(bits[start:end], dtype)
        ok(tally.tally_fragment_make(ctx, op, DTYPE[dtype], x, I64(start), I64(end - start), c.byref(f)), op)
        frags.append(f)
    first = frags[v["order"][0]]
    for i, part in enumerate(v["order"][1:], 1):
        ok(tally.tally_fragment_merge(first, frags[part]), op)
        if i != 2 or "nodes" not in v:
            continue
        size = c.c_size_t(0)
        ok(tally.tally_fragment_save(first, None, c.byref(size)), op)
        saved = c.create_string_buffer(size.value)
        ok(tally.tally_fragment_save(first, saved, c.byref(size)), op)
        saved = saved.raw
        at = 40 + int.from_bytes(saved[36:40], "little")
        ranges = [(int.from_bytes(saved[16:24], "little"), int.from_bytes(saved[24:32], "little"))]
        if saved[8] == 3:
            words = [int.from_bytes(saved[at + 8 * k : at + 8 * k + 8], "little") for k in range(1000)]
            ranges = list(zip(words[1 : 2 * words[0] : 2], words[2 : 2 * words[0] + 1 : 2]))
            at += 8 + 16 * words[0]
        sizes = [len(s) // 2 for s in v["nodes"][0]["state"]]
        where = iter(ranges)
        begin = end = 0
        for _ in range(int.from_bytes(saved[32:36], "little")):
            if begin == end:
                begin, end = next(where)
            level, fields, at = saved[at], [], at + 1
            for size in sizes:
                fields.append(f"{int.from_bytes(saved[at : at + size], 'little'):0{2 * size}x}")
                at += size
            nodes.append({"at": begin, "level": level, "state": fields})
            begin += 1 << level
        if at != len(saved) - 8:
            nodes.append("bytes are left over")
    out = c.create_string_buffer(8)
    ok(tally.tally_fragment_result(first, out), op)
    for f in frags:
        tally.tally_fragment_free(f)
    return out, 1, {"nodes": nodes}


def compute(v, dtype, bits):
    op, info = v["op"].encode(), Info()
    ok(tally.tally_operator(ctx, op, DTYPE[dtype], c.byref(info)), op)
    kind = tally.tally_dtype_name(info.output).decode()
    x = buffer_of(bits, dtype)
    if v["verb"] in ("reduce", "exact"):
        out, more = c.create_string_buffer(8 * len(v["n"])), {}
        for i, n in enumerate(v["n"]):
            place = c.byref(out, i * width_of(kind))
            ok(tally.tally_reduce(ctx, op, c.byref(flat(x, dtype, n)), place), op)
        if v["verb"] == "exact":
            words = (I64 * 72)()
            ok(tally.tally_exact_add(ctx, words, c.byref(flat(x, dtype, v["n"][-1]))), op)
            more["state"] = [f"{w & order_e.M64:x}" for w in words]
        return kind, out, len(v["n"]), more
    if v["verb"] == "fragments":
        return (kind, *fragment(v, op, dtype, bits))
    n = v["n"]
    out = c.create_string_buffer(8 * n + 8)
    if v["verb"] == "scan":
        init = buffer_of([int(v["init"], 16)], kind) if "init" in v else None
        options = Scan(v["exclusive"], v["reverse"], c.addressof(init) if init else None)
        ok(tally.tally_scan(ctx, op, c.byref(flat(x, dtype, n)), c.byref(flat(out, kind, n)), c.byref(options)), op)
        return kind, out, n, {}
    options = Window(v["before"], v["after"], EDGES.index(v["edges"]), v["min_count"], v["step"])
    tally.tally_window_length.restype = I64
    count = tally.tally_window_length(I64(n), c.byref(options))
    ok(tally.tally_window(ctx, op, c.byref(flat(x, dtype, n)), c.byref(flat(out, kind, count)), c.byref(options)), op)
    return kind, out, count, {}


with open(vectors) as file:
    golden = json.load(file)
data, wrong = order_e.read_data(golden["data"]), 0
for v in golden["vectors"]:
    dtype, _, bits = data[v["data"]]
    kind, out, count, more = compute(v, dtype, bits)
    found, width = bits_of(out, kind, count), width_of(kind)
    got = {"bits": [f"{b:0{2 * width}x}" for b in found], "fnv": f"{order_e.fnv(found, width):016x}", **more}
    for key in ("bits", "fnv", "state", "nodes"):
        if key in v and v[key] != got[key]:
            wrong += 1
            print(f"DIFFERENT: {v['verb']} {v['op']} of {v['data']}: {key} {got[key]}\n    in {v}")
tally.tally_close(ctx)
print(f"library: {len(golden['vectors'])} vectors, {wrong} wrong")
sys.exit(wrong != 0)
