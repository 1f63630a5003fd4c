"""The same by h5py in PyTorch's DataLoader: a worker opens the file, reads a window, and computes in NumPy."""

import h5py
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, path, window, stride, period):
        self.path, self.window, self.stride, self.period, self.file = path, window, stride, period, None
        with h5py.File(path, "r") as file:
            self.count = (file["current"].shape[0] - window) // stride + 1

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        if self.file is None:
            self.file = h5py.File(self.path, "r")
            self.current, self.voltage = self.file["current"], self.file["voltage"]
        begin = number * self.stride
        i = self.current[begin : begin + self.window].astype(np.float64).reshape(-1, self.period)
        v = self.voltage[begin : begin + self.window].astype(np.float64).reshape(-1, self.period)
        rms = np.sqrt((i * i).mean(1)).astype(np.float32)
        return number, rms, (v * i).mean(1), np.cumsum(rms - rms.mean(dtype=np.float64)).astype(np.float32)


def name():
    return "h5py in torch's DataLoader"


def version():
    return f"torch {torch.__version__}, h5py {h5py.__version__}, HDF5 {h5py.version.hdf5_version}"


def settings():
    return {"persistent_workers": True, "chunk cache": "1 MB a data set (h5py's default)"}


def epochs(path, window, stride, period, batch, threads, seed):
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    loader = DataLoader(Windows(path, window, stride, period), batch, shuffle=True, num_workers=threads, persistent_workers=True)
    while True:
        yield (tuple(part.numpy() for part in one) for one in loader)
