"""share= and together= with functions of the user's: a server in an interpreter runs them once for all its clients, and
batches, states and errors are those of a loader here."""
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import forebay as fb
from forebay._processes import current_worker
from loading import one_epoch
from sharing import ask, client, serving, wait_for


@pytest.fixture
def servers(monkeypatch):
    """Returns the status of each server of this test's host; they are ended with the test."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # paths of sockets are short
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)

        def running():
            told = map(ask, sorted(Path(folder, "forebay").glob("*.sock")))
            return [status for status in told if status is not None]

        yield running
        for status in running():
            os.kill(status["process"], signal.SIGKILL)


class Numbers:
    """A data set whose items depend on the epoch."""

    def __init__(self, count):
        self.count, self.epoch = count, 0

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return {"x": np.float32(index), "epoch": self.epoch}

    def set_epoch(self, epoch):
        self.epoch = epoch


def noisy(sample, rng):
    return {**sample, "noise": rng.normal(size=3).astype(np.float32)}


def arrays(tmp_path, count=40):
    np.save(tmp_path / "x.npy", np.arange(count, dtype=np.float32))
    return fb.arrays(x=str(tmp_path / "x.npy"))


def of_kind(kind, tmp_path):
    source, factor = arrays(tmp_path), np.float32(3)
    pipelines = {
        "map": lambda: source.shuffle().map(noisy, random=True).batch(4),
        "map of an epoch": lambda: source.shuffle().map(lambda sample, epoch: {**sample, "e": epoch}, epoch=True).batch(4),
        "filter": lambda: source.shuffle().filter(lambda sample: sample["x"] % 3 != 0).batch(4),
        "map_batch": lambda: source.shuffle().batch(4).map_batch(lambda batch: {"y": batch["x"] * factor}),
        "rows": lambda: source.shuffle().batch(4).map_batch(lambda batch: {"y": np.repeat(batch["x"], 2)}),
        "data set": lambda: fb.Dataset(Numbers(40)).shuffle().batch(4),
        "processes": lambda: source.shuffle().map(noisy, random=True, workers="processes").batch(4),
        "parts": lambda: fb.mix({"a": source, "b": fb.Dataset(Numbers(24)).map(lambda sample: {"x": -sample["x"]})}, weights={"a": 1, "b": 2})
        .map(noisy, random=True).batch(4),
    }
    return pipelines[kind]()


def shown(batch):
    fields = {name: batch[name] for name in batch}
    return batch.ids.tolist(), {name: value.tobytes() if isinstance(value, np.ndarray) else value for name, value in fields.items()}


@pytest.mark.parametrize("kind", ["map", "map of an epoch", "filter", "map_batch", "rows", "data set", "processes", "parts"])
@pytest.mark.parametrize("together", [False, True])
def test_batches_are_those_of_a_loader(kind, together, tmp_path, servers):
    pipeline = of_kind(kind, tmp_path)
    with fb.Loader(pipeline, seed=3) as here, fb.Loader(pipeline, seed=3, share="auto", together=together) as there:
        assert there.fingerprint == here.fingerprint and (len(there), there.size) == (len(here), here.size)
        for _ in range(2):
            for a, b in zip(here, there, strict=True):
                assert shown(a) == shown(b) and here.state_dict() == there.state_dict()
        steps = list(itertools.islice(there, 3))
        state = there.state_dict()
        rest = [shown(batch) for batch in there]
        assert len(steps) + len(rest) == len(there)
    for share in (None, "auto"):
        with fb.Loader(pipeline, seed=3, share=share, threads=1) as loader:
            loader.load_state_dict(state)
            assert [shown(batch) for batch in loader] == rest


def test_collated_objects_are_the_clients_own(tmp_path, servers):
    pipeline = arrays(tmp_path).shuffle().batch(4).collate(lambda samples: (np.stack([one["x"] for one in samples]), len(samples)))
    with fb.Loader(pipeline, seed=1) as here, fb.Loader(pipeline, seed=1, share="auto", together=2) as there, \
            fb.Loader(pipeline, seed=1, share="auto", together=2) as peer:
        for a, b, c in zip(here, there, peer, strict=True):
            assert a[0].tolist() == b[0].tolist() == c[0].tolist() and a[1] == b[1]
            b[0][:] = 0
            assert c[0].tolist() == a[0].tolist()


def test_a_collate_function_gets_the_tensors_of_output(tmp_path, servers):
    torch = pytest.importorskip("torch")
    pipeline = arrays(tmp_path).shuffle().batch(4).collate(lambda samples: torch.stack([one["x"] for one in samples]))
    with fb.Loader(pipeline, seed=1, output="torch") as here, fb.Loader(pipeline, seed=1, output="torch", share="auto") as there:
        for a, b in zip(here, there, strict=True):
            assert torch.equal(a, b)
            b += 1  # the memory of a server could not be written


PEER = """
    import itertools
    folder, peers, epochs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    known = {"cat", "dog", "horse", "cow", "sheep", "goat"}  # each process has another order

    class Item:
        def __init__(self, value):
            self.value = value

    def note(what, sample):
        with open(f"{folder}/{what}", "a") as file:
            file.write(f"{os.getpid()} {int(sample['x'])}\\n")

    def wanted(sample):
        note("filtered", sample)
        return sample["x"] != 7

    def work(sample):
        note("mapped", sample)
        assert len(known) == 6 and "cat" in {"cat", "dog", "horse"}
        return {"y": Item(sample["x"]).value * 2}

    pipeline = fb.arrays(x=f"{folder}/x.npy").shuffle().filter(wanted).map(work).batch(4)
    with fb.Loader(pipeline, seed=5, share="auto", together=peers, epochs=epochs) as loader:
        for batch in itertools.chain.from_iterable(itertools.repeat(loader, epochs)):
            say(json.dumps([batch.ids.tolist(), batch["y"].tolist()]))
