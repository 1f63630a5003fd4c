"""Errors that do not hold the iterator that raised them."""

from __future__ import annotations

from typing import Any


class RaisesFree:
    """Before an iterator in the bases: somebody may keep a traceback, which must not keep processes or threads alive."""

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
        """The error without the frames that hold the iterator."""
        raise NotImplementedError
