"""The peak of a process tree's memory, looked at from outside."""

import os
import threading

from harness import process_tree

SAMPLE_S = 0.1          # until the timed part begins
SAMPLE_TIMED_S = 1.0    # while it is timed: looking costs the measured process time


class MemorySampler(threading.Thread):
    """Looks until stop(), or until RESULT.measured says that the timed part is over. Use as a context manager."""

    def __init__(self, pid, result=None):
        super().__init__(daemon=True)
        self.pid, self.result = pid, result
        self.peak_bytes, self.peak_file_bytes = 0, 0  # proportional set size; of it the mapped files at that moment
        self.over = threading.Event()

    def _marked(self, mark):
        return self.result is not None and os.path.exists(f"{self.result}.{mark}")

    def run(self):
        while not self.over.wait(SAMPLE_TIMED_S if self._marked("measuring") else SAMPLE_S):
            if self._marked("measured"):
                return
            total, files = process_tree.memory(self.pid)
            if total > self.peak_bytes:
                self.peak_bytes, self.peak_file_bytes = total, files

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()
