#!/usr/bin/env python3
"""`tanist stop` when the run and its ZooKeeper end before it has seen that.

A real run; every wait is bounded. TANIST_PROGRAM: the program.
"""

import os
import signal
import unittest

from case import LONG, Cli, patience


class Stop(Cli):
    def test_stop_of_a_run_that_has_just_ended(self):
        """`tanist stop` is frozen between its request and its next look, until the run and its ZooKeeper have ended.
        It then finds the end in the folder."""
        run = self.start(*LONG, "--set", "zookeeper.session_timeout_ms=20000")
        workers = [task["pid"] for task in self.wait_tasks()["tasks"] if task["role"] == "worker"]
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        stop = self.spawn("stop", *self.target)
        self.wait_for("the chief to grant the request", self.granted)
        os.kill(stop.pid, signal.SIGSTOP)
        for pid in workers:
            os.kill(pid, signal.SIGCONT)
        self.result(run)
        os.kill(stop.pid, signal.SIGCONT)
        _, errors = stop.communicate(timeout=patience(60))
        self.assertEqual(stop.returncode, 0, errors)

    def granted(self):
        return any("request to stop" in log.read_text() for log in self.folder.glob("run/logs/coordinator-*"))


if __name__ == "__main__":
    unittest.main()
