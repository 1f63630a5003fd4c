"""A batch: arrays that share its memory, lists built when first looked at, and helpful words where a name is wrong."""
import gc
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from loading import one_epoch

import forebay as fb


def first(pipeline, **options):
    with fb.Loader(pipeline, epochs=1, **options) as loader:
        return next(iter(loader))


def numbers(n=100, width=4, batch=10):
    return fb.arrays(x=np.arange(n * width, dtype=np.float32).reshape(n, width)).batch(batch)


def test_what_a_batch_tells():
    batch = first(fb.arrays(x=np.arange(30), y=np.zeros((30, 2))).shuffle().batch(8), seed=1)
    assert len(batch) == 8 and batch.epoch == 0 and batch.step == 0 and batch.padding == 0
    assert batch.ids.dtype == np.int64 and batch.ids.shape == (8,)
    assert batch.positions.tolist() == list(range(8))
    assert batch.keys() == list(batch) == ["x", "y"]
    assert "x" in batch and "z" not in batch and 3 not in batch
    assert dict(batch)["x"] is batch["x"]
    assert [name for name, value in batch.items()] == ["x", "y"]
    assert repr(batch) == "Batch(epoch=0, step=0, rows=8, x: int64 (8,), y: float64 (8, 2))"


def test_a_wrong_name_is_answered_with_the_right_ones():
    with pytest.raises(KeyError, match="no field 'images'.*'x'"):
        first(numbers())["images"]


def test_fields_share_the_batchs_memory_and_are_made_once():
    batch = first(numbers())
    assert batch["x"] is batch["x"]
    assert batch["x"].flags.c_contiguous and batch["x"].flags.writeable and not batch["x"].flags.owndata
    assert batch["x"].ctypes.data % 64 == 0


def test_threads_that_read_a_batch_at_once_get_the_same_objects():
    with fb.Loader(fb.arrays(x=np.arange(400), word=np.array(["w"] * 400)).batch(2), epochs=1) as loader:
        batches = list(loader)
    start = threading.Barrier(8)

    def read(_):
        start.wait()
        return [(batch["x"], batch["word"], batch.ids, batch.positions, *dict(batch.items()).values()) for batch in batches]

    with ThreadPoolExecutor(8) as pool:
        for of_batch in zip(*pool.map(read, range(8))):
            for objects in zip(*of_batch):
                assert all(one is objects[0] for one in objects)


def test_arrays_outlive_batch_and_loader():
    loader = fb.Loader(numbers(), epochs=1)
    kept = [batch["x"] for batch in loader]
    loader.close()
    del loader
    gc.collect()
    assert np.array_equal(np.concatenate(kept), np.arange(400, dtype=np.float32).reshape(100, 4))


def test_a_batch_that_is_kept_is_not_written_over():
    with fb.Loader(numbers(), memory="1MiB") as loader:
        kept = [batch["x"] for _ in range(20) for batch in loader]
    expected = np.arange(400, dtype=np.float32).reshape(100, 4)
    for epoch in range(20):
        assert np.array_equal(np.concatenate(kept[epoch * 10 : epoch * 10 + 10]), expected)


def test_memory_is_recycled_when_the_last_reader_lets_go():
    with fb.Loader(numbers(1000, 1024, 100)) as loader:
        places = {batch["x"].ctypes.data for _ in range(5) for batch in loader}
    assert len(places) <= 25  # of 50 batches


def test_resident_memory_stays_flat():
    def resident_bytes():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    with fb.Loader(numbers(200, 256, 10)) as loader:
        for epoch in range(200):
            for batch in loader:
                batch["x"]
            if epoch == 20:
                settled = resident_bytes()
        assert resident_bytes() < settled * 1.02 + (1 << 20)


def test_dlpack_without_a_copy():
    batch = first(numbers())
    shared = np.from_dlpack(batch["x"])
    assert shared.ctypes.data == batch["x"].ctypes.data


def test_padding_is_counted_and_left_out_of_the_digest():
    pipeline = fb.arrays(x=np.arange(10))
    with fb.Loader(pipeline.batch(4, last="pad"), epochs=1) as loader:
        assert [batch.padding for batch in loader] == [0, 0, 2]
    assert one_epoch(pipeline.batch(4, last="pad")) == one_epoch(pipeline.batch(5))


def test_an_empty_batch_after_skipping_everything():
    def bad(sample):
        raise ValueError

    with fb.Loader(fb.arrays(x=np.arange(4)).map(bad).batch(2), epochs=1, on_error="skip") as loader:
        batches = list(loader)
    assert [len(batch) for batch in batches] == [0, 0]
    assert all(batch.ids.shape == (0,) for batch in batches)


