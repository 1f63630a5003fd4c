"""A client of Redis for tests: enough of its protocol to write streams."""

from __future__ import annotations

import os
import socket
import urllib.request


class RedisClient:
    """Of the server that tests/servers/with_servers has started; None where there is none."""

    def __init__(self) -> None:
        host, _, port = os.environ["FOREBAY_TEST_REDIS"].removeprefix("redis://").rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=30)
        self._answers = self._socket.makefile("rb")

    def send(self, *commands: tuple) -> list:
        """All at once, then the answers."""
        words = []
        for command in commands:
            words.append(b"*%d\r\n" % len(command))
            for word in command:
                word = word if isinstance(word, bytes) else str(word).encode()
                words.append(b"$%d\r\n%b\r\n" % (len(word), word))
        self._socket.sendall(b"".join(words))
        return [self._answer() for _ in commands]

    def _answer(self):
        line = self._answers.readline()
        kind, rest = line[:1], line[1:-2]
        if not line or kind == b"-":
            raise ConnectionError(rest.decode() or "the connection is gone")
        if kind == b"$":
            return None if rest == b"-1" else self._answers.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self._answer() for _ in range(int(rest))]
        return rest

    def close(self) -> None:
        self._socket.close()


def control(what: str) -> None:
    """"kill", "start", "pause", "resume" or "cut" (see tests/servers/brokers.py)."""
    with urllib.request.urlopen(f"{os.environ['FOREBAY_TEST_REDIS_CONTROL']}/{what}", timeout=60) as answer:
        answer.read()
