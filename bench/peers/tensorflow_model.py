"""The network of job.py in TensorFlow, and one training step."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import tensorflow  # pylint: disable=wrong-import-position

NAME = f"TensorFlow {tensorflow.__version__}"


def build():
    """A function that trains by one batch of bytes and labels."""
    layers = tensorflow.keras.layers
    model = tensorflow.keras.Sequential([layers.Input((784,)), layers.Dense(128, activation="relu"), layers.Dense(10)])
    optimizer = tensorflow.keras.optimizers.Adam(0.001)
    optimizer.build(model.trainable_variables)

    def step(images, labels):
        with tensorflow.GradientTape() as tape:
            outputs = model(tensorflow.cast(images, tensorflow.float32) / 255, training=True)
            losses = tensorflow.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs)
            loss = tensorflow.reduce_mean(losses)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    return step


def batches(images, labels, size):
    data = tensorflow.data.Dataset.from_tensor_slices((images, labels))
    return data.shuffle(10000).repeat().batch(size, drop_remainder=True).prefetch(2)
