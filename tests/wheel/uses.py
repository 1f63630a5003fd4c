"""Run in a bare root with the wheel installed: uses every library that the wheel contains. Prints a line for each, and fails at the first that does
not work. Needs the standard library, numpy and, for tables, pyarrow; the folder of pictures and sound is the first argument. Names behind it choose
what is used."""
import io
import os
import re
import socket
import subprocess
import sys
import sysconfig
import tarfile
import threading
import time
from pathlib import Path

import numpy as np

import forebay as fb

DATA = Path(sys.argv[1])
PHOTOS = DATA / "photos"


PROGRAM = Path(sysconfig.get_path("scripts")) / "forebay"


def first(pipeline, **options):
    with fb.Loader(pipeline, **options) as loader:
        return next(iter(loader))


def versions():
    """The program says which commit it is, and loads every module but that of tables, which needs pyarrow."""
    told = subprocess.run([PROGRAM, "--version", "--verbose"], capture_output=True, text=True, check=True).stdout
    revision = re.search(r"^  revision +([0-9a-f]{40})$", told, re.MULTILINE)
    assert revision, told
    modules = dict(re.findall(r"^  (\w+) +(loads|missing)\b", told, re.MULTILINE))
    assert modules.pop("arrow") and modules and set(modules.values()) == {"loads"}, told
    return f"{revision[1][:12]}, {', '.join(modules)}"


