#!/usr/bin/env python3
"""The program from outside: messages about bad input, exit codes, and that no process stays behind.

Real processes and a real ensemble of one server; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("TANIST_PROGRAM", str(ROOT / "build/tanist"))
QUICK = str(ROOT / "examples/quick.json")
FASHION = str(ROOT / "examples/fashion-mnist.json")
LONG = ["--set", "train.steps=50000000"]
MARK = "TANIST_TEST_MARK"


class Cli(unittest.TestCase):
    """Each test has a folder of its own, and no process is left running after it."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="tanist-cli."))
        self.mark = secrets.token_hex(8)
        self.environment = dict(os.environ, **{MARK: self.mark})
        self.addCleanup(self.clean)

    def clean(self):
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(self.folder, ignore_errors=True)

    def processes(self):
        """The processes that this test has started, directly or not."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and f"{MARK}={self.mark}".encode() in \
                        (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def tanist(self, *arguments, timeout=60, **more):
        environment = dict(self.environment, **more.pop("env", {}))
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=timeout,
                              cwd=self.folder, env=environment, check=False, **more)

    def refused(self, code, expected, *arguments, **more):
        """The command exits with `code`; its only message contains each of `expected`."""
        result = self.tanist(*arguments, **more)
        lines = [line for line in result.stderr.splitlines() if line.startswith("tanist")]
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(len(lines), 1, result.stderr)
        for text in expected:
            self.assertIn(text, lines[0])
        self.assertEqual(result.stdout, "")

    def job(self, text):
        path = self.folder / "job.json"
        path.write_text(text)
        return str(path)

    def start(self, *options):
        process = subprocess.Popen([PROGRAM, "run", QUICK, "--dir", "run", "-o", "json", *options],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   cwd=self.folder, env=self.environment)
        self.addCleanup(process.communicate)
        return process

    def wait_step(self, least=1, limit_s=40):
        """The first status that has reached a step."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            result = self.tanist("status", "--dir", "run", "-o", "json")
            if result.returncode == 0:
                status = json.loads(result.stdout)
                if status["phase"] == "running" and status["chief"] and status["step"] >= least:
                    return status
            time.sleep(0.05)
        self.fail(f"no step within {limit_s} s: {result.stderr}")

    def check_no_process_left(self, limit_s=5, but=()):
        end = time.monotonic() + limit_s
        while set(self.processes()) - set(but) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(set(self.processes()) - set(but), set())


