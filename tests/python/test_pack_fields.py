"""`.pack()` of several fields: what stands in the blocks, for a trainer."""
import json

import numpy as np
import pytest

import forebay as fb
from pack_model import blocks_of, cu_seqlens_of, filled, positions_of, segments_of

LENGTH = 16
FIELDS = ("tokens", "labels", "loss_mask")


class Chats:
    """Samples with tokens, labels and a mask of their own, of one length each."""

    def __init__(self, n=60, seed=0, fields=FIELDS):
        random = np.random.default_rng(seed)
        lengths = np.where(random.random(n) < 0.15, random.integers(0, 4 * LENGTH, n), random.integers(0, LENGTH, n))
        lengths[7] = LENGTH  # with an end, that stands alone in a second block
        self.tokens = [1000 * (i + 1) + np.arange(count, dtype=np.int32) for i, count in enumerate(lengths)]
        self.labels = [np.where(np.arange(len(row)) < 3, -100, row).astype(np.int64) for row in self.tokens]
        self.loss_mask = [(np.arange(len(row)) >= 3).astype(np.uint8) for row in self.tokens]
        self.fields = fields

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return {name: getattr(self, name)[i] for name in self.fields}

    def lengths(self, added=0):
        return [len(row) + added if len(row) else 0 for row in self.tokens]


def lengths_of(*names, length=LENGTH):
    return dict.fromkeys(names, length)


def blocks(pipeline, batch=4, **options):
    """Every block, by its number: name of the field to its row."""
    found = {}
    with fb.Loader(pipeline.batch(batch), epochs=1, **options) as loader:
        for batch in loader:
            for row, number in enumerate(batch.ids):
                found[int(number)] = {name: row_of(batch[name], row) for name in batch}
    return found


def row_of(values, row):
    if isinstance(values, tuple):
        values, offsets = values
        return np.asarray(values)[offsets[row]:offsets[row + 1]]
    return np.asarray(values)[row]


@pytest.fixture(scope="module")
def chats():
    return Chats()


@pytest.fixture(scope="module")
def table(tmp_path_factory, chats):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path_factory.mktemp("chats") / "chats.parquet"
    types = {"tokens": pa.int32(), "labels": pa.int64(), "loss_mask": pa.uint8()}
    columns = {name: pa.array([list(row) for row in getattr(chats, name)], pa.list_(types[name])) for name in FIELDS}
    pq.write_table(pa.table(columns), path, row_group_size=25)
    return path


def assert_blocks(found, model, wanted):
    """`wanted`: from a block of the model to the fields that it has."""
    assert sorted(found) == list(range(len(model)))
    for number, block in enumerate(model):
        expected = {**wanted(block), "segments": segments_of(block, LENGTH), "positions": positions_of(block, LENGTH)}
        assert set(found[number]) == set(expected)
        for name, values in expected.items():
            assert list(found[number][name]) == list(values), (number, name)


def test_fields_stand_side_by_side(chats, table):
    pack = {"length": lengths_of(*FIELDS), "pad_value": {"loss_mask": 9}}

    def wanted(block):
        return {"tokens": filled(chats.tokens, block, LENGTH), "labels": filled(chats.labels, block, LENGTH, pad=-100),
                "loss_mask": filled(chats.loss_mask, block, LENGTH, pad=9)}  # fmt: skip

    assert_blocks(blocks(fb.Dataset(chats).pack(**pack)), blocks_of(chats.lengths(), LENGTH), wanted)
    in_groups = blocks_of(chats.lengths(), LENGTH, groups=[25, 25, 10])
    for pipeline in (fb.parquet(table), fb.parquet(table).map(dict), fb.parquet(table).cache(disk=0, ram="1MiB")):
        assert_blocks(blocks(pipeline.shuffle(block=2).pack(**pack)), in_groups, wanted)


def test_types_are_those_of_the_fields_and_one_length_for_all_is_a_number(chats):
    with fb.Loader(fb.Dataset(chats).pack(lengths_of(*FIELDS), pad_value=7).batch(4)) as loader:
        batch = next(iter(loader))
    assert [np.asarray(batch[name]).dtype for name in batch] == ["int32", "int64", "uint8", "int32", "int32"]
    assert list(batch) == [*FIELDS, "segments", "positions"]
    alone = fb.Dataset(chats).select("tokens")
    assert fb.digest(fb.Loader(alone.pack(LENGTH).batch(4), epochs=1)) == fb.digest(fb.Loader(alone.pack(lengths_of("tokens")).batch(4), epochs=1))


