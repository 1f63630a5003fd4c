"""What the tests of materialising to other places than one local folder, by more than one process, have in common."""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import forebay as fb

LAUNCHERS = ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_ID", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
             "PMI_RANK", "PMI_SIZE")


def numbers(folder, rows=400, width=500):
    """A data set in a `.npy` file, so that other processes find it: about 4 KB a sample."""
    path = Path(folder) / "x.npy"
    if not path.exists():
        np.save(path, np.arange(rows * width, dtype=np.float64).reshape(rows, width))
    return fb.arrays(x=str(path)).cast("float32", field="x").shuffle().batch(16)


def small(root):
    return fb.images(root).shuffle().decode_image().resize((20, 20)).random_flip().batch(4)


def files_in(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(Path(folder).rglob("*")) if path.is_file()}


def digest(pipeline, **options):
    with fb.Loader(pipeline, seed=5, **options) as loader:
        return loader.fingerprint, fb.digest(loader)


def started(program, *arguments, prefix=(), **variables):
    """A Python program that runs beside this one, with these variables and none of a launcher."""
    environment = {name: value for name, value in os.environ.items() if name not in LAUNCHERS}
    return subprocess.Popen([*prefix, sys.executable, "-c", program, *map(str, arguments)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, env=environment | variables)