class BadInput(Cli):
    def test_broken_json(self):
        self.refused(3, ["job.json", "line 2, column"], "run", self.job('{\n "seed": 1,,\n}'))

    def test_unknown_key(self):
        self.refused(3, ["train.step", 'did you mean "train.steps"'], "run",
                     self.job('{"train": {"step": 5}}'))
        self.refused(3, ["--set", 'did you mean "train.batch"'], "run", QUICK, "--set", "batch=5")

    def test_missing_job(self):
        self.refused(3, ["nowhere.json", "No such file"], "run", "nowhere.json")

    def test_missing_data(self):
        self.refused(3, ["/nowhere"], "run", FASHION, "--set", "data.path=/nowhere")

    def test_wrong_data_folder(self):
        """Files of the right names that are not IDX, or cannot be read, are a wrong folder: exit code 3."""
        folder = self.folder / "data"
        folder.mkdir()
        for name in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"):
            (folder / f"{name}-ubyte").write_text("other data")
        self.refused(3, [str(folder), "not an IDX file"], "run", FASHION, "--set", f"data.path={folder}")
        (folder / "t10k-labels-idx1-ubyte").unlink()
        (folder / "t10k-labels-idx1-ubyte.gz").symlink_to("t10k-labels-idx1-ubyte.gz")
        self.refused(3, ["data.path", "symbolic links"], "run", FASHION, "--set", f"data.path={folder}")

    def test_no_hidden_layers(self):
        """softmax and linear need no "hidden"; layers that are given are refused."""
        model = '"model": {"type": "softmax", "inputs": 64, "outputs": 2%s}, "data": {"type": "synthetic"}'
        job = self.job('{"name": "h", "train": {"steps": 3}, "zookeeper": {"servers": 1}, %s}' % (model % ""))
        result = self.tanist("run", job, "--dir", "run", "-q")
        self.assertEqual(result.returncode, 0, result.stderr)
        job = self.job("{%s}" % (model % ', "hidden": [7]'))
        self.refused(3, ["model.hidden has 1 layers"], "run", job)

    def test_shard_too_large(self):
        """A shard above 1 GiB is refused at once, with the number of ps that the model needs."""
        wide = ["--set", "data.type=synthetic", "--set", "model.inputs=1048576"]
        self.refused(3, ["cluster.ps is 1", "at least 3 ps"], "run", FASHION, *wide, "--set",
                     "model.hidden=512", "--set", "cluster.ps=1")

    def test_wrong_shape(self):
        self.refused(3, ["model.inputs"], "run", FASHION, "--set", "model.inputs=100")
        self.refused(3, ["model.outputs"], "run", FASHION, "--set", "model.outputs=5")

    def test_batch_no_multiple(self):
        self.refused(3, ["train.batch", "give 36"], "run", QUICK, "--set", "train.batch=33")

    def test_divergence(self):
        self.refused(3, ["worker:", "gradient is not finite: step=", "train.learning_rate"], "run", QUICK, "--quiet",
                     "--dir", str(self.folder / "run"), "--set", "train.learning_rate=1e6")

    def test_too_many_ps(self):
        self.refused(3, ["cluster.ps"], "run", QUICK, "--set", "cluster.ps=40")

    def test_unreachable_zookeeper(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        address = f"127.0.0.1:{port}"
        self.refused(2, [address], "run", QUICK, "--dir", "run", "--zk", address, "--wait", "1")
        self.refused(2, [address], "status", "--zk", address, "--wait", "1")
        self.refused(3, ["--zk"], "run", QUICK, "--zk", "host:notaport")

    def test_folder_cannot_be_made(self):
        (self.folder / "file").write_text("")
        result = self.tanist("run", QUICK, "--dir", "file/below")
        self.assertIn(result.returncode, (3, 6), result.stderr)
        self.assertIn("file", result.stderr)

    def test_full_disk(self):
        script = (f"mkdir full && mount -t tmpfs -o size=16k none full && "
                  f"head -c 64k /dev/zero >full/ballast; exec {PROGRAM} run {QUICK} --dir full/run")
        result = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True,
                                timeout=60, cwd=self.folder, env=self.environment, check=False)
        if "unshare" in result.stderr or "mount" in result.stderr:
            self.skipTest("this user cannot mount")
        self.assertEqual(result.returncode, 6, result.stderr)
        self.assertIn("No space left", result.stderr)

    def test_arguments(self):
        self.refused(128, ['did you mean "status"'], "statsu")
        self.refused(128, ["did you mean --dir"], "run", QUICK, "--dri", "x")
        self.refused(128, ["--seed"], "run", QUICK, "--seed", "many")
        self.refused(128, ["argument is missing"], "run")
        self.refused(128, ["unexpected argument"], "run", QUICK, QUICK)
        self.refused(128, ["text, json"], "run", QUICK, "-o", "xml")
        self.assertEqual(self.tanist().returncode, 128)

    def test_no_run(self):
        self.refused(3, ["run.json"], "status", "--dir", "nowhere")
        self.refused(3, ["--dir", "--zk"], "status")

    def test_tf_config(self):
        self.refused(3, ["TF_CONFIG", "line 1"], "worker", "--job", QUICK, "--zk", "127.0.0.1:1",
                     env={"TF_CONFIG": "{"})
        self.refused(3, ["--index"], "worker", "--job", QUICK, "--zk", "127.0.0.1:1")

    def test_tf_config_mistakes(self):
        """A cluster that cannot work is refused before ZooKeeper is asked, which is not running here."""
        whole = {"chief": ["h1:4000"], "ps": ["h2:4000"], "worker": ["h3:4000", "h4:4000"]}
        worker = {"type": "worker", "index": 1}
        cases = [("worker", {"cluster": {"ps": ["h2:4000"], "worker": ["h3:4000", "h4:4000"]}, "task": worker},
                  "no chief"),
                 ("worker", {"cluster": dict(whole, ps=["h4:4000"]), "task": worker},
                  "ps:0 and worker:1 have the same address h4:4000"),
                 ("worker", {"cluster": whole, "task": {"type": "worker", "index": 2}}, "worker:2 is not in the cluster"),
                 ("ps", {"cluster": whole, "task": worker}, "run `tanist worker`"),
                 ("worker", {"cluster": whole, "task": {"type": "wroker", "index": 1}}, "wroker")]
        for command, config, text in cases:
            with self.subTest(text):
                self.refused(3, ["TF_CONFIG", text], command, "--job", QUICK, "--zk", "127.0.0.1:1",
                             env={"TF_CONFIG": json.dumps(config)})
        self.refused(3, ["TF_CONFIG", "no chief"], "agent", QUICK, "--zk", "127.0.0.1:1",
                     env={"TF_CONFIG": json.dumps(cases[0][1])})

    def test_tf_config_is_not_for_run(self):
        """`tanist run` runs all tasks of the job file, whatever TF_CONFIG its environment contains."""
        config = {"cluster": {"worker": ["h3:4000"]}, "task": {"type": "worker", "index": 0}}
        result = self.tanist("run", QUICK, "--dir", "run", "-q", env={"TF_CONFIG": json.dumps(config)})
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_help(self):
        listed = self.tanist("help").stdout.split("Commands:")[1].splitlines()
        commands = [line.split()[0] for line in listed if line.startswith("  ")]
        self.assertLessEqual({"run", "agent", "worker", "status", "stop"}, set(commands))
        for command in commands[:-2]:  # The last two are version and help.
            result = self.tanist(command, "--help")
            self.assertEqual(result.returncode, 0, command)
            self.assertTrue(result.stdout.startswith(f"Usage: tanist {command}"), command)
            self.assertIn("Examples:", result.stdout.splitlines()[2], command)
        self.assertIn("train.steps", self.tanist("help", "job").stdout)
        self.assertIn("tanist 0.", self.tanist("--version").stdout)


