"""Data sets side by side: by position, by key and by field; sources of every kind as parts; errors, ranks and resuming."""
import io
import json
import tarfile

import numpy as np
import pytest
from PIL import Image

import forebay as fb


def numbers(count, name="x", first=0):
    return fb.arrays(**{name: np.arange(first, first + count)})


def loaded(pipeline, *names, **options):
    """The fields of one epoch, each as one list."""
    fields = {name: [] for name in names}
    with fb.Loader(pipeline, epochs=1, **options) as loader:
        for batch in loader:
            for name in names:
                fields[name] += list(batch[name])[: len(batch) - batch.padding]
    return [fields[name] for name in names]


def png(pixels):
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, "PNG")
    return data.getvalue()


@pytest.fixture(scope="module")
def pairs(tmp_path_factory, shared):
    """Real pictures, and masks in another folder that mark their bright pixels; of one picture there is no mask."""
    root = tmp_path_factory.mktemp("pairs")
    pictures = sorted((shared / "images" / "flowers").rglob("*.jpg"))[:12]
    for number, path in enumerate(pictures):
        kind = "sunny" if number % 3 else "shady"
        for folder in ("photos", "masks", "all_masks"):
            (root / folder / kind).mkdir(parents=True, exist_ok=True)
        picture = Image.open(path).convert("RGB").resize((96 + number, 80))
        # PNG, so that the mask can be computed from the pixels that the loader gives.
        (root / "photos" / kind / f"{number:02}.png").write_bytes(png(np.asarray(picture)))
        mask = png((np.asarray(picture)[..., 0] > 128).astype(np.uint8))
        (root / "all_masks" / kind / f"{number:02}.png").write_bytes(mask)
        if number != 7:
            (root / "masks" / kind / f"{number:02}.png").write_bytes(mask)
    return root


def photos(root):
    return fb.images(root / "photos").decode_image()


def masks(root, folder="all_masks"):
    return fb.images(root / folder, split_by="none").decode_image(mode="gray").rename(image="mask")


def agree(image, mask):
    return np.array_equal((image[..., :1] > 128).astype(np.uint8), mask)


def test_pictures_with_masks_are_cropped_and_mirrored_alike(pairs):
    pipeline = fb.zip(image=photos(pairs), mask=masks(pairs)).shuffle().random_crop(48, field=["image", "mask"]).random_flip(field=["image", "mask"]).batch(4)
    with fb.Loader(pipeline, seed=3) as loader:
        for _ in range(2):
            rows = 0
            for batch in loader:
                assert batch["mask"].shape == (4, 48, 48, 1) and batch["label"].shape == (4,)
                assert all(agree(image, mask) for image, mask in zip(batch["image"], batch["mask"], strict=True))
                rows += len(batch)
            assert rows == 12


def test_a_function_behind_the_zip_gets_the_fields_of_all_parts(pairs):
    def cut(sample, rng):
        y, x = rng.integers(0, 30, 2)
        return {name: sample[name][y : y + 32, x : x + 32].copy() for name in ("image", "mask")}

    both = fb.zip(image=photos(pairs), mask=masks(pairs), on="key")
    images, cuts = loaded(both.map(cut, random=True).batch(3), "image", "mask", seed=1)
    assert len(images) == 12 and all(agree(image, mask) for image, mask in zip(images, cuts, strict=True))
    means = loaded(both.map(lambda sample: {"share": sample["mask"].mean()}, fields=["mask"]).select("share").batch(3), "share")[0]
    assert len(means) == 12 and all(0 <= mean <= 1 for mean in means)


def test_samples_come_in_the_order_of_the_first_part():
    a, b = numbers(100), numbers(100, "y", first=1000)
    for pipeline in (fb.zip(a.shuffle(), b), fb.zip(a, b).shuffle()):
        x, y = loaded(pipeline.batch(7), "x", "y", seed=5)
        assert sorted(x) == list(range(100)) and x != sorted(x)
        assert [value + 1000 for value in x] == y
    assert loaded(fb.zip(a.shuffle(), b).batch(7), "x", seed=5) == loaded(a.shuffle().batch(7), "x", seed=5), "as without the other part"


