"""The job of a peer of TensorFlow: the data in FOLDER of job.py, and their network.

`Images` and `Clicks` are used alike. `folders` has the working folder of each process that reads data, `parts` of them, or
None; `build()` makes the variables; `step(*batch)` trains by one batch of `batches(size)`, a data set that is opened in one
of the folders.
"""

import json
import tempfile
from pathlib import Path

import numpy

import clicks
import job
from tensorflow_model import NAME, Classifier, tensorflow

__all__ = ["NAME", "of_folder", "tensorflow"]

PART, BLOCK = "clicks.part", 10000


def of_folder(parts):
    return Clicks(parts) if (job.FOLDER / clicks.NAME).exists() else Images(parts)


class Images:
    """784-128-10 with Adam on IDX files."""

    area = None

    def __init__(self, parts):
        self.folders = [None] * parts
        self.images, self.labels = job.load()

    def build(self):
        self.step = Classifier().step

    def batches(self, size):
        data = tensorflow.data.Dataset.from_tensor_slices((self.images, self.labels))
        batches = data.shuffle(10000).repeat().batch(size, drop_remainder=True)
        return batches.map(lambda images, labels: (tensorflow.cast(images, tensorflow.float32) / 255, labels)).prefetch(2)


class Clicks:
    """The wide & deep model of examples/ctr on the file of bench_clicks, with Adam. The rows of one width are one table, so a
    step has two lookups. Beside the file is the job of Tanist, which has the sizes and the learning rate."""

    def __init__(self, parts):
        spec = json.loads((job.FOLDER / "job.json").read_text(encoding="utf-8"))
        self.train, self.examples = spec["train"], spec["data"]["examples"]
        self.labels, self.numbers, self.ids, self.rows = clicks.load(job.FOLDER / clicks.NAME, clicks.CROSSES)
        self.folders = [self.write_part(part, parts) for part in range(parts)]

    def write_part(self, part, parts):
        """Every `parts`-th example for training, in whole batches, as integers of 32 bits; the clicks and the numbers have the
        bits of floats."""
        chosen = slice(part, self.examples, parts)
        floats = numpy.column_stack([self.labels[chosen], self.numbers[chosen]]).view(numpy.int32)
        records = numpy.column_stack([floats, self.ids[chosen].astype(numpy.int32)])
        folder = Path(tempfile.mkdtemp(dir=job.FOLDER))
        records[:len(records) // job.BATCH * job.BATCH].tofile(folder / PART)
        return folder

    def build(self):
        layers, near = tensorflow.keras.layers, tensorflow.keras.initializers.RandomUniform(-clicks.SCALE, clicks.SCALE)
        numbers, ids = layers.Input((clicks.NUMBERS,)), layers.Input((len(self.rows),), dtype="int32")
        deep_rows = sum(self.rows[:clicks.CATEGORIES])
        wide = layers.Flatten()(layers.Embedding(sum(self.rows), 1, near)(ids))
        deep = layers.Flatten()(layers.Embedding(deep_rows, 4, near)(ids[:, :clicks.CATEGORIES]))
        hidden = layers.Concatenate()([numbers, deep])
        for units in (64, 32):
            hidden = layers.Dense(units, activation="relu")(hidden)
        logit = layers.Add()([layers.Dense(1)(layers.Concatenate()([wide, numbers])), layers.Dense(1)(hidden)])
        self.model = tensorflow.keras.Model([numbers, ids], layers.Flatten()(logit))
        rate = tensorflow.keras.optimizers.schedules.PolynomialDecay(self.train["learning_rate"], self.train["decay_steps"], 0)
        self.optimizer = tensorflow.keras.optimizers.Adam(rate)
        self.optimizer.build(self.model.trainable_variables)

    def step(self, batch):
        floats = tensorflow.bitcast(batch[:, :1 + clicks.NUMBERS], tensorflow.float32)
        with tensorflow.GradientTape() as tape:
            logits = self.model([floats[:, 1:], batch[:, 1 + clicks.NUMBERS:]], training=True)[:, 0]
            losses = tensorflow.nn.sigmoid_cross_entropy_with_logits(floats[:, 0], logits)
            loss = tensorflow.reduce_mean(losses)
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        return loss

    def batches(self, size):
        """The part in the working folder. The rows are independent of each other, so their order is that of the file."""
        width = 1 + clicks.NUMBERS + len(self.rows)
        records = tensorflow.data.FixedLengthRecordDataset(PART, size * width * 4)
        decoded = records.map(lambda record: tensorflow.reshape(tensorflow.io.decode_raw(record, tensorflow.int32), (size, width)))
        return decoded.map(lambda batch: (batch,)).repeat().prefetch(2)

    def area(self):
        """The area under the ROC curve of the test rows."""
        test = slice(self.examples, None)
        found = [self.model([self.numbers[first:first + BLOCK], self.ids[first:first + BLOCK]], training=False).numpy()[:, 0]
                 for first in range(self.examples, len(self.labels), BLOCK)]
        return clicks.area_of(numpy.concatenate(found), self.labels[test])
