#!/usr/bin/env python3
"""Columns with "embed": their embeddings are trained alike in one process and on a cluster, and are part of what
evaluate, predict and export read.

Real processes; every wait is bounded. numpy, safetensors and onnxruntime of PyPI (tried: 2.4.6, 0.8.0, 1.31.1) check
the exports where they are installed. TANIST_PROGRAM: the program.
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
    import safetensors.numpy
except ImportError as missing:
    print(f"exports are not checked: {missing.name} is not installed (pip install numpy onnxruntime safetensors)")
    numpy = None

CITIES = ["Zürich", "Genève", "Bern, Altstadt", 'Chur "Nord"', "Łódź"]
EDGES = [7, 10, 17, 20]
WIDTHS = {"city": 4, "kind": 4, "time": 3, "place": 8}


class Embed(Cli):
    def setUp(self):
        super().setUp()
        subprocess.run([sys.executable, str(ROOT / "examples/csv/make.py"), "--to", str(self.folder / "d"), "--rows",
                        "1200"], check=True)
        job = json.loads((ROOT / "examples/csv/embed.json").read_text(encoding="utf-8"))
        job["data"].update(train="d/shops-train-*.csv", test="d/shops-test.csv")
        job["train"].update(steps=200)
        job["zookeeper"] = {"servers": 1}
        self.json = job

    def local(self, *options):
        return json.loads(self.succeeds("run", self.job(json.dumps(self.json)), "--local", "--dir", "run", "-o", "json",
                                        *options))

    def read_test(self):
        with open(self.folder / "d/shops-test.csv", encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def test_a_cluster_trains_them_as_one_process_does(self):
        """The ps know the tables from the job, which was completed from the columns."""
        wanted = self.local()
        self.assertGreater(wanted["accuracy"], 0.75)
        run = self.spawn("run", self.job(json.dumps(self.json)), "--dir", "cluster", "-o", "json")
        self.assertEqual(self.result(run)["parameters_digest"], wanted["parameters_digest"])
        job = json.loads((self.folder / "cluster/job.json").read_text(encoding="utf-8"))
        self.assertEqual(job["model"]["inputs"], 6)
        self.assertEqual({entry["name"]: entry["width"] for entry in job["model"]["embeddings"]}, WIDTHS)
        self.assertEqual([entry["rows"] for entry in job["model"]["embeddings"]], [5, 100, 5, 1000])
        evaluated = json.loads(self.succeeds("evaluate", "cluster", "-o", "json"))
        self.assertEqual(evaluated["accuracy"], wanted["accuracy"])
        out = self.succeeds("predict", "cluster", "--data", "d/shops-test.csv")
        predicted = [int(row["class"]) for row in csv.DictReader(out.splitlines())]
        right = [["quiet", "busy"][c] == row["traffic"] for c, row in zip(predicted, self.read_test(), strict=True)]
        self.assertAlmostEqual(sum(right) / len(right), wanted["accuracy"], places=6)

    def test_they_learn_what_one_input_for_each_id_learns(self):
        """With and without "embed" the accuracy is about the same; the rows of the table are trained."""
        embedded = self.local("--set", "train.steps=400")["accuracy"]
        shown = json.loads(self.succeeds("checkpoints", "show", "1", "--dir", "run", "-o", "json"))
        deviations = {entry["name"]: entry["deviation"] for entry in shown["variables"]}
        self.assertGreater(deviations["columns/city/rows"], 0.05)  # 0.02 at first.
        for column in self.json["data"]["columns"].values():
            column.pop("embed", None)
        plain = json.loads(self.succeeds("run", self.job(json.dumps(self.json)), "--local", "--dir", "plain", "-o", "json",
                                         "--set", "train.steps=400"))["accuracy"]
        self.assertLess(abs(embedded - plain), 0.1)

    def test_names_are_letters_and_distinct(self):
        columns = self.json["data"]["columns"]
        self.json["data"]["columns"] = {"größe": {**columns["time"]}, "grö?e": {**columns["time"]}}
        self.local()
        shown = json.loads(self.succeeds("checkpoints", "show", "1", "--dir", "run", "-o", "json"))
        names = [entry["name"] for entry in shown["variables"] if entry["name"].startswith("columns/")]
        self.assertEqual(names, ["columns/gr__e/rows", "columns/gr__e.1/rows"])

    def test_what_has_no_place_for_them_is_refused(self):
        right = json.dumps(self.json)
        wrong = ("model", {"shape": [2, 3]}, "model.shape"), ("model", {"type": "onnx", "path": "m", "layers": []}, '"layers"'), \
                ("model", {"embeddings": []}, "not those of data.columns"), \
                ("columns", {"degrees": {"as": "number", "embed": 3}}, 'has "embed"'), \
                ("columns", {"kind": {"as": "category", "hash": 3, "embed": 0}}, "embed")
        for where, keys, expected in wrong:
            with self.subTest(keys=keys):
                self.json = json.loads(right)
                (self.json["model"] if where == "model" else self.json["data"]["columns"]).update(keys)
                self.refused(3, [expected], "run", self.job(json.dumps(self.json)), "--local", "--dir", "refused")

    @unittest.skipIf(numpy is None, "numpy, onnxruntime and safetensors are not installed")
    def test_onnxruntime_and_numpy_compute_the_same(self):
        """From numbers of rows that are computed here by the rules of the columns."""
        columns = self.json["data"]["columns"]
        self.json["data"]["columns"] = {"hour": "number", "city": {**columns["city"], "vocabulary": CITIES, "unknown": 0},
                                        "time": columns["time"]}
        self.local()
        rows = self.read_test()
        inputs = numpy.array([[float(row["hour"]), CITIES.index(row["city"]),
                               sum(float(row["hour"]) >= edge for edge in EDGES)] for row in rows], numpy.float32)
        self.succeeds("export", "run", "--to", "m.onnx", "--prepared")
        self.succeeds("export", "run", "--to", "m.safetensors")
        self.succeeds("predict", "run", "--data", "d/shops-test.csv", "-o", "npy", "--to", "out.npy")
        ours = numpy.load(self.folder / "out.npy")
        session = onnxruntime.InferenceSession(self.folder / "m.onnx")
        theirs = session.run(None, {session.get_inputs()[0].name: inputs})[-1]
        numpy.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=1e-6)
        values = safetensors.numpy.load_file(self.folder / "m.safetensors")
        x = numpy.concatenate([inputs[:, :1], values["columns/city/rows"][inputs[:, 1].astype(int)],
                               values["columns/time/rows"][inputs[:, 2].astype(int)]], 1)
        hidden = numpy.maximum(x @ values["dense1/weights"] + values["dense1/bias"], 0)
        logits = hidden @ values["dense2/weights"] + values["dense2/bias"]
        powers = numpy.exp(logits - logits.max(1, keepdims=True))
        numpy.testing.assert_allclose(ours, powers / powers.sum(1, keepdims=True), rtol=2e-4, atol=1e-6)


if __name__ == "__main__":
    unittest.main()