"""


def test_peers_run_each_function_once(tmp_path, servers):
    expected = [[batch.ids.tolist(), batch["x"].tolist()] for batch in
                fb.Loader(arrays(tmp_path).shuffle().filter(lambda sample: sample["x"] != 7).batch(4), seed=5, epochs=1)]
    peers = [client(PEER, tmp_path, 3, 1, env={**os.environ, "PYTHONHASHSEED": str(rank)}) for rank in range(3)]
    lines = [peer.communicate(timeout=120)[0].splitlines() for peer in peers]
    assert lines[0] == lines[1] == lines[2]
    assert [[ids, [value / 2 for value in values]] for ids, values in map(json.loads, lines[0])] == expected
    for what, samples in {"filtered": set(range(40)), "mapped": set(range(40)) - {7}}.items():
        calls = [line.split() for line in (tmp_path / what).read_text().splitlines()]
        assert sorted(int(sample) for _, sample in calls) == sorted(samples)
        assert {int(process) for process, _ in calls}.isdisjoint(peer.pid for peer in peers)
        assert len({process for process, _ in calls}) == 1


def bad(sample):
    if sample["x"] == 17:
        raise KeyError("seventeen")
    return sample


def test_errors_come_to_every_peer(tmp_path, servers):
    pipeline = arrays(tmp_path).map(bad).batch(4)
    for loader in [fb.Loader(pipeline, share="auto", together=2) for _ in range(2)]:
        with pytest.raises(KeyError, match="seventeen") as error:
            list(loader)
        notes = "\n".join(error.value.__notes__)
        assert "in bad" in notes and "raise KeyError" in notes and "sample 17" in notes and "test_share_functions.bad" in notes
        loader.close()
    with fb.Loader(pipeline, on_error="skip") as here, fb.Loader(pipeline, share="auto", on_error="skip") as there:
        assert [len(batch) for batch in there] == [len(batch) for batch in here]
        assert there.errors() == here.errors()
    with pytest.raises(KeyError, match="seventeen"):
        fb.Loader(arrays(tmp_path).filter(lambda sample: bad(sample) is not None).batch(4), share="auto")


def test_a_traceback_has_the_lines_of_the_script(tmp_path, servers):
    arrays(tmp_path)
    script = tmp_path / "script.py"
    script.write_text("""
