#!/usr/bin/env python3
"""A sharded state of the optimizer: as many ps as workers, one of each on a host, each ps with one range. Whatever dies, the
result is that of one process; and the run continues with and without ps, from the same checkpoints.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import shutil
import signal
import unittest

from case import FEW, LONG, QUICK, STEADY, Cli, is_live, patience, pids
from installed import sanitizer_flags

SHARDED = ["--set", "cluster.ps=3", "--set", "cluster.workers=3"]
ADAM = ["--set", "model.inputs=96", "--set", "train.optimizer=adam", "--set", "train.learning_rate=0.0001"]
LARGE = {
    "name": "large",
    "model": {"type": "linear", "inputs": 1023, "outputs": 8192},
    "data": {"type": "synthetic", "examples": 32, "test_examples": 8},
    "train": {"steps": 10, "batch": 6, "slices": 3, "optimizer": "adam", "learning_rate": 1e-6},
    "checkpoint": {"every_seconds": 1},
    "evaluate": {"every_steps": 0},
    "transport": {"lane": "tcp"},
    "cluster": {"coordinators": 1, "ps": 3, "workers": 3},
    "zookeeper": {"servers": 1},
}


class Sharded(Cli):
    def end_as_local(self, run, *options):
        """The run is stopped; one process computes the same parameters in as many steps. Returns the result."""
        result = self.end(run)
        expected = self.alone(QUICK, "local", *options, "--set", f"train.steps={result['steps']}", *FEW)["parameters_digest"]
        self.assertEqual((result["parameters_digest"], result["checkpoint_digest"]), (expected, expected))
        return result

    def kill_hosts(self, run_options):
        """SIGKILL to the ps and the worker of each host in turn."""
        run = self.begin(*STEADY, *SHARDED, *run_options)
        for host in range(3):
            self.wait_tasks()
            self.check_it_continues()
            self.kill_and_wait(f"ps:{host}", f"worker:{host}")
        return self.end_as_local(run, *run_options)

    def test_owner_continues_with_its_memory(self):
        """A ps that is killed, also with its worker, has the state of its range again: no step is done again."""
        result = self.kill_hosts(ADAM)
        self.assertEqual({each["steps_redone"] for each in result["recoveries"] if each["kind"] == "warm"}, {0})
        self.assertNotIn("ps", [each["kind"] for each in result["recoveries"]])

    def test_state_that_is_lost_is_loaded(self):
        """With norms a ps keeps nothing over its death: all load the newest checkpoint, since no other process has the state."""
        result = self.kill_hosts([*ADAM, "--set", "train.clip_norm=0.5"])
        self.assertIn("ps", [each["kind"] for each in result["recoveries"]])

    def test_frozen_owner(self):
        """A ps and a worker that are frozen together for longer than their sessions last."""
        run = self.begin(*SHARDED, *ADAM)
        processes = pids(self.wait_tasks())
        for name in ("ps:1", "worker:1"):
            self.freeze(processes[name])
        self.wait_status("a pause", lambda status: is_live(status) and status["phase"] == "paused")
        for name in ("ps:1", "worker:1"):
            self.thaw(processes[name])
        self.check_it_continues()
        self.end_as_local(run, *ADAM)

    def train(self, *options):
        return json.loads(self.succeeds("run", QUICK, "--dir", "run", "-q", "-o", "json", *ADAM, *options,
                                        timeout=patience(120)))

    def test_each_form_continues_from_the_others(self):
        """In one process, sharded, without ps, with two ps, and sharded again: each reads the state of the one before it."""
        forms = [["--local"], SHARDED, ["--set", "strategy.type=mirror"], ["--set", "cluster.ps=2"], SHARDED]
        for number, form in enumerate(forms):
            resume = [] if number == 0 else ["--resume"]
            result = self.train(*form, *resume, "--set", f"train.steps={100 * (number + 1)}")
            self.succeeds("checkpoints", "verify", "--dir", "run")
        expected = self.alone(QUICK, "local", *ADAM, "--set", "train.steps=500")["parameters_digest"]
        self.assertEqual((result["steps"], result["parameters_digest"]), (500, expected))


class Hosts(Cli):
    """Three agents, as on three hosts: each starts a ps and a worker, and has the files of its ps."""

    def host(self, index, *options):
        tasks = f"ps:{index},worker:{index}" + (",coordinator:0-1" if index == 0 else "")
        return self.spawn("agent", QUICK, "--tasks", tasks, "--dir", f"host{index}", "--zk", self.zookeeper, *STEADY, *SHARDED,
                          *ADAM, *options)

    def test_lost_hosts(self):
        """An agent that dies takes the state of a range with it, also what it kept for its ps: all load, with the same bits."""
        self.zookeeper = self.start_ensemble()
        self.target = ("--zk", self.zookeeper, "--cluster", "quick")
        hosts = [self.host(index, *LONG) for index in range(3)]
        for lost in ((1,), (2, 1)):
            self.wait_tasks()
            self.check_it_continues()
            before = self.status()["generation"]
            for index in lost:
                hosts[index].kill()
                hosts[index].communicate()
            for index in lost:
                hosts[index] = self.host(index, *LONG)
            self.wait_status("a load", lambda status: status["generation"] > before)
        self.check_it_continues()
        self.succeeds("stop", *self.target, "--wait", "60")
        for agent in hosts:
            self.assertEqual(agent.wait(timeout=patience(120)), 0)
        for index in (1, 2):
            shutil.copytree(self.folder / f"host{index}/checkpoints", self.folder / "host0/checkpoints", dirs_exist_ok=True)
        found = json.loads(self.succeeds("export", "host0", "--to", "all.safetensors", "-o", "json"))
        expected = self.alone(QUICK, "local", *ADAM, "--set", f"train.steps={self.status()['step']}", *FEW)
        self.assertEqual(found["digest"], expected["parameters_digest"])


class Memory(Cli):
    def plan(self, *options):
        return json.loads(self.succeeds("plan", "job.json", "-o", "json", *options))["memory"]

    def test_plan_predicts_the_memory_of_a_host(self):
        """`plan` of a job without ps has the memory of a worker and a ps, which divide the state, and it is less."""
        self.job(json.dumps(LARGE))
        without = self.plan("--set", "strategy.type=mirror")
        sharded = without["sharded"]
        self.assertEqual(sharded["ps"], 3)
        self.assertLess(sharded["host"], 0.7 * without["worker"]["total"])
        self.assertNotIn("sharded", self.plan())
        text = self.succeeds("plan", "job.json", "--set", "strategy.type=mirror")
        self.assertIn(f"with --set strategy.type=ps --set cluster.ps=3 a worker and a ps need {sharded['host'] / 2**20:.1f} MiB",
                      text)
        if sanitizer_flags():
            self.skipTest("sanitizers need memory of their own")
        run = self.spawn("run", "job.json", "--dir", "run", "-o", "json", *LONG)
        self.wait_for("a checkpoint", lambda: self.newest_checkpoint() > 1)
        peak = max(self.memory_peak(f"worker:{host}") + self.memory_peak(f"ps:{host}") for host in range(3))
        self.end(run)
        # Over TCP, chunks wait in memory while other processes keep the processors busy.
        self.assertLess(abs(peak - sharded["host"]), 0.35 * sharded["host"], f"{peak}, planned: {sharded}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
