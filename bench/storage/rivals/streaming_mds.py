"""MosaicML Streaming: MDS shards, fetched whole into a local folder. Other work than the rest: fewer requests, and a disk."""

import gc
import tempfile

import torch

import torch_batches
from mosaic import streaming


def epochs(job):
    job.listed()
    number = 0
    while True:
        number += 1
        yield one_epoch(job, number)


def one_epoch(job, number):
    """With a folder of its own, or the second epoch would be read from the first one's copies."""
    gc.collect()  # the data set before must be gone: it keeps in shared memory which shards are there
    streaming.base.util.clean_stale_shared_memory()
    with tempfile.TemporaryDirectory(dir=job.work, ignore_cleanup_errors=True) as folder:
        dataset = streaming.StreamingDataset(remote=f"s3://{job.bucket}/{job.mds}", local=folder, shuffle=True,
                                             batch_size=job.batch, shuffle_seed=job.seed + number)
        loader = torch.utils.data.DataLoader(dataset, batch_size=job.batch, num_workers=job.workers,
                                             collate_fn=torch_batches.identity)
        for samples in loader:
            yield [sample["number"] for sample in samples], [sample["image"] for sample in samples]
        del loader, dataset


def name():
    return "MosaicML Streaming"


def version():
    return f"mosaicml-streaming {streaming.__version__}, torch {torch.__version__}"


def settings(job):
    return {"work": "MDS shards of 10 MB, fetched whole to disk", "workers": job.workers}
