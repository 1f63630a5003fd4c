"""Items that follow the epoch: each is made with the epoch that it is of, also ahead of the loop and by any kind of worker."""
import copy
import itertools
import logging
import threading

import numpy as np
import pytest

import forebay as fb

ROWS, BATCH, EPOCHS = 24, 4, 3


class Curriculum:
    epoch = -1

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return ROWS

    def __getitem__(self, i):
        return {"i": i, "epoch": self.epoch}


class Settings:
    epoch = -1


class Nested(Curriculum):
    """What it sets is shared by its copies."""

    def __init__(self):
        self.settings = Settings()

    def set_epoch(self, epoch):
        self.settings.epoch = epoch

    def __getitem__(self, i):
        return {"i": i, "epoch": self.settings.epoch}


class Uncopied(Curriculum):
    def __copy__(self):
        raise TypeError("not this one")


class Order(Curriculum):
    """Its order of items is another one in each epoch."""

    def __init__(self):
        self.order = None

    def set_epoch(self, epoch):
        self.epoch = epoch
        self.order = np.random.default_rng(epoch).permutation(ROWS)

    def __getitem__(self, i):
        return {"i": int(self.order[i]), "epoch": self.epoch}


KINDS = [Curriculum, Nested, Uncopied, Order]


def epochs_of(loader):
    return [epoch for batch in loader for epoch in batch["epoch"].tolist()]


