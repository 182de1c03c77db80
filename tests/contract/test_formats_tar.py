#!/usr/bin/env python3
"""Shards that webdataset wrote have the values that it decodes (tried with webdataset 1.0.2, Pillow 13.0.0)."""

import io
import tarfile
import unittest

from formats import Formats, skip

try:
    import numpy
    import webdataset
    from PIL import Image
except ImportError as error:
    skip(error, "webdataset pillow numpy")


class Tar(Formats):
    def write(self, samples, **options):
        self.file = self.folder / "shard-000000.tar"
        with webdataset.TarWriter(str(self.file), **options) as sink:
            for sample in samples:
                sink.write(sample)

    def samples(self, prefix=""):
        random = numpy.random.default_rng(1)
        return [{
            "__key__": f"{prefix}{i:06}",
            "png": random.integers(0, 256, (8, 9, 3), numpy.uint8),
            "cls": i % 10,
            "txt": f"caption {i} \u00e9\n",
            "json": {"i": i},
            "emb.npy": random.standard_normal((2, 3)).astype(numpy.float32),
        } for i in range(30)]

    def check(self, samples):
        columns, rows = self.read("tar", self.file)
        self.assertEqual(columns, [["cls", "number"], ["emb.npy", "floats", 2, 3], ["json", "text"],
                                   ["png", "bytes", 8, 9, 3], ["txt", "text"]])
        decoded = list(webdataset.WebDataset(str(self.file), shardshuffle=False).decode("rgb8"))
        self.assertEqual(len(decoded), len(samples))
        for sample, row in zip(decoded, rows, strict=True):
            self.assertEqual(row[0], sample["cls"])
            self.assertEqual(row[1], sample["emb.npy"].ravel().tolist())
            self.assertEqual(row[2].decode(), '{"i": %d}' % sample["json"]["i"])
            self.assertEqual(row[3], sample["png"].tobytes())
            self.assertEqual(row[4].decode(), sample["txt"])

    def test_samples_have_their_values(self):
        self.write(self.samples())
        self.check(self.samples())

    def test_long_names(self):
        self.write(self.samples(prefix="folder/" * 30 + "\u00e9"))
        self.check(self.samples())

    def test_formats_of_archives(self):
        """The same members in each format that Python writes, and a sparse set of columns."""
        self.write(self.samples())
        with tarfile.open(self.file) as archive:
            members = [(member, archive.extractfile(member).read()) for member in archive if member.isfile()]
        expected = self.read("tar", self.file)
        for format in tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT:
            path = self.folder / "other.tar"
            with tarfile.open(path, "w", format=format) as archive:
                for member, contents in members:
                    archive.addfile(member, io.BytesIO(contents))
            self.assertEqual(self.read("tar", path), expected)

    def test_images_are_resized(self):
        self.write([{"__key__": str(i), "jpg": Image.new("RGB", (20 + i, 10), (200, 100, 50)), "cls": 1}
                    for i in range(3)])
        self.refused("tar", self.file, "shard-000000.tar: '1.jpg': the image is 10 x 21, but the first one is 10 x 20")
        columns, rows = self.read("tar", self.file, size=[4, 4])
        self.assertEqual(columns[1], ["jpg", "bytes", 4, 4, 3])
        self.assertEqual(len(rows), 3)


if __name__ == "__main__":
    unittest.main()
