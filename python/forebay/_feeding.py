"""Passes records of user iterables to the engine. One thread per partition pushes them.

The records stay in Python, in a dictionary by key. The engine has the keys, in order, and reports
which of them it no longer needs. It requests the fields of a record as it requests a sample of a
data set.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

from . import _core
from ._concurrent import Numbers
from ._typing import Any
from ._user_exceptions import can_leave_a_loop, text_of, with_note
from ._values import fields_of
from ._workers import function_name


CLOSED_LOOK_S = 0.1  # interval at which a thread checks whether its feed is closed


class UserStream:
    """The function of `fb.stream(factory)`: creates the records and holds those in use."""

    def __init__(self, factory: Callable, partitions: Sequence[Any] | None) -> None:
        self.factory = factory
        self.partitions = None if partitions is None else list(partitions)
        self.name = f"stream({function_name(factory)})"
        self.failures: dict[int, BaseException] = {}  # by partition: the error that ended its latest run
        self._held: dict[str, Mapping[str, Any]] = {}
        self._numbers = Numbers()
        self._feedings: list[_Feeding] = []  # feedings that run, or whose records are in use
        self._left = 4  # number of feedings at the latest clean-up
        self._lock = threading.RLock()  # protects both

    def __call__(self, call: _core.SampleCall) -> dict[str, Any]:
        key = call.name
        while key not in self._held and ": " in key:  # the name of a part precedes the key
            key = key.partition(": ")[2]
        record = self._held.get(key)
        if record is None:
            raise RuntimeError(f"the record {call.name} is gone already")  # a record of a batch that is no longer needed
        return fields_of(record, self.name)

    def open(self, partition: int, after: str, feed: _core.PushedRecords) -> None:
        """Starts a thread that pushes the records after an offset until the feed is closed. Called
        by the engine.
        """
        self.failures.pop(partition, None)
        feeding = _Feeding(self, partition, int(after or 0), feed, next(self._numbers))
        feeding.thread.start()
        with self._lock:
            self._feedings.append(feeding)
            many = len(self._feedings) > 2 * self._left
        if many:  # each record in a replay buffer has its own feeding
            self._drop_what_is_over()

    @property
    def failure(self) -> BaseException | None:
        return next(iter(self.failures.values()), None)

    def stop(self, patience_s: float) -> list[str]:
        """Waits for the threads of a closed loader. Returns the names of those that do not end in
        time; each is waited for and named only once.
        """
        until_s = time.monotonic() + patience_s
        stuck = []
        for feeding in self._drop_what_is_over():
            if feeding.feed.closed and not feeding.stuck:
                feeding.thread.join(max(0.0, until_s - time.monotonic()))
                feeding.stuck = feeding.thread.is_alive()
                stuck += [f"{self.name} on {feeding.thread.name}"] if feeding.stuck else []
        self._drop_what_is_over()
        return stuck

    def _drop_what_is_over(self) -> list[_Feeding]:
        """Drops records that the engine no longer needs, and feedings that are over. Returns the
        remaining feedings.

        Feedings that have ended must be checked here, because they no longer learn of released
        records by themselves.
        """
        with self._lock:
            for feeding in self._feedings:
                feeding.drop()
            self._feedings = [feeding for feeding in self._feedings if feeding.thread.is_alive() or feeding.under_way]
            self._left = max(4, len(self._feedings))
            return list(self._feedings)

    def records(self, partition: int, offset: int) -> Any:
        if self.partitions is None:
            return self.factory(offset)
        return self.factory(offset, self.partitions[partition])

    def label(self, partition: int) -> str:
        return "record" if self.partitions is None else f"record of {self.partitions[partition]}"


class Opener:
    """The function that the engine calls to open a stream. It holds no strong reference.

    If a description in C++ held the user's function, everything that the function refers to would
    stay alive forever, because the garbage collector cannot look through the description.
    """

    __slots__ = ("_iterable",)

    def __init__(self, iterable: UserStream) -> None:
        self._iterable = weakref.ref(iterable)

    def __call__(self, partition: int, after: str, feed: _core.PushedRecords) -> None:
        iterable = self._iterable()
        if iterable is None:
            feed.fail("the pipeline that the records come from is gone")
        else:
            iterable.open(partition, after, feed)


def _iterator(records: Any, name: str) -> Iterator[Any]:
    """Returns the iterator of a factory's result. TypeError, with a remedy, for two common
    mistakes.
    """
    import inspect  # takes longer to import than this module

    if inspect.iscoroutine(records):
        records.close()  # otherwise Python warns that it was never awaited
        raise TypeError(f"{name} is an `async def` without `yield`; yield its records, each a dict of field → value")
    if not hasattr(records, "__iter__") and not hasattr(records, "__getitem__"):
        raise TypeError(f"{name} gave {type(records).__name__}; give an iterable, or an async iterable, of dicts (field → value): yield them, or return a list")
    return iter(records)


class _Closed(Exception):
    """The feed is closed."""


class _Feeding:
    def __init__(self, iterable: UserStream, partition: int, offset: int, feed: _core.PushedRecords, number: int) -> None:
        self._iterable = weakref.ref(iterable)  # the iterable holds a list of feedings
        self.partition = partition
        self.offset = offset
        self.feed = feed
        # Distinguishes two readings of one record, before and after a seek.
        self.suffix = "" if number == 0 else f" (reading {number + 1})"
        self.stuck = False  # whether stop() has already named it
        self.under_way: set[str] = set()  # keys of records that the engine may still request
        self.thread = threading.Thread(target=self.run, args=(iterable,), name=f"forebay-stream-{partition}", daemon=True)

    @property
    def iterable(self) -> UserStream:
        return self._iterable()

    def run(self, iterable: UserStream) -> None:
        try:
            records = iterable.records(self.partition, self.offset)
            if hasattr(records, "__aiter__"):
                import asyncio  # slow to import

                asyncio.run(self._push_async(records.__aiter__()))
            else:
                self._push_all(_iterator(records, iterable.name))
            self.feed.end()
        except _Closed:
            pass
        except BaseException as error:  # passed to the training loop
            iterable.failures[self.partition] = with_note(can_leave_a_loop(error, iterable.name), f"in {iterable.name}, at offset {self.offset}")
            said = text_of(error).encode("utf-8", "backslashreplace").decode()  # odd file names have no UTF-8 form
            self.feed.fail(f"{iterable.name} at offset {self.offset}: {said}")
        finally:
            self.drop()

    def _push_all(self, records: Iterator[Any]) -> None:
        try:
            for record in records:
                self._push(record)
        finally:
            if hasattr(records, "close"):
                records.close()

    async def _push_async(self, records: AsyncIterator[Any]) -> None:
        import asyncio

        stopping = asyncio.create_task(self._cancel_once_closed(asyncio.current_task()))
        try:
            async for record in records:
                # The event loop keeps running meanwhile for other work of the iterable.
                await asyncio.get_running_loop().run_in_executor(None, self._push, record)
        except asyncio.CancelledError:
            if self.feed.closed:
                raise _Closed from None
            raise
        finally:
            stopping.cancel()

    async def _cancel_once_closed(self, reading: Any) -> None:
        """Cancels the reading when the feed is closed. An await of an async iterable can be
        interrupted.
        """
        import asyncio

        while not self.feed.closed:
            await asyncio.sleep(CLOSED_LOOK_S)
        reading.cancel()

    def _push(self, record: Any) -> None:
        if not isinstance(record, Mapping):
            raise TypeError(f"{self.iterable.name} gave {type(record).__name__}, not a dict of fields")
        key = f"{self.iterable.label(self.partition)} {self.offset}{self.suffix}"
        self.iterable._held[key] = record
        self.under_way.add(key)
        pushed = _core.Pushed.FULL
        while pushed == _core.Pushed.FULL:
            pushed = self.feed.push(str(self.offset + 1), key, _size(record))
            self.drop()
        if pushed == _core.Pushed.CLOSED:
            self._let_go(key)
            raise _Closed
        self.offset += 1

    def drop(self) -> None:
        for key in self.feed.take_gone():
            self._let_go(key)

    def _let_go(self, key: str) -> None:
        if (iterable := self.iterable) is not None:
            iterable._held.pop(key, None)
        self.under_way.discard(key)


def _size(record: Mapping[str, Any]) -> int:
    """Returns the approximate memory size of a record."""
    total = 0
    for value in record.values():
        size = getattr(value, "nbytes", None)
        total += size if isinstance(size, int) else sys.getsizeof(value)
    return total
