"""`forebay bench`: other loaders do the very same work, or get no figure."""
import json
import os
import random
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import forebay as fb
from forebay._bench import __main__ as bench
from forebay._bench import equality
from forebay._bench.translate import Untranslatable, fixed, work_of
from project import PROGRAM, write_photos

NORMALIZE = {"op": "normalize", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
RESIZED = {"op": "resize", "size": [40, 48]}
STEPS = {
    "resize to a size": [RESIZED],
    "resize to a square": [{"op": "resize", "size": 24}],
    "resize of the short side": [{"op": "resize", "short_side": 40}, {"op": "center_crop", "n": 32}],
    "center_crop": [RESIZED, {"op": "center_crop", "n": [17, 31]}],
    "random_crop, fixed": [RESIZED, {"op": "random_crop", "n": 30}],
    "random_resized_crop, fixed": [{"op": "random_resized_crop", "n": 32}],
    "random_flip, fixed": [RESIZED, {"op": "random_flip", "p": 0.5}],
    "normalize": [RESIZED, NORMALIZE],
    "cast": [RESIZED, {"op": "cast", "dtype": "float32"}],
    "normalize and cast": [RESIZED, NORMALIZE, {"op": "cast", "dtype": "float16"}],
}

# A loader that is no other product: what the steps ask for, in this process. {change} is what it does wrong.
RIVAL = """
import random
import numpy as np
from forebay._bench.translate import work_of

def epochs(job):
    work, listing = work_of(job["steps"]), job["listing"]
    while True:
        order = list(range(len(listing[:work.take])))
        if work.shuffle:
            random.shuffle(order)
        {change}
        yield (batch(work, listing, order[at:at + work.batch]) for at in range(0, len(order), work.batch))

def batch(work, listing, ids):
    samples = [work.sample(*listing[number], random) for number in ids]
    return {{"ids": ids, "key": [one["key"] for one in samples], "label": np.array([one["label"] for one in samples]),
            "image": np.stack([one["image"] for one in samples])}}
"""


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return write_photos(tmp_path_factory.mktemp("photos") / "train")


@pytest.fixture
def pipeline(tmp_path, photos):
    path = tmp_path / "pipeline.json"
    path.write_text(json.dumps(described(photos, [{"op": "random_resized_crop", "n": 32}, {"op": "random_flip"}, NORMALIZE], shuffle=True)))
    return path


def described(photos, steps, shuffle=False):
    before = [{"op": "images", "root": str(photos)}, *([{"op": "shuffle"}] if shuffle else []), {"op": "decode_image"}]
    return {"forebay_pipeline": 1, "steps": [*before, *steps, {"op": "batch", "n": 4}]}


def forebay(*arguments, env=None):
    done = subprocess.run([str(PROGRAM), "bench", *map(str, arguments)], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, "FOREBAY_PYTHON": sys.executable, **(env or {})}, timeout=300)
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_each_translated_step_gives_what_forebay_gives(photos, steps):
    still = fixed(described(photos, steps)["steps"])
    work = work_of(still)
    listing = bench.listing_of(still)
    compared = 0
    with fb.Loader(fb.Pipeline.from_json(json.dumps({"forebay_pipeline": 1, "steps": still})), epochs=1) as loader:
        for batch in loader:
            for row, number in enumerate(batch.ids):
                made = work.sample(*listing[number], random.Random(1))
                ours = np.asarray(batch["image"][row])
                assert (made["image"].shape, made["image"].dtype) == (ours.shape, ours.dtype)
                assert made["label"] == batch["label"][row] and made["key"] == batch["key"][row]
                assert np.abs(made["image"].astype(float) - ours).mean() <= 0.01 * max(np.ptp(ours.astype(float)), 1)
                compared += 1
    assert compared == len(listing) > 0


@pytest.mark.parametrize("step, said", [
    ({"op": "color_jitter", "brightness": 0.1}, "step 3, color_jitter, cannot be translated"),
    ({"op": "resize", "size": 9, "interpolation": "nearest"}, "only bilinear interpolation"),
    ({"op": "cast", "dtype": "uint8"}, "only to float16, float32, float64"),
])
def test_a_step_that_cannot_be_translated_is_named(photos, step, said):
    with pytest.raises(Untranslatable, match=said):
        work_of(described(photos, [RESIZED, step])["steps"])


