"""Sound: recordings become mel spectra with noise and masks.

python speech_spectra.py [FOLDER]
"""
import sys

import forebay as fb
import small_data

folder = sys.argv[1] if len(sys.argv) > 1 else small_data.speech("speech")

# --8<-- [start:pipeline]
pipeline = (
    fb.files(f"{folder}/**/*.wav")                # also .flac, .mp3, .ogg
    .shuffle()
    .decode_audio(rate=16000)                     # mono, resampled
    .pad_or_crop(1.0)                             # one length, so that batches have a fixed shape
    .random_gain((-6, 6))
    .add_noise((10, 30))                          # signal-to-noise ratio in decibels
    .mel_spectrogram(n_fft=400, hop_length=160, n_mels=80, log="db")
    .spec_augment(time_mask_param=20, freq_mask_param=8)
    .batch(4)
)
# --8<-- [end:pipeline]

# --8<-- [start:loop]
with fb.Loader(pipeline, seed=7, epochs=1) as loader:
    for batch in loader:
        speakers = [key.split("/")[0] for key in batch["key"]]
        print(batch["audio"].shape, batch["audio"].dtype, speakers)
# --8<-- [end:loop]
