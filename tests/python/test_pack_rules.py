"""`.pack()`: which rows share a block, and what becomes of rows that are longer than one."""
import numpy as np
import pytest

import forebay as fb
from pack_model import blocks_of, filled, segments_of

LENGTH = 16


class Texts:
    def __init__(self, lengths):
        self.tokens = [1000 * (i + 1) + np.arange(count, dtype=np.int32) for i, count in enumerate(lengths)]

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return {"tokens": self.tokens[i]}


def some_lengths(n=150, seed=0):
    random = np.random.default_rng(seed)
    return [int(one) for one in np.where(random.random(n) < 0.1, random.integers(0, 5 * LENGTH, n), random.integers(0, LENGTH, n))]


def assert_blocks(pipeline, tokens, model):
    seen = []
    with fb.Loader(pipeline.batch(4), epochs=1) as loader:
        for batch in loader:
            for row, number in enumerate(batch.ids):
                seen.append(int(number))
                assert list(np.asarray(batch["tokens"])[row]) == filled(tokens, model[number], LENGTH)
                assert list(np.asarray(batch["segments"])[row]) == segments_of(model[number], LENGTH)
    assert sorted(seen) == list(range(len(model)))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path_factory.mktemp("texts") / "texts.parquet"
    tokens = Texts(some_lengths()).tokens
    pq.write_table(pa.table({"tokens": pa.array([list(row) for row in tokens], pa.list_(pa.int32()))}), path, row_group_size=40)
    return path


OPTIONS = [{}, {"how": "best-fit"}, {"how": "cut"}, {"open_blocks": 2}, {"how": "best-fit", "window": 30}, {"max_segments": 2}, {"how": "best-fit", "max_segments": 3}]


@pytest.mark.parametrize("too_long", ["split", "left", "right", "drop"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_blocks_are_those_of_the_model(options, too_long, table):
    lengths = some_lengths()
    texts = Texts(lengths)
    pipeline = fb.Dataset(texts).shuffle().pack(LENGTH, too_long=too_long, **options)
    assert_blocks(pipeline, texts.tokens, blocks_of(lengths, LENGTH, too_long=too_long, **options))
    in_groups = blocks_of(lengths, LENGTH, too_long=too_long, groups=[40, 40, 40, 30], **options)
    assert_blocks(fb.parquet(table).shuffle(block=2).pack(LENGTH, too_long=too_long, **options), texts.tokens, in_groups)


def test_rows_of_one_length_in_a_table_are_packed(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    values = np.arange(60, dtype=np.int32)
    pq.write_table(pa.table({"tokens": pa.FixedSizeListArray.from_arrays(pa.array(values), 3)}), tmp_path / "rows.parquet")
    assert_blocks(fb.parquet(tmp_path / "rows.parquet").pack(LENGTH), values.reshape(20, 3), blocks_of([3] * 20, LENGTH))


def test_cut_blocks_are_full_but_the_last(table):
    lengths = some_lengths()
    with fb.Loader(fb.Dataset(Texts(lengths)).pack(LENGTH, how="cut").batch(1), epochs=1) as loader:
        padding = [int((np.asarray(batch["segments"]) == 0).sum()) for batch in loader]
    assert padding[:-1] == [0] * (len(padding) - 1) and len(padding) == -(-sum(lengths) // LENGTH)
    with fb.Loader(fb.parquet(table).pack(LENGTH, how="cut").batch(1), epochs=1) as loader:
        padding = [int((np.asarray(batch["segments"]) == 0).sum()) for batch in loader]
    assert sum(one > 0 for one in padding) <= 4, "of the last block of each row group"


def test_a_row_that_is_too_long_can_be_an_error_that_names_it():
    texts = Texts([3, 16, 17, 40])
    pipeline = fb.Dataset(texts).pack(LENGTH, too_long="error").batch(2)
    with pytest.raises(fb.InvalidArgument, match=r"it has 17 elements, and a block has 16; .*too_long=.*\"drop\"") as caught:
        fb.digest(fb.Loader(pipeline, epochs=1))
    assert caught.value.sample == 2 and caught.value.operator == "pack"
    fits = fb.Dataset(Texts([3, 16])).pack(LENGTH, too_long="error").batch(2)
    assert fb.digest(fb.Loader(fits, epochs=1)) == fb.digest(fb.Loader(fb.Dataset(Texts([3, 16])).pack(LENGTH).batch(2), epochs=1))
    with pytest.raises(fb.InvalidArgument, match="it has 17 elements"):  # with its end
        fb.digest(fb.Loader(fb.Dataset(Texts([3, 16])).pack(LENGTH, too_long="error", eos=2).batch(2), epochs=1))


def test_rows_that_are_dropped_are_counted_in_the_log(capfd):
    fb.digest(fb.Loader(fb.Dataset(Texts([3, 16, 17, 40])).pack(LENGTH, too_long="drop").batch(2), epochs=1))
    assert '2 of 4 samples are longer than 16 and left out, by too_long="drop"' in capfd.readouterr().err


def test_each_rule_is_another_pipeline():
    texts = Texts(some_lengths())
    pipelines = [fb.Dataset(texts).pack(LENGTH, **options).batch(2) for options in OPTIONS]
    assert len({pipeline.fingerprint for pipeline in pipelines}) == len(pipelines)
    with fb.Loader(pipelines[0]) as loader:
        next(iter(loader))
        state = loader.state_dict()
    for pipeline in pipelines[1:]:
        with fb.Loader(pipeline) as loader, pytest.raises(fb.StateMismatch):
            loader.load_state_dict(state)


def test_best_fit_leaves_less_padding_than_first_fit():
    random = np.random.default_rng(0)
    texts = Texts(np.minimum(random.lognormal(6, 1, 3000).astype(int) // 8 + 1, 256))
    filled_by = {}
    for how in ("first-fit", "best-fit", "cut"):
        with fb.Loader(fb.Dataset(texts).pack(256, how=how).batch(8), epochs=1) as loader:
            segments = np.concatenate([np.asarray(batch["segments"]) for batch in loader])
        filled_by[how] = (segments > 0).mean()
    assert 0.99 < filled_by["best-fit"] < filled_by["cut"] and filled_by["first-fit"] < filled_by["best-fit"], filled_by
