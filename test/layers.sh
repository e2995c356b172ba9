#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The layers, read from the sources:
#   cli, bench, examples, python, sql   of the project's headers see tally.h and their own folder's; only bench/law.c, which executes the law
#                          beside a timed call, and cli/error.c, for its hints, see inside the library
#   ladder                 the same; cli sees its ladder.h and ceiling.h; only ladder/place_gpu.c, which runs its kernels, sees src/gpu
#   ladder/model           nothing but itself
#   src                    a folder sees those that the table of src/README.md lists for it, and no other
#   src/cpu, src/gpu       never name an operator: they get plans
#   src                    every parallel region asks tl_threads (context/threads.h) how many threads there are
#   everything             reads its operators from ops.def: no list of them anywhere else
#   no circles             who calls a function of another file is not called by it, over any number of steps. Read from the objects
#                          of the library (nm), where there are some, by tsort, which can order the files only then. The instances of
#                          operators are tables and stand for themselves
# TALLY_SOURCE: the tree to look at (default: the one this script is in). TALLY_BUILD: where it was built.
set -uo pipefail
cd "${TALLY_SOURCE:-$(dirname "$0")/..}" || exit 1
bad=0
broken() {
    echo "layers: $*"
    bad=1
}
# includes FILE...: a line "FILE INCLUDED" for each thing included in quotes or in angle brackets. One awk reads all the
# files: a process for each of them takes a hundred times as long.
includes() {
    awk '/^ *# *include *["<]/ { sub(/^[^"<]*["<]/, ""); sub(/[">].*/, ""); print FILENAME, $0 }' "$@" </dev/null
}

shopt -s nullglob
while read -r f i; do
    case $i in tally.h | tally_digits.h | ../rows.h) continue ;; esac # rows.h: sql/ has it for its engines
    case $f:$i in bench/law.c:law/* | bench/law.c:context/* | cli/error.c:context/context.h) continue ;; esac
    case $i in *src/* | ../*) broken "$f includes $i: only tally.h of the library is for it" ;; esac
    [ -f "src/$i" ] && [ ! -f "${f%/*}/$i" ] && broken "$f includes $i, which is the library's own"
done < <(includes cli/*.[ch] python/extension/*.[ch] bench/*.c bench/*.h bench/*.cpp bench/*.cc examples/*.[ch] test/consumer/*.[ch] \
    sql/*.[ch] sql/*/*.[ch])

while read -r f i; do
    case $f:$i in
    ladder/place_gpu.c:gpu/* | ladder/place_gpu.c:store/* | *:tally.h) ;;
    ladder/host.c:context/threads.h | ladder/ceiling.c:context/threads.h) ;; # loops on the library's threads
    ladder/lesson/page.c:context/threads.h) ;; # it has its own of these
    ladder/model/launch.c:context/threads.h) ;;
    ladder/model/*:*) [ -f "ladder/model/$i" ] || case $i in *.h) [ -f "src/$i" ] && broken "$f includes $i: the model stands alone" ;; esac ;;
    *:gpu/* | *:cpu/* | *:op/* | *:../*) broken "$f includes $i: only ladder/place_gpu.c sees inside the library" ;;
    *) [ -f "src/$i" ] && [ ! -f "ladder/$i" ] && broken "$f includes $i, which is the library's own" ;;
    esac
done < <(includes ladder/*.[ch] ladder/model/*.[ch] ladder/lesson/*.[ch])
rungs=$(sed -nE 's/^RUNG\(([a-z]+), +([a-z0-9_]+),.*/\1\/\2/p' ladder/rungs.def)
texts=$(sed -nE 's/^==== ([a-z0-9_/]+)\.(cl|txt)$/\1/p' ladder/rungs/*)
while read -r row; do broken "$row is not both in ladder/rungs.def and in ladder/rungs/"; done < <(
    sort <(echo "$rungs") <(echo "$texts") | uniq -u)
for what in teaches source 'look at'; do
    while read -r text; do broken "ladder/rungs/: $text does not say what it teaches, its source and what to look at"; done < <(
        awk -v what="$what: " '/^==== / { if (name) print name; name = $2 } index($0, what) { name = "" }
            END { if (name) print name }' ladder/rungs/*)
done

# A folder of src/, and the folders whose headers its files may include beside their own: the first and the last column
# of the table in src/README.md.
declare -A sees=()
while IFS='|' read -r _ folder _ list _; do
    folder=${folder//[\` ]/} list=${list//\`/}
    [ -d "src/$folder" ] || broken "src/README.md has a row for $folder, which is no folder"
    [ -z "${sees[${folder%/}]+is}" ] || broken "src/README.md has two rows for $folder"
    sees[${folder%/}]=$list
done < <(sed '/^## /q' src/README.md | grep '^| `')
[ ${#sees[@]} -gt 20 ] || broken "src/README.md has no table of the folders"
for folder in "${!sees[@]}"; do
    for seen in ${sees[$folder]}; do
        [ "$seen" = nothing ] || [ -n "${sees[$seen]+is}" ] || broken "src/README.md: $folder sees $seen, which has no row"
    done
done
files=$(find src -name '*.[ch]' -o -name '*.def' -o -name '*.cl')
for f in $files; do
    folder=${f#src/} folder=${folder%/*}
    [ -n "${sees[$folder]+is}" ] || broken "$f is in no folder of the table in src/README.md"
done
while read -r f i; do
    [[ $i == ../* ]] && broken "$f includes $i: a path begins at src/"
    folder=${f#src/} folder=${folder%/*}
    [ -n "${sees[$folder]+is}" ] && [ -f "src/$i" ] || continue # tally.h, the system's
    [ "$folder/${i##*/}" = "$i" ] && { broken "$f includes $i by the name of its own folder"; continue; }
    case $folder:$i in
    op:*) broken "$f includes $i: an operator includes nothing" ;;
    *) [[ " ${sees[$folder]} " == *" ${i%/*} "* ]] || broken "$f includes $i: $folder does not see ${i%/*} (src/README.md)" ;;
    esac
