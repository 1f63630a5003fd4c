"""Where a pass over a DataLoader stands, and how another one gets there."""

from __future__ import annotations

import base64
import contextlib
import copy
import itertools
import operator
import zlib
from collections import deque
from typing import Any, Iterator, Mapping

import torch
from torch.utils.data import DistributedSampler, SequentialSampler, _DatasetKind

from ..errors import InvalidArgument, StateMismatch

FORMAT = 1


class Progress:
    """One pass: its beginning (states of the generators) and how many batches were delivered.

    Goes where `state` says, if one is given: generators are set back to the beginning of its epoch, the sampler is gone
    through again without loading anything, and a checksum of the indices shows that it gave the same ones. A sampler with
    `state_dict` and `load_state_dict` is asked instead, and so is an iterable data set that is read on the caller's thread.
    """

    def __init__(self, loader: Any, state: Mapping[str, Any] | None) -> None:
        self._iterable = loader._dataset_kind == _DatasetKind.Iterable
        self._resumes = state is not None
        state = state or {}
        self._position = state.get("position", 0)
        self._expected = state.get("order")
        self._stateful = stateful_sampler(loader)
        self._rewind_default = decoded(state["default_generator"]) if "default_generator" in state else None
        if self._resumes:
            self._go_to(state, loader)
        own = self._stateful is not None and "sampler" in state or "dataset" in state
        self.to_read_again = self._position if self._iterable and not own else 0
        self._to_skip = 0 if self._iterable or own else self._position
        self.yielded = self._position - self.to_read_again
        self.finished = False
        self._order = state.get("order", 0) if own else 0
        self._sampler_state = state.get("sampler")
        self._pending: deque[tuple[int, Any]] = deque()  # checksum and sampler's state, of batches on their way
        self._drawn = self._order
        self._generators = {name: generator.get_state() for name, generator in generators(loader).items()}
        self._default = torch.get_rng_state() if self._rewind_default is None else self._rewind_default

    def _go_to(self, state: Mapping[str, Any], loader: Any) -> None:
        found = generators(loader)
        for name, text in state.get("generators", {}).items():
            if name not in found:
                raise StateMismatch(f"the state holds a generator of the {name}, and this DataLoader has none there")
            found[name].set_state(decoded(text))
        sampler = loader.sampler
        if "sampler_epoch" in state and hasattr(sampler, "set_epoch"):
            sampler.set_epoch(state["sampler_epoch"])
        if "sampler" in state:
            if self._stateful is None:
                raise StateMismatch("the state is of a sampler with load_state_dict(), and this DataLoader's has none")
            self._stateful.load_state_dict(copy.deepcopy(state["sampler"]))
        if "dataset" in state:
            loader.dataset.load_state_dict(copy.deepcopy(state["dataset"]))

    @contextlib.contextmanager
    def replaying(self) -> Iterator[None]:
        """Inside, PyTorch's default generator stands where it did at the beginning of the epoch."""
        if self._rewind_default is None:
            yield
            return
        now = torch.get_rng_state()
        torch.set_rng_state(self._rewind_default)
        try:
            yield
        finally:
            torch.set_rng_state(now)

    # Called by iterators

    def skip(self, indices: Iterator[Any]) -> Iterator[Any]:
        """The rest of the indices, behind those of batches that were delivered before."""
        if not self._resumes or self._iterable:
            return indices
        for done in range(self._to_skip):
            try:
                self._drawn = _checksum(self._drawn, next(indices))
            except StopIteration:
                raise StateMismatch(f"the state is behind batch {self._to_skip}, and the sampler gives {done}") from None
        if self._to_skip and self._drawn != self._expected:
            raise StateMismatch(
                "the sampler gives other indices than before the state was saved, so going on would repeat some samples and "
                "leave out others; give it a torch.Generator that the DataLoader can see (generator=), or state_dict() and "
                "load_state_dict()")
        self._order = self._drawn
        first = list(itertools.islice(indices, 1))  # samplers draw their seed with the first index
        return itertools.chain(first, indices)

    def drawn(self, index: Any) -> None:
        if not self._iterable:
            self._drawn = _checksum(self._drawn, index)
        state = copy.deepcopy(self._stateful.state_dict()) if self._stateful is not None else None
        self._pending.append((self._drawn, state))

    def delivered(self) -> None:
        self.yielded += 1
        if self._pending:
            self._order, self._sampler_state = self._pending.popleft()

    def finish(self) -> None:
        self.finished = True

    # The state

    def state(self, loader: Any) -> dict[str, Any]:
        """Of the loader whose pass this is. (Not kept here: a pass must not keep its loader alive.)"""
        state: dict[str, Any] = {"format": FORMAT, "batch_size": loader.batch_size, "position": 0}
        if self.finished or (not self._iterable and self.yielded > 0 and self.yielded == _length(loader)):
            state["generators"] = {name: encoded(one.get_state()) for name, one in generators(loader).items()}
            return state
        state["position"] = self.yielded
        state["generators"] = {name: encoded(one) for name, one in self._generators.items()}
        if isinstance(getattr(loader.sampler, "epoch", None), int) and hasattr(loader.sampler, "set_epoch"):
            state["sampler_epoch"] = loader.sampler.epoch
        if self._iterable:
            if loader.num_workers == 0 and _has_state(loader.dataset):
                state["dataset"] = loader.dataset.state_dict()
            return state
        if self._stateful is not None:
            if self.yielded:
                state["sampler"] = self._sampler_state
            return state
        state["order"] = self._order
        if type(loader.sampler) not in (SequentialSampler, DistributedSampler):
            state["default_generator"] = encoded(self._default)
        return state


