"""Worker processes for user code that holds the interpreter's lock: `workers="processes"`.

Open first: `pool.py`, what the rest of the package uses. Then `worker.py`, the other end; `channel.py` and `segments.py`, how
results come back; `fork_server.py` and `launcher.py`, where the processes come from; `by_value.py`, how user code gets there;
`functions.py`, how a loader's functions run on a pool.
"""

import importlib

_HOMES = {"ExceptionInWorker": "failure", "ProcessPool": "pool", "WorkerDied": "pool", "WorkerInfo": "worker",
          "current_worker": "worker"}
__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    """Loaded on first use: most programs never start a worker process, and `import forebay` is to be light."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
