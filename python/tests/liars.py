# SPDX-License-Identifier: MIT
"""Objects that lie about themselves, for test_hostile.py and test_hostile_capsules.py: interfaces of arrays, tensors of
DLPack and arrays of Arrow that say anything."""

import ctypes

import numpy as np


class Says:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


def interface(**changes):
    keep = np.arange(4.0)
    facts = {"version": 3, "shape": (4,), "typestr": "<f8", "data": (keep.ctypes.data, False), "strides": None}
    facts.update(changes)
    return Says(keep=keep, __array_interface__={k: v for k, v in facts.items() if v is not ...})


WRONG = [
    {"shape": ...},
    {"shape": None},
    {"shape": 4},
    {"shape": [4]},
    {"shape": (-1,)},
    {"shape": (2**62, 2**62)},
    {"shape": (2**63,)},
    {"shape": ("4",)},
    {"shape": (4,) * 65},
    {"shape": (2**61,)},
    {"typestr": ...},
    {"typestr": None},
    {"typestr": ""},
    {"typestr": "<f"},
    {"typestr": "<f9999999999999999999"},
    {"typestr": "<f8x"},
    {"typestr": "f8f"},
    {"typestr": "|O8"},
    {"typestr": "<c8"},
    {"typestr": "<V2"},
    {"typestr": "\udcff<8"},
    {"data": ...},
    {"data": None},
    {"data": (0, False)},
    {"data": (None, False)},
    {"data": (1, False)},
    {"data": (4096, False)},
    {"data": ("x", False)},
    {"data": (2**70, False)},
    {"data": (-1, False)},
    {"data": 5},
    {"strides": (8, 8)},
    {"strides": (2**62,)},
    {"strides": (-(2**63),)},
    {"strides": 8},
    {"strides": ("8",)},
    {"mask": np.ones(4, bool)},
]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Producer:
    """Gives a capsule with any tensor; counts the calls of its deleter."""

    def __init__(
        self, new=False, shape=(4,), strides=None, name=None, device=(1, 0), major=1, flags=0, deleter=True, **tensor
    ):
        self.data = np.arange(4.0)
        self.deleted = 0
        self.device = device
        facts = dict(
            data=self.data.ctypes.data, device_type=1, device_id=0, ndim=1, code=2, bits=64, lanes=1, byte_offset=0
        )
        facts.update(tensor)
        self.tensor = Tensor(**facts)
        if shape is not None:
            self.shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
            self.tensor.shape = ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64))
        if strides is not None:
            self.strides = (ctypes.c_int64 * len(strides))(*strides)
            self.tensor.strides = ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64))
        self.callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.delete)
        pointer = ctypes.cast(self.callback, ctypes.c_void_p) if deleter else None
        if new:
            self.managed = Versioned(major=major, minor=0, deleter=pointer, flags=flags, tensor=self.tensor)
        else:
            self.managed = Managed(tensor=self.tensor, deleter=pointer)
        self.name = (b"dltensor_versioned" if new else b"dltensor") if name is None else name

    def delete(self, pointer):
        self.deleted += 1

    def __setitem__(self, key, value):
        raise AssertionError

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **unused):
        return new_capsule(ctypes.addressof(self.managed), self.name, None)


class Schema(ctypes.Structure):
    _fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p)]
    _fields_ += [(name, ctypes.c_int64) for name in ("flags", "n_children")]
    _fields_ += [(name, ctypes.c_void_p) for name in ("children", "dictionary", "release", "private_data")]


class Elements(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int64) for n in ("length", "null_count", "offset", "n_buffers", "n_children")]
    _fields_ += [(n, ctypes.c_void_p) for n in ("buffers", "children", "dictionary", "release", "private_data")]


class Arrow:
    """Four numbers, 0 to 3, as an Arrow array that says anything about itself."""

    def __init__(self, bits=None, format=b"g", null_count=0, buffers=..., **facts):
        self.data, self.bits = (ctypes.c_double * 4)(0, 1, 2, 3), bits
        bits = ctypes.cast(ctypes.c_char_p(bits), ctypes.c_void_p)
        self.two = (ctypes.c_void_p * 2)(bits, ctypes.addressof(self.data))
        self.release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda pointer: None)
        release = ctypes.cast(self.release, ctypes.c_void_p)
        known = dict(length=4, null_count=null_count, n_buffers=2, release=release)
        known["buffers"] = ctypes.addressof(self.two) if buffers is ... else buffers
        self.schema, self.array = Schema(format=format, release=release), Elements(**{**known, **facts})

    def __arrow_c_array__(self, schema=None):
        return (
            new_capsule(ctypes.addressof(self.schema), b"arrow_schema", None),
            new_capsule(ctypes.addressof(self.array), b"arrow_array", None),
        )
