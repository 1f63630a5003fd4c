"""Handling of exceptions from user code, however they are implemented."""

from __future__ import annotations

from .errors import Cancelled, OutOfBudget, Unavailable

_LONGEST_TEXT = 4096  # limit in characters: `Loader.errors()` may list thousands of them


def is_of_sample(error: BaseException) -> bool:
    """Returns whether the error policy may act on the error.

    It may not if the machine is to blame, the error is transient, or the program is asked to end:
    anything that is not an `Exception` (`SystemExit`, `KeyboardInterrupt`,
    `asyncio.CancelledError`, ...) is always raised. A worker process that was killed from outside
    (-9, as when memory runs out) is the machine's fault; a worker that a sample made crash is not.
    """
    kind = type(error)  # isinstance() would ask the object, whose answer may be wrong
    if issubclass(kind, Unavailable):
        return getattr(error, "exit_code", None) not in (None, -9)
    return issubclass(kind, Exception) and not issubclass(kind, (Cancelled, OutOfBudget, MemoryError))


def can_leave_a_loop(error: BaseException, what: str) -> BaseException:
    """Returns the error; a StopIteration is converted as Python does when one leaves a generator
    (PEP 479).

    A loader that raised a plain StopIteration would end the training loop as if the epoch were
    over.
    """
    if not issubclass(type(error), StopIteration):
        return error
    instead = RuntimeError(f"{what} raised {_type_name(error)}, which would have ended the loop over the loader")
    instead.__cause__ = error
    instead.__traceback__ = error.__traceback__
    return instead


def text_of(error: BaseException) -> str:
    """Returns "ValueError: message" for any exception, as text that can be encoded."""
    kind = _type_name(error)
    try:
        said = str.__str__(str(error))
    except BaseException as failure:
        said = f"<its text cannot be had: {_type_name(failure)}>"
    return encodable(f"{kind}: {said[:_LONGEST_TEXT]}" if said else kind)


def encodable(text: str) -> str:
    """Replaces lone surrogates by backslash escapes, except those of undecodable file names (see
    os.fsdecode).
    """
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def with_note(error: BaseException, note: str) -> BaseException:
    """Returns the exception, with a note if possible. One that is frozen, or has its own kind of
    notes, stays unchanged.
    """
    try:
        BaseException.add_note(error, encodable(note))
    except BaseException:  # Python 3.10 has no notes
        pass
    return error


def _type_name(error: BaseException) -> str:
    return type.__dict__["__name__"].__get__(type(error))  # a metaclass may override it
