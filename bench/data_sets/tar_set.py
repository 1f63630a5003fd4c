"""Photographs in tar shards, as the package webdataset writes them: NNNNNN.jpg and NNNNNN.cls, in the order of the photographs' keys."""

import io
import os
import tarfile

A_SHARD = 150


def shards(paths, folder):
    """Writes what is not there yet: the shards' paths. A photograph's number is its place in `paths`."""
    classes = sorted({os.path.basename(os.path.dirname(path)) for path in paths})
    os.makedirs(folder, exist_ok=True)
    made = []
    for first in range(0, len(paths), A_SHARD):
        made.append(os.path.join(folder, f"photos-{first // A_SHARD:04}.tar"))
        if not os.path.exists(made[-1]):
            _write(made[-1], first, paths[first:first + A_SHARD], classes)
    return made


def _write(shard, first, paths, classes):
    with tarfile.open(shard + ".new", "w") as tar:
        for number, path in enumerate(paths, first):
            with open(path, "rb") as file:
                _add(tar, f"{number:06}.jpg", file.read())
            _add(tar, f"{number:06}.cls", str(classes.index(os.path.basename(os.path.dirname(path)))).encode())
    os.replace(shard + ".new", shard)


def _add(tar, name, data):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))
