#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Operators of users on the command line: names, errors with their places and exit codes, a machine without a compiler, many
# processes at once, and on an OpenCL device (PoCL where there is no GPU) without any C compiler. The rest is in test_user.c.
set -u
tally=$TALLY_CLI
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache TMPDIR=$work/temporary LC_ALL=C
unset TALLY_DEVICE TALLY_THREADS TALLY_ISA
mkdir "$TMPDIR" "$work/empty" && cd "$work" || exit 1
cp "$TALLY_SOURCE"/examples/operators/*.h .
# Without optimization, which takes most of the compiler's time: test_user.c has some. The law's flags undo -ffast-math.
# shellcheck disable=SC2016 # the words of the script
printf '#!/bin/sh\nexec %s -ffast-math "$@" -O0\n' "${CC:-cc}" >quick-cc
chmod +x quick-cc
export CC=$work/quick-cc
seq 1 5000 | awk '{ print ($1 * 7919) % 1009 }' >series
failed=0
is() { # is WHAT GOT WANTED
    [ "$2" = "$3" ] && return
    failed=1
    printf 'FAILED %s\n  got    %s\n  wanted %s\n' "$1" "$2" "$3"
}
both() { "$@" 2>&1; echo "exit $?"; } # what a command prints, and its code

is "a file" "$(both "$tally" reduce descent --op-file descent.h <series)" $'1008\nexit 0'
is "several, one with another name" \
    "$("$tally" reduce dd,sum,trend --op-file dd=./descent.h --op-file trend.h --json <series | grep -c '"')" \
    "$("$tally" reduce max,sum,mean --json <series | grep -c '"')"
is "a scan" "$(printf '3\n5\n2\n8\n1\n' | "$tally" scan descent --op-file descent.h | tr '\n' ' ')" "0 0 3 3 7 "
is "a window" "$(seq 1 6 | "$tally" window trend -w 3 --edges valid --op-file trend.h | tr '\n' ' ')" "1 1 1 1 "
is "two results" "$(printf '1\n-1\n-1\n1\n1\n' | "$tally" reduce brackets --dtype i8 --op-file brackets.h | xargs)" "1 2"
is "a parameter" "$(printf '1\n2\n3\n0\n4\n' | "$tally" reduce streak:above=1.5 --op-file streak.h)" 2
cat >far.h <<'END'
#define OP_INPUTS 2
#define OP_STATE(F) F(real, most)
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, elem y, idx i, par p)
{
    state r;
    real d = to_real(x) - to_real(y);
    r.most = sel(d < num(0.0), num(0.0) - d, d);
    return r;
}
fn state combine(state a, state b) { state r; r.most = sel(b.most > a.most, b.most, a.most); return r; }
fn result lower(state a, real n, idx first, par p) { return to_result(canon(a.most)); }
fn result empty(par p) { return to_result(num(0.0)); }
END
printf 'x,y\n1,4\n2,5\n3,9.5\n1,1\n' >pairs.csv
is "two inputs" "$("$tally" scan far --op-file far.h --column x,y pairs.csv | xargs)" "3 3 6.5 6.5"
is "a window of two inputs, one left out" \
    "$(printf '1\n1\n0\n1\n' | "$tally" window far -w 2 --edges valid --op-file far.h --column x,y --valid - pairs.csv | xargs)" "3 3 0"
is "one input for an operator of two" "$(both "$tally" reduce far --op-file far.h --column x pairs.csv | cut -c 1-39)" \
    $'tally: operator \'far\' takes two inputs:\nexit 2'
sed 's/elem x, elem y/elem x/' far.h >bad.h
is "lift of one element" "$(both "$tally" reduce bad --op-file bad.h --column x,y pairs.csv)" \
    $'tally: bad.h:4: OP_INPUTS is 2: \'lift\' must be fn state lift(elem x, elem y, idx i, par p)\nexit 1'
is "an operator nobody defined" "$(both "$tally" reduce descen --op-file descent.h <series | sed 's/;.*//')" \
    $'tally: there is no operator \'descen\'\nexit 2'
is "no file" "$(both "$tally" reduce a --op-file a.h <series)" $'tally: a.h: No such file or directory\nexit 1'
is "a built-in name" "$(both "$tally" reduce sum --op-file sum=descent.h <series)" \
    $'tally: --op-file sum=descent.h: \'sum\' is a built-in operator; give yours a name of its own: --op-file NAME=descent.h\nexit 2'
is "no name" "$(both "$tally" reduce sum --op-file =descent.h <series)" \
    $'tally: --op-file is \'=descent.h\': must be NAME=FILE, or a FILE whose name is the operator\'s\nexit 2'
is "a wrong type" "$(both "$tally" reduce brackets --op-file brackets.h <series)" \
    $'tally: op \'brackets\' is for the types I (OP_TYPES in brackets.h), not f64\nexit 2'
