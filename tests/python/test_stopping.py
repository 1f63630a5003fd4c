"""Nothing hangs and nothing is left: Ctrl-C, break, exceptions, close, del, the interpreter's exit, and fork."""
import gc
import threading
import time
import warnings

import numpy as np
import pytest
from loading import descriptors, epoch_ids, interrupted_script, script, soon, threads

import forebay as fb


def numbers(n=200, batch=4):
    return fb.arrays(x=np.arange(n)).shuffle().batch(batch)


START = """
    import os, sys, time
    import numpy as np
    import forebay as fb

    def forever(sample):
        while True:
            time.sleep(0.01)

    class Stuck:
        def __len__(self):
            return 10
        def __getitem__(self, i):
            while True:
                time.sleep(0.01)

    numbers = fb.arrays(x=np.arange(1000))

    def run(loader, use):
        print("ready", flush=True)
        try:
            use(loader)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            LEAVE(7)
"""

STAGES = {
    "waiting for a map": "run(fb.Loader(numbers.map(forever).batch(4)), list)",
    "waiting for a Dataset": "run(fb.Loader(fb.Dataset(Stuck()).batch(4)), list)",
    "in the pass of a filter": "run(fb.Loader(numbers.filter(forever).batch(4)), len)",
    "opening": """
    slow = {"imitate_latency_ms": 60000}
    run(fb.images(sys.argv[1]).batch(4), lambda pipeline: fb.Loader(pipeline, storage_options=slow))""",
    "waiting for reads": """
    slow = {"imitate_latency_ms": 800}
    run(fb.Loader(fb.images(sys.argv[1]).decode_image().resize(16).batch(21), requests=1, storage_options=slow), list)""",
    "in the training step": "run(fb.Loader(numbers.batch(4)), lambda loader: [time.sleep(60) for batch in loader])",
    "computing": """
    big = fb.arrays(x=np.zeros((64, 1 << 16)))
    def use(loader):
        while True:
            for batch in loader:
                pass
    run(fb.Loader(big.batch(16)), use)""",
}


@pytest.mark.parametrize("stage", list(STAGES))
def test_ctrl_c(stage, photos):
    # A function that never returns would hold up an orderly exit for its 5 s.
    leave = "os._exit" if "forever" in STAGES[stage] or "Stuck" in STAGES[stage] else "sys.exit"
    outcome = interrupted_script(START.replace("LEAVE", leave) + "\n    " + STAGES[stage].strip(), photos, within_s=1)
    assert outcome.out == "interrupted\n", outcome.err
    assert outcome.code == 7, outcome.err


def test_after_ctrl_c_the_loader_is_usable_and_closes():
    outcome = interrupted_script("""
        import time
        import numpy as np
        import forebay as fb

        state = {"slow": True}

        def sometimes_slow(sample):
            while state["slow"]:
                time.sleep(0.01)
            return sample

        loader = fb.Loader(fb.arrays(x=np.arange(10)).map(sometimes_slow).batch(2), epochs=1)
        print("ready", flush=True)
        try:
            list(loader)
        except KeyboardInterrupt:
            state["slow"] = False
        print([batch.ids.tolist() for batch in loader])
        loader.close()
    """)
    assert outcome.code == 0, outcome.err
    assert outcome.out == "[[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]\n"


def test_break_and_an_exception_in_the_loop_leave_the_loader_usable():
    with fb.Loader(numbers(), seed=1, epochs=1) as loader:
        seen = 0
        with pytest.raises(ZeroDivisionError):
            for batch in loader:
                seen += len(batch)
                1 // 0
        for batch in loader:
            seen += len(batch)
            break
        assert seen + len(epoch_ids(loader)) == 200


def test_leaving_at_the_last_batch_begins_the_next_epoch():
    with fb.Loader(numbers(8), epochs=2) as loader:
        for batch in loader:
            if batch.step == len(loader) - 1:
                break
        assert loader.epoch == 1
        assert len(epoch_ids(loader)) == 8
        assert epoch_ids(loader) == []


