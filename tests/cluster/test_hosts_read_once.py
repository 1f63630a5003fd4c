"""What storage is asked for by a whole job, as the log of the object server has it."""
import pytest
from job import Job, peer_hits
from lab import Lab

SAMPLES = 240


def epochs_of(job, server, count):
    """Of each epoch, how often each object was read."""
    read = []
    for _ in range(count):
        job.steps(SAMPLES // (4 * job.world), {})
        read.append({path: len(by) for path, by in server.reads().items()})
    return read


@pytest.mark.parametrize("deal", ["locality", "count"])
@pytest.mark.parametrize("cache", [{"ram": "64MiB", "disk": 0}, {"ram": 0, "disk": "64MiB"}], ids=["memory", "disk"])
def test_every_object_is_read_once_in_the_first_epoch_over_all_hosts_and_never_again(objects, tmp_path, deal, cache):
    """Hosts are ahead of each other by more than an epoch: what one wants that its home has not made yet is waited for."""
    with Lab(4, link=1e9, storage_rate=20e6) as lab:
        server = objects(lab)
        with Job(lab, server, tmp_path, cache=cache, shard_by=deal) as job:
            read = epochs_of(job, server, 4)
            assert sorted(read[0].values()) == [1] * SAMPLES
            assert read[1:] == [{}] * 3
            assert job.sum_of(peer_hits) > 0


def test_one_owner_reads_an_object_that_all_want_at_once(objects, tmp_path):
    """A step of all hosts, and each prefetches beyond: nobody but its home has read an object."""
    with Lab(4, link=1e9, storage_rate=4e6) as lab:
        server = objects(lab)
        with Job(lab, server, tmp_path, cache={"ram": "64MiB", "disk": 0}, shard_by="count") as job:
            job.steps(SAMPLES // 16 * 2, {})
            assert all(len(by) == 1 for by in server.reads().values())


def test_a_host_that_stands_still_keeps_the_others_waiting_for_a_bounded_time(objects, tmp_path):
    """One takes no batch, and so makes nothing: the others read what is at home there themselves, and go on."""
    with Lab(3, link=1e9, storage_rate=100e6) as lab:
        server = objects(lab)
        with Job(lab, server, tmp_path, cache={"ram": "64MiB", "disk": 0}, shard_by="count") as job:
            for _ in range(3 * SAMPLES // 12):
                job.step(job.members[1:])


@pytest.mark.parametrize("room", ["600KB", "380KB"])
def test_later_epochs_read_what_nobody_keeps_and_a_per_cent_more_at_most(objects, tmp_path, room):
    """What is read more are second requests for objects that were slow to come; the last epoch is known, so nothing is read ahead of it."""
    epochs = 4
    with Lab(4, link=1e9, storage_rate=20e6) as lab:
        server = objects(lab)
        with Job(lab, server, tmp_path, cache={"ram": room, "disk": 0}, epochs=epochs) as job:
            read = epochs_of(job, server, epochs)
            kept = job.sum_of(lambda stats: stats["caches"][0]["ram"]["entries"])
            least = SAMPLES + (epochs - 1) * (SAMPLES - kept)
            assert 0 < kept < SAMPLES
            assert least <= sum(sum(of.values()) for of in read) <= 1.01 * least
