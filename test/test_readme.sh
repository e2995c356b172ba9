#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs what README.md, doc/start.md, doc/from.md and doc/inputs.md show; README.md is short, and its pictures are what the tables say. A fenced block marked sh is run line by line in a folder of its own that has data/ and
# examples/; a line that ends in "# WORDS" must print WORDS as its first line. A block marked c is compiled and run; the
# words of a comment on its printf line are its output. A block marked python is run by test_python.sh. Of a block without a
# mark, which would install something or run everything, the first word of each line must be a file here or a known tool.
set -uo pipefail
rm -rf readme && mkdir readme && cd readme || exit 1
ln -s "$TALLY_SOURCE/data" "$TALLY_SOURCE/examples" .
PATH=$(dirname "$TALLY_CLI"):$PATH
bad=0 commands=0 programs=0
fail() {
    echo "readme: $*"
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
    sanitize=${TALLY_SANITIZE:+-fsanitize=$TALLY_SANITIZE}
    # shellcheck disable=SC2086
    "$CC" -std=c11 -Wall -Wextra -Werror $sanitize -I "$TALLY_SOURCE/include" "$source" "$TALLY_BUILD/libtally.a" \
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
fi

[ $commands -gt 5 ] && [ $programs -gt 0 ] || fail "found $commands commands and $programs programs"
[ $bad -eq 0 ] && echo "readme: $commands commands and $programs programs did what they say"
exit $bad
