"""Forebay: what stands before the random steps is kept by .cache()."""

import os

import forebay as fb


def epochs(paths, tier, folder, size, crop, batch, threads, seed):
    os.environ["FOREBAY_CACHE_DIR"] = folder
    kept = {"ram": 2_000_000_000, "disk": 0} if tier == "memory" else {"ram": 0, "disk": 2_000_000_000}
    pictures = fb.files(paths).shuffle().rename(bytes="image").decode_image().resize((size, size)).cache(**kept)
    loader = fb.Loader(pictures.random_crop(crop).random_flip().normalize(fb.IMAGENET).select("image").batch(batch), seed=seed, threads=threads)
    while True:
        yield ((one.ids, one["image"]) for one in loader)


def name():
    return "Forebay"


def version():
    return f"forebay {fb.__version__}"


def settings():
    return {}