def test_text_and_bytes_are_lists_built_once(photos):
    batch = first(fb.images(photos).batch(3))
    assert batch["key"] is batch["key"]
    assert all(isinstance(key, str) for key in batch["key"])
    assert all(isinstance(image, bytes) and image[:2] == b"\xff\xd8" for image in batch["image"])


def test_the_python_side_of_a_small_batch_costs_little():
    pipeline = fb.arrays(x=np.zeros((256 * 400, 16), np.float32)).batch(256)
    with fb.Loader(pipeline) as loader:
        list(loader)
        seconds = []
        began = time.perf_counter()
        for batch in loader:
            batch["x"]
            seconds.append(time.perf_counter() - began)
            began = time.perf_counter()
    # Ten times what it takes here, in most batches: catches a copy or a wait, not a slow machine.
    assert statistics.median(seconds) < 500e-6


def test_torch_tensors_share_the_memory():
    torch = pytest.importorskip("torch")
    with fb.Loader(numbers(), epochs=1, output="torch") as loader:
        batch = next(iter(loader))
        assert isinstance(batch["x"], torch.Tensor) and batch["x"].dtype == torch.float32
        assert torch.equal(batch["x"], torch.arange(40, dtype=torch.float32).reshape(10, 4))
        kept = batch["x"]
        del batch
    gc.collect()
    assert kept[0, 1] == 1


def test_torch_output_of_every_kind_of_field(photos):
    torch = pytest.importorskip("torch")
    with fb.Loader(fb.images(photos).decode_image().resize(8).batch(4), output="torch", epochs=1) as loader:
        batch = next(iter(loader))
        assert batch["image"].dtype == torch.uint8 and batch["label"].dtype == torch.int64
        assert isinstance(batch["key"][0], str)


def test_tensors_come_back_from_user_code():
    torch = pytest.importorskip("torch")

    class Tensors(torch.utils.data.Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, i):
            return torch.full((2, 3), i, dtype=torch.float32, requires_grad=True), i

    batch = first(fb.Dataset(Tensors()).batch(6))
    assert batch["0"].shape == (6, 2, 3) and batch["0"][5, 0, 0] == 5


def test_without_torch_the_package_does_not_import_it():
    from loading import script

    outcome = script("""
        import sys
        import numpy as np
        import forebay as fb
        with fb.Loader(fb.arrays(x=np.arange(4)).batch(2), epochs=1) as loader:
            list(loader)
        assert "torch" not in sys.modules and "jax" not in sys.modules
    """)
    assert outcome.code == 0, outcome.err


def test_what_takes_long_to_import_comes_at_its_first_use():
    place = str(Path(fb.__file__).parent.parent)
    code = f"""
import sys
sys.path.insert(0, {place!r})
import forebay
print(sorted({{"numpy", "re", "threading", "typing", "forebay.loader"}} & set(sys.modules)))
forebay.Loader, forebay.Pipeline, forebay.images
print("typing" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("[]\nFalse\n", "")


def test_numpy_is_imported_before_the_engine_works(tmp_path):
    """While it is imported it changes the environment, which libraries read on the engine's threads."""
    from loading import script

    (tmp_path / "lines.txt").write_text("one\ntwo\n")
    outcome = script(f"""
        import os
        import sys
        import forebay as fb

        class Watch:
            def find_spec(self, name, path=None, target=None):
                if name == "numpy":
                    names = [open(f"/proc/self/task/{{thread}}/comm").read() for thread in os.listdir("/proc/self/task")]
                    print("numpy", sum(name.startswith("forebay") for name in names))

        sys.meta_path.insert(0, Watch())
        with fb.Loader(fb.text({str(tmp_path / "lines.txt")!r}, by="line").batch(2)) as loader:
            assert next(iter(loader))["text"] == ["one", "two"]
            print(any(open(f"/proc/self/task/{{thread}}/comm").read().startswith("forebay") for thread in os.listdir("/proc/self/task")))
            assert loader.stats()
        import numpy
    """)
    assert outcome.code == 0, outcome.err
    assert outcome.out.splitlines() == ["numpy 0", "True"]


def test_import_is_light():
    from loading import script

    outcome = script("""
        import numpy, sys, time
        before = set(sys.modules)
        began = time.perf_counter()
        import forebay
        print(time.perf_counter() - began)
        heavy = {"json", "asyncio", "logging", "multiprocessing", "concurrent.futures", "subprocess", "importlib.metadata"}
        assert not heavy & (set(sys.modules) - before), heavy & (set(sys.modules) - before)
    """)
    assert outcome.code == 0, outcome.err
    assert float(outcome.out) < 0.4  # ten times the promise: catches a heavy import, not a slow machine
