#!/usr/bin/env python3
"""Every multiple of evaluate.every_steps and of checkpoint.every_steps happens, however fast steps are.

Real runs with the smallest job, whose steps take 0.1 ms; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import re
import signal
import unittest

from case import LONG, QUICK, Cli, patience

EVERY = 50
PACE = ["--set", f"evaluate.every_steps={EVERY}", "--set", f"checkpoint.every_steps={EVERY}"]


class Pace(Cli):
    def checkpoints(self, folder, pattern):
        """The steps that the logs of the coordinators name."""
        logs = "".join(path.read_text() for path in (self.folder / folder / "logs").glob("coordinator-*"))
        return [int(step) for step in re.findall(pattern, logs)]

    def check(self, result, folder):
        steps = result["steps"]
        due = list(range(EVERY, steps + 1, EVERY))
        evaluated = [entry["step"] for entry in result["evaluations"]]
        self.assertEqual(evaluated, due if steps % EVERY == 0 else due + [steps])
        skipped = self.checkpoints(folder, r"checkpoint of step (\d+) skipped")
        saved = self.checkpoints(folder, r"checkpoint \d+ committed at step (\d+)")
        self.assertEqual(sorted(set(due) - set(saved) - set(skipped)), [])
        self.assertEqual(result["skipped_checkpoints"], len(skipped))

    def undisturbed(self, steps):
        result = self.tanist("run", QUICK, "--dir", "calm", "-o", "json", "-q", *PACE, "--set",
                             f"train.steps={steps}")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_every_multiple_of_a_fast_job(self):
        self.check(self.undisturbed(1500), "calm")

    def test_evaluations_are_exact_after_kills(self):
        """The results are those of an undisturbed run: also of steps at which the evaluating worker died."""
        run = self.start(*LONG, *PACE)
        self.wait_step(EVERY)
        for task in ("worker", "ps"):
            os.kill(self.wait_process(task, 0), signal.SIGKILL)
            self.wait_step(self.wait_step()["step"] + 2 * EVERY)
        self.assertEqual(self.tanist("stop", "--dir", "run").returncode, 0)
        output, errors = run.communicate(timeout=patience(120))
        self.assertEqual(run.returncode, 0, errors)
        result = json.loads(output)
        self.check(result, "run")
        calm = self.undisturbed(result["steps"])
        self.assertEqual(result["evaluations"], calm["evaluations"])
        self.assertEqual(result["parameters_digest"], calm["parameters_digest"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
