"""Local files behind a latency: every read waits, as for a far store. Reads of one open file follow each other."""

import time


class SlowFile:
    """A binary file for PyArrow."""

    def __init__(self, file, seconds):
        self.file, self.seconds = file, seconds

    def read(self, size=-1):
        time.sleep(self.seconds)
        return self.file.read(size)

    def __getattr__(self, name):
        return getattr(self.file, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()


def opened(path, latency_ms):
    """What PyArrow opens: the path itself where there is no latency."""
    if not latency_ms:
        return path
    import pyarrow as pa
    return pa.PythonFile(SlowFile(open(path, "rb", buffering=0), latency_ms / 1000), mode="r")


def file_system(latency_ms):
    """What petastorm can be given: a file system of PyArrow's old kind, with that latency."""
    from pyarrow.filesystem import LocalFileSystem

    class SlowFileSystem(LocalFileSystem):
        def open(self, path, mode="rb"):
            return SlowFile(super().open(path, mode), latency_ms / 1000)

    return SlowFileSystem()
