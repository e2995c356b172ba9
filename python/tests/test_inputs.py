# SPDX-License-Identifier: MIT
"""What goes in and comes out: every protocol, without copies, and results of the input's kind."""

import array
import copy
import ctypes
import mmap
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tally
from conftest import DTYPES, numbers, same_bits
from tally import _core


class Interface:
    """An object that has nothing but __array_interface__ or another attribute."""

    def __init__(self, x, **more):
        self.keep = x
        self.__array_interface__ = {**x.__array_interface__, **more}


class DLPack:
    """A producer of DLPack, new or from before version 1."""

    def __init__(self, x, old=False):
        self.x, self.old = x, old

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **kwargs):
        if self.old and kwargs:
            raise TypeError("unexpected keyword")
        return self.x.__dlpack__() if self.old else self.x.__dlpack__(**kwargs)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_protocol_reads_the_same_memory(rng, dtype):
    x = numbers(rng, (6, 4), dtype)
    want = tally.reduce(x, "last")
    here = x.__array_interface__["data"][0]
    for y in (x, memoryview(x), Interface(x), DLPack(x), DLPack(x, old=True)):
        if isinstance(y, memoryview) and dtype == "float16" and sys.version_info < (3, 12):
            pass  # reading its elements is not what tally does
        name, shape, strides, address, device, kind = _core.like(y)
        assert (name, shape, address, device) == (dtype, (6, 4), here, -1)
        assert strides == x.strides
        got = tally.reduce(y, "last")
        assert (np.isnan(got) and np.isnan(want)) or got == want


def test_plain_buffers():
    assert tally.sum(b"\x01\x02") == 3 and tally.sum(bytearray(b"\x01\xff")) == 256
    assert tally.sum(array.array("f", [0.5, 1.5])) == 2.0
    assert tally.sum((ctypes.c_int * 3)(1, 2, 3)) == 6
    assert tally.sum(memoryview(array.array("q", range(10)))[::-2]) == 25
    with mmap.mmap(-1, 16) as m:
        assert tally.sum(m) == 0
    assert type(tally.sum(array.array("d", [1]))) is float and type(tally.any(b"\x01")) is bool
    assert type(tally.scan(array.array("d", [1, 2]), "sum")) is tally.Array


def test_numbers_and_lists():
    assert tally.sum([1, 2, 3]) == 6 and tally.sum((0.5, 0.25)) == 0.75 and tally.sum(range(5)) == 10
    assert tally.sum(3) == 3 and tally.sum(2.5) == 2.5 and tally.all(True) is True
    assert tally.sum([[1, 2], [3, 4]], axis=0).tolist() == [4, 6]
    assert tally.max([2**63, 5]) == 2**63
    assert tally.sum(np.float32(2.5)) == 2.5 and tally.sum(np.int8(3)) == 3
    for wrong in ("text", None, object(), {"a": 1}, [1, "a"], 1j, [1j], [[1], [2, 3]], {1, 2}):
        with pytest.raises((TypeError, ValueError)):
            tally.sum(wrong)


