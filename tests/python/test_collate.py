"""`.collate(fn)`: the user's function makes the batch of samples, as PyTorch's collate_fn."""
import gc
import threading
import weakref

import numpy as np
import pytest

import forebay as fb
from forebay.errors import InvalidArgument


def numbers(n=40, size=4):
    return fb.arrays(x=np.arange(n, dtype=np.int64), y=np.arange(n) * 0.5).shuffle().batch(size)


def all_of(pipeline, **options):
    with fb.Loader(pipeline, epochs=1, **options) as loader:
        return list(loader)


def xs(samples):
    return [int(sample["x"]) for sample in samples]


def by_hand(pipeline, **options):
    with fb.Loader(pipeline, epochs=1, **options) as loader:
        return [batch["x"].tolist() for batch in loader]


def test_the_loop_gets_what_the_function_returns():
    made = all_of(numbers().collate(lambda samples: (xs(samples), "text")), seed=3)
    assert made == [(row, "text") for row in by_hand(numbers(), seed=3)]
    dicts = all_of(numbers().collate(lambda samples: {"x": np.stack([s["x"] for s in samples])}))
    assert all(type(batch) is dict for batch in dicts)


def test_the_function_gets_samples_as_dicts_of_every_kind():
    def sample(s):
        i = int(s["i"])
        return {"row": np.arange(i, dtype=np.float32), "text": "ü" * i, "raw": bytes(i), "words": ["w"] * i, "i": i, "plane": np.zeros((i, 2, i + 1))}

    (samples,) = all_of(fb.arrays(i=np.arange(1, 4)).map(sample).batch(3).collate(list))
    for i, one in enumerate(samples, 1):
        assert one["row"].shape == (i,) and one["row"].dtype == np.float32 and one["plane"].shape == (i, 2, i + 1)
        assert (one["text"], one["raw"], one["words"], int(one["i"])) == ("ü" * i, bytes(i), ["w"] * i, i)


def test_samples_need_not_have_the_same_fields():
    pipeline = fb.arrays(i=np.arange(6)).map(lambda s: {"i": s["i"], f"only_{int(s['i']) % 2}": 1}).batch(3)
    with fb.Loader(pipeline) as loader, pytest.raises(InvalidArgument):
        next(iter(loader))
    made = all_of(pipeline.collate(lambda samples: [sorted(one) for one in samples]))
    assert made[0] == [["i", "only_0"], ["i", "only_1"], ["i", "only_0"]]


def test_pictures_of_different_sizes(photos):
    pictures = fb.images(photos).decode_image()
    assert pictures.batch(7).check() and not pictures.batch(7).collate(list).check()
    made = all_of(pictures.batch(7).collate(lambda samples: [(one["image"].shape, int(one["label"])) for one in samples]))
    alone = [(batch["image"].shape[1:], int(batch["label"][0])) for batch in all_of(pictures.batch(1))]
    assert sum(made, []) == alone


def test_arrays_are_the_functions_to_keep_and_to_write_to():
    data = np.arange(8.0)

    def function(samples):
        for one in samples:
            one["x"] += 100
        return samples

    made = all_of(fb.arrays(x=data).batch(4).collate(function))
    assert [float(one["x"]) for one in made[0] + made[1]] == [100.0 + i for i in range(8)]
    assert np.array_equal(data, np.arange(8.0))


@pytest.mark.parametrize("source", ["parquet", "jsonl"])
def test_rows_of_chunks(source, tmp_path):
    if source == "parquet":
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet

        pyarrow.parquet.write_table(pa.table({"x": list(range(20)), "t": [f"t{i}" for i in range(20)], "l": [[1.0] * (i % 3) for i in range(20)]}),
                                    tmp_path / "a.parquet", row_group_size=6)
        rows = fb.parquet(str(tmp_path / "a.parquet"))
    else:
        (tmp_path / "a.jsonl").write_text("".join(f'{{"x": {i}, "t": "t{i}"}}\n' for i in range(20)))
        rows = fb.jsonl(str(tmp_path / "a.jsonl"), fields={"x": "int64", "t": "text"})
    made = all_of(rows.shuffle().batch(4).collate(lambda samples: [(int(one["x"]), one["t"], len(one.get("l", ()))) for one in samples]), seed=1)
    wanted = by_hand(rows.shuffle().batch(4), seed=1)
    assert [[x for x, _, _ in batch] for batch in made] == wanted
    assert all(t == f"t{x}" and length in (0, x % 3) for batch in made for x, t, length in batch)


