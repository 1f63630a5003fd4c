"""forebay.tf: the loader's batches as a tf.data.Dataset, with the element_spec of the pipeline, resumable."""
import gc
import hashlib
import json
import time
import weakref

import numpy as np
import pytest

import forebay as fb

pytest.importorskip("tensorflow")
import tensorflow as tf  # noqa: E402


def pictures(photos):
    return fb.images(str(photos)).shuffle().decode_image().random_resized_crop(32).random_flip().normalize(fb.IMAGENET).batch(4)


def digest(batches):
    made = hashlib.sha256()
    for batch in batches:
        for name in sorted(batch):
            made.update(np.asarray(batch[name]).tobytes() if name != "key" else b"".join(key if isinstance(key, bytes) else key.encode() for key in batch[name]))
    return made.hexdigest()


def test_two_epochs_are_those_of_the_loader(photos):
    data = fb.tf.dataset(pictures(photos), seed=7)
    assert data.element_spec == {"image": tf.TensorSpec((None, 3, 32, 32), tf.float32), "label": tf.TensorSpec((None,), tf.int64),
                                 "key": tf.TensorSpec((None,), tf.string)}
    with fb.Loader(pictures(photos), seed=7) as loader:
        expected = [digest({name: batch[name] for name in batch} for batch in loader) for _ in range(2)]
    assert [digest(data.as_numpy_iterator()) for _ in range(2)] == expected
    assert expected[0] != expected[1]


def test_every_kind_of_field():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"many": [[1, 2], [], [3]], "word": ["a", "", "ü"], "words": [["x"], ["", "yz"], []], "yes": [True, False, True],
                      "small": pa.array([1, 2, 3], pa.uint16())})
    data = fb.tf.dataset(fb.arrow(table).batch(2))
    first, second = data
    assert isinstance(first["many"], tf.RaggedTensor) and first["many"].to_list() == [[1, 2], []]
    assert second["many"].to_list() == [[3]]
    assert first["word"].numpy().tolist() == [b"a", b""] and second["word"].numpy().tolist() == ["ü".encode()]
    assert first["words"].to_list() == [[b"x"], [b"", b"yz"]] and second["words"].to_list() == [[]]
    assert first["yes"].numpy().tolist() == [True, False] and first["small"].dtype == tf.uint16
    for name, spec in data.element_spec.items():
        assert spec.is_compatible_with(first[name]) and spec.is_compatible_with(second[name]), name


def as_python_has_it(value):
    """The arrays of a field, however it comes."""
    if isinstance(value, tf.RaggedTensor):
        return [value.values.numpy(), value.row_splits.numpy()]
    if isinstance(value, tf.Tensor):
        return [value.numpy()]
    if isinstance(value, tuple):
        return list(value)
    return [np.array([text.encode() for text in value], object)] if isinstance(value, list) else [value]


def test_mixed_fields_have_the_bytes_of_the_python_loop():
    pa = pytest.importorskip("pyarrow")
    rows, random = 23, np.random.default_rng(3)
    columns = {f"z{number:02}": pa.array(random.standard_normal(rows).astype(np.float32)) for number in range(20)}
    columns |= {"holes": pa.array([None if row % 3 == 0 else row for row in range(rows)], pa.int64()), "flag": pa.array(random.random(rows) < 0.5),
                "half": pa.array(random.standard_normal(rows).astype(np.float16)), "byte": pa.array(range(rows), pa.uint8()),
                "Many": pa.array([list(range(row % 4)) for row in range(rows)], pa.list_(pa.int32())), "word": pa.array([f"w{row}" for row in range(rows)]),
                "fixed": pa.array([[row, 2.0, 3.0] for row in range(rows)], pa.list_(pa.float64(), 3)), "a": pa.array([[], *[[1.5]] * (rows - 1)])}
    pipeline = fb.arrow(pa.table(columns), null=fb.NULL_MASK).shuffle().batch(8)
    with fb.Loader(pipeline, seed=7) as first, fb.Loader(pipeline, seed=7) as second:
        data = fb.tf.dataset(first)
        for _ in range(2):
            sizes = []
            for mine, batch in zip(data, second, strict=True):
                assert list(mine) == list(batch) and "holes_valid" in mine
                sizes.append(len(batch["byte"]))
                for name in mine:
                    for one, other in zip(as_python_has_it(mine[name]), as_python_has_it(batch[name]), strict=True):
                        assert (one.dtype, one.shape, one.tolist()) == (other.dtype, other.shape, other.tolist()), name
            assert sizes == [8, 8, 7]


