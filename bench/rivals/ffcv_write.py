"""ffcv_write.py LIST FILE FOLDER: re-encodes the photographs of LIST at quality 90.

FILE gets them in FFCV's format, FOLDER/<class>/<name> the very same bytes as plain JPEG files, so that another loader
can be measured on pictures of equal quality and size.
"""

import os
import sys

import cv2
import numpy as np
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.rgb_image import encode_jpeg
from ffcv.writer import DatasetWriter

QUALITY = 90


class Photos:
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        data = np.fromfile(self.paths[index], np.uint8)
        return cv2.cvtColor(cv2.imdecode(data, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB), index


def write_folder(photos, folder):
    """Returns the bytes written."""
    total = 0
    for index, path in enumerate(photos.paths):
        kind, file = path.split(os.sep)[-2:]
        os.makedirs(os.path.join(folder, kind), exist_ok=True)
        data = encode_jpeg(photos[index][0], QUALITY)
        data.tofile(os.path.join(folder, kind, file))
        total += data.size
    return total


def main():
    listing, file, folder = sys.argv[1:]
    with open(listing) as lines:
        photos = Photos([line.split("\t")[0] for line in lines])
    total = write_folder(photos, folder)
    DatasetWriter(file, {"image": RGBImageField(write_mode="jpg", jpeg_quality=QUALITY), "label": IntField()},
                  num_workers=2).from_indexed_dataset(photos)
    print(f"{len(photos)} photographs at quality {QUALITY}: {total / len(photos) / 1000:.1f} kB each; "
          f"{file}: {os.path.getsize(file) / len(photos) / 1000:.1f} kB each")


if __name__ == "__main__":
    main()