def test_packed_blocks_are_samples():
    rows = fb.Dataset([{"tokens": np.arange(1, 1 + i % 5, dtype=np.int32)} for i in range(1, 60)]).pack(8).batch(2)
    made = all_of(rows.collate(lambda samples: np.stack([one["tokens"] for one in samples])))
    with fb.Loader(rows, epochs=1) as loader:
        assert [batch.tolist() for batch in made] == [batch["tokens"].tolist() for batch in loader]


def test_parts_of_a_mix():
    parts = {"a": fb.arrays(x=np.arange(20)).shuffle(), "b": fb.arrays(x=np.arange(100, 120)).map(lambda s: {"x": s["x"]}).shuffle()}
    made = all_of(fb.mix(parts, field="part").batch(5).collate(lambda samples: [(int(one["x"]), int(one["part"])) for one in samples]))
    assert all((x >= 100) == (part == 1) for batch in made for x, part in batch)
    assert sorted(x for batch in made for x, _ in batch) == [*range(20), *range(100, 120)]


# With PyTorch


def test_default_collate_and_tensors():
    torch = pytest.importorskip("torch")
    from torch.utils.data import default_collate

    for output in ("numpy", "torch"):
        for made, row in zip(all_of(numbers().collate(default_collate), output=output), by_hand(numbers()), strict=True):
            assert torch.equal(made["x"], torch.tensor(row)) and made["y"].dtype == torch.float64
    seen = all_of(numbers().collate(lambda samples: {type(one["x"]) for one in samples}), output="torch")
    assert all(types == {torch.Tensor} for types in seen)


def test_a_collator_of_hugging_face_style():
    torch = pytest.importorskip("torch")

    class PadToLongest:
        """As transformers.DataCollatorWithPadding: an object that is called with a list of features."""

        def __init__(self, pad_token_id):
            self.pad_token_id = pad_token_id

        def __call__(self, features):
            longest = max(len(one["input_ids"]) for one in features)
            ids = torch.full((len(features), longest), self.pad_token_id)
            mask = torch.zeros_like(ids)
            for row, one in enumerate(features):
                ids[row, :len(one["input_ids"])] = torch.as_tensor(one["input_ids"])
                mask[row, :len(one["input_ids"])] = 1
            return {"input_ids": ids, "attention_mask": mask}

    texts = fb.arrays(i=np.arange(8)).map(lambda s: {"input_ids": np.arange(1 + int(s["i"]) % 3)})
    for batch in all_of(texts.batch(4).collate(PadToLongest(-1)), output="torch"):
        assert (batch["attention_mask"].sum(1).tolist() == (batch["input_ids"] >= 0).sum(1).tolist())


def test_the_drop_in_takes_a_collate_fn():
    torch = pytest.importorskip("torch")
    from torch.nn.utils.rnn import pad_sequence

    from forebay.torch import DataLoader

    def collate(samples):
        return pad_sequence([one["r"] for one in samples], batch_first=True), torch.stack([one["i"] for one in samples])

    rows = fb.arrays(i=np.arange(10)).map(lambda s: {"i": s["i"], "r": np.ones(1 + int(s["i"]) % 4, np.float32)})
    for loader in (DataLoader(rows, 4, collate_fn=collate), DataLoader(rows.batch(4), collate_fn=collate)):
        assert loader.collate_fn is collate and len(loader) == 3
        batches = list(loader)
        assert [tuple(padded.shape) for padded, _ in batches] == [(4, 4), (4, 4), (2, 2)]
        assert torch.cat([i for _, i in batches]).tolist() == list(range(10))
        loader.close()
    with pytest.raises(InvalidArgument, match="keep one|behind .collate"):
        DataLoader(rows.batch(4).collate(list), collate_fn=collate)


# Position, ranks, randomness


def test_resume_length_and_epochs():
    pipeline = numbers().collate(xs)
    whole = all_of(pipeline, seed=2)
    with fb.Loader(pipeline, seed=2) as loader:
        batches = iter(loader)
        assert len(loader) == 10 and [next(batches) for _ in range(3)] == whole[:3]
        state = loader.state_dict()
        assert list(batches) == whole[3:]
        assert sorted(sum(loader, [])) == list(range(40)) and loader.epoch == 2
    with fb.Loader(numbers(size=2).collate(len), seed=2) as loader:
        loader.load_state_dict(state)
        assert list(loader) == [2] * 14


