"""The ranks of Ray Train: the rank of this process, and how the ranks meet. Ray is not imported for
it: a worker of Ray Train already has it.
"""

from __future__ import annotations

import os
import sys
import time

from ._typing import Any

NAMESPACE = "forebay"
POLL_S = 0.02


def place() -> tuple[int, int, int] | None:
    """Returns (rank, number of ranks, ranks on this host) in a worker of Ray Train, else None."""
    train = sys.modules.get("ray.train")
    if train is None:
        return None
    try:
        context = train.get_context()
        told = context.get_world_rank(), context.get_world_size(), context.get_local_world_size()
    except Exception:  # the type depends on Ray's version; this is not a worker
        return None
    return told if all(isinstance(number, int) for number in told) else None


def store(wait_s: float) -> tuple[Any, str]:
    """Returns a store for messages between the workers of this start of a run, and the name of this
    meeting in it. Waits for all workers.
    """
    from ray.experimental import internal_kv
    from ray.train.collective import broadcast_from_rank_zero

    return _ClusterStore(internal_kv, wait_s), broadcast_from_rank_zero(os.urandom(16).hex())


class _ClusterStore:
    """The key-value store that Ray's own libraries use between processes."""

    def __init__(self, values: Any, wait_s: float) -> None:
        self._values, self._wait_s = values, wait_s

    def set(self, key: str, value: str) -> None:
        self._values._internal_kv_put(key, value, namespace=NAMESPACE)

    def get(self, key: str) -> bytes:
        until = time.monotonic() + self._wait_s
        while (value := self._values._internal_kv_get(key, namespace=NAMESPACE)) is None:
            if time.monotonic() > until:
                raise TimeoutError("nothing in Ray's store")
            time.sleep(POLL_S)
        return value
