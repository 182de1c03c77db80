#!/usr/bin/env python3
"""`tanist stop` when the run and its ZooKeeper end before it has seen that.

A real run; every wait is bounded. TANIST_PROGRAM: the program.
"""

import os
import signal
import subprocess
import time
import unittest

from test_cli import LONG, PROGRAM, Cli

class Stop(Cli):
    def test_stop_of_a_run_that_has_just_ended(self):
        """`tanist stop` is frozen between its request and its next look, until the run and its ZooKeeper have ended.
        It then finds the end in the folder."""
        run = self.start(*LONG, "--set", "zookeeper.session_timeout_ms=20000")
        self.addCleanup(run.kill)
        workers = [task["pid"] for task in self.wait_step()["tasks"] if task["role"] == "worker"]
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        stop = subprocess.Popen([PROGRAM, "stop", "--dir", "run"], stderr=subprocess.PIPE, text=True, cwd=self.folder,
                                env=self.environment)
        self.addCleanup(stop.kill)
        self.wait_granted()
        os.kill(stop.pid, signal.SIGSTOP)
        for pid in workers:
            os.kill(pid, signal.SIGCONT)
        run.communicate(timeout=60)
        self.assertEqual(run.returncode, 0)
        os.kill(stop.pid, signal.SIGCONT)
        _, errors = stop.communicate(timeout=60)
        self.assertEqual(stop.returncode, 0, errors)

    def wait_granted(self, limit_s=40):
        end = time.monotonic() + limit_s
        while not any("request to stop" in log.read_text() for log in self.folder.glob("run/logs/coordinator-*")):
            self.assertLess(time.monotonic(), end, "the request was not granted")
            time.sleep(0.02)


if __name__ == "__main__":
    unittest.main()
