"""What a `.cache()` keeps on another host of the job is asked for there before storage; and nothing that peers do changes a batch."""
import signal
import threading
import time

import pytest
from peering import TOKEN, Between, Host, Job, epoch_of, free_addresses, pipeline, truth
from streaming import on_ranks

import forebay as fb


def job(photos, world=2, peers=None, token=TOKEN, loader=None, **options):
    addresses = free_addresses(world)
    return Job([Host(rank, world, addresses if peers is None else peers(addresses, rank), photos, token=token, loader=loader, **options)
                for rank in range(world)])


def asking_job(photos):
    """Two hosts, of which the first has room for some entries only, and so asks the other in each epoch."""
    addresses = free_addresses(2)
    return Job([Host(rank, 2, addresses, photos, ram=ram) for rank, ram in enumerate(("60KiB", "64MiB"))])


@pytest.mark.parametrize("world", [2, 3])
@pytest.mark.parametrize("kept", ["ram", "disk"])
def test_once_all_is_kept_nobody_reads_storage(photos, tmp_path, world, kept):
    """Hosts that are ahead, by a window of some epochs of so few samples, ask for what its home has not made yet, and read that themselves."""
    addresses = free_addresses(world)
    where = [{"ram": "64MiB"} if kept == "ram" else {"ram": 0, "disk": "64MiB", "dir": str(tmp_path / str(rank))} for rank in range(world)]
    expected = truth(photos, 5)
    with Job([Host(rank, world, addresses, photos, **where[rank]) for rank in range(world)]) as hosts:
        reads = []
        for epoch in range(5):
            assert hosts.epoch() == expected[epoch]
            reads.append(hosts.storage_reads())
        assert reads[2] == reads[3] == reads[4], reads
        assert sum(host.peer_hits() for host in hosts.hosts) > 0
        for host in hosts.hosts:
            stores = host.peer_stores().values()
            assert all(store["errors"] == 0 for store in stores)
            assert host.peer_hits() <= sum(store["cold_reads"] for store in stores)


def test_without_peers_each_host_reads_what_it_has_not(photos):
    expected = truth(photos, 3)
    with job(photos, peers=lambda addresses, rank: None) as hosts:
        for epoch in range(3):
            assert hosts.epoch() == expected[epoch]
        assert hosts.storage_reads() > 21 and not any(host.peer_stores() for host in hosts.hosts)


def test_caches_that_hold_a_part_give_that_part(photos):
    """An entry of 64 x 64 pixels takes 12 KiB: there is room for some."""
    expected = truth(photos, 4)
    with job(photos, ram="60KiB") as hosts:
        for epoch in range(4):
            assert hosts.epoch() == expected[epoch]
        assert hosts.storage_reads() > 21
        assert sum(host.peer_hits() for host in hosts.hosts) > 0


def test_hosts_with_other_budgets_go_together(photos):
    addresses = free_addresses(2)
    expected = truth(photos, 3)
    with Job([Host(rank, 2, addresses, photos, ram=ram) for rank, ram in enumerate(("64MiB", "20KiB"))]) as hosts:
        for epoch in range(3):
            assert hosts.epoch() == expected[epoch]


def test_a_killed_peer_costs_reads_from_storage_and_nothing_else(photos):
    expected = truth(photos, 8)
    with asking_job(photos) as hosts:
        first, second = hosts.hosts
        assert [hosts.epoch(), hosts.epoch()] == expected[:2]
        assert first.peer_hits() > 0  # of one that was never reached the log says nothing for 10 s
        second.kill()
        for epoch in range(2, 8):  # what it will need of the next ones it may have asked for already
            samples = hosts.epoch([first])
            assert samples.items() <= expected[epoch].items() and len(samples) >= 10
        assert "is backed off for a while" in first.close()


def test_a_peer_that_is_killed_and_comes_back_is_used_again(photos):
    addresses = free_addresses(2)
    expected = truth(photos, 40)
    with Job([Host(rank, 2, addresses, photos, ram="64MiB") for rank in range(2)]) as hosts:
        assert hosts.epoch() == expected[0]
        hosts.hosts[1].kill()
        hosts.epoch(hosts.hosts[:1])
        hosts.hosts[1].close()
        hosts.hosts[1] = Host(1, 2, addresses, photos).ready()
        hosts.hosts[1].begin()  # its epoch 0: it makes what is at home there
        assert hosts.hosts[1].end().items() <= expected[0].items()
        hosts.hosts[1].begin()
        hosts.hosts[1].end()
        assert hosts.hosts[1].peer_hits() > 0


