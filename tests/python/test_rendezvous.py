"""Ranks find each other through what their launcher runs: replacements for it here, and the real ones where they are installed."""
import os
import signal
import subprocess
import sys
import threading
import types

import pytest

import forebay as fb
from forebay import _rendezvous


class Store:
    """As torch's TCPStore: what is asked for is waited for."""

    def __init__(self, wait_s=30):
        self._values, self._changed, self._wait_s = {}, threading.Condition(), wait_s

    def set(self, key, value):
        with self._changed:
            self._values[key] = value.encode()
            self._changed.notify_all()

    def get(self, key):
        with self._changed:
            if not self._changed.wait_for(lambda: key in self._values, self._wait_s):
                raise RuntimeError("Socket Timeout")
            return self._values[key]

    def keys(self):
        return sorted(self._values)


@pytest.fixture(autouse=True)
def no_meetings(monkeypatch):
    monkeypatch.setattr(_rendezvous, "_meetings", {})


def test_ranks_meet_in_a_store():
    store, met = Store(), {}

    def rank_meets(rank):
        environment = {"TORCHELASTIC_RUN_ID": f"job{rank // 3}", "TORCHELASTIC_RESTART_COUNT": "2"}
        _rendezvous._meetings.clear()
        met[rank] = _rendezvous.by_store(store, f"card {rank % 3}", rank % 3, 3, environment)

    threads = [threading.Thread(target=rank_meets, args=(rank,)) for rank in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert met == {rank: ["card 0", "card 1", "card 2"] for rank in range(3)}
    assert all(key.startswith("forebay/job0/2/") for key in store.keys())


def test_another_start_of_the_job_is_another_meeting():
    store = Store(wait_s=0.01)
    _rendezvous.by_store(store, "old", 0, 1, {"TORCHELASTIC_RESTART_COUNT": "0"})
    assert _rendezvous.by_store(store, "new", 0, 1, {"TORCHELASTIC_RESTART_COUNT": "1"}) == ["new"]
    assert _rendezvous.by_store(store, "next loader", 0, 1, {"TORCHELASTIC_RESTART_COUNT": "1"}) == ["next loader"]


def test_a_rank_that_does_not_come_is_named():
    with pytest.raises(fb.Unavailable, match="rank 1 of 2 has not come"):
        _rendezvous.by_store(Store(wait_s=0.01), "card", 0, 2, {})


def test_without_a_launcher_the_way_out_is_told():
    with pytest.raises(fb.InvalidArgument, match="file:///FOLDER"):
        _rendezvous.meet("card", 0, 2, {})


@pytest.mark.parametrize("variables, way", [
    ({"TORCHELASTIC_RUN_ID": "none"}, "call torch.distributed.init_process_group"),
    ({"OMPI_COMM_WORLD_SIZE": "2"}, "say `from mpi4py import MPI` before the loader is opened .pip install mpi4py., or give"),
    ({"SLURM_STEP_ID": "0"}, "srun --mpi=pmix` and say `from mpi4py import MPI` before")])
def test_what_a_launcher_lacks_is_told(variables, way):
    with pytest.raises(fb.InvalidArgument, match=f"{way}.*file:///FOLDER"):
        _rendezvous.meet("card", 0, 2, variables)


def test_an_mpi_that_has_other_ranks_is_told(monkeypatch):
    world = types.SimpleNamespace(Get_size=lambda: 1)
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", types.SimpleNamespace(Is_initialized=lambda: True, COMM_WORLD=world))
    with pytest.raises(fb.InvalidArgument, match=r"has 2 ranks \(mpi4py.MPI has 1\); start the ranks with `srun --mpi=pmix`"):
        _rendezvous.meet("card", 0, 2, {"SLURM_STEP_ID": "0"})


class Cluster:
    """As much of Ray as a worker of Ray Train's is asked for."""

    def __init__(self, monkeypatch, rank, ranks, broadcast):
        self.values, self.missing = {}, threading.Event()
        context = types.SimpleNamespace(get_world_rank=lambda: rank, get_world_size=lambda: ranks, get_local_world_size=lambda: ranks)
        store = types.SimpleNamespace(_internal_kv_put=self.put, _internal_kv_get=self.get)
        modules = {"ray": types.SimpleNamespace(), "ray.train": types.SimpleNamespace(get_context=lambda: context),
                   "ray.train.collective": types.SimpleNamespace(broadcast_from_rank_zero=broadcast),
                   "ray.experimental": types.SimpleNamespace(internal_kv=store)}
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, name, module)

    def put(self, key, value, namespace):
        self.values[namespace, key] = value.encode()

    def get(self, key, namespace):
        if (namespace, key) not in self.values:
            self.missing.set()
        return self.values.get((namespace, key))


