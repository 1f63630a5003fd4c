"""Whatever happens to a host of a job, the epoch is complete and right, and the others go on; what they lose in time is measured by
bench/cluster/faults.py."""
import os
import random

import pytest
from faults import JOB, KINDS, LINK, Trial
from job import Job, truth
from lab import Lab

SAMPLES, BATCH, HOSTS = 240, 4, 4
STEPS = SAMPLES // BATCH // HOSTS
MOMENTS = int(os.environ.get("FOREBAY_FAULTS", "1"))  # of each kind


@pytest.mark.parametrize("kind", KINDS)
def test_the_epoch_is_complete_and_right_whatever_happens_to_a_host(objects, tmp_path, kind):
    epochs = 40 + 3 * MOMENTS
    with Lab(HOSTS, link=LINK, storage_rate=100e6) as lab:
        server = objects(lab)
        expected = truth(lab, server, epochs, side=JOB["side"], batch=BATCH)
        with Job(lab, server, tmp_path, batch=BATCH, **JOB) as job:
            trial = Trial(job, expected, STEPS, seed=random.Random(kind).random())
            trial.healthy()
            trial.healthy()
            open_before = [member.descriptors() for member in job.members]
            for moment in range(MOMENTS):
                told = trial.fault(kind, comes_back_used=kind == "killed" and moment == 0)
                assert told.right, told
                assert told.used_again in (None, True), told
            trial.healthy()
            # A connection to each of the others and to storage for each request that may be under way, at most.
            for before, member in zip(open_before, job.members):
                assert member.descriptors() <= before + 64