@pytest.mark.parametrize("how", ["first-fit", "best-fit", "cut"])
def test_an_end_is_appended_to_every_sample(chats, table, how):
    pack = {"length": lengths_of(*FIELDS), "eos": 2, "how": how}
    ends = {"tokens": 2, "labels": 2, "loss_mask": None}
    values = {name: [np.append(row, row[-1] if end is None else end) if len(row) else row for row in getattr(chats, name)] for name, end in ends.items()}

    def wanted(block):
        return {name: filled(values[name], block, LENGTH, pad=-100 if name == "labels" else 0) for name in FIELDS}

    assert_blocks(blocks(fb.Dataset(chats).pack(**pack)), blocks_of(chats.lengths(added=1), LENGTH, how), wanted)
    assert_blocks(blocks(fb.parquet(table).pack(**pack)), blocks_of(chats.lengths(added=1), LENGTH, how, groups=[25, 25, 10]), wanted)


def test_an_end_can_be_given_for_each_field(chats):
    found = blocks(fb.Dataset(chats).pack(lengths_of(*FIELDS), eos={"tokens": 2, "labels": -100, "loss_mask": 0}))
    values = [np.append(row, -100) if len(row) else row for row in chats.labels]
    for number, block in enumerate(blocks_of(chats.lengths(added=1), LENGTH)):
        assert list(found[number]["labels"]) == filled(values, block, LENGTH, pad=-100)


@pytest.mark.parametrize("eos", [None, 2])
def test_labels_are_the_next_tokens_of_the_segment(chats, eos):
    pipeline = fb.Dataset(chats).select("tokens").pack(LENGTH, shift=1, eos=eos)
    tokens = chats.tokens if eos is None else [np.append(row, eos) if len(row) else row for row in chats.tokens]

    def wanted(block):
        return {"tokens": filled(tokens, block, LENGTH), "labels": filled(tokens, block, LENGTH, pad=-100, shift=1)}

    assert_blocks(blocks(pipeline), blocks_of([len(row) for row in tokens], LENGTH), wanted)


def test_labels_that_are_given_and_masks_are_shifted_where_that_is_said(chats):
    found = blocks(fb.Dataset(chats).pack(lengths_of(*FIELDS), shift={"labels": 1, "loss_mask": 1}))
    for number, block in enumerate(blocks_of(chats.lengths(), LENGTH)):
        assert list(found[number]["tokens"]) == filled(chats.tokens, block, LENGTH)
        assert list(found[number]["labels"]) == filled(chats.labels, block, LENGTH, pad=-100, shift=1)
        assert list(found[number]["loss_mask"]) == filled(chats.loss_mask, block, LENGTH, shift=1)
    assert list(blocks(fb.Dataset(chats).pack(lengths_of(*FIELDS), shift=1))[0]["loss_mask"]) == filled(chats.loss_mask, blocks_of(chats.lengths(), LENGTH)[0], LENGTH)


@pytest.mark.parametrize("how", ["first-fit", "best-fit", "cut"])
def test_ends_of_segments_are_those_of_flash_attention(chats, how):
    found = blocks(fb.Dataset(chats).pack(lengths_of(*FIELDS), how=how, cu_seqlens=True))
    for number, block in enumerate(blocks_of(chats.lengths(), LENGTH, how)):
        ends = found[number]["cu_seqlens"]
        assert ends.dtype == np.int32 and list(ends) == cu_seqlens_of(block, LENGTH)
        assert found[number]["max_seqlen"] == max(np.diff(ends)) and found[number]["max_seqlen"].dtype == np.int32
        same = found[number]["segments"][:, None] == found[number]["segments"][None]
        attends = np.zeros((LENGTH, LENGTH), bool)
        for begin, end in zip(ends, ends[1:]):
            attends[begin:end, begin:end] = True
        assert np.array_equal(attends, same), "a token attends to its own segment alone"


def test_a_limit_of_segments_gives_ends_of_one_shape(chats):
    pipeline = fb.Dataset(chats).pack(lengths_of(*FIELDS), max_segments=2, cu_seqlens=True)
    model = blocks_of(chats.lengths(), LENGTH, max_segments=2)
    with fb.Loader(pipeline.batch(4), epochs=1) as loader:
        for batch in loader:
            ends = np.asarray(batch["cu_seqlens"])
            assert ends.shape == (len(batch.ids), 4) and np.asarray(batch["max_seqlen"]).shape == (len(batch.ids),)
            for row, number in enumerate(batch.ids):
                one = cu_seqlens_of(model[number], LENGTH)
                assert list(ends[row]) == one + [LENGTH] * (4 - len(one))
            # A batch as one sequence: the ends of each block, moved by those before it.
            whole = np.append(0, (ends[:, 1:] + LENGTH * np.arange(len(ends))[:, None]).ravel())
            assert (np.diff(whole) >= 0).all() and whole[-1] == LENGTH * len(ends)
            flat = np.asarray(batch["segments"]).ravel()
            for begin, end in zip(whole, whole[1:]):
                assert len(set(flat[begin:end])) <= 1


