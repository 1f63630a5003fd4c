"""Amazon's connector for PyTorch: its map-style data set in torch's DataLoader."""

from importlib import metadata

import torch
from s3torchconnector import S3ClientConfig, S3MapDataset

import torch_batches


class Read:
    """A class rather than a lambda: workers may have to pickle it."""

    def __init__(self, job):
        self.prefix, self.number_of = f"{job.prefix}/", job.number_of

    def __call__(self, reader):
        return self.number_of[reader.key.removeprefix(self.prefix)], reader.read()


def epochs(job):
    uris = [f"s3://{job.bucket}/{job.prefix}/{key}" for key in job.keys]
    dataset = S3MapDataset.from_objects(uris, region="us-east-1", endpoint=job.endpoint, transform=Read(job),
                                        s3client_config=S3ClientConfig(force_path_style=True))
    return torch_batches.epochs(job, dataset)


def name():
    return "s3torchconnector"


def version():
    return f"s3torchconnector {metadata.version('s3torchconnector')}, torch {torch.__version__}"


def settings(job):
    return torch_batches.settings(job) | {"data set": "S3MapDataset, path style"}
