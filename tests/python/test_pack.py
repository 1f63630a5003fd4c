"""`.pack()`: rows of different lengths side by side in blocks of one."""
import json

import numpy as np
import pytest

import forebay as fb
from caching import TIERS

LENGTH = 16


def lengths_of(n, seed=0):
    random = np.random.default_rng(seed)
    return [int(length) for length in np.where(random.random(n) < 0.1, random.integers(0, 5 * LENGTH, n), random.integers(0, LENGTH, n))]


def row_of(i, length):
    return 1000 * (i + 1) + np.arange(length, dtype=np.int32)


def blocks_of(rows, open_blocks=64):
    """First-fit as it is described, with lists: of each block the (row, from) of its pieces."""
    blocks, still_open = [], []
    for i, row in enumerate(rows):
        whole, rest = divmod(len(row), LENGTH)
        blocks += [[(i, k * LENGTH, LENGTH)] for k in range(whole)]
        if not rest:
            continue
        fits = [b for b in still_open if sum(count for _, _, count in blocks[b]) + rest <= LENGTH]
        if fits:
            at = fits[0]
        else:
            if len(still_open) == open_blocks:
                still_open.remove(max(still_open, key=lambda b: (sum(count for _, _, count in blocks[b]), -still_open.index(b))))
            at = len(blocks)
            blocks.append([])
            still_open.append(at)
        blocks[at].append((i, whole * LENGTH, rest))
        if sum(count for _, _, count in blocks[at]) == LENGTH:
            still_open.remove(at)
    return blocks


def filled(rows, block, pad=0):
    tokens, segments, positions = [], [], []
    for number, (i, start, count) in enumerate(block, 1):
        tokens += list(rows[i][start:start + count])
        segments += [number] * count
        positions += range(count)
    empty = LENGTH - len(tokens)
    return tokens + [pad] * empty, segments + [0] * empty, positions + [0] * empty


def expected(rows, groups=None, **how):
    blocks, first = [], 0
    for group in groups or [len(rows)]:
        blocks += [[(i + first, start, count) for i, start, count in block] for block in blocks_of(rows[first:first + group], **how)]
        first += group
    return blocks


def as_words(rows):
    """A text array whose words are the rows' numbers, and what makes rows of it again."""
    texts = [" ".join(map(str, row)) for row in rows]
    return fb.arrays(text=texts).map(to_row, fields=["text"], version="1").rename(text="tokens")


def to_row(sample):
    return {"text": np.array([int(word) for word in sample["text"].split()], np.int32)}


@pytest.fixture(scope="module")
def rows():
    return [row_of(i, length) for i, length in enumerate(lengths_of(150))]


@pytest.fixture(scope="module")
def table(tmp_path_factory, rows):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(pa.table({"n": np.arange(len(rows)), "tokens": pa.array([list(row) for row in rows], pa.list_(pa.int32()))}), path, row_group_size=40)
    return path


def epoch(pipeline, **options):
    with fb.Loader(pipeline, epochs=1, **options) as loader:
        return [{name: np.array(batch[name]) for name in ("tokens", "segments", "positions")} | {"ids": np.array(batch.ids)} for batch in loader]


def assert_blocks(batches, rows, blocks, pad=0):
    seen = [int(i) for batch in batches for i in batch["ids"]]
    assert sorted(seen) == list(range(len(blocks)))
    for batch in batches:
        for row, block in enumerate(batch["ids"]):
            tokens, segments, positions = filled(rows, blocks[block], pad)
            assert list(batch["tokens"][row]) == tokens
            assert list(batch["segments"][row]) == segments
            assert list(batch["positions"][row]) == positions


def test_blocks_are_those_of_a_direct_simulation(rows):
    batches = epoch(as_words(rows).pack(LENGTH).batch(4))
    assert_blocks(batches, rows, expected(rows))
    assert batches[0]["tokens"].shape == (4, LENGTH) and batches[0]["tokens"].dtype == np.int32
    assert [list(batch["ids"]) for batch in batches][:2] == [[0, 1, 2, 3], [4, 5, 6, 7]]