class ZkServers(Cli):
    """`tanist zk` with servers of an ensemble of three."""

    def files(self):
        """A zoo.cfg for each of three servers, on free ports."""
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(9)]
        ports = [taken.getsockname()[1] for taken in sockets]
        for taken in sockets:
            taken.close()
        servers = "".join(f"server.{i + 1}=127.0.0.1:{ports[3 * i]}:{ports[3 * i + 1]}\n" for i in range(3))
        names = []
        for i in range(3):
            folder = self.folder / f"zk{i + 1}"
            folder.mkdir()
            (folder / "myid").write_text(f"{i + 1}\n")
            names.append(f"zoo{i + 1}.cfg")
            (self.folder / names[i]).write_text(
                f"tickTime=500\ninitLimit=10\nsyncLimit=4\ndataDir={folder}\nadmin.enableServer=false\n"
                f"4lw.commands.whitelist=srvr,ruok,mntr\nclientPort={ports[3 * i + 2]}\n{servers}")
        return names

    def test_wait_ends_in_the_foreground(self):
        """A server without a quorum is stopped when --wait is over: exit code 5."""
        name = self.files()[0]
        result = self.tanist("zk", "start", "--foreground", "--wait", "2", "--heap", "64", name)
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertIn("0 of 1 servers serve after 2 s; stopping them", result.stderr)
        self.check_no_process_left()

    def test_stop_reports_each(self):
        """`zk stop` reports each file: stopped, not running, or not readable."""
        names = self.files()
        started = self.tanist("zk", "start", "--wait", "0", "--heap", "64", *names[:2])
        self.assertEqual(started.returncode, 0, started.stderr)
        stopped = self.tanist("zk", "stop", "nowhere.cfg", *names)
        self.assertEqual(stopped.returncode, 3, stopped.stderr)
        lines = stopped.stderr.splitlines()
        self.assertEqual(len(lines), 4, stopped.stderr)
        for line, text in zip(lines, ("nowhere.cfg", "stopped", "stopped", "is not running")):
            self.assertIn(text, line)
        for i in range(3):
            self.assertIn(f"server {i + 1} ", lines[i + 1])
        self.check_no_process_left()


