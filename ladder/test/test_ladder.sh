#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tally ladder on the command line: the tables, exit codes, --json, --html, show, break, try, diff; rungs on an OpenCL
# device where there is one.
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
kernel() { "$TALLY_BUILD/test_ladder_wrong" "$1" >"$1"; } # a file of the packed kernels
kernel used_race_and_sum.cl && kernel used_endless_loop.cl && kernel warp_helper.cu
verdict 'test_ladder_wrong NAME prints a kernel' $?
section() { awk -v name="==== $1" '/^==== / { on = $0 == name; next } on' "$TALLY_SOURCE"/ladder/rungs/* >"${1#*/}"; }
section reduce/tiled_3.cl && section reduce/reduce1.cl
rungs() { sed -nE "s/^RUNG\\($1, +([a-z0-9_]+),.*/\\1/p" "$TALLY_SOURCE/ladder/rungs.def"; }

# ---- the tables ----
code 0 "$tally" ladder --device model --n 5000 --runs 1 --json r.json --html r.html
cp out table
for shape in reduce scan window transpose histogram; do
    for rung in $(rungs $shape); do has "^$rung +" table; done
done
has '^better +1024 1024 512 256 128 64 32 16\* 8\* 4\* 2\* 1\* 1\*$' table
has '^naive +32x32 32x32 32x16 32x8 32x4 32x2 32x1 16x1 8x1 4x1 2x1 1x1 1x1$' table # one productive thread in each warp
has '^reduce1 +8x32 8x16 8x8 8x4 8x2 8x1 4x1 2x1 1x1 1x1$' table
has '^reduce5 +caught, as it should be: line [0-9]+: race' table
tr -s '\n ' ' ' <table >words
has 'after 1e16 [0-9]+ windows are wrong, after an inf' words
has '^reduce1 +5.28 +-$' table
has '^Checked: 40000 results, every one of every rung.$' table
has '^(The model counts kernels|There is no)' table
"$tally" ladder reduce --n 1000 --runs 0 >out 2>&1 # auto: what is here is named
if "$tally" devices | grep -q '^opencl:.*PoCL'; then
    has '^There is no GPU here, so the model counts the kernels; --device opencl:' out
fi
for columns in 80 160; do
    COLUMNS=$columns "$tally" ladder reduce --device model --n 5000 --runs 1 >out
    [ $columns -eq 160 ] || "$tally" ladder try used_race_and_sum.cl --device model \
        >>out
    LC_ALL=C awk -v most=$columns \
        '{ gsub(/[\200-\277]/, ""); if (length($0) > most) { print length($0) ": " $0; bad = 1 } } END { exit bad }' out
    verdict "the table fits $columns columns" $? "$(cat out | head -12)"
done
code 0 "$tally" ladder reduce --device model --n 0 --runs 0
code 0 "$tally" ladder scan --device model --n 1000 --runs 0 --op max --dtype u64
code 0 "$tally" ladder window --device model --n 1000 --runs 0 -w 1000 --dtype f64
code 0 "$tally" ladder transpose --device model --n 65536 --runs 0
has '^transpose_naive +1 +36.00 +18.00 +0 ' out # 4 sectors to read a row, 32 to write a column
has '^transpose_tile +1 +8.00 +4.00 +63488 ' out # 31 passes for each of 2048 columns of a tile
has '^transpose_padded +1 +8.00 +4.00 +0 ' out
code 2 "$tally" ladder histogram --dtype f32 --device model

