#!/usr/bin/env python3
"""`tanist kill`: a signal sent through ZooKeeper, only if an agent allows it.

A real run; every wait is bounded. TANIST_PROGRAM: the program.
"""

import os
import re
import signal
import socket
import unittest

from case import STEADY, Cli, own_servers


class Kill(Cli):
    def kill(self, task, *options):
        result = self.tanist("kill", task, "--dir", "run", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stderr

    def state(self, pid):
        """The state in /proc: 'T' for a stopped process."""
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rsplit(") ")[1][0]

    def test_signals_arrive(self):
        """Each signal arrives at the node, not at its successor; training continues."""
        self.begin("--allow-chaos", *STEADY)
        chief = self.wait_tasks()["chief"]["task"]
        for name, options in (("ps:0", ()), ("worker:1", ("--signal", "TERM")), (chief, ())):
            pid = self.wait_pid(name)
            self.assertIn(f"(pid {pid} ", self.kill("chief" if name == chief else name, *options))
            self.wait_pid(name, but=pid)
        pid = self.wait_pid("worker:0")
        self.kill("worker:0", "--signal", "STOP")
        # A stopped process gets its state when it runs next, which takes a while on a busy machine.
        self.wait_for("a stopped process", lambda: self.state(pid) == "T")
        self.kill("worker:0", "--signal", "CONT")
        self.assertNotEqual(self.state(pid), "T")
        self.assertEqual(self.wait_pid("worker:0"), pid)
        self.wait_step(self.wait_step()["step"] + 1)
        self.refused(5, ["ps:7"], "kill", "ps:7", "--dir", "run")
        self.refused(3, ["unknown", "worker:0"], "kill", "unknown", "--dir", "run")

    def sessions(self):
        """The number of sessions that the ZooKeeper of the run knows."""
        host, port = self.zookeeper_of_run().rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=120) as server:
            server.sendall(b"mntr")
            with server.makefile(encoding="ascii") as answer:
                return int(re.search(r"zk_global_sessions\t(\d+)", answer.read()).group(1))

    @own_servers
    def test_sessions_of_dead_nodes_are_closed(self):
        """The agent closes the session of a node that was killed; it does not wait until it times out."""
        self.begin(*STEADY)
        self.wait_tasks()
        before = self.sessions()
        for name in ("ps:0", "worker:1"):
            pid = self.wait_pid(name)
            os.kill(pid, signal.SIGKILL)
            self.wait_pid(name, but=pid)
        self.wait_for("the end of the sessions", lambda: self.sessions() <= before)

    def test_not_allowed(self):
        """Without --allow-chaos the command fails and leaves no request behind."""
        self.begin(*STEADY)
        pid = self.wait_pid("ps:0")
        for _ in range(2):
            self.refused(5, ["ps:0", "--allow-chaos"], "kill", "ps:0", "--dir", "run")
        self.assertEqual(self.wait_pid("ps:0"), pid)


if __name__ == "__main__":
    unittest.main(verbosity=2)
