"""`.shuffle(ramp=True)`: epoch 0 of a table begins with one row group mixed, and comes to `block` by and by."""

import numpy as np
import pytest

import forebay as fb

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

GROUPS, GROUP_ROWS = 30, 100
ROWS = GROUPS * GROUP_ROWS


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("ramp") / "t.parquet"
    pq.write_table(pa.table({"id": np.arange(ROWS)}), path, row_group_size=GROUP_ROWS)
    return str(path)


def pipeline(table, batch=50, **shuffle):
    return fb.parquet(table).shuffle(**shuffle).batch(batch)


def epoch_ids(loader):
    return [np.array(batch["id"]) for batch in loader]


def ids(table, epochs=1, options=None, **shuffle):
    with fb.Loader(pipeline(table, **shuffle), seed=3, **(options or {})) as loader:
        return [epoch_ids(loader) for _ in range(epochs)]


def groups(batch):
    return len(set(batch // GROUP_ROWS))


def test_the_first_batch_needs_one_row_group_and_not_eight(table):
    assert groups(ids(table, ramp=True)[0][0]) == 1
    assert groups(ids(table)[0][0]) == 8


def test_the_number_of_row_groups_that_are_mixed_grows_to_block(table):
    mixed = [groups(batch) for batch in ids(table, ramp=True)[0]]
    assert mixed == sorted(mixed[:-8]) + mixed[-8:]  # the last block has what is left
    assert max(mixed) > 5


def test_every_row_comes_once_and_later_epochs_are_as_without(table):
    ramp, plain = ids(table, 2, ramp=True), ids(table, 2)
    assert sorted(np.concatenate(ramp[0])) == list(range(ROWS))
    assert not np.array_equal(np.concatenate(ramp[0]), np.concatenate(plain[0]))
    assert np.array_equal(np.concatenate(ramp[1]), np.concatenate(plain[1]))


def test_not_asked_for_it_is_as_if_it_did_not_exist(table):
    assert pipeline(table).to_json() == pipeline(table, ramp=None).to_json()
    assert np.array_equal(np.concatenate(ids(table)[0]), np.concatenate(ids(table, ramp=False)[0]))


def test_threads_do_not_change_it(table):
    one, three = (ids(table, ramp=True, options={"threads": threads})[0] for threads in (1, 3))
    assert all(np.array_equal(a, b) for a, b in zip(one, three, strict=True))


def test_a_run_that_was_stopped_in_the_ramp_goes_on_there(table):
    whole = ids(table, ramp=True)[0]
    with fb.Loader(pipeline(table, ramp=True), seed=3) as loader:
        batches = iter(loader)
        for _ in range(3):
            next(batches)
        state = loader.state_dict()
    with fb.Loader(pipeline(table, ramp=True), seed=3) as loader:
        loader.load_state_dict(state)
        rest = epoch_ids(loader)
    assert np.array_equal(np.concatenate(rest), np.concatenate(whole[3:]))


def test_ranks_begin_with_one_row_group_each(table):
    found = []
    for rank in range(2):
        mine = ids(table, ramp=True, lanes=2, options={"rank": rank, "world_size": 2})[0]
        assert groups(mine[0]) == 1
        found += [np.concatenate(mine)]
    assert sorted(np.concatenate(found)) == list(range(ROWS))
