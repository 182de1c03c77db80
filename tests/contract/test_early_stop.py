#!/usr/bin/env python3
"""Early stop with patience: a run ends when its evaluations do not improve, at the same step whatever happens on the
way. TANIST_PROGRAM: the program.
"""

import json
import unittest

from case import Cli

JOB = {"name": "early", "model": {"type": "mlp", "inputs": 6, "outputs": 4, "hidden": [32]},
       "data": {"type": "synthetic", "examples": 64, "test_examples": 200, "noise": 0.9},
       "train": {"steps": 100000, "batch": 32, "slices": 4, "optimizer": "adam", "learning_rate": 0.0005,
                 "stop": {"patience": 20}},
       "evaluate": {"every_steps": 200}, "checkpoint": {"every_steps": 300},
       "cluster": {"coordinators": 2, "ps": 2, "workers": 2}, "zookeeper": {"servers": 1}}


class EarlyStop(Cli):
    def setUp(self):
        super().setUp()
        self.path = self.job(json.dumps(JOB))

    def local(self, *options):
        return json.loads(self.succeeds("run", self.path, "--local", "--dir", "alone", "-o", "json", "--quiet",
                                        *options))

    def test_the_run_ends_behind_the_best_evaluation(self):
        """The last twenty evaluations are not better than the one before them, which is the best."""
        result = self.local()
        losses = [entry["loss"] for entry in result["evaluations"]]
        self.assertEqual(losses.index(min(losses)), len(losses) - 21)
        self.assertEqual((result["status"], result["steps"]), ("done", 200 * len(losses)))
        more = self.local("--resume", "--set", "train.stop.patience=30")
        self.assertGreater(more["steps"], result["steps"])

    def test_a_cluster_ends_at_the_same_step_when_nodes_die(self):
        """A chief and a ps are killed before the run ends by itself. An attempt in which it ends before is made again."""
        alone = self.local()
        for i in range(20):
            self.target = ("--dir", f"run{i}")
            run = self.spawn("run", self.path, *self.target, "-o", "json")
            if self.wait_step_or_end(run):
                for name in ("chief", "ps:0"):
                    self.kill_task(name)
            result = self.result(run)
            for field in ("steps", "parameters_digest", "status"):
                self.assertEqual(result[field], alone[field])
            if result["elections"] > 1 and result["recoveries"]:
                return
        self.fail("each run ended before a node was killed")

    def test_patience_needs_evaluations(self):
        """There is nothing to wait for without them."""
        self.refused(3, ["train.stop.patience", "evaluate.every_steps"], "run", self.path, "--local", "--set",
                     "evaluate.every_steps=0")


if __name__ == "__main__":
    unittest.main(buffer=True)
