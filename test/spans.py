# SPDX-License-Identifier: MIT
"""Windows along keys, on the command line, beside Python's integers and fractions: random cases with equal,
huge, fractional and (in NetCDF files) falling keys, for every closed side, ties, --next and --center. Run by
test_spans.sh."""
import os
import random
import shutil
import subprocess
import sys
import time
from fractions import Fraction

tally = sys.argv[1]
seed = int(os.environ.get("TALLY_TEST_SEED") or time.time())
quick = os.environ.get("TALLY_TEST_QUICK") == "1"
print("seed", seed, flush=True)
random.seed(seed)
UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9}
cases = 0


def decimal(value, digits=18):
    """A fraction as people write it: 2, 2.0, 0.2e1."""
    whole, rest = divmod(abs(value) * 10**digits, 1)
    assert rest == 0
    text = str(int(whole)).rjust(digits + 1, "0")
    text = text[:-digits] + "." + text[-digits:]
    kept = text.rstrip("0").rstrip(".")
    how = random.randint(0, 3)
    if how == 1 and "." not in kept:
        kept += ".0"
    elif how == 2:
        number = kept.replace(".", "")
        kept = number + "e-%d" % (len(kept) - kept.index(".") - 1) if "." in kept else number + "e0"
    return ("-" if value < 0 else "") + kept


def stamp(nanos):
    seconds, rest = divmod(nanos, 10**9)
    at = time.gmtime(seconds)
    fraction = (".%09d" % rest).rstrip("0").rstrip(".")
    return time.strftime("%Y-%m-%dT%H:%M:%S", at) + fraction + random.choice(["Z", "+00:00", "+0000"])


def duration(nanos):
    """1500000000 as 1500ms, 1.5s or 1s500ms."""
    if nanos <= 0:
        return "%dns" % nanos
    unit = random.choice(sorted(UNITS))
    whole, rest = divmod(nanos, UNITS[unit])
    if not rest:
        return "%d%s" % (whole, unit)
    if unit == "s" and random.random() < 0.5:
        return ("%d.%09d" % (whole, rest)).rstrip("0") + unit
    return ("%d%s" % (whole, unit) if whole else "") + "%dns" % rest


