#!/usr/bin/env python3
"""The models of examples/ctr: on a cluster, in one process and as the programs of examples/c/ctr they reach the same
digest, tables included, and an AUC near the best possible one.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import subprocess
import unittest

from case import ROOT, Cli, patience

BEST_AUC_LESS = 0.06  # The greatest distance to the best AUC after the few steps of this test.


class Ctr(Cli):
    def run_model(self, name, directory, *options, library=None):
        job = json.loads((ROOT / f"examples/ctr/{name}.json").read_text(encoding="utf-8"))
        if library is not None:
            job["model"] = {"type": "library", "path": str(library), "outputs": 1, "loss": job["model"]["loss"]}
            for column in job["data"]["columns"].values():
                if column != "number":
                    del column["embed"]
        job["data"].update({"examples": 60000, "test_examples": 10000, "options": {"values": 3}})
        job["train"].update({"steps": 200, "learning_rate": 0.01, "decay_steps": 200})
        job["evaluate"] = {}
        job["zookeeper"] = {"servers": 1}
        out = self.succeeds("run", self.job(json.dumps(job)), "--dir", directory, "-o", "json", *options,
                            timeout=patience(180))
        return json.loads(out)

    def build(self, name):
        """The model in C, a library."""
        library = self.folder / f"{name}.so"
        subprocess.run(["cc", "-std=c17", "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include",
                        ROOT / f"examples/c/ctr/{name}.c", "-o", library], check=True)
        return library

    def check_same(self, name, tables):
        one = self.run_model(name, f"{name}-one", "--local")
        cluster = self.run_model(name, f"{name}-cluster")
        in_c = self.run_model(name, f"{name}-c", "--local", library=self.build(name))
        for key in ("parameters_digest", "metrics", "tables"):
            self.assertEqual(in_c[key], one[key], key)
        for key in ("status", "parameters_digest", "checkpoint_digest", "loss", "auc"):
            self.assertEqual(cluster[key], one[key], key)
        for result in (one, cluster):
            self.assertEqual(len(result["tables"]), tables)
            self.assertTrue(all(table["rows"] > 0 and table["bytes"] > 0 for table in result["tables"]))
        return one, cluster

    def check_model(self, name, tables):
        one, _ = self.check_same(name, tables)
        best = json.loads(self.succeeds("data", "show", "job.json", "-o", "json"))["best_auc"]
        self.assertGreater(one["auc"], best - BEST_AUC_LESS)
        self.assertLess(one["auc"], best + 0.001)

    def test_wide_and_deep(self):
        self.check_model("wide-deep", 56)

    def test_deepfm(self):
        self.check_model("deepfm", 52)

    def test_dlrm(self):
        self.check_model("dlrm", 26)

    def test_two_tower(self):
        """Retrieval: queries find their items more often than by chance, and scores separate clicks."""
        one, cluster = self.check_same("two-tower", 26)
        self.assertEqual(cluster["metrics"], one["metrics"])
        self.assertGreater(one["metrics"]["slice_recall"], 1.4 / 64)
        self.assertGreater(one["auc"], 0.54)
        evaluated = json.loads(self.succeeds("evaluate", "two-tower-one", "-o", "json"))
        self.assertAlmostEqual(evaluated["loss"], one["loss"], places=9)


if __name__ == "__main__":
    unittest.main(verbosity=2)
