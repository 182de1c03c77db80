#!/usr/bin/env python3
"""Compressed files have the rows of the files in them, for each format; formats that are not read have a remedy.

zstandard from PyPI is optional (tried with 0.25.0).
"""

import bz2
import gzip
import unittest

from formats import Formats

try:
    import zstandard
except ImportError:
    zstandard = None
    print("zstd is not tested: zstandard is not installed (pip install zstandard)")

TEXT = "name,number\n" + "".join(f"row {i},{i}\n" for i in range(5000))


class Packed(Formats):
    def setUp(self):
        super().setUp()
        (self.folder / "plain.csv").write_text(TEXT)
        self.expected = self.read("csv", self.folder / "plain.csv")

    def check(self, name, contents):
        path = self.folder / name
        path.write_bytes(contents)
        self.assertEqual(self.read("csv", path), self.expected)
        path.write_bytes(contents[:-5])
        self.refused("csv", path, f"{path}: byte ")

    def test_gzip(self):
        self.check("a.csv.gz", gzip.compress(TEXT.encode()))
        half = len(TEXT) // 2
        self.check("parts.csv.gz", gzip.compress(TEXT[:half].encode()) + gzip.compress(TEXT[half:].encode()))

    def test_zstd(self):
        if zstandard is None:
            self.skipTest("zstandard is not installed")
        self.check("a.csv.zst", zstandard.compress(TEXT.encode()))
        stream = zstandard.ZstdCompressor(write_checksum=True).compressobj()  # Without the size in the header.
        self.check("b.csv.zst", stream.compress(TEXT.encode()) + stream.flush())

    def test_patterns_mix_them(self):
        (self.folder / "q.csv.gz").write_bytes(gzip.compress(TEXT.encode()))
        columns, rows = self.read("csv", self.folder / "*.csv*")
        self.assertEqual((columns, rows), (self.expected[0], self.expected[1] * 2))

    def test_formats_that_are_not_read_have_a_remedy(self):
        self.refused("parquet", self.folder / "a.parquet", "the format 'parquet' is not read: write its columns as .npy")
        (self.folder / "a.csv.bz2").write_bytes(bz2.compress(TEXT.encode()))
        self.refused("csv", self.folder / "a.csv.bz2", "a.csv.bz2:1: byte ")


if __name__ == "__main__":
    unittest.main()
