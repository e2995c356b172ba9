#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random mutants: one small change of a line of src/, and do the tests see it?

    test/plant/run --random N --seed S [FOLDER]

A copy of the tree is built in FOLDER and tested once as it is; tests that do not pass there do not count. Then one
line at a time is changed (`<` for `<=`, a lost `+ 1`, `||` for `&&`, ...), what depends on it is built, and the tests
run in their quick form until the first that fails. Each mutant gets one line:

    caught      the name of the test that failed
    compiler    it does not compile: warnings are errors
    same code   the compiler makes the same machine code of it
    SURVIVED    no test failed: either a test is missing, or the change changes nothing that can be seen

Exit 1 if one survived. N mutants of one seed are the same on every machine with the same tree.
"""
import argparse
import glob
import hashlib
import os
import random
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OPERATORS = "sum|max|argmin|var|ema|first|last|count"  # and their nan forms: a build of minutes, not of hours
# what is replaced (a regular expression), and by what
CHANGES = [(r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "),
           (r" != ", " == "), (r" && ", " || "), (r" \|\| ", " && "), (r" \+ 1\b(?![.\w])", ""),
           (r" - 1\b(?![.\w])", ""), (r"(?<=[\w)\]]) \+ (?=[\w(])", " - "), (r"(?<=[\w)\]]) - (?=[\w(])", " + "),
           (r"\bif \((?=[^;]*\) [a-z])", "if (0 && "), (r"\+\+", "--"), (r"(?<=[ (])!(?=[\w(])", "")]
# without meaning for the tests: generated tables, and texts that only a GPU's compiler sees are tested there
SKIPPED = re.compile(r"\.def$|_words\.h$")


def run(command, folder, seconds=None, **more):
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds, errors="replace",
                              **more)
    except subprocess.TimeoutExpired:
        return None


def code_lines(path):
    """(number, text) of the lines that are code: no comment, no preprocessor, no string."""
    inside = False
    for number, line in enumerate(open(path, encoding="utf-8")):
        text = line
        if inside:
            inside = "*/" not in text
            continue
        if "/*" in text and "*/" not in text:
            inside = True
            continue
        if text.lstrip().startswith(("#", "//", "/*", "*")) or '"' in text or "assert" in text:
            continue
        yield number, text


def places(root):
    """Every change that could be made: (file, line, column, length, new text)."""
    found = []
    files = sorted(f for e in ("c", "h", "cl") for f in glob.glob(f"{root}/src/**/*.{e}", recursive=True))
    for path in files:
        name = os.path.relpath(path, root)
        if SKIPPED.search(name):
            continue
        for number, text in code_lines(path):
            code = text.split("/*")[0]
            for old, new in CHANGES:
                found += [(name, number, m.start(), m.end() - m.start(), new) for m in re.finditer(old, code)]
    return found


def copy_tree(to):
    names = run(["git", "ls-files", "-z"], ROOT).stdout.split("\0")
    for name in filter(None, names):
        source, target = os.path.join(ROOT, name), os.path.join(to, name)
        if not os.path.isfile(source):
            continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.exists(target) or open(source, "rb").read() != open(target, "rb").read():
            shutil.copy(source, target)
    table = os.path.join(to, "src/op/ops.def")
    rows = open(table, encoding="utf-8").readlines()
    kept = [r for r in rows if not re.match(r"OPERATOR(_ALSO)?\(", r) or re.match(rf"OPERATOR\(({OPERATORS}),", r)]
    open(table, "w", encoding="utf-8").writelines(kept)


def build(tree, jobs):
    return run(["cmake", "--build", "build", "-j", str(jobs)], tree, 1800)


def code_of(tree):
    """A checksum of each of the library's objects (they are compiled without debugging information)."""
    return {path: hashlib.sha256(open(path, "rb").read()).hexdigest()
            for path in glob.glob(f"{tree}/build/CMakeFiles/**/*.o", recursive=True) if "/test" not in path}


def first_failure(tree, tests, jobs):
    """The first test of these that fails, or None."""
    pattern = "^(" + "|".join(map(re.escape, tests)) + ")$"
    done = run(["ctest", "--test-dir", "build", "-R", pattern, "-j", str(jobs), "--stop-on-failure", "--timeout",
                "300"], tree, 3600)
    if done is None:
        return "(no end)"
    failed = re.findall(r"Test +#\d+: (\S+) \.*\**(?:Failed|Timeout|Exception|\*\*\*)", done.stdout)
    return failed[0] if failed else None if done.returncode == 0 else "(ctest)"


def passing(tree, jobs):
    done = run(["ctest", "--test-dir", "build", "-j", str(jobs), "--timeout", "300"], tree, 3600)
    timed = re.findall(r"Test +#\d+: (\S+) \.+ +Passed +([\d.]+) sec", done.stdout)
    return [name for name, _ in sorted(timed, key=lambda t: float(t[1]))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--random", type=int, required=True, metavar="N", help="how many mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=int(os.environ.get("JOBS", os.cpu_count() or 1)))
    parser.add_argument("folder", nargs="?", default="/tmp/tally-mutants")
    args = parser.parse_args()
    os.environ["TALLY_TEST_QUICK"] = "1"
    os.environ.setdefault("TALLY_TEST_SEED", str(args.seed))
    tree = os.path.join(args.folder, "tree")
    copy_tree(tree)
    launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    run(["cmake", "-S", ".", "-B", "build", "-DTALLY_ISAS=avx2", "-DTALLY_WERROR=ON", "-DBUILD_SHARED_LIBS=OFF",
         "-DCMAKE_C_FLAGS_RELEASE=-O1", "-DTALLY_CUDA_KERNELS=none", *launcher], tree)
    if build(tree, args.jobs).returncode:
        sys.exit(f"the tree does not build: cmake --build {tree}/build")
    tests = passing(tree, args.jobs)
    print(f"{len(tests)} tests pass without a mutant; seed {args.seed}", flush=True)
    before = code_of(tree)
    chosen = random.Random(args.seed).sample(places(tree), args.random)
    survived = 0
    for name, number, column, length, new in chosen:
        path = os.path.join(tree, name)
        lines = open(path, encoding="utf-8").readlines()
        old = lines[number]
        lines[number] = old[:column] + new + old[column + length:]
        open(path, "w", encoding="utf-8").writelines(lines)
        built = build(tree, args.jobs)
        if built is None or built.returncode:
            what = "compiler"
        elif name.endswith((".c", ".h")) and code_of(tree) == before:
            what = "same code"
        else:
            failed = first_failure(tree, tests, args.jobs)
            what = f"caught by {failed}" if failed else "SURVIVED"
            survived += not failed
        print(f"{what:32} {name}:{number + 1}: {old.strip()}   ->   {lines[number].strip()}", flush=True)
        lines[number] = old
        open(path, "w", encoding="utf-8").writelines(lines)
    print(f"{survived} of {args.random} survived")
    sys.exit(1 if survived else 0)


if __name__ == "__main__":
    main()
