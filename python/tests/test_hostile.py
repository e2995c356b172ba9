# SPDX-License-Identifier: MIT
"""Objects that lie about themselves, capsules of DLPack and Arrow among them, and CUDA's interface without a device: an
exception, never a crash. scripts/test-python runs this file with a sanitized extension too."""

import array
import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from liars import WRONG, Arrow, Producer, Says, interface

import tally


@pytest.mark.parametrize("changes", WRONG, ids=[repr(w)[:40] for w in WRONG])
def test_array_interfaces(changes):
    with pytest.raises((TypeError, ValueError, OverflowError)):
        tally.sum(interface(**changes))
    with pytest.raises((TypeError, ValueError, OverflowError)):
        tally.sum(np.ones(1), out=interface(**changes))


def test_an_interface_that_is_right():
    assert tally.sum(interface()) == 6 and tally.sum(interface(strides=(0,))) == 0
    assert tally.sum(interface(shape=(0,), data=(0, False))) == 0


def test_interfaces_that_are_no_dictionaries():
    for wrong in (5, "x", None, [], ()):
        with pytest.raises((TypeError, ValueError)):
            tally.sum(Says(__array_interface__=wrong))


class Raises:
    def __getattr__(self, name):
        raise RuntimeError(f"no {name} for you")


def test_attributes_that_raise():
    with pytest.raises(RuntimeError, match="for you"):
        tally.sum(Raises())

    class Protocol:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **kwargs):
            raise KeyError("dlpack")

    with pytest.raises(KeyError):
        tally.sum(Protocol())


class Masked(np.ndarray):
    """An array whose mask is anything."""


def test_masks_that_lie():
    x = np.arange(4.0).view(Masked)
    assert tally.sum(x) == 6
    for mask, total in ((False, 6), (np.False_, 6), (True, 0), (np.array([False, True, False, True]), 2), (0, 6)):
        x._mask = mask
        assert tally.sum(x) == total, mask
    others = (np.zeros(3, bool), np.zeros((1, 4, 1), bool), np.zeros(4), np.zeros(4, object), [[1, 2], [3]], "yes", 5)
    for mask in others:
        x._mask = mask
        with pytest.raises((TypeError, ValueError)):
            tally.sum(x)
    x._mask = np.lib.stride_tricks.as_strided(np.array([True]), (4,), (0,))
    assert tally.sum(x) == 0


@pytest.mark.parametrize("changes", WRONG[:38:3], ids=repr)
def test_second_arrays_and_masks_that_lie(changes):
    x = np.arange(4.0)
    for call in (
        lambda wrong: tally.dot(x, wrong),
        lambda wrong: tally.dot(wrong, x),
        lambda wrong: tally.sum(x, where=wrong),
        lambda wrong: tally.ranges(x, wrong, wrong, "sum"),
        lambda wrong: tally.bounds(wrong, 0.0, 1.0),
        lambda wrong: tally.rolling(x, 2.0, on=wrong).sum(),
        lambda wrong: tally.rolling(x, 2).cov(wrong),
    ):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            call(interface(**changes))


# ---- arrays that change while they are read ----


def test_memory_that_would_move():
    x = bytearray(8)
    view = memoryview(x)
    assert tally.sum(x) == 0
    view.release()
    x.extend(b"x" * 1000)  # the buffer was given back
    held = array.array("d", [1.0])
    stream = tally.Stream.scan("sum", "float64")
    stream.push(held)
    held.append(2.0)


def test_numbers_that_lie():
    class Index:
        def __index__(self):
            raise ZeroDivisionError

    class Wrong:
        def __index__(self):
            return "x"

    class Truth:
        def __bool__(self):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        tally.sum([1.0], axis=Index())
    with pytest.raises(TypeError):
        tally.sum([1.0], axis=Wrong())
    with pytest.raises(ZeroDivisionError):
        tally.sum([1.0], keepdims=Truth())
    with pytest.raises(ZeroDivisionError):
        tally.window([1.0], "sum", before=Index())
    with pytest.raises(ZeroDivisionError):
        tally.scan([1.0], "sum", reverse=Truth())
    with pytest.raises(TypeError):
        tally.scan([1.0], "sum", init="x")


