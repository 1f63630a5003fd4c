"""Real broken files: every one is named, dealt with by the policy, and always the same way."""
import pytest

import forebay as fb

FOLDERS = ["malformed/jpeg", "malformed/png", "malformed/webp", "malformed/bmp", "malformed/images-pillow", "images/odd",
           "images/odd-go/jpeg", "images/odd-go/png", "images/odd-go/webp", "images/odd-go/bmp", "images/jpeg-lossless/0"]


def pipeline(paths):
    return fb.files(paths).decode_image(max_pixels=20_000_000).resize(16).batch(4)


def good(tmp_path):
    from PIL import Image

    paths = []
    for i in range(8):
        paths.append(tmp_path / f"good_{i}.png")
        Image.new("RGB", (20, 20), (i, i, i)).save(paths[-1])
    return paths


def outcome(paths, policy):
    with fb.Loader(pipeline(paths), epochs=1, on_error=policy, memory="1GiB") as loader:
        ids = [batch.ids.tolist() for batch in loader]
        return ids, loader.errors()


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_broken_file_is_named_skipped_or_replaced_the_same_way_each_time(shared, folder, tmp_path):
    broken = sorted(path for path in (shared / folder).iterdir() if path.is_file())
    paths = good(tmp_path) + broken
    ids, errors = outcome(paths, "skip")
    bad = {entry["sample"] for entry in errors}
    assert not bad & set(range(8))
    assert sum(map(len, ids)) == len(paths) - len(bad)
    for entry in errors:
        assert entry["key"].endswith(paths[entry["sample"]].name)
        assert entry["code"] in ("Corrupt", "Unsupported") and entry["operator"] and entry["message"]
    assert outcome(paths, "skip") == (ids, errors)
    replaced, _ = outcome(paths, "replace")
    assert [len(row) for row in replaced] == [4] * (len(paths) // 4) + ([len(paths) % 4] if len(paths) % 4 else [])
    assert not bad & {i for row in replaced for i in row}
    assert outcome(paths, "replace")[0] == replaced
    with fb.Loader(pipeline(paths), epochs=1, memory="1GiB") as loader:
        raised = set()
        for _ in range(len(paths) + 1):
            try:
                for batch in loader:
                    pass
                break
            except (fb.Corrupt, fb.Unsupported) as error:
                assert error.key.endswith(paths[error.sample].name) and error.operator
                raised.add(error.sample)
        assert raised <= bad and bool(raised) == bool(bad)
