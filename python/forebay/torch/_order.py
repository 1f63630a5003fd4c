"""The indices of one pass. They are drawn when PyTorch would draw them, and drawn again when a
loader resumes.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import types
import zlib
from typing import Any, Iterator, Mapping, NamedTuple

import torch
from torch.utils.data import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
    _DatasetKind,
)

from ..errors import StateMismatch
from . import _generators


class Delivered(NamedTuple):
    """The batches of a pass that the loop has received."""

    position: int = 0  # number of batches without a gap
    ahead: frozenset[int] = frozenset()  # numbers of batches that arrived before an earlier one

    def with_batch(self, number: int) -> Delivered:
        ahead, position = self.ahead | {number}, self.position
        while position in ahead:
            position += 1
        return Delivered(position, frozenset(one for one in ahead if one > position))


class Order:
    """The indices that a sampler gives in one pass, and how another pass gets the same ones.

    The states of the generators are saved just before PyTorch draws from them: before it asks the
    sampler for an iterator, and before the first index. To resume, the generators are set back to
    these states, the indices of delivered batches are drawn without loading anything, and a
    checksum verifies that they are the same. A sampler (or its iterator) with `state_dict` and
    `load_state_dict` restores itself instead. PyTorch's default generator belongs to the program,
    so it is set back only while the indices are drawn.
    """

    def __init__(self, loader: Any, saved: Mapping[str, Any] | None) -> None:
        self.iterable = loader._dataset_kind == _DatasetKind.Iterable
        self.start = Delivered()  # beginning of the pass
        self.numbers_drawn = 0
        self._drawing = False  # the sampler is running, or was interrupted while it ran
        self._ended = False  # the sampler has no more indices
        self._saved = saved
        self._batches = loader._index_sampler if type(loader._index_sampler) is BatchSampler else None
        self._sampler = loader.sampler
        self._index_sampler = loader._index_sampler
        self._stateful = _stateful_sampler(loader)
        self._generators = _generators.of_loader(loader)
        self._default_matters = loader.generator is None or not (self.iterable or _draws_elsewhere(loader))
        self._now: torch.Tensor | None = None  # the default generator's state, to be restored
        self._source: Any = None  # the sampler's iterator
        self._indices: Iterator[Any] | None = None  # the same, or preceded by one index that was drawn early
        self._begin: dict[str, Any] | None = None
        self._first: dict[str, Any] | None = None
        # States at the beginning of the pass in this process. The default generator still had the
        # program's state then.
        self._since: dict[str, Any] | None = None
        self._places: dict[int, dict[str, Any]] = {}  # number of delivered batches → what the state needs there
        self._checksum = 0

    # Called by iterators, in this order

    def before_iterator(self) -> None:
        """Called before the workers' seed is drawn. Restores a state of an epoch's end here if it
        holds no seed.
        """
        if self._saved is not None and self._counts_from_seed():
            self._go_to(self._saved)

    def begin(self) -> None:
        """Called before the sampler is asked for its iterator."""
        if self._saved is not None and not self._counts_from_seed():
            self._go_to(self._saved)
        self._begin = self._generator_states()
        self._places[0] = self._place()

    def attach(self, indices: Iterator[Any]) -> None:
        """Takes the sampler's iterator. On resume it is advanced at once past the delivered
        batches.
        """
        if self._indices is not None:
            return
        lazy = isinstance(indices, types.GeneratorType)
        self._source = self._indices = _Batches(self._batches) if self._batches is not None else indices
        if lazy:
            self._begin = None  # nothing is drawn before the first index
        if self._saved is not None:
            self._first_index()

    def next(self) -> Any:
        """Returns the next index of a batch that was not delivered. Raises the sampler's
        StopIteration.
        """
        if self._first is None:
            self._first = self._since = self._generator_states()
        while True:
            index = self._draw()
            self._count(index)
            if self.numbers_drawn - 1 not in self.start.ahead:
                return index

    def forget(self, delivered: Delivered) -> None:
        """Drops the saved places before this one; no state of them is requested any more."""
        for position in [one for one in self._places if one < delivered.position]:
            del self._places[position]

    def settle(self) -> None:
        """Restores the program's default generator."""
        if self._now is not None:
            torch.set_rng_state(self._now)
            self._now = None

    # The state

    def over(self, delivered: Delivered) -> bool:
        """Returns whether no batch follows.

        At the end of its length the sampler is asked for another index if it may have one. For an
        iterable data set the end is unknown until it has been read.
        """
        if self.iterable or self._drawing or self._indices is None or self.numbers_drawn > delivered.position:
            return False
        if not self._ended and delivered.position >= max(1, self._length):
            self._peek()
        return self._ended and delivered.position > 0

    def state(self, delivered: Delivered) -> dict[str, Any]:
        """Returns the state in the middle of a pass."""
        if self._first is None:
            self._first_index()
        assert self._first is not None
        state: dict[str, Any] = {"position": delivered.position, **self._epoch()}
        if delivered.ahead:
            state["ahead"] = sorted(delivered.ahead)
        if self._begin is not None:
            state["begin"] = _as_text(self._begin)
        state["first"] = _as_text(self._first)
        if delivered.position >= self._length:  # possibly the end of the epoch; a resuming loader finds out
            state["end"] = {**self._end_of_saved(), **self._difference(self._generator_states(), self._since)}
        if not self.iterable:
            state.update(copy.deepcopy(self._places[delivered.position]))
        return state

    def generators_behind(self, saved: Mapping[str, Any]) -> dict[str, str]:
        """Returns the generators at the epoch's end if `saved` proved to be a state of that end.
        Generators of a sampler that ran again are already there.
        """
        if "end" not in saved:
            return {}
        then = {**saved["first"], **saved["end"]}
        return then if self.iterable else {name: state for name, state in then.items() if name == "default"}

    def state_at_end(self) -> dict[str, Any]:
        """Returns the state after the last index: the beginning of the next epoch."""
        state: dict[str, Any] = {"position": 0, **self._epoch(), "begin": _as_text(self._generator_states())}
        if self._stateful is not None:
            state["sampler"] = copy.deepcopy(self._stateful.state_dict())
        return state

    def _epoch(self) -> dict[str, int]:
        epoch = getattr(self._sampler, "epoch", None)
        return {"sampler_epoch": epoch} if isinstance(epoch, int) and hasattr(self._sampler, "set_epoch") else {}

    def _place(self) -> dict[str, Any]:
        place: dict[str, Any] = {"order": self._checksum}
        if self._stateful is not None:
            place["sampler"] = copy.deepcopy(self._stateful.state_dict())
        inner = self._inner()
        if has_state(inner):
            place["sampler_iterator"] = copy.deepcopy(inner.state_dict())
        if getattr(self._source, "ended", False):
            place["sampler_ended"] = True
        return place

    def _inner(self) -> Any:
        return self._source.inner if isinstance(self._source, _Batches) else self._source

    def _generator_states(self) -> dict[str, Any]:
        return {**{name: generator.get_state() for name, generator in self._generators.items()}, **self._default_state()}

    def _default_state(self) -> dict[str, Any]:
        return {"default": torch.get_rng_state()} if self._default_matters else {}

    def _end_of_saved(self) -> dict[str, str]:
        return self._saved.get("end", {}) if self._saved is not None and not self._saved["finished"] else {}

    # Resuming

    def _counts_from_seed(self) -> bool:
        assert self._saved is not None
        return bool(self._saved["finished"]) and "seed" not in self._saved

    def _go_to(self, saved: Mapping[str, Any]) -> None:
        self._set_generators(saved.get("begin", {}))
        # At an epoch's end, load_state_dict() has set it. A value that the program set since then
        # is for the epoch that begins.
        if "sampler_epoch" in saved and not saved["finished"] and hasattr(self._sampler, "set_epoch"):
            self._sampler.set_epoch(saved["sampler_epoch"])
        if "sampler" in saved:
            if self._stateful is None:
                raise StateMismatch("the state is of a sampler with load_state_dict(), and this DataLoader's has none")
            self._stateful.load_state_dict(copy.deepcopy(saved["sampler"]))

    def _first_index(self) -> None:
        """Draws the first index after the delivered batches, and holds it until it is requested."""
        saved = self._saved or {}
        self._set_generators(saved.get("first", {}))
        self._first = self._generator_states()
        if self.iterable:
            self.start = Delivered(saved.get("position", 0))
        else:
            if saved and not saved["finished"]:
                self._skip(saved)
            self._peek()  # samplers draw their seed together with it
        self.settle()
        self._since = {**self._first, **self._default_state()}

    def _draw(self) -> Any:
        if self._ended:
            raise StopIteration
        assert self._indices is not None
        self._drawing = True  # remains set if the sampler raises: its later indices are unreliable
        try:
            index = next(self._indices)
        except StopIteration:
            self._ended, self._drawing = True, False
            raise
        self._drawing = False
        return index

    def _peek(self) -> None:
        """Draws the next index, and holds it until it is requested."""
        with contextlib.suppress(StopIteration):
            index = self._draw()
            self._indices = itertools.chain([index], self._indices)

    def _set_generators(self, texts: Mapping[str, str]) -> None:
        for name, text in texts.items():
            if name == "default":
                self._borrow_default(_generators.decoded(text))
            elif name not in self._generators:
                raise StateMismatch(f"the state holds a generator of the {name}, and this DataLoader has none there")
            else:
                self._generators[name].set_state(_generators.decoded(text))

    def _borrow_default(self, state: torch.Tensor) -> None:
        now = torch.get_rng_state()
        if torch.equal(now, state):
            return  # the program has restored it, so it advances as it did before
        if self._now is None:
            self._now = now
        torch.set_rng_state(state)

    def _skip(self, saved: Mapping[str, Any]) -> None:
        position = saved["position"]
        self.start = Delivered(position, frozenset(saved.get("ahead", ())))
        if isinstance(self._source, _Batches):
            self._source.start("sampler" in saved and bool(saved.get("sampler_ended")))
        if "sampler" in saved or ("sampler_iterator" in saved and has_state(self._inner())):
            if "sampler_iterator" in saved and has_state(self._inner()):
                self._inner().load_state_dict(copy.deepcopy(saved["sampler_iterator"]))
            self.numbers_drawn, self._checksum = position, saved["order"]
        else:
            self._draw_again(position, saved["order"])
        self._places = {position: self._place()}
        self._places[position].update({name: saved[name] for name in ("sampler", "sampler_iterator") if name in saved})

    def _draw_again(self, position: int, expected: int) -> None:
        assert self._indices is not None
        for done in range(position):
            try:
                self._count(self._draw())
            except StopIteration:
                raise StateMismatch(f"the state is behind batch {position}, and the sampler gives {done}") from None
        if self._checksum != expected:
            raise StateMismatch(
                "the sampler gives other indices than before the state was saved, so going on would repeat some samples and "
                "leave out others; give it a torch.Generator that the DataLoader can see (generator=), or state_dict() and "
                "load_state_dict()")

    @property
    def _length(self) -> int:
        """The known minimum number of batches in the pass."""
        if self.iterable:
            return 0
        try:
            return len(self._index_sampler)
        except TypeError:  # the sampler has no length
            return 0

    @staticmethod
    def _difference(states: Mapping[str, Any], before: Mapping[str, Any] | None) -> dict[str, str]:
        assert before is not None
        return _as_text({name: state for name, state in states.items() if not torch.equal(state, before[name])})

    def _count(self, index: Any) -> None:
        self._checksum = zlib.crc32(repr(index).encode(), self._checksum)
        self.numbers_drawn += 1
        self._places[self.numbers_drawn] = self._place()