def test_workers_of_ray_train_meet_in_its_store(monkeypatch):
    cluster = Cluster(monkeypatch, rank=1, ranks=2, broadcast=lambda data: "of rank 0")
    met = {}
    other = threading.Thread(target=lambda: met.update(cards=_rendezvous.meet("mine", 1, 2, {})))
    other.start()
    assert cluster.missing.wait(60)  # rank 0 has not come
    cluster.put("forebay/of rank 0/0", "of the other", "forebay")
    other.join()
    assert met["cards"] == ["of the other", "mine"]


def test_a_worker_of_ray_train_that_does_not_come_is_named(monkeypatch):
    Cluster(monkeypatch, rank=0, ranks=2, broadcast=lambda data: data)
    monkeypatch.setattr(_rendezvous, "WAIT_S", 0.01)
    with pytest.raises(fb.Unavailable, match="rank 1 of 2 has not come"):
        _rendezvous.meet("mine", 0, 2, {})


def test_a_worker_of_ray_train_knows_its_rank(photos, monkeypatch):
    from peering import pipeline

    # What started Ray on this host was a task of Slurm's.
    for name, value in {"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_STEP_ID": "0"}.items():
        monkeypatch.setenv(name, value)
    Cluster(monkeypatch, rank=2, ranks=5, broadcast=None)
    with fb.Loader(pipeline(str(photos))) as loader:
        assert (loader.rank, loader.world_size) == (2, 5)
        threads = loader.stats()["threads"]
    with fb.Loader(pipeline(str(photos)), rank=0, world_size=1) as loader:
        assert (loader.rank, loader.world_size) == (0, 1)
        assert threads == max(1, loader.stats()["threads"] // 5)  # of this host


def test_without_a_worker_of_ray_train_its_module_says_nothing(photos, monkeypatch):
    from peering import pipeline

    def get_context():
        raise RuntimeError("not a training function")

    monkeypatch.setitem(sys.modules, "ray.train", types.SimpleNamespace(get_context=get_context))
    with fb.Loader(pipeline(str(photos))) as loader:
        assert (loader.rank, loader.world_size) == (0, 1)


@pytest.mark.parametrize("place", [{}, {"MASTER_ADDR": "127.0.0.1"}, {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "x"}])
def test_variables_of_torchrun_that_are_left_over_are_named(place):
    with pytest.raises(fb.InvalidArgument, match="MASTER_ADDR and MASTER_PORT.*file:///FOLDER"):
        _rendezvous.meet("card", 0, 2, {"TORCHELASTIC_USE_AGENT_STORE": "True", **place})


def test_a_store_of_torchrun_that_is_not_there_is_told_at_once(photos, monkeypatch):
    from peering import free_addresses, pipeline

    port = free_addresses(1)[0].split(":")[1]
    for name, value in {"TORCHELASTIC_USE_AGENT_STORE": "True", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(fb.Unavailable, match=f"127.0.0.1:{port} .*start the program with torchrun, or .*file:///FOLDER") as raised:
        fb.Loader(pipeline(str(photos)), rank=0, world_size=2, peers="launcher")
    assert "Traceback" not in str(raised.value) and "\n" not in str(raised.value)


def test_what_a_process_group_raises_is_told_in_a_line(photos, monkeypatch):
    from peering import pipeline

    def all_gather_object(cards, card):
        raise RuntimeError("Connection closed by peer\nException raised from f at c.cpp:1\nframe #0: c10::Error::Error")

    group = types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: True, get_world_size=lambda: 2, all_gather_object=all_gather_object)
    monkeypatch.setitem(sys.modules, "torch.distributed", group)
    with pytest.raises(fb.Unavailable, match="process group of torch.distributed .RuntimeError: Connection closed by peer") as raised:
        fb.Loader(pipeline(str(photos)), rank=0, world_size=2, peers="launcher")
    assert "\n" not in str(raised.value)


def test_a_process_group_goes_first(monkeypatch):
    def all_gather_object(cards, card):
        cards[:] = [f"{card} of {rank}" for rank in range(len(cards))]

    group = types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: True, get_world_size=lambda: 2, all_gather_object=all_gather_object)
    monkeypatch.setitem(sys.modules, "torch.distributed", group)
    assert _rendezvous.meet("card", 0, 2, {}) == ["card of 0", "card of 1"]
    with pytest.raises(fb.InvalidArgument):
        _rendezvous.meet("card", 0, 3, {})


def test_who_waits_for_ranks_that_open_no_loader_is_told_so(monkeypatch, caplog):
    told = threading.Event()

    class Waiting:
        @staticmethod
        def allgather(card):
            assert told.wait(60)
            return [card, "another"]

        @staticmethod
        def Get_size():
            return 2

    def tell(way):
        really_tell(way)
        told.set()

    really_tell = _rendezvous._tell_waiting
    monkeypatch.setattr(_rendezvous, "SILENT_S", 0.01)
    monkeypatch.setattr(_rendezvous, "_tell_waiting", tell)
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", types.SimpleNamespace(COMM_WORLD=Waiting, Is_initialized=lambda: True))
    monkeypatch.delitem(sys.modules, "torch.distributed", raising=False)
    assert _rendezvous.meet("mine", 0, 2, {}) == ["mine", "another"]
    assert [record.getMessage() for record in caplog.records] == [
        'peers="launcher": still waiting for the other ranks in mpi4py.MPI; all of them have to open this loader, in the same order as their others']


