#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/docs builds the site: every page, the references, no request to the network, no broken link; a link that leads
# nowhere is seen. Skipped with the reason where MkDocs, Material or Doxygen are missing.
set -uo pipefail
command -v python3 >/dev/null || { echo "skipped: python3 is not here"; exit 77; }
[ -z "${TALLY_SANITIZE-}" ] || { echo "skipped: the site is the same with sanitizers"; exit 77; }
bad=0
fail() {
    echo "FAILED: $*"
    bad=1
}
rm -rf site copy
mkdir site
answer=$(OUT=$PWD/site "$TALLY_SOURCE/scripts/docs" 2>&1)
code=$?
[ $code -ne 77 ] || { echo "$answer"; exit 77; }
[ $code -eq 0 ] || fail "exit $code: $answer"
for page in index doc/start reference/cli reference/c reference/python c/tally_8h doc/order python/index search/search_index; do
    [ -s "site/site/$page.html" ] || [ -s "site/site/$page.js" ] || fail "there is no page $page"
done
for word in '>doctor' 'tally doctor: what is here'; do grep -q "$word" site/site/reference/cli.html || fail "cli: no $word"; done
for word in 'id="cumulative_sum"' 'id="nanmean"' 'id="fragmentresult"\|id="fragment"'; do
    grep -q "$word" site/site/reference/python.html || fail "python: no $word"
done
cat site/site/c/*_8h.html | grep -oE 'tally_[a-z0-9_]+' | LC_ALL=C sort -u >names.txt
grep -vE '^(#|$)' "$TALLY_SOURCE/test/symbols.txt" | LC_ALL=C sort | LC_ALL=C comm -23 - names.txt >lost.txt
[ -s lost.txt ] && fail "c: not in the reference: $(xargs <lost.txt)"

# a broken link and a broken heading
mkdir copy
(cd "$TALLY_SOURCE" && tar c --exclude=build-docs scripts/docs doc ladder python examples include reference bench/results src/op test/consumer data packaging \
    README.md SECURITY.md CHANGELOG.md CONTRIBUTING.md LICENSE) | tar x -C copy
ln -s "$TALLY_SOURCE/build-docs" copy/build-docs
printf '\n[nowhere](no-such-file.c)\n' >>copy/doc/start.md
OUT=$PWD/site2 copy/scripts/docs >out.txt 2>&1 && fail "a link to no file is not seen"
grep -q 'no-such-file' out.txt || fail "the link is not named: $(cat out.txt)"
cp "$TALLY_SOURCE/doc/start.md" copy/doc/start.md
printf '\n[nowhere](windows.md#no-such-heading)\n' >>copy/doc/start.md
OUT=$PWD/site2 copy/scripts/docs >out.txt 2>&1 && fail "a link to no heading is not seen"
grep -q 'no-such-heading' out.txt || fail "the heading is not named: $(cat out.txt)"
rm -rf site site2 copy
[ $bad -eq 0 ] && echo "$answer"
exit $bad
