"""Further budgets of packed blocks (`limits=`): tokens and patches both hold."""
import numpy as np
import pytest
from pack_model import blocks_of, filled

import forebay as fb

LENGTH = 32


class Captions:
    """Tokens of a caption, and the patches of its pictures: as many rows, and their number."""

    def __init__(self, lengths, patches):
        self.tokens = [1000 * (i + 1) + np.arange(count, dtype=np.int32) for i, count in enumerate(lengths)]
        self.patches = patches

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return {"tokens": self.tokens[i], "patches": np.zeros((self.patches[i], 3), np.float32), "count": self.patches[i], "seconds": self.patches[i] / 2}


def drawn(n=200, seed=0):
    random = np.random.default_rng(seed)
    return random.integers(0, LENGTH + 1, n).tolist(), random.integers(0, 11, n).tolist()


LENGTHS, PATCHES = drawn()
CAPTIONS = Captions(LENGTHS, PATCHES)


def blocks(pipeline, **options):
    found = {}
    with fb.Loader(pipeline, epochs=1, **options) as loader:
        for batch in loader:
            assert "patches" not in batch and "count" not in batch
            found.update({number: (np.array(batch["tokens"][row]), np.array(batch["segments"][row])) for row, number in enumerate(batch.ids.tolist())})
    return found


@pytest.mark.parametrize("options", [{}, {"open_blocks": 3}, {"how": "best-fit"}, {"how": "best-fit", "window": 50}, {"max_segments": 2}], ids=str)
@pytest.mark.parametrize("field", ["patches", "count"])
def test_blocks_are_those_of_the_model_and_both_budgets_hold(field, options):
    model = blocks_of(LENGTHS, LENGTH, too_long="drop", limits=[(16, PATCHES)], **options)
    pipeline = fb.Dataset(CAPTIONS).select("tokens", field).shuffle().pack(LENGTH, too_long="drop", limits={field: 16}, **options)
    found = blocks(pipeline.batch(4))
    assert sorted(found) == list(range(len(model)))
    for number, block in enumerate(model):
        assert found[number][0].tolist() == filled(CAPTIONS.tokens, block, LENGTH)
        assert sum(PATCHES[i] for i, _, _ in block) <= 16
    whole = blocks_of(LENGTHS, LENGTH, too_long="drop", **options)
    assert any(sum(PATCHES[i] for i, _, _ in block) > 16 for block in whole), "the limit does nothing here"


def test_several_limits_and_fractions():
    limits = {"count": 20, "seconds": 7}  # of seconds, 0.5 counts as 1
    costs = [int(np.ceil(one / 2)) for one in PATCHES]
    model = blocks_of(LENGTHS, LENGTH, too_long="drop", limits=[(20, PATCHES), (7, costs)])
    found = blocks(fb.Dataset(CAPTIONS).select("tokens", "count", "seconds").pack(LENGTH, too_long="drop", limits=limits).batch(4))
    assert [found[number][0].tolist() for number in sorted(found)] == [filled(CAPTIONS.tokens, block, LENGTH) for block in model]


def test_ranks_and_threads_change_nothing_and_a_limit_is_part_of_the_pipeline():
    pipeline = fb.Dataset(CAPTIONS).select("tokens", "count").shuffle().pack(LENGTH, too_long="drop", limits={"count": 16}, how="best-fit")
    digests = {fb.digest(*[fb.Loader(pipeline.batch(2, last="pad"), epochs=1, seed=5, rank=rank, world_size=world, threads=threads) for rank in range(world)])
               for world, threads in ((1, 1), (1, 3), (2, 2), (3, 1))}
    assert len(digests) == 1
    with fb.Loader(pipeline.batch(2)) as loader:
        state = loader.state_dict()
    other = fb.Dataset(CAPTIONS).select("tokens", "count").shuffle().pack(LENGTH, too_long="drop", limits={"count": 17}, how="best-fit")
    with fb.Loader(other.batch(2)) as loader, pytest.raises(fb.StateMismatch):
        loader.load_state_dict(state)


def test_other_costs_are_another_data_set():
    def loader(patches):
        return fb.Loader(fb.arrays(tokens=np.ones((4, 3), np.int32), count=np.array(patches)).pack(6, too_long="drop", limits={"count": 4}).batch(1))

    with loader([1, 2, 3, 4]) as one, loader([4, 3, 2, 1]) as other, pytest.raises(fb.StateMismatch):
        other.load_state_dict(one.state_dict())


