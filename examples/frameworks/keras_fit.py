"""Keras: a tf.data.Dataset of the pipeline, fitted for three epochs, each in another order, and validated on the same batches each time.

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
    # restart=True: each validation begins its epoch anew, though validation_steps leaves it in the middle.
    with fb.Loader(pipeline, seed=7) as loader, fb.Loader(pipeline, seed=8, restart=True) as validation:
        data, held_out = (fb.tf.dataset(one).map(lambda batch: (batch["image"], batch["label"])) for one in (loader, validation))
        model = tf.keras.Sequential([
            tf.keras.Input((32, 32, 3)), tf.keras.layers.Conv2D(8, 3, strides=2, activation="relu"), tf.keras.layers.GlobalAveragePooling2D(),
            tf.keras.layers.Dense(len(pipeline.classes))])
        model.compile(optimizer="sgd", loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        losses = model.fit(data, epochs=3, validation_data=held_out, validation_steps=2, verbose=0).history["loss"]
        state = loader.state_dict()
        validated = validation.state_dict()
    print("epochs:", len(losses))
    print("the loader stands at the beginning of the next epoch:", "yes" if (state["epoch"], state["step"]) == (3, 0) else "no")
    print("validation is in its first epoch still:", "yes" if validated["epoch"] == 0 else "no")


if __name__ == "__main__":
    main(sys.argv[1])
