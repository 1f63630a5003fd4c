"""Blocks that are made anew in each epoch: of the samples of several parts, and of one data set by choice. What is in them, for any ranks, threads and resumes."""
import json
import subprocess
from collections import Counter

import megatron_files
import numpy as np
import pytest

import forebay as fb
from pack_model import blocks_of, filled, positions_of, segments_of
from sharing import program, serving
from test_pack_rules import Texts, some_lengths

LENGTH = 16
WINDOW = 60
SIZES = (150, 80)
TEXTS = [Texts(some_lengths(size, seed)) for seed, size in enumerate(SIZES)]
LENGTHS = [[len(row) for row in texts.tokens] for texts in TEXTS]


def texts(part, **shuffle):
    return fb.Dataset(TEXTS[part]).shuffle(**shuffle)


# Trees without their packs.
TREES = {
    "one": lambda: texts(0),
    "repeated": lambda: texts(1).repeat(2),
    "drawn": lambda: texts(0).sample(100),
    "in order": lambda: fb.Dataset(TEXTS[0]),
    "union": lambda: fb.mix({"a": texts(0), "b": texts(1)}),
    "weights": lambda: fb.mix({"a": texts(0), "b": texts(1)}, weights={"a": 1, "b": 2}, samples=200),
    "schedule": lambda: fb.mix({"a": texts(0), "b": texts(1)}, schedule=[(0, {"a": 1, "b": 0}), (150, {"a": 1, "b": 3})], samples=110),
    "concat": lambda: fb.concat(texts(0), texts(1)),
    "nested": lambda: fb.mix({"a": fb.concat(texts(0), texts(1)), "b": texts(1).repeat(1.5)}),
    "with draws": lambda: fb.mix({"a": texts(0).sample(70), "b": texts(1)}),
}  # fmt: skip
PARTS = {"nested": [0, 1, 1], "repeated": [1]}
RULES = [{}, {"how": "best-fit"}, {"how": "cut"}, {"open_blocks": 2, "too_long": "drop"}, {"how": "best-fit", "max_segments": 3, "too_long": "left"}, {"how": "cut", "too_long": "right"}]


@pytest.fixture(params=TREES)
def tree(request):
    return request.param


def packed(name, **options):
    options = {"window": WINDOW, "arrange": "epoch"} | options
    return TREES[name]().pack(LENGTH, **options)


def drawn(name, epochs, seed=0):
    """(leaf, sample) at each position of each epoch."""
    with fb.Loader(TREES[name]().batch(1), epochs=epochs, seed=seed) as loader:
        rows = [[(0 if batch.parts is None else int(batch.parts[0]), int(batch.ids[0])) for batch in loader] for _ in range(epochs)]
    return [[(PARTS.get(name, [0, 1])[leaf], sample) for leaf, sample in epoch] for epoch in rows]


