"""Pictures written as JPEG: another data set where they are encoded anew, the same one with restart markers."""
import json

import numpy as np
import pytest
from materializing import digests, made, members

import forebay as fb


def test_jpeg_is_close_smaller_and_says_that_it_is_another_data_set(photos, tmp_path):
    pipeline = fb.images(photos).shuffle().decode_image().resize((32, 32)).random_flip().batch(4)
    exact = made(pipeline, tmp_path / "exact", format="wds")
    sizes = {}
    for quality in (50, 95):
        lossy = made(pipeline, tmp_path / str(quality), format="jpeg", quality=quality)
        sizes[quality] = lossy.bytes
        (theirs, their_print), (ours, our_print) = digests(pipeline), digests(lossy.pipeline)
        assert theirs != ours and their_print != our_print
        assert digests(lossy.pipeline) == digests(lossy.pipeline, threads=1)
    assert sizes[50] < sizes[95] < exact.bytes
    with fb.Loader(pipeline, seed=1) as first, fb.Loader(lossy.pipeline, seed=1) as second:
        a, b = next(iter(first)), next(iter(second))
        assert a.ids.tolist() == b.ids.tolist(), "the order is the same"
        assert np.abs(a["image"].astype(int) - b["image"].astype(int)).mean() < 6
        state = first.state_dict()
        with pytest.raises(fb.StateMismatch):
            second.load_state_dict(state)


def test_jpeg_of_encoded_pictures_keeps_them_within_the_limit(photos, tmp_path):
    import io

    from PIL import Image

    pipeline = fb.images(photos).decode_image().resize((32, 32)).batch(4)
    result = made(pipeline, tmp_path / "made", cut="images", format="jpeg", limit=50, quality=85)
    for sample in members(tmp_path / "made").values():
        picture = Image.open(io.BytesIO(sample["jpg"]))
        assert picture.format == "JPEG" and max(picture.size) == 50
    with fb.Loader(pipeline) as first, fb.Loader(result.pipeline) as second:
        assert np.abs(next(iter(first))["image"].astype(int) - next(iter(second))["image"].astype(int)).mean() < 12


def test_jpeg_with_restart_markers_is_the_same_data_set(photos, tmp_path):
    """Another form of the files, the same pixels: digests, states and fingerprint are the original's."""
    pipeline = fb.images(photos).shuffle().decode_image().random_resized_crop(24).normalize(fb.IMAGENET).batch(4)
    result = made(pipeline, tmp_path / "made", cut="images", format="jpeg", restart_markers=True)
    originals = {path.read_bytes() for path in photos.rglob("*.jpg")}
    for sample in members(tmp_path / "made").values():
        assert sample["jpg"] not in originals and b"\xff\xdd" in sample["jpg"] and b"\xff\xd0" in sample["jpg"]
    with fb.Loader(pipeline, seed=3) as first, fb.Loader(result.pipeline, seed=3, threads=3) as second:
        assert first.fingerprint == second.fingerprint
        assert [fb.digest(first) for _ in range(2)] == [fb.digest(second) for _ in range(2)]
    with fb.Loader(pipeline, seed=3) as first, fb.Loader(result.pipeline, seed=3) as second:
        next(iter(first))
        second.load_state_dict(first.state_dict())
        assert np.array_equal(next(iter(second))["image"], next(iter(first))["image"])
    assert json.loads((tmp_path / "made" / "_manifest.json").read_text())["restart_markers"] is True
    again = made(pipeline, tmp_path / "made", cut="images", format="jpeg", restart_markers=True)
    assert again.written == 0
    with pytest.raises(fb.InvalidArgument, match="something else"):
        made(pipeline, tmp_path / "made", cut="images", format="jpeg")


def test_real_pictures_of_all_kinds_get_restart_markers_or_stay_as_they_are(shared, tmp_path):
    files = sorted(path for folder in ("exif-orientation", "odd", "large-jpeg", "webp") for path in (shared / "images" / folder).rglob("*") if path.suffix.lower() in (".jpg", ".jpeg", ".png", ".webp"))[:150]
    good = []
    for path in files:
        try:
            with fb.Loader(fb.files([str(path)]).decode_image().batch(1)) as loader:
                next(iter(loader))
            good.append(str(path))
        except fb.Error:
            pass
    pipeline = fb.files(good).rename(bytes="image").decode_image().batch(1)
    result = made(pipeline, tmp_path / "made", cut="rename", format="jpeg", restart_markers=True)
    with fb.Loader(pipeline) as first, fb.Loader(result.pipeline) as second:
        assert fb.digest(first) == fb.digest(second)


def test_restart_markers_where_bytes_are_looked_at_are_refused(photos, tmp_path):
    for pipeline, cut in ((fb.images(photos).batch(2), "images"), (fb.images(photos).map(lambda sample: {"n": len(sample["image"])}, fields=["image"]).decode_image().batch(1), "images")):
        with pytest.raises(fb.InvalidArgument, match="decode_image.. has to follow"):
            fb.materialize(pipeline, tmp_path / "made", cut=cut, format="jpeg", restart_markers=True)
    decoded = fb.images(photos).decode_image().resize((8, 8)).batch(2)
    with pytest.raises(fb.InvalidArgument, match="has to follow"):
        fb.materialize(decoded, tmp_path / "made", cut="resize", format="jpeg", restart_markers=True)
    assert not (tmp_path / "made").exists()
