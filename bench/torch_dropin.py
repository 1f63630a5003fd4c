#!/usr/bin/env python3
"""forebay.torch.DataLoader beside torch.utils.data.DataLoader over the same data sets, interleaved. See bench/README.md."""

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time

import photo_set
import process_tree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "rivals"))
BATCH = 64
WAIT_S = 0.1
RUN_LIMIT_S = 600

# case -> (what it is called, data set, workers, epochs: the last is timed, what only ours is told)
CASES = {
    "photos-0": ("photographs, 0 workers", "photos", 0, 2, {}),
    "photos-2": ("photographs, 2 workers", "photos", 2, 2, {}),
    "photos-2-threads": ("photographs, 2 workers, thread_safe", "photos", 2, 2, {"thread_safe": True}),
    "cheap-0": ("items that cost nothing, 0 workers", "cheap", 0, 2, {}),
    "cheap-2": ("items that cost nothing, 2 workers", "cheap", 2, 2, {}),
    "stream-2": ("iterable, 2 workers that start anew each epoch, 5 epochs", "stream", 2, 5, {}),
    "waiting-2": ("100 ms a read, 2 workers, from cold, thread_safe", "waiting", 2, 1, {"thread_safe": True}),
}
LOADERS = ("torch", "forebay")


def photos(paths):
    """As in rivals/torch_pillow_loader.py, the crop drawn from the photograph's number, so that both sides make equal pixels."""
    import random

    from PIL import Image
    from recipe import SIZE, random_crop
    from torch.utils.data import Dataset
    from torch_pillow_loader import normalized

    class Photos(Dataset):
        def __len__(self):
            return len(paths)

        def __getitem__(self, index):
            with Image.open(paths[index]) as file:
                image = file.convert("RGB")
            left, top, width, height = random_crop(*image.size, random.Random(index))
            image = image.crop((left, top, left + width, top + height)).resize((SIZE, SIZE), Image.Resampling.BILINEAR)
            return normalized(image), index

    return Photos()


def waiting(count):
    import torch
    from torch.utils.data import Dataset

    class Waiting(Dataset):
        """Stands for an object store 100 ms away, read by a client that blocks."""

        def __len__(self):
            return count

        def __getitem__(self, index):
            time.sleep(WAIT_S)
            return torch.full((3, 8, 8), float(index)), index

    return Waiting()


def cheap(count):
    import torch
    from torch.utils.data import Dataset

    class Cheap(Dataset):
        def __len__(self):
            return count

        def __getitem__(self, index):
            return torch.full((3, 8, 8), float(index)), index

    return Cheap()


def stream(count):
    import torch
    from torch.utils.data import IterableDataset, get_worker_info

    class Stream(IterableDataset):
        """Small, so that what is timed is the start of workers."""

        def __iter__(self):
            info = get_worker_info()
            return iter([(torch.full((3, 8, 8), float(i)), i) for i in range(info.id, count, info.num_workers)])

    return Stream()


def data_set(kind, config):
    if kind == "photos":
        return photos(photo_set.read_list(config["list"]))
    return {"waiting": waiting, "cheap": cheap, "stream": stream}[kind](
        {"waiting": config["reads"], "cheap": 20_000, "stream": 4 * BATCH}[kind])


