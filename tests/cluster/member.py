"""One process of a job: a batch for each line it is given, and a line that tells of it. Ends with its standard input."""
import json
import sys
import time
import zlib

import forebay as fb

given = json.loads(sys.argv[1])


def pipeline():
    """What is kept is decoded, or for `side` 0 as it is stored; then nothing is decoded at all."""
    steps = fb.images(given["url"]).shuffle()
    if given["side"]:
        steps = steps.decode_image().resize(given["side"])
    if given["cache"]:
        steps = steps.cache(**given["cache"])
    if not given["side"]:
        return steps.batch(given["batch"])
    return steps.random_flip().normalize(fb.IMAGENET).batch(given["batch"])


def told(batch, state, waited):
    samples = {str(int(sample)): zlib.crc32(batch["image"][row].tobytes()) + int(batch["label"][row]) for row, sample in enumerate(batch.ids)}
    return {"epoch": batch.epoch, "samples": samples, "state": state, "waited": waited}


def say(what):
    print(json.dumps(what), flush=True)


with fb.Loader(pipeline(), seed=7, **given["loader"]) as loader:
    if given["state"]:
        loader.load_state_dict(given["state"])
    say("ready")
    batches = iter(loader)
    for line in sys.stdin:
        if line == "stats\n":
            say(loader.stats())
            continue
        begun = time.monotonic()
        batch = next(batches, None)
        if batch is None:
            batches = iter(loader)
            batch = next(batches)
        if line == "touch\n":
            say(len(batch.ids))
            continue
        say(told(batch, loader.state_dict(), time.monotonic() - begun))
