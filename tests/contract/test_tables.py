#!/usr/bin/env python3
"""Tables of rows by key in one process: columns with "table" train, checkpoints hold their rows in a full file and
deltas, kills and damage change no bit of the result; settings that have no meaning with tables are refused.

Real processes and disks; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import random
import subprocess
import unittest

from case import ROOT, Cli, patience

KEPT = 3


class Tables(Cli):
    def setUp(self):
        super().setUp()
        columns = {f"C{c}": {"as": "category", "embed": 4, "table": True} for c in range(1, 9)}
        columns["C1xC2"] = {"as": "cross", "of": ["C1", "C2"], "embed": 2, "table": True}
        columns["C9"] = {"as": "category", "hash": 32, "embed": 3}
        columns["I1"] = "number"
        self.json = {
            "strategy": {"type": "local"},
            "model": {"type": "layers", "layers": [{"dense": {"units": 16, "activation": "relu"}}, {"dense": 1}],
                      "outputs": 1, "loss": "sigmoid_cross_entropy"},
            "data": {"type": "criteo-like", "examples": 20000, "test_examples": 2000, "options": {"values": 1000},
                     "columns": columns},
            "train": {"steps": 400, "batch": 64, "slices": 4, "optimizer": "adam", "learning_rate": 0.002},
            "evaluate": {"every_steps": 100},
            "checkpoint": {"every_steps": 10, "keep": KEPT},
        }

    def write(self):
        return self.job(json.dumps(self.json))

    def local(self, directory, *options):
        return json.loads(self.succeeds("run", self.write(), "--dir", directory, "-o", "json", *options))

    def manifests(self, directory="run"):
        found = sorted((self.folder / directory / "checkpoints").glob("*/manifest.json"))
        return [json.loads(path.read_text(encoding="utf-8")) for path in found]

    def rows(self, directory="run"):
        return sorted((self.folder / directory / "checkpoints/tables").iterdir())

    def unfinish(self, directory="run"):
        (self.folder / directory / "result.json").unlink()


class Training(Tables):
    def test_kills_change_no_bit(self):
        """SIGKILL after random times; each start continues from the last checkpoint, to the same digest."""
        wanted = self.local("whole")
        names = [table["name"] for table in wanted["tables"]]
        self.assertEqual(names, [*(f"columns/C{c}/rows" for c in range(1, 9)), "columns/C1xC2/rows"])
        self.assertTrue(all(table["rows"] > 10 and table["bytes"] > 0 for table in wanted["tables"]))
        self.assertEqual(wanted["checkpoint_digest"], wanted["parameters_digest"])
        kills = 0
        while kills < 6:
            run = self.spawn("run", self.write(), "--dir", "run", "-o", "json")
            try:
                run.wait(timeout=random.uniform(0.1, 0.8))
                break
            except subprocess.TimeoutExpired:
                kills += 1
                run.kill()
                run.communicate(timeout=patience(120))
        result = self.local("run", "--resume")
        for key in ("parameters_digest", "checkpoint_digest", "loss", "auc", "evaluations"):
            self.assertEqual(result[key], wanted[key])
        counts = [[table["rows"] for table in run["tables"]] for run in (result, wanted)]
        self.assertEqual(counts[0], counts[1])

    def test_the_digest_covers_rows(self):
        """Another optimizer of rows changes it; threads that read ahead do not."""
        wanted = self.local("one")["parameters_digest"]
        self.assertEqual(self.local("threads", "--set", "data.threads=2")["parameters_digest"], wanted)
        for kind in ("sgd", "momentum", "adagrad", "row_adagrad", "ftrl"):
            other = self.local(kind, "--set", f"train.table_optimizer={kind}", "--set", "train.steps=50")
            self.assertTrue(other["loss"] < 0.8, kind)
            self.assertNotEqual(other["parameters_digest"], wanted)
        same = self.local("named", "--set", "train.table_optimizer=lazy_adam")
        self.assertEqual(same["parameters_digest"], wanted)

    def test_training_goes_on_with_a_rate_of_zero(self):
        """The schedule of the learning rate ends with 0, and the job has more steps: the parameters keep their values."""
        self.json["train"]["decay_steps"] = 50
        for kind in ("sgd", "ftrl"):
            optimizer = ("--set", "train.optimizer=sgd", "--set", f"train.table_optimizer={kind}")
            short = self.local(f"{kind}-50", *optimizer, "--set", "train.steps=50")
            long = self.local(f"{kind}-60", *optimizer, "--set", "train.steps=60")
            self.assertEqual(long["loss"], short["loss"])

    def test_a_program_in_c_reads_keys(self):
        """DLRM of examples/c/ctr, as a library: its tables are those of the source, and it learns."""
        library = self.folder / "dlrm.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", f"-I{ROOT}/include", ROOT / "examples/c/ctr/dlrm.c", "-o", library],
                       check=True)
        numbers = {f"I{k}": "number" for k in range(1, 14)}
        keys = {f"C{c}": {"as": "category", "table": True} for c in range(1, 27)}
        self.json["model"] = {"type": "library", "path": str(library), "outputs": 1, "loss": "sigmoid_cross_entropy"}
        self.json["data"]["columns"] = {**numbers, **keys}
        self.json["data"]["options"]["values"] = 5
        result = self.local("run")
        self.assertEqual([table["name"] for table in result["tables"]], [f"columns/C{c}/rows" for c in range(1, 27)])
        best = json.loads(self.succeeds("data", "show", self.write(), "-o", "json"))["best_auc"]
        self.assertGreater(result["auc"], best - 0.08)
        del self.json["data"]["columns"]["C26"]
        self.refused(3, ["reads 26 keys of tables", "give 25"], "run", self.write(), "--dir", "fewer")


class Files(Tables):
    def test_chains_are_kept_and_others_removed(self):
        """Later checkpoints of few changed rows are deltas; exactly the files that manifests name stay, and beside the newest
        checkpoints one that shares no file with them."""
        self.json["train"]["batch"] = 8
        self.json["checkpoint"]["every_steps"] = 4
        self.local("run")
        manifests = self.manifests()
        self.assertEqual(len(manifests), KEPT + 1)
        self.assertLess(manifests[0]["id"], manifests[-1]["id"] // 16 * 16)
        chains = [[entry["checkpoint"] for entry in manifest["chain"]] for manifest in manifests]
        self.assertTrue(any(len(chain) > 1 for chain in chains), chains)
        self.assertTrue(all(len(chain) <= 16 and chain[-1] == manifest["id"]
                            for chain, manifest in zip(chains, manifests)))
        self.assertEqual(set(chains[0]) & set(chains[-1]), set())
        named = {f"{checkpoint:010}.rows" for chain in chains for checkpoint in chain}
        self.assertEqual({path.name for path in self.rows()}, named)
        for manifest in manifests:
            for entry in manifest["chain"]:
                path = self.folder / f"run/checkpoints/tables/{entry['checkpoint']:010}.rows"
                self.assertEqual(path.stat().st_size, entry["bytes"])

    def test_damage_falls_back(self):
        """A damaged file is reported, an older checkpoint is loaded, and the result is the same."""
        self.json["checkpoint"]["every_steps"] = 100
        wanted = self.local("run")
        newest = self.manifests()[-1]["chain"][-1]["checkpoint"]
        path = self.folder / f"run/checkpoints/tables/{newest:010}.rows"
        self.assertEqual(self.tanist("checkpoints", "verify", "--dir", "run").returncode, 0)
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        self.unfinish()
        verified = self.tanist("checkpoints", "verify", "--dir", "run")
        self.assertNotEqual(verified.returncode, 0)
        self.assertIn(path.name, verified.stdout + verified.stderr)
        run = self.spawn("run", self.write(), "--dir", "run", "-o", "json")
        out, errors = run.communicate(timeout=patience(120))
        self.assertEqual(run.returncode, 0, errors)
        self.assertIn("its digest is not that of its checkpoint", errors)
        self.assertEqual(json.loads(out)["parameters_digest"], wanted["parameters_digest"])
        self.assertTrue(path.exists(), "a damaged file stays for an inspection")

    def test_a_missing_file_is_damage(self):
        self.json["checkpoint"]["every_steps"] = 200
        wanted = self.local("run")
        newest = self.manifests()[-1]["chain"][-1]["checkpoint"]
        (self.folder / f"run/checkpoints/tables/{newest:010}.rows").unlink()
        self.unfinish()
        self.assertEqual(self.local("run")["parameters_digest"], wanted["parameters_digest"])


class Limits(Tables):
    def test_a_limit_of_memory_ends_the_job(self):
        """The error names a table, its rows and the key; with a higher limit the run continues to the same digest."""
        self.json["data"]["options"]["values"] = 100000
        self.json["train"].update({"steps": 100, "batch": 256})  # More than one pass over the examples.
        wanted = self.local("whole")
        self.refused(3, ["cluster.table_mib, 1 MiB", "the table 'columns/C", " rows in "], "run", self.write(), "--dir",
                     "run", "--set", "cluster.table_mib=1")
        result = self.local("run", "--set", "cluster.table_mib=100")
        self.assertEqual(result["parameters_digest"], wanted["parameters_digest"])


class Refusals(Tables):
    def test_what_is_not_defined(self):
        for setting, text in [("train.clip_norm=1", "train.clip_value"), ("train.ema=0.9", "moving average"),
                              ("train.optimizer=lamb", "train.table_optimizer"),
                              ("train.optimizer=lars", "train.table_optimizer"),
                              ("train.weight_decay=0.1", "train.table_optimizer"),
                              ("train.table_optimizer=adam", "lazy_adam")]:
            self.refused(3, [text], "run", self.write(), "--dir", "refused", "--set", setting)

    def test_columns(self):
        for column, text in [({"as": "number", "table": True}, "table"),
                             ({"as": "category", "hash": 2000000, "embed": 1}, '"table": true'),
                             ({"as": "category", "table": True}, "embed"),
                             ({"as": "category", "embed": 4}, "hash")]:
            self.json["data"]["columns"]["C1"] = column
            del self.json["data"]["columns"]["I1"]
            self.json["data"]["columns"].pop("C1xC2", None)
            self.refused(3, [text], "run", self.write(), "--dir", "refused")
            self.json["data"]["columns"]["I1"] = "number"

    def test_another_optimizer_of_rows_does_not_continue_a_run(self):
        self.local("run")
        self.unfinish()
        self.refused(3, ["train.table_optimizer"], "run", self.write(), "--dir", "run", "--set",
                     "train.table_optimizer=sgd")


if __name__ == "__main__":
    unittest.main()
