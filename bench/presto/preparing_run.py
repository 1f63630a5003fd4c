"""Photographs decoded, resized to a short side of 256, cropped to 224 and written as pixels, in the contestant's own Python (see
harness/measured.py; preparing.py starts it). What was written is read again by the contestant's own reader, outside the timed part."""

import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from harness import measured  # noqa: E402  first: it notes the time

import multiprocessing  # noqa: E402
import shutil  # noqa: E402
import tempfile  # noqa: E402

SHORT, SIDE, SHARD_BYTES = 256, 224, 64 << 20


def pixels(path):
    """As a user of Pillow does it, with its decoder told that a smaller picture will do."""
    import numpy
    from PIL import Image

    with Image.open(path) as picture:
        picture.draft("RGB", (SHORT, SHORT))
        picture = picture.convert("RGB")
        wide, high = picture.size
        scale = SHORT / min(wide, high)
        size = (SHORT, int(SHORT * high / wide)) if wide <= high else (int(SHORT * wide / high), SHORT)
        picture = picture.resize(size, Image.Resampling.BILINEAR) if scale != 1 else picture
        left, top = round((picture.size[0] - SIDE) / 2), round((picture.size[1] - SIDE) / 2)
        return numpy.asarray(picture.crop((left, top, left + SIDE, top + SIDE)))


def sample(item):
    number, path = item
    return {"number": number, "image": pixels(path)}


# ---- contestants: prepare() is timed, read() gives (number, pixels) of all


class Forebay:
    def __init__(self, job, folder):
        import forebay as fb

        self.fb, self.job, self.folder = fb, job, folder
        self.pipeline = fb.images(job.folder).decode_image().resize(short_side=SHORT).center_crop(SIDE)
        self.version, self.settings = f"forebay {fb.__version__}", {"format": "arrow"}

    def prepare(self):
        self.fb.materialize(self.pipeline, self.folder, cut="last", threads=self.job.threads)

    def read(self):
        for batch in self.fb.Loader(self.fb.materialized(self.folder).batch(64), epochs=1):
            yield from zip(batch.ids.tolist(), batch["image"])


class Steps(Forebay):
    """The same steps with nothing written: each picture is copied into memory that is there."""

    def prepare(self):
        for _ in self.fb.Loader(self.pipeline.batch(64), epochs=1, threads=self.job.threads):
            pass

    def read(self):
        for batch in self.fb.Loader(self.pipeline.batch(64), epochs=1, threads=self.job.threads):
            yield from zip(batch.ids.tolist(), batch["image"])


class Copied(Steps):
    """The same steps, and the bytes of each batch copied into the page cache, as whoever writes files has to: nothing else of a file, and not on the disk."""

    def prepare(self):
        os.makedirs(self.folder)
        with open(os.path.join(self.folder, "bytes"), "wb", buffering=0) as file:
            for batch in self.fb.Loader(self.pipeline.batch(64), epochs=1, threads=self.job.threads):
                image = batch["image"]
                if file.write(image) != image.nbytes:
                    raise OSError("not all was written")


def write_mds(out, items):
    from streaming import MDSWriter

    with MDSWriter(out=out, columns={"number": "int", "image": f"ndarray:uint8:{SIDE},{SIDE},3"}, size_limit=SHARD_BYTES) as writer:
        for item in items:
            writer.write(sample(item))


class Mds:
    """A writer a process, each with a part of the list, and one index in the end: its documentation's way to use all cores."""

    def __init__(self, job, folder):
        import streaming

        self.job, self.folder = job, folder
        self.version, self.settings = f"mosaicml-streaming {streaming.__version__}", {"processes": job.threads}

    def prepare(self):
        from streaming.base.util import merge_index

        items, many = list(enumerate(self.job.paths)), self.job.threads
        parts = [items[i * len(items) // many:(i + 1) * len(items) // many] for i in range(many)]
        workers = [multiprocessing.Process(target=write_mds, args=(os.path.join(self.folder, str(i)), part)) for i, part in enumerate(parts)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        merge_index(self.folder)

    def read(self):
        from streaming import StreamingDataset

        for one in StreamingDataset(local=self.folder, shuffle=False, batch_size=1):
            yield one["number"], one["image"]


class Litdata:
    def __init__(self, job, folder):
        import litdata

        self.job, self.folder, self.litdata = job, folder, litdata
        self.version, self.settings = f"litdata {litdata.__version__}", {"num_workers": job.threads, "chunk_bytes": "64MB"}

    def prepare(self):
        self.litdata.optimize(fn=sample, inputs=list(enumerate(self.job.paths)), output_dir=self.folder, chunk_bytes="64MB",
                              num_workers=self.job.threads)

    def read(self):
        for one in self.litdata.StreamingDataset(self.folder, shuffle=False):
            yield int(one["number"]), one["image"]


CONTESTANTS = {"forebay": Forebay, "steps": Steps, "copied": Copied, "mds": Mds, "litdata": Litdata}


def proof(contestant, photos):
    """Of what was written: which photographs, and the mean of each one's pixels. Decoders and resizers differ by a little."""
    import numpy

    means = {}
    for number, image in contestant.read():
        image = numpy.asarray(image)
        shaped = image.dtype == numpy.uint8 and image.shape == (SIDE, SIDE, 3)
        means.setdefault(number, []).append(float(image.mean()) if shaped else float("nan"))
    return {"once": sorted(means) == list(range(photos)) and all(len(each) == 1 for each in means.values()),
            "means": [round(means[number][0], 3) for number in sorted(means)]}


def bytes_below(folder):
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names)


def measure(job, result):
    folder = tempfile.mkdtemp(prefix="prepared-", dir=os.getcwd())
    contestant = CONTESTANTS[job.loader](job, os.path.join(folder, "made"))
    part = measured.TimedPart(result)
    part.begin()
    contestant.prepare()
    found = part.end() | {"samples": len(job.paths)}
    found |= {"proof": proof(contestant, len(job.paths)), "bytes": bytes_below(folder), "name": job.loader, "version": contestant.version,
              "settings": contestant.settings}
    shutil.rmtree(folder, ignore_errors=True)
    return found


if __name__ == "__main__":
    measured.main(measure)
