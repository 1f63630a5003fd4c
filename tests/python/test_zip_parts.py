"""Parts of a zip as data sets of their own: their caches, the samples that they choose, and data sets of the user's; the same on any rank and thread."""
import io
import json
import tarfile

import numpy as np
import pytest
from test_zip import agree, loaded, masks, numbers, pairs, photos, png  # noqa: F401

import forebay as fb

MEMORY = {"ram": "64MiB", "disk": 0}


def digests(pipeline, epochs=3, **options):
    with fb.Loader(pipeline, seed=5, **options) as loader:
        return [fb.digest(loader) for _ in range(epochs)]


def cached_pairs(root, image=None, mask=None, **given):
    """Pairs that are cropped alike; `image` and `mask` are the caches of the parts."""
    image = photos(root).shuffle().cache(**image) if image else photos(root).shuffle()
    mask = masks(root).cache(**mask) if mask else masks(root)
    return fb.zip(image=image, mask=mask, **given).random_crop(32, field=["image", "mask"])


def caches(loader):
    """Look-ups without an entry, and entries, of each cache."""
    return [(cache["misses"], sum(cache[tier]["entries"] for tier in ("ram", "disk") if cache.get(tier))) for cache in loader.stats()["caches"]]


def read_by(loader):
    return sum(step["bytes_out"] for step in loader.stats()["steps"] if step["name"] == "fetch")


class Numbers:
    """Samples of the user's: a number, and a list of that many."""

    def __init__(self, count, first=0):
        self.count, self.first, self.epoch = count, first, 0

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return {"n": np.int64(self.first + index), "text": f"item {index}"}


class Changing(Numbers):
    def set_epoch(self, epoch):
        self.epoch = epoch

    def __getitem__(self, index):
        return {"n": np.int64(index + 1000 * self.epoch)}


# Caches.
@pytest.mark.parametrize("image, mask", [(MEMORY, None), (None, MEMORY), (MEMORY, MEMORY)], ids=["first", "other", "both"])
@pytest.mark.parametrize("threads", [1, 4])
def test_a_cache_in_a_part_changes_no_byte_and_reads_each_file_of_the_part_once(pairs, image, mask, threads):  # noqa: F811
    sizes = [sum(path.stat().st_size for path in (pairs / folder).rglob("*.png")) for folder in ("photos", "all_masks")]
    with fb.Loader(cached_pairs(pairs, image, mask, on="key").batch(4), seed=5, epochs=3, threads=threads) as loader:
        got = [fb.digest(loader) for _ in range(3)]
        found, read = caches(loader), read_by(loader)
    assert got == digests(cached_pairs(pairs, on="key").batch(4), threads=2)
    assert len(found) == bool(image) + bool(mask) and all(entries == 12 for _, entries in found)
    assert (12, 12) in found, "one task makes an entry, and others wait for it"
    if image and mask:
        assert sum(sizes) <= read < 3 * sum(sizes)
    else:
        assert read == sizes[0] * (1 if image else 3) + sizes[1] * (1 if mask else 3)


