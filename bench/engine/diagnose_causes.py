"""How often diagnose() is right: set-ups made from a seed, each with a known cause, and what it said of them.

    python bench/engine/diagnose_causes.py [--setups 40] [--seed 1] [--gains] [--json]

Prints the seed, the confusion matrix and the set-ups that it got wrong. With --gains it also tries changes, and then measures the first one
on its own: loaders opened anew, with it and without it in turns, over all samples. Pictures are made in a temporary folder. A set-up takes 3 to 5 s, with
--gains up to a minute.
"""

import argparse
import collections
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE, os.path.dirname(HERE)]

from harness.quota import Quota  # noqa: E402

WITHIN = (0.15, 0.30)  # of the measured gain


def sleeping(seconds):
    def wait(sample):
        time.sleep(seconds)
        return {"waited": 1}
    return wait


def computing(loops):
    def compute(sample):
        total = 0
        for number in range(loops):
            total += number
        return {"computed": total}
    return compute


def pictures(path, size):
    import forebay as fb
    return fb.images(path).shuffle().decode_image().resize((size, size))


# Each gives (pipeline, trainer in ms or a function or None, options of the loader, {answers that are right}), and words that must be said.

def latency(draw, path):
    """Few requests at a time: the requests are the cause, and reads are what they wait for."""
    options = {"requests": draw.choice((1, 2, 4)), "storage_options": {"imitate_latency_ms": draw.choice((10, 20, 40))}}
    return pictures(path, 64).batch(draw.choice((4, 8, 16))), None, options, {"storage", "requests"}


def bandwidth(draw, path):
    options = {"requests": draw.choice((1, 2)), "storage_options": {"imitate_bandwidth_bytes_per_s": draw.choice((1e6, 2e6, 4e6))}}
    return pictures(path, 64).batch(draw.choice((4, 8))), None, options, {"storage", "requests"}


def decode(draw, path):
    return pictures(path, draw.choice((32, 64, 128))).batch(draw.choice((8, 16, 32))), None, {}, {"compute"}


def operators(draw, path):
    return pictures(path, 64).resize((draw.choice((600, 900)),) * 2).batch(8), None, {}, {"compute"}


def few_threads(draw, path):
    return pictures(path, 224).random_flip().batch(16), None, {"threads": 1}, {"compute"}


def waiting_python(draw, path):
    function = sleeping(draw.choice((0.3, 0.6)))
    return pictures(path, 32).map(function, fields="label").batch(8), None, {}, {"user_code"}


def locking_python(draw, path):
    function = computing(draw.choice((400_000, 800_000)))
    return pictures(path, 32).map(function, fields="label").batch(8), None, {}, {"user_code"}


def slow_trainer(draw, path):
    return pictures(path, 64).random_flip().batch(8), float(draw.choice((40, 80))), {}, {"trainer"}


def little_memory(draw, path):
    """Just as much as a batch needs, behind latency: nothing can be fetched ahead."""
    import forebay as fb
    pipeline = pictures(path, 224).batch(draw.choice((8, 16)))
    options = {"storage_options": {"imitate_latency_ms": draw.choice((100, 200))}}
    try:
        fb.Loader(pipeline, memory=1000, **options)
    except fb.OutOfBudget as error:
        needed = error.bytes_needed
    return pipeline, None, options | {"memory": int(needed * 1.02)}, {"memory"}


def taken_cores(draw, path):
    return pictures(path, draw.choice((64, 128))).batch(draw.choice((8, 16))), None, {}, {"cores"}


def throttled(draw, path):
    """Half a core of a real control group. Threads are counted when a loader opens, which is before the quota."""
    return pictures(path, draw.choice((64, 128))).batch(draw.choice((8, 16))), None, {"threads": 2}, {"cores"}


def cold_cache(draw, path):
    """What the pipeline keeps is not there yet: its first epoch takes longer than the diagnosis."""
    options = {"storage_options": {"imitate_bandwidth_bytes_per_s": draw.choice((1e5, 2e5))}}
    return pictures(path, 64).cache(ram=500_000_000, disk=0).batch(draw.choice((4, 8))), None, options, {"cache"}


def small_cache(draw, path):
    """A quarter of the decoded pictures has a place in it."""
    options = {"storage_options": {"imitate_bandwidth_bytes_per_s": draw.choice((1e6, 2e6))}}
    return pictures(path, 64).cache(ram=64 * 64 * 3 * 75, disk=0).batch(draw.choice((4, 8))), None, options, {"cache"}


def slow_rank(draw, path):
    """Each step waits for another rank, whose batches come slowly: for this one that is its trainer's time."""
    other = subprocess.Popen([sys.executable, __file__, "--other-rank", path, str(draw.choice((1, 2)))], stdout=subprocess.PIPE)
    OTHERS.append(other)
    options = {"rank": 0, "world_size": 2}
    return pictures(path, 64).batch(8), lambda: os.read(other.stdout.fileno(), 1), options, {"trainer"}


def other_rank(path, requests):
    """A byte for each batch."""
    import forebay as fb
    with fb.Loader(pictures(path, 64).batch(8), rank=1, world_size=2, requests=requests, storage_options={"imitate_latency_ms": 25}) as loader:
        with contextlib.suppress(BrokenPipeError):
            while True:
                for _ in loader:
                    os.write(sys.stdout.fileno(), b".")


def rereading_filter(draw, path):
    """A filter that looks at what is read anyway: all of it is read before the first batch, and told to be. Few requests: with as many as it likes
    they get 120 MB/s out of this bandwidth of each, and decoding is the limit."""
    options = {"requests": draw.choice((2, 4)), "storage_options": {"imitate_bandwidth_bytes_per_s": draw.choice((2e6, 4e6))}}
    bright = pictures(path, 64).filter(lambda sample: True, fields=["image"])
    return bright.batch(8), None, options, {"storage", "requests"}, ".filter() looks at all samples before"


