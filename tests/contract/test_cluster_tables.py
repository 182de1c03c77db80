#!/usr/bin/env python3
"""Tables of rows by key on a cluster: ps, workers and chiefs die, and the result is that of a run in one process, rows
included; checkpoints have the rows of each ps, and damage falls back to an older one.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import signal
import unittest

from case import ROOT, Cli, patience, pids

STEPS = 1200


class ClusterTables(Cli):
    def setUp(self):
        super().setUp()
        self.json = json.loads((ROOT / "examples/ctr/wide-deep-tables.json").read_text(encoding="utf-8"))
        self.json["data"].update({"examples": 20000, "test_examples": 1000, "options": {"values": 1000}})
        self.json["train"].update({"steps": STEPS, "batch": 32})
        self.json["evaluate"] = {"every_steps": 400}
        self.json["checkpoint"] = {"every_steps": 50, "keep": 3}
        self.json["cluster"] = {"coordinators": 2, "ps": 3, "workers": 2}
        self.json["zookeeper"] = {"servers": 1}
        self.json["strategy"] = {"type": "ps"}

    def write(self):
        return self.job(json.dumps(self.json))

    def start(self, *options):
        return self.spawn("run", self.write(), "--dir", "run", "-o", "json", *options)

    def local(self, *options):
        return json.loads(self.succeeds("run", self.write(), "--local", "--dir", "local", "-o", "json", *options,
                                        timeout=patience(120)))

    def check_same(self, result, wanted):
        for key in ("status", "parameters_digest", "checkpoint_digest", "loss", "auc", "evaluations"):
            self.assertEqual(result[key], wanted[key], key)
        counts = [[(table["name"], table["rows"]) for table in run["tables"]] for run in (result, wanted)]
        self.assertEqual(counts[0], counts[1])
        self.assertEqual(len(counts[0]), 56)

    def rows(self):
        return sorted((self.folder / "run/checkpoints").glob("*/shard-*/rows"))


class Kills(ClusterTables):
    def test_kills_change_no_bit(self):
        """SIGKILL to a ps, a worker, the chief, and two ps at once, each after a checkpoint."""
        wanted = self.local()
        run = self.start()
        for names in (["ps:1"], ["worker:0"], ["chief"], ["ps:0", "worker:1"], ["ps:0", "ps:2"]):
            before = self.newest_checkpoint()
            self.wait_for("a checkpoint", lambda: self.newest_checkpoint() > before)
            if run.poll() is not None:
                break
            status = self.wait_tasks()
            for name in names:
                os.kill(status["chief"]["pid"] if name == "chief" else pids(status)[name], signal.SIGKILL)
        result = self.result(run, timeout=240)
        self.check_same(result, wanted)
        self.assertGreaterEqual(len(result["recoveries"]), 2)
        self.assertNotIn("warm", [recovery["kind"] for recovery in result["recoveries"]])

    def test_other_numbers_of_nodes_give_the_same_bits(self):
        self.json["train"]["steps"] = 200
        wanted = self.local()
        for number, ps in enumerate((1, 2)):
            self.json["cluster"].update({"ps": ps, "workers": 3 - ps})
            out = self.succeeds("run", self.write(), "--dir", f"run{number}", "-o", "json", timeout=patience(120))
            self.check_same(json.loads(out), wanted)


class Files(ClusterTables):
    def test_each_shard_has_rows(self):
        """As many checkpoints as are kept, with the rows of each ps; a damaged file falls back."""
        self.json["train"]["steps"] = 300
        self.json["evaluate"] = {"every_steps": 100}
        wanted = self.local()
        self.check_same(json.loads(self.succeeds("run", self.write(), "--dir", "run", "-o", "json",
                                                 timeout=patience(120))), wanted)
        self.assertEqual(len(self.rows()), 3 * 3)
        self.assertEqual(self.tanist("checkpoints", "verify", "--dir", "run").returncode, 0)
        path = self.rows()[-1]
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        verified = self.tanist("checkpoints", "verify", "--dir", "run")
        self.assertNotEqual(verified.returncode, 0)
        self.assertIn("its digest is not that of its checkpoint", verified.stdout + verified.stderr)
        (self.folder / "run/result.json").unlink()
        self.check_same(self.result(self.start("--resume"), timeout=120), wanted)


class Refusals(ClusterTables):
    def test_what_a_cluster_does_not_train(self):
        for setting, texts in (("train.mode=async", ["wide1/rows", "sync mode only"]),
                               ("cluster.evaluators=1", ["cluster.evaluators is 1", "wide1/rows"])):
            self.refused(3, texts, "run", self.write(), "--dir", "refused", "--set", setting)

    def test_another_number_of_ps_does_not_continue_a_run(self):
        self.json["train"]["steps"] = 50
        self.succeeds("run", self.write(), "--dir", "run", "-o", "json", timeout=patience(120))
        (self.folder / "run/result.json").unlink()
        result = self.tanist("run", self.write(), "--dir", "run", "--set", "cluster.ps=2", timeout=patience(60))
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("cluster.ps", result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