@pytest.mark.filterwarnings("ignore:the data set")
@pytest.mark.parametrize("called", [True, False], ids=["called by the program too", "called by the engine"])
@pytest.mark.parametrize("workers", ["threads", "processes"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_item_has_its_epoch(kind, workers, called):
    dataset = kind()
    with fb.Loader(fb.Dataset(dataset, workers=workers).shuffle().batch(BATCH), epochs=EPOCHS, threads=2) as loader:
        for epoch in range(EPOCHS):
            if called:
                dataset.set_epoch(epoch)
            assert epochs_of(loader) == [epoch] * ROWS


@pytest.mark.filterwarnings("ignore:the data set")
@pytest.mark.parametrize("kind", KINDS)
def test_after_a_resume_a_jump_and_a_restart(kind):
    pipeline = fb.Dataset(kind()).batch(BATCH)
    with fb.Loader(pipeline) as loader:
        epochs_of(loader)
        epochs_of(itertools.islice(loader, 2))
        state = loader.state_dict()
    with fb.Loader(fb.Dataset(kind()).batch(BATCH), restart=True) as loader:
        loader.load_state_dict(state)
        assert epochs_of(loader) == [1] * (ROWS - 2 * BATCH)
        loader.set_epoch(7)
        assert epochs_of(itertools.islice(loader, 3)) == [7] * 3 * BATCH
        assert epochs_of(loader) == [7] * ROWS
        loader.set_epoch(0)
        assert epochs_of(loader) == [0] * ROWS
        assert epochs_of(loader) == [1] * ROWS


@pytest.mark.filterwarnings("ignore:the data set")
@pytest.mark.parametrize("kind", KINDS)
def test_two_loaders_of_one_pipeline_in_different_epochs(kind):
    pipeline = fb.Dataset(kind()).batch(BATCH)
    with fb.Loader(pipeline) as one, fb.Loader(pipeline) as other:
        other.set_epoch(5)
        for number, (a, b) in enumerate(zip(one, other, strict=True)):
            assert set(a["epoch"].tolist()) == {0} and set(b["epoch"].tolist()) == {5}, number


def test_a_data_set_within_one_of_pytorchs():
    torch = pytest.importorskip("torch", reason="PYTORCH ABSENT")

    class Inner(Curriculum, torch.utils.data.Dataset):
        pass

    wrapped = torch.utils.data.ConcatDataset([torch.utils.data.Subset(Inner(), range(10)), Inner()])
    with fb.Loader(fb.Dataset(wrapped).batch(2), epochs=2) as loader:
        for epoch in range(2):
            assert epochs_of(loader) == [epoch] * (10 + ROWS)


def test_an_error_of_set_epoch_is_that_of_the_first_item():
    class Fails(Curriculum):
        def set_epoch(self, epoch):
            if epoch == 1:
                raise LookupError("no such epoch")
            self.epoch = epoch

    with fb.Loader(fb.Dataset(Fails()).batch(BATCH)) as loader:
        assert epochs_of(loader) == [0] * ROWS
        with pytest.raises(LookupError, match="no such epoch"):
            epochs_of(loader)


class Asked(Curriculum):
    def __init__(self):
        self.asked, self.lock = [], threading.Lock()

    def __getitem__(self, i):
        with self.lock:
            self.asked.append(self.epoch)
        return super().__getitem__(i)


def test_no_item_is_read_before_its_epoch_has_begun_unless_epoch_is_false():
    dataset = Asked()
    with fb.Loader(fb.Dataset(dataset).batch(BATCH)) as loader:
        epochs_of(loader)
        assert set(dataset.asked) == {0} and len(dataset.asked) == ROWS
    with fb.Loader(fb.Dataset(Asked(), epoch=False).batch(BATCH)) as loader:
        assert epochs_of(loader) == [-1] * ROWS


def test_the_log_says_once_what_it_costs(caplog):
    class Told(Curriculum):
        pass

    with caplog.at_level(logging.WARNING, "forebay"):
        fb.Dataset(Told())
        fb.Dataset(Told())
        fb.Dataset(Told(), epoch=False)
    lines = [record.getMessage() for record in caplog.records if "Told" in record.getMessage()]
    assert len(lines) == 1 and "begins with a wait" in lines[0] and ".map(fn, epoch=True)" in lines[0]


def test_epoch_true_without_set_epoch_is_refused():
    with pytest.raises(fb.InvalidArgument, match=r"has no set_epoch.*\.map\(fn, epoch=True\)"):
        fb.Dataset([1, 2, 3], epoch=True)


# .map(epoch=True)


def with_epoch(sample, *, epoch):
    return {"x": sample["x"], "epoch": epoch}


def with_both(sample, rng, *, epoch):
    return {"x": sample["x"], "epoch": epoch, "drawn": rng.random()}


def without(sample, rng):
    return {"x": sample["x"], "epoch": -1, "drawn": rng.random()}


def rows():
    return fb.arrays(x=np.arange(ROWS)).shuffle()


@pytest.mark.parametrize("workers", ["threads", "processes"])
@pytest.mark.parametrize("random", [False, True])
def test_a_function_is_told_the_epoch_of_its_sample(random, workers):
    pipeline = rows().map(with_both if random else with_epoch, epoch=True, random=random, workers=workers).batch(BATCH)
    with fb.Loader(pipeline, threads=2, seed=4) as loader:
        for epoch in range(EPOCHS):
            assert epochs_of(loader) == [epoch] * ROWS
        epochs_of(itertools.islice(loader, 1))
        state = copy.deepcopy(loader.state_dict())
    with fb.Loader(pipeline, threads=1, seed=4) as resumed:
        resumed.load_state_dict(state)
        assert epochs_of(resumed) == [EPOCHS] * (ROWS - BATCH)


def test_random_numbers_are_the_same_with_and_without():
    drawn = []
    for function, options in ((with_both, {"epoch": True}), (without, {})):
        with fb.Loader(rows().map(function, random=True, **options).batch(BATCH), seed=4, epochs=1) as loader:
            drawn.append([batch["drawn"].tolist() for batch in loader])
    assert drawn[0] == drawn[1]


BEHIND = {
    "cache": lambda pipeline: pipeline.cache(ram="1MiB", disk=0),
    "filter": lambda pipeline: pipeline.filter(lambda sample: True),
    "pack": lambda pipeline: pipeline.pack(8),
}


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("source, way_out", [
    (lambda: fb.arrays(x=np.arange(ROWS)).map(with_epoch, epoch=True), "before 1: map"),
    (lambda: fb.Dataset(Curriculum()), r"fb\.Dataset\(…, epoch=False\)"),
])
def test_what_would_keep_one_epochs_results_is_refused_behind_it(source, way_out, behind):
    problems = [str(problem) for problem in BEHIND[behind](source()).check()]
    assert any("follows the epoch" in problem for problem in problems), problems
    with pytest.raises(fb.InvalidArgument, match=way_out):
        fb.Loader(BEHIND[behind](source()).batch(BATCH) if behind != "pack" else BEHIND[behind](source()).batch(1))


def test_a_cache_before_it_and_one_behind_a_data_set_with_epoch_false_are_taken():
    assert fb.arrays(x=np.arange(ROWS)).cache(ram="1MiB", disk=0).map(with_epoch, epoch=True).batch(BATCH).check() == []
    assert fb.Dataset(Curriculum(), epoch=False).cache(ram="1MiB", disk=0).batch(BATCH).check() == []


def test_what_a_description_says_of_it():
    assert "epoch=true" in str(rows().map(with_epoch, epoch=True)) and "epoch=" not in str(rows().map(with_epoch))
    assert "epoch=true" in str(fb.Dataset(Curriculum())) and "epoch=" not in str(fb.Dataset(Curriculum(), epoch=False))
