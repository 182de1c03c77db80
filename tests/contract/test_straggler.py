#!/usr/bin/env python3
"""Backup work (C23, M12): while a worker is frozen the others compute its slices, and parameters stay those of `--local`.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import os
import signal
import time
import unittest

from case import Cli, QUICK, STEADY, long, pids

JOB = ["--set", "train.slices=8", "--set", "model.inputs=64", "--set", "checkpoint.every_steps=5000"]
MIRROR = ["--set", "strategy.type=mirror", "--set", "evaluate.every_steps=0"]
# Evaluations take most of the time, so that a freeze meets one. The wait of a test is over before the session of a frozen
# worker is.
EVALUATING = ["--set", "strategy.type=mirror", "--set", "evaluate.every_steps=2", "--set", "zookeeper.session_timeout_ms=600000"]
MANY_TESTS = ["--set", "data.test_examples=10000", "--set", "train.batch=8"]


class Straggler(Cli):
    def begin_with(self, workers, *options):
        """A run in which each worker owns slices, and which has trained for a while."""
        run = self.begin(*STEADY, "--set", f"cluster.workers={workers}", *JOB, *options)
        self.wait_status("slices for each worker", lambda status: all(self.slices(status)))
        self.wait_progress()
        return run

    @staticmethod
    def slices(status):
        return [task["slices"] for task in status["tasks"] if task["role"] == "worker"]

    @staticmethod
    def states(status):
        return {f"{task['role']}:{task['index']}": task["state"] for task in status["tasks"]}

    def wait_progress(self, steps=100):
        """Waits until `steps` more steps are done."""
        self.wait_step(self.wait_step()["step"] + steps)

    def wait_late(self, *names):
        self.wait_status(f"late {names}", lambda status: all(self.states(status)[name] == "late" for name in names))

    def wait_back(self, *names):
        def are_back(status):
            owned = {f"{task['role']}:{task['index']}": task["slices"] for task in status["tasks"]}
            return all(self.states(status)[name] == "up" and owned[name] for name in names)
        self.wait_status(f"slices for {names}", are_back)

    def end_as_local(self, run, workers, *options):
        """The run is stopped; one process computes the same in as many steps. No step was made twice."""
        result = self.end(run)
        wanted = self.alone(QUICK, "local", *JOB, *options, "--set", f"train.steps={result['steps']}", "--set",
                            f"cluster.workers={workers}")
        expected = wanted["parameters_digest"]
        self.assertEqual((result["parameters_digest"], result["checkpoint_digest"]), (expected, expected))
        self.assertEqual((result["loss"], result["accuracy"]), (wanted["loss"], wanted["accuracy"]))
        self.assertEqual(result["recoveries"], [])

    def events(self, kind):
        return [entry["task"] for entry in self.history() if entry["kind"] == kind]

    @long
    def test_each_worker(self):
        """Training continues while a worker is frozen, also the owner of slice 0; the worker gets slices again."""
        self.each_is_frozen(2)

    def test_mirror(self):
        """Without ps also the ranges of a frozen worker move; it fetches the values before it gets slices again."""
        self.each_is_frozen(3, *MIRROR)

    def each_is_frozen(self, workers, *options):
        run = self.begin_with(workers, *options)
        for name in ("worker:1", "worker:0"):
            before = pids(self.live_status())[name]
            self.freeze(before)
            self.wait_late(name)
            self.wait_progress()
            self.assertEqual(self.states(self.live_status())[name], "late")
            self.thaw(before)
            self.wait_back(name)
            self.wait_progress()
            self.assertEqual(pids(self.live_status())[name], before)
        # A busy machine may delay a healthy worker, too.
        for kind in ("late", "returned"):
            self.wait_for(f"{kind} workers", lambda kind=kind: {"worker:0", "worker:1"} <= set(self.events(kind)))
        self.end_as_local(run, workers)

    def evaluator(self):
        """The worker that evaluated last, by the logs."""
        lines = [line for log in (self.folder / "run/logs").glob("worker-*.log") for line in log.read_text().splitlines()]
        return max(line for line in lines if " evaluated step " in line).split()[2]

    def test_mirror_evaluator(self):
        """Without ps another worker evaluates while the one that has to is frozen, and no step is evaluated twice."""
        run = self.begin_with(3, *EVALUATING, *MANY_TESTS)
        for _ in range(2):
            name = self.evaluator()
            pid = pids(self.live_status())[name]
            self.freeze(pid)
            self.wait_late(name)
            self.wait_progress(10)
            self.thaw(pid)
            self.wait_back(name)
            self.wait_progress(10)
        evaluated = [entry["step"] for entry in self.history() if entry["kind"] == "evaluated"]
        self.assertEqual(evaluated, list(range(evaluated[0], evaluated[-1] + 1, 2)))
        self.end_as_local(run, 3, *MANY_TESTS)

    def test_mirror_the_last_one(self):
        """Without ps: one of two workers is frozen, and killed while the other one continues."""
        run = self.begin_with(2, *MIRROR)
        pid = pids(self.live_status())["worker:1"]
        self.freeze(pid)
        self.wait_late("worker:1")
        self.wait_progress()
        os.kill(pid, signal.SIGKILL)
        self.wait_status("another process", lambda status: pids(status).get("worker:1") not in (None, pid))
        self.wait_back("worker:1")
        self.wait_progress()
        result = self.end(run)
        self.assertEqual([each["steps_redone"] for each in result["recoveries"] if each["steps_redone"]], [])

    @long
    def test_mirror_chief_dies_meanwhile(self):
        """Without ps, too, a new chief gives a frozen worker nothing."""
        self.chief_dies_meanwhile(2, *MIRROR)

    @long
    def test_several_workers(self):
        """Three of four workers are frozen one after the other; the last one does their work."""
        run = self.begin_with(4)
        names = ("worker:1", "worker:2", "worker:3")
        frozen = [pids(self.live_status())[name] for name in names]
        for name, pid in zip(names, frozen):
            self.freeze(pid)
            self.wait_late(name)
        self.wait_progress()
        for pid in frozen:
            self.thaw(pid)
        self.wait_back(*names)
        self.end_as_local(run, 4)

    def test_worker_and_ps(self):
        """While a ps is frozen training waits; a worker that is frozen with it is late afterwards, and the others are not."""
        run = self.begin_with(3, "--set", "cluster.ps=2")
        running = pids(self.live_status())
        self.freeze(running["ps:1"])
        self.freeze(running["worker:2"])
        time.sleep(1)  # Several times as long as slices may take.
        before = self.wait_step()["step"]
        time.sleep(0.5)
        self.assertLessEqual(self.wait_step()["step"], before + 1)
        self.thaw(running["ps:1"])
        self.wait_late("worker:2")
        self.wait_progress()
        # The ps may have been frozen when only one of the two had its values, so that the other one was late.
        self.wait_back("worker:0", "worker:1")
        self.assertEqual(self.states(self.live_status())["worker:2"], "late")
        self.thaw(running["worker:2"])
        self.wait_back("worker:2")
        self.end_as_local(run, 3)

    def test_chief_dies_meanwhile(self):
        """A new chief gives a frozen worker nothing, and its slices to the others."""
        self.chief_dies_meanwhile(2)

    def chief_dies_meanwhile(self, workers, *options):
        run = self.begin_with(workers, *options)
        pid = pids(self.live_status())["worker:1"]
        self.freeze(pid)
        self.kill_chief()
        self.wait_progress()
        self.assertEqual(self.slices(self.live_status())[1], 0)
        self.thaw(pid)
        self.wait_back("worker:1")
        result = self.end(run)
        self.assertEqual([each["steps_redone"] for each in result["recoveries"] if each["steps_redone"]], [])

    def kill_chief(self):
        status = self.wait_tasks()
        chief = status["chief"]
        os.kill(chief["pid"], signal.SIGKILL)
        self.wait_status("another chief", lambda status: status["chief"] and status["chief"]["pid"] != chief["pid"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
