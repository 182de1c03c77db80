#!/usr/bin/env python3
"""The best checkpoint (`checkpoint.best`): it stays beside the newest ones, and commands use it, whatever is killed.
TANIST_PROGRAM: the program.
"""

import json
import unittest

from case import Cli

# It overfits: the best evaluation is far from the end.
JOB = {"name": "best", "model": {"type": "mlp", "inputs": 6, "outputs": 4, "hidden": [32]},
       "data": {"type": "synthetic", "examples": 64, "test_examples": 200, "noise": 0.9},
       "train": {"steps": 100000, "batch": 32, "slices": 4, "optimizer": "adam", "learning_rate": 0.0005,
                 "stop": {"patience": 12}},
       "evaluate": {"every_steps": 200}, "checkpoint": {"every_steps": 200, "keep": 2, "best": "loss"},
       "cluster": {"coordinators": 2, "ps": 2, "workers": 2}, "zookeeper": {"servers": 1}}


class Best(Cli):
    def setUp(self):
        super().setUp()
        self.path = self.job(json.dumps(JOB))

    def local(self, *options, directory="alone"):
        return json.loads(self.succeeds("run", self.path, "--local", "--dir", directory, "-o", "json", "--quiet",
                                        *options))

    def checkpoints(self, directory):
        return json.loads(self.succeeds("checkpoints", "list", "--dir", directory, "-o", "json"))["checkpoints"]

    def check(self, result, directory, metric="loss", least=min):
        """The best is that of all evaluations, is the only one kept before the newest two, and has its values."""
        best = result["best"]
        values = {entry["step"]: entry[metric] for entry in result["evaluations"]}
        self.assertEqual(best["metric"], metric)
        self.assertAlmostEqual(best["value"], least(values.values()), places=8)
        self.assertAlmostEqual(values[best["step"]], best["value"], places=8)
        listed = self.checkpoints(directory)
        self.assertEqual([entry["id"] for entry in listed if entry["best"]], [best["checkpoint"]])
        self.assertEqual([entry["step"] for entry in listed if entry["best"]], [best["step"]])
        self.assertEqual(len(listed), 3, listed)
        found = json.loads(self.succeeds("evaluate", directory, "--checkpoint", "best", "-o", "json"))
        self.assertEqual((found["checkpoint"], found["step"]), (best["checkpoint"], best["step"]))
        self.assertAlmostEqual(found[metric], best["value"], places=7)

    def test_the_best_checkpoint_stays_and_is_used(self):
        result = self.local()
        self.check(result, "alone")
        self.assertLess(result["best"]["step"], result["steps"] - 2000)
        self.assertIn("(best)", self.succeeds("checkpoints", "list", "--dir", "alone"))
        row = "1,2,3,4,5,6\n"
        best = str(result["best"]["checkpoint"])
        predictions = {choice: self.succeeds("predict", "alone", "--data", "-", "--checkpoint", choice, input=row)
                       for choice in ("best", best, str(result["checkpoint"]["id"]))}
        self.assertEqual(predictions["best"], predictions[best])
        self.assertNotEqual(predictions["best"], predictions[str(result["checkpoint"]["id"])])
        exported = json.loads(self.succeeds("export", "alone", "--to", "best.npz", "--checkpoint", "best", "-o", "json"))
        self.assertEqual(exported["step"], result["best"]["step"])
        self.refused(3, ["'worst' is not the number of a checkpoint"], "predict", "alone", "--data", "-", "--checkpoint",
                     "worst", input=row)

    def test_accuracy_is_better_when_it_is_greater(self):
        self.check(self.local("--set", "checkpoint.best=accuracy", "--set", "train.stop.metric=accuracy"), "alone",
                   "accuracy", max)

    def test_a_later_start_continues_with_it(self):
        """A run in two starts has the best checkpoint of a run in one; another metric starts without one."""
        whole = self.local(directory="whole")
        self.local("--set", f"train.steps={whole['best']['step'] + 900}", "--set", "train.stop.patience=0")
        again = self.local("--resume", "--set", "train.steps=100000", "--set", "train.stop.patience=12")
        self.assertEqual(again["best"]["step"], whole["best"]["step"])
        self.assertEqual(again["best"]["value"], whole["best"]["value"])
        other = self.local("--resume", "--set", "checkpoint.best=accuracy", "--set", "train.stop.patience=14")
        self.assertEqual(other["best"]["metric"], "accuracy")
        self.assertGreater(other["best"]["step"], again["steps"])

    def test_kills_do_not_change_it(self):
        """The chief and a ps are killed, again and again."""
        alone = self.local()
        for attempt in range(20):  # The run may end before a kill.
            self.target = ("--dir", f"run{attempt}")
            result = self.result(self.disturbed(alone["best"]["step"]))
            for field in ("step", "value", "metric"):
                self.assertEqual(result["best"][field], alone["best"][field])
            self.check(result, f"run{attempt}")
            if result["elections"] > 1 and result["recoveries"]:
                return
        self.fail("each run ended before a node was killed")

    def disturbed(self, best):
        """A run whose chief and a ps are killed at most three times, up to the step `best`."""
        run = self.spawn("run", self.path, *self.target, "-o", "json")
        for i in range(3):
            if not self.wait_step_or_end(run, best * i // 3 + 1):
                break
            for name in ("chief", f"ps:{i % 2}"):
                self.kill_task(name)
        return run

    def test_evaluations_need_checkpoints(self):
        """The message names both keys. A run that evaluates nothing cannot have a best checkpoint."""
        self.refused(3, ["checkpoint.best", "evaluate.every_steps is 200", "checkpoint.every_steps (300)"], "run",
                     self.path, "--local", "--set", "checkpoint.every_steps=300")
        self.refused(3, ["checkpoint.best", "train.mode"], "run", self.path, "--set", "train.mode=async")
        self.local("--set", "checkpoint.best=none", "--set", "train.steps=400", "--set", "train.stop.patience=0")
        self.refused(3, ["no best checkpoint", "checkpoint.best"], "evaluate", "alone", "--checkpoint", "best")


if __name__ == "__main__":
    unittest.main(buffer=True)