def test_ranks_and_threads():
    pipeline = numbers().collate(lambda samples, rng: (xs(samples), float(rng.random())), random=True)
    alone = all_of(pipeline, seed=2, threads=1)
    assert alone == all_of(pipeline, seed=2, threads=4)
    ranks = [all_of(pipeline, seed=2, rank=rank, world_size=2) for rank in range(2)]
    assert sorted(x for batches in ranks for xs_, _ in batches for x in xs_) == list(range(40))
    assert not {draw for _, draw in ranks[0]} & {draw for _, draw in ranks[1]}


def test_a_bad_sample_follows_the_policy_and_a_failing_function_is_raised():
    def bad(sample):
        if sample["x"] == 5:
            raise ValueError("bad sample")
        return sample

    def function(samples):
        if 9 in xs(samples):
            raise LookupError("bad batch")
        return xs(samples)

    with fb.Loader(fb.arrays(x=np.arange(16)).map(bad).batch(4).collate(function), on_error="skip") as loader:
        batches = iter(loader)
        assert [next(batches) for _ in range(2)] == [[0, 1, 2, 3], [4, 6, 7]]
        with pytest.raises(LookupError, match="bad batch") as caught:
            next(batches)
        assert "at step 2 of epoch 0, first sample 8" in caught.value.__notes__[0]
        assert next(batches) == [12, 13, 14, 15]
        assert [one["sample"] for one in loader.errors()] == [5]


def test_none_is_told():
    with fb.Loader(numbers().collate(lambda samples: None)) as loader, pytest.raises(TypeError, match="forget to return the batch"):
        next(iter(loader))


def test_worker_processes():
    assert all_of(numbers().collate(xs, workers="processes"), threads=2) == by_hand(numbers())


def test_an_early_break_and_objects_that_are_let_go():
    class Made:
        pass

    alive = weakref.WeakSet()

    def function(samples):
        made = Made()
        alive.add(made)
        return made

    with fb.Loader(numbers().collate(function)) as loader:
        for number, batch in enumerate(loader):
            assert isinstance(batch, Made)
            if number == 3:
                break
        del batch
        loader.set_epoch(5)
        assert len(list(loader)) == 10
        gc.collect()
    gc.collect()
    assert not alive


def test_it_runs_ahead_of_the_loop_and_on_other_threads():
    ahead = threading.Event()
    by = set()

    def function(samples):
        by.add(threading.get_ident())
        if 8 in xs(samples):
            ahead.set()
        return xs(samples)

    with fb.Loader(fb.arrays(x=np.arange(40)).batch(4).collate(function)) as loader:
        assert next(iter(loader)) == [0, 1, 2, 3]
        assert ahead.wait(20) and threading.get_ident() not in by
        (step,) = [step for step in loader.stats()["steps"] if step["name"].startswith("collate")]
        assert step["samples"] >= 8


def test_progress_is_shown(capsys):
    with fb.Loader(numbers().collate(xs), epochs=1, progress=True) as loader:
        assert len(list(loader)) == 10
    assert "10 of 10 batches" in capsys.readouterr().err


def test_places_where_it_cannot_stand_are_told():
    x = fb.arrays(x=np.arange(4))
    for pipeline, words in [(x.collate(list), "no .batch() before it"), (x.batch(2).map_batch(dict).collate(list), "behind .map_batch()"),
                            (x.batch(2).collate(list).collate(list), "behind .collate()"), (x.pad("x", 0).batch(2).collate(list), "padded")]:
        text = " ".join(problem.message for problem in pipeline.check())
        assert words in text
    with pytest.raises(InvalidArgument, match="'y' is not a function"):
        x.batch(2).collate("y")
    with fb.Loader(x.batch(2).collate(list)) as loader, pytest.raises(InvalidArgument, match=r"ends in .collate\(\)"):
        fb.digest(loader)


def test_adapters_that_need_fields_say_so():
    from forebay.dali import ExternalSource

    with pytest.raises(InvalidArgument, match="dali.*map_batch"):
        ExternalSource(numbers().collate(list))
