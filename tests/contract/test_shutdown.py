#!/usr/bin/env python3
"""The end of a run while ZooKeeper is silent, and requests while there is no chief.

Real processes and a real ensemble of one server. TANIST_PROGRAM: the program.
"""

import os
import re
import signal
import sys
import unittest
from pathlib import Path

from case import LONG, QUICK, Cli, patience


class Run(Cli):
    """Each test has a run of its own."""

    workers = 2

    def setUp(self):
        super().setUp()
        self.run_process = self.start(*LONG, "--set", f"cluster.workers={self.workers}")
        self.started = self.wait_tasks()


class WithoutChief(Run):
    """A cluster that has no coordinator yet."""

    def test_stop_expires(self):
        """A `stop` that no chief has granted is withdrawn: it does not end the cluster later."""
        job = [QUICK, "--set", "name=lonely"]
        zk = ["--zk", self.started["zookeeper"]["servers"][0]["address"]]
        agent = self.spawn("agent", *job, "--dir", "first", "--tasks", "ps:0", *zk)
        self.wait_for("forming", lambda: "forming" in self.tanist("status", "--cluster", "lonely", *zk).stdout)
        stop = self.tanist("stop", "--cluster", "lonely", "--timeout", "1", *zk)
        self.assertEqual(stop.returncode, 5, stop.stderr)
        self.assertIn("the request was withdrawn", stop.stderr)
        other = self.spawn("agent", *job, "--dir", "second", "--tasks", "coordinator:0", *zk)
        for command in ("pause", "stop"):
            result = self.tanist(command, "--cluster", "lonely", *zk)
            self.assertEqual(result.returncode, 0, result.stderr)
        for process in (agent, other):
            _, log = process.communicate(timeout=patience(120))
            self.assertEqual(process.returncode, 0, log)


class SilentZookeeper(Run):
    """Each test has a run of 12 workers, whose nodes are killed while ZooKeeper is frozen."""

    workers = 12

    def setUp(self):
        super().setUp()
        self.server = self.started["zookeeper"]["servers"][0]["pid"]
        os.kill(self.server, signal.SIGSTOP)
        os.kill(self.run_process.pid, signal.SIGSTOP)  # It sees the deaths and the signals at once.
        for task in self.started["tasks"]:
            os.kill(task["pid"], signal.SIGKILL)
        self.killed = len(self.started["tasks"])

    def ends_after(self, *signals):
        """The agent gets the signals, and ends; returns its exit code and its log."""
        for number in (*signals, signal.SIGCONT):
            self.run_process.send_signal(number)
        log = self.run_process.communicate(timeout=patience(120))[1]
        return self.run_process.returncode, log

    def check_server_gone(self):
        """The agent has killed and reaped its server, although that was frozen."""
        self.assertFalse(Path(f"/proc/{self.server}").exists())

    def test_one_deadline_for_all_sessions(self):
        """The sessions of all dead nodes share one deadline, and those left over are counted."""
        code, log = self.ends_after(signal.SIGTERM)
        self.assertEqual(code, 143, log)
        self.assertIn("did not close all sessions within 3000 ms", log)
        left = int(re.search(r"left to their timeouts count=(\d+)", log).group(1))
        self.assertEqual(left + log.count("not closed (timed out)"), self.killed, log)
        self.assertGreaterEqual(left, self.killed - 3, log)
        self.check_server_gone()

    def test_second_signal_ends_at_once(self):
        """A second signal kills what runs and waits for no session."""
        code, log = self.ends_after(signal.SIGINT, signal.SIGTERM)
        self.assertIn(code, (130, 143), log)  # Both signals wait for it.
        self.assertIn("second signal: all processes are killed", log)
        self.assertNotIn("did not close all sessions", log)
        self.check_server_gone()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
