"""Samples that do not count alike: parts by patient, classes in equal shares, and draws by weight.

python uneven_samples.py
"""
from collections import Counter

import numpy as np

import forebay as fb

random = np.random.default_rng(0)
patient = np.sort(random.integers(0, 1000, 5000))                      # several scans of each
label = (random.random(5000) < 0.02).astype(np.int64)                 # few of them show something
quality = np.where(random.random(5000) < 0.1, 0.2, 1.0)               # some are bad
scans = fb.arrays(scan=random.random((5000, 16), dtype=np.float32), patient=patient, label=label, quality=quality)


def rows(pipeline, field, epochs=1):
    with fb.Loader(pipeline.batch(50), seed=7, epochs=epochs) as loader:
        return [[value for batch in loader for value in batch[field].tolist()] for _ in range(epochs)]


# --8<-- [start:split]
parts = fb.split(scans, train=0.8, val=0.2, by="patient")
train, val = parts["train"].shuffle(), parts["val"]
# --8<-- [end:split]
(train_patients,), (val_patients,) = rows(train, "patient"), rows(val, "patient")
print("scans of the parts:", len(train_patients), len(val_patients))
print("patients in both:", len(set(train_patients) & set(val_patients)))

# --8<-- [start:balance]
balanced = train.balance(by="label", samples=1000)
# --8<-- [end:balance]
print("an epoch by class:", sorted(Counter(rows(balanced, "label")[0]).items()))

# --8<-- [start:weights]
weighted = train.sample(1000, weights="quality")
# --8<-- [end:weights]
drawn = rows(weighted, "quality", epochs=4)
print("bad scans of each epoch:", [sum(value < 1 for value in epoch) for epoch in drawn])

# --8<-- [start:subset]
subset = train.sample(500)                                            # another 500 in each epoch
# --8<-- [end:subset]
print("a subset:", [len(epoch) for epoch in rows(subset, "patient", epochs=2)])

# --8<-- [start:mix]
normal, lesions = train.only(label=0), train.only(label=1)
pipeline = fb.mix({"normal": normal, "lesions": lesions.sample(weights="quality")}, weights={"normal": 9, "lesions": 1}, samples=1000)
# --8<-- [end:mix]
print("a mix by class:", sorted(Counter(rows(pipeline, "label")[0]).items()))
