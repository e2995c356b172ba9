# SPDX-License-Identifier: MIT
"""python -m tally: the command line's verbs over Parquet, Arrow and Feather files. Digests and printed results are
those of the command line for the same numbers in .npy files and CSV."""

import contextlib
import io
import itertools
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import tally
from tally.__main__ import main

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def run(*arguments, status=0):
    """What the command prints, on standard output, or on standard error where it fails with this status."""
    said, wrong = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(wrong):
        try:
            found = main([str(each) for each in arguments])
        except SystemExit as end:
            found = end.code
    assert found == status, wrong.getvalue()
    return said.getvalue() if status == 0 else wrong.getvalue()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same table in every format, of several batches and row groups."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(7)
    n = 60_000
    table = pa.table(
        {
            "city": pa.array(rng.choice(["Oslo", "Rome", "Bern"], n), mask=rng.random(n) < 0.1),
            "day": rng.integers(0, 3, n),
            "v": rng.standard_normal(n).astype("f4"),
            "w": pa.array(rng.integers(-9, 9, n), mask=rng.random(n) < 0.1),
            "b": rng.random(n) < 0.5,
        }
    )
    pq.write_table(table, folder / "t.parquet", row_group_size=20_000)
    pa.feather = __import__("pyarrow.feather").feather
    pa.feather.write_feather(table, str(folder / "t.feather"))
    with pa.OSFile(str(folder / "t.arrow"), "wb") as f, pa.ipc.new_stream(f, table.schema) as out:
        out.write_table(table, max_chunksize=7000)
    np.save(folder / "v.npy", table["v"].to_numpy())
    return folder, table


def test_row_groups_ahead(files, monkeypatch):
    """Row groups that are decoded ahead, and batches of large ones, keep the file's order."""
    from tally import _files

    folder, table = files
    meta = pq.ParquetFile(folder / "t.parquet").metadata
    for most, ahead in ((_files._AHEAD, 3), (1, 0)):
        monkeypatch.setattr(_files, "_AHEAD", most)
        with tally.device("cpu,threads=3"):
            assert _files._groups_ahead(meta, ["v"]) == ahead
        for threads in (1, 3):
            parts = list(tally_batches(folder / "t.parquet", threads))
            assert pa.Table.from_batches(parts).equals(table.select(["v", "city"]))


def tally_batches(path, threads):
    from tally import _files

    with tally.device(f"cpu,threads={threads}"):
        yield from _files.File(str(path)).batches(["v", "city"])


DATES = {
    "day": (pa.date32(), [19000, -3, None, 20000]),
    "ms": (pa.date64(), [86_400_000, 0, None, -86_400_000]),
    "s": (pa.timestamp("s"), [1_700_000_000, -1, None, 0]),
    "us": (pa.timestamp("us", tz="Europe/Paris"), [1_700_000_000_000_001, 5, None, 7]),
    "ns": (pa.timestamp("ns"), [1_700_000_000_000_000_001, 5, None, 7]),
}


