#!/usr/bin/env python3
"""The Python package: start, watch, result, weights, columns, plots; with numpy and pandas where they are installed.

Real processes; every wait is bounded. Tried with numpy 2.4.6, pandas 3.1.1, pyarrow 26.0.1, nbclient 0.11.0; tests of
packages that are not installed are skipped with a notice. TANIST_PROGRAM: the program.
"""

import csv
import importlib.util
import json
import math
import os
import random
import struct
import sys
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

from case import PROGRAM, QUICK, ROOT, Cli

sys.path.insert(0, str(ROOT / "python"))
os.environ["TANIST_PROGRAM"] = PROGRAM

import tanist  # noqa: E402
from tanist import arrays  # noqa: E402

KNOWN = "bb84c9c9c077aec9b9d475da736d7d10"


def needs(*packages):
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        print(f"skipped: {', '.join(missing)} not installed")
    return unittest.skipIf(missing, f"{missing} not installed")


class Runs(Cli):
    def setUp(self):
        super().setUp()
        os.environ[next(iter(set(self.environment) - set(os.environ)), "TANIST_TEST_MARK")] = self.mark

    def test_start_watch_result(self):
        """A run of a dictionary: its lines as they come, its result, its points."""
        job = json.loads(Path(QUICK).read_text())
        run = tanist.start(job, dir=self.folder / "run", set={"evaluate.every_steps": 100, "model.hidden": []})
        entries = list(run.watch())
        result = run.wait(60)
        self.assertEqual(result.parameters_digest, KNOWN)
        self.assertEqual(result, run.result)
        self.assertRaisesRegex(AttributeError, "it has version, status", getattr, result, "area")
        self.assertEqual([entry["step"] for entry in entries if "accuracy" in entry and "event" not in entry],
                         [100, 200, 300])
        self.assertEqual(list(run.points()), [100, 200, 300])
        self.assertEqual(run.points()[300]["accuracy"], entries[-1]["accuracy"])
        self.assertEqual(entries[-1]["event"], "done")
        self.assertIn("elected", [entry["event"] for entry in run.events()])
        again = tanist.open_run(self.folder / "run")
        self.assertEqual(again.points(), run.points())
        self.assertEqual(list(again.watch()), entries)
        found = run.predict([[0] * 8, [1] * 8])
        self.assertEqual([len(prediction["outputs"]) for prediction in found], [1, 1])
        self.assertEqual(run.evaluate()["step"], 300)
        again = tanist.start(QUICK, dir=self.folder / "run", set={"train.steps": 400}, resume=True)
        self.assertEqual([entry["step"] for entry in again.watch() if "loss" in entry and "event" not in entry], [400])
        self.assertEqual(again.wait(60).steps, 400)

    def test_the_guide_of_csv_files(self):
        """docs/data.md: its job, from a CSV file to predictions of dictionaries and of a file."""
        guide = (ROOT / "docs/data.md").read_text(encoding="utf-8").split("## From a CSV file to predictions")[1]
        job = json.loads(guide.split("```json")[1].split("```")[0])
        draw = random.Random(1)
        with open(self.folder / "customers.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "age", "city", "plan", "visits", "note", "churned"])
            for i in range(2000):
                visits = draw.randint(0, 40)
                writer.writerow([i, draw.choice(["", draw.randint(18, 80)]), draw.choice(["東京", "São Paulo", 'a, "b"', ""]),
                                 draw.choice(["free", "pro", "team", ""]), visits, "two\nlines", "no" if visits > 15 else "yes"])
        job["data"]["train"] = str(self.folder / "customers.csv")
        run = tanist.start(job, dir=self.folder / "run", local=True)
        self.assertGreater(run.wait(60).accuracy, 0.9)
        rows = [{"age": None, "city": 'a, "b"', "plan": "pro", "visits": visits} for visits in (3, 38)]
        predicted = run.predict(rows)
        self.assertEqual([one["class_name"] for one in predicted], ["yes", "no"])
        path = self.folder / "new.csv"
        path.write_text('plan,visits,age,city\npro,3,,"a, ""b"""\npro,38,,"a, ""b"""\n', encoding="utf-8")
        self.assertEqual(run.predict(path), predicted)
        with self.assertRaisesRegex(tanist.Error, "'visits': the value is missing") as caught:
            run.predict([{**rows[0], "visits": None}])
        self.assertIn("the rows, written as CSV", str(caught.exception))
        self.assertNotIn("rows.csv", str(caught.exception))

    def test_errors(self):
        """The program's message, and its exit code."""
        run = tanist.start(QUICK, dir=self.folder / "run", set={"train.batch": 33})
        with self.assertRaisesRegex(tanist.Error, "train.batch is 33") as caught:
            run.wait(60)
        self.assertEqual(caught.exception.code, 3)
        self.assertRaises(FileNotFoundError, tanist.open_run, self.folder / "missing")
        self.assertRaisesRegex(tanist.Error, "metrics.jsonl", tanist.plot, self.folder / "missing")

    def test_stop_and_terminate(self):
        """A run without an end is stopped; one that was asked to leave continues later."""
        run = tanist.start(QUICK, dir=self.folder / "run", set={"train.steps": 10**9}, local=True)
        self.wait_for("points", run.points)
        run.terminate()
        self.assertFalse(run.running)
        self.assertIsNone(run.result)
        run = tanist.start(QUICK, dir=self.folder / "run", set={"train.steps": 10**9})
        self.wait_step(1, ("--dir", str(self.folder / "run")))
        run.stop()
        self.assertEqual(run.wait(60).status, "done")

    def test_weights(self):
        """weights() returns the same values with numpy and without it."""
        run = tanist.start(QUICK, dir=self.folder / "run", local=True)
        run.wait(60)
        self.assertIsNone(tanist.open_run(self.folder / "run").weights(checkpoint=1).get("nothing"))
        with_numpy, arrays.numpy = arrays.numpy, None
        try:
            plain = run.weights()
        finally:
            arrays.numpy = with_numpy
        self.assertEqual(sum(math.prod(value.shape) for value in plain.values()), 9)
        self.assertEqual(run.predict([]), [])
        if with_numpy is not None:
            found = run.weights()
            self.assertEqual({name: value.tolist() for name, value in found.items()},
                             {name: value.tolist() for name, value in plain.items()})

    def test_weights_of_a_model_with_columns(self):
        """The file also has the columns, which are not an array."""
        data = self.folder / "rows.csv"
        data.write_text("a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(20)))
        run = tanist.start({"model": {"type": "softmax", "outputs": 2},
                            "data": {"format": "csv", "train": str(data), "split": {"test": 0.2}, "label": "y"},
                            "train": {"steps": 2, "batch": 8}}, dir=self.folder / "run", local=True)
        run.wait(60)
        for numpy in {arrays.numpy, None}:
            with_numpy, arrays.numpy = arrays.numpy, numpy
            try:
                self.assertEqual({name: tuple(value.shape) for name, value in run.weights().items()},
                                 {"output/weights": (1, 2), "output/bias": (2,)})
            finally:
                arrays.numpy = with_numpy

    def test_plots(self):
        """A notebook gets SVG; two runs, two metrics."""
        for name in ("a", "b"):
            tanist.start(QUICK, dir=self.folder / name, local=True, set={"seed": ord(name)}).wait(60)
        run = tanist.open_run(self.folder / "a")
        for text in (run._repr_html_(), run.plot(self.folder / "b", metric=["loss", "accuracy"], log=True).svg):
            self.assertTrue(xml.fromstring(text).tag.endswith("svg"))
        self.assertRaisesRegex(tanist.Error, "auc", run.plot, metric="auc")

    @needs("nbclient", "nbformat", "ipykernel")
    def test_notebook(self):
        """The picture of a run appears in a notebook."""
        import nbclient
        import nbformat
        code = [f"import sys; sys.path.insert(0, {str(ROOT / 'python')!r}); import tanist",
                f"run = tanist.start({QUICK!r}, dir={str(self.folder / 'run')!r}, local=True)\nrun.wait(); run"]
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in code])
        nbclient.NotebookClient(notebook, timeout=120).execute()
        self.assertIn("<svg", notebook.cells[1].outputs[-1].data["text/html"])


