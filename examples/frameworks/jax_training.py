"""JAX: batches as jax.Array, divided over the devices of a mesh where there are several.

    python jax_training.py FOLDER
"""
import sys

import jax
import jax.numpy as jnp

import forebay as fb


def loss_of(weights, image, label):
    scores = image.mean(axis=(2, 3)) @ weights
    return -jnp.take_along_axis(jax.nn.log_softmax(scores), label[:, None], axis=1).mean()


@jax.jit
def step(weights, image, label):
    loss, slope = jax.value_and_grad(loss_of)(weights, image, label)
    return weights - 0.1 * slope, loss


def labels_of(batches, steps, weights):
    seen = []
    for batch in batches:
        weights, _ = step(weights, batch["image"], batch["label"])
        seen.append(batch["label"].tolist())
        if len(seen) == steps:
            break
    return seen, weights


def main(folder):
    pipeline = (fb.images(folder).shuffle().decode_image().random_resized_crop(32).normalize(fb.IMAGENET).select("image", "label")
                .batch(4 * jax.local_device_count(), last="drop"))
    mesh = jax.sharding.Mesh(jax.devices(), ("data",))
    weights = jnp.zeros((3, len(pipeline.classes)))
    with fb.jax.iterate(pipeline, mesh, seed=7) as batches:
        whole, _ = labels_of(batches, len(batches), weights)
    with fb.jax.iterate(pipeline, mesh, seed=7) as batches:
        first, weights = labels_of(batches, 1, weights)
        state = batches.state_dict()
    with fb.jax.iterate(pipeline, mesh, seed=7) as batches:
        batches.load_state_dict(state)
        rest, _ = labels_of(batches, len(batches), weights)
    print("the same batches after a state in mid-epoch:", "yes" if first + rest == whole else "no")


if __name__ == "__main__":
    main(sys.argv[1])
