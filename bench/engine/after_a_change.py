"""How soon `auto` is as fast again when something changes under it: the consumer, the store, the quota of cores.

    python bench/engine/after_a_change.py [--shared FOLDER] [--work FOLDER] [--rounds 3] [--only NAME …]

For each change two processes run in turns, `rounds` times: one in which it happens while a loader runs, and one that has been so all along.
The ratio is that of samples a second 5 to 8 seconds behind the change to those of the other run behind 12 seconds of warming up. Both must deliver
the same (a digest of the first batches). Photographs, decoded and cropped; behind the store they lie in a real bucket (Ceph's gateway), whose
latency a proxy makes.
"""
import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "storage")]

from harness.quota import Quota  # noqa: E402

BEFORE_S, AFTER_S, LOOK_S, WARM_S, FIRST_BATCHES = 8.0, 5.0, 3.0, 12.0, 8

# name: what it is before, and after
CHANGES = {
    "consumer: 400 ms a batch, then none": ({"trainer_ms": 400}, {"trainer_ms": 0}),
    "store: 5 ms, then 100": ({"latency_ms": 5}, {"latency_ms": 100}),
    "store: 100 ms, then 5": ({"latency_ms": 100}, {"latency_ms": 5}),
    "quota: 0.5 cores, then 1.5": ({"cores": 0.5}, {"cores": 1.5}),
    "quota: 1.5 cores, then 0.5": ({"cores": 1.5}, {"cores": 0.5}),
}


# One run, in a process of its own: it does what it reads, and tells samples and seconds when it is asked


def run_one(job):
    import threading

    import forebay as fb

    now = {"trainer_ms": job["trainer_ms"], "samples": 0}

    def obey():
        for line in sys.stdin:
            told = json.loads(line)
            now.update(told)
            if not told:
                print(json.dumps({"at": time.monotonic(), "samples": now["samples"]}), flush=True)
        os._exit(0)

    pictures = fb.images(job["place"]).shuffle().decode_image().random_resized_crop(224).random_flip().normalize(fb.IMAGENET).batch(32)
    digest, batches = hashlib.sha256(), 0
    with fb.Loader(pictures, seed=7) as loader:
        while True:
            for batch in loader:
                if batches < FIRST_BATCHES:
                    digest.update(batch.ids.tobytes() + batch["image"].tobytes())
                batches += 1
                if batches == FIRST_BATCHES:
                    print(json.dumps({"digest": digest.hexdigest()}), flush=True)
                    threading.Thread(target=obey, daemon=True).start()
                now["samples"] += len(batch)
                time.sleep(now["trainer_ms"] / 1e3)


class Run:
    """Such a process, and what is around it."""

    def __init__(self, state, place, environment, quota, stand):
        self.quota, self.stand = quota, stand
        self._around(state)
        job = {"place": place, "trainer_ms": state.get("trainer_ms", 0)}
        self.process = subprocess.Popen([sys.executable, __file__, "--one", json.dumps(job)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=environment, preexec_fn=quota.add_this_process if quota else None)
        self.digest = json.loads(self.process.stdout.readline())["digest"]

    def _around(self, state):
        if "cores" in state:
            self.quota.set(state["cores"])
        if "latency_ms" in state:
            self.stand.set(state["latency_ms"], {})

    def change(self, state):
        self._around(state)
        if "trainer_ms" in state:
            self._say(state)

    def _say(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def _seen(self):
        self._say({})
        return json.loads(self.process.stdout.readline())

    def rate(self):
        before = self._seen()
        time.sleep(LOOK_S)
        after = self._seen()
        return (after["samples"] - before["samples"]) / (after["at"] - before["at"])

    def end(self):
        self.process.kill()
        self.process.wait()


def compared(name, rounds, where):
    """Of each round: samples/s behind the change, and of the run without one."""
    before, after = CHANGES[name]
    found, digests = [], set()
    for number in range(rounds):
        rates = {}
        for changes in (True, False) if number % 2 else (False, True):
            run = Run(before if changes else after, **where)
            try:
                time.sleep(BEFORE_S if changes else WARM_S)
                if changes:
                    run.change(after)
                    time.sleep(AFTER_S)
                rates[changes] = run.rate()
                digests.add(run.digest)
            finally:
                run.end()
        found.append((rates[True], rates[False]))
    if len(digests) != 1:
        raise SystemExit(f"{name}: the runs did not deliver the same")
    return found


def measure(name, options, work):
    from data_sets import photo_set

    before, _ = CHANGES[name]
    local = os.path.dirname(os.path.dirname(photo_set.originals(options.shared, work, options.photos)[0]))
    if "latency_ms" in before:
        from stand import BUCKET, PREFIX, Stand

        with Stand(work, options.shared, options.photos) as stand:
            return compared(name, options.rounds, {"place": f"s3://{BUCKET}/{PREFIX}", "environment": os.environ | stand.environment(),
                                                   "quota": None, "stand": stand})
    if "cores" in before:
        with Quota(before["cores"]) as quota:
            return compared(name, options.rounds, {"place": local, "environment": None, "quota": quota, "stand": None})
    return compared(name, options.rounds, {"place": local, "environment": None, "quota": None, "stand": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", default=os.environ.get("FOREBAY_SHARED", os.path.join(HERE, "..", "..", "..", "shared")))
    parser.add_argument("--work", default=os.path.join(tempfile.gettempdir(), "after-a-change"))
    parser.add_argument("--photos", type=int, default=1050)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=sorted(CHANGES))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        return run_one(json.loads(given.one))
    os.makedirs(given.work, exist_ok=True)
    print("| change | 5 s behind it ÷ so all along | least | most | samples/s so all along |\n|---|---|---|---|---|")
    for name in given.only or CHANGES:
        if "cores" in CHANGES[name][0] and not Quota.possible():
            print(f"| {name} | no control group can be made here |", flush=True)
            continue
        found = measure(name, given, given.work)
        ratios = [changed / steady for changed, steady in found]
        print(f"| {name} | {statistics.median(ratios):.2f} | {min(ratios):.2f} | {max(ratios):.2f} | "
              f"{statistics.median(steady for _, steady in found):,.0f} |", flush=True)


if __name__ == "__main__":
    main()
