"""Exceptions of Forebay: one class per error code.

The code decides what may happen next (retry, skip, give up), the attributes locate the error, and
the text is for people.
"""

from __future__ import annotations

from ._typing import NamedTuple


__all__ = [
    "Cancelled",
    "Corrupt",
    "DataWarning",
    "Error",
    "Internal",
    "InvalidArgument",
    "NotFound",
    "OutOfBudget",
    "Problem",
    "StateMismatch",
    "Unavailable",
    "Unsupported",
    "WorkerDied",
]


class Problem(NamedTuple):
    """One problem of a pipeline."""

    operator: str
    """Where: "3: random_crop"."""
    message: str
    """What: "the field 'image' is still encoded"."""
    remedy: str
    """The way out: "put .decode_image() before it"."""

    def __str__(self) -> str:
        return f"{self.operator}: {self.message}; {self.remedy}" if self.remedy else f"{self.operator}: {self.message}"


class Error(Exception):
    """Base class of all errors that Forebay raises.

    Attributes:
        code: name of the error code, the same as the class ("Corrupt", "NotFound", ...).
        message: what went wrong, without the location.
        key: the object (file, key of an object store), or None.
        sample: id of the sample in the data set, or None.
        operator: the step of the pipeline, or None.
        range: (offset, length) in bytes inside the object, or None.
    """

    code = "Error"

    def __init__(
        self,
        message: str = "",
        *,
        key: str | None = None,
        sample: int | None = None,
        operator: str | None = None,
        range: tuple[int, int] | None = None,
    ) -> None:
        self.message = message
        self.key = key
        self.sample = sample
        self.operator = operator
        self.range = range
        super().__init__(message)

    def __str__(self) -> str:
        place = "".join(f"{part}: " for part in (self.key, self.operator) if part)
        text = place + self.message
        if self.range is not None:
            text += f" (bytes {self.range[0]} to {self.range[0] + self.range[1]})"
        if self.sample is not None:
            text += f" (sample {self.sample})"
        return text

    def __reduce__(self) -> tuple[type[Error], tuple[str], dict[str, object]]:
        return type(self), (self.message,), dict(self.__dict__)


class InvalidArgument(Error, ValueError):
    """The call is wrong, and it had no effect.

    If a pipeline is at fault, `problems` lists everything that is wrong with it, as
    `Pipeline.check()` does.
    """

    code = "InvalidArgument"
    problems: list[Problem] = []


class NotFound(Error):
    """A named object does not exist."""

    code = "NotFound"


class Corrupt(Error):
    """The bytes of an object violate its format."""

    code = "Corrupt"


class Unavailable(Error):
    """Storage did not answer. Trying again may help."""

    code = "Unavailable"


class WorkerDied(Unavailable):
    """A worker process (`workers="processes"`) ended during a call, by a signal or an exit. A new
    process replaces it.

    `exit_code` follows `subprocess`: negative for a signal, None if the process could not be
    started.
    """

    exit_code: int | None = None


class Unsupported(Error):
    """Valid input of a kind that is not supported, or refused by a limit such as `max_pixels`."""

    code = "Unsupported"


class OutOfBudget(Error):
    """More memory is needed than the budget can ever give. `bytes_needed` bytes would have been
    enough.
    """

    code = "OutOfBudget"
    bytes_needed: int = 0


class Cancelled(Error):
    """The operation was cancelled because the loader was closed."""

    code = "Cancelled"


class StateMismatch(Error):
    """A saved state belongs to other data, another pipeline or another seed."""

    code = "StateMismatch"


class Internal(Error):
    """A bug in Forebay. Please report it."""

    code = "Internal"


class DataWarning(UserWarning):
    """Opening a data set found something that is not read: files in unsupported formats, or broken
    links.

    Each cause gives one warning when a loader is opened, with the number of objects and the name of
    the first. `loader.warnings()` lists them. `warnings.simplefilter("error", fb.DataWarning)`
    turns them into errors.
    """


class UserFailure(Exception):
    """Carries an exception that a user function raised: its token, or its pickle if it was raised in
    a server. Never leaves the package.
    """

    def __init__(self, exception: int | bytes) -> None:
        super().__init__(exception)
        self.exception = exception


_CLASSES = {
    cls.code: cls
    for cls in (
        InvalidArgument, NotFound, Corrupt, Unavailable, Unsupported, OutOfBudget, Cancelled, StateMismatch, Internal,
    )
}  # fmt: skip

# Tracebacks then show the public name, "forebay.Corrupt", which users catch.
for _class in (DataWarning, Error, Problem, WorkerDied, *_CLASSES.values()):
    _class.__module__ = "forebay"


def from_status(
    code: str,
    message: str,
    key: str | None,
    operator: str | None,
    sample: int | None,
    range: tuple[int, int] | None,
    bytes_needed: int,
) -> Error:
    """Returns the exception for a failure in the engine."""
    error = _CLASSES.get(code, Error)(message, key=key, sample=sample, operator=operator, range=range)
    error.code = code
    if isinstance(error, OutOfBudget):
        error.bytes_needed = bytes_needed
    return error
