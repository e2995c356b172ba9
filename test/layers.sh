#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The layers, read from the sources:
#   cli, bench, examples   of the project's headers see tally.h and their own folder's
#   ladder                 the same; cli sees its ladder.h and ceiling.h; only ladder/place.c, which runs its kernels, sees src/device
#   ladder/model           nothing but itself
#   src/op                 includes nothing
#   src/shape              never names a device; the operator dialect's prelude comes in through instance.h only
#   src/device             never names an operator: it reads ops.def, and gets plans
#   src/io                 sees no operator, shape or device
#   src                    every parallel region asks tl_threads (threads.h) how many threads there are
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

for f in cli/*.[ch] bench/*.c bench/*.h bench/*.cpp bench/*.cc examples/*.[ch] test/consumer/*.[ch]; do
    [ -f "$f" ] || continue
    for i in $(includes "$f"); do
        [ "$i" = tally.h ] && continue
        case $i in *src/* | ../*) broken "$f includes $i: only tally.h of the library is for it" ;; esac
        [ -f "src/$i" ] && [ ! -f "$(dirname "$f")/$i" ] && broken "$f includes $i, which is the library's own"
    done
done

for f in ladder/*.[ch] ladder/model/*.[ch]; do
    for i in $(includes "$f"); do
        case $f:$i in
        ladder/place.c:device/* | *:tally.h) ;;
        ladder/model/*:*) [ -f "ladder/model/$i" ] || case $i in *.h) [ -f "src/$i" ] && broken "$f includes $i: the model stands alone" ;; esac ;;
        *:device/* | *:shape/* | *:op/* | *:../*) broken "$f includes $i: only ladder/place.c sees inside the library" ;;
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

for f in src/op/*.h; do
    grep -nE '^ *# *include' "$f" | while read -r line; do echo "layers: $f:$line: an operator includes nothing"; done
    grep -qE '^ *# *include' "$f" && bad=1
done

for f in src/shape/*.[ch]; do
    for i in $(includes "$f"); do
        case $i in
        *device/prelude_*)
            [ "$f" = src/shape/instance.h ] || broken "$f includes $i: the prelude comes in through instance.h"
            ;;
        *device/*) broken "$f includes $i: a shape knows no device" ;;
        *op/*) broken "$f includes $i: a shape knows no operator" ;;
        esac
    done
done

operators=$(sed -nE 's/^OPERATOR(_ALSO)?\(([a-z0-9_]+), *([a-z0-9_]+),.*/\2\n\3/p' src/op/ops.def | sort -u)
[ -n "$operators" ] || broken "no operator found in src/op/ops.def"
for f in src/device/*.[ch]; do
    for i in $(includes "$f"); do
        case $i in *op/ops.def | *op/forms.def) ;; *op/*) broken "$f includes $i: a device names no operator" ;; esac
    done
    for op in $operators; do
        grep -nE "\"(nan)?$op\"" "$f" | while read -r line; do echo "layers: $f:$line: a device names no operator"; done
        grep -qE "\"(nan)?$op\"" "$f" && bad=1
    done
done

for f in src/io/*.[ch]; do
    for i in $(includes "$f"); do
        case $i in *op/* | *shape/* | *device/*) broken "$f includes $i: files know elements only" ;; esac
    done
done

while read -r line; do broken "$line: a parallel region that does not ask tl_threads"; done < <(
    grep -nE '^ *# *pragma +omp +(parallel|task|target|teams)|_Pragma\("omp' src/*.[ch] src/{shape,device,io}/*.[ch] |
        grep -vE 'omp parallel .*num_threads\(tl_threads\(|^src/threads\.c:')

for f in src/op/*.h; do
    name=$(basename "$f" .h)
    grep -qE "^OPERATOR(_ALSO)?\([a-z0-9_]+, *$name," src/op/ops.def || broken "$f has no row in src/op/ops.def"
done

[ $bad -eq 0 ] && echo "layers: kept"
exit $bad
