"""Combinations of steps on several processes and hosts: one engine for the processes of a host, hosts that ask each other for what they have cached, and rows
that go to the rank that has them cached. None of this changes a sample, a byte or a state."""
import json
import threading
from collections import Counter
from itertools import islice
from types import SimpleNamespace

import cloudpickle
import numpy as np
import pytest
from combined_pipelines import CASES
from combining import EPOCH, Data, digests, rows_of, rows_of_batch, states_of, steps_of
from peering import TOKEN
from sharing import serving
from streaming import on_ranks

import forebay as fb
from forebay import _ray

SEED = 3
SHAREABLE = {name: case for name, case in CASES.items() if not case.functions}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return Data(tmp_path_factory.mktemp("hosts"))


def bucketed(d):
    return fb.mix({"a": d.numbers("a").shuffle(), "b": d.both("b").select("x", "label", "w", "length").sample(50)}).bucket(tokens=100, window=2, group=6)


def twice(sample):
    return {**sample, "x": sample["x"] * 2}


# One engine for the processes of a host


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    path = tmp_path_factory.mktemp("socket") / "s.sock"
    with serving(path):
        yield str(path)


@pytest.mark.parametrize("name", SHAREABLE)
def test_a_server_gives_the_same_samples_parts_and_bytes(name, data, server):
    case = SHAREABLE[name]
    pipeline = case.make(data).batch(7)
    alone = rows_of(pipeline, epochs=2, seed=SEED)
    assert rows_of(pipeline, epochs=2, seed=SEED, share=server) == alone
    assert rows_of(case.make(data).batch(4), 3, epochs=2, seed=SEED, share=server, together=True) == alone
    assert digests(pipeline, world=2, seed=SEED, share=server) == digests(pipeline, seed=SEED)
    # A server is one batch ahead, but not beyond the last epoch.
    with fb.Loader(pipeline, epochs=1, seed=SEED) as here, fb.Loader(pipeline, epochs=1, seed=SEED, share=server) as there:
        assert there.fingerprint == here.fingerprint
        for mine, shared in zip(here, there, strict=True):
            assert mine.part_names == shared.part_names == case.parts
            assert here.state_dict() == there.state_dict()
        counted = [{part["name"]: (part["samples"], part["passes"]) for part in loader.stats().get("parts", [])} for loader in (here, there)]
        assert counted[0] == counted[1] and list(counted[0]) == case.parts


@pytest.mark.parametrize("name", SHAREABLE)
def test_states_go_from_a_server_to_a_loader_and_back(name, data, server):
    case = SHAREABLE[name]
    whole = rows_of(case.make(data).batch(7), epochs=2, seed=SEED)
    for saved_by, loaded_by in ((server, None), (None, server)):
        for state in states_of(case.make(data).batch(5), world=2, seed=SEED, share=saved_by):
            assert rows_of(case.make(data).batch(3), 3, epochs=2, state=state, seed=SEED, share=loaded_by) == whole[state["position"] :]


def test_batches_of_like_lengths_come_from_a_server(data, server):
    alone = steps_of(bucketed(data), 2, epochs=2, seed=SEED)
    assert steps_of(bucketed(data), 2, epochs=2, seed=SEED, share=server) == alone


