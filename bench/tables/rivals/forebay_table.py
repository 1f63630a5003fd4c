"""Forebay, as its API page shows it."""

import os

import forebay as fb


def array(batch, name):
    return batch[name]


def epochs(job):
    nulls = {} if job.null is None else {"null": job.null}
    pipeline = fb.parquet(os.path.join(job.folder, "*.parquet"), columns=job.columns, **nulls).shuffle(ramp=job.ramp)
    if job.cache:
        pipeline = pipeline.cache(dir=os.path.join(job.work, "forebay-cache"), **job.cache)
    options = {"storage_options": {"imitate_latency_ms": str(job.latency_ms)}} if job.latency_ms else {}
    with fb.Loader(pipeline.batch(job.batch), seed=job.seed, threads=job.threads, output=job.output,
                   **options) as loader:
        global stats
        stats = loader.stats
        while True:
            yield loader


def facts(job):
    """Of the loader's own counters, what the report may want."""
    found = stats()
    return {key: found[key] for key in ("memory", "caches", "chunks") if key in found}


def claims(job):
    return {"order": "rows", "partial": 1}


def name(job):
    kept = ", ".join(f"{tier} {size}" for tier, size in (job.cache or {}).items() if size)
    return f"Forebay, {job.output}" + (", ramp" if job.ramp else "") + (f", cache {kept}" if kept else "")


def version():
    return f"forebay {fb.__version__}"


def settings(job):
    return {"threads": job.threads, "memory": "auto", "gives": job.output}
