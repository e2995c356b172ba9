#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tally ladder on the command line: the tables, exit codes, --json, --html, show, break, try, diff; the page in a browser where there is
# one; every rung on an OpenCL device where there is one.
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
tally=$TALLY_CLI
passed=0 failed=0
verdict() { # NAME GOOD DETAIL
    if [ "$2" -eq 0 ]; then passed=$((passed + 1)); return; fi
    failed=$((failed + 1))
    printf 'FAILED %s: %s\n' "$1" "${3-}" | head -20
}
code() { # CODE COMMAND...: exit code
    local want=$1 got
    shift
    "$@" >out 2>err </dev/null
    got=$?
    [ $got -eq "$want" ]
    verdict "$*" $? "exit $got, wanted $want: $(head -3 err)"
}
has() { # PATTERN FILE
    grep -Eq -- "$1" "$2"
    verdict "$2 has $1" $? "$(head -5 "$2")"
}
rungs() { sed -nE "s/^RUNG\\($1, +([a-z0-9_]+),.*/\\1/p" "$TALLY_SOURCE/ladder/rungs.def"; }

# ---- the tables ----
code 0 "$tally" ladder --device model --n 5000 --runs 1 --json r.json --html r.html
cp out table
for shape in reduce scan window; do
    for rung in $(rungs $shape); do has "^$rung +" table; done
done
has '^better +1024 1024 512 256 128 64 32 16\* 8\* 4\* 2\* 1\* 1\*$' table
has '^reduce5 +caught, as it should be: line [0-9]+: race' table
tr -s '\n ' ' ' <table >words
has 'after 1e16 [0-9]+ windows are wrong, after an inf' words
has '^reduce1 +5.28 +-$' table
has '^naive +32w 32w 32w 32w 32w 32w 32w1 16w1 8w1 4w1 2w1 1w 1w$' table # one productive thread per warp
has '^reduce1 +8w 8w 8w 8w 8w 8w1 4w1 2w1 1w 1w$' table
has '^reduce2 +8w 4w 2w 1w 1w 1w 1w 1w 1w 1w$' table
for columns in 80 160; do
    COLUMNS=$columns "$tally" ladder reduce --device model --n 5000 --runs 1 >out
    LC_ALL=C awk -v most=$columns '{ gsub(/[\200-\277]/, ""); if (length($0) > most) { print length($0) ": " $0; bad = 1 } } END { exit bad }' out
    verdict "the table fits $columns columns" $? "$(cat out | head -12)"
done
code 0 "$tally" ladder reduce --device model --n 0 --runs 0
code 0 "$tally" ladder scan --device model --n 1000 --runs 0 --op max --dtype u64
code 0 "$tally" ladder window --device model --n 1000 --runs 0 -w 1000 --dtype f64

# ---- usage ----
code 2 "$tally" ladder reduze
has "did you mean 'reduce'" err
code 2 "$tally" ladder --warp 24 --device model
has 'warp is 24 and must be a power of two' err
code 2 "$tally" ladder --rung tiled_5
code 2 "$tally" ladder window --dtype i32 --device model
code 2 "$tally" ladder show
code 2 "$tally" ladder show nothing
code 2 "$tally" ladder --dtype i8
code 3 "$tally" ladder --device cuda:99
code 3 "$tally" ladder --device cpu
code 1 "$tally" ladder --device model --n 100 --runs 0 --json /nowhere/x.json
code 1 "$tally" ladder diff r.json nothing.json
code 1 "$tally" ladder diff r.html r.json

# ---- JSON ----
python3 - r.json "$TALLY_SOURCE/ladder/rungs.def" <<'PY'
import json, re, sys
report = json.load(open(sys.argv[1]))
rows = re.findall(r'^RUNG\((\w+), +(\w+),', open(sys.argv[2]).read(), re.M)
got = [(s['shape'], r['rung']) for s in report['shapes'] for r in s['rungs']]
assert got == rows, 'the rungs of the JSON are not those of rungs.def'
by = {r['rung']: r for r in report['shapes'][0]['rungs']}
assert by['naive']['model']['steps'][2] == {'threads': 512, 'warps': 32, 'divergent_warps': 32, 'bank_degree': 2, 'shared': 96,
    'conflicts': 96, 'requests': 0, 'sectors': 0, 'bytes': 0, 'races': 0, 'line': 17}, by['naive']['model']['steps'][2]
