"""forebay.jax: the loader's batches as JAX arrays, without a copy, divided over devices, resumable."""
import os
import subprocess
import sys

import numpy as np
import pytest

import forebay as fb

jax = pytest.importorskip("jax")


def numbers(rows=40, n=8, last="partial"):
    return fb.arrays(x=np.arange(rows * 3, dtype=np.float32).reshape(rows, 3), label=np.arange(rows)).shuffle().batch(n, last=last)


def test_an_epoch_is_that_of_the_loader():
    with fb.Loader(numbers(), seed=7) as loader, fb.jax.iterate(numbers(), seed=7) as batches:
        assert len(batches) == len(loader) == 5
        for _ in range(2):
            taken = list(batches)
            expected = list(loader)
            assert len(taken) == 5
            for mine, theirs in zip(taken, expected):
                assert isinstance(mine["x"], jax.Array) and mine["x"].dtype == np.float32
                assert np.array_equal(mine["x"], theirs["x"])
                assert mine["label"].dtype == np.int32 and np.array_equal(mine["label"], theirs["label"])


def test_the_memory_is_the_batchs_and_stays():
    with fb.jax.iterate(numbers(), seed=7) as batches:
        kept = []
        for batch in batches:
            if jax.default_backend() == "cpu":
                assert batch["x"].unsafe_buffer_pointer() == batches.batch["x"].ctypes.data
            kept.append((batch["x"], np.array(batches.batch["x"])))
    assert all(np.array_equal(array, copy) for array, copy in kept), "memory was filled again while JAX had it"


def test_it_goes_on_from_a_state():
    with fb.jax.iterate(numbers(), seed=7) as first, fb.jax.iterate(numbers(), seed=7) as second:
        for _, _ in zip(range(2), first):
            pass
        second.load_state_dict(first.state_dict())
        rest = [np.asarray(batch["label"]) for batch in second]
        assert len(rest) == 3
        assert [list(batch["label"]) for batch in first] == [list(label) for label in rest]


def test_ragged_fields_and_texts(tmp_path):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"many": [[1, 2], [], [3]], "word": ["a", "", "ü"]})
    with fb.jax.iterate(fb.arrow(table).batch(3)) as batches:
        (batch,) = batches
    values, offsets = batch["many"]
    assert isinstance(values, jax.Array) and list(values) == [1, 2, 3] and list(offsets) == [0, 2, 2, 3]
    assert batch["word"] == ["a", "", "ü"]


def test_a_loader_of_jax_arrays():
    with fb.Loader(numbers(), seed=7, output="jax") as loader:
        for batch in loader:
            assert isinstance(batch["x"], jax.Array)


def test_arrays_of_other_frameworks_are_refused():
    with fb.Loader(numbers(), output="jax", seed=7) as loader, fb.jax.iterate(loader) as batches:
        assert all(isinstance(batch["x"], jax.Array) for batch in batches)
    with pytest.raises(fb.InvalidArgument, match="output='torch'"):
        fb.jax.iterate(numbers(), output="torch")


def test_ranks_whose_last_batches_may_differ_are_refused_before_anything_is_read():
    sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    for last, on_error, word in (("partial", "raise", "last='drop'"), ("drop", "skip", "on_error='replace'")):
        with pytest.raises(fb.InvalidArgument, match=word):
            fb.jax.iterate(numbers(last=last), sharding=sharding, rank=0, world_size=2, on_error=on_error)
        with fb.Loader(numbers(last=last), rank=1, world_size=2, on_error=on_error) as loader:
            with pytest.raises(fb.InvalidArgument, match=word):
                fb.jax.iterate(loader, sharding=sharding)
            assert not loader.closed
    fb.jax.iterate(numbers(last="pad"), sharding=sharding, rank=0, world_size=2).close()
    fb.jax.iterate(numbers(), sharding=sharding, rank=0, world_size=1, on_error="skip").close()


def test_options_come_with_a_pipeline_alone():
    with fb.Loader(numbers()) as loader:
        with pytest.raises(fb.InvalidArgument, match="seed"):
            fb.jax.iterate(loader, seed=7)
    with pytest.raises(TypeError, match="Pipeline or a Loader"):
        fb.jax.iterate([1, 2])


IN_DEVICES = """
import jax, numpy as np, forebay as fb
assert jax.device_count() == 4
mesh = jax.make_mesh((4,), ("data",))
rows = np.arange(40 * 3, dtype=np.float32).reshape(40, 3)
pipeline = fb.arrays(x=rows).shuffle().batch(8)
total = jax.jit(lambda x: x.sum())
with fb.jax.iterate(pipeline, mesh, seed=7) as batches, fb.Loader(pipeline, seed=7) as loader:
    for batch, whole in zip(batches, loader, strict=True):
        assert batch["x"].shape == (8, 3) and len(batch["x"].sharding.device_set) == 4
        assert [shard.data.shape for shard in batch["x"].addressable_shards] == [(2, 3)] * 4
        assert np.array_equal(batch["x"], whole["x"])
        assert float(total(batch["x"])) == whole["x"].sum()
sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
with fb.jax.iterate(pipeline, sharding=sharding, seed=7) as batches:
    assert sum(float(batch["x"].sum()) for batch in batches) == rows.sum()
for pipeline, word in ((fb.arrays(x=rows[:38]).batch(8), "last="), (fb.arrow(__import__("pyarrow").table({"x": [[1], [2, 3]]})).batch(2), "'x'")):
    try:
        list(fb.jax.iterate(pipeline, mesh))
        raise SystemExit("not refused: " + word)
    except fb.InvalidArgument as error:
        assert word in str(error), error
try:
    fb.jax.iterate(pipeline, mesh, sharding)
    raise SystemExit("mesh and sharding")
except fb.InvalidArgument:
    print("well")
"""


def test_rows_are_divided_over_a_mesh():
    pytest.importorskip("pyarrow")
    done = subprocess.run([sys.executable, "-c", IN_DEVICES], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"})
    assert done.returncode == 0 and done.stdout.endswith("well\n"), done.stdout + done.stderr


IN_PROCESSES = """
import sys, jax, numpy as np, forebay as fb
rank = int(sys.argv[1])
jax.distributed.initialize(sys.argv[2], 2, rank)
assert jax.process_count() == 2 and jax.device_count() == 4
mesh = jax.make_mesh((4,), ("data",))
rows = np.arange(48, dtype=np.float32).reshape(24, 2)
with fb.jax.iterate(fb.arrays(x=rows).shuffle().batch(4, last="drop"), mesh, seed=7) as batches:
    assert (batches.loader.rank, batches.loader.world_size) == (rank, 2)
    for batch in batches:
        assert batch["x"].shape == (8, 2)
        mine = np.concatenate([shard.data for shard in batch["x"].addressable_shards])
        assert np.array_equal(mine, batches.batch["x"])
        print(*batches.batch.ids)
"""


def test_each_process_gives_its_own_rows(tmp_path):
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    ranks = [subprocess.Popen([sys.executable, "-c", IN_PROCESSES, str(rank), address], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=environment) for rank in range(2)]
    told = [rank.communicate(timeout=300) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], told
    assert sorted(int(sample) for out, _ in told for sample in out.split()) == list(range(24))
