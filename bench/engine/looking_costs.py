"""What it costs to look: a trace, metrics that are scraped and stats() all at once, beside a loader that nobody looks at.

    python bench/engine/looking_costs.py FOLDER [--rounds 8] [--seconds 4]      (photographs, a folder per class)

Both take turns in one process, photographs and a wide table; who goes first changes. A trace has a file of 100 MB at most, metrics are
scraped every half second over HTTP, stats() and report() are asked for twenty times a second by a thread of its own. Where other programs use
the machine, rates of a fast table swing by more than looking could cost: the CPU time of the process for each sample is told beside them.
"""
import argparse
import contextlib
import pathlib
import statistics
import sys
import tempfile
import threading
import time
import urllib.request

import forebay as fb

SCRAPE_SECONDS, LOOK_SECONDS = 0.5, 0.05


def photographs(folder, _):
    crops = fb.images(folder).shuffle().decode_image().random_resized_crop(224).random_flip()
    return crops.normalize(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)).batch(64)


def table(_, place):
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = pathlib.Path(place) / "wide.parquet"
    if not path.exists():
        draw = np.random.default_rng(0)
        pq.write_table(pa.table({f"x{i}": draw.random(200_000, dtype=np.float32) for i in range(30)}), path, row_group_size=10_000)
    return fb.parquet(str(path)).shuffle(block=4).batch(1024)


def every(seconds, stop, work, told):
    """Calls `work` until it is told to stop, and notes what each call took."""
    while not stop.wait(seconds):
        begun = time.perf_counter()
        work()
        told.append(time.perf_counter() - begun)


@contextlib.contextmanager
def looked_at(loader, port, place, scrapes):
    stop = threading.Event()
    address = f"http://127.0.0.1:{port}/metrics"
    watchers = [
        threading.Thread(target=every, args=(SCRAPE_SECONDS, stop, lambda: urllib.request.urlopen(address).read(), scrapes)),
        threading.Thread(target=every, args=(LOOK_SECONDS, stop, lambda: (loader.stats(), loader.report()), [])),
    ]
    with loader.trace(pathlib.Path(place) / "trace.json", limit="100MB"):
        for watcher in watchers:
            watcher.start()
        try:
            yield
        finally:
            stop.set()
            for watcher in watchers:
                watcher.join()


def run(batches, seconds):
    """Samples a second, and CPU seconds a sample."""
    begun, cpu, samples = time.perf_counter(), time.process_time(), 0
    while (took := time.perf_counter() - begun) < seconds:
        samples += len(next(batches))
    return samples / took, (time.process_time() - cpu) / samples


def endless(loader):
    while True:
        yield from loader


def compared(make, args, port, place):
    ratios, cpu_ratios, scrapes = [], [], []
    with fb.Loader(make(args.folder, place), seed=0) as loader:
        batches = endless(loader)
        run(batches, args.seconds / 2)
        for number in range(args.rounds):
            pair = {}
            for looks in (number % 2 == 0, number % 2 != 0):
                with looked_at(loader, port, place, scrapes) if looks else contextlib.nullcontext():
                    pair[looks] = run(batches, args.seconds)
            ratios.append(pair[True][0] / pair[False][0])
            cpu_ratios.append(pair[True][1] / pair[False][1])
    return ratios, cpu_ratios, scrapes


def spread(values):
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--port", type=int, default=19473)
    args = parser.parse_args()
    try:
        fb.serve_metrics(args.port)
    except ImportError as error:
        sys.exit(f"metrics cannot be served: {error}")
    with tempfile.TemporaryDirectory() as place:
        for make in (photographs, table):
            ratios, cpu_ratios, scrapes = compared(make, args, args.port, place)
            print(f"{make.__name__}, {len(ratios)} rounds: rate {spread(ratios)} of that of an unlooked-at one, CPU time of a sample "
                  f"{spread(cpu_ratios)}; a scrape took {spread([1e3 * seconds for seconds in scrapes])} ms")


if __name__ == "__main__":
    main()