def test_an_iterator_ends_with_its_epoch():
    with fb.Loader(numbers(8)) as loader:
        iterator = iter(loader)
        assert len(list(iterator)) == 2
        assert list(iterator) == []
        assert len(list(loader)) == 2


def test_close_twice_and_then_iterating_raises():
    loader = fb.Loader(numbers())
    next(iter(loader))
    loader.close()
    loader.close()
    assert loader.closed
    with pytest.raises(fb.InvalidArgument, match="closed"):
        iter(loader)
    assert "closed" in repr(loader)


def test_closing_while_another_thread_waits():
    release = threading.Event()

    def wait(sample):
        release.wait(60)
        return sample

    loader = fb.Loader(fb.arrays(x=np.arange(9)).map(wait).batch(4))
    caught = []

    def consume():
        try:
            list(loader)
        except fb.Error as error:
            caught.append(error)

    consumer = threading.Thread(target=consume)
    consumer.start()
    time.sleep(0.3)
    closer = threading.Thread(target=loader.close)
    closer.start()
    consumer.join(20)
    assert not consumer.is_alive()
    release.set()
    closer.join(10)
    assert isinstance(caught[0], fb.Cancelled)


def test_closing_while_storage_is_slow(photos):
    def close():
        loader = fb.Loader(fb.images(photos).decode_image().resize(16).batch(4), storage_options={"imitate_latency_ms": 3000})
        consumer = threading.Thread(target=lambda: pytest.raises(fb.Cancelled, list, loader))
        consumer.start()
        time.sleep(0.3)
        began = time.monotonic()
        loader.close()
        consumer.join(60)
        assert not consumer.is_alive()
        return time.monotonic() - began

    # A read would take 3 s. Other work of the machine only ever makes it longer: one try of four is enough.
    assert any(close() < 1.5 for _ in range(4))


def test_user_code_that_does_not_return_is_left_and_named():
    entered, release = threading.Event(), threading.Event()

    def stubborn(sample):
        entered.set()
        release.wait(60)
        return sample

    loader = fb.Loader(fb.arrays(x=np.arange(4)).map(stubborn).batch(4), threads=1)
    waiting = threading.Thread(target=lambda: pytest.raises(fb.Error, list, loader), daemon=True)
    waiting.start()
    assert entered.wait(60)
    began = time.monotonic()
    with pytest.warns(RuntimeWarning, match="stubborn"):
        loader.close()
    assert 4 < time.monotonic() - began < 30  # it would return after a minute
    release.set()


def test_del_closes():
    gc.collect()  # loaders of other tests, which an exception may have kept
    before = settled()[0]
    loader = fb.Loader(numbers())
    next(iter(loader))
    assert threads() > before
    del loader
    gc.collect()
    assert soon(threads, before)


def test_del_closes_a_loader_with_user_code():
    before = settled()[0]
    loader = fb.Loader(fb.arrays(x=np.arange(100)).map(lambda sample: sample).batch(4))
    next(iter(loader))
    del loader
    gc.collect()
    assert soon(threads, before)


def test_1000_loaders_in_a_row_leave_nothing(photos):
    pipelines = [numbers(), fb.arrays(x=np.arange(8)).map(lambda sample: sample).batch(4),
                 fb.images(photos).decode_image().resize(8).batch(4)]
    for pipeline in pipelines:
        with fb.Loader(pipeline) as loader:
            next(iter(loader))
    before = settled()
    for i in range(1000):
        loader = fb.Loader(pipelines[i % 3])
        if i % 2:
            next(iter(loader))
        loader.close()
    assert soon(threads, before[0]) and soon(descriptors, before[1])


def settled():
    """Threads and descriptors, once those of earlier tests are gone."""
    while True:
        now = [threads(), descriptors()]
        time.sleep(0.2)
        if [threads(), descriptors()] == now:
            return now


