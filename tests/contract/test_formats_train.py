#!/usr/bin/env python3
"""Runs on the same examples in different formats give the same parameters. The files are written by hand, so that no
package is needed; the tests test_formats_*.py compare with those of the formats' own libraries.

Real processes; every wait is bounded. TANIST_PROGRAM: the program.
"""

import gzip
import io
import json
import random
import struct
import tarfile
import unittest
import zipfile
import zlib

from case import Cli

SIDE, EXAMPLES = 6, 300


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def npy(kind, shape, data):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def png(pixels):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + pixels[i:i + SIDE] for i in range(0, len(pixels), SIDE))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", SIDE, SIDE, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def tfrecord(name, data, label):
    def field(number, content):
        size, length = len(content), b""
        while size >= 128:
            length += bytes([size & 127 | 128])
            size >>= 7
        return bytes([number << 3 | 2]) + length + bytes([size]) + content
    features = (field(1, field(1, b"label") + field(2, field(3, field(1, bytes([label])))))
                + field(1, field(1, name) + field(2, field(1, field(1, data)))))
    message = field(1, features)

    def masked(data):
        crc = crc32c(data)
        return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff)
    length = struct.pack("<Q", len(message))
    return length + masked(length) + message + masked(message)


class Train(Cli):
    def setUp(self):
        super().setUp()
        draw = random.Random(1)
        self.labels = [draw.randrange(3) for _ in range(EXAMPLES)]
        self.images = [bytes(min(255, draw.randrange(128) + 100 * (i // SIDE % 3 == label)) for i in range(SIDE * SIDE))
                       for label in self.labels]

    def write(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def result(self, format, pattern, features, label="label", **more):
        """The result of a run in one process on these files."""
        job = {"name": "formats", "model": {"type": "softmax", "outputs": 3},
               "data": {"format": format, "train": pattern, "label": label, "columns": features,
                        "split": {"test": 0.2}, **more},
               "train": {"steps": 150, "batch": 32, "learning_rate": 0.5}}
        path = self.job(json.dumps(job))
        return json.loads(self.succeeds("run", path, "--local", "--dir", f"run-{format}-{len(pattern)}", "-o", "json"))

    def arrays(self):
        return {"image": npy("|u1", (EXAMPLES, SIDE, SIDE), b"".join(self.images)),
                "label": npy("<i8", (EXAMPLES,), struct.pack(f"<{EXAMPLES}q", *self.labels))}

    def test_formats_give_the_same_parameters(self):
        for name, data in self.arrays().items():
            self.write(f"arrays/{name}.npy", data)
        wanted = self.result("npy", "arrays", {"image": "pixels"})
        self.assertGreater(wanted["accuracy"], 0.9)

        with zipfile.ZipFile(self.folder / "a.npz", "w") as archive:
            for name, data in self.arrays().items():
                archive.writestr(f"{name}.npy", data)
        runs = [self.result("npz", "a.npz", {"image": "pixels"})]

        packed = (self.folder / "a.npz").read_bytes()
        self.write("packed.npz.gz", gzip.compress(packed))
        runs.append(self.result("npz", "packed.npz.gz", {"image": "pixels"}))

        with tarfile.open(self.folder / "a.tar", "w") as archive:
            for i, (image, label) in enumerate(zip(self.images, self.labels)):
                for ending, data in ("png", png(image)), ("cls", str(label).encode()):
                    member = tarfile.TarInfo(f"{i:05}.{ending}")
                    member.size = len(data)
                    archive.addfile(member, io.BytesIO(data))
        runs.append(self.result("tar", "a.tar", {"png": "pixels"}, label="cls"))

        half = EXAMPLES // 2
        for part, chosen in enumerate((slice(0, half), slice(half, None))):
            pairs = list(zip(self.images[chosen], self.labels[chosen]))
            self.write(f"part-{part}.tfrecord", b"".join(tfrecord(b"raw", *pair) for pair in pairs))
            self.write(f"encoded-{part}.tfrecord", b"".join(tfrecord(b"image/encoded", png(image), label)
                                                            for image, label in pairs))
        runs.append(self.result("tfrecord", "part-*.tfrecord", {"raw": "pixels"}))
        runs.append(self.result("tfrecord", "encoded-*.tfrecord", {"image/encoded": "pixels"}))

        lines = [f"{label} " + " ".join(f"{i + 1}:{struct.unpack('f', struct.pack('f', pixel / 255))[0]!r}"
                                        for i, pixel in enumerate(image))
                 for image, label in zip(self.images, self.labels)]
        self.write("a.svm", "\n".join(lines).encode())
        runs.append(self.result("libsvm", "a.svm", {"features": "number"}))
        for run in runs:
            self.assertEqual(run["parameters_digest"], wanted["parameters_digest"])

    def test_folders_of_images(self):
        for i, (image, label) in enumerate(zip(self.images, self.labels)):
            self.write(f"images/class{label}/{i:05}.png", png(image))
        run = self.result("images", "images", {"image": "pixels"}, shuffle="permutation")
        self.assertGreater(run["accuracy"], 0.9)

    def test_folders_have_all_classes_of_the_model(self):
        """Fewer or more outputs than subfolders are a slip; so are test images of other classes."""
        for part in "images", "more":
            for i, (image, label) in enumerate(zip(self.images, self.labels)):
                self.write(f"{part}/class{label}/{i:05}.png", png(image))
        job = {"model": {"type": "softmax"}, "data": {"format": "images", "train": "images", "label": "label",
               "columns": {"image": "pixels"}, "split": {"test": 0.2}}}
        for outputs in (None, 2, 4):
            with self.subTest(outputs=outputs):
                if outputs is not None:
                    job["model"]["outputs"] = outputs
                self.refused(3, [f"images has 3 classes, one for each subfolder, but the model has "
                                 f"{outputs or 10}: give model.outputs 3"], "data", "check", self.job(json.dumps(job)))
        job["model"]["outputs"] = 3
        self.succeeds("data", "check", self.job(json.dumps(job)))
        self.write("more/class7/0.png", png(self.images[0]))
        job["data"]["test"] = "more"
        del job["data"]["split"]
        self.refused(3, ["more has 4 classes"], "data", "check", self.job(json.dumps(job)))
        job["data"]["train"] = "{images,more}"
        self.refused(3, ["more has 4 classes, but images has 3"], "data", "check", self.job(json.dumps(job)))

    def test_a_damaged_image_ends_the_run(self):
        for i, image in enumerate(self.images):
            self.write(f"images/class{self.labels[i]}/{i:05}.png", png(image))
        path = next((self.folder / "images/class1").iterdir())
        path.write_bytes(path.read_bytes()[:-30])
        job = {"model": {"type": "softmax", "outputs": 3},
               "data": {"format": "images", "train": "images", "label": "label", "columns": {"image": "pixels"},
                        "split": {"test": 0.2}},
               "train": {"steps": 150, "batch": 32}}
        self.refused(3, [path.name, "the PNG image is damaged"], "run", self.job(json.dumps(job)), "--local", "--dir", "r")


if __name__ == "__main__":
    unittest.main()