class Columns(unittest.TestCase):
    def setUp(self):
        Cli.setUp(self)

    clean, processes = Cli.clean, Cli.processes

    TABLE = {"age": [31.5, None, 4], "count": [1, 2, 3], "city": ["Köln", None, "Basel"]}
    CITIES = ["", "Basel", "Köln"]

    def check_folder(self, folder):
        self.assertEqual(sorted(path.name for path in folder.iterdir()), ["age.npy", "city.npy", "count.npy"])
        found = {path.stem: self.values(path.read_bytes()) for path in folder.iterdir()}
        self.assertEqual(found["count"], [1, 2, 3])
        self.assertEqual(found["city"], [2, 0, 1])
        self.assertEqual((found["age"][0], found["age"][2]), (31.5, 4))
        self.assertTrue(math.isnan(found["age"][1]))

    @staticmethod
    def values(data):
        return arrays.parse_npy(data).values.tolist()

    def test_columns(self):
        """Numbers, missing values and texts; a second folder has the numbers of the first one's texts."""
        folder = self.folder / "table"
        for numpy in {arrays.numpy, None}:
            with_numpy, arrays.numpy = arrays.numpy, numpy
            try:
                words = tanist.from_columns(self.TABLE, folder)
                self.check_folder(folder)
                tanist.from_columns({"city": ["Bern", "Köln"]}, self.folder / "test", words)
            finally:
                arrays.numpy = with_numpy
            self.assertEqual(words, {"city": self.CITIES})
            self.assertEqual(json.loads((self.folder / "table.vocabularies.json").read_text()), words)
            self.assertEqual(self.values((self.folder / "test/city.npy").read_bytes()), [3, 2])

    def test_refusals(self):
        """Nothing is replaced that is not a folder of columns; names are those of files."""
        (self.folder / "mine").mkdir()
        (self.folder / "mine/thesis.txt").write_text("x")
        self.assertRaises(FileExistsError, tanist.from_columns, {"a": [1]}, self.folder / "mine")
        self.assertEqual((self.folder / "mine/thesis.txt").read_text(), "x")
        self.assertRaises(ValueError, tanist.from_columns, {"a": [1], "b": [1, 2]}, self.folder / "t")
        self.assertRaises(ValueError, tanist.from_columns, {"../a": [1]}, self.folder / "t")
        self.assertRaises(ValueError, tanist.from_columns, {}, self.folder / "t")
        for values in ([2**64, 1], [b"x", 1], [[1], 2]):
            self.assertRaises(ValueError, tanist.from_columns, {"a": values}, self.folder / "t")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["mine"])

    def test_header(self):
        """Data begin at a multiple of 64 bytes, as numpy wants it."""
        data = arrays.npy_header("<f4", (3,)) + struct.pack("<3f", 1, 2, 3)
        self.assertEqual((len(data) - 12) % 64, 0)
        self.assertEqual(self.values(data), [1, 2, 3])

    @needs("pandas", "numpy")
    def test_pandas(self):
        import pandas
        frame = pandas.DataFrame(self.TABLE)
        frame["city"] = frame["city"].astype("category")
        self.assertEqual(tanist.from_pandas(frame, self.folder / "table"), {"city": self.CITIES})
        self.check_folder(self.folder / "table")

    @needs("pyarrow")
    def test_parquet(self):
        import pyarrow
        import pyarrow.parquet
        pyarrow.parquet.write_table(pyarrow.table(self.TABLE), self.folder / "table.parquet")
        self.assertEqual(tanist.from_parquet(self.folder / "table.parquet", self.folder / "table"),
                         {"city": self.CITIES})
        self.check_folder(self.folder / "table")


if __name__ == "__main__":
    unittest.main(verbosity=2)
