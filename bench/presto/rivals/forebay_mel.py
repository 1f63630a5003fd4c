"""Forebay: one pipeline."""

import forebay as fb


def epochs(paths, rate, seconds, n_fft, n_mels, batch, threads, seed):
    pipeline = (fb.files(paths).shuffle().decode_audio(rate=rate).pad_or_crop(seconds)
                .mel_spectrogram(n_fft=n_fft, hop_length=rate // 100, n_mels=n_mels).select("audio").batch(batch))
    loader = fb.Loader(pipeline, seed=seed, threads=threads)
    while True:
        yield ((one.ids, one["audio"]) for one in loader)


def name():
    return "Forebay"


def version():
    return fb.__version__


def settings():
    return {}
