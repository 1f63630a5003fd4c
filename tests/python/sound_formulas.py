"""Spectra of sound as torchaudio's documentation defines them, in float64: what the engine's are compared with. Written from the definitions."""
import numpy as np


def hz_to_mel(hz, scale):
    hz = np.asarray(hz, np.float64)
    if scale == "htk":
        return 2595 * np.log10(1 + hz / 700)
    return np.where(hz < 1000, hz * 3 / 200, 15 + 27 * np.log(np.maximum(hz, 1e-9) / 1000) / np.log(6.4))


def mel_to_hz(mel, scale):
    mel = np.asarray(mel, np.float64)
    if scale == "htk":
        return 700 * (10 ** (mel / 2595) - 1)
    return np.where(mel < 15, mel * 200 / 3, 1000 * 6.4 ** ((mel - 15) / 27))


def mel_filters(rate, n_fft, n_mels, f_min, f_max, norm, scale):
    """(n_mels, n_fft // 2 + 1) triangles."""
    bins = np.arange(n_fft // 2 + 1) * rate / n_fft
    edges = mel_to_hz(np.linspace(hz_to_mel(f_min, scale), hz_to_mel(f_max, scale), n_mels + 2), scale)
    low, middle, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    weights = np.maximum(0, np.minimum((bins - low) / (middle - low), (high - bins) / (high - middle)))
    return weights * 2 / (high - low) if norm == "slaney" else weights


def spectrogram(samples, n_fft, win_length, hop_length, power, center, pad_mode):
    """(n_fft // 2 + 1, frames), as torch.stft lays frames."""
    samples = np.asarray(samples, np.float64)
    if center:
        samples = np.pad(samples, n_fft // 2, mode=pad_mode)
    window = np.zeros(n_fft)
    begin = (n_fft - win_length) // 2
    window[begin : begin + win_length] = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(win_length) / win_length)
    frames = np.lib.stride_tricks.sliding_window_view(samples, n_fft)[::hop_length]
    return np.abs(np.fft.rfft(frames * window, axis=1)).T ** power


def mel_spectrogram(samples, rate, n_fft=400, win_length=None, hop_length=None, f_min=0.0, f_max=None, n_mels=128, power=2.0, norm=None,
                    mel_scale="htk", center=True, pad_mode="reflect", log=None):
    win_length = win_length or n_fft
    spectra = spectrogram(samples, n_fft, win_length, hop_length or win_length // 2, power, center, pad_mode)
    mel = mel_filters(rate, n_fft, n_mels, f_min, f_max or rate / 2, norm, mel_scale) @ spectra
    if log == "db":
        return 10 * np.log10(np.maximum(mel, 1e-10))
    return np.log(mel + 1e-6) if log == "ln" else mel


def mfcc(samples, rate, n_mfcc=40, log_mels=False, **mel_options):
    mel = mel_spectrogram(samples, rate, log="ln" if log_mels else "db", **mel_options)
    if not log_mels:
        mel = np.maximum(mel, mel.max() - 80)
    bands = len(mel)
    rows = np.cos(np.pi / bands * (np.arange(bands) + 0.5) * np.arange(n_mfcc)[:, None]) * np.sqrt(2 / bands)
    rows[0] /= np.sqrt(2)
    return rows @ mel
