"""Lists of encoded pictures: decoded each, changed alike, ragged in batches."""
import io

import numpy as np
import pytest
from loading import one_epoch
from PIL import Image

import forebay as fb

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

COUNTS = [2, 0, 3, 1, 0, 4, 1]
IMAGENET = fb.IMAGENET


def pixels(i, k, size=None):
    draw = np.random.default_rng([i, k])
    height, width = size or (20 + 3 * i + k, 30 + 5 * k)
    return draw.integers(0, 256, (height, width, 3), np.uint8)


def png(array):
    file = io.BytesIO()
    Image.fromarray(array).save(file, "PNG")
    return file.getvalue()


def lists(size=None, counts=COUNTS):
    return [[png(pixels(i, k, size)) for k in range(count)] for i, count in enumerate(counts)]


def table(size=None, counts=COUNTS):
    return pa.table({"images": pa.array(lists(size, counts), pa.list_(pa.binary())), "row": np.arange(len(counts))})


def dataset(size=None, **options):
    return fb.Dataset([{"images": images, "row": i} for i, images in enumerate(lists(size))], version="1", **options)


def pieces(value):
    values, offsets = (np.asarray(one) for one in value)
    return [values[a:b] for a, b in zip(offsets, offsets[1:])]


def epoch(pipeline, field="images", **options):
    """The field of each sample, by its id."""
    found = {}
    with fb.Loader(pipeline, epochs=1, **options) as loader:
        for batch in loader:
            assert isinstance(batch[field], tuple)
            found.update(zip(batch["row"].tolist(), pieces(batch[field]), strict=True))
    return found


def one_by_one(steps, size=None):
    """What the steps make of each picture alone."""
    flat = [(i, k) for i, count in enumerate(COUNTS) for k in range(count)]
    source = fb.Dataset([{"image": png(pixels(i, k, size))} for i, k in flat], version="1")
    with fb.Loader(steps(source.decode_image()).batch(1), epochs=1) as loader:
        made = [np.asarray(batch["image"])[0] for batch in loader]
    return {i: [made[n] for n, (of, _) in enumerate(flat) if of == i] for i in range(len(COUNTS))}


