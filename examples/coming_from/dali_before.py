"""DALI on the CPU over a folder of photographs. python dali_before.py FOLDER"""
import sys

import numpy as np
from nvidia.dali import fn, pipeline_def, types


@pipeline_def(batch_size=16, num_threads=2, device_id=None, seed=7)
def photographs(root):
    encoded, labels = fn.readers.file(file_root=root, random_shuffle=True, name="reader", pad_last_batch=True)
    images = fn.decoders.image(encoded, device="cpu", output_type=types.RGB)
    images = fn.random_resized_crop(images, size=(64, 64))
    images = fn.crop_mirror_normalize(images, dtype=types.FLOAT, output_layout="CHW", mirror=fn.random.coin_flip(),
                                      mean=[0.485 * 255, 0.456 * 255, 0.406 * 255], std=[0.229 * 255, 0.224 * 255, 0.225 * 255])
    return images, labels


pipe = photographs(sys.argv[1])
pipe.build()
size = pipe.epoch_size("reader")
count, done = np.zeros(3, int), 0
while done < size:
    images, labels = pipe.run()
    kept = labels.as_array().ravel()[: size - done]     # the last batch is padded
    count += np.bincount(kept, minlength=3)
    done += len(kept)
print("images", images.as_array().shape[1:], images.as_array().dtype, "per class", count.tolist())
