"""A client of NATS JetStream for benchmarks: enough of its protocol to make a stream, write to it, and read it back."""

from __future__ import annotations

import base64
import json
import socket


class NatsClient:
    """For one thread. ConnectionError where the server goes, or refuses."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self._lines = self._socket.makefile("rb")
        self._asked = 0
        self._expect(b"INFO")
        self._socket.sendall(b'CONNECT {"verbose":false,"headers":true,"no_responders":true}\r\nSUB answers.* 1\r\nPING\r\n')
        self._expect(b"PONG")

    def request(self, subject: str, body: bytes, message_id: str = "") -> int:
        """Its number, for answers()."""
        head = f"NATS/1.0\r\nNats-Msg-Id: {message_id}\r\n\r\n".encode() if message_id else b""
        sizes = f"{len(head)} {len(head) + len(body)}" if head else f"{len(body)}"
        self._asked += 1
        self._socket.sendall(f"{'HPUB' if head else 'PUB'} {subject} answers.{self._asked} {sizes}\r\n".encode() + head + body + b"\r\n")
        return self._asked

    def answer(self) -> dict:
        """The next answer, whichever request it is for: requests of one kind need not tell them apart."""
        words = self._expect(b"MSG").split()
        body = self._lines.read(int(words[-1]) + 2)[:-2]
        said = json.loads(body or b"{}")
        if "error" in said:
            raise ConnectionError(said["error"].get("description", "refused"))
        return said

    def make_stream(self, name: str) -> None:
        self.request(f"$JS.API.STREAM.CREATE.{name}", json.dumps({"name": name, "subjects": [name], "storage": "file", "num_replicas": 1}).encode())
        self.answer()

    def publish(self, stream: str, messages: dict[str, bytes]) -> None:
        """By their ids: one that is there already, since an answer was lost, is not written twice."""
        for message_id, body in messages.items():
            self.request(stream, body, message_id)
        for _ in messages:
            self.answer()

    def read_all(self, stream: str) -> list[bytes]:
        self.request(f"$JS.API.STREAM.INFO.{stream}", b"")
        count = self.answer()["state"]["messages"]
        bodies = []
        for number in range(1, count + 1):
            self.request(f"$JS.API.STREAM.MSG.GET.{stream}", json.dumps({"seq": number}).encode())
            bodies.append(base64.b64decode(self.answer()["message"]["data"]))
        return bodies

    def close(self) -> None:
        self._socket.close()

    def _expect(self, word: bytes) -> bytes:
        while True:
            line = self._lines.readline()
            if not line or line.startswith(b"-ERR"):
                raise ConnectionError(line.decode() or "the connection is gone")
            if line.startswith(b"PING"):
                self._socket.sendall(b"PONG\r\n")
            elif line.startswith(b"HMSG"):  # of no responders: JetStream is not up yet
                self._lines.read(int(line.split()[-1]) + 2)
                raise ConnectionError("nobody answers")
            elif line.startswith(word):
                return line
