#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The Python package, with what is here: the extension over the shared library of this build, and python/tests/quick.py.
# Before it the lines of README.md. Then, where scripts/test-python has left an environment with pandas, Polars, pyarrow and xarray, the
# tests of tables and fields, in which the lines of doc/from.md are. Nothing is downloaded; scripts/test-python is the whole test.
# Skipped where no Python has headers.
set -uo pipefail
library=$TALLY_BUILD/libtally.so
[ -e "$library" ] || { echo "skipped: this build has no shared library"; exit 77; }
python=
for each in python3 /usr/bin/python3; do
    include=$("$each" -c 'import sys, sysconfig
assert sys.version_info >= (3, 11)
print(sysconfig.get_path("include"))' 2>/dev/null) || continue
    [ -e "$include/Python.h" ] && python=$each && break
done
[ -n "$python" ] || { echo "skipped: no Python of 3.11 or later with headers (python3-dev)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tally"
cp "$TALLY_SOURCE"/python/tally/* "$work/tally/"

cd "$TALLY_SOURCE/python/extension" || exit 1
warnings='-Wall -Wextra -Wshadow -Wno-unused-parameter -Wno-missing-field-initializers -Werror'
printf '%s\n' *.c | xargs -P 2 -I{} "$CC" -std=gnu11 -O1 -fPIC -fvisibility=hidden $warnings -DPy_LIMITED_API=0x030B0000 \
    -I"$include" -I"$TALLY_SOURCE/include" -c {} -o "$work/{}.o" || exit 1
"$CC" -shared "$work"/*.o -o "$work/tally/_core.abi3.so" "$library" "-Wl,-rpath,$TALLY_BUILD" || exit 1
cd "$work" || exit 1
export PYTHONPATH=$work PYTHONDONTWRITEBYTECODE=1
"$python" - "$TALLY_SOURCE/README.md" <<'END' || exit 1
import doctest, sys
failed, tried = doctest.testfile(sys.argv[1], module_relative=False)
sys.exit(f"README.md: {failed} of {tried} lines of Python" if failed or tried < 5 else 0)
END
"$python" -X faulthandler "$TALLY_SOURCE/python/tests/quick.py" || exit 1
# keys of 32 bytes whose two hashes are equal under the secret 0, 1 (encode_source.c), which the library below makes the
# secret of every table: they stay two groups
echo 'long getrandom(void *p, unsigned long n, unsigned f) { __builtin_memset(p, 0, n); return (long)n; }' >secret.c
"$CC" -shared -fPIC -O1 secret.c -o secret.so || exit 1
LD_PRELOAD=$work/secret.so "$python" - <<'END' || exit 1
import struct, sys
import tally
a, b, c = (struct.pack("<4Q", 32, p << 56, 0, q << 56) for p, q in ((5, 6), (6, 5), (5, 7)))
keys = memoryview(a + b + a + c + b).cast("B", (5, 32))
codes, first, _ = tally._core.encode(keys, "numbers", None, False)
sys.exit(None if (list(codes), list(first)) == ([0, 1, 0, 2, 1], [0, 1, 3]) else f"equal hashes: {list(codes)}")
END
tests="$TALLY_SOURCE/python/tests"
for each in "$python" "$TALLY_SOURCE"/build-python/venv-3*/bin/python; do
    "$each" -c 'import dask, hypothesis, numpy, pandas, polars, pyarrow, pytest, xarray' 2>/dev/null || continue
    TALLY_EXAMPLES=30 "$each" -X faulthandler -m pytest -q -p no:cacheprovider "$tests"/test_{tables,time_values,xarray,command,device}.py \
        "$tests/test_docs.py" -k 'not stubs and not notebook and not example'
    exit
done
