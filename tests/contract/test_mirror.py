#!/usr/bin/env python3
"""Training without ps (`strategy.type` mirror): the same bits as `--local` and ps, and no step lost while a worker runs.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import os
import signal
import unittest

from case import Cli, FEW, QUICK, STEADY, is_live, own_servers, pids, some

MIRROR = ["--set", "strategy.type=mirror"]
# Clipping needs the norm of the whole gradient; the moving average is evaluated.
HARD = ["--set", "train.optimizer=adamw", "--set", "train.clip_norm=0.5", "--set", "train.ema=0.99",
        "--set", "train.steps=300", "--set", "model.inputs=200"]
NORMALISED = """{"name": "normalised", "data": {"type": "synthetic", "examples": 512, "test_examples": 64},
 "model": {"type": "layers", "inputs": 20, "outputs": 4,
           "layers": [{"dense": {"units": 24}}, "batch_norm", "relu", {"dense": {"units": 4}}]},
 "train": {"steps": 120, "batch": 32, "slices": 8}, "checkpoint": {"every_steps": 40},
 "cluster": {"workers": 3}}"""


class Mirror(Cli):
    def local(self, *options, job=QUICK):
        return self.alone(job, "local", *options)["parameters_digest"]

    def begin_mirror(self, *options):
        """A run without an end that has reached its first step."""
        return self.begin(*STEADY, *MIRROR, *options)

    def end_as_local(self, run):
        """The run is stopped; one process computes the same parameters in as many steps. Returns the result."""
        result = self.end(run)
        expected = self.local("--set", f"train.steps={result['steps']}", *FEW)
        self.assertEqual((result["parameters_digest"], result["checkpoint_digest"]), (expected, expected))
        return result

    def check_no_step_was_lost(self, result):
        self.assertEqual([each["steps_redone"] for each in result["recoveries"] if each["steps_redone"] != 0], [])

    def test_same_bits(self):
        """Any number of workers computes what one process and what ps compute."""
        expected = self.local(*HARD)
        self.assertEqual(self.result(self.start(*HARD))["parameters_digest"], expected)
        for workers in some((3, 1, 2, 5), 2):
            run = self.spawn("run", QUICK, "--dir", f"mirror{workers}", "-o", "json", *STEADY, *MIRROR, *HARD,
                             "--set", f"cluster.workers={workers}")
            result = self.result(run)
            self.assertEqual(result["parameters_digest"], expected, workers)
            self.assertEqual(result["checkpoint_digest"], expected, workers)
            self.assertEqual(result["recoveries"], [])

    def test_batch_normalisation(self):
        """Statistics of batches are parameters: they follow the same sums."""
        job = self.job(NORMALISED)
        expected = self.local(job=job)
        run = self.spawn("run", job, "--dir", "run", "-o", "json", *MIRROR)
        self.assertEqual(self.result(run)["parameters_digest"], expected)

    def test_survivors_train_on(self):
        """SIGKILL to one worker after the other: nothing pauses, no step is computed again."""
        run = self.begin_mirror("--set", "cluster.workers=3")
        for index in (0, 1, 2, 0, 1, 2):
            self.wait_tasks()
            self.kill_and_wait(f"worker:{index}")
        result = self.end_as_local(run)
        self.check_no_step_was_lost(result)
        lost = [each["task"] for each in result["recoveries"] if each["kind"] == "worker"]
        self.assertIn("worker:0", lost)

    def test_no_sums_are_kept(self):
        """A worker that lacks a sum whose owner was killed fetches the values: no step is computed again."""
        run = self.begin_mirror("--set", "cluster.workers=3", "--set", "strategy.keep_sums=0")
        for index in (0, 1, 2, 0, 1, 2):
            self.wait_tasks()
            self.kill_and_wait(f"worker:{index}")
        result = self.end_as_local(run)
        self.check_no_step_was_lost(result)

    def test_a_lone_worker_follows_orders(self):
        """A worker that waits for no other reports between its steps, and stops when it is asked to."""
        run = self.begin_mirror("--set", "checkpoint.every_steps=0", "--set", "evaluate.every_steps=0", "--set",
                                "cluster.workers=1")
        self.end(run)

    def test_the_chief_is_killed(self):
        """Training continues while another chief is elected."""
        run = self.begin_mirror()
        for _ in range(2):
            self.kill_and_wait(self.wait_tasks()["chief"]["task"])
        self.check_no_step_was_lost(self.end_as_local(run))

    def test_all_workers_are_killed(self):
        """No process has the values: they are restored from the newest checkpoint."""
        run = self.begin_mirror("--set", "checkpoint.every_steps=500")
        self.wait_for("a checkpoint", lambda: self.newest_checkpoint() > 0)
        self.succeeds("pause", "--dir", "run")
        running = pids(self.wait_status("all processes", lambda status: is_live(status) and all(pids(status).values())))
        for name in ("worker:0", "worker:1"):
            os.kill(running[name], signal.SIGKILL)
        self.wait_pid("worker:0", but=running["worker:0"])
        self.succeeds("resume", "--dir", "run")
        self.end_as_local(run)

    @own_servers
    def test_it_continues_in_its_folder(self):
        """A run that was killed as a whole continues from its last checkpoint."""
        more = ["--set", "checkpoint.every_steps=200"]
        run = self.begin_mirror(*more)
        self.wait_for("a checkpoint", lambda: self.newest_checkpoint() > 0)
        self.kill_run(run)
        run = self.begin_mirror(*more)
        stopped = self.newest_checkpoint()
        self.wait_for("another checkpoint", lambda: self.newest_checkpoint() > stopped)
        self.end_as_local(run)

    def test_status_has_the_steps_of_workers(self):
        """`status` and `top` ask the workers, which hold the values."""
        run = self.begin_mirror()
        step = self.wait_step(5)["step"]
        self.assertGreater(self.wait_step(step + 1)["step"], step)
        self.assertIn("worker:1", self.succeeds("top", "--dir", "run", "--once"))
        self.assertEqual(self.end(run)["recoveries"], [])

    def test_what_it_cannot_do_is_refused(self):
        """Each error names the key and the remedy."""
        for setting, key in (("train.mode=async", "train.mode"), ("cluster.evaluators=1", "cluster.evaluators"),
                             ("on_chief_failure=restore", "on_chief_failure"),
                             ("transport.lane=shm", "transport.lane"),
                             ("placement.strategy=greedy", "placement.strategy"),
                             ("cluster.workers=121", "cluster.workers")):
            self.refused(3, [key, "strategy.type mirror"], "run", QUICK, "--dir", "run", *MIRROR, "--set", setting)
        self.refused(3, ["strategy.keep_sums is 0", "--set strategy.keep_sums=1"], "run", QUICK, "--dir", "run", *MIRROR,
                     "--set", "strategy.keep_sums=0", "--set", "cluster.workers=20")
        self.refused(3, ["cluster.ps is 0"], "run", QUICK, "--dir", "run", "--set", "cluster.ps=0")

    def test_a_node_alone_needs_no_number_of_ps(self):
        """The default number of ps is that of other strategies."""
        done = self.tanist("worker", "--job", QUICK, "--index", "0", "--zk", "127.0.0.1:1", "--wait", "1", *MIRROR)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("no ZooKeeper server", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
