#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_cli_output.sh TALLY - what the command line writes: the contract of results in doc/formats.md, files that are whole or not
# there, what a terminal gets to see, what stays when the process is ended, and where a run says that it ran.
# shellcheck disable=SC2016 # commands are quoted on purpose: bash -c expands them
# shellcheck source=test/cli/check.sh
. "$(dirname "$0")/cli/check.sh"
seq 1 5 >a.txt
head='"dtype": "f64", "order": "E v1", "results": ['
tail='"skipped": 0, "device": "cpu", "ran_on": ["cpu"]}'

# ---- one object in every verb ----
ok 'seq 1 5 | tally reduce sum,minmax --json' "{\"file\": \"-\", $head
  {\"op\": \"sum\", \"dtype\": \"f64\", \"per\": \"file\", \"value\": 15, \"bits\": \"0x402e000000000000\", \"count\": 1},
  {\"op\": \"minmax\", \"dtype\": \"f64\", \"per\": \"file\", \"value\": [1, 5], \"bits\": [\"0x3ff0000000000000\", \"0x4014000000000000\"], \"count\": 1}], \"n\": 5, \"shape\": [5], $tail"
ok 'tally reduce max --segments seg.npy m.npy --json | grep op' '  {"op": "max", "dtype": "i32", "per": "segment", "values": [2, -2147483648, 6], "bits": ["0x00000002", "0x80000000", "0x00000006"], "count": 3}], "n": 6, "shape": [2, 3], '"$tail"
scanned="{\"file\": \"-\", $head
  {\"op\": \"minmax\", \"dtype\": \"f64\", \"per\": \"element\", \"values\": [[1, 1], [1, 2]], \"bits\": [[\"0x3ff0000000000000\", \"0x3ff0000000000000\"], [\"0x3ff0000000000000\", \"0x4000000000000000\"]], \"count\": 2}], \"n\": 2, \"shape\": [2], $tail"
ok 'seq 1 2 | tally scan minmax --json' "$scanned"
ok 'seq 1 2 | tally scan minmax --to json' "$scanned"
ok 'seq 1 2 | tally window minmax -w 5 --edges shrink --json' "$scanned"
ok 'seq 1 2 | tally scan minmax -o s.json && cat s.json' "$scanned"
ok 'seq 1 2 | tally scan sum -o s.npy --json --digest && tally reduce last s.npy' "{\"file\": \"-\", $head
  {\"op\": \"sum\", \"dtype\": \"f64\", \"per\": \"element\", \"count\": 2, \"sha256\": \"$(seq 1 2 | tally scan sum --to raw | sha256sum | cut -d' ' -f1)\"}], \"n\": 2, \"shape\": [2], \"skipped\": 0, \"path\": \"s.npy\", \"device\": \"cpu\", \"ran_on\": [\"cpu\"]}
3"
ok 'seq 1 2 | tally reduce sum -o r.npy --json --digest && tally reduce last r.npy' "{\"file\": \"-\", $head
  {\"op\": \"sum\", \"dtype\": \"f64\", \"per\": \"file\", \"count\": 1, \"sha256\": \"$(seq 1 2 | tally reduce sum --to raw | sha256sum | cut -d' ' -f1)\"}], \"n\": 2, \"shape\": [2], \"skipped\": 0, \"path\": \"r.npy\", \"device\": \"cpu\", \"ran_on\": [\"cpu\"]}
3"
same 'seq 100000 | tally scan mean --json | python3 -c "
import json, struct, sys
r = json.load(sys.stdin)[\"results\"][0]
assert len(r[\"values\"]) == len(r[\"bits\"]) == r[\"count\"] == 100000
assert all(struct.pack(\">d\", v).hex() == b[2:] for v, b in zip(r[\"values\"], r[\"bits\"]))
print(*r[\"bits\"], sep=\"\n\")"' 'seq 100000 | tally scan mean --hex'

# ---- tabs in text, a header in csv, FILE by its ending ----
for v in 'reduce minmax --axis 1 m.npy' 'scan minmax m.npy' 'window minmax -w 2 --edges shrink m.npy'; do
    has "tally $v | tail -n 1" "^[0-9]$t[0-9]\$"
    ok "tally $v --to csv | sed -n 1p" minmax.min,minmax.max
    ok "tally $v -o x.csv && head -n 1 x.csv" minmax.min,minmax.max
    ok "tally ${v/minmax/nanminmax} --to csv | sed -n 1p" nanminmax.min,nanminmax.max
done
ok 'tally reduce sum a.txt --to csv' $'sum\n15'
ok 'tally scan sum --axis 0 m.npy --to csv' $'sum.0,sum.1,sum.2\n1,2,3\n5,7,9'
ok 'tally scan sum,max --axis 0 m.npy --to csv | sed -n 1p' sum.0,max.0,sum.1,max.1,sum.2,max.2
ok "printf '1 2\n3 4\n' | tally scan sum --axis 0 --to csv" $'sum.1,sum.2\n1,2\n4,6' # columns of a table count from 1
ok "printf 'p,q\n1,2\n' | tally scan sum --column q --json | tail -n 1 | grep -o '\"count.*'" "\"count\": 1}], \"n\": 1, \"shape\": [1], $tail"
ok "printf 'p,q\n1,2\n' | tally scan sum --column q,p --json | grep -o '\"columns\": [^]]*'" '"columns": ["q", "p"'
ok 'tally reduce sum --axis 0 m.npy -o x.csv && cat x.csv && tally reduce max x.csv' $'sum\n5\n7\n9\n9'
ok 'tally reduce sum a.txt --to raw -o x && od -An -tf8 x && tally scan sum a.txt --to raw -o y && od -An -j32 -tf8 y' "$(printf '%25s' 15; printf '\n%25s' 15)"
ok 'tally reduce sum a.txt -o x.csv --digest && cat x.csv' "$(tally reduce sum a.txt --digest)"$'\nsum\n15'
ok 'tally scan last a.txt -o x.csv --digest && tail -n 1 x.csv' "$(tally scan last a.txt --digest)"$'\n5'
if command -v script >/dev/null; then
    ok "script -qec 'tally reduce sum --axis 0 m.npy' /dev/null | tr -d '\r'" $'column  sum\n0         5\n1         7\n2         9'
    ok "printf 'p,q\e[2J\n1,2\n' >n.csv; script -qec 'tally reduce sum --axis 0 n.csv' /dev/null | tr -d '\r'" $'column    sum\np           1\nq\\x1b[2J    2'
    ok "script -qec 'tally reduce sum --axis 1 m.npy' /dev/null | tr -d '\r'" $'row  sum\n0      6\n1     15'
    ok "script -qec 'tally reduce sum --segments seg.npy m.npy' /dev/null | tr -d '\r'" $'segment  sum\n0          3\n1          0\n2         18'
    ok "script -qec 'tally reduce sum --axis 0 c.npy' /dev/null | tr -d '\r' | head -n 1" 'sequence  sum'
fi

# ---- the one writer: links, FIFOs and permissions, in every format ----
for f in csv txt json npy raw; do
    ok "echo old >victim; rm -f x.$f; ln -s victim x.$f; tally reduce sum a.txt -o x.$f && [ -L x.$f ] && cmp -s x.$f victim; echo \$?" 0
    ok "rm -f x.$f; (umask 077; echo old >x.$f); tally reduce sum a.txt -o x.$f && stat -c %a x.$f" 600
    ok "rm -f x.$f; mkfifo x.$f; { tally reduce sum a.txt -o x.$f; [ -p x.$f ]; echo \$?; } & timeout 5 cat x.$f >got; wait; test -s got; rm x.$f" 0
done
for f in json html; do
    ok "echo old >victim; rm -f x; ln -s victim x; tally ladder reduce --rung atomic --device model --n 100 --runs 0 --$f x >/dev/null && [ -L x ] && [ \$(wc -c <victim) -gt 100 ]; echo \$?" 0
done
bad 1 'ulimit -f 1; tally ladder reduce --rung atomic --device model --n 100 --runs 0 --json x >/dev/null' 'tally: x: writing: File too large'
bad 2 'tally reduce sum,max none.npy -o x.raw' 'tally: --output x.raw: raw files hold one type, so give one operator, or write .csv or .txt'
bad 2 'tally reduce sum a.txt -o ""' "tally: path is '': must name a file"
bad 2 'tally scan sum ""' "tally: path is '': must name a file"
bad 1 'tally scan sum a.txt -o x.npy --json >&-; c=$?; tally reduce last x.npy; exit $c' 'tally: standard output: Bad file descriptor'
[ "$(cat "$work/out")" = 15 ]
verdict 'a file does not take the place of a closed output' $? "$(cat "$work/out")"
if [ -w /dev/full ]; then
    bad 1 'tally scan sum a.txt --json -o /dev/full --to raw' 'tally: /dev/full: writing: No space left on device'
    [ ! -s "$work/out" ]
    verdict 'no JSON before the values are written' $? "$(cat "$work/out")"
fi
bad 1 'tally reduce sum a.txt -o . --to raw' 'tally: .: is a directory'
bad 1 'ulimit -f 1; seq 100000 | tally scan sum -o big.txt; c=$?; ls -A big* .tally* 2>/dev/null; exit $c' 'tally: big.txt: writing: File too large'
bad 1 'ulimit -f 1; tally scan sum c.npy --json -o /dev/null --to raw >big; seq 9999 | tally scan sum >big' 'tally: standard output: writing: File too large'

# ---- the ending of FILE says the format, or the command is refused: nothing is binary without a word ----
printf 'k,x,y\n"a\tb",1,2\n"c,d",3,4\n' >tabs.csv
ok "tally reduce sum,max --by k --column x tabs.csv -o t.tsv; cat t.tsv" "$(printf 'k\tsum\tmax\n"a\tb"\t1\t1\nc,d\t3\t3')"
ok "tally reduce sum --by k --column sum t.tsv --to csv; tally reduce sum tabs.csv --column x --to tsv" "$(printf 'k,sum\na\tb,1\n"c,d",3\nsum\n4')"
ok "tally scan sum,max --column x,y tabs.csv -o T.TSV; cat T.TSV" "$(printf 'sum.x\tmax.x\tsum.y\tmax.y\n1\t1\t2\t2\n4\t3\t6\t4')"
ok "tally scan minmax --column x tabs.csv -o t.tsv; cat t.tsv" "$(printf 'minmax.min\tminmax.max\n1\t1\n1\t3')"
ok "tally window sum -w 2 --column x tabs.csv --empty '' -o t.tsv; cat t.tsv" "$(printf 'sum\n""\n4')"
ok "tally reduce sum --column x tabs.csv -o t.bin; od -An -t f8 t.bin | tr -d ' '; rm t.bin" 4
said='its ending says no format (.txt, .csv, .tsv, .npy, .raw, .bin, .nc, .nc4, .h5, .json); name it: --to text'
for f in o.dat o; do
    bad 2 "tally reduce sum a.txt -o $f" "tally: --output $f: $said"
    bad 2 "tally scan sum a.txt -o $f" "tally: --output $f: $said"
done
bad 2 'tally fragment make sum a.txt -o a.frag; tally fragment result a.frag -o o.dat' "tally: --output o.dat: $said"
bad 2 'tally window sum -w 2 a.txt -o o.csv.gz' 'tally: --output o.csv.gz: .gz files are not written here; compress standard output: `tally ... | gzip`'
bad 2 'tally reduce sum a.txt -o o.Parquet' 'tally: --output o.Parquet: .parquet files are not written here; `python -m tally` writes Parquet'
[ -z "$(ls "$work"/o.* "$work/o" 2>/dev/null)" ]
verdict 'nothing is written where no format is said' $?

# ---- the process is ended: nothing stays ----
nothing() # NAME WANTED GOT: how it ended, and that the folder and the compiler are gone
{
    [ "$2" = "$3" ] && [ -z "$(ls -A "$work/out.d")" ]
    verdict "$1" $? "ended with $3, wanted $2; left: $(ls -A "$work/out.d")"
}
mkdir "$work/out.d"
for s in INT:-2 TERM:-15 HUP:-1 KILL:-9; do
    nothing "SIG${s%:*} while writing" "${s#*:}" "$(python3 "$here/cli/end.py" "${s%:*}" - tally scan sum -o "$work/out.d/x.npy")"
done
nothing 'SIGINT that is ignored' '' "$(trap '' INT; seq 9 | tally reduce sum -o /dev/null --to raw)"
if [ -z "${TALLY_SANITIZE-}" ]; then # which must be loaded first
    cat >named.c <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>
int open(const char *path, int flags, ...) /* a file system without O_TMPFILE */
{
    va_list more;
    va_start(more, flags);
    const int mode = va_arg(more, int);
    va_end(more);
    if ((flags & O_TMPFILE) != O_TMPFILE) return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    errno = EOPNOTSUPP;
    return -1;
}
C
    "${CC:-cc}" -shared -fPIC -o named.so named.c || exit 1
    ok "LD_PRELOAD=$PWD/named.so tally scan sum a.txt -o x.txt && tail -n 1 x.txt && find . -name '.tally*' | wc -l" $'15\n0'
    for s in INT:-2 TERM:-15 HUP:-1; do
        nothing "SIG${s%:*} while writing a file with a name" "${s#*:}" \
            "$(LD_PRELOAD=$PWD/named.so python3 "$here/cli/end.py" "${s%:*}" - tally scan sum -o "$work/out.d/x.npy")"
    done
    truncate -s 64M big.raw # memory runs out somewhere between the start and the end of the work
    for kb in 60000 90000 120000 160000 200000 300000; do
        bash -c "ulimit -v $kb; exec env LD_PRELOAD=$PWD/named.so tally scan sum --dtype f32 big.raw -o $work/out.d/x.npy" >/dev/null 2>&1
        rm -f "$work/out.d/x.npy"
        [ -z "$(ls -A "$work/out.d")" ]
        verdict "address space of $kb KB" $? "left: $(ls -A "$work/out.d")"
    done
fi
cat >slow.sh <<C
#!/bin/sh
sleep 1000 & echo \$! >$work/started
wait
C
chmod +x slow.sh
for s in INT:-2 TERM:-15; do
    rm -f "$work/started"
    nothing "SIG${s%:*} while a user's operator compiles" "${s#*:}" "$(CC=$PWD/slow.sh TMPDIR=$work/out.d XDG_CACHE_HOME=$work/cache \
        python3 "$here/cli/end.py" "${s%:*}" "$work/started" tally reduce trend --op-file "$here/../examples/operators/trend.h" a.txt)"
    pid=$(cat "$work/started")
    for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null && ! grep -q '^State:.Z' "/proc/$pid/status" || break; sleep 0.02; done
    ! kill -0 "$pid" 2>/dev/null || grep -q '^State:.Z' "/proc/$pid/status"
    verdict "SIG${s%:*} ends the compiler" $? "process $pid runs"
done

# ---- what a terminal gets to see ----
bad 1 'tally reduce sum $'"'a\\e[31mb\\n\\xff\\xe2\\x80\\xae\\xc3\\xa9'" $'tally: a\\x1b[31mb\\n\\xff\\xe2\\x80\\xae\xc3\xa9: No such file or directory'
bad 2 'tally $'"'\\e]0;x\\a'" "tally: there is no verb '\\x1b]0;x\\x07'; choices: reduce, scan, window, fragment, ladder, devices, doctor, verify, bench, ops, help"
bad 2 'printf "\e[2Ja,b\n1,2\n" | tally reduce sum --column c --format csv' "tally: standard input: no column 'c'; the columns are 1 '\\x1b[2Ja', 2 'b'"
bad 2 'tally scan sum --init $'"'\\e[2J'"' a.txt' "tally: --init is '\\x1b[2J', which is not a value of f64, the output of sum"
strange=$'s\e[31m\t\xff\xc3\xa9"n.txt'
seq 1 3 >"$strange"
ok 'tally reduce sum s?\[* a.txt' "file${t}sum
s\\x1b[31m\\t\\xff"$'\xc3\xa9'"\"n.txt${t}6
a.txt${t}15"
ok 'tally reduce sum s?\[* a.txt --to csv | sed -n 2p' "\"s"$'\e[31m\t\xff\xc3\xa9'"\"\"n.txt\",6"
ok 'tally scan sum s?\[* --explain 2>&1 >/dev/null | head -n 1' 'tally: scan sum of s\x1b[31m\t\xff'$'\xc3\xa9''"n.txt'
ok 'tally reduce sum s?\[* --json | python3 -c "import json, sys; print(ascii(json.loads(sys.stdin.buffer.read().decode())[\"file\"]))"' \
    "'s\\x1b[31m\\t\\ufffd\\xe9\"n.txt'"
has "tally scan sum s?\[* --json | python3 -m json.tool" ufffd
ok 'printf "\"a\"\"b\",c\n1,2\n" | tally reduce sum --column "a\"b" --format csv' 1
ok 'printf "\"a\"\"\",c\n1,2\n" | tally reduce sum --column "a\"" --format csv' 1
bad 2 'printf "\"a\"\"b\",c\n1,2\n" | tally reduce sum --column "a\"\"b" --format csv' "tally: standard input: no column 'a\"\"b'; did you mean 'a\"b'? the columns are 1 'a\"\"b', 2 'c'"
if command -v script >/dev/null; then
    ok "script -qec 'tally reduce sum s?\[* a.txt' /dev/null | tr -d '\r'" $'file                    sum\ns\\x1b[31m\\t\\xff\xc3\xa9"n.txt    6\na.txt                    15'
fi

# ---- where a run ran ----
has 'tally reduce sum --explain a.txt' 'computed +on the processors; read'
# the device that was asked for; where there is only one, auto is that one
asked=cpu
if [ "$(tally devices --json | grep -c '"usable": true')" -gt 1 ]; then asked=auto; fi
has 'tally reduce sum --explain --device auto a.txt' "^  device       $asked, "
has 'OCL_ICD_VENDORS=$PWD/none CUDA_VISIBLE_DEVICES= tally reduce sum --explain a.txt' '^  device       cpu, '
device=$(tally devices | awk '/^opencl:/ { print $1; exit }')
if [ -n "$device" ] && [ -z "${TALLY_SANITIZE-}" ]; then
    has "tally reduce sum --json --device $device m.npy" "\"device\": \"$device\", \"ran_on\": \[\"$device\"\]}\$"
    has "tally reduce sum --explain --device $device m.npy" "computed +on $device, 1 kernel; read"
    for v in 'reduce sum' 'scan sum' 'window sum -w 2'; do
        says "tally $v --device $device a.txt" "tally: a.txt: nothing ran on $device: the processors computed this, as they do with small pieces"
        says "TALLY_DEVICE=$device tally $v -q a.txt" ''
        has "tally $v --json -q --device $device a.txt" "\"device\": \"$device\", \"ran_on\": \[\"cpu\"\]}\$"
        has "tally $v --explain --device $device a.txt" "computed +on the processors; nothing ran on $device; read"
    done
    has "tally scan sum --axis 0 --json --device $device m.npy" "\"ran_on\": \[\"$device\"\]}\$"
    has "tally scan sum --segments seg.npy --reverse --json --device $device m.npy" "\"ran_on\": \[\"cpu\"\]}\$"
fi

# a closed pipe is not the reason why another file cannot be made
bad 1 '(sleep 0.2; tally scan sum,max a.txt -o nodir/x.csv; echo $? >code) | true; exit $(cat code)' 'tally: nodir/x.csv: creating a temporary file beside it: No such file or directory'

finish
