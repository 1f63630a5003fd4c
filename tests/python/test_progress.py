"""`Loader(progress=True)`: what a terminal, a log and a notebook show of an epoch, and how often."""
import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import textwrap
import types

import numpy as np
import pytest

import forebay as fb
from forebay._progress import Log, Notebook, Terminal
from forebay._progress.figures import Figures
from forebay._progress.progress import Progress


class Clock:
    """Stands still until a test moves it."""

    now_s = 1000.0

    def __call__(self):
        return self.now_s


class Display:
    """Notes what it is given."""

    period_s, live = 0.1, True

    def __init__(self):
        self.seen, self.ended = [], 0

    def show(self, figures):
        self.seen.append(figures)

    def end(self):
        self.ended += 1


def loader(rows=40, batch=4, **options):
    return fb.Loader(fb.arrays(x=np.arange(rows)).batch(batch), **options)


def run(of, display, seconds_per_batch):
    """One epoch whose batches take a while each, by the clock of the display. Returns the batches' ids."""
    clock = Clock()
    ids = []
    for batch in Progress(of, iter(of), display, clock):
        ids.append(batch.ids.tolist())
        clock.now_s += seconds_per_batch
    return ids


def test_it_is_drawn_at_most_ten_times_a_second():
    display = Display()
    with loader(400, 4) as of:
        run(of, display, 0.01)  # 100 batches in a second
    assert 10 <= len(display.seen) <= 12  # the beginning and the end, too
    assert display.ended == 1


def test_the_batches_are_those_without_progress():
    with loader() as plain, loader() as of:
        assert run(of, Display(), 1) == [batch.ids.tolist() for batch in plain]


def test_figures_of_an_epoch():
    display = Display()
    with loader(40, 4) as of:
        run(of, display, 2.0)
    first, last = display.seen[0], display.seen[-1]
    assert (first.batches, first.total, first.share, first.seconds_left) == (0, 10, 0.0, None)
    assert (last.epoch, last.batches, last.samples, last.share, last.seconds_left) == (0, 10, 40, 1.0, 0)
    middle = display.seen[5]  # the first batch came at once, later ones after two seconds each
    assert (middle.batches, middle.seconds, middle.samples_per_second) == (6, 10.0, 2.4)
    assert middle.seconds_left == pytest.approx(4 * 10 / 6)


def test_padding_is_not_counted_as_samples():
    display = Display()
    with fb.Loader(fb.arrays(x=np.arange(10)).batch(4, last="pad")) as of:
        run(of, display, 1.0)
    assert display.seen[-1].samples == 10


def test_after_a_resume_it_begins_where_the_epoch_stands():
    display = Display()
    with loader() as before, loader() as of:
        for batch in before:
            if batch.step == 4:
                break
        of.load_state_dict(before.state_dict())
        run(of, display, 1.0)
    assert (display.seen[1].batches, display.seen[1].total, display.seen[1].here) == (7, 10, 2)


def test_what_the_trainer_waits_for(monkeypatch):
    display = Display()
    with loader(8, 4) as of:
        core = types.SimpleNamespace(limit=lambda: ("storage", 0.25))
        fake = types.SimpleNamespace(epoch=0, closed=False, _core=core)
        list(Progress(fake, iter(of), display, Clock()))
    assert str(display.seen[-1]).endswith("waits 25 % for storage")
    assert str(Figures(0, 1, 2, 1, 4, 1.0, "user_code", 0.5)).endswith("waits 50 % for your function")
    assert str(Figures(0, 1, 2, 1, 4, 1.0, "trainer", 0.01)).endswith("waits 1 %")


def slow(sample):
    return {"x": sum(range(200_000)) + sample["x"]}


def test_the_engine_names_the_limit():
    """Figures since the last call: a function of the user's that all wait for."""
    with fb.Loader(fb.arrays(x=np.arange(64)).map(slow).batch(4), threads=1) as of:
        of._core.limit()
        list(of)
        limit, share = of._core.limit()
        assert limit == "user_code" and 0 < share <= 1.1
        assert of._core.limit()[0] == "trainer", "nothing was waited for since"


@pytest.mark.parametrize("leave", ["break", "error"])
def test_the_display_ends_with_a_loop_that_is_left(leave):
    display = Display()
    with loader() as of:
        progress = Progress(of, iter(of), display, Clock())
        next(progress)
        if leave == "break":
            del progress
        else:
            of.close()
            with pytest.raises(fb.Error):
                next(progress)
        assert display.ended == 1 and display.seen[-1].batches == 1


def test_a_display_that_cannot_be_written_to_ends_and_the_batches_go_on():
    stream = io.StringIO()
    stream.close()
    with loader() as of:
        assert len(run(of, Terminal(stream), 1.0)) == 10


