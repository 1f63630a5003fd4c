"""forebay.torch.DataLoader beside torch.utils.data.DataLoader: the same outputs in the same order, and the same state of the
generator afterwards, for a table of cases."""
import collections
import dataclasses
import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PYTORCH ABSENT: the drop-in cannot be compared with PyTorch's DataLoader")
data = torch.utils.data

from forebay.torch import DataLoader  # noqa: E402

Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass
class Point:
    x: torch.Tensor
    name: str


class Rows(data.Dataset):
    """A tensor, an array, a number, text and nested structures, as real data sets give them."""

    def __init__(self, size=23):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        return {"tensor": torch.full((2, 3), float(i)), "array": np.arange(i, i + 3), "number": i, "real": i / 2, "text": f"row {i}",
                "raw": bytes([i]), "pair": Pair(i, (torch.tensor(i), [i, i + 1]))}


class Plain(Rows):
    def __getitem__(self, i):
        return i


class ByBatch(Rows):
    """Says how many were asked for at once."""

    def __getitem__(self, i):
        return i, 0

    def __getitems__(self, indices):
        return [(i, len(indices)) for i in indices]


class WorkerIds(Rows):
    def __getitem__(self, i):
        info = data.get_worker_info()
        return (i, -1, -1) if info is None else (i, info.id, info.num_workers)


class Fails(Rows):
    def __getitem__(self, i):
        if i in (5, 6, 17):
            raise LookupError(f"no row {i}")
        return i


class Stream(data.IterableDataset):
    """Shards itself by get_worker_info(), as its documentation says."""

    def __init__(self, size=23):
        self.size = size

    def __iter__(self):
        info = data.get_worker_info()
        begin, step = (info.id, info.num_workers) if info else (0, 1)
        yield from range(begin, self.size, step)


class Uneven(Stream):
    def __iter__(self):
        info = data.get_worker_info()
        yield from range(100 * info.id, 100 * info.id + 9 - 4 * info.id) if info else range(9)


class SizedStream(Stream):
    def __len__(self):
        return self.size


class EveryOther(data.Sampler):
    def __len__(self):
        return 12

    def __iter__(self):
        return iter(range(0, 23, 2))


class Eager(data.Sampler):
    """Draws when it is asked for an iterator, not with the first index."""

    def __len__(self):
        return 23

    def __iter__(self):
        return iter(torch.randperm(23).tolist())


class Lists(data.Sampler):
    """Batches of different sizes."""

    def __len__(self):
        return 4

    def __iter__(self):
        return iter([[3, 1], [7], [22, 0, 5], [9, 9]])


def total(samples):
    return sum(samples)


def texts(samples):
    return "|".join(map(str, samples))


def generator(seed=11):
    made = torch.Generator()
    made.manual_seed(seed)
    return made


def equal(left, right):
    assert type(left) is type(right), f"{type(left)} against {type(right)}"
    if isinstance(left, torch.Tensor):
        assert left.dtype == right.dtype and torch.equal(left, right)
    elif isinstance(left, np.ndarray):
        assert left.dtype == right.dtype and np.array_equal(left, right)
    elif isinstance(left, dict):
        assert list(left) == list(right)
        for key in left:
            equal(left[key], right[key])
    elif isinstance(left, (list, tuple)):
        assert len(left) == len(right)
        for one, other in zip(left, right):
            equal(one, other)
    else:
        assert left == right


@pytest.fixture(autouse=True)
def without_the_warning_about_cores(monkeypatch):
    monkeypatch.setattr(data.DataLoader, "check_worker_number_rationality", lambda self: None)


def outcome(cls, make, passes, stop_after=None):
    """What a loader gives in some passes, exceptions in their places, and the random numbers that come next."""
    torch.manual_seed(5)
    options = make()
    own = options.get("generator")
    loader = cls(**options)
    seen = []
    for _ in range(passes):
        iterator, count = iter(loader), 0
        while stop_after is None or count < stop_after:
            count += 1
            try:
                seen.append(next(iterator))
            except StopIteration:
                break
            except LookupError as error:
                seen.append(type(error))
        del iterator
    try:
        length = len(loader)
    except TypeError as error:
        length = type(error)
    after = [torch.randint(1 << 30, (3,)), torch.randint(1 << 30, (3,), generator=own) if own else None]
    return [length, seen, after]


