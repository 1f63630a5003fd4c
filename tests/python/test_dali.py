"""forebay.dali: what nvidia.dali.fn.external_source asks of its source with batch=True. DALI itself needs an accelerator, so its side is played here."""
import numpy as np
import pytest

import forebay as fb
from forebay.dali import ExternalSource


def encoded(photos):
    return fb.images(str(photos)).shuffle().batch(4)


def feed(source, outputs, batch_size, epochs):
    """As DALI does: calls until StopIteration, checks what it gets, begins again."""
    for _ in range(epochs):
        while True:
            try:
                batch = source()
            except StopIteration:
                break
            assert isinstance(batch, (list, tuple)) and len(batch) == outputs
            sizes = {len(output) for output in batch}
            assert len(sizes) == 1 and sizes.pop() <= batch_size
            for output in batch:
                samples = [output] if isinstance(output, np.ndarray) else output
                assert len({(sample.dtype, sample.ndim) for sample in samples}) == 1
            yield batch


def test_encoded_pictures_and_labels_epoch_after_epoch(photos):
    source = ExternalSource(encoded(photos), ["image", "label"], seed=7)
    batches = list(feed(source, 2, 4, epochs=2))
    with fb.Loader(encoded(photos), seed=7) as loader:
        expected = [(batch["image"], list(batch["label"])) for _ in range(2) for batch in loader]
    assert [([image.tobytes() for image in images], list(labels)) for images, labels in batches] == expected
    source.close()


def test_all_fields_by_default_and_one_by_name():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"many": [[1, 2], [], [3]], "number": pa.array([1, 2, 3], pa.int32())})
    with ExternalSource(fb.arrow(table).batch(2)) as source:
        (lists, numbers), (rest, _) = feed(source, 2, 2, epochs=1)
        assert [list(row) for row in lists] == [[1, 2], []] and list(numbers) == [1, 2] and [list(row) for row in rest] == [[3]]
    with ExternalSource(fb.arrow(table).batch(3), "number") as source:
        assert [list(batch[0]) for batch in feed(source, 1, 3, epochs=1)] == [[1, 2, 3]]


def test_it_is_an_iterable_too():
    with ExternalSource(fb.arrays(x=np.arange(6)).batch(2), seed=7) as source:
        assert [[list(x) for (x,) in iter(source)] for _ in range(2)] == [[[0, 1], [2, 3], [4, 5]]] * 2


def test_it_goes_on_from_a_state(photos):
    with ExternalSource(encoded(photos), "label", seed=7) as first, ExternalSource(encoded(photos), "label", seed=7) as second:
        first(), first()
        second.load_state_dict(first.state_dict())
        assert [list(label) for (label,) in feed(first, 1, 4, 1)] == [list(label) for (label,) in feed(second, 1, 4, 1)]


def test_what_dali_has_no_type_for_is_refused():
    pa = pytest.importorskip("pyarrow")
    with ExternalSource(fb.arrow(pa.table({"words": [["a"], ["b", "c"]]})).batch(2)) as source:
        with pytest.raises(fb.InvalidArgument, match="words"):
            source()
    with ExternalSource(fb.arrays(x=np.arange(6)).batch(2), ["y"]) as source:
        with pytest.raises(KeyError, match="y"):
            source()


def test_a_loader_of_other_arrays_is_refused():
    pytest.importorskip("torch")
    with fb.Loader(fb.arrays(x=np.arange(6)).batch(2), output="torch") as loader:
        with pytest.raises(fb.InvalidArgument, match="dali.ExternalSource: .*output='torch'; open it without output="):
            ExternalSource(loader)
