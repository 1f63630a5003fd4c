"""Local files behind a latency: every read waits, as it would for a far store. Reads of one open file follow each other."""

import time


class SlowFile:
    """A binary file for PyArrow and fsspec."""

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
    """An fsspec file system of local files with that latency."""
    from fsspec.implementations.local import LocalFileSystem

    class SlowFileSystem(LocalFileSystem):
        cachable = False

        def _open(self, path, mode="rb", **options):
            return SlowFile(open(self._strip_protocol(path), mode, buffering=0), latency_ms / 1000)

    return SlowFileSystem()