@pytest.mark.parametrize("name", DATES)
def test_dates(tmp_path, name):
    """The newest and the oldest date are values of the column; nulls are left out."""
    kind, ticks = DATES[name]
    column = pa.array(ticks, pa.int32() if name == "day" else pa.int64()).cast(kind)
    path = tmp_path / "d.arrow"
    table = pa.table({"t": column, "k": ["a", "b", "c", "b"]})
    with pa.OSFile(str(path), "wb") as f, pa.ipc.new_stream(f, table.schema) as out:
        out.write_table(table, max_chunksize=2)
    there = [at for at in column.to_pylist() if at is not None]
    want = [max(there), min(there), there[0], there[-1]]
    line = run("reduce", "max,min,first,last,nanmax,count", "--column", "t", path).splitlines()[1]
    assert line.split("\t") == [str(each) for each in [*want, want[0], 3]]
    by = ("--by", "k", "--column", "t")
    lines = run("reduce", "minmax,argmax", *by, path, "--to", "csv").splitlines()
    low, high = sorted(there[1:])
    index = 0 if there[1] == high else 1
    assert lines[0] == "k,minmax.min,minmax.max,argmax"
    assert lines[1:] == [f"a,{there[0]},{there[0]},0", f"b,{low},{high},{index}", "c,,,-1"]
    said = run("reduce", "mean", "--column", "t", path, status=1)
    assert "column 't' has dates, which have no 'mean'" in said
    assert "must be bool, integers or floats" in run("scan", "max", "--column", "t", path, status=1)
    if name != "ns":
        run("reduce", "max", "--column", "t", path, "-o", tmp_path / "o.parquet")
        assert pq.read_table(tmp_path / "o.parquet").column(0).to_pylist() == want[:1]


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow"])
def test_reduce(files, name):
    folder, table = files
    v, w = table["v"].to_numpy(), table["w"]
    rows = run("reduce", "sum,mean,var:correction=1,sum:exact", "--column", "v", folder / name).splitlines()
    assert rows[0].split("\t") == ["sum", "mean", "var:ddof=1", "sum:exact"]
    want = [tally.sum(v), tally.mean(v), tally.var(v, ddof=1), tally.reduce(v, "sum:exact")]
    assert rows[1].split("\t") == [str(x) if x.dtype == "f4" else repr(float(x)) for x in want]
    for column, x, ops in (
        ("v", v, "sum:exact,mean:exact,nanvar:exact,norm:exact"),
        ("w", w, "var:exact,mean:exact,sum:checked"),
    ):
        lines = run("reduce", ops, "--column", column, folder / name, "--to", "csv").splitlines()
        found = lines[1].split(",")
        wanted = [tally.reduce(x, op) for op in ops.split(",")]
        assert found == [str(each.as_py() if x is w else each) for each in wanted]
    assert run("reduce", "sum", "--column", "w", folder / name).strip() == str(tally.sum(w))
    assert run("reduce", "sum", "--column", "5", folder / name).strip() == str(tally.sum(table["b"].to_numpy()))
    pair = run("reduce", "corr", "--column", "v,w", folder / name, folder / name, "--to", "csv").splitlines()
    assert pair[0] == "file,corr" and pair[1].split(",")[1] == repr(float(tally.corr(table["v"], w).as_py()))


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_digests_are_those_of_the_command_line(files, name, tmp_path):
    program, (folder, table) = os.environ.get("TALLY_CLI"), files
    if not program:
        pytest.skip("TALLY_CLI is not set")

    def theirs(*arguments):
        return subprocess.run([program, *arguments, str(folder / "v.npy")], capture_output=True, text=True).stdout

    for op in ("sum", "mean", "nanvar", "argmax"):
        mine = run("reduce", op, "--digest", "--column", "v", folder / name)
        assert mine.split() == theirs("reduce", op, "--digest").split()
    for verb in (
        ["scan", "sum"],
        ["scan", "max", "--exclusive"],
        ["window", "mean", "-w", "50", "--center", "--edges", "shrink"],
        ["window", "max", "-w", "5000", "--edges", "valid"],
        ["window", "sum", "--before", "3", "--after", "2", "--min-count", "4"],
    ):
        assert run(*verb, "--column", "v", folder / name) == theirs(*verb, "--to", "text")


