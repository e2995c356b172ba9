#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_cli_fragment.sh TALLY - tally fragment: parts made anywhere and merged in any order give the bits of tally reduce; parts that
# are missing, overlap, belong to another operator or are damaged are named, and nothing is half written; examples/batch.sh.
# shellcheck source=test/cli/check.sh
. "$(dirname "$0")/cli/check.sh"
awk 'BEGIN { for (i = 0; i < 1000; i++) print i * 37 % 101 / 7 }' >all.txt
head -n 300 all.txt >p0.txt
sed -n 301,650p all.txt >p1.txt
: >p2.txt
tail -n +651 all.txt >p3.txt
make='tally fragment make'
ok "$make sum p0.txt -o a.frag && $make sum p1.txt --start 300 -o b.frag && $make sum p3.txt --start 650 -o c.frag" ''
ok 'tally fragment merge c.frag a.frag -o ac.frag && tally fragment show ac.frag' \
    'sum of f64, 650 elements in 2 ranges, 13 nodes
here     [0, 300)
missing  [300, 650)
here     [650, 1000)'
ok 'tally fragment show ac.frag --json' \
    '{"file": "ac.frag", "dtype": "f64", "order": "E v1", "results": [{"op": "sum", "sequences": 1, "elements": 650, "nodes": 13, "ranges": [[0, 300], [650, 1000]]}]}'
bad 1 'tally fragment result ac.frag' \
    'tally: ac.frag: the fragment lacks [300, 650): only one that has every element from 0 on has a result'
for order in 'ac.frag b.frag' 'b.frag ac.frag' 'a.frag b.frag c.frag' 'c.frag b.frag a.frag'; do
    same "tally fragment merge $order -o all.frag && tally fragment result all.frag --hex" 'tally reduce sum all.txt --hex'
    ok "$make sum all.txt -o whole.frag && tally fragment merge $order -o all.frag && cmp all.frag whole.frag" ''
done
for op in mean var:1 minmax argmax last ema:0.1 nanmean; do
    for p in 'p0.txt 0' 'p1.txt 300' 'p3.txt 650'; do
        ok "$make $op ${p% *} --start ${p#* } -o x${p#* }.frag" ''
    done
    same 'tally fragment merge x650.frag x0.frag x300.frag -o x.frag && tally fragment result x.frag --hex' "tally reduce $op all.txt --hex"
done
same "tally fragment result all.frag --digest" 'tally reduce sum all.txt --digest'
same "$make sum - -o - <all.txt | tally fragment result - --json | sed 's/fragment/file/g'" 'tally reduce sum --json <all.txt'
same "$make max m.npy -o m.frag && tally fragment result m.frag" 'tally reduce max m.npy'
ok "$make sum p2.txt --start 7 -o e.frag && tally fragment show e.frag" 'sum of f64, 0 elements in 0 ranges, 0 nodes'
ok "tally fragment merge e.frag all.frag -o f.frag && cmp f.frag all.frag" ''

# ---- many sequences: an array is cut along its first or last axis ----
python3 - <<'END' || { echo "no python3 here"; exit 1; }
import array
def npy(name, shape, values, dtype="f4"):
    head = "{'descr': '<%s', 'fortran_order': False, 'shape': %s, }" % (dtype, shape)
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode())
        f.write(array.array("f", values).tobytes())
x = [(i * 7919 % 1013) / 7 for i in range(50 * 4 * 9)]
npy("field.npy", (50, 4, 9), x)
npy("f0.npy", (13, 4, 9), x[:13 * 36])
npy("f1.npy", (37, 4, 9), x[13 * 36:])
npy("flat.npy", (50, 36), x)
turned = [x[t * 36 + c] for c in range(36) for t in range(50)]
npy("r0.npy", (36, 20), [turned[c * 50 + t] for c in range(36) for t in range(20)])
npy("r1.npy", (36, 30), [turned[c * 50 + t] for c in range(36) for t in range(20, 50)])
END
for op in sum mean argmin var:1 nansum; do
    same "$make $op f1.npy --axis 0 --start 13 -o f1.frag && $make $op f0.npy --axis 0 -o f0.frag &&
        tally fragment merge f1.frag f0.frag -o f.frag && tally fragment result f.frag --hex" "tally reduce $op field.npy --axis 0 --hex"
    same "$make $op r1.npy --axis -1 --start 20 -o r1.frag && $make $op r0.npy --axis 1 -o r0.frag &&
        tally fragment merge r0.frag r1.frag -o r.frag && cmp r.frag f.frag && tally fragment result r.frag --hex" "tally reduce $op flat.npy --axis 0 --hex"
