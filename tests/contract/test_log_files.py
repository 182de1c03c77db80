#!/usr/bin/env python3
"""The logs of nodes and servers are rotated, also when a run is resumed.

A real run; every wait is bounded. TANIST_PROGRAM: the program.
"""

import unittest

from case import QUICK, ROOT, Cli

LIMIT = 65536


class LogFiles(Cli):
    def test_logs_are_rotated(self):
        """A log that is almost full moves to NAME.1 at the next line; nothing of it is lost."""
        limit = ["--log-max-size", str(LIMIT)]
        first = self.tanist("run", QUICK, "--dir", "run", "-q", *limit)
        self.assertEqual((first.returncode, first.stderr), (0, ""))
        run = self.folder / "run"
        logs = [*run.glob("logs/*.log"), *run.glob("zookeeper/*/log")]
        self.assertGreater(len(logs), 4)
        before = {}
        for log in logs:
            with log.open("a") as file:
                size = log.stat().st_size
                while (size := size + 97) < LIMIT:
                    file.write(f"{'ballast ' * 12}\n")
            before[log] = log.read_text()
        again = self.tanist("run", QUICK, "--dir", "run", "-q", "--resume", "--set", "train.steps=400", *limit)
        self.assertEqual(again.returncode, 0, again.stderr)
        for log, text in before.items():
            old, new = log.with_name(log.name + ".1").read_text(), log.read_text()
            self.assertTrue(old.startswith(text), log)
            self.assertTrue(old.endswith("\n") and len(old) <= LIMIT, log)
            self.assertNotIn("ballast", new)
            self.assertTrue(new[:2] == "20" and new.endswith("\n"), f"{log}: {new[:80]}")

    def test_units_run_quietly(self):
        """The systemd units give --quiet, which every command in them knows."""
        for unit in sorted((ROOT / "deploy/systemd").glob("*.service")):
            start = next(line for line in unit.read_text().splitlines() if line.startswith("ExecStart="))
            command = start.partition("/usr/bin/tanist ")[2].split()
            self.assertIn("--quiet", command, unit)
            words = [word for word in command[:2] if word[0] not in "/-"]
            usage = self.tanist(*words, "--help").stdout
            for option in (word for word in command if word.startswith("--")):
                self.assertIn(option, usage, unit)

    def test_limit_too_small(self):
        self.refused(3, ["--log-max-size is 1000 bytes", "65536"], "run", QUICK, "--log-max-size", "1000")


if __name__ == "__main__":
    unittest.main(verbosity=2)
