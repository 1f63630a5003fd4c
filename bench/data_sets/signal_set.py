"""Voltage and current as energy meters record them: HDF5, chunks of 16,384 float32, shuffled and deflated.

The real file (nilmtk's `energy_complex.h5`) has 14 rows a meter. They are tiled to the length that is wanted, as the amplitude of a period each of a 50 Hz sine at 6.4 kHz, plus
noise of a thousandth, so that they compress as recorded signals do and not as repeats.
"""

import os

import numpy as np

REAL = os.path.join("data", "hdf5", "nilmtk", "energy_complex.h5")
PERIOD = 128  # samples of 50 Hz at 6.4 kHz
CHUNK = 16_384


def amplitudes(shared):
    """Of the meters' rows: what they measured, or what stands for it where the real file is absent."""
    import h5py

    path = os.path.join(shared, REAL)
    if not os.path.exists(path):
        return np.linspace(100, 250, 14)
    with h5py.File(path, "r") as file:
        meters = [file[f"building1/elec/{name}/table"]["values_block_0"] for name in ("meter1", "meter2", "meter3")]
    values = np.abs(np.concatenate(meters).ravel()).astype(np.float64)
    return values[np.isfinite(values) & (values > 0)]


def make(shared, work, megabytes):
    """The file's path; made once. `megabytes` of values in all, before they are compressed."""
    import h5py

    path = os.path.join(work, f"signals-{megabytes}.h5")
    if os.path.exists(path):
        return path
    rows = megabytes * 1_000_000 // 8 // CHUNK * CHUNK
    real, rng = amplitudes(shared), np.random.default_rng(7)
    with h5py.File(path + ".part", "w") as file:
        for name, shift in (("voltage", 0.0), ("current", 0.6)):
            data = file.create_dataset(name, (rows,), np.float32, chunks=(CHUNK,), compression="gzip", compression_opts=4, shuffle=True)
            for begin in range(0, rows, CHUNK * 64):
                at = np.arange(begin, min(begin + CHUNK * 64, rows))
                wave = np.sin(2 * np.pi * at / PERIOD - shift) * real[at // PERIOD % len(real)]
                data[begin : begin + len(at)] = (wave + rng.normal(0, 1e-3, len(at)) * real.mean()).astype(np.float32)
    os.rename(path + ".part", path)
    return path


def warm(path):
    with open(path, "rb") as file:
        while file.read(1 << 24):
            pass