@given(st.binary(max_size=200), st.integers(0, 5))
def test_bytes_that_are_no_fragment(noise, cut):
    good = bytes(tally.Fragment("sum", [1.0, 2.0, 3.0]))
    for data in (noise, good[:cut] + noise, good[:-cut] if cut else noise, good + noise[:1] + b"x"):
        with pytest.raises(ValueError):
            tally.Fragment.from_bytes(data)


@given(
    st.dictionaries(
        st.sampled_from(["version", "shape", "typestr", "strides", "descr"]),
        st.one_of(
            st.none(),
            st.integers(),
            st.text(max_size=5),
            st.tuples(st.integers(), st.integers()),
            st.sampled_from(["<f8", "|u1", "<i2", "<f2"]),
            st.just((2, 2)),
            st.just((1,)),
        ),
    )
)
def test_interfaces_of_noise(changes):
    """Whatever it says about 32 bytes: a result or an exception."""
    room = np.zeros(4)
    facts = {"version": 3, "shape": (4,), "typestr": "<f8", "data": (room.ctypes.data, False), **changes}
    shape, strides = facts["shape"], facts.get("strides")
    try:
        inside = not strides and np.prod([int(n) for n in shape]) * 8 <= 32
    except (TypeError, ValueError, OverflowError):
        inside = True
    if not inside:
        return  # a lie within mapped memory cannot be seen, and is read
    try:
        tally.sum(Says(keep=room, __array_interface__=facts))
    except (TypeError, ValueError, OverflowError):
        pass
    gc.collect(0)


# ---- DLPack ----


@pytest.mark.parametrize("new", [False, True])
def test_tensors(new):
    for facts, total in (
        ({}, 6.0),
        ({"strides": (1,)}, 6.0),
        ({"strides": (0,)}, 0.0),
        ({"byte_offset": 8, "shape": (3,)}, 6.0),
        ({"shape": (0,), "data": None}, 0.0),
        ({"shape": (2, 2), "ndim": 2, "strides": (1, 2)}, 6.0),
        ({"shape": None, "ndim": 0, "byte_offset": 16}, 2.0),
        ({"deleter": False}, 6.0),
    ):
        producer = Producer(new, **facts)
        assert tally.sum(producer) == total
        assert producer.deleted == (0 if facts.get("deleter") is False else 1)


@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize(
    "facts",
    [
        {"ndim": -1},
        {"ndim": 65},
        {"ndim": 2**31 - 1},
        {"shape": None},
        {"shape": (-4,)},
        {"shape": (2**62,)},
        {"shape": (2**63 - 1,)},
        {"strides": (2**62,)},
        {"strides": (-(2**63),)},
        {"data": None},
        {"data": 8},
        {"byte_offset": 2**62},
        {"code": 5},
        {"code": 1},
        {"code": 255},
        {"bits": 4, "code": 0},
        {"bits": 80},
        {"bits": 0},
        {"lanes": 2},
        {"lanes": 0},
        {"device_type": 2},
        {"device_type": 2, "device_id": -1},
        {"device_type": 2, "device_id": 7},
        {"device_type": 99},
        {"device_type": -1},
    ],
    ids=repr,
)
def test_tensors_that_lie(new, facts):
    if facts == {"code": 1}:  # 64-bit integers: a reading of the same bytes
        assert tally.count(Producer(new, **facts)) == 4
        return
    producer = Producer(new, **facts)
    with pytest.raises((TypeError, ValueError)):
        tally.sum(producer)
    assert producer.deleted == 1
    producer = Producer(new, **facts)
    with pytest.raises((TypeError, ValueError)):
        tally.sum(np.ones(1), out=producer)
    assert producer.deleted == 1


def test_versions_and_flags():
    for producer in (Producer(True, major=2), Producer(True, major=0)):
        with pytest.raises(ValueError, match="DLPack"):
            tally.sum(producer)
        assert producer.deleted == 1
    for flag in (1, 2):
        with pytest.raises(ValueError, match="out is read-only"):
            tally.cumulative_sum(np.ones(4), out=Producer(True, flags=flag))


