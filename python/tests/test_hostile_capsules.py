# SPDX-License-Identifier: MIT
"""Capsules that lie about themselves, of DLPack and Arrow, and CUDA's interface without a device: an exception, never a
crash. scripts/test-python runs this file with a sanitized extension too."""

import numpy as np
import pytest
from liars import Arrow, Producer, Says

import tally

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
