"""One kind of work in this process: prints its resident memory beyond what was there before, and what the loader states."""

import ctypes
import json
import re
import sys

import numpy  # noqa: F401  a user's process has it; Forebay imports it with the first array

import forebay as fb

KIB = 1024


def status():
    with open("/proc/self/status") as file:
        return {name: int(value) * KIB for name, value in re.findall(r"^(\w+):\s+(\d+) kB", file.read(), re.M)}


def without_huge_pages():
    """They come and go by 2 MiB, beside which little growth is not seen."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(41, 1, 0, 0, 0):  # PR_SET_THP_DISABLE
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_THP_DISABLE)")


def some(source, spec):
    """All samples, or the first ones where that is said."""
    return source.take(spec["rows"]) if "rows" in spec else source


def pictures(source):
    return source.shuffle().decode_image().random_resized_crop(224).random_flip().normalize(fb.IMAGENET).batch(32)


def cached(source):
    return (source.shuffle().decode_image().resize((256, 256)).cache(ram="64MiB", disk=0).random_crop(224)
            .normalize(fb.IMAGENET).batch(32))


PIPELINES = {
    "photographs": lambda spec: pictures(some(fb.images(spec["path"]), spec)),
    "table": lambda spec: some(fb.parquet(spec["path"]), spec).shuffle().batch(1024),
    "lists": lambda spec: some(fb.parquet(spec["path"]), spec).shuffle().batch(1024),
    "s3": lambda spec: pictures(some(fb.images("s3://bucket/"), spec)),
    "cache": lambda spec: cached(some(fb.images(spec["path"]), spec)),
}


def main():
    spec = json.loads(sys.argv[1])
    if spec.get("huge_pages") is False:
        without_huge_pages()
    options = dict(spec.get("options", {}))
    if "endpoint" in spec:
        options["storage_options"] = {"endpoint": spec["endpoint"], "access_key_id": "a", "secret_access_key": "b"}
    pipeline = PIPELINES[spec["kind"]](spec)
    before = status()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak begins here
    loader = fb.Loader(pipeline, **options)
    each, used = [], []
    for _ in range(spec["epochs"]):
        for batch in loader:
            pass
        del batch
        each.append(status()["VmRSS"] - before["VmRSS"])
        used.append(loader.stats()["memory_bytes"]["used"])
    stats, now = loader.stats(), status()
    print(json.dumps({"peak": now["VmHWM"] - before["VmRSS"], "end": now["VmRSS"] - before["VmRSS"],
                      "anonymous": now["RssAnon"] - before["RssAnon"], "files": now["RssFile"] - before["RssFile"],
                      "each": each, "used": used, "stated": stats["memory_bytes"], "index": stats["index_bytes"],
                      "caches": stats["caches"]}))


if __name__ == "__main__":
    main()
