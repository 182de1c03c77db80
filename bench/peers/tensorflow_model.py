"""A network of images in TensorFlow, 784-128-10 with Adam, and one training step: for peers and for kills/compare."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import tensorflow  # pylint: disable=wrong-import-position

NAME = f"TensorFlow {tensorflow.__version__}"


class Classifier:
    """Its variables are made in the scope of a strategy."""

    def __init__(self):
        layers = tensorflow.keras.layers
        self.model = tensorflow.keras.Sequential(
            [layers.Input((784,)), layers.Dense(128, activation="relu"), layers.Dense(10)])
        self.optimizer = tensorflow.keras.optimizers.Adam(0.001)
        self.optimizer.build(self.model.trainable_variables)

    def step(self, images, labels):
        """Trains by one batch of numbers."""
        with tensorflow.GradientTape() as tape:
            outputs = self.model(images, training=True)
            loss = tensorflow.reduce_mean(tensorflow.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs))
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        return loss
