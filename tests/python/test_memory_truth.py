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

USES = ("batches", "fetched", "working", "pool", "units", "index", "caches", "reads", "columns")


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


@pytest.mark.parametrize(("kind", "rows"), [("photographs", 40), ("table", 5000), ("lists", 5000), ("s3", 40), ("cache", 40)])
def test_memory_is_flat_over_200_epochs(inputs, kind, rows):
    """What is stated may grow within the budget (a batch more is begun at once than ever before), what is not stated may not."""
    found = memory_truth.measured(kind, {"epochs": 200, "rows": rows, "huge_pages": False} | inputs(kind))
    unstated = np.subtract(found["each"], found["used"])
    early, late = np.median(unstated[20:40]), np.median(unstated[180:])
    assert late <= early + (1 << 20), (early, late)
    assert max(found["used"]) <= found["stated"]["peak"] <= found["stated"]["budget"]