@pytest.mark.parametrize("together", [False, True])
def test_weights_change_in_a_server_as_in_a_loader(together, data, server):
    def mixed(**weights):
        return fb.mix({"one": data.zip("a").shuffle(), "two": data.both("b").shuffle().sample(30)}, weights=weights, samples=EPOCH).batch(8)

    even = mixed(one=1, two=1)
    with fb.Loader(even, seed=SEED) as here, fb.Loader(even, seed=SEED, share=server, together=together) as there, fb.Loader(even, seed=SEED) as later:
        for weights in ({"one": 1, "two": 1}, {"one": 3, "two": 1}, {"one": 0, "two": 1}):
            taken = []
            for loader in (here, there):
                loader.set_weights(weights)
                taken.append([row for batch in islice(loader, 5) for row in rows_of_batch(batch)])
            assert taken[0] == taken[1]
            assert here.state_dict() == there.state_dict()
        later.load_state_dict(json.loads(json.dumps(there.state_dict())))
        assert [rows_of_batch(batch) for batch in later] == [rows_of_batch(batch) for batch in there]
        for loader in (here, there):
            with pytest.raises(fb.InvalidArgument, match="'three', and there is no such part"):
                loader.set_weights({"three": 1})
    other = mixed(one=1, two=5)
    state = states_of(even, seed=SEED, share=server)[0]
    with fb.Loader(other, seed=SEED) as here, fb.Loader(other, seed=SEED, share=server, together=together) as there:
        for loader in (here, there):
            with pytest.raises(fb.StateMismatch, match='parts="changed"'):
                loader.load_state_dict(state)
            loader.load_state_dict(state, parts="changed")
        assert [rows_of_batch(batch) for batch in here] == [rows_of_batch(batch) for batch in there]


def test_weights_change_between_epochs_that_begin_anew(data, server):
    pipeline = fb.mix({"one": data.numbers("a"), "two": data.numbers("b")}, weights={"one": 1, "two": 1}, samples=EPOCH).batch(8)
    for share in (None, server):
        with fb.Loader(pipeline, share=share, restart=True) as loader:
            loader.set_weights({"one": 2, "two": 1})
            next(iter(loader))
            with pytest.raises(fb.InvalidArgument, match="restart=True"):
                loader.set_weights({"one": 1, "two": 1})


def test_places_of_parts_are_those_of_the_client(data, server, monkeypatch):
    monkeypatch.chdir(data.folder)
    pipeline = fb.mix({"web": fb.mix({"a": fb.jsonl("a.jsonl"), "b": fb.jsonl("b.jsonl")}), "code": fb.jsonl("c.jsonl")}).batch(7)
    assert digests(pipeline, share=server) == digests(pipeline)


def test_a_part_that_a_server_cannot_have_is_named(data, server):
    def with_part(own):
        return fb.mix({"web": fb.mix({"own": own, "other": data.numbers("b")}), "c": data.numbers("c")}).batch(4)

    with pytest.raises(fb.InvalidArgument, match=r"without Python.*twice.*share=\"auto\".*share=None"):
        fb.Loader(with_part(data.numbers("a").map(twice)), share=server)
    in_memory = fb.arrays(x=np.arange(9), label=np.arange(9), w=np.ones(9), length=np.arange(9))
    with pytest.raises(fb.InvalidArgument, match=r"(?s)step 0 of the part 'web/own': arrays.*share=None"):
        fb.Loader(with_part(in_memory), share=server)


@pytest.mark.parametrize("name", CASES)
def test_a_pipeline_goes_to_a_worker_of_ray_with_the_functions_of_its_parts(name, data):
    """Ray's own serialization is cloudpickle."""
    ray = SimpleNamespace(cloudpickle=cloudpickle)
    pipeline = CASES[name].make(data).batch(7)
    there = _ray._unpacked(_ray._packed(pipeline, ray), ray)
    assert str(there) == str(pipeline) and there.fingerprint == pipeline.fingerprint
    assert rows_of(there, seed=SEED) == rows_of(pipeline, seed=SEED)


# Rows that go where they are cached


@pytest.mark.parametrize("name", CASES)
def test_rows_that_go_where_they_are_cached_are_the_same_rows(name, data):
    case = CASES[name]
    alone = rows_of(case.make(data).batch(7), epochs=3, seed=SEED)
    options = {"seed": SEED, "shard_by": "locality", "hosts": 3}
    steps = steps_of(case.make(data).batch(4), 3, epochs=3, **options)
    assert sorted((row for step in steps for batch in step for row in batch), key=lambda row: (row.epoch, row.position)) == alone
    assert all(max(map(len, step)) - min(map(len, step)) <= 1 for step in steps), "equal steps"
    for state in states_of(case.make(data).batch(5), epochs=2, world=3, **options)[:2]:
        before = sum(row.epoch == 0 for row in alone) + state["position"]
        assert rows_of(case.make(data).batch(8), 2, epochs=3, state=state, **options | {"hosts": 2}) == alone[before:]


