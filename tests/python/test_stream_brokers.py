"""Brokers as users name them: TLS and credentials by storage_options, partitions by partition=, and what is refused."""

import itertools
import json

import pytest

import forebay as fb
from redis_client import RedisClient


def refused(pipeline, message, **options):
    with pytest.raises(fb.InvalidArgument) as caught:
        with fb.Loader(pipeline.batch(2), **options) as loader:
            next(iter(loader))
    assert message in str(caught.value)
    return str(caught.value)


def test_redis_over_tls_trains_and_keeps_its_secrets(servers, monkeypatch):
    where = servers("redis_tls")
    monkeypatch.setenv("FOREBAY_TEST_REDIS", where["FOREBAY_TEST_REDIS_TLS_PLAIN"])
    writer = RedisClient()
    writer.send(("ACL", "SETUSER", "trainer", "on", ">the-secret", "~*", "+@all"), *(("XADD", "secure", "*", "x", i) for i in range(40)))
    writer.close()
    options = {"ca_file": where["FOREBAY_TEST_REDIS_TLS_CERTIFICATES"] + "/ca.pem", "user": "trainer", "password": "the-secret"}
    pipeline = fb.stream(where["FOREBAY_TEST_REDIS_TLS"] + "/secure", fields={"x": "int64"})
    with fb.Loader(pipeline.batch(8), storage_options=options) as loader:
        assert [batch["x"].tolist() for batch in itertools.islice(loader, 2)] == [list(range(8)), list(range(8, 16))]
        state = loader.state_dict()
    assert "secret" not in json.dumps(state) + repr(pipeline)
    with fb.Loader(pipeline.batch(8), storage_options=options) as loader:
        loader.load_state_dict(state)
        assert next(iter(loader))["x"].tolist() == list(range(16, 24))
    assert "secret" not in refused(pipeline, "storage_options", storage_options=options | {"password": "bad-secret"})
    refused(pipeline, "'ca_file': …", storage_options={})
    refused(pipeline, "did you mean 'ca_file'?", storage_options={"cafile": "x"})


@pytest.mark.parametrize("before", [0, 5])
def test_a_state_of_before_the_first_batch_has_what_comes_after_it(servers, monkeypatch, before):
    plain = servers("redis_tls")["FOREBAY_TEST_REDIS_TLS_PLAIN"]
    monkeypatch.setenv("FOREBAY_TEST_REDIS", plain)
    writer = RedisClient()
    name = f"now-{before}"
    writer.send(*(("XADD", name, "*", "x", -1) for _ in range(before)))
    pipeline = fb.stream(f"{plain}/{name}", fields={"x": "int64"}, start="now").batch(2)
    with fb.Loader(pipeline) as loader:
        state = loader.state_dict()
    writer.send(*(("XADD", name, "*", "x", i) for i in range(4)))
    with fb.Loader(pipeline) as loader:
        loader.load_state_dict(state)
        assert [batch["x"].tolist() for batch in itertools.islice(loader, 2)] == [[0, 1], [2, 3]]
    writer.close()


def test_partitions_are_chosen_where_there_are_some_to_choose():
    for url, way_out in (("redis://h/0/s", "NAME-{000..003}"), ("rediss://h/0/s", "NAME-{000..003}"), ("nats://h/s", "STREAM/SUBJECT")):
        refused(fb.stream(url, partition=[0]), way_out)
    for partition in (-1, [], [0, 0], ["zero"], [0.5]):
        refused(fb.stream("kafka://h/t", partition=partition), "partition")
    assert '"partition": [0, 3]' in json.dumps(json.loads(fb.stream("kafka://h/t", partition=range(0, 4, 3)).to_json()))
    with pytest.raises(TypeError, match="list"):
        fb.stream(lambda offset, partition: [], partition=3)
