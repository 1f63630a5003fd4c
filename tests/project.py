"""Where things are in this project, how its programs are run, and small pictures for the tests that need some."""
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("FOREBAY_BUILD", ROOT / "build" / "dev"))


def _program():
    """The program `forebay` that is tested: the one named, else that of the build, else the one that was installed with the package."""
    if named := os.environ.get("FOREBAY_PROGRAM"):
        return Path(named)
    built = BUILD / "src" / "cli" / "forebay"
    return built if built.exists() else Path(sysconfig.get_path("scripts")) / "forebay"


PROGRAM = _program()


def run(*command, timeout_s=300):
    """What the command prints; a failure of the test, with all its output, unless it exits with 0."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=timeout_s,
                          stdin=subprocess.DEVNULL, env={**os.environ, "PATH": path})
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def write_photos(root, classes=("cats", "dogs", "fish"), per_class=7):
    """A folder per class with smooth JPEG pictures of many sizes, the same every time."""
    import numpy as np
    from PIL import Image

    draw = np.random.default_rng(0)
    for name in classes:
        folder = Path(root) / name
        folder.mkdir(parents=True)
        for i in range(per_class):
            height, width = (int(side) for side in draw.integers(60, 140, 2))
            coarse = Image.fromarray(draw.integers(0, 256, (6, 6, 3), dtype=np.uint8))
            coarse.resize((width, height), Image.Resampling.BICUBIC).save(folder / f"{name}_{i}.jpg", quality=90)
    return root