def test_a_frozen_peer_is_given_up_and_storage_read_instead(photos):
    expected = truth(photos, 8)
    with asking_job(photos) as hosts:
        first, second = hosts.hosts
        assert [hosts.epoch(), hosts.epoch()] == expected[:2]
        assert first.peer_hits() > 0
        second.process.send_signal(signal.SIGSTOP)
        for epoch in range(2, 8):
            samples = hosts.epoch([first])
            assert samples.items() <= expected[epoch].items() and len(samples) >= 10
        second.process.send_signal(signal.SIGCONT)
        assert "is backed off for a while" in first.close()


@pytest.mark.parametrize("flip", [0.3, 1.0])
def test_a_peer_that_lies_changes_no_byte(photos, flip):
    between = []

    def through(addresses, rank):
        between.append(Between(addresses[1 - rank], flip=flip, seed=rank))
        return [addresses[0] if rank == 0 else between[-1].address, addresses[1] if rank == 1 else between[-1].address]

    expected = truth(photos, 4)
    with job(photos, peers=through) as hosts:
        for epoch in range(4):
            assert hosts.epoch() == expected[epoch]
        if flip == 1.0:
            assert sum(host.peer_hits() for host in hosts.hosts) == 0


def test_a_slow_peer_is_left_out(photos):
    between = []

    def through(addresses, rank):
        between.append(Between(addresses[1 - rank], delay_s=3))
        return [addresses[0] if rank == 0 else between[-1].address, addresses[1] if rank == 1 else between[-1].address]

    expected = truth(photos, 2)
    with job(photos, peers=through) as hosts:
        for epoch in range(2):
            assert hosts.epoch() == expected[epoch]
        assert sum(host.peer_hits() for host in hosts.hosts) == 0


def test_a_peer_with_another_token_is_a_stranger(photos):
    addresses = free_addresses(2)
    expected = truth(photos, 2)
    with Job([Host(rank, 2, addresses, photos, token=TOKEN + "x" * rank) for rank in range(2)]) as hosts:
        for epoch in range(2):
            assert hosts.epoch() == expected[epoch]
        assert sum(host.peer_hits() for host in hosts.hosts) == 0
        said = [host.close() for host in hosts.hosts]
        assert all(text.count("without the token of the job") == 1 for text in said), said
        assert not any(TOKEN in text for text in said)


@pytest.mark.parametrize("count", ["0", "1"])
def test_a_host_of_another_generation_is_a_stranger(photos, count):
    addresses = free_addresses(2)
    with Job([Host(rank, 2, addresses, photos, variables={"TORCHELASTIC_RESTART_COUNT": count if rank else "1"}) for rank in range(2)]) as hosts:
        hosts.epoch()
        hosts.epoch()
        assert (sum(host.peer_hits() for host in hosts.hosts) > 0) == (count == "1")


@pytest.mark.parametrize("world", [2, 3])
def test_hosts_meet_in_a_folder_that_they_share(photos, tmp_path, world):
    expected = truth(photos, 3)
    variables = {"FOREBAY_CLUSTER_ADDRESS": "127.0.0.1", "FOREBAY_CLUSTER_TOKEN": ""}
    where = f"file://{tmp_path}/job-17"
    with Job([Host(rank, world, where, photos, variables=variables) for rank in range(world)]) as hosts:
        for epoch in range(3):
            assert hosts.epoch() == expected[epoch]
        assert sum(host.peer_hits() for host in hosts.hosts) > 0


def test_a_folder_that_is_none_is_refused(photos):
    with pytest.raises(fb.InvalidArgument, match="file:///FOLDER"):
        fb.Loader(pipeline(str(photos)), rank=0, world_size=2, peers="file://relative/folder")


@pytest.mark.parametrize("peers, said", [
    (["127.0.0.1:1"], "1 addresses for 2 ranks"),
    (["127.0.0.1:1", "127.0.0.1:1"], "given twice"),
    (4100, "it is a list of"),
    (["127.0.0.1", "127.0.0.1:2"], "host:port"),
    (["0.0.0.0:4100", "127.0.0.1:4101"], "all interfaces"),
    (["192.0.2.1:4100", "127.0.0.1:4101"], "give an address of this host"),
    (["127.0.0.1:0", "127.0.0.1:4101"], "no port"),
    ([7, 8], "one for each rank"),
])
def test_addresses_that_cannot_be_are_refused_with_the_way_out(photos, monkeypatch, peers, said):
    monkeypatch.setenv("FOREBAY_CLUSTER_TOKEN", TOKEN)
    with pytest.raises(fb.InvalidArgument, match=said):
        fb.Loader(pipeline(str(photos)), rank=0, world_size=2, peers=peers)


