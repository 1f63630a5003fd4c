"""Ray Data: files shuffled, rows in a local shuffle buffer."""

import logging
import os

import ray

from mixing import BLOCK


def epochs(job):
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")
    ray.init(num_cpus=job.threads, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    try:
        epoch = 0
        while True:
            made = ray.data.read_parquet(job.folder, columns=job.columns, shuffle="files", file_extensions=["parquet"])
            yield made.iter_batches(batch_size=job.batch, batch_format="numpy", drop_last=False,
                                    local_shuffle_buffer_size=BLOCK * job.group_rows,
                                    local_shuffle_seed=job.seed + epoch)
            epoch += 1
    finally:
        ray.shutdown()


def claims(job):
    return {"order": "rows", "partial": 1}


def name(job):
    return "Ray Data"


def version():
    return f"ray {ray.__version__}"


def settings(job):
    return {"cpus": job.threads, "local shuffle buffer": f"{BLOCK} row groups", "gives": "NumPy"}
