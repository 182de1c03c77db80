#!/usr/bin/env python3
"""Several changes of one running job: its number of workers (`tanist scale`), its number of ps (`tanist resize`) and its strategy
(`tanist strategy`), one after the other and at the same time, with kills between. No change is lost, and the result is that of one
process in as many steps.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import signal
import time
import unittest

from case import Cli, LONG, STEADY, is_running, long, patience, pids, some

# A group needs layers with tasks; other strategies ignore these.
JOB = {"name": "elastic", "seed": 5,
       "model": {"type": "layers", "inputs": 24, "outputs": 4,
                 "layers": [{"dense": {"units": 40, "activation": "tanh"}, "task": 0},
                            {"dense": {"units": 24, "activation": "relu"}, "task": 1}, {"dense": 4}]},
       "data": {"type": "synthetic", "examples": 1000, "test_examples": 64},
       "train": {"steps": 1000, "batch": 64, "slices": 8, "optimizer": "adam", "learning_rate": 0.0001},
       "checkpoint": {"every_steps": 100}, "strategy": {"type": "ps", "members": 2},
       "cluster": {"coordinators": 2, "ps": 2, "workers": "1-4"}, "zookeeper": {"servers": 1}}


class Changes(Cli):
    def begin_job(self, *options, **cluster):
        """A run without an end that trains."""
        job = json.loads(json.dumps(JOB))
        job["cluster"].update(cluster)
        self.job_file = self.job(json.dumps(job))
        with (self.folder / "progress").open("w") as progress:
            run = self.spawn("run", self.job_file, "--dir", "run", "-o", "json", *LONG, *options, stderr=progress)
        self.wait_step()
        return run

    def begin_command(self, *command):
        return self.spawn(*command, "--dir", "run")

    def done(self, command):
        errors = command.communicate(timeout=patience(120))[1]
        self.assertEqual(command.returncode, 0, errors)

    def change(self, *command):
        self.done(self.begin_command(*command))

    def wait_accepted(self, count):
        """The agent has accepted this number of changes since it was started."""
        self.wait_for("the request", lambda: (self.folder / "progress").read_text().count("the nodes leave") >= count)

    def wait_form(self, ps, workers, most=4):
        """This number of nodes train, and each worker has slices; the workers of the range that are not wanted are off."""
        def matches(status):
            states = [task["state"] for task in status["tasks"] if task["role"] == "worker"]
            slices = [task["slices"] for task in status["tasks"] if task["role"] == "worker"]
            return is_running(status) and sum(task["role"] == "ps" for task in status["tasks"]) == ps and \
                states == ["up"] * workers + ["off"] * (most - workers) and all(slices[:workers])
        self.wait_status(f"{ps} ps and {workers} workers", matches)

    def end_as_local(self, run):
        """The run is stopped; one process computes the same in as many steps. Returns the result."""
        result = self.end(run)
        wanted = self.alone(self.job_file, "local", "--set", f"train.steps={result['steps']}")
        for key in ("parameters_digest", "checkpoint_digest", "loss", "accuracy"):
            self.assertEqual(result[key], wanted[key], key)
        self.succeeds("checkpoints", "verify", "--dir", "run")
        return result

    def changes(self):
        return [entry["cause"].split(", requested")[0] for entry in self.history() if entry["kind"] == "changed"]


class Sequences(Changes):
    def test_one_after_the_other(self):
        """Each change begins in the form that the one before has made; the range and the number of workers stay."""
        run = self.begin_job(*STEADY)
        self.change("scale", "workers=3")
        self.wait_form(2, 3)
        self.change("resize", "ps=3")
        self.kill_task("ps:2")
        self.wait_form(3, 3)
        self.kill_task("worker:2")
        self.change("scale", "workers=2")
        self.change("strategy", "mirror")
        self.kill_task("chief")
        self.wait_form(0, 2)
        self.refused(3, ['"1-4"', "workers=5"], "scale", "workers=5", *self.target)
        self.change("scale", "workers=4")
        self.kill_task("worker:0")
        self.wait_form(0, 4)
        self.change("strategy", "ps", "ps=4")
        self.change("scale", "workers=1")
        self.wait_form(4, 1)
        self.kill_task("ps:0")
        self.check_it_continues()
        self.refused(3, ["cluster.workers", "a range", "tanist run --resume"], "strategy", "group", *self.target)
        self.assertEqual(json.loads((self.folder / "run/job.json").read_text())["cluster"]["workers"], "1-4")
        self.end_as_local(run)
        self.assertEqual(self.changes(), ["the run has 3 workers instead of 1", "cluster.ps 2 -> 3",
                                          "the run has 2 workers instead of 3", "strategy.type ps -> mirror",
                                          "the run has 4 workers instead of 2", "strategy.type mirror -> ps",
                                          "the run has 1 worker instead of 4"])

    def test_at_the_same_time(self):
        """A number of workers that is requested before, while or after the nodes leave is not lost, nor is the change."""
        run = self.begin_job(*STEADY)
        workers, count = 1, 0
        rounds = ((["resize", "ps=3"], 3, None), (["strategy", "mirror"], 0, 0.0), (["strategy", "ps"], 2, 0.1),
                  (["resize", "ps=1"], 1, 0.2), (["strategy", "mirror"], 0, 0.3), (["strategy", "ps"], 2, 0.4))
        for command, ps, delay in some(rounds, 3):
            self.check_it_continues()
            workers = workers % 4 + 1
            scale = self.begin_command("scale", f"workers={workers}") if delay is None else None
            change = self.begin_command(*command)
            if delay is not None:
                count += 1
                self.wait_accepted(count)
                time.sleep(delay)
                scale = self.begin_command("scale", f"workers={workers}")
            else:
                count += 1
            self.kill_task("worker:0")
            self.done(scale)
            self.done(change)
            self.kill_task("chief")
            self.wait_form(ps, workers)
        self.end_as_local(run)

    def test_two_changes_at_the_same_time(self):
        """The second one is refused and names the first, or is made after it."""
        run = self.begin_job(*STEADY)
        first = self.begin_command("strategy", "mirror")
        self.wait_accepted(1)
        second = self.tanist("resize", "ps=3", *self.target)
        self.assertIn(second.returncode, (3, 5), second.stderr)
        self.assertTrue("another change of elastic is being made" in second.stderr or
                        "tanist strategy ps ps=3" in second.stderr, second.stderr)
        self.done(first)
        self.change("strategy", "ps", "ps=3")
        self.wait_form(3, 1)
        self.end_as_local(run)

    def test_the_next_start_keeps_the_form(self):
        """A run that was changed continues only with its layout, and with the number of workers that it had."""
        run = self.begin_job(*STEADY)
        self.change("scale", "workers=3")
        self.change("strategy", "mirror")
        self.wait_form(0, 3)
        run.send_signal(signal.SIGKILL)
        run.wait()
        self.check_no_process_left()
        self.refused(3, ["run with strategy.type mirror", "--resume"], "run", self.job_file, "--dir", "run", *LONG, *STEADY)
        with (self.folder / "resumed").open("w") as progress:
            run = self.spawn("run", self.job_file, "--dir", "run", "-o", "json", *LONG, *STEADY, "--resume", "--set",
                             "strategy.type=mirror", stderr=progress)
        # Until then, the nodes that were killed are still registered and look as if they trained.
        self.wait_for("the start", lambda: "running again" in (self.folder / "resumed").read_text())
        self.wait_form(0, 3)
        self.change("scale", "workers=2")
        self.change("strategy", "ps", "ps=3")
        self.wait_form(3, 2)
        self.end_as_local(run)


class Groups(Changes):
    def test_from_and_to_groups(self):
        """Live, from ps and mirror and back, with another number of ps meanwhile; members, ps and chief are killed."""
        run = self.begin_job(*STEADY, workers=4)
        rounds = some(((["strategy", "group"], 2, ("worker:1", "ps:0")), (["resize", "ps=3"], 3, ("worker:0", "chief")),
                       (["strategy", "mirror"], 0, ("worker:2", "worker:0")),
                       (["strategy", "group", "ps=4"], 4, ("worker:3", "ps:3")),
                       (["strategy", "ps"], 4, ("ps:1", "worker:0")), (["strategy", "group", "members=2"], 4, ())), 4)
        for command, ps, victims in rounds:
            self.change(*command)
            self.check_it_continues()
            for name in victims:
                self.kill_task(name)
                self.check_it_continues()
            self.assertEqual(sum(task["role"] == "ps" for task in self.wait_step()["tasks"]), ps)
        self.end_as_local(run)
        placed = 'placement.strategy "ranges" -> "greedy"'
        expected = [f"strategy.type ps -> group of 2, {placed}", "cluster.ps 2 -> 3",
                    'strategy.type group of 2 -> mirror, placement.strategy "greedy" -> "ranges"',
                    f"strategy.type mirror -> group of 2, {placed}", "strategy.type group of 2 -> ps",
                    "strategy.type ps -> group of 2"]
        self.assertEqual(self.changes(), expected[:len(rounds)])

    def test_what_cannot_be_done_is_refused(self):
        """Before a node leaves; each error names the remedy."""
        run = self.begin_job(*STEADY, workers=3)
        self.refused(3, ["cluster.workers is 3", "a multiple", "tanist run --resume"], "strategy", "group", *self.target)
        self.refused(3, ["members=1", "from 2 to 64"], "strategy", "group", "members=1", *self.target)
        self.refused(3, ["members=2", "give ps=N"], "strategy", "ps", "members=2", *self.target)
        self.refused(3, ["task", "members"], "strategy", "group", "members=3", *self.target)
        self.assertEqual(self.changes(), [])
        self.end_as_local(run)

    def test_norms_need_ranges(self):
        """A group has another placement."""
        run = self.begin_job("--set", "train.clip_norm=1", workers=2)
        self.refused(3, ["train.clip_norm", "ranges"], "strategy", "group", *self.target)
        self.change("strategy", "mirror")
        self.end(run)


@long
class Sessions(Changes):
    def kill_without_session(self, name):
        """SIGKILL to a stopped task, whose session the agent does not know, so that only its timeout ends it."""
        pid = pids(self.live_status())[name]
        self.freeze(pid)
        (self.folder / f"run/sessions/{name.replace(':', '-')}").unlink()
        return pid

    def test_a_session_that_ends_late(self):
        """The timeout is above 20 s: a change waits for a node that cannot close its session, and is made then."""
        timeout_s = 25
        run = self.begin_job("--set", f"zookeeper.session_timeout_ms={timeout_s * 1000}", workers=2)
        # The others wait for the ps at the checkpoint until its session ends.
        victim = self.kill_without_session("ps:1")
        change = self.begin_command("resize", "ps=3")
        self.wait_accepted(1)
        os.kill(victim, signal.SIGKILL)
        self.done(change)
        self.check_it_continues()
        # The ps have left when the worker dies, so no node waits for it but the agent. Its session has sent a ping within
        # the last third of its timeout.
        begin = time.monotonic()
        victim = self.kill_without_session("worker:1")
        change = self.begin_command("strategy", "mirror")
        self.wait_accepted(2)
        self.wait_for("the end of the ps", lambda: not any(b"ps" in self.command_line(pid)[1:2] for pid in self.processes()))
        os.kill(victim, signal.SIGKILL)
        self.done(change)
        self.assertGreater(time.monotonic() - begin, timeout_s / 2)
        self.assertIn("not changed yet, trying again", (self.folder / "progress").read_text())
        self.end_as_local(run)


if __name__ == "__main__":
    unittest.main(verbosity=2)
