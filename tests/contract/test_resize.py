#!/usr/bin/env python3
"""`tanist resize` and `tanist strategy`: another number of ps, other borders between their rows, or another strategy, in a running
job. The result is that of one process in as many steps, whatever dies before, during and after the change.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import shutil
import signal
import time
import unittest

from case import LONG, QUICK, STEADY, Cli, long, own_servers, patience, pids, small_table_job, some

ADAM = ["--set", "train.optimizer=adam", "--set", "train.learning_rate=0.0001", "--set", "train.ema=0.9", "--set",
        "train.clip_norm=0.5", "--set", "checkpoint.every_steps=200", "--set", "model.inputs=96"]


def ps(count):
    return ["--set", f"cluster.ps={count}"]


class Live(Cli):
    job_file = QUICK
    job_options = ADAM

    def start_run(self, *options):
        with (self.folder / "progress").open("w") as progress:
            run = self.spawn("run", self.job_file, "--dir", "run", "-o", "json", *LONG, *self.job_options, *options,
                             stderr=progress)
        self.wait_step()
        return run

    def wait_accepted(self):
        """The agent of the run has accepted a request, the first one since it was started."""
        self.wait_for("the request", lambda: "the nodes leave" in (self.folder / "progress").read_text())

    def begin_change(self, *command):
        return self.spawn(*command, "--dir", "run", "-o", "json")

    def done(self, change):
        """The command succeeds; returns what it prints."""
        out, errors = change.communicate(timeout=patience(120))
        self.assertEqual(change.returncode, 0, errors)
        return json.loads(out)

    def change(self, *command):
        return self.done(self.begin_change(*command))

    def count_ps(self):
        """The number of ps that `status` shows; those of a former division have no task."""
        return sum(task["role"] == "ps" for task in self.wait_step()["tasks"])

    def shards(self):
        return json.loads(self.succeeds("checkpoints", "list", "--dir", "run", "-o", "json"))["checkpoints"][0]["shards"]

    def end_as_local(self, run, shards, keys=("loss", "accuracy")):
        """The run is stopped; one process computes the same in as many steps. Returns the result."""
        result = self.end(run)
        wanted = self.alone(self.job_file, "local", *self.job_options, "--set", f"train.steps={result['steps']}")
        for key in ("parameters_digest", "checkpoint_digest", *keys):
            self.assertEqual(result[key], wanted[key], key)
        self.succeeds("checkpoints", "verify", "--dir", "run")
        self.assertEqual(self.shards(), shards)
        return result

    def changes(self):
        return [entry["cause"] for entry in self.history() if entry["kind"] == "changed"]


class Dense(Live):
    @long
    def test_undisturbed(self):
        """No step is done again, and the folder names the new job."""
        # Longer than most stalls of a host. The session of a node that could not close it lasts as long, and a change
        # waits for it.
        run = self.start_run(*ps(3), "--set", "zookeeper.session_timeout_ms=10000")
        for count, before in ((2, 3), (5, 2), (1, 5)):
            self.check_it_continues()
            done = self.change("resize", f"ps={count}")
            self.assertEqual((done["ps_before"], done["ps"], done["steps_redone"]), (before, count, 0))
            self.assertEqual(done["change"], f"cluster.ps {before} -> {count}")
            self.assertGreater(done["paused_ms"], 0)
            self.assertEqual(self.count_ps(), count)
            self.assertEqual(json.loads((self.folder / "run/job.json").read_text())["cluster"]["ps"], count)
        self.check_it_continues()
        result = self.end_as_local(run, 1)
        self.assertEqual([each["steps_redone"] for each in result["recoveries"]], [0, 0, 0])
        self.assertEqual(self.changes(), ["cluster.ps 3 -> 2", "cluster.ps 2 -> 5", "cluster.ps 5 -> 1"])

    def test_kills_of_nodes(self):
        """SIGKILL of a ps, a worker and the chief before, during and after each change."""
        run = self.start_run(*ps(3))
        for count, delay in some(((2, 0), (5, 0.05), (3, 0.1), (4, 0.15), (2, 0.25), (5, 0.35)), 3):
            self.check_it_continues()
            self.kill_task("ps:1")
            change = self.begin_change("resize", f"ps={count}")
            for name in ("ps:0", "worker:0", "chief"):
                time.sleep(delay)
                self.kill_task(name)
            self.assertEqual(self.done(change)["ps"], count)
            self.kill_task("ps:0")
            self.assertEqual(self.count_ps(), count)
        self.check_it_continues()
        self.end_as_local(run, count)

    @own_servers
    def test_kills_of_the_agent(self):
        """The run continues in the old or in the new form, and the command reports the end of the agent."""
        options = ps(3)
        run = self.start_run(*options)
        for count, delay in some(((2, 0.1), (5, 0.3), (2, 0.0), (5, 0.2), (2, 0.25), (5, 0.35), (2, 0.4)), 3):
            self.check_it_continues()
            change = self.begin_change("resize", f"ps={count}")
            self.wait_accepted()
            time.sleep(delay)
            os.kill(run.pid, signal.SIGKILL)
            run.wait()
            out, errors = change.communicate(timeout=patience(120))
            if change.returncode != 0:
                self.assertEqual(change.returncode, 5, errors)
                self.assertIn("the agent of the run in run ended before", errors)
            else:
                self.assertEqual(json.loads(out)["ps"], count)
            self.wait_for("the nodes end", lambda: not self.processes())
            self.succeeds("checkpoints", "verify", "--dir", "run")
            options = [*ps(count), "--resume"]
            run = self.start_run(*options)
            self.wait_for(f"{count} ps", lambda: self.count_ps() == count)
        self.check_it_continues()
        self.end_as_local(run, count)

    def test_the_command_dies(self):
        """An accepted change is made all the same; the next one waits for its end."""
        run = self.start_run(*ps(3))
        change = self.begin_change("resize", "ps=2")
        self.wait_accepted()
        change.kill()
        change.communicate()
        self.wait_for("2 ps", lambda: self.count_ps() == 2)
        self.assertEqual(self.change("resize", "ps=4")["ps_before"], 2)
        self.end_as_local(run, 4)

    @own_servers
    def test_a_stop_comes_meanwhile(self):
        """The request to stop is not lost: the run ends in the old form or in the new one, at the latest where that begins."""
        for delay in some((0.1, 0.3, 0.0, 0.2), 2):
            run = self.start_run(*ps(3))
            change = self.begin_change("resize", "ps=2")
            time.sleep(delay)
            result = self.end(run)
            self.assertIn(result["status"], ("done", "stopped"))
            errors = change.communicate(timeout=patience(120))[1]
            self.assertIn(change.returncode, (0, 2, 5), errors)
            self.succeeds("checkpoints", "verify", "--dir", "run")
            # A run that stopped in its new form is continued only with 2 ps.
            shutil.rmtree(self.folder / "run")

    @own_servers
    def test_the_agent_is_asked_to_leave(self):
        """A signal during a change ends the run without the loss of a step. A change that ends before is tried again."""
        for _ in range(20):
            run = self.start_run(*ps(3), *STEADY)
            change = self.begin_change("resize", "ps=2")
            self.wait_accepted()
            run.send_signal(signal.SIGTERM)
            out, errors = run.communicate(timeout=patience(120))
            self.assertEqual(run.returncode, 143, errors)
            change.communicate(timeout=patience(120))
            self.check_no_process_left()
            if change.returncode != 0:
                return self.assertEqual(json.loads(out)["recoveries"], [])
            shutil.rmtree(self.folder / "run")
        return self.fail("each change ended before the signal")

    def test_a_frozen_ps(self):
        run = self.start_run(*ps(3))
        self.check_it_continues()
        self.freeze(pids(self.wait_tasks())["ps:1"])
        self.assertEqual(self.change("resize", "ps=2")["ps"], 2)
        self.check_it_continues()
        self.end_as_local(run, 2)


class Strategies(Live):
    def test_ps_mirror_ps(self):
        run = self.start_run(*ps(2))
        rounds = some(((["mirror"], 1, ("worker:0", "chief")), (["ps", "ps=3"], 3, ("ps:1", "chief")),
                       (["mirror"], 1, ("worker:1",)), (["ps"], 2, ("ps:0", "worker:0"))), 2)
        for options, shards, victims in rounds:
            for name in victims:
                self.check_it_continues()
                self.kill_task(name)
            self.check_it_continues()
            change = self.begin_change("strategy", *options)
            time.sleep(0.1)
            self.kill_task(victims[0])
            self.assertEqual(self.done(change)["ps"], shards if options[0] == "ps" else 0)
            self.check_it_continues()
            # A manifest reaches the disk a moment after its checkpoint is committed.
            self.wait_for(f"a checkpoint of {shards} shards", lambda shards=shards: self.shards() == shards)
        self.end_as_local(run, shards)
        expected = ["strategy.type ps -> mirror", "strategy.type mirror -> ps"] * 2
        self.assertEqual(self.changes(), expected[:len(rounds)])


class TableJob(Live):
    job_options = []
    train = {}

    def setUp(self):
        super().setUp()
        job = small_table_job(self.train, evaluate={"every_steps": 300}, checkpoint={"every_steps": 50, "keep": 3},
                              cluster={"coordinators": 2, "ps": 3, "workers": 2})
        self.job_file = self.job(json.dumps(job))


class Tables(TableJob):
    def test_three_two_five(self):
        """The rows of each ps, and the counts of keys without a row, come from the shards of several."""
        run = self.start_run()
        for count in (2, 5):
            self.check_it_continues()
            self.kill_task("ps:1")
            self.check_it_continues()
            change = self.begin_change("resize", f"ps={count}")
            time.sleep(0.2)
            self.kill_task("worker:1")
            self.assertEqual(self.done(change)["ps"], count)
            self.kill_task("ps:0")
            self.check_it_continues()
        result = self.end_as_local(run, 5, ("loss", "auc"))
        self.assertGreater(sum(table["rows"] for table in result["tables"]), 0)

    def test_mirror_has_no_tables(self):
        run = self.start_run()
        self.refused(3, ["strategy"], "strategy", "mirror", "--dir", "run")
        self.check_it_continues()
        self.end(run)


class Balance(TableJob):
    """`--balance`: other borders between the rows of the ps, which the job names from then on."""

    def imbalance(self):
        return json.loads(self.succeeds("status", "--dir", "run", "-o", "json"))["rows"]["imbalance"]

    def buckets(self):
        job = json.loads((self.folder / "run/job.json").read_text())
        return job["placement"].get("buckets", [])

    @long
    def test_borders_follow_the_load(self):
        """Rows move until each ps has about the same load; with equal parts again, and with another number of ps."""
        run = self.start_run("--set", "placement.buckets=[100, 3900]")
        self.check_it_continues()
        self.assertGreater(self.imbalance(), 2)
        done = self.change("resize", "--balance")
        self.assertGreater(done["imbalance_before"], 2)
        self.assertLess(done["imbalance_expected"], 1.3)
        self.assertEqual((done["ps_before"], done["ps"], done["steps_redone"]), (3, 3, 0))
        balanced = self.buckets()
        self.assertEqual(len(balanced), 2)
        self.assertEqual(done["change"], f"placement.buckets [100,3900] -> [{balanced[0]},{balanced[1]}]")
        self.check_it_continues()
        self.assertLess(self.imbalance(), 1.5)
        self.kill_task("ps:1")
        self.check_it_continues()
        self.assertNotIn("imbalance_before", self.change("resize", "ps=3"))
        self.assertEqual(self.buckets(), [])
        self.check_it_continues()
        self.assertEqual(self.change("resize", "ps=5", "--balance")["ps"], 5)
        self.assertEqual(len(self.buckets()), 4)
        self.check_it_continues()
        self.end_as_local(run, 5, ("loss", "auc"))
        self.assertEqual(len(self.changes()), 3)

    def test_kills_during_a_move(self):
        """SIGKILL of a ps, a worker and the chief before, during and after the change."""
        run = self.start_run("--set", "placement.buckets=[100, 3900]")
        rounds = ((["--balance"], 0), (["ps=3"], 0.05), (["ps=2", "--balance"], 0.1), (["ps=3"], 0.2),
                  (["ps=4", "--balance"], 0.3), (["ps=3", "--balance"], 0.4))
        for command, delay in some(rounds, 3):
            self.check_it_continues()
            before = self.accepted()
            change = self.begin_change("resize", *command)
            self.wait_for("the nodes leave", lambda before=before: self.accepted() > before)
            for name in ("ps:0", "worker:0", "chief"):
                time.sleep(delay)
                self.kill_task(name)
            count = self.done(change)["ps"]
            self.kill_task("ps:1")
        self.check_it_continues()
        self.end_as_local(run, count, ("loss", "auc"))

    def accepted(self):
        return (self.folder / "progress").read_text().count("the nodes leave")

    @long
    @own_servers
    def test_kills_of_the_agent(self):
        """A run continues with the borders that it has, old or new, without naming them."""
        run = self.start_run("--set", "placement.buckets=[100, 3900]")
        for command, delay in ((["--balance"], 0.0), (["ps=3"], 0.15), (["--balance"], 0.3), (["ps=3"], 0.4)):
            self.check_it_continues()
            change = self.begin_change("resize", *command)
            time.sleep(delay)
            os.kill(run.pid, signal.SIGKILL)
            run.wait()
            errors = change.communicate(timeout=patience(120))[1]
            self.assertIn(change.returncode, (0, 2, 3, 5), errors)
            self.wait_for("the nodes end", lambda: not self.processes())
            self.succeeds("checkpoints", "verify", "--dir", "run")
            run = self.start_run("--resume")
        self.check_it_continues()
        self.end_as_local(run, 3, ("loss", "auc"))

    def test_refusals(self):
        run = self.start_run()
        self.refused(128, ["give ps=N, --balance, or both"], "resize", "--dir", "run")
        self.end(run)
        self.refused(3, ["placement.buckets", "2 borders", "cluster.ps is 2"], "run", self.job_file, "--dir", "other",
                     "--set", "placement.buckets=[1, 2]", "--set", "cluster.ps=2")
        run = self.spawn("run", QUICK, "--dir", "dense", "-q", "-o", "json", *LONG)
        self.wait_step(target=["--dir", "dense"])
        self.refused(3, ["no tables"], "resize", "--balance", "--dir", "dense")
        self.succeeds("stop", "--dir", "dense")
        self.result(run)


@long
class Admission(Tables):
    """The same of keys that get a row when they have occurred often enough."""

    train = {"tables": [{"match": "*", "expire_after_steps": 40, "admit_after": 3, "admit_within_steps": 30}]}


class Refusals(Live):
    @own_servers
    def test_values(self):
        run = self.start_run(*ps(2))
        for text, expected in (("ps=0", "ps from 1"), ("ps=65", "ps from 1"), ("ps=-1", "ps from 1"), ("ps=2x", "ps from 1"),
                               ("ps=", "ps from 1"), ("workers=3", "give ps=N"), ("ps=2", "cluster.ps is 2 already")):
            self.refused(3, [expected], "resize", text, "--dir", "run")
        self.refused(3, ["ring"], "strategy", "ring", "--dir", "run")
        self.refused(3, ["has no ps"], "strategy", "mirror", "ps=2", "--dir", "run")
        self.refused(3, ["tanist resize ps=3"], "strategy", "ps", "ps=3", "--dir", "run")
        self.succeeds("pause", "--dir", "run")
        self.refused(5, ["paused", "tanist resume"], "resize", "ps=3", "--dir", "run")
        self.succeeds("resume", "--dir", "run")
        self.assertEqual(self.change("strategy", "mirror")["ps"], 0)
        self.refused(3, ["tanist strategy ps ps=3"], "resize", "ps=3", "--dir", "run")
        self.refused(3, ["mirror already"], "strategy", "mirror", "--dir", "run")
        self.end_as_local(run, 1)
        self.refused(5, ["has ended"], "resize", "ps=3", "--dir", "run")

    def test_two_changes_at_once(self):
        run = self.start_run(*ps(2))
        first = self.begin_change("resize", "ps=3")
        self.wait_accepted()
        second = self.tanist("resize", "ps=4", "--dir", "run")
        self.assertEqual(self.done(first)["ps"], 3)
        if second.returncode != 0:  # The first one had ended before.
            self.assertIn("another change of quick is being made, requested by pid", second.stderr)
        self.end(run)

    def test_refused_at_once(self):
        """Each command gets the answer to its own request, also if the next one is waiting already."""
        run = self.start_run(*ps(2))
        for change in [self.begin_change("resize", "ps=2") for _ in range(8)]:
            _, errors = change.communicate(timeout=patience(120))
            self.assertIn(change.returncode, (3, 5), errors)
            expected = "cluster.ps is 2 already" if change.returncode == 3 else "another change of quick is being made"
            self.assertIn(expected, errors)
        self.end(run)

    def test_too_many_ps(self):
        """A number that a start refuses is refused before a node leaves."""
        run = self.spawn("run", QUICK, "--dir", "run", "-q", "-o", "json", *LONG)
        self.wait_step()
        self.refused(3, ["9 parameters", "at most 1 ps"], "resize", "ps=3", "--dir", "run")
        self.end(run)

    def test_whole_variables(self):
        """Each number of ps has another order of the variables."""
        self.job_options = ["--set", "placement.strategy=greedy", "--set", "model.type=layers", "--set",
                            'model.layers=[{"dense": 8}, {"dense": 1}]', "--set", "model.loss=squared_error"]
        run = self.start_run(*ps(2))
        self.refused(3, ["placement leaves ps:4 without any"], "resize", "ps=5", "--dir", "run")
        for count in (3, 4):
            self.check_it_continues()
            self.assertEqual(self.change("resize", f"ps={count}")["ps"], count)
        self.end_as_local(run, 4, ("loss",))

    def test_a_frozen_agent_is_named(self):
        """The agent of the folder does not answer: the error is about it, not about agents of other hosts."""
        run = self.begin(*ps(1))
        self.freeze(run.pid)
        try:
            self.refused(5, ["the agent of the run in run did not take the request", "frozen", "again"],
                         "resize", "ps=2", *self.target)
        finally:
            os.kill(run.pid, signal.SIGCONT)
        self.end(run)

    def test_a_run_that_has_ended(self):
        """ZooKeeper outlives the run: the error is about its end, not about its strategy or its agent."""
        zk = ["--zk", self.start_ensemble()]
        self.succeeds("run", QUICK, "--dir", "ended", "-q", "--set", "strategy.type=mirror", "--set", "cluster.ps=0", *zk)
        for target in (["--cluster", "quick", *zk], ["--dir", "ended"]):
            for command in (["resize", "ps=3"], ["strategy", "mirror"], ["strategy", "ps"], ["scale", "workers=1"]):
                self.refused(5, ["has ended (phase done)", "--resume"], *command, *target)

    def test_agents_of_many_hosts(self):
        """No agent has all nodes: the request is withdrawn."""
        zk = ["--zk", self.start_ensemble()]
        self.spawn("agent", QUICK, *LONG, *ADAM, "--dir", "agent", "--tasks",
                   "coordinator:0-1,ps:0,worker:0-1", *ps(1), *zk)
        target = ["--cluster", "quick", *zk]
        self.wait_step(target=target)
        self.refused(5, ["no agent of `tanist run`", "--resume --set cluster.ps=2"], "resize", "ps=2", *target)
        self.wait_step(target=target)


if __name__ == "__main__":
    unittest.main(verbosity=2)
