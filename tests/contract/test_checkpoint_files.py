#!/usr/bin/env python3
"""`tanist checkpoints show` of a model with tables: its rows, and the files that have them, of a run in one process and of a
cluster; each damaged and missing file is named.

Real processes; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import unittest

from case import ROOT, Cli, patience

DAMAGED = 6


class CheckpointFiles(Cli):
    def setUp(self):
        super().setUp()
        self.json = json.loads((ROOT / "examples/ctr/two-tower.json").read_text(encoding="utf-8"))
        self.json["data"].update({"examples": 20000, "test_examples": 1000, "options": {"values": 2000}})
        self.json["train"].update({"steps": 40, "batch": 32})
        self.json["evaluate"] = {"every_steps": 40}
        self.json["checkpoint"] = {"every_steps": 20, "keep": 3}
        self.json["cluster"] = {"coordinators": 1, "ps": 2, "workers": 1}
        self.json["zookeeper"] = {"servers": 1}

    def train(self, *options):
        return json.loads(self.succeeds("run", self.job(json.dumps(self.json)), "--dir", "run", "-o", "json", *options,
                                        timeout=patience(120)))

    def show(self, code=0):
        result = self.tanist("checkpoints", "show", "2", "--dir", "run", "-o", "json")
        self.assertEqual(result.returncode, code, result.stderr)
        return json.loads(result.stdout)

    def check(self, result, shards):
        """The rows are those of the result, and a chain of each shard begins with all its rows."""
        shown = self.show()
        rows = [(table["name"], table["rows"]) for table in shown["tables"]]
        self.assertEqual(rows, [(table["name"], table["rows"]) for table in result["tables"]])
        for table in shown["tables"]:
            self.assertGreaterEqual(table["bytes"], table["rows"] * (8 + 4 * table["width"]))
        self.assertTrue(shown["variables"])
        files = shown["files"]
        self.assertEqual({file["shard"] for file in files}, set(range(shards)))
        for shard in range(shards):
            chain = [file for file in files if file["shard"] == shard]
            self.assertEqual([file["kind"] for file in chain], ["full"] + ["delta"] * (len(chain) - 1))
            self.assertEqual(chain[-1]["checkpoint"], 2)
        for file in files:
            self.assertEqual((file["state"], file["reason"]), ("intact", None))
            self.assertGreater(file["rows"], 0)
            self.assertEqual((self.folder / file["path"]).stat().st_size, file["bytes"])
        self.assertGreaterEqual(sum(file["rows"] for file in files), sum(count for _, count in rows))
        text = self.succeeds("checkpoints", "show", "2", "--dir", "run")
        self.assertRegex(text, r"\nTABLE +WIDTH +ROWS +BYTES\ncolumns/C1/rows +8 +\d+ +\d+\n")
        self.assertRegex(text, r"\nSHARD +WRITTEN BY +KIND +ROWS +BYTES +STATE\n +0 +\d+ +full +\d+ +\d+ +intact\n")
        return files

    def damage(self, files):
        """The last file is missing, then one byte of the first one changes, too: each is named, and the rest is intact."""
        first, last = (self.folder / files[at]["path"] for at in (0, -1))
        last.rename(last.with_name("moved"))
        states = [file["state"] for file in self.show(code=DAMAGED)["files"]]
        self.assertEqual(states, ["intact"] * (len(files) - 1) + ["missing"])
        data = bytearray(first.read_bytes())
        data[len(data) // 2] ^= 1
        with open(first, "r+b") as file:
            file.write(data)
        states = [file["state"] for file in self.show(code=DAMAGED)["files"]]
        self.assertEqual(states, ["damaged"] + ["intact"] * (len(files) - 2) + ["missing"])
        result = self.tanist("checkpoints", "show", "2", "--dir", "run")
        self.assertEqual(result.returncode, DAMAGED)
        for path in (first, last):
            self.assertIn(path.name, result.stdout)
        self.assertIn(first.name, result.stderr)

    def test_of_one_process(self):
        files = self.check(self.train("--local"), 1)
        self.assertGreater(len(files), 1)
        self.damage(files)

    def test_of_a_cluster(self):
        files = self.check(self.train(), 2)
        self.damage(files)
        shard = next((self.folder / "run/checkpoints").glob("*2/shard-1-of-2/*.mdb"))
        shard.unlink()
        last = self.show(code=DAMAGED)["files"][-1]
        self.assertEqual((last["shard"], last["kind"], last["state"]), (1, "shard", "missing"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
