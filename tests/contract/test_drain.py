#!/usr/bin/env python3
"""Drains: neither a stop by a signal nor `tanist drain` loses a step.

Real processes and a real ensemble of one server; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import signal
import sys
import unittest

from case import FEW, LONG, QUICK, STEADY, Cli, patience, pids

# No checkpoint but those of drains and of the end.
RARE = ["--set", "checkpoint.every_steps=1000000000", *STEADY]


class Run(Cli):
    def test_signal_then_resume(self):
        """A run that is stopped by Ctrl-C, then by SIGTERM, ends with the digest of one that is not."""
        reached = 0
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start(*LONG, *RARE)
            self.wait_step(reached + 1)
            process.send_signal(number)
            out, log = process.communicate(timeout=patience(120))
            self.assertEqual(process.returncode, 128 + number, log)
            self.assertIn("no step is lost", log)
            result = json.loads(out)
            self.assertGreater(result["checkpoint"]["step"], reached)
            reached = result["checkpoint"]["step"]
        end = self.tanist("run", QUICK, "--dir", "run", "-o", "json", "--resume", "--set", f"train.steps={reached + 5000}",
                          *RARE)
        self.assertEqual(end.returncode, 0, end.stderr)
        result = json.loads(end.stdout)
        self.assertEqual([entry["steps_redone"] for entry in result["recoveries"]], [0, 0], end.stdout)
        self.assertIn(f"running again from step {reached}", end.stderr)
        whole = self.alone(QUICK, "whole", "--set", f"train.steps={result['steps']}")
        self.assertEqual(result["parameters_digest"], whole["parameters_digest"])

    def test_paused_run_is_saved(self):
        """A run that an operator has paused keeps the steps since its last checkpoint."""
        process = self.start(*LONG, *RARE)
        self.wait_step()
        pause = self.tanist("pause", "--dir", "run")
        self.assertEqual(pause.returncode, 0, pause.stderr)
        process.send_signal(signal.SIGTERM)
        out, log = process.communicate(timeout=patience(120))
        self.assertEqual(process.returncode, 143, log)
        self.assertIn("no step is lost", log)
        self.assertGreater(json.loads(out)["checkpoint"]["step"], 0)

    def test_second_signal(self):
        """A second signal kills all nodes, and the report names the loss."""
        process = self.start(*LONG, *RARE)
        status = self.wait_step()
        chief = status["chief"]["pid"]
        os.kill(chief, signal.SIGSTOP)  # So that the drain cannot end before the second signal.
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=patience(120))
        self.assertEqual(process.returncode, 130, log)
        self.assertIn("before the first checkpoint, so no step is kept", log)


class Hosts(Cli):
    """Agents on one machine, with an address each; their ensemble belongs to another run."""

    def setUp(self):
        super().setUp()
        self.zk = ["--zk", self.start_ensemble()]
        self.target = ["--cluster", "quick", *self.zk]

    def watch(self):
        watch = self.spawn("watch", "-o", "jsonl", *self.target)
        self.assertEqual(json.loads(watch.stdout.readline())["event"], "state")
        return watch

    def next_event(self, watch, *names):
        """The next event with one of these names; the time limit of the test bounds the wait."""
        for line in watch.stdout:
            event = json.loads(line)
            if event["event"] in names:
                return event
        return self.fail(f"watch ended before {names}")


class Agents(Hosts):
    """Two hosts with ps."""

    def agent(self, folder, host, tasks):
        return self.spawn("agent", QUICK, *LONG, *RARE, "--set", "cluster.workers=4", "--dir",
                          folder, "--host", host, "--tasks", tasks, *self.zk)

    def test_host_with_ps_and_chief(self):
        """The run waits for the drained host at a committed step, and continues from exactly there."""
        first = self.agent("first", "127.0.0.2", "coordinator:0,ps:0,worker:0-1")
        self.wait_status("a chief", lambda status: status["chief"] is not None)
        self.agent("second", "127.0.0.3", "coordinator:1,worker:2-3")
        self.wait_step()
        watch = self.watch()
        drain = self.tanist("drain", "--host", "127.0.0.2", *self.target)
        self.assertEqual(drain.returncode, 0, drain.stderr)
        self.assertIn("all nodes of 127.0.0.2 have left", drain.stderr)
        _, log = first.communicate(timeout=patience(120))
        self.assertEqual(first.returncode, 0, log)
        self.assertIn("no step is lost", log)
        status = self.wait_status("a pause by coordinator:1", lambda status: status["phase"] == "paused" and
                                  status["chief"] is not None and status["chief"]["task"] == "coordinator:1")
        step = status["checkpoint"]["step"]
        self.assertGreater(step, 0)
        self.assertEqual(self.next_event(watch, "paused")["step"], step)
        self.agent("first", "127.0.0.2", "coordinator:0,ps:0,worker:0-1")
        restored = self.next_event(watch, "restored")
        self.assertEqual((restored["step"], restored["steps_redone"]), (step, 0))
        self.wait_step(step + 1)

    def test_unknown_host(self):
        """A host without nodes, and a missing or bad option, are refused."""
        self.agent("first", "127.0.0.2", "coordinator:0,ps:0,worker:0-1")
        self.wait_step()
        for code, expected, options in ((5, "no node of quick runs on 127.0.0.9",
                                         ["--host", "127.0.0.9"]),
                                        (3, "--host is missing", []),
                                        (128, '--deadline is "56": give a whole number from 1 to 55',
                                         ["--host", "127.0.0.2", "--deadline", "56"])):
            result = self.tanist("drain", *options, *self.target)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertIn(expected, result.stderr)

    def test_host_without_ps(self):
        """Training does not pause when a host without a ps is drained by a signal."""
        first = self.agent("first", "127.0.0.2", "coordinator:0,ps:0,worker:0-1")
        second = self.agent("second", "127.0.0.3", "coordinator:1,worker:2-3")
        self.wait_tasks()
        before, watch = self.wait_step(), self.watch()
        second.send_signal(signal.SIGTERM)
        _, log = second.communicate(timeout=patience(120))
        self.assertEqual(second.returncode, 143, log)
        self.assertIn("no step is lost", log)
        after = self.wait_step(before["step"] + 1)
        self.assertEqual(after["generation"], before["generation"])
        first.send_signal(signal.SIGTERM)
        self.assertGreater(self.next_event(watch, "paused")["step"], after["step"])


class WithoutPs(Hosts):
    """Runs without ps: one host has the coordinators, the others have workers."""

    # The name is that of quick.json.
    GROUPS = {"name": "quick",
              "model": {"type": "layers", "inputs": 12, "outputs": 4,
                        "layers": [{"dense": {"units": 16, "activation": "tanh"}, "task": 0}, {"dense": 4, "task": 1}]},
              "data": {"type": "synthetic", "examples": 512, "test_examples": 64},
              "train": {"steps": 100, "batch": 32, "slices": 4, "learning_rate": 0.01},
              "strategy": {"type": "group", "members": 2},
              "cluster": {"coordinators": 2, "ps": 0, "workers": 4}, "zookeeper": {"servers": 1}}

    def start_hosts(self, tasks, job, *options):
        """`tasks`: those of each host that has workers; the last host has the coordinators."""
        self.hosts = [*tasks, "coordinator:0-1"]
        self.command = [job, *LONG, *RARE, *options]
        self.agents = [self.start_host(index) for index in range(len(self.hosts))]
        self.wait_tasks()
        self.wait_step()

    def start_host(self, index):
        return self.spawn("agent", *self.command, "--dir", f"host{index}", "--host", f"127.0.0.{index + 2}", "--tasks",
                          self.hosts[index], *self.zk)

    def drain_and_return(self, index):
        """The nodes of the host leave within the time, and its agent ends in good order; then it starts again."""
        host = f"127.0.0.{index + 2}"
        before = pids(self.live_status())
        drain = self.tanist("drain", "--host", host, "--deadline", "55", *self.target)
        self.assertEqual(drain.returncode, 0, drain.stderr)
        self.assertIn(f"all nodes of {host} have left", drain.stderr)
        log = self.agents[index].communicate(timeout=patience(120))[1]
        self.assertEqual(self.agents[index].returncode, 0, log)
        self.assertIn("no step is lost", log)
        self.agents[index] = self.start_host(index)
        for task in self.hosts[index].split(","):
            self.wait_pid(task, but=before[task])

    def evaluated(self, folder, step):
        """The evaluation of the checkpoint of a step; None: the folder has no such checkpoint."""
        result = self.tanist("evaluate", folder, "-o", "json")
        found = json.loads(result.stdout) if result.returncode == 0 else {"step": None}
        return [found[key] for key in ("step", "loss")] if found["step"] == step else None

    def check_end(self):
        """The run is stopped. One process computes the same values in as many steps."""
        watch = self.watch()
        self.succeeds("stop", *self.target)
        step = self.next_event(watch, "done")["step"]
        for agent in self.agents:
            log = agent.communicate(timeout=patience(240))[1]
            self.assertEqual(agent.returncode, 0, log)
        self.succeeds("run", self.command[0], "--local", "--dir", "whole", "--set", f"train.steps={step}", *FEW)
        expected = self.evaluated("whole", step)
        self.assertIsNotNone(expected)
        found = [self.evaluated(f"host{index}", step) for index in range(len(self.hosts))]
        self.assertIn(expected, found)  # Any worker may have written the last checkpoint.
        self.assertTrue(all(each in (expected, None) for each in found), found)

    def test_hosts_of_a_paused_run(self):
        """All hosts are drained, one after the other, while an operator has paused the run: every step is kept."""
        self.start_hosts(["worker:0", "worker:1", "worker:2"], QUICK, "--set", "strategy.type=mirror", "--set",
                         "cluster.workers=3")
        self.succeeds("pause", *self.target)
        step = self.wait_status("a pause", lambda status: status["phase"] == "paused")["step"]
        for index in range(3):
            self.drain_and_return(index)
        watch = self.watch()
        self.succeeds("resume", *self.target)
        self.assertEqual(self.next_event(watch, "restored")["steps_redone"], 0)
        self.wait_step(step + 1)
        self.check_end()

    def test_host_of_all_heads(self):
        """The heads of all groups are drained at once, while other members stay, which cannot compute without them."""
        self.start_hosts(["worker:0,worker:2", "worker:1,worker:3"], self.job(json.dumps(self.GROUPS)))
        watch = self.watch()
        self.drain_and_return(0)
        paused, restored = self.next_event(watch, "paused"), self.next_event(watch, "restored")
        self.assertEqual((restored["steps_redone"], restored["step"]), (0, paused["step"]))
        self.wait_step(paused["step"] + 1)
        self.check_end()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