def test_a_row_above_a_limit_is_left_out_or_named(capfd):
    captions = Captions([4, 5, 6], [3, 17, 2])
    found = blocks(fb.Dataset(captions).select("tokens", "count").pack(LENGTH, too_long="drop", limits={"count": 16}).batch(1))
    assert [tokens[tokens > 0].tolist() for tokens, _ in found.values()] == [[*captions.tokens[0], *captions.tokens[2]]]
    assert '1 of 3 samples are above limits= and left out, by too_long="drop"' in capfd.readouterr().err
    with pytest.raises(fb.InvalidArgument, match="it has 17 of 'count', and a block has 16; .*too_long=\"drop\"") as caught:
        blocks(fb.Dataset(captions).select("tokens", "count").pack(LENGTH, too_long="error", limits={"count": 16}).batch(1))
    assert caught.value.sample == 1 and caught.value.operator == "pack"
    rows = fb.Dataset(captions).select("tokens", "count")
    fits = [blocks(rows.pack(LENGTH, too_long=too_long, limits={"count": 17}).batch(1)) for too_long in ("error", "drop")]
    assert len(fits[0]) == 2, "the second row has all of a block"
    assert {number: tokens.tolist() for number, (tokens, _) in fits[0].items()} == {number: tokens.tolist() for number, (tokens, _) in fits[1].items()}


def test_a_sample_that_is_left_out_is_above_no_limit():
    rows = [{"tokens": np.full(4, i + 1, np.int32), "labels": np.zeros(4 - i % 2, np.int32), "count": 1 + 98 * (i % 2)} for i in range(4)]
    packed = fb.Dataset(rows).select("tokens", "labels", "count").pack({"tokens": 8, "labels": 8}, limits={"count": 16}, too_long="error").batch(1)
    with fb.Loader(packed, epochs=1, on_error="skip") as loader:
        assert {x for batch in loader for x in np.asarray(batch["tokens"]).ravel().tolist() if x} == {1, 3}
        assert [error["sample"] for error in loader.errors()] == [1, 3]


def test_best_fit_fills_blocks_by_the_scarcer_budget():
    random = np.random.default_rng(3)
    lengths, patches = random.integers(1, 200, 2000).tolist(), random.integers(0, 400, 2000).tolist()
    captions = Captions(lengths, patches)
    found = blocks(fb.Dataset(captions).select("tokens", "count").pack(2048, too_long="drop", limits={"count": 1024}, how="best-fit").batch(8))
    assert sum(patches) / (len(found) * 1024) > 0.97


@pytest.mark.parametrize("made, message", [
    (lambda d: d.pack(8, limits={"count": 4}), "limits is for whole rows, and rows are split here; give too_long="),
    (lambda d: d.pack(8, limits={"count": 4}, how="cut"), 'give how="best-fit"'),
    (lambda d: d.pack(8, limits=4, too_long="drop"), 'give the most of a block by field: limits={"patches": 1024}'),
    (lambda d: d.pack(8, limits={}, too_long="drop"), "limits is {}"),
    (lambda d: d.pack(8, limits={"count": 0}, too_long="drop"), "the limit of 'count' is 0"),
    (lambda d: d.pack(8, limits={"tokens": 4, "count": 4}, too_long="drop"), "limits names 'tokens', which is packed"),
    (lambda d: d.pack(8, limits={"counts": 4}, too_long="drop"), "there is no field 'counts'"),
    (lambda d: d.pack(8, limits={"weight": 4}, too_long="drop"), """blocks hold the field 'tokens' alone, and 'count' would be lost; put .select("tokens", "weight") before .pack()"""),
])
def test_mistakes_are_found_before_anything_is_read(made, message):
    pipeline = made(fb.arrays(tokens=np.zeros((2, 3), np.int32), count=np.ones(2), weight=np.ones(2))).batch(1)
    told = [f"{problem.message}; {problem.remedy}" for problem in pipeline.check()]
    assert any(message in text for text in told), told


def test_a_function_that_gives_the_cost_needs_no_select():
    def counted(sample):
        return {"tokens": sample["tokens"], "count": np.int64(2)}

    tokens = fb.arrays(tokens=np.arange(1, 13, dtype=np.int32).reshape(6, 2))
    for named in (tokens.map(counted, version="1"), tokens.map(counted, version="1").select("tokens", "count")):
        with fb.Loader(named.pack(8, limits={"count": 4}, too_long="drop").batch(3), epochs=1) as loader:
            (batch,) = loader
        assert [[x for x in block if x] for block in batch["tokens"].tolist()] == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]


def test_what_a_function_adds_beside_the_cost_would_be_lost():
    """The message names each field once."""
    more = fb.arrays(tokens=np.ones((2, 3), np.int32)).map(lambda sample: {**sample, "count": np.int64(1), "more": np.int64(1)}, version="1")
    with pytest.raises(fb.InvalidArgument, match=r"""blocks hold the field 'tokens' alone, and 'more' would be lost; put .select\("tokens", "count"\) before .*: .pack\({"tokens": n, "more": n}\)"""):
        blocks(more.pack(8, limits={"count": 4}, too_long="drop").batch(1))


def test_a_cost_that_is_none_is_told():
    pipeline = fb.arrays(tokens=np.zeros((2, 3), np.int32), count=np.array([1, -1])).pack(8, limits={"count": 4}, too_long="drop").batch(1)
    with pytest.raises(fb.InvalidArgument, match="the field 'count' is -1; a cost is 0 or above"):
        blocks(pipeline)