# ---- usage ----
code 2 "$tally" ladder reduze
has "did you mean 'reduce'" err
code 2 "$tally" ladder --warp 24 --device model
has 'warp is 24 and must be a power of two' err
code 2 "$tally" ladder --rung tiled_5
code 2 "$tally" ladder window --dtype i32 --device model
code 2 "$tally" ladder show
code 2 "$tally" ladder show nothing
code 2 "$tally" ladder --dtype i16
has "the ladder has no dtype 'i16'; choices: i8, u8, i32" err
code 0 "$tally" ladder scan --rung tiled_scan --dtype i32,f64,u8 --device model --n 5000 --json three.json
python3 -c 'import json
s = json.load(open("three.json"))["shapes"]
assert [x["dtype"] for x in s] == ["i32", "f64", "u8"] and all(r["verdict"] == "right" for x in s for r in x["rungs"]), s'
verdict 'three element types in one run' $?
code 2 "$tally" ladder --dtype i32,f64 --device model
has 'a list of types needs one job' err
code 2 "$tally" ladder scan --dtype i32,f16 --device model
has "the ladder has no dtype 'f16'" err
code 2 "$tally" ladder reduce --dtype u8 --device model
has "reductions take i32, u32, i64, u64, f32 or f64, not 'u8'" err
code 0 "$tally" ladder --device model --n 70001 --runs 0 --dtype u8 --json bytes.json # scans, the only shape with bytes
python3 -c 'import json
s = json.load(open("bytes.json"))["shapes"]
assert [x["shape"] for x in s] == ["scan"] and s[0]["dtype"] == "u8", s
by = {r["rung"]: r for r in s[0]["rungs"]}
assert all(r["verdict"] == "right" and r["checked"] == 70001 for r in by.values()), by
m = by["hillis_steele"]["model"] # 32 bytes are one sector; four of them share a word of a bank
assert m["conflicts"] == 0 and m["races"] == 0 and by["lookback_8"]["model"]["conflicts"] > 0, m'
verdict 'bytes: one sector for a warp, sums modulo 256' $?
code 3 "$tally" ladder --device cuda:99
code 0 "$tally" ladder reduce --device cpu --n 1000 --runs 1 # the processors' rows, and the model
has '^sequential +[0-9.]+' out
code 2 "$tally" ladder --plain
code 2 "$tally" ladder show tiled_1 --html x.html
code 2 "$tally" ladder break tiled_1 --json x.json
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
assert by['naive']['model']['steps'][2] == {'threads': 512, 'warps': 32, 'divergent_warps': 32, 'bank_degree': 2,
    'shared': 96,
    'conflicts': 96, 'requests': 0, 'sectors': 0, 'bytes': 0, 'races': 0, 'line': 17}, by['naive']['model']['steps'][2]
assert by['reduce5']['verdict'] == 'caught' and by['reduce5']['model']['races'] > 0
assert all(r['verdict'] == 'right' and r['model']['races'] == 0 for s in report['shapes'] for r in s['rungs']
           if 'model' in r and r['rung'] not in ('reduce5', 'prefix_difference'))
assert by['sequential']['time']['median'] > 0 and 'time' not in by['tiled_1']
assert by['reduce1']['milliseconds_2010'] == 5.28
PY
verdict 'the JSON has every rung and its counts' $?
"$tally" ladder reduce --device model --rung sequential,openmp,tally --n 2^20 --runs 3 --json - >rates.json
python3 -c 'import json
s = json.load(open("rates.json"))["shapes"][0]
most = s["ceilings"]["host_read"]
assert most > 0 and all(r["time"]["bytes_a_second"] <= most for r in s["rungs"]), s'
verdict 'no rung is above its ceiling' $?
"$tally" ladder reduce --device model --n 1000 --runs 0 --json - >out && python3 -m json.tool out >/dev/null
verdict '--json - prints JSON alone' $?
code 0 "$tally" ladder diff r.json r.json
has '^sequential +[0-9.]+ +[0-9.]+ +1.00x +right$' out
"$tally" ladder reduce --device model --n 9000 --runs 1 --json other.json >/dev/null
code 0 "$tally" ladder diff r.json other.json
has '^Not the same problem: rates and counts are not compared.$' out
! grep -Eq '[0-9]x ' out
verdict 'rates of different n are not divided' $?
"$tally" ladder reduce --device model --n 100 --runs 0 --op min --json min.json >/dev/null
code 2 "$tally" ladder diff r.json min.json
has '^tally: r.json is of --op sum, and min.json of --op min$' err
"$tally" ladder reduce --device model --n 5000 --runs 1 --banks 16 --json banks.json >/dev/null
code 0 "$tally" ladder diff r.json banks.json
has '^  conflicts +2100 +[0-9]+$' out