ALIKE = {
    "mix": lambda d: fb.mix({"a": d.zip("a").shuffle(), "b": d.both("b").shuffle()}, weights={"a": 1, "b": 2}, samples=EPOCH),
    "each once": lambda d: fb.mix({"a": d.zip("a").shuffle(), "b": d.both("b").shuffle()}),
    "concat": lambda d: fb.concat(d.zip("a").shuffle(), d.both("b").shuffle()),
    "drawn": lambda d: d.zip("b").shuffle().sample(200),
    "balanced": lambda d: d.numbers("b").shuffle().balance(samples=200),
    "repeated": lambda d: d.zip("b").shuffle().repeat(2.5),
    "parts of parts": lambda d: fb.mix({"p": fb.mix({"a": d.both("a").shuffle(), "b": d.zip("b").shuffle()}), "c": d.both("c").shuffle().sample(70)}),
}


def ranks_of(pipeline, **options):
    """For each sample the ranks that had it, epoch by epoch from the third on."""
    had = {}
    for step in steps_of(pipeline, 3, epochs=5, seed=SEED, **options):
        for rank, batch in enumerate(step):
            for row in batch:
                if row.epoch >= 2:
                    had.setdefault((row.part, row.id), Counter())[rank] += 1
    return had


def at_home(had):
    """The share of uses on the rank that has a sample most often."""
    return sum(max(ranks.values()) for ranks in had.values()) / sum(ranks.total() for ranks in had.values())


@pytest.mark.parametrize("name", ALIKE)
def test_a_sample_comes_to_one_rank_again_and_again(name, data):
    pipeline = ALIKE[name](data).batch(20)
    assert at_home(ranks_of(pipeline, shard_by="locality", hosts=3)) > 0.8
    assert at_home(ranks_of(pipeline, shard_by="count")) < 0.75
    cached = ALIKE[name](data).map(lambda sample: sample, version="1").cache(ram="1MiB", disk=0).batch(20)
    assert ranks_of(cached) == ranks_of(pipeline, shard_by="locality", hosts=3), "a cache in the memory of each process asks for it"


def test_which_rank_has_a_sample_stays_where_weights_change(data):
    pipeline = fb.mix({"a": data.numbers("a").shuffle(), "b": data.numbers("b").shuffle()}, weights={"a": 1, "b": 1}, samples=EPOCH).batch(20)
    had = {}
    for rank in range(3):
        with fb.Loader(pipeline, rank=rank, world_size=3, seed=SEED, shard_by="locality", hosts=3) as loader:
            for weights in ({"a": 1, "b": 1}, {"a": 1, "b": 3}, {"a": 2, "b": 1}):
                loader.set_weights(weights)
                for row in (row for batch in loader for row in rows_of_batch(batch)):
                    had.setdefault((row.part, row.id), Counter())[rank] += 1
    assert at_home(had) > 0.8


# Hosts that ask each other for what they have cached


def kept(pipeline, where):
    return pipeline.resize(24).cache(ram=0, disk="8MiB", dir=str(where))