class Runs(Cli):
    def result(self, process, timeout=60):
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
        self.assertEqual(self.tanist("status", "--dir", "run").returncode, 5)
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
        _, errors = process.communicate(timeout=60)
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
            _, errors = process.communicate(timeout=30)
            self.assertEqual(process.returncode, code, errors)
            self.check_no_process_left()
        self.assertIn("continuing the run", errors)

    def test_agent_killed(self):
        """When the agent is killed, its nodes and servers die, too."""
        process = self.start(*LONG)
        self.wait_step()
        process.kill()
        process.communicate(timeout=10)
        self.check_no_process_left()

    def test_another_job_in_the_folder(self):
        process = self.start(*LONG)
        self.wait_step()
        process.terminate()
        process.communicate(timeout=30)
        self.refused(3, ["train.batch is 32 there and 64 here"], "run", QUICK, "--dir", "run",
                     "--set", "train.batch=64")

    def test_other_commands_during_a_run(self):
        """Other commands cannot disturb a run; an operator can control it."""
        process = self.start(*LONG)
        status = self.wait_step()
        note = json.loads((self.folder / "run/run.json").read_text())
        self.refused(3, ["in use", f"pid {process.pid}"], "run", QUICK, "--dir", "run", *LONG)
        self.refused(3, ['"quick"', "already running"], "run", QUICK, "--dir", "other", "--zk", note["zookeeper"])
        self.refused(5, ["unknown", "quick"], "status", "--zk", note["zookeeper"], "--cluster",
                     "unknown")
        self.port_in_use(note["zookeeper"])
        self.new_chroot(note["zookeeper"])
        self.stopped_while_forming(note["zookeeper"])
        self.check_fields(status)
        self.operator(process)

    def test_watch_follows(self):
        """`watch --dir` follows the run of the folder to other ports of ZooKeeper, and to a new run."""
        process = self.start(*LONG)
        self.wait_step()
        watch = subprocess.Popen([PROGRAM, "watch", "--dir", "run", "-o", "jsonl"],
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                 cwd=self.folder, env=self.environment)
        self.addCleanup(watch.communicate)
        self.addCleanup(watch.kill)
        self.assertEqual(json.loads(watch.stdout.readline())["event"], "state")
        zookeeper = json.loads((self.folder / "run/run.json").read_text())["zookeeper"]
        process.kill()
        process.communicate(timeout=10)
        self.check_no_process_left(but=[watch.pid])
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.bind(taken, int(zookeeper.rsplit(":", 1)[1]))
            taken.listen()
            process = self.start(*LONG)
            self.wait_event(watch, "restored")
        process.kill()
        process.communicate(timeout=10)
        self.check_no_process_left(but=[watch.pid])
        shutil.rmtree(self.folder / "run")
        process = self.start("--set", "cluster.workers=3", *LONG)
        self.assertLessEqual(self.wait_event(watch, "state")["epoch"], 1)
        self.wait_event(watch, "checkpoint")
        self.assertEqual(self.tanist("stop", "--dir", "run").returncode, 0)
        self.wait_event(watch, "done")
        self.assertEqual(watch.wait(timeout=10), 0)

    def bind(self, taken, port):
        """Take a port. A killed process may close its sockets a little later."""
        end = time.monotonic() + 5
        while True:
            try:
                taken.bind(("127.0.0.1", port))
                return
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

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
            result = self.tanist("worker", "--job", QUICK, "--index", "1", "--zk", zookeeper,
                                 "--listen", f"tcp://127.0.0.1:{port}")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(str(port), result.stderr)

    def new_chroot(self, zookeeper):
        """A missing chroot is created."""
        result = self.tanist("run", QUICK, "--dir", "below", "--zk", zookeeper + "/one/two",
                             "--set", "train.steps=20")
        self.assertEqual(result.returncode, 0, result.stderr)

    def stopped_while_forming(self, zookeeper):
        """A stop before training began is not a failure."""
        zk = ["--zk", zookeeper, "--wait", "10"]
        agent = subprocess.Popen([PROGRAM, "agent", QUICK, "--set", "name=lonely", "--dir", "lonely",
                                  "--tasks", "coordinator:0", *zk], stderr=subprocess.PIPE,
                                 text=True, cwd=self.folder, env=self.environment)
        self.addCleanup(agent.communicate)
        end = time.monotonic() + 20
        status = self.tanist("status", "--cluster", "lonely", *zk)
        while "forming" not in status.stdout and time.monotonic() < end:
            time.sleep(0.1)
            status = self.tanist("status", "--cluster", "lonely", *zk)
        stop = self.tanist("stop", "--cluster", "lonely", *zk)
        self.assertEqual(stop.returncode, 0, stop.stderr)
        _, errors = agent.communicate(timeout=20)
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
        self.assertEqual(set(elections[0]), {"epoch", "task", "pid", "cause", "elected_at",
                                             "took_ms"})

    def operator(self, process):
        """resign, pause, resume and stop take effect, and watch reports it."""
        watch = subprocess.Popen([PROGRAM, "watch", "--dir", "run", "-o", "jsonl"],
                                 stdout=subprocess.PIPE, text=True, cwd=self.folder,
                                 env=self.environment)
        self.assertEqual(json.loads(watch.stdout.readline())["event"], "state")
        for command in ("resign", "pause", "resume", "stop"):
            result = self.tanist(command, "--dir", "run")
            self.assertEqual(result.returncode, 0, result.stderr)
        out, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(json.loads(out)["epoch"], 2)
        events, _ = watch.communicate(timeout=10)
        names = [json.loads(line)["event"] for line in events.splitlines()]
        for name in ("elected", "paused", "restored", "checkpoint", "done"):
            self.assertIn(name, names)
        self.assertEqual(watch.returncode, 0)
        self.check_no_process_left()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
