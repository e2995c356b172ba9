#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The layers, read from the sources:
#   cli, bench, examples, python   of the project's headers see tally.h and their own folder's; only bench/law.c, which executes the law
#                          beside a timed call, sees inside the library
#   ladder                 the same; cli sees its ladder.h and ceiling.h; only ladder/place.c, which runs its kernels, sees src/gpu
#   ladder/model           nothing but itself
#   src                    a room sees those that the table below gives it, and no other
#   src/cpu, src/gpu       never name an operator: they get plans
#   src                    every parallel region asks tl_threads (context/threads.h) how many threads there are
#   everything             reads its operators from ops.def: no list of them anywhere else
# TALLY_SOURCE: the tree to look at (default: the one this script is in).
set -uo pipefail
cd "${TALLY_SOURCE:-$(dirname "$0")/..}" || exit 1
bad=0
broken() {
    echo "layers: $*"
    bad=1
}
# includes FILE: what it includes in quotes or, of tally's own, in angle brackets
includes() { sed -nE 's/^ *# *include *["<]([^">]+)[">].*/\1/p' "$1"; }

for f in cli/*.[ch] python/extension/*.[ch] bench/*.c bench/*.h bench/*.cpp bench/*.cc examples/*.[ch] test/consumer/*.[ch]; do
    [ -f "$f" ] || continue
    for i in $(includes "$f"); do
        [ "$i" = tally.h ] && continue
        case $f:$i in bench/law.c:law/* | bench/law.c:context/*) continue ;; esac
        case $i in *src/* | ../*) broken "$f includes $i: only tally.h of the library is for it" ;; esac
        [ -f "src/$i" ] && [ ! -f "$(dirname "$f")/$i" ] && broken "$f includes $i, which is the library's own"
    done
done

for f in ladder/*.[ch] ladder/model/*.[ch]; do
    for i in $(includes "$f"); do
        case $f:$i in
        ladder/place.c:gpu/* | ladder/place.c:store/* | *:tally.h) ;;
        ladder/model/*:*) [ -f "ladder/model/$i" ] || case $i in *.h) [ -f "src/$i" ] && broken "$f includes $i: the model stands alone" ;; esac ;;
        *:gpu/* | *:cpu/* | *:op/* | *:../*) broken "$f includes $i: only ladder/place.c sees inside the library" ;;
        *) [ -f "src/$i" ] && [ ! -f "ladder/$i" ] && broken "$f includes $i, which is the library's own" ;;
        esac
    done
done
for row in $(sed -nE 's/^RUNG\(([a-z]+), +([a-z0-9_]+),.*/\1\/\2/p' ladder/rungs.def); do
    [ -f "ladder/$row.cl" ] || [ -f "ladder/$row.txt" ] || broken "ladder/rungs.def has $row, and there is no such file"
done
for f in ladder/{reduce,scan,window,transpose,histogram}/*; do
    name=${f#ladder/}
    grep -qE "^RUNG\(${name%%/*}, +$(basename "${name%.*}")," ladder/rungs.def || broken "$f has no row in ladder/rungs.def"
    grep -q 'teaches: ' "$f" && grep -q 'source: ' "$f" && grep -q 'look at: ' "$f" || broken "$f does not say what it teaches, its source and what to look at"
done

# A room, and the rooms whose headers it may include. `op` includes nothing: its tables are read by others.
declare -A sees=(
    [op]=''
    [dtype]=''
    [operator]=''
    [store]=''
    [law]='operator'
    [exact]='operator'
    [context]='op dtype operator law exact'
    [cpu/kernel]='dtype operator law'
    [cpu/elements]='dtype operator cpu/kernel'
    [cpu]='op dtype operator law exact store context cpu/kernel'
    [cpu/exact]='dtype operator law exact context cpu cpu/kernel cpu/keys'
    [cpu/keys]='dtype operator law context cpu'
    [cpu/grid]='operator law context cpu'
    [cpu/inputs]='dtype operator law exact context cpu cpu/keys cpu/grid'
    [gpu/kernel]=''
    [gpu/kernel/inputs]=''
    [gpu/kernel/exact]=''
    [gpu]='dtype operator law exact store context gpu/kernel'
    [gpu/pieces]='operator law exact context gpu'
    [gpu/cuda]='store context gpu'
    [gpu/opencl]='store context gpu'
    [many]='operator law context'
    [api]='op dtype operator law exact store context cpu cpu/exact cpu/keys cpu/grid cpu/inputs many'
    [io]='dtype law store context'
)
for f in $(find src -name '*.[ch]' -o -name '*.def' -o -name '*.cl'); do
    room=$(dirname "${f#src/}")
    [ -n "${sees[$room]+is}" ] || { broken "$f is in no room of the table in test/layers.sh"; continue; }
    for i in $(includes "$f"); do
        [ -f "src/$i" ] || continue # tally.h, the system's
        [ "$room/$(basename "$i")" = "$i" ] && { broken "$f includes $i by the name of its own room"; continue; }
        case $room:$i in
        op:*) broken "$f includes $i: an operator includes nothing" ;;
        *) [[ " ${sees[$room]} " == *" $(dirname "$i") "* ]] || broken "$f includes $i: $room does not see $(dirname "$i") (test/layers.sh)" ;;
        esac
    done
    for i in $(includes "$f"); do
        [[ $i == ../* ]] && broken "$f includes $i: a path begins at src/"
    done
done
for d in $(find src -mindepth 1 -type d); do
    [ -f "$d/README.md" ] || broken "$d has no README.md"
    [ $d = src/op ] && continue # one file for each operator, on purpose
    [ "$(find "$d" -maxdepth 1 -type f ! -name README.md | wc -l)" -le 25 ] || broken "$d has more than 25 files"
done

operators=$(sed -nE 's/^OPERATOR(_ALSO)?\(([a-z0-9_]+), *([a-z0-9_]+),.*/\2\n\3/p' src/op/ops.def | sort -u)
[ -n "$operators" ] || broken "no operator found in src/op/ops.def"
for f in $(find src/cpu src/gpu -name '*.[ch]'); do
    for i in $(includes "$f"); do
        case $i in op/forms.def) ;; op/*) broken "$f includes $i: a device names no operator" ;; esac
    done
    for op in $operators; do
        grep -nE "\"(nan)?$op\"" "$f" | while read -r line; do echo "layers: $f:$line: a device names no operator"; done
        grep -qE "\"(nan)?$op\"" "$f" && bad=1
    done
done

while read -r line; do broken "$line: a parallel region that does not ask tl_threads"; done < <(
    grep -nE '^ *# *pragma +omp +(parallel|task|target|teams)|_Pragma\("omp' $(find src -name '*.[ch]') |
        grep -vE 'omp parallel .*num_threads\(tl_threads\(|^src/context/threads\.c:')

for f in src/op/*.h; do
    [ -z "$(includes "$f")" ] || broken "$f includes $(includes "$f" | head -n 1): an operator includes nothing"
    name=$(basename "$f" .h)
    grep -qE "^OPERATOR(_ALSO)?\([a-z0-9_]+, *$name," src/op/ops.def || broken "$f has no row in src/op/ops.def"
done

[ $bad -eq 0 ] && echo "layers: kept"
exit $bad