done
ok 'tally fragment show f1.frag' 'nansum of f32, 36 sequences of 37 elements in 1 range, 5 nodes
missing  [0, 13)
here     [13, 50)'
ok "tally fragment result f.frag -o out.npy && tally reduce nansum flat.npy --axis 0 -o want.npy && cmp out.npy want.npy" ''
printf 'price,qty\n1,2\n3,4\n5,7\n' >t.csv
ok "$make sum t.csv --column 1-2 -o t.frag && tally fragment result t.frag" '9
13'
ok "seq 6 | $make max - --shape 3x2 --axis 1 -o t.frag && tally fragment result t.frag" '2
4
6'
bad 2 "$make sum field.npy --axis 1 -o no" 'tally: --axis 1: a fragment takes the first axis of an array or the last, and field.npy has 3'
bad 2 "$make sum field.npy --axis 3 -o no" 'tally: --axis is 3, and field.npy has 3 dimensions: must be -3..2'
bad 2 "$make sum f0.npy --axis 0 --start 2305843009213693950 -o no" 'tally: --start 2305843009213693950: the last element would be beyond 2^61'
bad 1 'tally fragment merge f.frag all.frag -o no' \
    'tally: all.frag (right) does not fit what was merged before (left): left is nansum of f32 and right is sum of f64: must be the same'
bad 1 "$make nansum f1.npy -o one.frag && tally fragment merge f0.frag one.frag -o no" \
    'tally: one.frag (right) does not fit what was merged before (left): left has 36 sequences and right has 1: must be as many'

printf '#define OP_EXACT 1\n#define OP_STATE(F) F(ord, v)\ntypedef struct { OP_STATE(FIELD) } state;\n' >broken.h
cp "$here/../examples/operators/descent.h" .
own='--op-file descent.h'
ok "$make descent p0.txt $own -o a.own && $make descent p1.txt --start 300 $own -o b.own && tally fragment merge b.own a.own $own -o c.own" ''
same "tally fragment result c.own $own --hex" "cat p0.txt p1.txt | tally reduce descent $own --hex"
bad 1 'tally fragment result c.own' "tally: c.own: fragment: its operator 'descent' is not defined here (tally_define)"

# ---- two inputs, and elements that are left out: the bits of tally reduce, in whatever order the parts come ----
ok "seq 1 40 | sed 's/\$/.3/' >x.txt; seq 3 3 120 >y.txt; for i in 0 1 2 3 4 5 6 7; do printf '1\n0\n1\n1\n0\n'; done >v.txt
for f in x y v; do head -17 \$f.txt >\${f}1.txt; tail -n 23 \$f.txt >\${f}2.txt; done; paste -d, x.txt y.txt >xy.csv" ''
for op in mean first var argmin sum; do
    same "$make $op x1.txt --valid v1.txt -o 1.frag; $make $op x2.txt --valid v2.txt --start 17 -o 2.frag
tally fragment merge 2.frag 1.frag -o 12.frag; tally fragment result 12.frag --hex" "tally reduce $op --valid v.txt x.txt --hex"
done
for op in dot corr nanwmean; do
    same "$make $op x1.txt --with y1.txt -o 1.frag; $make $op x2.txt --with y2.txt --valid v2.txt --start 17 -o 2.frag
tally fragment merge 2.frag 1.frag -o 12.frag; tally fragment result 12.frag --hex" \
        "(yes 1 | head -17; cat v2.txt) >some.txt; tally reduce $op --with y.txt --valid some.txt x.txt --hex"
done
same "$make dot --column 1,2 xy.csv -o 1.frag; tally fragment result 1.frag --hex" \
    'tally reduce dot --column 1,2 xy.csv --hex'
bad 2 "$make dot x.txt -o no" "tally: operator 'dot' takes two inputs: the second is --with FILE, or the second of --column X,Y"

# ---- what is refused; nothing is written ----
bad 1 'tally fragment merge ac.frag a.frag -o no' \
    'tally: a.frag (right) does not fit what was merged before (left): left has [0, 300) and right has [0, 300): must not overlap'
