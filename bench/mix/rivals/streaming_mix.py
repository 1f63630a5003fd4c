"""MosaicML Streaming: streams with proportions; arrays as MDS shards, JSON lines as its JSON shards."""

import json
from importlib.metadata import version

import numpy as np
import streaming
from samples_by_number import columns
from streaming.base.util import clean_stale_shared_memory


def convert(job):
    """Writes each part as shards."""
    for path in job.paths:
        if job.kind == "arrays":
            with streaming.MDSWriter(out=path + ".mds", columns={"x": "ndarray:float32:16"}, progress_bar=False) as out:
                for row in np.load(path, mmap_mode="r"):
                    out.write({"x": np.array(row)})
        else:
            kinds = {"part": "int", "row": "int", "score": "float", "text": "str"}
            with streaming.JSONWriter(out=path + ".mds", columns=kinds, progress_bar=False) as out, open(path, encoding="utf-8") as lines:
                for line in lines:
                    out.write(json.loads(line))


class Opened:
    def __init__(self, job, state):
        clean_stale_shared_memory()
        streams = [streaming.Stream(local=path + ".mds", proportion=weight) for path, weight in zip(job.paths, job.weights, strict=True)]
        mixed = streaming.StreamingDataset(streams=streams, epoch_size=job.epoch, batch_size=job.batch, shuffle=True, shuffle_seed=job.seed,
                                           num_canonical_nodes=1)
        self.loader = streaming.StreamingDataLoader(mixed, batch_size=job.batch, num_workers=job.threads, collate_fn=columns)
        if state is not None:
            self.loader.load_state_dict(state)
        self.about = {"name": "MosaicML Streaming", "version": f"mosaicml-streaming {version('mosaicml-streaming')}",
                      "settings": {"shuffle": "py1e over blocks", "workers": "processes", "format": "MDS; JSON shards"}}

    def batches(self):
        while True:
            yield from self.loader

    def state(self):
        return self.loader.state_dict()

    def close(self):
        del self.loader


def open_loader(job, state=None):
    return Opened(job, state)
