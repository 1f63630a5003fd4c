"""pin_memory=True: the engine makes batches in blocks of PyTorch's allocator. A stand-in for that allocator tells whose memory each tensor is in; where there is
an accelerator, test_accelerator.py looks at real pinned memory."""
import gc
import weakref

import numpy as np
import pytest

import forebay as fb

torch = pytest.importorskip("torch")

import forebay.torch  # noqa: E402
from forebay._pinned import PinnedMemory  # noqa: E402

ROWS, BATCH = 96, 8


class StandIn(PinnedMemory):
    """Lends ordinary memory, remembers which, and copies to ordinary memory in place of pinning."""

    def __init__(self):
        super().__init__()
        self.lent, self.copied = {}, []

    def allocate(self, size):
        block = torch.empty(size, dtype=torch.uint8)
        self.lent[block.data_ptr()] = weakref.ref(block.untyped_storage())
        return block

    def pin(self, value):
        self.copied.append(value)
        return value.clone() if isinstance(value, torch.Tensor) else value

    def begins(self, tensor):
        """Whether PyTorch would find the block of a tensor, as it does when it copies one: by its storage."""
        return tensor.untyped_storage().data_ptr() in self.lent


@pytest.fixture
def memory(monkeypatch):
    """The last stand-in that a loader made."""
    made = []

    def of_accelerator(cls):
        made.append(StandIn())
        return made[-1]

    monkeypatch.setattr(PinnedMemory, "of_accelerator", classmethod(of_accelerator))
    return lambda: made[-1]


def arrays():
    numbers = np.random.default_rng(3)
    return {"image": numbers.integers(0, 256, (ROWS, 3, 17, 19), dtype=np.uint8), "label": np.arange(ROWS),
            "mask": numbers.integers(0, 2, (ROWS, 5)).astype(bool), "weight": numbers.random((ROWS, 7), dtype=np.float32)}


def pipeline():
    return fb.arrays(**arrays()).shuffle().batch(BATCH)


def bytes_of(batch):
    return {name: value.numpy().tobytes() for name, value in batch.items()}


def test_the_engine_makes_the_batches_there_and_they_have_the_same_bytes(memory):
    with fb.Loader(pipeline(), seed=5, output="torch", pin_memory=True) as pinned, fb.Loader(pipeline(), seed=5, output="torch") as plain:
        copied = []
        for _ in range(6):
            for one, other in zip(pinned, plain, strict=True):
                assert bytes_of(one) == bytes_of(other)
                assert {name: (value.dtype, value.shape) for name, value in one.items()} == {name: (value.dtype, value.shape) for name, value in other.items()}
                last = one
            copied.append(len(memory().copied))
        assert all(memory().begins(value) for _, value in last.items())
        assert copied[2] == copied[5] < 3 * len(pinned) * len(last.items()), "the first batches alone are copied"


def test_slices_are_in_the_block_too(memory):
    with fb.Loader(pipeline(), output="torch", pin_memory=True, threads=1) as loader:
        for _ in range(3):
            for batch in loader:
                part = batch["image"][3:, 1]
        assert memory().begins(part) and part.storage_offset() > 0


def test_a_block_that_the_user_holds_is_never_filled_again(memory):
    with fb.Loader(pipeline(), seed=5, output="torch", pin_memory=True) as loader:
        held = [(batch["image"], batch["image"].clone(), batch["label"], batch.ids.copy()) for _ in range(5) for batch in loader]
        for image, then, label, ids in held:
            assert torch.equal(image, then) and label.tolist() == ids.tolist()
        assert len({image.untyped_storage().data_ptr() for image, *_ in held}) == len(held)


def test_a_block_belongs_to_pytorch_once_the_batch_is_dropped(memory):
    with fb.Loader(pipeline(), seed=5, output="torch", pin_memory=True) as loader:
        for _ in range(20):
            for batch in loader:
                batch["image"]
        alive = sum(block() is not None for block in memory().lent.values())
        assert alive < 160, "as many as the window has fields, and not four for each of 240 batches"


def test_batches_and_tensors_outlive_the_loader(memory):
    loader = fb.Loader(pipeline(), seed=5, output="torch", pin_memory=True)
    for batch in loader:
        pass
    image, expected = batch["image"], batch["image"].clone()
    loader.close()
    del loader
    gc.collect()
    assert torch.equal(batch["label"], torch.from_numpy(batch.ids)) and torch.equal(image, expected)
    del batch
    assert torch.equal(image, expected)


def test_ragged_fields_and_texts(memory):
    rows = [{"tokens": np.arange(n, dtype=np.int32), "text": f"text {n}"} for n in range(1, 33)]
    described = fb.Dataset(rows).batch(4, ragged=["tokens"])
    with fb.Loader(described, output="torch", pin_memory=True) as loader:
        begins = []
        for _ in range(10):
            for batch in loader:
                values, offsets = batch["tokens"]
                assert values.tolist() == [number for row in batch.ids for number in range(row + 1)] and offsets[-1] == len(values)
                assert batch["text"] == [f"text {row + 1}" for row in batch.ids]
                begins += [memory().begins(values), memory().begins(offsets)]
        assert sum(begins) > len(begins) / 2, "sizes differ, so that now and then a block of one size is missing"


def test_what_functions_make_is_copied(memory):
    described = pipeline().map_batch(lambda batch: {"sum": batch["image"].sum((1, 2, 3))})
    with fb.Loader(described, output="torch", pin_memory=True) as loader:
        sums = torch.cat([batch["sum"] for batch in loader])
    assert len(sums) == ROWS and any(isinstance(value, torch.Tensor) and value.dtype == torch.uint64 for value in memory().copied)


def test_what_collate_makes_is_pinned_as_pytorch_does_it(memory):
    described = fb.arrays(**arrays()).batch(BATCH).collate(lambda samples: (torch.stack([torch.as_tensor(one["image"]) for one in samples]), len(samples)))
    with fb.Loader(described, output="torch", pin_memory=True) as loader:
        batches = list(loader)
    assert len(batches) == ROWS // BATCH and all(any(made is batch for made in memory().copied) for batch in batches)


def test_dataloader_gives_dicts(memory):
    loader = forebay.torch.DataLoader(pipeline(), batch_size=None, pin_memory=True)
    seen = [batch for _ in range(3) for batch in loader]
    assert all(type(batch) is dict and list(batch) == list(arrays()) for batch in seen) and memory().begins(seen[-1]["image"])
    assert sorted(torch.cat([batch["label"] for batch in seen[:ROWS // BATCH]]).tolist()) == list(range(ROWS))
    loader.close()


def test_without_an_accelerator_nothing_is_pinned():
    if torch.accelerator.is_available():
        pytest.skip("there is an accelerator")
    with fb.Loader(pipeline(), output="torch", pin_memory=True) as loader:
        batch = next(iter(loader))
        assert isinstance(batch["image"], torch.Tensor) and not batch["image"].is_pinned()


@pytest.mark.parametrize("output", ["numpy", "jax"])
def test_other_outputs_are_refused(output):
    with pytest.raises(fb.InvalidArgument, match=f"output is '{output}': give output='torch'"):
        fb.Loader(pipeline(), output=output, pin_memory=True)
