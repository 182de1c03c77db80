#!/usr/bin/env python3
"""Tasks beyond the numbers that a cluster was started with are refused; the numbers may change between runs.

A real run; every wait is bounded. TANIST_PROGRAM: the program.
"""

import unittest

from case import LONG, QUICK, Cli, patience


class Undeclared(Cli):
    def workers(self):
        return [task["state"] for task in self.live_status()["tasks"] if task["role"] == "worker"]

    def test_undeclared_tasks_are_refused(self):
        """A node or agent with more tasks than the running cluster exits with 3 and names the limit."""
        run = self.begin()
        zookeeper = ["--zk", self.zookeeper_of_run()]
        wider = ["--set", "cluster.workers=3", *LONG]
        self.refused(3, ["worker:2", "2 tasks"], "worker", "--job", QUICK, "--index", "2", *LONG, *zookeeper)
        hosts = ",".join(f"127.0.0.1:{port}" for port in (1, 2, 3))
        for more in (["--index", "2", *wider], ["--task_index", "2", "--worker_hosts", hosts, *LONG]):
            result = self.tanist("worker", "--job", QUICK, *more, *zookeeper)
            self.assertEqual(result.returncode, 3, result.stderr)
            self.assertIn("worker:2 is not declared", result.stderr)
            self.assertIn("was started with 2 tasks of that role (cluster.workers)", result.stderr)
            self.assertIn("start its coordinators with a larger number", result.stderr)
        result = self.tanist("coordinator", "--job", QUICK, "--index", "1", *wider, *zookeeper)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.refused(3, ["cluster.workers is 3 here", "is running with 2", "same job file"], "agent", QUICK,
                     "--tasks", "worker:2", "--dir", "other", *wider, *zookeeper)
        self.wait_for("two workers", lambda: self.workers() == ["up", "up"])
        run.terminate()
        run.communicate(timeout=patience(120))

    def test_number_changes_between_runs(self):
        """A resume with another number of workers declares them: `status` shows each."""
        run = self.begin()
        run.terminate()
        run.communicate(timeout=patience(120))
        run = self.begin("--resume", "--set", "cluster.workers=3")
        self.assertEqual(len(self.workers()), 3)
        run.terminate()
        run.communicate(timeout=patience(120))


if __name__ == "__main__":
    unittest.main()
