"""Keras: a tf.data.Dataset of the pipeline, fitted for three epochs, each in another order.

    python keras_fit.py FOLDER
"""
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

import forebay as fb


def main(folder):
    pipeline = (fb.images(folder).shuffle().decode_image().random_resized_crop(32).random_flip().normalize(fb.IMAGENET).layout("hwc")
                .select("image", "label").batch(4))
    with fb.Loader(pipeline, seed=7) as loader:
        data = fb.tf.dataset(loader).map(lambda batch: (batch["image"], batch["label"]))
        model = tf.keras.Sequential([
            tf.keras.Input((32, 32, 3)), tf.keras.layers.Conv2D(8, 3, strides=2, activation="relu"), tf.keras.layers.GlobalAveragePooling2D(),
            tf.keras.layers.Dense(len(pipeline.classes))])
        model.compile(optimizer="sgd", loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        losses = model.fit(data, epochs=3, verbose=0).history["loss"]
        state = loader.state_dict()
    print("epochs:", len(losses))
    print("the loader stands at the beginning of the next epoch:", "yes" if (state["epoch"], state["step"]) == (3, 0) else "no")


if __name__ == "__main__":
    main(sys.argv[1])
