"""Metrics of loaders for Prometheus: `fb.serve_metrics(9400)`, or `FOREBAY_METRICS=127.0.0.1:9400`
in the environment.

Requires Prometheus' own client library: pip install 'forebay[metrics]'. A program that already
serves metrics adds those of its loaders with
`prometheus_client.REGISTRY.register(forebay.metrics.LoaderCollector())`.
"""

from __future__ import annotations

import functools
import os
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping

from . import _core
from ._concurrent import WeakRegistry
from ._typing import Any
from .errors import InvalidArgument

__all__ = ["LoaderCollector", "MetricsServer", "metric_name", "serve_metrics"]

_LOOPBACK = "127.0.0.1"
# Prometheus types by kind of figure. Other kinds are text or would need a label for each of their
# numbers.
_TYPES = {"counter": "counter", "estimate": "counter", "gauge": "gauge", "histogram": "histogram"}


@functools.cache
def _schema() -> dict[str, Any]:
    import json  # imported here so that importing the package stays fast

    return json.loads(_core.ledger_schema())


def metric_name(groups: Iterable[str], figure: Mapping[str, Any]) -> str:
    """Returns the Prometheus name, which ends in the unit: `forebay_store_read_bytes`. The client
    library appends `_total` to counters.
    """
    words = ["forebay", *("_".join([*groups, figure["name"]])).split("_")]
    if figure["unit"] in words[1:]:
        words.remove(figure["unit"])
    if figure["unit"]:
        words.append(figure["unit"])
    return "_".join(words)


class LoaderCollector:
    """Collector for `prometheus_client` over all open loaders of this process. Costs nothing until
    it is scraped.

    Args:
        loaders: a function that returns loaders; None: all open loaders.
    """

    def __init__(self, loaders: Any = None) -> None:
        self._loaders = loaders or _open_loaders
        self._highest: dict[tuple[Any, ...], float] = {}
        self._lock = threading.Lock()  # scrapes come from other threads

    def collect(self) -> Iterator[Any]:
        """Yields one metric family for each figure of the ledger, with a sample for each loader and
        for each element of its lists.
        """
        families: dict[str, Any] = {}
        with self._lock:
            before, self._highest = self._highest, {}
            for loader in self._loaders():
                of_loader = {"loader": str(loader._number), "rank": str(loader.rank)}
                for name, figure, labels, value in _figures(_schema()["figures"], loader.stats(), (), of_loader):
                    if figure["kind"] == "estimate":  # Prometheus would take a decrease for a counter reset
                        series = (name, *labels.values())
                        value = self._highest[series] = max(value, before.get(series, value))
                    _add(families, name, figure, labels, value)
        return iter(families.values())

    def describe(self) -> Iterator[Any]:
        """Returns no metrics: the names are not known before the first loader is opened."""
        return iter(())


def _open_loaders() -> list[Any]:
    from .loader import _live

    return sorted((loader for loader in _live.alive() if not loader.closed), key=lambda loader: loader._number)


def _figures(schema: Any, values: Mapping[str, Any], groups: tuple[str, ...], labels: Mapping[str, str]) -> Iterator[Any]:
    """Yields (name, figure, labels, value) for every figure that Prometheus can represent."""
    for one in schema:
        if one["name"] not in values:
            continue
        value = values[one["name"]]
        if "figures" not in one:
            if one["kind"] in _TYPES:
                yield metric_name(groups, one), one, labels, value
        elif not one["one"]:
            yield from _figures(one["figures"], value, (*groups, one["name"]), labels)
        else:
            for place, element in enumerate(value):  # names may repeat, so the index is a label too
                names = {one["one"] if f["name"] == "name" else f["name"]: element[f["name"]] for f in one["figures"] if f.get("kind") == "label"}
                more = {**labels, "index": str(place), **{key: _printable(text) for key, text in names.items()}}
                yield from _figures(one["figures"], element, (*groups, one["one"]), more)


