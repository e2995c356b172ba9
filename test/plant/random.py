#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random mutants: one small change of a line of src/ (or of cli/ or python/), and do the tests see it?

    test/plant/run --random N --seed S [--under cli/] [--share K/M] [--skip TESTS] [FOLDER]

A copy of the tree is built in FOLDER and tested once as it is; tests that do not pass there do not count. Then one
line at a time is changed (`<` for `<=`, a lost `+ 1`, `||` for `&&`, ...), what depends on it is built, and the tests
run in their quick form until the first that fails. Each mutant gets one line:

    caught      the name of the test that failed
    compiler    it does not compile: warnings are errors
    same code   the compiler makes the same machine code of it
    SURVIVED    no test failed: either a test is missing, or the change changes nothing that can be seen

Exit 1 if one survived. N mutants of one seed are the same on every machine with the same tree. M processes, each with
its own FOLDER, take one share of them each; FOLDER/passing keeps the names of the tests that pass without a mutant.
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
import tokenize

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# the tests that run first for a file whose name begins so: they are the likely ones to see the change
FIRST = {"src/gpu/": "test_gpu test_windows test_layouts test_segments test_grids test_emulated test_devices",
         "src/io/": "test_csv_sh test_numbers test_netcdf_header test_netcdf_edges_sh test_netcdf_sh",
         "src/many/": "test_many", "src/cpu/exact/": "test_exact test_exact_sh",
         "src/cpu/keys/": "test_ranges test_keys test_by_sh",
         "src/cpu/": "test_bits test_lanes test_windows test_layouts test_inputs test_golden",
         "src/api/": "test_stream test_inputs test_ranges test_files test_layouts", "src/": "test_golden test_laws",
         "cli/": "test_cli_sh test_cli_inputs_sh test_cli_output_sh test_cli_fields_sh test_by_sh",
         "python/": "test_python_sh"}
# what is replaced (a regular expression), and by what
CHANGES = [(r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "),
           (r" != ", " == "), (r" && ", " || "), (r" \|\| ", " && "), (r" \+ 1\b(?![.\w])", ""),
           (r" - 1\b(?![.\w])", ""), (r"(?<=[\w)\]]) \+ (?=[\w(])", " - "), (r"(?<=[\w)\]]) - (?=[\w(])", " + "),
           (r"\bif \((?=[^;]*\) [a-z])", "if (0 && "), (r"\+\+", "--"), (r"(?<=[ (])!(?=[\w(])", "")]
PYTHON = [(r" and ", " or "), (r" or ", " and "), (r"\bnot (?!in\b)", ""), (r" is not ", " is "),
          (r" is (?!not\b)", " is not "), (r"\bif (?=.*:$)", "if False and "), *CHANGES[:6], *CHANGES[8:12]]
# without meaning for the tests: generated tables, and texts that only a GPU's compiler sees are tested there
SKIPPED = re.compile(r"\.def$|_words\.h$|^python/(tests|examples|make_stubs)")


def run(command, folder, seconds=None, **more):
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds, errors="replace",
                              **more)
    except subprocess.TimeoutExpired:
        return None


def code_of_c(path):
    """(number, text) of the lines that are code: no comment, no preprocessor; strings are blanked."""
    inside = False
    for number, line in enumerate(open(path, encoding="utf-8")):
        text = line
        if inside:
            inside = "*/" not in text
            continue
        if "/*" in text and "*/" not in text:
            inside = True
            continue
        if text.lstrip().startswith(("#", "//", "/*", "*")) or "assert" in text:
            continue
        text = re.sub(r'"(\\.|[^"\\])*"', lambda m: '"' + "_" * (len(m[0]) - 2) + '"', text)
        yield number, text.split("/*")[0]


def code_of_python(path):
    """As code_of_c(), of a text of Python."""
    lines = open(path, encoding="utf-8").readlines()
    with open(path, "rb") as f:
        for token in tokenize.tokenize(f.readline):
            if token.type not in (tokenize.STRING, tokenize.COMMENT):
                continue
            (first, begin), (last, end) = token.start, token.end
            for k in range(first - 1, last):
                a, b = begin if k == first - 1 else 0, end if k == last - 1 else len(lines[k]) - 1
                lines[k] = lines[k][:a] + "_" * (b - a) + lines[k][b:]
    return enumerate(line.rstrip(" _\n") if line.strip(" _\n") else "" for line in lines)


def places(root, folder="src/"):
    """Every change that could be made: (file, line, column, length, new text)."""
    found = []
    every = [os.path.join(root, folder, "**", f"*.{end}") for end in ("c", "h", "cl", "py")]
    files = sorted(f for each in every for f in glob.glob(each, recursive=True))
    for path in files:
        name = os.path.relpath(path, root)
        if SKIPPED.search(name):
            continue
        of_python = name.endswith(".py")
        for number, code in (code_of_python if of_python else code_of_c)(path):
            for old, new in PYTHON if of_python else CHANGES:
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


def described(tree, name, number, column, length, new):
    """One line that says what is changed: FILE:LINE: OLD   ->   NEW."""
    old = open(os.path.join(tree, name), encoding="utf-8").readlines()[number]
    return f"{name}:{number + 1}: {old.strip()}   ->   {(old[:column] + new + old[column + length:]).strip()}"


def build(tree, jobs):
    return run(["cmake", "--build", "build", "-j", str(jobs)], tree, 1800)


def code_of(tree):
    """A checksum of each of the library's objects (they are compiled without debugging information)."""
    return {path: hashlib.sha256(open(path, "rb").read()).hexdigest()
            for path in glob.glob(f"{tree}/build/CMakeFiles/**/*.o", recursive=True) if "/test" not in path}


