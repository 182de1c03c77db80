#!/usr/bin/env python3
"""TFRecord files that TensorFlow wrote are read with their values (tried with tensorflow-cpu 2.21.0)."""

import os
import unittest

from formats import Formats, skip

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
try:
    import numpy
    import tensorflow
except ImportError as error:
    skip(error, "tensorflow-cpu")


def feature(value):
    train = tensorflow.train
    if isinstance(value, bytes):
        return train.Feature(bytes_list=train.BytesList(value=[value]))
    if value.dtype.kind == "f":
        return train.Feature(float_list=train.FloatList(value=value))
    return train.Feature(int64_list=train.Int64List(value=value))


class TFRecord(Formats):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "a.tfrecord"

    def write(self, *records):
        with tensorflow.io.TFRecordWriter(str(self.file)) as writer:
            for record in records:
                features = {name: feature(value) for name, value in record.items()}
                example = tensorflow.train.Example(features=tensorflow.train.Features(feature=features))
                writer.write(example.SerializeToString())

    def test_features_have_their_values(self):
        random = numpy.random.default_rng(1)
        records = [{
            "city": "Zürich \n\t".encode() + str(i).encode(),
            "id": numpy.array([i - 50]),
            "ids": random.integers(-2**23, 2**23, 4),
            "pixels": random.integers(0, 256, 300, numpy.uint8).tobytes(),
            "ratio": numpy.array([i / 7], numpy.float32),
            "x": random.standard_normal(17).astype(numpy.float32),
        } for i in range(100)]
        self.write(*records)
        columns, rows = self.read("tfrecord", self.file)
        self.assertEqual(columns, [["city", "text"], ["id", "number"], ["ids", "floats", 4], ["pixels", "bytes", 300],
                                   ["ratio", "number"], ["x", "floats", 17]])
        for record, row in zip(records, rows, strict=True):
            self.assertEqual(row[0], record["city"])
            self.assertEqual(row[1], record["id"][0])
            self.assertEqual(row[2], list(record["ids"]))
            self.assertEqual(row[3], record["pixels"])
            self.assertEqual(row[4], record["ratio"][0])
            self.assertEqual(row[5], list(record["x"]))

    def test_absent_features_are_missing(self):
        self.write({"a": numpy.array([1])}, {"b": b"text"}, {"a": numpy.array([2]), "b": b""})
        columns, rows = self.read("tfrecord", self.file)
        self.assertEqual(columns, [["a", "number"], ["b", "text"]])
        self.assertEqual(rows, [[1, None], [None, b"text"], [2, b""]])

    def test_images_are_decoded(self):
        """PNG exactly; JPEG as TensorFlow decodes it by the same method, within rounding of its upsampling."""
        smooth = numpy.add.outer(numpy.arange(24) * 4, numpy.arange(32) * 3)
        images = [numpy.stack([smooth + i, 255 - smooth - i, smooth], axis=-1).astype(numpy.uint8) for i in range(20)]
        io = tensorflow.io
        for encode, decode, most in ((io.encode_png, io.decode_png, 0),
                                     (lambda image: io.encode_jpeg(image, quality=95, chroma_downsampling=False),
                                      lambda data: io.decode_jpeg(data, dct_method="INTEGER_ACCURATE"), 1)):
            encoded = [encode(image).numpy() for image in images]
            self.write(*[{"image/encoded": data, "image/class/label": numpy.array([i])} for i, data in enumerate(encoded)])
            columns, rows = self.read("tfrecord", self.file)
            self.assertEqual(columns, [["image/class/label", "number"], ["image/encoded", "bytes", 24, 32, 3]])
            for i, (data, row) in enumerate(zip(encoded, rows, strict=True)):
                self.assertEqual(row[0], i)
                wanted = decode(data).numpy().astype(int)
                found = numpy.frombuffer(row[1], numpy.uint8).reshape(24, 32, 3)
                self.assertLessEqual(abs(found - wanted).max(), most)

    def test_errors_name_the_record(self):
        self.write({"x": numpy.ones(3)}, {"x": numpy.ones(3)}, {"x": numpy.ones(2)})
        self.refused("tfrecord", self.file, "a.tfrecord: record 2: feature 'x' has 2 values, but 3")
        damaged = bytearray(self.file.read_bytes())
        damaged[-20] ^= 1
        self.file.write_bytes(damaged)
        self.refused("tfrecord", self.file, "a.tfrecord: record 2: byte ")
        self.file.write_bytes(damaged[:-1])
        self.refused("tfrecord", self.file, "too short")


if __name__ == "__main__":
    unittest.main()
