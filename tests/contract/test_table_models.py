#!/usr/bin/env python3
"""The commands evaluate, predict and export with a model that has tables: the loss of the run, predictions with that loss, and
rows that give these predictions; of a run in one process, whose checkpoints are chains of files, and of a cluster.

Files are read by the definitions of their formats; numpy and safetensors of PyPI (tried: 2.4.6, 0.8.0) read them,
too, where they are installed. Real processes; every wait is bounded. TANIST_PROGRAM: the program.
"""

import csv
import io
import json
import math
import random
import struct
import unittest

from array_files import read_npz, read_safetensors
from case import Cli, patience
from xxh64 import key_of

try:
    import numpy
    import safetensors.numpy
except ImportError as missing:
    print(f"not checked with numpy and safetensors: {missing.name} is not installed (pip install numpy safetensors)")
    numpy = None

WIDTHS = {"user": 40, "item": 24}


class TableModels(Cli):
    def setUp(self):
        super().setUp()
        numbers = random.Random(5)
        taste = {f"u{u}": numbers.gauss(0, 1) for u in range(40)}
        charm = {f"i{i}": numbers.gauss(0, 1) for i in range(25)}
        for name, count in (("train", 4000), ("test", 500)):
            with open(self.folder / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
                rows = csv.writer(file)
                rows.writerow(["user", "item", "price", "click"])
                for _ in range(count):
                    user, item, price = numbers.choice(list(taste)), numbers.choice(list(charm)), numbers.uniform(-1, 1)
                    rows.writerow([user, item, f"{price:.4f}", int(taste[user] + charm[item] + price > 0)])
        columns = {name: {"as": "category", "embed": width, "table": True} for name, width in WIDTHS.items()}
        self.json = {
            "model": {"type": "layers", "layers": [{"dense": 1}], "outputs": 1, "loss": "sigmoid_cross_entropy"},
            "data": {"format": "csv", "train": "train.csv", "test": "test.csv", "label": "click",
                     "columns": {**columns, "price": "number"}},
            "train": {"steps": 300, "batch": 32, "slices": 4, "optimizer": "adam", "learning_rate": 0.02},
            "checkpoint": {"every_steps": 60, "keep": 2},
            "cluster": {"ps": 3},
            "zookeeper": {"servers": 1},
        }

    def train(self, *options):
        return json.loads(self.succeeds("run", self.job(json.dumps(self.json)), "--dir", "run", "-o", "json", *options,
                                        timeout=patience(120)))

    def predict(self):
        rows = list(csv.DictReader(io.StringIO(self.succeeds("predict", "run", "--data", "test.csv"))))
        with open(self.folder / "test.csv", encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file)), [float(row["probability_1"]) for row in rows]

    def check_predictions(self, result):
        """The loss of the predictions is that of the run, and evaluate's."""
        evaluated = json.loads(self.succeeds("evaluate", "run", "-o", "json"))
        self.assertAlmostEqual(evaluated["loss"], result["loss"], places=9)
        self.assertAlmostEqual(evaluated["auc"], result["auc"], places=6)
        rows, chances = self.predict()
        loss = -sum(math.log(p if row["click"] == "1" else 1 - p) for row, p in zip(rows, chances)) / len(rows)
        self.assertAlmostEqual(loss, result["loss"], delta=1e-5)
        self.assertGreater(result["auc"], 0.9)
        return rows, chances

    def check_rows(self, result, rows, chances):
        """Each prediction follows from the rows of its keys in the exported file."""
        self.succeeds("export", "run", "--to", "m.safetensors", "--state")
        tensors, facts = read_safetensors(self.folder / "m.safetensors")
        self.assertEqual(facts["digest"], result["parameters_digest"])
        counts = {table["name"]: table["rows"] for table in result["tables"]}
        vectors = {}
        for name, width in WIDTHS.items():
            table = f"columns/{name}/rows"
            shape, keys = tensors[f"{table}/keys"]
            self.assertEqual(shape, (counts[table],))
            self.assertEqual(keys, tuple(sorted(set(keys))))
            shape, values = tensors[f"{table}/values"]
            self.assertEqual(shape, (counts[table], width))
            self.assertEqual(tensors[f"{table}/state"][0], (counts[table], 2 * width))
            vectors[name] = {key: values[i * width:(i + 1) * width] for i, key in enumerate(keys)}
        weights, bias = tensors["dense1/weights"][1], tensors["dense1/bias"][1][0]
        for row, chance in zip(rows, chances):
            inputs = [*vectors["user"][key_of(row["user"])], *vectors["item"][key_of(row["item"])], float(row["price"])]
            logit = bias + sum(x * w for x, w in zip(inputs, weights))
            self.assertAlmostEqual(chance, 1 / (1 + math.exp(-logit)), delta=1e-5)
        self.succeeds("export", "run", "--to", "m.npz", "--state")
        self.assertEqual(read_npz(self.folder / "m.npz"), tensors)

    def test_of_one_process(self):
        result = self.train("--local")
        self.check_rows(result, *self.check_predictions(result))

    def test_of_a_cluster(self):
        """The rows of three ps are one table."""
        result = self.train()
        self.check_rows(result, *self.check_predictions(result))

    @unittest.skipIf(numpy is None, "numpy and safetensors are not installed")
    def test_numpy_and_safetensors_read_the_files(self):
        self.train("--local")
        for file in ("m.npz", "m.safetensors"):
            self.succeeds("export", "run", "--to", file)
        tensors = safetensors.numpy.load_file(self.folder / "m.safetensors")
        self.assertEqual(tensors["columns/user/rows/keys"].dtype, numpy.int64)
        self.assertEqual(tensors["columns/user/rows/values"].shape, (40, 40))
        with numpy.load(self.folder / "m.npz") as arrays:
            self.assertTrue(all(numpy.array_equal(arrays[name], tensors[name]) for name in tensors))

    def test_older_checkpoints_and_values_that_were_never_trained(self):
        """Another checkpoint has other predictions; the row of a new value is that of its initial values."""
        self.train("--local")
        newest = self.predict()[1]
        first = self.succeeds("checkpoints", "list", "--dir", "run", "-o", "json")
        older = min(entry["id"] for entry in json.loads(first)["checkpoints"])
        self.assertNotEqual(self.succeeds("predict", "run", "--data", "test.csv", "--checkpoint", str(older)),
                            self.succeeds("predict", "run", "--data", "test.csv"))
        self.assertEqual(len(newest), 500)
        (self.folder / "new.csv").write_text("user,item,price\nnew,i1,0.5\nnew,i1,0.5\n", encoding="utf-8")
        lines = self.succeeds("predict", "run", "--data", "new.csv").splitlines()
        self.assertEqual(lines[1], lines[2])

    def ids(self):
        found = json.loads(self.succeeds("checkpoints", "list", "--dir", "run", "-o", "json"))["checkpoints"]
        return sorted(entry["id"] for entry in found)

    def rows_of(self, checkpoint, table):
        """Values by key, of an exported file."""
        self.succeeds("export", "run", "--to", "rows.safetensors", "--checkpoint", str(checkpoint))
        tensors, _ = read_safetensors(self.folder / "rows.safetensors")
        width = tensors[f"{table}/values"][0][1]
        values = struct.pack(f"<{len(tensors[f'{table}/values'][1])}f", *tensors[f"{table}/values"][1])
        return {key: values[4 * width * i:4 * width * (i + 1)] for i, key in enumerate(tensors[f"{table}/keys"][1])}

    def check_diff(self):
        """The counts are those of the exported rows; diffs in both directions mirror each other."""
        ids = self.ids()
        for one, two in ((ids[0], ids[-1]), (ids[-1], ids[0]), (ids[-1], ids[-1])):
            diff = json.loads(self.succeeds("checkpoints", "diff", "--dir", "run", str(one), str(two), "-o", "json"))
            self.assertEqual([table["name"] for table in diff["tables"]], ["columns/user/rows", "columns/item/rows"])
            for table in diff["tables"]:
                first, second = self.rows_of(one, table["name"]), self.rows_of(two, table["name"])
                both = first.keys() & second.keys()
                self.assertEqual(table["rows"], len(first))
                self.assertEqual(table["added"], len(second.keys() - both))
                self.assertEqual(table["removed"], len(first.keys() - both))
                self.assertEqual(table["changed"], sum(first[key] != second[key] for key in both))
                self.assertEqual(table["most_change"] > 0, table["changed"] > 0)
        lines = self.succeeds("checkpoints", "diff", "--dir", "run", str(ids[0]), str(ids[-1])).splitlines()
        self.assertTrue(any(line.startswith("columns/item/rows") for line in lines), lines)

    def rare_users(self):
        """Some users come late, so that the later checkpoints have more rows."""
        self.json["train"].update({"steps": 12, "batch": 8})
        self.json["checkpoint"].update({"every_steps": 3, "keep": 4})

    def test_diff_in_one_process(self):
        self.rare_users()
        self.train("--local")
        self.check_diff()

    def test_diff_of_a_cluster(self):
        self.rare_users()
        self.train()
        self.check_diff()

    def test_damaged_rows_are_refused(self):
        self.train("--local")
        path = sorted((self.folder / "run/checkpoints/tables").iterdir())[-1]
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        result = self.tanist("predict", "run", "--data", "test.csv")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(path.name, result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
