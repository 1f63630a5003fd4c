"""Mistakes that type checkers must refuse: one on each line that says so, and none on another. Nothing here is run."""
from __future__ import annotations

import forebay as fb

pipeline = fb.arrays(x="x.npy").batch(4)

fb.image("photos")  # wrong: no such name
fb.images(3)  # wrong: a path is text
fb.images("photos", split="folder")  # wrong: no such argument
pipeline.shufle()  # wrong: no such operator
pipeline.batch("8")  # wrong: a number of samples
pipeline.decode_image(max_pixels="many")  # wrong: a number
pipeline.map(3)  # wrong: not a function
fb.Loader("photos")  # wrong: a pipeline
fb.Loader(pipeline, output="tensorflow")  # wrong: no such output
fb.Loader(pipeline, on_error="ignore")  # wrong: no such way to treat a bad sample
fb.Loader(pipeline, threads="many")  # wrong: a number or "auto"
fb.Loader(pipeline, mesh="dp")  # wrong: a mesh, and not the name of a dimension
fb.Loader(pipeline, batch_size=4)  # wrong: no such option
fb.Loader(pipeline, 7)  # wrong: options are given by name

loader = fb.Loader(pipeline)
loader.load_state_dict(3)  # wrong: a state is a dict
loader.length  # wrong: no such attribute
for batch in loader:
    batch["x"].numpy()  # wrong: an array of NumPy's is no tensor
    batch[0]  # wrong: fields have names
    batch.rows  # wrong: no such attribute
    label: str = batch["label"]  # wrong: an array
