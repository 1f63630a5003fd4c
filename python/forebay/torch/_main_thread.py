"""A pass with `num_workers=0`: on the caller's thread as in PyTorch, with a position that can be
saved.
"""

from __future__ import annotations

import copy
from typing import Any, Mapping, NamedTuple

import torch
from torch.utils.data import IterDataPipe, MapDataPipe, _DatasetKind
from torch.utils.data.dataloader import _BaseDataLoaderIter, _SingleProcessDataLoaderIter

from ..errors import StateMismatch
from . import _generators
from ._marks import marked
from ._order import Delivered, has_state
from ._passing import Passes
from ._progress import Given, load_dataset_state


class MainThreadIterator(Passes, _SingleProcessDataLoaderIter):
    """PyTorch's own loop, with a position."""

    def __init__(self, loader: Any) -> None:
        self._of_loader(loader)
        self._progress = progress = loader._making
        progress.order.begin()
        _BaseDataLoaderIter.__init__(self, loader)
        if self._timeout != 0:
            raise AssertionError("timeout= needs workers")
        if isinstance(self._dataset, (IterDataPipe, MapDataPipe)):
            torch.utils.data.graph_settings.apply_sharding(self._dataset, self._world_size, self._rank)
        progress.order.attach(self._sampler_iter)
        again = [None] * loader.batch_size if self._auto_collation and loader.batch_size else None
        self._data = MainData(self, progress.saved, again)
        self._dataset_fetcher = self._data.fetcher
        progress.begin(self._data, self._data.begin)

    def _next_index(self) -> Any:
        order = self._progress.order
        return super()._next_index() if order.iterable else order.next()

    def _next_data(self) -> Any:
        data = None
        ended = False
        self._data.before_batch(self._progress.given)
        try:
            data = super()._next_data()
            return data
        except StopIteration:
            ended = True
            raise
        finally:
            if not ended:  # also after an error: PyTorch continues with the next batch, too
                self._progress.coming = self._coming(data)

    def _coming(self, data: Any) -> Given:
        progress = self._progress
        given, order = progress.given, progress.order
        delivered = Delivered(given.order.position + 1) if order.iterable else given.order.with_batch(order.numbers_drawn - 1)
        return Given(delivered, self._data.with_batch(given.data, data))

    def __del__(self) -> None:
        if hasattr(self, "_data"):
            self._data.let_go(self._progress.given, self._progress.finished)


class Seen(NamedTuple):
    """How much of an iterable data set without a state the loop has received."""

    batches: int = 0
    mark: int = 0

    def with_batch(self, data: Any) -> Seen:
        return Seen(self.batches + 1, self.mark if data is None else marked(self.mark, self.batches, data))


