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
from ._processes.identity import File, Identity, files_of
from ._processes.pool import to_memory
from ._processes.unpicklable import explain
from ._typing import Any
from ._user_exceptions import text_of
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

    def __init__(self, pipeline: Pipeline, output: str, threads: int | None) -> None:
        """InvalidArgument for functions that cannot be pickled, and for arrays in memory."""
        functions = dict(pipeline._functions)
        if any(isinstance(function, UserStream) for function in functions.values()):
            raise InvalidArgument(f"share=: streams are not shared yet; use {OTHERWISE} for this pipeline")
        try:
            steps = pipeline._description.portable_steps()
        except InvalidArgument as error:
            raise InvalidArgument(f"share=: {error}; or use {OTHERWISE} for this pipeline") from None
        if not collates(pipeline):
            output = "numpy"  # only `.collate` gets the arrays of `output=`
        given = (steps, functions, output)
        try:
            self._file, lengths = to_memory(given)
        except Exception as error:
            culprit = _first_unpicklable(functions)
            name, part = (f"{culprit.name}: ", culprit) if culprit is not None else ("", given)
            raise InvalidArgument(f"share=: {name}{explain(part, error, _SERVER, OTHERWISE)}") from error
        identities = [_identity(functions[step]) for step in sorted(functions)]
        modules = files_of(set().union(*(each.modules for each in identities)))
        text = json.dumps((steps, output))
        told = [f"{functions[step].name} {each.digest}" for step, each in zip(sorted(functions), identities)]
        source = {
            "file": f"/proc/{os.getpid()}/fd/{self._file}", "number": file_number(self._file), "lengths": lengths,
            "identity": _digest((text, [each.digest for each in identities])), "modules": modules, "threads": threads,
        }
        self.core = json.dumps(source), text, told
        self.server, self.program = _server(modules)

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)


def file_number(file: int) -> list[int]:
    """Returns what tells an open file from all others of the host."""
    status = os.fstat(file)
    return [status.st_dev, status.st_ino]


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


def _identity(function: Any) -> Identity:
    try:
        return Identity(function)
    except Exception as error:  # RecursionError, for example: pickles in C may be deeper
        raise InvalidArgument(
            f"share=: {function.name} cannot be compared between processes: {text_of(error)}; hold less nested objects in it, or use "
            f"{OTHERWISE} for this pipeline"
        ) from error


def _first_unpicklable(functions: dict[int, Any]) -> Any:
    for function in functions.values():
        try:
            os.close(to_memory(function)[0])
        except Exception:
            return function
    return None


def _server(modules: list[File]) -> tuple[str, list[str]]:
    """Returns the name of the server for functions that import these files, and the command that
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
    name = _digest((sys.executable, flags, folders, here, _core.__file__, _core.__version__, modules))
    code = f"import sys; sys.path[:] = {folders!r}; from forebay._serving import main; main({here!r})"
    return f"python-{name[:16]}", [sys.executable, *flags, "-c", code]


def _digest(value: Any) -> str:
    return hashlib.blake2b(json.dumps(value).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
