"""Jobs over hosts that have an address, a link and a disk of their own, with storage that has a rate."""
import pytest
from job import Job, truth
from lab import Lab

EPOCHS = 3


@pytest.mark.parametrize("hosts, peers, deal", [(1, None, "auto"), (2, "folder", "auto"), (3, "folder", "count"), (4, "folder", "locality"),
                                                (4, "addresses", "count"), (4, None, "auto")])
@pytest.mark.parametrize("cache", [{"ram": "64MiB", "disk": 0}, {"ram": 0, "disk": "64MiB"}], ids=["memory", "disk"])
def test_same_data_on_many_hosts(objects, tmp_path, hosts, peers, deal, cache):
    with Lab(hosts, link=1e9, storage_rate=100e6) as lab:
        server = objects(lab)
        expected = truth(lab, server, EPOCHS)
        found = {}
        with Job(lab, server, tmp_path, peers=peers, cache=cache, shard_by=deal) as job:
            job.steps(EPOCHS * 240 // (4 * hosts), found)
        assert [found[epoch] for epoch in range(EPOCHS)] == expected
