#!/usr/bin/env python3
"""Several workers in one process (cluster.workers_per_process).

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import os
import signal
import unittest

from case import LONG, QUICK, STEADY, Cli, pids

FOUR = ["--set", "cluster.workers=4", "--set", "model.inputs=64", "--set", "train.slices=8"]
TWO_EACH = ["--set", "cluster.workers_per_process=2"]
STEPS = ["--set", "train.steps=3000", "--set", "checkpoint.every_steps=500"]


class WorkersPerProcess(Cli):
    def workers(self):
        """The process of each worker, once all are registered."""
        found = pids(self.wait_tasks())
        return [found[f"worker:{index}"] for index in range(4)]

    def threads(self, pid):
        return len(os.listdir(f"/proc/{pid}/task"))

    def test_kills_change_no_bit(self):
        """The parameters are those of a process for each worker, whatever is killed."""
        plain = self.result(self.spawn("run", QUICK, "--dir", "plain", "-o", "json", *FOUR, *STEPS))
        run = self.start(*FOUR, *STEPS, *TWO_EACH, *STEADY)
        for step, name in ((100, "worker:1"), (700, "worker:2"), (1300, "ps:0"), (1900, "worker:3")):
            if self.wait_step_or_end(run, step):
                self.kill_task(name)
        result = self.result(run)
        for name in ("parameters_digest", "checkpoint_digest"):
            self.assertEqual(result[name], plain[name])

    def test_a_process_is_one_unit(self):
        """Its workers have one process, end together, and return together; the others are not touched."""
        run = self.begin(*FOUR, *TWO_EACH, *STEADY, "--allow-chaos")
        first = self.workers()
        self.assertEqual([first[0], first[2]], [first[1], first[3]])
        self.assertNotEqual(first[0], first[2])
        self.succeeds("kill", "worker:3", *self.target)
        for index in (2, 3):
            self.wait_pid(f"worker:{index}", but=first[2])
        second = self.workers()
        self.assertEqual([second[0], second[1], second[2]], [first[0], first[1], second[3]])
        os.kill(first[0], signal.SIGTERM)
        self.wait_pid("worker:0", but=first[0])
        third = self.workers()
        self.assertEqual([third[0], third[2], third[3]], [third[1], second[2], second[2]])
        self.assertTrue((self.folder / "run/logs/worker-2-3.log").exists())
        result = self.end(run)
        self.assertFalse(result["recoveries"])

    def test_threads_are_shared(self):
        """A process with four workers has fewer threads than two processes with one."""
        run = self.begin(*FOUR)
        alone = self.threads(self.workers()[0])
        self.end(run)
        self.target = ("--dir", "four")
        run = self.spawn("run", QUICK, *self.target, "-o", "json", *LONG, *FOUR, "--set", "cluster.workers_per_process=4")
        self.wait_step()
        self.assertLess(self.threads(self.workers()[0]), 2 * alone)
        self.end(run)

    def test_jobs_that_cannot(self):
        """Workers that have a store of their own, or come and go."""
        for setting in ("strategy.type=mirror", "cluster.workers=2-4"):
            self.refused(3, ["cluster.workers_per_process is 2", setting.partition("=")[0]], "run", QUICK, *TWO_EACH,
                         "--set", setting, "--dir", "refused")
        self.refused(3, ["--workers is 3", "cluster.workers is 2"], "worker", "--job", QUICK, "--index", "0", "--workers", "3",
                     "--zk", "127.0.0.1:1")


if __name__ == "__main__":
    unittest.main(verbosity=2)
