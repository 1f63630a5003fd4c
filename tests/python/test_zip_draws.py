"""Parts of a zip with draws of their own, as noise that comes anew with each recording: their order, ranks, resuming, errors."""
import json

import numpy as np
import pytest

import forebay as fb

SPEECH, NOISE = 50, 7


def speech(count=SPEECH):
    return fb.arrays(x=np.arange(count), length=np.arange(count) % 9 + 1, label=np.arange(count) % 3)


def noises(count=NOISE):
    return fb.arrays(n=np.arange(count) + 1000, loud=np.arange(count) % 3 == 0, share=np.arange(count, dtype=float))


def noisy(draws=None, count=SPEECH):
    """Sounds with noise, of which louder ones come more often."""
    return fb.zip(speech=speech(count).shuffle(), noise=noises().shuffle().sample(weights="share") if draws is None else draws)


def rows(pipeline, epochs=1, names=("x", "n"), **options):
    """The fields of all rows of some epochs."""
    found = []
    with fb.Loader(pipeline.batch(8), epochs=epochs, **options) as loader:
        for _ in range(epochs):
            for batch in loader:
                found += zip(*(batch[name].tolist() for name in names), strict=True)
    return found


def alone(draws, count, seed):
    """The first draws of a part called "noise" that has the batches for itself."""
    found = []
    with fb.Loader(fb.mix({"noise": draws}).batch(1), seed=seed) as loader:
        while len(found) < count:
            found += [batch["n"][0] for batch in loader]
    return found[:count]


DRAWS = {
    "weights of a field": lambda: noises().shuffle().sample(weights="share"),
    "weights given": lambda: noises().sample(weights=[0, 1, 2, 0, 0, 3, 1]),
    "fewer than there are": lambda: noises().shuffle().sample(3),
    "more than sounds": lambda: noises().shuffle().sample(200),
    "alike": lambda: noises().shuffle().sample(),
    "balanced": lambda: noises().balance(by="loud").shuffle(),
    "filtered": lambda: noises().filter(lambda sample: sample["n"] % 2 == 0, fields=["n"]).shuffle().sample(),
    "taken": lambda: noises().take(2).sample(),
    "split": lambda: fb.split(noises(40), train=0.5)["train"].shuffle().sample(),
    "one": lambda: noises(1).sample(),
}


@pytest.mark.parametrize("draws", DRAWS.values(), ids=DRAWS.keys())
def test_a_part_with_draws_gives_what_it_gives_alone_one_draw_a_sample(draws):
    found = rows(noisy(draws()), epochs=4, seed=11)
    for epoch in range(4):
        assert sorted(x for x, _ in found[epoch * SPEECH : epoch * SPEECH + SPEECH]) == list(range(SPEECH))
    assert [n for _, n in found] == alone(draws(), 4 * SPEECH, seed=11)
    assert [x for x, _ in found[:SPEECH]] == [x for x, _ in rows(noisy(noises(1).sample()), seed=11)], "the sounds come as with other noise"


def test_weights_are_exact_and_pairs_differ_from_epoch_to_epoch():
    found = rows(noisy(noises().shuffle().sample(21, weights="share")), epochs=21, seed=2)
    for begin in range(0, 21 * SPEECH, 21):
        counts = np.bincount([n - 1000 for _, n in found[begin : begin + 21]], minlength=NOISE)
        assert counts.tolist() == list(range(NOISE)), "a pass of its own begins wherever an epoch of the sounds does"
    epochs = [dict(found[epoch * SPEECH : epoch * SPEECH + SPEECH]) for epoch in range(21)]
    assert len({tuple(sorted(epoch.items())) for epoch in epochs}) == 21
    assert len({epoch[0] for epoch in epochs}) > 3, "a sound has other noise in other epochs"


def step_rows(loaders, steps=None):
    """Rows of each step over all ranks, in the order of their positions."""
    found = []
    for number, step in enumerate(zip(*loaders, strict=True), 1):
        for batch in step:
            real = len(batch) - batch.padding
            found += zip(batch.positions[:real].tolist(), batch.ids[:real].tolist(), batch["x"].tolist(), batch["n"].tolist())
        if number == steps:
            break
    return sorted(found)


@pytest.mark.parametrize("world, threads", [(1, 1), (2, 4), (3, 1), (5, 2)])
def test_ranks_threads_and_batches_change_nothing(world, threads):
    def all_rows(pipeline, ranks, size, threads):
        loaders = [fb.Loader(pipeline.batch(size), seed=3, epochs=2, rank=rank, world_size=ranks, threads=threads) for rank in range(ranks)]
        try:
            return [step_rows(loaders) for _ in range(2)]
        finally:
            for loader in loaders:
                loader.close()

    for pipeline in (noisy(), noisy().sample(70), noisy().balance(by="label"), fb.zip(speech=speech(), noise=noises().sample()).shuffle().map(dict)):
        assert all_rows(pipeline, world, 3, threads) == all_rows(pipeline, 1, 8, 2)


