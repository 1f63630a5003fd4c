"""Identifies user code across processes: equal functions have equal digests, whatever process
pickles them.

A pickle itself does not serve for that. It has sets in the order of their hashes, which each
process seeds anew; a random number for each class that travels by value; and references where two
equal strings are one object.
"""

from __future__ import annotations

import ast
import collections
import hashlib
import importlib.util
import io
import itertools
import marshal
import os
import pickle
import sys
import sysconfig
import types
from typing import Any, Iterable, NamedTuple

import cloudpickle

from .by_value import CodePickler

_WITHOUT_IDENTITY = (str, bytes, int, float, complex, tuple, frozenset)
_PLAIN = {str, bytes, int, float, bool, type(None)}
_MANY = 1000
_DEEPEST = 8
_CONTAINERS = {list, tuple, dict}
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Identity:
    """The digest of a function or another object, and the modules that a process imports for it."""

    def __init__(self, value: Any) -> None:
        pickler = _IdentityPickler([])
        pickler.dump(value)
        self.digest: str = pickler.hash.hexdigest()
        self.modules: set[str] = pickler.modules


File = list[Any]  # [path, time of its last change in ns, bytes]; a list as in JSON


class _Seen(NamedTuple):
    """A file when this process first saw that it had imported it. It has imported no later version."""

    spec: Any  # another one after a reload
    file: File
    imports: list[str]


_seen: dict[str, _Seen] = {}


def files_of(modules: Iterable[str]) -> list[File]:
    """Returns the program's own files among these modules and among those that they import or refer
    to. A file that was edited afterwards is told as it was when this process first saw it. Installed
    packages are left out.

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
        first = _first_seen(file, module)
        if first is None:  # in an archive, for example
            continue
        files.append(first.file)
        todo.append(name.rpartition(".")[0])
        todo += filter(None, map(_module_of, list(vars(module).values())))
        todo += first.imports
    return sorted(files)


def changed(file: File) -> bool:
    """Returns whether this process first saw another version of the file, or cannot see it."""
    first = _first_seen(file[0], None)
    return first is None or first.file != file


def _first_seen(file: str, module: Any) -> _Seen | None:
    spec = getattr(module, "__spec__", None)
    if file not in _seen or _seen[file].spec is not spec:
        try:
            status = os.stat(file)
        except OSError:
            return None
        imports = _imports(file, getattr(module, "__package__", None) or "")
        _seen[file] = _Seen(spec, [file, status.st_mtime_ns, status.st_size], imports)
    return _seen[file]


def _imports(file: str, package: str) -> list[str]:
    """Returns the modules that the import of a file imports. A value that it takes of one, such as a
    number, does not say where it is from.
    """
    try:
        with open(file, "rb") as source:
            tree = ast.parse(source.read())
    except (OSError, ValueError, SyntaxError, RecursionError):  # a library in C, or edited in the meantime
        return []
    names: list[str] = []
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            try:
                base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            except ImportError:  # beyond the package
                continue
            names += (base, *(f"{base}.{alias.name}" for alias in node.names))
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            todo += ast.iter_child_nodes(node)
    return names


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

    def __init__(self, open_sets: list[int]) -> None:
        """`open_sets`: the ids of the sets to whose elements this object belongs."""
        self.hash = _Hash()
        self.modules: set[str] = set()
        self._open_sets = open_sets
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
            return kind, (self._elements(value),)
        if kind in _CONTAINERS and len(value) > _MANY and _plain(value):
            return kind, (_marshalled(value),)
        if kind is types.ModuleType:
            self.modules.add(value.__name__)
        reduced = self._code.reducer_override(value)
        if issubclass(kind, type) and isinstance(reduced, tuple):
            tracker = cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS.get(value)
            return _without(reduced, tracker)
        return reduced

    def _elements(self, value: Any) -> Any:
        if set(map(type, value)) <= _PLAIN:
            return _marshalled(sorted(map(_marshalled, value)))
        if id(value) in self._open_sets:  # an element refers to its set
            return self._open_sets.index(id(value))
        digests = []
        for one in value:
            pickler = _IdentityPickler([*self._open_sets, id(value)])
            pickler.dump(one)
            digests.append(pickler.hash.hexdigest())
            self.modules |= pickler.modules
        return sorted(digests)

    def save_global(self, value: Any, name: str | None = None) -> None:
        # Also objects that know of no module, such as a function with `functools.lru_cache`.
        self.modules.add(pickle.whichmodule(value, name or getattr(value, "__qualname__", None) or value.__name__))
        super().save_global(value, name)

    dispatch = {**pickle._Pickler.dispatch, types.FunctionType: save_global}


def _marshalled(value: Any) -> bytes:
    return marshal.dumps(value, 2)  # the last version without references


def _plain(value: Any) -> bool:
    """Returns whether a container has numbers and strings alone, or containers of them: the names
    or the labels of a data set's files, for example, which may be millions.
    """
    level = [value]
    for _ in range(_DEEPEST):
        level = [*itertools.chain.from_iterable(map(_values, level))]
        kinds = set(map(type, level))
        if not kinds <= _PLAIN | _CONTAINERS:
            return False
        if not kinds & _CONTAINERS:
            return True
        if kinds & _PLAIN:
            level = [one for one in level if type(one) in _CONTAINERS]
    return False


def _values(value: Any) -> Iterable[Any]:
    return itertools.chain.from_iterable(value.items()) if type(value) is dict else value


def _without(value: Any, tracker: str | None) -> Any:
    """Returns the reduction of a class without the number that cloudpickle has drawn for it."""
    if type(value) is tuple:
        return tuple(_without(one, tracker) for one in value)
    return None if isinstance(value, str) and value == tracker else value
