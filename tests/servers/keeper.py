"""Starts servers, says where they are, and stops them when nobody needs them any more.

    python3 -m servers.keeper NAME...        (running.py starts it)

One line of JSON on standard output: {"variables": {...}, "processes": {name: pid, ...}} or {"error": "..."}. It then waits
until its standard input ends, which happens also when the process at the other end is killed. Should it be killed itself,
the kernel ends its servers.
"""
import ctypes
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import threading
from pathlib import Path

from servers import certificates
from servers.brokers import Nats, NatsTls, Redis, RedisTls
from servers.ceph import Ceph
from servers.daemon import StartFailed
from servers.faults import Faults
from servers.swift import Swift
from servers.web import Web

KINDS = (Ceph, Swift, Web, Faults, Redis, Nats, RedisTls, NatsTls)
PREFIX = "forebay-servers-"
PR_SET_CHILD_SUBREAPER = 36


class Stage(threading.Thread):
    """Starts one server and stops it when told; its thread lives as long, since the kernel ties the children to it."""

    def __init__(self, server) -> None:
        super().__init__(daemon=True)
        self.server, self.error = server, None
        self.started, self.over = threading.Event(), threading.Event()

    def run(self) -> None:
        try:
            self.server.start(self.over.is_set)
        except StartFailed as error:
            self.error = str(error)
        except Exception as error:  # a bug of ours must not leave servers behind
            self.error = f"{self.server.name} did not start: {type(error).__name__}: {error}"
        self.started.set()
        self.over.wait()
        self.server.stop()


def sweep(parent: Path) -> None:
    """Removes the folders of keepers that were killed."""
    for folder in parent.glob(PREFIX + "*"):
        pid = folder.name.removeprefix(PREFIX).partition("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():
            shutil.rmtree(folder, ignore_errors=True)


def nobody_waits() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0])


def make(names: list[str], folder: Path) -> list:
    servers, variables = [], dict(os.environ)
    for kind in KINDS:
        if kind.name in names:
            servers.append(kind(folder, variables) if kind is Faults else kind(folder))
            variables |= servers[-1].variables()
    return servers


def keep(names: list[str], folder: Path) -> int:
    certificates.make(folder)
    stages = [Stage(server) for server in make(names, folder)]
    try:
        for stage in stages:
            stage.start()
        while not all(stage.started.wait(0.1) for stage in stages):
            if nobody_waits() or any(stage.error for stage in stages):
                break
        errors = [stage.error for stage in stages if stage.error]
        variables = {key: value for stage in stages for key, value in stage.server.variables().items()}
        processes = {daemon.name: daemon.process.pid for stage in stages for daemon in stage.server.running}
        answer = {"error": "\n".join(errors)} if errors else {"variables": variables, "processes": processes}
        print(json.dumps(answer), flush=True)
        if not errors:
            sys.stdin.read()
    finally:
        for stage in stages:
            stage.over.set()
        for stage in stages:
            if stage.is_alive():
                stage.join(60)
    return 1 if errors else 0


def main() -> int:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(1))
    parent = Path(tempfile.gettempdir())
    sweep(parent)
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent))
    try:
        return keep(sys.argv[1:], folder)
    except StartFailed as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