def test_by_key_folders_pair_by_path_without_extension(pairs, tmp_path):
    texts = tmp_path / "texts"
    for path in (pairs / "photos").rglob("*.png"):
        told = texts / path.relative_to(pairs / "photos").with_suffix(".txt")
        told.parent.mkdir(parents=True, exist_ok=True)
        told.write_text(path.stem)
    (texts / "unused.txt").write_text("a file without a picture is no error")
    both = fb.zip(image=photos(pairs).select("key"), text=fb.files(f"{texts}/**/*.txt").rename(bytes="text"), on="key")
    keys, told = loaded(both.batch(5), "key", "text")
    assert len(keys) == 12 and [key.rsplit("/", 1)[-1].removesuffix(".png").encode() for key in keys] == [bytes(text) for text in told]


def test_a_sample_without_a_partner_is_an_error_or_left_out(pairs):
    def both(**given):
        return fb.zip(image=photos(pairs), mask=masks(pairs, "masks"), on="key", **given)

    with pytest.raises(fb.InvalidArgument, match="1 of 12 samples have no partner in the part 'mask': 'sunny/07'; .*missing=\"drop\""):
        fb.Loader(both().batch(1))
    images, cuts, keys = loaded(both(missing="drop").batch(1), "image", "mask", "key")
    assert len(keys) == 11 and "sunny/07.png" not in keys
    assert all(agree(image, mask) for image, mask in zip(images, cuts, strict=True))
    with pytest.raises(fb.InvalidArgument, match="no sample has a partner in the part 'mask'"):
        fb.Loader(fb.zip(image=photos(pairs), mask=fb.files(f"{pairs}/**/masks/**/*.png").rename(bytes="mask"), on="key", missing="drop").batch(1))


def test_by_a_field_of_text_or_whole_numbers():
    a = fb.arrays(word=np.array(["b", "a", "c", "a"]), x=np.arange(4))
    b = fb.arrays(word=np.array(["a", "b", "d", "c"]), y=np.array([10, 11, 12, 13]))
    assert loaded(fb.zip(a, b, on="word").batch(3), "word", "x", "y") == [["b", "a", "c", "a"], [0, 1, 2, 3], [11, 10, 13, 10]]
    a = fb.arrays(n=np.array([7, 5, 6], np.int16), x=np.arange(3))
    b = fb.arrays(n=np.array([5, 7]), y=np.array([50, 70]))
    assert loaded(fb.zip(a, b, on="n", missing="drop").batch(3), "n", "x", "y") == [[7, 5], [0, 1], [70, 50]]


def test_a_manifest_with_an_array(pairs, tmp_path):
    rows = sorted((pairs / "photos").rglob("*.png"))
    (tmp_path / "list.csv").write_text("path,number\n" + "".join(f"{path},{i * 3}\n" for i, path in enumerate(rows)))
    features = fb.arrays(number=np.arange(36)[::-1].copy(), feature=np.arange(36, dtype=np.float32)[::-1].reshape(36, 1).copy())
    pipeline = fb.zip(photo=fb.manifest(tmp_path / "list.csv").select("number"), feature=features, on="number").batch(4)
    number, feature = loaded(pipeline, "number", "feature")
    assert number == list(range(0, 36, 3)) and [float(one[0]) for one in feature] == number


@pytest.fixture(scope="module")
def tars(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tars")
    for shard in range(3):
        with tarfile.open(folder / f"{shard}.tar", "w") as tar:
            for i in range(shard * 20, shard * 20 + 20):
                for name, data in ((f"s{i:03}.txt", f"text {i}".encode()), (f"s{i:03}.cls", str(i).encode())):
                    info = tarfile.TarInfo(name)
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))
    return folder


