#!/usr/bin/env python3
"""Tables of rows by key on a cluster: ps, workers and chiefs die, and the result is that of a run in one process, rows
included; checkpoints have the rows of each ps, and damage falls back to an older one.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import re
import unittest

from case import LONG, ROOT, STEADY, Cli, long, own_servers, patience, small_table_job, some

STEPS = 1200


class ClusterTables(Cli):
    def setUp(self):
        super().setUp()
        self.json = small_table_job({"steps": STEPS}, evaluate={"every_steps": 400},
                                    checkpoint={"every_steps": 50, "keep": 3},
                                    cluster={"coordinators": 2, "ps": 3, "workers": 2})

    def write(self):
        return self.job(json.dumps(self.json))

    def start(self, *options):
        return self.spawn("run", self.write(), "--dir", "run", "-o", "json", *options)

    def local(self, *options):
        return self.alone(self.write(), "local", *options)

    def check_same(self, result, wanted, tables=56):
        for key in ("status", "parameters_digest", "checkpoint_digest", "loss", "auc", "metrics", "evaluations"):
            self.assertEqual(result[key], wanted[key], key)
        self.check_same_rows(result, wanted)
        self.assertEqual(len(result["tables"]), tables)

    def check_same_rows(self, result, wanted):
        counts = [[(table["name"], table["rows"]) for table in run["tables"]] for run in (result, wanted)]
        self.assertEqual(counts[0], counts[1])

    def rows(self):
        return sorted((self.folder / "run/checkpoints").glob("*/shard-*/rows-*"))


class Kills(ClusterTables):
    def test_kills_change_no_bit_of_two_towers(self):
        """Items are compared within a slice, on any worker; the last part of an evaluation is smaller."""
        job = json.loads((ROOT / "examples/ctr/two-tower.json").read_text(encoding="utf-8"))
        self.json["model"] = job["model"]
        self.json["data"].update({"columns": job["data"]["columns"], "test_examples": 1001})
        self.json["train"] = {**job["train"], "steps": 600, "batch": 32}
        self.json["evaluate"] = {"every_steps": 200}
        self.check_kills(["ps:1"], ["worker:0"], ["chief"], tables=26)

    def test_kills_change_no_bit(self):
        """SIGKILL to a ps, a worker, the chief, and two ps at once, each after a checkpoint."""
        result = self.check_kills(*some((["ps:1"], ["chief"], ["ps:0", "worker:1"], ["worker:0"], ["ps:0", "ps:2"]), 3))
        self.assertGreaterEqual(len(result["recoveries"]), 2)

    def test_kills_change_no_bit_of_workers_in_one_process(self):
        """They share lookups: rows that several of them read are asked for once."""
        self.json["cluster"].update({"ps": 2, "workers": 4, "workers_per_process": 2})
        self.check_kills(["worker:1"], ["ps:1"])

    def check_kills(self, *rounds, tables=56):
        run = self.start(*LONG)
        for names in rounds:
            self.check_it_continues()
            self.kill_in_the_middle(*names)
        result = self.end(run)
        wanted = self.local("--set", f"train.steps={result['steps']}")
        self.check_same(result, wanted, tables)
        return result

    @long
    def test_other_numbers_of_nodes_give_the_same_bits(self):
        self.json["train"]["steps"] = 200
        wanted = self.local()
        for number, ps in enumerate((1, 2)):
            self.json["cluster"].update({"ps": ps, "workers": 3 - ps})
            out = self.succeeds("run", self.write(), "--dir", f"run{number}", "-o", "json", timeout=patience(120))
            self.check_same(json.loads(out), wanted)


class Async(ClusterTables):
    """Each slice updates its rows alone; whatever dies, each contributes once to each step."""

    def local(self, *options):
        return super().local("--set", "train.mode=sync", *options)

    @long
    def test_one_slice_has_the_bits_of_sync(self):
        """Then the order of updates is known, also after ps and the chief were killed, but not the worker (A8)."""
        self.json["train"].update({"mode": "async", "slices": 1})
        self.json["cluster"]["workers"] = 1
        run = self.start(*LONG, *STEADY)
        for names in (["ps:1"], ["chief"], ["ps:0", "ps:2"]):
            self.check_it_continues()
            self.kill_in_the_middle(*names)
        result = self.end(run)
        wanted = self.local("--set", f"train.steps={result['steps']}")
        self.assertGreaterEqual(len(result["recoveries"]), 2)
        for key in ("parameters_digest", "checkpoint_digest", "loss", "auc"):
            self.assertEqual(result[key], wanted[key], key)
        self.check_same_rows(result, wanted)

    def test_rows_are_those_of_sync(self):
        """The order of updates changes values, not which rows are trained, nor how well the model predicts."""
        self.json["train"].update({"mode": "async", "slices": 8})
        run = self.start(*LONG)
        for names in (["worker:0"], ["ps:1"], ["chief", "worker:1"]):
            self.check_it_continues()
            self.kill_in_the_middle(*names)
        result = self.end(run)
        wanted = self.local("--set", f"train.steps={result['steps']}")
        self.check_same_rows(result, wanted)
        self.assertAlmostEqual(result["auc"], wanted["auc"], delta=0.03)


class Expiry(ClusterTables):
    """Rows that were not trained for some steps expire, at the same steps wherever and after whatever."""

    def setUp(self):
        super().setUp()
        self.json["train"].update({"steps": 301, "tables": [{"match": "*", "expire_after_steps": 20}]})
        self.json["evaluate"] = {"every_steps": 100}
        self.json["checkpoint"]["every_steps"] = 10

    def check_end(self, run, kind):
        result = self.end(run)
        self.check_same(result, self.local("--set", f"train.steps={result['steps']}"))
        self.assertIn(kind, [recovery["kind"] for recovery in result["recoveries"]])

    def test_kills_change_no_bit(self):
        run = self.begin()
        for names in (["ps:1"], ["ps:0", "worker:1"], ["ps:0", "ps:2"]):
            self.check_it_continues()
            self.kill_in_the_middle(*names)
        self.check_end(run, "warm")

    @own_servers
    def test_loads_change_no_bit(self):
        """With its agent a ps loses its memory: it loads files, some of whose rows have expired."""
        run = self.begin()
        for _ in range(3):
            self.check_it_continues()
        run.kill()
        run.communicate()
        run = self.start(*LONG)
        self.wait_status("a new generation", lambda status: (status["phase"], status["generation"]) == ("running", 2))
        self.check_end(run, "restart")

    @long
    def test_other_numbers_of_ps_give_the_same_bits(self):
        wanted = self.local()
        self.json["cluster"].update({"ps": 1, "workers": 1})
        out = self.succeeds("run", self.write(), "--dir", "run", "-o", "json", timeout=patience(120))
        self.check_same(json.loads(out), wanted)
        self.json["train"]["tables"] = []
        kept = self.alone(self.write(), "kept")
        rows, all_rows = [sum(table["rows"] for table in result["tables"]) for result in (wanted, kept)]
        self.assertLess(rows, all_rows / 3)
        self.assertNotEqual(wanted["parameters_digest"], kept["parameters_digest"])


class Admission(Expiry):
    """The same of keys that get a row when they have occurred often enough."""

    def setUp(self):
        super().setUp()
        self.json["train"]["tables"] = [{"match": "*", "expire_after_steps": 40, "admit_after": 3, "admit_within_steps": 30}]

    test_kills_change_no_bit = long(Expiry.test_kills_change_no_bit)


class Files(ClusterTables):
    def shards(self):
        """The files with rows of each shard, by checkpoint."""
        found = {}
        for path in self.rows():
            found.setdefault(int(path.parent.parent.name), {}).setdefault(path.parent.name, []).append(path)
        return found

    def newest_files(self):
        """The row files of the first shard of the newest checkpoint: a full one and its deltas."""
        shards = self.shards()
        return shards[max(shards)]["shard-0-of-3"]

    def having(self, file):
        """The checkpoints that have a file, the newest first."""
        found = [id for id, shards in self.shards().items() for path in sum(shards.values(), []) if path.samefile(file)]
        return sorted(found, reverse=True)

    def flip(self, path):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        with open(path, "r+b") as file:  # In place: other checkpoints have the same file.
            file.write(data)

    def resume(self, wanted):
        (self.folder / "run/result.json").unlink()
        result = self.result(self.start("--resume"))
        self.check_same(result, wanted)
        return [entry["checkpoint"] for entry in self.history() if entry["kind"] == "fallback"]  # Also those of former runs.

    def test_damage_falls_back(self):
        """A delta: to the checkpoint before it. A file that all newest ones have: to the one of an earlier chain."""
        self.json["train"]["steps"] = 300
        self.json["evaluate"] = {"every_steps": 100}
        self.json["checkpoint"]["every_steps"] = 10
        self.succeeds("run", self.write(), "--dir", "run", timeout=patience(120))
        while len(self.newest_files()) == 1:  # It depends on the checkpoints that were missed which ones are full.
            self.json["train"]["steps"] += 20
            self.succeeds("run", self.write(), "--dir", "run", "--resume", timeout=patience(120))
        (self.folder / "run/result.json").unlink()
        wanted = self.local()
        self.check_same(json.loads(self.succeeds("run", self.write(), "--dir", "run", "-o", "json", "--resume",
                                                 timeout=patience(120))), wanted)
        self.assertEqual(self.tanist("checkpoints", "verify", "--dir", "run").returncode, 0)
        shards = self.shards()
        ids = sorted(shards)
        self.assertEqual(len(ids), 4, ids)
        self.assertLess(ids[0], ids[-1] // 16 * 16)
        self.assertEqual([len(files) for files in shards.values()], [3] * 4)
        newest = self.newest_files()
        self.assertGreater(len(newest), 1)
        self.assertEqual(newest[0].stat().st_nlink, len(self.having(newest[0])))
        self.assertLess(newest[-1].stat().st_size, newest[0].stat().st_size / 2)
        saves = re.findall(r" table_rows=(\d+) bytes=(\d+) files=(\d+)",
                           (self.folder / "run/logs/ps-0.log").read_text(encoding="utf-8"))
        self.assertEqual(int(saves[-1][1]), newest[-1].stat().st_size)
        full = [int(rows) for rows, _, files in saves if files == "1"]
        deltas = [int(rows) for rows, _, files in saves if files != "1"]
        self.assertGreater(len(deltas), len(full))
        self.assertLess(max(deltas), max(full) / 2)
        self.flip(newest[-1])
        verified = self.tanist("checkpoints", "verify", "--dir", "run")
        self.assertNotEqual(verified.returncode, 0)
        self.assertIn("its digest is not that of its checkpoint", verified.stdout + verified.stderr)
        self.assertEqual(self.resume(wanted), [ids[-1]])
        shards = self.shards()
        full = shards[max(shards)]["shard-0-of-3"][0]
        damaged = self.having(full)
        self.assertLess(len(damaged), len(shards))
        self.flip(full)
        self.assertEqual(self.resume(wanted), [ids[-1], *(id for id in damaged if id != ids[-1])])


class Limits(ClusterTables):
    def test_a_limit_of_memory_ends_the_job(self):
        """A ps that exceeds it ends the job with an error that names a table, its rows and the key."""
        self.json["data"]["options"] = {"values": 100000}
        self.json["train"].update({"steps": 100, "batch": 256})  # More than one pass over the examples.
        limited = self.tanist("run", self.write(), "--dir", "run", "--set", "cluster.table_mib=1", timeout=patience(120))
        self.assertEqual(limited.returncode, 3, limited.stderr)
        for text in ("ps:", "cluster.table_mib, 1 MiB", "the table 'columns/", " rows in "):
            self.assertIn(text, limited.stderr)
        self.check_same(json.loads(self.succeeds("run", self.write(), "--dir", "run", "-o", "json", "--set",
                                                 "cluster.table_mib=100", timeout=patience(120))), self.local())


class Refusals(ClusterTables):
    def test_what_a_cluster_does_not_train(self):
        self.refused(3, ["cluster.evaluators is 1", "wide1/rows"], "run", self.write(), "--dir", "refused", "--set",
                     "cluster.evaluators=1")
        self.json["train"]["tables"] = [{"match": "*", "expire_after_steps": 20}]
        self.refused(3, ["expire_after_steps", "async"], "run", self.write(), "--dir", "refused", "--set",
                     "train.mode=async")

    def test_another_number_of_ps_does_not_continue_a_run(self):
        self.json["train"]["steps"] = 50
        self.succeeds("run", self.write(), "--dir", "run", "-o", "json", timeout=patience(120))
        (self.folder / "run/result.json").unlink()
        result = self.tanist("run", self.write(), "--dir", "run", "--set", "cluster.ps=2", timeout=patience(120))
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("cluster.ps", result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