class Unequal(Chats):
    def __getitem__(self, i):
        sample = super().__getitem__(i)
        return {**sample, "labels": sample["labels"][:-1]} if i == 20 else sample


def test_a_sample_whose_fields_differ_in_length_is_corrupt():
    pipeline = fb.Dataset(Unequal()).pack(lengths_of(*FIELDS))
    chats = Chats()
    assert len(chats.tokens[20]) > 1
    with pytest.raises(fb.Corrupt, match=rf"'tokens' has {len(chats.tokens[20])} elements and 'labels' has {len(chats.tokens[20]) - 1}") as caught:
        blocks(pipeline)
    assert caught.value.sample == 20
    lengths = chats.lengths()
    lengths[20] = 0
    with fb.Loader(pipeline.batch(4), epochs=1, on_error="skip") as loader:
        found = {int(number): list(np.asarray(batch["tokens"])[row]) for batch in loader for row, number in enumerate(batch.ids)}
        assert [(error["sample"], error["operator"]) for error in loader.errors()] == [(20, "pack")]
    for number, block in enumerate(blocks_of(lengths, LENGTH)):
        assert found[number] == filled(chats.tokens, block, LENGTH)


def labels_of(loader):
    """Of each block its number and its labels, without the blocks that pad the last batch."""
    rows = []
    for batch in loader:
        labels = np.asarray(batch["labels"])
        rows += [(int(batch.ids[row]), labels[row].tobytes()) for row in range(len(batch.ids) - batch.padding)]
    return rows


def test_nothing_depends_on_threads_and_ranks_and_a_run_goes_on_with_others(chats, table):
    options = {"length": lengths_of(*FIELDS), "eos": 2, "shift": 1, "cu_seqlens": True, "how": "best-fit"}
    for packed in (fb.Dataset(chats).shuffle().pack(**options), fb.parquet(table).shuffle(block=2).pack(**options)):
        pipeline = packed.batch(2, last="pad")
        digests = {fb.digest(fb.Loader(pipeline, epochs=1, seed=5, threads=threads)) for threads in (1, 3)}
        for world in (2, 3):
            digests.add(fb.digest(*[fb.Loader(pipeline, epochs=1, seed=5, rank=rank, world_size=world) for rank in range(world)]))
        assert len(digests) == 1
        with fb.Loader(pipeline, epochs=1, seed=5) as loader:
            whole = labels_of(loader)
        with fb.Loader(pipeline, epochs=1, seed=5) as loader:
            for _ in range(3):
                next(iter(loader))
            state = json.loads(json.dumps(loader.state_dict()))
        rest = []
        for rank in range(2):
            with fb.Loader(packed.batch(3, last="pad"), epochs=1, seed=5, rank=rank, world_size=2) as loader:
                loader.load_state_dict(state)
                rest += labels_of(loader)
        assert sorted(rest) == sorted(whole[6:])


def test_memory_is_what_was_given(chats, table):
    for source in (fb.Dataset(chats), fb.parquet(table)):
        pipeline = source.pack(lengths_of(*FIELDS), eos=2, cu_seqlens=True).batch(4)
        with fb.Loader(pipeline, epochs=1, memory="2MB") as loader:
            assert sum(len(batch.ids) for batch in loader) > 0
            assert loader.stats()["memory_bytes"]["peak"] <= 2_000_000


def arrays(dtype=np.int32, **others):
    return fb.arrays(tokens=np.zeros((2, 3), dtype), **others)


