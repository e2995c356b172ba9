#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What documents show is true. README.md, doc/start.md, doc/from.md and doc/inputs.md: a fenced block marked sh is run line by line
# in a folder of its own that has data/ and examples/; a line that ends in "# WORDS" must print WORDS as its first line. A block marked c is compiled and run; the
# words of a comment on its printf line are its output. A block marked python is run by test_python.sh. Of a block without a
# mark, which would install something or run everything, the first word of each line must be a file here or a known tool.
# README.md is short, and its pictures are what the tables say. The tables of doc/operators.md are what `tally ops` says.
# The headers: the examples in the comments of include/tally.h, tally_gpu.h, tally_keys.h, tally_stream.h and tally_file.h, each chapter's once, are
# compiled and run, and each of these headers compiles alone. An example is the lines after " * Example:" that are indented by four
# more columns. It must print what the // comments of its printf lines say.
set -uo pipefail
rm -rf readme && mkdir readme && cd readme || exit 1
ln -s "$TALLY_SOURCE/data" "$TALLY_SOURCE/examples" .
PATH=$(dirname "$TALLY_CLI"):$PATH
include=$TALLY_SOURCE/include
sanitize=${TALLY_SANITIZE:+-fsanitize=$TALLY_SANITIZE}
bad=0 commands=0 programs=0
fail() {
    echo "FAILED: $*"
    bad=1
}
shown=("$TALLY_SOURCE/README.md" "$TALLY_SOURCE/doc/start.md" "$TALLY_SOURCE/doc/from.md"
    "$TALLY_SOURCE/doc/inputs.md")
block() { awk -v mark="$1" '$0 == "```" mark { on = 1; next } /^```/ { on = 0 } on' "${shown[@]}"; }

while IFS= read -r line; do
    [ -n "$line" ] || continue
    commands=$((commands + 1))
    want=$(sed -nE 's/.*[^ ] +# (.*)$/\1/p' <<<"$line")
    out=$(bash -o pipefail -c "$line" 2>&1)
    code=$?
    [ $code -eq 0 ] || fail "exit $code: $line: $out"
    [ -z "$want" ] || [ "$(head -n 1 <<<"$out")" = "$want" ] || fail "'$line' printed '$(head -n 1 <<<"$out")'"
done < <(block sh)

awk '$0 == "```c" { on = 1; n++; next } /^```/ { on = 0 } on { print > ("program" n ".c") }' "${shown[@]}"
for source in program*.c; do
    programs=$((programs + 1))
    want=$(sed -nE 's,.*printf.*/\* (.*) \*/.*,\1,p' "$source")
    # shellcheck disable=SC2086
    "$CC" -std=c11 -Wall -Wextra -Werror $sanitize -I "$include" "$source" "$TALLY_BUILD/libtally.a" \
        -pthread -ldl -lm -o program ||
        { fail "$source does not compile"; continue; }
    out=$(./program) || fail "$source: exit $?"
    [ "$out" = "$want" ] || fail "$source printed '$out' instead of '$want'"
done

while IFS= read -r line; do
    for word in $(sed -E 's/#.*//; s/(&& )?(sudo )?([^ ]+)[^&]*/\3 /g' <<<"$line"); do
        case $word in
        make | cmake | pip | cc) ;;
        *) [ -x "$TALLY_SOURCE/$word" ] || fail "README.md: there is no $word, for '$line'" ;;
        esac
    done
done < <(awk '/^```/ { inside = !inside; plain = $0 == "```"; next } inside && plain' "${shown[0]}")
lines=$(wc -l <"${shown[0]}")
[ "$lines" -le 120 ] || fail "README.md has $lines lines: 120 is the limit"
if command -v python3 >/dev/null; then
    python3 "$TALLY_SOURCE/bench/charts.py" --check || fail "the pictures"
    [ -n "${TALLY_SANITIZE-}" ] || python3 "$TALLY_SOURCE/scripts/mkoperators" --check "$TALLY_CLI" || fail "doc/operators.md"
fi

