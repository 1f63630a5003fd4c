"""Each file of a folder is opened once and read once an epoch: as the kernel sees it, and as the ledger says."""
import json
import sys

import pytest
from project import ROOT

sys.path.insert(0, str(ROOT))
from bench.harness import io_calls  # noqa: E402

FILES, EPOCHS = 30, 3
PROGRAM = """
import json, sys
import forebay as fb
folder, epochs, options = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
with fb.Loader(fb.files(folder + "/*.bin").shuffle().batch(4), epochs=epochs, seed=1, **options) as loader:
    samples = sum(len(batch) for _ in range(epochs) for batch in loader)
    (store,) = loader.stats()["stores"]
print(json.dumps([samples, store["opens"], store["cold_reads"], store["bytes"]]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one_opening")
    for number in range(FILES):
        (folder / f"{number:02}.bin").write_bytes(bytes(1 + number * 5000))
        (folder / f"{number:02}.bin").read_bytes()  # so that it is at hand
    return folder


def sizes(folder):
    return {str(path): path.stat().st_size for path in folder.iterdir()}


@pytest.mark.skipif(not io_calls.can_trace(), reason="STRACE ABSENT, or not allowed to look at programs")
@pytest.mark.parametrize("options", [{}, {"threads": 1}, {"storage_options": {"imitate_latency_ms": "1"}}])
def test_the_kernel_sees_one_opening_and_one_read_of_each_file_an_epoch(folder, tmp_path, options):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + "\nopen(sys.argv[4], 'w').write(json.dumps([samples, store]))\n")
    said = tmp_path / "said.json"
    calls = io_calls.traced([sys.executable, str(program), str(folder), str(EPOCHS), json.dumps(options), str(said)], folder)
    samples, store = json.loads(said.read_text())
    assert samples == FILES * EPOCHS
    assert calls.unseen == 0, "files are neither mapped nor asked of io_uring"
    assert sum(calls.opens.values()) == store["opens"], "the ledger says what the kernel sees"
    assert calls.read_bytes == {path: size * EPOCHS for path, size in sizes(folder).items()}, "nothing is read twice"
    assert calls.count == FILES * EPOCHS and calls.empty_reads == 0
    if options.get("storage_options") or store["cold_reads"] == 0:  # what had left the page cache is opened again by who may wait
        assert calls.opens == {path: EPOCHS for path in sizes(folder)}
    # Listing asks for the size of each file once; after that each opening is asked whether the size is still that.
    assert calls.asks <= FILES * (EPOCHS + 1)


LINES = """
openat(3</d>, "a.bin", O_RDONLY|O_CLOEXEC) = 4</d/a.bin>
openat2(AT_FDCWD</home>, "/d/a.bin", {flags=O_RDONLY}, 24) = 4</d/a.bin>
openat(AT_FDCWD</home>, "/d/absent", O_RDONLY) = -1 ENOENT (No such file or directory)
newfstatat(4</d/a.bin>, "", {st_mode=S_IFREG|0644, st_size=3, ...}, AT_EMPTY_PATH) = 0
preadv2(4</d/a.bin>, [{iov_base=""..., iov_len=150}], 1, 0, RWF_NOWAIT) = 150
read(4</d/a.bin>, ""..., 4096) = 100
read(4</d/a.bin>, "", 4096) = 0
read(5</elsewhere>, ""..., 4096) = 4096
mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 4</d/a.bin>, 0) = 0x7f0000000000
read(4</d/a.bin>, ""..., 4096) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)
+++ exited with 0 +++
"""


def test_calls_are_counted_by_file_and_size():
    calls = io_calls.count(LINES.splitlines(), "/d")
    assert calls.opens == {"/d/a.bin": 2}
    assert calls.asks == 1 and calls.empty_reads == 1 and calls.unseen == 1
    assert calls.reads == {"100-1K": 1, "0-100": 1}
    assert calls.read_bytes == {"/d/a.bin": 250}
