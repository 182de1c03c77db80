#!/usr/bin/env python3
"""checkpoint.keep has one limit, which the error names, and is honoured up to it: on disk and in ZooKeeper.

A real run; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import unittest

from test_cli import QUICK, Cli

KEEP_MAX = 256


class Keep(Cli):
    def test_limit_is_named(self):
        self.refused(3, ["checkpoint.keep", str(KEEP_MAX)], "run", QUICK, "--set", f"checkpoint.keep={KEEP_MAX + 1}")

    def test_limit_is_kept(self):
        """More checkpoints are committed than kept; no more than those are listed and on the disk."""
        result = self.tanist("run", QUICK, "--dir", "run", "-o", "json", "-q", "--set", "train.steps=3000", "--set",
                             "checkpoint.every_steps=5", "--set", f"checkpoint.keep={KEEP_MAX}", timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr)
        last = json.loads(result.stdout)["checkpoint"]["id"]
        listed = self.tanist("checkpoints", "list", "--dir", "run", "-o", "json")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        ids = sorted(entry["id"] for entry in json.loads(listed.stdout)["checkpoints"])
        # A manifest that is superseded before a ps has copied it is not on the disk.
        self.assertLessEqual(len(ids), KEEP_MAX)
        self.assertGreater(len(ids), 64)
        self.assertEqual(ids[-1], last)


if __name__ == "__main__":
    unittest.main(verbosity=2)
