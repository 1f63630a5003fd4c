"""Records of the user's own iterables on their way into the engine: a thread for each partition pushes them.

The records stay in Python, in a dictionary by key; the engine has the keys, in order, and says which of them nobody will ask for
again. It asks for a record's fields as it asks a data set for a sample.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
import weakref
from typing import Any, AsyncIterator, Callable, Iterator, Mapping, Sequence

from . import _core
from ._user_exceptions import can_leave_a_loop, with_note
from ._workers import _returned, function_name


class UserStream:
    """`fb.stream(factory)`: who makes the records, and those that are under way."""

    def __init__(self, factory: Callable, partitions: Sequence[Any] | None) -> None:
        self.factory = factory
        self.partitions = None if partitions is None else list(partitions)
        self.name = f"stream({function_name(factory)})"
        self.failure: BaseException | None = None  # that ended the latest run
        self._held: dict[str, Mapping[str, Any]] = {}
        self._feeds = itertools.count()
        self._running: dict[threading.Thread, _core.Feed] = {}

    def __call__(self, call: _core.ForeignCall) -> dict[str, Any]:
        record = self._held.get(call.name)
        if record is None:
            raise RuntimeError(f"the record {call.name} is gone already")  # of a batch that nobody wants any more
        return _returned(record, self.name)

    def open(self, partition: int, after: str, feed: _core.Feed) -> None:
        """Called by the engine: from now on a thread pushes what comes behind an offset, until the feed is closed."""
        self.failure = None
        feeding = _Feeding(self, partition, int(after or 0), feed, next(self._feeds))
        thread = threading.Thread(target=feeding.run, name=f"forebay-stream-{partition}", daemon=True)
        self._running = {one: its for one, its in self._running.items() if one.is_alive()} | {thread: feed}
        thread.start()

    def stop(self, patience_s: float) -> list[str]:
        """Waits for the threads whose loader is closed; names what does not return."""
        until_s = time.monotonic() + patience_s
        stuck = []
        for thread, feed in list(self._running.items()):
            if feed.closed:
                thread.join(max(0.0, until_s - time.monotonic()))
                stuck += [f"{self.name} on {thread.name}"] if thread.is_alive() else []
        return stuck

    def records(self, partition: int, offset: int) -> Any:
        if self.partitions is None:
            return self.factory(offset)
        return self.factory(offset, self.partitions[partition])

    def label(self, partition: int) -> str:
        return "record" if self.partitions is None else f"record of {self.partitions[partition]}"


class Opener:
    """What the engine calls. It holds on to nothing: a description in C++ that held the user's function would keep all alive that this
    function can see, for ever, since no garbage collector looks through it."""

    __slots__ = ("_iterable",)

    def __init__(self, iterable: UserStream) -> None:
        self._iterable = weakref.ref(iterable)

    def __call__(self, partition: int, after: str, feed: _core.Feed) -> None:
        iterable = self._iterable()
        if iterable is None:
            feed.fail("the pipeline that the records come from is gone")
        else:
            iterable.open(partition, after, feed)


class _Closed(Exception):
    """Nobody wants more."""


class _Feeding:
    def __init__(self, iterable: UserStream, partition: int, offset: int, feed: _core.Feed, number: int) -> None:
        self.iterable = iterable
        self.partition = partition
        self.offset = offset
        self.feed = feed
        # Two readings of one record, before a seek and behind it, are told apart.
        self.suffix = "" if number == 0 else f" (reading {number + 1})"

    def run(self) -> None:
        try:
            records = self.iterable.records(self.partition, self.offset)
            if hasattr(records, "__aiter__"):
                import asyncio  # takes a while

                asyncio.run(self._push_async(records.__aiter__()))
            else:
                self._push_all(iter(records))
            self.feed.end()
        except _Closed:
            pass
        except BaseException as error:  # the training loop gets it
            self.iterable.failure = with_note(can_leave_a_loop(error, self.iterable.name), f"in {self.iterable.name}, at offset {self.offset}")
            self.feed.fail(f"{self.iterable.name} at offset {self.offset}: {type(error).__name__}: {error}")
        finally:
            self._drop(everything=True)

    def _push_all(self, records: Iterator[Any]) -> None:
        try:
            for record in records:
                self._push(record)
        finally:
            if hasattr(records, "close"):
                records.close()

    async def _push_async(self, records: AsyncIterator[Any]) -> None:
        import asyncio

        async for record in records:
            # The event loop goes on meanwhile, for whatever else the iterable does in it.
            await asyncio.get_running_loop().run_in_executor(None, self._push, record)

    def _push(self, record: Any) -> None:
        if not isinstance(record, Mapping):
            raise TypeError(f"{self.iterable.name} gave {type(record).__name__}, not a dict of fields")
        key = f"{self.iterable.label(self.partition)} {self.offset}{self.suffix}"
        self.iterable._held[key] = record
        pushed = _core.Pushed.FULL
        while pushed == _core.Pushed.FULL:
            pushed = self.feed.push(str(self.offset + 1), key, _size(record))
            self._drop()
        if pushed == _core.Pushed.CLOSED:
            self.iterable._held.pop(key, None)
            raise _Closed
        self.offset += 1

    def _drop(self, everything: bool = False) -> None:
        for key in self.feed.take_gone():
            self.iterable._held.pop(key, None)


def _size(record: Mapping[str, Any]) -> int:
    """About what a record takes in memory."""
    total = 0
    for value in record.values():
        size = getattr(value, "nbytes", None)
        total += size if isinstance(size, int) else sys.getsizeof(value)
    return total
