"""Anonymous shared memory, through which two processes pass large contents.

A segment is a memory file (`memfd_create`). It has no name in any file system and lives as long as
a descriptor or a mapping of it, so it disappears with its users, however they ended. It does not
count against the size of /dev/shm. The descriptor is sent over a Unix socket once; after that both
sides refer to the segment by its number.

`Outbox` belongs to the writing side, `Inbox` to the reading side. A segment is written, read,
returned and written again, so a steady stream of results needs no new memory.
"""

from __future__ import annotations

import collections
import mmap
import os
import weakref
from typing import NamedTuple, Sequence

import numpy as np

from ..errors import Unavailable

BUDGET_BYTES = 64 << 20
"""What one side keeps for reuse. A larger content gets a segment of its own, which goes when it was read."""

_ALIGNMENT = 64
_SMALLEST_BYTES = 1 << 20

Content = bytes | bytearray | memoryview


class Placed(NamedTuple):
    """The location of contents: the segment, its size, and the length of each content."""

    segment: int
    capacity_bytes: int
    lengths: tuple[int, ...]


def _offsets(lengths: Sequence[int]) -> list[int]:
    """Returns the beginning of each content, and the total length at the end."""
    offsets = [0]
    for length in lengths:
        offsets.append(-(-(offsets[-1] + length) // _ALIGNMENT) * _ALIGNMENT)
    return offsets


class _Segment(NamedTuple):
    number: int
    fd: int
    capacity_bytes: int


class Outbox:
    """The segments that this process writes to. Use it from one thread at a time."""

    def __init__(self) -> None:
        self._free: list[_Segment] = []
        self._away: dict[int, _Segment] = {}
        self._dropped: list[int] = []
        self._made = 0

    @property
    def bytes(self) -> int:
        """The capacity of all existing segments."""
        return sum(segment.capacity_bytes for segment in (*self._free, *self._away.values()))

    def write(self, contents: Sequence[Content]) -> tuple[Placed, int | None]:
        """Copies contents into a segment. If the segment is new, its descriptor is returned and
        must be sent along.
        """
        lengths = tuple(len(content) for content in contents)
        offsets = _offsets(lengths)
        segment, is_new = self._take(max(offsets[-1], 1))
        self._away[segment.number] = segment
        for content, offset in zip(contents, offsets):
            _write_all(segment.fd, content, offset)
        return Placed(segment.number, segment.capacity_bytes, lengths), segment.fd if is_new else None

    def give_back(self, numbers: Sequence[int]) -> None:
        """Returns segments to the free list after the other side has read them."""
        for number in numbers:
            self._free.append(self._away.pop(number))
        self._free.sort(key=lambda segment: segment.capacity_bytes)
        while self._free and self.bytes > BUDGET_BYTES:
            self._drop(self._free[-1])

    def take_dropped(self) -> list[int]:
        """Returns the numbers of dropped segments, which the other side must be told."""
        dropped, self._dropped = self._dropped, []
        return dropped

    def close(self) -> None:
        for segment in (*self._free, *self._away.values()):
            os.close(segment.fd)
        self._free, self._away = [], {}

    def _take(self, size_bytes: int) -> tuple[_Segment, bool]:
        for segment in self._free:
            if segment.capacity_bytes >= size_bytes:
                self._free.remove(segment)
                return segment, False
        if self._free and self.bytes + size_bytes > BUDGET_BYTES:
            self._drop(self._free[-1])  # too small for this content: drop it to make room for a larger one
        capacity = max(_SMALLEST_BYTES, 1 << (size_bytes - 1).bit_length()) if size_bytes <= BUDGET_BYTES else size_bytes
        try:
            fd = os.memfd_create("forebay", os.MFD_CLOEXEC)
        except OSError as error:
            raise Unavailable(f"there is no file in memory for what passes between a process and its workers: {error.strerror}; see ulimit -n") from error
        try:
            os.ftruncate(fd, capacity)
        except OSError as error:
            os.close(fd)
            raise Unavailable(f"{capacity} bytes for what passes between a process and its workers: {error.strerror}") from error
        self._made += 1
        return _Segment(self._made, fd, capacity), True

    def _drop(self, segment: _Segment) -> None:
        self._free.remove(segment)
        self._dropped.append(segment.number)
        os.close(segment.fd)


def _write_all(fd: int, content: Content, offset: int) -> None:
    # A system call instead of a mapping takes no page faults and lets other Python threads run.
    rest = memoryview(content)
    while len(rest):
        written = os.pwrite(fd, rest, offset)
        rest, offset = rest[written:], offset + written


class Inbox:
    """The segments of the other process as this one reads them.

    Use it from one thread at a time. The contents that it returns may be used and released
    anywhere.
    """

    def __init__(self) -> None:
        self._maps: dict[int, mmap.mmap] = {}
        self._lent: dict[int, int] = {}
        self._read: collections.deque[int] = collections.deque()  # finalizers append to it, so it must work without a lock

    def read(self, placed: Placed, fd: int | None, keep: bool) -> list[memoryview]:
        """Returns the contents.

        If `keep` is False, they are views of the segment, which is returned to its writer when the
        last view is gone. If `keep` is set, or views already hold more than the budget, they are
        copies.
        """
        if fd is not None:
            self._maps[placed.segment] = mmap.mmap(fd, placed.capacity_bytes)
            os.close(fd)
        if placed.segment not in self._maps:  # the kernel drops descriptors for which a process has no room
            raise Unavailable("a process has no file descriptor left for what another one sent it; raise the limit (ulimit -n)")
        whole = np.frombuffer(self._maps[placed.segment], np.uint8)
        offsets = _offsets(placed.lengths)
        if keep or sum(self._lent.values()) + placed.capacity_bytes > BUDGET_BYTES:
            self._read.append(placed.segment)
            return [memoryview(whole[at : at + length].copy()) for at, length in zip(offsets, placed.lengths)]
        self._lent[placed.segment] = placed.capacity_bytes
        weakref.finalize(whole, self._read.append, placed.segment).atexit = False
        return [memoryview(whole[at : at + length]) for at, length in zip(offsets, placed.lengths)]

    def take_read(self) -> list[int]:
        """Returns the numbers of the segments that the other side may write again."""
        numbers = []
        while self._read:
            numbers.append(self._read.popleft())
            self._lent.pop(numbers[-1], None)
        return numbers

    def forget(self, numbers: Sequence[int]) -> None:
        """Forgets segments that the other side has dropped."""
        for number in numbers:
            del self._maps[number]

    def close(self) -> None:
        self._maps.clear()  # each mapping goes with its last view