def windows_of(rows):
    """Windows of equal length, the longer ones first."""
    count = max(len(rows) // WINDOW, 1)
    share, longer = divmod(len(rows), count)
    ends = np.cumsum([share + (number < longer) for number in range(count)])
    return [rows[begin:end] for begin, end in zip([0, *ends[:-1]], ends, strict=True)]


def model(name, epochs, seed=0, **options):
    """Of each epoch the blocks; of each block (row of tokens, from, count) of its pieces."""
    made = []
    for rows in drawn(name, epochs, seed):
        blocks = []
        for window in windows_of(rows):
            of = blocks_of([LENGTHS[part][sample] for part, sample in window], LENGTH, **options)
            # A block comes where its longest piece is.
            of.sort(key=lambda block: max(block, key=lambda piece: (piece[2], -piece[0]))[0])
            blocks += [[(window[i], begin, count) for i, begin, count in block] for block in of]
        made.append(blocks)
    return made


def content(block):
    values = [TEXTS[part].tokens[sample] for (part, sample), _, _ in block]
    pieces = [(at, begin, count) for at, (_, begin, count) in enumerate(block)]
    return filled(values, pieces, LENGTH), segments_of(pieces, LENGTH), positions_of(pieces, LENGTH)


def rows_of(pipeline, world=1, epochs=1, state=None, **options):
    """(epoch, block, tokens) of all ranks in order, without repeats. Checks that all ranks take equal steps, as many as `len` says."""
    rows, steps = [], []
    for rank in range(world):
        with fb.Loader(pipeline, epochs=epochs, rank=rank, world_size=world, **options) as loader:
            if state is not None:
                loader.load_state_dict(state)
            steps.append([])
            for epoch in range(loader.epoch, epochs):
                done = state["step"] if state is not None and epoch == state["epoch"] else 0
                said = len(loader)
                batches = 0
                for batch in loader:
                    batches += 1
                    assert batch.parts is None
                    for row in range(len(batch) - batch.padding):
                        rows.append((epoch, int(batch.ids[row]), tuple(batch["tokens"][row].tolist())))
                assert batches + done == said
                steps[-1].append(batches)
    assert len(set(map(tuple, steps))) == 1
    return sorted(rows)


@pytest.mark.parametrize("options", RULES, ids=str)
def test_blocks_are_those_of_the_model(tree, options):
    expected = model(tree, 3, **options)
    with fb.Loader(packed(tree, **options).batch(3), epochs=3) as loader:
        for epoch, blocks in enumerate(expected):
            seen = []
            for batch in loader:
                assert batch.epoch == epoch
                assert list(batch) == ["tokens", "segments", "positions"]
                for row, number in enumerate(batch.ids.tolist()):
                    seen.append(number)
                    assert tuple(batch[name][row].tolist() for name in batch) == content(blocks[number])
            assert seen == list(range(len(blocks)))


def test_all_ranks_together_get_the_blocks_of_one(tree):
    one = rows_of(packed(tree).batch(3), epochs=2)
    assert one == rows_of(packed(tree).batch(3), epochs=2, threads=1)
    for world, n in ((2, 3), (3, 1), (5, 4)):
        assert rows_of(packed(tree).batch(n), world, epochs=2) == one


@pytest.mark.parametrize("last", ["partial", "drop", "pad"])
def test_the_last_blocks_of_an_epoch_are_divided_dropped_or_padded(last):
    sizes = [len(blocks) for blocks in model("weights", 4)]
    with fb.Loader(packed("weights").batch(4, last=last), epochs=4, rank=1, world_size=3) as loader:
        for size in sizes:
            steps = size // 12 if last == "drop" else -(-size // 12)
            assert len(loader) == steps
            batches = list(loader)
            assert len(batches) == steps
            assert {len(batch) for batch in batches[:-1]} == {4}
            assert len(batches[-1]) == 4 or last == "partial"


def test_a_run_goes_on_at_any_step_with_other_ranks(tree):
    whole = rows_of(packed(tree).batch(3), epochs=2)
    for world, other, n in ((1, 2, 2), (2, 3, 4), (3, 1, 1)):
        with fb.Loader(packed(tree).batch(3), epochs=2, rank=0, world_size=world) as loader:
            states = [json.loads(json.dumps(loader.state_dict()))]
            for _ in range(2):
                states += [json.loads(json.dumps(loader.state_dict())) for _ in loader]
        for state in states[:: max(len(states) // 7, 1)]:
            assert len(json.dumps(state)) < 1200
            done = [row for row in whole if row[:2] < (state["epoch"], state["position"])]
            assert rows_of(packed(tree).batch(n), other, epochs=2, state=state) == whole[len(done):]


def test_a_run_goes_on_where_an_epoch_has_more_blocks_than_samples():
    pipeline = fb.Dataset([{"tokens": np.arange(i, i + 5 * LENGTH, dtype=np.int32)} for i in range(12)]).shuffle().pack(LENGTH, arrange="epoch").batch(3)
    with fb.Loader(pipeline, epochs=2) as loader:
        whole, states = [], []
        for _ in range(2):
            for batch in loader:
                whole.append(batch["tokens"].tolist())
                states.append(json.loads(json.dumps(loader.state_dict())))
    assert max(state["position"] for state in states) > 12
    for done, state in enumerate(states, start=1):
        with fb.Loader(pipeline, epochs=2) as loader:
            loader.load_state_dict(state)
            assert [batch["tokens"].tolist() for _ in range(2) for batch in loader] == whole[done:]
    with fb.Loader(pipeline, epochs=2) as loader, pytest.raises(fb.InvalidArgument, match="lies behind its data set's end"):
        loader.load_state_dict(states[0] | {"position": 61})


def test_digests_are_the_same_for_ranks_and_threads_and_differ_for_epochs_and_seeds(tree):
    def digest(world=1, seed=4, **options):
        loaders = [fb.Loader(packed(tree).batch(3), rank=rank, world_size=world, seed=seed, **options) for rank in range(world)]
        found = [fb.digest(*loaders) for _ in range(2)]
        for loader in loaders:
            loader.close()
        return found

    first = digest()
    assert digest(threads=1) == first and digest(threads=3) == first and digest(2) == first and digest(3) == first
    shuffled = tree != "in order"
    assert (first[0] != first[1]) == shuffled
    assert (digest(seed=5) != first) == shuffled


def test_other_samples_share_a_block_in_another_epoch():
    def neighbours(pipeline):
        with fb.Loader(pipeline.batch(4), epochs=2) as loader:
            return [{tuple(sorted(set((batch["tokens"][row] // 1000).tolist()))) for batch in loader for row in range(len(batch))} for _ in range(2)]

    first, second = neighbours(texts(0).pack(LENGTH))
    assert first == second
    for pipeline in (packed("one"), packed("one", how="best-fit")):
        first, second = neighbours(pipeline)
        assert len(first & second) < 0.5 * len(first)


def test_behind_parts_blocks_are_made_anew_without_a_word():
    given = {"window": WINDOW, "how": "best-fit"}
    for name in ("union", "concat"):
        assert rows_of(TREES[name]().pack(LENGTH, **given).batch(3), epochs=2) == rows_of(packed(name, how="best-fit").batch(3), epochs=2)


def test_weights_are_shares_of_samples_and_parts_are_counted_once_a_sample():
    pipeline = fb.mix({"a": texts(0), "b": texts(1)}, weights={"a": 1, "b": 3}, samples=1024)
    draws = Counter()
    with fb.Loader(pipeline.batch(64), epochs=1) as loader:
        for batch in loader:
            draws.update((int(part), int(i)) for part, i in zip(batch.parts, batch.ids, strict=True))
    # Empty texts are in no block.
    there = [sum(count for (part, i), count in draws.items() if part == wanted and LENGTHS[part][i] > 0) for wanted in (0, 1)]
    for options in ({}, {"how": "cut"}, {"too_long": "left"}, {"how": "cut", "too_long": "left"}, {"how": "cut", "too_long": "right"}):
        with fb.Loader(pipeline.pack(LENGTH, **options).batch(4), epochs=1) as loader:
            blocks = sum(len(batch) for batch in loader)
            stats = loader.stats()
        assert [part["samples"] for part in stats["parts"]] == there
        assert stats["samples"] == blocks


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder, made = tmp_path_factory.mktemp("parts"), []
    for number, each in enumerate(TEXTS):
        made.append(folder / f"{number}.parquet")
        pq.write_table(pa.table({"tokens": pa.array([list(row) for row in each.tokens], pa.list_(pa.int32()))}), made[-1], row_group_size=30)
    return made


def test_rows_of_tables_share_blocks_over_row_groups_and_parts(tables):
    options = {"eos": 2, "shift": 1, "cu_seqlens": True, "how": "best-fit"}
    for make in (lambda: fb.mix({"t": fb.parquet(tables[0]).shuffle(block=2), "u": texts(1)}, weights={"t": 2, "u": 1}, samples=150),
                 lambda: fb.mix({"t": fb.parquet(tables[0]).shuffle(block=2, lanes=2), "u": fb.parquet(tables[1])}),
                 lambda: fb.parquet(tables[0]).shuffle(block=2)):
        pipeline = make().pack({"tokens": LENGTH}, arrange="epoch", **options).batch(2)
        one = rows_of(pipeline, epochs=2, seed=3)
        assert one == rows_of(pipeline, 3, epochs=2, seed=3, threads=2)
        found = Counter(value for epoch, _, tokens in one if epoch == 0 for value in tokens if value >= 1000)
        with fb.Loader(make().batch(1), epochs=1, seed=3) as loader:
            expected = Counter(value for batch in loader for value in np.asarray(batch["tokens"][0]).tolist())
        assert found == expected


def test_several_fields_limits_and_steps_behind_work_as_on_one_data_set():
    class Chats:
        def __init__(self, seed):
            self.tokens = Texts(some_lengths(90, seed)).tokens

        def __len__(self):
            return len(self.tokens)

        def __getitem__(self, i):
            row = self.tokens[i][:LENGTH]
            return {"tokens": row, "loss_mask": (row % 2).astype(np.float32), "patches": i % 7}

    limits = {"too_long": "drop", "limits": {"patches": 8}}
    chats = [fb.Dataset(Chats(seed)).select("tokens", "loss_mask", "patches").shuffle() for seed in (1, 2)]
    mixed = fb.mix({"a": chats[0], "b": chats[1]}, weights={"a": 1, "b": 1}, samples=160)
    pipeline = mixed.pack({"tokens": LENGTH, "loss_mask": LENGTH}, shift=1, **limits)
    steps = pipeline.cast("int64", field="tokens").rename(tokens="input_ids").map(lambda block: {**block, "sum": block["input_ids"].sum()}).batch(4)
    with fb.Loader(steps, epochs=1) as loader:
        for batch in loader:
            assert batch["input_ids"].dtype == np.int64 and batch["labels"].dtype == np.int32
            for row in range(len(batch)):
                ids, segments = batch["input_ids"][row], batch["segments"][row]
                assert batch["sum"][row] == ids.sum()
                assert (batch["loss_mask"][row] == np.where(segments > 0, ids % 2, 0)).all()
                samples = {int(ids[segments == number][0]) // 1000 - 1 for number in range(1, segments.max() + 1)}
                assert sum(sample % 7 for sample in samples) <= 8


def noisy(block, rng):
    return {"noise": rng.integers(0, 1 << 40), "tokens": block["tokens"]}


def test_functions_draw_the_numbers_of_a_block_for_any_ranks_and_threads():
    def noises(world=1, **options):
        found = {}
        for rank in range(world):
            with fb.Loader(packed("weights").map(noisy, random=True).batch(3), epochs=2, rank=rank, world_size=world, **options) as loader:
                for _ in range(2):
                    found |= {(batch.epoch, int(i)): int(noise) for batch in loader for i, noise in zip(batch.ids, batch["noise"], strict=True)}
        return found

    one = noises(seed=3)
    assert len(set(one.values())) == len(one)
    assert noises(seed=3, threads=3) == one and noises(2, seed=3) == one
    assert noises(seed=4) != one


def test_a_length_that_lies_is_told():
    class Odd(Texts):
        def __init__(self, lengths):
            super().__init__(lengths)
            self.calls = Counter()

        def __getitem__(self, i):
            self.calls[i] += 1
            return {"tokens": self.tokens[i] if i != 7 or self.calls[i] == 1 else self.tokens[i][:-1]}

    mixed = fb.mix({"a": fb.Dataset(Odd([5] * 20)).shuffle(), "b": texts(1)})
    with fb.Loader(mixed.pack(LENGTH).batch(4), epochs=1) as loader, pytest.raises(fb.InvalidArgument, match="not as long as when the lengths were taken"):
        list(loader)


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    folder = tmp_path_factory.mktemp("documents")
    return [fb.megatron(megatron_files.write(folder / name, megatron_files.drawn(60, seed))) for seed, name in enumerate(("a", "b"))]


def of_files(documents, **options):
    a, b = documents
    return fb.mix({"a": a.shuffle(), "b": b.shuffle().repeat(2)}, weights={"a": 2, "b": 1}, samples=120).pack(LENGTH, window=30, **options).batch(3)


def test_the_program_runs_and_plans_it(documents, tmp_path):
    def told(*arguments):
        done = subprocess.run([program(), *map(str, arguments)], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    pipeline = of_files(documents, how="best-fit")
    assert fb.Pipeline.from_json(pipeline.to_json()).fingerprint == pipeline.fingerprint
    (tmp_path / "p.json").write_text(pipeline.to_json())
    with fb.Loader(pipeline, epochs=2, seed=3) as loader:
        digests = [fb.digest(loader) for _ in range(2)]
        blocks = [int(i) for batch in fb.Loader(pipeline, epochs=1, seed=3) for i in batch.ids]
    assert [epoch["digest"] for epoch in told("run", tmp_path / "p.json", "--seed", 3, "--epochs", 2, "--json")["epochs"]] == digests
    plans = [told("plan", tmp_path / "p.json", "--seed", 3, "--rank", rank, "--world", 2, "--json") for rank in range(2)]
    assert sorted(i for plan in plans for step in plan["steps"] for i in step["ids"][: len(step["ids"]) - step["padding"]]) == blocks
    assert plans[0]["size"] == len(blocks)


def test_a_server_of_a_host_gives_the_same(documents, tmp_path):
    with serving(tmp_path / "s") as _:
        pipeline = of_files(documents)
        assert rows_of(pipeline, 2, epochs=2, share=str(tmp_path / "s")) == rows_of(pipeline, epochs=2)


# What is refused

WRONG = [
    (lambda: fb.mix({"a": texts(0), "b": texts(1)}).pack(LENGTH, arrange="once"), "1: pack", "follow each other in another way in each epoch", "leave arrange= out"),
    (lambda: fb.mix({"a": texts(0).pack(LENGTH, arrange="epoch"), "b": texts(1)}), "a: 2: pack", "the blocks of a part are made once", "put .pack() behind all parts"),
    (lambda: fb.concat(fb.mix({"a": texts(0), "b": texts(1)}).pack(LENGTH), texts(0)), "0: 1: pack", "are of all parts", "put it behind all parts"),
    (lambda: fb.concat(texts(0).pack(LENGTH), texts(1).pack(LENGTH)).pack(LENGTH), "1: pack", "stands behind .pack()", "before .pack()"),
    (lambda: texts(0).pack(LENGTH, arrange="often"), "2: pack", 'arrange is "often"', '"once", "epoch"'),
    (lambda: texts(0).pack(LENGTH, window=9), "2: pack", "window is for", "arrange=\"epoch\" it is for all rules"),
    (lambda: texts(0).sample(9).pack(LENGTH), "3: pack", "draws the samples of an epoch", 'arrange="epoch"'),
    (lambda: texts(0).repeat(2).pack(LENGTH), "3: pack", "behind .repeat()", 'arrange="epoch"'),
    (lambda: packed("one").bucket(by="tokens", tokens=99), "3: bucket", "all blocks have one length", ".batch(n)"),
    (lambda: packed("union").shuffle(), "2: shuffle", "an order of its own", "shuffle the parts"),
]


@pytest.mark.parametrize(("make", "place", "message", "remedy"), WRONG)
def test_what_is_wrong_is_told_with_the_way_out(make, place, message, remedy):
    problem = make().check()[-1]
    assert problem.operator == place and message in problem.message and remedy in problem.remedy, problem


def test_weights_and_parts_do_not_change_while_blocks_are_shared():
    pipeline = packed("weights").batch(4)
    with fb.Loader(pipeline) as loader:
        next(iter(loader))
        state = loader.state_dict()
        with pytest.raises(fb.Unsupported, match="pack the parts"):
            loader.set_weights({"a": 1, "b": 1})
    other = fb.mix({"a": texts(0), "b": texts(1)}, weights={"a": 1, "b": 1}, samples=200).pack(LENGTH, window=WINDOW)
    with fb.Loader(other.batch(4)) as loader, pytest.raises(fb.Unsupported, match="pack the parts"):
        loader.load_state_dict(state, parts="changed")
    with pytest.raises(fb.Unsupported, match="anew in each epoch"):
        next(iter(fb.Loader(pipeline, rank=0, world_size=2, shard_by="locality", hosts=2)))
