#!/usr/bin/env python3
"""The end of a run while ZooKeeper is silent, and requests while there is no chief.

Real processes and a real ensemble of one server. TANIST_PROGRAM: the program.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("TANIST_PROGRAM", str(ROOT / "build/tanist"))
QUICK = str(ROOT / "examples/quick.json")


class Run(unittest.TestCase):
    """Each test has a run of its own."""

    workers = 2

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="tanist-shutdown."))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.run_process = self.start("run", QUICK, "--dir", "run", "--set",
                                      f"cluster.workers={self.workers}", "--set",
                                      "train.steps=50000000")
        self.status = self.wait_running()

    def start(self, *arguments):
        process = subprocess.Popen([PROGRAM, *arguments], stderr=subprocess.PIPE, text=True,
                                   cwd=self.folder)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def tanist(self, *arguments):
        return subprocess.run([PROGRAM, *arguments], check=False, capture_output=True, text=True,
                              cwd=self.folder, timeout=120)

    def wait_running(self):
        """The first status that has all tasks."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            result = self.tanist("status", "--dir", "run", "-o", "json")
            if result.returncode == 0:
                status = json.loads(result.stdout)
                up = [task for task in status["tasks"] if task["pid"]]
                if status["phase"] == "running" and len(up) == self.workers + 3:
                    return status
            time.sleep(0.05)
        return self.fail(f"not running: {result.stdout}{result.stderr}")


class WithoutChief(Run):
    """A cluster that has no coordinator yet."""

    def test_stop_expires(self):
        """A `stop` that no chief has granted is withdrawn: it does not end the cluster later."""
        job = [QUICK, "--set", "name=lonely"]
        zk = ["--zk", self.status["zookeeper"]["servers"][0]["address"]]
        agent = self.start("agent", *job, "--dir", "first", "--tasks", "ps:0", *zk)
        end = time.monotonic() + 60
        while "forming" not in self.tanist("status", "--cluster", "lonely", *zk).stdout:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        stop = self.tanist("stop", "--cluster", "lonely", "--timeout", "1", *zk)
        self.assertEqual(stop.returncode, 5, stop.stderr)
        self.assertIn("the request was withdrawn", stop.stderr)
        other = self.start("agent", *job, "--dir", "second", "--tasks", "coordinator:0", *zk)
        for command in ("pause", "stop"):
            result = self.tanist(command, "--cluster", "lonely", *zk)
            self.assertEqual(result.returncode, 0, result.stderr)
        for process in (agent, other):
            _, log = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, log)


class SilentZookeeper(Run):
    """Each test has a run of 12 workers, whose nodes are killed while ZooKeeper is frozen."""

    workers = 12

    def setUp(self):
        super().setUp()
        self.server = self.status["zookeeper"]["servers"][0]["pid"]
        os.kill(self.server, signal.SIGSTOP)
        for task in self.status["tasks"]:
            os.kill(task["pid"], signal.SIGKILL)
        self.killed = len(self.status["tasks"])

    def check_server_gone(self):
        """The agent has killed and reaped its server, although that was frozen."""
        self.assertFalse(Path(f"/proc/{self.server}").exists())

    def test_one_deadline_for_all_sessions(self):
        """The sessions of all dead nodes share one deadline, and those left over are counted."""
        self.run_process.send_signal(signal.SIGTERM)
        _, log = self.run_process.communicate(timeout=60)
        self.assertEqual(self.run_process.returncode, 143, log)
        self.assertIn("did not close all sessions within 3000 ms", log)
        left = int(re.search(r"left to their timeouts count=(\d+)", log).group(1))
        self.assertEqual(left + log.count("not closed (timed out)"), self.killed, log)
        self.assertGreaterEqual(left, self.killed - 3, log)
        self.check_server_gone()

    def test_second_signal_ends_at_once(self):
        """A second signal kills what runs and waits for no session."""
        self.run_process.send_signal(signal.SIGINT)
        self.run_process.send_signal(signal.SIGTERM)
        _, log = self.run_process.communicate(timeout=60)
        self.assertEqual(self.run_process.returncode, 130, log)
        self.assertIn("second signal: all processes are killed", log)
        self.assertNotIn("did not close all sessions", log)
        self.check_server_gone()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