CAUSES = (latency, bandwidth, decode, operators, few_threads, waiting_python, locking_python, slow_trainer, little_memory, taken_cores, throttled,
          cold_cache, small_cache, slow_rank, rereading_filter)
OTHERS = []  # ranks


@contextlib.contextmanager
def others_at_work(cause):
    """Other programs, where that is the cause: three for each core."""
    number = 3 * len(os.sched_getaffinity(0)) if cause is taken_cores else 0
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        with Quota(0.5) if cause is throttled else contextlib.nullcontext() as quota:
            if quota:
                quota.add_this_process()
            yield
    finally:
        for program in programs + OTHERS:
            program.kill()
            program.wait()
        OTHERS.clear()


def rate(loader, seconds, trainer_ms):
    began, samples, batches = time.perf_counter(), 0, 0
    while batches < 2 or time.perf_counter() - began < seconds:
        for batch in loader:
            samples, batches = samples + len(batch), batches + 1
            if callable(trainer_ms):
                trainer_ms()
            elif trainer_ms:
                time.sleep(trainer_ms / 1000)
            if time.perf_counter() - began >= seconds and batches >= 2:
                break
    return samples / (time.perf_counter() - began)


def measured_gain(pipeline, remedy, trainer_ms, options, seconds=2.0):
    """Times as fast with the remedy, from its second epoch on."""
    import forebay as fb
    ratios = []
    if ".cache(" in str(pipeline):  # loaders of one process that keep the same have it together: one after the other
        alone = []
        for one, its in ((pipeline, options), (remedy.pipeline, options | dict(remedy.options))):
            with fb.Loader(one, **its) as loader:
                for _ in range(2):
                    for _ in loader:
                        pass
                rate(loader, 0.3, trainer_ms)
                alone.append(statistics.median(rate(loader, seconds, trainer_ms) for _ in range(3)))
        return alone[1] / alone[0]
    with fb.Loader(remedy.pipeline, **options | dict(remedy.options)) as changed, fb.Loader(pipeline, **options) as plain:
        for _ in range(2):
            for _ in changed:
                pass
        for turn in range(3):
            pair = {}
            for name in ("plain", "changed") if turn % 2 else ("changed", "plain"):
                loader = {"plain": plain, "changed": changed}[name]
                rate(loader, 0.3, trainer_ms)  # what was ready
                pair[name] = rate(loader, seconds, trainer_ms)
                time.sleep(0.5)  # it makes what comes next ready, and is at rest then
            ratios.append(pair["changed"] / pair["plain"])
    return statistics.median(ratios)


def examined(number, seed, path, gains):
    import forebay as fb
    draw = random.Random(f"{seed} {number}")
    causes = CAUSES if Quota.possible() else [cause for cause in CAUSES if cause is not throttled]
    cause = causes[number % len(causes)]
    pipeline, trainer_ms, options, right, *words = cause(draw, path)
    # A number of the user's is the cause where it goes faster without: that is tried in any case.
    with others_at_work(cause):
        found = fb.diagnose(pipeline, trainer_ms, budget=50 if gains or "memory" in options or "cache" in right else 0, **options)
        record = {"setup": number, "cause": cause.__name__, "said": found.limit,
                  "right": found.limit in right and all(said in str(found) for said in words), "text": str(found)}
        if gains and found.remedies:
            record["predicted"] = found.remedies[0].gain
            record["measured"] = measured_gain(pipeline, found.remedies[0], trainer_ms, options)
            record["change"] = found.remedies[0].change
    return record


def table(records):
    said = sorted({record["said"] for record in records})
    counts = collections.Counter((record["cause"], record["said"]) for record in records)
    lines = ["cause           " + "".join(f"{name:>11}" for name in said)]
    for cause in CAUSES:
        if any(record["cause"] == cause.__name__ for record in records):
            lines.append(f"{cause.__name__:16}" + "".join(f"{counts[cause.__name__, name]:11}" for name in said))
    right = sum(record["right"] for record in records)
    lines.append(f"right: {right} of {len(records)} ({100 * right / len(records):.0f} %)")
    tried = [record for record in records if "measured" in record]
    for within in WITHIN if tried else ():
        near = sum(abs(record["predicted"] / record["measured"] - 1) <= within for record in tried)
        lines.append(f"gain of the first remedy within {100 * within:.0f} %: {near} of {len(tried)}")
    for record in tried:
        lines.append(f"  set-up {record['setup']:3} {record['cause']:15} {record['change']}: said {record['predicted']:.2f}, "
                     f"measured {record['measured']:.2f}")
    wrong = [record for record in records if not record["right"]]
    return "\n".join(lines + [f"\nset-up {record['setup']}, {record['cause']}:\n{record['text']}" for record in wrong])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--setups", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gains", action="store_true", help="also the gain that the first remedy has on its own")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--other-rank", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.other_rank:
        return other_rank(args.other_rank[0], int(args.other_rank[1]))
    import memory_truth_data as data
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ["FOREBAY_CACHE_DIR"] = os.path.join(folder, "cache")
        path = data.photographs(folder, 300)
        records = []
        for number in range(args.setups):
            records.append(examined(number, args.seed, path, args.gains))
            told = {name: value for name, value in records[-1].items() if name != "text"}
            print(json.dumps(told), file=sys.stderr, flush=True)
    if args.json:
        print(json.dumps(records, indent=1))
    else:
        print(f"seed {args.seed}, {args.setups} set-ups\n{table(records)}")


if __name__ == "__main__":
    main()
