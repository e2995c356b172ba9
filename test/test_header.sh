#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compiles and runs the examples in the comments of include/tally.h, tally_gpu.h, tally_stream.h and tally_file.h, each chapter's once, and compiles
# each of these headers alone. An example is the lines after " * Example:" that are indented by four more columns. It must print what
# the // comments of its printf lines say.
set -uo pipefail
rm -rf header && mkdir header && cd header || exit 1
include=$TALLY_SOURCE/include
bad=0
fail() {
    echo "header: $*"
    bad=1
}
sanitize=${TALLY_SANITIZE:+-fsanitize=$TALLY_SANITIZE}

for header in tally.h tally_gpu.h tally_stream.h tally_file.h; do
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
        "$include"/tally{,_gpu,_stream,_file}.h
} >examples.c
mapfile -t chapters < <(sed -nE 's/^static void chapter([0-9]+).*/\1/p' examples.c)
{
    printf 'int main(void)\n{\n    tally *ctx;\n    if (tally_open(&ctx, "cpu")) return 1;\n'
    for k in "${chapters[@]}"; do printf '    puts("chapter %s");\n    chapter%s(ctx);\n' "$k" "$k"; done
    printf '    tally_close(ctx);\n}\n'
} >main.c
# every chapter has one
want=$(cat "$include"/tally{,_gpu,_stream,_file}.h | sed -nE 's,^/\* ---- ([0-9]+) .*,\1,p')
[ "$want" = "$(printf '%s\n' "${chapters[@]}")" ] || fail "chapters with an example: ${chapters[*]}; all chapters: $(tr '\n' ' ' <<<"$want")"

cat examples.c main.c >program.c
# shellcheck disable=SC2086
"$CC" -std=c11 -Wall -Wextra -Wno-unused-parameter -Werror $sanitize -I "$include" program.c "$TALLY_BUILD/libtally.a" \
    -pthread -ldl -lm -o program || { fail "the examples do not compile"; exit 1; }
awk '/^static void chapter/ { sub(/^static void chapter/, "chapter "); sub(/\(.*/, ""); print; next }
     /printf\(.*\/\/ / { sub(/.*\/\/ /, ""); print }' examples.c >want.txt
./program >got.txt || fail "the examples end with $?"
diff -u --label "the comments" want.txt --label "what the examples print" got.txt || bad=1
[ $bad -eq 0 ] && echo "header: ${#chapters[@]} examples printed what they say"
exit $bad
