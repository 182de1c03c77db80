#!/usr/bin/env python3
"""Exports of models of columns: onnxruntime predicts the same from raw rows, and every format has the description.

numpy, onnxruntime and safetensors of PyPI (tried: 2.4.6, 1.31.1, 0.8.0) read the files; without them the test is
skipped. TANIST_PROGRAM: the program.
"""

import csv
import json
import subprocess
import sys
import unittest

from case import ROOT, Cli

try:
    import numpy
    import onnxruntime
    import safetensors
except ImportError as missing:
    print(f"skipped: {missing.name} is not installed (pip install numpy onnxruntime safetensors)")
    sys.exit(77)

CITIES = ["Zürich", "Genève", "Bern, Altstadt"]
KINDS = ["café", "bakery", "kiosk"]
HOURS = {"as": "bucket", "from": "hour", "edges": [7, 10, 17, 20]}
COLUMNS = {
    "city": {"as": "category", "vocabulary": CITIES, "unknown": 1},
    "named": {"as": "category", "from": "city", "vocabulary": CITIES, "unknown": 1, "embed": 3},
    "note": {"as": "category", "vocabulary": ["opened late", "none"], "unknown": 1, "missing": "none"},
    "degrees": {"as": "number", "scale": "standard", "missing": "mean"},
    "warm": {"as": "number", "from": "degrees", "missing": -40},
    "price": {"as": "number", "scale": "minmax"},
    "time": HOURS,
    "phase": {**HOURS, "edges": [6, 12], "embed": 2},
    "exact": {"as": "category", "from": "hour", "vocabulary": [str(hour) for hour in range(24)]},
}


def numbers(rows, column):
    return numpy.array([[float(row[column] or "nan")] for row in rows], numpy.float64)


def texts(rows, column):
    return numpy.array([[row[column]] for row in rows], object)


