#!/usr/bin/env python3
"""Several threads of a worker, and of a run in one process (train.threads).

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import unittest

from case import QUICK, STEADY, Cli, pids

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
