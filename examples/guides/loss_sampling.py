"""Weights that follow the loss: samples that the model gets wrong come more often, and the run is resumed exactly.

python loss_sampling.py
"""
import tempfile
from pathlib import Path

import numpy as np

import forebay as fb

random = np.random.default_rng(0)
scans = random.normal(size=(2000, 8)).astype(np.float32)
scans[:, -1] = 1
label = (scans[:, 0] + 0.5 * random.normal(size=2000) > 1.5).astype(np.float32)  # few are 1, and some are hard to tell
folder = Path(tempfile.mkdtemp())


# --8<-- [start:pipeline]
def training():
    return fb.arrays(scan=scans, label=label).shuffle().sample(2000).batch(100)


loader = fb.Loader(training(), seed=7)
losses = np.ones(2000)                            # of each sample, by id; a sample that has not come yet has the loss 1
# --8<-- [end:pipeline]
model = np.zeros(8)


def train(batch):
    """One step of logistic regression. Returns the loss of each sample."""
    global model
    x, y = batch["scan"], batch["label"]
    p = 1 / (1 + np.exp(-x @ model))
    model = model + 0.5 * x.T @ (y - p) / len(y)
    return -np.log(np.where(y > 0, p, 1 - p) + 1e-6)


def rare(ids):
    return f"{100 * label[ids].mean():.0f} of 100 samples"


# --8<-- [start:change]
def run(batches):
    """Trains for that many batches. After every tenth one the weights follow the losses. Returns the ids of the samples."""
    came = []
    while len(came) < batches:
        for batch in loader:
            losses[batch.ids] = train(batch)
            came.append(batch.ids)
            if len(came) % 10 == 0:
                weights = losses + 0.1 * losses.mean()               # no sample is forgotten
                loader.set_sampling(weights, version=len(came))
                save(weights, version=len(came))
            if len(came) == batches:
                break
    return np.concatenate(came)
# --8<-- [end:change]


# --8<-- [start:save]
def save(weights, version):
    np.savez(folder / "sampling.npz", weights=weights, version=version)    # the state has only their hash
# --8<-- [end:save]


ids = run(30)
print("rare scans at first:", rare(ids[:1000]))
print("rare scans later:", rare(ids[-1000:]))
state = loader.state_dict()
print("changes in the state:", len(str(state["changes"])), "characters")
expected = [batch.ids.tolist() for batch in loader]

# --8<-- [start:load]
resumed = fb.Loader(training(), seed=7)
saved = np.load(folder / "sampling.npz")
resumed.set_sampling(saved["weights"], version=int(saved["version"]))      # the weights of the state, before it is loaded
resumed.load_state_dict(state)
# --8<-- [end:load]
print("the same samples:", [batch.ids.tolist() for batch in resumed] == expected)
try:
    fb.Loader(training(), seed=7).load_state_dict(state)
except fb.StateMismatch as error:
    print("refused:", error)