@pytest.mark.parametrize("steps", range(0, 14))
def test_resumes_at_every_position_with_other_ranks(steps):
    pipeline = noisy()
    with fb.Loader(pipeline.batch(4), seed=5, epochs=2) as loader:
        whole = [row for _ in range(2) for row in step_rows([loader])]
    with fb.Loader(pipeline.batch(4), seed=5, epochs=2) as loader:
        if steps:
            step_rows([loader], steps)
        state = json.loads(json.dumps(loader.state_dict()))
    assert len(json.dumps(state)) < 1000
    later = [fb.Loader(pipeline.batch(3), seed=5, epochs=2, rank=rank, world_size=2) for rank in range(2)]
    for loader in later:
        loader.load_state_dict(state)
    left = []
    for _ in range(2):
        left += step_rows(later)
    assert left == whole[4 * steps :] if steps < 13 else left[: len(whole) - SPEECH] == whole[SPEECH:]
    for loader in later:
        loader.close()


def test_a_state_of_other_noise_is_refused():
    with fb.Loader(noisy().batch(4), seed=5) as loader:
        state = loader.state_dict()
    with fb.Loader(noisy(noises().shuffle().sample()).batch(4), seed=5) as loader, pytest.raises(fb.StateMismatch):
        loader.load_state_dict(state)