[ $commands -gt 5 ] && [ $programs -gt 0 ] || fail "found $commands commands and $programs programs"

# ---- the headers ----
for header in tally.h tally_gpu.h tally_keys.h tally_stream.h tally_file.h; do
    echo "#include <$header>" >alone.c
    "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror -I "$include" -fsyntax-only alone.c || fail "$header does not compile alone"
done

# ---- one program: a function for each example, whose name is the chapter's number ----
{
    printf '#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <tally.h>\n'
    printf 'static float x[8] = {3, 1, 4, 1, 5, 9, 2, 6};\n'
    awk '/^\/\* ---- [0-9]+ / { chapter = $3 }
         /^ \* Example:/ { on = 1; print "static void chapter" chapter "(tally *ctx)\n{"; next }
         on && !/^ \*     / { on = 0; print "}" }
         on { last = sub(/ \*\/$/, ""); print substr($0, 4); if (last) { on = 0; print "}" } }' \
        "$include"/tally{,_gpu,_keys,_stream,_file}.h
} >examples.c
mapfile -t chapters < <(sed -nE 's/^static void chapter([0-9]+).*/\1/p' examples.c)
{
    printf 'int main(void)\n{\n    tally *ctx;\n    if (tally_open(&ctx, "cpu")) return 1;\n'
    for k in "${chapters[@]}"; do printf '    puts("chapter %s");\n    chapter%s(ctx);\n' "$k" "$k"; done
    printf '    tally_close(ctx);\n}\n'
} >main.c
# every chapter has one
want=$(cat "$include"/tally{,_gpu,_keys,_stream,_file}.h | sed -nE 's,^/\* ---- ([0-9]+) .*,\1,p')
[ "$want" = "$(printf '%s\n' "${chapters[@]}")" ] || fail "chapters with an example: ${chapters[*]}; all chapters: $(tr '\n' ' ' <<<"$want")"

cat examples.c main.c >program.c
# shellcheck disable=SC2086
"$CC" -std=c11 -Wall -Wextra -Wno-unused-parameter -Werror $sanitize -I "$include" program.c "$TALLY_BUILD/libtally.a" \
    -pthread -ldl -lm -o program || { fail "the examples do not compile"; exit 1; }
awk '/^static void chapter/ { sub(/^static void chapter/, "chapter "); sub(/\(.*/, ""); print; next }
     /printf\(.*\/\/ / { sub(/.*\/\/ /, ""); print }' examples.c >want.txt
./program >got.txt || fail "the examples end with $?"
diff -u --label "the comments" want.txt --label "what the examples print" got.txt || bad=1
# scripts/mkoperators with a build of few operators: a sentence
answer=$("$TALLY_SOURCE/scripts/mkoperators" --check false 2>&1)
[ $? -eq 1 ] && [[ $answer != *Traceback* && $answer == *"needs a build of every operator"* ]] || fail "mkoperators: $answer"

# scripts/demo: the part of the build that is done, on a terminal alone; what it prints itself fits 80 columns
sed -n '/^progress()/,/^}/p' "$TALLY_SOURCE/scripts/demo" >progress.sh
echo "printf '[  7%%] a.c\n[ 53%%] b.c\nwarning: 9%%\n' | progress" >>progress.sh
[ -z "$(bash progress.sh)" ] || fail "scripts/demo shows progress without a terminal"
if script -qec true /dev/null >/dev/null 2>&1; then
    script -qec 'bash progress.sh' /dev/null | grep -q '7 %.*53 %' || fail "scripts/demo shows no progress"
fi
long=$(grep -nE "^ *(title|echo) [\"']" "$TALLY_SOURCE/scripts/demo" | sed -E "s/^([0-9]+): *(title|echo) /\1: /" | awk 'length > 87')
[ -z "$long" ] || fail "scripts/demo has lines of more than 80 columns: $long"
[ $bad -eq 0 ] && echo "readme: $commands commands, $programs programs and ${#chapters[@]} examples of headers did what they say"
exit $bad