import sys
import forebay as fb

def fails(sample):
    raise ValueError("in the script")

with fb.Loader(fb.arrays(x=sys.argv[1]).map(fails).batch(4), share="auto") as loader:
    next(iter(loader))
""")
    told = subprocess.run([sys.executable, script, tmp_path / "x.npy"], capture_output=True, text=True).stderr
    assert f'File "{script}", line 6, in fails' in told and 'raise ValueError("in the script")' in told


IDENTITY = """
    import numpy as np
    from forebay._processes.identity import Identity

    class Names:
        kinds = {"a", "b", "c", "d"}

        def __init__(self, names):
            self.names, self.by_name, self.few = names, dict(names), names[:3]

        def __getitem__(self, index):
            return self.names[index], index in {"x", "y", "z"}, frozenset({("p", 1), ("q", 2)})

    def names(last):
        return [(f"{i}.jpg", i % 7) for i in range(4000)] + [(last, 0)]

    def held(value):
        return lambda sample: sample + value

    def labels(last):
        return [{"file": f"{i}.jpg", "box": [i, {"x": 0.5}]} for i in range(2000)] + [{"file": last, "box": None}]

    def hooks(name):  # functions that refer to the set that has them
        known = set()

        def hook(sample):
            return name, known

        known |= {hook, lambda: known, held(known)}
        return hook

    kinds = [lambda: Names(names("last.jpg")), lambda: held(1), lambda: held(np.arange(9)), lambda: held({"a", "b", "c"}), lambda: Names,
             lambda: held(labels("last.jpg")), lambda: hooks("a"), lambda: held({1, "a", 2.5, None, b"b"})]
    assert all(Identity(make()).digest == Identity(make()).digest for make in kinds)
    others = [Names(names("other.jpg")), held(2), held(np.arange(10)), held({"a", "b", "d"}), int,
              held(labels("other.jpg")), hooks("b"), held({1, "a", 2.5, None, b"c"})]
    assert all(Identity(make()).digest != Identity(other).digest for make, other in zip(kinds, others))
    say(json.dumps([Identity(make()).digest for make in kinds]))
"""


def test_equal_code_has_one_digest_in_all_processes():
    told = [client(IDENTITY, env={**os.environ, "PYTHONHASHSEED": str(seed)}).communicate(timeout=60)[0] for seed in (1, 2, 3)]
    assert told[0] == told[1] == told[2] and len(set(json.loads(told[0]))) == 8


OTHERS = """
    import numpy as np
    value = int(sys.argv[2])
    pipeline = fb.arrays(x=sys.argv[1]).map(lambda sample: {"y": sample["x"] + value}).batch(4)
    try:
        with fb.Loader(pipeline, share="auto", together=2) as loader:
            say(len(list(loader)))
    except fb.StateMismatch as error:
        say(str(error))
"""


def test_functions_that_differ_are_told(tmp_path, servers):
    """It takes the minute in which the others of either peer could still come."""
    arrays(tmp_path)
    peers = [client(OTHERS, tmp_path / "x.npy", value) for value in (0, 1)]
    for peer in peers:
        told = peer.communicate(timeout=180)[0]
        assert ".map(__main__.<lambda>) is not the same" in told and "together=" in told


VIEWS = """
    def view(number):
        return lambda sample: {"y": sample["x"] + number}

    data = fb.arrays(x=sys.argv[1])
    loaders = {}
    for number in map(int, sys.argv[2:]):
        loaders[number] = fb.Loader(data.map(view(number)).batch(4), epochs=1, share="auto", together=2)
        say("open")
        sys.stdin.readline()
    for number, loader in sorted(loaders.items()):
        with loader:
            say(json.dumps([batch["y"].tolist() for batch in loader]))
