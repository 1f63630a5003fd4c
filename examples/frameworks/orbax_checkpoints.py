"""Orbax: the weights and the loader's position in one checkpoint.

    python orbax_checkpoints.py FOLDER CHECKPOINTS

Run it again after a kill: it goes on from its last checkpoint, in the middle of an epoch.
"""
import sys
from pathlib import Path

import jax.numpy as jnp
import orbax.checkpoint as ocp
from jax_training import step as train_step

import forebay as fb

STEPS = 12
SAVE_EVERY = 4


def main(folder, checkpoints):
    pipeline = (fb.images(folder).shuffle().decode_image().random_resized_crop(32).random_flip().normalize(fb.IMAGENET)
                .select("image", "label").batch(4, last="pad"))
    weights = jnp.zeros((3, 3))
    # --8<-- [start:train]
    batches = fb.jax.iterate(pipeline, seed=7)
    with ocp.CheckpointManager(Path(checkpoints).resolve(), options=ocp.CheckpointManagerOptions(save_interval_steps=SAVE_EVERY)) as manager:
        step = manager.latest_step() or 0
        if step:
            saved = manager.restore(step, args=ocp.args.Composite(net=ocp.args.StandardRestore({"weights": weights}), loader=ocp.args.JsonRestore()))
            weights = saved["net"]["weights"]
            batches.load_state_dict(saved["loader"])
        while step < STEPS:
            for batch in batches:  # an epoch, or its rest
                weights, loss = train_step(weights, batch["image"], batch["label"])
                step += 1
                if manager.should_save(step):
                    manager.save(step, args=ocp.args.Composite(net=ocp.args.StandardSave({"weights": weights}),
                                                               loader=ocp.args.JsonSave(batches.state_dict())))
                    manager.wait_until_finished()  # it writes in the background
                print(f"step {step}: loss {float(loss)!r}", flush=True)
                if step == STEPS:
                    break
    # --8<-- [end:train]
    batches.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