CACHED = {
    "mix": lambda d, at: fb.mix({"one": kept(d.photos(), at).shuffle(), "two": kept(d.photos(), at).shuffle().sample(9)},
                                weights={"one": 2, "two": 1}, samples=48),
    "each once": lambda d, at: fb.mix({"one": kept(d.photos(), at).shuffle(), "two": kept(d.photos(), at).shuffle().balance(samples=14)}),
    "concat": lambda d, at: fb.concat(kept(d.photos(), at).shuffle(), kept(d.photos(), at).shuffle().repeat(1.5)),
    "cache behind": lambda d, at: kept(fb.mix({"one": d.photos().shuffle(), "two": d.photos().shuffle()}, weights={"one": 1, "two": 1}, samples=40), at),
    "zip": lambda d, at: fb.zip(image=d.photos(), mask=d.masks(), on="key").shuffle().resize(24, field=["image", "mask"]).cache(ram=0, disk="8MiB", dir=str(at)),
    "parts of a zip": lambda d, at: fb.zip(image=kept(d.photos(), at), mask=d.masks().cache(ram="8MiB", disk=0), on="key").shuffle().resize(24, field="mask"),
    "drawn": lambda d, at: kept(d.photos(), at).shuffle().sample(40),
    "balanced": lambda d, at: kept(d.photos(), at).shuffle().balance(samples=40),
    "repeated": lambda d, at: kept(d.photos(), at).shuffle().repeat(2.5),
    "split": lambda d, at: fb.split(kept(d.photos(), at), train=0.7, val=0.3)["train"].shuffle().repeat(3),
    "parts of parts": lambda d, at: fb.mix({"p": fb.mix({"one": kept(d.photos(), at).shuffle(), "two": kept(d.photos(), at).shuffle()}),
                                            "q": kept(d.photos(), at).shuffle().sample(20)}),
}  # fmt: skip


def run_of_hosts(tmp_path, monkeypatch, make, epochs=6, world=2, **options):
    """All rows of the hosts of a job, in order, and the counters of each host. Each has a cache of its own, on its disk."""
    monkeypatch.setenv("FOREBAY_CLUSTER_TOKEN", TOKEN)
    monkeypatch.setenv("FOREBAY_CLUSTER_ADDRESS", "127.0.0.1")
    epoch_ends = threading.Barrier(world)

    def run(rank):
        rows = []
        place = {"rank": rank, "world_size": world, "peers": f"file://{tmp_path}/job"}
        with fb.Loader(make(tmp_path / str(rank)), seed=SEED, epochs=epochs, **place, **options) as loader:
            for _ in range(epochs):
                rows += [row for batch in loader for row in rows_of_batch(batch)]
                epoch_ends.wait(60)
            return rows, loader.stats()

    told = on_ranks(world, run)
    rows = sorted((row for rows, _ in told for row in rows), key=lambda row: (row.epoch, row.position))
    return rows, [stats for _, stats in told]


def peer_hits(stats):
    return sum(cache["peer_hits"] for one in stats for cache in one["caches"])


@pytest.mark.parametrize("shard_by", ["count", "locality"])
@pytest.mark.parametrize("name", CACHED)
def test_hosts_get_from_each_other_what_they_have_cached(name, shard_by, data, tmp_path, monkeypatch):
    alone = rows_of(CACHED[name](data, tmp_path / "alone").random_flip().batch(3), epochs=6, seed=SEED)
    rows, stats = run_of_hosts(tmp_path, monkeypatch, lambda at: CACHED[name](data, at).random_flip().batch(3), shard_by=shard_by, hosts=2)
    assert rows == alone
    assert peer_hits(stats) > 0


def measured(d, at):
    """Pictures with numbers beside them, in batches by one of the numbers."""
    both = fb.zip(photos=d.photos(), numbers=d.fields("d", "length", "w"), end="first")
    return both.resize(24).cache(ram=0, disk="8MiB", dir=str(at)).shuffle().bucket(by="length", tokens=60, window=2, group=2)


def test_batches_of_like_lengths_come_from_hosts_that_ask_each_other(data, tmp_path, monkeypatch):
    alone = rows_of(measured(data, tmp_path / "alone"), epochs=6, seed=SEED)
    rows, stats = run_of_hosts(tmp_path, monkeypatch, lambda at: measured(data, at))
    assert rows == alone
    assert peer_hits(stats) > 0


