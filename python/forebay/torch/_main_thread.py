"""A pass with `num_workers=0`: on the caller's thread, as PyTorch does it, with a position that can be saved."""

from __future__ import annotations

import copy
from typing import Any, Mapping

import torch
from torch.utils.data import IterDataPipe, MapDataPipe, _DatasetKind
from torch.utils.data.dataloader import _BaseDataLoaderIter, _SingleProcessDataLoaderIter

from ..errors import StateMismatch
from . import _generators
from ._marks import marked
from ._order import has_state
from ._progress import load_dataset_state


class MainThreadIterator(_SingleProcessDataLoaderIter):
    """PyTorch's own loop."""

    def __init__(self, loader: Any) -> None:
        self._progress = progress = loader._progress
        progress.order.begin()
        _BaseDataLoaderIter.__init__(self, loader)
        if self._timeout != 0:
            raise AssertionError("timeout= needs workers")
        if isinstance(self._dataset, (IterDataPipe, MapDataPipe)):
            torch.utils.data.graph_settings.apply_sharding(self._dataset, self._world_size, self._rank)
        progress.order.attach(self._sampler_iter)
        again = [None] * loader.batch_size if self._auto_collation and loader.batch_size else None
        self._data = progress.data = MainData(self, progress.saved, again)
        self._dataset_fetcher = self._data.fetcher

    def _next_index(self) -> Any:
        order = self._progress.order
        return super()._next_index() if order.iterable else order.next()

    def _next_data(self) -> Any:
        order = self._progress.order
        try:
            data = super()._next_data()
        except StopIteration:
            self._progress.finished = True
            raise
        except BaseException:  # PyTorch goes on with the next batch, too
            self._data.delivered(order, None)
            raise
        self._data.delivered(order, data)
        return data

    def __del__(self) -> None:
        if hasattr(self, "_data"):
            self._data.let_go(self._progress.finished)


class MainData:
    """The data set, its iterator, and how far they are."""

    def __init__(self, iterator: Any, saved: Mapping[str, Any] | None, again: Any) -> None:
        self._iterable = iterator._dataset_kind == _DatasetKind.Iterable
        self._again = again
        self._batches = self._mark = 0
        self._left: dict[str, Any] | BaseException | None = None
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
            except Exception:  # it was raised before the state was saved
                pass
            self._count(data)
        if self._mark != repeat["mark"]:
            raise StateMismatch(OTHER_ITEMS)

    def delivered(self, order: Any, data: Any) -> None:
        if self._iterable:
            order.position += 1
            if self._globals is not None:
                self._count(data)
        else:
            order.delivered(order.numbers_drawn - 1)

    def _count(self, data: Any) -> None:
        if data is not None:
            self._mark = marked(self._mark, self._batches, data)
        self._batches += 1

    def state(self, finished: bool) -> dict[str, Any]:
        if isinstance(self._left, BaseException):
            raise self._left
        return self._now(finished) if self._left is None else copy.deepcopy(self._left)

    def let_go(self, finished: bool) -> None:
        """The iterator goes: what the state needs is taken out of the data set's own, which goes with it."""
        try:
            self._left = self._now(finished)
        except Exception as error:
            self._left = error
        self.fetcher = None

    def _now(self, finished: bool) -> dict[str, Any]:
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
            state["again"] = {"batches": self._batches, "mark": self._mark, "globals": _generators.globals_as_text(self._globals)}
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