def _printable(text: str) -> str:
    # File names may contain bytes that are not UTF-8; a metrics page must be UTF-8.
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _add(families: dict[str, Any], name: str, figure: Mapping[str, Any], labels: Mapping[str, str], value: Any) -> None:
    from prometheus_client import core

    kinds = {"counter": core.CounterMetricFamily, "gauge": core.GaugeMetricFamily, "histogram": core.HistogramMetricFamily}
    kind = _TYPES[figure["kind"]]
    if name not in families:
        families[name] = kinds[kind](name, figure["help"], labels=list(labels))
    if kind == "histogram":
        families[name].add_metric(list(labels.values()), _buckets(value), value["sum"])
    else:
        families[name].add_metric(list(labels.values()), value)


def _buckets(histogram: Mapping[str, Any]) -> list[tuple[str, int]]:
    below, buckets = 0, []
    for bound, count in zip([*histogram["bounds"], float("inf")], histogram["counts"]):
        below += count
        buckets.append(("+Inf" if bound == float("inf") else repr(float(bound)), below))
    return buckets


class MetricsServer:
    """A metrics page for Prometheus, served by its own thread until `close()` or the end of the
    process. A forked child does not serve it.
    """

    def __init__(self, server: Any, thread: Any) -> None:
        self._server, self._thread = server, thread
        host, port = server.server_address[:2]
        self._address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        _servers.add(self)

    @property
    def address(self) -> str:
        """The address at which it listens: "127.0.0.1:9400"."""
        return self._address

    @property
    def url(self) -> str:
        """The URL that Prometheus scrapes."""
        return f"http://{self._address}/metrics"

    def close(self) -> None:
        """Stops listening. Closing again does nothing."""
        server, self._server = self._server, None
        if server is None:
            return
        server.shutdown()
        server.server_close()
        self._thread.join()

    def _forget(self) -> None:
        if self._server is not None:
            # The parent's socket stays open. The port is free again when the parent closes it.
            self._server.socket.close()
            self._server = None

    def __enter__(self) -> MetricsServer:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


_servers: WeakRegistry[MetricsServer] = WeakRegistry()
_obeyed: set[str] = set()  # values of FOREBAY_METRICS that were applied
_of_environment: list[MetricsServer] = []  # servers that live as long as the process


def _forget_servers() -> None:
    for server in _servers.alive():
        server._forget()


os.register_at_fork(after_in_child=_forget_servers)


def serve_metrics(port: int, host: str = _LOOPBACK) -> MetricsServer:
    """Serves the metrics of all open loaders of this process for Prometheus at
    `http://host:port/metrics`.

    Nothing listens unless this is called, or the environment has `FOREBAY_METRICS=host:port`, which
    is applied when the first loader opens.

    Args:
        port: the port; 0 chooses a free one, see `.address` of the result.
        host: the address of this host to listen at; by default only programs of this host can
            connect. "0.0.0.0": every host can.

    Raises InvalidArgument if `prometheus-client` is not installed, or the address cannot be used.
    """
    try:
        import prometheus_client
    except ImportError as error:
        raise InvalidArgument("metrics need Prometheus' client library: pip install 'forebay[metrics]', or prometheus-client") from error
    registry = prometheus_client.CollectorRegistry()
    registry.register(LoaderCollector())
    try:
        return MetricsServer(*prometheus_client.start_http_server(port, host, registry))
    except (OSError, OverflowError) as error:
        raise InvalidArgument(f"metrics cannot be served at {host}:{port} ({error}); give another port, or 0 for any") from error


def address_of(text: str) -> tuple[str, int]:
    """Returns host and port of "host:port", "[::1]:9400", ":9400" or "9400". InvalidArgument for
    anything else.
    """
    host, _, port = text.strip().rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise InvalidArgument(f"FOREBAY_METRICS is {text!r}; give host:port, as in 127.0.0.1:9400")
    return host.strip("[]") or _LOOPBACK, int(port)




def _serve_if_asked() -> None:
    """Applies FOREBAY_METRICS when the first loader opens. An error becomes a warning, because
    metrics must not end a run.
    """
    wanted = os.environ.get("FOREBAY_METRICS", "")
    if not wanted or wanted in _obeyed:
        return
    _obeyed.add(wanted)
    try:
        host, port = address_of(wanted)
        _of_environment.append(serve_metrics(port, host))
    except InvalidArgument as error:
        warnings.warn(f"FOREBAY_METRICS={wanted}: nothing is served: {error}", RuntimeWarning, stacklevel=4)
