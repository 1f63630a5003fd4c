"""What a bad link or server does to a run: nothing is lost, nothing comes twice, nothing hangs, and what cannot be had is told."""
import socket
import time

import numpy as np
import pytest
from loading import interrupted_script

import forebay as fb
from servers.s3 import Client

BUCKET = "faulty"
OBJECTS, CLASSES = 2000, 5
pytestmark = pytest.mark.usefixtures("nothing_from_outside")


@pytest.fixture(scope="module")
def objects(servers, tmp_path_factory):
    """A folder of 2,000 files of 1 to 60 kB, and a bucket with the same behind the fault proxy: (folder, storage options)."""
    found = servers("ceph", "faults")
    random = np.random.Generator(np.random.Philox(7))
    contents = {f"{i % CLASSES}/{i:04}.jpg": random.bytes(int(random.integers(1000, 60_000))) for i in range(OBJECTS)}
    folder = tmp_path_factory.mktemp("objects")
    for key, content in contents.items():
        (folder / key).parent.mkdir(exist_ok=True)
        (folder / key).write_bytes(content)
    keys = found["FOREBAY_TEST_S3_KEY"], found["FOREBAY_TEST_S3_SECRET"]
    client = Client(found["FOREBAY_TEST_S3"], *keys)
    client.make_bucket(BUCKET)
    client.put_all(BUCKET, contents)
    return folder, {"endpoint": found["FOREBAY_TEST_FAULTS"], "access_key_id": keys[0], "secret_access_key": keys[1]}


def stored(root):
    """Objects as they are stored."""
    return fb.images(root).shuffle().batch(64)


def digests(root, epochs, **options):
    with fb.Loader(stored(root), seed=5, epochs=epochs, **options) as loader:
        return [fb.digest(loader) for _ in range(epochs)], loader.stats()["stores"][0]


def test_three_epochs_through_503s_cuts_and_an_outage_equal_the_local_files(objects, faults):
    folder, options = objects
    expected, _ = digests(str(folder), 3)
    faults.set(latency_ms=20, share_503_retry=0.02, share_closed=0.01, share_truncated=0.01, retry_after_s=1)
    options = options | {"retries": "30"}  # on a busy machine the outage's 5 s can look like 10
    with fb.Loader(stored(f"s3://{BUCKET}"), seed=5, epochs=3, storage_options=options) as loader:
        found, ids = [], []
        for epoch in range(3):
            result = fb._core.EpochDigest()
            for batch in loader:
                result.add(batch)
                if epoch == 1 and batch.step == 10:
                    faults.outage(5)
                ids += batch.ids[: len(batch) - batch.padding].tolist()
            found.append(result.hexdigest())
        store = loader.stats()["stores"][0]
    assert found == expected
    assert store["name"] == f"s3://{BUCKET}/"
    assert sorted(ids) == sorted(3 * list(range(OBJECTS))), "each once an epoch"
    counts = faults.status()["counts"]
    assert counts["fault_503_retry"] > 50 and counts["fault_closed"] > 20 and counts["fault_truncated"] > 20
    assert counts["outage"] > 0, "the outage met requests"
    assert store["retries"] >= counts["fault_503_retry"] and store["throttled"] > 0


@pytest.mark.parametrize("fault", [{"share_503": 0.02}, {"share_closed": 0.02}, {"share_truncated": 0.02}, {"share_stalled": 0.0005}],
                         ids=lambda fault: next(iter(fault)))
def test_one_kind_of_fault_loses_nothing(objects, faults, fault):
    folder, options = objects
    faults.set(**fault)
    if "share_stalled" in fault:  # the others answer; a busy machine may take seconds to
        options = options | {"timeout_s": "5"}
    assert digests(f"s3://{BUCKET}", 1, storage_options=options)[0] == digests(str(folder), 1)[0]


@pytest.mark.parametrize("requests", [1, 4, 64, 1024])
def test_the_number_of_requests_changes_speed_alone(objects, faults, requests):
    folder, options = objects
    faults.reset_counts()
    with fb.Loader(stored(f"s3://{BUCKET}"), seed=5, epochs=1, storage_options=options, requests=requests) as loader:
        assert fb.digest(loader) == digests(str(folder), 1)[0][0]
        hedges = loader.stats()["stores"][0]["hedges"]
    peak = faults.status()["counts"]["peak_in_flight"]
    assert peak <= requests + hedges, "listings, too"
    assert peak >= min(requests, 64) // 4, "and they were used"


