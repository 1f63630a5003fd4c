"""Data sets in S3 buckets give what the same files give, and mistakes are told as a new user meets them."""
import json
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from loading import one_epoch
from project import run

import forebay as fb
from servers.s3 import Client

BUCKET = "photos"
pytestmark = pytest.mark.usefixtures("nothing_from_outside")


@pytest.fixture(scope="session")
def ceph(servers, photos):
    """The gateway's variables; its bucket holds the photographs below train/ and lists of them."""
    found = servers("ceph")
    client = Client(found["FOREBAY_TEST_S3"], found["FOREBAY_TEST_S3_KEY"], found["FOREBAY_TEST_S3_SECRET"])
    client.make_bucket(BUCKET)
    keys = sorted(str(path.relative_to(photos)) for path in Path(photos).rglob("*.jpg"))
    client.put_all(BUCKET, {f"train/{key}": (Path(photos) / key).read_bytes() for key in keys})
    client.put(BUCKET, "lists/all.csv", ("path,n\n" + "".join(f"../train/{key},{i}\n" for i, key in enumerate(keys))).encode())
    client.put(BUCKET, "names/odd/a b+c%41/ö.bin", b"odd")
    return found | {"client": client, "keys": keys}


@pytest.fixture
def options(ceph):
    return {"endpoint": ceph["FOREBAY_TEST_S3"], "access_key_id": ceph["FOREBAY_TEST_S3_KEY"],
            "secret_access_key": ceph["FOREBAY_TEST_S3_SECRET"]}


def pipeline(root):
    return fb.images(root).shuffle().decode_image().random_resized_crop(24).random_flip().batch(4)


def refused(kind, url, storage_options):
    """The message of what opening a data set raises, which never shows a secret."""
    with pytest.raises(kind) as caught:
        fb.Loader(pipeline(url), storage_options=storage_options)
    text = str(caught.value)
    for name in ("secret_access_key", "session_token"):
        if name in storage_options:
            assert storage_options[name] not in text
    return text


@pytest.mark.parametrize("requests", [1, 4, 64, 1024])
def test_the_digest_is_that_of_local_files(photos, options, requests):
    over_s3 = one_epoch(pipeline(f"s3://{BUCKET}/train"), seed=3, requests=requests, storage_options=options)
    assert over_s3 == one_epoch(pipeline(photos), seed=3)


def test_a_cache_behind_a_manifest_asks_of_a_later_run_only_whether_objects_changed(photos, ceph, options, tmp_path):
    client, keys = ceph["client"], ceph["keys"]
    listed = "path\n" + "".join(f"{key}\n" for key in keys)
    client.put(BUCKET, "kept/list.csv", listed.encode())
    client.put_all(BUCKET, {f"kept/{key}": (Path(photos) / key).read_bytes() for key in keys})
    source = fb.manifest(f"s3://{BUCKET}/kept/list.csv").shuffle().decode_image().resize(32)
    cached = source.cache(dir=tmp_path / "kept", ram=0).batch(4)

    def read(pipeline, run):
        """The digest, and the bytes that came from the bucket besides the list. A store of its own knows nothing of earlier objects."""
        with fb.Loader(pipeline, seed=3, epochs=1, storage_options=options | {"region": f"run-{run}"}) as loader:
            return fb.digest(loader), loader.stats()["stores"][0]["bytes"] - len(listed)

    first, stored = read(cached, 0)
    assert stored == sum((Path(photos) / key).stat().st_size for key in keys)
    assert read(cached, 1) == (first, 0)
    other = (Path(photos) / keys[1]).read_bytes()
    client.put(BUCKET, f"kept/{keys[0]}", other)
    changed = read(source.batch(4), 2)[0]
    assert changed != first
    assert read(cached, 3) == (changed, len(other))
    assert read(cached, 4) == (changed, 0)


def test_tls_is_verified_and_gives_the_same(photos, ceph, options):
    options["endpoint"] = ceph["FOREBAY_TEST_S3_TLS"]
    assert "ca_file" in refused(fb.InvalidArgument, f"s3://{BUCKET}/train", options)
    options["ca_file"] = ceph["FOREBAY_TEST_CA"]
    assert one_epoch(pipeline(f"s3://{BUCKET}/train"), storage_options=options) == one_epoch(pipeline(photos))


def test_the_second_implementation_gives_the_same(photos, servers):
    found = servers("swift")
    keys = {"access_key_id": found["FOREBAY_TEST_SWIFT_KEY"], "secret_access_key": found["FOREBAY_TEST_SWIFT_SECRET"]}
    client = Client(found["FOREBAY_TEST_SWIFT"], keys["access_key_id"], keys["secret_access_key"])
    client.make_bucket(BUCKET)
    client.put_all(BUCKET, {f"t/{path.relative_to(photos)}": path.read_bytes() for path in Path(photos).rglob("*.jpg")})
    options = {"endpoint": found["FOREBAY_TEST_SWIFT"], **keys}
    assert one_epoch(pipeline(f"s3://{BUCKET}/t"), storage_options=options) == one_epoch(pipeline(photos))
    wrong = refused(fb.InvalidArgument, f"s3://{BUCKET}/t", options | {"secret_access_key": "wrong-secret"})
    assert "does not accept the signature" in wrong