class _Batches:
    """Equivalent of PyTorch's BatchSampler that gives access to the sampler's own iterator."""

    def __init__(self, sampler: BatchSampler) -> None:
        self.inner: Iterator[Any] | None = None
        self.ended = False  # the iterator ended within the last, incomplete batch
        self._sampler = sampler

    def start(self, ended: bool) -> None:
        self.ended = ended
        self.inner = iter(()) if ended else iter(self._sampler.sampler)

    def __iter__(self) -> _Batches:
        return self

    def __next__(self) -> list[Any]:
        if self.inner is None:
            self.start(False)
        assert self.inner is not None
        batch = list(itertools.islice(self.inner, self._sampler.batch_size))
        self.ended = len(batch) < self._sampler.batch_size
        if not batch or (self._sampler.drop_last and self.ended):
            raise StopIteration
        return batch


def has_state(thing: Any) -> bool:
    return hasattr(thing, "state_dict") and hasattr(thing, "load_state_dict")


def _stateful_sampler(loader: Any) -> Any:
    """Returns the sampler that can save its own position, or None."""
    candidates = (loader.batch_sampler, loader.sampler)
    return next((one for one in candidates if one is not None and has_state(one)), None)


def _draws_elsewhere(loader: Any) -> bool:
    """Returns whether the order is known not to use PyTorch's default generator."""
    if loader.batch_sampler is not None and type(loader.batch_sampler) is not BatchSampler:
        return False
    sampler = loader.sampler
    if type(sampler) in (SequentialSampler, DistributedSampler):
        return True
    return type(sampler) in (RandomSampler, SubsetRandomSampler, WeightedRandomSampler) and sampler.generator is not None


def _as_text(states: Mapping[str, torch.Tensor]) -> dict[str, str]:
    return {name: _generators.encoded(state) for name, state in states.items()}
