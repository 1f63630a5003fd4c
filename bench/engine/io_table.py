"""How often the files of a folder are opened and asked about, and reads by their size: Darshan's table, of strace's counts.

    python bench/engine/io_table.py FOLDER [--epochs 2] [--files 200]      (photographs, a folder per class)

Each loader reads the same files, shuffled with a seed, and decodes each picture once an epoch, in a process of its own under strace, which
also makes it slow: nothing here is about speed. Source of the table: Darshan's counters POSIX_OPENS, POSIX_STATS, POSIX_SIZE_READ_*.
"""
import argparse
import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from bench.harness import io_calls

FOREBAY = """
import sys, forebay as fb
folder, epochs = sys.argv[1], int(sys.argv[2])
with fb.Loader(fb.images(folder).shuffle().decode_image().resize((64, 64)).batch(16), epochs=epochs, seed=1) as loader:
    print(sum(len(batch) for _ in range(epochs) for batch in loader))
"""
TORCH = """
import pathlib, sys, numpy as np, torch
from PIL import Image
folder, epochs = sys.argv[1], int(sys.argv[2])
class Pictures(torch.utils.data.Dataset):
    def __init__(self): self.paths = sorted(str(path) for path in pathlib.Path(folder).rglob("*.jpg"))
    def __len__(self): return len(self.paths)
    def __getitem__(self, at):
        with open(self.paths[at], "rb") as file:  # as torchvision's ImageFolder does
            return torch.from_numpy(np.asarray(Image.open(file).convert("RGB").resize((64, 64))).copy())
if __name__ == "__main__":
    torch.manual_seed(1)
    loader = torch.utils.data.DataLoader(Pictures(), batch_size=16, shuffle=True, num_workers=2)
    print(sum(len(batch) for _ in range(epochs) for batch in loader))
"""
TFDATA = """
import sys, tensorflow as tf
folder, epochs = sys.argv[1], int(sys.argv[2])
def picture(path): return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path), channels=3), (64, 64))
files = tf.data.Dataset.list_files(folder + "/*/*.jpg", seed=1)
print(sum(len(batch) for _ in range(epochs) for batch in files.map(picture, num_parallel_calls=2).batch(16)))
"""
LOADERS = {"Forebay": ("forebay", FOREBAY), "PyTorch": ("torch", TORCH), "tf.data": ("tensorflow", TFDATA)}


def few_files(folder, most, into):
    """A copy of some, so that each loader finds the same, and nobody else opens them."""
    taken = sorted(pathlib.Path(folder).rglob("*.jpg"))[:most]
    for path in taken:
        place = into / path.parent.name / path.name
        place.parent.mkdir(exist_ok=True)
        shutil.copyfile(path, place)
    return len(taken)


def row(name, calls, files, epochs):
    per_epoch = epochs * files
    reads = [calls.reads[of] / per_epoch for _, of in io_calls.RANGES]
    # Listing asks once about each file: it is in the asks.
    figures = [sum(calls.opens.values()) / per_epoch, calls.asks / per_epoch, *reads, calls.empty_reads / per_epoch]
    return f"| {name} | " + " | ".join(f"{figure:.2f}" if figure else "0" for figure in figures) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--files", type=int, default=200)
    asked = parser.parse_args()
    if not io_calls.can_trace():
        sys.exit("strace is missing, or may not look at programs here (tools/system_packages test)")
    with tempfile.TemporaryDirectory() as place:
        root = pathlib.Path(place) / "pictures"
        root.mkdir()
        files = few_files(asked.folder, asked.files, root)
        print(f"Of each of {files} files, each epoch ({asked.epochs} epochs):\n")
        names = ["opens", "asks", *(f"reads of {name}" for _, name in io_calls.RANGES), "empty reads"]
        print(f"| | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
        missing = []
        for name, (module, program) in LOADERS.items():
            if not importlib.util.find_spec(module):
                missing.append(f"{name} is not here: it lacks the module {module}.")
                continue
            script = pathlib.Path(place) / f"{module}_loader.py"
            script.write_text(program)
            try:
                calls = io_calls.traced([sys.executable, str(script), str(root), str(asked.epochs)], root)
            except subprocess.CalledProcessError as error:
                sys.exit(f"{name} failed:\n{error.stderr}")
            print(row(name, calls, files, asked.epochs))
            if calls.unseen:
                missing.append(f"{name} mapped files or used io_uring {calls.unseen} times: what it read so is not seen.")
        print("", *missing, sep="\n")


if __name__ == "__main__":
    main()
