"""The examples for other frameworks run where these are installed, and find that what they show is so."""
import importlib.util
import sys

import pytest

from project import ROOT, run, write_photos

NEEDS = {
    "lightning_data_module": ["torch", "lightning"],
    "accelerate_training": ["torch", "accelerate"],
    "huggingface_trainer": ["torch", "accelerate", "transformers"],
    "ray_train": ["torch", "ray"],
    "keras_fit": ["tensorflow"],
    "jax_training": ["jax"],
}


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return write_photos(tmp_path_factory.mktemp("frameworks") / "photos")


def test_none_is_forgotten():
    folder = ROOT / "examples" / "frameworks"
    assert {path.stem for path in folder.glob("*.py")} == {*NEEDS, "small_net"}
    assert all(f"`{name}.py`" in (folder / "README.md").read_text() for name in NEEDS)


@pytest.mark.parametrize("name", NEEDS)
def test_example(name, photos):
    missing = [package for package in NEEDS[name] if importlib.util.find_spec(package) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    output = run(sys.executable, ROOT / "examples" / "frameworks" / f"{name}.py", photos, timeout_s=600)
    assert ": yes\n" in output and ": no\n" not in output, output
