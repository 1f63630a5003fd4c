"""Makes WebDataset shards of 100 photographs: write_shards.py LIST ROOT FOLDER. A sample's name is its number in the list."""

import io
import os
import sys
import tarfile

A_SHARD = 100


def main():
    with open(sys.argv[1]) as lines:
        keys = [line.split("\t")[0] for line in lines]
    os.makedirs(sys.argv[3])
    for first in range(0, len(keys), A_SHARD):
        with tarfile.open(os.path.join(sys.argv[3], f"{first // A_SHARD:05}.tar"), "w") as shard:
            for number in range(first, min(first + A_SHARD, len(keys))):
                with open(os.path.join(sys.argv[2], keys[number]), "rb") as file:
                    data = file.read()
                entry = tarfile.TarInfo(f"{number:08}.jpg")
                entry.size = len(data)
                shard.addfile(entry, io.BytesIO(data))


if __name__ == "__main__":
    main()