class MainData:
    """The data set and its iterator, with their positions."""

    def __init__(self, iterator: Any, saved: Mapping[str, Any] | None, again: Any) -> None:
        self._iterable = iterator._dataset_kind == _DatasetKind.Iterable
        self._again = again
        self.begin = Seen()
        # States of the data set before it was read for the latest batch. They are current until the
        # loop has that batch.
        self._before: tuple[Given | None, dict[str, Any] | Exception] = (None, {})
        self._left: dict[str, Any] | Exception | None = None
        saved = saved or {}
        dataset = iterator._dataset
        if not saved.get("finished"):
            load_dataset_state(dataset, saved)
        repeat = None if saved.get("finished") else saved.get("again")
        self._globals = _generators.globals_now() if self._iterable and not has_state(dataset) else None
        if repeat is not None and self._globals is not None:
            _generators.set_globals(_generators.globals_from_text(repeat["globals"]))
        before, self._globals = self._globals, _generators.globals_now() if self._globals is not None else None
        self.fetcher = _DatasetKind.create_fetcher(
            iterator._dataset_kind, dataset, iterator._auto_collation, iterator._collate_fn, iterator._drop_last)
        self._states = has_state(dataset) or (self._iterable and has_state(self.fetcher.dataset_iter))
        if not saved.get("finished"):
            self._restore_iterator(saved.get("fetcher_state") or {})
        if repeat is not None:
            self._read_again(repeat)
            if before is not None and not _same(before, self._globals):
                _generators.set_globals(before)

    def _restore_iterator(self, saved: Mapping[str, Any]) -> None:
        if not self._iterable:
            return
        if saved.get("dataset_iter_state") is not None and has_state(self.fetcher.dataset_iter):
            self.fetcher.dataset_iter.load_state_dict(copy.deepcopy(saved["dataset_iter_state"]))
        self.fetcher.ended = saved.get("fetcher_ended", False) and self._globals is None

    def _read_again(self, repeat: Mapping[str, Any]) -> None:
        for done in range(repeat["batches"]):
            data = None
            try:
                data = self.fetcher.fetch(self._again)
            except StopIteration:
                raise StateMismatch(shorter(repeat["batches"], done)) from None
            except Exception:  # raised before the state was saved, so it is expected
                pass
            self.begin = self.begin.with_batch(data)
        if self.begin.mark != repeat["mark"]:
            raise StateMismatch(OTHER_ITEMS)

    def with_batch(self, seen: Seen, data: Any) -> Seen:
        return seen.with_batch(data) if self._iterable and self._globals is not None else seen

    def before_batch(self, given: Given) -> None:
        """Called before the data set is read, which changes its states. A state that is requested
        meanwhile is the earlier one.
        """
        if self._states:
            self._before = given, self._kept(given.data, False)

    def state(self, given: Given, finished: bool) -> dict[str, Any]:
        before, kept = self._before
        if self._left is not None:
            kept = self._left
        elif finished or before is not given:
            return self._now(given.data, finished)
        if isinstance(kept, Exception):
            raise kept
        return copy.deepcopy(kept)

    def let_go(self, given: Given, finished: bool) -> None:
        """Called when the iterator is released. Copies what the state needs from the data set's own
        state, which is released with it.
        """
        before, kept = self._before
        self._left = self._kept(given.data, finished) if finished or before is not given else kept
        self.fetcher = None

    def _kept(self, seen: Seen, finished: bool) -> dict[str, Any] | Exception:
        try:
            return self._now(seen, finished)
        except Exception as error:  # an error of the data set, raised when the state is requested
            return error

    def _now(self, seen: Seen, finished: bool) -> dict[str, Any]:
        dataset = self.fetcher.dataset
        if not self._iterable:
            return {"dataset_state": copy.deepcopy(dataset.state_dict()), "workers": 0} if has_state(dataset) else {}
        reader = self.fetcher.dataset_iter
        state: dict[str, Any] = {"iterable": True, "workers": 0, "dataset_state": None}
        if has_state(dataset) and (finished or reader is not dataset):
            state["dataset_state"] = copy.deepcopy(dataset.state_dict())
        if finished:
            return state
        position = copy.deepcopy(reader.state_dict()) if has_state(reader) else None
        state["fetcher_state"] = {"dataset_iter_state": position, "fetcher_ended": self.fetcher.ended}
        if not has_state(dataset) and not has_state(reader):
            state["again"] = {"batches": seen.batches, "mark": seen.mark, "globals": _generators.globals_as_text(self._globals)}
        return state


OTHER_ITEMS = (
    "the data set gives other items than before the state was saved, so going on would repeat some and leave out others: its order "
    "comes from random numbers that cannot be had again, or the data changed; give the data set, or the iterator it returns, "
    "state_dict() and load_state_dict()"
)


def shorter(batches: int, there: int) -> str:
    return f"the state is behind batch {batches} of the data set, which ends after {there}; is it the same data set?"


def _same(one: Any, other: Any) -> bool:
    return one[0] == other[0] and _generators.globals_as_text(one) == _generators.globals_as_text(other)
