#!/usr/bin/env python3
"""The evaluator evaluates committed checkpoints beside training, and its death costs nothing.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import signal
import unittest

from case import Cli, QUICK

JOB = ["--set", "checkpoint.every_steps=300", "--set", "model.inputs=64",
       "--set", "cluster.ps=2", "--set", "train.learning_rate=0.001"]
EVALUATOR = ["--set", "cluster.evaluators=1"]


def records(path):
    """The objects in a file of lines, of which the last one may be incomplete."""
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]]


class Evaluator(Cli):
    def evaluations(self):
        """The results of the evaluator in the history, with those that were redone."""
        return [entry for entry in self.history() if entry["kind"] == "evaluated" and entry["checkpoint"]]

    def evaluated(self, beyond=0):
        return self.wait_for("a result of the evaluator",
                             lambda: [entry for entry in self.evaluations() if entry["checkpoint"] > beyond])[-1]

    def test_results_are_those_of_tanist_evaluate(self):
        """Losses are the bits of the checkpoint, the best one is kept, and workers evaluate the last step alone."""
        run = self.begin(*JOB, *EVALUATOR, "--set", "checkpoint.best=loss", "--set", "evaluate.every_steps=100")
        self.assertEqual(self.evaluated()["step"] % 300, 0)
        self.evaluated(beyond=self.evaluations()[-1]["checkpoint"])
        status = self.live_status()
        self.assertIn("evaluator", [task["role"] for task in status["tasks"]])
        result = self.end(run)
        found = {entry["step"]: entry for entry in result["evaluations"]}
        results = {entry["checkpoint"]: entry for entry in self.evaluations()}
        self.assertEqual(sorted(results), [entry["checkpoint"] for entry in self.evaluations()])
        self.assertEqual(set(found) - {entry["step"] for entry in results.values()}, {result["steps"]})
        points = {line["step"]: line for line in records(self.folder / "run/metrics.jsonl") if "accuracy" in line}
        self.assertEqual(set(points), set(found))
        self.assertTrue(all("rmse" in points[entry["step"]] for entry in results.values()))
        best = result["best"]
        self.assertEqual(best["value"], min(entry["loss"] for entry in found.values()))
        checked = json.loads(self.succeeds("evaluate", "run", "--checkpoint", "best", "-o", "json"))
        self.assertEqual(checked["checkpoint"], best["checkpoint"])
        self.assertAlmostEqual(checked["loss"], best["value"], places=9)

    def test_deaths_change_nothing(self):
        """Whatever dies, the parameters are those of a run without an evaluator, and each checkpoint counts once."""
        run = self.begin(*JOB, *EVALUATOR)
        first = self.evaluated()["checkpoint"]
        for names in (["evaluator:0"], ["evaluator:0", "ps:1"], ["evaluator:0", "chief"], ["evaluator:0"]):
            self.kill_in_the_middle(*names)
        result = self.end(run)
        last = result["steps"]
        calm = json.loads(self.succeeds("run", QUICK, "--dir", "calm", *JOB, "--set", f"train.steps={last}", "-q", "-o",
                                        "json"))
        self.assertEqual(result["parameters_digest"], calm["parameters_digest"])
        checkpoints = [entry["checkpoint"] for entry in self.evaluations()]
        self.assertEqual(checkpoints, sorted(set(checkpoints)))
        self.assertIn(first, checkpoints)
        values = {entry["step"]: entry["loss"] for entry in calm["evaluations"]}
        found = {entry["step"]: entry["loss"] for entry in result["evaluations"]}
        self.assertEqual(found[last], values[last])

    def test_slow_evaluator_takes_the_newest(self):
        """Checkpoints that were committed while the evaluator stood still are skipped, and counted; none is awaited."""
        run = self.begin(*JOB, *EVALUATOR, "--set", "checkpoint.keep=1", "--set", "zookeeper.session_timeout_ms=60000")
        self.evaluated()
        pid = self.wait_pid("evaluator:0")
        self.freeze(pid)
        before = self.newest_checkpoint()
        self.wait_for("three checkpoints", lambda: self.newest_checkpoint() >= before + 4)
        self.thaw(pid)
        skipped = self.wait_for("a skip", lambda: [entry for entry in self.evaluations() if entry["cause"]])
        self.assertRegex(skipped[0]["cause"], r"^[0-9]+ checkpoints? before it skipped$")
        self.end(run)

    def test_patience_ends_the_run(self):
        """Results that do not improve end the run, which is done before its last step.

        From step 200 on the rate is too small to change a parameter, so the result at step 200 is the last better one,
        and the number of evaluations is small. With a constant rate the losses fluctuate, and the number of
        evaluations until two in a row are no better is random.
        """
        run = self.start("--set", "train.steps=50000000", *EVALUATOR, "--set", "checkpoint.every_steps=100",
                         "--set", "train.schedule.type=piecewise", "--set", "train.schedule.boundaries=[200]",
                         "--set", "train.schedule.rates=[1e-30]",
                         "--set", "train.stop.patience=2", "--set", "checkpoint.best=loss")
        result = self.result(run)
        self.assertEqual(result["status"], "done")
        self.assertLess(result["steps"], 50000000)
        evaluations = self.evaluations()
        losses = [entry["loss"] for entry in evaluations]
        last_better = next(index for index, entry in enumerate(evaluations) if entry["step"] >= 200)
        self.assertGreaterEqual(len(evaluations), last_better + 3)  # The run may take another step to end.
        self.assertEqual(set(losses[last_better:]), {min(losses)})
        self.assertEqual(result["best"]["step"], evaluations[last_better]["step"])
        self.assertAlmostEqual(result["best"]["value"], min(losses), places=9)

    def test_wrong_jobs_are_refused(self):
        """An evaluator without checkpoints, and a task that the job does not have."""
        self.refused(3, ["cluster.evaluators", "checkpoint.every_steps"], "run", QUICK, *EVALUATOR,
                     "--set", "checkpoint.every_steps=0", "--set", "checkpoint.every_seconds=0")
        config = {"cluster": {"chief": ["a:1"], "ps": ["b:1"], "worker": ["c:1"]}, "task": {"type": "evaluator", "index": 0}}
        self.refused(3, ["evaluator:0", "cluster.evaluators"], "evaluator", "--job", QUICK, "--zk", "127.0.0.1:1",
                     env={"TF_CONFIG": json.dumps(config)})


if __name__ == "__main__":
    unittest.main(verbosity=2)