bad 1 "$make max p0.txt -o max.frag && tally fragment merge b.frag max.frag -o no" \
    'tally: max.frag (right) does not fit what was merged before (left): left is sum of f64 and right is max of f64: must be the same'
bad 1 'head -c 60 a.frag >cut; tally fragment merge a.frag cut -o no' 'tally: cut: fragment: truncated or altered (checksum)'
bad 1 'tally fragment show p0.txt' 'tally: p0.txt: fragment: these bytes are not a fragment'
bad 1 'tally fragment show nowhere' 'tally: nowhere: No such file or directory'
bad 2 'tally fragment' 'tally: `tally fragment` makes, merges or reads: make, merge, result or show'
bad 2 'tally fragment mak' "tally: there is no action 'mak'; did you mean 'make'? choices: make, merge, result, show"
bad 2 "$make sum p0.txt" 'tally: `tally fragment make` writes a file: say which with -o FILE (- is standard output)'
bad 2 "$make sum p0.txt p1.txt -o no" 'tally: `tally fragment make OP FILE -o F` takes one operator and one file'
bad 2 "$make sum,mean p0.txt -o no" 'tally: `tally fragment make OP FILE -o F` takes one operator and one file'
bad 2 'tally fragment merge -o no' 'tally: `tally fragment merge F... -o G`: which fragments?'
bad 2 'tally fragment result a.frag b.frag' 'tally: `tally fragment result F` takes one fragment, and there are 2'
bad 2 "$make sum p0.txt --start -1 -o no" 'tally: --start is -1 and must be at least 0'
bad 2 "$make sum p0.txt --start 2305843009213693900 -o no" 'tally: --start 2305843009213693900: the last element would be beyond 2^61'
ok '! ls no 2>/dev/null' ''

# ---- exact sums: the files are states, which have no order and no place ----
ok "$make sum:exact p0.txt -o 0.state && $make sum:exact p1.txt -o 1.state && cat p3.txt | $make sum:exact -o 3.state && wc -c <0.state" 576
ok 'tally fragment merge 3.state 0.state 1.state -o all.state && tally fragment show all.state' 'sum:exact, 1000 elements: 0 nan, 0 inf, 0 -inf'
same "tally fragment result all.state --hex" 'tally reduce sum:exact all.txt --hex'
same "tally fragment result all.state mean:exact --hex" 'tally reduce mean:exact all.txt --hex'
# a state does not know the type of its elements; what an action does not read is refused
same "$make sum:exact all.txt --dtype f32 -o f32.state && tally fragment result f32.state --dtype f32 --hex" \
    'tally reduce sum:exact all.txt --dtype f32 --hex'
same "$make mean:exact all.txt -o mean.frag && tally fragment result mean.frag --hex" 'tally reduce mean:exact all.txt --hex'
bad 2 'tally fragment result a.frag --dtype f32' 'tally: --dtype is for the state of sum:exact, and a.frag is a fragment, which has a type'
bad 2 'tally fragment merge a.frag b.frag --start 300 -o no' 'tally: --start goes with `tally fragment make`'
bad 2 'tally fragment show a.frag --dtype f32' 'tally: --dtype goes with `tally fragment make` and `result`'
bad 2 "$make sum p0.txt --digest -o no" 'tally: --digest goes with `tally fragment result`'
ok "$make sum:exact all.txt -o whole.state && cmp all.state whole.state" ''
ok "printf '1\nnan\ninf\n' | $make sum:exact -o odd.state && tally fragment show odd.state --json" \
    '{"file": "odd.state", "dtype": "f64", "order": "E v1", "results": [{"op": "sum:exact", "elements": 3, "nan": 1, "inf": 1, "-inf": 0}]}'
printf '1 1 0 1\n' | tr ' ' '\n' >bits.txt
ok "printf '5\n6\n7\n8\n' | $make sum:exact --valid bits.txt -o some.state && tally fragment result some.state" 19
bad 1 'tally fragment merge all.state a.frag -o no' \
    'tally: a.frag: a fragment and the state of an exact sum do not merge: all.state is a state'
bad 1 'tally fragment merge a.frag all.state -o no' \
    'tally: all.state: a fragment and the state of an exact sum do not merge: a.frag is a fragment'
bad 1 'head -c 576 /dev/zero | tr "\000" "\377" >bad.state; tally fragment result bad.state' \
    'tally: bad.state: it is no fragment and no exact sum: it says that it has fewer than 0 values: the state is damaged'
