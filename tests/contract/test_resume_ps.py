#!/usr/bin/env python3
"""`--resume` with another number of ps, or another strategy: each holder of values reads what it owns from the shards of the
former ones, and the result is that of a run in one process, whatever dies before, while and after they load.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import shutil
import signal
import time
import unittest

from case import LONG, QUICK, Cli, own_servers, patience, pids, small_table_job, some

ADAM = ["--set", "train.optimizer=adam", "--set", "train.learning_rate=0.0001", "--set", "train.ema=0.9", "--set",
        "train.clip_norm=0.5", "--set", "checkpoint.every_steps=200", "--set", "model.inputs=96"]
END = 50000000  # Beyond what a test reaches: it ends the run.
MIRROR = ["--set", "strategy.type=mirror"]


def ps(count):
    return ["--set", f"cluster.ps={count}"]


def steps(count):
    return ["--set", f"train.steps={count}"]


@own_servers
class ResumePs(Cli):
    job_file = QUICK

    def train(self, directory, *options):
        """Run to the end; returns the result."""
        return json.loads(self.succeeds("run", self.job_file, "--dir", directory, *options, "-q", "-o", "json",
                                        timeout=patience(120)))

    def start(self, *options):
        return self.spawn("run", self.job_file, "--dir", "run", "-q", "-o", "json", *options)

    def kill_agent(self, run):
        os.kill(run.pid, signal.SIGKILL)
        run.communicate()
        self.wait_for("the nodes end", lambda: not self.processes())

    def checkpoints(self):
        return json.loads(self.succeeds("checkpoints", "list", "--dir", "run", "-o", "json"))["checkpoints"]

    def check_intact(self, shards):
        """The newest checkpoint is complete, and of this many ps."""
        self.succeeds("checkpoints", "verify", "--dir", "run")
        self.assertEqual(self.checkpoints()[0]["shards"], shards)

    def kill(self, *names):
        """SIGKILL, each after a checkpoint."""
        for name in names:
            self.check_it_continues()
            os.kill(pids(self.wait_tasks())[name], signal.SIGKILL)

    def changes(self):
        return [entry["cause"] for entry in self.history() if entry["kind"] == "changed"]


class Dense(ResumePs):
    def test_three_two_five(self):
        """All state of the optimizer, moving averages and norms; kills of everything around both changes."""
        run = self.start(*ADAM, *steps(END), *ps(3))
        self.kill("ps:2")
        self.wait_step(600)
        self.kill_agent(run)
        self.check_intact(3)
        for number, count in enumerate((2, 5)):
            before = self.checkpoints()[0]["id"]
            for delay in some((0.8, 1.4, 0.4, 1.1), 2):  # Before, while and just after the ps load.
                run = self.start(*ADAM, *steps(END), *ps(count), "--resume")
                time.sleep(delay)
                self.kill_agent(run)
                self.succeeds("checkpoints", "verify", "--dir", "run")
                self.assertGreaterEqual(self.checkpoints()[0]["id"], before)
            run = self.start(*ADAM, *steps(END), *ps(count), "--resume")
            self.kill("ps:0", f"ps:{count - 1}", "worker:0", "coordinator:0")
            if number == 0:
                self.kill_agent(run)
                self.check_intact(count)
        self.succeeds("stop", "--dir", "run")
        result = self.result(run, timeout=240)
        wanted = self.alone(self.job_file, "local", *ADAM, *steps(result["steps"]))
        for key in ("status", "parameters_digest", "checkpoint_digest", "loss", "accuracy"):
            self.assertEqual(result[key], wanted[key], key)
        self.assertEqual(self.changes(), ["cluster.ps 3 -> 2", "cluster.ps 2 -> 5"])
        self.check_intact(5)
        self.assertIn("loss", self.succeeds("evaluate", "run"))

    def test_a_damaged_checkpoint_falls_back_to_one_of_the_former_ps(self):
        wanted = self.alone(self.job_file, "local", *ADAM, *steps(2000))
        self.train("run", *ADAM, *steps(1000), *ps(3))
        newest = self.checkpoints()[0]["id"]
        path = self.folder / f"run/checkpoints/{newest:010}/shard-1-of-3/data.mdb"
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        result = self.train("run", *ADAM, *steps(2000), *ps(2), "--resume")
        self.assertEqual(result["parameters_digest"], wanted["parameters_digest"])
        self.assertIn('"fallback"', (self.folder / "run/history.jsonl").read_text())

    def test_rate_and_number_change_together(self):
        rate = ["--set", "train.learning_rate=0.001"]
        self.alone(self.job_file, "local", *ADAM, *steps(1000))
        wanted = self.alone(self.job_file, "local", *ADAM, *steps(2000), "--resume", *rate)
        self.train("run", *ADAM, *steps(1000), *ps(1))
        result = self.train("run", *ADAM, *steps(2000), *ps(4), "--resume", *rate)
        self.assertEqual(result["parameters_digest"], wanted["parameters_digest"])
        self.assertEqual(self.changes(), ["train.learning_rate 0.0001 -> 0.001, cluster.ps 1 -> 4"])

    def test_async_runs_continue(self):
        job = ["--set", "train.mode=async", "--set", "checkpoint.every_steps=200", "--set", "model.inputs=64"]
        self.train("run", *job, *steps(1000), *ps(2))
        result = self.train("run", *job, *steps(2000), *ps(3), "--resume")
        self.assertEqual((result["status"], result["steps"]), ("done", 2000))
        self.check_intact(3)

    @own_servers
    def test_zookeeper_has_lost_everything(self):
        """The disks and the job are enough."""
        wanted = self.alone(self.job_file, "local", *ADAM, *steps(2000))
        self.train("run", *ADAM, *steps(1000), *ps(2))
        shutil.rmtree(self.folder / "run/zookeeper")
        result = self.train("run", *ADAM, *steps(2000), *ps(3), "--resume")
        self.assertEqual(result["parameters_digest"], wanted["parameters_digest"])
        self.check_intact(3)


class Strategies(ResumePs):
    def test_ps_mirror_ps(self):
        """Runs without an end, as their speed differs; one process computes the same in as many steps."""
        run = self.begin(*ADAM, *ps(2))
        self.kill("ps:1")
        self.kill_agent(run)
        for options, shards, victims in ((MIRROR, 1, ("worker:0", "worker:1", "coordinator:0")),
                                         (ps(3), 3, ("ps:2", "worker:0"))):
            for delay in some((0.8, 0.4, 1.2), 1):  # Before, while and just after they load.
                run = self.start(*LONG, *ADAM, *options, "--resume")
                time.sleep(delay)
                self.kill_agent(run)
                self.succeeds("checkpoints", "verify", "--dir", "run")
            run = self.start(*LONG, *ADAM, *options, "--resume")
            self.kill(*victims)
            if shards == 1:
                self.kill_agent(run)
                self.check_intact(shards)
        result = self.end(run)
        self.check_intact(3)
        wanted = self.alone(self.job_file, "local", *ADAM, *steps(result["steps"]))
        for key in ("parameters_digest", "checkpoint_digest", "loss", "accuracy"):
            self.assertEqual(result[key], wanted[key], key)
        self.assertEqual(self.changes(), ["strategy.type ps -> mirror", "strategy.type mirror -> ps"])

    def test_it_is_refused_without_resume(self):
        self.train("run", *ADAM, *steps(400), *ps(2))
        (self.folder / "run/result.json").unlink()
        self.refused(3, ["run with strategy.type ps", "--resume to continue it with strategy.type mirror"], "run", QUICK,
                     "--dir", "run", *ADAM, *steps(400), *MIRROR, "-q")
        self.refused(3, ["train.mode", "--set train.mode=sync"], "run", QUICK, "--dir", "run", *steps(400), *MIRROR,
                     "--set", "train.mode=async", "--resume", "-q")
        self.check_intact(2)

    def test_a_worker_needs_all_shards(self):
        self.train("run", *ADAM, *steps(400), *ps(3))
        folder = self.folder / f"run/checkpoints/{self.checkpoints()[0]['id']:010}"
        (folder / "shard-1-of-3").rename(self.folder / "away")
        run = self.start(*ADAM, *steps(600), *MIRROR, "--set", "cluster.workers=1", "--resume")
        held = self.wait_status("held", lambda status: status["phase"] == "held" and status["held"]["missing"])["held"]
        self.assertEqual([(shard["task"], shard["shard"]) for shard in held["missing"]],
                         [("worker:0", 0), ("worker:0", 1), ("worker:0", 2)])
        self.assertIn("each worker needs all shards", self.succeeds("status", "--dir", "run"))
        (self.folder / "away").rename(folder / "shard-1-of-3")
        os.kill(pids(self.live_status())["worker:0"], signal.SIGKILL)
        self.assertEqual(self.result(run)["steps"], 600)


class Refusals(ResumePs):
    def test_it_is_refused_without_resume(self):
        self.train("run", *ADAM, *steps(400), *ps(2))
        (self.folder / "run/result.json").unlink()
        self.refused(3, ["cluster.ps is 2 there and 3 here", "--resume"], "run", QUICK, "--dir", "run", *ADAM,
                     *steps(400), *ps(3), "-q")
        self.refused(3, ["9 parameters", "at most 1 ps"], "run", QUICK, "--dir", "new", *ps(3), "-q")
        self.check_intact(2)

    def test_whole_variables_continue(self):
        """Another number of ps orders them differently, and a run without ps does not order them."""
        greedy = ["--set", "placement.strategy=greedy"]
        job = ["--set", "model.type=layers", "--set", 'model.layers=[{"dense": 8}, {"dense": 1}]', "--set",
               "model.loss=squared_error", "--set", "train.optimizer=adam"]
        self.train("run", *job, *greedy, *steps(100), *ps(2))
        self.refused(3, ["placement.strategy", "--set placement.strategy=ranges"], "run", QUICK, "--dir", "run", *job,
                     *greedy, *steps(200), *MIRROR, "--resume", "-q")
        self.train("run", *job, *greedy, *steps(200), *ps(3), "--resume")
        self.train("run", *job, *steps(300), *MIRROR, "--resume")
        result = self.train("run", *job, *greedy, *steps(400), *ps(4), "--resume")
        self.assertEqual(result["parameters_digest"],
                         self.alone(self.job_file, "local", *job, *steps(400))["parameters_digest"])
        self.check_intact(4)

    def test_a_missing_shard_is_named(self):
        """Both ps need the middle shard of three, and one of them the first one."""
        self.train("run", *ADAM, *steps(400), *ps(3))
        newest = self.checkpoints()[0]["id"]
        folder = self.folder / f"run/checkpoints/{newest:010}"
        (folder / "shard-1-of-3").rename(self.folder / "away")
        run = self.start(*ADAM, *steps(600), *ps(2), "--resume")
        held = self.wait_status("held", lambda status: status["phase"] == "held" and
                                len(status["held"]["missing"]) == 4)["held"]
        self.assertEqual([(shard["task"], shard["shard"]) for shard in held["missing"]],
                         [("ps:0", 0), ("ps:0", 1), ("ps:1", 1), ("ps:1", 2)])
        self.assertIn("has the shards of 3 ps, the job has 2", self.succeeds("status", "--dir", "run"))
        (self.folder / "away").rename(folder / "shard-1-of-3")
        os.kill(pids(self.live_status())["ps:0"], signal.SIGKILL)
        self.assertEqual(self.result(run)["steps"], 600)


class Tables(ResumePs):
    def setUp(self):
        super().setUp()
        job = small_table_job({"steps": END}, evaluate={"every_steps": 300}, checkpoint={"every_steps": 50, "keep": 3},
                              cluster={"coordinators": 2, "ps": 3, "workers": 2})
        self.job_file = self.job(json.dumps(job))

    def test_three_two_five(self):
        """The rows of each ps come from the shards of several; the digest covers all rows."""
        run = self.start()
        self.kill("ps:1")
        self.kill_agent(run)
        self.check_intact(3)
        for count in (2, 5):
            run = self.start(*ps(count), "--resume")
            time.sleep(1.2)
            self.kill_agent(run)
            self.succeeds("checkpoints", "verify", "--dir", "run")
            run = self.start(*ps(count), "--resume")
            self.kill("ps:0", f"ps:{count - 1}")
            if count == 2:
                self.kill_agent(run)
                self.check_intact(2)
        self.succeeds("stop", "--dir", "run")
        result = self.result(run, timeout=240)
        wanted = self.alone(self.job_file, "local", *steps(result["steps"]))
        for key in ("status", "parameters_digest", "checkpoint_digest", "loss", "auc"):
            self.assertEqual(result[key], wanted[key], key)
        rows = [[(table["name"], table["rows"]) for table in each["tables"]] for each in (result, wanted)]
        self.assertEqual(rows[0], rows[1])
        self.check_intact(5)


if __name__ == "__main__":
    unittest.main(verbosity=2)
