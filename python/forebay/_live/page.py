"""The live page of one loader, and how other programs of the user find it."""

from __future__ import annotations

import html
import http.client
import json
import os
import threading
import time
import urllib.parse
import warnings
import weakref
from typing import TYPE_CHECKING, Any, Callable, NoReturn

from .. import _core
from .._concurrent import WeakRegistry
from ..errors import Error, InvalidArgument
from .samples import SampleView
from .server import TOKEN_HEADER, Server
from .study import Study

if TYPE_CHECKING:
    from ..loader import Loader

_FRESH_S = 0.9  # pages that are younger are sent again: browsers ask once a second
_RANK_ANSWERS_S, _RANKS_ANSWER_S = 0.5, 1.0  # waits for the figures of one other rank, and of all


class LivePage:
    """A page over the live figures of a loader, for browsers on this host; `loader.show()` returns
    it. As the last value of a notebook's cell it shows itself.

    Only programs that know the token in its address get figures. It ends with the loader.
    """

    def __init__(self, loader: Loader, port: int) -> None:
        loader._prepare()  # the fingerprint follows from the filters
        self._loader = weakref.ref(loader)
        self._core = loader._core
        self._rank, self._world_size, self._fingerprint = loader.rank, loader.world_size, loader.fingerprint
        pipeline = str(loader.pipeline).partition("\n")[0]
        self._view = _core.LiveView(f"loader {loader._number}, rank {self._rank} of {self._world_size}: {pipeline}")
        self._samples = SampleView(loader)
        self._study = Study()
        self._making = threading.Lock()  # several browsers may ask at once
        self._made: tuple[float, dict[str, Any]] | None = None
        self._server = Server(self, port)
        try:
            self._published = _core.publish_page(
                url=self.url, pipeline=pipeline, fingerprint=self._fingerprint, process=os.getpid(), rank=self._rank,
                world_size=self._world_size)
        except Error:
            self._server.close()
            raise
        _pages.add(self)

    @property
    def url(self) -> str:
        """The address with the token, for a browser on this host."""
        return self._server.url

    @property
    def closed(self) -> bool:
        """Whether the page has ended."""
        return self._published is None

    def close(self) -> None:
        """Ends the page. The loader goes on. Closing again does nothing."""
        published, self._published = self._published, None
        if published is None:
            return
        self._study.stop()
        self._server.close()

    def __repr__(self) -> str:
        return f"<forebay live page, {'closed' if self.closed else self.url}>"

    def _repr_html_(self) -> str:
        # The frame is empty in a notebook that was saved; the line above it says why.
        url = html.escape(self.url)
        return (f'<div>Live page of the loader, until it is closed. <a href="{url}" target="_blank">Open it in a tab</a></div>'
                f'<iframe src="{url}" width="100%" height="900" style="border: 0"></iframe>')

    def __reduce__(self) -> NoReturn:
        raise TypeError("a live page cannot be pickled: it belongs to a loader of this process")

    # The loader's side

    def _watch(self, fetch: Callable[[], Any]) -> Any:
        """Returns the next batch, and shows it. Waits while a study has the machine to itself."""
        self._study.idle.wait()
        batch = fetch()
        if batch is not None:
            self._samples.offer(batch)
        return batch

    def _forget(self) -> None:
        # The child of a fork: the parent's page goes on.
        self._server.forget()
        if self._published is not None:
            self._published.forget()

    # The server's side

    def figures(self) -> bytes:
        """Returns everything but the samples, as JSON."""
        self._samples.want()
        page = self._page()
        return _json({"page": page, "ranks": self._ranks(page), "study": self._study.status(), "batch": self._samples.number})

    def facts(self) -> bytes:
        """Returns the figures at the top of the page, for the pages of other ranks."""
        return _json(self._page()["facts"])

    def samples(self) -> bytes | None:
        """Returns the first samples of the current batch as JSON. None before the first batch."""
        shown = self._samples.shown()
        return None if shown is None else _json(shown)

    def start(self, what: str) -> bool:
        """Starts a study. False if one is running."""
        loader = self._loader()
        return loader is not None and self._study.start(what, loader)

    def _page(self) -> dict[str, Any]:
        with self._making:
            if self._made is None or time.monotonic() - self._made[0] > _FRESH_S:
                self._made = time.monotonic(), json.loads(self._view.page(self._core))
            return self._made[1]

    def _ranks(self, page: dict[str, Any]) -> list[dict[str, Any]]:
        """Returns the figures of this rank and of those other ranks of the job that have a page on
        this host.
        """
        ranks = [{"rank": self._rank, "url": "", "facts": page["facts"]}]
        end_s = time.monotonic() + _RANKS_ANSWER_S
        for other in _core.live_pages() if self._world_size > 1 else ():
            same = other["fingerprint"] == self._fingerprint and other["world_size"] == self._world_size
            if same and other["url"] != self.url and time.monotonic() < end_s and (facts := _facts_of(other["url"])):
                ranks.append({"rank": other["rank"], "url": other["url"], "facts": facts})
        return sorted(ranks, key=lambda one: one["rank"])


def _facts_of(url: str) -> list[dict[str, Any]] | None:
    """Returns the facts of another rank. None if it does not answer at once."""
    place = urllib.parse.urlsplit(url)
    asked = http.client.HTTPConnection("127.0.0.1", place.port, timeout=_RANK_ANSWERS_S)
    try:
        asked.request("GET", "/facts", headers={TOKEN_HEADER: place.fragment})
        answer = asked.getresponse()
        return json.loads(answer.read(1 << 20)) if answer.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        asked.close()


def _json(value: Any) -> bytes:
    # Names of files may contain bytes that are not UTF-8.
    return json.dumps(value, allow_nan=False).encode("utf-8")


_pages: WeakRegistry[LivePage] = WeakRegistry()


def _forget_pages() -> None:
    for page in _pages.alive():
        page._forget()


os.register_at_fork(after_in_child=_forget_pages)


def show_if_asked(loader: Loader) -> None:
    """Shows a loader for FOREBAY_UI=1. An error becomes a warning, because a page must not end a
    run.
    """
    wanted = os.environ["FOREBAY_UI"]
    try:
        if wanted != "1":
            raise InvalidArgument(f"FOREBAY_UI is {wanted!r}; give 1, or leave it unset")
        loader.show()
    except Error as error:
        warnings.warn(f"FOREBAY_UI: no page is shown: {error}", RuntimeWarning, stacklevel=5)
