"""What is kept is read once: counted by the server, for few and for many objects, in one process and in jobs of several ranks."""
import contextlib
import threading

import pytest
from counting import EPOCHS, Objects, ids_of, opened, run_job, shouted

import forebay as fb

IN_MEMORY = {"ram": "64MiB", "disk": 0}


def sent_again(loader):
    store = loader.stats()["stores"][0]
    return store["hedges"] + store["retries"]


@contextlib.contextmanager
def read_once(objects, kind, **options):
    """Gives a function that opens loaders over one server. Its objects must be read once each, but for requests that the store sends a second time.

    A busy machine makes some of these, and the store bounds them to 1 % of its requests.
    """
    before = 0  # each bucket has a store of its own, and all lists of a process share one
    if kind == "list":
        with Objects(1) as other, opened(other.source(kind), IN_MEMORY, batch=1, epochs=1) as loader:
            before = sent_again(loader)
    with Objects(objects, **options) as server, contextlib.ExitStack() as open_until_the_end:
        loaders = []

        def open_loader(**given):
            loaders.append(open_until_the_end.enter_context(opened(server.source(kind), IN_MEMORY, **given)))
            return loaders[-1]

        yield open_loader
        store = loaders[-1].stats()["stores"][0]
        assert store["hedges"] <= 0.01 * store["requests"], f"{store['hedges']} hedged of {store['requests']} requests"
        reads, again = server.reads(), sent_again(loaders[-1]) - before
        assert objects <= reads <= objects + again, f"{reads} reads of {objects} objects, {again} requests sent again"


def all_of(objects, epochs=EPOCHS):
    return [list(range(objects))] * epochs


@pytest.mark.parametrize("mapped", [False, True], ids=["as stored", "mapped"])
@pytest.mark.parametrize("versions", [True, False], ids=["versions", "no versions"])
@pytest.mark.parametrize("kind", ["list", "bucket"])
@pytest.mark.parametrize("objects", [1, 2, 30, 250])
def test_one_rank_reads_every_object_once(objects, kind, versions, mapped):
    with read_once(objects, kind, versions=versions) as open_loader:
        loader = open_loader(batch=min(objects, 16), mapped=mapped, epochs=6)
        assert ids_of(loader, 6) == all_of(objects, 6)


@pytest.mark.parametrize("kind", ["list", "bucket"])
@pytest.mark.parametrize("objects", [3, 50])
def test_a_second_run_over_a_disk_cache_reads_nothing(objects, kind, tmp_path):
    on_disk = {"ram": 0, "disk": "64MiB", "dir": str(tmp_path)}
    with Objects(objects) as server:
        for reads in (objects, 0, 0):
            with opened(server.source(kind), on_disk, batch=3, epochs=EPOCHS) as loader:
                assert ids_of(loader, EPOCHS) == all_of(objects)
            assert server.reads() == reads
            assert max(server.heads.values(), default=0) <= 2, "an object is asked for its version once a run"


@pytest.mark.parametrize("kind", ["list", "bucket"])
def test_loaders_of_a_process_that_are_open_at_once_read_every_object_once(kind):
    objects = 120
    with read_once(objects, kind) as open_loader:
        loaders = [open_loader(batch=5 + i, epochs=2) for i in range(3)]
        took = [None] * len(loaders)

        def take(i):
            took[i] = ids_of(loaders[i], 2)

        threads = [threading.Thread(target=take, args=(i,)) for i in range(len(loaders))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert took == [all_of(objects, 2)] * len(loaders)


def test_a_loader_waits_for_no_other_whose_consumer_stands_still():
    """One thread takes from both in turn: were one to wait for the other's rows it would wait for ever."""
    objects = 90
    with read_once(objects, "bucket") as open_loader:
        standing, going = open_loader(batch=4, epochs=1), open_loader(batch=7, epochs=1)
        first = next(iter(standing)).ids.tolist()
        assert ids_of(going, 1) == all_of(objects, 1)
        assert sorted(first + ids_of(standing, 1)[0]) == list(range(objects))


def test_one_address_that_is_listed_many_times_is_read_once():
    with Objects(1) as server:
        files = fb.files(server.source("list")["urls"] * 40)
        with fb.Loader(files.shuffle().map(shouted, fields="bytes", version="1").cache(**IN_MEMORY).batch(8), epochs=2) as loader:
            assert ids_of(loader, 2) == all_of(40, 2)
        assert server.reads() == 1


@pytest.mark.parametrize("versions", [True, False], ids=["versions", "no versions"])
@pytest.mark.parametrize("kind", ["list", "bucket"])
@pytest.mark.parametrize("ranks, objects", [(2, 2), (2, 60), (3, 300), (4, 40)])
def test_ranks_with_peers_read_every_object_once_between_them(ranks, objects, kind, versions):
    with Objects(objects, versions=versions) as server:
        took = run_job(ranks, source=server.source(kind), cache=IN_MEMORY, batch=max(1, min(8, objects // ranks)), threads=1)
        assert [sorted(set(epoch)) for epoch in took] == all_of(objects)
        assert server.reads() <= 1.01 * objects


def test_caches_with_peers_none_ask_nobody():
    with Objects(40) as server:
        run_job(2, source=server.source("bucket"), cache={**IN_MEMORY, "peers": "none"}, batch=4, threads=1, shard_by="count")
        assert server.reads() > 1.01 * 40
