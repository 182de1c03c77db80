#!/usr/bin/env python3
"""`tanist stop` when the run and its ZooKeeper end before it has seen that.

A real run; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import signal
import time
import unittest

from case import LONG, STEADY, Cli, own_servers, patience


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
            self.thaw(pid)
        self.result(run)
        os.kill(stop.pid, signal.SIGCONT)
        _, errors = stop.communicate(timeout=patience(120))
        self.assertEqual(stop.returncode, 0, errors)

    @own_servers
    def test_stop_of_a_run_that_has_just_been_started_again(self):
        """A request that arrives as soon as ZooKeeper serves, before the agent has set the run to forming, is granted."""
        run = self.begin()
        run.kill()
        run.communicate()
        for _ in range(3):
            self.check_no_process_left()
            run = self.start(*LONG)
            self.wait_for("the note of the run", lambda pid=run.pid: self.agent_pid() == pid)
            self.succeeds("stop", *self.target, "--timeout", "60", "--wait", "60")
            run.communicate(timeout=patience(120))

    def test_stop_of_a_run_that_is_being_created(self):
        """/run is the last znode of a cluster that is created, after its spec: a command waits for it. Here the chief,
        which writes a lost /run again, is stopped meanwhile."""
        run = self.begin(*STEADY)
        coordinators = [task["pid"] for task in self.wait_tasks()["tasks"] if task["role"] == "coordinator"]
        for pid in coordinators:
            self.freeze(pid)
        self.assertEqual(self.znode("delete", "/tanist/quick/run").returncode, 0)
        stop = self.spawn("stop", *self.target)
        time.sleep(1)
        self.assertIsNone(stop.poll())
        for pid in coordinators:
            self.thaw(pid)
        _, errors = stop.communicate(timeout=patience(120))
        self.assertEqual(stop.returncode, 0, errors)
        self.result(run)

    def agent_pid(self):
        """The pid in the note of the run. The folder of a run that has ended is moved away before it is written."""
        try:
            return json.loads((self.folder / "run/run.json").read_text()).get("agent_pid")
        except (FileNotFoundError, json.JSONDecodeError):
            return None

    def granted(self):
        return any("request to stop" in log.read_text() for log in self.folder.glob("run/logs/coordinator-*"))


if __name__ == "__main__":
    unittest.main()
