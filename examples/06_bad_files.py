"""A broken file among good ones: it is named, and what happens next is up to you. The number of steps stays the same.

python 06_bad_files.py FOLDER
"""
import shutil
import sys
import tempfile
from pathlib import Path

import forebay as fb

with tempfile.TemporaryDirectory() as folder:
    root = shutil.copytree(sys.argv[1], Path(folder) / "photos")
    broken = min(root.rglob("*.jpg"))
    broken.write_bytes(broken.read_bytes()[:200])

    pipeline = fb.images(root).decode_image().random_resized_crop(64).batch(4)

    try:
        with fb.Loader(pipeline, epochs=1) as loader:
            list(loader)
    except fb.Corrupt as error:
        print("raise:", Path(error.key).name, "in", error.operator)

    for policy in ("skip", "replace"):
        with fb.Loader(pipeline, epochs=1, on_error=policy) as loader:
            samples = sum(len(batch.ids) for batch in loader)
            print(f"{policy}: {samples} samples in {len(loader)} steps,", len(loader.errors()), "error")
