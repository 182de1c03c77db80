"""A worker of TensorFlow's MultiWorkerMirroredStrategy: `FOLDER RANK ADDRESS,ADDRESS`. It continues from its own
checkpoint, and ends with an error when another worker is lost."""

import json
import os
import sys
from pathlib import Path

from steps import SAVE_EVERY, Record, batch_of

sys.path.append(str(Path(__file__).resolve().parent.parent / "peers"))


def main():
    folder, rank, addresses = sys.argv[1], int(sys.argv[2]), sys.argv[3].split(",")
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": rank}})
    from tensorflow_model import Classifier, tensorflow  # pylint: disable=import-outside-toplevel
    strategy = tensorflow.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        network = Classifier()
        done = tensorflow.Variable(0, dtype=tensorflow.int64, trainable=False)
    checkpoint = tensorflow.train.Checkpoint(model=network.model, optimizer=network.optimizer, done=done)
    # Each worker saves, as saving needs all of them; only the folder of the first one is read.
    manager = tensorflow.train.CheckpointManager(checkpoint, f"{folder}/checkpoints-{rank}", 2)
    checkpoint.restore(tensorflow.train.latest_checkpoint(f"{folder}/checkpoints-0"))
    record = Record(folder, rank)

    @tensorflow.function
    def together(images, labels):
        return strategy.run(network.step, args=(images, labels))

    number = int(done.numpy())
    while True:
        together(*batch_of(number, rank))
        number += 1
        record.done(number)
        if number % SAVE_EVERY == 0:
            done.assign(number)
            manager.save()


main()