def test_ids_tell_both_samples():
    with fb.Loader(noisy().batch(8), seed=4, epochs=2) as loader:
        for _ in range(2):
            for batch in loader:
                assert (batch.ids % SPEECH).tolist() == batch["x"].tolist()
                assert (batch.ids // SPEECH + 1000).tolist() == batch["n"].tolist()


def test_several_parts_with_draws_and_one_that_is_joined():
    masks = fb.arrays(x=np.arange(SPEECH)[::-1].copy(), mask=np.arange(SPEECH)[::-1] * 2)
    echoes = fb.arrays(echo=np.arange(3))
    pipeline = fb.zip(speech=speech().shuffle(), noise=noises().sample(), mask=masks, echo=echoes.shuffle().sample(), on="x")
    found = rows(pipeline, epochs=3, names=("x", "n", "mask", "echo"), seed=1)
    assert all(mask == 2 * x for x, _, mask, _ in found)
    assert [n for _, n, _, _ in found] == [1000 + i % NOISE for i in range(3 * SPEECH)], "without a shuffle they come by id"
    assert {echo for *_, echo in found} == {0, 1, 2} and len({(n, echo) for _, n, _, echo in found}) == 3 * NOISE
    assert rows(pipeline, epochs=3, names=("n", "echo"), seed=1)[0] == found[0][1::2]


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_a_function_in_a_part_with_draws_decides_what_is_drawn(workers):
    louder = noises().map(double, workers=workers).select("n", "twice").filter(lambda sample: sample["twice"] % 4 == 0, fields=["twice"])
    found = rows(noisy(louder.shuffle().sample()), epochs=2, names=("n", "twice"), seed=1)
    assert {n for n, _ in found} == {1000, 1002, 1004, 1006} and all(twice == 2 * n for n, twice in found)


def double(sample):
    return {"n": sample["n"], "twice": 2 * sample["n"]}


def test_steps_of_both_parts_and_behind_the_zip():
    loud = noises().cast("float32", field="n").sample(weights="share").shuffle()
    pipeline = fb.zip(speech=speech().shuffle(), noise=loud).map(lambda sample, rng: {"sum": sample["x"] + sample["n"] * 100, "draw": rng.integers(1 << 40)}, fields=["x", "n"], random=True)
    found = rows(pipeline, epochs=2, names=("x", "n", "sum", "draw"), seed=8)
    assert all(total == x + 100 * n for x, n, total, _ in found)
    assert len({draw for *_, draw in found}) == 2 * SPEECH


def test_files_beside_files(tmp_path):
    for kind, count in (("speech", 10), ("noise", 4)):
        (tmp_path / kind).mkdir()
        for i in range(count):
            (tmp_path / kind / f"{i}.txt").write_text(f"{kind} {i}")
    def pipeline():
        noise = fb.files(f"{tmp_path}/noise/*.txt").rename(bytes="noise").shuffle().sample()
        return fb.zip(speech=fb.files(f"{tmp_path}/speech/*.txt").rename(bytes="speech").shuffle(), noise=noise)
    with fb.Loader(pipeline().batch(5), seed=1, epochs=3) as loader:
        pairs = [pair for _ in range(3) for batch in loader for pair in zip(batch["speech"], batch["noise"], strict=True)]
    assert len(pairs) == 30 and sorted(pairs[10:20])[0][0] == b"speech 0"
    assert [sum(noise == f"noise {i}".encode() for _, noise in pairs) for i in range(4)] in ([7, 8, 7, 8], [8, 7, 8, 7], [7, 7, 8, 8], [8, 8, 7, 7], [8, 7, 7, 8], [7, 8, 8, 7])
    (tmp_path / "noise" / "2.txt").unlink()
    with pytest.raises(fb.NotFound) as caught, fb.Loader(fb.Pipeline.from_json(pipeline().to_json().replace(str(tmp_path / "noise"), str(tmp_path / "none"))).batch(5)) as loader:
        list(loader)
    assert "none" in str(caught.value)


def test_a_bad_noise_is_named_and_replaced_with_its_sound():
    def check(sample):
        if sample["n"] == 1003:
            raise ValueError("too loud")
        return {"checked": sample["n"]}

    pipeline = noisy(noises().shuffle().sample()).map(check, fields=["n"])
    with pytest.raises(ValueError, match="too loud") as caught, fb.Loader(pipeline.batch(8), seed=1) as loader:
        list(loader)
    assert "(noise: row 3)" in "".join(caught.value.__notes__)
    kept = rows(pipeline, seed=1, on_error="skip")
    assert len(kept) in (42, 43) and all(n != 1003 for _, n in kept)
    replaced = rows(pipeline, seed=1, on_error="replace")
    assert len(replaced) == SPEECH and [row for row in replaced if row in kept] and replaced == rows(pipeline, seed=1, on_error="replace", threads=3)


def test_choices_behind_the_zip_go_by_the_sounds():
    assert sorted(x for x, _ in rows(noisy().filter(lambda sample: sample["x"] > 40, fields=["x"]), seed=1)) == list(range(41, 50))
    assert sorted(x for x, _ in rows(noisy().take(5), seed=1)) == list(range(5))
    shares = fb.split(noisy(), train=0.7, val=0.3, by="label")
    parts = [{x for x, _ in rows(part, seed=1)} for part in shares.values()]
    assert sorted([*parts[0], *parts[1]]) == list(range(SPEECH))
    found = rows(noisy().sample(30, weights="length"), epochs=2, seed=1)
    assert [n for _, n in found] == alone(noises().shuffle().sample(weights="share"), 60, seed=1)


def test_batches_of_like_lengths_with_noise():
    pipeline = noisy().bucket(by="length", tokens=20)
    with fb.Loader(pipeline, seed=6, epochs=2) as loader:
        for _ in range(2):
            found = [(x, n, length) for batch in loader for x, n, length in zip(batch["x"].tolist(), batch["n"].tolist(), batch["length"].tolist(), strict=True)]
            assert sorted(x for x, *_ in found) == list(range(SPEECH))
            assert all(length == x % 9 + 1 for x, _, length in found) and len({n for _, n, _ in found}) > 3


def test_in_a_mix_and_a_concat():
    clean = fb.arrays(x=np.arange(500, 520), n=np.zeros(20, int), length=np.ones(20, int), label=np.zeros(20, int), loud=np.zeros(20, bool), share=np.zeros(20))
    for whole in (fb.mix({"noisy": noisy(), "clean": clean}), fb.concat(noisy(), clean), fb.mix({"noisy": noisy(), "clean": clean.shuffle()}, weights={"noisy": 3, "clean": 1})):
        found = rows(whole, epochs=2, seed=1)
        drawn = [n for _, n in found if n >= 1000]
        assert len(drawn) >= 90 and all((n >= 1000) == (x < 500) for x, n in found)
        assert set(np.unique(drawn)) == set(range(1001, 1007)), "weight 0 never comes"
    parts = fb.mix({"noisy": noisy(), "clean": clean})
    with fb.Loader(parts.batch(10), seed=1, epochs=1) as loader:
        found = [(x, n) for batch in loader for x, n in zip(batch["x"].tolist(), batch["n"].tolist(), strict=True) if n]
    reference = fb.mix({"noisy": fb.zip(speech=speech().shuffle(), noise=noises().shuffle().sample(weights="share"))})
    assert found == rows(reference, seed=1), "another part changes nothing in it"


def test_a_cache_and_a_replay_behind_the_zip():
    plain = rows(noisy(), epochs=3, seed=1)
    assert rows(noisy().map(dict).cache(ram="16MiB", disk=0), epochs=3, seed=1) == plain
    for where in ({}, {"where": "here", "ram": "16MiB"}):
        with fb.Loader(noisy().rehearse(2, capacity=10, by="label", **where).batch(8), seed=1, epochs=2) as loader:
            new, old = [], []
            for batch in [*loader, *loader]:
                for x, n, replayed in zip(batch["x"].tolist(), batch["n"].tolist(), batch["rehearsed"].tolist(), strict=True):
                    (old if replayed else new).append((x, n))
        assert new == plain[: 2 * SPEECH] and old and set(old) <= set(new), "a replayed sound has the noise that it had"


def test_goes_through_json(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(9))
    pipeline = fb.zip(a=fb.arrays(x=tmp_path / "x.npy").shuffle(), b=fb.arrays(n=tmp_path / "x.npy").sample(4).shuffle())
    again = fb.Pipeline.from_json(pipeline.to_json())
    assert str(again) == str(pipeline) and rows(again, 3, seed=1) == rows(pipeline, 3, seed=1)
    with fb.Loader(pipeline.batch(2)) as loader, fb.Loader(again.batch(2)) as other:
        assert loader.state_dict() == other.state_dict()


# What is wrong, the step, words of the message, words of the way out.
WRONG = [
    (fb.zip(a=speech(), b=noises().shuffle()), "b: 1: shuffle", "that of its first part", ".shuffle().sample()"),
    (fb.zip(a=speech().sample(), b=noises()), "a: 1: sample", "only other parts have draws of their own", "put .sample() behind the zip"),
    (fb.zip(a=speech(), b=noises().balance(by="loud").repeat(2)), "b: 2: repeat", "its draws go on", "leave it out"),
    (fb.zip(a=speech(), b=noises().sample().sample(3)), "b: 2: sample", "draws the samples already", "keep one"),
    (fb.zip(a=speech(), b=noises().sample(0)), "b: 1: sample", "n is 0", "at least 1"),
    (fb.zip(a=speech(), b=noises().sample(weights="weight")), "b: 1: sample", "there is no field 'weight'", "the fields here are: n, loud, share"),
    (fb.zip(a=speech(), b=noises().sample().take(3)), "b: 2: take", "it stands behind", "move it before"),
    (fb.zip(a=speech(), b=noises().sample()).pack({"x": 8}), "1: pack", "the part 'b' has draws of its own", ".bucket()"),
]


@pytest.mark.parametrize("pipeline, operator, message, remedy", WRONG, ids=[f"{operator} {message}" for _, operator, message, _ in WRONG])
def test_check_says_what_is_wrong_and_the_way_out(pipeline, operator, message, remedy):
    (problem,) = [problem for problem in pipeline.check() if problem.operator == operator and message in problem.message]
    assert remedy in problem.remedy, problem


UNFIT = [
    (noisy().filter(lambda sample: sample["n"] > 3), fb.InvalidArgument, "1: filter: it goes by the part 'noise' of the zip, of which another sample comes each time"),
    (noisy(noises().map(dict).select("n").sample()).filter(lambda sample: sample["x"] > 3, fields=["x"]), fb.InvalidArgument, "put functions of that part behind the zip"),
    (noisy().sample(weights="share"), fb.InvalidArgument, "1: sample: it goes by the part 'noise'"),
    (noisy().balance(by="loud"), fb.InvalidArgument, "1: balance: it goes by the part 'noise'"),
    (noisy().bucket(by="share", tokens=20), fb.InvalidArgument, "1: bucket: it goes by the part 'noise'"),
    (fb.zip(a=speech(), b=noises(0).sample()), fb.InvalidArgument, "the part 'b' has no samples that could be drawn"),
    (fb.zip(a=speech(), b=noises().filter(lambda sample: False, fields=["n"]).sample()), fb.InvalidArgument, "the part 'b' has no samples that could be drawn; its steps leave out all"),
    (fb.zip(a=speech(), b=noises().sample(weights=[1, 2])), fb.InvalidArgument, "there are 2 weights, and the data set has 7 samples"),
    (fb.zip(a=speech(), b=noises().sample(20, replacement=False)), fb.InvalidArgument, "sample"),
    (fb.zip(**{f"p{i}": fb.arrays(**{f"v{i}": np.zeros(2000, np.int8)}).sample() if i else speech(2000) for i in range(6)}), fb.InvalidArgument, "more than 2\\^62 combinations"),
]


@pytest.mark.parametrize("pipeline, error, message", UNFIT, ids=range(len(UNFIT)))
def test_what_does_not_fit_is_told_before_the_first_batch(pipeline, error, message):
    with pytest.raises(error, match=message), fb.Loader(pipeline if "bucket" in str(pipeline) else pipeline.batch(1)) as loader:
        len(loader)