def test_a_process(files):
    command = [sys.executable, "-m", "tally", "scan", "sum", "--column", "v", str(files[0] / "t.parquet")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert np.float32(process.stdout.readline()) == files[1]["v"][0].as_py()
        process.stdout.close()  # the reader goes away
        assert process.stderr.read() == b"" and process.wait() == 141
    done = subprocess.run(command[:4] + ["sum"], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("tally: the following arguments are required: FILE")


def test_groups(files):
    folder, table = files
    frame = table.to_pandas()
    found = run(
        "reduce", "count,max", "--by", "city,day", "--sort", "--column", "v,w", folder / "t.parquet", "--to", "csv"
    )
    lines = [line.split(",") for line in found.splitlines()]
    assert lines[0] == ["city", "day", "count.v", "max.v", "count.w", "max.w"]
    theirs = frame.groupby(["city", "day"], dropna=False)[["v", "w"]].agg(["count", "max"])
    assert len(lines) == 1 + len(theirs) == 13
    for line, (key, row) in zip(lines[1:], theirs.iterrows()):
        assert line[:2] == ["" if pd.isna(key[0]) else key[0], str(key[1])]
        assert [float(x) for x in line[2:]] == [float(str(np.float32(x))) if i == 1 else x for i, x in enumerate(row)]
    first = run("reduce", "sum", "--by", "city", "--column", "w", folder / "t.feather").splitlines()
    assert [line.split("\t")[0] for line in first[1:]] == [
        "" if c is None else c for c in table["city"].unique().to_pylist()
    ]
    sums = dict(line.split("\t") for line in first[1:])
    assert sums["Oslo"] == str(tally.sum(table.filter(pa.compute.equal(table["city"], "Oslo"))["w"]))


def test_groups_of_keys_that_are_nan_null_or_codes(tmp_path):
    """In a file a null is no NaN; 0 and -0 are equal; nulls may be in a dictionary's codes."""
    nan, path = float("nan"), tmp_path / "k.parquet"
    words = pa.array(["a", None, "b", "a", None, "b", "b", "a"]).dictionary_encode()
    keys = pa.array([1.5, nan, None, nan, None, 1.5, -0.0, 0.0])
    pq.write_table(pa.table({"k": keys, "s": words, "v": np.arange(8)}), path)
    for by, want in (
        (["k"], "1.5,5 nan,4 ,6 -0,13"),
        (["k", "--sort"], "-0,13 1.5,5 nan,4 ,6"),
        (["s"], "a,10 ,5 b,13"),
        (["k,s", "--sort"], "0,a,7 -0,b,6 1.5,a,0 1.5,b,5 nan,a,3 nan,,1 ,b,2 ,,4"),
    ):
        said = run("reduce", "sum", "--column", "v", "--by", *by, "--to", "csv", path).split()
        assert " ".join(said[1:]) == want
    pq.write_table(pa.table({"k": [[1], [2]], "v": [1, 2]}), path)
    assert "by has a key [1] of type <class 'list'>: must be one that can be hashed" in run(
        "reduce", "sum", "--by", "k", path, status=1)


def test_windows_along_times(tmp_path):
    """Each row's window is the reduction of the rows whose times are near enough, and those of the command line."""
    rng, n, path = np.random.default_rng(3), 300, tmp_path / "t.parquet"
    t = np.sort(rng.integers(0, 90, n))
    table = pa.table({"t": t, "f": t / 4, "d": t.astype("M8[s]"), "g": rng.integers(0, 2, n), "v": rng.random(n)})
    pq.write_table(table, path, row_group_size=70)
    v, group, program = table["v"].to_numpy(), table["g"].to_numpy(), os.environ.get("TALLY_CLI")
    pa.csv = __import__("pyarrow.csv").csv
    pa.csv.write_csv(table, tmp_path / "t.csv")
    for by, unit, scale in (("t", "", 1), ("g,t", "", 1), ("f", "", 0.25), ("g,d", "s", 1)):
        for last, next, more, in_window in (
            (3, None, [], lambda d, later: -3 < d <= 0 and (d < 0 or not later)),
            (2.5, None, ["--closed", "both", "--ties", "all"], lambda d, later: -2.5 <= d <= 0),
            (3, None, ["--center"], lambda d, later: -1.5 < d < 1.5),
            (4, None, ["--center"], lambda d, later: -2 < d <= 2),
            (-1, 3, ["--closed", "left"], lambda d, later: 1 <= d < 3),
            (None, 2, ["--closed", "neither"], lambda d, later: 0 < d < 2),
            (2, 1, ["--closed", "both", "--min-count", "7"], lambda d, later: -2 <= d <= 1),
        ):
            words = [f"--{k}={x * scale}{unit}" for k, x in (("last", last), ("next", next)) if x is not None]
            said = run("window", "sum,minmax", "--by", by, *words, *more, "--column", "v", path, "--to", "csv")
            for i, line in enumerate(said.splitlines()[1:]):
                mine = [j for j in range(n) if "g" not in by or group[j] == group[i]]
                rows = [j for j in mine if in_window(t[j] - t[i], j > i)]
                few = "--min-count" in more and len(rows) < 7
                want = [tally.sum(v[rows[: 0 if few else n]]), *tally.reduce(v[rows[: 0 if few else n]], "minmax")]
                assert line.split(",") == [str(float(x)).removesuffix(".0") for x in want], (by, words, more, i)
            if program:
                command = [program, "window", "sum,minmax", "--by", by, *words, *more, "--column", "v", "--to", "csv"]
                theirs = subprocess.run([*command, tmp_path / "t.csv"], capture_output=True, text=True)
                assert theirs.stdout == said, theirs.stderr
    kept = run("window", "count", "--by", "d", "--last", "1min", "--column", "v", "--keep", path, "--to", "csv")
    assert kept.splitlines()[0] == "t,f,d,g,v,count" and len(kept.splitlines()) == n + 1
    pq.write_table(table.slice(0, 0), path)
    assert run("window", "sum", "--by", "g,t", "--last", "3", "--column", "v", path) == ""
    empty = run("window", "sum", "--by", "g,t", "--last", "3", "--column", "v", "--keep", path, "--to", "csv")
    assert empty == "t,f,d,g,v,sum\n"


def test_windows_along_times_that_are_refused(files, tmp_path):
    folder, _ = files
    for words, status, said in (
        (["--by", "day"], 2, "--by goes with windows along times: --by time --last 2s"),
        (["-w", "3", "--closed", "left"], 2, "--closed goes with windows along times"),
        (["--last", "3"], 2, "--last and --next need the column that has the times: --by time, or --by city,time"),
        (["--last", "3", "--by", "day", "-w", "3"], 2, "--width is for windows of rows; --last and --next"),
        (["--last", "3", "--by", "day", "--edges", "shrink"], 2, "--edges is for windows of rows"),
        (["--last", "3", "--by", "day", "--center", "--next", "3"], 2, "--center halves --last to both sides"),
        (["--last", "2s", "--by", "day"], 2, "has plain numbers, so --last is a number of the same unit"),
        (["--last", "2x", "--by", "day"], 2, "--last is '2x', which is no length of time: 500ms, 2s, 1.5h, 1h30min"),
        (["--last", "1e999", "--by", "day"], 2, "--last is '1e999': must be above -2^63 and below 2^63"),
        (["--last", "1", "--next", "-2", "--by", "day"], 2, "the window would end before it begins"),
        (["--last", "1", "--next", "2", "--by", "day", "--ties", "row"], 2, "--ties row ends a window at its line"),
        (["--last", "3", "--by", "city"], 1, "column 'city' has elements of type string: must be times or numbers"),
        (["--last", "3", "--by", "day"], 1, "of the same group: times must not fall"),
        (["--last", "3", "--by", "w"], 1, "on has times that are missing: each row must have one"),
    ):
        assert said in run("window", "sum", *words, "--column", "v", folder / "t.parquet", status=status)
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table({"k": [1, 2, 1, 2], "t": [9, 8, 9, 7], "v": [1, 2, 4, 8]}), path)
    said = run("window", "sum", "--by", "k,t", "--last", "3", "--column", "v", path, status=1)
    assert said.endswith("column 't': row 3 is 7, after 8 in row 1 of the same group: times must not fall\n")
    assert run("window", "sum", "--by", "k,t", "--last", "0.5", "--column", "v", path, status=1) == said
    pq.write_table(pa.table({"k": [1, 2, 1, 2], "t": [9, 7, 9, 8], "v": [1, 2, 4, 8]}), path)
    assert run("window", "sum", "--by", "k,t", "--last", "3", "--column", "v", path).split() == ["1", "2", "5", "10"]


def test_columns_beside_results(files, tmp_path):
    folder, table = files
    for ending, center in itertools.product(("parquet", "arrow", "csv"), (True, False)):
        path, where = tmp_path / f"out.{ending}", ["--center"] * center
        run("window", "mean,max", "-w", 3, *where, "--column", "v", "--keep", folder / "t.parquet", "-o", path)
        if ending == "csv":
            found = pd.read_csv(path)
            assert list(found) == [*table.column_names, "mean", "max"] and len(found) == len(table)
            continue
        found = pq.read_table(path) if ending == "parquet" else pa.ipc.open_file(path).read_all()
        assert found.select(table.column_names).equals(table)
        assert np.array_equal(
            found["mean"], tally.window(table["v"].to_numpy(), "mean", 3, center=center), equal_nan=True
        )
    assert sorted(os.listdir(tmp_path)) == ["out.arrow", "out.csv", "out.parquet"]
    tabs = pa.table({"k": ["a\tb", 'c"', "d,e"], "v": [1, 2, 3]})
    pq.write_table(tabs, tmp_path / "k.parquet")
    run("reduce", "sum", "--by", "k", tmp_path / "k.parquet", "-o", tmp_path / "k.TSV")
    assert (tmp_path / "k.TSV").read_text() == 'k\tsum\n"a\tb"\t1\n"c"""\t2\nd,e\t3\n'
    some = run("scan", "sum,minmax", "--column", "w", "--empty", "NA", folder / "t.arrow").splitlines()
    assert some[0] == "sum\tminmax.min\tminmax.max" and len(some) == 1 + len(table)


def test_memory_does_not_grow_with_the_file(tmp_path):
    """The most memory of a process that reads 8 times as many rows stays below that of the rows it would hold."""
    peaks = []
    for rows in (1 << 20, 1 << 23):
        path = tmp_path / f"{rows}.parquet"
        with pq.ParquetWriter(path, pa.schema([("v", pa.float64())])) as out:
            for at in range(0, rows, 1 << 20):
                out.write_table(pa.table({"v": np.random.default_rng(at).random(1 << 20)}))
        code = (
            "import sys, json, resource\nfrom tally.__main__ import main\n"
            f"status = main(['reduce', 'sum', {str(path)!r}])\n"
            "print(json.dumps([status, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))"
        )
        lines = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        status, peak = json.loads(lines[-1])
        assert status == 0
        peaks.append(peak)
    assert peaks[1] - peaks[0] < (1 << 23) * 8 / 1024 / 2  # half of the column, in KiB


def test_nothing_is_left_of_a_file_that_ends_badly(files, tmp_path):
    """A row group in the middle is damaged: results of those before it are not kept."""
    data = bytearray((files[0] / "t.parquet").read_bytes())
    column = pq.ParquetFile(files[0] / "t.parquet").metadata.row_group(2).column(2)
    at = column.data_page_offset
    data[at : at + 64] = bytes(64)
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(data)
    for out in ("out.csv", "out.parquet", "out.arrow"):
        said = run("scan", "sum", "--column", "v", damaged, "-o", tmp_path / out, status=1)
        assert said.startswith(f"tally: {damaged}: ") and said.count("\n") == 1
    assert os.listdir(tmp_path) == ["damaged.parquet"]
    damaged.unlink()
    damaged = tmp_path / "damaged.arrow"
    table = pa.table({"k": ["aa", "bb"], "v": [1.0, 2.0]})
    with pa.ipc.new_file(damaged, table.schema) as out:
        out.write_table(table)
    offsets = np.array([0, 2, 4], "<i4").tobytes()  # of the strings
    data = damaged.read_bytes()
    assert data.count(offsets) == 1
    damaged.write_bytes(data.replace(offsets, np.array([0, 2, 1 << 30], "<i4").tobytes()))
    for words in (["scan", "sum", "--keep"], ["reduce", "sum", "--by", "k"]):
        said = run(*words, "--column", "v", damaged, status=1)
        assert said.startswith(f"tally: {damaged}: ") and said.count("\n") == 1


def test_what_is_refused(files, tmp_path):
    folder, _ = files
    file, text = folder / "t.parquet", tmp_path / "x.csv"
    text.write_text("v\n1\n")
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(file.read_bytes()[:5000])
    for arguments, status, words in (
        (["reduce", "foo", file], 2, "tally: op is 'foo': "),
        (["reduce", "sum", file], 2, "3 columns have numbers: 2 'day', 3 'v', 4 'w'; choose with --column"),
        (["reduce", "sum", "--column", "q", file], 2, "no column 'q'; the columns are 1 'city', 2 'day'"),
        (["reduce", "sum", "--column", "city", file], 1, "column 'city' has elements of type string: must be"),
        (
            ["reduce", "sum", text],
            1,
            "x.csv: neither Parquet nor Arrow nor Feather; the program `tally` reads text, CSV",
        ),
        (["reduce", "sum", "none.parquet"], 1, "tally: none.parquet: No such file or directory"),
        (["reduce", "sum", "--column", "v", damaged], 1, "damaged.parquet: "),
        (["reduce", "sum,corr", "--column", "v,w", file], 2, "'corr' takes two columns, and so must all"),
        (["reduce", "sum", "--by", "q", "--column", "v", file], 2, "no column 'q'"),
        (["reduce", "sum", "--by", "day.month", "--column", "v", file], 2, "; parts of dates are read from CSV"),
        (["window", "sum", "--column", "v", file], 2, "window: how long? give -w W"),
        (["window", "sum", "-w", "0", "--column", "v", file], 2, "-w: w is 0: must be an integer of at least 1"),
        (["scan", "sum", "--column", "v", "--to", "parquet", file], 1, "--to parquet: needs a file, -o FILE"),
        (
            ["scan", "sum", "--column", "v", "-o", tmp_path / "no" / "x.csv", file],
            1,
            "x.csv: No such file or directory",
        ),
        (["scan", "sum", "--column", "v", "-o", "x.npy", file], 1, "--output x.npy: its ending says no format (.txt, "),
        (["scan", "sum", "--column", "v", "-o", "x", file], 1, "says no format (.txt, .csv, .tsv, .parquet, .arrow"),
        (["reduce", "sum", "--device", "moon", "--column", "v", file], 3, "moon"),
        (["reduce", "sum", "--nonsense", file], 2, "unrecognized arguments: --nonsense"),
        (["bar"], 2, "invalid choice: 'bar'"),
    ):
        said = run(*arguments, status=status)
        assert said.startswith("tally: ") and words in said and said.count("\n") == 1, said
    assert sorted(os.listdir(tmp_path)) == ["damaged.parquet", "x.csv"]
    empty = tmp_path / "empty.parquet"
    pq.write_table(pa.table({"v": pa.array([], "f8")}), empty)
    assert run("reduce", "count,mean", empty) == "count\tmean\n0\tnan\n"
    assert run("scan", "sum", "--to", "csv", empty) == "sum\n"


def test_outputs_that_are_no_new_files(files, tmp_path):
    """Devices and pipes are written as they are; a link stays, and its file keeps its mode; a read-only file stays."""
    full, pipe, link, real = (tmp_path / name for name in ("full", "pipe", "link.csv", "real.csv"))
    scan = ["scan", "sum", "--column", "v", files[0] / "t.parquet", "-o"]
    sums = run(*scan, "-")
    assert sums == run(*scan[:-1])
    for name in ("/dev/stdout", "/dev/fd/1"):
        assert sums == run(*scan, name)
    assert not run(*scan, "/dev/null")
    full.symlink_to("/dev/full")  # of /dev itself nothing is at stake
    assert run(*scan, full, "--to", "text", status=1) == f"tally: {full}: No space left on device\n"
    assert "No space left on device" in run(*scan, full, "--to", "parquet", status=1)
    assert full.is_symlink() and run(*scan, tmp_path, status=1) == f"tally: {tmp_path}: is a directory\n"
    os.mkfifo(pipe)
    with open(tmp_path / "read", "w") as file, subprocess.Popen(["cat", pipe], stdout=file) as reader:
        assert run(*scan, pipe, "--to", "text") == "" and pipe.is_fifo() and reader.wait(60) == 0
    assert (tmp_path / "read").read_text() == sums
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    run(*scan, link)
    assert link.is_symlink() and real.read_text().split()[1:] == sums.split() and real.stat().st_mode & 0o777 == 0o640
    real.chmod(0o440)
    if not os.access(real, os.W_OK):  # root may write everything
        assert "Permission denied" in run(*scan, real, status=1)
    assert sorted(os.listdir(tmp_path)) == ["full", "link.csv", "pipe", "read", "real.csv"]


def test_columns_of_one_name_stay(tmp_path):
    path = tmp_path / "k.parquet"
    pq.write_table(pa.table({"sum": ["b", "a", "b"], "x": [1, 2, 3]}), path)

    def lines(*words):
        done = subprocess.run([sys.executable, "-m", "tally", *words, str(path)], capture_output=True, text=True)
        return done.stdout.split("\n")[:-1]

    assert lines("reduce", "sum", "--by", "sum", "--column", "x") == ["sum\tsum", "b\t4", "a\t2"]
    assert lines("scan", "sum", "--column", "x", "--keep") == ["sum\tx\tsum", "b\t1\t1", "a\t2\t3", "b\t3\t6"]
    assert lines("reduce", "sum,sum", "--column", "x") == ["sum\tsum", "6\t6"]
    assert lines("reduce", "minmax", "--column", "x") == ["1\t3"]  # one operator has no head, as in `tally`


def test_nulls_of_kept_columns(tmp_path):
    path = tmp_path / "f.parquet"
    table = {"f": pa.array([None, 0.5], pa.float32()), "d": pa.array([None, 1.5], pa.float64()), "x": [1, 2]}
    pq.write_table(pa.table(table), path)
    words = [sys.executable, "-m", "tally", "scan", "sum", "--column", "x", "--keep", "--to", "csv", str(path)]
    assert subprocess.run(words, capture_output=True, text=True).stdout == "f,d,x,sum\n,,1,1\n0.5,1.5,2,3\n"


def test_closed_output(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"x": [1, 2]}), path)
    words = f"'{sys.executable}' -m tally scan sum '{path}' >&-"
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True)
    assert done.returncode and "standard output is closed" in done.stderr and "Traceback" not in done.stderr