def test_settings_come_from_the_environment(photos, ceph, options, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", options["endpoint"])
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", options["access_key_id"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", options["secret_access_key"])
    assert one_epoch(pipeline(f"s3://{BUCKET}/train")) == one_epoch(pipeline(photos))
    assert list(fb.images(f"s3://{BUCKET}/train/").classes) == ["cats", "dogs", "fish"]


def test_a_profile_holds_endpoint_and_keys(photos, options, tmp_path):
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws/config").write_text(f"[profile lab]\nendpoint_url = {options['endpoint']}\n")
    (tmp_path / ".aws/credentials").write_text(
        f"[lab]\naws_access_key_id = {options['access_key_id']}\naws_secret_access_key = {options['secret_access_key']}\n")
    digest = one_epoch(pipeline(f"s3://{BUCKET}/train"), storage_options={"profile": "lab"})
    assert digest == one_epoch(pipeline(photos))


def read_all(source, storage_options):
    """Key and bytes of each sample."""
    with fb.Loader(source.batch(5), storage_options=storage_options) as loader:
        return [pair for batch in loader for pair in zip(batch["key"], batch["bytes"])]


def test_patterns_braces_and_lists_name_objects(photos, ceph, options):
    read = {key: (Path(photos) / key).read_bytes() for key in ceph["keys"]}
    assert dict(read_all(fb.files(f"s3://{BUCKET}/train/*/*.jpg"), options)) == read
    two = read_all(fb.files(f"s3://{BUCKET}/train/{{cats/cats,dogs/dogs}}_0.jpg"), options)
    assert two == [(key, read[key]) for key in ("cats/cats_0.jpg", "dogs/dogs_0.jpg")]
    listed = [f"s3://{BUCKET}/train/{key}" for key in reversed(ceph["keys"])]
    assert [text for _, text in read_all(fb.files(listed), options)] == [read[key] for key in reversed(ceph["keys"])]
    assert read_all(fb.files(f"s3://{BUCKET}/names/odd/a b+c%41/ö.bin"), options)[0][1] == b"odd"


def test_manifests_lie_beside_their_objects_or_elsewhere(photos, ceph, options, tmp_path):
    read = [(Path(photos) / key).read_bytes() for key in ceph["keys"]]
    assert [text for _, text in read_all(fb.manifest(f"s3://{BUCKET}/lists/all.csv"), options)] == read
    with pytest.raises(fb.InvalidArgument, match="row 1.*leads out of root="):
        fb.Loader(fb.manifest(f"s3://{BUCKET}/lists/all.csv", root=f"s3://{BUCKET}/lists").batch(1), storage_options=options)
    ceph["client"].put(BUCKET, "all.csv", ("path,size\n" + "".join(
        f"train/{key},{len(data)}\n" for key, data in zip(ceph["keys"], read))).encode())
    assert [text for _, text in read_all(fb.manifest(f"s3://{BUCKET}/all.csv"), options)] == read
    local = tmp_path / "local.csv"
    local.write_text("path\n" + "".join(f"s3://{BUCKET}/train/{key}\n" for key in ceph["keys"]))
    assert [text for _, text in read_all(fb.manifest(str(local)), options)] == read
    local.write_text("path\n" + "".join(f"{key}\n" for key in ceph["keys"]))
    assert [text for _, text in read_all(fb.manifest(str(local), root=f"s3://{BUCKET}/train"), options)] == read
    local.write_text(f"path\ns3://{BUCKET}/train/a\ns3://other-bucket/b\n")
    with pytest.raises(fb.InvalidArgument, match="row 2.*one bucket"):
        fb.Loader(fb.manifest(str(local)).batch(1), storage_options=options)


def test_a_missing_object_of_a_list_is_found_when_it_is_read(ceph, options):
    names = [f"s3://{BUCKET}/train/{key}" for key in ceph["keys"][:3]] + [f"s3://{BUCKET}/train/gone.jpg"]
    with fb.Loader(fb.files(names).batch(1), storage_options=options) as loader:
        delivered = iter(loader)
        for _ in range(3):
            next(delivered)
        with pytest.raises(fb.NotFound, match=f"s3://{BUCKET}/train/gone.jpg: no such object"):
            next(delivered)
    with fb.Loader(fb.files(names).batch(4), storage_options=options, on_error="skip") as loader:
        assert sum(len(batch) for batch in loader) == 3
        assert loader.errors()[0]["key"] == f"s3://{BUCKET}/train/gone.jpg"