def test_every_field_lies_where_it_lay(monkeypatch):
    given = []
    buffers = fb.tf._dense
    monkeypatch.setattr(fb.tf, "_dense", lambda arrays: given.extend(array.ctypes.data for array in arrays) or buffers(arrays))
    arrays = {"b": np.zeros((8, 16, 16, 3), np.uint8), "a": np.zeros((8, 2), np.float32), "c": np.zeros(8, np.int64)}
    for batch in fb.tf.dataset(fb.arrays(**arrays).batch(4)):
        assert [np.from_dlpack(Handed(batch[name])).ctypes.data for name in sorted(batch)] == given
        given.clear()


def test_padding_and_packing_are_known_before(tmp_path):
    pa = pytest.importorskip("pyarrow")
    rows = fb.arrow(pa.table({"tokens": [[1, 2], [3], [4, 5, 6]]}))
    assert fb.tf.dataset(rows.pad("tokens").batch(2)).element_spec["tokens"].shape.as_list() == [None, None]
    assert fb.tf.dataset(rows.pad("tokens", length=8).batch(2)).element_spec["tokens"].shape.as_list() == [None, 8]
    packed = fb.tf.dataset(rows.pack(4).batch(1))
    assert {name: spec.shape.as_list() for name, spec in packed.element_spec.items()} == {
        "tokens": [None, 4], "segments": [None, 4], "positions": [None, 4]}
    for data in (fb.tf.dataset(rows.pad("tokens").batch(2)), packed):
        for batch in data:
            for name, spec in data.element_spec.items():
                assert spec.is_compatible_with(batch[name])


def test_the_loader_has_the_position(photos):
    with fb.Loader(pictures(photos), seed=7) as loader, fb.Loader(pictures(photos), seed=7) as second:
        data = fb.tf.dataset(loader)
        assert len(list(data.take(2))) == 2
        state = loader.state_dict()
        assert state["step"] == 2, "nothing is taken ahead"
        second.load_state_dict(state)
        assert digest(fb.tf.dataset(second).as_numpy_iterator()) == digest(data.as_numpy_iterator())


def test_nothing_is_taken_ahead_while_the_trainer_is_busy():
    with fb.Loader(fb.arrays(x=np.arange(64)).batch(4)) as loader:
        batches = iter(fb.tf.dataset(loader).map(lambda batch: batch["x"]))
        for step in range(1, 4):
            assert next(batches).numpy().tolist() == list(range(4 * step - 4, 4 * step))
            time.sleep(0.1)
            assert loader.state_dict()["step"] == step


def test_passes_end_and_begin_and_repeat():
    data = fb.tf.dataset(fb.arrays(x=np.arange(6)).batch(4))
    assert data.cardinality() == tf.data.UNKNOWN_CARDINALITY
    assert [len(batch["x"]) for batch in data.repeat(3)] == [4, 2] * 3
    batches = iter(data.map(lambda batch: batch["x"]))
    del data
    gc.collect()
    assert [len(batch) for batch in batches] == [4, 2]
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(batches)


def test_the_loader_goes_with_the_data_set():
    loader = fb.Loader(fb.arrays(x=np.arange(6)).batch(4))
    gone = weakref.ref(loader)
    data = fb.tf.dataset(loader).map(lambda batch: batch["x"]).prefetch(1)
    del loader
    assert len(list(data)) == 2 and gone() is not None
    del data
    gc.collect()
    assert gone() is None


def test_it_may_be_made_and_read_within_a_graph():
    @tf.function
    def total():
        found = tf.constant(0, tf.int64)
        for batch in fb.tf.dataset(fb.arrays(x=np.arange(6)).batch(4)):
            found += tf.reduce_sum(batch["x"])
        return found

    assert [int(total()) for _ in range(2)] == [15, 15]


def test_states_travel_with_batches_that_are_taken_ahead(photos):
    with fb.Loader(pictures(photos), seed=7) as loader, fb.Loader(pictures(photos), seed=7) as second:
        ahead = iter(fb.tf.dataset(loader, state="state").prefetch(3))
        next(ahead)
        saved = json.loads(next(ahead).pop("state").numpy())
        assert saved["step"] == 2
        second.load_state_dict(saved)
        rest = [[int(label) for label in batch["label"]] for batch in ahead]
        assert rest == [list(batch["label"]) for batch in second]