def test_without_numpy():
    """The package needs nothing: in a process where NumPy cannot be imported."""
    code = """
import sys
sys.modules["numpy"] = None
import tally
from array import array
x = array("d", [3, 1, 4, 1, 5])
assert tally.sum(x) == 14 and tally.cumulative_sum(x)[-1] == 14.0
assert tally.scan([1, 2, 3], "sum").tolist() == [1, 3, 6] and tally.sum([0.5, 1]) == 1.5
assert tally.sum([]) == 0 and tally.sum(7) == 7 and tally.all([True, False]) is False
assert tally.rolling(x, 2).sum()[1] == 4.0 and tally.segments(x, [0, 2, 5], "max").tolist() == [3, 5]
out = array("d", [0])
assert tally.mean(memoryview(x).cast("B").cast("d", (1, 5)), axis=1, out=out) is out and out[0] == 2.8
assert tally.sum([[1, 2], [3, 4]], axis=0).tolist() == [4, 6]
try:
    tally.sum([[1, "2"]])
except TypeError as e:
    assert "x has elements of type str: must be numbers" in str(e)
else:
    raise SystemExit("a list of text")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_numbers_of_numpy_and_subclasses():
    class Metres(float):
        pass

    assert type(tally.sum(np.float32(2.5))) is np.float32 and type(tally.any(np.bool_(True))) is np.bool_
    assert tally.minmax(np.int8(3)).tolist() == [3, 3]
    assert tally.sum(Metres(2.5)) == 2.5 and tally.sum([Metres(2.5), 1]) == 3.5
    # NumPy makes floats of int64 and uint64 together, which do not hold them
    found = tally.sum([np.uint64(2**63), np.int64(2**53 + 1)])
    assert found == 2**63 + 2**53 + 1 and type(found) is int
    with pytest.raises(TypeError, match="x has integers of more than 64 bits, -1 to 9223372036854775808"):
        tally.sum([np.uint64(2**63), -1])


def test_lists_of_arrays():
    masked = np.ma.masked_array([1.0, 2.0, 4.0], [False, True, False])
    assert tally.sum([masked, masked]) == 10.0 and tally.count([masked, [1.0, 2.0, 3.0]], axis=1).tolist() == [2, 3]
    assert tally.sum([np.ma.masked, 1.0]) == 1.0
    assert tally.sum([np.array([1, 2]), [3, 4]], axis=0).tolist() == [4, 6]
    for rows in ([np.zeros(2), [1, 2, 3]], [masked[:2], masked, masked[:1]]):
        with pytest.raises(ValueError, match=r"x\[1\] has shape \(3,\) and x\[0\] \(2,\)"):
            tally.sum(rows)


def test_variables_with_masks():
    """A variable of netCDF4 becomes a masked array, whose mask was lost."""

    class Variable:
        def __array__(self, dtype=None, copy=None):
            return np.ma.masked_array([1.0, 2.0, 4.0], [False, True, False])

    x = Variable()
    assert tally.sum(x) == 5.0 and tally.scan(x, "sum").tolist() == [1.0, 1.0, 5.0]
    assert tally.dot([1.0, 1.0, 1.0], x) == 5.0 and tally.Exact(x).count == 2
    keys, values = tally.sum([8.0, 16.0, 32.0], by=x)
    assert keys.tolist() == [1.0, 4.0] and values.tolist() == [8.0, 32.0]
    with pytest.raises(ValueError, match="left out"):
        tally.digest(x)
    assert tally.sum([x, x]) == 10.0 == tally.sum([[x], [x]])
    assert tally.count([x, [1.0, 2.0, 3.0]], axis=1).tolist() == [2, 3]
    assert tally.sum(([1.0, 2.0, 3.0], x), axis=0).tolist() == [2.0, 2.0, 7.0]


def test_subclasses():
    """An object of a user's class is what its class was made from: columns, labels and results are the library's."""

    class Column(pd.Series):
        @property
        def _constructor(self):
            return Column

    class Frame(pd.DataFrame):
        @property
        def _constructor(self):
            return Frame

    x = Column([1.0, 2.0, 3.0], index=list("abc"), name="x")
    assert tally.scan(x, "sum").to_dict() == {"a": 1.0, "b": 3.0, "c": 6.0}
    assert tally.rolling(x, 2).sum().name == "x"
    for y in (x[::-1], pd.Series(x[::-1])):  # by place the correlation is -1
        with pytest.raises(ValueError, match="the second array differs from x in its index"):
            tally.corr(x, y)
    frame = Frame({"k": ["a", "b"], "v": [1.0, 2.0], "w": [3.0, 4.0]})
    assert tally.sum(frame[["v", "w"]]).to_dict() == {"v": 3.0, "w": 7.0}
    assert list(tally.cumulative_sum(frame[["v", "w"]])["w"]) == [3.0, 7.0]
    assert tally.sum(frame, by="k")["w"].to_dict() == {"a": 3.0, "b": 4.0}
    assert tally.sum([1.0, 2.0], by=Column(["a", "b"])).keys.tolist() == ["a", "b"]
    assert tally.max(Column(pd.date_range("2024", periods=2, tz="Europe/Oslo"))).tz is not None
    polars = pytest.importorskip("polars")
    assert tally.scan(type("S", (polars.Series,), {})("q", [1, 2]), "sum").name == "q"
    assert tally.sum(type("D", (polars.DataFrame,), {})({"a": [1, 2], "b": [3, 4]})).columns == ["a", "b"]


def test_what_are_no_arrays():
    """Scalars of pandas were read as their bytes, records of Polars as a matrix of their fields."""
    for wrong in (pd.Timestamp("2024"), pd.Timedelta("1s"), pd.NaT, pd.NA, pd.Period("2024")):
        with pytest.raises(TypeError, match=f"x is of type {type(wrong).__name__}: must be an array"):
            tally.max(wrong)
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match="struct"):
        tally.sum(polars.Series([{"a": 1, "b": 2.5}]))


def test_array_is_copied_and_pickled():
    for dtype in ("bool", "int64", "bfloat16", "float64"):
        for shape in ((0,), (2,), (2, 3)):
            a = _core.empty(shape, dtype, bytes(_core.packed(_core.empty(shape, dtype))))
            for b in (pickle.loads(pickle.dumps(a)), copy.copy(a), copy.deepcopy(a)):
                assert (b.dtype, b.shape, tally.digest(b)) == (a.dtype, a.shape, tally.digest(a))
    assert pickle.loads(pickle.dumps(tally.scan([[1, 2], [3, 4]], "sum", axis=0)[1])).tolist() == [4, 6]
    with pytest.raises(ValueError, match="3 bytes are not its 8"):
        _core.empty((1,), "int64", b"abc")


def test_array():
    a = tally.scan(memoryview(array.array("i", [1, 2, 3, 4, 5, 6])).cast("B").cast("i", (2, 3)), "sum", axis=1)
    assert a.shape == (2, 3) and a.ndim == 2 and a.size == 6 and a.dtype == "int64" and len(a) == 2
    assert a.tolist() == [[1, 3, 6], [4, 9, 15]] and a[1][2] == 15 and a[1, 2] == 15 and a[-1, -1] == 15
    assert [row.tolist() for row in a] == a.tolist() and repr(a[0]) == "tally.Array([1, 3, 6], dtype='int64')"
    assert np.asarray(a).tolist() == a.tolist() and np.from_dlpack(a).tolist() == a.tolist()
    assert np.asarray(a).__array_interface__["data"][0] == a.__array_interface__["data"][0]
    assert memoryview(a).shape == (2, 3) and memoryview(a)[1, 1] == 9
    assert pa.array(a[0]).to_pylist() == [1, 3, 6]
    row = a[1]
    del a
    assert row.tolist() == [4, 9, 15]
    for key, error in (
        (2, IndexError),
        (-3, IndexError),
        ((0, 0, 0), IndexError),
        (slice(2), TypeError),
        ("a", TypeError),
    ):
        with pytest.raises(error):
            tally.scan([[1, 2]], "sum", axis=1)[key] if key != 2 else row[7]
    with pytest.raises(TypeError):
        tally.Array()
    with pytest.raises(TypeError, match="Arrow has no arrays"):
        tally.scan([[1, 2]], "sum", axis=1).__arrow_c_array__()
    with pytest.raises(BufferError):
        row.__dlpack__(stream=1)


def test_numpy_gives_numpy():
    x = np.arange(6.0).reshape(2, 3)
    assert type(tally.sum(x)) is np.float64 and type(tally.sum(x, axis=0)) is np.ndarray
    assert type(tally.sum(x, keepdims=True)) is np.ndarray and type(tally.any(x)) is np.bool
    memory = np.memmap.__new__  # a subclass gives the plain class
    assert memory and type(tally.sum(x.view(np.recarray), axis=0)) is np.ndarray


def test_structures_have_fields_of_any_stride():
    record = np.zeros(100, [("a", "u1"), ("b", "f8"), ("c", "f4")])
    record["b"] = np.arange(100)
    record["c"] = np.arange(100) / 3
    for name in "bc":
        dense = record[name].copy()
        assert same_bits(tally.sum(record[name]), tally.sum(dense))
        assert same_bits(tally.scan(record[name], "sum"), tally.scan(dense, "sum"))
        assert same_bits(tally.rolling(record[name][::-1], 3).mean(), tally.rolling(dense[::-1], 3).mean())
        assert tally.digest(record[name]) == tally.digest(dense)
    with pytest.raises(TypeError):
        tally.sum(record)


def test_arrow():
    x = pa.array([1.5, 2.5, 3.5])
    assert tally.sum(x) == pa.scalar(7.5) and isinstance(tally.scan(x, "sum"), pa.Array)
    assert tally.scan(x[1:], "sum").to_pylist() == [2.5, 6.0]
    assert tally.sum(pa.array([1, None, 3]).drop_null()).as_py() == 4
    chunks = pa.chunked_array([[0.1] * 100, [], [0.2] * 1000, [0.3]])
    flat = chunks.to_numpy()
    assert tally.sum(chunks).as_py() == tally.sum(flat)
    assert tally.scan(chunks, "sum").equals(pa.array(tally.scan(flat, "sum")))
    assert tally.scan(chunks, "sum", reverse=True).equals(pa.array(tally.scan(flat, "sum", reverse=True)))
    assert tally.cumulative_sum(chunks, include_initial=True).to_pylist()[1:] == tally.scan(flat, "sum").tolist()
    for edges in ("missing", "shrink", "valid"):
        got = tally.window(chunks, "mean", 7, edges=edges)
        assert same_bits(got.to_numpy(), tally.window(flat, "mean", 7, edges=edges))
    assert tally.Fragment("sum", chunks).result() == tally.sum(flat)
    assert tally.digest(chunks) == tally.digest(flat)
    assert tally.sum(pa.chunked_array([], type=pa.float32())).as_py() == 0
    assert tally.max(chunks, axis=()).equals(pa.array(flat))
    one = pa.array([1, 2])
    for wrong, words in (
        (pa.array(["a"]), "string: .*dictionary_encode"),
        (one.dictionary_encode(), "dictionary .*indices"),
        (pa.array([{"a": 1}]), "struct"),
        (one.cast(pa.decimal128(21, 2)), r"decimal128\(21, 2\): .*cast it to float64"),
        (one.cast(pa.decimal256(40, 3)), r"decimal256\(40, 3\): "),
        (pa.array([b"ab"], pa.binary(2)), r"fixed_size_binary\(2\): "),
        (pa.array([[1], [2, 3]]), "list: .*tally.segments"),
        (pa.array([[1, 2]], pa.list_(pa.int64(), 2)), r"fixed_size_list\(2\): "),
        (pa.nulls(3), "null: "),
    ):
        with pytest.raises(TypeError, match=f"x has elements of Arrow's type {words}"):
            tally.sum(wrong)
    for wrong, words in (
        (pa.table({"a": one}), "struct .*or a table.*give one of its columns"),
        (one.cast(pa.timestamp("us", "UTC")), r"timestamp\[us\]: .*cast it to int64"),
        (one.cast(pa.int32()).cast(pa.date32()), "date32: .*cast it to int32"),
        (one.cast(pa.duration("s")), "duration: .*cast it to int64"),
    ):
        with pytest.raises(TypeError, match=f"x has elements of Arrow's type {words}"):
            tally.Fragment("sum", wrong)


def test_arrow_booleans(rng):
    x, there = rng.random(300) < 0.5, rng.random(300) < 0.8
    for nulls in (False, True):
        one = pa.array(x, mask=~there if nulls else None)
        want = np.ma.masked_array(x, ~there) if nulls else x
        for each in (one, one[5:], pa.chunked_array([one[:7], one[7:7], one[7:100], one[100:]])):
            plain = want[len(x) - len(each) :]
            for op in ("sum", "any", "all", "mean", "count", "argmax"):
                assert tally.reduce(each, op).as_py() == tally.reduce(plain, op)
            assert same_bits(tally.scan(each, "sum").to_numpy(), tally.scan(plain, "sum"))
            assert tally.scan(each, "any").type == pa.bool_()
            assert tally.Fragment("sum", each).result() == tally.sum(plain)
    y = rng.standard_normal(300)
    for where in (pa.array(x), pa.chunked_array([x[:9], x[9:]])):
        assert tally.sum(y, where=where) == tally.sum(y, where=x)
        assert tally.Exact(y, where=where) == tally.Exact(y, where=x)


def test_arrow_bytes_of_booleans(rng):
    """arrow.bool8 stores a byte for each boolean, and any number but 0 is True: they were read as int8."""
    bool8, there = getattr(pa, "bool8", None), rng.random(300) < 0.8
    if bool8 is None:
        pytest.skip("this pyarrow has no bool8")
    bytes = np.where(rng.random(300) < 0.4, 0, rng.integers(-128, 128, 300)).astype(np.int8)
    for nulls in (False, True):
        mask = ~there if nulls else None
        one = pa.ExtensionArray.from_storage(bool8(), pa.array(bytes, mask=mask))
        same = pa.array(bytes != 0, mask=mask)
        for at in (0, 5):
            for each, want in ((one[at:], same[at:]), (pa.chunked_array([one[at:70], one[70:]]), same[at:])):
                for op in ("sum", "any", "all", "mean", "count", "argmax", "max"):
                    assert tally.reduce(each, op) == tally.reduce(want, op), op
                assert tally.scan(each, "sum").equals(tally.scan(want, "sum"))
                assert tally.Fragment("sum", each).result() == tally.sum(want).as_py()
        if not nulls:
            assert tally.sum(np.arange(300.0), where=one) == tally.sum(np.arange(300.0), where=same)
        column = pd.Series(pd.arrays.ArrowExtensionArray(one))
        assert tally.sum(column) == tally.sum(same).as_py() == tally.sum(pd.Series(pd.arrays.ArrowExtensionArray(same)))
        keys, values = tally.sum(np.ones(300), by=one)
        other, wanted = tally.sum(np.ones(300), by=same)
        assert keys.to_pylist() == other.to_pylist() and values.tolist() == wanted.tolist()


def test_pandas():
    s = pd.Series([1.0, 2.0, 4.0], index=["a", "b", "c"], name="price")
    assert tally.sum(s) == 7.0
    total = tally.cumulative_sum(s)
    assert isinstance(total, pd.Series) and total.name == "price" and total.index.equals(s.index)
    assert total.tolist() == [1.0, 3.0, 7.0]
    pd.testing.assert_series_equal(tally.rolling(s, 2).mean(), s.rolling(2).mean(), check_exact=True)
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    assert tally.sum(frame, axis=0).tolist() == [3.0, 7.0]
    assert tally.sum(pd.Series([1, 2], dtype="Int64")) == 3
    for wrong in (pd.Series(["a"]), pd.Series([pd.Timestamp("2026-01-01")])):
        with pytest.raises((TypeError, ValueError)):
            tally.sum(wrong)


def test_dtypes_that_tally_has_not():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    records = np.zeros(3, [("a", "f8"), ("b", "i4")])
    with pytest.raises(TypeError, match=r"which have no '\{'a': 'max'\}'"):
        tally.reduce(np.array(["2024-05-01"], "M8[D]"), {"a": "max"})
    with pytest.raises(TypeError, match=r"x has times \(datetime64\[D\]\), which have no 'sum'"):
        tally.sum(np.array(["2026-01-01"], "M8[D]"))
    for wrong, words in (
        (np.array([1, "a"], object), "object .*astype"),
        (np.array([1j]), r"complex float64 \(complex128\): .*its real and its imaginary part"),
        (np.zeros(3, "c8"), r"complex float32 \(complex64\)"),
        (np.zeros(3, "c32"), "complex long double"),
        (np.array(["a"]), "string: .*pandas.factorize"),
        (np.array([b"a"]), "bytes"),
        (["a", "b"], "string"),
        (np.zeros(3, "f16"), "long double: .*convert it to float64"),
        (np.zeros(3, "V3"), "void"),
        (np.zeros(3, "V2"), "void"),
        (records, r"struct .*x\['a'\]"),
        (np.zeros(3, [("r", "f8"), ("i", "f8")]), "struct"),  # complex numbers as HDF5 has them
        (np.zeros(3, ml_dtypes.float8_e4m3fn), "float8_e4m3fn: .*convert it to float32"),
        (memoryview(b"abc").cast("c"), "bytes"),
        (DLPack(np.zeros(3, "c16")), r"complex float64 \(complex128\): .*its real"),
    ):
        with pytest.raises(TypeError, match=f"x has elements of type {words}"):
            tally.sum(wrong)
    assert tally.sum(records["a"]) == 0


def test_files_of_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        truths = file.create_dataset("truths", data=np.array([True, False, True]))
        compound = file.create_dataset("compound", data=np.zeros(3, [("a", "f8"), ("b", "i4")]))
        swapped = file.create_dataset("swapped", data=np.arange(4).astype(">f4"))
        assert tally.sum(truths) == tally.sum(truths[:]) == 2 and tally.sum(swapped) == 6
        with pytest.raises(TypeError, match="x has elements of type struct"):
            tally.sum(compound)


@pytest.mark.parametrize("dtype", [">f2", ">f4", ">f8", ">i2", ">u4", ">i8"])
def test_big_endian(dtype, rng):
    x = rng.integers(0, 100, (7, 9)).astype(dtype)
    plain = x.astype(x.dtype.newbyteorder("="))
    for a, b in ((x, plain), (x.T, plain.T), (x[::-2, 1::3], plain[::-2, 1::3]), (x[:0], plain[:0])):
        assert same_bits(tally.sum(a), tally.sum(b)) and same_bits(tally.sum(a, axis=0), tally.sum(b, axis=0))
    many, as_many = np.broadcast_to(x[0], (5, 9)), np.broadcast_to(plain[0], (5, 9))
    assert same_bits(tally.sum(many, axis=0), tally.sum(as_many, axis=0))
    assert same_bits(tally.rolling(x, 3).mean(), tally.rolling(plain, 3).mean())
    assert same_bits(tally.sum(np.ma.masked_array(x, x > 50)), tally.sum(np.ma.masked_array(plain, plain > 50)))
    assert same_bits(tally.reduce(plain, "dot", next=x), tally.reduce(plain, "dot", next=plain))
    if dtype != ">f2":
        assert same_bits(tally.sum(memoryview(x)), tally.sum(memoryview(plain)))
    out = np.empty(9, ">f8")
    with pytest.raises(TypeError, match="out has big-endian elements"):
        tally.mean(x.astype("f8"), axis=0, out=out)
    assert tally.digest(x) == tally.digest(plain)


WITHOUT_NUMPY = """
import sys
sys.modules["numpy"] = None
import tally
"""


def test_lists_do_not_depend_on_numpy():
    lists = (
        "[2**63, 1]",
        "[2**64 - 1, True]",
        "[[2**63 + 1, 1], [2, 3]]",
        "[1, 2.5, True]",
        "[True, False]",
        "[2**70, 0.5]",
        "[]",
        "[[], []]",
        "(1, (2))",
        "range(5)",
        "[[1], [2, 3]]",
        "[2**63, -1]",
        "[2**64]",
        "[0.5, 10**400]",
    )
    code = """
