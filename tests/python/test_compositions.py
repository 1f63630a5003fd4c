"""Compositions of steps that each work alone: nobody looks at some fields, others change their names, caches stand in between."""
import json

import numpy as np
import pytest
from PIL import Image

import forebay as fb

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")


def rows(pipeline, **options):
    """The fields of the first epoch in the order of the ids, as lists or arrays."""
    found = {}
    with fb.Loader(pipeline, epochs=1, **options) as loader:
        for batch in loader:
            for name in batch.keys():
                values = batch[name]
                if isinstance(values, tuple):
                    flat, offsets = values
                    values = [flat[offsets[i]:offsets[i + 1]] for i in range(len(offsets) - 1)]
                found.setdefault(name, {}).update(zip(batch.ids.tolist(), values))
    return {name: [values[i] for i in sorted(values)] for name, values in found.items()}


def plain(values):
    return [value.tolist() if hasattr(value, "tolist") else value for value in values]


@pytest.fixture(scope="module")
def table():
    return pa.table({"a": [1, 2, 3, 4], "b": [10, 20, 30, 40], "c": [100, 200, 300, 400]})


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Nine PNG pictures of odd sizes in three class folders, and a list of them."""
    root = tmp_path_factory.mktemp("pictures")
    random = np.random.default_rng(1)
    lines = ["path,label,weight"]
    for i in range(9):
        path = root / f"class{i % 3}" / f"{i}.png"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(random.integers(0, 256, (5 + i, 9 - i // 2, 3), dtype=np.uint8)).save(path)
        lines.append(f"class{i % 3}/{i}.png,{i},{i / 2}")
    (root / "list.csv").write_text("\n".join(lines) + "\n")
    return root


# Crops of what a crop has added


@pytest.mark.parametrize("first,second", [(40, 3), (40, 39), (9, 8), (400, 5)])
def test_a_crop_may_lie_in_the_border_that_a_larger_crop_added(pictures, first, second):
    arrays = fb.arrays(image=np.full((8, 4, 8, 3), 7, np.uint8))
    for source in (arrays, fb.images(str(pictures)).decode_image()):
        pipeline = source.center_crop(first).random_crop(second).batch(4)
        reference = rows(pipeline, seed=3, threads=1)["image"]
        assert {pixels.shape for pixels in reference} == {(second, second, 3)}
        settled = source.center_crop(first).map(lambda s: s, fields="image").random_crop(second).batch(4)
        for one, other in zip(reference, rows(settled, seed=3)["image"]):
            np.testing.assert_array_equal(one, other)


def test_zeros_of_a_crop_are_scaled_as_other_pixels(pictures):
    source = fb.images(str(pictures)).decode_image().center_crop(400)
    made = rows(source.normalize(fb.IMAGENET).random_crop(3).batch(4))["image"]
    expected = (0 - np.float32(fb.IMAGENET[0])) / np.float32(fb.IMAGENET[1])
    for pixels in made:
        np.testing.assert_allclose(pixels, np.broadcast_to(expected[:, None, None], (3, 3, 3)), rtol=1e-5)


# Names of fields that nobody looks at


def test_renames_and_casts_of_a_table_are_followed_when_some_are_dropped(table):
    pipeline = fb.arrow(table).rename(a="x", b="y").cast("float32", field="x").select("x")
    assert plain(rows(pipeline.batch(4))["x"]) == [1, 2, 3, 4]
    swapped = fb.arrow(table).rename(a="b", b="c", c="a").select("a", "b").batch(4)
    assert {name: plain(values) for name, values in rows(swapped).items()} == {"a": [100, 200, 300, 400], "b": [1, 2, 3, 4]}


def test_renames_of_what_is_not_decoded(pictures):
    listed = fb.manifest(str(pictures / "list.csv"))
    made = rows(listed.decode_image().rename(image="pic", label="y").select("y").batch(4))
    assert {name: plain(values) for name, values in made.items()} == {"y": list(range(9))}


def test_a_filter_needs_only_what_it_names(pictures):
    listed = fb.manifest(str(pictures / "list.csv"))
    pipeline = (listed.decode_image().center_crop(4).cast("float32", field="label").select("image", "label")
                .filter(lambda s: s["label"] % 2 == 1, fields="label").batch(4))
    assert plain(rows(pipeline)["label"]) == [1, 3, 5, 7]


def test_a_dropped_field_does_not_stand_in_the_way_of_its_name(table):
    pipeline = fb.arrow(table).rename(a="x").stack(["b", "c"], "a").select("a").batch(4)
    assert plain(rows(pipeline)["a"]) == [[10, 100], [20, 200], [30, 300], [40, 400]]
    arrays = fb.arrays(a=np.arange(4), b=np.arange(4) * 10)
    assert plain(rows(arrays.rename(a="x").rename(b="a").select("a").batch(4))["a"]) == [0, 10, 20, 30]


def test_fields_of_a_data_set_that_were_not_selected_are_gone():
    seen = []

    def look(sample):
        seen.append(sorted(sample))
        return sample

    pipeline = fb.Dataset([{"a": 1, "b": 2}] * 3).select("a").map(look).batch(3)
    assert sorted(rows(pipeline)) == ["a"]
    assert seen == [["a"]] * 3


# Caches


def test_every_row_of_a_batch_gets_its_own_entry(pictures):
    source = fb.images(str(pictures)).hash_bucket(1000, "key").select("key")
    expected = plain(rows(source.batch(4))["key"])
    assert len(set(expected)) > 1
    with fb.Loader(source.cache(ram="1MB", disk=0).batch(4), epochs=2) as loader:
        for _ in range(2):
            found = {}
            for batch in loader:
                found.update(zip(batch.ids.tolist(), batch["key"].tolist()))
            assert [found[i] for i in sorted(found)] == expected


def test_a_disk_cache_of_other_fields_gives_no_wrong_data(pictures, tmp_path):
    source = fb.images(str(pictures)).cache(ram=0, disk="1GB", dir=str(tmp_path))
    assert plain(rows(source.select("label").batch(4))["label"]) == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    files = sorted(pictures.glob("class*/*.png"))
    for _ in range(2):
        assert rows(source.batch(4))["image"] == [file.read_bytes() for file in files]


def test_a_cache_keeps_what_a_map_put_over_a_field_of_the_source(pictures, tmp_path):
    pipeline = (fb.manifest(str(pictures / "list.csv")).map(lambda s: {"label": -1}, fields="key", version="1")
                .cache(ram=0, disk="1GB", dir=str(tmp_path)).batch(4))
    for _ in range(2):
        assert plain(rows(pipeline)["label"]) == [-1] * 9


@pytest.mark.parametrize("tiers", [{"ram": "10MB", "disk": 0}, {"ram": 0, "disk": "1GB"}])
def test_caches_are_identity(pictures, tmp_path, tiers):
    """Cold, warm, after other selections of fields on the same folder, and with maps that overwrite."""
    sources = {
        "images": fb.images(str(pictures)),
        "manifest": fb.manifest(str(pictures / "list.csv")),
        "files": fb.files(str(pictures / "class*" / "*.png")),
    }
    steps = [
        lambda p: p,
        lambda p: p.map(lambda s: {"key": s["key"].upper() if isinstance(s["key"], str) else s["key"], "extra": 5}, fields="key",
                        version="1"),
        lambda p: p.decode_image().center_crop(4),
        lambda p: p.hash_bucket(50, "key"),
        lambda p: p.map(lambda s: {"one": len(s["key"])}, version="2"),
        lambda p: p.rename(key="name"),
    ]
    for name, source in sources.items():
        for make in steps:
            base = make(source)
            fields = sorted(rows(base.batch(4)))
            for chosen in [*([field] for field in fields), fields]:
                def whole(p):
                    return p.select(*chosen).batch(4)

                expected = rows(whole(base))
                with fb.Loader(whole(base.cache(dir=str(tmp_path), **tiers)), epochs=2) as loader:
                    digests = {fb.digest(loader), fb.digest(loader)}
                with fb.Loader(whole(base.cache(dir=str(tmp_path), **tiers)), epochs=1) as loader:
                    digests.add(fb.digest(loader))
                with fb.Loader(whole(base), epochs=1) as loader:
                    digests.add(fb.digest(loader))
                assert len(digests) == 1, (name, chosen, expected)


@pytest.mark.parametrize("tiers", [{"ram": "10MB", "disk": 0}, {"ram": 0, "disk": "1GB"}])
def test_caches_of_tables_are_identity_whatever_stands_behind_them(tmp_path, tiers):
    """The steps behind a cache decide in which form it keeps rows; partition folders give columns that no file has."""
    for i in range(3):
        folder = tmp_path / "table" / f"p={i}"
        folder.mkdir(parents=True)
        columns = {"label": pa.array(range(i, 2 * i), pa.uint64()), "text": pa.array([f"t{n}" for n in range(i)], pa.string())}
        pa.parquet.write_table(pa.table(columns), folder / "part.parquet")
    base = fb.parquet(str(tmp_path / "table"), null=fb.NULL_MASK).fill_null(55, field="label")
    behind = [lambda p: p.select("label", "p"), lambda p: p, lambda p: p.select("p"), lambda p: p.rename(p="q", label="p"),
              lambda p: p.cast("float32", field="p"), lambda p: p.map(lambda s: {"n": len(s["text"])}, fields="text")]
    for _ in range(2):
        for steps in behind:
            expected = {name: plain(values) for name, values in rows(steps(base).batch(2)).items()}
            made = rows(steps(base.cache(dir=str(tmp_path / "cache"), **tiers)).batch(2))
            assert {name: plain(values) for name, values in made.items()} == expected


def test_two_caches_with_other_samples_between(table):
    pipeline = fb.arrow(table).cache(disk=0).filter(lambda s: s["a"] > 2, fields="a").cache(disk=0).batch(2)
    assert plain(rows(pipeline)["a"]) == [3, 4]


def test_names_that_user_code_gives_may_change_places(table):
    data = fb.Dataset([{"u": i, "x": 10 * i} for i in range(3)])
    for source in (data, fb.arrays(u=np.arange(3), x=np.arange(3) * 10)):
        swapped = source.map(lambda s: {"new": s["x"] + 1}, fields=["x"]).rename(x="u", u="x")
        assert plain(rows(swapped.select("u").batch(2))["u"]) == [0, 10, 20]
        made = rows(swapped.select("new", "x").batch(2))
        assert {name: plain(values) for name, values in made.items()} == {"new": [1, 11, 21], "x": [0, 1, 2]}


# What user code gives


def test_a_field_added_by_a_map_can_be_used_by_name(table):
    sources = [fb.Dataset([{"a": i, "b": 2 * i} for i in range(4)]), fb.arrow(table), fb.arrays(a=np.arange(4), b=np.arange(4))]
    for source in sources:
        whole = source.map(lambda s: {**s, "d": s["a"] * 2})
        part = source.map(lambda s: {"z": 0}, fields="a").map(lambda s: {"d": s["a"] * 2}, fields="a")
        for made in (whole, part):
            expected = [2 * v for v in plain(rows(source.batch(2))["a"])]
            assert plain(rows(made.select("d").batch(2))["d"]) == expected
            assert plain(rows(made.cast("float32", field="d").select("d").batch(2))["d"]) == expected
            assert plain(rows(made.rename(d="e").select("e", "a").batch(2))["e"]) == expected
            assert plain(rows(made.filter(lambda s: s["d"] == expected[1], fields="d").select("d").batch(2))["d"]) == expected[1:2]


def test_a_filter_gets_its_fields_from_user_code():
    data = fb.Dataset([{"a": i, "b": 2 * i} for i in range(6)])
    for source in (data, data.map(lambda s: {"a": s["a"], "c": 1})):
        assert plain(rows(source.filter(lambda s: s["a"] > 3, fields=["a"]).batch(2))["a"]) == [4, 5]


def test_masks_of_elements_are_not_asked_of_user_code():
    data = fb.Dataset([{"a": i, "a_valid": i % 2 == 0} for i in range(4)])
    for source in (data, data.map(lambda s: s), data.map(lambda s: {"n": 1}, fields="a")):
        made = rows(source.fill_null(-1, field="a").batch(4))
        assert plain(made["a"]) == [0, -1, 2, -1]
        assert "a_valid" not in made


def test_a_map_may_give_back_a_known_field_of_another_type(table):
    arrays = fb.arrays(x=np.arange(4), y=np.arange(4), z=np.zeros((4, 2), np.float32))
    text = fb.arrow(pa.table({"x": [1, 2, 3, 4], "y": ["p", "q", "r", "s"]}))
    for source in (arrays, text):
        changed = source.map(lambda s: {"y": np.float32(s["x"] / 2)}, fields="x")
        expected = [v / 2 for v in plain(rows(source.batch(2))["x"])]
        assert plain(rows(changed.batch(2))["y"]) == expected
        assert changed.cast("float64", field="y").check() == []
        assert plain(rows(changed.cast("float64", field="y").batch(2))["y"]) == expected
    shaped = arrays.map(lambda s: {"z": np.ones((3, 3))}, fields="x").batch(2)
    assert rows(shaped)["z"][0].shape == (3, 3)
    some = arrays.map(lambda s: {"z": np.ones(3)} if s["x"] == 1 else {}, fields="x").batch(4)
    with pytest.raises(fb.InvalidArgument, match=r"z.*give one type and shape") as caught:
        rows(some)
    assert caught.value.sample == 1


def test_decode_image_finds_its_field_where_user_code_makes_it(pictures):
    files = sorted(pictures.glob("class*/*.png"))
    encoded = [file.read_bytes() for file in files]
    expected = rows(fb.images(str(pictures)).decode_image().center_crop(4).batch(3))["image"]
    table = pa.table({"image": encoded})
    sources = [fb.Dataset([{"image": e} for e in encoded]), fb.Dataset([{"bytes": e} for e in encoded]),
               fb.images(str(pictures)).map(lambda s: {"image": s["image"]}), fb.arrow(table),
               fb.arrow(table).rename(image="bytes"), fb.arrow(table).map(lambda s: {"bytes": s["image"]}),
               fb.arrow(table).map(lambda s: {"bytes": s["image"], "image": True}).stack(["image"], "new")]
    for source in sources:
        pipeline = source.decode_image().center_crop(4).batch(3)
        assert pipeline.check() == []
        made = rows(pipeline)
        for one, other in zip(made["image"], expected):
            np.testing.assert_array_equal(one, other)


def test_two_fields_of_one_name_are_an_error(table):
    with pytest.raises(fb.InvalidArgument, match="two fields would be called 'b'"):
        rows(fb.arrow(table).rename(a="b").batch(2))
    data = fb.Dataset([{"a": 1, "b": 2, "c": 3}] * 2)
    for pipeline in (data.rename(a="b"), data.stack(["a", "b"], "c"), data.map(lambda s: s).rename(a="b")):
        with pytest.raises(fb.InvalidArgument, match="there would be two fields '[bc]'"):
            rows(pipeline.batch(2))


def test_json_gives_the_same(pictures):
    pipeline = fb.images(str(pictures)).decode_image().rename(image="pic").center_crop(4, field="pic").select("pic").batch(2)
    again = fb.Pipeline.from_json(json.dumps(json.loads(pipeline.to_json())))
    for one, other in zip(rows(pipeline)["pic"], rows(again)["pic"]):
        np.testing.assert_array_equal(one, other)
