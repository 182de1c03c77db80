#!/usr/bin/env python3
"""`tanist plan`, and runs whose variables are placed on ps: every strategy has the digest of contiguous ranges, also
after a ps was killed.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import shutil
import unittest

from case import LONG, ROOT, Cli
from installed import sanitizer_flags

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


class Plan(Cli):
    def setUp(self):
        super().setUp()
        self.job(json.dumps(JOB))

    def train(self, *options):
        result = self.tanist("run", "job.json", "-o", "json", *options)
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

    def test_plan_without_ps(self):
        plan = self.plan("--set", "strategy.type=mirror")
        self.assertEqual(plan["shards"], [])
        # Values and the state of Adam, and both again while a checkpoint is written.
        self.assertEqual(plan["memory"]["worker"]["values"], 2 * 3 * 4 * plan["parameters"])
        text = self.succeeds("plan", "job.json", "--set", "strategy.type=mirror")
        self.assertIn("2144 parameters, which each of the 2 workers has", text)
        self.assertNotIn("ps:0", text)

    def test_plan_of_a_group(self):
        """Each member has the memory of its own layers."""
        options = ["--set", "strategy.type=group", "--set", "placement.strategy=greedy", "--set", "cluster.ps=2", "--set",
                   'model.layers=[{"dense": 500, "task": 0}, {"dense": 500}, {"dense": 4, "task": 1}]']
        plan = self.plan(*options)
        memory = plan["memory"]
        self.assertEqual([member["values"] for member in memory["members"]],
                         [3 * shard["bytes"] for shard in plan["shards"]])
        self.assertGreater(memory["members"][0]["programs"], 4 * memory["members"][1]["programs"])
        self.assertEqual(memory["worker"], memory["members"][0])
        lines = [line for line in self.succeeds("plan", "job.json", *options).splitlines() if "memory of member" in line]
        self.assertEqual([line.split()[3] for line in lines], ["0", "1"])
        self.assertNotIn("members", self.plan()["memory"])

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

    def test_plan_of_a_large_model(self):
        """Slices that are computed in one run need one gradient, and programs no copy of the weights. The values are
        pages of the ps, unless these are elsewhere."""
        large = ["--set", "model.layers=[{\"dense\": 4000}, {\"dense\": 4000}]", "--set", "model.loss=squared_error",
                 "--set", "model.outputs=4000", "--set", "cluster.workers=1"]
        plan = self.plan(*large)
        worker, model = plan["memory"]["worker"], 4 * plan["parameters"]
        self.assertEqual((worker["values"], worker["shared"], worker["gradients"]), (model, model, model))
        self.assertLess(worker["programs"], model // 2)
        self.assertIn(" (pages of the ps), gradients", self.succeeds("plan", "job.json", *large))
        apart = self.plan(*large, "--set", "transport.lane=tcp")["memory"]["worker"]
        self.assertEqual((apart["values"], apart["shared"]), (3 * model, 0))
        self.assertEqual(apart["total"] - worker["total"], 2 * model)
        one_by_one = self.plan(*large, "--set", "train.batch=1024", "--set", "data.examples=1024")["memory"]["worker"]
        self.assertEqual(one_by_one["gradients"], 3 * model)

    def test_plan_counts_joined_programs(self):
        """A worker with several slices has a program that computes them together."""
        alone = self.plan("--set", "cluster.workers=4")["memory"]["worker"]["programs"]
        joined = self.plan("--set", "cluster.workers=1")["memory"]["worker"]["programs"]
        self.assertGreater(joined, alone)
        clipped = self.plan("--set", "cluster.workers=1", "--set", "train.mode=async", "--set", "train.clip_norm=1")
        self.assertEqual(clipped["memory"]["worker"]["programs"], alone)

    def test_plan_predicts_memory_of_evaluations(self):
        """A worker that evaluates has all rows of tables that the test set reads."""
        shutil.copy(ROOT / "examples/ctr/wide-deep.json", self.folder / "job.json")
        sets = ["--set", "data.test_examples=20000", "--set", "data.options={\"values\": 100000}", "--set",
                "evaluate.every_steps=10", "--set", "zookeeper.servers=1"]
        plan = self.plan(*sets)["memory"]["worker"]
        few = self.plan(*sets, "--set", "data.options={\"values\": 30}")["memory"]["worker"]
        self.assertLess(few["rows"], plan["rows"] // 2)
        self.assertEqual(self.plan(*sets, "--set", "strategy.type=local")["memory"]["worker"]["rows"], 0)
        self.assertIn(f", rows {plan['rows'] / 2**20:.1f}\n", self.succeeds("plan", "job.json", *sets))
        if sanitizer_flags():
            self.skipTest("sanitizers need memory of their own")
        run = self.spawn("run", "job.json", "--dir", "run", "-o", "json", *sets, *LONG)
        self.wait_step(30)
        peak = max(self.memory_peak(f"worker:{index}") for index in range(2))
        self.end(run)
        self.assertLess(abs(peak - plan["total"]), 0.4 * plan["total"], f"{peak}, planned: {plan}")

    def test_plan_predicts_memory_of_a_ps(self):
        """With Adam, a ps has four times its shard: the gradient is collected where the next values will be."""
        large = {"model": {"type": "linear", "inputs": 1023, "outputs": 8192, "hidden": []},
                 "data": {"type": "synthetic", "examples": 32, "test_examples": 8},
                 "train": {"steps": 10**6, "batch": 2, "slices": 2, "optimizer": "adam", "learning_rate": 1e-6},
                 "checkpoint": {"every_seconds": 0}, "evaluate": {"every_steps": 0},
                 "cluster": {"coordinators": 1, "ps": 1, "workers": 1}}
        self.job(json.dumps(dict(JOB, **large)))
        shard = self.plan()["shards"][0]
        memory = shard["memory"]
        self.assertEqual((memory["next_step"], memory["pushed"], memory["saving"]), (shard["bytes"], 0, 0))
        if sanitizer_flags():
            self.skipTest("sanitizers need memory of their own")
        run = self.spawn("run", "job.json", "--dir", "run", "-o", "json")
        self.wait_step(10)
        peak = self.memory_peak("ps:0")
        self.end(run)
        self.assertLess(abs(peak - memory["total"]), 0.12 * memory["total"], f"{peak}, planned: {memory}")

    def many_keys(self, width=16, **train):
        """A job whose tables get some 100,000 rows, of which most examples have new ones."""
        columns = {"I1..I13": "number", "C1..C26": {"as": "category", "embed": width, "table": True}}
        self.job(json.dumps(dict(JOB, **{
            "data": {"type": "criteo-like", "examples": 1 << 24, "test_examples": 1000, "options": {"values": 10**7},
                     "columns": columns},
            "model": {"type": "layers", "outputs": 1, "loss": "sigmoid_cross_entropy", "layers": [{"dense": 1}]},
            "train": dict({"steps": 100, "batch": 512, "slices": 2, "optimizer": "adam", "learning_rate": 0.001}, **train),
            "cluster": {"coordinators": 1, "ps": 2, "workers": 2}})))

    def test_plan_predicts_memory_of_tables(self):
        """A ps has the rows that were trained, which are estimated from the keys of a part of the examples."""
        self.many_keys()
        plan = self.plan()
        expected = sum(table["expected_rows"] for table in plan["tables"])
        run = json.loads(self.succeeds("run", "job.json", "--dir", "run", "-o", "json"))
        trained = sum(table["rows"] for table in run["tables"])
        self.assertLess(abs(expected - trained), 0.3 * trained, f"{trained} rows, planned: {expected}")
        self.assertTrue(all(table["expected_rows"] <= table["most_rows"] for table in plan["tables"]))
        for shard in plan["shards"]:
            self.assertGreater(shard["memory"]["rows"], 227 * trained // 3)
        worker = plan["memory"]["worker"]
        self.assertGreater(plan["memory"]["all_tasks"], 2 * (worker["total"] - worker["evaluated_rows"]))
        self.assertLess(plan["memory"]["all_tasks"] - sum(shard["memory"]["total"] for shard in plan["shards"]),
                        2 * worker["total"] + 2**20 * 96)
        limited = self.plan("--set", "cluster.table_mib=4")
        self.assertLess(limited["shards"][0]["memory"]["rows"], plan["shards"][0]["memory"]["rows"] // 2)
        short = self.plan("--set", 'train.tables=[{"match": "*", "expire_after_steps": 5}]')
        self.assertLess(short["shards"][0]["memory"]["rows"], plan["shards"][0]["memory"]["rows"] // 2)

    def test_run_warns_of_rows_that_may_not_fit(self):
        """The number of keys that were not read is an estimate, for which no job is refused."""
        self.many_keys(width=128, steps=10**6)
        plan = self.plan()["memory"]
        if plan["all_tasks"] <= plan["machine"]:
            self.skipTest("this machine has more memory than the job is predicted to need")
        run = self.spawn("run", "job.json", "--dir", "run")
        self.assertTrue(any("the job is predicted to need" in line for line in run.stderr))

    def test_plan_lists_tables(self):
        """Bytes of a row, and of all rows where their number is limited."""
        shutil.copy(ROOT / "examples/ctr/deepfm.json", self.folder / "job.json")
        tables = {table["name"]: table for table in self.plan()["tables"]}
        self.assertEqual(len(tables), 52)
        deep, wide = tables["columns/C1/rows"], tables["columns/wide1/rows"]
        # Key, step and older version; values and two arrays of state; the index.
        self.assertEqual((deep["width"], deep["row_bytes"]), (8, 20 + 3 * 8 * 4 + 4 + 11))
        self.assertEqual((wide["width"], wide["row_bytes"]), (1, 20 + 3 * 4 + 11))
        self.assertEqual((deep["rows"], deep["bytes"]), (None, None))
        # Each category has 30 values, and each of the 1,000,000 examples one of them.
        self.assertEqual((deep["expected_rows"], deep["most_rows"]), (30, 1000000))
        few = {table["name"]: table for table in self.plan("--set", "train.steps=100")["tables"]}
        self.assertEqual(few["columns/C1/rows"]["most_rows"], 25600)
        text = self.succeeds("plan", "job.json", "--set", "cluster.table_mib=512")
        self.assertIn("TABLE", text)
        self.assertIn("the 2 ps share them, each at most 512 MiB (cluster.table_mib)", text)
        self.assertIn("give --set cluster.workers_per_process=2", text)
        self.assertEqual(self.plan()["rows"]["workers_per_process"], 2)
        together = ["--set", "cluster.workers_per_process=2"]
        self.assertIsNone(self.plan(*together)["rows"]["workers_per_process"])
        self.assertNotIn("workers_per_process", self.succeeds("plan", "job.json", *together))

    def test_plan_lists_counts(self):
        """With admission of keys, the bytes of a count, and the keys that the batches of admit_within_steps can have."""
        shutil.copy(ROOT / "examples/ctr/deepfm.json", self.folder / "job.json")
        rule = ["--set", 'train.tables=[{"match": "columns/C1/*", "admit_after": 3, "admit_within_steps": 1000}]']
        tables = {table["name"]: table for table in self.plan(*rule)["tables"]}
        counted, plain = tables["columns/C1/rows"], tables["columns/C2/rows"]
        self.assertEqual((counted["count_bytes"], counted["counts"]), (20 + 4 + 8 + 11, 256 * 1000))
        self.assertEqual((plain["count_bytes"], plain["counts"]), (None, None))
        self.assertEqual(counted["row_bytes"], plain["row_bytes"])
        lines = self.succeeds("plan", "job.json", *rule).splitlines()
        self.assertTrue(any("OF A COUNT" in line and "COUNTS MOST" in line for line in lines))
        self.assertIn(["columns/C1/rows", "8", "131", "30", "333333", "43", "256000", "52.1", "MiB"], [line.split() for line in lines])
        self.assertNotIn("COUNT", self.succeeds("plan", "job.json"))

    def test_rules_of_no_table_are_refused(self):
        """A pattern that matches no table is almost surely a typo, and an error of the plan as of a run."""
        shutil.copy(ROOT / "examples/ctr/two-tower.json", self.folder / "job.json")
        rules = 'train.tables=[{"match": "columns/*"}, {"match": "column/*", "expire_after_steps": 9}]'
        names = ", ".join(f'"columns/C{number}/rows"' for number in range(1, 7))
        wanted = ['train.tables[1].match is "column/*", which matches none of the model\'s tables '
                  f"({names} and 20 more)"]
        self.refused(3, wanted, "plan", "job.json", "--set", rules)
        self.refused(3, wanted, "run", "job.json", "--local", "--dir", "run", "--set", rules)
        self.refused(3, wanted, "run", "job.json", "--dir", "run", "--set", rules)
        self.assertFalse((self.folder / "run").exists())
        self.job(json.dumps(JOB))
        self.refused(3, ['train.tables[0].match is "*", but the model has no tables'], "plan", "job.json", "--set",
                     'train.tables=[{"match": "*"}]')
        self.refused(3, ['train.variables[0].match is "dense9/*", which matches none of the model\'s variables'], "plan",
                     "job.json", "--set", 'train.variables=[{"match": "dense9/*", "learning_rate_factor": 0}]')

    def test_run_refuses_what_does_not_fit(self):
        large = {"model": {"type": "linear", "inputs": 1000000, "outputs": 1000000, "hidden": []}, "data": JOB["data"]}
        self.job(json.dumps(dict(JOB, **large)))
        self.refused(3, ["the job needs", "(3 ps of up to", "but this machine has", "no number of ps fits, not even on hosts"],
                     "run", "job.json", "--dir", "run")
        self.assertFalse((self.folder / "run").exists())

    def test_digests_do_not_depend_on_the_placement(self):
        one = self.train("--local", "--dir", "one", *LOCAL)["parameters_digest"]
        for name, options in (("turn", ["--set", "placement.strategy=round_robin"]),
                              ("pins", ["--set", "placement.strategy=greedy", "--set",
                                        f"placement.variables={json.dumps(PINS)}"])):
            for way in (["--local"], []):
                found = self.train("--dir", name + "".join(way), *way, *options, *LOCAL)
                self.assertEqual(found["parameters_digest"], one, (name, way))
                self.assertEqual(found["checkpoint_digest"], one, (name, way))

    def test_kills_leave_the_bits(self):
        run = self.spawn("run", "job.json", "--dir", "run", "-o", "json", "--set", "placement.strategy=greedy", *LONG)
        self.kill_in_the_middle("ps:2")
        killed = self.end(run)
        one = self.alone("job.json", "one", "--set", f"train.steps={killed['steps']}")["parameters_digest"]
        self.assertGreaterEqual(len(killed["recoveries"]), 1)
        self.assertEqual((killed["parameters_digest"], killed["checkpoint_digest"]), (one, one))

    def test_norms_need_ranges(self):
        self.refused(3, ["placement.strategy is \"greedy\", but train.clip_norm", "need \"ranges\""], "run", "job.json",
                     "--local", "--set", "placement.strategy=greedy", "--set", "train.clip_norm=1")

    def test_placement_changes_only_with_resume(self):
        one = self.train("--local", "--dir", "one", *LOCAL)["parameters_digest"]
        self.train("--dir", "run", *LOCAL, "--set", "train.steps=20")
        (self.folder / "run/result.json").unlink()
        greedy = ["--set", "placement.strategy=greedy"]
        self.refused(3, ["placement.strategy is \"ranges\" there and \"greedy\" here", "--resume"], "run", "job.json",
                     "--dir", "run", *greedy, *LOCAL)
        found = self.train("--dir", "run", "--resume", *greedy, *LOCAL)
        self.assertEqual((found["parameters_digest"], found["checkpoint_digest"]), (one, one))


if __name__ == "__main__":
    unittest.main(verbosity=2)
