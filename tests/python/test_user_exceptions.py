"""Exceptions of the user's code, of every odd kind: none ends a loop in silence, none is taken for another, none is lost."""
import asyncio
import builtins
import dataclasses

import numpy as np
import pytest
from loading import epoch_ids

import forebay as fb

BAD, ROWS = 5, 12


def numbers():
    return fb.arrays(x=np.arange(ROWS, dtype=np.int64))


# Kinds of exceptions


class NoText(Exception):
    def __str__(self):
        raise ValueError("no text today")


class TextThatExits(Exception):
    def __str__(self):
        raise SystemExit(3)


class TextIsNone(Exception):
    def __str__(self):
        return None


class OddFormat(Exception):
    def __format__(self, spec):
        raise TypeError("no format")


@dataclasses.dataclass(frozen=True)
class Frozen(Exception):
    what: str = "frozen"


class NoNotes(Exception):
    def add_note(self, note):
        raise RuntimeError("no notes, please")


class OtherNotes(Exception):
    __notes__ = 5


class OddAttributes(Exception):
    def __getattr__(self, name):
        raise KeyError(name)


class Liar(Exception):
    @property
    def __class__(self):
        raise ValueError("who knows")


class NamedOddly(type):
    @property
    def __name__(cls):
        raise ValueError("no name")


class OddName(Exception, metaclass=NamedOddly):
    pass


class NeverEqual(Exception):
    __hash__ = None

    def __eq__(self, other):
        raise ValueError("not to be compared")


class WantsArguments(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


class TextOfItsOwn(str):
    def __str__(self):
        raise ValueError("no")


class OddText(Exception):
    def __str__(self):
        return TextOfItsOwn("of its own kind")


class OwnStop(StopIteration):
    pass


class OwnExit(BaseException):
    pass


# What is bad with a sample: the policies may act on it.
OF_THE_SAMPLE = {
    "plain": lambda: ValueError("plain"), "no text": NoText, "text that exits": TextThatExits, "text is None": TextIsNone,
    "odd format": OddFormat, "frozen": Frozen, "no notes": NoNotes, "other notes": OtherNotes, "odd attributes": OddAttributes,
    "liar": Liar, "odd name": OddName, "never equal": NeverEqual, "wants arguments": lambda: WantsArguments(1, 2),
    "odd text": OddText, "lone surrogate": lambda: ValueError("a \ud800 b"), "low surrogate": lambda: ValueError("\udfff"),
    "odd file name": lambda: FileNotFoundError(2, "No such file", "caf\udce9.jpg"), "nul": lambda: ValueError("a\0b"),
    "empty": Exception, "long": lambda: ValueError("x" * 10_000_000), "bytes": lambda: ValueError(b"\xff\xfe"),
    "undecodable": lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), "assertion": AssertionError,
    "own": lambda: fb.Corrupt("mine", key="k", sample=3), "stop": lambda: StopIteration("stop"), "own stop": OwnStop,
    "stop with a value": lambda: StopIteration({"x": 1}), "async stop": StopAsyncIteration, "recursion": RecursionError,
    "group": lambda: getattr(builtins, "ExceptionGroup", ValueError)("several", [ValueError(1), SystemError(2)]),
}
# What asks the program to end, or says that the machine can do no more: always raised.
OF_THE_PROGRAM = {
    "exit": lambda: SystemExit(7), "interrupt": KeyboardInterrupt, "generator exit": GeneratorExit,
    "cancelled": asyncio.CancelledError, "own exit": OwnExit, "memory": MemoryError,
}


# Places where they are raised


class Raising:
    def __init__(self, make):
        self.make = make

    def __len__(self):
        return ROWS

    def __getitem__(self, i):
        if i == BAD:
            raise self.make()
        return {"x": np.int64(i)}


def through(make):
    def function(sample):
        if sample["x"] == BAD:
            raise make()
        return sample

    return function


def kept(make):
    return lambda sample: bool(through(make)(sample))


PLACES = {
    "map": lambda make: numbers().map(through(make)),
    "map of fields": lambda make: numbers().map(through(make), fields="x"),
    "filter": lambda make: numbers().filter(kept(make)),
    "data set": lambda make: fb.Dataset(Raising(make)),
}


def raised(pipeline, **options):
    """What comes out of a plain loop over an epoch."""
    with fb.Loader(pipeline.batch(4), epochs=1, **options) as loader:
        try:
            for _ in loader:
                pass
        except BaseException as error:
            return error
    raise AssertionError("the loop ended as if nothing had happened")


