"""However a program ends, its worker processes end with it and leave nothing: kill -9, Ctrl-C, exit, fork."""
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from loading import interrupted_script, script

START = """
    import os, sys, time, threading
    import numpy as np
    import forebay as fb
    from forebay._processes import ProcessPool

    def do(function, *args):
        return function(*args)

    def sleep():
        try:
            pool.call(0, time.sleep, 60)
        except fb.Cancelled:
            pass

    pool = ProcessPool(lambda: do, 2, "test")
    pool.call(0, np.ones, 1_000_000)
    server = pool.call(0, os.getppid)
    print(*pool.pids, server, flush=True)
"""


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(pids, patience_s=45):
    """Whether all of these end by themselves."""
    deadline = time.monotonic() + patience_s
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not any(map(alive, pids))


def running(text):
    """A program with two idle workers, and the process ids of these and of the process they are forked from."""
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(START) + textwrap.dedent(text)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    return process, [int(pid) for pid in process.stdout.readline().split()]


BUSY = {
    "idle": "time.sleep(60)",
    "workers sleep": "pool.call(0, time.sleep, 60)",
    "workers compute": "pool.call(0, eval, 'sum(1 for i in iter(int, 1))')",
    "results on their way": "while True: pool.call(None, np.ones, 3_000_000)",
    "a forked child lives on": """
        if os.fork() == 0:
            os.close(1), os.close(2)
            time.sleep(5)
            os._exit(0)
        time.sleep(60)
        """,
}


@pytest.mark.parametrize("name", list(BUSY))
def test_kill_9_of_the_program_leaves_no_process_and_no_shared_memory(name):
    before = sorted(os.listdir("/dev/shm"))
    process, pids = running(BUSY[name])
    assert len(pids) == 3 and all(map(alive, pids))
    process.kill()
    process.communicate(timeout=120)
    assert gone(pids)
    assert sorted(os.listdir("/dev/shm")) == before


def test_kill_9_of_the_fork_server_ends_the_workers_and_the_program_gets_new_ones():
    process, (first, second, server) = running("""
        import forebay._processes as processes
        while open(f"/proc/{server}/stat").read().split(")")[1].split()[0] != "Z":  # until the test has killed it
            time.sleep(0.01)
        for worker in range(2):
            try:
                pool.call(worker, os.getpid)
                print("answered")
            except processes.WorkerDied as error:
                print("died")
        print(all(pool.call(i, os.getpid) == pool.pids[i] for i in range(2)))
    """)
    os.kill(server, signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert out == "died\ndied\nTrue\n", err
    assert process.returncode == 0 and err == ""
    assert gone([first, second])


@pytest.mark.parametrize("how", ["pass", "sys.exit(0)", "keep = [pool]; keep.append(keep)", "del pool", "pool.close()",
                                 "threading.Thread(target=pool.call, args=(0, time.sleep, 0.3)).start()",
                                 "threading.Thread(target=sleep, daemon=True).start()",
                                 "kept = [pool.call(0, np.ones, 1_000_000) for _ in range(20)]"])
def test_the_interpreter_exits_with_a_live_pool(how):
    process, pids = running(how)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (0, "", "")
    assert gone(pids)


def test_warnings_as_errors_and_no_resource_is_lost():
    outcome = script("""
        import gc, sys
        import numpy as np
        from forebay._processes import ProcessPool

        for _ in range(3):
            with ProcessPool(lambda: np.ones, 2, "test") as pool:
                kept = pool.call(0, 1_000_000)
        dropped = ProcessPool(lambda: np.ones, 1, "test")
        del dropped
        gc.collect()
        assert not any("multiprocessing" in name for name in sys.modules if name.endswith("resource_tracker"))
    """, python=["-X", "dev", "-W", "error"])
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")


def test_ctrl_c_is_the_programs_alone():
    outcome = interrupted_script("""
        import os, time
        import numpy as np
        import forebay as fb

        def slow(sample):
            time.sleep(0.05)
            return sample

        loader = fb.Loader(fb.arrays(x=np.arange(2000)).map(slow, workers="processes").batch(4), threads=2)
        iterator = iter(loader)
        next(iterator)
        print("ready", flush=True)
        try:
            for batch in iterator:
                pass
        except KeyboardInterrupt:
            print("interrupted", len(next(iterator)))
        loader.close()
    """, group=True)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "interrupted 4\n"


def test_ctrl_c_in_the_middle_of_a_call_and_the_pool_goes_on():
    outcome = interrupted_script("""
        import time
        from forebay._processes import ProcessPool

        def do(function, *args):
            return function(*args)

        with ProcessPool(lambda: do, 1, "test") as pool:
            pool.call(0, len, "")
            print("ready", flush=True)
            try:
                pool.call(0, time.sleep, 60)
            except KeyboardInterrupt:
                print([pool.call(0, len, "x" * n) for n in range(3)])
    """, group=True)
    assert (outcome.code, outcome.out, outcome.err) == (0, "[0, 1, 2]\n", "")


def test_a_forked_child_cannot_use_the_pool_and_ends_without_harm_to_it():
    outcome = script(START + """
    child = os.fork()
    if child == 0:
        try:
            pool.call(0, len, "")
        except fb.InvalidArgument as error:
            assert "fork" in str(error)
        else:
            os._exit(1)
        pool.close()
        with ProcessPool(lambda: do, 1, "own") as own:
            assert own.call(0, len, "abc") == 3
            assert own.pids[0] not in pool.pids
        sys.exit(0)
    print(os.waitpid(child, 0)[1], pool.call(0, len, "ab"), pool.call(1, os.getppid) == server)
    """)
    assert outcome.code == 0 and outcome.err == ""
    assert outcome.out.splitlines()[-1] == "0 2 True"


def test_a_fork_while_other_threads_are_in_calls():
    outcome = script(START + """
    def work():
        while True:
            pool.call(None, np.ones, 50_000)

    for _ in range(3):
        threading.Thread(target=work, daemon=True).start()
    for _ in range(20):
        child = os.fork()
        if child == 0:
            pool.close()
            with ProcessPool(lambda: do, 1, "own") as own:
                assert own.call(0, len, "abc") == 3
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    print("done")
    """)
    assert outcome.code == 0, outcome.err
    assert outcome.out.splitlines()[-1] == "done"


def test_closing_wakes_calls_that_wait_for_an_answer_or_for_a_worker():
    outcome = script(START + """
    said = []

    def call():
        try:
            pool.call(0, time.sleep, 60)
        except fb.Cancelled:
            said.append("cancelled")

    waiting = [threading.Thread(target=call) for _ in range(3)]
    for thread in waiting:
        thread.start()
    pool.close(0.2)
    for thread in waiting:
        thread.join(60)
    print(said)
    """)
    assert outcome.code == 0 and outcome.err == ""
    assert outcome.out.splitlines()[-1] == "['cancelled', 'cancelled', 'cancelled']"