def test_entries_on_disk_are_those_of_the_part_by_itself(pairs, tmp_path):  # noqa: F811
    disk = {"ram": 0, "disk": "64MiB", "dir": str(tmp_path)}

    def run(pipeline, **options):
        with fb.Loader(pipeline.batch(4), seed=5, **options) as loader:
            return [fb.digest(loader) for _ in range(3)], caches(loader)

    assert run(masks(pairs).cache(**disk).resize(8, field="mask"))[1] == [(12, 12)]
    plain, _ = run(cached_pairs(pairs))
    for requests in ("auto", 1):
        assert run(cached_pairs(pairs, mask=disk), requests=requests) == (plain, [(0, 12)]), "made by the part alone"
    assert run(cached_pairs(pairs, disk, disk), storage_options={"imitate_latency_ms": 1})[0] == plain
    for path in tmp_path.rglob("*"):
        if path.is_file() and path.stat().st_size > 5000:
            damaged = bytearray(path.read_bytes())
            damaged[len(damaged) // 2] ^= 1
            path.write_bytes(damaged)
    assert digests(cached_pairs(pairs, disk, disk).batch(4)) == plain, "damaged entries are made anew"


def test_caches_behind_functions_and_of_arrays(pairs, tmp_path):  # noqa: F811
    calls = []

    def slow(sample):
        calls.append(int(sample["x"]))
        return {"double": sample["x"] * 2, "word": f"w{sample['x']}", "unused": sample["x"]}

    for tier in (MEMORY, {"ram": 0, "disk": "16MiB", "dir": str(tmp_path)}):
        calls.clear()
        a = numbers(20).shuffle().map(slow, version="1").cache(**tier).select("double", "word")
        b = numbers(20, "y").map(lambda sample: {"z": sample["y"] + 1}).select("z")
        with fb.Loader(fb.zip(a=a, b=b).batch(6), seed=1) as loader:
            for _ in range(3):
                rows = [row for batch in loader for row in zip(batch["double"].tolist(), batch["word"], batch["z"].tolist(), strict=True)][:20]
                assert sorted(rows) == [(2 * i, f"w{i}", i + 1) for i in range(20)]
        assert sorted(calls) == list(range(20)), "called once for each sample"


def test_a_cache_of_noise_is_filled_once_for_all_recordings():
    def noise(cache):
        drawn = fb.arrays(n=np.arange(7) + 1000).map(lambda sample: {"n": sample["n"]}).select("n")
        return (drawn.cache(**MEMORY) if cache else drawn).shuffle().sample()

    def rows(cache, **options):
        with fb.Loader(fb.zip(a=numbers(50).shuffle(), noise=noise(cache)).batch(8), seed=2, **options) as loader:
            got = [list(zip(batch["x"].tolist(), batch["n"].tolist(), strict=True)) for _ in range(3) for batch in loader]
            return got, loader.stats()["caches"]

    plain, _ = rows(False)
    got, (cache,) = rows(True, threads=1)
    assert got == plain and cache["ram"]["entries"] == 7
    assert rows(True, threads=4)[0] == plain


def test_a_cache_in_a_part_and_one_behind_the_zip(pairs, tmp_path):  # noqa: F811
    disk = {"ram": 0, "disk": "64MiB", "dir": str(tmp_path)}
    both = fb.zip(image=photos(pairs).cache(**disk), mask=masks(pairs).cache(**MEMORY)).resize(16, field=["image", "mask"], interpolation="nearest")
    plain = fb.zip(image=photos(pairs), mask=masks(pairs)).resize(16, field=["image", "mask"], interpolation="nearest").shuffle().batch(4)
    with fb.Loader(both.cache(**MEMORY).shuffle().batch(4), seed=5) as loader:
        assert [fb.digest(loader) for _ in range(3)] == digests(plain)
        assert [entries for _, entries in caches(loader)] == [12, 12, 12] and (12, 12) in caches(loader)


def test_a_cache_beside_a_table_and_in_a_mix(tmp_path):
    (tmp_path / "y.jsonl").write_text("".join(json.dumps({"y": i, "text": f"t{i}"}) + "\n" for i in range(40)))
    def lines(cache):
        part = fb.jsonl(tmp_path / "y.jsonl").rename(text="words")
        return part.cache(**MEMORY) if cache else part
    def pipelines(cache):
        beside = numbers(40).cache(**MEMORY) if cache else numbers(40)
        yield fb.zip(lines=lines(cache), b=beside).shuffle().batch(6)
        yield fb.zip(b=beside.shuffle(), lines=lines(cache)).batch(6)
        zipped = fb.zip(b=beside.shuffle(), lines=lines(cache)).select("x", "y")
        yield fb.mix({"zip": zipped, "plain": fb.arrays(x=np.arange(9), y=np.arange(9)).shuffle()}, weights={"zip": 2, "plain": 1}, samples=40).batch(6)
    for cached, plain in zip(pipelines(True), pipelines(False), strict=True):
        assert digests(cached) == digests(plain)


def test_a_small_budget_and_bad_files(pairs, tmp_path):  # noqa: F811
    small = {"ram": "200KB", "disk": 0}
    expected = digests(cached_pairs(pairs).batch(2))
    assert digests(cached_pairs(pairs, small, small).batch(2), memory="3MiB") == expected
    for number in range(4):
        (tmp_path / f"{number}.png").write_bytes(png(np.full((4, 4), number, np.uint8)) if number != 1 else b"broken")
    bad = fb.zip(x=numbers(4).cache(**MEMORY), mask=fb.files(f"{tmp_path}/*.png").decode_image().cache(**MEMORY).resize(4).rename(image="mask")).batch(4)
    with pytest.raises(fb.Corrupt) as caught, fb.Loader(bad, epochs=1) as loader:
        list(loader)
    assert caught.value.operator == "decode_image" and caught.value.sample == 1
    for _ in range(2):
        x, mask = loaded(bad, "x", "mask", on_error="replace")
        assert all((one == value).all() for value, one in zip(x, mask, strict=True)) and 1 not in x
    assert loaded(bad, "x", on_error="skip") == [[0, 2, 3]]


def test_a_resumed_run_with_caches_on_two_ranks(pairs):  # noqa: F811
    pipeline = cached_pairs(pairs, MEMORY, MEMORY)
    with fb.Loader(pipeline.batch(2), seed=4, epochs=2) as loader:
        whole = [bytes(row) for _ in range(2) for batch in loader for row in batch["mask"]]
    with fb.Loader(pipeline.batch(2), seed=4, epochs=2) as loader:
        next(iter(loader))
        state = loader.state_dict()
    ranks = [fb.Loader(pipeline.batch(1), seed=4, epochs=2, rank=rank, world_size=2) for rank in range(2)]
    for loader in ranks:
        loader.load_state_dict(state)
    rest = [bytes(row) for _ in range(2) for step in zip(*ranks, strict=True) for batch in step for row in batch["mask"]]
    for loader in ranks:
        loader.close()
    assert sorted(rest) == sorted(whole[2:])


# Choices.
def even(part):
    return part.filter(lambda sample: sample["n"] % 2 == 0, fields=["n"])


CHOICES = {
    "taken": (lambda part: part.take(9), lambda ids: ids[:9]),
    "filtered": (even, lambda ids: [i for i in ids if i % 2 == 0]),
    "of classes": (lambda part: part.only(label=[0, 2]), lambda ids: [i for i in ids if i % 3 != 1]),
    "two choices": (lambda part: even(part).take(7), lambda ids: [i for i in ids if i % 2 == 0][:7]),
    "behind a function": (lambda part: even(part.map(lambda sample: {"n": sample["n"], "id": sample["id"], "label": sample["label"]}).select("n", "id", "label")),
                          lambda ids: [i for i in ids if i % 2 == 0]),
}  # fmt: skip


def chosen_part(name, count, choice=None):
    ids = np.arange(count)
    part = fb.arrays(id=ids, n=ids, label=ids % 3)
    part = choice(part) if choice else part
    return part.select("id").rename(id=name)


@pytest.mark.parametrize("choice, kept", CHOICES.values(), ids=CHOICES.keys())
def test_the_chosen_samples_of_parts_pair_by_position(choice, kept):
    ids = kept(list(range(30)))
    for first, other in ((chosen_part("a", 30, choice), chosen_part("b", 30, choice)), (chosen_part("a", 30, choice), chosen_part("b", len(ids))),
                         (chosen_part("a", len(ids)), chosen_part("b", 30, choice))):  # fmt: skip
        a, b = loaded(fb.zip(a=first, b=other).batch(4), "a", "b")
        assert len(a) == len(ids) and a in (ids, list(range(len(ids)))) and b in (ids, list(range(len(ids)))) and ids in (a, b)
    with pytest.raises(fb.InvalidArgument, match=f"'a' has {len(ids)} samples and 'b' has 30.*end=\"first\""), fb.Loader(fb.zip(a=chosen_part("a", 30, choice), b=chosen_part("b", 30)).batch(4)) as loader:
        len(loader)
    a, b = loaded(fb.zip(a=chosen_part("a", 30, choice), b=chosen_part("b", 30), end="first").batch(4), "a", "b")
    assert (a, b) == (ids, list(range(len(ids))))


def test_the_chosen_samples_of_parts_pair_by_a_field():
    words = np.array([f"w{i}" for i in range(20)])
    a = fb.arrays(word=words, x=np.arange(20))
    b = fb.arrays(word=words[::-1].copy(), y=np.arange(20)[::-1].copy())
    low = b.filter(lambda sample: sample["y"] < 12, fields=["y"])
    with pytest.raises(fb.InvalidArgument, match="8 of 20 samples have no partner in the part 'b': 'w12', 'w13', 'w14' and 5 more"), fb.Loader(fb.zip(a=a, b=low, on="word").batch(4)) as loader:
        len(loader)
    x, y = loaded(fb.zip(a=a.take(15), b=low, on="word", missing="drop").batch(4), "x", "y")
    assert x == y == list(range(12))
    x, y = loaded(fb.zip(a=a.filter(lambda sample: sample["x"] < 5, fields=["x"]).shuffle(), b=low, on="word").batch(4), "x", "y", seed=3)
    assert x == y and sorted(x) == list(range(5)) and x != sorted(x)


def test_splits_of_parts_pair_by_key(pairs):  # noqa: F811
    shares = [fb.split(part, train=0.5, val=0.5) for part in (photos(pairs), masks(pairs).select("mask", "key"))]
    found = []
    for name in ("train", "val"):
        image, mask, key = loaded(fb.zip(image=shares[0][name], mask=shares[1][name], on="key").batch(1), "image", "mask", "key")
        assert all(agree(one, other) for one, other in zip(image, mask, strict=True))
        found += key
    assert len(found) == 12 and sorted(found) == sorted(loaded(fb.images(pairs / "photos").select("key").batch(1), "key")[0])


def test_a_table_whose_rows_are_chosen_stays_in_chunks(tmp_path):
    (tmp_path / "y.jsonl").write_text("".join(json.dumps({"y": i, "kind": i % 4}) + "\n" for i in range(80)))
    lines = fb.jsonl(tmp_path / "y.jsonl")
    ids = [i for i in range(80) if i % 4]
    for kept in (lines.only(kind=[1, 2, 3]), lines.filter(lambda sample: sample["kind"] > 0, fields=["kind"])):
        for beside, expected in ((numbers(60), list(range(60))), (numbers(200).filter(lambda sample: sample["x"] % 3 == 0).take(60), list(range(0, 180, 3)))):
            y, x = loaded(fb.zip(lines=kept, b=beside).batch(7), "y", "x")
            assert (y, x) == (ids, expected)
            y, x = loaded(fb.zip(lines=kept.shuffle(), b=beside).batch(7), "y", "x", seed=2)
            assert sorted(y) == ids and y != ids and [expected[ids.index(one)] for one in y] == x
    with fb.Loader(fb.zip(lines=kept.shuffle(), b=numbers(60)).batch(7), epochs=1) as loader:
        list(loader)
        assert loader.stats()["chunks"]["decoded"] > 0
    x, y = loaded(fb.zip(b=numbers(60), lines=kept).batch(7), "x", "y")
    assert (x, y) == (list(range(60)), ids), "held in memory"
    y, x = loaded(fb.zip(lines=kept, b=fb.arrays(y=np.arange(0, 80, 2), x=np.arange(40)), on="y", missing="drop").batch(7), "y", "x")
    assert y == [i for i in ids if i % 2 == 0] and x == [i // 2 for i in y]


def chosen_zip(seed_order=True):
    a = chosen_part("a", 60, even)
    noise = fb.arrays(noise=np.arange(11)).filter(lambda sample: sample["noise"] > 3).shuffle().sample()
    return fb.zip(a=a.shuffle() if seed_order else a, b=chosen_part("b", 90, CHOICES["of classes"][0]).cache(**MEMORY), noise=noise, end="first")


def test_chosen_parts_beside_draws_in_a_mix_on_ranks_and_after_a_resume():
    whole = fb.mix({"zip": chosen_zip(), "other": fb.zip(a=numbers(40, "a"), b=numbers(40, "b", 500), noise=numbers(40, "noise", 500)).shuffle()})

    def rows(batches):
        return sorted((position, *values) for batch in batches for position, *values in zip(batch.positions.tolist(), batch["a"].tolist(), batch["b"].tolist(), batch["noise"].tolist(), strict=True))

    with fb.Loader(whole.batch(4), seed=3, epochs=1) as loader:
        assert len(loader) == 18 and loader.stats()["parts"][0]["name"] == "zip"
        all_of_them = rows(loader)
    zipped = [row for row in all_of_them if row[2] < 500]
    partner = dict(zip(range(0, 60, 2), [i for i in range(90) if i % 3 != 1], strict=False))
    assert len(all_of_them) >= 70 and len(zipped) == 30 and all(partner[a] == b and noise > 3 for _, a, b, noise in zipped)
    with fb.Loader(whole.batch(4), seed=3, epochs=1) as loader:
        next(iter(loader))
        state = loader.state_dict()
    ranks = [fb.Loader(whole.batch(1), seed=3, epochs=1, rank=rank, world_size=3) for rank in range(3)]
    for loader in ranks:
        loader.load_state_dict(state)
    later = {row for step in zip(*ranks, strict=True) for row in rows(step)}
    for loader in ranks:
        loader.close()
    assert later == set(all_of_them[4:])
    other = fb.mix({"zip": fb.zip(a=chosen_part("a", 60, even).take(20).shuffle(), b=chosen_part("b", 90, CHOICES["of classes"][0]), noise=numbers(99, "noise"), end="first"), "other": numbers(40, "a")})
    with pytest.raises(fb.StateMismatch), fb.Loader(other.select("a").batch(4), seed=3) as loader:
        loader.load_state_dict(state)


def test_a_rehearsal_goes_by_the_labels_of_the_chosen_samples():
    kept = fb.zip(a=fb.arrays(x=np.arange(40), label=np.arange(40) % 4).only(label=[1, 3]).shuffle(), b=numbers(20, "y"))
    with fb.Loader(kept.rehearse(4, capacity=1, by="label").batch(8), seed=1, epochs=2) as loader:
        rows = [row for _ in range(2) for batch in loader for row in zip(batch["x"].tolist(), batch["label"].tolist(), batch["rehearsed"].tolist(), strict=True)]
    assert all(x % 4 == label for x, label, _ in rows) and {label for _, label, old in rows if old} == {1, 3}


def test_what_was_materialized_of_chosen_pairs_knows_its_data(pairs, tmp_path):  # noqa: F811
    np.save(tmp_path / "x.npy", np.arange(30))
    other = fb.arrays(x=tmp_path / "x.npy")
    for number, chosen in enumerate((other.take(9), other.filter(lambda sample: sample["x"] % 3 == 1, fields=["x"]).take(9))):
        whole = fb.zip(image=photos(pairs).take(9), other=chosen).resize(8)
        fb.materialize(whole, str(tmp_path / str(number)), cut="resize")
        written = fb.materialized(str(tmp_path / str(number)))
        assert list(map(bytes, loaded(written.batch(2), "image")[0])) == list(map(bytes, loaded(whole.batch(2), "image")[0]))
        assert loaded(written.batch(2), "x") == loaded(whole.batch(2), "x")


# Data sets of the user's.
@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_a_data_set_of_the_users_beside_others(workers, tmp_path):
    mine = fb.Dataset(Numbers(30, first=100), workers=workers).select("n", "text")
    for pipeline in (fb.zip(a=numbers(30), mine=mine).shuffle(), fb.zip(mine=mine.shuffle(), a=numbers(30))):
        x, n, text = loaded(pipeline.batch(7), "x", "n", "text", seed=1, threads=3)
        assert sorted(x) == list(range(30)) and x != sorted(x)
        assert n == [value + 100 for value in x] and text == [f"item {value}" for value in x]
    (tmp_path / "y.jsonl").write_text("".join(json.dumps({"y": i}) + "\n" for i in range(30)))
    y, n = loaded(fb.zip(lines=fb.jsonl(tmp_path / "y.jsonl").shuffle(), mine=mine.select("n")).batch(7), "y", "n", seed=1)
    assert sorted(y) == list(range(30)) and y != sorted(y) and n == [value + 100 for value in y], "rows of a table"


def test_items_are_those_of_the_data_set_whatever_pairs_they_are_in():
    mine = fb.Dataset(Numbers(50)).select("n")
    drawn = loaded(fb.zip(a=numbers(20), mine=mine.shuffle().sample()).batch(4), "n", seed=2)[0]
    assert len(drawn) == 20 and set(drawn) <= set(range(50)) and len(set(drawn)) > 10
    with fb.Loader(fb.zip(a=numbers(20), mine=mine.shuffle().sample()).batch(4), seed=2) as loader:
        assert sorted(n for _ in range(5) for batch in loader for n in batch["n"].tolist()) == sorted(2 * list(range(50))), "each once in a pass"
    x, n = loaded(fb.zip(a=numbers(9), mine=fb.Dataset(Numbers(50)).select("n").filter(lambda sample: sample["n"] % 5 == 4).take(9)).batch(4), "x", "n")
    assert n == [5 * value + 4 for value in x]
    both = fb.zip(one=mine.map(lambda sample: {"n": -sample["n"]}).select("n"), two=fb.Dataset(Numbers(50)).select("n").rename(n="m").shuffle().sample(3))
    n, m = loaded(both.batch(10), "n", "m", seed=4)
    assert n == [-i for i in range(50)] and len(set(m)) > 25 and set(m) <= set(range(50))
    with fb.Loader(both.batch(10), seed=4) as loader, fb.Loader(both.batch(5), seed=4, threads=1) as one:
        assert fb.digest(loader) == fb.digest(one)


def test_a_data_set_of_the_users_with_pictures_and_only_what_is_used(pairs):  # noqa: F811
    boxes = fb.Dataset(Numbers(12)).select("n")
    both = fb.zip(image=photos(pairs), mine=boxes)
    image, n = loaded(both.resize(8).batch(4), "image", "n")
    assert n == list(range(12)) and image[0].shape == (8, 8, 3)
    with fb.Loader(both.select("n").batch(4), epochs=1) as loader:
        assert [int(n) for batch in loader for n in batch["n"]] == list(range(12)) and read_by(loader) == 0
    failing = fb.zip(image=photos(pairs).resize(8), mine=fb.Dataset([{"n": i} for i in range(12)]).select("n", "m")).batch(4)
    with pytest.raises(fb.Unsupported, match="a later step needs the field 'm', but the function gave only: n"), fb.Loader(failing, epochs=1) as loader:
        list(loader)


def test_a_data_set_that_fails_or_follows_the_epoch():
    class Broken(Numbers):
        def __getitem__(self, index):
            if index == 3:
                raise ValueError("three")
            return super().__getitem__(index)

    bad = fb.zip(a=numbers(6), mine=fb.Dataset(Broken(6)).select("n")).batch(6)
    with pytest.raises(ValueError, match="three"), fb.Loader(bad, epochs=1) as loader:
        list(loader)
    assert loaded(bad, "x", on_error="skip") == [[0, 1, 2, 4, 5]]
    x, n = loaded(bad, "x", "n", on_error="replace")
    assert x == n and len(x) == 6
    with fb.Loader(fb.zip(a=numbers(6), mine=fb.Dataset(Changing(6)).select("n")).batch(2), epochs=3) as loader:
        found = [[int(n) for batch in loader for n in batch["n"]] for _ in range(3)]
    assert found == [[i + 1000 * epoch for i in range(6)] for epoch in range(3)]


def test_caches_over_a_data_set_of_the_users(tmp_path):
    class Counted(Numbers):
        calls = 0

        def __getitem__(self, index):
            Counted.calls += 1
            return super().__getitem__(index)

    def epochs(pipeline):
        Counted.calls = 0
        with fb.Loader(pipeline.batch(4), seed=1) as loader:
            got = [sorted(int(n) for batch in loader for n in batch["n"][: len(batch) - batch.padding]) for _ in range(3)]
        assert got == [list(range(10))] * 3
        return Counted.calls

    mine = fb.Dataset(Counted(10), version="1")
    assert epochs(fb.zip(a=numbers(10), mine=mine.select("n"))) > 20
    assert epochs(fb.zip(a=numbers(10), mine=mine.select("n").cache(**MEMORY))) == 10
    assert epochs(fb.zip(a=numbers(10), mine=mine.select("n")).cache(**MEMORY)) == 10
    disk = {"ram": 0, "disk": "16MiB", "dir": str(tmp_path)}
    assert [epochs(fb.zip(a=numbers(10), mine=mine.select("n").cache(**disk))) for _ in range(2)] == [10, 0]


def test_a_data_set_of_the_users_is_not_joined_by_a_field():
    with pytest.raises(fb.Unsupported, match="the part 'mine' are known only once your data set was called.*by position"):
        fb.Loader(fb.zip(a=numbers(6, "n"), mine=fb.Dataset(Numbers(6)).select("n", "text"), on="n").batch(6))
    with pytest.raises(fb.InvalidArgument, match="'a' has 6 samples and 'mine' has 7"):
        fb.Loader(fb.zip(a=numbers(6), mine=fb.Dataset(Numbers(7)).select("n")).batch(6))


# What is wrong, the step, words of the message, words of the way out.
WRONG = [
    (fb.zip(numbers(3), b=numbers(3, "y").map(lambda s, rng: s, random=True).select("y").cache(**MEMORY)), "b: 3: cache", "which draws anew in every epoch", "put .cache() before b: 1: map"),
    (fb.zip(numbers(3), b=numbers(3, "y").map(dict).select("y").cache()), "b: 3: cache", "whether the function of b: 1: map", 'version="1"'),
    (fb.zip(numbers(3), b=numbers(3, "y").cache(**MEMORY).cache(**MEMORY)), "b: 2: cache", "keeps the same already", "keep one"),
    (fb.zip(numbers(3), b=fb.Dataset(Numbers(3))), "b: 0: dataset", "those that the data set returns are not known", ".select("),
    (fb.zip(numbers(3), b=fb.Dataset(Numbers(3)).map(dict)), "b: 0: dataset", "those that the data set returns are not known", ".select("),
    (fb.zip(numbers(3), b=fb.Dataset(Numbers(3)).select("n").pack({"n": 8})), "b: 2: pack", "a block has samples of many pairs", "put .pack() behind the zip"),
    (fb.zip(numbers(3), b=numbers(3, "y").filter(dict, fields=["z"])), "b: 1: filter", "there is no field 'z'", "the fields here are: y"),
    (fb.zip(a=numbers(3).sample().take(2), b=numbers(3, "y")), "a: 1: sample", "only other parts have draws of their own", "put .sample() behind the zip"),
    (fb.zip(numbers(3), b=fb.Dataset(Changing(3)).select("n").cache(**MEMORY)), "b: 2: cache", "follows the epoch", "epoch=False"),
]


@pytest.mark.parametrize("pipeline, operator, message, remedy", WRONG, ids=[f"{operator} {message}" for _, operator, message, _ in WRONG])
def test_check_says_what_is_wrong_and_the_way_out(pipeline, operator, message, remedy):
    (problem,) = [problem for problem in pipeline.check() if problem.operator == operator]
    assert message in problem.message and remedy in problem.remedy, problem


def test_fields_that_are_known_when_a_table_is_opened_may_stand_behind_functions_of_other_parts(tmp_path):
    (tmp_path / "y.jsonl").write_text("".join(json.dumps({"y": i, "text": f"t{i}"}) + "\n" for i in range(12)))
    lines = fb.jsonl(tmp_path / "y.jsonl")
    for first in (numbers(12).map(dict).select("x"), numbers(12).map(dict, fields=["x"]).select("x"), fb.Dataset(Numbers(12)).select("n").rename(n="x")):
        for other, name in ((lines.select("y"), "y"), (lines.rename(y="z"), "z"), (lines.map(dict).select("y", "text").map(dict, fields=["y"]).select("y"), "y")):
            whole = fb.zip(a=first, b=other)
            assert not whole.check()
            x, y = loaded(whole.batch(5), "x", name)
            assert x == y == list(range(12))
            assert loaded(whole.select("x", name).map(lambda sample, name=name: {"sum": sample["x"] + sample[name]}).batch(5), "sum")[0] == [2 * i for i in range(12)]
    with pytest.raises(fb.InvalidArgument, match="there is no field 'w'"):
        fb.Loader(fb.zip(a=first, b=lines.select("w")).batch(5))


def test_warnings_of_a_cache_name_its_part(capfd):
    with fb.Loader(fb.zip(a=numbers(6), mine=fb.Dataset(Numbers(6)).select("n").cache(ram="8MiB")).batch(6), memory="6MiB") as loader:
        len(loader)
    told = capfd.readouterr().err
    assert "mine: 2: cache: ram=8.0 MiB is more than half of memory=6.0 MiB" in told and "mine: 2: cache keeps nothing on disk" in told


def test_steps_of_one_part_are_no_matter_of_the_caches_of_another():
    part = numbers(20, "y").map(lambda s, rng: {"y": s["y"], "r": rng.integers(1 << 40)}, random=True).select("y", "r")
    pipeline = fb.zip(a=part, b=numbers(20).map(dict, version="1").select("x").cache(**MEMORY), c=numbers(20, "z").cache(**MEMORY))
    assert not pipeline.check()
    with fb.Loader(pipeline.batch(20), seed=1) as loader:
        epochs = [(batch["x"].tolist(), batch["r"].tolist()) for _ in range(2) for batch in loader]
    assert epochs[0][0] == epochs[1][0] == list(range(20)) and epochs[0][1] != epochs[1][1], "drawn anew"


def drawn(sample, rng):
    return {"y": sample["y"], "r": rng.integers(1 << 40)}


def following(sample, epoch):
    return {"y": sample["y"], "r": epoch}


def test_a_cache_beside_a_table_in_chunks_freezes_no_other_part(tmp_path, capfd):
    (tmp_path / "y.jsonl").write_text("".join(json.dumps({"y": i}) + "\n" for i in range(40)))
    lines, kept_numbers = fb.jsonl(tmp_path / "y.jsonl"), numbers(40).map(dict, version="1").select("x")

    def epochs(whole):
        """More epochs than are read ahead, so that entries are found."""
        with fb.Loader(whole.batch(8), seed=1) as loader:
            rows = [[row for batch in loader for row in zip(batch["y"].tolist(), batch["x"].tolist(), batch["r"].tolist(), strict=True)] for _ in range(12)]
            return rows, loader.stats()["caches"]

    for first, beside, why in (
        (lines.map(drawn, random=True).select("y", "r"), {}, "a: 1: map draws anew in every epoch; put that step behind the zip"),
        (lines, {"mine": fb.Dataset(Changing(40), version="1").select("n").rename(n="r")}, "mine: 0: dataset follows the epoch; put its part behind this one"),
        (lines.map(following, epoch=True).select("y", "r"), {}, "a: 1: map follows the epoch; put its part behind this one"),
    ):
        whole = fb.zip(a=first, **beside, b=kept_numbers.cache(**MEMORY))
        assert not whole.check()
        capfd.readouterr()
        rows, caches = epochs(whole)
        assert all([(y, x) for y, x, _ in epoch] == [(i, i) for i in range(40)] for epoch in rows)
        assert len({tuple(r for _, _, r in epoch) for epoch in rows}) == 12 and not caches, "another result in each epoch"
        told = [line for line in capfd.readouterr().err.splitlines() if "keeps nothing" in line]
        assert len(told) == 1 and "cache keeps nothing: a zip that is read in chunks keeps the fields of all parts together" in told[0] and why in told[0]
    for tier, kept in ((MEMORY, True), ({"ram": 0, "disk": "16MiB", "dir": str(tmp_path / "kept")}, False)):
        rows, caches = epochs(fb.zip(a=lines.map(lambda sample: {"y": sample["y"], "r": 1}).select("y", "r"), b=kept_numbers.cache(**tier)))
        assert all(epoch == [(i, i, 1) for i in range(40)] for epoch in rows) and [cache["ram"]["entries"] for cache in caches] == [40] * kept
        assert ('give .map(…, version="1"), or use .cache(disk=0)' in capfd.readouterr().err) != kept
    rows, (cache,) = epochs(fb.zip(a=lines, b=kept_numbers.cache(**MEMORY), mine=fb.Dataset(Changing(40), version="1").select("n").rename(n="r")))
    assert cache["ram"]["entries"] == 40 and cache["ram"]["hits"] > 0
    assert [[r for _, _, r in epoch] for epoch in rows] == [[i + 1000 * number for i in range(40)] for number in range(12)], "parts behind the cache are not in it"


def test_pictures_of_tars_are_cropped_anew_beside_a_cache(tmp_path):
    random = np.random.default_rng(1)
    with tarfile.open(tmp_path / "0.tar", "w") as tar:
        for i in range(6):
            data = png(random.integers(0, 256, (40, 40, 3), np.uint8))
            info = tarfile.TarInfo(f"s{i}.png")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    pictures = fb.webdataset(tmp_path).decode_image(field="png").random_resized_crop(8, field="png")
    with fb.Loader(fb.zip(photos=pictures, labels=numbers(6).cache(**MEMORY)).batch(6), seed=1) as loader, fb.Loader(fb.zip(photos=pictures, labels=numbers(6)).batch(6), seed=1) as plain:
        found = [fb.digest(loader) for _ in range(60)]
        assert found == [fb.digest(plain) for _ in range(60)] and len(set(found)) == 60


@pytest.mark.parametrize("choose", [lambda part: part.take(900), lambda part: part.filter(lambda sample: sample["x"] < 900, fields=["x"])], ids=["taken", "filtered"])
@pytest.mark.parametrize("noisy", [False, True])
def test_choices_and_draws_of_parts_that_are_joined_by_a_field_use_each_chosen_sample_once(choose, noisy):
    images = fb.arrays(id=np.arange(1000), x=np.arange(1000))
    marked = fb.arrays(id=np.arange(0, 1000, 10)[::-1].copy(), y=np.arange(0, 1000, 10)[::-1].copy())
    parts = {"image": choose(images).shuffle(), "mask": marked}
    if noisy:
        parts["noise"] = fb.arrays(n=np.arange(7)).shuffle().sample()
    whole = fb.zip(**parts, on="id", missing="drop")
    x, y = loaded(whole.batch(9), "x", "y", seed=1)
    assert x == y and sorted(x) == list(range(0, 900, 10))
    with fb.Loader(fb.zip(**parts, on="id", missing="drop").batch(9), seed=1) as loader:
        for _ in range(3):
            assert sorted(value for batch in loader for value in batch["x"].tolist()) == list(range(0, 900, 10))


def test_choices_and_draws_of_parts_that_are_joined_by_position_use_each_chosen_sample_once():
    kept = fb.arrays(x=np.arange(100)).filter(lambda sample: sample["x"] >= 40, fields=["x"])
    x, y = loaded(fb.zip(a=kept, b=numbers(20, "y"), noise=fb.arrays(n=np.arange(7)).sample(), end="first").batch(4), "x", "y")
    assert (x, y) == (list(range(40, 60)), list(range(20)))


# Lists of objects.
@pytest.fixture
def listed(tmp_path):
    """Rows of 0 to 3 pictures, and a picture for each row; each picture has its own number."""
    for i in range(40):
        (tmp_path / f"{i:02}.png").write_bytes(png(np.full((4, 4), i, np.uint8)))
    rows = [{"images": [f"{4 * i + k:02}.png" for k in range(i % 4)], "row": i} for i in range(10)]
    (tmp_path / "list.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return fb.manifest(str(tmp_path / "list.jsonl"), path="images"), fb.files([str(tmp_path / f"{30 + i}.png") for i in range(10)])


def values(pictures):
    return [int(picture.flat[0]) for picture in pictures]


def assert_rows_of_lists(pipeline, ones=("cover",), **options):
    """Each row has the pictures of its list, and those of other parts that belong to it."""
    rows = []
    with fb.Loader(pipeline, epochs=1, **options) as loader:
        for batch in loader:
            flat, ends = batch["pages"]
            for i, row in enumerate(batch["row"].tolist()):
                assert values(flat[ends[i] : ends[i + 1]]) == [4 * row + k for k in range(row % 4)]
                assert all(values([batch[name][i]]) == [30 + row] for name in ones)
                rows.append(row)
    assert sorted(rows) == list(range(10))


def parts_of(listed, first):
    lists, files = listed
    parts = {
        "pages": lists.select("bytes", "row").rename(bytes="pages").decode_image(field="pages").resize(4, field="pages"),
        "cover": files.select("bytes").rename(bytes="cover").decode_image(field="cover").resize(4, field="cover"),
    }
    return parts if first == "pages" else dict(reversed(parts.items()))


@pytest.mark.parametrize("first", ["pages", "cover"])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_part_may_have_lists_of_objects(listed, first, threads):
    pair = fb.zip(**parts_of(listed, first))
    assert_rows_of_lists(pair.batch(3), threads=threads)
    assert_rows_of_lists(pair.shuffle().batch(4), threads=threads, seed=2)
    drawn = fb.zip(**parts_of(listed, first), noise=numbers(7, "n").sample()).batch(3)
    assert_rows_of_lists(drawn, threads=threads)
    assert_rows_of_lists(fb.zip(**parts_of(listed, first), more=listed[1].select("bytes").rename(bytes="back").decode_image(field="back").resize(4, field="back")).batch(3), ("cover", "back"))


def test_two_parts_may_have_lists_of_objects(listed):
    parts = parts_of(listed, "pages")
    again = parts["pages"].select("pages").rename(pages="again")
    with fb.Loader(fb.zip(again=again, **parts).batch(4), epochs=1) as loader:
        for batch in loader:
            assert all(np.array_equal(a, b) for a, b in zip(batch["pages"], batch["again"], strict=True))


def test_objects_of_lists_that_nobody_uses_are_not_read(listed, tmp_path):
    unused = fb.zip(pages=listed[0].select("bytes", "row").rename(bytes="pages"), cover=parts_of(listed, "pages")["cover"]).select("row", "cover")
    with fb.Loader(unused.batch(5), epochs=1) as loader:
        assert [values(batch["cover"]) for batch in loader] == [[30, 31, 32, 33, 34], [35, 36, 37, 38, 39]]
        assert read_by(loader) == sum((tmp_path / f"{30 + i}.png").stat().st_size for i in range(10))


@pytest.mark.parametrize("first", ["pages", "cover"])
def test_a_cache_beside_and_behind_lists_of_objects(listed, first):
    beside = parts_of(listed, first)
    beside["cover"] = beside["cover"].cache(**MEMORY)
    plain = fb.zip(**parts_of(listed, first)).shuffle().batch(3)
    for cached in (fb.zip(**beside).shuffle(), fb.zip(**parts_of(listed, first)).shuffle().cache(**MEMORY)):
        assert digests(cached.batch(3)) == digests(plain)
    with pytest.raises(fb.Unsupported, match="a sample of the part 'pages' is a list of objects.*put .cache\\(\\) behind the zip"):
        parts = parts_of(listed, first)
        fb.Loader(fb.zip(**parts | {"pages": parts["pages"].cache(**MEMORY)}).batch(2))


def test_a_lacking_object_of_a_list_in_a_part_is_named(listed, tmp_path):
    (tmp_path / "13.png").unlink()
    pair = fb.zip(**parts_of(listed, "cover")).batch(3)
    with pytest.raises(fb.NotFound, match=r"13\.png") as caught:
        list(fb.Loader(pair, epochs=1))
    assert caught.value.sample == 3
    with fb.Loader(pair, epochs=1, on_error="skip") as loader:
        assert [row for batch in loader for row in batch["row"].tolist()] == [0, 1, 2, 4, 5, 6, 7, 8, 9]


# Parts that repeat.
def test_a_part_that_repeats_has_its_samples_pass_after_pass():
    assert loaded(fb.zip(a=numbers(6), b=numbers(3, "y").repeat(2)).batch(4), "x", "y") == [[0, 1, 2, 3, 4, 5], [0, 1, 2] * 2]
    assert loaded(fb.zip(a=numbers(3).repeat(2), b=numbers(6, "y")).batch(4), "x", "y") == [[0, 1, 2] * 2, [0, 1, 2, 3, 4, 5]]
    assert loaded(fb.zip(a=numbers(3).repeat(2), b=numbers(2, "y").repeat(3)).batch(4), "x", "y") == [[0, 1, 2] * 2, [0, 1] * 3]
    assert loaded(fb.zip(a=numbers(5), b=numbers(2, "y").repeat(3), end="first").batch(4), "x", "y") == [[0, 1, 2, 3, 4], [0, 1, 0, 1, 0]]
    assert loaded(fb.zip(a=numbers(5), b=numbers(2, "y").repeat(10**12), end="first").batch(4), "x", "y") == [[0, 1, 2, 3, 4], [0, 1, 0, 1, 0]]
    assert loaded(fb.zip(a=numbers(3), b=numbers(3, "y").repeat(1)).batch(4), "x", "y") == [[0, 1, 2]] * 2


def test_a_part_repeats_the_samples_that_it_chooses():
    odd = numbers(6, "y").filter(lambda sample: sample["y"] % 2 == 1, fields=["y"])
    assert loaded(fb.zip(a=numbers(6), b=odd.repeat(2)).batch(4), "x", "y") == [[0, 1, 2, 3, 4, 5], [1, 3, 5] * 2]
    assert loaded(fb.zip(a=numbers(9).take(2).repeat(3), b=numbers(6, "y")).batch(4), "x", "y") == [[0, 1] * 3, [0, 1, 2, 3, 4, 5]]


def test_the_first_part_may_repeat_when_it_is_joined_on_a_field():
    a = fb.arrays(id=np.array([3, 1, 2]), x=np.array([30, 10, 20]))
    b = fb.arrays(id=np.arange(5), y=np.arange(5) * 100)
    assert loaded(fb.zip(a=a.repeat(2), b=b, on="id").batch(4), "x", "y") == [[30, 10, 20] * 2, [300, 100, 200] * 2]
    less = fb.arrays(id=np.array([3, 2]), y=np.array([300, 200]))
    assert loaded(fb.zip(a=a.repeat(2), b=less, on="id", missing="drop").batch(4), "x", "y") == [[30, 20] * 2, [300, 200] * 2]


@pytest.mark.parametrize("kind", ["arrow", "tar"])
def test_tables_and_tars_may_repeat(tmp_path, kind):
    if kind == "arrow":
        pa = pytest.importorskip("pyarrow")
        source = fb.arrow(pa.table({"x": np.arange(3)}))
    else:
        with tarfile.open(tmp_path / "0.tar", "w") as tar:
            for i in range(3):
                info = tarfile.TarInfo(f"{i}.cls")
                info.size = 1
                tar.addfile(info, io.BytesIO(str(i).encode()))
        source = fb.webdataset(str(tmp_path / "0.tar"), fields={"x": "cls"}).select("x")
    assert loaded(fb.zip(a=source.repeat(2), b=numbers(6, "y")).batch(4), "x", "y") == [[0, 1, 2] * 2, [0, 1, 2, 3, 4, 5]]
    assert loaded(fb.zip(a=numbers(6, "y"), b=source.repeat(2)).batch(4), "x", "y") == [[0, 1, 2] * 2, [0, 1, 2, 3, 4, 5]]


def test_pairs_of_a_part_that_repeats_come_once_an_epoch_on_any_rank_and_from_any_state():
    pair = fb.zip(a=numbers(7).shuffle().repeat(3), b=numbers(21, "y"), noise=numbers(5, "n").shuffle().sample()).batch(4)
    x, y = loaded(pair, "x", "y", seed=1)
    assert sorted(y) == list(range(21)) and y != sorted(y) and x == [value % 7 for value in y]
    assert digests(pair) == digests(pair, threads=4)
    assert fb.digest(fb.Loader(pair, seed=5)) == fb.digest(*[fb.Loader(pair, seed=5, rank=rank, world_size=2) for rank in range(2)])
    with fb.Loader(pair, seed=5, epochs=2) as loader:
        iterator = iter(loader)
        next(iterator), next(iterator)
        state, rest = loader.state_dict(), [batch["y"].tolist() for batch in iterator]
    with fb.Loader(pair, seed=5, epochs=2) as loader:
        loader.load_state_dict(state)
        assert [batch["y"].tolist() for batch in loader] == rest


def test_a_cache_in_a_part_that_repeats_has_each_sample_once(pairs):  # noqa: F811
    count = sum(1 for _ in (pairs / "all_masks").rglob("*.png"))
    pair = fb.zip(n=numbers(2 * count, "n"), mask=masks(pairs).cache(**MEMORY).repeat(2)).resize(32, field="mask").batch(4)
    with fb.Loader(pair, seed=5, epochs=1) as loader:
        assert fb.digest(loader) == digests(fb.zip(n=numbers(2 * count, "n"), mask=masks(pairs).repeat(2)).resize(32, field="mask").batch(4), epochs=1)[0]
        assert caches(loader) == [(count, count)]