assert by['reduce5']['verdict'] == 'caught' and by['reduce5']['model']['races'] > 0
assert all(r['verdict'] == 'right' and r['model']['races'] == 0 for s in report['shapes'] for r in s['rungs']
           if 'model' in r and r['rung'] not in ('reduce5', 'prefix_difference'))
assert by['sequential']['time']['median'] > 0 and 'time' not in by['tiled_1'] and by['reduce1']['milliseconds_2010'] == 5.28
PY
verdict 'the JSON has every rung and its counts' $?
"$tally" ladder reduce --device model --n 1000 --runs 0 --json - >out && python3 -m json.tool out >/dev/null
verdict '--json - prints JSON alone' $?
code 0 "$tally" ladder diff r.json r.json
has '^sequential +[0-9.]+ +[0-9.]+ +1.00x +right$' out

# ---- the recorded counts, and the figures of the documents drawn from them ----
plain() { sed -E 's/"machine": "[^"]*"/"machine": "any"/; s/"threads": [0-9]+, "wrong"/"threads": 0, "wrong"/; s/"version": "[^"]*"/"version": "any"/' "$1"; }
"$tally" ladder --device model --n 65536 --runs 0 --json - >model.json
plain model.json | cmp - "$TALLY_SOURCE/doc/ladder/results/model.json"
verdict 'the counts are those recorded in doc/ladder/results/model.json (scripts/ladder-record writes it)' $?
"$TALLY_SOURCE/scripts/ladder-figures" figures && diff -r figures "$TALLY_SOURCE/doc/ladder/figures" >out
verdict 'the figures of doc/ladder are those that scripts/ladder-figures draws' $? "$(head -3 out)"
"$TALLY_SOURCE/scripts/ladder-figures" --recorded | diff - "$TALLY_SOURCE/ladder/recorded.def" >out
verdict 'ladder/recorded.def is what scripts/ladder-figures --recorded prints (scripts/ladder-record writes it)' $? "$(head -3 out)"

# ---- a wrong rung: exit 4 ----
sed 's/i < n ?/i < n - 1 ?/' "$TALLY_SOURCE/ladder/reduce/tiled_3.cl" >wrong.cl
code 4 "$tally" ladder try wrong.cl --rung reduce/tiled_3 --device model --n 1000
has '^wrong.cl +WRONG: [0-9]+ instead of 63[0-9]*' out
code 0 "$tally" ladder try "$TALLY_SOURCE/ladder/reduce/tiled_3.cl" --rung reduce/tiled_3 --device model --n 1000
{ echo '/* like: reduce/tiled_1'; echo ' * threads: 64'; echo ' * each: 64 */'; cat "$TALLY_SOURCE/ladder/reduce/tiled_3.cl"; } >mine.cl
code 0 "$tally" ladder try mine.cl --device model --n 1000
printf '/* like: reduce/tiled_1 */\nKERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n) { out[0] = in[0] }\n' >bad.cl
code 1 "$tally" ladder try bad.cl --device model
has "bad.cl:2: ';' was expected before '}'" err
code 2 "$tally" ladder try wrong.cl --device model
code 1 "$tally" ladder try "$TALLY_SOURCE/ladder/reduce/reduce1.cl" --rung reduce/reduce1 --device model
has "reduce1.cl:7: a kernel's text must be whole, without '#include'" err
code 1 "$tally" ladder try nothing.cl

# ---- looking closer ----
code 0 "$tally" ladder show reduce/tiled_2
has '8 +16 +if \(index < THREADS\)' out
code 0 "$tally" ladder show reduce1 # the kernel is tiled_1's
has ' 17 +if \(tid % \(2 \* s\) == 0\)' out
code 0 "$tally" ladder show window/prefix_difference # scan/hillis_steele's, and through it scan/tiled_scan's
has ' 33 +if \(group_index\(\) > 0 && i < n\)' out
code 0 "$tally" ladder show reduce5
has 'race: threads' out
code 0 "$tally" ladder show scan/tally
code 0 "$tally" ladder break tiled_3
has '^ +18  barrier removed +the race check' out
has '^ +13  last element dropped +the answer' out
has '^([0-9]+) of \1 noticed' out
code 2 "$tally" ladder break sequential