sed 's/^#define OP_STATE.*/#define OP_STATE(F) F(real, high) F(float, low)/' descent.h >bad.h
is "a wrong field" "$(both "$tally" reduce bad --op-file ./bad.h <series)" \
    $'tally: ./bad.h:5: a field of the state is \'float\': must be real, ord, idx, elem or wide\nexit 1'
sed 's/a.low < b.low/a.low < b.lowest/' descent.h >bad.h
is "a wrong line" "$(both "$tally" reduce bad --op-file bad.h <series | sed 's/\(:[0-9]*\):[0-9]*: .*/\1/')" \
    "tally: bad.h:$(grep -n b.lowest bad.h | cut -d: -f1)"$'\nexit 1'
printf 'x' | cat - descent.h >noise.h
is "noise" "$(both "$tally" reduce noise --op-file noise.h <series | sed 's/:[0-9]*: .*//')" $'tally: noise.h:1\nexit 1'
head -c 300 /dev/urandom >random.h
is "random bytes" "$(both "$tally" reduce random --op-file random.h <series | tail -n 1)" "exit 1"

# no compiler: a sentence; what is cached needs the compiler that made it
is "no compiler" "$(PATH=$work/empty CC='' both "$tally" reduce squares --op-file squares.h <series)" \
    "tally: operator 'squares': the processors need a C compiler for its text, and there is no cc, gcc or clang in PATH (streams, fragments and reversed scans of segments run there on every device)
exit 2"
# a compiler that fails, or makes nothing, and does not say why
for cc in false true; do
    is "CC=$cc" "$(XDG_CACHE_HOME=$work/none CC=$cc both "$tally" reduce squares --op-file squares.h <series)" \
        "tally: operator 'squares': the compiler $(type -P $cc) failed without a message
exit 1"
done

# at once, and cold: the same bits from every process
rm -rf "$XDG_CACHE_HOME"
for i in 1 2 3; do "$tally" reduce trend --digest --op-file trend.h <series >"digest$i" 2>&1 & done
wait
is "processes at once" "$(cat digest? | sort -u | wc -l) $(grep -c . digest1)" "1 1"
is "what was cached" "$("$tally" reduce trend --digest --op-file trend.h <series)" "$(cat digest1)"
for f in "$XDG_CACHE_HOME"/tally/*.bin; do printf 'XXXX' | dd of="$f" bs=1 seek=200 conv=notrunc 2>/dev/null; done
is "an altered cache" "$("$tally" reduce trend --digest --op-file trend.h <series)" "$(cat digest1)"
is "folders left" "$(ls "$TMPDIR")" ""

# ---- on a device whose driver compiles ----
device=$("$tally" devices | awk '/^opencl:/ { print $1; exit }')
if [ -n "$device" ] && [ -z "${TALLY_SANITIZE-}" ]; then
    "$TALLY_BUILD/test_user" "$device" >errors.log 2>&1 || { failed=1; grep -A1 FAILED errors.log; }
    ln -s "$(command -v ld)" empty/ld # PoCL links
    "$tally" scan last --dtype f32 -o x.npy <series
    is "without a C compiler" "$(PATH=$work/empty CC='' both "$tally" reduce descent --op-file descent.h --device "$device" x.npy)" $'1008\nexit 0'
    is "a stream without a C compiler" \
        "$(PATH=$work/empty CC='' both "$tally" reduce descent --op-file descent.h --device "$device" <series | cut -c1-69)" \
        $'tally: operator \'descent\': the processors need a C compiler for its t\nexit 2'
    cat >choices.h <<'TEXT'
#define OP_STATE(F) F(real, a) F(real, b)
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p) { state r; r.a = to_real(x) + num(1.0); r.b = r.a; return r; }
fn state combine(state a, state b)
{
    state r;
    r.a = sel(a.a < b.a, sel(a.b > b.b, a.a / b.a, root(b.a)), sel(a.b > b.a, b.a / a.a, root(a.a)));
    r.b = sel(a.b < b.b, sel(a.a > b.a, b.b / a.b, root(b.b)), sel(a.b > b.a, a.b / b.b, root(a.b)));
    return r;
}
fn result lower(state a, real n, idx first, par p) { return to_result(canon(a.a / a.b)); }
fn result empty(par p) { return to_result(num(0.0)); }
TEXT
    # as branches before a barrier these choices end the process in PoCL 5.0
    is "choices" "$("$tally" reduce choices --op-file choices.h --hex --device "$device" x.npy 2>&1)" \
        "$("$tally" reduce choices --op-file choices.h --hex x.npy)"
    turn=${TALLY_TEST_SEED:-$RANDOM} # in every second run one of the two, which the seed picks
    echo "seed $turn"
    for case in "brackets i8" "told f32"; do
        turn=$((turn + 1))
        [ -n "${TALLY_TEST_LONG-}" ] || [ $((turn % 4)) = 1 ] || continue
        # shellcheck disable=SC2086
        TALLY_TEST_DEVICES=$device "$TALLY_BUILD/test_user" $case || failed=1
    done
fi
[ $failed -eq 0 ] && echo "user: as expected"
exit $failed