"""


def test_groups_of_unlike_functions_wait_beside_each_other(tmp_path, servers):
    """Two ranks open two views of one data set, in different orders."""
    arrays(tmp_path)
    peers = [client(VIEWS, tmp_path / "x.npy", *order, stdin=subprocess.PIPE) for order in ("01", "10")]
    for _ in range(2):  # neither opens its second one before the other has opened its first
        assert [peer.stdout.readline() for peer in peers] == ["open\n"] * 2
        for peer in peers:
            peer.stdin.write("\n")
            peer.stdin.flush()
    told = [list(map(json.loads, peer.communicate(timeout=120)[0].splitlines())) for peer in peers]
    rows = np.arange(40, dtype=np.float32).reshape(10, 4)
    assert told[0] == told[1] == [rows.tolist(), (rows + 1).tolist()]


def test_objects_of_collate_leave_the_window_by_their_bytes(tmp_path, servers):
    pipeline = arrays(tmp_path).batch(4).collate(lambda samples: bytes(64 << 20))  # four of them are retained
    with fb.Loader(pipeline, share="auto", together=True) as first:
        assert len(list(itertools.islice(first, 6))) == 6
        made = lambda: servers()[0]["together"]["batches_made"]
        wait_for(lambda: made() == 7)  # one ahead
        with fb.Loader(pipeline, share="auto", together=True) as late:
            next(iter(late))
            assert made() > 7, "the first one is made again"


def test_what_cannot_be_sent_is_refused(tmp_path, servers):
    file = open(tmp_path / "log", "w")
    with pytest.raises(fb.InvalidArgument, match=r"\.map\(.*'file'.*share=None"):
        fb.Loader(arrays(tmp_path).map(lambda sample: file.write("") or sample).batch(4), share="auto")
    with pytest.raises(fb.InvalidArgument, match="share=None"):
        fb.Loader(fb.arrays(x=np.arange(4)).map(noisy, random=True).batch(4), share="auto")
    with pytest.raises(fb.InvalidArgument, match="streams are not shared"):
        fb.Loader(fb.stream(lambda offset: iter([])).batch(4), share="auto")
    pipeline = arrays(tmp_path).batch(4).collate(lambda samples: open(os.devnull))
    with fb.Loader(pipeline, share="auto") as loader, pytest.raises(fb.InvalidArgument, match="share=None"):
        next(iter(loader))
    with serving(tmp_path / "s.sock"), pytest.raises(fb.InvalidArgument, match='share="auto"'):
        fb.Loader(arrays(tmp_path).map(noisy, random=True).batch(4), share=str(tmp_path / "s.sock"))


def test_a_large_array_around_a_function(tmp_path, servers):
    table = np.arange(20_000_000, dtype=np.float32)  # 80 MB
    pipeline = arrays(tmp_path).map(lambda sample: {"y": table[-1 - int(sample["x"])]}).batch(8)
    expected = one_epoch(pipeline)
    assert one_epoch(pipeline, share="auto") == expected == one_epoch(pipeline, share="auto", together=True)


def test_a_server_that_is_killed_is_replaced(tmp_path, servers):
    pipeline = arrays(tmp_path).shuffle().map(noisy, random=True).batch(4)
    with fb.Loader(pipeline, seed=2) as here:
        expected = [shown(batch) for _ in range(2) for batch in here]
    loaders = [fb.Loader(pipeline, seed=2, share="auto", together=2) for _ in range(2)]
    found, killed = [[], []], set()
    for _ in range(2):
        for step in zip(*loaders, strict=True):
            for number, batch in enumerate(step):
                found[number].append(shown(batch))
            if len(found[0]) in (3, 12):
                killed.add(servers()[0]["process"])
                os.kill(servers()[0]["process"], signal.SIGKILL)
    assert found == [expected, expected] and len(killed) == 2
    for loader in loaders:
        loader.close()


def test_a_function_that_ends_the_server_is_an_error(tmp_path, servers):
    pipeline = arrays(tmp_path).map(lambda sample: os._exit(7)).batch(4)
    with fb.Loader(pipeline, share="auto") as loader, pytest.raises(fb.Unavailable, match="in a row ended"):
        next(iter(loader))


def test_a_function_that_never_returns_ends_with_its_client(tmp_path, servers):
    arrays(tmp_path)
    process = client("""
        import pathlib
        called = pathlib.Path(sys.argv[2])
        def stays(sample):
            called.touch()
            time.sleep(100_000)
        with fb.Loader(fb.arrays(x=sys.argv[1]).map(stays).batch(4), share="auto") as loader:
            next(iter(loader))
    """, tmp_path / "x.npy", tmp_path / "called")
    wait_for((tmp_path / "called").exists, "the function is called")
    (server,) = servers()
    process.kill()
    process.communicate(timeout=60)
    wait_for(lambda: not Path(f"/proc/{server['process']}").exists(), "the server goes")  # to ask it would keep it


def test_a_peer_that_is_killed_holds_up_nobody(tmp_path, servers):
    arrays(tmp_path)
    peers = [client(PEER, tmp_path, 2, 50) for _ in range(2)]
    assert peers[0].stdout.readline() == peers[1].stdout.readline() != ""
    peers[0].kill()
    for _ in range(100):
        assert peers[1].stdout.readline() != ""
    peers[1].kill()
    for peer in peers:
        peer.communicate(timeout=60)


OF_MODULES = {
    "module": ("import inner_of_test\ndef change(sample):\n    return {'x': sample['x'] * inner_of_test.FACTOR}", "change"),
    "number": ("from inner_of_test import FACTOR\ndef change(sample):\n    return {'x': sample['x'] * FACTOR}", "change"),
    "number in a branch": ("try:\n    from inner_of_test import FACTOR\nfinally:\n    pass\ndef change():\n    return FACTOR",
                           "lambda sample: {'x': sample['x'] * change()}"),
    "cached": ("import functools\nfrom inner_of_test import FACTOR\n@functools.lru_cache\ndef change():\n    return FACTOR",
               "lambda sample: {'x': sample['x'] * change()}"),
}


@pytest.mark.parametrize("kind", OF_MODULES)
def test_an_edited_module_is_loaded_anew(kind, tmp_path, servers):
    arrays(tmp_path)
    transforms, function = OF_MODULES[kind]
    code = f"""
        from transforms_of_test import change
        with fb.Loader(fb.arrays(x="x.npy").map({function}).batch(40), share="auto") as loader:
            say(next(iter(loader))["x"].sum())
            sys.stdin.read()
    """
    (tmp_path / "transforms_of_test.py").write_text(transforms)
    told, running = [], []
    for factor in (1, 10):
        (tmp_path / "inner_of_test.py").write_text(f"FACTOR = {factor}.0")
        running.append(client(code, stdin=subprocess.PIPE, cwd=tmp_path, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}))
        told.append(float(running[-1].stdout.readline()))
    assert told == [780.0, 7800.0]
    for process in running:
        process.communicate(timeout=60)


def test_an_edit_during_a_job_never_changes_its_functions(tmp_path, servers):
    arrays(tmp_path, 4000)  # more than a server makes ahead
    file = tmp_path / "transforms_of_test.py"
    change = "def change(sample):\n    return {{'x': sample['x'] * 0 + {}}}"
    file.write_text(change.format(1))
    job = client("""
        import importlib, itertools
        import transforms_of_test

        def opened():
            pipeline = fb.arrays(x="x.npy").map(transforms_of_test.change).batch(4)
            return fb.Loader(pipeline, share="auto")

        def values(loader):
            try:
                return sorted({float(value) for batch in loader for value in batch["x"]})
            except fb.Error as error:
                return f"{type(error).__name__}: {error}"

        with opened() as training:
            say(values(itertools.islice(training, 2)))
            sys.stdin.readline()
            with opened() as validation:
                say(values(validation))
            sys.stdin.readline()
            say(values(training))
        importlib.reload(transforms_of_test)
        with opened() as loader:
            say(values(loader))
    """, stdin=subprocess.PIPE, cwd=tmp_path, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert job.stdout.readline() == "[1.0]\n"
    file.write_text(change.format(22))
    job.stdin.write("\n")
    job.stdin.flush()
    assert job.stdout.readline() == "[1.0]\n"
    (server,) = servers()
    os.kill(server["process"], signal.SIGKILL)
    told, after_reload = job.communicate("\n", timeout=60)[0].splitlines()
    assert told.startswith("InvalidArgument") and str(file) in told and "share=None" in told
    assert after_reload == "[22.0]"


OF_SCRIPT = """
import dataclasses, sys
import forebay as fb