def test_capsules_that_are_none():
    for name in (b"used_dltensor", b"used_dltensor_versioned", b"something", b""):
        with pytest.raises(ValueError, match="must give a capsule with a tensor that nobody has used"):
            tally.sum(Producer(name=name))
    for wrong in (None, 5, "x", object()):
        with pytest.raises((TypeError, ValueError)):
            tally.sum(
                type("P", (), {"__dlpack__": lambda s, w=wrong, **k: w, "__dlpack_device__": lambda s: (1, 0)})()
            )
    for device in (None, 5, (), (1,), ("a", "b"), (2**70, 0), (1, 2, 3)):
        try:
            tally.sum(Producer(device=device))
        except (TypeError, ValueError, OverflowError):
            pass


# ---- CUDA, without a device ----


def test_cuda_arrays_without_a_device():
    good = {"version": 3, "shape": (4,), "typestr": "<f8", "data": (4096, False), "strides": None}
    for facts in (
        good,
        {**good, "stream": 1},
        {**good, "stream": 0},
        {**good, "stream": "x"},
        {**good, "stream": 2**70},
    ):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            tally.sum(Says(__cuda_array_interface__=facts))
    with pytest.raises(ValueError, match="cuda:0"):
        tally.sum(Says(__cuda_array_interface__=good))
    with pytest.raises(ValueError, match="cuda"):
        tally.sum(np.ones(4), out=Says(__cuda_array_interface__={**good, "shape": ()}))


# ---- Arrow ----


def test_capsules_of_arrow_that_are_none():
    pa = pytest.importorskip("pyarrow")
    x = pa.array([1.0, 2.0])

    def speaks(name, answer):
        return type("P", (), {name: lambda s, *a: answer() if callable(answer) else answer})()

    for wrong in (None, 5, (), (1, 2), lambda: x.__arrow_c_array__()[::-1], lambda: x.__arrow_c_array__()[:1]):
        with pytest.raises((TypeError, ValueError)):
            tally.sum(speaks("__arrow_c_array__", wrong))
    for wrong in (None, 5, lambda: x.__arrow_c_array__()[0]):
        with pytest.raises((TypeError, ValueError)):
            tally.sum(speaks("__arrow_c_stream__", wrong))
    used = x.__arrow_c_array__()
    pa.Array._import_from_c_capsule(*used)
    with pytest.raises(ValueError, match="nobody has used"):
        tally.sum(speaks("__arrow_c_array__", used))
    stream = pa.chunked_array([[1.0], [2.0]]).__arrow_c_stream__()
    once = speaks("__arrow_c_stream__", stream)
    assert tally.sum(once) == 3.0
    assert tally.sum(once) == 0.0  # read to its end

    def fails():
        yield pa.record_batch({"a": [1.0]})
        raise RuntimeError("lost")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.float64())]), fails())
    with pytest.raises((TypeError, ValueError)):
        tally.sum(reader)


def test_arrow_arrays_that_lie():
    assert tally.sum(Arrow()) == 6 and tally.sum(Arrow(b"\x0d", null_count=1)) == 5
    assert tally.sum(Arrow(b"\x0d", null_count=-1)) == 5 and tally.sum(Arrow(null_count=-1)) == 6
    assert tally.sum(Arrow(b"\x0d", null_count=1, offset=1, length=3)) == 5
    assert tally.sum(Arrow(b"\x00", null_count=4)) == 0
    for facts in (
        {"null_count": 1},  # and no bits that say where
        {"null_count": 4},
        {"length": -1},
        {"offset": -1},
        {"length": 2**62, "offset": 2**62},
        {"length": 2**61},
        {"n_buffers": 1},
        {"n_buffers": 3},
        {"n_children": 1},
        {"buffers": None},
        {"format": b"u"},
        {"format": b""},
        {"format": None},
        {"format": b"gg"},
        {"release": None},
    ):
        with pytest.raises((TypeError, ValueError)):
            tally.sum(Arrow(**facts))
        with pytest.raises((TypeError, ValueError)):
            tally.sum(np.ones(4), where=Arrow(**facts))
        with pytest.raises((TypeError, ValueError)):
            tally.dot(np.ones(4), Arrow(**facts))