CHANGES = {
    "resize": lambda p, **f: p.resize((16, 24), **f),
    "crop": lambda p, **f: p.center_crop(18, **f),
    "larger crop": lambda p, **f: p.center_crop((60, 80), **f),
    "normalize": lambda p, **f: p.resize(16, **f).normalize(IMAGENET, **f),
    "normalize, hwc": lambda p, **f: p.resize(16, **f).layout("hwc", **f).normalize(IMAGENET, **f),
    "layout": lambda p, **f: p.layout("chw", **f).resize(16, **f),
    "short side": lambda p, **f: p.resize(short_side=20, **f).center_crop(20, **f),
    "cast": lambda p, **f: p.resize(16, **f).cast("float32", **f),
    "nearest": lambda p, **f: p.resize(16, interpolation="nearest", **f),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("source", ["table", "data set"])
def test_each_picture_becomes_what_it_becomes_alone(source, change):
    made = {"table": lambda: fb.arrow(table()).decode_image(field="images"),
            "data set": lambda: dataset().decode_image(field="images", lists=True)}[source]()
    found = epoch(CHANGES[change](made, field="images").batch(3))
    wanted = one_by_one(CHANGES[change])
    shape = next(one.shape for images in wanted.values() for one in images)
    for i, count in enumerate(COUNTS):
        assert found[i].shape == (count, *shape)
        assert found[i].dtype == next(iter(wanted[0])).dtype
        for one, alone in zip(found[i], wanted[i], strict=True):
            np.testing.assert_array_equal(one, alone)


def test_the_pictures_of_a_sample_share_each_draw():
    size = (32, 40)
    same = fb.arrow(pa.table({"images": pa.array([[png(pixels(0, 0, size))] * 3] * 20, pa.list_(pa.binary())), "row": np.arange(20)}))
    pipeline = same.decode_image(field="images").random_resized_crop(16, field="images").random_flip(field="images").color_jitter(
        brightness=0.4, field="images").batch(4)
    found = epoch(pipeline, seed=3)
    for images in found.values():
        assert (images == images[:1]).all()
    assert len({images[0].tobytes() for images in found.values()}) > 10
    cropped = epoch(same.decode_image(field="images").random_crop(16, field="images").batch(4), seed=3)
    assert all((images == images[:1]).all() for images in cropped.values())


def test_random_operators_take_samples_without_pictures():
    made = fb.arrow(table(size=(40, 40))).decode_image(field="images")
    for pipeline in (made.random_crop(32, field="images"), made.random_resized_crop(32, field="images"),
                     made.random_flip(field="images").color_jitter(0.2, field="images").resize(32, field="images")):
        found = epoch(pipeline.batch(2))
        assert [found[i].shape for i in range(len(COUNTS))] == [(count, 32, 32, 3) for count in COUNTS]


def test_pictures_of_several_sizes_say_what_to_do():
    made = fb.arrow(table()).decode_image(field="images")
    [problem] = [problem for problem in made.batch(2).check() if "images" in problem.message]
    assert ".resize(size)" in problem.remedy
    with pytest.raises(fb.Unsupported, match=r"pictures of this list differ.*\.resize\(size\).*\.patchify"):
        list(fb.Loader(made.batch(1), epochs=1))
    with pytest.raises(fb.Unsupported, match=r"pictures of 'images' are .* and .*one size"):
        list(fb.Loader(made.random_crop(8, field="images").batch(1), epochs=1))
    with fb.Loader(made.batch(1), epochs=1, on_error="skip") as loader:
        assert sum(len(batch) for batch in loader) == sum(count < 2 for count in COUNTS)


@pytest.mark.parametrize("merge", [1, 2])
def test_each_picture_is_cut_into_patches(merge):
    steps = {"patch": 4, "merge": merge, "min_pixels": 64, "max_pixels": 2000}
    made = fb.arrow(table()).decode_image(field="images").patchify(field="images", **steps).batch(3)
    patches, grids = epoch(made, "patches"), epoch(made, "grid")
    flat = [(i, k) for i, count in enumerate(COUNTS) for k in range(count)]
    source = fb.Dataset([{"image": png(pixels(i, k))} for i, k in flat], version="1").decode_image().patchify(**steps)
    with fb.Loader(source.batch(1), epochs=1) as loader:
        alone = [(np.asarray(batch["patches"] if not isinstance(batch["patches"], tuple) else batch["patches"][0]).reshape(-1, 48),
                  np.asarray(batch["grid"])[0]) for batch in loader]
    for i, count in enumerate(COUNTS):
        of = [alone[n] for n, (sample, _) in enumerate(flat) if sample == i]
        assert grids[i].dtype == np.int32 and grids[i].tolist() == [grid.tolist() for _, grid in of] and len(of) == count
        wanted = np.concatenate([patches for patches, _ in of]) if of else np.zeros((0, 48), np.uint8)
        np.testing.assert_array_equal(patches[i], wanted)
    normalized = fb.arrow(table()).decode_image(field="images").normalize(IMAGENET, field="images").patchify(field="images", **steps)
    assert {value.dtype for value in epoch(normalized.batch(3), "patches").values()} == {np.dtype(np.float32)}


def same(sample):
    return sample


@pytest.mark.parametrize("step", ["ram", "disk", "map", "processes", "cache before the resize"])
def test_lists_stay_through_caches_and_functions(tmp_path, step):
    resized = fb.arrow(table(size=(40, 30))).decode_image(field="images")
    if step == "cache before the resize":
        pipeline = resized.cache(ram="64MiB", disk=0).resize(16, field="images")
    else:
        pipeline = resized.resize(16, field="images")
        pipeline = {"ram": lambda: pipeline.cache(ram="64MiB", disk=0),
                    "disk": lambda: pipeline.cache(ram=0, disk="64MiB", dir=str(tmp_path)),
                    "map": lambda: pipeline.map(same, version="1"),
                    "processes": lambda: pipeline.map(same, version="1", workers="processes")}[step]()
    pipeline = pipeline.normalize(IMAGENET, field="images").batch(3)
    wanted = one_by_one(lambda p: p.resize(16).normalize(IMAGENET), size=(40, 30))
    for _ in range(2):
        found = epoch(pipeline)
        for i, count in enumerate(COUNTS):
            assert found[i].shape == (count, 3, 16, 16)
            for one, alone in zip(found[i], wanted[i], strict=True):
                np.testing.assert_array_equal(one, alone)


def test_digests_are_the_same_for_any_threads_and_batches(tmp_path):
    made = fb.arrow(table(counts=[3, 1, 0, 2] * 10)).shuffle().decode_image(field="images").resize(16, field="images")
    pipeline = made.random_flip(field="images")
    wanted = one_epoch(pipeline.batch(4), threads=1)
    assert one_epoch(pipeline.batch(7), threads=4) == wanted == one_epoch(made.cache(ram="64MiB", disk=0).random_flip(field="images").batch(4))
    pq.write_table(table(counts=[3, 1, 0, 2] * 10), tmp_path / "t.parquet")
    stored = fb.parquet(tmp_path / "t.parquet").decode_image(field="images").resize(16, field="images").batch(4)
    assert one_epoch(fb.Pipeline.from_json(stored.to_json())) == one_epoch(stored, threads=3)


def test_materialized_lists_are_the_same(tmp_path):
    pipeline = fb.arrow(table()).decode_image(field="images").resize(16, field="images")
    fb.materialize(pipeline.batch(3), tmp_path / "made", cut="resize", format="arrow")
    made, wanted = epoch(fb.materialized(str(tmp_path / "made")).batch(3)), epoch(pipeline.batch(3))
    for i, count in enumerate(COUNTS):
        assert made[i].shape == (count, 16, 16, 3)
        np.testing.assert_array_equal(made[i], wanted[i])


def test_batches_are_padded():
    pipeline = fb.arrow(table()).decode_image(field="images", lists=True).resize(16, field="images").pad("images", 0, length=5).batch(len(COUNTS))
    [batch] = fb.Loader(pipeline, epochs=1)
    assert batch["images"].shape == (len(COUNTS), 5, 16, 16, 3)
    found = epoch(fb.arrow(table()).decode_image(field="images").resize(16, field="images").batch(3))
    for i, count in enumerate(COUNTS):
        np.testing.assert_array_equal(batch["images"][i, :count], found[i])
        assert not batch["images"][i, count:].any()


def test_a_bad_picture_is_named():
    rows = [[png(pixels(0, 0)), b"no picture at all"], [png(pixels(1, 0))]]
    pipeline = fb.arrow(pa.table({"images": pa.array(rows, pa.list_(pa.binary()))})).decode_image(field="images").resize(16, field="images")
    with pytest.raises(fb.Error, match="picture 1 of the list"):
        list(fb.Loader(pipeline.batch(2), epochs=1))
    with fb.Loader(pipeline.batch(2), epochs=1, on_error="skip") as loader:
        assert [len(piece) for batch in loader for piece in pieces(batch["images"])] == [1]


def test_what_the_user_gives_wrong_is_told():
    with pytest.raises(fb.Unsupported, match=r"'images' is a list of pictures here; give .*lists=True"):
        list(fb.Loader(dataset().decode_image(field="images").resize(16, field="images").batch(2), epochs=1))
    single = fb.Dataset([{"image": png(pixels(0, 0))}])
    with pytest.raises(fb.Unsupported, match="'image' is no list of pictures"):
        list(fb.Loader(single.decode_image(lists=True).resize(16).batch(1), epochs=1))
    bytes_column = fb.arrow(pa.table({"image": [png(pixels(0, 0))]}))
    with pytest.raises(fb.InvalidArgument, match="lists: the field 'image' is bytes, one picture in each sample; leave lists= out"):
        fb.Loader(bytes_column.decode_image(lists=True).resize(8).batch(1))
    pages = fb.arrow(table()).decode_image(field="images", lists=True)
    with pytest.raises(fb.InvalidArgument, match="'images' is a list of pictures, which has no length; name the field of their patches"):
        fb.Loader(pages.bucket(by="images", tokens=9))
    with pytest.raises(fb.InvalidArgument, match="'images' of limits is a list of pictures, which has no length"):
        fb.Loader(pages.pack(8, field="row", limits={"images": 4}, too_long="drop"))
