"""Messages between the program and one worker process: Python objects over a Unix socket, large
contents in shared memory.

Objects are pickled with protocol 5. Contents of arrays and tensors are not in the pickle
(out-of-band buffers) but in a segment of shared memory. Both ends are processes of one program:
data read from storage is never unpickled.
"""

from __future__ import annotations

import marshal
import socket
import struct
from typing import Any

from .content_pickler import ContentPickler, load, pickled
from .segments import Inbox, Outbox, Placed

_INLINE_BYTES = 16 << 10
"""Up to this the socket is faster than a segment."""

_HEADER = struct.Struct("<II")


class Closed(Exception):
    """The other end is gone, or this end was shut down."""


class Channel:
    """One end of the connection. One thread at a time sends and receives; `shut_down()` wakes it
    from any other thread.
    """

    def __init__(self, connection: socket.socket, *, keep: bool) -> None:
        """Takes the socket of this end.

        If `keep` is set, received contents belong to the receiver, who may hold and change them
        forever. Otherwise they are views of shared memory, which is reused when the last view is
        gone.
        """
        self._socket = connection
        self._keep = keep
        self._outbox = Outbox()
        self._inbox = Inbox()

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, value: Any) -> None:
        """Sends a message. Raises Closed, or an error of pickling; in the latter case nothing was
        sent.
        """
        contents = pickled(value, ContentPickler)
        placed, fd, inline = None, None, b""
        if len(contents) == 1 and len(contents[0]) <= _INLINE_BYTES:
            inline = contents[0]
        else:
            placed, fd = self._outbox.write(contents)
        notes = (placed and tuple(placed), self._inbox.take_read(), self._outbox.take_dropped())
        head = marshal.dumps(notes)
        message = b"".join((_HEADER.pack(len(head), len(inline)), head, inline))
        try:
            sent = self._socket.sendmsg([message], _ancillary(fd))
            if sent < len(message):
                self._socket.sendall(memoryview(message)[sent:])
        except OSError as error:
            raise Closed from error

    def receive(self) -> Any:
        """Waits for the next message and returns it. Raises Closed."""
        return load(self.receive_pickled())

    def receive_pickled(self) -> list[memoryview]:
        """Returns the next message in the form that `load` takes."""
        start, fd = self._start()
        head_bytes, inline_bytes = _HEADER.unpack(start)
        rest = self._read(head_bytes + inline_bytes)
        placed, read, dropped = marshal.loads(rest[:head_bytes])
        self._outbox.give_back(read)
        if placed is None:
            contents = [rest[head_bytes:]]
        else:
            contents = self._inbox.read(Placed(*placed), fd, self._keep)
        self._inbox.forget(dropped)
        return contents

    def shut_down(self) -> None:
        """Ends both directions. Threads that wait here, at either end, get Closed."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # already closed

    def close(self) -> None:
        """Closes the descriptors. Contents that were received stay valid."""
        self._socket.close()
        self._outbox.close()
        self._inbox.close()

    def _start(self) -> tuple[bytes, int | None]:
        # A descriptor arrives with the first byte of its message.
        try:
            start, ancillary, _, _ = self._socket.recvmsg(_HEADER.size, socket.CMSG_LEN(4), socket.MSG_CMSG_CLOEXEC)
        except OSError as error:
            raise Closed from error
        fd = struct.unpack("i", ancillary[0][2][:4])[0] if ancillary else None
        if not start:
            raise Closed
        if len(start) < _HEADER.size:
            start += bytes(self._read(_HEADER.size - len(start)))
        return start, fd

    def _read(self, size: int) -> memoryview:
        whole = bytearray(size)
        view, at = memoryview(whole), 0
        while at < size:
            try:
                count = self._socket.recv_into(view[at:])
            except OSError as error:
                raise Closed from error
            if count == 0:
                raise Closed
            at += count
        return view


def _ancillary(fd: int | None) -> list[tuple[int, int, bytes]]:
    return [] if fd is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", fd))]