# ---- the recorded counts, and the figures of the documents drawn from them ----
plain() {
    sed -E 's/"machine": "[^"]*"/"machine": "any"/; s/"threads": [0-9]+, "wrong"/"threads": 0, "wrong"/
        s/"version": "[^"]*"/"version": "any"/' "$1"
}
"$tally" ladder --device model --n 65536 --runs 0 --json - >model.json
plain model.json | cmp - "$TALLY_SOURCE/ladder/doc/results/model.json"
verdict 'the counts are those recorded in ladder/doc/results/model.json (ladder/scripts/record writes it)' $?
"$TALLY_SOURCE/ladder/scripts/figures" figures && diff -r figures "$TALLY_SOURCE/ladder/doc/figures" >out
verdict 'the figures of ladder/doc are those that ladder/scripts/figures draws' $? "$(head -3 out)"
"$TALLY_SOURCE/ladder/scripts/figures" --recorded | diff - "$TALLY_SOURCE/ladder/recorded.def" >out
verdict 'ladder/recorded.def is what ladder/scripts/figures --recorded prints (ladder/scripts/record writes it)' $? \
    "$(head -3 out)"
"$TALLY_SOURCE/ladder/scripts/figures" --texts --check >out
verdict 'the figures in the texts of ladder/doc are those of the record (ladder/scripts/figures --texts)' $? \
    "$(head -3 out)"

# ---- a wrong rung: exit 4 ----
sed 's/i < n ?/i < n - 1 ?/' tiled_3.cl >wrong.cl
code 4 "$tally" ladder try wrong.cl --rung reduce/tiled_3 --device model --n 1000
has '^wrong.cl +WRONG: [0-9]+ of [0-9]+ runs went wrong: line 20, n = 257, i32' out
has '^Tried on the model in [0-9]+ runs: n = 257, ' out
has 'results checked, [1-9][0-9]* off\.$' out
code 4 "$tally" ladder try wrong.cl --rung reduce/tiled_3 --device model --json t.json --html t.html
python3 -c 'import json
r = json.load(open("t.json"))["shapes"][0]["rungs"]
assert [x["rung"] for x in r] == ["tiled_3", "wrong.cl"], r
assert r[1]["verdict"] == "WRONG" and 0 < r[1]["trials_wrong"] <= r[1]["trials"] and r[1]["trials"] > 40, r[1]
assert r[0]["checked"] == 1 and r[0]["off"] == 0'
verdict 'try writes --json with the runs that went wrong' $?
has '<summary>.*wrong.cl</summary>' t.html # its text is on the page
has 'i &lt; n - 1 \? in\[i\] : NEUTRAL' t.html
code 4 "$tally" ladder try wrong.cl --rung reduce/tiled_3 --device model --json -
python3 -m json.tool out >/dev/null
verdict 'try --json - prints JSON alone' $?
# both are said, with line, step, threads
code 4 "$tally" ladder try used_race_and_sum.cl --device model
tr -s '\n ' ' ' <out >words
has 'sum: -?[0-9]+ instead of [0-9]+ \([a-z0-9 .,:]+\); line 12, n = [0-9]+, i32, sum: race: threads [0-9]+ and [0-9]+ ' words
has '; line 12, n = [0-9]+, i32, sum: race: [a-z0-9 ]+ data\[[0-9]+\] in step [0-9]+' words
code 4 timeout 60 "$tally" ladder try used_endless_loop.cl --device model # the limit counts operations, not seconds
tr -s '\n ' ' ' <out >words
has 'went wrong: line 12, n = 257, i32, sum: a loop does not end: [0-9]+ operations of one group\. ' words
code 0 "$tally" ladder try tiled_3.cl --rung reduce/tiled_3 --device model --n 1000
{ echo '/* like: reduce/tiled_1'; echo ' * threads: 64'; echo ' * each: 64 */'
    cat tiled_3.cl; } >mine.cl
