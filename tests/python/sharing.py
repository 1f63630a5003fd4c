"""Servers of the tests' own, and clients that are processes."""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import textwrap
import time
from pathlib import Path

PATIENCE_S = 60


def program():
    beside = Path(sysconfig.get_path("scripts")) / "forebay"
    return str(beside) if beside.exists() else shutil.which("forebay")


@contextlib.contextmanager
def serving(socket, *flags):
    """The process of a server that listens at `socket`."""
    process = subprocess.Popen([program(), "serve", "--socket", str(socket), *flags], stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: ask(socket) is not None)
        yield process
    finally:
        process.kill()
        process.wait()


def ask(socket):
    """What the server tells of itself; None where there is none."""
    done = subprocess.run([program(), "serve", "status", "--json", "--socket", str(socket)], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def wait_for(holds, what="", seconds=PATIENCE_S):
    deadline = time.monotonic() + seconds
    while not (value := holds()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.02)
    return value


def client(code, *arguments, **options):
    """A process that runs `code`; `say(text)` in it writes a line that can be read here."""
    head = "import json, os, sys, time\nimport forebay as fb\ndef say(text):\n    print(text, flush=True)\n"
    return subprocess.Popen([sys.executable, "-c", head + textwrap.dedent(code), *map(str, arguments)],
                            stdout=subprocess.PIPE, text=True, **options)


def descriptors(process):
    return len(os.listdir(f"/proc/{process}/fd"))


def shared_memory():
    return sorted(os.listdir("/dev/shm"))


def stat_of(process):
    """"R", "S", "T" (stopped), …"""
    return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
