"""profile() states bytes that a full run keeps, for random pipelines of every kind of data set. Two hundred of them, and speeds: bench/engine/profile_truth.py."""

import os
import sys

import numpy as np
import pytest
from project import ROOT

import forebay as fb
from forebay import _trying

sys.path.append(str(ROOT / "bench" / "engine"))
import profile_truth  # noqa: E402
import profile_truth_cases  # noqa: E402

CASES = int(os.environ.get("FOREBAY_PROFILED", "6"))


@pytest.fixture(autouse=True)
def bytes_alone_matter(monkeypatch, tmp_path):
    monkeypatch.setattr(_trying, "pace", 0.02)
    monkeypatch.setenv("FOREBAY_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.parametrize("seed", range(CASES))
def test_every_cache_keeps_what_was_stated(seed, tmp_path):
    name, pipeline = profile_truth_cases.case(seed, str(tmp_path / "data"))
    found = fb.profile(pipeline, time=3, files=None)
    for one in found.strategies:
        if one.tier != "nothing":
            kept, declined = profile_truth.kept_by(one.pipeline)
            assert declined == 0, f"{name}: the budget of {one.name} is too small"
            assert one.bytes.value == pytest.approx(kept, rel=profile_truth.WITHIN), f"{name}: {one.name}"


def shrunk(sample):
    return {"y": sample["x"][:16], "label": sample["label"]}


@pytest.mark.parametrize("group", [1, 10, 64, 640])
@pytest.mark.parametrize("samples", [16, 200])
def test_rows_of_a_table_behind_a_function_are_carried_over_as_rows(tmp_path, group, samples):
    """Entries are rows there, and row groups in front of it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows, wide = 640, 50
    x = pa.FixedSizeListArray.from_arrays(pa.array(np.random.default_rng(1).normal(size=rows * wide).astype("f4")), wide)
    pq.write_table(pa.table({"x": x, "label": np.arange(rows)}), tmp_path / "t.parquet", row_group_size=group)
    found = fb.profile(fb.parquet(tmp_path / "t.parquet").map(shrunk, version="1").batch(32), samples=samples, time=3, files=None)
    behind_map = [one for one in found.strategies if "behind map, in memory" in one.name or "shrunk, in memory" in one.name]
    assert behind_map, [one.name for one in found.strategies]
    for one in found.strategies:
        if one.tier == "memory":
            kept, declined = profile_truth.kept_by(one.pipeline)
            assert declined == 0 and one.bytes.value == pytest.approx(kept, rel=0.1), one.name


def test_a_best_pipeline_that_was_run_states_exact_bytes(tmp_path):
    """It is measured as it is handed over, so there is nothing left to estimate."""
    draw = np.random.default_rng(2)
    x = draw.normal(size=(3000, 200)).astype("f4")
    found = fb.profile(fb.arrays(x=x).map(slowly, version="1").batch(16), samples=32, time=6, files=None)
    best = found.best
    if best.tier == "nothing" or any("not measured" in other for other in found.others):
        pytest.skip("this machine had no time to measure it")
    assert best.bytes.low == best.bytes.value == best.bytes.high
    kept, declined = profile_truth.kept_by(best.pipeline)
    assert declined == 0 and kept == pytest.approx(best.bytes.value, rel=0.02)


def slowly(sample):
    for _ in range(20):
        sample["x"] = np.sort(sample["x"])[::-1].copy()
    return sample
