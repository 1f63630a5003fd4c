"""fsspec's S3 file system inside torch's DataLoader: the objects of a batch by one cat()."""

import fsspec
import s3fs
import torch

import torch_batches


class Photographs(torch.utils.data.Dataset):
    def __init__(self, job):
        self.base, self.keys, self.files = f"{job.bucket}/{job.prefix}", job.keys, None

    def __len__(self):
        return len(self.keys)

    def __getitems__(self, numbers):
        self.files = self.files or s3fs.S3FileSystem(skip_instance_cache=True)  # of this worker, after the fork
        paths = [f"{self.base}/{self.keys[number]}" for number in numbers]
        found = self.files.cat(paths)
        return [(number, found[path]) for number, path in zip(numbers, paths)]


def epochs(job):
    return torch_batches.epochs(job, Photographs(job))


def name():
    return "torch DataLoader + s3fs"


def version():
    return f"torch {torch.__version__}, s3fs {s3fs.__version__}, fsspec {fsspec.__version__}"


def settings(job):
    return torch_batches.settings(job) | {"within a batch": "cat() of all, s3fs's own concurrency"}
