"""Transfers exceptions from a worker process to the program."""

from __future__ import annotations

import io
import pickle
import traceback
from typing import Any, Callable, NamedTuple

from .._user_exceptions import text_of, with_note
from ..errors import InvalidArgument
from .content_pickler import ReturnPickler

_OWN_FOLDER = __file__.rpartition("/")[0]


class ExceptionInWorker(Exception):
    """Stands for an exception whose own type cannot leave its process. Its text names that type."""


class ExitInWorker(BaseException):
    """The same for errors that are not an `Exception`, such as SystemExit. No error policy may
    treat them as a bad sample.
    """


class _Link(NamedTuple):
    pickled: tuple[bytes, bytes]  # the exception; its type, args and attributes
    text: str
    cause: int | None  # index in the chain
    context: int | None
    suppress_context: bool
    ordinary: bool  # whether it is an `Exception`


class Failure(NamedTuple):
    """An exception with its causes and contexts, and its traceback as text."""

    chain: list[_Link]
    traceback: str

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        chain: list[BaseException] = []
        _collect(error, chain)
        return cls([_link(one, chain) for one in chain], _text(error))

    def exception(self, where: str) -> BaseException:
        """Returns the exception, with its own type if the program knows that type. `where` begins
        the note with the traceback.
        """
        errors = [_restore(link) for link in self.chain]
        for error, link in zip(errors, self.chain):
            error.__cause__ = None if link.cause is None else errors[link.cause]
            error.__context__ = None if link.context is None else errors[link.context]
            error.__suppress_context__ = link.suppress_context
        return with_note(errors[0], f"{where}:\n{self.traceback}")


def not_sendable(
    value: Any, error: BaseException, process: str = "the worker process", otherwise: str = "workers='threads'"
) -> InvalidArgument:
    """Returns the error for a result that cannot be pickled. See `explain` for the arguments."""
    return InvalidArgument(
        f"the result, of type {type(value).__name__}, cannot be sent from {process}: {error}; "
        f"return arrays, numbers, text, bytes, or dicts, tuples and lists of them, or use {otherwise}"
    )


def _collect(error: BaseException, chain: list[BaseException]) -> None:
    chain.append(error)
    for one in (error.__cause__, error.__context__):
        if one is not None and not any(one is known for known in chain) and len(chain) < 20:
            _collect(one, chain)


def _link(error: BaseException, chain: list[BaseException]) -> _Link:
    def number(other: BaseException | None) -> int | None:
        return next((i for i, one in enumerate(chain) if one is other), None)

    pickled = _dumps(lambda: error), _dumps(lambda: (type(error), error.args, error.__dict__))
    ordinary = issubclass(type(error), Exception)
    return _Link(
        pickled, text_of(error), number(error.__cause__), number(error.__context__), error.__suppress_context__, ordinary
    )


def _dumps(value: Callable[[], Any]) -> bytes:
    stream = io.BytesIO()
    try:
        ReturnPickler(stream, protocol=5).dump(value())
        return stream.getvalue()
    except BaseException:
        return b""


def _restore(link: _Link) -> BaseException:
    for restore in (pickle.loads, _without_init):
        try:
            error = restore(link.pickled[restore is _without_init])
        except BaseException:
            continue
        if issubclass(type(error), BaseException):
            return error
    return ExceptionInWorker(link.text) if link.ordinary else ExitInWorker(link.text)


def _without_init(pickled: bytes) -> BaseException:
    # For an __init__ whose parameters differ from `args`.
    cls, args, attributes = pickle.loads(pickled)
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(attributes)
    return error


def _text(error: BaseException) -> str:
    shown = error.__traceback__
    while shown is not None and shown.tb_frame.f_code.co_filename.startswith(_OWN_FOLDER):
        shown = shown.tb_next  # starts at the user's own code
    try:
        trace = traceback.TracebackException(type(error), error, shown)
        return "".join(trace.format()).rstrip()
    except BaseException:  # the exception cannot be inspected
        return "".join([*traceback.format_tb(shown), text_of(error)])
