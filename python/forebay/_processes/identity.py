"""Identifies user code across processes: equal functions have equal digests, whatever process
pickles them.

A pickle itself does not serve for that. It has sets in the order of their hashes, which each
process seeds anew; a random number for each class that travels by value; and references where two
equal strings are one object.
"""

from __future__ import annotations

import collections
import hashlib
import io
import itertools
import marshal
import os
import pickle
import sys
import sysconfig
import types
from typing import Any, Iterable

import cloudpickle

from .by_value import CodePickler

_WITHOUT_IDENTITY = (str, bytes, int, float, complex, tuple, frozenset)
_PLAIN = {str, bytes, int, float, bool, type(None)}
_MANY = 1000
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Identity:
    """The digest of a function or another object, and the modules that a process imports for it."""

    def __init__(self, value: Any) -> None:
        pickler = _IdentityPickler()
        pickler.dump(value)
        self.digest: str = pickler.hash.hexdigest()
        self.modules: set[str] = pickler.modules


def files_of(modules: Iterable[str]) -> list[tuple[str, int, int]]:
    """Returns (path, time of the last change in ns, bytes) of the program's own files among these
    modules and among those that they refer to. Installed packages are left out.

    Modules that a function imports when it is called are not known.
    """
    seen: set[str] = {"__main__"}  # its code travels by value
    todo, files = list(modules), []
    while todo:
        name = todo.pop()
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if name in seen or not isinstance(file, str) or _installed(file):
            continue
        seen.add(name)
        try:
            status = os.stat(file)
        except OSError:  # in an archive, for example
            continue
        files.append((file, status.st_mtime_ns, status.st_size))
        todo.append(name.rpartition(".")[0])
        todo += filter(None, map(_module_of, list(vars(module).values())))
    return sorted(files)


def _installed(file: str) -> bool:
    folders = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), _PACKAGE)
    return file.startswith(tuple(f"{folder}{os.sep}" for folder in folders)) or any(
        f"{os.sep}{packages}{os.sep}" in file for packages in ("site-packages", "dist-packages")
    )


def _module_of(value: Any) -> str | None:
    try:
        name = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
    except Exception:  # whatever an object of the user's does when it is asked
        return None
    return name if isinstance(name, str) else None


class _Hash:
    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self.hexdigest = self._hash.hexdigest

    def write(self, content: Any) -> None:
        self._hash.update(content)


class _IdentityPickler(pickle._Pickler):
    """A pickler in Python, which lets its dispatch and its memo be changed. It is as slow as that,
    but contents of arrays do not pass through it.
    """

    # The file of a function's code is its place and not what it does.
    dispatch_table = collections.ChainMap(
        {types.CodeType: cloudpickle.cloudpickle._code_reduce}, CodePickler.dispatch_table
    )

    def __init__(self) -> None:
        self.hash = _Hash()
        self.modules: set[str] = set()
        self._code = CodePickler(io.BytesIO(), protocol=5)  # for its reductions
        super().__init__(self.hash, protocol=5, buffer_callback=self._add_content)

    def _add_content(self, buffer: pickle.PickleBuffer) -> bool:
        self.hash.write(buffer.raw())
        return False  # out of band

    def memoize(self, value: Any) -> None:
        if type(value) not in _WITHOUT_IDENTITY:
            super().memoize(value)

    def reducer_override(self, value: Any) -> Any:
        kind = type(value)
        if kind in (set, frozenset):
            elements = [Identity(one) for one in value]
            self.modules.update(*(one.modules for one in elements))
            return kind, (sorted(one.digest for one in elements),)
        if kind in (list, tuple, dict) and len(value) > _MANY and _plain(value):
            return kind, (marshal.dumps(value, 2),)  # the last version without references
        if kind is types.ModuleType:
            self.modules.add(value.__name__)
        elif kind is types.FunctionType or issubclass(kind, type):
            self.modules.add(_module_of(value) or "")
        reduced = self._code.reducer_override(value)
        if issubclass(kind, type) and isinstance(reduced, tuple):
            tracker = cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS.get(value)
            return _without(reduced, tracker)
        return reduced


def _plain(value: Any) -> bool:
    """Returns whether a container has numbers and strings alone, or tuples and lists of them: the
    names of a data set's files, for example, which may be millions.
    """
    values = value.items() if isinstance(value, dict) else value
    kinds = set(map(type, values))
    if kinds & {tuple, list}:
        inner = (one for one in values if type(one) in (tuple, list))
        kinds = kinds - {tuple, list} | set(map(type, itertools.chain.from_iterable(inner)))
    return kinds <= _PLAIN


def _without(value: Any, tracker: str | None) -> Any:
    """Returns the reduction of a class without the number that cloudpickle has drawn for it."""
    if type(value) is tuple:
        return tuple(_without(one, tracker) for one in value)
    return None if isinstance(value, str) and value == tracker else value