def one_run(config):
    """One loader in this process: what it delivered and how long the last epoch took."""
    import torch

    _, kind, workers, epochs, told = CASES[config["case"]]
    rows = data_set(kind, config)
    if config["loader"] == "forebay":
        from forebay.torch import DataLoader
    else:
        from torch.utils.data import DataLoader
    options = told if config["loader"] == "forebay" else {}
    if kind != "stream":
        options = {"shuffle": True, "persistent_workers": workers > 0, **options}
    loader = DataLoader(rows, batch_size=BATCH, num_workers=workers, generator=torch.Generator().manual_seed(7), **options)
    for epoch in range(epochs):
        order, pixels = hashlib.sha256(), hashlib.sha256()
        if kind != "stream" or epoch == 0:  # of a stream, all epochs
            cpu_s, began_s = process_tree.cpu_seconds(os.getpid()), time.perf_counter()
            samples = 0
        for images, numbers in loader:
            samples += len(numbers)
            order.update(numbers.numpy().tobytes())
            stride = 32 if epoch == epochs - 1 and kind == "photos" else 1  # the timed epoch only touches
            pixels.update(images[:, :, ::stride, ::stride].contiguous().numpy().tobytes())
            proof = pixels.hexdigest() if stride == 1 else proof  # noqa: F821: of every pixel of the epoch before
        seconds = time.perf_counter() - began_s
        cpu_s = process_tree.cpu_seconds(os.getpid()) - cpu_s
    return {"samples": samples, "seconds": seconds, "cpu_s": cpu_s, "order": order.hexdigest(), "pixels": pixels.hexdigest(),
            "all_pixels": proof, "version": f"torch {torch.__version__}, {torch.get_num_threads()} threads"}


def measure(options, case, loader):
    config = json.dumps({"case": case, "loader": loader, "list": options.list, "reads": options.reads})
    done = subprocess.run([sys.executable, os.path.abspath(__file__), "--one", config], capture_output=True, text=True,
                          timeout=RUN_LIMIT_S, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"{case}, {loader}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def row(case, records):
    rates = {loader: [one["samples"] / one["seconds"] for one in records[loader]] for loader in LOADERS}
    ratios = [ours / theirs for ours, theirs in zip(rates["forebay"], rates["torch"])]
    cpu = {loader: statistics.median(1000 * one["cpu_s"] / one["samples"] for one in records[loader]) for loader in LOADERS}
    cells = [CASES[case][0], *(spread(rates[loader], 1) for loader in LOADERS), spread(ratios, 2),
             *(f"{cpu[loader]:.2f}" for loader in LOADERS)]
    return "| " + " | ".join(cells) + " |"


def spread(values, digits):
    return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f}–{max(values):,.{digits}f})"


def unequal(case, records):
    """What the two did not deliver alike; every epoch of every round must be the same."""
    every = [one for loader in LOADERS for one in records[loader]]
    return [f"{case}: {key} differs" for key in ("samples", "order", "pixels", "all_pixels") if len({one[key] for one in every}) > 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", default="/tmp/forebay-dropin", help="folder for the photographs and the records")
    parser.add_argument("--shared", default=os.environ.get("FOREBAY_SHARED") or os.path.join(HERE, "..", "..", "shared"))
    parser.add_argument("--photos", type=int, default=700)
    parser.add_argument("--reads", type=int, default=320, help="of 100 ms each")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one_run(json.loads(options.one))))
        return
    cases = options.cases
    os.makedirs(options.work, exist_ok=True)
    options.list = ""
    if any(CASES[case][1] == "photos" for case in cases):
        paths = photo_set.originals(options.shared, options.work, options.photos)
        options.list = photo_set.write_list(paths, os.path.join(options.work, f"originals-{len(paths)}.tsv"))
        photo_set.warm(paths)
    records = {case: {loader: [] for loader in LOADERS} for case in cases}
    for number in range(options.rounds):
        for case in cases:
            for loader in LOADERS if number % 2 == 0 else reversed(LOADERS):
                records[case][loader].append(measure(options, case, loader))
                print(f"round {number + 1}, {case}, {loader}: {records[case][loader][-1]['seconds']:.2f} s", file=sys.stderr)
    with open(os.path.join(options.work, "torch_dropin.json"), "w") as file:
        json.dump(records, file, indent=1)
    print(f"{options.photos} photographs, {options.reads} reads, batches of {BATCH}, {options.rounds} rounds; "
          f"{os.cpu_count()} cores; {records[cases[0]]['torch'][0]['version']}; median (min–max)\n")
    print("| case | torch, samples/s | Forebay, samples/s | ratio | torch, CPU s per 1,000 | Forebay |\n|---|---|---|---|---|---|")
    for case in cases:
        print(row(case, records[case]))
    wrong = [line for case in cases for line in unequal(case, records[case])]
    print("\n" + "\n".join(wrong or ["Equality checks: all passed."]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
