#!/usr/bin/env python3
"""Several agents of one cluster: a host whose tasks another one holds, and hosts that cannot reach each other.

Real agents and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from case import LONG, PROGRAM, QUICK, Cli, patience, pids


# A group of two members, whose layers are on both.
JOB = {"name": "group", "seed": 3,
       "model": {"type": "layers", "inputs": 20, "outputs": 5,
                 "layers": [{"dense": {"units": 24, "activation": "tanh"}, "task": 0}, {"dense": 5, "task": 1}]},
       "data": {"type": "synthetic", "examples": 1000, "test_examples": 67},
       "train": {"steps": 100, "batch": 64, "slices": 8, "optimizer": "momentum", "learning_rate": 0.005},
       "evaluate": {"every_steps": 500}, "checkpoint": {"every_steps": 200},
       "strategy": {"members": 2}, "cluster": {"coordinators": 2, "ps": 2, "workers": 2}, "zookeeper": {"servers": 1}}


class Agents(Cli):
    """Agents of one cluster, whose ZooKeeper servers are those of another run."""

    def agent(self, name, tasks, *options):
        """Start an agent with these tasks; its stderr is in NAME.log."""
        log = (self.folder / f"{name}.log").open("w")
        self.addCleanup(log.close)
        return self.spawn("agent", QUICK, "--tasks", tasks, "--dir", name, "--zk", self.zookeeper, "--set",
                          "zookeeper.session_timeout_ms=10000", *LONG, *options, stdout=log, stderr=log)

    def start_ensemble(self):
        self.zookeeper = super().start_ensemble()
        self.target = ["--zk", self.zookeeper, "--cluster", "quick"]

    def details(self):
        """The state, and the logs of the agents."""
        return super().details() + "".join(log.read_text() for log in self.folder.glob("*.log"))


class Spare(Agents):
    def test_spare_takes_over(self):
        """An agent whose task is held waits, shows itself in status, and takes the task when its holder is dead."""
        self.start_ensemble()
        self.agent("first", "coordinator:0-1,ps:0,worker:1")
        holder = self.agent("holder", "worker:0")
        held = self.wait_status("training", lambda status: status["phase"] == "running" and pids(status)["worker:0"])
        spare = self.agent("spare", "worker:0")
        waiting = self.wait_status("a spare", lambda status: status["spares"])
        self.assertEqual([(entry["task"], entry["pid"]) for entry in waiting["spares"]], [("worker:0", spare.pid)])
        self.assertIn("worker:0 is held by pid", (self.folder / "spare.log").read_text())
        self.assertEqual(pids(waiting)["worker:0"], pids(held)["worker:0"])
        self.assertIsNone(spare.poll())
        text = self.succeeds("status", *self.target)
        self.assertIn("waits for worker:0", text)
        holder.send_signal(signal.SIGKILL)
        taken = self.wait_status("the takeover", lambda status: not status["spares"] and pids(status)["worker:0"]
                                 not in (None, pids(held)["worker:0"]))
        parent = Path(f"/proc/{pids(taken)['worker:0']}/stat").read_text().rpartition(")")[2].split()[1]
        self.assertEqual(int(parent), spare.pid)
        self.succeeds("stop", *self.target, "--wait", "30")
        self.assertEqual(spare.wait(timeout=patience(120)), 0)

    def parent_of(self, pid):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])

    def workers(self, status):
        return [pids(status).get(f"worker:{index}") for index in (0, 1)]

    def test_spare_takes_all_workers_of_a_process(self):
        """Two workers share a process. Its spare waits until both are free, takes both, and the other way round."""
        self.start_ensemble()
        options = ["--set", "cluster.workers=3", "--set", "cluster.workers_per_process=2"]
        self.agent("first", "coordinator:0-1,ps:0,worker:2", *options)
        holder = self.agent("holder", "worker:0-1", *options)
        self.wait_status("training", lambda status: status["phase"] == "running" and all(self.workers(status)))
        for name in ("spare", "third"):
            spare = self.agent(name, "worker:0-1", *options)
            waiting = self.wait_status("a spare", lambda status: status["spares"])
            self.assertEqual([(entry["task"], entry["pid"]) for entry in waiting["spares"]], [("worker:0", spare.pid)])
            self.assertIn("worker:0-1 is held by pid", (self.folder / f"{name}.log").read_text())
            held = self.workers(waiting)
            holder.send_signal(signal.SIGKILL)
            taken = self.wait_status("the takeover", lambda status: not status["spares"] and all(
                pid not in (None, *held) for pid in self.workers(status)))
            self.assertEqual([self.parent_of(pid) for pid in self.workers(taken)], [spare.pid] * 2)
            holder = spare
        self.succeeds("stop", *self.target, "--wait", "30")
        self.assertEqual(spare.wait(timeout=patience(120)), 0)

    def test_spare_waits_for_the_last_worker_of_a_process(self):
        """Another host has only one of two workers that share a process: the process is not started again and again,
        which would end the other worker each time."""
        self.start_ensemble()
        options = ["--set", "cluster.workers=3", "--set", "cluster.workers_per_process=2"]
        self.agent("first", "coordinator:0-1,ps:0,worker:2", *options)
        holder = self.agent("holder", "worker:1", *options)
        self.wait_status("training", lambda status: status["phase"] == "running" and self.workers(status)[1])
        spare = self.agent("spare", "worker:0-1", *options)
        waiting = self.wait_status("a spare", lambda status: status["spares"] and self.workers(status)[0] is None)
        held = self.workers(waiting)[1]
        self.assertIn(f"worker:0-1 is held by pid {held}", (self.folder / "spare.log").read_text())
        # Longer than a spare waits for a task that is free. On a slow machine the test may see less than it could.
        end = time.monotonic() + 10
        while time.monotonic() < end:
            status = self.status()
            self.assertTrue(status is None or (status["spares"] and self.workers(status) == [None, held]))
            time.sleep(0.2)
        holder.send_signal(signal.SIGKILL)
        taken = self.wait_status("the takeover", lambda status: not status["spares"] and all(
            pid not in (None, held) for pid in self.workers(status)))
        self.assertEqual([self.parent_of(pid) for pid in self.workers(taken)], [spare.pid] * 2)
        self.succeeds("stop", *self.target, "--wait", "30")


class Resume(Agents):
    """Agents of several hosts continue a run with another strategy: `tanist agent --resume`."""

    def both(self, job, workers, *options):
        """Start two agents: the first one has all nodes but the workers with odd numbers. A group has members on both."""
        self.agents = {name: self.spawn("agent", job, "--tasks", tasks, "--dir", name, "--zk", self.zookeeper, "--set",
                                        "zookeeper.session_timeout_ms=10000", "--resume", *options)
                       for name, tasks in (("first", f"coordinator:0-1,{workers[0]}"), ("second", workers[1]))}

    def end_all(self):
        """Both agents end by themselves."""
        for name, agent in self.agents.items():
            errors = agent.communicate(timeout=patience(240))[1]
            self.assertEqual(agent.returncode, 0, f"{name}: {errors}")

    def evaluated(self, folder):
        found = json.loads(self.succeeds("evaluate", folder, "-o", "json"))
        return [found[key] for key in ("step", "loss", "accuracy")]

    def test_strategies(self):
        """From ps to a group, with kills, to a group of another size, without ps, and back: the result is that of one process."""
        self.start_ensemble()
        self.target = ["--zk", self.zookeeper, "--cluster", "group"]
        job = self.job(json.dumps(JOB))
        group = ["--set", "strategy.type=group", "--set", "placement.strategy=greedy"]
        ranges = ["--set", "placement.strategy=ranges"]
        forms = (
            (100, ("ps:0-1,worker:0", "worker:1"), [*ranges, "--set", "strategy.type=ps"]),
            (1000, ("ps:0-1,worker:0,worker:2", "worker:1,worker:3"), [*group, "--set", "cluster.workers=4"]),
            (1100, ("ps:0-2,worker:0", "worker:1"), [*group, "--set", "cluster.ps=3"]),
            (1200, ("worker:0", "worker:1"), [*ranges, "--set", "strategy.type=mirror"]),
            (1300, ("ps:0-1,worker:0", "worker:1"), group),
        )
        for steps, workers, options in forms:
            options = [*options, "--set", f"train.steps={steps}"]
            self.both(job, workers, *options)
            if steps == 1000:
                self.wait_for("a step of the group", lambda: (self.status() or {}).get("step", 0) > 100)
                for name in ("worker:0", "worker:3", "ps:1", "chief"):
                    self.kill_task(name)
                self.agents["second"].kill()
                self.agents["second"].communicate(timeout=patience(120))
                self.agents["second"] = self.spawn(
                    "agent", job, "--tasks", workers[1], "--dir", "second", "--zk", self.zookeeper, "--set",
                    "zookeeper.session_timeout_ms=10000", "--resume", *options)
            self.end_all()
        self.alone(job, "local", "--set", "train.steps=1300")
        self.assertEqual(self.evaluated("first"), self.evaluated("local"))
        self.succeeds("checkpoints", "verify", "--dir", "first")


class Reach(Cli):
    """Two hosts: network namespaces with a link between them, 10.98.0.1 and 10.98.0.2, and a ZooKeeper on the first."""

    def setUp(self):
        super().setUp()
        self.holders = [self.holder() for _ in range(2)]
        first, second = (str(holder.pid) for holder in self.holders)
        self.inside(0, "ip", "link", "add", "tap", "type", "veth", "peer", "name", "tap", "netns", second)
        for i in range(2):
            self.inside(i, "ip", "addr", "add", f"10.98.0.{i + 1}/24", "dev", "tap")
            self.inside(i, "ip", "link", "set", "tap", "up")
            self.inside(i, "ip", "link", "set", "lo", "up")
        self.start_zookeeper()

    def holder(self):
        """A process in a network namespace of its own, which ends with it."""
        holder = subprocess.Popen(["unshare", "-n", "sh", "-c", "echo ready; exec sleep 3000"], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True, env=self.environment)
        self.addCleanup(holder.communicate)
        self.addCleanup(holder.kill)
        if os.geteuid() != 0 or shutil.which("nsenter") is None or holder.stdout.readline() != "ready\n":
            self.skipTest("network namespaces need root, unshare and nsenter")
        return holder

    def enter(self, host, *command):
        return ["nsenter", "-t", str(self.holders[host].pid), "-n", *command]

    def inside(self, host, *command):
        done = subprocess.run(self.enter(host, *command), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.skipTest(f"{' '.join(command)}: {done.stderr}")

    def background(self, host, name, *command):
        log = (self.folder / f"{name}.log").open("w")
        self.addCleanup(log.close)
        process = subprocess.Popen(self.enter(host, PROGRAM, *command), stdout=log, stderr=log, cwd=self.folder,
                                   env=self.environment)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def start_zookeeper(self):
        (self.folder / "zk").mkdir()
        (self.folder / "zoo.cfg").write_text(f"tickTime=500\ndataDir={self.folder}/zk\nclientPort=2181\n"
                                             "admin.enableServer=false\n4lw.commands.whitelist=srvr\n")
        self.background(0, "zookeeper", "zk", "start", "--foreground", "--heap", "64", "zoo.cfg")
        self.wait_log("zookeeper", "2181")

    def wait_log(self, name, text):
        log = self.folder / f"{name}.log"
        self.wait_for(f"{text!r} in the log of {name}", lambda: text in log.read_text())

    def agent(self, host, name, tasks, *options):
        return self.background(host, name, "agent", QUICK, "--tasks", tasks, "--dir", name, "--zk", "10.98.0.1:2181",
                               *LONG, *options)

    def refused(self, process, name, *expected):
        self.assertEqual(process.wait(timeout=patience(120)), 3)
        text = (self.folder / f"{name}.log").read_text()
        for part in expected:
            self.assertIn(part, text)

    def test_loopback_host_joins(self):
        """A host with the default address is refused when it joins hosts that others can reach; so is a single node."""
        self.agent(0, "good", "coordinator:0,ps:0", "--host", "10.98.0.1")
        self.wait_log("good", "ps:0 (pid")
        late = self.agent(1, "late", "worker:0-1")
        self.refused(late, "late", "--host is 127.0.0.1, which only this host can reach", "tcp://10.98.0.1:",
                     "for example 10.98.0.2")
        node = self.background(1, "node", "worker", "--job", QUICK, *LONG, "--index", "0", "--zk", "10.98.0.1:2181")
        self.refused(node, "node", "--listen is tcp://127.0.0.1:0", "for example 10.98.0.2")
        self.agent(1, "right", "worker:0-1", "--host", "10.98.0.2")
        self.wait_log("good", "training begins")

    def test_loopback_host_was_first(self):
        """The host that came first with a loopback address leaves as soon as another one joins, which names its flag."""
        early = self.agent(1, "early", "worker:0-1")
        self.wait_log("early", "no chief")
        self.agent(0, "good", "coordinator:0,ps:0", "--host", "10.98.0.1")
        self.refused(early, "early", "--host is 127.0.0.1", "for example 10.98.0.2")
        self.wait_log("good", "which only that host can reach: start it there with --host")


if __name__ == "__main__":
    unittest.main(verbosity=2)
