"""Worker processes for user code that holds the interpreter's lock: `workers="processes"`.

Read `pool.py` first, which the rest of the package uses. Then `worker.py`, the code in the worker;
`channel.py` and `segments.py`, the transport of results; `fork_server.py` and `launcher.py`, which
start processes; `by_value.py`, which serializes user code, and `identity.py`, which tells equal code; `functions.py`, which runs a loader's
functions on a pool.
"""

import importlib

_HOMES = {"ExceptionInWorker": "failure", "ProcessPool": "pool", "WorkerDied": "pool", "WorkerInfo": "worker",
          "current_worker": "worker"}
__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    """Loads names on first use: most programs never start a worker process, and `import forebay`
    should be fast.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