class Handed:
    """A tensor for np.from_dlpack, which copies nothing, as .numpy() may."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **_):
        return tf.experimental.dlpack.to_dlpack(self.tensor)

    def __dlpack_device__(self):
        return (1, 0)


def test_the_memory_is_the_batchs(monkeypatch):
    given = []
    buffers = fb.tf._dense
    monkeypatch.setattr(fb.tf, "_dense", lambda arrays: given.append(arrays[0].ctypes.data) or buffers(arrays))
    data = fb.tf.dataset(fb.arrays(x=np.arange(64 * 16, dtype=np.float32).reshape(64, 16)).batch(16))
    taken = [np.from_dlpack(Handed(batch["x"])).ctypes.data for batch in data]
    assert len(taken) == 4 and taken == given


def test_a_model_is_trained_by_fit():
    x = np.random.default_rng(0).standard_normal((256, 4)).astype(np.float32)
    y = x @ np.array([[1.0], [-2.0], [0.5], [3.0]], np.float32)
    data = fb.tf.dataset(fb.arrays(x=x, y=y).shuffle().batch(32), seed=7).map(lambda batch: (batch["x"], batch["y"]))
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1, use_bias=False)])
    model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss="mse")
    model.fit(data, epochs=12, verbose=0)
    assert np.abs(model.get_weights()[0][:, 0] - [1.0, -2.0, 0.5, 3.0]).max() < 0.01


def test_what_user_code_makes_needs_a_spec():
    pipeline = fb.arrays(x=np.arange(6)).map(lambda sample: {"x": sample["x"], "twice": np.float32(2 * sample["x"])}).batch(2)
    with pytest.raises(fb.InvalidArgument, match="spec="):
        for _ in fb.tf.dataset(pipeline):
            pass
    spec = {"x": tf.TensorSpec((None,), tf.int64), "twice": tf.TensorSpec((None,), tf.float32)}
    batches = list(fb.tf.dataset(pipeline, spec=spec))
    assert [batch["twice"].numpy().tolist() for batch in batches] == [[0, 2], [4, 6], [8, 10]]


def test_a_spec_says_of_what_type_the_row_splits_are():
    pa = pytest.importorskip("pyarrow")
    rows = fb.arrow(pa.table({"many": [[1, 2], [], [3]], "one": [1, 2, 3]})).batch(3)
    data = fb.tf.dataset(rows, spec={"many": tf.RaggedTensorSpec((None, None), tf.int64, ragged_rank=1, row_splits_dtype=tf.int32)})
    (batch,) = data
    assert batch["many"].row_splits.dtype == tf.int32 and batch["many"].to_list() == [[1, 2], [], [3]]
    assert data.element_spec["many"].is_compatible_with(batch["many"])


def test_a_spec_of_a_field_that_is_not_there():
    data = fb.tf.dataset(fb.arrays(x=np.arange(4)).batch(2), spec={"y": tf.TensorSpec((None,), tf.int64)})
    with pytest.raises(tf.errors.OpError, match="spec= names the field 'y', which this batch has not; it has x"):
        next(iter(data))


def test_an_error_comes_with_its_text(tmp_path, photos):
    folder = tmp_path / "bad" / "a"
    folder.mkdir(parents=True)
    (folder / "0.jpg").write_bytes(next(photos.rglob("*.jpg")).read_bytes()[:300])
    with pytest.raises(tf.errors.OpError, match="0.jpg"):
        list(fb.tf.dataset(fb.images(str(tmp_path / "bad")).decode_image().resize(8).batch(1)))


def test_misuse_is_refused(photos):
    with fb.Loader(pictures(photos)) as loader:
        with pytest.raises(fb.InvalidArgument, match="seed"):
            fb.tf.dataset(loader, seed=7)
        with pytest.raises(fb.InvalidArgument, match="state="):
            fb.tf.dataset(loader, state="label")
    with pytest.raises(fb.InvalidArgument, match="tf.dataset: .*output='torch'; open it without output="):
        fb.tf.dataset(pictures(photos), output="torch")
    with pytest.raises(TypeError, match="Pipeline or a Loader"):
        fb.tf.dataset("photos")