def test_tars_with_an_array_of_features_beside_them(tars):
    features = fb.arrays(feature=np.arange(120, dtype=np.float32).reshape(60, 2))
    pipeline = fb.zip(tar=fb.webdataset(tars, chunk="4KiB").shuffle(), features=features).batch(8)
    label, feature, text = loaded(pipeline, "cls", "feature", "txt", seed=2)
    assert sorted(label) == list(range(60)) and label != sorted(label)
    assert all(np.array_equal(row, [2 * i, 2 * i + 1]) for i, row in zip(label, feature, strict=True))
    assert text == [f"text {i}" for i in label]
    with fb.Loader(pipeline, epochs=1) as loader:
        list(loader)
        assert loader.stats()["chunks"]["decoded"] < 60, "the tars are read in chunks"


def test_tars_by_key(tars):
    names = np.array([f"s{i:03}" for i in range(0, 60, 2)][::-1])
    features = fb.arrays(key=names, even=np.arange(0, 60, 2)[::-1].copy())
    label, even, key = loaded(fb.zip(tar=fb.webdataset(tars), features=features, on="key", missing="drop").batch(7), "cls", "even", "key")
    assert label == even == list(range(0, 60, 2)) and key == sorted(names)
    with pytest.raises(fb.InvalidArgument, match="30 of 60 samples have no partner in the part 'features': 's001', 's003', 's005' and 27 more"):
        fb.Loader(fb.zip(tar=fb.webdataset(tars), features=features, on="key").batch(7))


def test_tables_and_lines(tmp_path, pairs):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": range(50), "word": [f"w{i}" for i in range(50)]}), tmp_path / "x.parquet", row_group_size=7)
    (tmp_path / "y.jsonl").write_text("".join(json.dumps({"word": f"w{i}", "y": i}) + "\n" for i in range(49, -1, -1)))
    table, lines = fb.parquet(tmp_path / "x.parquet"), fb.jsonl(tmp_path / "y.jsonl")
    x, y = loaded(fb.zip(table.shuffle(block=2), lines, on="word").batch(6), "x", "y", seed=1)
    assert x == y and sorted(x) == list(range(50)) and x != sorted(x)
    x, y = loaded(fb.zip(table, lines.select("y")).batch(6), "x", "y")
    assert [49 - value for value in x] == y
    with pytest.raises(fb.OutOfBudget, match="the part 'b' is a table or tar that is not the first part.*put it first"):
        fb.Loader(fb.zip(numbers(50), b=table).batch(1), memory=200)
    with pytest.raises(fb.OutOfBudget, match=r"the part 'a' is a table or tar that repeats: .*; leave .repeat\(\) out of it, or put it behind the zip"):
        fb.Loader(fb.zip(a=table.repeat(2), b=numbers(100, "n")).batch(1), memory=200)
    rows = sorted((pairs / "photos").rglob("*.png"))
    pq.write_table(pa.table({"key": [str(path.relative_to(pairs / "photos")) for path in rows], "score": range(12)}), tmp_path / "scores.parquet")
    key, score = loaded(fb.zip(image=photos(pairs).select("key"), score=fb.parquet(tmp_path / "scores.parquet"), on="key").batch(5), "key", "score")
    assert score == list(range(12)) and len(key) == 12


def test_only_what_is_used_is_read(pairs):
    both = fb.zip(image=photos(pairs), mask=masks(pairs))

    def fetched(pipeline):
        with fb.Loader(pipeline, epochs=1) as loader:
            list(loader)
            return sum(step["bytes_out"] for step in loader.stats()["steps"] if step["name"] == "fetch")

    sizes = {folder: sum(path.stat().st_size for path in (pairs / folder).rglob("*.png")) for folder in ("photos", "all_masks")}
    assert fetched(both.resize(8, field=["image", "mask"]).batch(4)) == sum(sizes.values())
    assert fetched(both.select("mask").resize(8, field="mask").batch(4)) == sizes["all_masks"]
    assert fetched(both.select("label", "key").batch(4)) == 0


