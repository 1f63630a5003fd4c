"""The position of a pass over a DataLoader, as a state that can be saved."""

from __future__ import annotations

import copy
import operator
from typing import Any, Mapping, NamedTuple, Protocol

from torch.utils.data import _DatasetKind

from ..errors import InvalidArgument, StateMismatch
from ._order import Delivered, Order, has_state

FORMAT = 3


class Given(NamedTuple):
    """The part of a pass that the loop has received.

    It is immutable, so that a signal handler, or an exception in any line, sees either the old or
    the new position.
    """

    order: Delivered
    data: Any = None  # data of the iterator


class Data(Protocol):
    """The position of an iterator's data set. It must not keep the iterator alive."""

    def state(self, given: Given, finished: bool) -> dict[str, Any]: ...


class Progress:
    """One pass: the order of its indices, the state of its data set, and how much of it the loop
    has received.
    """

    def __init__(self, loader: Any, saved: Mapping[str, Any] | None) -> None:
        self.saved = saved
        self.order = Order(loader, saved)
        self.data: Data | None = None
        self.finished = False
        self.given = self.coming = Given(self.order.start)

    def prepare(self, loader: Any) -> None:
        """Called before there is an iterator. If this process itself uses the data set, a state of an
        epoch's end is restored here, before anything is drawn.
        """
        saved = self.saved or {}
        if saved.get("finished") and _one_dataset(loader):
            load_dataset_state(loader.dataset, saved)
        self.order.before_iterator()

    def begin(self, data: Data | None, of_data: Any = None) -> None:
        """Called when the iterator exists and the loop has received nothing of it."""
        self.data = data
        self.given = self.coming = Given(self.order.start, of_data)

    @property
    def nothing_left(self) -> bool:
        """Returns, for a pass that is over, whether it was resumed after its last batch."""
        resumed = self.saved is not None and not self.saved["finished"]
        return resumed and self.given.order == self.order.start and self.order.start.position > 0

    def state(self, loader: Any) -> dict[str, Any]:
        """Returns the state for the loader of this pass. (The loader is not stored here: a pass
        must not keep it alive.)
        """
        given = self.given
        finished = self.finished or self.order.over(given.order)
        order = self.order.state_at_end() if finished else self.order.state(given.order)
        state = {"format": FORMAT, "batch_size": loader.batch_size, "finished": finished, **order}
        if self.data is not None:
            state.update(self.data.state(given, finished))
        return state

    def state_behind(self, loader: Any) -> dict[str, Any]:
        """Returns the state at the end of a pass that was resumed with nothing left.

        The saved state was one of an epoch's end, but that was not known when it was saved.
        """
        state = self.state(loader)
        state["begin"] = {**state["begin"], **self.order.generators_behind(self.saved or {})}
        return state


def _one_dataset(loader: Any) -> bool:
    """Returns whether threads of this process use the data set itself, instead of a copy in each
    worker.
    """
    return loader.num_workers == 0 or loader._uses_threads


def load_dataset_state(dataset: Any, saved: Mapping[str, Any]) -> None:
    if saved.get("dataset_state") is not None and has_state(dataset):
        dataset.load_state_dict(copy.deepcopy(saved["dataset_state"]))


def checked(state: Mapping[str, Any], loader: Any) -> dict[str, Any] | None:
    """Returns a state as `Progress` takes it, None for an empty one.

    InvalidArgument if it is not a state, StateMismatch if it belongs to another loader.
    """
    if isinstance(state, Mapping) and not state:
        return None
    if not isinstance(state, Mapping) or "position" not in state:
        raise InvalidArgument("load_state_dict: this is no state of a forebay.torch.DataLoader")
    if state.get("format") != FORMAT:
        raise StateMismatch(f"the state has format {state.get('format')!r}, this version of Forebay reads {FORMAT}")
    if state.get("batch_size") != loader.batch_size and not state.get("finished"):
        raise StateMismatch(f"the state counts batches of {state.get('batch_size')}, this DataLoader makes batches of "
                            f"{loader.batch_size}; make it with the same batch_size, and change that at an epoch's end")
    position = operator.index(state["position"])
    if position < 0:
        raise InvalidArgument(f"load_state_dict: the position is {position}")
    _check_workers(state, loader)
    return dict(state)


def _check_workers(state: Mapping[str, Any], loader: Any) -> None:
    """Checks the number of workers.

    Workers share an iterable data set, and each has its own copy of one with a state, so the number
    of workers is part of the position.
    """
    workers = state.get("workers")
    iterable = loader._dataset_kind == _DatasetKind.Iterable
    if state.get("iterable", iterable) != iterable:
        raise StateMismatch("the state is of an iterable data set, and this DataLoader's has indices")
    if workers is None or workers == (0 if _one_dataset(loader) else loader.num_workers):
        return
    parts = [state, *state.get("_snapshot", {}).get("_worker_snapshots", {}).values()]
    own = any(part.get("dataset_state") is not None for part in parts)
    if own or (iterable and not state["finished"]):
        here = "threads (thread_safe=True)" if loader._uses_threads else f"num_workers={loader.num_workers}"
        raise StateMismatch(f"the state is of num_workers={workers}, and this DataLoader has {here}: each "
                            "worker process stands at a place of its own in the data set; make it with the same num_workers")