def compared(pipeline, tmp_path, monkeypatch, capsys, change):
    (tmp_path / "other_loader.py").write_text(textwrap.dedent(RIVAL.format(change=change)))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setitem(bench.RIVALS, "other", bench.Rival("other_loader", ("PIL",)))
    code = bench.main([str(pipeline), "--against", "other", "--rounds", "1", "--epochs", "2", "--threads", "1", "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_loader_that_does_the_same_has_figures(pipeline, tmp_path, monkeypatch, capsys):
    code, told = compared(pipeline, tmp_path, monkeypatch, capsys, "pass")
    assert (code, told["refused"], set(told["contenders"])) == (0, {}, {"forebay", "other"})
    assert told["contenders"]["other"]["samples_per_second"]["median"] > 0


@pytest.mark.parametrize("change, said", [
    ("order = order[:-1] if work.shuffle else order", "samples an epoch"),
    ("order[0] = order[1] if work.shuffle else order[0]", "more than once"),
    ("order.sort()", "in the order of storage"),
    ("work.image_steps = work.image_steps[:-1]", "it delivers|differs|not "),
    ("listing = [(listing[0][0], label) for _, label in listing]", "differs by"),
], ids=["leaves one out", "has one twice", "does not shuffle", "leaves out a step", "decodes one picture only"])
def test_a_loader_that_does_less_is_refused_and_has_no_figure(pipeline, tmp_path, monkeypatch, capsys, change, said):
    code, told = compared(pipeline, tmp_path, monkeypatch, capsys, change)
    assert code == 1 and set(told["contenders"]) == {"forebay"}
    assert any(part in "; ".join(told["refused"]["other"]) for part in said.split("|"))


def test_epochs_that_were_timed_must_have_every_sample_once():
    assert equality.of_timed([{"samples": 9, "distinct": 9}], 9) == []
    assert equality.of_timed([{"samples": 9, "distinct": 9}, {"samples": 9, "distinct": 8}], 9) != []


def test_alone_it_tells_first_and_later_epochs(pipeline):
    told = json.loads(forebay(pipeline, "--rounds", 2, "--epochs", 3, "--json").stdout)
    assert (told["rounds"], told["first_epochs"]["epochs"], told["later_epochs"]["epochs"]) == (2, 2, 4)
    rate = told["later_epochs"]["samples_per_second"]
    assert 0 < rate["low"] <= rate["median"] <= rate["high"]
    text = forebay(pipeline, "--rounds", 1).stdout
    assert "first epochs:" in text and "later epochs:" in text and "peak memory" in text


@pytest.mark.parametrize("arguments, said", [
    (["--against", "nobody"], "nobody"),
    (["--rounds", "0"], "--rounds"),
    (["--against", "torch", "--memory", "1GiB"], "--memory"),
])
def test_what_was_mistyped_is_misuse(pipeline, arguments, said):
    done = forebay(pipeline, *arguments)
    assert done.returncode == 2 and said in done.stderr


def test_a_python_that_is_missing_or_lacks_forebay_is_told_with_the_way_out(pipeline, tmp_path):
    done = forebay(pipeline, "--against", "torch", env={"FOREBAY_PYTHON": str(tmp_path / "none")})
    assert done.returncode == 1 and "FOREBAY_PYTHON" in done.stderr
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')  # neither PYTHONPATH nor installed packages
    bare.chmod(0o755)
    done = forebay(pipeline, "--against", "torch", env={"FOREBAY_PYTHON": str(bare)})
    assert done.returncode == 1 and "cannot import forebay" in done.stderr and "FOREBAY_PYTHON" in done.stderr


def test_a_loader_that_is_not_installed_is_left_out_and_named(pipeline, monkeypatch, capsys):
    monkeypatch.setitem(bench.RIVALS, "torch", bench.Rival("forebay._bench.torch_loader", ("no_such_module",)))
    assert bench.main([str(pipeline), "--against", "torch", "--rounds", "1", "--epochs", "2"]) == 1
    assert "torch was left out" in (out := capsys.readouterr().out) and "no_such_module" in out