def failure(tree, tests, jobs):
    """The first test of these that fails, or None."""
    pattern = "^(" + "|".join(map(re.escape, tests)) + ")$"
    done = run(["ctest", "--test-dir", "build", "-R", pattern, "-j", str(jobs), "--stop-on-failure", "--timeout",
                "300"], tree, 3600)
    if done is None:
        return "(no end)"
    failed = re.findall(r"Test +#\d+: (\S+) \.*\**(?:Failed|Timeout|Exception|\*\*\*)", done.stdout)
    return failed[0] if failed else None if done.returncode == 0 else "(ctest)"


def first_failure(tree, name, tests, jobs):
    """As failure(), with the tests that are likely to see a change of the file `name` before all others."""
    prefix = max((p for p in FIRST if name.startswith(p)), key=len)
    if not name.startswith("src/"):  # only scripts see it, and the package's own alone
        tests = [t for t in tests if t.endswith("_sh") and (t == "test_python_sh") == (prefix == "python/")]
    likely = [t for t in FIRST[prefix].split() if t in tests]
    rest = [t for t in tests if t not in likely]
    return (failure(tree, likely, jobs) if likely else None) or failure(tree, rest, jobs)


def passing(tree, jobs, skip):
    """The tests that pass without a mutant, the fastest first; kept beside the tree for the next run."""
    kept = os.path.join(os.path.dirname(tree), "passing")
    if not os.path.exists(kept):
        left_out = ["-E", skip] if skip else []
        done = run(["ctest", "--test-dir", "build", "-j", str(jobs), "--timeout", "300", *left_out], tree, 3600)
        timed = re.findall(r"Test +#\d+: (\S+) \.+ +Passed +([\d.]+) sec", done.stdout)
        names = [name for name, _ in sorted(timed, key=lambda t: float(t[1]))]
        open(kept, "w", encoding="utf-8").write("\n".join(names))
    return open(kept, encoding="utf-8").read().split()


def share(text):
    """K/M as two numbers, 0 <= K < M."""
    k, m = map(int, text.split("/"))
    if not 0 <= k < m:
        raise ValueError(text)
    return k, m


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--random", type=int, required=True, metavar="N", help="how many mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--under", default="src/", metavar="FOLDER", help="where lines are changed (default src/)")
    parser.add_argument("--jobs", type=int, default=int(os.environ.get("JOBS", os.cpu_count() or 1)))
    parser.add_argument("--share", type=share, default=(0, 1), metavar="K/M", help="mutants K, K + M, K + 2 M, ...")
    parser.add_argument("--cmake", action="append", default=[], metavar="OPTION", help="one more option of cmake")
    parser.add_argument("--again", metavar="REPORT", help="only the mutants that survived in this earlier report")
    parser.add_argument("--skip", metavar="TESTS", help="a regular expression of tests that do not run")
    parser.add_argument("folder", nargs="?", default="/tmp/tally-mutants")
    args = parser.parse_args()
    os.environ["TALLY_TEST_QUICK"] = "1"
    os.environ.setdefault("TALLY_TEST_SEED", str(args.seed))
    tree = os.path.join(args.folder, "tree")
    copy_tree(tree)
    launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    shared = "ON" if args.under.startswith("python") else "OFF"
    venv = os.path.join(ROOT, "build-python")
    if os.path.isdir(venv) and not os.path.exists(os.path.join(tree, "build-python")):
        os.symlink(venv, os.path.join(tree, "build-python"))  # pandas and others, with which more tests run
    run(["cmake", "-S", ".", "-B", "build", "-DTALLY_ISAS=avx2", "-DTALLY_WERROR=ON", f"-DBUILD_SHARED_LIBS={shared}",
         "-DCMAKE_C_FLAGS_RELEASE=-O1 -Wno-parentheses", "-DTALLY_CUDA_KERNELS=none", *launcher, *args.cmake], tree)
    built = build(tree, args.jobs)
    if built.returncode:
        sys.exit(f"{built.stdout[-2000:]}{built.stderr[-2000:]}\nthe tree does not build: cmake --build {tree}/build")
    tests = passing(tree, args.jobs, args.skip)
    print(f"{len(tests)} tests pass without a mutant; seed {args.seed}", flush=True)
    before = code_of(tree)
    chosen = random.Random(args.seed).sample(places(tree, args.under), args.random)
    if args.again:
        report = open(args.again, encoding="utf-8").read().splitlines()
        left = {line.split(None, 1)[1] for line in report if line.startswith("SURVIVED")}
        chosen = [c for c in chosen if described(tree, *c) in left]
    chosen = chosen[args.share[0]::args.share[1]]
    survived = 0
    for name, number, column, length, new in chosen:
        change = described(tree, name, number, column, length, new)
        path = os.path.join(tree, name)
        lines = open(path, encoding="utf-8").readlines()
        old = lines[number]
        lines[number] = old[:column] + new + old[column + length:]
        open(path, "w", encoding="utf-8").writelines(lines)
        built = build(tree, args.jobs)
        if built is None or built.returncode:
            what = "compiler"
        elif name.endswith((".c", ".h")) and not name.startswith("python/") and code_of(tree) == before:
            what = "same code"
        else:
            failed = first_failure(tree, name, tests, args.jobs)
            what = f"caught by {failed}" if failed else "SURVIVED"
            survived += not failed
        lines[number] = old
        open(path, "w", encoding="utf-8").writelines(lines)
        print(f"{what:32} {change}", flush=True)
    print(f"{survived} of {len(chosen)} survived")
    sys.exit(1 if survived else 0)


if __name__ == "__main__":
    main()
