"""Sound: recordings with background noise, another one in each epoch.

python noisy_speech.py [FOLDER_OF_SPEECH LIST_OF_NOISES]
"""
import sys

import numpy as np

import forebay as fb
import small_data

speech, listing = sys.argv[1:] if len(sys.argv) > 1 else (small_data.speech("speech"), small_data.noises("noise"))

# --8<-- [start:pipeline]
def add_noise(sample, rng):
    voice, noise = sample["audio"], sample["noise"]
    ratio = 10 ** (rng.uniform(5, 20) / 10)       # signal to noise, 5 to 20 decibels
    return {"audio": voice + noise * np.float32(np.sqrt(voice.var() / noise.var() / ratio))}

voices = fb.files(f"{speech}/**/*.wav").shuffle().decode_audio(rate=16000).pad_or_crop(1.0)
noises = (
    fb.manifest(listing)                          # a CSV with the columns path and kind
    .balance(by="kind")                           # both kinds alike, though there is more of one
    .shuffle()
    .decode_audio(rate=16000)
    .pad_or_crop(1.0, random=True)                # a random second of the noise
    .rename(audio="noise")
)
pipeline = (
    fb.zip(voice=voices, noise=noises)
    .map(add_noise, fields=["audio", "noise"], random=True)
    .select("audio", "key", "kind")
    .batch(4)
)
# --8<-- [end:pipeline]

# --8<-- [start:loop]
with fb.Loader(pipeline, seed=7, epochs=3) as loader:
    for epoch in range(3):
        heard = {}
        for batch in loader:                      # batch["audio"] has the shape (4, 16000)
            heard.update(zip(batch["key"], batch["kind"]))
        kinds = list(heard.values())
        print(f"epoch {epoch}: {len(heard)} recordings, {kinds.count('rain')} with rain; ann/0.wav with {heard['ann/0.wav']}")
# --8<-- [end:loop]
