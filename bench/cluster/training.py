"""Whether it matters for training which rank of a job gets which rows of a global batch: a small residual net on real photographs, 4 ranks.

    python bench/cluster/training.py FOLDER [--epochs 4] [--seeds 5]

FOLDER: a folder of pictures per class. Needs PyTorch. All ranks run in this process, one after another, on one thread.

1. Gradients of single samples, added up in the order of the samples' positions: final weights by `shard_by="count"`, by `shard_by="locality"` and of one
   rank alone are compared bit by bit.
2. As it is usually done: each rank the gradient of its rows, then their mean over the ranks. Rounding differs, so final losses over all
   photographs are compared, seed by seed, beside what another seed changes.

The exit code is 1 where the weights of the first part differ, or the rows are not dealt differently at all.
"""
import argparse
import hashlib
import statistics
import sys

import torch
from torch import nn

import forebay as fb

SIDE, BATCH, RANKS = 32, 16, 4


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        # Normalised sample by sample: with BatchNorm a gradient would depend on who shares a rank's batch.
        self.body = nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.GroupNorm(4, channels), nn.ReLU(),
                                  nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.GroupNorm(4, channels))

    def forward(self, x):
        return torch.relu(x + self.body(x))


def net(classes, seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.GroupNorm(4, 16), nn.ReLU(), Residual(16), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 1, bias=False), Residual(32), nn.MaxPool2d(2), Residual(32),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, classes))


def pipeline(folder, batch):
    return (fb.images(folder).shuffle().decode_image().resize((SIDE, SIDE)).cache(ram="256MB", disk=0)
            .random_flip().normalize(fb.IMAGENET).batch(batch, last="drop"))


def steps(folder, seed, epochs, deal, ranks):
    """Of each step what every rank gets: (positions, pictures, labels)."""
    how = {"shard_by": deal, "hosts": ranks} if ranks > 1 else {}
    whole = pipeline(folder, BATCH * RANKS // ranks)
    loaders = [fb.Loader(whole, seed=seed, epochs=epochs, rank=rank, world_size=ranks, **how) for rank in range(ranks)]
    for together in zip(*(batches(loader, epochs) for loader in loaders)):
        yield together
    for loader in loaders:
        loader.close()


def batches(loader, epochs):
    for _ in range(epochs):
        for one in loader:
            yield list(one.positions), torch.from_numpy(one["image"].copy()), torch.from_numpy(one["label"].copy()).long()


def gradient(model, pictures, labels):
    loss = nn.functional.cross_entropy(model(pictures), labels, reduction="sum")
    return torch.autograd.grad(loss, list(model.parameters()))


def in_order(model, together):
    """One sample at a time, added up by position."""
    of = {}
    for positions, pictures, labels in together:
        for i, position in enumerate(positions):
            of[position] = gradient(model, pictures[i:i + 1], labels[i:i + 1])
    ordered = [of[position] for position in sorted(of)]
    return [sum(parts[1:], parts[0]) / len(ordered) for parts in zip(*ordered)]


def by_ranks(model, together):
    of = [gradient(model, pictures, labels) for _, pictures, labels in together]
    rows = sum(len(positions) for positions, _, _ in together)
    return [sum(parts[1:], parts[0]) / rows for parts in zip(*of)]


def train(folder, classes, seed, epochs, deal, ranks, reduce):
    model = net(classes, seed)
    momentum = [torch.zeros_like(one) for one in model.parameters()]
    dealt = []
    for together in steps(folder, seed, epochs, deal, ranks):
        dealt.append([sorted(positions) for positions, _, _ in together])
        for one, way, grad in zip(model.parameters(), momentum, reduce(model, together)):
            with torch.no_grad():
                way.mul_(0.9).add_(grad)
                one.sub_(0.05 * way)
    return model, dealt


def digest(model):
    return hashlib.sha256(b"".join(one.detach().numpy().tobytes() for one in model.parameters())).hexdigest()[:16]


def loss_on(model, folder):
    """Over all photographs, as they are without flips."""
    plain = fb.images(folder).decode_image().resize((SIDE, SIDE)).normalize(fb.IMAGENET).batch(64)
    total = right = count = 0
    with torch.no_grad(), fb.Loader(plain, epochs=1) as loader:
        for _, pictures, labels in batches(loader, 1):
            scores = model(pictures)
            total += float(nn.functional.cross_entropy(scores, labels, reduction="sum"))
            right += int((scores.argmax(1) == labels).sum())
            count += len(labels)
    return total / count, right / count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    classes = len(fb.images(given.folder).classes)

    weights, dealt = {}, {}
    for name, deal, ranks in (("count", "count", RANKS), ("local", "locality", RANKS), ("one rank", "count", 1)):
        model, dealt[name] = train(given.folder, classes, 0, given.epochs, deal, ranks, in_order)
        weights[name] = digest(model)
    moved = sum(len(set(a) - set(b)) for one, other in zip(dealt["count"], dealt["local"]) for a, b in zip(one, other))
    rows = sum(len(one) for step in dealt["count"] for one in step)
    print(f"{len(dealt['count'])} steps of {RANKS} × {BATCH} rows; by place {moved / rows:.0%} of the rows are on another rank than by count")
    for name, value in weights.items():
        print(f"added up in order, {name:<9} final weights {value}")

    print(f"{'as usual':<10}{'loss, count':>13}{'loss, local':>13}{'right, count':>14}{'right, local':>14}")
    losses = []
    for seed in range(given.seeds):
        found = [loss_on(train(given.folder, classes, seed, given.epochs, deal, RANKS, by_ranks)[0], given.folder)
                 for deal in ("count", "locality")]
        losses.append([loss for loss, _ in found])
        print(f"{'seed ' + str(seed):<10}{found[0][0]:>13.5f}{found[1][0]:>13.5f}{found[0][1]:>14.3f}{found[1][1]:>14.3f}")
    if given.seeds > 1:
        apart = [abs(count - local) for count, local in losses]
        print(f"apart by the deal: {statistics.mean(apart):.5f} at the mean, {max(apart):.5f} at most; "
              f"by the seed (standard deviation): {statistics.stdev(count for count, _ in losses):.5f}")
    return 0 if len(set(weights.values())) == 1 and moved > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
