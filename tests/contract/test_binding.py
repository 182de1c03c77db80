#!/usr/bin/env python3
"""The agent binds ps and workers to processors where these are too few and the job asks for it.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import os
import time
import unittest

from case import Cli, pids

BIND = ["--set", "cluster.bind=true"]
FOUR = ["--set", "model.inputs=64", "--set", "cluster.ps=2"]


class Binding(Cli):
    def setUp(self):
        """The agent may use two processors, whatever this machine has."""
        super().setUp()
        before = os.sched_getaffinity(0)
        if len(before) < 2:
            self.skipTest("this machine has one processor")
        self.two = sorted(before)[:2]
        os.sched_setaffinity(0, self.two)
        self.addCleanup(os.sched_setaffinity, 0, before)

    def bound(self):
        """The processors of each task."""
        return {name: sorted(os.sched_getaffinity(pid)) for name, pid in pids(self.wait_tasks()).items()}

    def test_each_processor_has_a_worker_and_a_ps(self):
        """Also when a node was restarted."""
        run = self.begin(*FOUR, *BIND)
        first, second = ([processor] for processor in self.two)
        wanted = {"ps:0": first, "ps:1": second, "worker:0": first, "worker:1": second,
                  "coordinator:0": self.two, "coordinator:1": self.two}
        self.assertEqual(self.bound(), wanted)
        worker = self.wait_pid("worker:1")
        self.kill_task("worker:1")
        self.wait_pid("worker:1", but=worker)
        self.assertEqual(self.bound(), wanted)
        self.end(run)

    @staticmethod
    def wait_ticks():
        """At least three ticks of the agent."""
        time.sleep(2)

    def check_free(self, *options):
        run = self.begin(*options)
        self.assertEqual(set(map(tuple, self.bound().values())), {tuple(self.two)})
        self.end(run)

    def test_other_jobs_are_free(self):
        """Without cluster.bind."""
        self.check_free(*FOUR)

    def test_bound_by_hand(self):
        """An operator binds both workers to the same processor: the agent does not move them apart."""
        run = self.begin(*FOUR)
        workers = [pid for name, pid in pids(self.wait_tasks()).items() if name.startswith("worker")]
        for worker in workers:
            os.sched_setaffinity(worker, self.two[:1])
        self.wait_ticks()
        self.assertEqual([sorted(os.sched_getaffinity(worker)) for worker in workers], [self.two[:1]] * 2)
        self.end(run)

    def test_uneven_workers_are_free(self):
        """Three workers on two processors."""
        self.check_free("--set", "cluster.workers=3", *BIND)


if __name__ == "__main__":
    unittest.main(verbosity=2)