@pytest.mark.parametrize("open_blocks", [1, 2, 5])
def test_few_open_blocks_and_another_padding(rows, open_blocks):
    batches = epoch(as_words(rows).pack(LENGTH, open_blocks=open_blocks, pad_value=-1).shuffle().batch(3))
    assert_blocks(batches, rows, expected(rows, open_blocks=open_blocks), pad=-1)


@pytest.mark.parametrize("shuffle", [{}, {"block": 2}, {"block": 1, "lanes": 2}])
def test_rows_of_a_table_share_blocks_with_those_of_their_row_group(table, rows, shuffle):
    pipeline = fb.parquet(table, columns=["tokens"]).shuffle(**shuffle) if shuffle else fb.parquet(table, columns=["tokens"])
    assert_blocks(epoch(pipeline.pack(LENGTH).batch(4)), rows, expected(rows, groups=[40, 40, 40, 30]))
    assert_blocks(epoch(pipeline.map(lambda sample: sample, fields=["tokens"]).pack(LENGTH).batch(4)), rows, expected(rows, groups=[40, 40, 40, 30]))


def test_what_is_chosen_before_is_packed(rows):
    kept = [row for row in rows[:100] if len(row) % 2]
    pipeline = as_words(rows).take(100).filter(lambda sample: len(sample["tokens"]) % 2 == 1).pack(LENGTH).batch(4)
    assert_blocks(epoch(pipeline), kept, expected(kept))


def test_nothing_depends_on_threads_ranks_and_seeds_but_the_order(rows, table):
    for pipeline in (as_words(rows).shuffle().pack(LENGTH).batch(2, last="pad"), fb.parquet(table, columns=["tokens"]).shuffle(block=2).pack(LENGTH).batch(2, last="pad")):
        digests = {fb.digest(fb.Loader(pipeline, epochs=1, seed=5, threads=threads)) for threads in (1, 3)}
        assert len(digests) == 1
        for world in (2, 3):
            loaders = [fb.Loader(pipeline, epochs=1, seed=5, rank=rank, world_size=world) for rank in range(world)]
            digests.add(fb.digest(*loaders))
        assert len(digests) == 1


def test_a_run_goes_on_in_the_middle_of_an_epoch_with_other_ranks(rows):
    pipeline = as_words(rows).shuffle().pack(LENGTH).batch(2)
    with fb.Loader(pipeline, seed=1, epochs=1) as loader:
        whole = [list(batch.ids) for batch in loader]
    with fb.Loader(pipeline, seed=1, epochs=1) as loader:
        for _ in range(6):
            next(iter(loader))
        state = json.loads(json.dumps(loader.state_dict()))
    rest = []
    for rank in range(2):
        with fb.Loader(pipeline, seed=1, epochs=1, rank=rank, world_size=2) as loader:
            loader.load_state_dict(state)
            rest += [i for batch in loader for i in list(batch.ids)[:len(batch.ids) - batch.padding]]
    assert sorted(rest) == sorted(i for batch in whole[6:] for i in batch)


def test_a_state_of_other_lengths_is_refused(rows):
    pipeline = as_words(rows).pack(LENGTH).batch(2)
    with fb.Loader(pipeline) as loader:
        next(iter(loader))
        state = loader.state_dict()
    with fb.Loader(as_words(rows).pack(LENGTH + 1).batch(2)) as loader:
        with pytest.raises(fb.Error):
            loader.load_state_dict(state)


@pytest.mark.parametrize("tiers", TIERS)
def test_a_cache_before_it_keeps_what_the_pass_makes(rows, tiers, tmp_path):
    calls = []

    def counted(sample):
        calls.append(1)
        return to_row(sample)

    texts = [" ".join(map(str, row)) for row in rows]
    plain = as_words(rows).shuffle().pack(LENGTH).batch(4)
    cached = fb.arrays(text=texts).map(counted, fields=["text"], version="1").rename(text="tokens").cache(dir=tmp_path, **tiers).shuffle().pack(LENGTH).batch(4)
    digest = fb.digest(fb.Loader(cached, epochs=1))
    assert digest == fb.digest(fb.Loader(plain, epochs=1))
    assert len(calls) <= len(rows), "once each, in the pass; the epoch has them from the cache"


