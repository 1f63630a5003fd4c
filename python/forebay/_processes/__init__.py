"""Worker processes for user code that holds the interpreter's lock: `workers="processes"`.

Open first: `pool.py`, what the rest of the package uses. Then `worker.py`, the other end; `channel.py` and `segments.py`, how
results come back; `fork_server.py` and `launcher.py`, where the processes come from; `by_value.py`, how user code gets there;
`functions.py`, how a loader's functions run on a pool.
"""

from .failure import ExceptionInWorker
from .pool import ProcessPool, WorkerDied
from .worker import WorkerInfo, current_worker

__all__ = ["ExceptionInWorker", "ProcessPool", "WorkerDied", "WorkerInfo", "current_worker"]