code 0 "$tally" ladder try mine.cl --device model --n 1000
printf '/* like: reduce/tiled_1 */\nKERNEL(fold, THREADS)(%s) { out[0] = in[0] }\n' \
    'GLOBAL const elem *in, GLOBAL elem *out, i64 n' >bad.cl
code 1 "$tally" ladder try bad.cl --device model
has "bad.cl:2: ';' was expected before '}'" err
code 2 "$tally" ladder try wrong.cl --device model
code 1 "$tally" ladder try reduce1.cl --rung reduce/reduce1 --device model
has "reduce1.cl:7: a kernel's text must be whole, without '#include'" err
code 1 "$tally" ladder try nothing.cl
code 1 "$tally" ladder try "$work" --rung tiled_1

# ---- CUDA and OpenCL texts ----
cat >reduce3.cu <<'CU'
// like: reduce/reduce3
#include <cuda_runtime.h>
const int BLOCK = 256;
__device__ int unused(int x) { return x + 1; }
extern "C" __global__ void __launch_bounds__(256) reduce3(const int *__restrict__ in, int *out, unsigned int n)
{
    __shared__ int data[BLOCK];
    unsigned int tid = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    data[tid] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) data[tid] += data[tid + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = data[0];
}
int main() { reduce3<<<1, 256>>>(0, 0, 0); return 0; }
CU
cat >sum.cl <<'CL'
/* like: reduce/atomic */
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
sum(__global const uint *in, __global uint *out, const uint n, __local uint *data)
{
    uint tid = get_local_id(0), mine = 0;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) mine += in[i];
    data[tid] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = get_local_size(0) / 2; s > 0; s >>= 1) {
        if (tid < s) data[tid] += data[tid + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (tid == 0) atomic_add(&out[0], data[0]);
}
CL
code 0 "$tally" ladder try reduce3.cu --device model
has '^types i32; sum' out
code 0 "$tally" ladder try sum.cl --device model
has '^types u32; sum' out
code 2 "$tally" ladder try reduce3.cu --device model --dtype f32
has 'reduce3.cu: the kernel is written for i32, and --dtype says f32' err
code 0 "$tally" ladder show reduce3.cu # its own lines and numbers
has ' 12  +if \(tid < s\) data\[tid\] \+= data' out
sed 's/threadIdx.x;/threadIdx.y;/' reduce3.cu >y.cu
code 4 "$tally" ladder try y.cu --device model # a group of 256 x 1, as its host code says: threadIdx.y is 0
sed '/^int main/,$d' y.cu >nobody_says.cu
code 1 "$tally" ladder try nobody_says.cu --device model
has "nobody_says.cu:8: how large is a group along y\? Say it in the file's first comment: block: 32 x 8" err
sed 's/int \*out/short *out/' reduce3.cu >short.cu
code 1 "$tally" ladder try short.cu --device model
has 'short.cu:5: a parameter is of char, int, unsigned' err
cat >bytes.cu <<'CU'
// like: scan/tiled_scan
__global__ void tile_scan(const unsigned char *in, unsigned char *out, unsigned char *sums, int n)
{
    __shared__ unsigned char data[256];
    int tid = threadIdx.x, i = blockIdx.x * 256 + tid;
    data[tid] = i < n ? in[i] : 0;
    __syncthreads();
    for (int s = 1; s < 256; s *= 2) {
        unsigned char left = tid >= s ? data[tid - s] : 0;
        __syncthreads();
        data[tid] += left;
        __syncthreads();
    }
    if (i < n) out[i] = data[tid];
    if (tid == 255) sums[blockIdx.x] = data[tid];
}
__global__ void propagate(unsigned char *out, const unsigned char *sums, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (blockIdx.x > 0 && i < n) out[i] += sums[blockIdx.x - 1];
}
CU
code 0 "$tally" ladder try bytes.cu --device model
has '^types u8; sum' out
sed 's/data\[tid\] = i/data[tid] = missing(i)/' reduce3.cu >call.cu
code 1 "$tally" ladder try call.cu --device model
has "call.cu:9: the model has no function 'missing'" err

# ---- the grader ----
assignments=$TALLY_SOURCE/ladder/examples
mkdir -p answers && (cd answers && awk '/^==== / { close(file); file = $2; next } { print >file }' "$assignments/answers.txt")
for folder in "$assignments"/[0-9]*; do
    name=$(basename "$folder")
    # a skeleton compiles, and is not the answer
    code 4 "$tally" ladder grade "$folder/assignment.toml" "$folder"/start.*
    code 0 "$tally" ladder grade "$folder/assignment.toml" answers/"$name".solution.*
    for wrong in answers/"$name".wrong_*; do
        code 4 "$tally" ladder grade "$folder/assignment.toml" "$wrong"
    done
done
echo '__global__ void f(const int *in, int *out, int n) { for (int i = 0; i < n; i++) out[blockIdx.x] += in[i]; }' >all.cu
printf 'like = "reduce/tiled_1"\nsizes = [0, 1, 257, 65536]\n' >all.toml # the last would take minutes
code 4 timeout 300 "$tally" ladder grade all.toml all.cu
has '^[1-9][0-9]* runs were left out: the kernel is wrong, and they would take minutes.$' out
has '^[1-9][0-9]* runs launched no kernel and are not counted.$' out
sed '1s/$/\n * each: 1/' "$assignments/1-tile-sum/start.cl" >each.cl
code 2 timeout 60 "$tally" ladder grade "$assignments/1-tile-sum/assignment.toml" each.cl
has 'each is 1 and must be at least 2' err
code 2 "$tally" ladder grade each.cl "$assignments/1-tile-sum/assignment.toml" # the other way round
has 'takes the assignment first' err
code 2 "$tally" ladder reduce --rung scan/hillis_steele --device model
code 4 "$tally" ladder grade "$assignments/4-shuffles/assignment.toml" "$assignments/4-shuffles/start.cu"
has '^ +the kernel is written for f32: elem, or the T$' out
code 4 "$tally" ladder grade "$assignments/2-no-conflicts/assignment.toml" \
    answers/2-no-conflicts.wrong_conflicts.cl --json g.json
has '^FAILED +conflicts +0 of 25 +26[0-9]+ passes for bank conflicts; at most 0$' out
has '^75 of 100 points$' out
python3 -c 'import json
g = json.load(open("g.json"))
assert g["points"] == 75 and g["of"] == 100 and g["wrong"] == 0 and g["runs"] == 6 and g["complaints"] == [], g
assert {c["check"]: c["passed"] for c in g["checks"]} == {"right": True, "conflicts": False, "divergent": True}, g'
verdict 'the grade as JSON' $?
refused() { # TEXT WORDS: an assignment that is refused, with its place
    printf '%b' "$1" >a.toml
    code 1 "$tally" ladder grade a.toml mine.cl
    has "$2" err
}
refused 'like = "reduce/tiled_1"\nsizes = [1, 2\n\n' "a.toml:4:1: ',' or '\]' was expected in the list"
refused 'like = "reduce/tiled_1"\nsizes = [1]\nsize = 3\n' 'a.toml:3:1: size: there is no such key; choices: title'
refused 'like = "reduce/tiled_1"\nsizes = [0.5]\n' 'a.toml:2:1: sizes: whole numbers from 0 to'
refused 'like = "reduce/tiled_1"\nlike = "x"\n' 'a.toml:2:1: this key is there already'
refused 'like = "reduce/tiled_1' 'a.toml:1:23: the string does not end on its line'
refused 'like = "reduce/sequential"\nsizes = [1]\n' "there is no rung 'reduce/sequential' with a kernel"
refused 'like = "reduce/tiled_1"\nsizes = [1]\n[most]\nconflict = 1\n' \
    'a.toml:4:1: most.conflict: there is no such count; choices: conflicts'
refused 'like = "reduce/tiled_1"\nsizes = [1]\ntypes = ["i32", "i16"]\n' 'a.toml:3:1: types: choices: "i8"'
refused 'like = "reduce/tiled_1"\nsizes = [1]\ncounted = [65536, 2]\n' 'a.toml:3:1: counted: one number is needed, not a list'
refused 'like = "reduce/tiled_1"\nsizes = [1]\nthreads = [256, 5]\n' 'a.toml:3:1: threads: one number is needed, not a list'
refused 'like = "reduce/tiled_1"\nsizes = [1] 2\n' 'a.toml:2:13: the line ends here, and more follows'
code 2 "$tally" ladder grade a.toml

# ---- looking closer ----
code 0 "$tally" ladder show reduce/tiled_2
has '8 +16 +if \(index < THREADS\)' out
code 0 "$tally" ladder show reduce1 # the kernel is tiled_1's
has ' 17 +if \(tid % \(2 \* s\) == 0\)' out
code 0 "$tally" ladder show window/prefix_difference # scan/hillis_steele's, and through it scan/tiled_scan's
has ' 33 +if \(group_index\(\) > 0 && i < n\)' out
has '^    launch difference: running sums, out, n, w$' out # the other half of the program
code 0 "$tally" ladder show reduce5
has 'race: threads' out
code 0 "$tally" ladder show scan/tally
code 0 "$tally" ladder show tiled_3 --plain
cmp -s out tiled_3.cl
verdict 'show --plain prints the text alone' $?
code 0 "$tally" ladder show mine.cl --plain
cmp -s out mine.cl
verdict 'show --plain prints a file of the reader alone' $?
code 0 "$tally" ladder show mine.cl
has '^mine.cl on the model: n = 65536 i32' out
code 0 "$tally" ladder break tiled_3
has '^ +18  barrier removed +the race check' out
has '^ +13  last element dropped +the answer' out
has '^([0-9]+) of \1 noticed' out
has '^      was  if \(tid < s\) data\[tid\] = combine\(data\[tid\], data\[tid \+ s\]\);$' out
has '^      now  if \(tid <= s\) data\[tid\] = combine\(data\[tid\], data\[tid \+ s\]\);$' out
code 2 "$tally" ladder break sequential

code 0 "$tally" ladder break mine.cl
has '^mine.cl, damaged in one place at a time' out
code 0 "$tally" ladder break scan/lookback
has '  fence removed +nothing' out
has '  1 for the neutral +the answer' out
cat >seven.cl <<'CL'
/* like: reduce/tiled_3 */
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    out[group_index()] = 7;
}
CL
code 4 "$tally" ladder try seven.cl --device model # sizes for which nothing is launched are no runs
has 'WRONG: ([0-9]+) of \1 runs went wrong' out
[ "$(grep -n WRONG out | head -1 | cut -d: -f1)" -lt 8 ]
verdict 'the verdict comes first' $?
code 0 "$tally" ladder reduce --rung tiled_3,cascade,atomic --warp 64 --device model --n 65536
has '^tiled_3 +2 .* 0 +[0-9.]+% ' out # neighbouring words have no conflict in a warp of 64
has '^cascade +2 ' out
has '^atomic +1 \+ 1 ' out
has '^atomic +1 launch, where cascade had 2' out
code 0 "$tally" ladder scan --rung tiled_scan,hillis_steele --device model --n 65536
has '^hillis_steele +tiled_scan has 1.9 times as many barriers' out # what its head says to look at

