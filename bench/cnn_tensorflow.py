"""TensorFlow's side of bench_cnn: for each line "BATCH REPEATS" on standard input it prints the processor
seconds of one training step (forward and backward) of the same network, on one thread, as a graph."""

import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import tensorflow  # pylint: disable=wrong-import-position

layers = tensorflow.keras.layers


def network():
    return tensorflow.keras.Sequential([
        layers.Input((28, 28, 1)),
        layers.Conv2D(32, 3, padding="same", activation="relu"), layers.MaxPool2D(),
        layers.Conv2D(64, 3, padding="same", activation="relu"), layers.MaxPool2D(),
        layers.Flatten(), layers.Dense(128, activation="relu"), layers.Dense(10)])


def main():
    tensorflow.config.threading.set_intra_op_parallelism_threads(1)
    tensorflow.config.threading.set_inter_op_parallelism_threads(1)
    print("TensorFlow", tensorflow.__version__, flush=True)
    model = network()
    loss = tensorflow.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tensorflow.function(reduce_retracing=True)
    def gradients(images, labels):
        with tensorflow.GradientTape() as tape:
            value = loss(labels, model(images, training=True))
        return tape.gradient(value, model.trainable_variables)

    for line in sys.stdin:
        batch, repeats = map(int, line.split())
        images = tensorflow.random.uniform((batch, 28, 28, 1))
        labels = tensorflow.random.uniform((batch,), maxval=10, dtype=tensorflow.int32)
        start = 0.0
        for repeat in range(repeats + 1):  # The first step is not measured.
            if repeat == 1:
                start = time.process_time()
            gradients(images, labels)[-1].numpy()
        print((time.process_time() - start) / repeats, flush=True)


main()