done < <(includes $files)
for d in $(find src -mindepth 1 -type d); do
    name=${d#src/} readme=src/${name%%/*}/README.md
    if [ -f "$readme" ]; then name=${name#*/}; else readme=src/README.md; fi
    [ "$readme" = "$d/README.md" ] || grep -qE "^##+ $name/: " "$readme" || broken "$readme has no heading of $d"
    [ $d = src/op ] && continue # one file for each operator, on purpose
    [ "$(find "$d" -maxdepth 1 -type f ! -name README.md | wc -l)" -le 25 ] || broken "$d has more than 25 files"
done

operators=$(sed -nE 's/^OPERATOR(_ALSO)?\(([a-z0-9_]+), *([a-z0-9_]+),.*/\2\n\3/p' src/op/ops.def | sort -u)
[ -n "$operators" ] || broken "no operator found in src/op/ops.def"
while read -r f i; do
    case $i in op/forms.def) ;; op/*) broken "$f includes $i: a device names no operator" ;; esac
done < <(includes $(find src/cpu src/gpu -name '*.[ch]'))
while read -r line; do broken "$line: a device names no operator"; done < <(
    grep -rnE --include='*.[ch]' "\"(nan)?(${operators//$'\n'/|})\"" src/cpu src/gpu)

while read -r line; do broken "$line: threads are those of context/threads.h"; done < <(
    grep -nE '^# *pragma +omp|_Pragma\("omp|pthread_create\(' $(find src cli ladder python -name '*.[ch]') |
        grep -vE '^src/(context/threads|gpu/cuda/code|io/compressed)\.c:')

while read -r f i; do broken "$f includes $i: an operator includes nothing"; done < <(includes src/op/*.h)
while read -r name; do broken "src/op/$name.h has no row in src/op/ops.def"; done < <(
    comm -13 <(sed -nE 's/^OPERATOR(_ALSO)?\([a-z0-9_]+, *([a-z0-9_]+),.*/\2/p' src/op/ops.def | sort -u) \
        <(basename -s .h src/op/*.h | sort))

# order ARROWS WHAT: the order in which no arrow leads upwards, or the circles
order() {
    tsort "$1" >"$work/order" 2>"$work/loops"
    [ ! -s "$work/loops" ] || broken "circles of $2: $(sed 's/^tsort: //' "$work/loops" | xargs)"
    echo "$(wc -l <"$work/order") $2, $(wc -l <"$1") arrows; those above first: $(xargs <"$work/order")"
}
objects=${TALLY_BUILD-}/CMakeFiles/tally_objects.dir/src
if [ -d "$objects" ] && command -v nm tsort >/dev/null; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    # an object whose source is gone is left over from another state of this build
    source=$PWD
    (cd "$objects" && find . -name '*.c.o' | while read -r o; do [ -f "$source/src/${o%.o}" ] && echo "$o"; done | xargs nm -A 2>/dev/null) | awk '
        { split($1, part, ":"); file = part[1]; sub(/^\.\//, "", file); sub(/\.c\.o$/, "", file) }
        $(NF - 1) == "U" { uses[file " " $NF] = 1; next }
        $(NF - 1) ~ /[A-Z]/ { owner[$NF] = file }
        END { for (u in uses) { split(u, p, " "); if (p[2] in owner && owner[p[2]] != p[1]) print p[1], owner[p[2]] } }' |
        sort -u >"$work/files"
    sed -E 's#(^| )([^ ]*)/[^/ ]+#\1\2#g' "$work/files" | awk '$1 != $2' | sort -u >"$work/folders"
    [ "$(wc -l <"$work/files")" -gt 50 ] || broken "the objects in $objects say nothing"
    order "$work/files" files
    order "$work/folders" folders
fi

[ $bad -eq 0 ] && echo "layers: kept"
exit $bad