cp wrong.cl 'a<b>"c&.cl'
"$tally" ladder try 'a<b>"c&.cl' --rung reduce/tiled_3 --device model --n 1000 --html odd.html >/dev/null
grep -q 'id="reduce-a_b__c_.cl"' odd.html && ! grep -q 'a<b>' odd.html
verdict 'a file with signs of HTML in its name' $?
sed 's/THREADS/256/g' tiled_3.cl >fixed.cl
"$tally" ladder try fixed.cl --rung reduce/tiled_3 --device model --n 1000 --html fixed.html >/dev/null
has 'There are no steps of fixed.cl: the kernel .*has the size of its group in its text' fixed.html
# ---- the page (test_ladder_browser.sh steps through it) ----
! grep -Eqi 'https?:|<script[^>]* src|<link|<img|@import|url\(' r.html
verdict 'the page needs no network' $?
factor=$(python3 -c 'import json, sys
t = {r["rung"]: r["time"]["median"] for r in json.load(open(sys.argv[1]))["shapes"][0]["rungs"]}
print(round(t["sequential"] / t["vector_load"]))' "$TALLY_SOURCE/ladder/doc/results/h200.json")
for word in '<html lang="en">' 'name="viewport"' 'prefers-color-scheme: dark' 'class="rates"' 'class="steps"' \
    'class="maps banks"' 'class="bytes"' 'id="window-sma_tiled"' 'id="story"' "<b>$factor times as fast</b>" \
    '<li><h3>cascade: grid-stride loop' \
    'Little.s law' 'class="roofline"' 'class="maps warps"' '"tiled_1, reduce1, warps at work: 8 8 8 8 8 8 4 2 1 1"' \
        '"tiled_2, tiled_3,[a-z0-9_, ]* warps at work: 8 4 2 1 1 1 1 1 1 1"' 'no estimate: its groups wait' \
        '<td>8.1&times;</td>|<b>8.1&times;</b>' 'class="maps trees"'; do
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
        if tag == 'svg' or attrs.get('class') in ('strip', 'scroll'):
            assert attrs.get('role') and attrs.get('aria-label'), (tag, attrs)
        if tag == 'th': assert attrs.get('scope'), attrs
c = Check()
c.feed(open(sys.argv[1]).read())
assert not c.stack and all(l[1:] in c.ids for l in c.links)
PY
verdict 'the page is well formed, labelled and its links lead somewhere' $?

# ---- a device ----
device=$("$tally" devices | awk '/^opencl:/ { print $1; exit }')
if [ -n "$device" ] && [ -z "${TALLY_SANITIZE-}" ]; then
    export POCL_CACHE_DIR=$work/pocl # what is compiled here is compiled once, here
    POCL_DEVICES="pthread pthread" code 3 "$tally" ladder reduce --rung naive --device opencl:all --n 1000
    has "^tally: the ladder runs kernels on one device; 'opencl:all' are several$" err
    # PoCL compiles each rung for half a second: of some of them one, which the seed picks; all with TALLY_TEST_LONG
    seed=${TALLY_TEST_SEED:-$RANDOM}
    echo "seed $seed"
    one_of() { awk -v of="$1" -v turn=$((seed % $1)) -v all="${TALLY_TEST_LONG-}" 'all != "" || NR % of == turn'; } # of so many lines
    some() { rungs "$1" | grep -vx tally | one_of "$2" | paste -sd,; } # test_opencl.sh has the library
    code 0 "$tally" ladder reduce --rung "$(some reduce 12)" --device "$device" --runs 0 --n 4999 --dtype f32
    code 0 "$tally" ladder reduce --rung "$(printf '%s\n' atomic shuffle vector_load cascade tiled_2 | one_of 3 | paste -sd,)" \
        --device "$device" --runs 0 --n 2049 --dtype i64 --op min
    code 0 "$tally" ladder --rung "$(some scan 6),lookback,$(some window 3)" --device "$device" --runs 0 --n 4999 --dtype f32
    has '^lookback +right$|^lookback .* right$' out
    while read -r words; do
        # shellcheck disable=SC2086
        code 0 "$tally" ladder $words --device "$device" --runs 0
    done < <(printf '%s\n' 'transpose --n 4999' 'histogram --n 4999 --dtype u32' 'reduce --rung warp_reduce --n 4999 --dtype i64' \
        "scan --rung $(some scan 3) --n 70001 --dtype u8" | one_of 4)
    code 0 "$tally" ladder reduce --rung bulk_copy,grid_sync --device "$device" --runs 1 --n 4999
    tr -s '\n ' ' ' <out >words
    has 'bulk_copy - - skipped' words
    has 'not for this device: reduce/bulk_copy.cl needs bulk copies .* compute capability 9.0 on' words
    has 'not for this device: in reduce/grid_sync.cl all groups wait for each other, and OpenCL does not promise' words
    code 0 "$tally" ladder reduce --rung tiled_4 --device "$device" --runs 1 --n 100000 --html small.html
    has 'No ceiling is known at this size' small.html
    has '^tiled_4 +[0-9.]+~? +[0-9.]+ .*right$' out
    ! grep -q '^Ceilings:' out # 400 KB come from a cache: no ceiling is known, and none is exceeded
    verdict 'no ceiling for a small input' $?
    code 0 "$tally" ladder reduce --rung tiled_2,tiled_3 --device "$device" --runs 3 --n 20000 --json d.json
    ! grep -q 'and yet' out
    verdict 'on processors banks are no cause' $?
    python3 -c 'import json
s = json.load(open("d.json"))["shapes"][0]
assert s["ceilings"]["device_read"] == 0 and s["ceilings"]["host_read"] == 0, s["ceilings"]
for r in s["rungs"]: # one launch, and one that folds what is left on the device
    assert r["time"]["launches"] == r["launches"] == 2 and r["clears"] == 0, r["time"]
    assert r["time"]["fold"] >= 0 and r["counted_n"] == 20000, r["time"]'
    verdict 'times are of the result on the device; copies and the fold apart' $?
    # above 2^20 elements the model runs a part of the groups, and counts as if it ran all
    large=$(printf '%s\n' simple_2 tiled_scan sma_tiled transpose_tile | one_of 4 | sed '1i tiled_4' | paste -sd,)
    for place in "$device" model; do
        "$tally" ladder --rung "$large" --device "$place" --runs 0 --n 1052673 --json "at-$place.json" >/dev/null
    done
    python3 - "at-$device.json" at-model.json <<'PY'
import json, sys
a, b = ([r for s in json.load(open(f))["shapes"] for r in s["rungs"]] for f in sys.argv[1:])
assert len(a) in (2, 5) and all(x[k] == y[k] for x, y in zip(a, b) for k in ("model", "counted_n", "launches"))
assert all(x["counted_n"] == 1052673 for x in a)
PY
    verdict 'the counts are those of the size that runs' $?
    code 4 "$tally" ladder try wrong.cl --rung reduce/tiled_3 --device "$device" --n 1000 --runs 0
    sed -E 's/^KERNEL\(\w+/KERNEL(a_name_of_more_than_16_letters/' tiled_3.cl >long.cl
    code 0 "$tally" ladder try warp_helper.cu --device "$device" --n 1000 --runs 1
    has 'right on the model, and not for this device: not all warps of' out # its last shuffles are the first warp's alone
    code 0 "$tally" ladder try long.cl --rung reduce/tiled_3 --device "$device" --n 1000 --runs 20 # many launches of it
    for text in $(printf '%s\n' reduce3.cu sum.cl answers/4-shuffles.solution.cu | one_of 3); do
        code 0 "$tally" ladder try "$text" --device "$device" --n 4999 --runs 0
    done
    code 0 "$tally" ladder grade "$assignments/1-tile-sum/assignment.toml" \
        answers/1-tile-sum.solution.cl --device "$device"
else
    echo "skipped: no OpenCL device here"
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
