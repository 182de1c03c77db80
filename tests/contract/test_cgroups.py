#!/usr/bin/env python3
"""Real control groups of the kernel, as containers and services have them, limit what Tanist uses.

Skipped where this user cannot create control groups. TANIST_PROGRAM: the program.
"""

import json
import os
import secrets
import time
import unittest
from contextlib import suppress
from pathlib import Path

from case import QUICK, Cli

ROOT = Path("/sys/fs/cgroup")
MIB = 2**20


def make_group(test, controller, limits):
    """A new group with `limits`, of version 1 or 2, or a skipped test; it is removed after the test."""
    version_1 = (ROOT / controller).is_dir()
    group = (ROOT / controller if version_1 else ROOT) / f"tanist-test-{secrets.token_hex(4)}"
    try:
        group.mkdir()
        test.addCleanup(remove_group, group)
        for name, value in limits[1 if version_1 else 2].items():
            (group / name).write_text(value, encoding="ascii")
    except OSError as error:
        test.skipTest(f"no control group can be created here: {error}")
    return group


def remove_group(group):
    """A group can be removed once the kernel has let go of its last process."""
    for _ in range(100):
        with suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.05)


def joins(group):
    return lambda: (group / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")


class Groups(Cli):
    def test_memory(self):
        group = make_group(self, "memory", {1: {"memory.limit_in_bytes": str(512 * MIB)}, 2: {"memory.max": str(512 * MIB)}})
        plan = json.loads(self.succeeds("plan", QUICK, "-o", "json", preexec_fn=joins(group)))
        self.assertEqual(plan["memory"]["machine"], 512 * MIB)

    def most_threads(self, directory, *options, **more):
        """The most threads that the process of a local run has had."""
        run = self.spawn("run", "--local", QUICK, "-q", "--dir", directory, "--set", "train.batch=8192", "--set", "train.slices=8",
                         "--set", "data.examples=8192", "--set", "train.steps=60", "--set", "model.inputs=512", *options, **more)
        most = 0
        while run.poll() is None:
            with suppress(OSError):
                most = max(most, len(os.listdir(f"/proc/{run.pid}/task")))
            time.sleep(0.005)
        self.assertEqual(run.wait(), 0, run.stderr.read())
        return most

    def test_processors(self):
        """The automatic number of threads is that of the processors that the quota keeps busy."""
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("needs 2 processors")
        group = make_group(self, "cpu", {1: {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "150000"},
                                         2: {"cpu.max": "150000 100000"}})
        one = self.most_threads("one", "--set", "train.threads=1")
        self.assertGreater(self.most_threads("automatic"), one)
        self.assertEqual(self.most_threads("limited", preexec_fn=joins(group)), one)


if __name__ == "__main__":
    unittest.main(verbosity=2)
