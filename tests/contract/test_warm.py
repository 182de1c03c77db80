#!/usr/bin/env python3
"""Warm restarts: a ps that is killed continues with the values that it had, and no step is done again; with its agent
it loses them, and the run continues from a checkpoint.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import signal
import unittest

from case import Cli, LONG, pids

JOB = {
    "name": "warm",
    "model": {"type": "layers", "inputs": 64, "outputs": 4, "layers": [{"dense": 32}, "relu", {"dense": 4}]},
    "data": {"type": "synthetic", "examples": 512, "test_examples": 128, "noise": 0.5},
    "train": {"steps": 5, "batch": 16, "slices": 4, "optimizer": "adam", "learning_rate": 0.001},
    "evaluate": {"every_steps": 0},
    "checkpoint": {"every_steps": 1000000000},
    "cluster": {"coordinators": 2, "ps": 2, "workers": 2},
    "zookeeper": {"servers": 1},
}


class Warm(Cli):
    def start(self, *options):
        return self.spawn("run", self.job(json.dumps(JOB)), "--dir", "run", "-o", "json", *options)

    def kill(self, *names):
        """SIGKILL to tasks; returns once each has another process and a later step was reached."""
        before = self.wait_tasks()
        for name in names:
            os.kill(pids(before)[name], signal.SIGKILL)
        for name in names:
            self.wait_pid(name, but=pids(before)[name])
        return self.wait_step(before["step"] + 50)

    def test_kills_of_ps_lose_nothing(self):
        run = self.begin()
        for names in (["ps:0"], ["ps:1"], ["ps:0", "ps:1"], ["ps:1", "worker:0"], ["ps:0"]):
            status = self.kill(*names)
            self.assertEqual(status["generation"], 1)
        killed = self.end(run)
        self.assertGreaterEqual(len(killed["recoveries"]), 5)
        for recovery in killed["recoveries"]:
            self.assertEqual((recovery["kind"], recovery["steps_redone"]), ("warm", 0), recovery)
        calm = json.loads(self.succeeds("run", "job.json", "--dir", "calm", "-o", "json", "--set",
                                        f"train.steps={killed['steps']}"))
        self.assertEqual(killed["parameters_digest"], calm["parameters_digest"])

    def test_death_of_the_agent_loads_a_checkpoint(self):
        run = self.begin("--set", "checkpoint.every_steps=100")
        self.wait_for("a checkpoint", self.newest_checkpoint)
        run.kill()
        run.communicate()
        run = self.start(*LONG, "--set", "checkpoint.every_steps=100")
        # Until the new agent has begun, `status` shows what the former one left.
        self.wait_status("a new generation", lambda status: (status["phase"], status["generation"]) == ("running", 2))
        self.assertEqual([each["kind"] for each in self.end(run)["recoveries"]], ["restart"])

    def test_async_ps_load_a_checkpoint(self):
        """The clocks of the slices are not kept."""
        run = self.begin("--set", "train.mode=async")
        self.kill("ps:0")
        result = self.end(run)
        self.assertEqual([each["kind"] for each in result["recoveries"]], ["ps"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
