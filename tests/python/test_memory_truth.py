"""What stats() says of memory is what the process has: resident memory beside the stated peak, each kind of work in its own process."""
import contextlib
import sys

import numpy as np
import pytest
from project import ROOT, write_photos

import forebay as fb

sys.path.append(str(ROOT / "bench" / "engine"))

memory_truth = pytest.importorskip("memory_truth")
pytest.importorskip("pyarrow")
data = memory_truth.data

USES = ("batches", "fetched", "working", "pool", "chunks", "index", "caches", "reads", "columns")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    with contextlib.ExitStack() as servers:
        folder = str(tmp_path_factory.mktemp("truth"))
        yield lambda kind: data.made(kind, folder, servers)


@pytest.mark.parametrize("kind", data.KINDS)
def test_resident_memory_is_within_what_is_stated(inputs, kind):
    found = memory_truth.measured(kind, {"epochs": 4} | inputs(kind))
    stated = found["stated"]
    assert sum(stated[use] for use in USES) == stated["used"]
    assert stated["peak"] <= stated["budget"]
    assert found["peak"] <= memory_truth.allowed(stated["peak"]), found


def test_a_cache_has_half_of_memory_and_leaves_the_rest_to_batches(tmp_path):
    photos = write_photos(tmp_path / "photos")
    pipeline = fb.images(str(photos)).decode_image().resize((64, 64)).cache(ram="1MiB", disk=0).batch(4)
    with fb.Loader(pipeline, memory=400_000, threads=1) as loader:
        for _ in range(3):
            assert sum(len(batch["image"]) for batch in loader) == 21
        memory, cache = loader.stats()["memory_bytes"], loader.stats()["caches"][0]["ram"]
    assert cache["budget_bytes"] == 200_000
    assert 0 < cache["bytes"] <= 200_000
    assert memory["peak"] <= 400_000


def test_entries_give_way_to_the_oldest_element(tmp_path):
    """With just as much memory as a batch needs, a cache slows a run down and does not end it."""
    photos = write_photos(tmp_path / "photos")
    pipeline = fb.images(str(photos)).decode_image().resize((64, 64)).cache(ram="1MiB", disk=0).batch(4)
    with pytest.raises(fb.OutOfBudget) as caught:
        fb.Loader(pipeline, memory=1000, threads=1)
    enough = caught.value.bytes_needed
    with fb.Loader(pipeline, memory=enough, threads=1) as loader:
        for _ in range(3):
            assert sum(len(batch["image"]) for batch in loader) == 21
        assert loader.stats()["memory_bytes"]["peak"] <= enough


MIB = 1 << 20
PICTURES = 32 * 3 * 224 * 224 * 4  # bytes of a batch of them


# A store that is asked for more at once than before has more connections.
@pytest.mark.parametrize(("kind", "rows", "batch_bytes", "beside"), [
    ("photographs", 40, PICTURES, MIB), ("table", 5000, 0, MIB), ("lists", 5000, 0, MIB), ("s3", 40, PICTURES, 8 * MIB),
    ("cache", 40, PICTURES, MIB)])
def test_memory_is_flat_over_200_epochs(inputs, kind, rows, batch_bytes, beside):
    """What is not stated does not grow; what is stated grows only where more of an epoch's two batches are begun at once than before."""
    found = memory_truth.measured(kind, {"epochs": 200, "rows": rows, "huge_pages": False} | inputs(kind))
    each, stated = np.asarray(found["each"]), np.asarray(found["used"])
    slack = beside + 0.02 * np.median(each[20:40])
    assert grown(each - stated) <= slack, (each, stated)
    assert grown(stated) <= slack + 2 * batch_bytes, stated
    assert max(*stated, found["stated"]["peak"]) <= found["stated"]["budget"]


def grown(bytes_by_epoch):
    return np.median(bytes_by_epoch[180:]) - np.median(bytes_by_epoch[20:40])
