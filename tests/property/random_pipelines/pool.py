"""Worker processes: each case has a time limit, and a crash is told as such."""

from __future__ import annotations

import collections
import concurrent.futures
import json
import os
import queue
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Iterable, Iterator

ROOT = Path(__file__).resolve().parents[3]
LIMIT_S = 120.0


_WORKER = "tests.property.random_pipelines.worker"  # from the root, whatever the tests' own runner calls this package
_PARTS = 4


def _cpu_s(pid: int) -> float:
    """What it and the processes that it waited for have computed."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


class Worker:
    def __init__(self, limit_s: float = LIMIT_S) -> None:
        self.limit_s = limit_s
        self.process: subprocess.Popen | None = None
        self.log = tempfile.TemporaryFile()

    def _start(self) -> subprocess.Popen:
        if self.process is None:
            path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
            self.process = subprocess.Popen([sys.executable, "-X", "faulthandler", "-m", _WORKER], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=self.log, cwd=ROOT, env={**os.environ, "PYTHONPATH": path})
        return self.process

    def ask(self, question: dict) -> dict:
        process = self._start()
        self.log.seek(0)
        self.log.truncate()
        process.stdin.write(json.dumps(question).encode() + b"\n")
        process.stdin.flush()
        line = self._line(process)
        if line is None:
            return self._hung()
        return json.loads(line) if line else self._crashed()

    def _line(self, process) -> bytes | None:
        """None: it hangs. A machine with other work may be slow, so what counts is whether it computes."""
        busy = collections.deque([_cpu_s(process.pid)], maxlen=_PARTS + 1)
        for _ in range(10 * _PARTS):
            ready, _, _ = select.select([process.stdout], [], [], self.limit_s / _PARTS)
            if ready:
                return process.stdout.readline()
            busy.append(_cpu_s(process.pid))
            if len(busy) > _PARTS and busy[-1] - busy[0] < 0.03 * self.limit_s:
                return None
        return None

    def _told(self) -> str:
        self.log.seek(0)
        return self.log.read().decode(errors="replace")[-6000:]

    def _hung(self) -> dict:
        self.process.send_signal(signal.SIGUSR1)
        time.sleep(0.5)
        text = self._told()
        self.close()
        return {"kind": "hang", "text": f"no answer in {self.limit_s:.0f} s\n{text}", "run": 0}

    def _crashed(self) -> dict:
        code, text = self.process.wait(), self._told()
        self.process = None
        sanitizer = next((line for line in text.splitlines() if "ERROR: AddressSanitizer" in line or "runtime error" in line), "")
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return {"kind": f"crash: {sanitizer.split('on address')[0][-60:] or name}", "text": f"{name}\n{text}", "run": 0}

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def alone(question: dict, limit_s: float = LIMIT_S) -> dict:
    """In a process of its own."""
    worker = Worker(limit_s)
    try:
        return worker.ask(question)
    finally:
        worker.close()


def check_all(questions: Iterable[dict], jobs: int, limit_s: float = LIMIT_S) -> Iterator[tuple[dict, dict]]:
    """(question, answer) as they come. What hangs or crashes is asked again in a process of its own."""
    workers: queue.SimpleQueue[Worker] = queue.SimpleQueue()
    made = [Worker(limit_s) for _ in range(jobs)]
    for worker in made:
        workers.put(worker)

    def ask(question: dict) -> tuple[dict, dict]:
        worker = workers.get()
        try:
            result = worker.ask(question)
        finally:
            workers.put(worker)
        if result.get("kind", "").startswith(("hang", "crash")):
            again = alone(question, limit_s)
            result = again if "kind" in again else {**result, "kind": f"once only, {result['kind']}"}
        return question, result

    try:
        with concurrent.futures.ThreadPoolExecutor(jobs) as threads:
            yield from threads.map(ask, questions)
    finally:
        for worker in made:
            worker.close()
