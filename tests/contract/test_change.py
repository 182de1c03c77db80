#!/usr/bin/env python3
"""`--resume` with another learning rate: the same bits whatever dies, in a cluster and in one process.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import signal
import unittest

from case import LONG, QUICK, Cli, own_servers

# Slow enough that a rate of a wrong step still shows at the end, and adam's state with it.
JOB = ["--set", "train.optimizer=adam", "--set", "train.learning_rate=0.00001", "--set", "checkpoint.every_steps=500",
       "--set", "model.inputs=64", "--set", "cluster.ps=2"]
FASTER = ["--set", "train.learning_rate=0.00003"]
END = 8000
FALLING = ["--set", "train.schedule.type=cosine", "--set", "train.decay_steps=50000"]


def steps(count):
    return ["--set", f"train.steps={count}"]


class Change(Cli):
    def train(self, directory, *options):
        """Run to the end; returns the digest of the parameters."""
        out = self.succeeds("run", QUICK, "--dir", directory, *JOB, "-o", "json", *options, timeout=120)
        return json.loads(out)["parameters_digest"]

    def before(self, directory):
        job = json.loads((self.folder / directory / "job.json").read_text())
        return [(rate["until"], rate["learning_rate"]) for rate in job["train"]["before"]]

    def undisturbed(self, end):
        """Changed at steps 2000 and 4000, and trained to the end, in one process."""
        self.alone(QUICK, "calm", *JOB, *steps(2000))
        self.alone(QUICK, "calm", *JOB, "--resume", *steps(4000), *FASTER)
        return self.alone(QUICK, "calm", *JOB, "--resume", *steps(end), *FALLING)["parameters_digest"]

    def test_kills_change_nothing(self):
        """Each kind of node is killed after the change; the steps done again have the rate that they had."""
        self.train("run", *steps(2000))
        self.train("run", "--resume", *steps(4000), *FASTER)
        run = self.start(*JOB, "--resume", *LONG, *FALLING)
        self.wait_step(4001)
        self.succeeds("pause", "--dir", "run")
        for name in ("worker:0", "ps:1", "coordinator:0", "coordinator:1"):
            self.kill_and_wait(name)
        self.succeeds("resume", "--dir", "run")
        self.wait_step(5000)
        self.kill_and_wait("ps:0")
        result = self.end(run)
        calm = self.undisturbed(result["steps"])
        self.assertEqual(result["parameters_digest"], calm)
        self.assertEqual(self.before("calm"), [(2000, 0.00001), (4000, 0.00003)])
        self.assertEqual(self.before("run"), self.before("calm"))
        unchanged = self.alone(QUICK, "unchanged", *JOB, *steps(result["steps"]))
        self.assertNotEqual(calm, unchanged["parameters_digest"])

    @own_servers
    def test_agent_is_killed_and_the_whole_list_gives_the_same(self):
        """kill -9 of everything after the change; a new run of the changed job file, undisturbed, has the same bits."""
        self.train("run", *steps(2000))
        run = self.start(*JOB, "--resume", *LONG, *FASTER)
        self.wait_step(3000)
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
        self.wait_for("the nodes end", lambda: not self.processes())
        newest = max(checkpoint["step"] for checkpoint in json.loads(
            self.succeeds("checkpoints", "list", "--dir", "run", "-o", "json"))["checkpoints"])
        again = self.train("run", "--resume", *steps(newest + 1000), *FASTER)
        self.assertEqual(self.before("run"), [(2000, 0.00001)])
        job = str(self.folder / "run/job.json")
        out = json.loads(self.succeeds("run", job, "--local", "--dir", "new", "-o", "json"))
        self.assertEqual(out["steps"], newest + 1000)
        self.assertEqual(out["parameters_digest"], again)

    def test_older_checkpoint_keeps_its_rate(self):
        """A damaged checkpoint: training goes back to one before the change."""
        calm = self.undisturbed(END)
        self.train("run", "--local", *steps(2000))
        newest = sorted((self.folder / "run/checkpoints").glob("*/shard-0-of-1/data.mdb"))[-1]
        data = bytearray(newest.read_bytes())
        data[len(data) // 2] ^= 1
        newest.write_bytes(data)
        self.train("run", "--local", "--resume", *steps(4000), *FASTER)
        self.assertIn('"fallback"', (self.folder / "run/history.jsonl").read_text())
        self.assertEqual(self.train("run", "--local", "--resume", *steps(END), *FALLING), calm)

    def test_it_is_refused_without_resume(self):
        """Other keys are refused even with it, and an unfinished run is not changed by chance."""
        self.train("run", *steps(600), "--set", "checkpoint.every_steps=0")
        (self.folder / "run/result.json").unlink()
        self.refused(3, ["an unfinished run", "train.learning_rate is 1.0", "--resume"],
                     "run", QUICK, "--dir", "run", *JOB, *steps(600), *FASTER, "-q")
        self.refused(3, ["train.batch is 32 there and 64 here"], "run", QUICK, "--dir", "run", *JOB, *steps(600),
                     *FASTER, "--set", "train.batch=64", "--resume", "-q")
        self.refused(3, ["train.optimizer"], "run", QUICK, "--dir", "run", *JOB, *steps(600), "--set",
                     "train.optimizer=sgd", "--resume", "-q")
        self.assertEqual(self.before("run"), [])

    def test_it_is_shown(self):
        """In the history, the metrics, `status` and `compare`."""
        for directory, more in (("run", []), ("local", ["--local"])):
            self.train(directory, *steps(600), *more)
            self.train(directory, *steps(700), "--resume", *FASTER, *more)
            entries = [json.loads(line)["entry"] for line in
                       (self.folder / directory / "history.jsonl").read_text().splitlines()]
            self.assertEqual([(entry["step"], entry["cause"]) for entry in entries if entry["kind"] == "changed"],
                             [(600, "train.learning_rate 1e-5 -> 3e-5")])
            events = [json.loads(line) for line in (self.folder / directory / "metrics.jsonl").read_text().splitlines()]
            self.assertEqual([(event["step"], event["key"], event["to"]) for event in events
                              if event.get("event") == "changed"],
                             [(600, "train.steps", 700), (600, "train.learning_rate", 0.00003)])
            status = self.status(("--dir", directory))
            self.assertEqual((status["learning_rate"], status["rate_changed_at"]), (0.00003, [600]))
            self.assertIn("learning rate: 3e-05, changed at step 600\n", self.succeeds("status", "--dir", directory))
        self.assertIn("run: train.learning_rate changed from 1e-5 to 3e-5 at step 600",
                      self.succeeds("compare", "run", "local"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
