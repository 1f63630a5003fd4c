"""A profile, or one strategy over whole epochs (see harness/measured.py; cuts.py starts it)."""

import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from harness import measured  # noqa: E402  (first: it notes the time)

import shutil  # noqa: E402
import time  # noqa: E402

import forebay as fb  # noqa: E402
from presto import pipelines  # noqa: E402

DIGEST_EPOCH = 1000  # the same for all, whatever they ran before
SETTLED_LOOKS, LOOK_S = 5, 0.05


def options_of(job):
    link = {"imitate_latency_ms": job.latency_ms} if job.latency_ms else None
    return {"threads": job.threads if job.threads == "auto" else int(job.threads), "storage_options": link}


def profile(job, result):
    pipeline = pipelines.PIPELINES[job.pipeline](fb, job.folder)
    part = measured.TimedPart(result)
    part.begin()
    found = fb.profile(pipeline, time=job.time, **options_of(job))
    figures = part.end()
    told = dict(found.data)
    told["strategies"] = [one | {"pipeline": strategy.pipeline.to_json()} for one, strategy in zip(told["strategies"], found.strategies)]
    return figures | {"data": told}


def entries(loader):
    """Entries and bytes that caches keep."""
    kept = [tier for cache in loader.stats()["caches"] for tier in (cache["ram"], cache["disk"])]
    return sum(tier["entries"] for tier in kept), sum(tier["bytes"] for tier in kept)


def settle(loader):
    """Until nothing more is on its way to the disk; gives its bytes."""
    before, same = entries(loader), 0
    while same < SETTLED_LOOKS:
        time.sleep(LOOK_S)
        now = entries(loader)
        before, same = now, same + 1 if now == before else 0
    return before[1]


def epoch(loader):
    """Samples of one epoch; a consumer that looks at nothing."""
    return sum(len(batch) for batch in loader)


def written(job):
    """Its files: seconds that writing took, and bytes. The pipeline reads them from the folder that this process is in."""
    pipeline = pipelines.PIPELINES[job.pipeline](fb, job.folder)
    cut = job.strategy.removeprefix("files behind ")
    made = fb.materialize(pipeline, f"materialized/{cut}", cut=cut, **options_of(job))
    return made.seconds, made.bytes


def cell(job, result):
    os.environ["FOREBAY_CACHE_DIR"] = os.path.join(job.work, "cache")
    os.chdir(job.work)
    shutil.rmtree("materialized", ignore_errors=True)
    files = written(job) if job.tier == "files" else None
    with fb.Loader(fb.Pipeline.from_json(job.description), seed=7, **options_of(job)) as loader:
        begun = time.monotonic()
        samples = epoch(loader)
        preparation, kept = files or (time.monotonic() - begun, settle(loader))
        part, seen = measured.TimedPart(result), 0
        part.begin()
        while part.seconds() < job.seconds or seen == 0:
            seen += epoch(loader)
        figures = part.end()
        loader.set_epoch(DIGEST_EPOCH)
        digest = fb.digest(loader)
    return figures | {"samples": samples, "preparation_s": preparation, "kept_bytes": kept, "rate": seen / figures["seconds"],
                      "digest": digest, "version": f"forebay {fb.__version__}"}


def measure(job, result):
    return {"profile": profile, "cell": cell}[job.what](job, result)


if __name__ == "__main__":
    measured.main(measure)
