"""What stats() says of each operator: samples, bytes and CPU seconds, also of work that is put off until the batch is written."""
import pathlib

import numpy as np
import pytest
from PIL import Image

import forebay as fb

PICTURES, SIDE, CROP = 64, 600, 96  # so large that the work outweighs waking threads for it


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures") / "one"
    folder.mkdir()
    rng = np.random.default_rng(3)
    noise = rng.integers(0, 255, (PICTURES, SIDE // 8, SIDE // 8, 3), dtype=np.uint8)
    for number, small in enumerate(noise):
        Image.fromarray(small).resize((SIDE, SIDE)).save(folder / f"{number}.jpg", quality=95)
    return folder.parent


def steps_of(loader):
    return {step["name"]: step for step in loader.stats()["steps"]}


def compute_cpu_seconds():
    """CPU time of this process's compute threads so far, as the kernel counts it."""
    nanoseconds = 0
    for task in pathlib.Path("/proc/self/task").iterdir():
        if (task / "comm").read_text().startswith("forebay-compute"):
            nanoseconds += int((task / "schedstat").read_text().split()[0])
    return nanoseconds * 1e-9


def test_decode_crop_flip_and_normalize_have_cpu_seconds_of_their_own(pictures):
    pipeline = (fb.images(str(pictures)).decode_image().resize(128).random_crop(CROP).random_flip()
                .normalize(mean=[0.5] * 3, std=[0.2] * 3).batch(16))
    with fb.Loader(pipeline, threads=2, seed=1) as loader:
        for _ in range(6):
            for _ in loader:
                pass
        steps = steps_of(loader)
        seconds = {name: step["busy_seconds"] for name, step in steps.items()}
        kernel = compute_cpu_seconds()
    assert seconds["decode_image"] > seconds["batch"], "decoding is not booked to the batch"
    assert seconds["resize"] > seconds["random_flip"]
    assert seconds["normalize"] > 0
    assert 0.5 * kernel <= sum(seconds.values()) <= 1.05 * kernel, (seconds, kernel)


def test_bytes_in_and_out_are_those_of_the_samples(pictures):
    stored = sum(path.stat().st_size for path in pictures.rglob("*.jpg"))
    pipeline = (fb.images(str(pictures)).select("image").decode_image().random_crop(CROP)
                .normalize(mean=[0.5] * 3, std=[0.2] * 3).batch(PICTURES))
    with fb.Loader(pipeline, epochs=1, threads=1) as loader:
        for _ in loader:
            pass
        steps = steps_of(loader)
    pixels, cropped = PICTURES * SIDE * SIDE * 3, PICTURES * CROP * CROP * 3
    assert steps["fetch"]["bytes_out"] == stored
    assert (steps["decode_image"]["bytes_in"], steps["decode_image"]["bytes_out"]) == (stored, pixels)
    assert (steps["random_crop"]["bytes_in"], steps["random_crop"]["bytes_out"]) == (pixels, cropped)
    assert steps["normalize"]["bytes_out"] == 4 * cropped == steps["batch"]["bytes_out"]
    assert all(step["samples"] == PICTURES for step in steps.values())


def test_what_user_code_asks_for_early_is_booked_to_who_does_it(pictures):
    """The function gets pixels, so the picture is decoded before the batch is written: by decode_image all the same."""
    pipeline = fb.images(str(pictures)).decode_image().map(lambda sample: {"mean": sample["image"].mean()}).batch(16)
    with fb.Loader(pipeline, epochs=3, threads=1) as loader:
        for _ in loader:
            pass
        steps = steps_of(loader)
    assert steps["decode_image"]["busy_seconds"] > steps["batch"]["busy_seconds"]
