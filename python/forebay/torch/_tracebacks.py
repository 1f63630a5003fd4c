"""Errors that do not keep alive the iterator that raised them."""

from __future__ import annotations

from typing import Any


class RaisesFree:
    """Mixin to list before an iterator class. A traceback may be kept for long, and must not keep
    processes or threads alive.
    """

    def __next__(self) -> Any:
        try:
            return super().__next__()  # type: ignore[misc]
        except StopIteration:
            raise
        except BaseException as error:
            failure = self._freed(error)
        del self
        try:
            raise failure
        finally:
            del failure

    @staticmethod
    def _freed(error: BaseException) -> BaseException:
        """Returns the error without the frames that hold the iterator."""
        raise NotImplementedError
