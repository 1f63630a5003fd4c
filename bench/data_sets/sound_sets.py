"""Recordings for benchmarks, from those that are here; too few of them are enlarged: each file stands there several times, under other names."""

import collections
import glob
import os
import shutil

# What is read, how often each file stands there, the rate that all have, the seconds that each is cut or filled up to, and the samples of a frame.
Set = collections.namedtuple("Set", "pattern times rate seconds n_fft suffix")
SETS = {
    "digits": Set("audio/spoken-digits/*.wav", 4, 8000, 1.0, 200, ".wav"),
    "speech": Set("audio/librispeech/*/*/*.flac", 20, 16000, 10.0, 400, ".flac"),
    "music": Set("audio/mp3/*44100.mp3", 60, 44100, 4.0, 1024, ".mp3"),
}


def make(name, shared, work, count=None):
    """The folder with the recordings, `count` at most."""
    chosen = SETS[name]
    found = sorted(glob.glob(os.path.join(shared, "data", chosen.pattern)))
    wanted = min(count or 1 << 30, len(found) * chosen.times)
    folder = os.path.join(work, f"{name}-{wanted}")
    os.makedirs(folder, exist_ok=True)
    for i in range(wanted):
        path = os.path.join(folder, f"{i:06}{chosen.suffix}")
        if not os.path.exists(path):
            shutil.copyfile(found[i % len(found)], path)
    return folder


def warm(folder):
    """Reads every file, so that all are in the page cache."""
    for path in paths(folder):
        with open(path, "rb") as file:
            file.read()


def paths(folder):
    return sorted(glob.glob(os.path.join(folder, "*")))
