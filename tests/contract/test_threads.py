#!/usr/bin/env python3
"""Several threads of a worker, and of a run in one process (train.threads).

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import subprocess
import unittest

from case import LONG, QUICK, ROOT, STEADY, Cli, long, pids, small_table_job

# Slices in one run, with dropout and moving statistics; one by one, with norms over ranges of the threads.
MLP = {"type": "layers", "inputs": 64, "layers": [{"dense": {"units": 48, "activation": "relu"}}, "batch_norm",
                                                  {"dropout": 0.5}, {"dense": 5}], "outputs": 5}
CNN = {"type": "layers", "inputs": 64, "shape": [8, 8, 1],
       "layers": [{"conv2d": {"filters": 5, "activation": "relu"}}, {"max_pool": 2}, "flatten", {"dense": 3}], "outputs": 3}
TRAIN = {"steps": 60, "batch": 24, "slices": 6, "optimizer": "adam", "learning_rate": 0.01}
JOBS = {
    "joined": (MLP, dict(TRAIN, clip_norm=0.5)),
    "one_by_one": (CNN, dict(TRAIN, batch=600, optimizer="lamb", weight_decay=0.01, ema=0.9)),
}
# Lookups one by one, and sums and means of bags, whose rows overlap.
BAGS = """
#include <tanist/tanist.h>

static void build(struct tn_graph *g, const struct tn_build *b, void *user)
{
    (void)b, (void)user;
    tn_tensor keys = tn_placeholder(g, "keys", TN_INT64, TN_SHAPE(TN_BATCH, 26));
    tn_tensor labels = tn_placeholder(g, "labels", TN_UINT8, TN_SHAPE(TN_BATCH));
    tn_table table = tn_table_create(g, "pages", 3, NULL);
    tn_tensor sum = tn_lookup(g, table, keys, 0, 20, TN_POOL_SUM), mean = tn_lookup(g, table, keys, 10, 16, TN_POOL_MEAN);
    tn_tensor each = tn_reshape(g, tn_lookup(g, table, keys, 8, 2, TN_POOL_NONE), TN_SHAPE(TN_BATCH, 6));
    tn_tensor hidden = tn_dense(g, "hidden", tn_concat(g, (const tn_tensor[]){sum, mean, each}, 3, 1), 16, TN_RELU);
    tn_tensor logit = tn_dense(g, "dense", hidden, 1, TN_LINEAR);
    tn_tensor targets = tn_reshape(g, tn_cast(g, labels, TN_FLOAT32, 1), TN_SHAPE(TN_BATCH, 1));
    tn_loss(g, tn_sigmoid_cross_entropy(g, logit, targets), 1);
    tn_output(g, "logits", logit);
}

