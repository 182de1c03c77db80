#!/usr/bin/env python3
"""A run whose checkpoint cannot be loaded is held until a ps or an operator helps: `tanist restore`.

Real processes and a real ensemble of one server; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import signal
import socket
import subprocess
import unittest

from case import COLD, Cli, LONG, QUICK, patience

JOB = [*COLD, "--set", "cluster.ps=2", "--set", "model.inputs=64", "--set",
       "model.outputs=4", "--set", "checkpoint.every_steps=500", "--set", "checkpoint.keep=3"]
SHARD = "shard-0-of-2"


class Held(Cli):
    def wait_phase(self, phase):
        return self.wait_status(phase, lambda status: status["phase"] == phase)

    def wait_commits(self, count, after=0):
        """The run trains and has committed `count` checkpoints with ids above `after`. Ids are left out when a
        checkpoint was missed."""
        seen = set()

        def enough(status):
            seen.update(number for number in self.committed() if number > after)
            return status["phase"] == "running" and len(seen) >= count
        return self.wait_status(f"running with {count} checkpoints after {after}", enough)

    def committed(self):
        """The ids of the committed checkpoints, as ZooKeeper lists them."""
        zookeeper = self.target if self.target[0] == "--zk" else \
            ["--zk", self.zookeeper_of_run()]
        result = self.tanist("checkpoints", "list", "-o", "json", *zookeeper)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [entry["id"] for entry in json.loads(result.stdout)["checkpoints"]]

    def restore(self, *arguments):
        result = self.tanist("restore", "-o", "json", *arguments, *self.target)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def check_held(self, status, folder):
        """The status names the shard, its host, and the reason."""
        held = status["held"]
        checkpoint = status["checkpoint"]["id"]
        self.assertEqual(held["missing"], [{"task": "ps:0", "shard": 0, "host": socket.gethostname(),
                                            "folder": f"{self.folder}/{folder}", "checkpoint": checkpoint}])
        for text in ("ps:0", f"checkpoint {checkpoint} ", "tanist restore"):
            self.assertIn(text, held["reason"])
            self.assertIn(text, status["reason"])
        self.assertEqual(max(self.committed()), checkpoint)


class OneHost(Held):
    def kill_ps(self):
        """Kill ps:0; its agent starts it again."""
        pid = self.wait_pid("ps:0")
        os.kill(pid, signal.SIGKILL)
        self.wait_pid("ps:0", but=pid)

    def lose_shards(self, name, newest_only=False):
        """Move shards of ps:0 to the folder `name` while it is stopped, so that no checkpoint is committed
        meanwhile. The run is held then."""
        pid = self.wait_pid("ps:0")
        self.freeze(pid)
        checkpoints = self.folder / "run/checkpoints"
        taken = [path.name for path in checkpoints.iterdir() if (path / SHARD).exists()]
        if newest_only:
            newest = max(self.committed())
            taken = [folder for folder in taken if int(folder) >= newest]
        for folder in taken:
            away = self.folder / name / folder
            away.mkdir(parents=True)
            try:
                (checkpoints / folder / SHARD).rename(away / SHARD)
            except FileNotFoundError:  # ps:1 has collected it meanwhile: it is old.
                away.rmdir()
        os.kill(pid, signal.SIGKILL)
        status = self.wait_phase("held")
        self.check_held(status, "run/checkpoints")
        if newest_only:  # Another may have been committed after the list was read.
            self.bring_back(name, before=status["checkpoint"]["id"])
        return status

    def bring_back(self, name, before=float("inf")):
        for folder in (self.folder / name).iterdir():
            target = self.folder / "run/checkpoints" / folder.name
            if int(folder.name) < before:
                target.mkdir(exist_ok=True)
                (folder / SHARD).rename(target / SHARD)

    def test_shards_are_lost(self):
        """However the run continues, it never starts over by itself, and its parameters are those of a run that was
        not disturbed."""
        run = self.start(*LONG, *JOB, "--set", "zookeeper.session_timeout_ms=20000")
        self.wait_commits(3)
        self.refused(5, ["not held", "phase running"], "restore", "--from", "away", *self.target)
        self.refused(3, ["--from", "--accept-loss"], "restore", *self.target)
        with self.subTest("the shards are moved back"):
            self.shards_return()
        with self.subTest("restore --from"):
            self.shards_are_found()
        with self.subTest("restore --accept-loss"):
            self.loss_is_accepted()
        with self.subTest("restore --accept-loss 0"):
            self.all_is_lost()
        self.check_result(run)

    def shards_return(self):
        status = self.lose_shards("away-1")
        before = self.committed()
        for text in (self.tanist("top", "--once", *self.target).stdout, self.tanist("status", *self.target).stdout):
            self.assertIn("held", text)
            self.assertIn("ps:0 cannot load checkpoint", text)
        self.assertIn("--accept-loss STEP", self.tanist("status", *self.target).stdout)
        self.assertGreaterEqual(status["step"], status["checkpoint"]["step"])
        self.bring_back("away-1")
        self.assertEqual(self.committed(), before)
        self.kill_ps()
        self.assertIsNone(self.wait_commits(1, after=max(before))["held"])

    def shards_are_found(self):
        held = self.lose_shards("away-2")["checkpoint"]["id"]
        self.refused(5, ["still held", f"checkpoint {held} "], "restore", "--from", "nowhere", *self.target)
        self.assertEqual(self.restore("--from", "away-2")["checkpoint"], held)
        self.kill_ps()
        self.wait_commits(2, after=held)

    def loss_is_accepted(self):
        """The checkpoint that could not be loaded is kept."""
        lost = self.lose_shards("away-3", newest_only=True)["checkpoint"]
        restored = self.restore("--accept-loss", str(lost["step"]))
        self.assertLess(restored["checkpoint"], lost["id"])
        self.assertLess(restored["step"], lost["step"])
        self.wait_commits(5, after=lost["id"])
        self.assertIn(lost["id"], self.committed())
        self.assertTrue((self.folder / f"run/checkpoints/{lost['id']:010}/shard-1-of-2").exists())
        self.assertLessEqual(len(self.committed()), 5)

    def all_is_lost(self):
        held = self.lose_shards("away-4")["checkpoint"]["id"]
        self.refused(5, ["at or before step 1:", "checkpoints list"], "restore", "--accept-loss", "1", *self.target)
        restored = self.restore("--accept-loss", "0")
        self.assertEqual((restored["checkpoint"], restored["step"]), (None, 0))
        self.wait_commits(1, after=held)

    def check_result(self, run):
        stopped = self.tanist("stop", *self.target)
        self.assertEqual(stopped.returncode, 0, stopped.stderr)
        out, errors = run.communicate(timeout=patience(120))
        self.assertEqual(run.returncode, 0, errors)
        result = json.loads(out)
        self.assertGreaterEqual(errors.count("held: ps:0 cannot load checkpoint"), 5, errors)
        undisturbed = self.tanist("run", QUICK, "--dir", "undisturbed", "-q", "-o", "json", *JOB, "--set",
                                  f"train.steps={result['steps']}", timeout=200)
        self.assertEqual(undisturbed.returncode, 0, undisturbed.stderr)
        self.assertEqual(json.loads(undisturbed.stdout)["parameters_digest"], result["parameters_digest"])


class TwoHosts(Held):
    """Two agents with a folder each, as on two hosts; ps:0 is alone on the second."""

    def zookeeper(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        (self.folder / "zk").mkdir()
        (self.folder / "zoo.cfg").write_text(
            f"tickTime=250\ndataDir={self.folder}/zk\nclientPort={port}\nadmin.enableServer=false\n"
            "minSessionTimeout=500\nmaxSessionTimeout=60000\n4lw.commands.whitelist=srvr,ruok\n")
        started = self.tanist("zk", "start", "--heap", "64", "zoo.cfg")
        self.assertEqual(started.returncode, 0, started.stderr)
        self.target = ["--zk", f"127.0.0.1:{port}", "--cluster", "quick"]

    def agent(self, tasks, folder):
        return self.spawn("agent", QUICK, "--tasks", tasks, "--dir", folder, *self.target[:2], *LONG, *JOB, "--set",
                          "zookeeper.session_timeout_ms=1000", stdout=subprocess.DEVNULL)

    def lose(self, *agents):
        for agent in agents:
            agent.kill()
            agent.communicate(timeout=patience(120))

    def test_host_without_shards(self):
        """A ps that starts on another host, and one whose folder is empty when the whole cluster starts."""
        self.zookeeper()
        rest = "coordinator:0-1,ps:1,worker:0-1"
        others, alone = self.agent(rest, "h1"), self.agent("ps:0", "h2")
        self.wait_commits(2)
        self.lose(alone)
        alone = self.agent("ps:0", "h3")
        status = self.wait_phase("held")
        self.check_held(status, "h2/checkpoints")
        restored = self.restore("--from", "h2")
        self.assertEqual(restored["checkpoint"], status["checkpoint"]["id"])
        last = self.wait_commits(1, after=restored["checkpoint"])["checkpoint"]["id"]
        self.lose(others, alone)
        others, alone = self.agent(rest, "h1"), self.agent("ps:0", "h4")
        status = self.wait_phase("held")
        self.check_held(status, "h3/checkpoints")
        self.assertGreaterEqual(status["checkpoint"]["id"], last)
        self.lose(alone)
        alone = self.agent("ps:0", "h3")
        self.wait_commits(1, after=status["checkpoint"]["id"])
        stopped = self.tanist("stop", *self.target)
        self.assertEqual(stopped.returncode, 0, stopped.stderr)
        for agent in (others, alone):
            _, errors = agent.communicate(timeout=patience(120))
            self.assertEqual(agent.returncode, 0, errors)
        self.assertEqual(self.tanist("zk", "stop", "zoo.cfg").returncode, 0)
        self.check_no_process_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
