"""torch.utils.data.DataLoader with Pillow: persistent worker processes that prefetch."""

from __future__ import annotations

import random
from typing import Any, Iterator

import torch
import torch.utils.data

from .translate import Work, work_of


class Photos(torch.utils.data.Dataset):  # type: ignore[type-arg]
    def __init__(self, work: Work, listing: list[tuple[str, int]]) -> None:
        self.work, self.listing = work, listing[:work.take]

    def __len__(self) -> int:
        return len(self.listing)

    def __getitem__(self, number: int) -> dict[str, Any]:
        key, label = self.listing[number]
        made = self.work.sample(key, label, random)  # type: ignore[arg-type]  # torch seeds `random` for each worker
        if "image" in made:
            made["image"] = torch.from_numpy(made["image"])
        return {"ids": number, **made}


def epochs(job: dict[str, Any]) -> Iterator[Iterator[dict[str, Any]]]:
    """Yields epochs of batches: fields by name, and `ids`."""
    work = work_of(job["steps"])
    torch.manual_seed(job["seed"])
    random.seed(job["seed"])
    alive = {"persistent_workers": True, "prefetch_factor": 4} if job["workers"] else {}
    loader = torch.utils.data.DataLoader(
        Photos(work, job["listing"]), batch_size=work.batch, shuffle=work.shuffle, drop_last=work.drop_last,
        num_workers=job["workers"], **alive)
    while True:
        yield iter(loader)
