"""Forebay, as its API page shows it: a folder of photographs in S3 (or local), fetched only or made into training batches."""

import os

import forebay as fb


def epochs(job):
    local = getattr(job, "local", False)
    pipeline = fb.images(job.root if local else f"s3://{job.bucket}/{job.prefix}").shuffle()
    if getattr(job, "decode", False):
        pipeline = pipeline.decode_image().random_resized_crop(224).random_flip().normalize(fb.IMAGENET)
    access = {} if local else {"storage_options": {"endpoint": job.endpoint, "access_key_id": os.environ["AWS_ACCESS_KEY_ID"],
                                                   "secret_access_key": os.environ["AWS_SECRET_ACCESS_KEY"]}}
    requests = job.requests if job.requests == "auto" else int(job.requests)
    with fb.Loader(pipeline.batch(job.batch), seed=job.seed, threads=job.workers, requests=requests, **access) as loader:
        len(loader)
        job.listed()
        while True:
            yield ((batch.ids.tolist(), batch["image"]) for batch in loader)


def name():
    return "Forebay"


def version():
    return f"forebay {getattr(fb, '__version__', 'unknown')}"


def settings(job):
    return {"requests": job.requests, "threads": job.workers, "decodes": getattr(job, "decode", False)}
