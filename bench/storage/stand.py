"""The stand: photographs behind Ceph's gateway, with a proxy in front that adds the latency and counts what is in flight."""

import os
import sys
import urllib.parse
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.dirname(HERE), os.path.join(HERE, "..", "..", "tests")]

from data_sets import photo_set  # noqa: E402
from servers import Servers  # noqa: E402
from servers.faults import Control  # noqa: E402
from servers.s3 import Client  # noqa: E402

BUCKET, PREFIX, SHARDS, MDS = "photographs", "train", "shards", "mds"
ENDS = 32  # bytes at either end of an object that the timed part compares


def ends(data):
    return zlib.crc32(bytes(data[-ENDS:]), zlib.crc32(bytes(data[:ENDS])))


class Stand:
    """The servers, the bucket with the photographs, and files that say what is in it. Use as a context manager."""

    def __init__(self, work, shared, photos):
        self.paths = photo_set.originals(shared, work, photos)
        self.root = os.path.dirname(os.path.dirname(self.paths[0]))
        self.keys = [os.path.relpath(path, self.root) for path in self.paths]
        self.list = os.path.join(work, f"keys-{photos}.tsv")
        self.urls = os.path.join(work, f"urls-{photos}.txt")
        self.servers = Servers(["ceph", "faults"])
        self.bytes = 0
        self.prepared = set()

    def __enter__(self):
        self.servers.start()
        self.variables = os.environ | self.servers.variables
        self.endpoint = self.variables["FOREBAY_TEST_FAULTS"]
        self.control = Control(self.variables["FOREBAY_TEST_FAULTS_CONTROL"])
        try:
            self._fill()
        except BaseException:
            self.servers.stop()
            raise
        return self

    def __exit__(self, *_):
        self.servers.stop()

    def client(self):
        """Straight to the gateway."""
        return Client(self.variables["FOREBAY_TEST_S3"], *self.secrets())

    def secrets(self):
        return self.variables["FOREBAY_TEST_S3_KEY"], self.variables["FOREBAY_TEST_S3_SECRET"]

    def set(self, latency_ms, faults):
        """As {"share_503": 0.02}; counts at zero."""
        self.control.reset()
        self.control.set(latency_ms=latency_ms, **faults)

    def tidy(self):
        """Removes what a loader left beside the photographs, which others would take for one of them."""
        client = self.client()
        for key in set(client.keys(BUCKET, PREFIX + "/")) - {f"{PREFIX}/{key}" for key in self.keys}:
            client.delete(BUCKET, key)
        client.connection.close()

    def environment(self):
        """What tools of the S3 world read."""
        key, secret = self.secrets()
        return {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret, "AWS_REGION": "us-east-1",
                "AWS_DEFAULT_REGION": "us-east-1", "AWS_ENDPOINT_URL": self.endpoint, "S3_ENDPOINT_URL": self.endpoint,
                "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
                "NO_PROXY": "127.0.0.1"}

    def _fill(self):
        client = self.client()
        client.make_bucket(BUCKET)
        objects, lines = {}, []
        for key, path in zip(self.keys, self.paths):
            with open(path, "rb") as file:
                data = file.read()
            objects[f"{PREFIX}/{key}"] = data
            lines.append(f"{key}\t{len(data)}\t{zlib.crc32(data)}\t{ends(data)}\n")
            self.bytes += len(data)
        client.put_all(BUCKET, objects)
        client.connection.close()
        with open(self.list, "w") as file:
            file.writelines(lines)
        with open(self.urls, "w") as file:
            file.writelines(f"{self.endpoint}/{BUCKET}/{PREFIX}/{urllib.parse.quote(key)}\n" for key in self.keys)

    def upload_folder(self, folder, prefix):
        """All files of a folder, as they lie there."""
        client = self.client()
        objects = {}
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as file:
                objects[f"{prefix}/{name}"] = file.read()
        client.put_all(BUCKET, objects)
        client.connection.close()