def test_resuming_over_a_bad_link_goes_on_exactly(objects, faults):
    folder, options = objects
    faults.set(share_closed=0.02)
    with fb.Loader(stored(str(folder)), seed=5, epochs=1) as loader:
        whole = [batch.ids.tolist() for batch in loader]
    with fb.Loader(stored(f"s3://{BUCKET}"), seed=5, storage_options=options) as loader:
        first = [next(iter(loader)).ids.tolist() for _ in range(7)]
        state = loader.state_dict()
    with fb.Loader(stored(f"s3://{BUCKET}"), seed=5, epochs=1, storage_options=options) as loader:
        loader.load_state_dict(state)
        assert first + [batch.ids.tolist() for batch in loader] == whole


def closed_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_server_that_is_not_there_is_named_in_time(objects):
    _, options = objects
    endpoint = f"http://127.0.0.1:{closed_port()}"
    began = time.monotonic()
    with pytest.raises(fb.Unavailable) as caught:
        fb.Loader(stored(f"s3://{BUCKET}"), storage_options=options | {"endpoint": endpoint})
    assert endpoint.removeprefix("http://") in str(caught.value)
    assert options["secret_access_key"] not in str(caught.value)
    assert time.monotonic() - began < 45, "what is promised of dead hosts"


def test_a_server_that_dies_in_mid_epoch_is_named_in_time_and_the_run_can_go_on(objects, faults):
    folder, options = objects
    with fb.Loader(stored(str(folder)), seed=5, epochs=1) as loader:
        whole = [batch.ids.tolist() for batch in loader]
    with fb.Loader(stored(f"s3://{BUCKET}"), seed=5, epochs=1, storage_options=options, requests=8) as loader:
        seen = [next(iter(loader)).ids.tolist() for _ in range(3)]
        faults.outage(3600)
        began = time.monotonic()
        with pytest.raises(fb.Unavailable) as caught:
            while True:
                seen.append(next(iter(loader)).ids.tolist())
        assert time.monotonic() - began < 45
        assert f"s3://{BUCKET}/" in str(caught.value)
        faults.outage(0)
        assert seen + [batch.ids.tolist() for batch in loader] == whole


STOPPED = """
    import sys
    import forebay as fb
    options = dict(zip(("endpoint", "access_key_id", "secret_access_key"), sys.argv[2:5]))
    loader = fb.Loader(fb.images(sys.argv[1]).shuffle().batch(64), storage_options=options, requests=1000)
    sys.argv[5] == "running" and next(iter(loader))
    import urllib.request
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    opener.open(sys.argv[6] + "/set?share_never=1").read()
    print("ready", flush=True)
    try:
        for batch in loader:
            pass
    except KeyboardInterrupt:
        print("stopped")
    loader.close()
"""


def test_ctrl_c_with_a_thousand_requests_in_flight_that_nobody_answers(objects, faults):
    _, options = objects
    ended = interrupted_script(STOPPED, f"s3://{BUCKET}", *options.values(), "started", faults.url, after_s=2, within_s=1)
    assert ended.out == "stopped\n" and ended.code == 0, ended.err
    assert faults.status()["counts"]["peak_in_flight"] >= 900


OPENING = """
    import sys
    import forebay as fb
    options = dict(zip(("endpoint", "access_key_id", "secret_access_key"), sys.argv[2:5]))
    print("ready", flush=True)
    try:
        fb.Loader(fb.images(sys.argv[1]).batch(64), storage_options=options)
    except KeyboardInterrupt:
        print("stopped")
"""


def test_ctrl_c_while_a_listing_is_not_answered(objects, faults):
    _, options = objects
    faults.set(share_never=1)
    ended = interrupted_script(OPENING, f"s3://{BUCKET}", *options.values(), within_s=1)
    assert ended.out == "stopped\n" and ended.code == 0, ended.err


def test_a_full_proxy_and_other_refusals_are_told_as_they_are(objects, faults):
    _, options = objects
    faults.outage(3600, kind="503")
    began = time.monotonic()
    with pytest.raises(fb.Unavailable) as caught:
        fb.Loader(stored(f"s3://{BUCKET}"), storage_options=options)
    assert "503" in str(caught.value) and time.monotonic() - began < 60


def test_loaders_of_one_process_share_what_a_store_bears(objects, faults):
    _, options = objects
    faults.set(latency_ms=50)
    with fb.Loader(stored(f"s3://{BUCKET}"), storage_options=options) as first:
        alone = first.stats()["requests"]
        with fb.Loader(stored(f"s3://{BUCKET}"), storage_options=options) as second:
            assert first.stats()["requests"] == second.stats()["requests"] == alone // 2
            next(iter(first)), next(iter(second))
            assert first.stats()["requests"] == second.stats()["requests"]
        assert first.stats()["requests"] >= alone, "the other's share is free again"


def test_a_rank_begins_with_its_part_of_the_requests(objects, faults):
    _, options = objects
    # So few samples of its own that they say nothing of the store.
    with fb.Loader(stored(f"s3://{BUCKET}"), epochs=1, storage_options=options, rank=0, world_size=250) as loader:
        next(iter(loader))
        assert loader.stats()["requests"] == 16
