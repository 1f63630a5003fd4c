"""Exceptions of the user's own code: whatever they are made like, they are told and dealt with as what they are."""

from __future__ import annotations

from .errors import Cancelled, OutOfBudget, Unavailable

_LONGEST_TEXT = 4096  # thousands of them may be listed by `Loader.errors()`


def is_of_sample(error: BaseException) -> bool:
    """Whether the error policy may act on it.

    Not where the machine is to blame or the error is transient, and not where the program is asked to end: what is no `Exception`
    (`SystemExit`, `KeyboardInterrupt`, `asyncio.CancelledError`, ...) is always raised. A worker process that was killed from
    outside (-9, as when memory runs out) is the machine's; one that a sample made crash is not.
    """
    kind = type(error)  # isinstance() would ask the object, which may answer anything
    if issubclass(kind, Unavailable):
        return getattr(error, "exit_code", None) not in (None, -9)
    return issubclass(kind, Exception) and not issubclass(kind, (Cancelled, OutOfBudget, MemoryError))


def can_leave_a_loop(error: BaseException, what: str) -> BaseException:
    """The same, or for a StopIteration what Python makes of one that leaves a generator (PEP 479): raised as it is from a
    loader, it would end the training loop as if the epoch were over."""
    if not issubclass(type(error), StopIteration):
        return error
    instead = RuntimeError(f"{what} raised {_type_name(error)}, which would have ended the loop over the loader")
    instead.__cause__ = error
    instead.__traceback__ = error.__traceback__
    return instead


def text_of(error: BaseException) -> str:
    """"ValueError: what it says": of any exception, and text that can be encoded."""
    kind = _type_name(error)
    try:
        said = str.__str__(str(error))
    except BaseException as failure:
        said = f"<its text cannot be had: {_type_name(failure)}>"
    return encodable(f"{kind}: {said[:_LONGEST_TEXT]}" if said else kind)


def encodable(text: str) -> str:
    """The same, but for lone surrogates: they become backslashes, except those of odd file names (see os.fsdecode)."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def with_note(error: BaseException, note: str) -> BaseException:
    """The exception, with a note where it takes one: one that is frozen, or has notes of its own kind, stays as it is."""
    try:
        BaseException.add_note(error, encodable(note))
    except BaseException:  # Python 3.10 has no notes
        pass
    return error


def _type_name(error: BaseException) -> str:
    return type.__dict__["__name__"].__get__(type(error))  # a metaclass may have its own idea