def expected_type(error):
    return RuntimeError if issubclass(type(error), StopIteration) else type(error)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", [*OF_THE_SAMPLE, *OF_THE_PROGRAM])
def test_it_comes_out_of_the_loop_as_what_it_is(kind, place):
    make = {**OF_THE_SAMPLE, **OF_THE_PROGRAM}[kind]
    error = raised(PLACES[place](make))
    assert type(error) is expected_type(make())


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", OF_THE_SAMPLE)
def test_skip_leaves_the_sample_out_and_says_so(kind, place):
    make = OF_THE_SAMPLE[kind]
    with fb.Loader(PLACES[place](make).batch(4), epochs=1, on_error="skip") as loader:
        assert epoch_ids(loader) == [i for i in range(ROWS) if i != BAD]
        (entry,) = loader.errors()
    assert entry["sample"] == BAD and entry["count"] == 1
    assert len(entry["message"]) < 5000
    entry["message"].encode("utf-8", "surrogateescape")


@pytest.mark.parametrize("kind", OF_THE_SAMPLE)
def test_replace_puts_another_in_its_place(kind):
    with fb.Loader(numbers().map(through(OF_THE_SAMPLE[kind])).batch(4), epochs=1, on_error="replace") as loader:
        ids = epoch_ids(loader)
    assert len(ids) == ROWS and ids[BAD] != BAD


@pytest.mark.parametrize("policy", ["skip", "replace"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", OF_THE_PROGRAM)
def test_no_policy_swallows_what_asks_the_program_to_end(kind, place, policy):
    make = OF_THE_PROGRAM[kind]
    assert type(raised(PLACES[place](make), on_error=policy)) is type(make())


# In worker processes


def through_processes(kind):
    def function(sample):
        if sample["x"] == BAD:
            raise {**OF_THE_SAMPLE, **OF_THE_PROGRAM}[kind]()
        return sample

    return function


@pytest.mark.parametrize("kind", ["no text", "frozen", "odd attributes", "lone surrogate", "stop", "own stop", "liar"])
def test_worker_processes_tell_of_odd_ones_too(kind):
    with fb.Loader(numbers().map(through_processes(kind), workers="processes").batch(4), epochs=1, threads=1,
                   on_error="skip") as loader:
        assert epoch_ids(loader) == [i for i in range(ROWS) if i != BAD]
        (entry,) = loader.errors()
    assert entry["sample"] == BAD


@pytest.mark.parametrize("make", [lambda: SystemExit(7), lambda: type("Gone", (BaseException,), {})("gone")])
def test_an_exit_in_a_worker_process_is_raised_even_where_its_type_cannot_be_sent(make):
    def function(sample):
        raise make()

    error = raised(numbers().map(function, workers="processes"), threads=1, on_error="skip")
    assert not isinstance(error, Exception) and ("gone" in str(error) or error.code == 7)


# StopIteration, in particular


def test_a_stop_says_where_it_came_from_and_loses_no_batch_before_it():
    def stop(sample):
        if sample["x"] == 9:
            next(iter(()))
        return sample

    with fb.Loader(numbers().map(stop).batch(4), epochs=1) as loader:
        batches = iter(loader)
        assert next(batches).ids.tolist() == [0, 1, 2, 3] and next(batches).ids.tolist() == [4, 5, 6, 7]
        with pytest.raises(RuntimeError, match=r"stop.* raised StopIteration") as caught:
            next(batches)
    assert type(caught.value.__cause__) is StopIteration


def test_neither_digest_nor_length_nor_list_takes_a_stop_for_the_end():
    make = OF_THE_SAMPLE["stop"]
    for use in (fb.digest, list, len, lambda loader: loader.state_dict()):
        for place in ("map", "filter"):
            with fb.Loader(PLACES[place](make).batch(4), epochs=1) as loader:
                if place == "map" and use not in (fb.digest, list):
                    use(loader)
                    continue
                with pytest.raises(RuntimeError, match="StopIteration"):
                    use(loader)


# Notes


def test_an_exception_object_raised_again_and_again_gains_one_note():
    once = ValueError("always the same")

    def always(sample):
        raise once

    with fb.Loader(numbers().map(always).batch(4), epochs=2, on_error="skip") as loader:
        assert epoch_ids(loader) == []
        list(loader)
    assert not getattr(once, "__notes__", [])
    error = raised(numbers().map(always))
    assert error is once
    if hasattr(error, "add_note"):
        assert len(error.__notes__) == 1 and "sample 0" in error.__notes__[0]
