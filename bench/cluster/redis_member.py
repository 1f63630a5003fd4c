"""One process of a job that keeps objects in a Redis for all hosts, as a team would set it up: tests/cluster/member.py's protocol of "touch".

A batch asks for all its objects at once (MGET), fetches what is not there from storage, sixteen at a time, and puts it there. Eight batches are
fetched ahead, four at a time. Every process draws the same permutation for an epoch and takes its part of each global batch.
"""
import http.client
import json
import random
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

AHEAD, AT_ONCE, FETCHES = 8, 4, 16

given = json.loads(sys.argv[1])
own = threading.local()


class Redis:
    """Of its protocol what this needs: each command an array of bulk strings, each answer one of them, an array of them, or a line."""

    def __init__(self, host, port):
        self.file = socket.create_connection((host, port), 60).makefile("rwb")

    def ask(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.file.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        self.file.flush()
        return self._answer()

    def _answer(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self._answer() for _ in range(int(rest))]
        if kind in (b"+", b":"):
            return rest
        raise OSError(f"Redis says {line!r}")


def kept(name, make):
    """One of each thread."""
    if not hasattr(own, name):
        setattr(own, name, make())
    return getattr(own, name)


def fetch(url):
    place = urlsplit(url)
    connection = kept("storage", lambda: http.client.HTTPConnection(place.netloc, timeout=60))
    connection.request("GET", place.path)
    answer = connection.getresponse()
    content = answer.read()
    if answer.status != 200:
        raise OSError(f"{url}: {answer.status}")
    kept("redis", lambda: Redis(*given["redis"])).ask("SET", url, content)
    return content


fetchers = ThreadPoolExecutor(FETCHES)


def batch_of(urls):
    redis = kept("redis", lambda: Redis(*given["redis"]))
    found = redis.ask("MGET", *urls)
    coming = {i: fetchers.submit(fetch, url) for i, url in enumerate(urls) if found[i] is None}
    for i, content in coming.items():
        found[i] = content.result()
    return found


def parts():
    """This rank's objects of each step, epoch after epoch."""
    urls, batch, world = given["urls"], given["batch"], given["world"]
    epoch = 0
    while given["epochs"] is None or epoch < given["epochs"]:
        order = urls[:]
        random.Random(epoch).shuffle(order)
        for step in range(len(order) // (batch * world)):
            begin = (step * world + given["rank"]) * batch
            yield order[begin:begin + batch]
        epoch += 1


def main():
    makers = ThreadPoolExecutor(AT_ONCE)
    wanted, ready = parts(), []

    def more():
        while len(ready) < AHEAD and (urls := next(wanted, None)) is not None:
            ready.append(makers.submit(batch_of, urls))

    print(json.dumps("ready"), flush=True)
    for _ in sys.stdin:
        more()
        content = ready.pop(0).result()
        more()
        print(json.dumps(sum(map(len, content)) and len(content)), flush=True)


main()
