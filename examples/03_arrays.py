"""Numbers instead of pictures: fits y = 3 x + 1 from arrays, a batch at a time.

python 03_arrays.py
"""
import numpy as np

import forebay as fb

x = np.linspace(-1.0, 1.0, 1000)
y = 3.0 * x + 1.0

slope, offset, rate = 0.0, 0.0, 0.1
with fb.Loader(fb.arrays(x=x, y=y).shuffle().batch(50), seed=7, epochs=20) as loader:
    for epoch in range(20):
        for batch in loader:
            error = slope * batch["x"] + offset - batch["y"]
            slope -= rate * 2 * np.mean(error * batch["x"])
            offset -= rate * 2 * np.mean(error)
        if epoch % 5 == 4:
            print(f"epoch {epoch}: y = {slope:.2f} x + {offset:.2f}")
