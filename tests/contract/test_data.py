#!/usr/bin/env python3
"""Data in files: CSV files are read as Python's csv module writes them, the digest of a run does not depend on the
number of workers or on failures, and bad rows name file, line and column.

Real processes; every wait is bounded. TANIST_PROGRAM: the program.
"""

import csv
import io
import json
import random
import subprocess
import sys
import unittest

from case import LONG, ROOT, Cli


class Data(Cli):
    def setUp(self):
        super().setUp()
        subprocess.run([sys.executable, str(ROOT / "examples/csv/make.py"), "--to", str(self.folder / "d"), "--rows",
                        "1200"], check=True)
        job = json.loads((ROOT / "examples/csv/shops.json").read_text(encoding="utf-8"))
        job["data"].update(train="d/shops-train-*.csv", test="d/shops-test.csv")
        job["train"].update(steps=200, slices=10, batch=60)
        job["zookeeper"] = {"servers": 1}
        self.json = job

    def path(self):
        return self.job(json.dumps(self.json))

    def local(self, *options):
        """The result of a run in one process, in a new folder."""
        folder = f"local{len(list(self.folder.iterdir()))}"
        return json.loads(self.succeeds("run", self.path(), "--local", "--dir", folder, "-o", "json", *options))

    def fails(self, *expected):
        """The run is refused with a message that has all of `expected`."""
        self.refused(3, expected, "run", self.path(), "--local", "--dir", "refused")

    def append(self, line):
        with open(self.folder / "d/shops-train-1.csv", "a", encoding="utf-8", newline="") as file:
            file.write(line + "\r\n")

    def rows(self, name, header, rows):
        with open(self.folder / name, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([header, *rows])

    def test_digest_does_not_depend_on_workers(self):
        wanted = self.local()
        self.assertGreater(wanted["accuracy"], 0.75)
        for workers in (1, 2, 5):
            run = self.spawn("run", self.path(), "--dir", f"run{workers}", "-o", "json", "--set",
                             f"cluster.workers={workers}")
            self.assertEqual(self.result(run)["parameters_digest"], wanted["parameters_digest"])

    def test_threads_do_not_change_the_result(self):
        digests = {self.local("--set", f"data.threads={threads}")["parameters_digest"] for threads in (0, 1, 8)}
        self.assertEqual(len(digests), 1)

    def test_digest_survives_kills(self):
        self.json["checkpoint"] = {"every_steps": 200}
        run = self.spawn("run", self.path(), "--dir", "run", "-o", "json", "--set", "data.threads=2", *LONG)
        for task in ("worker:0", "ps:1"):
            self.kill_in_the_middle(task)
        result = self.end(run)
        self.json["train"]["steps"] = result["steps"]
        self.assertEqual(result["parameters_digest"], self.local()["parameters_digest"])

    def test_data_are_shown_and_checked(self):
        shown = json.loads(self.succeeds("data", "show", self.path(), "-o", "json"))
        self.assertEqual(shown["examples"], {"training": 1200, "test": 200})
        columns = {column["name"]: column for column in shown["columns"]}
        with open(self.folder / "d/shops-train-0.csv", encoding="utf-8", newline="") as file:
            names = next(csv.reader(file))
        self.assertEqual([column["name"] for column in shown["columns"]], names)
        rows = [row for part in range(3) for row in self.read(f"d/shops-train-{part}.csv")]
        degrees = [float(row["degrees"]) for row in rows if row["degrees"]]
        self.assertEqual((columns["degrees"]["values"], columns["degrees"]["missing"]),
                         (len(degrees), 1200 - len(degrees)))
        self.assertEqual((columns["degrees"]["least"], columns["degrees"]["most"]), (min(degrees), max(degrees)))
        self.assertAlmostEqual(columns["degrees"]["mean"], sum(degrees) / len(degrees), places=9)
        for command in ("show", "check"):
            self.assertIn("training examples: 1200", self.succeeds("data", command, self.path()))
        checked = json.loads(self.succeeds("data", "check", self.path(), "-o", "json"))
        self.assertEqual(checked["digest"], shown["digest"])
        self.append("Zürich,café,3.5,8,1.5,,empty")
        self.refused(3, ["shops-train-1.csv:", "column 7 'traffic': 'empty' is not in the vocabulary"], "data", "check",
                     self.path())

    def read(self, name):
        with open(self.folder / name, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def test_a_run_evaluates_and_predicts_files(self):
        """By the statistics of the run: the files for training are no longer needed."""
        run = json.loads(self.succeeds("run", self.path(), "--local", "--dir", "run", "-o", "json"))
        test = self.read("d/shops-test.csv")
        for path in (self.folder / "d").glob("shops-train-*.csv"):
            path.unlink()
        evaluated = json.loads(self.succeeds("evaluate", "run", "-o", "json"))
        self.assertEqual(evaluated["accuracy"], run["accuracy"])
        names = [name for name in test[0] if name != "traffic"]
        self.rows("new.csv", names, [[row[name] for name in names] for row in test])
        out = self.succeeds("predict", "run", "--data", "new.csv")
        predicted = [int(row["class"]) for row in csv.DictReader(out.splitlines())]
        right = sum(["quiet", "busy"][c] == row["traffic"] for c, row in zip(predicted, test, strict=True))
        self.assertAlmostEqual(right / len(test), run["accuracy"], places=6)
        rows = list(csv.DictReader(out.splitlines()))
        self.assertEqual([row["class_name"] for row in rows], [["quiet", "busy"][c] for c in predicted])
        lines = self.succeeds("predict", "run", "--data", "new.csv", "-o", "json").splitlines()
        self.assertEqual([json.loads(line)["class_name"] for line in lines], [row["class_name"] for row in rows])
        self.assertEqual([entry["class_name"] for entry in evaluated["classes"]], ["quiet", "busy"])
        text = (self.folder / "new.csv").read_text(encoding="utf-8")
        self.assertEqual(self.succeeds("predict", "run", "--data", "-", input=text), out)

    def test_evaluations_use_the_validation_split(self):
        """By files and by a part; the test set is evaluated at the end, alone and on a cluster."""
        lines = (self.folder / "d/shops-test.csv").read_text(encoding="utf-8").splitlines(keepends=True)
        (self.folder / "d/validation.csv").write_text("".join(lines[:91]), encoding="utf-8")
        self.json["evaluate"] = {"every_steps": 50}
        for data in ({"validation": "d/validation.csv"}, {"split": {"validation": 0.2}}):
            folder = f"alone{len(data)}{'split' in data}"
            self.json["data"].pop("validation", None)
            self.json["data"].update(data)
            result = json.loads(self.succeeds("run", self.path(), "--local", "--dir", folder, "-o", "json"))
            found = {split: json.loads(self.succeeds("evaluate", folder, "--split", split, "-o", "json"))
                     for split in ("test", "validation", "train")}
            self.assertEqual(found["test"]["examples"], 200)
            self.assertEqual([entry["step"] for entry in result["evaluations"]], [50, 100, 150, 200])
            for field in ("loss", "accuracy"):
                self.assertAlmostEqual(found["validation"][field], result[field], places=8)
                self.assertAlmostEqual(found["test"][field], result["test"][field], places=8)
            self.assertNotEqual(found["test"]["loss"], found["validation"]["loss"])
            train = 1200 if "validation" in data else 1200 - found["validation"]["examples"]
            self.assertEqual(found["train"]["examples"], train)
            run = self.spawn("run", self.path(), "--dir", f"run-{folder}", "-o", "json")
            cluster = self.result(run)
            for field in ("evaluations", "test", "parameters_digest"):
                self.assertEqual(cluster[field], result[field])
        self.refused(3, ["--split and --data"], "evaluate", folder, "--split", "train", "--data", "d/validation.csv")

    def test_without_a_validation_split_there_is_none(self):
        result = self.local()
        self.assertIsNone(result["test"])
        folder = next(path.name for path in self.folder.iterdir() if path.name.startswith("local"))
        self.refused(3, ["--split validation", "data.validation"], "evaluate", folder, "--split", "validation")

    def test_names_of_classes_are_quoted(self):
        """CSV as RFC 4180 has it; the csv module of Python reads them."""
        names = ['a "quoted" name', "a, b", "Straße\nzwei"]
        self.rows("named.csv", ["x", "label"], [[c, names[c]] for c in range(3)] * 20)
        self.json["data"] = {"format": "csv", "train": "named.csv", "test": "named.csv",
                             "label": {"column": "label", "vocabulary": names}}
        self.json["model"]["outputs"] = 3
        self.succeeds("run", self.path(), "--local", "--dir", "run", "-o", "json")
        self.rows("new.csv", ["x"], [[c] for c in range(3)])
        out = self.tanist("predict", "run", "--data", "new.csv").stdout
        found = list(csv.DictReader(io.StringIO(out, newline="")))
        self.assertEqual([row["class_name"] for row in found], [names[int(row["class"])] for row in found])
        self.assertEqual({row["class"] for row in found}, {"0", "1", "2"})
        lines = self.succeeds("predict", "run", "--data", "new.csv", "-o", "json").splitlines()
        self.assertEqual([json.loads(line)["class_name"] for line in lines], [row["class_name"] for row in found])

    def test_order_is_a_choice(self):
        digests = {self.local("--set", f"data.shuffle={order}")["parameters_digest"]
                   for order in ("permutation", "none", '{"block": 32, "window": 4}')}
        self.assertEqual(len(digests), 3)

    def test_stdin_is_named(self):
        """An error about rows of stdin names it, not the file to which they were copied."""
        self.succeeds("run", self.path(), "--local", "--dir", "run", "-q")
        result = self.tanist("predict", "run", "--data", "-", input="a,b\n1,2\n")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn(" stdin has no column '", result.stderr)

    def test_libsvm_with_a_byte_order_mark(self):
        (self.folder / "a.svm").write_text("1 1:2\n0 2:1\n", encoding="utf-8-sig")
        job = self.job(json.dumps({"model": {"type": "linear", "outputs": 1},
                                   "data": {"format": "libsvm", "train": "a.svm", "test": "a.svm", "label": "label"}}))
        self.assertIn("training examples: 2\n", self.succeeds("data", "check", job))

    def test_bad_rows_name_their_place(self):
        train = self.folder / "d/shops-train-1.csv"
        line = train.read_text(encoding="utf-8").count("\n") + 1
        self.append("Zürich,café,warm,8,1.5,,busy")
        self.fails(f"d/shops-train-1.csv:{line}: column 3 'degrees': 'warm' is not a number")

    def test_a_bad_label_ends_a_cluster(self):
        """The label of a training row is read when it is trained on: the run fails, and no worker tries again and again."""
        train = self.folder / "d/shops-train-1.csv"
        line = train.read_text(encoding="utf-8").count("\n") + 1
        self.append("Zürich,café,3.5,8,1.5,,empty")
        place = f"d/shops-train-1.csv:{line}: column 7 'traffic': 'empty' is not in the vocabulary"
        result = self.tanist("run", self.path(), "--dir", "run", timeout=120)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(place, result.stderr)
        self.assertIn("step ", result.stderr)

    def test_wrong_jobs_are_refused(self):
        wrong = ({"label": "price2"}, ["no column 'price2'"]), ({"train": "d/absent*.csv"}, ["no file matches"]), \
                ({"format": "cvs"}, ["unknown data.format 'cvs'", "'csv'"]), ({"test": ""}, ["data.split.test"]), \
                ({"format": "parquet"}, ["'parquet' is not read", "npy"]), \
                ({"columns": {"hour": {"as": "number", "scal": "none"}}}, ["data.columns.hour", "scal"]), \
                ({"columns": {"city": {"as": "category", "vocabulary": ["Genève"], "missing": "none"}}},
                 ["data.columns.city", "not in its vocabulary"])
        right = self.json["data"]
        for keys, expected in wrong:
            with self.subTest(keys=keys):
                self.json["data"] = {**right, **keys}
                self.fails(*expected)

    def test_columns_that_do_not_fit_a_given_model(self):
        self.json["model"]["inputs"] = 7
        self.fails("model.inputs is 7, but the columns give")

    def test_a_vocabulary_has_all_classes(self):
        """A model with more classes than names was a slip, often the default of 10; labels that are numbers have none."""
        for outputs in (1, 3, None):
            with self.subTest(outputs=outputs):
                self.json["model"]["outputs"] = outputs
                if outputs is None:
                    del self.json["model"]["outputs"]
                self.fails(f"has 2 classes, but the model has {outputs or 10}: give model.outputs 2" if outputs != 1
                           else "model.outputs is 1")
        self.rows("numbers.csv", ["x", "y"], [[i % 2, i % 2] for i in range(40)])
        self.json["data"] = {"format": "csv", "train": "numbers.csv", "test": "numbers.csv", "label": "y"}
        self.succeeds("data", "check", self.path())

    def test_many_classes(self):
        """More classes than a byte has."""
        draw = random.Random(3)
        self.rows("many.csv", ["a", "b", "class"], [[c % 20, c // 20, c] for c in (draw.randrange(400)
                                                                                  for _ in range(4000))])
        self.json["model"] = {"type": "mlp", "hidden": [32], "outputs": 400}
        self.json["data"] = {"format": "csv", "train": "many.csv", "split": {"test": 0.1, "validation": 0.1},
                             "label": "class", "columns": {name: {"as": "category", "vocabulary":
                                                                  [str(i) for i in range(20)]} for name in "ab"}}
        self.json["train"].update(optimizer="adam", learning_rate=0.02)
        self.assertGreater(self.local()["accuracy"], 0.9)

    def test_regression_of_two_targets(self):
        draw = random.Random(4)
        points = [[draw.gauss(0, 1), draw.gauss(5, 2)] for _ in range(2000)]
        self.rows("line.csv", ["x", "sum", "y", "difference"],
                  [[f"{x:.6f}", f"{x + y:.6f}", f"{y:.6f}", f"{x - y:.6f}"] for x, y in points])
        self.json["model"] = {"type": "linear", "outputs": 2}
        self.json["data"] = {"format": "csv", "train": "line.csv", "split": {"test": 0.2},
                             "label": ["sum", "difference"]}
        self.json["train"].update(optimizer="adam", learning_rate=0.1)
        self.json["cluster"]["ps"] = 1
        self.assertGreater(self.local()["accuracy"], 0.99)

    def test_statistics_are_those_of_python(self):
        """A linear model learns the identity from the scaled column to the same values as Python scales them."""
        values = [float(f"{random.Random(5).gauss(50, 9) + i % 7:.3f}") for i in range(500)]
        mean = sum(values) / len(values)
        deviation = (sum((v - mean) ** 2 for v in values) / len(values)) ** 0.5
        self.rows("scaled.csv", ["v", "w"], [[v, (v - mean) / deviation] for v in values])
        self.json["model"] = {"type": "linear", "outputs": 1}
        self.json["data"] = {"format": "csv", "train": "scaled.csv", "test": "scaled.csv", "label": "w",
                             "columns": {"v": {"as": "number", "scale": "standard"}}}
        self.json["train"].update(steps=400, optimizer="sgd", learning_rate=0.2)
        self.json["cluster"]["ps"] = 1
        self.assertLess(self.local()["loss"], 1e-10)


if __name__ == "__main__":
    unittest.main()
