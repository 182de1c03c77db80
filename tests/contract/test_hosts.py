#!/usr/bin/env python3
"""Several agents of one cluster: a host whose tasks another one holds, and hosts that cannot reach each other.

Real agents and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import signal
import subprocess
import time
import unittest
from pathlib import Path

from test_cli import LONG, PROGRAM, QUICK, Cli


class Spare(Cli):
    def agent(self, name, tasks, *options):
        """Start an agent with these tasks; its stderr is in NAME.log."""
        log = (self.folder / f"{name}.log").open("w")
        self.addCleanup(log.close)
        agent = subprocess.Popen([PROGRAM, "agent", QUICK, "--tasks", tasks, "--dir", name, "--zk", self.zookeeper,
                                  "--set", "zookeeper.session_timeout_ms=1000", *LONG, *options],
                                 stdout=log, stderr=log, cwd=self.folder, env=self.environment)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        return agent

    def start_ensemble(self):
        """A run of another name, whose servers the agents use."""
        ensemble = self.start("--set", "name=other", *LONG)
        self.addCleanup(ensemble.kill)
        self.wait_step()
        self.zookeeper = json.loads((self.folder / "run/run.json").read_text())["zookeeper"]

    def status(self):
        result = self.tanist("status", "--zk", self.zookeeper, "--cluster", "quick", "-o", "json")
        return json.loads(result.stdout) if result.returncode == 0 else None

    def wait_status(self, what, condition, limit_s=60):
        end = time.monotonic() + limit_s
        status = None
        while time.monotonic() < end:
            status = self.status()
            if status is not None and condition(status):
                return status
            time.sleep(0.1)
        logs = "".join(log.read_text() for log in self.folder.glob("*.log"))
        return self.fail(f"not reached: {what}: {status}\n{logs}")

    def test_spare_takes_over(self):
        """An agent whose task is held waits, shows itself in status, and takes the task when its holder is dead."""
        self.start_ensemble()
        self.agent("first", "coordinator:0-1,ps:0,worker:1")
        holder = self.agent("holder", "worker:0")
        pids = lambda status: {f"{task['role']}:{task['index']}": task["pid"] for task in status["tasks"]}
        held = self.wait_status("training", lambda status: status["phase"] == "running" and pids(status)["worker:0"])
        spare = self.agent("spare", "worker:0")
        waiting = self.wait_status("a spare", lambda status: status["spares"])
        self.assertEqual([(entry["task"], entry["pid"]) for entry in waiting["spares"]], [("worker:0", spare.pid)])
        self.assertIn("worker:0 is held by pid", (self.folder / "spare.log").read_text())
        self.assertEqual(pids(waiting)["worker:0"], pids(held)["worker:0"])
        self.assertIsNone(spare.poll())
        text = self.tanist("status", "--zk", self.zookeeper, "--cluster", "quick").stdout
        self.assertIn("waits for worker:0", text)
        holder.send_signal(signal.SIGKILL)
        taken = self.wait_status("the takeover", lambda status: not status["spares"] and pids(status)["worker:0"]
                                 not in (None, pids(held)["worker:0"]))
        parent = Path(f"/proc/{pids(taken)['worker:0']}/stat").read_text().rpartition(")")[2].split()[1]
        self.assertEqual(int(parent), spare.pid)
        stop = self.tanist("stop", "--zk", self.zookeeper, "--cluster", "quick", "--wait", "30")
        self.assertEqual(stop.returncode, 0, stop.stderr)
        self.assertEqual(spare.wait(timeout=30), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
