#!/usr/bin/env python3
"""examples/run-all: every example trains, and a cluster of two workers and its ps reaches the digest of one process.

Real processes and real ensembles; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import subprocess
import unittest

from case import PROGRAM, ROOT, Cli, patience
from installed import sanitizer_flags

FASHION = "/usr/share/datasets/fashion-mnist"


class Examples(Cli):
    def run_all(self, *options, code=0):
        result = subprocess.run([str(ROOT / "examples/run-all"), *options], capture_output=True, text=True,
                                timeout=patience(280), cwd=self.folder, env=dict(self.environment, TANIST_PROGRAM=PROGRAM), check=False)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def results(self, *options):
        answer = json.loads(self.run_all("--quick", "-o", "json", *options).stdout)
        return {result["name"]: result for result in answer["examples"]}

    def usable(self):
        """The examples whose data this machine has. test_ctr.py runs those of examples/ctr, but for this one."""
        folder = ROOT / "examples"
        jobs = {str(path.relative_to(folder).with_suffix("")): json.loads(path.read_text())
                for path in [*folder.glob("*.json"), folder / "ctr/wide-deep-hashed.json"]}
        images = os.path.isdir(FASHION)
        if not images:
            print("Fashion-MNIST is not installed: only examples without it are run")
        return [name for name, job in sorted(jobs.items()) if images or job["data"].get("path") != FASHION]

    def test_cluster_reaches_the_digest_of_one_process(self):
        names = self.usable()
        self.assertGreaterEqual(len(names), 4)
        one = self.results("--local", *names)
        cluster = self.results(*names, "--set", "cluster.workers=2", "--set", "zookeeper.servers=1")
        self.assertEqual(sorted(cluster), names)
        for name, result in cluster.items():
            self.assertEqual((result["status"], result["steps"]), ("done", 5), name)
            if result["mode"] == "sync":
                self.assertEqual(result["parameters_digest"], one[name]["parameters_digest"], name)
        self.assertEqual({name for name in names if cluster[name]["mode"] == "sync"}, set(one))

    def test_models_in_c(self):
        """They are built and trained; the network of cnn.c is that of cnn.json."""
        if sanitizer_flags():
            self.skipTest("built without the flags of the sanitizers")
        small = ["--set", "data.type=synthetic", "--set", "data.examples=256", "--set", "data.test_examples=64"]
        results = self.results("--local", "linear.c", "quantile.c", "bell.c", "hooks.c")
        self.assertEqual({result["status"] for result in results.values()}, {"done"})
        results = self.results("--local", "cnn.c", "cnn", *small)
        self.assertEqual(results["cnn.c"]["parameters_digest"], results["cnn"]["parameters_digest"])

    def test_table_and_failures(self):
        table = self.run_all("--quick", "--local", "quick").stdout.splitlines()
        self.assertEqual(table[0].split(), ["NAME", "STATUS", "STEPS", "LOSS", "ACCURACY", "SECONDS", "DIGEST"])
        self.assertEqual(table[1].split()[:3], ["quick", "done", "5"])
        failed = self.run_all("--local", "quick", "--set", "train.batch=33", "-o", "json", code=1)
        self.assertIn("train.batch is 33", json.loads(failed.stdout)["examples"][0]["error"])
        self.assertIn("there is no example 'nothing'", self.run_all("nothing", code=2).stderr)
        self.assertIn("there is no example 'session.c'", self.run_all("session.c", code=2).stderr)  # It trains nothing.


if __name__ == "__main__":
    unittest.main(verbosity=2)
