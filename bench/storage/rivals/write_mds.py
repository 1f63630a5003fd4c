"""Makes MosaicML's MDS shards: write_mds.py LIST ROOT FOLDER."""

import os
import sys

from mosaic import streaming


def main():
    with open(sys.argv[1]) as lines:
        keys = [line.split("\t")[0] for line in lines]
    with streaming.MDSWriter(out=sys.argv[3], columns={"number": "int", "image": "bytes"}, size_limit=10_000_000) as writer:
        for number, key in enumerate(keys):
            with open(os.path.join(sys.argv[2], key), "rb") as file:
                writer.write({"number": number, "image": file.read()})


if __name__ == "__main__":
    main()
