"""Goes through a pipeline as Python, TensorFlow or JAX has it (see harness/measured.py; frameworks.py starts it).

The first epoch gives a digest of all bytes; the next ones are timed, and every field of every batch is taken there.
"""

import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from harness import measured  # noqa: E402  (first: it notes the time)

import hashlib  # noqa: E402

import numpy as np  # noqa: E402

import forebay as fb  # noqa: E402


def pipeline_of(job):
    if job.data == "photographs":
        return (fb.images(job.folder).shuffle().decode_image().random_resized_crop(224).random_flip().normalize(fb.IMAGENET)
                .select("image", "label").batch(job.batch))
    return fb.parquet(os.path.join(job.folder, "*.parquet"), columns=job.columns).shuffle().batch(job.batch)


class PythonLoop:
    """The loader's batches, every array made."""

    def __init__(self, loader):
        self.loader = loader

    def __iter__(self):
        return (dict(batch.items()) for batch in self.loader)


def version_of(name):
    if name == "python":
        return f"forebay {fb.__version__}"
    from importlib.metadata import version

    packages = {"tf": ("tensorflow-cpu", "tensorflow"), "jax": ("jax",)}[name]
    found = [f"{package} {version(package)}" for package in packages if _is_there(package)]
    return f"forebay {fb.__version__}, {found[0]}"


def _is_there(package):
    from importlib.metadata import PackageNotFoundError, version

    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False


# Made once, and gone through once an epoch: as their documents say.
LOOPS = {"python": PythonLoop, "tf": lambda loader: fb.tf.dataset(loader), "jax": lambda loader: fb.jax.iterate(loader)}


def arrays_of(value):
    """The arrays of a field, ragged ones in two parts."""
    if isinstance(value, tuple):
        return [np.asarray(part) for part in value]
    if hasattr(value, "row_splits"):
        return [value.values.numpy(), value.row_splits.numpy()]
    return [np.asarray(value)]


def digest(batches):
    made = hashlib.sha256()
    for batch in batches:
        for name in sorted(batch):
            for array in arrays_of(batch[name]):
                made.update(str((name, array.dtype, array.shape)).encode() + array.tobytes())
    return made.hexdigest()


def rows_in(batch):
    """Takes every field; the rows."""
    values = list(batch.values())
    first = values[0]
    return int((first[1].shape[0] - 1) if isinstance(first, tuple) else first.shape[0])


def measure(job, result):
    """The record of a run."""
    if job.loader == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)  # the same types as everywhere
    with fb.Loader(pipeline_of(job), seed=job.seed, threads=job.threads) as loader:
        epoch = LOOPS[job.loader](loader)
        first_epoch = digest(epoch)
        part, rows, batches = measured.TimedPart(result), 0, 0
        part.begin()
        for _ in range(job.epochs):
            for batch in epoch:
                rows += rows_in(batch)
                batches += 1
        figures = part.end()
        last_epoch = digest(epoch)
    return figures | {"samples": rows, "batches": batches, "digest": first_epoch, "last_digest": last_epoch, "name": job.loader,
                      "version": version_of(job.loader), "settings": {"threads": job.threads}}


if __name__ == "__main__":
    measured.main(measure)
