"""Each rank gets its share of every step.

torchrun --nproc-per-node=2 many_ranks.py [FOLDER]
"""
import sys

import torch.distributed as dist

import forebay as fb
import small_data

dist.init_process_group("gloo")                   # "nccl" on GPUs
rank, world_size = dist.get_rank(), dist.get_world_size()
if rank == 0 and len(sys.argv) < 2:
    small_data.photos("photos/train")
dist.barrier()
folder = sys.argv[1] if len(sys.argv) > 1 else "photos/train"

# --8<-- [start:loader]
pipeline = (
    fb.images(folder)
    .shuffle()
    .decode_image()
    .random_resized_crop(64)
    .normalize(fb.IMAGENET)
    .batch(8)                                     # of each rank
)
loader = fb.Loader(pipeline, seed=7, epochs=1, output="torch")   # rank and world size from the process group
# --8<-- [end:loader]

# --8<-- [start:check]
fingerprints = [None] * world_size
dist.all_gather_object(fingerprints, loader.fingerprint)
assert len(set(fingerprints)) == 1                # the same data, pipeline and seed on all ranks
# --8<-- [end:check]

ids = []
for batch in loader:
    images = batch["image"]                       # .to(device, non_blocking=True), then your training step
    ids += batch.ids[: len(batch) - batch.padding].tolist()

everything = [None] * world_size
dist.all_gather_object(everything, (len(loader), ids))
if rank == 0:
    print("steps of each rank:", [steps for steps, _ in everything])
    print("samples of each rank:", [len(one) for _, one in everything])
    print("each sample once:", sorted(sum((one for _, one in everything), [])) == list(range(loader.size)))
loader.close()
dist.destroy_process_group()