def test_bad_samples_leave_their_place_empty_or_are_told(rows):
    def picky(sample):
        if sample["text"] == bad:
            raise ValueError("no")
        return to_row(sample)

    texts = [" ".join(map(str, row)) for row in rows]
    i = next(n for n, row in enumerate(rows) if n > 20 and len(row) > LENGTH)
    bad = texts[i]
    pipeline = fb.arrays(text=texts).map(picky, fields=["text"]).rename(text="tokens").pack(LENGTH).batch(4)
    left = [row if n != i else row[:0] for n, row in enumerate(rows)]
    for policy in ("skip", "replace"):
        assert_blocks(epoch(pipeline, on_error=policy), left, expected(left))
    with pytest.raises(ValueError, match="no"):
        epoch(pipeline)


def test_a_row_of_another_length_than_before_is_an_error_that_says_so(rows):
    calls = []

    def grows(sample):
        calls.append(1)
        row = to_row(sample)["text"]
        return {"text": np.append(row, [7]).astype(np.int32) if len(calls) > len(rows) else row}

    texts = [" ".join(map(str, row)) for row in rows]
    pipeline = fb.arrays(text=texts).map(grows, fields=["text"]).rename(text="tokens").pack(LENGTH).batch(4)
    with pytest.raises(fb.Error, match="give the same for a sample every time"):
        epoch(pipeline)


def test_what_is_no_row_of_numbers_is_an_error(rows):
    pipeline = fb.arrays(x=np.zeros((4, 2), np.float32)).map(lambda sample: {"x": np.zeros((2, 2))}, fields=["x"]).pack(LENGTH, field="x").batch(2)
    with pytest.raises(fb.Error, match="no row of numbers"):
        epoch(pipeline)


def test_other_types_and_fixed_lengths_are_packed_too():
    values = np.arange(30, dtype=np.float64).reshape(10, 3)
    with fb.Loader(fb.arrays(x=values).pack(4, field="x").batch(5), epochs=1) as loader:
        batches = [np.array(batch["x"]) for batch in loader]
    assert all(batch.dtype == np.float64 for batch in batches)
    assert np.array_equal(np.concatenate(batches)[:, :3], values) and not np.concatenate(batches)[:, 3].any()


def test_nothing_to_pack_is_an_empty_epoch():
    assert epoch(as_words([[], []]).pack(LENGTH).batch(4)) == []


@pytest.mark.parametrize("made, message", [
    (lambda: fb.arrays(tokens=np.zeros((2, 3), np.int32)).pack(4).filter(lambda s: True).batch(1), "move it before .pack()"),
    (lambda: fb.arrays(tokens=np.zeros((2, 3), np.int32)).pack(4).cache().batch(1), "move it before .pack()"),
    (lambda: fb.arrays(tokens=np.zeros((2, 3), np.int32)).map(lambda s, random: s, random=True).pack(4).batch(1), "draws anew"),
    (lambda: fb.arrays(other=np.zeros((2, 3), np.int32)).pack(4).batch(1), "there is no field 'tokens'"),
    (lambda: fb.arrays(tokens=np.zeros((2, 3), np.int32)).pack(0).batch(1), "length is 0"),
    (lambda: fb.arrays(tokens=np.zeros((2, 3), np.int32)).pack(4, open_blocks=0).batch(1), "open_blocks is 0"),
])
def test_mistakes_are_found_before_anything_is_read(made, message):
    pipeline = made()
    assert any(message in f"{problem.message}; {problem.remedy}" for problem in pipeline.check()), pipeline.check()