# ---- the page (test_ladder_page.sh steps through it) ----
! grep -Eqi 'https?:|<script[^>]* src|<link|<img|@import|url\(' r.html
verdict 'the page needs no network' $?
factor=$(python3 -c 'import json, sys
t = {r["rung"]: r["time"]["median"] for r in json.load(open(sys.argv[1]))["shapes"][0]["rungs"]}
print(round(t["sequential"] / t["vector_load"]))' "$TALLY_SOURCE/doc/ladder/results/h200.json")
for word in '<html lang="en">' 'name="viewport"' 'prefers-color-scheme: dark' 'class="rates"' 'class="steps"' 'class="maps banks"' 'class="bytes"' 'id="window-sma_tiled"' 'id="story"' "<b>$factor times as fast</b>" '<li><h3>cascade: grid-stride loop' \
    'Little.s law' 'class="roofline"' 'no estimate: its groups wait' '<td>8.1&times;</td>|<b>8.1&times;</b>' 'class="maps trees"'; do
    has "$word" r.html
done
python3 - r.html <<'PY'
import html.parser, sys
class Check(html.parser.HTMLParser):
    void = {'meta', 'br', 'line', 'rect'}
    def __init__(self):
        super().__init__()
        self.stack, self.ids, self.links = [], set(), []
    def handle_startendtag(self, tag, attrs): self.look(tag, dict(attrs))
    def handle_starttag(self, tag, attrs):
        self.look(tag, dict(attrs))
        if tag not in self.void: self.stack.append(tag)
    def handle_endtag(self, tag):
        assert self.stack and self.stack[-1] == tag, (tag, self.stack, self.getpos())
        self.stack.pop()
    def look(self, tag, attrs):
        if 'id' in attrs:
            assert attrs['id'] not in self.ids
            self.ids.add(attrs['id'])
        if tag == 'a': self.links.append(attrs['href'])
        if tag == 'svg' or attrs.get('class') in ('strip', 'scroll'): assert attrs.get('role') and attrs.get('aria-label'), (tag, attrs)
        if tag == 'th': assert attrs.get('scope'), attrs
c = Check()
c.feed(open(sys.argv[1]).read())
assert not c.stack and all(l[1:] in c.ids for l in c.links)
PY
verdict 'the page is well formed, labelled and its links lead somewhere' $?
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -n "$browser" ] && [ -z "${TALLY_SANITIZE-}" ]; then
    "$tally" ladder scan --device model --n 65536 --runs 1 --sweep --dtype f32 --html wide.html >/dev/null
    for page in r wide; do
        cat $page.html - >measured.html <<'JS'
<script>document.title = [document.documentElement.scrollWidth <= innerWidth, document.querySelectorAll('svg').length,
  [...document.querySelectorAll('.track i')].filter(e => e.getBoundingClientRect().width > 1).length,
  getComputedStyle(document.body).backgroundColor].join(' ')</script>
JS
        for size in 390 1280; do
            timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --window-size=$size,900 --dump-dom \
                "file://$work/measured.html" >dom 2>/dev/null
            grep -Eq '<title>true [1-9][0-9]* [1-9][0-9]* ' dom
            verdict "$page.html at $size pixels: nothing sticks out, plots are drawn" $? "$(grep -o '<title>[^<]*' dom)"
        done
    done
else
    echo "skipped: no browser here (scripts/setup --tests installs one)"
fi

# ---- a device ----
device=$("$tally" devices | awk '/^opencl:/ { print $1; exit }')
if [ -n "$device" ] && [ -z "${TALLY_SANITIZE-}" ]; then
    export POCL_CACHE_DIR=$work/pocl # what is compiled here is compiled once, here
    without() { rungs "$1" | grep -vx tally | paste -sd,; } # test_opencl.sh has the library
    code 0 "$tally" ladder reduce --rung "$(without reduce)" --device "$device" --runs 0 --n 4999 --dtype f32
    code 0 "$tally" ladder reduce --rung atomic,shuffle,vector_load,cascade,tiled_2 --device "$device" --runs 0 --n 2049 --dtype i64 --op min
    code 0 "$tally" ladder --rung "$(without scan),$(without window)" --device "$device" --runs 0 --n 4999 --dtype f32
    has '^lookback +right$|^lookback .* right$' out
    code 0 "$tally" ladder reduce --rung tiled_4 --device "$device" --runs 1 --n 100000
    has '^tiled_4 +[0-9.]+ +[0-9.]+ .*right$' out
    code 4 "$tally" ladder try wrong.cl --rung reduce/tiled_3 --device "$device" --n 1000 --runs 0
else
    echo "skipped: no OpenCL device here"
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
