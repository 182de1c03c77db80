#!/usr/bin/env python3
"""metrics.jsonl: the curve of a run does not depend on kills, and one point remains for each step.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import signal
import unittest

from case import COLD, Cli, QUICK, own_servers

STEPS = 3000
JOB = ["--set", f"train.steps={STEPS}", "--set", "checkpoint.every_steps=350", "--set", "evaluate.every_steps=500",
       "--set", "model.inputs=64", "--set", "cluster.ps=2", "--set", "train.learning_rate=0.001"]


def lines(folder):
    found = []
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def points(folder):
    """One point for each step, by the rule of docs/metrics.md."""
    kept = {}
    for entry in lines(folder):
        if entry.get("event") == "loaded":
            kept = {step: point for step, point in kept.items() if step <= entry["step"]}
        elif "event" not in entry:
            kept.setdefault(entry["step"], {}).update(entry)
    return kept


def values(folder):
    """The part that must not depend on the course of the run."""
    return {step: {key: value for key, value in point.items() if key in ("loss", "test_loss", "accuracy", "loss_steps", "mae", "rmse", "r2")}
            for step, point in points(folder).items()}


class Metrics(Cli):
    def run_to_end(self, directory, *options):
        self.succeeds("run", QUICK, "--dir", directory, *JOB, *options, "-q", timeout=120)
        return values(self.folder / directory)

    def test_curve_does_not_depend_on_kills(self):
        """A cluster, one process, and a cluster whose nodes are killed write the same points.

        The killed one has no end, so that it is running at each kill on any machine; the others end where it is compared."""
        calm = self.run_to_end("calm")
        self.assertEqual(sorted(calm), [*range(100, STEPS + 1, 100)])
        self.assertTrue(all("loss_steps" not in point for point in calm.values()))
        for name in ("accuracy", "mae", "rmse", "r2"):
            self.assertEqual([step for step, point in calm.items() if name in point], [*range(500, STEPS + 1, 500)])
        self.assertEqual(self.run_to_end("local", "--local"), calm)
        run = self.start(*JOB, *COLD, "--set", "train.steps=500000000")
        self.wait_step(500)
        self.succeeds("pause", "--dir", "run")
        for name in ("worker:0", "ps:1"):
            self.kill_and_wait(name)
        self.succeeds("resume", "--dir", "run")
        self.wait_step(self.wait_step()["step"] + 200)
        self.kill_and_wait("ps:0")
        self.wait_for("the last point", lambda: "accuracy" in values(self.folder / "run").get(STEPS, {}))
        self.end(run)
        self.assertEqual({step: point for step, point in values(self.folder / "run").items() if step <= STEPS}, calm)
        self.assertIn("done", [entry.get("event") for entry in lines(self.folder / "calm")])
        events = [entry for entry in lines(self.folder / "run") if "event" in entry]
        loaded = [entry for entry in events if entry["event"] == "loaded"]
        self.assertGreaterEqual(len(loaded), 3)
        self.assertEqual([entry["generation"] for entry in loaded], sorted({entry["generation"] for entry in loaded}))
        for event in ("elected", "paused", "restored", "task-lost", "checkpoint"):
            self.assertIn(event, [entry["event"] for entry in events])
        self.assertTrue(any(entry.get("paused_seconds", 0) > 0 for entry in lines(self.folder / "run")))

    @own_servers
    def test_agent_continues_the_file(self):
        """A line that a kill cut off is left out; the next start ends it and continues."""
        run = self.start(*JOB, "--set", "train.steps=500000000")
        self.wait_for("points", lambda: (self.folder / "run/metrics.jsonl").exists() and
                      len(points(self.folder / "run")) > 10)
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
        self.wait_for("the nodes end", lambda: not self.processes())
        with open(self.folder / "run/metrics.jsonl", "a", encoding="ascii") as file:
            file.write('{"step": 77')
        result = self.tanist("run", QUICK, "--dir", "run", *JOB, "--resume", "--set", "train.steps=1", timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr)
        text = (self.folder / "run/metrics.jsonl").read_text()
        self.assertIn('{"step": 77\n{', text)
        loaded = [entry for entry in lines(self.folder / "run") if entry.get("event") == "loaded"]
        self.assertEqual(len(loaded), 2)
        self.assertLessEqual(max(points(self.folder / "run")), max(loaded[-1]["step"], 1))

    def test_agents_of_several_hosts(self):
        """Each agent writes the whole curve into its own folder."""
        calm = self.run_to_end("calm", "--local")
        zookeeper = self.start_ensemble()
        tasks = {"first": "coordinator:0-1,ps:0", "second": "ps:1,worker:0-1"}
        agents = [self.spawn("agent", QUICK, "--dir", name, "--tasks", tasks[name], "--zk", zookeeper, *JOB)
                  for name in tasks]
        for agent in agents:
            errors = agent.communicate(timeout=120)[1]
            self.assertEqual(agent.returncode, 0, errors)
        for name in tasks:
            self.assertEqual(values(self.folder / name), calm)

    def test_program_and_async(self):
        """Async runs have curves, too; intervals are those of the job."""
        found = self.run_to_end("async", "--set", "train.mode=async", "--set", "metrics.every_steps=250")
        self.assertTrue(set(range(250, STEPS + 1, 250)) <= set(found))
        self.assertTrue(found[STEPS]["loss"] < found[250]["loss"])

    def test_where_the_time_goes(self):
        """The shares of a worker and of a ps make up its time; one process does not wait."""
        job = ["--set", "train.steps=3000", "--set", "evaluate.every_steps=100", "--set", "model.inputs=64", "--set",
               "checkpoint.every_steps=500", "-q"]
        worker, ps = ["worker_read", "worker_compute", "worker_evaluate"], ["ps_apply"]
        for directory, options in (("run", []), ("local", ["--local"])):
            self.succeeds("run", QUICK, "--dir", directory, *job, *options)
            found = [point for point in points(self.folder / directory).values() if "worker_compute" in point]
            self.assertTrue(found)
            for name in (*worker, *ps, "ps_save"):
                self.assertTrue(all(point[name] >= 0 for point in found), name)
                self.assertTrue(any(point[name] > 0 for point in found), name)
            for point in found:
                self.assertEqual("worker_wait" in point, not options)
                for names, wait in ((worker, "worker_wait"), (ps, "ps_wait")):
                    if wait in point and point[wait] > 0:
                        self.assertAlmostEqual(sum(point[name] for name in names) + point[wait], 1, places=3)
        self.assertEqual(sorted(path.name for path in (self.folder / "run/times").iterdir()),
                         ["ps-0", "worker-0", "worker-1"])
        self.succeeds("plot", "run", "--metric", "worker_compute")

    def test_changes_are_recorded(self):
        """Keys that a later start changes, from the step on at which it continues; in a cluster and in one process."""
        for directory, more in (("run", []), ("local", ["--local"])):
            self.succeeds("run", QUICK, "--dir", directory, "-q", *more)
            self.succeeds("run", QUICK, "--dir", directory, "-q", "--resume", "--set", "train.steps=500", "--set",
                          "checkpoint.keep=2", *more)
            changes = [(entry["step"], entry["key"], entry["from"], entry["to"])
                       for entry in lines(self.folder / directory) if entry.get("event") == "changed"]
            self.assertEqual(changes, [(300, "train.steps", 300, 500), (300, "checkpoint.keep", 3, 2)])
        compared = json.loads(self.succeeds("compare", "run", "local", "-o", "json"))
        self.assertEqual([[change["key"] for change in run] for run in compared["changes"]],
                         [["train.steps", "checkpoint.keep"]] * 2)
        self.assertIn("run: train.steps changed from 300 to 500 at step 300", self.succeeds("compare", "run", "local"))

    def test_folder_that_cannot_be_written(self):
        """Metrics are lost; the run is not."""
        (self.folder / "run/metrics.jsonl").mkdir(parents=True)
        result = self.tanist("run", "--local", QUICK, "--dir", "run", "-o", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count("metrics are not written"), 1)
        self.assertTrue((self.folder / "run/metrics.jsonl").is_dir())


if __name__ == "__main__":
    unittest.main(verbosity=2)
