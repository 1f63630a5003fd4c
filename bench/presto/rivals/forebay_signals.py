"""Windows of an HDF5 file to RMS, active power and CUSUM, by Forebay."""

import forebay as fb


def name():
    return "Forebay"


def version():
    return f"forebay {fb.__version__}"


def settings():
    return {"shuffle": "blocks of 8 chunks"}


def epochs(path, window, stride, period, batch, threads, seed):
    """Endless epochs of (ids, rms of current, active power, cusum of the rms)."""
    pipeline = (fb.hdf5(path, {"i": "/current", "v": "/voltage"}, window=window, stride=stride).shuffle()
                .aggregate("rms", "i", every=period).aggregate("mean", "v", times="i", every=period).aggregate("cusum", "i_rms")
                .select("i_rms", "v_i_mean", "i_rms_cusum").batch(batch))
    with fb.Loader(pipeline, seed=seed, threads=threads) as loader:
        while True:
            yield ((one.ids, one["i_rms"], one["v_i_mean"], one["i_rms_cusum"]) for one in loader)
