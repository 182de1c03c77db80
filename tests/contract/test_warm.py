#!/usr/bin/env python3
"""Warm restarts: a ps that is killed continues with the values and the rows of tables that it had, and no step is done
again; with its agent it loses them, and the run continues from a checkpoint.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import unittest

from case import Cli, LONG, STEADY, small_table_job

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
    JOB = JOB
    STEPS = 50  # From one kill to the next.

    def start(self, *options):
        return self.spawn("run", self.job(json.dumps(self.JOB)), "--dir", "run", "-o", "json", *STEADY, *options)

    def check_warm(self, result, least):
        self.assertGreaterEqual(len(result["recoveries"]), least)
        for recovery in result["recoveries"]:
            self.assertEqual((recovery["kind"], recovery["steps_redone"]), ("warm", 0), recovery)


    def check_kills(self, *kills):
        run = self.begin()
        for names in kills:
            self.assertEqual(self.kill_in_the_middle(*names, steps=self.STEPS)["generation"], 1)
        killed = self.end(run)
        self.check_warm(killed, len(kills))
        calm = json.loads(self.succeeds("run", "job.json", "--dir", "calm", "-o", "json", "--set",
                                        f"train.steps={killed['steps']}"))
        self.assertEqual(killed["parameters_digest"], calm["parameters_digest"])


class Kills(Warm):
    def test_kills_of_ps_lose_nothing(self):
        self.check_kills(["ps:0"], ["ps:1"], ["ps:0", "ps:1"], ["ps:1", "worker:0"], ["ps:0"])

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
        self.kill_in_the_middle("ps:0", steps=self.STEPS)
        result = self.end(run)
        self.assertEqual([each["kind"] for each in result["recoveries"]], ["ps"])


class LargeShards(Warm):
    """A push of 5 chunks, more than a lane has slots, is collected where the next values will be (P4)."""
    JOB = {**JOB, "model": {**JOB["model"], "layers": [{"dense": 36000}, "relu", {"dense": 4}]},
           "train": {**JOB["train"], "batch": 4}}
    STEPS = 10

    def test_kills_lose_no_push(self):
        self.check_kills(["ps:0"], ["ps:1", "worker:0"], ["ps:0", "ps:1"], ["ps:1"])


class Tables(Warm):
    def setUp(self):
        super().setUp()
        self.JOB = small_table_job({"steps": 1000}, evaluate={"every_steps": 400},
                                   checkpoint={"every_steps": 100, "keep": 3},
                                   cluster={"coordinators": 2, "ps": 2, "workers": 2})

    def check_local(self, killed):
        calm = self.alone("job.json", "local", "--set", f"train.steps={killed['steps']}")
        for key in ("parameters_digest", "checkpoint_digest", "loss"):
            self.assertEqual(killed[key], calm[key], key)
        rows = [[(table["name"], table["rows"]) for table in result["tables"]] for result in (killed, calm)]
        self.assertEqual(*rows)

    def test_kills_lose_no_row(self):
        run = self.begin()
        for names in (["ps:0"], ["ps:1"], ["ps:0", "ps:1"], ["ps:1", "worker:0"]):
            self.assertEqual(self.kill_in_the_middle(*names, steps=self.STEPS)["generation"], 1)
        killed = self.end(run)
        self.check_warm(killed, 4)
        self.check_local(killed)

    def test_a_checkpoint_after_a_warm_restart_is_whole(self):
        """The deltas behind it, too: the agent dies, and the rows are loaded from them."""
        run = self.begin()
        for _ in range(2):
            before = self.newest_checkpoint()
            self.kill_in_the_middle("ps:0", steps=self.STEPS)
            self.wait_for("a checkpoint", lambda: self.newest_checkpoint() > before + 1)
        run.kill()
        run.communicate()
        run = self.start(*LONG)
        self.wait_status("a new generation", lambda status: (status["phase"], status["generation"]) == ("running", 2))
        self.check_local(self.end(run))


if __name__ == "__main__":
    unittest.main(verbosity=2)
