#!/usr/bin/env python3
"""The rules for all commands: the folder as DIR and as --dir DIR, results in JSON, and a run that trains nothing.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import shutil
import socket
import unittest

from case import FASHION, Cli, LONG, QUICK, STEADY, own_servers


class Results(Cli):
    def result_of(self, *arguments):
        """The JSON that a command prints."""
        return json.loads(self.succeeds(*arguments, "-o", "json"))

    def test_control(self):
        """Every command that controls a run prints its result as JSON, and accepts DIR without --dir."""
        self.begin("--allow-chaos", "--set", "cluster.workers=1-3", *STEADY)
        before = self.live_status()
        paused = self.result_of("pause", "run")
        self.assertEqual((paused["version"], paused["cluster"], paused["request"]), (1, "quick", "pause"))
        self.assertNotEqual(paused["phase"], "running")
        self.assertEqual(self.result_of("pause", "run")["generation"], paused["generation"])
        resumed = self.result_of("resume", "run")
        self.assertGreaterEqual(resumed["checkpoint"]["id"], paused["checkpoint"]["id"])
        self.wait_step(paused["checkpoint"]["step"] + 1)
        resigned = self.result_of("resign", "run")
        self.assertGreater(resigned["epoch"], before["epoch"])
        self.assertIn(resigned["chief"], ("coordinator:0", "coordinator:1"))
        self.assertEqual(self.result_of("scale", "workers=3", "run"),
                         {"version": 1, "cluster": "quick", "workers_before": 1, "workers": 3})
        pid = self.wait_pid("worker:0")
        killed = self.result_of("kill", "worker:0", "run", "--signal", "CONT")
        self.assertEqual((killed["task"], killed["pid"], killed["signal"]), ("worker:0", pid, "CONT"))
        stopped = self.result_of("stop", "run")
        self.assertEqual((stopped["request"], stopped["phase"]), ("stop", "done"))

    def test_drain(self):
        """`drain -o json` names the host and the tasks that have left. A missing --host is reported first."""
        self.refused(3, ["--host is missing"], "drain", "nowhere")
        run = self.begin(*STEADY)
        tasks = [f"{task['role']}:{task['index']}" for task in self.wait_tasks()["tasks"]]
        drained = self.result_of("drain", "--host", "127.0.0.1", "run")
        self.assertEqual((drained["host"], drained["address"]), ("127.0.0.1", "127.0.0.1"))
        self.assertLessEqual(set(drained["tasks"]), set(tasks))
        run.communicate(timeout=300)

    def test_version(self):
        self.assertRegex(self.result_of("version")["tanist"], r"^[0-9]+\.[0-9]+\.[0-9]+$")


class Folders(Cli):
    def test_both_forms(self):
        """DIR and --dir DIR mean the same to all commands that read a run."""
        self.succeeds("run", "--local", QUICK, "--dir", "run", "-q", "--set", "train.steps=20",
                      "--set", "checkpoint.every_steps=10")
        (self.folder / "run/new.csv").write_text(",".join(["0.5"] * 8) + "\n")
        for command in (("status",), ("elections",), ("watch", "--history"), ("checkpoints", "list"),
                        ("checkpoints", "show", "2"), ("checkpoints", "diff", "1", "2"), ("evaluate",),
                        ("predict", "--data", "run/new.csv"), ("plot",), ("compare", "--dir", "run")):
            with self.subTest(command):
                self.assertEqual(self.succeeds(*command, "run"), self.succeeds(*command, "--dir", "run"))
        for command in (("pause",), ("stop",), ("resign",), ("resume",), ("scale", "workers=2"), ("resize", "ps=2"),
                        ("strategy", "mirror"), ("kill", "ps:0"), ("drain", "--host", "x"), ("top",),
                        ("restore", "--accept-loss", "0"), ("chaos", "attack")):
            with self.subTest(command):
                self.refused(5, ["one process"], *command, "run")
                self.refused(5, ["one process"], *command, "--dir", "run")

    def test_mistakes(self):
        """The folder twice, an empty one, and arguments of a command in its place."""
        self.refused(128, ['"b"', '--dir "a"'], "pause", "b", "--dir", "a")
        self.refused(128, ['"b"'], "pause", "a", "b")
        self.refused(128, ['--dir is ""'], "pause", "--dir=")
        self.refused(128, ['"ps=3"'], "resize", "ps=2", "ps=3", "run")
        self.refused(3, ['"4"', "workers=4"], "scale", "4", "run")
        self.refused(3, ['"run" is not a task'], "kill", "run", "ps:0")
        self.refused(128, ["give ps=N, --balance, or both"], "resize", "run")
        self.refused(3, ['did you mean "mirror"'], "strategy", "mirorr", "run")
        self.refused(3, ["one process", "give ps, mirror or group"], "strategy", "local", "run")
        self.refused(128, ["show: the number of a checkpoint is missing"], "checkpoints", "show", "run")
        self.refused(128, ["diff: the number of another checkpoint"], "checkpoints", "diff", "1", "run")
        self.refused(128, ['unexpected argument "2"'], "checkpoints", "show", "1", "2", "--dir", "run")
        self.refused(128, ['unexpected argument "1"'], "checkpoints", "list", "1", "--dir", "run")
        self.refused(3, ["--dir is missing"], "checkpoints", "show", "1")
        self.refused(128, ["--timeout", "0 to 86400"], "pause", "run", "--timeout", "90000")
        self.refused(128, ["--wait", "1 to 86400"], "pause", "run", "--wait", "4294968")


class NothingToTrain(Cli):
    def check(self, *options):
        steps = [*options, "--dir", "run", "-q", "-o", "json"]
        first = json.loads(self.succeeds("run", QUICK, *steps, "--set", "train.steps=20"))
        again = self.tanist("run", QUICK, *steps, "--resume", "--set", "train.steps=10")
        self.assertEqual(again.returncode, 0, again.stderr)
        for text in ("run already has 20 steps", "train.steps is 10", "nothing to train"):
            self.assertIn(text, again.stderr)
        second = json.loads(again.stdout)
        self.assertEqual((second["steps"], second["parameters_digest"]), (20, first["parameters_digest"]))
        more = self.tanist("run", QUICK, *steps, "--resume", "--set", "train.steps=30")
        self.assertEqual((more.returncode, json.loads(more.stdout)["steps"]), (0, 30), more.stderr)
        self.assertNotIn("nothing to train", more.stderr)

    def test_cluster(self):
        """A finished run that is asked for fewer steps reports that it has them."""
        self.check()

    def test_local(self):
        self.check("--local")


@own_servers
class EarlyEnd(Cli):
    """A run that fails before it trains leaves nothing that refuses the next run, of another job, in the folder."""

    def another_job_succeeds(self):
        self.succeeds("run", QUICK, "--dir", "run", "-q", "--set", "seed=5", "--set", "train.steps=5")

    def test_no_zookeeper(self):
        """No server answers at --zk: nothing remains."""
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{held.getsockname()[1]}"
            self.refused(2, [address], "run", QUICK, "--dir", "run", "-q", "--zk", address, "--wait", "1")
            self.refused(2, [address], "agent", QUICK, "--dir", "run", "-q", "--zk", address, "--wait", "1",
                         "--tasks", "worker:0")
        self.assertEqual(list(self.folder.iterdir()), [])
        self.another_job_succeeds()

    def test_servers_fail(self):
        """The servers of the run fail: their logs remain, and a message names them."""
        programs = self.folder / "programs"
        programs.mkdir()
        (programs / "java").write_text("#!/bin/sh\necho no memory for java >&2\nexit 1\n")
        (programs / "java").chmod(0o755)
        path = {"PATH": f"{programs}:{os.environ['PATH']}", "JAVA_HOME": ""}
        for _ in range(2):
            failed = self.tanist("run", QUICK, "--dir", "run", "-q", env=path)
            self.assertEqual(failed.returncode, 5, failed.stderr)
            self.assertIn("nothing was trained", failed.stderr)
            found = {str(file.relative_to(self.folder / "run")) for file in (self.folder / "run").glob("**/*")
                     if file.is_file()}
            self.assertEqual({name.split("/")[0] for name in found}, {"zookeeper"})
            self.assertIn("no memory for java", (self.folder / "run/zookeeper/1/log").read_text())
        self.another_job_succeeds()

    def check_stay(self, code, text, names, *arguments):
        """Files that were in the folder before stay when the run fails."""
        for name in names:
            (self.folder / "run" / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / "run" / name).write_text(name)
        (self.folder / "run/zookeeper/empty").mkdir()
        self.refused(code, [text], "run", *arguments, "--dir", "run", "-q")
        for name in names:
            self.assertEqual((self.folder / "run" / name).read_text(), name)
        self.assertTrue((self.folder / "run/zookeeper/empty").is_dir())
        shutil.rmtree(self.folder / "run")

    def test_other_files_stay(self):
        """Files that were in the folder before are never removed, whatever their names are."""
        names = ("notes", "summaries/mine", "evaluations/mine/too", "zookeeper/version-2/snapshot.0", "zookeeper/1/log")
        unreachable = ("--zk", "127.0.0.1:1", "--wait", "1")
        self.check_stay(2, "127.0.0.1:1", names, QUICK, *unreachable)
        self.check_stay(2, "127.0.0.1:1", ("checkpoints/mine", *names), QUICK, *unreachable)
        self.check_stay(3, "/nowhere", names, FASHION, "--local", "--set", "data.path=/nowhere")

    def test_signal_before_the_cluster_exists(self):
        """The same holds when a signal ends the run while its ZooKeeper does not answer."""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = f"127.0.0.1:{silent.getsockname()[1]}"
            run = self.start(*LONG, "--zk", address, "--wait", "600")
            self.wait_for("the folder of the run", (self.folder / "run/run.json").exists)
            silent.accept()[0].close()  # The run asks for ZooKeeper, so it handles signals.
            run.terminate()
            run.communicate(timeout=300)
        self.assertEqual(run.returncode, 143)
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
