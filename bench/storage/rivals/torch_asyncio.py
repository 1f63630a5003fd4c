"""Fetching inside the batch: each worker of torch's DataLoader reads the objects of its batch at once with aiobotocore."""

import asyncio

import aiobotocore
import aiobotocore.session
import torch
from aiobotocore.config import AioConfig

import torch_batches

AT_ONCE = 64


class Photographs(torch.utils.data.Dataset):
    def __init__(self, job):
        self.bucket, self.prefix, self.keys, self.loop = job.bucket, job.prefix, job.keys, None

    def __len__(self):
        return len(self.keys)

    def __getitems__(self, numbers):
        if self.loop is None:
            self.loop = asyncio.new_event_loop()
            self.loop.run_until_complete(self._open())
        return self.loop.run_until_complete(self._all(numbers))

    async def _open(self):
        session = aiobotocore.session.get_session()
        self.client = await session.create_client("s3", config=AioConfig(max_pool_connections=AT_ONCE)).__aenter__()

    async def _all(self, numbers):
        return await asyncio.gather(*(self._one(number) for number in numbers))

    async def _one(self, number):
        answer = await self.client.get_object(Bucket=self.bucket, Key=f"{self.prefix}/{self.keys[number]}")
        async with answer["Body"] as body:
            return number, await body.read()


def epochs(job):
    return torch_batches.epochs(job, Photographs(job))


def name():
    return "torch DataLoader + aiobotocore within the batch"


def version():
    return f"torch {torch.__version__}, aiobotocore {aiobotocore.__version__}"


def settings(job):
    return torch_batches.settings(job) | {"within a batch": f"asyncio, {AT_ONCE} at once"}
