"""A DataLoader over a data set of (number, bytes), the same for all rivals that need one."""

import functools

import torch


def identity(samples):
    return samples


def dropin(job):
    return getattr(job, "dropin", False)


def loader_class(job):
    if not dropin(job):
        return torch.utils.data.DataLoader
    from forebay.torch import DataLoader

    return functools.partial(DataLoader, thread_safe=job.workers > 0)


def epochs(job, dataset):
    workers = {"num_workers": job.workers, "persistent_workers": True} if job.workers else {}
    loader = loader_class(job)(dataset, batch_size=job.batch, shuffle=True, collate_fn=identity,
                               generator=torch.Generator().manual_seed(job.seed), **workers)
    job.listed()
    while True:
        yield (tuple(zip(*samples)) for samples in loader)


def settings(job):
    kind = "Forebay's DataLoader, thread_safe=True" if dropin(job) else "worker processes, persistent, prefetch_factor 2"
    return {"loader": kind, "workers": job.workers}