@pytest.mark.parametrize("source", [
    "numbers", "numbers.map(lambda sample: sample)", "fb.Dataset(list(range(1000)))", "numbers.map(hesitate)",
    "fb.images(sys.argv[1]).decode_image().resize(16)"])
@pytest.mark.parametrize("how", ["pass", "keep = loader", "keep.append(keep); keep.append(loader)", "raise SystemExit(0)",
                                 "threading.Thread(target=lambda: [time.sleep(0.01) for batch in loader]).start()"])
def test_the_interpreter_exits_with_a_live_loader(source, how, photos):
    outcome = script(f"""
        import sys, threading, time
        import numpy as np
        import forebay as fb

        def hesitate(sample):
            time.sleep(0.02)
            return sample

        numbers = fb.arrays(x=np.arange(100))
        keep = []
        loader = fb.Loader({source}.batch(4), epochs=1)
        next(iter(loader))
        {how}
    """, photos)
    assert outcome.code == 0, outcome.err
    assert outcome.err == ""
    assert outcome.seconds < 60


def test_fork_after_import_gives_a_fresh_start():
    outcome = script("""
        import os
        import numpy as np
        import forebay as fb

        pipeline = fb.arrays(x=np.arange(100)).map(lambda sample: sample).batch(4)
        child = os.fork()
        with fb.Loader(pipeline, epochs=1) as loader:
            assert sum(len(batch) for batch in loader) == 100
        if child:
            assert os.waitpid(child, 0)[1] == 0
    """)
    assert outcome.code == 0, outcome.err


@pytest.mark.parametrize("pipeline", ["numbers", "numbers.map(lambda sample: sample)", "fb.images(sys.argv[1]).select('label')"])
@pytest.mark.parametrize("started", [True, False])
def test_fork_with_a_live_loader_is_an_error_in_the_child_and_nothing_in_the_parent(pipeline, started, photos):
    outcome = script(f"""
        import os, sys
        import numpy as np
        import forebay as fb

        numbers = fb.arrays(x=np.arange(100))
        loader = fb.Loader({pipeline}.batch(4), epochs=1)
        if {started}:
            next(iter(loader))
        child = os.fork()
        if child == 0:
            try:
                for batch in loader:
                    pass
            except fb.InvalidArgument as error:
                assert "fork" in str(error), error
            else:
                sys.exit("no error in the child")
            loader.close()
            with fb.Loader(numbers.batch(4), epochs=1) as fresh:
                assert len(list(fresh)) == 25
            del loader
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        rows = sum(len(batch) for batch in loader)
        print(rows)
    """, photos)
    assert outcome.code == 0, outcome.err
    assert int(outcome.out) > 0


def test_multiprocessing_fork_of_a_program_that_is_loading():
    outcome = script("""
        import multiprocessing
        import numpy as np
        import forebay as fb

        def work(queue):
            with fb.Loader(fb.arrays(x=np.arange(10)).batch(5), epochs=1) as loader:
                queue.put(sum(len(batch) for batch in loader))

        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        with fb.Loader(fb.arrays(x=np.arange(100)).map(lambda sample: sample).batch(4)) as loader:
            next(iter(loader))
            processes = [context.Process(target=work, args=(queue,)) for _ in range(3)]
            for process in processes:
                process.start()
            for process in processes:
                process.join(120)
                assert process.exitcode == 0, process.exitcode
            print([queue.get() for _ in processes])
    """)
    assert outcome.code == 0, outcome.err
    assert outcome.out == "[10, 10, 10]\n"


def test_close_costs_little_and_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader = fb.Loader(numbers())
        next(iter(loader))
        began = time.monotonic()
        loader.close()
        assert time.monotonic() - began < 4  # an orderly end that fails takes 5 s


def test_with_epochs_the_loader_ends():
    with fb.Loader(numbers(8), epochs=2) as loader:
        assert [len(list(loader)) for _ in range(4)] == [2, 2, 0, 0]
