"""Simulation of a pipeline on many hosts: its plan over modelled storage, links and disks, in
virtual time.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Mapping

from . import _core
from ._options import _bytes, _count, _integer, _seed
from ._trying import Opener
from ._user_exceptions import encodable
from .errors import InvalidArgument
from .pipeline import Pipeline

__all__ = ["Simulation", "simulate"]


@dataclass(frozen=True)
class Simulation:
    """The result of `simulate()`. Print it for a summary.

    Attributes:
        gain: speed-up of a later epoch over an epoch that reads everything from storage.
        seconds: duration of a later epoch.
        wait_seconds: time of `seconds` that ranks wait for rows.
        first_seconds: duration of the first epoch, which reads everything.
        changes: (resource, speed-up of a later epoch with twice as much of it), the best first.
        data: the whole result as a dict (docs/reference/simulate.md).
    """

    gain: float
    seconds: float
    wait_seconds: float
    first_seconds: float
    changes: tuple[tuple[str, float], ...]
    data: Mapping[str, Any]
    _found: _core.Simulation

    def __str__(self) -> str:
        return self._found.to_text()

    def report(self, path: str | os.PathLike[str] | None = None) -> str:
        """Returns the text that `print()` shows; with `path` also writes an HTML page there.

        The page is one file that opens without a network. Unavailable, or NotFound, if it cannot be
        written.
        """
        if path is not None:
            self._found.write_report(os.fsdecode(path))
        return str(self)


def simulate(
    pipeline: Pipeline | None = None,
    *,
    hosts: int,
    ranks_per_host: int = 1,
    storage: str | float | Mapping[str, Any] = "1GB/s",
    link: str | float | Mapping[str, Any] = "10Gbit/s",
    ram: int | str = 0,
    disk: int | str = 0,
    disk_rate: str | float | None = None,
    prepare: float | None = None,
    train: float | None = None,
    samples: int | None = None,
    sample_bytes: int | str | None = None,
    spread: float = 0.5,
    batch_size: int | None = None,
    seed: int = 0,
    epochs: int = 3,
) -> Simulation:
    """Simulates the plan of a pipeline (order, shard assignment, cache placement) on modelled
    hosts, and compares other ways to load.

    Only the listing of the data set is read, and not even that if `samples` and `sample_bytes` are
    given. Without a pipeline `batch_size` is required, too. If values decide which samples come
    when (`.sample()`, `.balance()`, `.bucket()`), they are read as a job reads them before its
    first batch.

    Args:
        pipeline: gives the data set and the batch size.
        hosts, ranks_per_host: numbers of hosts and of ranks on each.
        storage: storage that all hosts share: a rate ("2GB/s", or bytes per second; 0: no limit),
            or a dict of "rate", "latency" (seconds), "requests_per_second" and "knee" (requests in
            flight from which storage gives its rate).
        link: network link of a host, in each direction: a rate, or a dict of "rate" and "latency"
            (seconds).
        ram, disk: bytes per host for caching samples as they are stored.
        disk_rate: rate of a host's disk; None: no limit.
        prepare: samples per second that a host decodes and transforms; None: no limit.
        train: samples per second that a rank takes; None: no limit.
        samples, sample_bytes, spread: number of samples, their mean size, and the standard
            deviation of the logarithm of the size; by default those of the data set.
        batch_size: rows per rank and step; by default the pipeline's. Not for `.bucket()`.
        seed: seed of the order.
        epochs: at least 2; the last one represents all later epochs.

    Errors: InvalidArgument, NotFound, Unavailable, Unsupported.
    """
    if pipeline is not None and not isinstance(pipeline, Pipeline):
        raise TypeError(f"simulate() takes a Pipeline, or None and sizes, not {type(pipeline).__name__}")
    options = {
        "hosts": _count("hosts", hosts, least=1),
        "ranks_per_host": _count("ranks_per_host", ranks_per_host, least=1),
        **_part("storage", storage, {"rate": "storage_rate", "latency": "storage_latency",
                                     "requests_per_second": "storage_requests", "knee": "storage_knee"}),
        **_part("link", link, {"rate": "link_rate", "latency": "link_latency"}),
        "ram": _bytes("ram", ram),
        "disk": _bytes("disk", disk),
        "disk_rate": None if disk_rate is None else _rate("disk_rate", disk_rate),
        "prepare": None if prepare is None else _number("prepare", prepare),
        "train": None if train is None else _number("train", train),
        "samples": None if samples is None else _samples(samples),
        "sample_bytes": None if sample_bytes is None else float(_bytes("sample_bytes", sample_bytes)),
        "spread": _number("spread", spread),
        "batch_size": _count("batch_size", batch_size, least=1),
        "seed": _seed(seed),
        "epochs": _count("epochs", epochs),
    }
    import json  # imported here so that importing the package stays fast

    given = {name: value for name, value in options.items() if value is not None}
    opener = None if pipeline is None else Opener(pipeline, {"seed": options["seed"], "rank": 0, "world_size": 1})
    found = _core.simulate(None if pipeline is None else pipeline._description, given, opener)
    data = json.loads(found.to_json())
    local = data["runs"][0]["epochs"]
    return Simulation(
        gain=data["gain"], seconds=local[-1]["seconds"], wait_seconds=local[-1]["wait_seconds"],
        first_seconds=local[0]["seconds"], changes=tuple((change["change"], change["gain"]) for change in data["changes"]),
        data=data, _found=found,
    )


def _samples(value: Any) -> int:
    number = _integer("samples", value)
    if not 1 <= number <= 2**50:
        raise InvalidArgument(f"samples is {number}; it must lie between 1 and 2**50")
    return number


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
        raise InvalidArgument(f"{name} is {value!r}; it must be a number, 0 or larger")
    return float(value)


def _rate(name: str, value: Any) -> float:
    if not isinstance(value, str):
        return _number(name, value)
    rate = _core.parse_rate(encodable(value))
    if rate is None:
        raise InvalidArgument(f"{name} is {value!r}; it must be bytes a second, or text such as '2GB/s' or '10Gbit/s'")
    return rate


def _part(name: str, value: Any, fields: Mapping[str, str]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {fields["rate"]: _rate(name, value)}
    unknown = [key for key in value if key not in fields]
    if unknown:
        raise InvalidArgument(f"{name} has no {unknown[0]!r}; it has {', '.join(fields)}")
    made: dict[str, Any] = {}
    for key, given in value.items():
        if key == "rate":
            made[fields[key]] = _rate(f"{name}['rate']", given)
        elif key == "knee":
            made[fields[key]] = _count(f"{name}['knee']", given)
        else:
            made[fields[key]] = _number(f"{name}[{key!r}]", given)
    return made