def test_a_stream_without_an_end_has_no_share_and_no_time_left():
    def numbers(offset):
        while True:
            yield {"x": offset}
            offset += 1

    display, clock = Display(), Clock()
    with fb.Loader(fb.stream(numbers).batch(4)) as of:
        for batch in Progress(of, iter(of), display, clock):
            clock.now_s += 1
            if batch.step == 2:
                break
    assert re.fullmatch(r"epoch 0: 3 batches, \d+ samples/s, waits \d+ %.*", str(display.seen[-1]))


# The line


@pytest.mark.parametrize("width", [0, 1, 10, 40, 79, 200])
def test_a_line_is_never_longer_than_the_terminal(width):
    line = Figures(0, 20, 59, 20, 1280, 3.0, "storage", 0.5).line(width)
    assert len(line) <= width and "\n" not in line


def test_the_bar_shows_the_share_of_the_epoch():
    for batches in range(11):
        line = Figures(0, batches, 10, batches, batches, 1.0).line(120)
        bar = re.search(r"\[(.+)\]", line)[1]
        assert bar.count("=") == int(batches / 10 * len(bar)) and f"{10 * batches:3}%" in line


@pytest.mark.parametrize("seconds, text", [(7, "0:07"), (67.4, "1:07"), (7384, "2:03:04")])
def test_time_left(seconds, text):
    assert f"{text} left" in str(Figures(0, 1, 2, 1, 4, seconds))


# Terminal, log and notebook


def test_a_terminal_has_one_line_that_is_drawn_anew():
    stream = io.StringIO()
    with loader() as of:
        run(of, Terminal(stream), 1.0)
    text = stream.getvalue()
    assert text.count("\n") == 1 and text.endswith("\n") and text.count("\r") == 11
    assert all(len(line.removesuffix("\x1b[K")) < 80 for line in text.strip().split("\r"))


def test_a_log_has_a_line_every_thirty_seconds():
    stream = io.StringIO()
    with loader() as of:
        run(of, Log(stream), 7.0)  # 70 seconds
    lines = stream.getvalue().splitlines()
    assert [re.search(r"(\d+) of 10 batches", line)[1] for line in lines] == ["6", "10"]
    assert "\r" not in stream.getvalue() and "\x1b" not in stream.getvalue()


def test_a_notebook_has_one_display_that_is_updated(monkeypatch):
    shown, updated = [], []

    def display(value, display_id):
        assert display_id is True
        shown.append(value)
        return types.SimpleNamespace(update=updated.append)

    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    with loader() as of:
        run(of, Notebook(), 1.0)
    assert len(shown) == 1 and len(updated) == 10
    assert 'value="1.0000"' in updated[-1]._repr_html_() and "10 of 10 batches" in updated[-1]._repr_html_()


@pytest.mark.parametrize("kernel", [True, False])
def test_a_notebook_is_known_by_its_kernel(kernel, monkeypatch):
    shell = types.SimpleNamespace(kernel=object()) if kernel else types.SimpleNamespace()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=lambda figures, display_id: None))
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with loader(progress=True) as of:
        assert type(iter(of)._display) is (Notebook if kernel else Log)


# The option


def test_without_it_nothing_is_in_the_way_of_a_step():
    with loader() as of:
        assert type(iter(of)).__name__ == "_Pass"


def test_only_rank_0_shows_any():
    with loader(progress=True, rank=0, world_size=2) as first, loader(progress=True, rank=1, world_size=2) as second:
        assert isinstance(iter(first), Progress) and not isinstance(iter(second), Progress)


def test_without_a_stderr_nothing_is_shown(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with loader(progress=True) as of:
        assert len(list(of)) == 10


PROGRAM = """
    import numpy as np, forebay as fb
    with fb.Loader(fb.arrays(x=np.arange(40)).batch(4), progress=True) as loader:
        for _ in range(2):
            for batch in loader:
                pass
"""


def program(stderr):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(PROGRAM)], stdout=subprocess.PIPE, stderr=stderr, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout == "", "standard output is the program's own"
    return done.stderr


def test_a_program_on_a_terminal():
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 40, 160, 0, 0))  # rows, columns
    try:
        program(theirs)
        text = os.read(ours, 65536).decode()
    finally:
        os.close(theirs)
        os.close(ours)
    lines = [line.split("\r")[-1] for line in text.strip().split("\r\n")]
    assert [line.split("[")[0] for line in lines] == ["epoch 0 100% ", "epoch 1 100% "]
    assert all("10 of 10 batches" in line and "samples/s" in line for line in lines)


def test_a_program_in_a_pipe():
    lines = program(subprocess.PIPE).splitlines()
    assert [line.split(",")[0] for line in lines] == ["epoch 0 100%: 10 of 10 batches", "epoch 1 100%: 10 of 10 batches"]
