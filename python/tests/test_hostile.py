# SPDX-License-Identifier: MIT
"""Objects that lie about themselves: an exception, never a crash. scripts/test-python runs this file with a sanitized
extension too."""

import array
import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from liars import WRONG, Says, interface

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
