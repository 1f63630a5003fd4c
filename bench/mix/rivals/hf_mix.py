"""HF datasets: interleave_datasets with probabilities; arrays as data sets on disk, JSON lines streamed from the files."""

import os

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}

import datasets  # noqa: E402
import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402

BUFFER = 10_000


def convert(job):
    """Writes the arrays in the format of the package, which it maps. JSON lines stay what they are."""
    for path in job.paths if job.kind == "arrays" else ():
        values = np.load(path, mmap_mode="r")
        column = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])
        datasets.Dataset(pa.table({"x": column})).save_to_disk(path + ".hf")


class Opened:
    def __init__(self, job, state):
        self.job, self.epoch = job, 0
        if job.kind == "arrays":
            self.sources = [datasets.load_from_disk(path + ".hf") for path in job.paths]
        else:
            self.sources = [datasets.load_dataset("json", data_files=path, split="train", streaming=True) for path in job.paths]
            self.state = lambda: (self.epoch, self.mixed.state_dict())
        self.start = state
        self.about = {"name": "HF datasets interleave_datasets", "version": f"datasets {datasets.__version__}",
                      "settings": {"shuffle": f"arrays: over each whole part; JSON lines: buffer of {BUFFER} for each part", "workers": "none"}}

    def _mix(self, seed):
        more = {} if self.job.kind == "arrays" else {"buffer_size": BUFFER}
        shuffled = [source.shuffle(seed=seed, **more) for source in self.sources]
        return datasets.interleave_datasets(shuffled, probabilities=list(self.job.weights), seed=seed, stopping_strategy="first_exhausted")

    def batches(self):
        if self.start is not None:
            self.epoch = self.start[0]
        while True:
            self.mixed = self._mix(self.job.seed + self.epoch)
            if self.start is not None:
                self.mixed.load_state_dict(self.start[1])
                self.start = None
            mixed = self.mixed.with_format("numpy") if self.job.kind == "arrays" else self.mixed
            yield from mixed.iter(batch_size=self.job.batch)
            self.epoch += 1

    def close(self):
        del self.sources


def open_loader(job, state=None):
    return Opened(job, state)
