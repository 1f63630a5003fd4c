"""Rehearsal: old samples in each batch, the same for any number of ranks and after a resume; and only samples with certain values."""

import itertools
import json
import threading

import numpy as np
import pytest

import forebay as fb
from streaming import TOKEN, numbers, on_ranks

X = np.arange(400, dtype=np.float32)
LABEL = np.arange(400) // 100


@pytest.fixture(autouse=True)
def token(monkeypatch):
    monkeypatch.setenv("FOREBAY_CLUSTER_TOKEN", TOKEN)


def arrays(**options):
    return lambda new, old: fb.arrays(x=X, label=LABEL).rehearse(old, **{"capacity": 5, **options}).batch(new)


def steps(pipeline, world, new=8, old=4, state=None, stop=None, peers=None, **options):
    """Of each step the ids of new samples, sorted, and those of old ones in their order; and the state behind the last."""

    def run(rank):
        got = []
        with fb.Loader(pipeline(new // world, old // world), seed=3, rank=rank, world_size=world,
                       peers=peers if world > 1 else None, **options) as loader:
            if state is not None:
                loader.load_state_dict(state)
            for batch in itertools.islice(loader, stop):
                marks = batch["rehearsed"]
                assert marks.dtype == np.bool_ and marks.shape == batch.ids.shape
                assert (batch["x"] == batch.ids).all()
                got.append((batch.ids[~marks].tolist(), batch.ids[marks].tolist()))
            return got, loader.state_dict()

    ranks = on_ranks(world, run)
    assert all(saved == ranks[0][1] for _, saved in ranks)
    joined = [(sorted(sum((new for new, _ in step), [])), sum((old for _, old in step), [])) for step in zip(*(got for got, _ in ranks))]
    return joined, ranks[0][1]


@pytest.mark.parametrize("options", [{}, {"policy": "balanced", "capacity": 15}, {"policy": "recent"}, {"by": None, "capacity": 30},
                                     {"candidates": 3}])
def test_the_same_for_1_2_and_4_ranks_and_after_a_resume(options):
    whole, _ = steps(arrays(**options), 1)
    assert steps(arrays(**options), 2)[0] == whole
    assert steps(arrays(**options), 4)[0] == whole
    _, state = steps(arrays(**options), 1, stop=17)
    assert len(json.dumps(state)) < 2000
    assert steps(arrays(**options), 2, state=state)[0] == whole[17:]
    new = [i for fresh, _ in whole for i in fresh]
    assert new == list(range(400)), "each new sample once"
    assert whole[0][1] == [], "nothing is kept before the first step"
    for at, (_, old) in enumerate(whole[1:], 1):
        assert len(old) == 4 and max(old) < 8 * at, "old ones come of the steps before"


def test_a_direct_simulation_keeps_as_many_of_each_class():
    whole, state = steps(arrays(), 1)
    classes = state["rehearsal"]["classes"]
    assert [(label, seen, len(kept)) for label, seen, _, _, kept in classes] == [(label, 100, 5) for label in range(4)]
    for label, _, _, _, kept in classes:
        assert all(LABEL[i] == label for i in kept)


def test_draws_are_uniform_over_what_is_kept():
    counts = np.zeros(4)
    for seed in range(60):
        with fb.Loader(arrays(capacity=10)(8, 4), seed=seed, epochs=1) as loader:
            for batch in itertools.islice(loader, 40, None):
                for label in batch["label"][batch["rehearsed"]]:
                    counts[label] += 1
    expected = counts.sum() / 4
    assert ((counts - expected) ** 2 / expected).sum() < 22, counts  # 3 degrees of freedom: above once in 15,000


def test_old_samples_draw_random_numbers_of_their_own():
    pixels = np.random.default_rng(0).integers(0, 255, (40, 24, 24, 3), dtype=np.uint8)
    pipeline = fb.arrays(image=pixels, label=np.zeros(40, int)).random_crop(8).rehearse(4, capacity=4).batch(4)

    def crops():
        with fb.Loader(pipeline, seed=1, epochs=2) as loader:
            return [(i, image.tobytes()) for _ in range(2) for batch in loader for i, image in zip(batch.ids.tolist(), batch["image"])]

    first = crops()
    assert first == crops()
    by_id = {}
    for i, image in first:
        by_id.setdefault(i, set()).add(image)
    assert max(len(images) for images in by_id.values()) > 3


def test_here_old_samples_come_in_as_they_were_and_the_steps_before_do_not_run_again():
    def run(new, old, ram):
        calls = []

        def noted(sample):
            calls.append(1)
            return {"x": sample["x"]}

        pipeline = (fb.arrays(x=X, label=LABEL).map(noted, fields="x", version="1")
                    .rehearse(old, capacity=5, where="here", ram=ram)
                    .map(lambda sample: {"x": np.minimum(sample["x"], 350)}, fields="x").batch(new))
        with fb.Loader(pipeline, seed=3, epochs=2) as loader:
            return [(batch.ids.tolist(), batch["x"].tolist(), batch["rehearsed"].tolist()) for _ in range(2) for batch in loader], len(calls)

    kept, calls = run(8, 4, None)
    again, more = run(8, 4, 0)
    assert kept == again
    assert more == 800 + 99 * 4
    assert 800 <= calls < more - 40, "but for those that were drawn while the step in which they were new was being prepared"
    assert all(x == min(i, 350) for ids, values, _ in kept for i, x in zip(ids, values))


@pytest.mark.parametrize("ram", [None, 0, "2kB"])
def test_here_is_the_same_for_other_ranks_budgets_and_after_a_resume(ram):
    pixels = np.random.default_rng(0).integers(0, 255, (40, 24, 24, 3), dtype=np.uint8)

    def run(world, state=None, stop=None, epochs=2):
        pipeline = (fb.arrays(image=pixels).shuffle().random_crop(12)
                    .rehearse(4 // world, capacity=9, by=None, where="here", ram=ram).random_crop(8).batch(4 // world))
        steps, states = [], []
        for rank in range(world):
            with fb.Loader(pipeline, seed=1, rank=rank, world_size=world, epochs=2) as loader:
                if state is not None:
                    loader.load_state_dict(state)
                batches = list(itertools.islice((batch for _ in range(epochs) for batch in loader), stop))
                states.append(loader.state_dict())
            steps.append([sorted(zip(batch["rehearsed"].tolist(), batch.ids.tolist(), (image.tobytes() for image in batch["image"]))) for batch in batches])
        return [sorted(sum(step, [])) for step in zip(*steps)], states[0]

    whole, _ = run(1)
    assert len(whole) == 20 and run(2)[0] == whole and run(4)[0] == whole
    _, state = run(1, stop=13)
    assert run(1, state, epochs=1)[0] == whole[13:] == run(2, state, epochs=1)[0]


def test_here_of_a_stream_gives_the_same_samples_as_from_its_records(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"x": i, "label": i // 100}) + "\n" for i in range(400)))
    source = fb.jsonl(path, fields={"x": "int64", "label": "int64"}, follow=True)

    def pipeline(**options):
        return lambda new, old: source.rehearse(old, capacity=3, **options).batch(new)

    whole, _ = steps(pipeline(), 1, stop=50, steps_per_epoch=50)
    assert steps(pipeline(where="here"), 1, stop=50, steps_per_epoch=50)[0] == whole
    _, early = steps(pipeline(where="here"), 1, stop=30, steps_per_epoch=50)
    assert steps(pipeline(where="here", ram=0), 1, state=early, stop=20, steps_per_epoch=50)[0] == whole[30:]
    (tmp_path / "2").mkdir()
    assert steps(pipeline(where="here"), 2, stop=50, steps_per_epoch=50, peers=f"file://{tmp_path}/2")[0] == whole


def test_digests_are_the_same_for_other_ranks():
    one = fb.Loader(arrays()(8, 4), seed=3)
    two = [fb.Loader(arrays()(4, 2), seed=3, rank=rank, world_size=2) for rank in range(2)]
    assert fb.digest(one) == fb.digest(*two)
    for loader in (one, *two):
        loader.close()


def test_a_stream_rehearses_what_its_log_need_not_give_again(tmp_path):
    pipeline = lambda new, old: fb.stream(numbers(400)).rehearse(old, capacity=10, by=None).batch(new)
    whole, _ = steps(pipeline, 1)
    for world in (2, 4):
        (tmp_path / str(world)).mkdir()
        assert steps(pipeline, world, peers=f"file://{tmp_path}/{world}")[0] == whole
    _, state = steps(pipeline, 1, stop=20)
    (tmp_path / "again").mkdir()
    assert steps(pipeline, 2, state=state, peers=f"file://{tmp_path}/again")[0] == whole[20:]


def test_lines_of_a_file_rehearse_by_class(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"x": i, "label": i // 100}) + "\n" for i in range(400)))
    source = fb.jsonl(path, fields={"x": "int64", "label": "int64"}, follow=True)
    pipeline = lambda new, old: source.rehearse(old, capacity=3).batch(new)
    whole, state = steps(pipeline, 1, stop=50, steps_per_epoch=50)
    assert [(label, seen, len(kept)) for label, seen, _, _, kept in state["rehearsal"]["classes"]] == [(c, 100, 3) for c in range(4)]
    _, early = steps(pipeline, 1, stop=30, steps_per_epoch=50)
    assert steps(pipeline, 1, state=early, stop=20, steps_per_epoch=50)[0] == whole[30:]


def lines_file(path, count=400):
    path.write_text("".join(json.dumps({"x": i, "label": i // 100, "text": "x" * 500}) + "\n" for i in range(count)))
    return fb.jsonl(path, fields={"x": "int64", "label": "int64", "text": "text"}, follow=True)


@pytest.mark.parametrize("options", [{"capacity": 10}, {"policy": "balanced", "capacity": 30}, {"policy": "recent", "capacity": 8}])
def test_records_that_are_kept_are_spread_over_the_ranks_and_lent(tmp_path, options):
    source = lines_file(tmp_path / "a.jsonl")
    pipeline = lambda new, old: source.rehearse(old, **options).batch(new)
    whole, _ = steps(pipeline, 1, stop=50, steps_per_epoch=50)
    for world in (2, 4):
        (tmp_path / str(world)).mkdir()
        spread, state = steps(pipeline, world, stop=50, steps_per_epoch=50, peers=f"file://{tmp_path}/{world}")
        assert spread == whole
    (tmp_path / "again").mkdir()
    _, early = steps(pipeline, 1, stop=30, steps_per_epoch=50)
    assert steps(pipeline, 2, state=early, stop=20, steps_per_epoch=50, peers=f"file://{tmp_path}/again")[0] == whole[30:]


def test_each_rank_keeps_a_share_and_draws_come_from_all(tmp_path):
    source = lines_file(tmp_path / "a.jsonl")
    pipeline = source.rehearse(4, capacity=1000, by=None).batch(4)
    stats, both_done = {}, threading.Barrier(2)

    def run(rank):
        owners = []
        with fb.Loader(pipeline, seed=3, rank=rank, world_size=2, peers=f"file://{tmp_path}", steps_per_epoch=50) as loader:
            for batch in itertools.islice(loader, 50):
                owners += (batch.ids[batch["rehearsed"]] % 2).tolist()
            stats[rank] = loader.stats()["stream"]
            both_done.wait(60)  # else rank 0 may have to do without rank 1
        return owners

    owners = on_ranks(2, run)
    for rank in range(2):
        # of 196 fair draws, four standard deviations are 28
        assert 70 < sum(owners[rank]) < 126
        assert stats[rank]["old_lent"] + stats[rank]["old_reread"] == pytest.approx(sum(owner != rank for owner in owners[rank]), abs=25)
        assert stats[rank]["old_lost"] == 0
    assert stats[0]["old_lent"] > 40, "rank 1 is there while rank 0 is"


def test_what_a_rank_kept_that_is_gone_is_read_from_the_log_again(tmp_path):
    source = lines_file(tmp_path / "a.jsonl")
    pipeline = source.rehearse(2, capacity=100, by=None).batch(2)

    def run(meet, stop_of_rank_1):
        (tmp_path / meet).mkdir()

        def of_rank(rank):
            with fb.Loader(pipeline, seed=3, rank=rank, world_size=2, peers=f"file://{tmp_path}/{meet}", steps_per_epoch=80) as loader:
                got = [batch.ids.tolist() for batch in itertools.islice(loader, 80 if rank == 0 else stop_of_rank_1)]
                return got, loader.stats()["stream"]

        return on_ranks(2, of_rank)[0]

    whole, _ = run("both", 80)
    got, stats = run("one", 20)
    assert got == whole
    assert stats["old_reread"] > 20 and stats["old_lost"] == 0


def test_what_memory_has_no_room_for_is_kept_on_disk(tmp_path):
    source = lines_file(tmp_path / "a.jsonl")

    def run(rank, world, meet, **buffer):
        pipeline = source.buffer(**buffer).rehearse(4 // world, capacity=1000, by=None).batch(8 // world)
        with fb.Loader(pipeline, seed=3, rank=rank, world_size=world, peers=meet, steps_per_epoch=50) as loader:
            return [(batch.ids.tolist(), batch["text"]) for batch in loader], loader.stats()["stream"]

    whole, stats = run(0, 1, None)
    assert stats["disk_bytes"] == 0
    got, stats = run(0, 1, None, bytes="30kB", disk="1MB")
    assert got == whole
    assert stats["disk_bytes"] > 150_000 and stats["memory_bytes"] < 80_000 and stats["old_reread"] == 0
    got, stats = run(0, 1, None, bytes="30kB", disk="50kB")
    assert got == whole, "what the disk has no room for either is read from the log again"
    assert stats["disk_bytes"] <= 50_000 and stats["old_reread"] > 0
    both = on_ranks(2, lambda rank: run(rank, 2, f"file://{tmp_path}", bytes="30kB")[0])
    assert [old for step in zip(*both) for ids, _ in step for old in ids[4:]] == [old for ids, _ in whole for old in ids[8:]]


def test_what_a_stream_kept_is_not_taken_for_records_that_are_still_to_come(tmp_path):
    pipeline = lines_file(tmp_path / "a.jsonl").rehearse(2, capacity=10).batch(2)
    _, state = steps(lambda new, old: pipeline, 1, new=2, old=2, stop=20)
    with pytest.raises(fb.StateMismatch, match="begins with record 0"):
        fb.Loader(pipeline, seed=4, rehearsal=state)


def test_a_folder_for_what_is_kept_that_is_not_there_is_named(tmp_path):
    pipeline = lines_file(tmp_path / "a.jsonl").buffer(dir=tmp_path / "none").rehearse(2, capacity=10).batch(2)
    with pytest.raises(fb.Unavailable, match="none"):
        fb.Loader(pipeline)


def test_photographs_rehearse_by_their_folders(photos):
    pipeline = fb.images(photos).decode_image().resize(16).rehearse(2, capacity=2).batch(4)
    with fb.Loader(pipeline, seed=1) as loader:
        first, *rest = loader
        assert len(first.ids) == 4 and not first["rehearsed"].any()
        labels = dict(zip(first.ids.tolist(), first["label"].tolist()))
        for batch in rest:
            assert batch["rehearsed"].sum() == 2 and batch["image"].shape[1:] == (16, 16, 3)
            for i, label, old in zip(batch.ids.tolist(), batch["label"].tolist(), batch["rehearsed"]):
                assert labels.setdefault(i, label) == label
                assert not old or i in labels


def test_only_samples_with_the_values_given():
    pipeline = fb.arrays(x=X, label=LABEL, name=np.array([f"n{i % 3}" for i in range(400)])).only(label=[1, 3])
    with fb.Loader(pipeline.batch(50)) as loader:
        assert loader.size == 200
        assert {label for batch in loader for label in batch["label"].tolist()} == {1, 3}
    with fb.Loader(pipeline.only(name="n2").batch(50)) as loader:
        ids = [i for batch in loader for i in batch.ids.tolist()]
    assert ids == [i for i in range(400) if LABEL[i] in (1, 3) and i % 3 == 2], "ids stay those of the whole data set"
    again = fb.Pipeline.from_json(fb.images("x").only(label=[1, 2]).batch(2).to_json())
    assert ".only(" in str(again)


def test_tasks_of_classes_one_after_the_other(photos):
    seen = []
    for task in ([0], [1, 2]):
        with fb.Loader(fb.images(photos).only(label=task).decode_image().resize(8).batch(4), epochs=1) as loader:
            seen += [label for batch in loader for label in batch["label"].tolist()]
    assert sorted(set(seen)) == [0, 1, 2] and seen == sorted(seen)


def test_a_task_rehearses_what_the_task_before_kept():
    source = fb.arrays(x=X, label=LABEL)
    state = None
    for task in range(4):
        pipeline = source.only(label=task).shuffle().rehearse(4, capacity=5).batch(8)
        with fb.Loader(pipeline, seed=task, rehearsal=state, epochs=1) as loader:
            old = set()
            for batch in loader:
                marks = batch["rehearsed"]
                assert (batch["x"] == batch.ids).all() and set(batch["label"][~marks].tolist()) == {task}
                old |= set(batch["label"][marks].tolist())
            assert old == set(range(task + 1))
            state = loader.state_dict()
    assert [label for label, *_ in state["rehearsal"]["classes"]] == [0, 1, 2, 3]
    with pytest.raises(fb.StateMismatch, match="another data set"):
        fb.Loader(fb.arrays(x=X[::-1].copy(), label=LABEL).rehearse(4, capacity=5).batch(8), rehearsal=state)
    with pytest.raises(fb.InvalidArgument, match="with a .rehearse"):
        fb.Loader(source.batch(8), rehearsal=state)


@pytest.mark.parametrize("build, message", [
    (lambda p: p.rehearse(0, capacity=3).batch(2), "n is 0"),
    (lambda p: p.rehearse(2, capacity=0).batch(2), "capacity is 0"),
    (lambda p: p.rehearse(2, capacity=3, policy="best").batch(2), 'unknown policy "best"'),
    (lambda p: p.rehearse(2, capacity=3, by="class").batch(2), "no field 'class'"),
    (lambda p: p.rehearse(2, capacity=3, where="there").batch(2), 'unknown where "there"'),
    (lambda p: p.rehearse(2, capacity=3, ram="1MiB").batch(2), 'ram= is for'),
    (lambda p: p.rehearse(2, capacity=3, where="here").shuffle().batch(2), "stands behind .rehearse"),
    (lambda p: p.rehearse(2, capacity=3).select("x").batch(2), "only .batch\\(\\) may follow"),
    (lambda p: p.rename(x="rehearsed").rehearse(2, capacity=3).batch(2), "'rehearsed' already"),
    (lambda p: p.only(nothing=[1]).batch(2), "no field 'nothing'"),
    (lambda p: p.only(x=[1]).batch(2), "neither one whole number nor a text"),
    (lambda p: p.only(label=["one"]).batch(2), "is a number, which no text equals; give whole numbers"),
])
def test_mistakes_are_named(build, message):
    with pytest.raises(fb.InvalidArgument, match=message):
        fb.Loader(build(fb.arrays(x=X, label=LABEL)))


def test_a_text_is_no_number_and_a_number_no_text():
    pipeline = fb.arrays(x=X, name=np.array([f"{i % 3}" for i in range(400)]))
    with pytest.raises(fb.InvalidArgument, match="is a text, which no number equals; give texts"):
        fb.Loader(pipeline.only(name=[1, 2]).batch(2))


def test_what_is_kept_of_the_task_before_is_a_state():
    with pytest.raises(TypeError, match="a state is the dict that state_dict.. gives, not str"):
        fb.Loader(arrays()(8, 4), rehearsal="state.json")


def test_states_with_broken_rehearsals_are_refused():
    _, state = steps(arrays(), 1, stop=5)
    with fb.Loader(arrays()(8, 4), seed=3) as loader:
        for classes in ("x", [[0]], [[0, 1, False, 0, [1, 2, 3]]], [[0, 9, False, 0, [-1]]], [[0, 9, False, 0, [400]]], [[0, 99, False, 0, list(range(6))]]):
            with pytest.raises(fb.InvalidArgument, match="rehearsal"):
                loader.load_state_dict({**state, "rehearsal": {**state["rehearsal"], "classes": classes}})
