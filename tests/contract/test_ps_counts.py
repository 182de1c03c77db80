#!/usr/bin/env python3
"""Bits do not depend on the number of ps where a job needs all parameters at once, also when a ps is killed.

Real clusters; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import unittest

from case import LONG, QUICK, STEADY, Cli

STEPS = 2000
JOB = ["--set", "model.inputs=100", "--set", f"train.steps={STEPS}", "--set", "checkpoint.every_steps=300",
       *STEADY]


class PsCounts(Cli):
    def local(self, *options, directory="local"):
        return self.outcome(self.alone(QUICK, directory, *JOB, *options))

    def cluster(self, ps, *options):
        """The digest of a cluster and its evaluations."""
        return self.outcome(self.result(self.start_in(f"run{ps}", ps, *options)))

    def outcome(self, result):
        return result["parameters_digest"], result["evaluations"]

    def start_in(self, folder, ps, *options):
        return self.spawn("run", QUICK, "--dir", folder, "-o", "json", *JOB, "--set", f"cluster.ps={ps}", *options)

    def check_kill(self, *options):
        """The last of three ps is killed: the bits are those of a local run that ends at the same step."""
        self.target = ("--dir", "killed")
        run = self.start_in("killed", 3, *options, *LONG)
        self.wait_step(500)
        self.kill_in_the_middle("ps:2", steps=500)
        result = self.end(run)
        self.assertEqual(len(result["recoveries"]), 1)
        same_step = self.local(*options, "--set", f"train.steps={result['steps']}", directory="same-step")
        self.assertEqual(self.outcome(result), same_step)

    def check(self, *options):
        expected = self.local(*options)
        for ps in (1, 2):
            self.assertEqual(self.cluster(ps, *options), expected, f"{ps} ps")
        self.check_kill(*options)
        return expected

    def test_clipping_by_norm(self):
        limited = self.check("--set", "train.clip_norm=0.5", "--set", "train.optimizer=adam",
                             "--set", "train.learning_rate=0.0001")
        free = self.local("--set", "train.optimizer=adam", "--set", "train.learning_rate=0.0001", directory="free")
        self.assertNotEqual(limited[0], free[0])

    def test_moving_average(self):
        """Evaluations use the average, which is in checkpoints; the parameters are those of a run without it."""
        digest, averages = self.check("--set", "train.ema=0.99", "--set", "evaluate.every_steps=1000")
        plain, values = self.local("--set", "evaluate.every_steps=1000", directory="plain")
        self.assertEqual(digest, plain)
        self.assertNotEqual(averages[0], values[0])

    def test_many_variables(self):
        layers = json.dumps(["layer_norm"] * 600 + [{"dense": 1}], separators=(",", ":"))
        options = ["--set", "model.type=layers", "--set", f"model.layers={layers}", "--set", "model.loss=squared_error",
                   "--set", "train.optimizer=adam", "--set", "train.steps=20", "--set", "model.inputs=8"]
        self.assertEqual(self.cluster(3, *options), self.local(*options))

    def test_lars(self):
        """Each variable has norms of its own, also those of which several ps have a part."""
        layers = json.dumps([{"dense": 9}, "relu", {"dense": 5}, "relu", {"dense": 1}])
        self.check("--set", "model.type=layers", "--set", f"model.layers={layers}", "--set", "model.loss=squared_error",
                   "--set", "train.optimizer=lars", "--set", "train.weight_decay=0.0001", "--set", "train.clip_norm=2")

    def test_lamb(self):
        """The norm is that of the change of a whole variable; clipping by norm, which would change nothing, is refused."""
        layers = json.dumps([{"dense": 9}, "relu", {"dense": 5}, "relu", {"dense": 1}])
        job = ["--set", "model.type=layers", "--set", f"model.layers={layers}", "--set", "model.loss=squared_error",
               "--set", "train.optimizer=lamb", "--set", "train.weight_decay=0.01", "--set", "train.learning_rate=0.002"]
        self.check(*job)
        self.refused(3, ["\"lamb\"", "train.clip_norm is 2", "train.clip_value"], "run", "--local", QUICK, *job,
                     "--set", "train.clip_norm=2", "--dir", "refused")

    def test_batch_norm(self):
        """The moments are averages over slices; evaluations use them. Clipping leaves the moments alone."""
        layers = [{"dense": 8}, "batch_norm", "relu", {"dense": 1}]
        self.check("--set", "model.type=layers", "--set", f"model.layers={json.dumps(layers)}",
                   "--set", "model.loss=squared_error", "--set", "train.learning_rate=0.001",
                   "--set", "train.clip_norm=0.5", "--set", "train.variables=" + json.dumps(
                       [{"match": "dense1/*", "optimizer": "adam"}, {"match": "*bias", "optimizer": "momentum"}]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
