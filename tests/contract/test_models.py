#!/usr/bin/env python3
"""Models in C: the programs of examples/c, built out of the tree, train alone, on a cluster and as single nodes, with
one digest.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program of the build that is installed.
"""

import json
import socket
import subprocess
import unittest

from installed import build_project, install
from test_cli import PROGRAM, QUICK, ROOT, Cli

SERVERS = ["--set", "zookeeper.servers=1"]
NO_FILES = ["--set", "data.type=synthetic", "--set", "data.examples=1024", "--set", "data.test_examples=256"]


class Installed(Cli):
    """`build`: the examples."""

    @classmethod
    def setUpClass(cls):
        install(cls)
        cls.build = cls.folder / "examples"
        build_project(ROOT / "examples/c", cls.build, cls.prefix)

    def call(self, program, *arguments, **environment):
        return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=90, cwd=self.folder,
                              env=dict(self.environment, **environment), check=False)

    def result(self, program, *arguments, **environment):
        called = self.call(program, *arguments, "-o", "json", **environment)
        self.assertEqual(called.returncode, 0, called.stderr)
        return json.loads(called.stdout)

    def digest(self, *arguments):
        result = self.result(*arguments)
        self.assertEqual(result["status"], "done")
        return result["parameters_digest"]


class Programs(Installed):
    def test_line_alone_and_on_a_cluster(self):
        alone = self.result(self.build / "linear")
        self.assertGreater(alone["accuracy"], 0.9)
        self.assertTrue((self.folder / "runs/line/job.json").exists())
        cluster = self.digest(self.build / "linear", "run", *SERVERS, "--dir", "cluster")
        self.assertEqual(cluster, alone["parameters_digest"])

    def test_network_is_that_of_the_job_file(self):
        """The same graph in C and as layers: one hash, one digest."""
        job = str(ROOT / "examples/cnn.json")
        small = [*NO_FILES, "--set", "train.steps=6", "--set", "train.batch=32"]
        hashes = {self.result(self.build / "cnn", "graph")["hash"], self.result(PROGRAM, "graph", job)["hash"]}
        self.assertEqual(len(hashes), 1)
        digests = {self.digest(self.build / "cnn", *small, "--dir", "alone"),
                   self.digest(self.build / "cnn", "run", *SERVERS, *small, "--dir", "cluster"),
                   self.digest(PROGRAM, "run", "--local", job, *small, "--dir", "layers")}
        self.assertEqual(len(digests), 1)

    def test_guide_has_the_program(self):
        """The first program of the guide is the example, without its first comment."""
        guide = (ROOT / "docs/models.md").read_text().split("```c\n")[1].split("```")[0]
        self.assertEqual(guide, (ROOT / "examples/c/linear.c").read_text().split("*/\n", 1)[1])

    def test_job_file_replaces_defaults(self):
        job = self.job(json.dumps({"name": "other", "train": {"steps": 20}}))
        self.result(self.build / "linear", "run", "--local", job, "--set", "seed=5")
        kept = json.loads((self.folder / "runs/other/job.json").read_text())
        self.assertEqual((kept["seed"], kept["train"]["steps"], kept["train"]["batch"]), (5, 20, 32))
        self.assertEqual(kept["model"]["type"], "program")

    def test_commands_are_those_of_tanist(self):
        def listed(program):
            return self.call(program, "help").stdout
        self.assertIn("checkpoints", listed(self.build / "linear"))
        self.assertEqual(listed(self.build / "linear"), listed(PROGRAM))

    def test_refusals(self):
        called = self.call(self.build / "linear", "run", QUICK)
        self.assertEqual(called.returncode, 3, called.stderr)
        self.assertIn('model.type is "linear", but this program brings a model of its own', called.stderr)
        self.refused(3, ["this program has no model of its own"], "run", QUICK, "--set", "model.type=program", "--set",
                     "model.outputs=2")


class Nodes(Installed):
    """Single nodes without an agent, which get their tasks as with distributed TensorFlow."""

    def node(self, zookeeper, *flags, **environment):
        process = subprocess.Popen(
            [self.build / "linear", "--zk", zookeeper, "--dir", "nodes", "--set", "name=nodes", *flags],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=self.folder,
            env=dict(self.environment, **environment))
        self.addCleanup(self.kill_and_read, process)
        return process

    @staticmethod
    def free_ports(count):
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
        ports = [each.getsockname()[1] for each in sockets]
        for each in sockets:
            each.close()
        return ports

    def test_tasks_of_the_environment_and_of_flags(self):
        alone = self.digest(self.build / "linear")
        self.start("--set", "train.steps=50000000")
        self.wait_step()
        zookeeper = json.loads((self.folder / "run/run.json").read_text())["zookeeper"]
        chief, ps, worker = (f"127.0.0.1:{port}" for port in self.free_ports(3))
        cluster = {"chief": [chief], "ps": [ps], "worker": [worker]}
        nodes = [self.node(zookeeper, TF_CONFIG=json.dumps({"cluster": cluster, "task": {"type": kind, "index": 0}}))
                 for kind in ("chief", "ps")]
        nodes.append(self.node(zookeeper, "--job_name=worker", "--task_index", "0", "--ps_hosts", ps, "--worker_hosts",
                               worker))
        for node in nodes:
            _, errors = node.communicate(timeout=60)
            self.assertEqual(node.returncode, 0, errors)
        saved = self.result(PROGRAM, "checkpoints", "verify", "--store", "nodes/checkpoints")
        self.assertEqual(self.digest(self.build / "linear", "--dir", "nodes"), alone)
        self.assertEqual(saved["checkpoints"][0]["step"], 300)


if __name__ == "__main__":
    unittest.main()
