# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What the scripts that test the command line share. They source it with the binary as $1 or in TALLY_CLI.
#
#   ok COMMAND EXPECTED            exit 0, standard output exactly EXPECTED, nothing on standard error
#   says COMMAND EXPECTED          exit 0, standard error exactly EXPECTED
#   bad CODE COMMAND EXPECTED      exit CODE, standard error exactly EXPECTED
#   has COMMAND PATTERN            exit 0, output matches the extended regular expression
#   same COMMAND OTHER             ok, and the output is that of OTHER
#   data COMMAND EXPECTED          tally COMMAND -o o.nc, and that file as ncdump shows it
#   verdict NAME CODE DETAIL       counts a check that the caller made: CODE 0 is good
#   finish                         the count; fails if anything did
#   few N SMALL                    N; SMALL with a sanitizer, which finds in less what it finds
# Commands run in a folder of their own ($work/run), where `tally` is the binary and the small .npy files are (below).
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
binary=${1:-${TALLY_CLI:?usage: SCRIPT TALLY}}
binary=$(cd "$(dirname "$binary")" && pwd)/$(basename "$binary")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/run" && ln -s "$binary" "$work/bin/tally"
export PATH=$work/bin:$PATH LC_ALL=C
unset TALLY_DEVICE TALLY_THREADS TALLY_ISA
cd "$work/run" || exit 1
# the small .npy files that the scripts read, with nothing but struct
python3 - <<'END' || exit 1
import struct

def npy(name, descr, shape, data, fortran=False):
    head = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape)
    head += " " * (-(10 + len(head) + 1) % 64) + "\n"
    with open(name, "wb") as f:
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
END
passed=0 failed=0

verdict() # NAME GOOD DETAIL
{
    if [ "$2" -eq 0 ]; then passed=$((passed + 1)); return; fi
    failed=$((failed + 1))
    printf 'FAILED %s\n%s\n' "$1" "$3"
}
# A subshell, not a shell of its own, which takes most of a check's time to begin.
run() { (set +u; set -o pipefail; eval "$1") </dev/null; } # COMMAND
check() # CODE COMMAND FILE EXPECTED: runs, compares the code and one stream; the other must be silent when CODE is 0
{
    local code quiet=0 got
    run "$2" >"$work/out" 2>"$work/err"
    code=$?
    if [ "$3" = out ] && [ -s "$work/err" ]; then quiet=1; fi
    ! IFS= read -r -d '' got <"$work/$3" && [ "$code" -eq "$1" ] && [ $quiet -eq 0 ] && # (read ends at a zero byte)
        [ "$got" = "$4${4:+$'\n'}" ] && { passed=$((passed + 1)); return; }
    verdict "$2" 1 "exit $code, wanted $1; difference in std$3:
$(printf '%s' "$4${4:+$'\n'}" | diff - "$work/$3" | head -20) $(head -3 "$work/err")"
}
ok() { check 0 "$1" out "$2"; }
says() { check 0 "$1" err "$2"; }
bad() { check "$1" "$2" err "$3"; }
has()
{
    run "$1" >"$work/out" 2>&1 && grep -Eq -- "$2" "$work/out"
    verdict "$1 ~ $2" $? "$(head -5 "$work/out")"
}
same() { ok "$1" "$(run "$2" 2>&1)"; } # two commands, one output
# the NetCDF file that a command writes, without the attributes of the file: data COMMAND EXPECTED
data()
{
    local plain="paste -sd' ' | tr -s ' \\t' ' ' | sed 's, // global attributes: .* data:, data:,'"
    ok "tally $1 -o o.nc && ncdump -n o o.nc | $plain" "$2"
}
t=$'\t'
few() { if [ -n "${TALLY_TEST_QUICK-}" ]; then echo "$2"; else echo "$1"; fi; }
finish() { echo "$passed passed, $failed failed"; [ "$failed" -eq 0 ]; }
