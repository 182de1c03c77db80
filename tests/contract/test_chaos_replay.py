#!/usr/bin/env python3
"""`tanist chaos replay` and `tanist chaos shrink`, from a recorded round of a real cluster.

Every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import shutil
import tempfile
import unittest
from pathlib import Path

from test_chaos import ROOT, chaos_in, kinds, lines_of

# The limit of descriptors lasts to the end of the run, so no recovery follows it. The agent cannot start all
# processes again within the plan's bound.
PLAN = {"name": "shrinkable", "about": "one harmless fault, one that breaks the plan's bound",
        "recover_within_s": 0.1,
        "set": {"train.steps": 12000, "zookeeper.session_timeout_ms": 2000},
        "faults": [{"fault": "descriptors", "selector": "ps:0", "value": 1000, "for_s": 600,
                    "at_progress": 0.6},
                   {"fault": "kill", "selector": "agent", "at_progress": [0.2, 0.3]}]}


class Recorded(unittest.TestCase):
    """One round that failed, recorded once for all tests."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="tanist-replay."))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        plan = cls.folder / "plan.json"
        plan.write_text(json.dumps(PLAN))
        done = chaos_in(cls.folder / "recorded", "run", "--plan", str(plan), "--job", str(ROOT / "examples/quick.json"))
        cls.history = cls.folder / "recorded/round-0001/history.jsonl"
        assert done.returncode == 1, done.stderr
        assert done.stdout.startswith("0 of 1 rounds passed; 2 faults injected, 0 skipped;"), done.stdout

    def chaos(self, command, history, name, *options):
        return chaos_in(self.folder / name, command, str(history), *options)

    def shrink(self, history, name, *options):
        """With the recorded baseline run: test_replay_injects_the_same_faults() does another one."""
        return self.chaos("shrink", history, name, "--tries", "1", "--baseline", str(self.history), *options)

    def test_replay_injects_the_same_faults(self):
        done = self.chaos("replay", self.history, "again", "-o", "json")
        self.assertEqual(done.returncode, 1, done.stderr)
        summary = json.loads(done.stdout)
        self.assertEqual((summary["rounds"], summary["broken"], summary["faults"]), (1, 1, 2))
        recorded = lines_of(self.history)
        repeated = lines_of(self.folder / "again/round-0001/history.jsonl")
        for key in ("fault", "trigger"):
            self.assertEqual([line[key] for line in kinds(repeated, "planned")],
                             [line[key] for line in kinds(recorded, "planned")])
        self.assertEqual(repeated[0]["job"], recorded[0]["job"])
        self.assertTrue((self.folder / "again/report.html").exists())

    def test_shrink_finds_the_fault_that_matters(self):
        done = self.shrink(self.history, "less")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual([(fault["fault"], fault["selector"]) for fault in result["faults"]],
                         [("kill", "agent")])
        # All faults, none, and the kill alone, which comes first in the round.
        self.assertEqual(result["rounds"], 3)
        self.assertIn(f"baseline run of {self.history}: 12000 steps", done.stderr)
        begins = [lines_of(history)[0] for history in (self.history, self.folder / "less/round-0001/history.jsonl")]
        self.assertEqual(begins[0]["baseline"], begins[1]["baseline"])
        self.assertFalse((self.folder / "less/baseline/history.jsonl").exists())

    def test_shrink_reports_a_round_that_passes(self):
        lines = lines_of(self.history)
        lines[0]["plan"]["recover_within_s"] = 60
        lenient = self.folder / "lenient.jsonl"
        lenient.write_text("".join(json.dumps(line) + "\n" for line in lines))
        done = self.shrink(lenient, "passes")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("did not fail again", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_other_baseline_runs_are_refused(self):
        """Another job has another one, and a file may have none; the folder is free again."""
        other = self.folder / "none.jsonl"
        other.write_text('{"t_ms": 0, "kind": "begin"}\n')
        for history, options, expected in ((self.history, ["--set", "train.steps=50"], "is of another job"),
                                           (other, [], "does not begin with a baseline run"),
                                           (self.folder / "missing.jsonl", [], "No such file")):
            done = self.chaos("replay", self.history, "refused", "--baseline", str(history), *options)
            self.assertEqual(done.returncode, 3, done.stderr)
            for text in ("--baseline: ", str(history), expected):
                self.assertIn(text, done.stderr)
            self.assertFalse((self.folder / "refused/baseline").exists())

    def test_other_files_are_refused(self):
        other = self.folder / "other.jsonl"
        other.write_text('{"kind": "fault"}\n')
        for command in ("replay", "shrink"):
            done = self.chaos(command, other, "refused")
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(str(other), done.stderr)
            missing = self.chaos(command, self.folder / "missing.jsonl", "refused")
            self.assertEqual(missing.returncode, 3, missing.stderr)
            self.assertIn("missing.jsonl", missing.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
