#!/usr/bin/env python3
"""The folders of failed tests that are kept (evidence.py): complete, and bounded."""

import contextlib
import io
import os
import shutil
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import case
import evidence


class Example(case.Cli):
    """Not run by itself: the tests below run its cases."""

    def fill(self):
        logs = self.folder / "run/logs"
        logs.mkdir(parents=True)
        (logs / "ps-0.log").write_text("".join(f"line {i}\n" for i in range(100)), encoding="utf-8")
        shard = self.folder / "run/checkpoints/7/shard-0-of-1"
        shard.mkdir(parents=True)
        (shard / "data").write_bytes(bytes(1000))
        (shard / "link").symlink_to("/etc")

    def fails(self):
        self.fill()
        self.fail("as it should")

    def passes(self):
        self.fill()

    def skips(self):
        self.fill()
        self.skipTest("as it should")


def load_tests(loader, _tests, _pattern):
    return loader.loadTestsFromTestCase(Evidence)


class Evidence(unittest.TestCase):
    def setUp(self):
        self.logs = Path(tempfile.mkdtemp(prefix="tanist-evidence."))
        self.addCleanup(shutil.rmtree, self.logs)
        patch = mock.patch.dict(os.environ, TANIST_TEST_LOGS=str(self.logs))
        patch.start()
        self.addCleanup(patch.stop)

    def run_case(self, name):
        """The messages, and the folders that are kept."""
        with contextlib.redirect_stderr(io.StringIO()) as messages:
            test = Example(name)
            test.run(unittest.TestResult())
        self.assertFalse(test.folder.exists())
        return messages.getvalue(), sorted(self.logs.iterdir())

    def test_a_failure_is_kept(self):
        messages, kept = self.run_case("fails")
        self.assertEqual(len(kept), 1)
        self.assertIn(str(kept[0]), messages)
        self.assertIn("Example.fails", kept[0].name)
        self.assertEqual((kept[0] / "run/logs/ps-0.log").read_text(encoding="utf-8").count("\n"), 100)
        self.assertEqual((kept[0] / "run/checkpoints/7/shard-0-of-1/data").stat().st_size, 1000)
        self.assertFalse((kept[0] / "run/checkpoints/7/shard-0-of-1/link").is_symlink())
        self.assertIn("|   line 99\n", messages)
        self.assertNotIn("|   line 9\n", messages)

    def test_other_results_are_not(self):
        for name in ("passes", "skips"):
            self.assertEqual(self.run_case(name), ("", []))

    def test_logs_come_first(self):
        with mock.patch.object(evidence, "BYTES_MAX", 1200):
            messages, kept = self.run_case("fails")
        self.assertIn("1 left out", messages)
        self.assertTrue((kept[0] / "run/logs/ps-0.log").exists())
        self.assertFalse((kept[0] / "run/checkpoints/7/shard-0-of-1/data").exists())

    def test_the_oldest_are_removed(self):
        for number in range(evidence.KEPT_MAX + 3):
            (self.logs / str(number)).mkdir()
            os.utime(self.logs / str(number), (number, number))
        _, kept = self.run_case("fails")
        names = [path.name for path in kept]
        self.assertEqual(len(names), evidence.KEPT_MAX)
        self.assertNotIn("0", names)
        self.assertIn(str(evidence.KEPT_MAX + 2), names)

    def test_a_folder_that_cannot_be_made(self):
        (self.logs / "file").write_text("", encoding="utf-8")
        with mock.patch.dict(os.environ, TANIST_TEST_LOGS=str(self.logs / "file")):
            messages, _ = self.run_case("fails")
        self.assertIn("kept nothing of ", messages)


if __name__ == "__main__":
    unittest.main(verbosity=2)
