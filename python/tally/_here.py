# SPDX-License-Identifier: MIT
"""What is here: operators and devices; the device and the progress of this thread's calls."""

from . import _core

__all__ = ["config", "define", "device", "devices", "operators", "progress", "use_allocator", "verify"]


def define(name, text, where=None):
    """Defines an operator by its text in C (doc/user-operators.md); its name then goes wherever an operator's name
    goes, on every thread.

    The text is compiled when it is used for a type for the first time, by the system's C compiler. It is code that runs
    with your rights: do not define what strangers send.

    ValueError: a name that is built in or none, a text that is wrong; the sentence says where.
    """
    _core.define(name, text, name if where is None else where)


def operators():
    """The names of the built-in operators, a list."""
    return _core.operators()


def devices():
    """The devices, a list of dictionaries: name, text, usable, reason (why not), threads, isas."""
    return _core.devices()


class device:
    """The device of this thread: ``tally.device("cpu,threads=1")`` from now on, or for a ``with`` block.

    The name is one of :func:`devices`, or ``"auto"``; options follow commas: ``threads=2``, ``isa=avx2``. Data that is
    on a GPU is computed there, whatever this says.

    >>> import tally
    >>> with tally.device("cpu,threads=1") as here:
    ...     here.threads
    1

    ValueError: a device that is not here, with the reason.
    """

    __slots__ = ("name", "isa", "threads", "_before")

    def __init__(self, name=None):
        self._before = None
        if name is not None:
            self._before = _core.use(name)
        self.name, self.isa, self.threads = _core.about()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self._before is not None:
            _core.use(self._before)

    def __repr__(self):
        return f"<tally.device {self.name}: {self.isa}, {self.threads} threads>"


class config:
    """Options of this thread's calls: ``tally.config(results="host")`` from now on, or for a ``with`` block.

    ``results`` says where the results of arrays on a device go: ``"device"`` makes arrays of the same library on the
    device, without waiting for them; ``"host"`` waits, and gives NumPy's arrays and scalars, or without NumPy
    ``tally.Array`` and numbers.

    >>> import tally
    >>> with tally.config(results="host") as here:
    ...     here.results
    'host'

    ValueError: another word.
    """

    __slots__ = ("results", "_before")

    def __init__(self, *, results=None):
        if results not in ("device", "host", None):
            raise ValueError(f"results is {results!r}: must be 'device' or 'host'")
        self._before = _core.results(None if results is None else results == "host")
        self.results = "host" if _core.results(None) else "device"

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        _core.results(self._before)


class progress:
    """Progress of this thread's long calls: ``with tally.progress(callback):``.

    ``callback(done, total)`` is called about ten times in a second while a call is under way, with the elements that
    are done and all of them, and at the end of a call that it heard of. Calls that are short do not call it. What it
    raises ends the call. A call is interrupted between its parts: of about 2^26 elements, with a callback 2^22. A
    sequence with nulls, ``where=`` or a second array, and segments are one part.

    >>> import tally
    >>> with tally.progress(lambda done, total: print(f"{done / total:.0%}")):
    ...     tally.sum([1.0, 2.0])
    3.0

    TypeError: a callback that cannot be called.
    """

    __slots__ = ("_callback", "_before")

    def __init__(self, callback):
        if not callable(callback):
            raise TypeError(f"callback is {callback!r}: must be callable")
        self._callback = callback

    def __enter__(self):
        self._before = _core.progress(self._callback)
        return self

    def __exit__(self, *unused):
        _core.progress(self._before)


def use_allocator(allocator=None):
    """Where the memory comes from that calls on GPUs need besides their arrays, so that two pools do not hold it twice.

    ``"torch"`` and ``"cupy"`` are the pools of PyTorch and CuPy, also those that were given to them, such as RMM's.
    Else an object with ``allocate(bytes, stream)``, which gives an address (aligned to 256 bytes, on the current
    device), and ``deallocate(address, bytes, stream)``; streams are integers, as CUDA has them. None: from CUDA. It
    holds for all threads; a context that is in use changes at its next call, which waits.

    ValueError: another word, or an object without these functions.
    """
    if allocator is None:
        functions = None, None
    elif isinstance(allocator, str):
        if allocator not in _POOLS:
            raise ValueError(f"allocator is {allocator!r}: must be 'torch', 'cupy', an object or None")
        functions = _POOLS[allocator]()
    else:
        functions = getattr(allocator, "allocate", None), getattr(allocator, "deallocate", None)
        if not all(map(callable, functions)):
            raise ValueError(f"allocator is {allocator!r}: must have allocate and deallocate")
    _core.use_allocator(*functions)


def _allocators_stream(stream):
    """CUDA's legacy stream is 1, that of the pools 0."""
    return 0 if stream == 1 else stream


def _torch():
    import torch

    def allocate(bytes, stream):
        return torch.cuda.caching_allocator_alloc(bytes, stream=_allocators_stream(stream))

    return allocate, lambda address, bytes, stream: torch.cuda.caching_allocator_delete(address)


def _cupy():
    import cupy

    blocks = {}

    def allocate(bytes, stream):
        with cupy.cuda.ExternalStream(stream) if _allocators_stream(stream) else cupy.cuda.Stream.null:
            block = cupy.cuda.alloc(bytes)
        blocks[block.ptr] = block
        return block.ptr

    return allocate, lambda address, bytes, stream: blocks.pop(address)


_POOLS = {"torch": _torch, "cupy": _cupy}


def verify(cases=1000, seed=0):
    """Compares this thread's device with the law on ``cases`` random cases, bit by bit, and gives a sentence about it.
    RuntimeError if a result differs."""
    return _core.verify(cases, seed)
