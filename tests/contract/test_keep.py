#!/usr/bin/env python3
"""checkpoint.keep has one limit, which the error names, and is honoured up to it: on disk and in ZooKeeper.

A real run; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import signal
import unittest

from case import LONG, QUICK, Cli

KEEP_MAX = 256


class Keep(Cli):
    def test_limit_is_named(self):
        self.refused(3, ["checkpoint.keep", str(KEEP_MAX)], "run", QUICK, "--set", f"checkpoint.keep={KEEP_MAX + 1}")

    def test_limit_is_kept(self):
        """More checkpoints are committed than kept: as many are listed from the disk, without gaps."""
        result = self.tanist("run", QUICK, "--dir", "run", "-o", "json", "-q", "--set", "train.steps=3000", "--set",
                             "checkpoint.every_steps=5", "--set", f"checkpoint.keep={KEEP_MAX}", timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr)
        last = json.loads(result.stdout)["checkpoint"]["id"]
        listed = self.tanist("checkpoints", "list", "--dir", "run", "-o", "json")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        ids = sorted(entry["id"] for entry in json.loads(listed.stdout)["checkpoints"])
        skipped = json.loads(result.stdout)["skipped_checkpoints"]
        self.assertEqual(len(ids), min(KEEP_MAX, 3000 // 5 - skipped))
        self.assertEqual(ids[-1], last)

    def test_damaged_manifest_is_copied_again(self):
        """A copy of a manifest that was damaged on the disk is written again once the ps has started."""
        self.start(*LONG, "--set", "checkpoint.every_steps=200", "--set", "checkpoint.keep=5")
        folder = self.folder / "run/checkpoints"
        self.wait_for("three manifests", lambda: len(list(folder.glob("*/manifest.json"))) >= 3)
        self.assertEqual(self.tanist("pause", "--dir", "run").returncode, 0)
        manifests = sorted(folder.glob("*/manifest.json"))
        intact = manifests[-2].read_bytes()
        manifests[-2].write_bytes(intact[:-20])
        os.kill(self.wait_pid("ps:0"), signal.SIGKILL)
        self.wait_for("the intact manifest", lambda: manifests[-2].read_bytes() == intact)


if __name__ == "__main__":
    unittest.main(verbosity=2)
