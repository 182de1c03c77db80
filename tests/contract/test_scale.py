#!/usr/bin/env python3
"""`tanist scale`: the number of workers of a running job changes, and its parameters stay those of `--local`.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import random
import signal
import time
import unittest

from case import Cli, FEW, QUICK, STEADY, is_running, long, own_servers, patience, pids

RANGE = ["--set", "cluster.workers=1-4"]
MIRROR = ["--set", "strategy.type=mirror"]


def states(status):
    """The states of the workers, by index."""
    return [task["state"] for task in status["tasks"] if task["role"] == "worker"]


class Scaling(Cli):
    def scale(self, workers):
        self.succeeds("scale", f"workers={workers}", *self.target)

    def wait_workers(self, workers, most=4):
        """The first status with this number of workers, each of which owns slices; the others are off."""
        def matches(status):
            slices = [task["slices"] for task in status["tasks"] if task["role"] == "worker"]
            return states(status) == ["up"] * workers + ["off"] * (most - workers) and all(slices[:workers])
        return self.wait_status(f"{workers} workers", matches)

    def end_as_local(self, run, restarts=False):
        """The run is stopped; one process computes the same parameters in as many steps. Returns the result."""
        result = self.end(run)
        expected = self.alone(QUICK, "local", "--set", f"train.steps={result['steps']}", "--set", "cluster.workers=1-4",
                              *FEW)["parameters_digest"]
        self.assertEqual((result["parameters_digest"], result["checkpoint_digest"]), (expected, expected))
        if not restarts:
            self.assertEqual([each["steps_redone"] for each in result["recoveries"] if each["steps_redone"]], [])
        return result


class Scale(Scaling):
    def up_and_down(self, *options):
        run = self.begin(*STEADY, *RANGE, *options)
        self.wait_workers(1)
        for workers in (4, 2, 3, 1):
            self.scale(workers)
            self.wait_workers(workers)
        result = self.end_as_local(run)
        self.assertEqual(result["recoveries"], [])

    def test_without_ps(self):
        """No change of the number is a recovery."""
        self.up_and_down(*MIRROR)

    @long
    def test_with_ps(self):
        self.up_and_down()

    def test_every_second_with_kills(self):
        """The number changes every second, and between two changes a worker or the chief is killed."""
        run = self.begin(*STEADY, *RANGE, *MIRROR)
        dice = random.Random(7)
        killed = 0
        for _ in range(12):
            self.scale(dice.randint(1, 4))
            time.sleep(dice.random())
            running = {name: pid for name, pid in pids(self.wait_status("a chief", is_running)).items()
                       if pid and name.startswith(("worker", "coordinator")) and name != "worker:0"}
            name = dice.choice(sorted(running))
            try:
                os.kill(running[name], signal.SIGKILL)
                killed += 1
            except ProcessLookupError:  # It left.
                pass
            time.sleep(dice.random())
        self.assertGreater(killed, 6)
        self.scale(3)
        self.wait_workers(3)
        self.end_as_local(run)

    def test_the_only_holder_stays_until_another_has_the_values(self):
        """The worker that is to stay is killed just before the others are to leave."""
        run = self.begin(*STEADY, *RANGE, *MIRROR)
        for _ in range(5):
            self.scale(2)
            self.wait_workers(2)
            os.kill(self.wait_pid("worker:0"), signal.SIGKILL)
            self.scale(1)
            self.wait_workers(1)
        self.end_as_local(run)

    def test_the_number_outlives_the_chief_and_the_run(self):
        """Another chief, and the next start of the run, keep the number."""
        run = self.begin(*STEADY, *RANGE, *MIRROR)
        self.scale(3)
        self.wait_workers(3)
        self.succeeds("resign", *self.target)
        self.wait_workers(3)
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=120)
        run = self.begin(*STEADY, *RANGE, *MIRROR, "--resume")
        self.wait_workers(3)
        self.end_as_local(run, restarts=True)

    def test_paused_runs_scale(self):
        """Workers come and go although nothing is computed."""
        run = self.begin(*STEADY, *RANGE, *MIRROR)
        self.succeeds("pause", *self.target)
        self.scale(3)
        self.wait_status("3 workers", lambda status: states(status) == ["up"] * 3 + ["off"])
        self.scale(2)
        self.wait_status("2 workers", lambda status: states(status) == ["up"] * 2 + ["off"] * 2)
        self.succeeds("resume", *self.target)
        self.wait_workers(2)
        self.assertEqual([each for each in self.end_as_local(run)["recoveries"] if each["kind"] != "operator"], [])

    def test_what_cannot_be_done_is_refused(self):
        """Each error names the value and the remedy; nothing changes."""
        self.refused(3, ["cluster.workers", "4-2", "a range such as"], "run", QUICK, "--set", "cluster.workers=4-2")
        self.refused(3, ["cluster.min_workers is 2", "begins at 1"], "run", QUICK, "--set", "cluster.min_workers=2",
                     *RANGE)
        run = self.begin(*STEADY, *RANGE, *MIRROR)
        for wanted in ("workers=0", "workers=5"):
            self.refused(3, [wanted, '"1-4"'], "scale", wanted, *self.target)
        for wanted in ("workers=two", "workers=", "ps=2", "3", "workers=-1"):
            self.refused(3, [wanted, "workers=4"], "scale", wanted, *self.target)
        self.wait_workers(1)
        self.end(run)
        self.refused(5, ["has ended"], "scale", "workers=2", *self.target)


class FixedNumber(Scaling):
    """`cluster.workers` is a number: the agent of the run changes the job at a checkpoint (S14)."""

    def change(self, workers, *kills):
        """`kills` die while the number is changed."""
        before = len(states(self.wait_step()))
        scale = self.spawn("scale", f"workers={workers}", *self.target, "--timeout", "240")
        for name in kills:
            self.kill_task(name)
        _, errors = scale.communicate(timeout=patience(240))
        self.assertEqual(scale.returncode, 0, errors)
        self.assertIn(f"cluster.workers {before} -> {workers}; training continues", errors)
        self.wait_workers(workers, most=workers)
        self.assertEqual(json.loads((self.folder / "run/job.json").read_text())["cluster"]["workers"], workers)

    def up_and_down(self, *options):
        run = self.begin(*STEADY, *options)
        for workers in (4, 1, 3):
            self.change(workers)
            self.check_it_continues()
        self.end_as_local(run)
        self.assertEqual([entry["cause"] for entry in self.history() if entry["kind"] == "changed"],
                         [f"cluster.workers {change}" for change in ("2 -> 4", "4 -> 1", "1 -> 3")])

    @long
    def test_without_ps(self):
        self.up_and_down(*MIRROR)

    @long
    def test_with_ps(self):
        self.up_and_down()

    def with_kills(self, *names, options=()):
        run = self.begin(*STEADY, *options)
        for workers, name in ((4, "worker:0"), (1, "worker:3"), (3, "worker:0"), (2, "worker:2")):
            self.change(workers, name, "chief", *names)
            self.kill_task("worker:0")
            self.check_it_continues()
        self.end_as_local(run, restarts=True)

    def test_with_ps_and_kills(self):
        """A worker, the chief and a ps die while each change is made."""
        self.with_kills("ps:0")

    def test_without_ps_with_kills(self):
        self.with_kills(options=MIRROR)

    @own_servers
    def test_kills_of_the_agent(self):
        """The run continues with the old number or the new one; the command does not wait for a dead agent."""
        number, more = 2, ()
        for delay in (0.0, 0.2, 0.4):
            run = self.begin(*MIRROR, *more, "--set", f"cluster.workers={number}")
            scale = self.spawn("scale", f"workers={5 - number}", *self.target)
            time.sleep(delay)
            os.kill(run.pid, signal.SIGKILL)
            run.wait()
            _, errors = scale.communicate(timeout=patience(120))
            self.assertIn(scale.returncode, (0, 2, 5), errors)  # 2: ZooKeeper ends with the agent.
            self.wait_for("the nodes end", lambda: not self.processes())
            number, more = 5 - number, ["--resume"]
        run = self.begin(*MIRROR, *more, "--set", f"cluster.workers={number}")
        self.wait_workers(number, most=number)
        self.end_as_local(run, restarts=True)

    def test_what_cannot_be_done_is_refused(self):
        """Each error names the remedy; nothing changes."""
        run = self.begin("--set", "cluster.min_workers=2")
        for wanted, expected in (("workers=0", "1 to 128"), ("workers=129", "1 to 128"), ("workers=2", "already"),
                                 ("workers=1", "cluster.min_workers"), ("workers=two", "workers=4")):
            self.refused(3, [expected], "scale", wanted, *self.target)
        self.wait_workers(2, most=2)
        self.end(run)

    def test_a_process_keeps_its_workers(self):
        run = self.begin("--set", "cluster.workers_per_process=2")
        self.refused(3, ["cluster.workers_per_process is 2", "--resume --set cluster.workers=4"], "scale", "workers=4",
                     *self.target)
        self.end(run)


if __name__ == "__main__":
    unittest.main(verbosity=2)