@pytest.mark.parametrize("made, message", [
    (lambda: arrays().pack({"tokens": 4, "labels": 4}), "there is no field 'labels'"),
    (lambda: arrays(labels=np.zeros((2, 3))).pack({"tokens": 4, "labels": 8}), "the length of 'tokens' is 4, and that of 'labels' is 8; give all fields one length"),
    (lambda: arrays(labels=np.zeros((2, 3)), mask=np.zeros((2, 3))).pack({"tokens": 4, "labels": 4}), """blocks hold the fields 'tokens', 'labels' alone, and 'mask' would be lost; put .select("tokens", "labels") before .pack() to leave the others out, or pack them, too, if they are as long: .pack({"tokens": n, "labels": n, "mask": n})"""),
    (lambda: fb.arrays(ids=np.zeros((2, 3)), mask=np.zeros((2, 3))).pack({"ids": 4, "mask": 4}), "field is 'tokens', and length has no such field; give field="),
    (lambda: arrays().pack({}), "length is {}; give a whole number, or one for each field"),
    (lambda: arrays().pack({"tokens": 0}), "length is 0"),
    (lambda: arrays().pack(4, how="worst-fit"), """how is "worst-fit"; give one of "first-fit", "best-fit", "cut\""""),
    (lambda: arrays().pack(4, too_long="cut"), """too_long is "cut"; give one of "split", "left", "right", "drop", "error\""""),
    (lambda: arrays().pack(4, how="cut", max_segments=3), """leave it out, or give how="best-fit\""""),
    (lambda: arrays().pack(4, max_segments=0), "max_segments is 0; give at least 1"),
    (lambda: arrays().pack(4, how="best-fit", window=0), "window is 0; give at least 1"),
    (lambda: arrays().pack(4, window=100), """window is for how="best-fit", and how is "first-fit\""""),
    (lambda: arrays().pack(4, how="best-fit", open_blocks=8), "window says which rows share blocks"),
    (lambda: arrays().pack(4, eos={"token": 2}), "eos names 'token', which is not packed; the fields of the blocks are 'tokens'"),
    (lambda: arrays().pack(4, shift={"mask": 1}), "shift names 'mask', which is not packed"),
    (lambda: arrays().pack(4, pad_value={"labels": 1}), "pad_value names 'labels', which is not packed"),
    (lambda: fb.arrays(labels=np.zeros((2, 3), np.int32)).pack({"labels": 4}, shift=1), "the main field is called 'labels'"),
    (lambda: arrays().pack(4, shift=-1), "the shift of 'labels' is -1"),
    (lambda: arrays().pack(4, shift=4), "the shift of 'labels' is 4"),
    (lambda: arrays(positions=np.zeros((2, 3))).pack({"tokens": 4, "positions": 4}), "the field is called 'positions', as one that this step makes"),
    (lambda: arrays(max_seqlen=np.zeros((2, 3))).pack({"tokens": 4, "max_seqlen": 4}, cu_seqlens=True), "the field is called 'max_seqlen', as one that this step makes"),
])
def test_mistakes_are_found_before_anything_is_read(made, message):
    (problem,) = made().batch(1).check()
    assert message in f"{problem.message}; {problem.remedy}"
    assert problem.operator == "1: pack"


@pytest.mark.parametrize("made, message", [
    (lambda: arrays(np.uint16).pack(4, shift=1), """'labels' is uint16, which cannot hold -100, which pads it; put .cast("int32", field="tokens") before .pack(), or give pad_value={"labels": …}"""),
    (lambda: arrays(np.uint8).pack(4, eos=50256), "'tokens' is uint8, which cannot hold 50256, which ends its rows"),
])
def test_numbers_that_a_type_cannot_hold_are_found_when_the_data_set_is_opened(made, message):
    with pytest.raises(fb.InvalidArgument) as caught:
        fb.Loader(made().batch(1))
    assert message in str(caught.value)


def test_numbers_that_user_code_gives_in_another_type_are_checked_when_they_are_there():
    chats = Chats(fields=("tokens",))
    chats.tokens = [row.astype(np.uint16) for row in chats.tokens]
    with pytest.raises(fb.InvalidArgument, match="'labels' is uint16, which cannot hold -100"):
        blocks(fb.Dataset(chats).pack(LENGTH, shift=1))
    assert blocks(fb.Dataset(chats).pack(LENGTH, shift=1, pad_value={"labels": 0}))


def test_the_step_is_the_same_from_every_face(chats):
    pipeline = fb.Dataset(chats).pack({"labels": 4, "tokens": 4}, eos={"tokens": 2}, pad_value={"labels": -1})
    again = fb.Dataset(chats).pack({"tokens": 4, "labels": 4}, eos={"tokens": 2}, pad_value={"labels": -1.0})
    assert pipeline.fingerprint == again.fingerprint
    assert fb.Pipeline.from_json(fb.arrays(tokens="t.npy", labels="l.npy").pack({"tokens": 4, "labels": 4}, shift=1).to_json()).check() == []