def test_mistakes_of_a_new_user(ceph, options):
    url = f"s3://{BUCKET}/train"
    assert "there is no bucket 'no-such-bucket'" in refused(fb.NotFound, "s3://no-such-bucket/x", options)
    assert "no such folder" in refused(fb.NotFound, f"s3://{BUCKET}/nothing", options)
    assert "3 to 63 characters" in refused(fb.InvalidArgument, "s3://ab/x", options)
    assert "names no bucket" in refused(fb.InvalidArgument, "s3:///x", options)
    assert "secret access key" in refused(fb.InvalidArgument, url, options | {"secret_access_key": "wrong-secret"})
    assert "access key id" in refused(fb.InvalidArgument, url, options | {"access_key_id": "NOBODY"})
    assert "not public" in refused(fb.InvalidArgument, url, {"endpoint": options["endpoint"], "anonymous": "true"})
    no_credentials = refused(fb.InvalidArgument, url, {"endpoint": options["endpoint"]})
    assert "no credentials found" in no_credentials and "anonymous=true" in no_credentials
    assert "no such option: regoin" in refused(fb.InvalidArgument, url, options | {"regoin": "x"})
    refused(fb.InvalidArgument, url, options | {"session_token": "made-up"})
    assert "there is no profile 'lab'" in refused(fb.NotFound, url, {"profile": "lab"})


def test_secrets_stay_out_of_what_is_saved_and_printed(ceph, options):
    described = pipeline(f"s3://{BUCKET}/train")
    with fb.Loader(described, storage_options=options) as loader:
        next(iter(loader))
        shown = [str(described), described.to_json(), json.dumps(loader.state_dict()), repr(loader), json.dumps(loader.stats())]
    for text in shown:
        assert options["secret_access_key"] not in text
        assert options["access_key_id"] not in text


def test_an_object_that_changes_under_a_run_is_an_error(ceph, options):
    client = ceph["client"]
    client.put_all(BUCKET, {f"changing/{i}": b"x" * 10 for i in range(4)})
    with fb.Loader(fb.files(f"s3://{BUCKET}/changing/*").batch(1), storage_options=options, requests=1) as loader:
        assert len(list(loader)) == 4
        client.put_all(BUCKET, {f"changing/{i}": b"y" * 10 for i in range(4)})
        with pytest.raises(fb.Corrupt, match="changed since it was first read"):
            for _ in range(1000):  # what was read ahead of the change is still delivered
                for batch in loader:
                    assert batch["bytes"][0] == b"x" * 10


def credentials_control(url, action, **arguments):
    query = "&".join(f"{name}={value}" for name, value in arguments.items())
    with urllib.request.urlopen(f"{url}/control/{action}?{query}", timeout=10) as answer:
        return json.load(answer)


@pytest.mark.parametrize("lifetime_s", [2, 3600], ids=["known end", "unforeseen end"])
@pytest.mark.parametrize("kind", ["instance", "container"])
def test_credentials_that_expire_in_mid_run_are_renewed(photos, ceph, servers, faults, monkeypatch, kind, lifetime_s):
    found = servers("ceph", "faults")
    service = found["FOREBAY_TEST_CREDENTIALS"]
    credentials_control(service, "reset")
    credentials_control(service, "set", lifetime_s=lifetime_s)
    if kind == "instance":
        monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", service)
    else:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", service + "/container")
    # One request at a time, 20 ms each: the run outlasts the credentials several times over.
    faults.set(latency_ms=20, token_lifetime_s=0.2)
    over_s3 = one_epoch(pipeline(f"s3://{BUCKET}/train"), requests=1,
                        storage_options={"endpoint": found["FOREBAY_TEST_FAULTS"]})
    assert over_s3 == one_epoch(pipeline(photos))


def test_http_has_manifests_and_cannot_be_listed(photos, servers):
    found = servers("nginx")
    folder = Path(found["FOREBAY_TEST_HTTP_ROOT"]) / "s3-test"
    (folder / "a").mkdir(parents=True, exist_ok=True)
    for i in range(5):
        (folder / f"a/{i} x.bin").write_bytes(bytes([i]) * 100)
    (folder / "list.csv").write_text("path,n\n" + "".join(f"a/{i} x.bin,{i}\n" for i in range(5)))
    url = found["FOREBAY_TEST_HTTP"] + "/s3-test"
    with fb.Loader(fb.manifest(url + "/list.csv").batch(5)) as loader:
        batch = next(iter(loader))
        assert batch["bytes"] == [bytes([i]) * 100 for i in range(5)]
        assert np.array_equal(batch["n"], np.arange(5))
    with pytest.raises(fb.Unsupported, match="manifest"):
        fb.Loader(pipeline(url))


def test_the_program_reads_from_buckets(photos, ceph, options, tmp_path):
    (tmp_path / "p.json").write_text(pipeline(f"s3://{BUCKET}/train").to_json())
    (tmp_path / "local.json").write_text(pipeline(photos).to_json())
    storage = [word for name, value in options.items() for word in ("--storage-option", f"{name}={value}")]

    def json_of(*arguments):
        return json.loads(run("forebay", *arguments, "--json"))

    over_s3, local = json_of("run", tmp_path / "p.json", *storage), json_of("run", tmp_path / "local.json")
    assert over_s3["epochs"][0]["digest"] == local["epochs"][0]["digest"]
    assert json_of("plan", tmp_path / "p.json", *storage) == json_of("plan", tmp_path / "local.json")
    there, here = json_of("inspect", f"s3://{BUCKET}/train", *storage), json_of("inspect", photos)
    assert (there["count"], there["bytes"]["total"]) == (here["count"], here["bytes"]["total"])
