#!/usr/bin/env python3
"""Random jobs, most of them valid, with values at the edges of what the keys allow: each is trained, or refused with an
error that names a key; no assertion fails, nothing hangs, and a run in parts or on a cluster has the bits of one process.

The same jobs each time. More of them: TANIST_RANDOM_JOBS=1000-2000 python3 tests/contract/test_random_jobs.py

Real processes, and for one test real clusters; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import re
import unittest

from case import Cli
from random_jobs import job_of_seed, keys

FIRST, END = (int(seed) for seed in os.environ.get("TANIST_RANDOM_JOBS", "0-16").split("-"))
ON_CLUSTERS = {"ps": 5, "mirror": 38}
# Errors that need the data, or training: `tanist plan` reads no rows and trains nothing.
LATER = re.compile(r"the loss is not finite|belongs to the (training|validation) split|rows\.csv")


def strict(text):
    """JSON has no infinities and NaNs."""
    def refuse(name):
        raise ValueError(f"{name} in JSON")
    return json.loads(text, parse_constant=refuse)


class RandomJobs(Cli):
    def write_seed(self, seed):
        job = job_of_seed(seed, self.folder)
        self.job(json.dumps(job))
        return job

    def train(self, directory, *options, timeout=120):
        """The exit code, the result if it is 0, and the last line on stderr."""
        run = self.tanist("run", "job.json", "--dir", directory, "-q", "-o", "json", *options, timeout=timeout)
        lines = run.stderr.strip().splitlines() or [""]
        return run.returncode, strict(run.stdout) if run.returncode == 0 else None, lines[-1]

    def check_parts(self, job, directory, whole):
        """A run that ends halfway, and is then continued, has the same bits."""
        train = job["train"]
        if train["steps"] == 1 or train.get("target_accuracy") or train.get("stop", {}).get("patience"):
            return
        code, _, error = self.train(directory, "--set", f"train.steps={train['steps'] // 2}")
        self.assertEqual(code, 0, error)
        code, parts, error = self.train(directory, "--resume")
        self.assertEqual(code, 0, error)
        self.assertEqual(parts["parameters_digest"], whole["parameters_digest"])

    def check(self, seed):
        job = self.write_seed(seed)
        code, result, error = self.train(f"run{seed}")
        if code == 0:
            self.assertEqual(strict((self.folder / f"run{seed}/result.json").read_text(encoding="utf-8")), result)
            self.check_parts(job, f"parts{seed}", result)
        else:
            self.assertIn(code, (3, 128), error)
            self.assertTrue(any(key in error for key in keys()) or "rows.csv" in error, error)
        plan = self.tanist("plan", "job.json", "-o", "json")
        valid = code == 0 or LATER.search(error) is not None
        self.assertEqual(plan.returncode, 0 if valid else code, f"run: {error}\nplan: {plan.stderr}")

    def test_jobs_train_or_are_refused(self):
        for seed in range(FIRST, END):
            with self.subTest(seed=seed, replay=f"TANIST_RANDOM_JOBS={seed}-{seed + 1}"):
                try:
                    self.check(seed)
                except AssertionError:
                    print((self.folder / "job.json").read_text())
                    raise

    @unittest.skipIf("TANIST_RANDOM_JOBS" in os.environ, "these jobs are for one process")
    def test_clusters_have_the_same_bits(self):
        for strategy, seed in ON_CLUSTERS.items():
            with self.subTest(strategy=strategy, seed=seed):
                self.write_seed(seed)
                sets = ["--set", f"strategy.type={strategy}", "--set", "cluster.ps=1", "--set", "cluster.coordinators=1",
                        "--set", "zookeeper.servers=1", "--set", "cluster.workers=2"]
                code, alone, error = self.train(f"alone-{strategy}")
                self.assertEqual(code, 0, error)
                code, result, error = self.train(strategy, *sets)
                self.assertEqual(code, 0, error)
                self.assertEqual(result["parameters_digest"], alone["parameters_digest"])


class Edges(Cli):
    """Valid jobs, or jobs that look valid, at which the program aborted."""

    def job_of(self, **train):
        return self.job(json.dumps({
            "name": "edge", "strategy": {"type": "local"}, "model": {"type": "linear", "inputs": 3, "outputs": 1},
            "data": {"type": "synthetic", "examples": 16, "test_examples": 4},
            "train": {"steps": 5, "batch": 4, "slices": 2, **train}}))

    def test_tiny_factor_is_refused(self):
        """The rates of an exponential schedule need the logarithm of the factor, and powers of it that are above 0."""
        for factor in (1e-310, 1e-303):
            job = self.job_of(schedule={"type": "exponential", "every_steps": 1000, "factor": factor})
            for command in (["plan", job], ["run", job, "--dir", "run"]):
                self.refused(3, ["train.schedule.factor", "give at least 1e-300"], *command)
        self.succeeds("run", self.job_of(schedule={"type": "exponential", "every_steps": 1000, "factor": 1e-300}), "-q")

    def test_infinite_loss_is_a_result(self):
        """Training ends before it is noticed that it diverged: the loss of the evaluation is infinite, and null in JSON."""
        self.job_of(learning_rate=1e6, steps=4)
        result = self.tanist("run", "job.json", "--dir", "run", "-q", "-o", "json")
        self.assertEqual((result.returncode, strict(result.stdout)["loss"]), (0, None), result.stderr)

    def test_plan_ignores_ps_of_one_process(self):
        """`tanist run` starts the job, so `tanist plan` shows it, with as many ps as a cluster could have."""
        plan = strict(self.succeeds("plan", self.job_of(), "-o", "json", "--set", "cluster.ps=3"))
        self.assertEqual([shard["parameters"] for shard in plan["shards"]], [4])
        self.succeeds("plan", self.job_of(), "--set", "cluster.ps=2", "--set", "placement.strategy=greedy")

    def test_plan_refuses_a_batch_of_more_examples_than_there_are(self):
        """As `tanist run` does."""
        job = self.job_of(batch=18)
        for command in (["plan", job], ["run", job, "--dir", "run"]):
            self.refused(3, ["train.batch is 18, but there are only 16 training examples: lower it"], *command)
        self.succeeds("plan", self.job_of(batch=16))

    def test_plan_refuses_norms_with_whole_variables(self):
        """As `tanist run` does."""
        job = self.job_of(clip_norm=1)
        sets = ["--set", "strategy.type=ps", "--set", "cluster.ps=1", "--set", "placement.strategy=greedy"]
        for command in ("plan", "run"):
            self.refused(3, ["placement.strategy", "train.clip_norm"], command, job, *sets)


if __name__ == "__main__":
    unittest.main()
