"""The C interface through ctypes, as a binding of another language would use it."""
import ctypes
from ctypes import POINTER, byref, c_char, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from pathlib import Path

import numpy as np

import forebay as fb

OK, END_OF_EPOCH, FINISHED, TIMED_OUT = 0, -1, -2, -3
INVALID_ARGUMENT, NOT_FOUND, CORRUPT, CANCELLED, STATE_MISMATCH = 1, 2, 3, 7, 8


class Array(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("type", c_int32), ("bits", c_int32), ("dimensions", c_int32), ("reserved", c_int32), ("shape", POINTER(c_int64)),
                ("bytes", c_uint64)]

    def numpy(self):
        """A copy."""
        kind = {0: "i", 1: "u", 2: "f", 6: "b"}[self.type]
        data = ctypes.string_at(self.data, self.bytes)
        return np.frombuffer(data, f"{kind}{self.bits // 8}").reshape([self.shape[i] for i in range(self.dimensions)])


class Field(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("kind", c_int32), ("arrays", c_int32), ("values", Array), ("offsets", Array),
                ("string_offsets", Array)]


class BatchInfo(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("rows", c_int64), ("padding", c_int64), ("epoch", c_int64), ("step", c_int64), ("ids", POINTER(c_int64)),
                ("positions", POINTER(c_int64)), ("fields", c_int32), ("reserved", c_int32)]


class LoaderInfo(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("epoch", c_int64), ("batches_per_epoch", c_int64), ("samples", c_int64), ("rank", c_int32),
                ("world_size", c_int32), ("finished", c_int32), ("fingerprint", c_char * 36)]


class Failure(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("code", c_int32), ("message", c_char_p), ("key", c_char_p), ("op", c_char_p), ("sample", c_int64),
                ("range_offset", c_int64), ("range_length", c_int64), ("bytes_needed", c_uint64)]


def load():
    library = ctypes.CDLL(str(Path(fb.__file__).parent / "libforebay.so"))
    handle = c_void_p
    library.fb_open.argtypes = [c_char_p, c_char_p, POINTER(handle)]
    library.fb_open_cancellable.argtypes = [c_char_p, c_char_p, handle, POINTER(handle)]
    library.fb_canceller_new.argtypes = [POINTER(handle)]
    library.fb_next.argtypes = [handle, c_int64, POINTER(handle)]
    library.fb_set_epoch.argtypes = [handle, c_int64]
    library.fb_load_state.argtypes = [handle, c_char_p, c_int32]
    library.fb_load_state_of_changed_parts.argtypes = [handle, c_char_p, c_int32]
    library.fb_set_weights.argtypes = [handle, c_char_p]
    library.fb_set_sampling.argtypes = [handle, POINTER(c_double), c_int64, c_char_p, c_char_p]
    library.fb_batch_find.argtypes = [handle, c_char_p, POINTER(c_int32)]
    library.fb_batch_field.argtypes = [handle, c_int32, POINTER(Field)]
    library.fb_batch_describe.argtypes = [handle, POINTER(BatchInfo)]
    library.fb_loader_describe.argtypes = [handle, POINTER(LoaderInfo)]
    library.fb_last_error.argtypes = [POINTER(Failure)]
    for name in ("fb_state", "fb_stats", "fb_errors"):
        getattr(library, name).argtypes = [handle, POINTER(c_void_p)]
    for name in ("fb_begin", "fb_loader_close", "fb_loader_free", "fb_batch_free", "fb_string_free", "fb_cancel", "fb_canceller_free"):
        getattr(library, name).argtypes = [handle]
    for name in ("fb_batch_dlpack", "fb_batch_dlpack_versioned"):
        getattr(library, name).argtypes = [handle, c_int32, c_int32, POINTER(c_void_p)]
    library.fb_last_error_message.restype = library.fb_version.restype = library.fb_code_name.restype = c_char_p
    library.fb_code_name.argtypes = [c_int32]
    return library


def filled(kind):
    return kind(ctypes.sizeof(kind))


class CBatch:
    def __init__(self, library, handle):
        self.library, self.handle = library, handle
        self.info = filled(BatchInfo)
        assert library.fb_batch_describe(handle, byref(self.info)) == OK

    def ids(self):
        return np.array(self.info.ids[:self.info.rows], np.int64)

    def positions(self):
        return np.array(self.info.positions[:self.info.rows], np.int64)

    def fields(self):
        """name → its arrays, as `Batch.buffers(name)` gives them."""
        found = {}
        for number in range(self.info.fields):
            field = filled(Field)
            assert self.library.fb_batch_field(self.handle, number, byref(field)) == OK
            found[field.name.decode()] = tuple(array.numpy() for array in (field.values, field.offsets, field.string_offsets)[:field.arrays])
        return found

    def dlpack(self, name, which=0, versioned=False):
        """What np.from_dlpack and others take."""
        number, tensor = c_int32(), c_void_p()
        assert self.library.fb_batch_find(self.handle, name.encode(), byref(number)) == OK
        give = self.library.fb_batch_dlpack_versioned if versioned else self.library.fb_batch_dlpack
        assert give(self.handle, number, which, byref(tensor)) == OK
        return Capsule(tensor, b"dltensor_versioned" if versioned else b"dltensor")

    def free(self):
        return self.library.fb_batch_free(self.handle)


class Capsule:
    """Hands one tensor over, once."""

    def __init__(self, tensor, name):
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [c_void_p, c_char_p, c_void_p]
        self._name = name  # the capsule does not copy it
        self._capsule = make(tensor, name, None)

    def __dlpack__(self, **_):
        return self._capsule

    def __dlpack_device__(self):
        return (1, 0)


class CLoader:
    def __init__(self, library, pipeline, options=b"{}"):
        self.library, self.handle = library, c_void_p()
        pipeline = pipeline if isinstance(pipeline, bytes) else pipeline.to_json().encode()
        self.code = library.fb_open(pipeline, options, byref(self.handle))

    def next(self, timeout_ms=-1):
        """(code, batch or None)"""
        handle = c_void_p()
        code = self.library.fb_next(self.handle, timeout_ms, byref(handle))
        return code, CBatch(self.library, handle) if code == OK else None

    def epoch(self):
        while True:
            code, batch = self.next()
            if code == END_OF_EPOCH:
                return
            assert code == OK, self.library.fb_last_error_message()
            yield batch
            batch.free()

    def text(self, name):
        given = c_void_p()
        assert getattr(self.library, name)(self.handle, byref(given)) == OK
        text = ctypes.string_at(given.value).decode()
        assert self.library.fb_string_free(given) == OK
        return text

    def free(self):
        return self.library.fb_loader_free(self.handle)