def test_steps_of_parts_have_figures_and_errors_of_their_own(pairs, tmp_path):
    both = fb.zip(image=photos(pairs), mask=masks(pairs))
    with fb.Loader(both.resize(8, field=["image", "mask"]).batch(4), epochs=1) as loader:
        list(loader)
        names = [step["name"] for step in loader.stats()["steps"]]
    assert "image/decode_image" in names and "mask/decode_image" in names
    for number in range(3):
        (tmp_path / f"{number}.png").write_bytes(png(np.full((4, 4), number, np.uint8)) if number != 1 else b"broken")
    bad = fb.zip(x=numbers(3), mask=fb.files(f"{tmp_path}/*.png").decode_image().resize(4).rename(image="mask")).batch(3)
    with pytest.raises(fb.Corrupt) as caught, fb.Loader(bad, epochs=1) as loader:
        list(loader)
    assert caught.value.operator == "decode_image" and caught.value.sample == 1 and caught.value.key.endswith(f"(mask: {tmp_path}/1.png)")
    assert loaded(bad, "x", on_error="skip") == [[0, 2]]
    x, mask = loaded(bad, "x", "mask", on_error="replace")
    assert all((one == value).all() for value, one in zip(x, mask, strict=True)), "a replacement replaces the whole sample"


def double(sample):
    return {"y": sample["y"] * 2, "seen": sorted(sample)}


def test_functions_of_parts_see_their_own_fields_alone():
    a, b = numbers(30).shuffle(), fb.arrays(x=np.arange(30) + 100, y=np.arange(30) + 200)
    for workers in ("threads", "processes"):
        pipeline = fb.zip(a=a.map(lambda sample: {"x": sample["x"], "unseen": 1}, fields=["x"]).select("x"), b=b.map(double, workers=workers).select("y", "seen"))
        x, y, seen = loaded(pipeline.batch(7), "x", "y", "seen", seed=1)
        assert sorted(x) == list(range(30)) and [2 * (value + 200) for value in x] == y and all(list(names) == ["x", "y"] for names in seen)
    assert loaded(pipeline.select("x", "y").batch(7), "x", "y", seed=1) == [x, y]
    kept = fb.zip(a=a, b=b.map(lambda sample: {"y": float(sample["y"])}, fields=["y"]).select("y")).map(lambda sample: {"both": sample["x"] + sample["y"]}, fields=["x", "y"])
    x, y, both = loaded(kept.batch(7), "x", "y", "both", seed=1)
    assert both == [value + value + 200 for value in x] and isinstance(y[0], np.float64)
    changed = fb.zip(a=a.map(lambda sample: {"z": -sample["x"]}).select("z"), b=b.rename(x="w").map(lambda sample: {"u": sample["w"] + sample["y"]}).select("u"))
    z, u = loaded(changed.batch(7), "z", "u", seed=1)
    assert u == [300 - 2 * value for value in z]


def test_random_functions_of_parts_draw_apart_and_again_alike():
    draw = lambda sample, rng: {"x": rng.integers(1 << 40), "id": sample["x"]}  # noqa: E731
    pipeline = fb.zip(a=numbers(20).map(draw, random=True).select("x", "id"), b=numbers(20).map(draw, random=True).select("x", "id").rename(x="y", id="other")).shuffle()
    x, y, id, other = loaded(pipeline.batch(6), "x", "y", "id", "other", seed=1, threads=3)
    assert id == other and len({*x, *y}) == 40
    with fb.Loader(pipeline.batch(6), seed=1) as loader, fb.Loader(pipeline.batch(3), seed=1, threads=1) as one:
        assert fb.digest(loader) == fb.digest(one)


def test_functions_of_parts_fail_with_the_sample_of_all_parts(pairs):
    def refuse(sample):
        if sample["y"] == 3:
            raise ValueError("three")
        return sample

    bad = fb.zip(a=numbers(6), b=numbers(6, "y").map(refuse).select("y")).batch(6)
    with pytest.raises(ValueError, match="three"), fb.Loader(bad, epochs=1) as loader:
        list(loader)
    assert loaded(bad, "x", on_error="skip") == [[0, 1, 2, 4, 5]]
    with pytest.raises(fb.Unsupported, match="a later step needs the field 'z', but the function gave only: y"), fb.Loader(fb.zip(a=numbers(6), b=numbers(6, "y").map(dict).select("z")).batch(6), epochs=1) as loader:
        list(loader)
    decoded = fb.zip(image=photos(pairs).map(lambda sample: {"image": 255 - sample["image"]}, fields=["image"]).select("image"), mask=masks(pairs)).batch(1)
    images, cuts = loaded(decoded, "image", "mask")
    assert all(agree(255 - image, mask) for image, mask in zip(images, cuts, strict=True))


