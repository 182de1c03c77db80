#!/usr/bin/env python3
"""`tanist kill`: a signal sent through ZooKeeper, only if an agent allows it.

A real run; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import re
import signal
import socket
import time
import unittest

from test_cli import LONG, Cli


class Kill(Cli):
    def begin(self, *options):
        """Start a run that is killed at the end of the test."""
        run = self.start(*LONG, *options)
        self.addCleanup(run.kill)
        return self.wait_step()

    def kill(self, task, *options):
        result = self.tanist("kill", task, "--dir", "run", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stderr

    def pid(self, name):
        status = json.loads(self.tanist("status", "--dir", "run", "-o", "json").stdout)
        return next((task["pid"] for task in status["tasks"]
                     if f"{task['role']}:{task['index']}" == name), None)

    def wait_another(self, name, pid, limit_s=15):
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            if self.pid(name) not in (None, pid):
                return
            time.sleep(0.05)
        self.fail(f"{name} was not replaced within {limit_s} s")

    def state(self, pid):
        """The state in /proc: 'T' for a stopped process."""
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rsplit(") ")[1][0]

    def wait_stopped(self, pid, limit_s=15):
        """A stopped process gets its state when it runs next, which takes a while on a busy machine."""
        end = time.monotonic() + limit_s
        while self.state(pid) != "T" and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(self.state(pid), "T")

    def test_signals_arrive(self):
        """Each signal arrives at the node, not at its successor; training continues."""
        status = self.begin("--allow-chaos")
        chief = status["chief"]["task"]
        for name, options in (("ps:0", ()), ("worker:1", ("--signal", "TERM")), (chief, ())):
            pid = self.pid(name)
            self.assertIn(f"(pid {pid} ", self.kill("chief" if name == chief else name, *options))
            self.wait_another(name, pid)
        pid = self.pid("worker:0")
        self.kill("worker:0", "--signal", "STOP")
        self.wait_stopped(pid)
        self.kill("worker:0", "--signal", "CONT")
        self.assertNotEqual(self.state(pid), "T")
        self.assertEqual(self.pid("worker:0"), pid)
        self.wait_step(self.wait_step()["step"] + 1)
        self.refused(5, ["ps:7"], "kill", "ps:7", "--dir", "run")
        self.refused(3, ["unknown", "worker:0"], "kill", "unknown", "--dir", "run")

    def sessions(self):
        """The number of sessions that the ZooKeeper of the run knows."""
        note = json.loads((self.folder / "run/run.json").read_text())
        host, port = note["zookeeper"].split(",")[0].rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=5) as server:
            server.sendall(b"mntr")
            with server.makefile(encoding="ascii") as answer:
                return int(re.search(r"zk_global_sessions\t(\d+)", answer.read()).group(1))

    def test_sessions_of_dead_nodes_are_closed(self):
        """The agent closes the session of a node that was killed; it does not wait until it times out."""
        self.begin("--set", "zookeeper.session_timeout_ms=60000")
        before = self.sessions()
        for name in ("ps:0", "worker:1"):
            pid = self.pid(name)
            os.kill(pid, signal.SIGKILL)
            self.wait_another(name, pid)
        end = time.monotonic() + 20
        while self.sessions() > before and time.monotonic() < end:
            time.sleep(0.1)
        self.assertLessEqual(self.sessions(), before)

    def test_not_allowed(self):
        """Without --allow-chaos the command fails within 5 s and leaves no request behind."""
        self.begin()
        pid, start = self.pid("ps:0"), time.monotonic()
        for _ in range(2):
            self.refused(5, ["ps:0", "--allow-chaos"], "kill", "ps:0", "--dir", "run")
        self.assertLess(time.monotonic() - start, 12)
        self.assertEqual(self.pid("ps:0"), pid)


if __name__ == "__main__":
    unittest.main(verbosity=2)