def checked(state: Mapping[str, Any], loader: Any) -> dict[str, Any]:
    """A state as `Progress` takes it. InvalidArgument for what is none, StateMismatch for another loader's."""
    if not isinstance(state, Mapping) or "position" not in state:
        raise InvalidArgument("load_state_dict: this is no state of a forebay.torch.DataLoader")
    if state.get("format") != FORMAT:
        raise StateMismatch(f"the state has format {state.get('format')!r}, this version of Forebay reads {FORMAT}")
    if state.get("batch_size") != loader.batch_size:
        raise StateMismatch(f"the state counts batches of {state.get('batch_size')}, this DataLoader makes batches of "
                            f"{loader.batch_size}; make it with the same batch_size, and change that at an epoch's end")
    position = operator.index(state["position"])
    if position < 0:
        raise InvalidArgument(f"load_state_dict: the position is {position}")
    return dict(state)


def stateful_sampler(loader: Any) -> Any:
    """The sampler that can save its own position, if there is one."""
    candidates = (loader.batch_sampler, loader.sampler)
    return next((one for one in candidates if one is not None and _has_state(one)), None)


def generators(loader: Any) -> dict[str, torch.Generator]:
    """The generators that decide the order, as far as they can be seen from outside, each once."""
    places = {
        "loader": loader.generator,
        "batch_sampler": getattr(loader.batch_sampler, "generator", None),
        "sampler": getattr(loader.sampler, "generator", None),
        "inner_sampler": getattr(getattr(loader.batch_sampler, "sampler", None), "generator", None),
    }
    found: dict[str, torch.Generator] = {}
    for name, generator in places.items():
        if isinstance(generator, torch.Generator) and all(generator is not other for other in found.values()):
            found[name] = generator
    return found


def _has_state(thing: Any) -> bool:
    return hasattr(thing, "state_dict") and hasattr(thing, "load_state_dict")


def _length(loader: Any) -> int:
    try:
        return len(loader)
    except (TypeError, NotImplementedError):
        return -1


def _checksum(before: int, index: Any) -> int:
    return zlib.crc32(repr(index).encode(), before)


def encoded(state: torch.Tensor) -> str:
    return base64.b64encode(state.numpy().tobytes()).decode()


def decoded(text: str) -> torch.Tensor:
    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8)