# with a place, of many sequences, or of another operator they are fragments
ok "$make sum:exact p1.txt --start 0 -o placed.frag && tally fragment show placed.frag | head -n 1 | cut -d, -f1" 'sum:exact of f64'
ok "$make sum:exact all.txt --shape 2x500 --axis 1 -o two.frag && tally fragment result two.frag --hex " \
    "$(tally reduce sum:exact all.txt --shape 2x500 --axis 1 --hex)"
ok "$make nansum:exact all.txt -o nan.frag && tally fragment result nan.frag --hex" "$(tally reduce nansum:exact all.txt --hex)"
ok "printf '9223372036854775807\n' | $make sum:checked --dtype i64 -o m.frag && printf '1\n' | $make sum:checked --dtype i64 --start 1 -o 1.frag" ''
bad 1 'tally fragment merge m.frag 1.frag -o over.frag && tally fragment result over.frag' \
    'tally: over.frag: sum:checked: the sum is 9223372036854775808, and 64 bits hold -9223372036854775808..9223372036854775807'
ok "printf -- '-1\n' | $make sum:checked --dtype i64 --start 2 -o 2.frag && tally fragment merge 2.frag over.frag -o fits.frag && tally fragment result fits.frag" 9223372036854775807
bad 2 'tally fragment result a.frag mean' "tally: 'mean': only the state of sum:exact has results of several operators, and a.frag is a fragment of sum"

# ---- examples/batch.sh: one job is lost, found by its number, run again ----
batch=$here/../examples/batch.sh
ok "mkdir parts && seq 0 3 | xargs -P 2 -I N bash '$batch' make sum parts N p0.txt p1.txt p2.txt p3.txt" ''
same "bash '$batch' finish parts p0.txt p1.txt p2.txt p3.txt" 'tally reduce sum all.txt --hex'
bad 1 "rm parts/1.frag; head -c 50 parts/3.frag >cut; mv cut parts/3.frag; bash '$batch' finish parts p0.txt p1.txt p2.txt p3.txt" 'run again: 1 3'
same "for i in 3 1; do bash '$batch' make sum parts \$i p0.txt p1.txt p2.txt p3.txt; done; bash '$batch' finish parts p0.txt p1.txt p2.txt p3.txt" 'tally reduce sum all.txt --hex'

# ---- its commands for one machine and for Slurm, as they stand there but for four files of text; an sbatch that runs jobs at once ----
mkdir -p shop/examples shop/bin shop/data
cp "$batch" shop/examples/batch.sh
chmod +x shop/examples/batch.sh
for i in 0 1 2 3; do cp p$i.txt shop/data/part-$i.txt; done
cat >shop/bin/sbatch <<'END'
#!/usr/bin/env bash
# sbatch [--parsable] [--array=FROM-TO] [--dependency=afterany:JOB] --wrap COMMAND: job 7; LOST, a number of the array, never runs
from=0 to=0 after=
for word; do
    case $word in
    --array=*) from=${word#*=} to=${from#*-} from=${from%-*} ;;
    --dependency=afterany:*) after=${word#*:} ;;
    esac
done
if [ -n "$after" ]; then
    [ "$after" = 7 ] || exit 1
    exec sh -c "${!#}"
fi
for ((i = from; i <= to; i++)); do [ "$i" = "${LOST-}" ] || SLURM_ARRAY_TASK_ID=$i sh -c "${!#}"; done
echo 7
END
chmod +x shop/bin/sbatch
PATH=$work/run/shop/bin:$PATH
both() { sed -n 's/^#   //p' "$batch" | sed -n "$1" | sed 's/0-99/0-3/; s/seq 0 99/seq 0 3/; s/\.npy/.txt/g'; }
both 3,4p >machine.sh && both 5,6p >slurm.sh
ok "wc -l <machine.sh && wc -l <slurm.sh && grep -c 'mkdir parts' machine.sh && grep -c sbatch slurm.sh" $'2\n2\n1\n2'
same "cd shop && bash -e ../machine.sh" 'tally reduce sum all.txt --hex'
bad 1 "rm shop/parts/*; cd shop && LOST=2 bash -e ../slurm.sh" 'run again: 2'
same "cd shop && bash -e ../slurm.sh" 'tally reduce sum all.txt --hex'
finish
