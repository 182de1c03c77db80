#!/usr/bin/env python3
"""`tanist run` from its start to its end, and the commands that other terminals give meanwhile.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import shutil
import signal
import socket
import subprocess
import unittest

from case import LONG, PROGRAM, QUICK, STEADY, Cli, own_servers, patience


@own_servers
class Runs(Cli):
    def result(self, process, timeout=120):
        out, errors = process.communicate(timeout=timeout)
        self.assertEqual(process.returncode, 0, errors)
        return json.loads(out)

    def test_done(self):
        """A run prints its result; the same command starts a new run, and --resume continues the old one."""
        first = self.result(self.start())
        self.assertEqual(first["status"], "done")
        self.assertEqual((first["mode"], first["steps"], first["examples"]), ("sync", 300, 9600))
        self.assertEqual(len(first["parameters_digest"]), 32)
        self.assertEqual(first["checkpoint_digest"], first["parameters_digest"])
        for key in ("loss", "accuracy", "seconds", "elections", "recoveries", "epoch", "generation",
                    "checkpoint"):
            self.assertIn(key, first)
        self.check_no_process_left()
        again = self.start()
        second = self.result(again)
        self.assertEqual(second["parameters_digest"], first["parameters_digest"])
        self.assertEqual(len(list(self.folder.glob("run.*Z"))), 1)
        longer = self.result(self.start("--resume", "--set", "train.steps=400"))
        self.assertEqual(longer["steps"], 400)
        self.assertGreater(longer["epoch"], second["epoch"])
        self.refused(3, ["a finished run", "train.batch is 32 there and 64 here", "seed is"], "run", QUICK,
                     "--dir", "run", "--resume", "--set", "train.batch=64", "--set", "seed=99")
        self.assertEqual(self.tanist("top", "--dir", "run").returncode, 5)
        self.verify_damage()

    def verify_damage(self):
        """`checkpoints verify` finds one flipped bit."""
        self.assertEqual(self.tanist("checkpoints", "verify", "--dir", "run").returncode, 0)
        shard = sorted((self.folder / "run/checkpoints").rglob("data.mdb"))[-1]
        data = bytearray(shard.read_bytes())
        data[len(data) // 2] ^= 1
        shard.write_bytes(data)
        result = self.tanist("checkpoints", "verify", "--dir", "run", "-o", "json")
        self.assertEqual(result.returncode, 6)
        verdicts = [entry["intact"] for entry in json.loads(result.stdout)["checkpoints"]]
        self.assertEqual(verdicts.count(False), 1)

    def test_json_log(self):
        """With --log-format json, every line on stderr and in the logs of the nodes is JSON."""
        process = self.start("--log-format", "json", "--log-level", "debug")
        _, errors = process.communicate(timeout=patience(120))
        self.assertEqual(process.returncode, 0, errors)
        messages = [json.loads(line)["message"] for line in errors.splitlines()]
        self.assertTrue(any("sync mode" in message for message in messages), messages)
        logs = list((self.folder / "run/logs").glob("[cpw]*.log"))
        self.assertGreater(len(logs), 2)
        entries = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
        self.assertLessEqual({"time", "level", "task", "message"}, set(entries[0]))
        result = self.tanist("run", QUICK, "--dir", "run", "--resume", "--set", "seed=5", "--log-format", "json")
        self.assertEqual(result.returncode, 3)
        entry = json.loads(result.stderr)
        self.assertEqual(entry["level"], "error")
        self.assertIn("seed is", entry["message"])

    def test_signals(self):
        """SIGINT ends a run with 130, SIGTERM with 143; the same command continues it."""
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            process = self.start(*LONG)
            self.wait_step(500)
            process.send_signal(number)
            _, errors = process.communicate(timeout=patience(120))
            self.assertEqual(process.returncode, code, errors)
            self.check_no_process_left()
        self.assertIn("continuing the run", errors)

    def test_agent_killed(self):
        """When the agent is killed, its nodes and servers die, too."""
        self.kill_run(self.begin())

    def test_another_job_in_the_folder(self):
        process = self.begin()
        process.terminate()
        process.communicate(timeout=patience(120))
        self.refused(3, ["train.batch is 32 there and 64 here"], "run", QUICK, "--dir", "run",
                     "--set", "train.batch=64")

    def test_other_commands_during_a_run(self):
        """Other commands cannot disturb a run; an operator can control it."""
        process = self.start(*LONG, *STEADY)
        status = self.wait_step()
        note = json.loads((self.folder / "run/run.json").read_text())
        self.refused(3, ["in use", f"pid {process.pid}"], "run", QUICK, "--dir", "run", *LONG)
        self.refused(3, ['"quick"', "already running"], "run", QUICK, "--dir", "other", "--zk", note["zookeeper"])
        self.refused(5, ["unknown", "quick"], "status", "--zk", note["zookeeper"], "--cluster",
                     "unknown")
        self.port_in_use(note["zookeeper"])
        self.refused(1, ["/one", "access denied"], "run", QUICK, "--dir", "below",
                     "--zk", note["zookeeper"] + "/one/two")
        self.stopped_while_forming(note["zookeeper"])
        self.check_fields(status)
        self.operator(process)

    def test_watch_follows(self):
        """`watch --dir` follows the run of the folder to other ports of ZooKeeper, and to a new run."""
        process = self.begin()
        watch = subprocess.Popen([PROGRAM, "watch", "--dir", "run", "-o", "jsonl"],
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                 cwd=self.folder, env=self.environment)
        self.addCleanup(watch.communicate)
        self.addCleanup(watch.kill)
        self.assertEqual(json.loads(watch.stdout.readline())["event"], "state")
        zookeeper = self.zookeeper_of_run()
        self.kill_run(process, but=[watch.pid])
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.bind(taken, int(zookeeper.rsplit(":", 1)[1]))
            taken.listen()
            process = self.start(*LONG)
            self.wait_event(watch, "restored")
        self.kill_run(process, but=[watch.pid])
        shutil.rmtree(self.folder / "run")
        process = self.start("--set", "cluster.workers=3", *LONG, *STEADY)
        self.assertLessEqual(self.wait_event(watch, "state")["epoch"], 1)
        self.wait_event(watch, "checkpoint")
        self.assertEqual(self.tanist("stop", "--dir", "run").returncode, 0)
        self.wait_event(watch, "done")
        self.assertEqual(watch.wait(timeout=patience(120)), 0)

    def bind(self, taken, port):
        """Take a port. A killed process may close its sockets a little later."""
        def taken_now():
            try:
                taken.bind(("127.0.0.1", port))
            except OSError:
                return False
            return True
        self.wait_for(f"a free port {port}", taken_now)

    def wait_event(self, watch, name):
        """The next event of that name; the time limit of the test bounds the wait."""
        for line in watch.stdout:
            event = json.loads(line)
            if event["event"] == name:
                return event
        return self.fail(f"watch ended before {name}")

    def port_in_use(self, zookeeper):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            result = self.tanist("ps", "--job", QUICK, "--index", "0", "--zk", zookeeper,
                                 "--listen", f"tcp://127.0.0.1:{port}")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(str(port), result.stderr)

    def stopped_while_forming(self, zookeeper):
        """A stop before training began is not a failure."""
        zk = ["--zk", zookeeper, "--wait", "10"]
        agent = self.spawn("agent", QUICK, "--set", "name=lonely", "--dir", "lonely", "--tasks", "coordinator:0", *zk)
        self.wait_for("forming", lambda: "forming" in self.tanist("status", "--cluster", "lonely", *zk).stdout)
        stop = self.tanist("stop", "--cluster", "lonely", *zk)
        self.assertEqual(stop.returncode, 0, stop.stderr)
        _, errors = agent.communicate(timeout=patience(120))
        self.assertEqual(agent.returncode, 0, errors)
        self.assertIn("stopped by an operator before training began", errors)

    def check_fields(self, status):
        """The documented field names exist."""
        self.assertEqual(list(status)[:7], ["version", "cluster", "phase", "mode", "generation",
                                            "epoch", "step"])
        self.assertLessEqual({"task", "pid", "host", "address", "since"}, set(status["chief"]))
        for task in status["tasks"]:
            self.assertLessEqual({"role", "index", "pid", "host", "address", "state", "incarnation",
                                  "step"}, set(task))
        self.assertEqual(set(status["checkpoint"]), {"id", "step"})
        server = status["zookeeper"]["servers"][0]
        self.assertEqual(set(server), {"address", "pid", "mode"})
        elections = json.loads(self.tanist("elections", "--dir", "run", "-o", "json").stdout)
        self.assertEqual((list(elections), elections["version"]), (["version", "elections"], 1))
        self.assertEqual(set(elections["elections"][0]), {"epoch", "task", "pid", "cause",
                                                          "elected_at", "took_ms"})

    def operator(self, process):
        """resign, pause, resume and stop take effect, and watch reports it."""
        watch = subprocess.Popen([PROGRAM, "watch", "--dir", "run", "-o", "jsonl"],
                                 stdout=subprocess.PIPE, text=True, cwd=self.folder,
                                 env=self.environment)
        self.assertEqual(json.loads(watch.stdout.readline())["event"], "state")
        for command in ("resign", "pause", "resume", "stop"):
            result = self.tanist(command, "--dir", "run")
            self.assertEqual(result.returncode, 0, result.stderr)
        out, errors = process.communicate(timeout=patience(120))
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(json.loads(out)["epoch"], 2)
        events, _ = watch.communicate(timeout=patience(120))
        names = [json.loads(line)["event"] for line in events.splitlines()]
        for name in ("elected", "paused", "restored", "checkpoint", "done"):
            self.assertIn(name, names)
        self.assertEqual(watch.returncode, 0)
        self.check_no_process_left()


class FormerNodes(Cli):
    """A run in a ZooKeeper that other programs use: sessions of its nodes may outlive a SIGKILL of all its processes."""

    target = ("--dir", "killed")

    def run_of_others(self, *options, **more):
        return self.spawn("run", QUICK, "--dir", "killed", "--zk", self.zookeeper, *LONG, *options, **more)

    def kill_all(self, *options):
        """A run of which nothing but the sessions of its nodes is left in ZooKeeper; its agent does not know them."""
        self.start(*LONG, *STEADY, "--set", "name=other")
        self.wait_step(target=("--dir", "run"))
        self.succeeds("pause", "--dir", "run")
        self.zookeeper = self.zookeeper_of_run()
        others = self.processes()
        run = self.run_of_others(*options)
        self.wait_step()
        self.kill_run(run, but=others)
        shutil.rmtree(self.folder / "killed/sessions")

    def test_run_continues_when_they_have_ended(self):
        timeout = ["--set", "zookeeper.session_timeout_ms=8000"]  # The next run begins before, also on a busy machine.
        self.kill_all(*timeout)
        run = self.run_of_others(*timeout)
        self.wait_step()
        self.succeeds("stop", *self.target)
        _, errors = run.communicate(timeout=patience(120))
        self.assertEqual(run.returncode, 0, errors)
        self.assertIn("waiting for the sessions of the former nodes", errors)
        self.assertIn("continuing the run", errors)

    def test_signal_ends_the_wait(self):
        self.kill_all(*STEADY)
        with open(self.folder / "progress", "w", encoding="utf-8") as progress:
            run = self.run_of_others(*STEADY, stderr=progress)
        self.wait_for("the wait", lambda: "waiting for the sessions" in (self.folder / "progress").read_text())
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=patience(30)), 130)


if __name__ == "__main__":
    unittest.main(verbosity=2)
