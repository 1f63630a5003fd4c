"""Hugging Face datasets with torch format: converted to its own Arrow files first, then flat shuffled."""

import os

import datasets
import torch

from arrow_columns import files


def epochs(job):
    datasets.disable_progress_bars()
    made = datasets.load_dataset("parquet", data_files=files(job), split="train", columns=job.columns,
                                 cache_dir=os.path.join(job.work, "hf"))
    epoch = 0
    while True:
        yield made.shuffle(seed=job.seed + epoch).with_format("torch").iter(batch_size=job.batch)
        epoch += 1


def claims(job):
    return {"order": "rows", "partial": 1}


def name(job):
    return "HF datasets, torch format"


def version():
    return f"datasets {datasets.__version__}, torch {torch.__version__}"


def settings(job):
    return {"shuffle": "flat, by an index over its own Arrow files", "gives": "tensors"}