def test_hosts_ask_each_other_after_weights_have_changed(data, tmp_path, monkeypatch):
    monkeypatch.setenv("FOREBAY_CLUSTER_TOKEN", TOKEN)
    monkeypatch.setenv("FOREBAY_CLUSTER_ADDRESS", "127.0.0.1")

    def run(loader, wait=lambda: None):
        rows = []
        for weights in ({"one": 1, "two": 0}, {"one": 1, "two": 1}, {"one": 1, "two": 3}):
            loader.set_weights(weights)
            for _ in range(2):
                rows += [row for batch in loader for row in rows_of_batch(batch)]
                wait()
        return rows

    def make(at):
        parts = {"one": kept(photos.shuffle(), at), "two": kept(photos.shuffle().sample(9), at)}
        return fb.mix(parts, weights={"one": 1, "two": 1}, samples=24).random_flip().batch(3)

    photos = data.photos()
    epoch_ends = threading.Barrier(2)

    def host(rank):
        with fb.Loader(make(tmp_path / str(rank)), seed=SEED, rank=rank, world_size=2, peers=f"file://{tmp_path}/job") as loader:
            return run(loader, lambda: epoch_ends.wait(60)), loader.stats()

    with fb.Loader(make(tmp_path / "alone"), seed=SEED) as loader:
        alone = run(loader)
    told = on_ranks(2, host)
    assert sorted((row for rows, _ in told for row in rows), key=lambda row: (row.epoch, row.position)) == alone
    assert peer_hits([stats for _, stats in told]) > 0


@pytest.mark.parametrize("shard_by", ["count", "locality"])
@pytest.mark.parametrize("name", ["drawn", "balanced", "repeated draws"])
def test_hosts_ask_each_other_after_weights_of_samples_have_changed(name, shard_by, data, tmp_path, monkeypatch):
    monkeypatch.setenv("FOREBAY_CLUSTER_TOKEN", TOKEN)
    monkeypatch.setenv("FOREBAY_CLUSTER_ADDRESS", "127.0.0.1")
    make = {**CACHED, "repeated draws": lambda d, at: kept(d.photos(), at).shuffle().sample(16).repeat(2.5)}[name]
    with fb.Loader(data.photos().select("key").batch(1)) as listed:
        samples = listed.size

    def run(loader, wait=lambda: None):
        rows = []
        for version in range(4):
            if version > 0:
                rows += [row for batch in islice(loader, 2) for row in rows_of_batch(batch)]
            loader.set_sampling(np.random.default_rng(version).random(samples), version=version)
            rows += [row for batch in loader for row in rows_of_batch(batch)]
            wait()
        return rows

    epoch_ends = threading.Barrier(2)

    def host(rank):
        options = {"seed": SEED, "rank": rank, "world_size": 2, "peers": f"file://{tmp_path}/job", "shard_by": shard_by, "hosts": 2}
        with fb.Loader(make(data, tmp_path / str(rank)).random_flip().batch(2), **options) as loader:
            return run(loader, lambda: epoch_ends.wait(60)), loader.stats()

    with fb.Loader(make(data, tmp_path / "alone").random_flip().batch(4), seed=SEED) as loader:
        alone = run(loader)
    told = on_ranks(2, host)
    assert sorted((row for rows, _ in told for row in rows), key=lambda row: (row.epoch, row.position)) == alone
    assert peer_hits([stats for _, stats in told]) > 0


def test_a_rank_with_other_weights_than_rank_0_is_told(data, tmp_path, monkeypatch):
    """Some samples would come twice, and others never."""
    monkeypatch.setenv("FOREBAY_CLUSTER_TOKEN", TOKEN)
    monkeypatch.setenv("FOREBAY_CLUSTER_ADDRESS", "127.0.0.1")
    told = threading.Event()

    def run(rank):
        pipeline = fb.mix({"a": data.numbers("a"), "b": data.numbers("b")}, weights={"a": 1 + rank, "b": 1}, samples=EPOCH).batch(4)
        with fb.Loader(pipeline, seed=SEED, rank=rank, world_size=2, peers=f"file://{tmp_path}/job") as loader:
            if rank == 0:
                return told.wait(60)
            with pytest.raises(fb.StateMismatch, match="rank 1 has other settings than rank 0: parts and draws=.*the parts of a mix, their weights"):
                while True:
                    for _ in loader:
                        pass
            return told.set()

    assert on_ranks(2, run)[0]
