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

    def test_regressions_have_no_auc(self):
        self.json["model"]["loss"] = "squared_error"
        result = json.loads(self.succeeds("run", self.write(), "--local", "--dir", "one", "-o", "json"))
        self.assertIsNone(result["auc"])


if __name__ == "__main__":
    unittest.main()
