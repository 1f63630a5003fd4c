"""Forebay: files, text, tokens."""

import numpy as np

import forebay as fb


class Opened:
    def __init__(self, job):
        pipeline = fb.text(f"{job.folder}/*.html", by="file").extract_text().tokenize(job.tokenizer).select("tokens").batch(job.batch)
        self.loader = fb.Loader(pipeline, threads=job.threads)
        self.about = {"name": "Forebay", "version": f"forebay {fb.__version__}", "settings": {"threads": job.threads}}

    def epoch(self):
        for batch in self.loader:
            values, offsets = batch["tokens"]
            yield np.asarray(values), np.asarray(offsets)

    def close(self):
        self.loader.close()


def open_loader(job):
    return Opened(job)