class ColumnsExport(Cli):
    def train(self, columns):
        subprocess.run([sys.executable, str(ROOT / "examples/csv/make.py"), "--to", str(self.folder / "d"), "--rows",
                        "1200"], check=True)
        job = json.loads((ROOT / "examples/csv/embed.json").read_text(encoding="utf-8"))
        job["data"].update(train="d/shops-train-*.csv", test="d/shops-test.csv", columns=columns)
        job["train"].update(steps=200)
        self.succeeds("run", self.job(json.dumps(job)), "--local", "--dir", "run", "--quiet")
        self.succeeds("predict", "run", "--data", "d/shops-test.csv", "-o", "npy", "--to", "out.npy")
        self.succeeds("export", "run", "--to", "m.onnx")
        with open(self.folder / "d/shops-test.csv", encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file)), numpy.load(self.folder / "out.npy")

    def session(self, name="m.onnx"):
        return onnxruntime.InferenceSession(self.folder / name)

    def test_onnxruntime_predicts_from_raw_rows(self):
        rows, ours = self.train(COLUMNS)
        self.assertTrue(any(row["degrees"] == "" for row in rows) and any(row["city"] not in CITIES for row in rows))
        session = self.session()
        self.assertEqual([field.name for field in session.get_inputs()],
                         ["city", "note", "degrees", "price", "hour", "hour:text"])
        theirs = session.run(["probabilities"], {
            "city": texts(rows, "city"), "note": texts(rows, "note"), "degrees": numbers(rows, "degrees"),
            "price": numbers(rows, "price"), "hour": numbers(rows, "hour"), "hour:text": texts(rows, "hour")})[0]
        numpy.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-7)

    def test_hashed_columns_are_numbers_that_the_metadata_explain(self):
        columns = {"kind": {"as": "category", "hash": 50, "embed": 4}, "hour": "number",
                   "two": {"as": "category", "from": "city", "vocabulary": KINDS, "unknown": 2},
                   "place": {"as": "cross", "of": ["kind", "two"], "hash": 30}}
        rows, ours = self.train(columns)
        session = self.session()
        self.assertEqual([(field.name, field.type) for field in session.get_inputs()],
                         [("kind:id", "tensor(int64)"), ("hour", "tensor(double)"), ("two:id", "tensor(int64)"),
                          ("place:id", "tensor(int64)")])
        notes = session.get_modelmeta().custom_metadata_map
        self.assertIn("XXH64", notes["input.kind:id"])
        self.assertIn("modulo 50", notes["input.kind:id"])
        self.assertIn("modulo 30", notes["input.place:id"])
        self.assertIn("modulo 2", notes["input.two:id"])
        self.assertEqual(json.loads(notes["columns"])["columns"]["kind"]["hash"], 50)
        # For each row there are ids that give the prediction of the row; equal texts have equal ids.
        row, wanted = rows[0], ours[0]
        count = 50 * 5 * 30
        grid = numpy.stack(numpy.meshgrid(range(50), range(5), range(30), indexing="ij"), -1).reshape(count, 3)
        found = session.run(["probabilities"], {
            "hour": numpy.full((count, 1), float(row["hour"])), "kind:id": grid[:, :1].astype(numpy.int64),
            "two:id": grid[:, 1:2].astype(numpy.int64), "place:id": grid[:, 2:].astype(numpy.int64)})[0]
        self.assertLess(numpy.abs(found - wanted).max(1).min(), 1e-6)
        self.assertGreater(numpy.abs(found - wanted).max(1).max(), 1e-4)

    def test_every_format_has_the_description(self):
        self.train({"city": COLUMNS["city"], "price": COLUMNS["price"]})
        self.succeeds("export", "run", "--to", "m.npz")
        self.succeeds("export", "run", "--to", "m.safetensors")
        stored = json.loads((self.folder / "run/columns.json").read_text(encoding="utf-8"))
        with numpy.load(self.folder / "m.npz") as archive:
            self.assertEqual(json.loads(archive["columns.json"]), stored)
            self.assertEqual(archive["dense2/bias"].shape, (2,))
        with safetensors.safe_open(self.folder / "m.safetensors", "numpy") as file:
            self.assertEqual(json.loads(file.metadata()["columns"]), stored)
        self.assertEqual(json.loads(self.session().get_modelmeta().custom_metadata_map["columns"]), stored)

    def test_prepared_inputs_are_those_of_the_model(self):
        rows, ours = self.train({"hour": "number", "price": "number"})
        self.succeeds("export", "run", "--to", "plain.onnx", "--prepared")
        inputs = numpy.concatenate([numbers(rows, "hour"), numbers(rows, "price")], 1).astype(numpy.float32)
        theirs = self.session("plain.onnx").run(["probabilities"], {"inputs": inputs})[0]
        numpy.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-7)

    def test_columns_of_many_numbers(self):
        """Arrays: the one column without statistics has the numbers that the others leave."""
        draw = numpy.random.default_rng(1)
        (self.folder / "a").mkdir()
        values = {"x": draw.normal(3, 2, (300, 4)).astype(numpy.float32), "pixels": draw.integers(0, 256, (300, 5)).astype(
            numpy.uint8), "y": draw.integers(0, 2, 300)}
        for name, array in values.items():
            numpy.save(self.folder / f"a/{name}.npy", array)
        job = {"name": "arrays", "model": {"type": "softmax", "outputs": 2}, "train": {"steps": 20},
               "data": {"format": "npy", "train": "a", "test": "a", "label": "y",
                        "columns": {"x": {"as": "number", "scale": "standard"}, "pixels": "pixels"}}}
        self.succeeds("run", self.job(json.dumps(job)), "--local", "--dir", "run", "--quiet")
        self.succeeds("predict", "run", "--data", "a", "-o", "npy", "--to", "out.npy")
        self.succeeds("export", "run", "--to", "m.onnx")
        theirs = self.session().run(["probabilities"], {"x": values["x"].astype(numpy.float64), "pixels": values["pixels"]})[0]
        numpy.testing.assert_allclose(numpy.load(self.folder / "out.npy"), theirs, rtol=2e-5, atol=1e-7)


if __name__ == "__main__":
    unittest.main()
