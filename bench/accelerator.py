#!/usr/bin/env python3
"""How much of an accelerator's time training gets: ResNet-50 in bfloat16 on photographs, fed by Forebay and by PyTorch's DataLoader.

    bench/accelerator.py PHOTOS [--workers 16] [--batch 256] [--steps 60] [--rounds 3]

PHOTOS has a folder per class. Both sides read, decode, crop (random_resized_crop of 224), flip and normalise every photograph every epoch, with as many
threads or worker processes, and copy from pinned memory without waiting; "nothing loaded" trains on one batch that stays on the device: what the
accelerator could do. Contestants take turns; told is samples/s behind a warm-up, the median and range of the rounds, and of the ceiling's.
"""
import argparse
import statistics
import sys
import time

import numpy as np
import torch
import torchvision
from torchvision.transforms import v2

import forebay as fb
import forebay.torch

DEVICE = torch.accelerator.current_accelerator()
MEAN, DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


class Trainer:
    def __init__(self):
        torch.manual_seed(0)
        self.net = torchvision.models.resnet50().to(DEVICE, memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01)

    def step(self, images, labels):
        with torch.autocast(DEVICE.type, dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(self.net(images.to(memory_format=torch.channels_last)), labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()


def endless(loader, names):
    while True:
        for batch in loader:
            yield batch[names[0]], batch[names[1]]


def pipeline(options):
    return (fb.images(options.photos).shuffle().decode_image().random_resized_crop(224).random_flip()
            .normalize(fb.IMAGENET).batch(options.batch, last="drop"))


def forebay_batches(options):
    loader = forebay.torch.DataLoader(pipeline(options), batch_size=None, num_workers=options.workers, pin_memory=True)
    return endless(loader, ("image", "label")), loader.close


def forebay_pageable_batches(options):
    loader = fb.Loader(pipeline(options), threads=options.workers, output="torch")
    return endless(loader, ("image", "label")), loader.close


def torch_batches(options):
    change = v2.Compose([v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(), v2.PILToTensor(),
                         v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, DEVIATION)])
    photos = torchvision.datasets.ImageFolder(options.photos, change)
    loader = torch.utils.data.DataLoader(photos, batch_size=options.batch, shuffle=True, num_workers=options.workers, pin_memory=True,
                                         drop_last=True, persistent_workers=True)
    return endless(loader, (0, 1)), lambda: None


def nothing_loaded(options):
    images = torch.randn((options.batch, 3, 224, 224), device=DEVICE)
    labels = torch.zeros(options.batch, dtype=torch.int64, device=DEVICE)
    return iter(lambda: (images, labels), None), lambda: None


CONTESTANTS = {"Forebay": forebay_batches, "Forebay, memory that is not pinned": forebay_pageable_batches,
               "PyTorch's DataLoader": torch_batches, "nothing loaded": nothing_loaded}


def measure(make, options):
    """(samples/s, share of the time that the trainer waited for a batch)."""
    trainer = Trainer()
    batches, close = make(options)
    for number in range(options.warm + options.steps):
        if number == options.warm:
            torch.accelerator.synchronize()
            began, waited = time.perf_counter(), 0.0
        asked = time.perf_counter()
        images, labels = next(batches)
        if number >= options.warm:
            waited += time.perf_counter() - asked
        trainer.step(images.to(DEVICE, non_blocking=True), labels.to(DEVICE, torch.int64, non_blocking=True))
    torch.accelerator.synchronize()
    seconds = time.perf_counter() - began
    close()
    return options.steps * options.batch / seconds, waited / seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos")
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--warm", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    found = {}
    for number in range(options.rounds):
        names = list(CONTESTANTS)
        for name in names[number % len(names):] + names[:number % len(names)]:
            found.setdefault(name, []).append(measure(CONTESTANTS[name], options))
            print(f"round {number + 1}: {name}: {found[name][-1][0]:,.0f} samples/s", file=sys.stderr, flush=True)
    ceiling = statistics.median(rate for rate, _ in found["nothing loaded"])
    for name, runs in found.items():
        rates = [rate for rate, _ in runs]
        print(f"{name:36} {statistics.median(rates):8,.0f} samples/s ({min(rates):,.0f} to {max(rates):,.0f}), "
              f"{statistics.median(rates) / ceiling:.2f} of the ceiling, waited {np.median([wait for _, wait in runs]):.0%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
