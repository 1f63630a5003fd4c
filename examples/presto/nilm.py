"""Appliances by their signature (NILM): voltage and current from HDF5 → windows → RMS, reactive power and CUSUM of each period.

    python examples/presto/nilm.py FILE.h5 [WINDOW [PERIOD]]

FILE holds /voltage and /current, one value a row. Three series for each window, as in the pipeline "NILM" of PRESTO: the root mean square of the current,
the reactive power, and the cumulative sum of the RMS.
"""

import sys

import numpy as np

import forebay as fb


def signatures(path, window, period):
    return (
        fb.hdf5(path, {"i": "/current", "v": "/voltage"}, window=window)
        .shuffle()
        .aggregate("rms", ["i", "v"], every=period)
        .aggregate("mean", "v", times="i", every=period)  # the active power
        .aggregate("cusum", "i_rms")
        .select("i_rms", "v_rms", "v_i_mean", "i_rms_cusum")
        .batch(64)
    )


def reactive_power(batch):
    """What of the apparent power is not active."""
    apparent = batch["v_rms"].astype(np.float64) * batch["i_rms"]
    return np.sqrt(np.maximum(apparent**2 - batch["v_i_mean"] ** 2, 0))


def main(path, window=4096, period=128):
    windows, reactive = 0, []
    with fb.Loader(signatures(path, int(window), int(period)), seed=7, epochs=1) as loader:
        for batch in loader:
            features = np.stack([batch["i_rms"], reactive_power(batch), batch["i_rms_cusum"]], axis=1)  # (64, 3, periods)
            windows += len(features)
            reactive.append(features[:, 1].mean())
    print(f"{windows} windows of {features.shape[2]} periods, 3 series each; mean reactive power {np.mean(reactive):.6g}")


if __name__ == "__main__":
    main(*sys.argv[1:])
