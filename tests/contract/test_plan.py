#!/usr/bin/env python3
"""`tanist plan`, and runs whose variables are placed on ps: every strategy has the digest of contiguous ranges, also
after a ps was killed.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import subprocess
import unittest

from case import PROGRAM, Cli, patience

PINS = [{"match": "dense3/*", "ps": 0}]
JOB = {
    "name": "plan",
    "model": {"type": "layers", "inputs": 30, "outputs": 4,
              "layers": [{"dense": 40}, "relu", {"dense": 20}, "relu", {"dense": 4}]},
    "data": {"type": "synthetic", "examples": 512, "test_examples": 128, "noise": 0.5},
    "train": {"steps": 400, "batch": 16, "slices": 4, "kernels": "portable", "optimizer": "adam",
              "learning_rate": 0.003},
    "checkpoint": {"every_steps": 50},
    "cluster": {"coordinators": 2, "ps": 3, "workers": 2},
    "zookeeper": {"servers": 1},
}
LOCAL = ["--set", "train.steps=60"]
LONG = ["--set", "train.steps=4000"]


class Plan(Cli):
    def setUp(self):
        super().setUp()
        self.job(json.dumps(JOB))

    def result(self, *options):
        result = self.tanist("run", "job.json", "-o", "json", *options, timeout=90)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def plan(self, *options):
        result = self.tanist("plan", "job.json", "-o", "json", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_plan_shows_shards(self):
        plans = {strategy: self.plan("--set", f"placement.strategy={strategy}") for strategy in
                 ("ranges", "round_robin", "greedy")}
        for strategy, plan in plans.items():
            self.assertEqual((plan["strategy"], plan["parameters"]), (strategy, 2144))
            self.assertEqual(sum(shard["bytes"] for shard in plan["shards"]), 2144 * 4)
            for shard in plan["shards"]:
                self.assertEqual(shard["bytes_with_state"], 3 * shard["bytes"])
                self.assertEqual(sum(part["parameters"] for part in shard["variables"]), shard["parameters"])
        self.assertLess(plans["ranges"]["imbalance"], 0.03)
        self.assertLessEqual(plans["greedy"]["imbalance"], plans["round_robin"]["imbalance"])
        table = self.tanist("plan", "job.json", "--set", "placement.strategy=greedy").stdout.splitlines()
        self.assertEqual(table[0].split()[:4], ["PS", "VARIABLES", "PARAMETERS", "BYTES"])
        self.assertEqual(table[1].split()[:5], ["ps:0", "1", "1200", "4800", "14400"])
        self.refused(3, ["placement.strategy is \"greedier\": give \"ranges\" or"], "plan", "job.json", "--set",
                     "placement.strategy=greedier")

    def test_plan_predicts_memory(self):
        plan = self.plan("--set", "cluster.ps=2")
        for shard in plan["shards"]:
            memory = shard["memory"]
            self.assertEqual((memory["values"], memory["state"]), (shard["bytes"], 2 * shard["bytes"]))
            self.assertEqual(memory["saving"], shard["bytes_with_state"])
            self.assertGreater(memory["total"], sum(size for name, size in memory.items() if name != "total"))
        worker = plan["memory"]["worker"]
        self.assertEqual(worker["values"], 2 * 4 * plan["parameters"])
        # Inputs and one label for each example.
        self.assertEqual(worker["data"], (512 + 128) * (30 * 4 + 1))
        self.assertGreater(worker["programs"], 0)
        # Heads and rings; bodies of less than 8 KiB need no slots.
        self.assertEqual(plan["memory"]["lanes"], 2 * 2 * (4096 + 2 * 256 * 1024))
        self.assertGreater(plan["memory"]["all_tasks"], worker["total"] + sum(
            shard["memory"]["total"] for shard in plan["shards"]))
        absent = self.succeeds("plan", "job.json", "--set", "data.type=idx", "--set", "data.path=absent", "--set",
                               "model.inputs=784", "--set", "model.outputs=10", "--set",
                               'model.layers=[{"dense": 10}]')
        self.assertIn("data 0.0 (unknown: they cannot be opened here)", absent)

    def test_run_refuses_what_does_not_fit(self):
        large = {"model": {"type": "linear", "inputs": 1000000, "outputs": 1000000, "hidden": []}, "data": JOB["data"]}
        self.job(json.dumps(dict(JOB, **large)))
        self.refused(3, ["the job needs", "(3 ps of up to", "but this machine has", "no number of ps fits, not even on hosts"],
                     "run", "job.json", "--dir", "run")
        self.assertFalse((self.folder / "run").exists())

    def test_digests_do_not_depend_on_the_placement(self):
        one = self.result("--local", "--dir", "one", *LOCAL)["parameters_digest"]
        for name, options in (("turn", ["--set", "placement.strategy=round_robin"]),
                              ("pins", ["--set", "placement.strategy=greedy", "--set",
                                        f"placement.variables={json.dumps(PINS)}"])):
            for way in (["--local"], []):
                found = self.result("--dir", name + "".join(way), *way, *options, *LOCAL)
                self.assertEqual(found["parameters_digest"], one, (name, way))
                self.assertEqual(found["checkpoint_digest"], one, (name, way))

    def test_kills_leave_the_bits(self):
        one = self.result("--local", "--dir", "one", *LONG)["parameters_digest"]
        process = subprocess.Popen([PROGRAM, "run", "job.json", "--dir", "run", "-o", "json", "--set",
                                    "placement.strategy=greedy", *LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, cwd=self.folder, env=self.environment)
        self.addCleanup(process.communicate)
        self.kill_while_paused("ps:2")
        out, errors = process.communicate(timeout=patience(90))
        self.assertEqual(process.returncode, 0, errors)
        killed = json.loads(out)
        self.assertGreaterEqual(len(killed["recoveries"]), 1)
        self.assertEqual((killed["parameters_digest"], killed["checkpoint_digest"]), (one, one))

    def test_norms_need_ranges(self):
        self.refused(3, ["placement.strategy is \"greedy\", but train.clip_norm", "need \"ranges\""], "run", "job.json",
                     "--local", "--set", "placement.strategy=greedy", "--set", "train.clip_norm=1")

    def test_placement_must_not_change(self):
        self.result("--dir", "run", *LOCAL)
        self.refused(3, ["placement.strategy is \"ranges\" there and \"greedy\" here"], "run", "job.json", "--dir", "run",
                     "--resume", "--set", "placement.strategy=greedy", *LOCAL)


if __name__ == "__main__":
    unittest.main(verbosity=2)