def side_by_side(make, passes=2, stop_after=None):
    ours = outcome(DataLoader, make, passes, stop_after)
    theirs = outcome(data.DataLoader, make, passes, stop_after)
    equal(ours, theirs)
    assert ours[1]


SAMPLERS = {
    "in order": lambda: {},
    "shuffled": lambda: {"shuffle": True},
    "shuffled by a generator": lambda: {"shuffle": True, "generator": generator()},
    "with replacement": lambda: {"sampler": data.RandomSampler(Plain(), replacement=True, num_samples=70, generator=generator())},
    "a generator of the sampler's and one of the loader's": lambda: {
        "sampler": data.RandomSampler(Plain(), generator=generator(1)), "generator": generator(2)},
    "a subset": lambda: {"sampler": data.SubsetRandomSampler([3, 1, 22, 8, 9])},
    "weighted": lambda: {"sampler": data.WeightedRandomSampler(list(range(1, 24)), 30, generator=generator())},
    "distributed": lambda: {"sampler": data.DistributedSampler(Plain(), num_replicas=3, rank=1, seed=4)},
    "of the user's own": lambda: {"sampler": EveryOther()},
    "of the user's own, eager": lambda: {"sampler": Eager()},
    "a list": lambda: {"sampler": [4, 2, 2, 19]},
}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("batch", [{"batch_size": 4}, {"batch_size": 4, "drop_last": True}, {"batch_size": None}], ids=str)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_samplers(sampler, batch, workers):
    side_by_side(lambda: {"dataset": Plain(), "num_workers": workers, **batch, **SAMPLERS[sampler]()})


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("batches", [Lists(), [[1, 2], [3]], data.BatchSampler(data.SequentialSampler(range(23)), 5, True)],
                         ids=["of the user's own", "a list", "BatchSampler"])
def test_batch_samplers(batches, workers):
    side_by_side(lambda: {"dataset": Plain(), "batch_sampler": batches, "num_workers": workers})


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("batch_size", [5, None])
@pytest.mark.parametrize("rows", [Rows(), ByBatch(), WorkerIds(), data.TensorDataset(torch.arange(23), torch.rand(23, 2)),
                                  data.Subset(Rows(40), [30, 2, 7]), data.ConcatDataset([Rows(3), Rows(9)]), list(range(23)),
                                  np.arange(46).reshape(23, 2)], ids=lambda rows: type(rows).__name__)
def test_data_sets(rows, batch_size, workers):
    side_by_side(lambda: {"dataset": rows, "batch_size": batch_size, "num_workers": workers})


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("collate", [total, texts, len])
def test_collate_functions(collate, workers):
    side_by_side(lambda: {"dataset": Plain(), "batch_size": 6, "collate_fn": collate, "num_workers": workers})


@pytest.mark.parametrize("workers", [0, 2])
def test_a_collate_function_for_dataclasses(workers):
    class Points(Rows):
        def __getitem__(self, i):
            return Point(torch.tensor(i), str(i))

    def join(points):
        return Point(torch.stack([point.x for point in points]), "".join(point.name for point in points))

    def seen(cls):
        loader = cls(Points(), batch_size=4, collate_fn=join, num_workers=workers)
        return [(point.x, point.name) for point in loader]

    equal(seen(DataLoader), seen(data.DataLoader))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("batch_size", [4, 1, None])
def test_exceptions_arrive_in_their_places_and_the_loader_goes_on(batch_size, workers):
    side_by_side(lambda: {"dataset": Fails(), "batch_size": batch_size, "num_workers": workers, "shuffle": True})


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("stop_after", [1, 3])
@pytest.mark.parametrize("persistent", [False, True])
def test_leaving_early(persistent, stop_after, workers):
    side_by_side(lambda: {"dataset": Plain(), "batch_size": 2, "shuffle": True, "num_workers": workers, "generator": generator(),
                          "persistent_workers": persistent and workers > 0}, passes=4, stop_after=stop_after)