@pytest.mark.parametrize("token", ["", "short"])
def test_a_token_that_is_none_is_refused_with_the_way_out(photos, monkeypatch, token):
    monkeypatch.setenv("FOREBAY_CLUSTER_TOKEN", token)
    with pytest.raises(fb.InvalidArgument, match="openssl rand") as error:
        fb.Loader(pipeline(str(photos)), rank=0, world_size=2, peers=free_addresses(2))
    assert not token or f"'{token}'" not in str(error.value)


def test_a_port_that_is_taken_is_told(photos, monkeypatch):
    import socket

    monkeypatch.setenv("FOREBAY_CLUSTER_TOKEN", TOKEN)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(fb.Unavailable, match="the port is taken"):
            fb.Loader(pipeline(str(photos)), rank=0, world_size=2, peers=[address, "127.0.0.1:9"])


def test_one_rank_and_pipelines_without_a_cache_need_no_peers(photos, monkeypatch):
    monkeypatch.setenv("FOREBAY_CLUSTER_TOKEN", TOKEN)
    uncached = fb.images(str(photos)).decode_image().resize(8).batch(3)
    with fb.Loader(uncached, rank=0, world_size=2, peers=free_addresses(2)) as loader:
        assert len(loader) > 0
    with fb.Loader(pipeline(str(photos)), rank=0, world_size=1, peers=free_addresses(1)) as loader:
        assert len(loader) > 0


def test_loaders_that_are_open_at_once_meet_in_one_folder_each_with_its_own(photos, tmp_path):
    """Training and validation, whose ranks come to them at different times."""
    beginning = threading.Barrier(2)

    def run(rank):
        given = {"seed": 7, "rank": rank, "world_size": 2, "peers": f"file://{tmp_path}/job"}
        seen = []
        with fb.Loader(pipeline(str(photos), batch=3), **given) as training:
            first = epoch_of(training)
            time.sleep(0.2 * rank)
            for _ in range(2):  # anew each time, as after each epoch
                with fb.Loader(pipeline(str(photos), batch=2), **given) as validation:
                    seen += [set(epoch_of(validation)) for _ in range(2)]
                    beginning.wait(60)
            beginning.wait(60)
            return set(first), seen, sorted(path.name for path in (tmp_path / "job").iterdir())

    (first, seen, names), (second, seen_too, _) = on_ranks(2, run)
    assert len(first | second) == 21
    assert [len(one | other) for one, other in zip(seen, seen_too, strict=True)] == [21] * 4
    assert names == ["host-0-0", "host-0-0-meeting-1", "host-0-1", "host-0-1-meeting-1"]


@pytest.mark.parametrize("address", ["s3://bucket/job", "fil:///tmp/job", "http://10.0.0.1:4100"])
def test_what_is_no_way_to_meet_is_named(photos, address):
    with pytest.raises(fb.InvalidArgument, match=f"'{address}' is neither \"host:port\" nor a folder"):
        fb.Loader(pipeline(str(photos)), rank=0, world_size=2, peers=[address])


@pytest.mark.parametrize("differs, batch, seed", [("seed=8 .rank 0: 7.", 3, 8), ("batch size=4 .rank 0: 3.", 4, 7)])
def test_a_rank_that_has_another_run_than_rank_0_is_told(photos, tmp_path, differs, batch, seed):
    """Some samples would come twice, and others never."""
    told = threading.Event()

    def run(rank):
        given = {"seed": seed if rank == 1 else 7, "rank": rank, "world_size": 2, "peers": f"file://{tmp_path}/job"}
        with fb.Loader(pipeline(str(photos), batch=batch if rank == 1 else 3), **given) as loader:
            if rank == 0:
                return told.wait(60)
            with pytest.raises(fb.StateMismatch, match=f"^rank 1 has other settings than rank 0: {differs}; give all ranks the same"):
                while True:
                    for _ in loader:
                        pass
            told.set()

    assert on_ranks(2, run)[0]
