"""What a fork separates and what it leaves shared, beside PyTorch's loader."""
import multiprocessing
import os

import pytest

torch = pytest.importorskip("torch", reason="PYTORCH ABSENT: the drop-in cannot be compared with PyTorch's DataLoader")
data = torch.utils.data

from forebay.torch import DataLoader  # noqa: E402

both = pytest.mark.parametrize("cls", [DataLoader, data.DataLoader], ids=["forebay", "torch"])


class Rows(data.Dataset):
    def __len__(self):
        return 60


class Scratch(Rows):
    """Works in a buffer of its own, as a decoder does."""

    def __init__(self):
        self.buffer = [0] * 50

    def __getitem__(self, i):
        for at in range(len(self.buffer)):
            self.buffer[at] = i
            sum(range(200))
        return sum(self.buffer) // len(self.buffer)


class File(Rows):
    """Opened in the constructor: workers share its position only if somebody seeks in one of them while another reads."""

    def __init__(self, path):
        self.path, self.file = path, open(path, "rb", buffering=0)

    def __getitem__(self, i):
        return int.from_bytes(os.pread(self.file.fileno(), 4, 4 * i), "little")


class Reopened(File):
    """Opened again for each worker by its own position in the one buffer."""

    def __init__(self, path):
        super().__init__(path)
        self.place = [0]

    def __getitem__(self, i):
        self.place[0] = 4 * i
        sum(range(500))
        return int.from_bytes(os.pread(self.file.fileno(), 4, self.place[0]), "little")


class Seeks(File):
    """Right as long as nobody else moves the position between the two calls."""

    def __getitem__(self, i):
        self.file.seek(4 * i)
        sum(range(500))
        return int.from_bytes(self.file.read(4), "little")


class Counts(Rows):
    """Each item gives a semaphore of the program's one more."""

    def __init__(self, semaphore):
        self.semaphore = semaphore

    def __getitem__(self, i):
        self.semaphore.release()
        return i


class Opened(Rows):
    handle = None

    def open(self, worker_id):
        self.handle = f"of {os.getpid()}"

    def __getitem__(self, i):
        return self.handle == f"of {os.getpid()}"


class Cached(Rows):
    """Looks its worker up once."""

    worker = None

    def __getitem__(self, i):
        self.worker = data.get_worker_info().id if self.worker is None else self.worker
        return self.worker


class Count(Rows):
    def __init__(self):
        self.calls = 0

    def __getitem__(self, i):
        self.calls += 1
        return self.calls


class Shared(Rows):
    def __init__(self, value):
        self.value = value

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return int(self.value[0]) if isinstance(self.value, torch.Tensor) else self.value.value


@both
@pytest.mark.parametrize("workers", [1, 2])
def test_row_2_a_scratch_buffer_belongs_to_a_worker(cls, workers):
    assert torch.cat(list(cls(Scratch(), 5, num_workers=workers))).tolist() == list(range(60))


@both
@pytest.mark.parametrize("kind", [File, Reopened])
def test_row_2_a_file_that_was_opened_before(cls, kind, tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(b"".join(i.to_bytes(4, "little") for i in range(60)))
    assert torch.cat(list(cls(kind(path), 5, num_workers=2))).tolist() == list(range(60))


@both
def test_row_2_a_workers_file_position_is_moved_by_nobody_else(cls, tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(b"".join(i.to_bytes(4, "little") for i in range(60)))
    assert torch.cat(list(cls(Seeks(path), 5, num_workers=1, shuffle=False))).tolist() == list(range(60))


@both
def test_row_2_calls_of_a_worker_come_one_after_another(cls):
    seen = [batch.tolist() for batch in cls(Count(), 5, num_workers=1)]
    assert sum(seen, []) == list(range(1, 61))


@both
def test_row_2_the_programs_own_data_set_is_not_touched(cls):
    rows = Count()
    list(cls(rows, num_workers=2))
    assert rows.calls == 0


@both
@pytest.mark.parametrize("persistent", [False, True])
def test_row_3_shared_memory_stays_shared(cls, persistent):
    """Hugging Face's set_epoch() writes into such a tensor."""
    epoch = torch.zeros(1, dtype=torch.int64).share_memory_()
    loader = cls(Shared(epoch), num_workers=2, persistent_workers=persistent)
    seen = []
    for number in (3, 5):
        epoch.fill_(number)
        seen.append([int(batch) for batch in loader])
    assert seen == [[3] * 4, [5] * 4]


@both
@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_row_11_values_of_multiprocessing_are_shared(cls, context):
    value = multiprocessing.get_context(context).Value("i", 0)
    loader = cls(Shared(value), num_workers=1, persistent_workers=True, multiprocessing_context=context)
    seen = []
    for number in (3, 5):
        value.value = number
        seen.append([int(batch) for batch in loader])
    assert seen == [[3] * 4, [5] * 4]


@both
@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_row_11_semaphores_are_shared(cls, context):
    semaphore = multiprocessing.get_context(context).Semaphore(0)
    loader = cls(Counts(semaphore), 5, num_workers=2, multiprocessing_context=context)
    assert torch.cat(list(loader)).tolist() == list(range(60))
    assert [semaphore.acquire(block=False) for _ in range(61)] == [True] * 60 + [False]


@both
@pytest.mark.parametrize("closure", [False, True])
def test_row_6_worker_init_fn_acts_on_what_is_read(cls, closure):
    rows = Opened()
    init = (lambda worker_id: rows.open(worker_id)) if closure else rows.open
    assert all(batch.all() for batch in cls(rows, 5, num_workers=2, worker_init_fn=init))
    assert rows.handle is None


@both
def test_row_11_what_a_data_set_remembers_of_its_worker_stays_true(cls):
    seen = [batch.tolist() for batch in cls(Cached(), 5, num_workers=3)]
    assert seen == [[number % 3] * 5 for number in range(12)]
