"""Does rehearsal help? Class-incremental photographs: accuracy on the classes of earlier tasks with and without `.rehearse`, and with Avalanche's replay buffer of the same size.

    python bench/streams/helps.py --data FOLDER [--seeds 5] [--epochs 8] [--capacity 30]

FOLDER has a folder of photographs a class. Tasks of one or two classes come one after the other; a small convolutional net (CPU) learns from batches of 16 new and 16 old samples. Every fifth
photograph is held out; what is printed is the accuracy on the held-out ones of all classes but the last task's, at the end. Wants torch; Avalanche (avalanche-lib) if it is there: its
`ClassBalancedBuffer` is filled at the end of each task and drawn from uniformly, as its replay plugin does. Avalanche's default, `ReservoirSamplingBuffer`, is printed too.
"""
import argparse
import statistics
import sys

import numpy as np
import torch
import torch.nn.functional as F

import forebay as fb

SIDE, NEW, OLD = 32, 16, 16


def photographs(folder: str) -> tuple[np.ndarray, np.ndarray]:
    pictures, labels = [], []
    with fb.Loader(fb.images(folder).decode_image().resize(short_side=SIDE).center_crop(SIDE).batch(64), epochs=1) as loader:
        for batch in loader:
            pictures.append(batch["image"].copy())
            labels.append(batch["label"].copy())
    return np.concatenate(pictures), np.concatenate(labels)


def net(classes: int, seed: int) -> torch.nn.Module:
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, 2, 1), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3, 2, 1), torch.nn.ReLU(),
        torch.nn.Conv2d(32, 32, 3, 2, 1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(32 * (SIDE // 8) ** 2, classes))


def tensor(pictures: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(pictures.transpose(0, 3, 1, 2).astype(np.float32) / 255 - 0.45)


def accuracy(model, pictures, labels) -> float:
    with torch.no_grad():
        return float((model(tensor(pictures)).argmax(1).numpy() == labels).mean())


def step(model, optimizer, pictures, labels) -> None:
    optimizer.zero_grad()
    F.cross_entropy(model(tensor(pictures)), torch.from_numpy(labels)).backward()
    optimizer.step()


def with_forebay(data, tasks, seed, epochs, capacity):
    pictures, labels, _, _ = data
    model = net(labels.max() + 1, seed)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    state = None
    for task in tasks:
        pipeline = fb.arrays(image=pictures, label=labels).only(label=task).shuffle()
        if capacity:
            pipeline = pipeline.rehearse(OLD, capacity=capacity, policy="balanced")
        with fb.Loader(pipeline.batch(NEW), seed=seed, epochs=epochs, rehearsal=state) as loader:
            for _ in range(epochs):
                for batch in loader:
                    step(model, optimizer, batch["image"], batch["label"])
            state = loader.state_dict() if capacity else None
    return model


def with_avalanche(kind):
    def run(data, tasks, seed, epochs, capacity):
        # Of avalanche-lib 0.6, where the function has no public name.
        from avalanche.benchmarks.utils.classification_dataset import _make_taskaware_classification_dataset
        from avalanche.training.storage_policy import ClassBalancedBuffer, ReservoirSamplingBuffer

        pictures, labels, _, _ = data
        torch.manual_seed(seed)
        rng = np.random.default_rng(seed)
        model = net(labels.max() + 1, seed)
        optimizer = torch.optim.Adam(model.parameters(), 1e-3)
        buffer = (ClassBalancedBuffer if kind == "balanced" else ReservoirSamplingBuffer)(capacity)
        for task in tasks:
            mine = np.flatnonzero(np.isin(labels, task))
            kept = [int(buffer.buffer[i][0]) for i in range(len(buffer.buffer))]
            for _ in range(epochs):
                order = rng.permutation(mine)
                for at in range(0, len(order), NEW):
                    rows = order[at : at + NEW]
                    if kept:
                        rows = np.concatenate([rows, rng.choice(kept, OLD, replace=len(kept) < OLD)])
                    step(model, optimizer, pictures[rows], labels[rows])
            # The samples are their indices.
            dataset = _make_taskaware_classification_dataset(
                [(int(i), int(labels[i])) for i in mine], targets=[int(labels[i]) for i in mine], task_labels=0)
            buffer.update_from_dataset(dataset)
        return model

    return run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--capacity", type=int, default=60, help="samples that are kept, of all classes")
    options = parser.parse_args()
    torch.set_num_threads(2)
    pictures, labels = photographs(options.data)
    held = np.arange(len(labels)) % 5 == 0
    data = pictures[~held], labels[~held], pictures[held], labels[held]
    classes = int(labels.max()) + 1
    tasks = [list(range(first, min(first + 2, classes))) for first in range(0, classes, 2)]
    old = ~np.isin(data[3], tasks[-1])
    ways = {"without": lambda *args: with_forebay(*args[:-1], 0), "forebay, balanced": with_forebay}
    try:
        import avalanche

        ways[f"avalanche {avalanche.__version__}, class-balanced"] = with_avalanche("balanced")
        ways[f"avalanche {avalanche.__version__}, reservoir"] = with_avalanche("reservoir")
    except ImportError:
        print("avalanche-lib is not here: left out")
    print(f"{len(labels)} photographs of {classes} classes, tasks {tasks}, {options.capacity} kept, {options.epochs} epochs a task, {options.seeds} seeds")
    print("accuracy on held-out photographs of old classes, and of all:")
    for name, way in ways.items():
        of_old, of_all = [], []
        for seed in range(options.seeds):
            model = way(data, tasks, seed, options.epochs, options.capacity)
            of_old.append(accuracy(model, data[2][old], data[3][old]))
            of_all.append(accuracy(model, data[2], data[3]))
        print(f"  {name:34} old {statistics.mean(of_old):.3f} ± {statistics.stdev(of_old):.3f}   all {statistics.mean(of_all):.3f} ± {statistics.stdev(of_all):.3f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