@pytest.mark.parametrize("prefetch_factor", [1, 2, 5])
def test_drawing_ahead_as_far_as_pytorch(prefetch_factor):
    side_by_side(lambda: {"dataset": Plain(200), "batch_size": 3, "num_workers": 2, "prefetch_factor": prefetch_factor,
                          "sampler": data.RandomSampler(Plain(200), replacement=True, generator=generator())}, stop_after=9)


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
def test_persistent_workers(shuffle, persistent):
    side_by_side(lambda: {"dataset": WorkerIds(), "batch_size": 3, "shuffle": shuffle, "num_workers": 2,
                          "persistent_workers": persistent}, passes=3)


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("batch", [{"batch_size": 4}, {"batch_size": 4, "drop_last": True}, {"batch_size": None}], ids=str)
@pytest.mark.parametrize("stream", [Stream(), Uneven(), SizedStream()], ids=lambda stream: type(stream).__name__)
def test_iterable_data_sets(stream, batch, workers):
    side_by_side(lambda: {"dataset": stream, "num_workers": workers, **batch})


@pytest.mark.parametrize("workers", [0, 2])
def test_several_iterators_at_once(workers):
    def seen(cls):
        torch.manual_seed(1)
        loader = cls(Plain(), batch_size=4, shuffle=True, num_workers=workers)
        return list(itertools.islice(zip(loader, loader), 5))

    equal(seen(DataLoader), seen(data.DataLoader))


@pytest.mark.parametrize("options", [
    {"num_workers": -1}, {"timeout": -1}, {"prefetch_factor": 2}, {"num_workers": 1, "prefetch_factor": -1},
    {"persistent_workers": True}, {"shuffle": True, "sampler": [1]}, {"batch_sampler": [[1]], "batch_size": 2},
    {"batch_sampler": [[1]], "drop_last": True}, {"batch_size": None, "drop_last": True}, {"batch_size": 0}, {"batch_size": 2.5},
    {"multiprocessing_context": "forkserver"}, {"dataset": Stream(), "shuffle": True}, {"dataset": Stream(), "sampler": [1]},
    {"dataset": Stream(), "batch_sampler": [[1]]}, {"num_workers": 1, "multiprocessing_context": "no such"}], ids=lambda options: "-".join(options))
def test_what_pytorch_refuses(options):
    said = []
    for cls in (DataLoader, data.DataLoader):
        with pytest.raises((ValueError, TypeError)) as caught:
            cls(**{"dataset": Plain(), **options})
        said.append((type(caught.value), str(caught.value)))
    assert said[0] == said[1]


def test_the_signature_is_pytorchs():
    import inspect

    ours, theirs = (inspect.signature(cls.__init__).parameters.values() for cls in (DataLoader, data.DataLoader))
    theirs = [(one.name, one.kind, one.default) for one in theirs]
    ours = [(one.name, one.kind, one.default) for one in ours]
    assert ours[: len(theirs)] == theirs
    assert {name for name, kind, _ in ours[len(theirs) :] if kind is inspect.Parameter.KEYWORD_ONLY} == {
        "thread_safe", "snapshot_every_n_steps"}
    assert len(ours) == len(theirs) + 2


def test_attributes_are_pytorchs():
    def seen(cls):
        loader = cls(Plain(), batch_size=3, shuffle=True, num_workers=2)
        with pytest.raises(ValueError):
            loader.batch_size = 4
        return [loader.batch_size, loader.num_workers, loader.prefetch_factor, loader.drop_last, loader.timeout, loader.pin_memory,
                type(loader.sampler), type(loader.batch_sampler), loader.collate_fn, loader.in_order, len(loader)]

    assert seen(DataLoader) == seen(data.DataLoader)
    assert isinstance(DataLoader(Plain()), data.DataLoader)
