"""What a new user tries first and gets wrong: each mistake is told with its way out."""
import shutil

import numpy as np
import pytest
from PIL import Image

import forebay as fb


def open_images(root):
    return fb.Loader(fb.images(root).decode_image().resize(16).batch(4), epochs=1)


def test_a_missing_folder(tmp_path):
    with pytest.raises(fb.NotFound) as caught:
        open_images(tmp_path / "nowhere")
    assert "nowhere" in str(caught.value)
    assert caught.value.code == "NotFound"


def test_an_empty_folder(tmp_path):
    with pytest.raises(fb.Error) as caught:
        open_images(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_a_folder_without_sub_folders(tmp_path):
    Image.new("RGB", (20, 20)).save(tmp_path / "picture.png")
    with pytest.raises(fb.InvalidArgument) as caught:
        open_images(tmp_path)
    assert "folder" in str(caught.value)
    assert "files" in str(caught.value)  # the way out: fb.files


def test_a_file_instead_of_a_folder(tmp_path):
    path = tmp_path / "picture.png"
    Image.new("RGB", (20, 20)).save(path)
    with pytest.raises(fb.Error) as caught:
        open_images(path)
    assert "picture.png" in str(caught.value)


def many(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for i in range(30):
            Image.new("RGB", (20, 20), (i, i, i)).save(tmp_path / name / f"{i}.png")
    return tmp_path


def test_a_file_that_vanishes_in_mid_epoch(tmp_path):
    root = many(tmp_path)
    with fb.Loader(fb.images(root).decode_image().batch(1), epochs=2) as loader:
        next(iter(loader))
        (root / "b" / "29.png").unlink()
        with pytest.raises(fb.NotFound) as caught:
            for _ in range(2):
                list(loader)
    assert "29.png" in str(caught.value)
    assert caught.value.sample is not None


@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_a_file_that_vanished_is_dealt_with_by_the_policy(tmp_path, policy):
    root = many(tmp_path)
    with fb.Loader(fb.images(root).decode_image().batch(1), epochs=1, on_error=policy) as loader:
        steps = len(loader)
        (root / "b" / "7.png").unlink()
        batches = list(loader)
        assert len(batches) == steps == 60
        assert sum(map(len, batches)) == (59 if policy == "skip" else 60)
        (entry,) = loader.errors()
    assert entry["code"] == "NotFound" and "7.png" in entry["key"]


def test_a_folder_that_vanishes_entirely(tmp_path):
    root = many(tmp_path)
    with fb.Loader(fb.images(root).decode_image().batch(1), epochs=1) as loader:
        shutil.rmtree(root)
        with pytest.raises(fb.NotFound):
            list(loader)


@pytest.mark.parametrize("options, words", [
    ({"seed": -1}, "seed"), ({"seed": "x"}, "seed"), ({"seed": 2**64}, "seed"), ({"seed": 1.5}, "seed"),
    ({"epochs": -1}, "epochs"), ({"rank": 3, "world_size": 3}, "rank"), ({"rank": -1, "world_size": 2}, "rank"),
    ({"world_size": 0, "rank": 0}, "world"), ({"threads": 0}, "threads"), ({"threads": "many"}, "threads"),
    ({"requests": 0}, "requests"), ({"memory": "2 gigs"}, "memory"), ({"memory": -1}, "memory"),
    ({"on_error": "ignore"}, "on_error"), ({"max_errors": -1}, "max_errors"), ({"max_errors": 1.5}, "max_errors"),
    ({"max_errors": True}, "max_errors"), ({"output": "tensorflow"}, "output"),
])
def test_options_out_of_range(options, words):
    with pytest.raises(fb.InvalidArgument, match=words):
        fb.Loader(fb.arrays(x=np.arange(4)).batch(2), **options)


def test_a_misspelt_storage_option_is_told(photos):
    with pytest.raises(fb.InvalidArgument, match="imitate_latency"):
        fb.Loader(fb.images(photos).select("label").batch(2), storage_options={"latency": 3})


def test_an_option_that_does_not_exist():
    with pytest.raises(TypeError, match="num_workers"):
        fb.Loader(fb.arrays(x=np.arange(4)).batch(2), num_workers=4)


def test_a_loader_of_something_that_is_no_pipeline():
    with pytest.raises(TypeError, match="Dataset"):
        fb.Loader([1, 2, 3])


def test_too_little_memory_says_how_much_would_do(photos):
    with pytest.raises(fb.OutOfBudget) as caught:
        with fb.Loader(fb.images(photos).decode_image().resize(64).batch(8), epochs=1, memory=1000) as loader:
            list(loader)
    assert caught.value.bytes_needed > 1000
    assert str(caught.value.bytes_needed) in str(caught.value).replace(",", "")


@pytest.mark.parametrize("text, value", [("2GiB", 2 << 30), ("512MB", 512_000_000), ("1.5 GiB", 3 << 29), ("1000", 1000),
                                         (12345678, 12345678), ("64M", 64_000_000), ("64mib", 64 << 20), ("64 megs", None)])
def test_sizes_are_numbers_or_text(text, value):
    from forebay.loader import _bytes

    if value is None:
        with pytest.raises(fb.InvalidArgument, match="2GiB"):
            _bytes("memory", text)
    else:
        assert _bytes("memory", text) == value


@pytest.mark.parametrize("url", ["s3://bucket/photos", "http://example.invalid/photos"])
def test_storage_that_is_not_there_yet_says_so(url):
    with pytest.raises(fb.Error) as caught:
        open_images(url)
    assert url.split(":")[0] in str(caught.value)


def test_manifests_that_make_no_sense(tmp_path):
    path = tmp_path / "list.csv"
    path.write_text("file,label\na.bin,1\n")
    with pytest.raises(fb.Error) as caught:
        fb.Loader(fb.manifest(path).batch(1))
    assert "path" in str(caught.value)
    with pytest.raises(fb.NotFound):
        fb.Loader(fb.manifest(tmp_path / "nowhere.csv").batch(1))


def test_no_file_matches(tmp_path):
    with pytest.raises(fb.Error) as caught:
        fb.Loader(fb.files(str(tmp_path / "*.bin")).batch(1))
    assert "*.bin" in str(caught.value)


def test_errors_can_be_sent_to_another_process():
    import pickle

    error = fb.Corrupt("no end-of-image marker", key="a.jpg", sample=3, operator="decode_image", range=(0, 10))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is fb.Corrupt and str(again) == str(error)
    assert (again.code, again.key, again.sample, again.operator, again.range) == ("Corrupt", "a.jpg", 3, "decode_image", (0, 10))


def test_a_loader_cannot_be_pickled_and_says_what_to_do():
    import pickle

    with fb.Loader(fb.arrays(x=np.arange(4)).batch(2)) as loader, pytest.raises(TypeError, match="open a Loader in each"):
        pickle.dumps(loader)
