#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""sums.py - the bits that several tools give for the sum of the same f32 numbers, on one machine.

    bench/sums.py --machine "x86-64, AVX2" --isa avx2 --threads 2 --tally build/tally >>bench/results/DATE-sums.csv
    bench/sums.py --machine "H100" --device cuda:0 --tally build/tally >>...     # PyTorch and CuPy, where they are

Prints one line for each tool: machine,tool,version,settings,bits. A tool that is not installed has no line. The 2^20
numbers are those of examples/generate.c.
bench/charts.py draws the picture of README.md from the table. For another machine's programs (an emulator), CC names
the compiler and RUN what starts a program: RUN="qemu-aarch64-static -L FOLDER".
"""

import argparse
import csv
import json
import os
import shlex
import struct
import subprocess
import sys
import tempfile

COUNT = 1 << 20
FLAGS = {
    "sse2": [],
    "avx2": ["-mavx2", "-mfma"],
    "neon": [],
    "avx512": ["-mavx512f", "-mavx512vl", "-mfma", "-mprefer-vector-width=512"],
}
# what keeps a library from wider vectors: NumPy's switch, and the processor that OpenBLAS is told to see
NUMPY_OFF = {
    "sse2": "AVX2 FMA3 X86_V3 AVX512F AVX512CD AVX512_SKX X86_V4",
    "avx2": "AVX512F AVX512CD AVX512_SKX X86_V4",
}
BLAS_CORE = {"sse2": "Nehalem", "avx2": "Haswell", "avx512": "SkylakeX"}

# The loop that everybody writes, over the f32 numbers of a .npy file. Compiled with -Ofast the compiler keeps as many
# running totals as its vectors have lanes; with -fopenmp each thread adds its own part. Prints the bits of the sum.
LOOP = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Loads the numbers that follow the header; a file of version 1.0, as tally and NumPy write it. */
static float *load(const char *path, long *n)
{
    unsigned char head[10];
    float *x = NULL;
    FILE *const f = fopen(path, "rb");
    if (!f) return NULL;
    if (fread(head, 1, sizeof head, f) == sizeof head && !memcmp(head, "\x93NUMPY\x01", 7) &&
        !fseek(f, 0, SEEK_END)) {
        const long start = 10 + head[8] + 256L * head[9], bytes = ftell(f) - start;
        *n = bytes / 4;
        x = malloc((size_t)bytes);
        if (x && (fseek(f, start, SEEK_SET) || fread(x, 4, (size_t)*n, f) != (size_t)*n)) *n = -1;
    }
    fclose(f);
    return x;
}

int main(int argc, char **argv)
{
    long n = 0;
    float *const x = argc == 2 ? load(argv[1], &n) : NULL;
    float sum = 0;
    unsigned bits;

    if (!x || n < 1) return fprintf(stderr, "usage: sums FILE.npy\n"), 2;
#pragma omp parallel for reduction(+ : sum)
    for (long i = 0; i < n; i++) sum += x[i];
    memcpy(&bits, &sum, sizeof bits);
    printf("0x%08x\n", bits);
    free(x);
    return 0;
}
"""


def numbers(path, count=COUNT):
    """Writes the numbers of examples/generate.c: random signs, six decades of magnitude."""
    state, out = 1, bytearray()
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        r = state >> 32
        out += struct.pack("<I", (r & 0x807FFFFF) | (107 + (r >> 23 & 255) * 20 // 256) << 23)
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % count
    head = head.ljust(117) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + out)


def bits_of(value):
    return "0x%08x" % struct.unpack("<I", struct.pack("<f", value))[0]


def ask(command, **more):
    """What a command prints, in one line; None where it cannot be run."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, **more).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"sums.py: left out: {shlex.join(command)}: {getattr(error, 'stderr', '') or error}", file=sys.stderr)
        return None


def loops(o, data, folder):
    """The compiled loop, on one thread and with OpenMP."""
    cc, run = shlex.split(os.environ.get("CC", "gcc")), shlex.split(os.environ.get("RUN", ""))
    version = (ask([*cc, "-dumpfullversion"]) or "").strip()
    for tool, more in (("C loop", []), ("OpenMP", ["-fopenmp"])):
        program = os.path.join(folder, "sums")
        flags = ["-Ofast", *FLAGS[o.isa], *more]
        built = ask([*cc, *flags, "-static", "-x", "c", "-", "-o", program], input=LOOP)
        bits = built is not None and ask(
            [*run, program, data], env={**os.environ, "OMP_NUM_THREADS": str(o.threads)}
        )
        if bits:
            yield tool, f"gcc {version}", " ".join(flags), bits


NUMPY = """
import numpy, sys
x = numpy.load(sys.argv[1])
print(numpy.__version__, x.sum().tobytes()[::-1].hex(), (x @ numpy.ones_like(x)).tobytes()[::-1].hex())
"""


def numpy(o, data):
    """NumPy's own sum, and the product with ones, which OpenBLAS computes."""
    off, core = NUMPY_OFF.get(o.isa, ""), BLAS_CORE.get(o.isa, "")
    env = {**os.environ, "OPENBLAS_NUM_THREADS": str(o.threads)}
    env.update({"NPY_DISABLE_CPU_FEATURES": off} if off else {})
    env.update({"OPENBLAS_CORETYPE": core} if core else {})
    answer = ask([*shlex.split(os.environ.get("RUN", "")), o.python, "-W", "ignore", "-c", NUMPY, data], env=env)
    if answer:
        version, total, product = answer.split()
        yield "NumPy", f"NumPy {version}", f"x.sum(); without {off or 'nothing'}", "0x" + total
        yield "OpenBLAS", f"NumPy {version}", f"x @ ones; core {core or 'found'}", "0x" + product


GPU = """
import sys, numpy
x = numpy.load(sys.argv[2])
if sys.argv[1] == "torch":
    import torch
    y = torch.from_numpy(x).cuda().sum().cpu().numpy()
    print(torch.__version__, y.tobytes()[::-1].hex())
else:
    import cupy
    print(cupy.__version__, cupy.asnumpy(cupy.asarray(x).sum()).tobytes()[::-1].hex())
"""


def on_gpu(o, data):
    for name, tool in (("torch", "PyTorch"), ("cupy", "CuPy")):
        answer = ask([o.python, "-c", GPU, name, data])
        if answer:
            yield tool, f"{tool} {answer.split()[0]}", "x.sum() on the GPU", "0x" + answer.split()[1]


def ours(o, data):
    if not o.tally:
        return
    run = shlex.split(os.environ.get("RUN", ""))
    how = ["--device", o.device] if o.device else ["--isa", o.isa, "--threads", str(o.threads)]
    answer = ask([*run, o.tally, "reduce", "sum", "--json", *how, data])
    if answer:
        version = ask([*run, o.tally, "--version"])
        yield "tally", version, " ".join(how), json.loads(answer)["results"][0]["bits"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machine", required=True, help="what the table and the picture call it")
    parser.add_argument("--isa", choices=FLAGS, default="avx2")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", help="a GPU that tally names")
    parser.add_argument("--tally", help="the command line")
    parser.add_argument("--python", default=sys.executable, help="a Python that has NumPy")
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "data.npy")
        numbers(data)
        rows = list(on_gpu(o, data)) if o.device else [*loops(o, data, folder), *numpy(o, data)]
        out = csv.writer(sys.stdout, lineterminator="\n")
        for tool, version, settings, bits in [*rows, *ours(o, data)]:
            out.writerow((o.machine, tool, version, settings, bits))


if __name__ == "__main__":
    main()
