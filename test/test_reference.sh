#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The one-file reference (reference/): order_e.c writes vectors.json byte for byte, with and without optimisation;
# order_e.py, which is another implementation, and the library agree with every vector in bits. Then each of them gets a
# bug, and each of these must be seen.
set -uo pipefail
from=$TALLY_SOURCE/reference
golden=$from/vectors.json
failed=0
fail() {
    echo "FAILED: $*"
    failed=1
}
write() { # write NAME SOURCE FLAG...: what SOURCE writes, in NAME.json
    "$CC" -std=c11 -Wall -Wextra -Werror -ffp-contract=off "${@:3}" "$2" -o "$1" && "./$1" >"$1.json"
}
write plain "$from/order_e.c" -O0 || fail "order_e.c, -O0"
write quick "$from/order_e.c" -O2 || fail "order_e.c, -O2"
cmp plain.json "$golden" || fail "order_e.c -O0 writes other vectors"
cmp quick.json "$golden" || fail "order_e.c -O2 writes other vectors"
[ "$(wc -c <"$golden")" -lt 200000 ] || fail "vectors.json is no small file"

# plant FILE SED: a copy of FILE, in planted/, with a bug
plant() {
    mkdir -p planted
    sed "$2" "$from/$1" >"planted/$1"
    ! cmp -s "$from/$1" "planted/$1" || fail "'$2' changes nothing in $1"
}
for bug in 's/return combine(o, a, b);/return combine(o, b, a);/' 's/const int64_t q = m & (m - 1);/const int64_t q = m - 1;/' \
    's/if (BIT(at - 1) && (sticky || m & 1)) m++;/if (BIT(at - 1)) m++;/' 's/l.at % ((int64_t)2 << l.level))/0)/'; do
    plant order_e.c "$bug"
    write planted.out planted/order_e.c -O0 -Wno-error && cmp -s planted.out.json "$golden" &&
        fail "order_e.c with '$bug' writes the same vectors"
done

command -v python3 >/dev/null || { echo "no python3: the second implementation and the library were not asked"; exit $failed; }
python3 "$from/order_e.py" "$golden" || fail "order_e.py and the vectors"
# the same vectors with a NaN as the initial value, which a nan form of a minimum leaves out
plant order_e.c 's/from_double(o->out, 1.25)/quiet_nan(o->out)/'
write nan_init planted/order_e.c -O0 || fail "order_e.c from a NaN"
python3 "$from/order_e.py" nan_init.json || fail "order_e.py and a NaN as the initial value"
turn=${TALLY_TEST_SEED:-$RANDOM} # it takes seconds: of these bugs one, as the seed picks
echo "seed $turn"
for bug in 's/top = join(self.op, self.stack.pop(), top)/top = join(self.op, top, self.stack.pop())/' \
    's/found.append(c.result())$/found.append(reduce(op, x[1:]))/' 's/e = max(e, least)/pass/' \
    's/self.n += 1$/self.n += 2/'; do
    turn=$((turn + 1))
    [ -n "${TALLY_TEST_LONG-}" ] || [ $((turn % 4)) = 1 ] || continue
    plant order_e.py "$bug"
    python3 planted/order_e.py "$golden" >planted.log && fail "order_e.py with '$bug' passes"
done

library=$TALLY_BUILD/libtally.so
if [ -n "${TALLY_SANITIZE-}" ] || [ ! -e "$library" ]; then
    echo "no shared library without sanitizers: it was not asked"
    exit $failed
fi
python3 "$TALLY_SOURCE/test/reference.py" "$from" "$golden" "$library" || fail "the library and the vectors"
python3 "$TALLY_SOURCE/test/reference.py" "$from" nan_init.json "$library" || fail "the library and a NaN as the initial value"
# one digit of a vector of each verb, and of each key
cp "$golden" planted.json
changes=0
for what in '"reduce".*"bits": ' '"scan".*"bits": ' '"window".*"bits": ' '"window".*"fnv": ' '"fragments".*"state": ' '"exact".*"state": '; do
    line=$(grep -nE "\"verb\": $what" "$golden" | tail -n 1 | cut -d: -f1)
    digit=$(sed -nE "${line}s/.*${what##*\*}\[?\"[0-9a-f]*([0-9a-f])\".*/\1/p" "$golden")
    sed -E -i "${line}s/(.*${what##*\*}\[?\"[0-9a-f]*)[0-9a-f]\"/\1$([ "$digit" = 3 ] && echo 4 || echo 3)\"/" planted.json
    changes=$((changes + 1))
done
[ "$(diff "$golden" planted.json | grep -c '^>')" -eq $changes ] || fail "the vectors were not changed in $changes lines"
python3 "$from/order_e.py" planted.json >planted.log
grep -q ", $changes wrong" planted.log || fail "order_e.py does not see all $changes changes"
python3 "$TALLY_SOURCE/test/reference.py" "$from" planted.json "$library" >planted.log
grep -q ", $changes wrong" planted.log || fail "the library's check does not see all $changes changes"
exit $failed