def said(x):
    try:
        a = tally.scan(x, "max", axis=-1)
        return a.dtype, a.shape, a.tolist(), str(tally.sum(x))
    except Exception as e:
        return str(e)
"""
    here = {"tally": tally}
    exec(code, here)
    mine = [here["said"](eval(text)) for text in lists]
    script = f"{WITHOUT_NUMPY}{code}\nprint([said(x) for x in [{', '.join(lists)}]])"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert eval(found.stdout) == mine
    assert tally.sum([2**63, 1]) == 2**63 + 1
    with pytest.raises(TypeError, match="integers of more than 64 bits, -1 to 9223372036854775808"):
        tally.sum([2**63, -1])
    with pytest.raises(ValueError, match=r"x\[1\] has shape \(2,\) and x\[0\] \(1,\): .*tally.segments"):
        tally.sum([[1], [2, 3]])


def test_out(rng):
    x = rng.standard_normal((5, 6))
    out = np.empty(6)
    assert tally.sum(x, axis=0, out=out) is out and same_bits(out, tally.sum(x, axis=0))
    wide = np.zeros((6, 3))
    tally.sum(x, axis=0, out=wide[:, 1])
    assert same_bits(wide[:, 1], out) and not wide[:, ::2].any()
    back = np.empty(6)[::-1]
    assert same_bits(tally.sum(x, axis=0, out=back).copy(), out)
    place = array.array("d", [0])
    assert tally.sum(x, out=memoryview(place).cast("B").cast("d", ())) is not None and place[0] == tally.sum(x)
    many = np.zeros((5, 12))
    tally.cumulative_sum(x, axis=1, out=many[:, ::2])
    assert same_bits(np.ascontiguousarray(many[:, ::2]), tally.cumulative_sum(x, axis=1)) and not many[:, 1::2].any()
    y = x.copy()
    assert tally.cumulative_sum(y, axis=0, out=y) is y and same_bits(y, tally.cumulative_sum(x, axis=0))
    truth = np.zeros(5, "u1")
    tally.any(x, axis=1, out=truth)
    assert truth.tolist() == [1] * 5
    with pytest.raises(ValueError, match="out has dtype bool: must be uint8"):
        tally.max(np.full((5, 6), 7, "u1"), axis=1, out=np.zeros(5, bool))


def test_out_that_does_not_fit(rng):
    x = rng.standard_normal((5, 6))
    for out, message in (
        (np.empty(5), r"out has shape \(5,\): must be \(6,\)"),
        (np.empty(6, "f4"), "out has dtype float32: must be float64"),
        (np.broadcast_to(np.empty(6), (6,)), "out is read-only"),
        (np.lib.stride_tricks.as_strided(np.empty(1), (6,), (0,)), "several of its elements are one place"),
        (x[0], "out overlaps x"),
        (x[:, 0], "out has shape"),
    ):
        with pytest.raises(ValueError, match=message):
            tally.sum(x, axis=0, out=out)
    for out in (np.float64(3), np.bool_(True)):  # a write would reach a copy
        with pytest.raises(TypeError, match="out is of type .*: must be a writable array"):
            tally.sum(np.ones(3), out=out)
    for out in ([0.0] * 6, 3.0, None.__class__, "out", bytes(48)):
        with pytest.raises((TypeError, ValueError), match="out"):
            tally.sum(x, axis=0, out=out)
    with pytest.raises(ValueError, match="out overlaps x"):
        tally.cumulative_sum(x[:, :-1], axis=1, out=x[:, 1:])
    with pytest.raises(ValueError, match="out overlaps x"):
        tally.window(x, "sum", 2, axis=1, out=x)
    with pytest.raises(ValueError, match="out overlaps x"):
        tally.cumulative_sum(x[::-1], axis=0, out=x)
    with pytest.raises(ValueError, match="several operators"):
        tally.reduce(x, ["sum", "max"], out=np.empty(6))
    with pytest.raises(TypeError, match="out is of type"):
        tally.sum(pa.array([1.0]), out=pa.array([1.0]))


def test_results_of_two_lanes_need_an_axis_more():
    x = np.zeros((1,) * 63 + (4,))
    for call in (
        lambda: tally.reduce(x, "minmax", axis=63, keepdims=True),
        lambda: tally.scan(x, "minmax", axis=63),
        lambda: tally.window(x, "minmax", 2, axis=63),
    ):
        with pytest.raises(ValueError, match="x has too many axes: 'minmax' adds one"):
            call()
    assert tally.scan(x, "max", axis=63).shape == x.shape


def test_axes_that_are_not_there():
    x = np.zeros((2, 3))
    for axis in (2, -3, 2**70, (0, 5)):
        with pytest.raises(ValueError, match="axis is .*: x has 2 axes"):
            tally.sum(x, axis=axis)
    with pytest.raises(ValueError, match="an axis comes twice"):
        tally.sum(x, axis=(0, -2))
    for axis in ("a", 1.5, [0]):
        with pytest.raises(TypeError, match="axis is"):
            tally.sum(x, axis=axis)


def test_operators_that_are_not_there():
    with pytest.raises(ValueError, match="median"):
        tally.reduce([1], "median")
    with pytest.raises(TypeError):
        tally.reduce(np.ones(2), "xor")
    for op in ("", "sum\0", "x" * 200, "var:", "ema"):
        with pytest.raises(ValueError):
            tally.reduce([1.0], op)
    for op in (None, 5, b"sum"):
        with pytest.raises(TypeError, match="op is"):
            tally.reduce([1.0], op)


def test_windows_that_are_not_there():
    x = np.ones(5)
    for w in (0, -1, 1.5, "a"):
        with pytest.raises(ValueError, match="w is"):
            tally.window(x, "sum", w)
    with pytest.raises(ValueError, match="must be 0|must fit"):
        tally.window(x, "sum", 2**70)
    with pytest.raises(ValueError, match="edges is"):
        tally.window(x, "sum", 2, edges="wrap")
    with pytest.raises(ValueError, match="min_count"):
        tally.window(x, "sum", 2, min_count=3)
    with pytest.raises(TypeError, match="before is"):
        tally.window(x, "sum", before="a")


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([1, 2, 3.5], ml_dtypes.bfloat16)
    assert tally.sum(x) == np.float32(6.5) and tally.max(x) == x[2] and tally.max(x).dtype == x.dtype
    assert tally.scan(x, "max").dtype == x.dtype
    stream = tally.Stream.window("max", "bfloat16", 3, edges="shrink", center=True)
    assert stream.push(x).dtype == x.dtype
    rest = stream.finish()
    assert rest.dtype == "bfloat16" and tally.max(rest) == rest[0] == 3.5
    with pytest.raises(BufferError, match="buffers have no format for bfloat16"):
        memoryview(rest)


def test_torch():
    torch = pytest.importorskip("torch")
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    assert isinstance(tally.sum(x, axis=0), torch.Tensor) and tally.sum(x).item() == 15.0
    assert tally.scan(x.T, "sum", axis=0).tolist() == x.T.cumsum(0).tolist()
    out = torch.empty(3)
    assert tally.sum(x, axis=0, out=out) is out and out.tolist() == [3.0, 5.0, 7.0]
    assert tally.max(x.to(torch.bfloat16)).dtype == torch.bfloat16
    with pytest.raises(ValueError, match="needs a gradient"):
        tally.sum(x.requires_grad_())


def test_define():
    text = open(__file__.replace("python/tests/test_inputs.py", "examples/operators/descent.h")).read()
    tally.define("descent", text)
    assert tally.reduce(np.array([3.0, 5, 2, 8, 1]), "descent") == 7
    with tally.device("cpu,threads=1"):
        assert tally.scan(np.array([3.0, 5, 2, 8, 1]), "descent")[-1] == 7
    assert tally.Fragment("descent", np.array([3.0, 5, 2])).op == "descent"
    with pytest.raises(ValueError, match="sum"):
        tally.define("sum", text)
    with pytest.raises(ValueError, match="somewhere:1"):
        tally.define("broken", "nonsense", "somewhere")


def test_devices():
    names = [d["name"] for d in tally.devices()]
    assert names[0].startswith("cpu")
    with tally.device("cpu,threads=1") as one:
        assert one.threads == 1 and tally.device().name == "cpu,threads=1"
    assert tally.device().name == "auto"
    for wrong in ("gpu", "cpu,threads=0", "cuda:99", "x" * 300, ""):
        with pytest.raises(ValueError):
            tally.device(wrong)
    assert "seed 5" in tally.verify(50, seed=5) or "50" in tally.verify(50, seed=5)
