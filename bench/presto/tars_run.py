"""Epochs over tar shards or over a folder, in the contestant's own Python (see harness/measured.py; tars.py starts it)."""

import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from harness import measured  # noqa: E402  first: it notes the time

import zlib  # noqa: E402


def forebay(job):
    import forebay as fb

    return fb.webdataset(job.shards).shuffle().batch(job.batch), "jpg"


def training(source):
    import forebay as fb

    return source.shuffle().decode_image().random_resized_crop(224).random_flip().normalize(fb.IMAGENET)


def forebay_decoded(job):
    import forebay as fb

    return training(fb.webdataset(job.shards, fields={"image": "jpg", "label": "cls"})).batch(job.batch), "image"


def folder_decoded(job):
    import forebay as fb

    return training(fb.images(job.folder)).batch(job.batch), "image"


FOREBAY = {"forebay": forebay, "forebay_decoded": forebay_decoded, "folder_decoded": folder_decoded}


class ForebayEpochs:
    """Epochs of (numbers, values): the id of a sample is the photograph's number."""

    def __init__(self, job):
        import forebay as fb

        pipeline, self.field = FOREBAY[job.loader](job)
        self.loader = fb.Loader(pipeline, seed=job.seed, threads=job.threads)
        self.version, self.settings = f"forebay {fb.__version__}", {"shuffle": "blocks of 8 chunks of 8 MiB"}

    def epoch(self):
        for batch in self.loader:
            rows = len(batch) - batch.padding
            yield batch.ids[:rows].tolist(), batch[self.field]


class WebdatasetEpochs:
    """The package with PyTorch's worker processes, as its documentation has it: whole batches come from the workers."""

    def __init__(self, job):
        import torch
        import webdataset

        samples = webdataset.WebDataset(job.shards, shardshuffle=100, nodesplitter=webdataset.split_by_node, empty_check=False)
        batches = samples.shuffle(1000).to_tuple("__key__", "jpg", "cls").batched(job.batch, collation_fn=list)
        self.loader = torch.utils.data.DataLoader(batches, batch_size=None, num_workers=job.threads)
        self.version, self.settings = f"webdataset {webdataset.__version__}", {"shuffle": 1000, "workers": job.threads}

    def epoch(self):
        for batch in self.loader:
            yield [int(one[0]) for one in batch], [one[1] for one in batch]


def timed(epochs, job, result):
    """The epochs after the first: samples, and the bytes of what was not decoded."""
    for _ in epochs.epoch():
        pass
    part = measured.TimedPart(result)
    part.begin()
    samples = total = 0
    for _ in range(job.epochs):
        for numbers, values in epochs.epoch():
            samples += len(numbers)
            total += sum(map(len, values)) if isinstance(values, list) else values.nbytes
    return part.end() | {"samples": samples, "bytes": total}


def proof(epochs):
    """One more epoch, to its last byte: what came, in any order, and the order. Raw bytes are told from pixels by whoever compares. """
    seen, sums = [], 0
    for numbers, values in epochs.epoch():
        for number, value in zip(numbers, values):
            sums = (sums + zlib.crc32(value, number)) % 2**64
            seen.append(number)
    ordered = zlib.crc32(",".join(map(str, seen)).encode())
    return {"once": sorted(seen) == list(range(len(seen))), "count": len(seen), "content": sums, "order": ordered,
            "sorted": seen == sorted(seen)}


def measure(job, result):
    epochs = WebdatasetEpochs(job) if job.loader == "webdataset" else ForebayEpochs(job)
    found = timed(epochs, job, result)
    return found | {"proof": proof(epochs), "name": job.loader, "version": epochs.version, "settings": epochs.settings}


if __name__ == "__main__":
    measured.main(measure)
