"""Jobs whose hosts reach each other by UCX: what is promised of HTTP holds there, too."""
import random
from pathlib import Path

import forebay
import pytest
from faults import JOB, LINK, Trial
from job import Job, peer_hits, truth
from lab import Lab

SAMPLES, BATCH, HOSTS = 240, 4, 4
STEPS = SAMPLES // BATCH // HOSTS


@pytest.fixture(autouse=True)
def by_ucx(monkeypatch):
    if not Path(forebay.__file__).with_name("libforebay_ucx.so").exists():
        pytest.skip("forebay was built without UCX")
    monkeypatch.setenv("FOREBAY_CLUSTER_TRANSPORT", "ucx")


def test_every_object_is_read_once_and_comes_from_its_peer_from_then_on(objects, tmp_path):
    with Lab(HOSTS) as lab:
        server = objects(lab)
        expected = truth(lab, server, 3, side=64, batch=BATCH)
        server.reads()  # those of the truth
        with Job(lab, server, tmp_path, batch=BATCH, cache={"ram": "64MiB", "disk": 0}, deal="count") as job:
            got = {}
            for epoch in range(3):
                job.steps(STEPS, got)
                assert sorted(len(by) for by in server.reads().values()) == ([1] * SAMPLES if epoch == 0 else [])
            assert got == dict(enumerate(expected))
            assert all(peer_hits(member.stats()) > 0 for member in job.members)
            assert not any("speaks no UCX" in member.messages() for member in job.members)


@pytest.mark.parametrize("kind", ["killed", "frozen", "cut off"])
def test_the_epoch_is_complete_and_right_whatever_happens_to_a_host(objects, tmp_path, kind):
    with Lab(HOSTS, link=LINK, storage_rate=100e6) as lab:
        server = objects(lab)
        expected = truth(lab, server, 43, side=JOB["side"], batch=BATCH)
        with Job(lab, server, tmp_path, batch=BATCH, **JOB) as job:
            trial = Trial(job, expected, STEPS, seed=random.Random(kind).random())
            trial.healthy()
            trial.healthy()
            before = [member.descriptors() for member in job.members]
            told = trial.fault(kind, comes_back_used=kind == "killed")
            assert told.right, told
            assert told.used_again in (None, True), told
            trial.healthy()
            # UCX has some for each of the others beside those of HTTP.
            for member, open_before in zip(job.members, before):
                assert member.descriptors() <= open_before + 64
