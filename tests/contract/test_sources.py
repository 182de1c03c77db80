#!/usr/bin/env python3
"""Sources of a user's library: the example's rows train as the same rows of a CSV file do, and values that do not fit
name the file, the source and the row.

Real processes; every wait is bounded. Needs a C compiler (TANIST_CC, or cc). TANIST_PROGRAM: the program.
"""

import json
import os
import random
import struct
import subprocess
import unittest

from case import ROOT, Cli

RECORDS = (ROOT / "examples/c/records.c").read_text(encoding="utf-8")


class Sources(Cli):
    def setUp(self):
        super().setUp()
        draw = random.Random(2)
        rows = [(x, y, float(x + y > 0)) for x, y in ((draw.gauss(0, 1), draw.gauss(0, 1)) for _ in range(600))]
        self.records = [struct.unpack("<3f", struct.pack("<3f", *row)) for row in rows]
        self.write(self.records)
        self.library(RECORDS)
        self.json = {"name": "records", "model": {"type": "softmax", "outputs": 2}, "zookeeper": {"servers": 1},
                     "data": {"format": "library", "train": "rows.bin", "label": "class", "split": {"test": 0.2},
                              "options": {"library": "records.so"}},
                     "train": {"steps": 100}, "cluster": {"coordinators": 1, "ps": 1}}

    def write(self, rows):
        (self.folder / "rows.bin").write_bytes(b"".join(struct.pack("<3f", *row) for row in rows))

    def library(self, source):
        (self.folder / "records.c").write_text(source, encoding="utf-8")
        subprocess.run([os.environ.get("TANIST_CC", "cc"), "-shared", "-fPIC", "-Wall", f"-I{ROOT}/include", "records.c",
                        "-o", "records.so"], check=True, cwd=self.folder)

    def local(self, folder):
        return json.loads(self.succeeds("run", self.job(json.dumps(self.json)), "--local", "--dir", folder, "-o", "json"))

    def fails(self, *expected):
        self.refused(3, expected, "data", "check", self.job(json.dumps(self.json)))

    def test_rows_train_as_those_of_a_csv_file(self):
        result = self.local("run")
        self.assertGreater(result["accuracy"], 0.9)
        cluster = self.spawn("run", self.job(json.dumps(self.json)), "--dir", "cluster", "-o", "json")
        self.assertEqual(self.result(cluster)["parameters_digest"], result["parameters_digest"])
        out = self.succeeds("predict", "run", "--data", "rows.bin").splitlines()
        (self.folder / "rows.csv").write_text("a,b,class\n" + "".join(f"{a!r},{b!r},{c:.0f}\n" for a, b, c in self.records))
        self.json["data"].update(format="csv", train="rows.csv", options={})
        self.assertEqual(self.local("csv")["parameters_digest"], result["parameters_digest"])
        self.assertEqual(len(out), 601)

    def test_failures_name_file_source_and_row(self):
        self.write([*self.records[:17], (1, 1, 7), *self.records[17:]])
        self.fails("rows.bin: source 'records': row 17: the class is neither 0 nor 1")
        (self.folder / "rows.bin").write_bytes(b"12345")
        self.fails("rows.bin: source 'records': the last record is cut off")

    def test_values_are_checked(self):
        cases = (("cells[0].size = 2", "cells[0].size = 3", "'x': the value has another size than the column"),
                 ("cells[0].data = x", "cells[0].data = NULL", "'x': the value has no data"),
                 ("number = (double)class", "number = 1 / 0.0", "'class': the value is not a finite number"),
                 ("table->rows = file->size / RECORD_BYTES", "table->rows = 0", "no rows"),
                 ("TN_COLUMN_FLOATS, 1, {2}", "TN_COLUMN_FLOATS, 1, {0}", "column 1 of the library"))
        for old, new, expected in cases:
            with self.subTest(new):
                self.assertIn(old, RECORDS)
                self.library(RECORDS.replace(old, new))
                self.fails("rows.bin", expected)

    def test_wrong_libraries_are_refused(self):
        self.json["data"]["options"] = {"library": "none.so"}
        self.fails("data.options.library: cannot open none.so")
        self.json["data"]["options"] = {"library": "rows.bin"}
        self.fails("data.options.library: rows.bin cannot be loaded")
        self.json["data"]["options"] = {"library": "records.so", "symbol": "other"}
        self.fails('exports no source "other"')
        self.json["data"]["options"] = {}
        self.fails("library")

    def test_another_version_is_other_data(self):
        def digest():
            return json.loads(self.succeeds("data", "show", self.job(json.dumps(self.json)), "-o", "json"))["digest"]

        first = digest()
        self.library(RECORDS.replace('"records", 1', '"records", 2'))
        self.assertNotEqual(digest(), first)


if __name__ == "__main__":
    unittest.main()
