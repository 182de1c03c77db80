#!/usr/bin/env python3
"""The generated data "criteo-like": a wide & deep model comes near the best possible AUC, alike in one process and on
a cluster.

Real processes; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import unittest

from case import Cli

CATEGORIES = [f"C{c}" for c in range(1, 27)]


class Criteo(Cli):
    def setUp(self):
        super().setUp()
        columns = {f"wide{name}": {"as": "category", "from": name, "hash": 64, "embed": 1} for name in CATEGORIES}
        columns.update({f"I{k}": "number" for k in range(1, 14)})
        self.json = {
            "model": {"type": "layers", "layers": [{"dense": 1}], "outputs": 1, "loss": "sigmoid_cross_entropy"},
            "data": {"type": "criteo-like", "examples": 60000, "test_examples": 20000, "options": {"values": 3},
                     "columns": columns},
            "train": {"steps": 200, "batch": 256, "optimizer": "adam", "learning_rate": 0.03, "decay_steps": 200},
            "zookeeper": {"servers": 1},
        }

    def write(self):
        return self.job(json.dumps(self.json))

    def test_a_model_comes_near_the_best_auc(self):
        best = json.loads(self.succeeds("data", "show", self.write(), "-o", "json"))["best_auc"]
        one = json.loads(self.succeeds("run", self.write(), "--local", "--dir", "one", "-o", "json"))
        self.assertLess(0.6, best)
        self.assertLess(best - 0.05, one["auc"])
        self.assertLess(one["auc"], best + 0.001)
        cluster = self.result(self.spawn("run", self.write(), "--dir", "cluster", "-o", "json"))
        self.assertEqual((cluster["parameters_digest"], cluster["auc"]), (one["parameters_digest"], one["auc"]))
        evaluated = json.loads(self.succeeds("evaluate", "cluster", "-o", "json"))
        self.assertAlmostEqual(evaluated["auc"], one["auc"], places=6)

    def test_what_computed_rows_do_not_have_is_refused(self):
        for change, expected in [
                ({"train": "x.csv"}, "data.train"),
                ({"split": {"test": 0.1}}, "data.split.test"),
                ({"options": {"value": 3}}, "value"),
                ({"label": "clicks"}, "clicks"),
        ]:
            self.json["data"].update(change)
            self.refused(3, [expected], "run", self.write(), "--local", "--dir", "refused")
            for key in change:
                del self.json["data"][key]

    def predict(self, text):
        """The predictions for the rows of a file."""
        (self.folder / "new.csv").write_text(text, encoding="utf-8")
        lines = self.succeeds("predict", "run", "--data", "new.csv", "-o", "json").splitlines()
        self.assertEqual(self.tanist("predict", "run", "--data", "-", "-o", "json", input=text).stdout.splitlines(), lines)
        return [json.loads(line)["outputs"][0] for line in lines]

    def test_files_with_its_columns_are_predicted(self):
        """Columns are found by name, in any order; those that the model does not read, and the label, may be absent."""
        self.json["model"]["loss"] = "squared_error"
        self.json["data"].update({"examples": 1000, "test_examples": 100, "columns": {
            "I2": "number", "C3": {"as": "category", "hash": 64}}})
        self.succeeds("run", self.write(), "--local", "--dir", "run")
        texts = [f"{k:010x}" for k in range(20)]
        zero, one, three = self.predict(f"I1,C3,I2\n9,{texts[0]},0\n8,{texts[0]},1\n7,{texts[0]},3\n")
        self.assertNotEqual(zero, one)
        self.assertAlmostEqual(three, zero + 3 * (one - zero), places=5)
        found = self.predict("I2,C3\n" + "".join(f"0,{text}\n" for text in texts))
        self.assertEqual(found[0], zero)
        self.assertGreater(len(set(found)), 2)
        labelled = self.folder / "labelled.csv"
        labelled.write_text(f"click,I2,C3\n1,0,{texts[0]}\n0,1,{texts[0]}\n", encoding="utf-8")
        evaluated = json.loads(self.succeeds("evaluate", "run", "--data", "labelled.csv", "-o", "json"))
        self.assertEqual(evaluated["examples"], 2)
        self.assertAlmostEqual(evaluated["loss"], ((1 - zero) ** 2 + one ** 2) / 2, places=5)

    def test_files_that_do_not_fit_are_refused(self):
        self.json["data"].update({"examples": 1000, "test_examples": 100, "columns": {
            "I2": "number", "C3": {"as": "category", "hash": 64}}})
        self.succeeds("run", self.write(), "--local", "--dir", "run")
        for text, expected in [
                ("I1,C3\n1,a\n", ["no column 'I2'", "I1, C3"]),
                ("I2,C3\n1,a\nx,b\n", ["new.csv:3", "'x'"]),
                ("I2,C3\n1,a\n,b\n", ["new.csv:3", "missing"]),
                ("I2,C3\n1,a,2\n", ["new.csv:2"]),
        ]:
            (self.folder / "new.csv").write_text(text, encoding="utf-8")
            result = self.tanist("predict", "run", "--data", "new.csv")
            self.assertEqual(result.returncode, 3)
            for part in expected:
                self.assertIn(part, result.stderr)
        self.refused(3, ["none.csv"], "predict", "run", "--data", "none.csv")

    def test_regressions_have_no_auc(self):
        self.json["model"]["loss"] = "squared_error"
        result = json.loads(self.succeeds("run", self.write(), "--local", "--dir", "one", "-o", "json"))
        self.assertIsNone(result["auc"])


if __name__ == "__main__":
    unittest.main()
