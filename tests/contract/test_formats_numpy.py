#!/usr/bin/env python3
"""Arrays that numpy wrote are read with the values that numpy gives (tried with numpy 2.4.6 and 1.26)."""

import unittest

from formats import Formats, skip

try:
    import numpy
except ImportError as error:
    skip(error, "numpy")

TYPES = "? b B h H i I q Q e f d >h >H >i >q >f >d".split()


class Numpy(Formats):
    def setUp(self):
        super().setUp()
        self.random = numpy.random.default_rng(1)

    def array(self, type, *shape):
        bits = self.random.integers(0, 256, shape + (numpy.dtype(type).itemsize,), dtype=numpy.uint8)
        if type == "?":
            bits &= 1
        return bits.view(type)[..., 0]

    def expect(self, array, read):
        """The values in `read` are those of the array, as floats of 32 bits."""
        with numpy.errstate(over="ignore", invalid="ignore"):
            expected = array.reshape(len(array), -1).astype(numpy.float32)
        numpy.testing.assert_array_equal(numpy.array(read, numpy.float32), expected)

    def test_each_type_of_elements(self):
        for type in TYPES:
            with self.subTest(type=type):
                array = self.array(type, 50, 3, 2)
                numpy.save(self.folder / "a.npy", array)
                columns, rows = self.read("npy", self.folder / "a.npy")
                kind = "bytes" if type == "B" else "floats"
                self.assertEqual(columns, [["values", kind, 3, 2]])
                self.expect(array, [list(row[0]) for row in rows])

    def test_versions_of_the_format(self):
        array = self.array("i", 7)
        for version in (1, 0), (2, 0), (3, 0):
            with open(self.folder / "a.npy", "wb") as file:
                numpy.lib.format.write_array(file, array, version=version)
            columns, rows = self.read("npy", self.folder / "a.npy")
            self.assertEqual(columns, [["values", "number"]])
            self.assertEqual([row[0] for row in rows], [float(item) for item in array])

    def table(self):
        return {"age": self.array("f", 20, 4), "label": numpy.arange(20), "pixels": self.array("B", 20, 5, 5),
                "with_gaps": numpy.array([1.5, numpy.nan] * 10)}

    def check_table(self, table, columns, rows):
        self.assertEqual(columns, [["age", "floats", 4], ["label", "number"], ["pixels", "bytes", 5, 5],
                                   ["with_gaps", "number"]])
        self.expect(table["age"], [row[0] for row in rows])
        self.expect(table["pixels"], [list(row[2]) for row in rows])
        self.assertEqual([row[1] for row in rows], list(range(20)))
        self.assertEqual([row[3] for row in rows], [1.5, None] * 10)

    def test_a_folder_has_a_column_for_each_file(self):
        table = self.table()
        for name, array in table.items():
            numpy.save(self.folder / f"{name}.npy", array)
        (self.folder / "README.txt").write_text("other files are ignored")
        self.check_table(table, *self.read("npy", self.folder))

    def test_an_archive_has_a_column_for_each_array(self):
        table = self.table()
        numpy.savez(self.folder / "t.npz", **table)
        self.check_table(table, *self.read("npz", self.folder / "t.npz"))

    def test_errors_name_the_file_and_the_remedy(self):
        numpy.savez_compressed(self.folder / "t.npz", x=numpy.arange(3))
        self.refused("npz", self.folder / "t.npz", "t.npz: the member 'x.npy' is compressed")
        numpy.savez(self.folder / "t.npz", x=numpy.arange(3), y=numpy.arange(4))
        self.refused("npz", self.folder / "t.npz", "'y' has 4 rows, but 'x' has 3")
        damaged = bytearray((self.folder / "t.npz").read_bytes())
        damaged[200] ^= 1
        (self.folder / "t.npz").write_bytes(damaged)
        self.refused("npz", self.folder / "t.npz", "the checksum of 'x' is wrong")
        numpy.save(self.folder / "a.npy", numpy.array(["text"]))
        self.refused("npy", self.folder / "a.npy", "a.npy: elements of type '<U4' are not read")
        self.refused("npy", self.folder, "a.npy: elements of type '<U4' are not read")
        numpy.save(self.folder / "a.npy", numpy.asfortranarray(numpy.ones((2, 2))))
        self.refused("npy", self.folder / "a.npy", "numpy.ascontiguousarray")


if __name__ == "__main__":
    unittest.main()