def test_functions_of_parts_beside_tables(tmp_path):
    (tmp_path / "y.jsonl").write_text("".join(json.dumps({"y": i, "text": f"t{i}"}) + "\n" for i in range(40)))
    lines = fb.jsonl(tmp_path / "y.jsonl").map(lambda sample: {"y": sample["y"], "words": len(sample["text"])}).select("y", "words")
    x, y, words = loaded(fb.zip(lines=lines.shuffle(), b=numbers(40)).batch(6), "x", "y", "words", seed=1)
    assert x == y and sorted(x) == list(range(40)) and x != sorted(x) and words == [2 if value < 10 else 3 for value in x]


def test_steps_that_go_by_a_field_behind_a_zip_find_those_of_parts(pairs):
    both = fb.zip(image=photos(pairs), mask=masks(pairs)).resize(8, field=["image", "mask"])
    renamed = fb.zip(image=photos(pairs).rename(label="kind").resize(8), mask=masks(pairs).resize(8, field="mask"))
    for pipeline, by in ((both, "label"), (renamed, "kind")):
        with fb.Loader(pipeline.rehearse(2, capacity=1, by=by).batch(4), seed=1, epochs=2) as loader:
            old = [(label, id) for batch in [*loader, *loader] for label, id, replayed in zip(batch[by].tolist(), batch.ids.tolist(), batch["rehearsed"], strict=True) if replayed]
        assert {label for label, _ in old} == {0, 1}, "one sample of each class is kept"
        balanced = loaded(pipeline.balance(by=by).batch(4), by, seed=1)[0]
        assert sorted(balanced) == [0] * 6 + [1] * 6
    with pytest.raises(fb.InvalidArgument, match="the source has no field 'lable' that is known.*label"):
        fb.Loader(both.rehearse(2, capacity=1, by="lable").batch(4))
    with pytest.raises(fb.InvalidArgument, match="the field 'image' must be read to be known"):
        fb.Loader(both.rehearse(2, capacity=1, by="image").batch(4))


def test_a_table_beside_an_array_is_rehearsed_by_its_fields(tmp_path):
    (tmp_path / "y.jsonl").write_text("".join(json.dumps({"y": i, "kind": f"k{i % 3}"}) + "\n" for i in range(60)))
    both = fb.zip(lines=fb.jsonl(tmp_path / "y.jsonl").rename(kind="class_of").shuffle(), b=fb.arrays(x=np.arange(60), parity=np.arange(60) % 2))
    for by, classes in (("class_of", 3), ("parity", 2)):
        with fb.Loader(both.rehearse(4, capacity=1, by=by).batch(8), seed=1, epochs=2) as loader:
            old = {value for batch in [*loader, *loader] for value, replayed in zip(batch[by].tolist() if by == "parity" else batch[by], batch["rehearsed"], strict=True) if replayed}
        assert len(old) == classes


def test_splits_of_a_zip_go_by_the_key_of_the_first_part(pairs, tmp_path):
    both = fb.zip(image=photos(pairs).select("key", "label"), mask=masks(pairs).select("mask"))
    shares = fb.split(both, train=0.5, val=0.5)
    keys = [set(loaded(part.batch(1), "key")[0]) for part in shares.values()]
    alone = [set(loaded(part.select("key").batch(1), "key")[0]) for part in fb.split(fb.images(pairs / "photos"), train=0.5, val=0.5).values()]
    assert keys == alone and len(keys[0] | keys[1]) == 12, "as without the masks, so data that are added later move nothing"


def big(pairs):
    return fb.zip(image=photos(pairs).shuffle(), mask=masks(pairs), on="key").random_crop(32, field=["image", "mask"])


