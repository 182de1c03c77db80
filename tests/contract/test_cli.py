#!/usr/bin/env python3
"""The program from outside: messages about bad input, exit codes, and that no process stays behind.

Real processes and a real ensemble of one server; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import resource
import socket
import subprocess
import sys
import unittest

from case import FASHION, PROGRAM, QUICK, Cli, own_servers


class BadInput(Cli):
    def test_broken_json(self):
        self.refused(3, ["job.json", "line 2, column"], "run", self.job('{\n "seed": 1,,\n}'))

    def test_byte_order_mark(self):
        """Some editors begin a file with it; the job is read without it."""
        (self.folder / "job.json").write_text('{"train": {"step": 5}}', encoding="utf-8-sig")
        self.refused(3, ["unknown key \"train.step\""], "run", "job.json")

    def test_huge_number(self):
        """The error gives the bounds of the numbers that JSON can have here."""
        for number in ("9" * 30, "1e999"):
            self.refused(3, ["job.json: line 1, column", "out of range", "9223372036854775807"], "run",
                         self.job('{"train": {"steps": %s}}' % number))

    def test_control_characters(self):
        """The terminal gets spaces, whatever the job, an option or a command contains."""
        escape = "\x1b[31mred\x07"
        for code, arguments in ((3, ["run", self.job(json.dumps({"name": escape}))]), (3, ["run", escape]),
                                (128, ["status", "--" + escape]), (128, [escape]), (128, ["--" + escape])):
            result = self.tanist(*arguments)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertIn(" [31mred ", result.stderr)
            self.assertNotRegex(result.stderr, "[\x00-\x09\x0b-\x1f\x7f]")

    @own_servers
    def test_long_names(self):
        """A file system that allows no such name is not a failing one."""
        name = "a" * 300
        for command in (["run", name], ["run", QUICK, "--dir", name], ["status", name]):
            self.refused(3, ["File name too long"], *command)

    def test_empty_folder(self):
        for command in (["run", QUICK], ["run", QUICK, "--local"], ["chaos", "run"], ["status"]):
            self.refused(128, ['--dir is "": give'], *command, "--dir", "")

    def test_output_cannot_be_written(self):
        """A full device is an error with a message, whatever the format."""
        self.succeeds("run", "--local", QUICK, "--dir", "run", "-q")
        for command in (["help"], ["status", "run"], ["status", "run", "-o", "json"], ["checkpoints", "list", "run"],
                        ["run", QUICK, "--local", "-q"], ["run", QUICK, "--local", "-q", "-o", "json"], ["version"]):
            with open("/dev/full", "w", encoding="ascii") as full:
                result = subprocess.run([PROGRAM, *command], cwd=self.folder, stdout=full, stderr=subprocess.PIPE,
                                        text=True, timeout=60, check=False)
            self.assertEqual(result.returncode, 6, result.stderr)
            self.assertIn("tanist: cannot write to stdout: No space left on device", result.stderr)

    def test_export_to_a_folder(self):
        self.succeeds("run", "--local", QUICK, "--dir", "run", "-q")
        (self.folder / "model.npz").mkdir()
        self.refused(3, ["model.npz is a folder"], "export", "run", "--to", "model.npz")

    @own_servers
    def test_low_limits(self):
        """The error names the limit and the remedy, before anything is started."""
        for limit, value, text in ((resource.RLIMIT_NOFILE, 24, "ulimit -n"), (resource.RLIMIT_FSIZE, 1 << 20, "ulimit -f"),
                                   (resource.RLIMIT_STACK, 128 << 10, "ulimit -s")):
            self.refused(3, [text], "run", QUICK, "--dir", "run", preexec_fn=lambda limit=limit, value=value:
                         resource.setrlimit(limit, (value, value)))
            self.assertEqual(list(self.folder.glob("run/*")), [])

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
        (folder / "train-labels-idx1-ubyte").unlink()
        (folder / "train-labels-idx1-ubyte.gz").symlink_to("train-labels-idx1-ubyte.gz")
        self.refused(3, ["data.path", "symbolic links"], "run", FASHION, "--set", f"data.path={folder}")

    def test_no_hidden_layers(self):
        """softmax and linear need no "hidden"; layers that are given are refused."""
        model = '"model": {"type": "softmax", "inputs": 64, "outputs": 2%s}, "data": {"type": "synthetic"}'
        job = self.job('{"name": "h", "train": {"steps": 3}, "zookeeper": {"servers": 1}, %s}' % (model % ""))
        result = self.tanist("run", job, "--dir", "run", "-q")
        self.assertEqual(result.returncode, 0, result.stderr)
        job = self.job("{%s}" % (model % ', "hidden": [7]'))
        self.refused(3, ["model.hidden has 1 layers"], "run", job)

    def test_large_shard(self):
        """One ps may own more than 2 GiB."""
        wide = ["--set", "data.type=synthetic", "--set", "model.inputs=1048576", "--set", "model.hidden=512",
                "--set", "cluster.ps=1"]
        plan = json.loads(self.succeeds("plan", FASHION, *wide, "-o", "json"))
        self.assertEqual([shard["bytes"] for shard in plan["shards"]], [plan["parameters"] * 4])
        self.assertGreater(plan["parameters"], 2**29)

    def test_wrong_shape(self):
        self.refused(3, ["model.inputs"], "run", FASHION, "--set", "model.inputs=100")
        self.refused(3, ["model.outputs"], "run", FASHION, "--set", "model.outputs=5")

    def test_batch_no_multiple(self):
        self.refused(3, ["train.batch", "give 36"], "run", QUICK, "--set", "train.batch=33")

    def test_divergence(self):
        self.refused(3, ["worker:", "step ", "slice ", "the loss is not finite", "train.learning_rate"], "run", QUICK,
                     "--quiet", "--dir", str(self.folder / "run"), "--set", "train.learning_rate=1e6")

    def test_too_many_ps(self):
        self.refused(3, ["cluster.ps"], "run", QUICK, "--set", "cluster.ps=40")

    def test_graph(self):
        graph = json.loads(self.tanist("graph", FASHION, "-o", "json").stdout)
        again = json.loads(self.tanist("graph", FASHION, "-o", "json").stdout)
        other = json.loads(self.tanist("graph", FASHION, "-o", "json", "--set",
                                       "model.hidden=[64]").stdout)
        self.assertEqual((graph, graph["version"]), (again, 1))
        self.assertNotEqual(graph["hash"], other["hash"])
        self.assertEqual(graph["parameters"], sum(v["parameters"] for v in graph["variables"]))
        self.assertEqual(graph["variables"][0]["name"], "hidden1/weights")
        self.assertGreaterEqual(graph["arena_bytes"], graph["lower_bound_bytes"])
        table = self.tanist("graph", FASHION).stdout
        self.assertIn("101770 parameters, 64 examples a slice", table)
        self.assertTrue(self.tanist("graph", FASHION, "-o", "dot").stdout.startswith("digraph"))
        refused = self.tanist("graph", FASHION, "--set", "model.type=forest")
        self.assertEqual(refused.returncode, 3, refused.stderr)
        self.assertIn("model.type", refused.stderr)

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
                                timeout=120, cwd=self.folder, env=self.environment, check=False)
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
        self.refused(128, ["unknown option --verison", "did you mean --version"], "--verison")
        self.refused(128, ['did you mean "list"'], "checkpoints", "lst", "--dir", "nowhere")
        self.refused(3, ["is a folder", "zoo.cfg"], "zk", "status", ".")
        self.refused(3, ["which has 1 task of that role"], "worker", "--job", QUICK, "--zk", "127.0.0.1:1",
                     "--job_name=worker", "--task_index=7", "--ps_hosts=127.0.0.1:1", "--worker_hosts=127.0.0.1:2")
        self.refused(3, ["is a folder", "history.jsonl of a round"], "chaos", "replay", ".")
        self.refused(3, ["--rounds is 0"], "chaos", "run", "--rounds", "0")
        self.refused(3, ['"ps" is not a task'], "kill", "ps", "--dir", "nowhere")
        self.assertEqual(self.tanist().returncode, 128)

    def test_credentials(self):
        """A file or variable that is given and has no credentials is refused: the cluster would be open to all."""
        for text, expected in (("", "is empty"), ("\n", "no colon"), ("secret\n", "no colon"), ("a:" + "b" * 5000, "too long")):
            (self.folder / "file").write_text(text)
            self.refused(3, [expected, "file"], "status", "--zk", "127.0.0.1:1", "--zk-credentials", "file")
        self.refused(3, ["missing"], "status", "--zk", "127.0.0.1:1", "--zk-credentials", "missing")
        for text, expected in (("secret", "no colon"), ("a:" + "b" * 5000, "too long")):
            self.refused(3, [expected, "TANIST_ZK_CREDENTIALS"], "status", "--zk", "127.0.0.1:1",
                         env={"TANIST_ZK_CREDENTIALS": text})

    def test_empty_name(self):
        """The name is also that of the folder: it is checked before any folder is made."""
        self.refused(3, ["--set", "name", "give 1 to 63"], "run", QUICK, "--set", "name=")
        self.refused(3, ["job.json", "character 3"], "run", self.job('{"name": "..\\u002fx"}'))

    def test_job_file_is_a_folder(self):
        self.refused(3, [str(self.folder), "Is a directory"], "run", str(self.folder))

    def test_options_without_effect(self):
        """--data of generated examples, and a pair of --map that names no variable, are refused. No file stays."""
        self.succeeds("run", "--local", QUICK, "--dir", "run", "-q", "--set", "train.steps=5")
        self.refused(3, ['model.map[0] is "a=b"', "tanist graph"], "run", "--local", QUICK, "--dir", "new", "-q",
                     "--warm-start", "run", "--map", "a=b")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["run"])
        status = json.loads(self.succeeds("status", "--dir", "run", "-o", "json"))
        self.assertEqual((status["phase"], status["tasks"]), ("done", []))
        self.refused(3, ["--data", "are generated"], "evaluate", "run", "--data", "nowhere")
        self.refused(3, ["is a folder"], "predict", "run", "--data", str(self.folder))

    def test_no_run(self):
        self.refused(3, ["nowhere", "does not exist", "tanist run"], "status", "--dir", "nowhere")
        self.refused(3, ["has no run.json"], "status", "--dir", str(self.folder))
        self.refused(3, ["--dir", "--zk"], "status")

    def test_tf_config(self):
        self.refused(3, ["TF_CONFIG", "line 1"], "worker", "--job", QUICK, "--zk", "127.0.0.1:1",
                     env={"TF_CONFIG": "{"})
        self.refused(3, ["--index"], "worker", "--job", QUICK, "--zk", "127.0.0.1:1")
        self.refused(3, ["--job is missing"], "worker", "--index", "0", "--zk", "127.0.0.1:1")

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
        self.assertTrue(self.tanist("help", "train.steps").stdout.startswith("train.steps\n"))
        self.assertIn("did you mean", self.tanist("help", "train.step").stderr)
        self.assertTrue(self.tanist("help", "zk", "start").stdout.startswith("Usage: tanist zk start"))
        self.assertIn("tanist 0.", self.tanist("--version").stdout)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
