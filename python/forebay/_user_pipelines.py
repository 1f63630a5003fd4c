"""Pipelines with user functions in a form that other processes of this host can load."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence

from . import _core
from ._feeding import UserStream
from ._processes.identity import Identity, files_of
from ._processes.pool import to_memory
from ._processes.unpicklable import explain
from ._typing import Any
from .errors import InvalidArgument
from .pipeline import Pipeline, collates

_SERVER = "the server that makes the batches"
OTHERWISE = "share=None"


class UserPipeline:
    """A pipeline with functions as a server of this interpreter loads it (`_serving.py`).

    The pickle is in a memory file of this process, which the server opens by its path. So its size
    has no limit, and a server in which an equal pipeline is loaded already does not read it. The
    file goes with this object, which must live as long as the loader.
    """

    def __init__(self, pipeline: Pipeline, output: str) -> None:
        """InvalidArgument for functions that cannot be pickled, and for arrays in memory."""
        functions = dict(pipeline._functions)
        if any(isinstance(function, UserStream) for function in functions.values()):
            raise InvalidArgument(f"share=: streams are not shared yet; use {OTHERWISE} for this pipeline")
        try:
            steps = pipeline._description.portable_steps()
        except InvalidArgument as error:
            raise InvalidArgument(f"share=: {error}; or use {OTHERWISE} for this pipeline") from None
        given = (steps, functions, output)
        try:
            self._file, lengths = to_memory(given)
        except Exception as error:
            culprit = _first_unpicklable(functions)
            name, part = (f"{culprit.name}: ", culprit) if culprit is not None else ("", given)
            raise InvalidArgument(f"share=: {name}{explain(part, error, _SERVER, OTHERWISE)}") from error
        identities = [Identity(functions[step]) for step in sorted(functions)]
        # Only `.collate` gets the arrays of `output=`.
        text = json.dumps((steps, output if collates(pipeline) else ""))
        told = [f"{functions[step].name} {each.digest}" for step, each in zip(sorted(functions), identities)]
        source = {
            "file": f"/proc/{os.getpid()}/fd/{self._file}", "lengths": lengths,
            "identity": _digest((text, output, [each.digest for each in identities])),
        }
        self.core = json.dumps(source), text, told
        self.server, self.program = _server(set().union(*(each.modules for each in identities)))

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)


def description_of(steps: Sequence[Any]) -> _core.Description:
    """Returns the description whose `portable_steps()` these are."""
    (name, args, label, parts), *rest = steps
    if parts:
        description = _core.Description.of_parts(name, [(part, description_of(inner)) for part, inner in parts], json.loads(args))
    else:
        description = _core.Description.source(name, json.loads(args), label)
    for name, args, label, _ in rest:
        description = description.append(name, json.loads(args), label)
    return description


def _first_unpicklable(functions: dict[int, Any]) -> Any:
    for function in functions.values():
        try:
            os.close(to_memory(function)[0])
        except Exception:
            return function
    return None


def _server(modules: set[str]) -> tuple[str, list[str]]:
    """Returns the name of the server for functions that import these modules, and the command that
    starts it.

    A process imports a module once. So there is a server for each interpreter, its path, the
    working folder, and the versions of the program's own files.
    """
    if not sys.executable:
        raise InvalidArgument(f"share=: functions need a Python interpreter to start, and sys.executable names none; use {OTHERWISE}")
    folders = [os.fspath(folder) for folder in sys.path]
    try:
        here = os.getcwd()
    except OSError:  # it does not exist any more
        here = "/"
    flags = subprocess._args_from_interpreter_flags()
    name = _digest((sys.executable, flags, folders, here, _core.__file__, _core.__version__, files_of(modules)))
    code = f"import sys; sys.path[:] = {folders!r}; from forebay._serving import main; main({here!r})"
    return f"python-{name[:16]}", [sys.executable, *flags, "-c", code]


def _digest(value: Any) -> str:
    return hashlib.blake2b(json.dumps(value).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
