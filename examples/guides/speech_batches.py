"""Sound: batches of recordings of like lengths, as many as fit a budget of seconds.

python speech_batches.py [FOLDER_OF_WAV]
"""
import csv
import sys
import wave
from pathlib import Path

import forebay as fb
import small_data

folder = sys.argv[1] if len(sys.argv) > 1 else small_data.speech("speech", each=60)

# --8<-- [start:lengths]
with open("speech.csv", "w", newline="") as listing:          # once for the data set
    rows = csv.writer(listing)
    rows.writerow(["path", "seconds"])
    for path in sorted(Path(folder).rglob("*.wav")):
        with wave.open(str(path)) as sound:
            rows.writerow([path, f"{sound.getnframes() / sound.getframerate():.6f}"])
# --8<-- [end:lengths]

# --8<-- [start:pipeline]
pipeline = (
    fb.manifest("speech.csv")
    .shuffle()
    .decode_audio(rate=16000)
    .pad("audio")                              # with zeros, to the longest of the batch
    .bucket(by="seconds", tokens=10, group=2)  # at most 10 seconds a batch, zeros included
)
# --8<-- [end:pipeline]

# --8<-- [start:loop]
padded = 0.0
for rank in (0, 1):                            # two ranks, one after the other
    with fb.Loader(pipeline, seed=7, epochs=1, rank=rank, world_size=2) as loader:
        shapes = [batch["audio"].shape for batch in loader]
        print(f"rank {rank}: {len(loader)} steps, the first", shapes[:3])
        padded += sum(rows * length for rows, length in shapes) / 16000
with open("speech.csv") as listing:
    spoken = sum(float(row["seconds"]) for row in csv.DictReader(listing))
print(f"share of padding: {1 - spoken / padded:.3f}")
# --8<-- [end:loop]
