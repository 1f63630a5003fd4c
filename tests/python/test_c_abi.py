"""The C interface gives what the Python one gives, to the byte, and its texts and states are the same."""
import ctypes
import hashlib
import itertools
import json
import threading
import time

import numpy as np
import pytest

import forebay as fb
from c_interface import (CANCELLED, CORRUPT, END_OF_EPOCH, FINISHED, INVALID_ARGUMENT, OK, STATE_MISMATCH, CLoader, Failure, LoaderInfo, filled, load)


@pytest.fixture(scope="module")
def library():
    return load()


def pictures(photos, tmp_path):
    return fb.images(str(photos)).shuffle().decode_image().random_resized_crop(32).random_flip().normalize(fb.IMAGENET).batch(4)


def arrays(photos, tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(1).standard_normal((50, 3)).astype(np.float32))
    np.save(tmp_path / "y.npy", np.arange(50) % 2 == 0)
    return fb.arrays(x=str(tmp_path / "x.npy"), y=str(tmp_path / "y.npy")).shuffle().batch(8)


def table(photos, tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    rows = 300
    pq.write_table(pa.table({
        "number": pa.array(range(rows), pa.int32()), "half": pa.array(np.arange(rows, dtype=np.float16)),
        "word": [("ja", "nein", "vielleicht ü")[i % 3] for i in range(rows)], "many": pa.array([list(range(i % 4)) for i in range(rows)], pa.list_(pa.int64())),
        "words": pa.array([["a", "", "bc"][: i % 4] for i in range(rows)], pa.list_(pa.string())),
        "blob": pa.array([bytes([i % 256] * (i % 5)) for i in range(rows)], pa.binary())}), tmp_path / "t.parquet", row_group_size=40)
    return fb.parquet(str(tmp_path / "t.parquet")).shuffle(block=3).batch(16)


def add(digest, ids, positions, fields):
    digest.update(ids.tobytes() + positions.tobytes())
    for name in sorted(fields):
        digest.update(name.encode())
        for array in fields[name]:
            digest.update(str((array.dtype.str, array.shape)).encode() + array.tobytes())


def from_python(loader):
    digest = hashlib.sha256()
    for batch in loader:
        add(digest, batch.ids, batch.positions, {name: batch.buffers(name) for name in batch})
    return digest.hexdigest()


def from_c(loader):
    digest = hashlib.sha256()
    for batch in loader.epoch():
        add(digest, batch.ids(), batch.positions(), batch.fields())
    return digest.hexdigest()


@pytest.mark.parametrize("make", [pictures, arrays, table])
def test_two_epochs_are_those_of_python(library, photos, tmp_path, make):
    pipeline = make(photos, tmp_path)
    loader = CLoader(library, pipeline, b'{"seed": 7, "epochs": 2, "threads": 1}')
    assert loader.code == OK, library.fb_last_error_message()
    with fb.Loader(pipeline, seed=7, epochs=2) as python:
        digests = [from_python(python) for _ in range(2)]
        assert [from_c(loader) for _ in range(2)] == digests
        assert digests[0] != digests[1]
        info = filled(LoaderInfo)
        assert library.fb_loader_describe(loader.handle, ctypes.byref(info)) == OK
        assert info.fingerprint.decode() == python.fingerprint
        assert (info.samples, info.finished, info.epoch) == (python.size, 1, 2)
    assert loader.next()[0] == FINISHED
    assert loader.free() == OK


@pytest.mark.parametrize("world_size", [2, 3])
def test_ranks_share_an_epoch(library, photos, tmp_path, world_size):
    pipeline = arrays(photos, tmp_path)
    ids = []
    for rank in range(world_size):
        loader = CLoader(library, pipeline, json.dumps({"seed": 7, "rank": rank, "world_size": world_size, "epochs": 1}).encode())
        for batch in loader.epoch():
            ids += list(batch.ids()[: batch.info.rows - batch.info.padding])
        loader.free()
    assert sorted(ids) == list(range(50))


@pytest.mark.parametrize("restart", [False, True])
def test_a_round_that_begins_goes_on_or_begins_its_epoch_anew(library, photos, tmp_path, restart):
    pipeline = arrays(photos, tmp_path)
    loader = CLoader(library, pipeline, json.dumps({"seed": 7, "epochs": 2, "restart": restart}).encode())
    with fb.Loader(pipeline, seed=7, epochs=2, restart=restart) as python:
        for taken in (2, 1, len(python), 1, len(python)):
            assert library.fb_begin(loader.handle) == OK
            mine = [list(batch.ids()) for batch in itertools.islice(loader.epoch(), taken)]
            assert mine == [list(batch.ids) for batch in itertools.islice(python, taken)]
            assert json.loads(loader.text("fb_state")) == python.state_dict()
        state = json.dumps(python.state_dict())
        assert library.fb_load_state(loader.handle, state.encode(), 1) == library.fb_begin(loader.handle) == OK
        assert json.loads(loader.text("fb_state")) == json.loads(state)
    assert library.fb_begin(None) == INVALID_ARGUMENT
    assert loader.free() == OK
    assert library.fb_begin(loader.handle) == INVALID_ARGUMENT


def test_states_go_both_ways(library, photos, tmp_path):
    pipeline = pictures(photos, tmp_path)
    loader = CLoader(library, pipeline, b'{"seed": 7, "epochs": 1}')
    with fb.Loader(pipeline, seed=7, epochs=1) as python, fb.Loader(pipeline, seed=7, epochs=1) as resumed:
        for _, batch in zip(range(2), python):
            code, mine = loader.next()
            assert code == OK and list(mine.ids()) == list(batch.ids)
        state = loader.text("fb_state")
        assert json.loads(state) == python.state_dict()
        resumed.load_state_dict(json.loads(state))
        other = CLoader(library, pipeline, b'{"seed": 7, "epochs": 1, "threads": 1}')
        assert library.fb_load_state(other.handle, json.dumps(python.state_dict()).encode(), 1) == OK
        assert from_python(resumed) == from_c(other) == from_c(loader)
    wrong = CLoader(library, pipeline, b'{"seed": 8}')
    assert library.fb_load_state(wrong.handle, state.encode(), 1) == STATE_MISMATCH
    for each in (loader, other, wrong):
        assert each.free() == OK


def test_weights_of_a_mix_change_as_in_python(library, tmp_path):
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", np.arange(300))

    def pipeline(weights):
        parts = {name: fb.arrays(x=str(tmp_path / f"{name}.npy")).shuffle() for name in ("a", "b")}
        return fb.mix(parts, weights=weights, samples=400).batch(8)

    loader = CLoader(library, pipeline({"a": 1, "b": 1}), b'{"seed": 7, "epochs": 1}')
    loader.next()
    with fb.Loader(pipeline({"a": 1, "b": 1}), seed=7, epochs=1) as python:
        next(iter(python))
        before = python.state_dict()
        python.set_weights({"a": 1, "b": 7})
        assert library.fb_set_weights(loader.handle, b'{"a": 1, "b": 7}') == OK
        assert json.loads(loader.text("fb_state")) == python.state_dict()
        changed = CLoader(library, pipeline({"a": 1, "b": 7}), b'{"seed": 7, "epochs": 1}')
        assert library.fb_load_state_of_changed_parts(changed.handle, json.dumps(before).encode(), 1) == OK
        assert from_python(python) == from_c(changed) == from_c(loader)
    for wrong in (b"", b"[1]", b'{"a": "much"}', b'{"a": 1}', b"[" * 100_000, None):
        assert library.fb_set_weights(loader.handle, wrong) == INVALID_ARGUMENT
    for each in (loader, changed):
        assert each.free() == OK


def test_weights_of_samples_change_as_in_python(library, tmp_path):
    np.save(tmp_path / "x.npy", np.arange(300))
    pipeline = fb.arrays(x=str(tmp_path / "x.npy")).shuffle().sample(400).batch(8)
    weights = np.arange(300) % 3
    given = (ctypes.c_double * 300)(*weights)
    loader, fresh = (CLoader(library, pipeline, b'{"seed": 7, "epochs": 1}') for _ in range(2))
    loader.next()
    with fb.Loader(pipeline, seed=7, epochs=1) as python:
        next(iter(python))
        python.set_sampling(weights, version="a")
        assert library.fb_set_sampling(loader.handle, given, 300, b"a", None) == OK
        state = loader.text("fb_state")
        assert json.loads(state) == python.state_dict()
        assert library.fb_load_state(fresh.handle, json.dumps(python.state_dict()).encode(), 1) == STATE_MISMATCH
        assert library.fb_set_sampling(fresh.handle, given, 300, b"a", None) == OK
        assert library.fb_load_state(fresh.handle, json.dumps(python.state_dict()).encode(), 1) == OK
        assert from_python(python) == from_c(fresh) == from_c(loader)
    for wrong in ((given, 299, None, None), (given, -1, None, None), (None, 300, None, None), (given, 300, b"\xff", None), (given, 300, None, b"web")):
        assert library.fb_set_sampling(loader.handle, *wrong) == INVALID_ARGUMENT
    for each in (loader, fresh):
        assert each.free() == OK


@pytest.mark.parametrize("versioned", [False, True])
def test_dlpack_shares_memory_that_outlives_everything(library, photos, tmp_path, versioned):
    loader = CLoader(library, arrays(photos, tmp_path), b'{"seed": 7}')
    code, batch = loader.next()
    assert code == OK
    expected = batch.fields()["x"][0]
    taken = np.from_dlpack(batch.dlpack("x", versioned=versioned))
    again = np.from_dlpack(batch.dlpack("x", versioned=versioned))
    assert taken.ctypes.data == again.ctypes.data
    assert batch.free() == OK and loader.free() == OK
    assert taken.dtype == np.float32 and np.array_equal(taken, expected)


def test_bools_and_texts_by_dlpack(library, photos, tmp_path):
    loader = CLoader(library, table(photos, tmp_path), b"{}")
    _, batch = loader.next()
    for name, arrays_of_field in batch.fields().items():
        for which, array in enumerate(arrays_of_field):
            assert np.array_equal(np.from_dlpack(batch.dlpack(name, which)), array)
    loader.free()


def test_a_failure_says_where(library, photos, tmp_path):
    folder = tmp_path / "bad" / "a"
    folder.mkdir(parents=True)
    (folder / "0.jpg").write_bytes(next(photos.rglob("*.jpg")).read_bytes()[:300])
    pipeline = fb.images(str(tmp_path / "bad")).decode_image().resize(8).batch(1)
    loader = CLoader(library, pipeline)
    code, batch = loader.next()
    failure = filled(Failure)
    assert code == CORRUPT and batch is None and library.fb_last_error(ctypes.byref(failure)) == OK
    assert (failure.code, failure.op, failure.sample) == (CORRUPT, b"decode_image", 0)
    assert b"0.jpg" in failure.key and b"0.jpg" in failure.message
    loader.free()
    skipping = CLoader(library, pipeline, b'{"on_error": "skip", "epochs": 1}')
    assert [batch.info.rows for batch in skipping.epoch()] in ([], [0])
    assert [(entry["code"], entry["count"]) for entry in json.loads(skipping.text("fb_errors"))] == [("Corrupt", 1)]
    assert json.loads(skipping.text("fb_stats"))["errors"] == 1
    skipping.free()


@pytest.mark.parametrize("pipeline", [b"", b"{", b"null", b"[]", b"\xff", b'{"forebay_pipeline": 2, "steps": []}', b"[" * 100_000,
                                      b'{"forebay_pipeline": 1, "steps": [{"op": "python", "name": "x"}, {"op": "batch", "n": 1}]}'])
def test_a_pipeline_that_is_none_is_refused(library, pipeline):
    loader = CLoader(library, pipeline)
    assert loader.code > 0 and not loader.handle
    assert library.fb_last_error_message()


def test_handles_are_not_taken_for_others(library, photos, tmp_path):
    loader = CLoader(library, arrays(photos, tmp_path))
    _, batch = loader.next()
    assert library.fb_loader_close(batch.handle) == INVALID_ARGUMENT
    assert library.fb_batch_free(loader.handle) == INVALID_ARGUMENT
    assert batch.free() == OK and batch.free() == INVALID_ARGUMENT
    assert loader.free() == OK and loader.free() == INVALID_ARGUMENT
    assert loader.next()[0] == INVALID_ARGUMENT
    again = CLoader(library, arrays(photos, tmp_path))
    assert loader.next()[0] == INVALID_ARGUMENT, "a handle is given out once"
    again.free()


def test_an_opening_of_storage_that_does_not_answer_is_cancelled(library, tmp_path):
    (tmp_path / "lines.txt").write_text("one\ntwo\n")
    pipeline = fb.text(str(tmp_path / "lines.txt")).batch(2).to_json().encode()
    canceller, loader = ctypes.c_void_p(), ctypes.c_void_p()
    assert library.fb_canceller_new(ctypes.byref(canceller)) == OK
    cancel = threading.Timer(0.1, lambda: library.fb_cancel(canceller))
    cancel.start()
    begin = time.monotonic()
    code = library.fb_open_cancellable(pipeline, b'{"storage_options": {"imitate_latency_ms": 20000}}', canceller, ctypes.byref(loader))
    assert (code, loader.value) == (CANCELLED, None)
    assert time.monotonic() - begin < 10
    cancel.join()
    # What waits for nothing is refused as well, from now on; and a canceller is no loader.
    assert library.fb_open_cancellable(pipeline, None, canceller, ctypes.byref(loader)) == CANCELLED
    assert b"fb_cancel" in library.fb_last_error_message()
    assert library.fb_loader_close(canceller) == INVALID_ARGUMENT
    assert library.fb_cancel(canceller) == OK and library.fb_canceller_free(canceller) == OK
    assert library.fb_canceller_free(None) == OK
    for refused in (library.fb_canceller_free(canceller), library.fb_cancel(canceller), library.fb_cancel(None), library.fb_canceller_new(None),
                    library.fb_open_cancellable(pipeline, None, canceller, ctypes.byref(loader))):
        assert refused == INVALID_ARGUMENT
    assert library.fb_open_cancellable(pipeline, None, None, ctypes.byref(loader)) == OK and library.fb_loader_free(loader) == OK


def test_codes_have_the_names_of_the_classes(library):
    names = {code: library.fb_code_name(code).decode() for code in range(1, 10)}
    assert all(issubclass(getattr(fb, name), fb.Error) for name in names.values())
    assert library.fb_code_name(END_OF_EPOCH) == b"EndOfEpoch" and library.fb_code_name(99) == b"Unknown"
    assert library.fb_version().decode() == fb.__version__
