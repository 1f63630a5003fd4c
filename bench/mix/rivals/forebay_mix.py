"""Forebay: fb.mix of mapped arrays or of JSON lines."""

import forebay as fb


class Opened:
    def __init__(self, job, state):
        if job.kind == "arrays":
            sources = [fb.arrays(x=path) for path in job.paths]
        else:
            fields = {"part": "int64", "row": "int64", "score": "float64", "text": "text"}
            sources = [fb.jsonl(path, fields=fields) for path in job.paths]
        parts = {str(number): source.shuffle() for number, source in enumerate(sources)}
        weights = dict(zip(parts, job.weights, strict=True))
        self.loader = fb.Loader(fb.mix(parts, weights=weights, samples=job.epoch).batch(job.batch), seed=job.seed, threads=job.threads)
        if state is not None:
            self.loader.load_state_dict(state)
        self.fields = ["x"] if job.kind == "arrays" else list(fields)
        self.about = {"name": "Forebay", "version": f"forebay {fb.__version__}", "settings": {"shuffle": "over each whole part", "workers": "threads"}}

    def batches(self):
        while True:
            for batch in self.loader:
                yield {name: batch[name] for name in self.fields}

    def state(self):
        return self.loader.state_dict()

    def close(self):
        self.loader.close()


def open_loader(job, state=None):
    return Opened(job, state)
