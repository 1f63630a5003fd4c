"""Batches on their way to an accelerator: a copy that is still under way never sees the next batch's bytes. Skipped where there is no accelerator."""
import os
import subprocess
import sys
import time

import numpy as np
import pytest

import forebay as fb

torch = pytest.importorskip("torch")
if not torch.accelerator.is_available():
    pytest.skip("no accelerator", allow_module_level=True)

import forebay.torch  # noqa: E402

ROWS, BATCHES, EPOCHS = 48, 8, 6
DEVICE = torch.accelerator.current_accelerator()


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Rows of 600 kB in a file, each full of its own number, so that a batch takes milliseconds to copy; and the numbers."""
    folder = tmp_path_factory.mktemp("rows")
    np.save(folder / "x.npy", np.repeat(np.arange(ROWS * BATCHES, dtype=np.float32), 3 * 224 * 224).reshape(-1, 3, 224, 224))
    np.save(folder / "number.npy", np.arange(ROWS * BATCHES))
    return folder


def pipeline(rows):
    return fb.arrays(x=str(rows / "x.npy"), number=str(rows / "number.npy")).shuffle().batch(ROWS)


def busy():
    """Work on the device, so that the copies behind it wait."""
    square = torch.ones((4096, 4096), device=DEVICE)
    for _ in range(20):
        square = square @ square * 1e-4
    return square


def taken(loader, to_device):
    """Lets each batch go as soon as its copy has been asked for, and looks at what arrived when all have been."""
    seen = []
    for _ in range(EPOCHS):
        for batch in loader:
            work = busy()
            seen.append((to_device(batch["x"])[:, :, ::32, ::32].clone(), np.asarray(batch["number"]).copy()))
            del batch, work
    return seen


def assert_right(seen):
    torch.accelerator.synchronize()
    assert len(seen) == EPOCHS * BATCHES
    for x, numbers in seen:
        assert (x.cpu().numpy() == numbers[:, None, None, None]).all(), "a batch's memory was filled again while it was copied"


def test_a_copy_without_waiting_has_the_batchs_values(rows):
    with fb.Loader(pipeline(rows), seed=3, output="torch") as loader:
        assert_right(taken(loader, lambda x: x.to(DEVICE, non_blocking=True)))


def test_numpy_batches_go_there_too(rows):
    with fb.Loader(pipeline(rows), seed=3) as loader:
        assert_right(taken(loader, lambda x: torch.from_dlpack(x).to(DEVICE, non_blocking=True)))


def test_pinned_batches_of_a_pipeline(rows):
    loader = forebay.torch.DataLoader(pipeline(rows), batch_size=None, pin_memory=True)

    def to_device(x):
        assert x.is_pinned()
        return x.to(DEVICE, non_blocking=True)

    assert_right(taken(loader, to_device))
    loader.close()


def test_the_engine_makes_batches_in_pinned_memory(rows, monkeypatch):
    from forebay._pinned import PinnedMemory

    copied, pin = [], PinnedMemory.pin
    monkeypatch.setattr(PinnedMemory, "pin", lambda self, value: copied.append(value.shape) or pin(self, value))

    def to_device(x):
        assert x.is_pinned() and x[ROWS // 2:].is_pinned()
        return x.to(DEVICE, non_blocking=True)

    with fb.Loader(pipeline(rows), seed=3, output="torch", pin_memory=True) as loader:
        assert_right(taken(loader, to_device))
    assert len(copied) < 2 * BATCHES, "the first batches alone are copied"


def test_memory_that_a_server_lends(rows, tmp_path):
    socket = tmp_path / "s.sock"
    program = os.path.join(os.path.dirname(sys.executable), "forebay")
    server = subprocess.Popen([program, "serve", "--socket", str(socket)], stderr=subprocess.DEVNULL)
    try:
        while not socket.exists():
            time.sleep(0.01)
        with fb.Loader(pipeline(rows), seed=3, output="torch", share=str(socket)) as loader:
            assert_right(taken(loader, lambda x: x.to(DEVICE, non_blocking=True)))
    finally:
        server.kill()
        server.wait()


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return ROWS * BATCHES

    def __getitem__(self, index):
        return {"x": torch.full((3, 224, 224), float(index)), "number": index}


@pytest.mark.parametrize("workers", [0, 2])
def test_the_drop_in_pins_as_pytorch_does(workers):
    def of(module):
        loader = module.DataLoader(Numbers(), batch_size=ROWS, num_workers=workers, pin_memory=True, shuffle=True,
                                   generator=torch.Generator().manual_seed(5))
        return [(batch["x"].is_pinned(), batch["x"].to(DEVICE, non_blocking=True)[:, 0, 0, 0], batch["number"]) for batch in loader]

    for (pinned, x, numbers), (theirs_pinned, theirs, _) in zip(of(forebay.torch), of(torch.utils.data), strict=True):
        assert pinned == theirs_pinned == True  # noqa: E712
        assert torch.equal(x, theirs) and torch.equal(x.cpu(), numbers.float())


@pytest.mark.parametrize("sharded", [False, True])
def test_jax_arrays_are_on_its_device(rows, sharded):
    jax = pytest.importorskip("jax")
    if jax.default_backend() == "cpu":
        pytest.skip("JAX has no accelerator")
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("rows",)) if sharded else None
    seen = []
    with fb.jax.iterate(pipeline(rows), seed=3, mesh=mesh) as batches:
        for _ in range(EPOCHS):
            for batch in batches:
                assert {device.platform for device in batch["x"].devices()} == {jax.devices()[0].platform}
                seen.append((batch["x"][:, :, ::32, ::32], batch["number"]))
    assert len(seen) == EPOCHS * BATCHES
    for x, numbers in seen:
        assert (np.asarray(x) == np.asarray(numbers)[:, None, None, None]).all()