def demo():
    done = subprocess.run([PROGRAM, "demo", PHOTOS, "--batch", "4", "--size", "64"], cwd=DATA, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip().splitlines()[-1]


def photographs():
    batch = first(fb.images(PHOTOS).shuffle().decode_image().random_resized_crop(64).random_flip().normalize(fb.IMAGENET).batch(4), seed=1)
    assert batch["image"].shape == (4, 3, 64, 64) and np.isfinite(batch["image"]).all()
    return batch["image"].shape


def webp():
    batch = first(fb.files(str(DATA / "*.webp")).decode_image().batch(1))
    return batch["image"].shape


def html():
    (DATA / "page.html").write_text("<html><body><h1>Title</h1><p>Some text &amp; more.</p></body></html>")
    batch = first(fb.text(str(DATA / "page.html"), by="file").extract_text().batch(1))
    assert "Some text & more." in batch["text"][0], batch
    return "text of HTML"


def table():
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return "left out: no pyarrow for this Python"
    pq.write_table(pa.table({"x": list(range(100)), "word": [f"w{i}" for i in range(100)]}), DATA / "t.parquet", compression="zstd")
    batch = first(fb.parquet(str(DATA / "t.parquet")).batch(10))
    assert batch["x"].tolist() == list(range(10)), batch
    return "Parquet by pyarrow " + pa.__version__


def tar():
    photo = next(PHOTOS.rglob("*.jpg")).read_bytes()
    with tarfile.open(DATA / "shard.tar", "w") as archive:
        for i in range(6):
            for kind, content in (("jpg", photo), ("cls", str(i).encode())):
                member = tarfile.TarInfo(f"{i:04}.{kind}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    batch = first(fb.webdataset(str(DATA / "shard.tar"), fields={"image": "jpg", "label": "cls"}).decode_image().resize(32).batch(6))
    assert sorted(int(label) for label in batch["label"]) == list(range(6)), batch["label"]
    return batch["image"].shape


def sound():
    told = []
    for file in sorted(DATA.glob("sound.*")):  # FLAC by libFLAC, MP3 by libmpg123, WAV and Ogg by libsndfile, and soxr for the rate
        batch = first(fb.files(str(file)).decode_audio(rate=8000).batch(1))
        samples = np.asarray(batch["audio"][0])
        assert samples.size > 8000 and np.abs(samples).max() > 0.001, file
        told.append(f"{file.suffix[1:]} {samples.size} samples")
    assert len(told) >= 3, "sound files are missing"
    return ", ".join(told)


def cached():
    # Twice, so that the second pass takes what the first one packed.
    pipeline = fb.images(PHOTOS).decode_image().resize(32).cache(dir=str(DATA / "cache"), compression="zstd").batch(4)
    with fb.Loader(pipeline) as loader:
        batches = [batch["image"] for _ in range(2) for batch in loader]
    assert len(batches) >= 2
    return f"{len(batches)} batches"


def bucket():
    if "FOREBAY_TEST_S3" not in os.environ:
        return "left out: no server"
    for endpoint, more in ((os.environ["FOREBAY_TEST_S3"], {}), (os.environ["FOREBAY_TEST_S3_TLS"], {"ca_file": str(DATA / "ca.pem")})):
        options = {"endpoint": endpoint, "access_key_id": os.environ["FOREBAY_TEST_S3_KEY"],
                   "secret_access_key": os.environ["FOREBAY_TEST_S3_SECRET"], "region": "us-east-1", **more}
        batch = first(fb.images("s3://wheel/photos").decode_image().resize(32).batch(4), storage_options=options)
        assert batch["image"].shape[0] == 4
    return "photographs over HTTP and HTTPS"


def refused_certificate():
    """Where no authority of ours is named, those of the system count; this server's is not among them."""
    if "FOREBAY_TEST_S3_TLS" not in os.environ:
        return "left out: no server"
    try:
        first(fb.images("s3://wheel/photos").decode_image().resize(32).batch(4),
              storage_options={"endpoint": os.environ["FOREBAY_TEST_S3_TLS"], "access_key_id": "k", "secret_access_key": "s", "region": "us-east-1"})
    except fb.Error as error:
        assert "ca_file" in str(error), error
        return "refused"
    raise AssertionError("a certificate that nobody vouches for was taken")


def redis():
    if "FOREBAY_TEST_REDIS" not in os.environ:
        return "left out: no server"
    url = os.environ["FOREBAY_TEST_REDIS"]
    host, port = url.removeprefix("redis://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(b"DEL wheel\r\n" + b"".join(b"XADD wheel * x %d\r\n" % i for i in range(8)))
        received = b""
        while received.count(b"\r\n") < 17:
            received += connection.recv(65536)
    batch = first(fb.stream(f"{url}/wheel", fields={"x": "int64"}).batch(8))
    assert batch["x"].tolist() == list(range(8)), batch
    return batch["x"].tolist()


def nats():
    if "FOREBAY_TEST_NATS" not in os.environ:
        return "left out: no server"
    url = os.environ["FOREBAY_TEST_NATS"]
    host, port = url.removeprefix("nats://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        lines = connection.makefile("rb")
        assert lines.readline().startswith(b"INFO")

        def request(subject: bytes, payload: bytes) -> None:
            connection.sendall(b"PUB %s answer %d\r\n%s\r\n" % (subject, len(payload), payload))
            while not lines.readline().startswith(b"MSG"):
                pass
            lines.readline()

        connection.sendall(b'CONNECT {"verbose":false}\r\nSUB answer 1\r\n')
        request(b"$JS.API.STREAM.DELETE.wheel", b"")
        request(b"$JS.API.STREAM.CREATE.wheel", b'{"name":"wheel","subjects":["wheel.x"]}')
        for i in range(8):
            request(b"wheel.x", b'{"x": %d}' % i)
    batch = first(fb.stream(f"{url}/wheel", fields={"x": "int64"}).batch(8))
    assert batch["x"].tolist() == list(range(8)), batch
    return batch["x"].tolist()


def kafka():
    """No server of it is at hand: the module is loaded, and librdkafka names the broker that does not answer. Opening would wait for it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    opening = f"import forebay as fb; fb.Loader(fb.stream('kafka://127.0.0.1:{port}/topic', fields={{'x': 'int64'}}).batch(1))"
    process = subprocess.Popen([sys.executable, "-c", opening], stderr=subprocess.PIPE, text=True)
    lines = []
    for line in process.stderr:  # until it ends, or says what it waits for
        lines.append(line)
        if "waiting for the cluster" in line:
            break
    process.kill()
    process.wait()
    assert "Connection refused" in lines[-1], "".join(lines)
    return "a broker that is not there is waited for"


def threads():
    """Exceptions in many threads, of several shared objects at once, each with its own C++ library."""
    problems = []

    def work() -> None:
        for _ in range(20):
            try:
                fb.Loader(fb.files(str(DATA / "nothing-*.jpg")).decode_image().batch(1))
            except fb.NotFound:
                continue
            problems.append("no error")

    running = [threading.Thread(target=work) for _ in range(4)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert not problems, problems
    return "errors in four threads"


def free_threads():
    """On a Python without the global lock: importing the module leaves it off, and functions of `.map` run at the same time."""
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "left out: this Python has the lock"
    assert not sys._is_gil_enabled()
    inside = set()

    def meet(sample):
        inside.add(threading.get_ident())
        until = time.monotonic() + 60
        while len(inside) < 2:  # a function that computes: under a lock nobody else would come in
            assert time.monotonic() < until, "functions of .map take turns"
        return sample

    sys.setswitchinterval(600)
    first(fb.arrays(x=np.arange(64)).map(meet).batch(64), threads=2)

    def calls_per_second(threads: int) -> float:
        began = time.monotonic()
        first(fb.arrays(x=np.arange(64)).map(lambda sample: {"x": np.asarray(sum(range(100_000)))}).batch(64), threads=threads)
        return 64 / (time.monotonic() - began)

    cores = len(os.sched_getaffinity(0))
    return f"functions run at once; {cores} threads make {calls_per_second(cores) / calls_per_second(1):.1f} times the calls of one"


def main() -> None:
    chosen = sys.argv[2:]
    for use in (versions, photographs, demo, webp, html, table, tar, sound, cached, bucket, refused_certificate, redis, nats, kafka, threads, free_threads):
        if chosen and use.__name__ not in chosen:
            continue
        print(f"  {use.__name__}: {use()}", flush=True)


if __name__ == "__main__":
    main()
