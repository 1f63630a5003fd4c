"""Hosts of a cluster of Ray that die while they write."""
import importlib.util

import pytest
from materializing_far import LAUNCHERS, files_in, numbers

import forebay as fb

pytestmark = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="RAY ABSENT: pip install 'forebay[ray]'")


@pytest.fixture
def nodes(monkeypatch):
    """A head without cores, and two hosts of one core each."""
    for name in (*LAUNCHERS, "RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    added = [cluster.add_node(num_cpus=1) for _ in range(2)]
    ray.init(address=cluster.address, log_to_driver=False, configure_logging=False)
    yield cluster, added
    ray.shutdown()
    cluster.shutdown()


def test_a_host_that_dies_is_done_without(nodes, tmp_path):
    cluster, added = nodes
    pipeline = numbers(tmp_path)
    fb.materialize(pipeline, tmp_path / "one", cut="last", shards=12)

    def progress(now):
        if now["shards_done"] == 3:
            cluster.remove_node(added[0], allow_graceful=False)

    made = fb.materialize(pipeline, tmp_path / "ray", cut="last", shards=12, engine="ray", progress=progress)
    assert made.complete and made.written == 400
    assert files_in(tmp_path / "ray") == files_in(tmp_path / "one")