class Kind:
    """A column of keys: numbers from least to most in steps, and how they and lengths are written."""

    def __init__(self, name, least, most, step, key=decimal, length=decimal):
        self.name, self.least, self.most, self.step, self.key, self.length = name, least, most, step, key, length

    def keys(self, n):
        span = self.step * random.choice([1, n, 4 * n])
        base = random.choice([self.least, self.most - span, self.least + (self.most - self.least) // 2])
        base = base if random.random() < 0.7 else self.most - self.step * random.randint(0, 3)
        return sorted(min(self.most, base + self.step * random.randint(0, 2 * n)) for _ in range(n))

    def lengths(self, groups):
        """Distances of keys, and next to them."""
        keys = random.choice(groups)
        far = abs(random.choice(keys) - random.choice(keys)) + random.choice([0, 0, 1, -1]) * self.step
        return min(far, 2**63 - 1)


HALF = Fraction(1, 10**18)
KINDS = [
    Kind("small integers", -50, 50, Fraction(1)),
    Kind("decimals", Fraction(-5), Fraction(5), Fraction(1, 10)),
    Kind("18 digits", Fraction(-5), Fraction(5), HALF),
    Kind("i64", Fraction(-(2**63)), Fraction(2**63 - 1), Fraction(1)),
    Kind("i64 and halves", Fraction(-(2**63)), 2**63 - Fraction(1, 2), Fraction(1, 2)),
    Kind("u64", Fraction(0), Fraction(2**64 - 1), Fraction(1)),
    Kind("u64 and tenths", Fraction(2**63), 2**64 - Fraction(1, 10), Fraction(1, 10)),
    Kind("nanoseconds", 0, 4 * 10**18, 1, stamp, duration),
    Kind("seconds", 0, 4 * 10**18, 500000000, stamp, duration),
]


def windows(keys, low, high, closed, row):
    """The sum of 2^j over the rows j of each window; None: a window is not one range."""
    out = []
    for i, here in enumerate(keys):
        rows = []
        for j, key in enumerate(keys):
            d = key - here
            if (d > low if closed in ("right", "neither") else d >= low) and (
                d < high if closed in ("left", "neither") else d <= high
            ):
                if not row or j <= i or d:
                    rows.append(j)
        if rows and rows[-1] - rows[0] + 1 != len(rows):
            return None
        out.append(sum(2**j for j in rows))
    return out


def options(kind, groups, falling=False):
    """(arguments, low, high, closed, row): one window of all groups."""
    closed, last = random.choice(["right", "both", "left", "neither"]), kind.lengths(groups)
    ties = random.choice([None, "all", "row"])
    shape = random.choice(["last", "last", "both", "next", "center", "before"])
    after = kind.lengths(groups)
    how, low, high = [], -last, 0
    if shape == "before":  # ends before the row
        after = -min(after, last)
    if shape == "next":
        low, high, last = 0, abs(after), None
        after = high
    elif shape in ("both", "before"):
        high = after
    elif shape == "center":
        low, high = -Fraction(last) / 2, Fraction(last) / 2
    if high < low:
        return options(kind, groups, falling)
    if last is not None:
        how.append("--last=" + kind.length(last))
    if shape in ("both", "before", "next"):
        how.append("--next=" + kind.length(after))
    if shape == "center":
        how.append("--center")
    beyond = shape == "center" or high > 0
    if ties == "row" and beyond:
        ties = None
    if shape == "center" and kind.length is decimal and (Fraction(last) * 10**18) % 2:  # no half of 18 digits
        low, high, effective = low + HALF / 2, high - HALF / 2, "both"
    else:
        effective = closed
    how += ["--closed", closed] + (["--ties", ties] if ties else [])
    row = ties == "row" or (ties is None and not beyond and not (falling and low < 0))
    return how, low, high, effective, row


def run(*arguments):
    ran = subprocess.run([tally, "window", "sum", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return ran.returncode, ran.stdout.decode().split(), ran.stderr.decode()


def same(got, want, what):
    if got != want:
        sys.exit("DIFFERENT %s:\n got %s\nwant %s" % (what, got, want))


def csv(kind, count):
    """One file of `count` groups, whose lines lie in any order between each other, and one window."""
    global cases
    groups = [kind.keys(random.randint(1, 12)) for _ in range(count)]
    how, low, high, closed, row = options(kind, groups)
    order = [g for g, keys in enumerate(groups) for _ in keys]
    random.shuffle(order)
    want = [windows(keys, low, high, closed, row) for keys in groups]
    at, lines, sums = [0] * count, ["h,t,x"], []
    for g in order:
        lines.append("%d,%s,%d" % (g, kind.key(groups[g][at[g]]), 2 ** at[g]))
        sums.append(want[g][at[g]])
        at[g] += 1
    with open("spans.csv", "w") as f:
        f.write("\n".join(lines) + "\n")
    code, out, message = run("--by", "h,t", "--column", "x", *how, "spans.csv")
    what = "%s %s: %s" % (kind.name, " ".join(how), message)
    same(code, 0, what)
    for i, (got, wanted) in enumerate(zip(out, sums)):
        same(float(got), wanted, what + " line %d: %s" % (i + 2, lines[i + 1]))
    same(len(out), len(sums), what)
    cases += count


# ---- coordinates of NetCDF files ----


def real(value):
    return repr(float(value))


COORDINATES = [
    ("int", "", Kind("int", -(2**31), 2**31 - 1, 1)),
    ("int64", "LL", Kind("int64", -(2**63), 2**63 - 1, 1)),
    ("uint64", "ULL", Kind("uint64", 0, 2**64 - 1, 1)),
    ("double", "", Kind("double", Fraction(-100), Fraction(100), Fraction(1, 4), real, real)),
    ("double", "", Kind("large double", Fraction(2**60), Fraction(2**61), Fraction(512), real, real)),
]


def netcdf(count):
    """Coordinates that rise and fall, one window along each. Is there a libnetcdf?"""
    global cases
    dims, variables, data, tries = [], [], [], []
    for k in range(count):
        dtype, end, kind = COORDINATES[k % len(COORDINATES)]
        keys = kind.keys(random.randint(2, 10))
        if random.random() < 0.7:
            keys.reverse()
        dims.append("d%d = %d" % (k, len(keys)))
        variables.append("%s d%d(d%d) ; double v%d(d%d)" % (dtype, k, k, k, k))
        texts = [kind.key(v) if kind.key is real else "%d%s" % (v, end) for v in keys]
        texts = ["-9223372036854775807LL" if t == "-9223372036854775808LL" else t for t in texts]  # ncgen has no -2^63
        keys = [v + 1 if dtype == "int64" and v == -(2**63) else v for v in keys]
        data.append("d%d = %s ; v%d = %s" % (k, ", ".join(texts), k, ", ".join(str(2**j) for j in range(len(keys)))))
        tries.append((kind, keys))
    text = "netcdf spans {\ndimensions: %s ;\nvariables: %s ;\ndata: %s ;\n}\n"
    with open("spans.cdl", "w") as f:
        f.write(text % (" ; ".join(dims), " ;\n ".join(variables), " ;\n ".join(data)))
    subprocess.run(["ncgen", "-k", "nc4", "-o", "spans.nc", "spans.cdl"], check=True)
    for k, (kind, keys) in enumerate(tries):
        how, low, high, closed, row = options(kind, [keys], keys[0] > keys[-1])
        want = windows(keys, low, high, closed, row)
        axes = ("--variable", "v%d" % k, "--axis", "d%d" % k, "--by", "d%d" % k)
        code, out, message = run(*axes, *how, "spans.nc")
        if "libnetcdf is not here" in message:
            return False
        what = "%s %s %s: %s" % (kind.name, list(map(str, keys)), " ".join(how), message)
        if want is None:
            same((code, "have the key" in message), (1, True), what)
        else:
            same((code, [float(v) for v in out]), (0, [float(v) for v in want]), what)
        cases += 1
    return True


per_file = 10 if quick else 40
for _ in range(1 if quick else 6 if os.environ.get("TALLY_TEST_LONG") else 2):
    for each in KINDS:
        csv(each, per_file)
has_netcdf = bool(shutil.which("ncgen")) and netcdf(20 if quick else 100)
print("%d cases agree%s" % (cases, "" if has_netcdf else ", without NetCDF"))
