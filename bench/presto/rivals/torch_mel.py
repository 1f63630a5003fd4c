"""PyTorch's DataLoader over libsndfile and torch.stft: what torchaudio's MelSpectrogram does, since torchaudio has no build for this PyTorch.

Its steps: torch.stft with a Hann window, centred and reflected, the squares of its absolute values, and a product with the filters, which are
made once, of the dense matrix that torchaudio makes.
"""

import numpy as np
import soundfile
import torch


def filters(rate, n_fft, n_mels):
    """torchaudio.functional.melscale_fbanks by its definition: HTK's scale, no norm."""
    bins = torch.linspace(0, rate // 2, n_fft // 2 + 1)
    edges = 700 * (10 ** (torch.linspace(0, 2595 * np.log10(1 + rate / 2 / 700), n_mels + 2, dtype=torch.float64) / 2595) - 1)
    edges = edges.to(torch.float32)
    up = (bins[:, None] - edges[:-2]) / (edges[1:-1] - edges[:-2])
    down = (edges[2:] - bins[:, None]) / (edges[2:] - edges[1:-1])
    return torch.clamp(torch.minimum(up, down), min=0)


class Mels(torch.utils.data.Dataset):
    def __init__(self, paths, rate, seconds, n_fft, n_mels):
        self.paths, self.length = paths, round(rate * seconds)
        self.n_fft, self.hop = n_fft, rate // 100
        self.window, self.filters = torch.hann_window(self.n_fft), filters(rate, self.n_fft, n_mels).T.contiguous()

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        samples, _ = soundfile.read(self.paths[index], dtype="float32", always_2d=True)
        sound = torch.from_numpy(samples)
        sound = sound[:, 0] if sound.shape[1] == 1 else sound.mean(1)
        sound = sound[: self.length]
        sound = torch.nn.functional.pad(sound, (0, self.length - len(sound)))
        spectra = torch.stft(sound, self.n_fft, self.hop, window=self.window, center=True, pad_mode="reflect", return_complex=True)
        return index, self.filters @ spectra.abs().pow(2)


def epochs(paths, rate, seconds, n_fft, n_mels, batch, threads, seed):
    generator = torch.Generator().manual_seed(seed)
    loader = torch.utils.data.DataLoader(Mels(paths, rate, seconds, n_fft, n_mels), batch, shuffle=True, num_workers=threads, persistent_workers=True,
                                         generator=generator)
    while True:
        yield ((ids.numpy(), mel.numpy()) for ids, mel in loader)


def name():
    return "PyTorch DataLoader, libsndfile, torch.stft"


def version():
    return f"torch {torch.__version__}, soundfile {soundfile.__version__}"


def settings():
    return {"persistent_workers": True, "threads of a worker": 1}