def test_mpi_is_used_where_the_program_uses_it(monkeypatch):
    world = types.SimpleNamespace(Get_size=lambda: 2, allgather=lambda card: [card, card])
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", types.SimpleNamespace(Is_initialized=lambda: True, COMM_WORLD=world))
    assert _rendezvous.meet("card", 0, 2, {}) == ["card", "card"]


def test_ranks_meet_in_the_store_of_torch():
    distributed = pytest.importorskip("torch.distributed", reason="TORCH ABSENT")
    store = distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    environment = {"TORCHELASTIC_USE_AGENT_STORE": "True", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port)}
    assert _rendezvous.meet("card", 0, 1, environment) == ["card"]


def test_what_a_launcher_hands_out_is_checked(photos, monkeypatch):
    monkeypatch.setattr(_rendezvous, "meet", lambda card, rank, world: [card, "nonsense\n"])
    from peering import pipeline

    with pytest.raises(fb.Corrupt, match="expected the card of a host of a job"):
        fb.Loader(pipeline(str(photos)), rank=0, world_size=2, peers="launcher")


def test_a_launcher_that_is_not_there_is_told_when_the_loader_opens(photos):
    from peering import pipeline

    with pytest.raises(fb.InvalidArgument, match="file:///FOLDER"):
        fb.Loader(pipeline(str(photos)), rank=0, world_size=2, peers="launcher")


def test_loaders_of_one_process_meet_through_a_launcher_and_ask_each_other(photos, tmp_path, monkeypatch):
    from peering import epoch_of, pipeline, truth

    store = Store()
    monkeypatch.setenv("FOREBAY_CLUSTER_ADDRESS", "127.0.0.1")
    monkeypatch.setattr(_rendezvous, "meet", lambda card, rank, world: (_rendezvous._meetings.clear(), _rendezvous.by_store(store, card, rank, world, {}))[1])
    expected, got, stats = truth(photos, 3), [{}, {}, {}], {}
    together = threading.Barrier(2)

    def run(rank):
        # Caches of one folder are one within a process, so each has its own.
        kept = pipeline(str(photos), ram=0, disk="64MiB", dir=str(tmp_path / str(rank)))
        with fb.Loader(kept, seed=7, rank=rank, world_size=2, threads=1, peers="launcher") as loader:
            for epoch in range(3):
                got[epoch] |= epoch_of(loader)
                together.wait(60)
            stats[rank] = loader.stats()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == expected
    assert sum(each["caches"][0]["peer_hits"] for each in stats.values()) > 0


INTERRUPTED = """
import os, signal, sys, threading, time
import forebay as fb
from forebay import _rendezvous
from peering import pipeline

def meet(card, rank, world_size):
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    while True:  # as who asks a store again and again
        time.sleep(0.0005)

_rendezvous.meet = meet
try:
    fb.Loader(pipeline(sys.argv[1]), rank=0, world_size=2, peers="launcher")
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_while_ranks_have_not_come_ends_the_program_in_peace(photos):
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(__file__)}
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, str(photos)], capture_output=True, text=True, timeout=120, env=environment,
                          stdin=subprocess.DEVNULL,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))  # a shell may have had it ignored
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr


def test_a_loader_that_did_not_open_has_let_go_of_what_is_python_s(photos, monkeypatch):
    """Else the thread that opened it would drop that while the interpreter ends, which ended the process with it."""
    from peering import pipeline

    from forebay import _options

    class Meet:
        def __call__(self, card, rank, world_size):
            return [], "InvalidArgument", "nobody is there"

    def keep_busy():
        while not over.is_set():
            pass

    meet, over = Meet(), threading.Event()
    monkeypatch.setattr(_options, "_meet", meet)
    held = sys.getrefcount(meet)
    busy = threading.Thread(target=keep_busy)  # so that whoever wants the interpreter has to wait for it
    busy.start()
    try:
        for _ in range(20):
            with pytest.raises(fb.InvalidArgument, match="nobody is there"):
                fb.Loader(pipeline(str(photos)), rank=0, world_size=2, peers="launcher")
            assert sys.getrefcount(meet) == held
    finally:
        over.set()
        busy.join()


def test_a_worker_of_ray_train_writes_its_files_of_what_is_materialized(tmp_path, monkeypatch):
    from materializing_far import numbers

    for rank, complete in ((0, False), (1, True)):
        with monkeypatch.context() as patched:
            Cluster(patched, rank=rank, ranks=2, broadcast=None)
            made = fb.materialize(numbers(tmp_path), tmp_path / "made", cut="last", shards=4)
        assert made.complete == complete and 0 < made.written < 400