@pytest.mark.parametrize("world", [1, 2, 3])
@pytest.mark.parametrize("threads", [1, 4])
def test_the_digest_is_that_of_any_number_of_ranks_and_threads(pairs, tars, world, threads):
    features = fb.arrays(feature=np.arange(60, dtype=np.float32))
    for pipeline in (big(pairs), fb.zip(fb.webdataset(tars, chunk="4KiB").shuffle(), features)):
        def digest(ranks, **options):
            loaders = [fb.Loader(pipeline.batch(6 // ranks), seed=9, rank=rank, world_size=ranks, **options) for rank in range(ranks)]  # noqa: B023
            try:
                return fb.digest(*loaders)
            finally:
                for loader in loaders:
                    loader.close()

        assert digest(world, threads=threads) == digest(1, threads=2)


@pytest.mark.parametrize("requests", [1, 16])
def test_both_files_of_a_sample_come_from_slow_storage(pairs, requests):
    slow = {"imitate_latency_ms": 1}
    with fb.Loader(big(pairs).batch(4), seed=2) as expected, fb.Loader(big(pairs).batch(4), seed=2, requests=requests, storage_options=slow) as loader:
        for _ in range(2):
            assert fb.digest(loader) == fb.digest(expected)
        assert [store["requests"] >= 24 for store in loader.stats()["stores"]] == [True, True]


def test_resumes_with_another_batch_and_more_ranks(pairs):
    def rows(loaders):
        out = []
        for step in zip(*loaders, strict=True):
            for batch in step:
                real = len(batch) - batch.padding
                out += zip(batch.positions[:real], batch.ids[:real], map(bytes, batch["mask"][:real]), strict=True)
        return sorted(out)

    with fb.Loader(big(pairs).batch(2), seed=4, epochs=1) as loader:
        whole = rows([loader])
    with fb.Loader(big(pairs).batch(2), seed=4, epochs=1) as loader:
        batches = iter(loader)
        next(batches), next(batches)
        state = loader.state_dict()
    assert len(json.dumps(state)) < 1000
    later = [fb.Loader(big(pairs).batch(4), seed=4, epochs=1, rank=rank, world_size=2) for rank in range(2)]
    for loader in later:
        loader.load_state_dict(state)
    assert rows(later) == whole[4:]
    for loader in later:
        loader.close()


def test_a_cache_behind_a_zip_keeps_samples_of_all_parts(pairs, tmp_path):
    cached = fb.zip(image=photos(pairs), mask=masks(pairs), on="key").resize(16, field=["image", "mask"], interpolation="nearest").cache(ram="64MiB", disk=0)
    plain = fb.zip(image=photos(pairs), mask=masks(pairs), on="key").resize(16, field=["image", "mask"], interpolation="nearest")
    with fb.Loader(cached.shuffle().batch(4), seed=1) as loader, fb.Loader(plain.shuffle().batch(4), seed=1) as expected:
        for _ in range(3):
            assert fb.digest(loader) == fb.digest(expected)
        (cache,) = loader.stats()["caches"]
        assert (cache["misses"], cache["ram"]["entries"]) == (12, 12)


def test_in_a_mix_and_filtered(pairs):
    zipped = fb.zip(numbers(30), numbers(30, "y", first=100))
    plain = fb.arrays(x=np.arange(1000, 1020), y=np.arange(1100, 1120))
    with fb.Loader(fb.mix({"pairs": zipped.shuffle(), "plain": plain}).batch(10), epochs=1) as loader:
        batches = list(loader)
        assert {part["name"]: part["samples"] for part in loader.stats()["parts"]} == {"pairs": 30, "plain": 20}
    assert batches[0].part_names == ["pairs", "plain"]
    assert all(x + 100 == y for batch in batches for x, y in zip(batch["x"], batch["y"], strict=True))
    x, y = loaded(zipped.filter(lambda sample: sample["x"] + sample["y"] > 140).take(3).batch(2), "x", "y")
    assert x == [21, 22, 23] and y == [121, 122, 123]
    two = fb.concat(zipped, fb.zip(numbers(3, first=50), numbers(3, "y", first=150)))
    assert loaded(two.map(lambda sample: {"x": sample["x"], "y": sample["y"] - 100}).batch(33), "x", "y")[0][-3:] == [50, 51, 52]
    assert loaded(zipped.repeat(2).batch(20), "x")[0] == [*range(30), *range(30)]


def test_a_zip_goes_through_json(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(6))
    np.save(tmp_path / "y.npy", np.arange(6)[::-1].copy())
    pipeline = fb.zip(a=fb.arrays(x=tmp_path / "x.npy"), b=fb.arrays(x=tmp_path / "y.npy", y=tmp_path / "x.npy"), on="x").batch(2)
    again = fb.Pipeline.from_json(pipeline.to_json())
    assert str(again) == str(pipeline)
    assert loaded(again, "x", "y") == [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0]]


# What is wrong, the step, words of the message, words of the way out.
WRONG = [
    (fb.zip(), "0: zip", "there are no parts", "without .batch()"),
    (fb.zip(numbers(3), **{"a/b": numbers(3, "y")}), "0: zip", "a part is called 'a/b'", "without '/'"),
    (fb.zip(numbers(3), numbers(3)), "0: zip", "the parts '0' and '1' both have the field 'x'", ".rename(x=\"…\")"),
    (fb.zip(numbers(3), numbers(3, "y"), on=""), "0: zip", "on is empty", 'give "key"'),
    (fb.zip(numbers(3), numbers(3, "y"), missing="mask"), "0: zip", 'missing is "mask"', "'drop'"),
    (fb.zip(numbers(3), numbers(3, "y"), end="all"), "0: zip", 'end is "all"', "'first'"),
    (fb.zip(numbers(3), numbers(3, "y"), missing="drop"), "0: zip", "joined by position", "give on="),
    (fb.zip(numbers(3), numbers(3, "y"), on="x", end="first"), "0: zip", "joined on a field", "leave it out"),
    (fb.zip(numbers(3), b=numbers(3, "y").shuffle()), "b: 1: shuffle", "that of its first part", "or behind the zip; if any sample of this part may come with any of the first, as noise does, draw them: .shuffle().sample()"),
    (fb.zip(numbers(3), b=numbers(3, "y").map(dict)), "b: 1: map", "those that the function returns are not known", 'name them with .select("…") behind it in this part'),
    (fb.zip(numbers(3), b=numbers(3, "y").select("y").map(dict, fields=["y"])), "b: 2: map", "those that the function returns are not known", ".select("),
    (fb.zip(numbers(3), b=numbers(3, "y").map(dict).select("x")), "0: zip", "the parts '0' and 'b' both have the field 'x'", ".rename(x="),
    (fb.zip(numbers(3), b=numbers(3, "y").map_batch(dict)), "b: 1: map_batch", "no batches of its own", ".map(fn) works on the samples of a part"),
    (fb.zip(numbers(3), b=numbers(3, "y").sample().map(dict)), "b: 2: map", "those that the function returns are not known", ".select("),
    (fb.zip(numbers(3), b=numbers(3, "y").repeat(1.5)), "b: 1: repeat", "n is 1.5, and a part of a zip has each sample a whole number of times", "or put .repeat() behind the zip"),
    (fb.zip(numbers(3), b=numbers(3, "y").repeat(0)), "b: 1: repeat", "n is 0", "a number above 0"),
    (fb.zip(numbers(3), b=numbers(3, "y").repeat(2).take(2)), "b: 2: take", "it stands behind .repeat()", "move it before .repeat()"),
    (fb.zip(numbers(3), b=numbers(3, "y").pack(8)), "b: 1: pack", "a block has samples of many pairs", "put .pack() behind the zip"),
    (fb.zip(numbers(3), b=numbers(3, "y").batch(2)), "b: 1: batch", "no batches of its own", "behind all parts"),
    (fb.zip(numbers(3), b=fb.Dataset([{"y": 1}] * 3)), "b: 0: dataset", "those that the data set returns are not known", 'name them with .select("…") behind it in this part'),
    (fb.zip(numbers(3), b=fb.concat(numbers(3, "y"))), "b: 0: concat", "a part of a zip is one data set", "concat(zip(a, b), zip(c, d))"),
    (fb.zip(numbers(3), b=fb.text("log", follow=True)), "b: 0: text", "streams as parts are not there yet", "by itself"),
    (fb.zip(numbers(3), b=fb.images("masks").resize(3)), "b: 1: resize", "still encoded", "decode_image"),
    (fb.zip(numbers(3), b=fb.images("masks").select("mask")), "b: 1: select", "there is no field 'mask'", "image"),
    (fb.zip(numbers(3).shuffle(), numbers(3, "y")).shuffle(), "1: shuffle", "shuffled already", "keep one"),
]


@pytest.mark.parametrize("pipeline, operator, message, remedy", WRONG, ids=[message for _, _, message, _ in WRONG])
def test_check_says_what_is_wrong_and_the_way_out(pipeline, operator, message, remedy):
    (problem,) = pipeline.check()
    assert problem.operator == operator and message in problem.message and remedy in problem.remedy, problem


# What is wrong when the data sets are opened.
UNFIT = [
    (fb.zip(a=numbers(3), b=numbers(4, "y")), fb.InvalidArgument, "'a' has 3 samples and 'b' has 4.*end=\"first\""),
    (fb.zip(a=numbers(3).repeat(2), b=numbers(3, "y").repeat(3)), fb.InvalidArgument, "'a' has 6 samples and 'b' has 9"),
    (fb.zip(a=numbers(3), b=numbers(3, "y").repeat(10**9)), fb.InvalidArgument, "'a' has 3 samples and 'b' has 3000000000"),
    (fb.zip(a=numbers(3), b=numbers(3, "y").repeat(1e16)), fb.InvalidArgument, r"the part 'b' has 3 samples 9007199254740992 times, which are more than 2\^53; repeat it as often as the other parts need"),
    *((fb.zip(a=numbers(3), b=fb.arrays(x=np.arange(3), y=np.arange(3)).repeat(n), on="x"), fb.InvalidArgument,
       f"the part 'b' has its samples {n} times; only the first part may have several samples of one value: leave .repeat\\(\\) out of 'b'")
      for n in (2, 10**9)),
    (fb.zip(a=numbers(3).take(2), b=numbers(3, "y")), fb.InvalidArgument, "'a' has 2 samples and 'b' has 3.*end=\"first\""),
    (fb.zip(a=numbers(3), b=numbers(3, "y"), on="x"), fb.InvalidArgument, "the part 'b' has no field 'x'; it has y"),
    (fb.zip(a=numbers(3), b=numbers(3, "y"), on="key"), fb.InvalidArgument, "the part 'a' has no field 'key'"),
    (fb.zip(a=numbers(3), b=fb.arrays(x=np.array([0, 2, 2]), y=np.arange(3)), on="x"), fb.InvalidArgument, "two samples of the part 'b' are '2'.*only the first part"),
    (fb.zip(a=fb.arrays(x=np.ones(2)), b=fb.arrays(x=np.ones(2), y=np.arange(2)), on="x"), fb.Unsupported, "join on text or on whole numbers"),
]


@pytest.mark.parametrize("pipeline, error, message", UNFIT, ids=range(len(UNFIT)))
def test_parts_that_do_not_fit_are_told_when_they_are_opened(pipeline, error, message):
    with pytest.raises(error, match=message):
        fb.Loader(pipeline.batch(1))


def test_unequal_numbers_end_with_the_shortest_part():
    for a, b in ((numbers(3), numbers(5, "y")), (numbers(5), numbers(3, "y"))):
        assert loaded(fb.zip(a, b, end="first").batch(2), "x", "y") == [[0, 1, 2], [0, 1, 2]]


def test_arguments_of_other_types():
    with pytest.raises(TypeError, match="zip: the part '1' is of type list"):
        fb.zip(numbers(3), [1, 2])
    (problem,) = fb.zip(numbers(3), numbers(3, "y"), on=3).check()
    assert problem.operator == "0: zip" and "on" in problem.message