def test_a_field_of_two_axes_is_told_when_the_data_set_is_opened():
    with pytest.raises(fb.Error, match="is no row of numbers; pack the ids"):
        fb.Loader(fb.arrays(tokens=np.zeros((2, 3, 3), np.int32)).pack(4).batch(1))


def test_memory_is_what_was_given(rows):
    pipeline = as_words(rows).pack(LENGTH).batch(4)
    with fb.Loader(pipeline, epochs=1, memory="2MB") as loader:
        for _ in loader:
            pass
        assert loader.stats()["memory_bytes"]["peak"] <= 2_000_000


def test_the_steps_before_it_are_materialised_and_read_in_their_place(rows, tmp_path):
    pipeline = as_words(rows).shuffle().pack(LENGTH).batch(4)
    made = fb.materialize(pipeline, tmp_path / "rows", cut="last")
    assert fb.digest(fb.Loader(made.pipeline, epochs=1, seed=2)) == fb.digest(fb.Loader(pipeline, epochs=1, seed=2))
    assert_blocks(epoch(made.pipeline), rows, expected(rows))


class Labelled:
    """Tokens with what is trained for: of user code nobody knows the fields before."""

    def __len__(self):
        return 3

    def __getitem__(self, i):
        return {"tokens": np.arange(i + 1), "labels": np.arange(i + 1), "mask": np.ones(i + 1)}


def test_labels_and_masks_are_not_dropped_without_a_word():
    named = fb.arrays(tokens=np.zeros((2, 3), np.int32), labels=np.zeros((2, 3)), mask=np.zeros((2, 3))).pack(4).batch(1)
    (problem,) = named.check()
    assert "'labels', 'mask' would be lost" in problem.message and '.select("tokens")' in problem.remedy
    assert len(epoch(fb.Dataset(Labelled()).select("tokens").pack(4).batch(1))) == 2
    assert not fb.arrays(tokens=np.zeros((2, 3), np.int32), key=np.array(["a", "b"])).pack(4).batch(1).check(), "a name for people"


def with_labels(sample):
    return {**sample, "labels": sample["tokens"], "mask": np.ones(len(sample["tokens"]))}


@pytest.mark.parametrize("on_error", ["raise", "skip", "replace"])
@pytest.mark.parametrize("made", [
    lambda: fb.Dataset(Labelled()),
    lambda: fb.Dataset(Labelled(), version="1").cache(ram="1MiB", disk=0),
    lambda: fb.Dataset(Labelled()).cast("int32", field="tokens"),
    lambda: fb.Dataset(Labelled()).map(lambda sample: sample),
    lambda: fb.Dataset(Labelled()).map(lambda sample: sample, fields=["tokens"]),
    lambda: fb.Dataset(Labelled()).select("tokens").map(with_labels),
    lambda: fb.arrays(tokens=np.zeros((2, 3), np.int32)).map(with_labels),
    lambda: fb.arrays(tokens=np.zeros((2, 3), np.int32)).map(with_labels, fields=["tokens"]),
    lambda: fb.arrays(tokens=np.zeros((2, 3), np.int32)).map(with_labels).filter(lambda sample: True),
])
def test_fields_that_are_known_at_the_first_sample_are_not_dropped_without_a_word(made, on_error):
    with pytest.raises(fb.InvalidArgument) as caught:
        epoch(made().pack(4).batch(1), on_error=on_error)
    assert "'labels', 'mask'" in str(caught.value) and '.select("tokens")' in str(caught.value)
    assert epoch(made().select("tokens").pack(4).batch(1), on_error=on_error)


def test_a_key_of_user_code_may_be_left_out_where_it_is_a_text():
    tokens = fb.arrays(tokens=np.zeros((2, 3), np.int32))
    assert epoch(tokens.map(lambda sample: {**sample, "key": "a"}).pack(4).batch(1))
    with pytest.raises(fb.InvalidArgument, match="'key' would be lost"):
        epoch(tokens.map(lambda sample: {**sample, "key": 7}).pack(4).batch(1))
