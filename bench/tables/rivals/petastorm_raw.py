"""Petastorm's reader alone: whole row groups as NumPy arrays, the groups in a random order."""

import petastorm_reader
from petastorm_reader import version  # noqa: F401


def array(batch, name):
    return getattr(batch, name)


def epochs(job):
    with petastorm_reader.make_reader(job) as reader:
        first = True
        while True:
            if not first:
                reader.reset()
            first = False
            yield iter(reader)


def claims(job):
    return {"order": "row groups", "partial": None}


def name(job):
    kept, early = " from its disk cache" if job.cache else "", ", converted early" if job.early else ""
    return f"petastorm, raw row groups{kept}{early}"


def settings(job):
    return {"workers": f"{job.threads} threads", "gives": "whole row groups, NumPy",
            "cache": "local-disk" if job.cache else "none"}
