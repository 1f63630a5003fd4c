"""Three ranks share every step. Each gets as many steps as the others, each sample comes once, and a step of the three
together holds what one rank with the joined batch size would get.

python 05_ranks.py FOLDER

A training job starts one process per rank; rank and world size then come from torchrun, Slurm or MPI.
"""
import sys

import forebay as fb

RANKS = 3


def steps(batch_size, rank, world_size):
    """The ids of each step of one epoch on one rank."""
    pipeline = fb.images(sys.argv[1]).shuffle().select("label").batch(batch_size)
    with fb.Loader(pipeline, seed=7, epochs=1, rank=rank, world_size=world_size) as loader:
        return [batch.ids.tolist() for batch in loader]


ranks = [steps(2, rank, RANKS) for rank in range(RANKS)]
for step, together in enumerate(steps(2 * RANKS, 0, 1)):
    shares = [rank[step] for rank in ranks]
    same = sorted(sum(shares, [])) == sorted(together)
    print("step", step, *shares, "as one:", "yes" if same else "no")
