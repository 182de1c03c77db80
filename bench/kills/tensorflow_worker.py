"""A worker of TensorFlow's MultiWorkerMirroredStrategy: `FOLDER RANK ADDRESS,ADDRESS`. It continues from its own
checkpoint, and ends with an error when another worker is lost."""

import json
import os
import sys

from steps import SAVE_EVERY, Record, batch_of


def build(tensorflow):
    layers = tensorflow.keras.layers
    model = tensorflow.keras.Sequential([layers.Input((784,)), layers.Dense(128, activation="relu"), layers.Dense(10)])
    optimizer = tensorflow.keras.optimizers.Adam(0.001)
    optimizer.build(model.trainable_variables)

    def step(images, labels):
        with tensorflow.GradientTape() as tape:
            losses = tensorflow.nn.sparse_softmax_cross_entropy_with_logits(labels, model(images, training=True))
            loss = tensorflow.reduce_mean(losses)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    return model, optimizer, step


def main():
    folder, rank, addresses = sys.argv[1], int(sys.argv[2]), sys.argv[3].split(",")
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", TF_CONFIG=json.dumps(
        {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": rank}}))
    import tensorflow  # pylint: disable=import-outside-toplevel
    strategy = tensorflow.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        model, optimizer, step = build(tensorflow)
        done = tensorflow.Variable(0, dtype=tensorflow.int64, trainable=False)
    checkpoint = tensorflow.train.Checkpoint(model=model, optimizer=optimizer, done=done)
    # Each worker saves, as saving needs all of them; only the folder of the first one is read.
    manager = tensorflow.train.CheckpointManager(checkpoint, f"{folder}/checkpoints-{rank}", 2)
    checkpoint.restore(tensorflow.train.latest_checkpoint(f"{folder}/checkpoints-0"))
    record = Record(folder, rank)

    @tensorflow.function
    def together(images, labels):
        return strategy.run(step, args=(images, labels))

    number = int(done.numpy())
    while True:
        together(*batch_of(number, rank))
        number += 1
        record.done(number)
        if number % SAVE_EVERY == 0:
            done.assign(number)
            manager.save()


main()