TN_MODEL_WITH("bags", build, "{}", NULL)
"""
STEPS = ["--set", "train.steps=3000", "--set", "checkpoint.every_steps=500"]
WIDE = ["--set", "model.inputs=64", "--set", "train.slices=8"]
SAME = ("parameters_digest", "checkpoint_digest", "loss", "accuracy", "evaluations")


def threads(count):
    return ["--set", f"train.threads={count}"]


class Threads(Cli):
    def local(self, job, directory, *options):
        return json.loads(self.succeeds("run", "--local", job, "--dir", directory, "-o", "json", "-q", *options))

    def check_same(self, result, expected):
        for name in SAME:
            self.assertEqual(result[name], expected[name])

    def names(self):
        """The tasks with a number of threads."""
        return {f"{task['role']}:{task['index']}": task["threads"] for task in self.wait_tasks()["tasks"]
                if "threads" in task}


class Local(Threads):
    def test_any_number_has_the_same_bits(self):
        """All that a run prints, with threads that have several slices, one, or none."""
        for name, (model, train) in JOBS.items():
            job = self.job(json.dumps({"name": name, "model": model, "train": train, "evaluate": {"every_steps": 25},
                                       "data": {"type": "synthetic", "examples": 700, "test_examples": 101}}))
            one = self.local(job, f"{name}-1", *threads(1))
            for count in (0, 2, 5, 9):
                self.check_same(self.local(job, f"{name}-{count}", *threads(count)), one)

    def test_the_number_changes_in_a_run(self):
        """The fingerprint of a run does not contain it."""
        whole = self.local(QUICK, "whole", *WIDE, *threads(1))
        self.local(QUICK, "run", *WIDE, *threads(1), "--set", "train.steps=100")
        resumed = self.local(QUICK, "run", "--resume", *WIDE, *threads(3))
        self.assertEqual(resumed["parameters_digest"], whole["parameters_digest"])

    def test_divergence_is_reported_once(self):
        """The first slice that is not finite, whichever thread finds one first."""
        self.refused(3, ["slice 0", "diverged"], "run", "--local", QUICK, "--dir", "run", *WIDE, *threads(4),
                     "--set", "train.learning_rate=1000000")

    def test_wrong_values(self):
        self.refused(3, ["train.threads", "128"], "run", "--local", QUICK, "--dir", "run", *threads(129))
        self.refused(3, ["train.threads"], "run", "--local", QUICK, "--dir", "run", *threads(-1))
        for options, reason in (
                (["--set", "train.mode=async"], "train.mode is async"),
                (["--set", "train.kernels=cuda"], "train.kernels is cuda or cublas"),
                (["--set", "strategy.type=group", "--set", "placement.strategy=greedy", "--set", "cluster.ps=2"], "strategy.type is group")):
            self.refused(3, ["train.threads is 2", reason, "--set train.threads=1"], "run", QUICK, "--dir", "run",
                         *options, *threads(2))


class Cluster(Threads):
    def setUp(self):
        super().setUp()
        self.expected = self.local(QUICK, "expected", *WIDE, *STEPS, *threads(1))

    def check_kills(self, *options):
        run = self.start(*WIDE, *STEPS, *STEADY, *threads(2), *options)
        for step, name in ((300, "worker:1"), (1500, "worker:0")):
            if self.wait_step_or_end(run, step):
                self.kill_task(name)
        self.check_bits(self.result(run))

    def check_bits(self, result):
        self.assertEqual(result["parameters_digest"], self.expected["parameters_digest"])

    def test_ps(self):
        """Workers with two threads are killed."""
        self.check_kills()

    def test_mirror(self):
        self.check_kills("--set", "strategy.type=mirror")

    def test_several_workers_in_one_process(self):
        """Each has its own threads."""
        self.check_bits(self.result(self.start(*WIDE, *STEPS, *threads(2), "--set", "cluster.workers=4",
                                               "--set", "cluster.workers_per_process=2")))

    def test_status_shows_them(self):
        run = self.begin(*WIDE, *threads(3))
        self.assertEqual(self.names(), {"worker:0": 3, "worker:1": 3})
        self.assertIn("THREADS", self.succeeds("status", *self.target))
        self.end(run)

    def test_binding(self):
        """On two processors a worker with two threads has both."""
        before = os.sched_getaffinity(0)
        if len(before) < 2:
            self.skipTest("this machine has one processor")
        two = sorted(before)[:2]
        os.sched_setaffinity(0, two)
        self.addCleanup(os.sched_setaffinity, 0, before)
        run = self.begin(*WIDE, *threads(2), "--set", "cluster.ps=2", "--set", "cluster.bind=true")
        bound = {name: sorted(os.sched_getaffinity(pid)) for name, pid in pids(self.wait_tasks()).items()}
        self.assertEqual([bound[name] for name in ("worker:0", "worker:1", "ps:0", "ps:1")], [two, two, two[:1], two[1:]])
        self.end(run)


class Tables(Threads):
    """Rows of tables, whose gradients threads add by ranges of keys."""

    TABLES = ("auc", "metrics")

    def setUp(self):
        super().setUp()
        self.json = small_table_job({"steps": 120, "slices": 6, "batch": 48}, evaluate={"every_steps": 40},
                                    checkpoint={"every_steps": 50, "keep": 3},
                                    cluster={"coordinators": 2, "ps": 3, "workers": 1})

    def use_two_towers(self):
        """Items are compared within a slice."""
        job = json.loads((ROOT / "examples/ctr/two-tower.json").read_text(encoding="utf-8"))
        self.json["model"] = job["model"]
        self.json["data"]["columns"] = job["data"]["columns"]

    def use_bags(self):
        (self.folder / "bags.c").write_text(BAGS, encoding="utf-8")
        subprocess.run(["cc", "-std=c17", "-shared", "-fPIC", f"-I{ROOT}/include", self.folder / "bags.c", "-o",
                        self.folder / "bags.so"], check=True)
        self.json["model"] = {"type": "library", "path": str(self.folder / "bags.so"), "outputs": 1,
                              "loss": "sigmoid_cross_entropy"}
        self.json["data"]["columns"] = {"C1..C26": {"as": "category", "table": True}}

    def write(self):
        return self.job(json.dumps(self.json))

    def check_same(self, result, expected):
        super().check_same(result, expected)
        for name in self.TABLES:
            self.assertEqual(result[name], expected[name], name)
        counts = [[(table["name"], table["rows"]) for table in run["tables"]] for run in (result, expected)]
        self.assertEqual(counts[0], counts[1])

    def check_numbers(self):
        one = self.local(self.write(), "1", *threads(1))
        for count in (2, 3, 5):
            self.check_same(self.local(self.write(), str(count), *threads(count)), one)

    def test_wide_and_deep(self):
        self.check_numbers()

    def test_threads_without_slices(self):
        self.json["train"]["steps"] = 10
        self.check_same(self.local(self.write(), "9", *threads(9)), self.local(self.write(), "1", *threads(1)))

    def test_automatic_threads(self):
        """Large steps, on the processors of this machine."""
        self.json["train"].update({"steps": 20, "batch": 3072})
        self.check_same(self.local(self.write(), "automatic"), self.local(self.write(), "1", *threads(1)))

    def test_two_towers(self):
        self.use_two_towers()
        self.check_numbers()

    def test_bags(self):
        self.use_bags()
        self.check_numbers()

    @long
    def test_rows_that_expire_and_keys_that_are_admitted(self):
        self.json["train"]["tables"] = [{"match": "columns/C*", "expire_after_steps": 7},
                                        {"match": "columns/wide*", "admit_after": 2, "admit_within_steps": 9}]
        self.check_numbers()

    def test_the_number_changes_in_a_run(self):
        whole = self.local(self.write(), "whole", *threads(1))
        self.local(self.write(), "run", *threads(4), "--set", "train.steps=60")
        resumed = self.local(self.write(), "run", "--resume", *threads(3))
        self.assertEqual(resumed["checkpoint_digest"], whole["checkpoint_digest"])

    def test_ahead(self):
        """Threads that read ahead read for all of them."""
        self.check_same(self.local(self.write(), "ahead", *threads(3), "--set", "data.threads=2"),
                        self.local(self.write(), "one", *threads(1)))

    def check_kills(self, *rounds):
        """Each of the nodes is killed after a checkpoint."""
        run = self.spawn("run", self.write(), "--dir", "run", "-o", "json", *LONG)
        for name in rounds:
            self.check_it_continues()
            self.kill_in_the_middle(name)
        result = self.end(run)
        # A stop right after an election may move its end, so that two ends are evaluated.
        every = self.json["evaluate"]["every_steps"]
        result["evaluations"] = [one for one in result["evaluations"] if one["step"] % every == 0 or one["step"] == result["steps"]]
        self.check_same(result, self.alone(self.write(), "expected", *threads(1), "--set", f"train.steps={result['steps']}"))

    def test_kills_change_no_bit(self):
        """One worker with three threads: while it is dead, no slice is computed."""
        self.json["train"]["threads"] = 3
        self.check_kills("worker:0", "ps:1")

    def test_kills_change_no_bit_of_two_towers(self):
        self.use_two_towers()
        self.json["cluster"]["workers"] = 2
        self.json["train"]["threads"] = 2
        self.check_kills("worker:1", "chief")

    @long
    def test_kills_change_no_bit_of_bags(self):
        self.use_bags()
        self.json["train"]["threads"] = 5
        self.json["data"]["threads"] = 1
        self.check_kills("worker:0", "ps:2")

    def test_workers_in_one_process(self):
        """They share lookups, and each has its own threads."""
        self.json["cluster"].update({"ps": 2, "workers": 4, "workers_per_process": 2})
        self.json["train"]["threads"] = 2
        result = json.loads(self.succeeds("run", self.write(), "--dir", "run", "-o", "json"))
        self.check_same(result, self.alone(self.write(), "expected", *threads(1)))


class Plan(Threads):
    def test_memory_of_threads(self):
        """Each thread has a gradient and programs."""
        model = ["--set", "model.type=mlp", "--set", "model.inputs=784", "--set", "model.hidden=[128]",
                 "--set", "model.outputs=10", "--set", "cluster.workers=1", "--set", "train.slices=8"]
        one, four = (json.loads(self.succeeds("plan", QUICK, "-o", "json", *model, *threads(count)))["memory"]["worker"]
                     for count in (1, 4))
        self.assertEqual(four["gradients"], 4 * one["gradients"])
        self.assertGreater(four["programs"], one["programs"])
        self.assertEqual(four["values"], one["values"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