@dataclasses.dataclass
class Batch:
    first: float

class Bad(Exception):
    pass

def first(samples):
    if not samples:
        raise Bad("no samples")
    return Batch(float(samples[0]["x"]))

def train(samples):
    return first(samples)

def val(samples):
    return Batch(-first(samples).first)

def fails(sample):
    raise Bad(f"of the script, and no {Batch.__name__}")

data = fb.arrays(x=sys.argv[1])
pipelines = {"train": data.batch(4).collate(train), "val": data.batch(4).collate(val), "fails": data.map(fails).batch(4)}
loaders = {}
for name in sys.argv[2:]:
    sys.stdin.readline()  # by turns
    loaders[name] = fb.Loader(pipelines[name], share="auto")
    print("open", flush=True)
sys.stdin.readline()
for name in ("train", "val"):
    with loaders[name] as loader:
        batches = list(loader)
        assert all(isinstance(batch, Batch) for batch in batches), batches
        print(name, sum(batch.first for batch in batches))
with loaders["fails"] as loader:
    try:
        next(iter(loader))
    except Bad as error:
        print(error)
"""


@pytest.mark.parametrize("first_job", [["fails", "train", "val"], ["fails", "val", "train"]])
def test_classes_of_a_script_are_those_of_each_client(first_job, tmp_path, servers):
    arrays(tmp_path)
    (tmp_path / "script.py").write_text(OF_SCRIPT)
    jobs = []
    for order in (first_job, ["val", "train", "fails"]):
        command = [sys.executable, "script.py", "x.npy", *order]
        jobs.append(subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    for _ in range(3):
        for job in jobs:
            job.stdin.write("\n")
            job.stdin.flush()
            assert job.stdout.readline() == "open\n"
    assert len(servers()) == 1
    for job in jobs:
        told = job.communicate("\n", timeout=60)[0].splitlines()
        assert told == ["train 180.0", "val -180.0", "of the script, and no Batch"]


def test_loaders_share_no_variables(tmp_path, servers):
    calls = []

    def count(sample):
        calls.append(sample["x"])
        return {"n": len(calls)}

    pipeline = arrays(tmp_path).map(count).batch(40)
    loaders = [fb.Loader(pipeline, seed=seed, share="auto", epochs=1) for seed in (1, 2)]
    for loader in loaders:
        with loader:
            assert max(next(iter(loader))["n"]) == 40
    assert calls == []


class LoadedOnce:
    """A function that a server can read, and cannot begin."""

    def __init__(self, path):
        self.path = path

    def __call__(self, sample):
        return sample

    def __setstate__(self, state):
        with open(state["path"], "x"):
            self.__dict__.update(state)


def test_functions_that_cannot_be_begun_are_told(tmp_path, servers):
    pipeline = arrays(tmp_path).map(LoadedOnce(str(tmp_path / "loaded"))).batch(4)
    with fb.Loader(pipeline, share="auto", on_error="skip") as loader:
        for _ in range(2):
            with pytest.raises(fb.Unavailable, match="cannot run the functions.*FileExistsError"):
                next(iter(loader))


def test_threads_limits_the_worker_processes_of_a_server(tmp_path, servers):
    pipeline = arrays(tmp_path).map(lambda sample: {"count": current_worker().count}, workers="processes").batch(40)
    for threads in (1, 3):
        with fb.Loader(pipeline, threads=threads, share="auto") as loader:
            assert set(next(iter(loader))["count"]) == {threads}


def of_the_process(sample):
    import stat

    print("printed by a function")
    files = [int(name) for name in os.listdir("/proc/self/fd")]
    kept = []
    for file in files:
        try:
            kept += [file] if os.get_inheritable(file) and stat.S_ISSOCK(os.fstat(file).st_mode) else []
        except OSError:  # the folder itself
            pass
    return {"torch": "torch" in sys.modules, "jax": os.environ["JAX_PLATFORMS"] == "cpu", "kept": len(kept)}


def test_the_process_of_a_server(tmp_path, servers, monkeypatch):
    pytest.importorskip("torch")
    with fb.Loader(arrays(tmp_path).map(of_the_process).batch(4), share="auto", output="torch") as loader:
        batch = next(iter(loader))
        assert not batch["torch"].any() and batch["jax"].all() and not batch["kept"].any()
        (log,) = Path(os.environ["XDG_RUNTIME_DIR"], "forebay").glob("*.log")
        assert "printed by a function\n" in log.read_text()


def test_the_memory_of_another_client_is_not_read(tmp_path):
    from forebay._processes.pool import to_memory
    from forebay._serving import _read
    from forebay._user_pipelines import file_number

    memory, lengths = to_memory("functions")
    number = file_number(memory)
    os.close(memory)
    with open(tmp_path / "other", "wb") as other:  # it gets the descriptor's number
        for path in (f"/proc/self/fd/{memory}", f"/proc/self/fd/{other.fileno()}"):
            with pytest.raises(fb.InvalidArgument, match="cannot read the functions.*share=None"):
                _read(path, number, list(lengths))


def nested(depth):
    value = None
    for _ in range(depth):
        value = Numbers(value)
    return value


def test_functions_that_cannot_be_compared_are_refused(tmp_path, servers):
    held = nested(200)
    with pytest.raises(fb.InvalidArgument, match=r"\.map\(.*RecursionError.*share=None"):
        fb.Loader(arrays(tmp_path).map(lambda sample: held and sample).batch(4), share="auto")


def test_clients_of_equal_functions_have_one_server(tmp_path, servers):
    pipelines = [arrays(tmp_path).shuffle().map(noisy, random=True).batch(size) for size in (4, 8)]
    expected = [one_epoch(pipeline, seed=1) for pipeline in pipelines]
    loaders = [fb.Loader(pipeline, seed=1, share="auto") for pipeline in pipelines]
    assert [fb.digest(loader) for loader in loaders] == expected
    (status,) = servers()
    assert len(status["clients"]) == 2 and {each["process"] for each in status["clients"]} == {os.getpid()}
    for loader in loaders:
        loader.close()
    wait_for(lambda: not servers()[0]["clients"], "clients have gone")


@pytest.mark.skipif(sys.platform != "linux", reason="memory files")
def test_a_closed_loader_leaves_no_descriptor(tmp_path, servers):
    pipeline = arrays(tmp_path).map(noisy, random=True).batch(4)
    one_epoch(pipeline, share="auto")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        one_epoch(pipeline, share="auto")
    assert len(os.listdir("/proc/self/fd")) <= before
